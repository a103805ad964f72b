#!/usr/bin/env python3
"""Builds the Debian packages in a copy of the sources, asks lintian, installs them, compiles programs, and purges them.

usage: debian_test.py SOURCE_ROOT
With OPDUMP_DEBIAN=1, as root, where dpkg-dev, debhelper and lintian are: it installs packages of this machine.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import manual_test

PACKAGES = ['libopdump-dev', 'libopdump-c1', 'opdump-tool']


def fail(text):
    sys.exit(f'FAILED: {text}')


def call(*command, code=0, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', **options)
    if code is not None and done.returncode != code:
        fail(f'{" ".join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-8000:]}')
    return done.stdout


def skip_unless_wanted():
    tools = ['dpkg-buildpackage', 'dh', 'lintian']
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if not os.environ.get('OPDUMP_DEBIAN') or missing or os.geteuid() != 0:
        print('SKIPPED: OPDUMP_DEBIAN is not set' if not os.environ.get('OPDUMP_DEBIAN') else
              f'SKIPPED: not there: {missing}' if missing else 'SKIPPED: only root may install packages')
        sys.exit(77)
    if 'install ok' in call('dpkg-query', '-W', '-f', '${Status}', *PACKAGES, code=None):
        print('SKIPPED: the packages are installed, and would be removed')
        sys.exit(77)


def copy_sources(root, source):
    for file in call('git', '-C', root, 'ls-files', '-z').split('\0'):
        if file and ((root / file).exists() or (root / file).is_symlink()):
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / file, source / file, follow_symlinks=False)
    shutil.copytree(root / 'platform/debian', source / 'debian')


def complete(root):
    """The files for shells, where these look for them."""
    for shell, place in (('bash', 'bash-completion/completions/opdump.bash'), ('zsh', 'zsh/vendor-completions/_opdump')):
        file = pathlib.Path('/usr/share') / place
        if not file.is_file():
            fail(f'{file} is not installed')
        if shutil.which(shell) is None:
            print(f'left out: completion by {shell}, which is not installed')
    if manual_test.completed(pathlib.Path('/usr/share/bash-completion/completions/opdump.bash'), 'opdump', 'verify', '--q') != ['--quick']:
        fail('bash should complete opdump verify --q')
    if shutil.which('zsh') and manual_test.zsh_completed('/usr/share/zsh/vendor-completions', 'opdump verify --q') != 'verify --quick':
        fail('zsh should complete opdump verify --q')


def consume(root, work):
    here = root / 'tests/package'
    flags = call('pkg-config', '--cflags', 'opdump').split()
    libraries = call('pkg-config', '--static', '--libs', 'opdump').split()
    call('c++', '-std=c++20', *flags, here / 'consumer.cpp', '-o', work / 'consumer', *libraries)
    call(work / 'consumer', cwd=work)
    call('cc', '-std=c99', *flags, here / 'consumer.c', '-o', work / 'c_consumer', '-lopdump_c')
    if not call(work / 'c_consumer', cwd=work).startswith('opdump '):
        fail('the program in C should print the version')
    if shutil.which('cmake'):
        (work / 'project').mkdir()
        (work / 'project/CMakeLists.txt').write_text(
            'cmake_minimum_required(VERSION 3.18)\nproject(consumer CXX)\nfind_package(opdump 0.1 REQUIRED)\n'
            f'add_executable(consumer {here}/consumer.cpp)\ntarget_link_libraries(consumer PRIVATE opdump::opdump)\n')
        call('cmake', '-S', work / 'project', '-B', work / 'project/build')
        call('cmake', '--build', work / 'project/build')
        call(work / 'project/build/consumer', cwd=work)
    acl = work / 'acl.cpp'
    acl.write_text('#include "opdump/acl.hpp"\nint main() { return opdump::acl::session().initialised() ? 1 : 0; }\n')
    flags = call('pkg-config', '--static', '--cflags', '--libs', 'opdump_acl').split()
    call('c++', '-std=c++20', acl, '-o', work / 'acl_consumer', *flags)
    call(work / 'acl_consumer')
    complete(root)
    if 'opdump 0.' not in call('opdump', '--version'):
        fail('opdump --version should print its version')
    if shutil.which('man') and 'proves that a dump is complete' not in call('man', 'opdump-verify', env={**os.environ, 'MANPAGER': 'cat'}):
        fail('there should be a manual page of opdump verify')


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    skip_unless_wanted()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        source = work / 'opdump'
        copy_sources(root, source)
        # Unoptimised: what is in the packages, and not how fast it is, is looked at here.
        call('dpkg-buildpackage', '-b', '-us', '-uc', cwd=source,
             env={**os.environ, 'DEB_BUILD_OPTIONS': f'noopt parallel={os.cpu_count()}'})
        changes = next(work.glob('*.changes'))
        told = call('lintian', '--allow-root', '--fail-on', 'error,warning', changes)
        if told.strip():
            fail(f'lintian says:\n{told}')
        debs = [deb for deb in work.glob('*.deb') if 'dbgsym' not in deb.name]
        if sorted(deb.name.split('_')[0] for deb in debs) != sorted(PACKAGES):
            fail(f'other packages than {PACKAGES}: {debs}')
        try:
            call('dpkg', '-i', *debs)
            files = [path for package in PACKAGES for path in call('dpkg', '-L', package).split('\n')
                     if path and pathlib.Path(path).is_file()]
            consume(root, work)
        finally:
            call('dpkg', '--purge', *PACKAGES, code=None)
        left = [path for path in files if pathlib.Path(path).exists()]
        if left or len(files) < 100:
            fail(f'purged, but still there: {left}; {len(files)} files were installed')
        print(f'{len(files)} files in {len(PACKAGES)} packages; lintian has nothing to say')


if __name__ == '__main__':
    main()
