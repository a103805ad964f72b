#!/usr/bin/env python3
"""Every source in C and C++ has the form that .clang-format gives it, by the clang-format of MAJOR: others differ in places.

usage: format_test.py SOURCE_ROOT
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

MAJOR = 14
FORMS = ('*.cpp', '*.hpp', '*.h', '*.c')
AT_ONCE = 50


def major_of(program):
    told = subprocess.run([program, '--version'], capture_output=True, text=True, check=False).stdout
    found = re.search(r'version (\d+)', told)
    return int(found[1]) if found else None


def formatter():
    for name in (f'clang-format-{MAJOR}', 'clang-format'):
        program = shutil.which(name)
        if program and major_of(program) == MAJOR:
            return program
    return None


def sources(root):
    """Tracked files, and those that are not yet."""
    told = subprocess.run(['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', *FORMS],
                          capture_output=True, text=True, check=False)
    if told.returncode:
        return None
    return sorted(name for name in set(told.stdout.split('\0')) if name and os.path.isfile(os.path.join(root, name)))


def differing(program, root, names):
    done = subprocess.run([program, '--dry-run', *names], cwd=root, capture_output=True, text=True, check=False)
    return re.findall(r'^(\S+?:\d+):\d+: warning: code should be clang-formatted', done.stderr, re.M)


def main():
    root = sys.argv[1]
    program = formatter()
    if program is None:
        print(f'clang-format of version {MAJOR} is not installed')
        sys.exit(77)
    names = sources(root)
    if names is None:
        print('left out: the form of sources, as this is no checkout of git')
        sys.exit(77)
    parts = [names[i:i + AT_ONCE] for i in range(0, len(names), AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        places = [place for found in pool.map(lambda part: differing(program, root, part), parts) for place in found]
    first = {}
    for place in places:
        name, _, line = place.rpartition(':')
        first.setdefault(name, line)
    for name, line in first.items():
        print(f'{name}:{line}: differs from what clang-format makes of it: clang-format -i {name}')
    print(f'{len(names)} files, {len(first)} differ')
    sys.exit(1 if first or not names else 0)


if __name__ == '__main__':
    main()
