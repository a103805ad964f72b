"""Runtimes out of npm's packages, pinned, below the build folder. Nothing of them is committed, and none of their
install scripts runs. Where they cannot be had, the test is skipped and says so."""
import contextlib
import fcntl
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile

SKIPPED = 77  # Meson's exit status of a test that was skipped


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(SKIPPED)


@contextlib.contextmanager
def alone(folder):
    """Tests that run at the same time have one folder of packages."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / '.lock', 'w', encoding='ascii') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch(folder, name, version, sha512):
    """The path of the package's archive, which is fetched once and has this digest."""
    with alone(pathlib.Path(folder)):
        return fetch_alone(pathlib.Path(folder), name, version, sha512)


def fetch_alone(folder, name, version, sha512):
    archive = folder / f'{name.lstrip("@").replace("/", "-")}-{version}.tgz'
    if not archive.exists():
        if shutil.which('npm') is None:
            skip(f'no npm to fetch {name} with')
        try:
            done = subprocess.run(['npm', 'pack', '--silent', f'{name}@{version}'], cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            skip(f'npm did not fetch {name} {version} within 5 minutes')
        if done.returncode != 0 or not archive.exists():
            skip(f'npm cannot fetch {name} {version}: {done.stdout.strip()[-200:]}')
    if hashlib.sha512(archive.read_bytes()).hexdigest() != sha512:
        archive.unlink()
        sys.exit(f'{name} {version} is not what it was: its SHA-512 is another')
    return archive


def unpack(archive, folder, prefix):
    """Unpacks what is below `prefix` of an archive into `folder`, once."""
    with alone(pathlib.Path(archive).parent):
        return unpack_alone(archive, pathlib.Path(folder), prefix)


def unpack_alone(archive, folder, prefix):
    if folder.exists():
        return folder
    part = folder.with_suffix('.part')
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as tar:
        members = [member for member in tar.getmembers() if member.name.startswith(prefix) and member.isfile()]
        for member in members:
            to = part / member.name[len(prefix):]
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(tar.extractfile(member).read())
    part.rename(folder)
    return folder
