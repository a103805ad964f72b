#!/usr/bin/env python3
"""Instructions of the hot path on a Cortex-M3, counted by QEMU, stay within tests/firmware/instructions.json.

usage: instruction_test.py SOURCE_ROOT
"""
import json
import pathlib
import sys
import tempfile

from budget import complaint
from emulated import build, execute, skip_without_tools

KNOBS = '-DOPDUMP_SMALL_CODE=1 -DOPDUMP_JOURNAL=0 -DOPDUMP_DEGRADE=0'.split()


def main():
    root = pathlib.Path(sys.argv[1])
    skip_without_tools()
    rules = json.loads((root / 'tests/firmware/instructions.json').read_text())
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/instructions.elf'
        build(root, 'mps2-an385', 'cortex_m', [root / 'tests/firmware/instructions.cpp'], program, '-Os',
              '-mcpu=cortex-m3', *KNOBS)
        counts = execute(root, 'mps2-an385', program, '-icount shift=5')
    print(counts)
    got = {name: float(value) for name, value in (line.rsplit(',', 1) for line in counts.splitlines())}
    if got.keys() != rules.keys():
        sys.exit(f'the program counted {", ".join(got)}, and instructions.json has {", ".join(rules)}')
    complaints = list(filter(None, (complaint(f'{name}, instructions', got[name], rule) for name, rule in rules.items())))
    print('\n'.join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == '__main__':
    main()
