#!/usr/bin/env python3
"""A Cortex-M0, which has no compare-and-swap, with 16 KiB of RAM: an interrupt and the main loop share a recorder.

usage: microbit_test.py SOURCE_ROOT
"""
import pathlib
import sys
import tempfile

from emulated import build, execute, skip_without_tools


def main():
    root = pathlib.Path(sys.argv[1])
    skip_without_tools()
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/shared_recorder.elf'
        build(root, 'microbit', 'cortex_m', [root / 'tests/firmware/shared_recorder.cpp'], program, '-Os',
              '-mcpu=cortex-m0', '--specs=nano.specs')
        print(execute(root, 'microbit', program))


if __name__ == '__main__':
    main()
