#!/usr/bin/env python3
"""Includes go down only: a room includes rooms of lower levels than its own, and no other room of its own level.

usage: arrows_test.py SOURCE_ROOT
"""
import os
import re
import sys

# Lowest first.
LEVELS = [
    ['include/opdump'],
    ['platform/baremetal', 'platform/dmabuf', 'platform/flashlog', 'platform/host', 'platform/opencl', 'platform/psa',
     'platform/runtimes', 'platform/sodium', 'platform/wire', 'src/card', 'src/config', 'src/format', 'src/kernels'],
    ['platform/posix/base', 'platform/template'],
    ['platform/freertos', 'platform/storage', 'platform/zephyr'],
    ['platform/esp-idf', 'platform/posix'],
    ['platform/ascend', 'src/config/text'],
    ['src/c_api', 'platform/ascend/nano', 'src/tool/cli'],
    ['src/acl', 'src/attach'],
    ['src/tool/read'],
    ['src/tool/config', 'src/tool/judge'],
    ['src/tool/verify', 'src/tool/write'],
    ['src/tool/page'],
    ['src/tool/commands'],
    ['src/precompiled', 'src/tool'],
]
SOURCES = ('.hpp', '.cpp', '.h', '.c', '.inl')
INCLUDE = re.compile(r'^\s*#\s*include\s*"((?:opdump|platform|src)/[^"]+)"', re.M)


def level_of(path):
    """The room that `path` is in, and its level; the longest name counts."""
    found = max(((room, level) for level, rooms in enumerate(LEVELS) for room in rooms
                 if path.startswith(room + '/')), key=lambda pair: len(pair[0]), default=None)
    return found if found else (os.path.dirname(path), None)


def sources(root):
    for top in ('include/opdump', 'platform', 'src'):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith(SOURCES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def main():
    root = sys.argv[1]
    faults, arrows = [], 0
    for path in sorted(sources(root)):
        room, level = level_of(path)
        if level is None:
            faults.append(f'{path}: its room is on no level of {os.path.basename(__file__)}')
            continue
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as source:
            included = INCLUDE.findall(source.read())
        for name in included:
            other, other_level = level_of('include/' + name if name.startswith('opdump/') else name)
            arrows += other != room
            if other != room and (other_level is None or other_level >= level):
                faults.append(f'{path}: includes {name}, which {room} must not')
    print('\n'.join(faults) if faults else f'{arrows} includes between rooms, all of them down')
    return 1 if faults or arrows == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
