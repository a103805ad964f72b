"""Runtimes out of Debian's packages, of one version, unpacked below the build folder where the machine has not
installed them. Nothing is installed. Where they cannot be had, the test is skipped and says so."""
import pathlib
import re
import shutil
import subprocess

from npm_packages import skip


def ask(command, **options):
    try:
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              check=False, **options)
    except subprocess.TimeoutExpired:
        skip(f'{command[0]} did not answer within 5 minutes')


def missing_of(packages):
    """Those and what they need, as far as the machine has not installed it."""
    plan = ask(['apt-get', 'install', '--simulate', '--no-install-recommends', *packages])
    if plan.returncode != 0:
        skip(f'apt-get knows no {" ".join(packages)}: {plan.stdout.strip()[-200:]}')
    return ['='.join(pair) for pair in re.findall(r'^Inst (\S+) (?:\[\S+\] )?\((\S+) ', plan.stdout, re.M)]


def unpack(folder, *packages, alone=False):
    """The root of a tree with `packages`, as NAME=VERSION, and, unless they do `alone`, with what they need: `folder`,
    or / if the machine has them all. apt checks what it fetches."""
    folder = pathlib.Path(folder)
    if folder.exists():
        return folder
    if shutil.which('apt-get') is None:
        skip(f'no apt-get to fetch {packages[0]} with')
    missing = packages if alone else missing_of(packages)
    if not missing:
        return pathlib.Path('/')
    archives, part = folder.with_suffix('.archives'), folder.with_suffix('.part')
    for place in (archives, part):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    done = ask(['apt-get', 'download', *missing], cwd=archives)
    if done.returncode != 0:
        skip(f'apt-get cannot fetch {" ".join(missing)}: {done.stdout.strip()[-200:]}')
    for archive in sorted(archives.glob('*.deb')):
        subprocess.run(['dpkg-deb', '-x', archive, part], check=True)
    part.rename(folder)
    return folder


def libraries(root):
    """The folders of libraries below `root`."""
    return [] if root == pathlib.Path('/') else sorted({path.parent for path in (root / 'usr/lib').rglob('*.so*')})


def link_flags(root, names):
    """For libraries of these names below `root`, which find there what they need in their turn."""
    folders = libraries(root)
    paths = [f'-Wl,-rpath,{folder}' for folder in folders]
    return [*(f'-L{folder}' for folder in folders), *(f'-l{name}' for name in names), '-Wl,--disable-new-dtags', *paths]
