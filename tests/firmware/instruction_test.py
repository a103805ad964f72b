#!/usr/bin/env python3
"""Instructions of the hot path on a Cortex-M3, counted by QEMU, stay within tests/firmware/instructions.json.

usage: instruction_test.py SOURCE_ROOT
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

from budget import SKIP, complaint, run

FLAGS = ('-std=c++20 -mcpu=cortex-m3 -mthumb -Os -fno-exceptions -fno-rtti -fno-threadsafe-statics '
         '-ffunction-sections -fdata-sections -Wl,--gc-sections -Wall -Wextra -Wconversion -Wundef -Werror '
         '-Wno-psabi -DOPDUMP_SMALL_CODE=1 -DOPDUMP_JOURNAL=0 -DOPDUMP_DEGRADE=0 -nostartfiles --specs=rdimon.specs -Tmps2-an385.ld').split()


def main():
    root = pathlib.Path(sys.argv[1])
    for tool in ('arm-none-eabi-g++', 'qemu-system-arm'):
        if shutil.which(tool) is None:
            print(f'{tool} is not installed')
            sys.exit(SKIP)
    here = root / 'tests/firmware'
    rules = json.loads((here / 'instructions.json').read_text())
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/instructions.elf'
        run('arm-none-eabi-g++', *FLAGS, f'-L{here}/boards', f'-I{root}/include', f'-I{root}',
            str(here / 'instructions.cpp'), str(here / 'boards/cortex_m.cpp'), '-o', program)
        counts = run('sh', str(here / 'qemu.sh'), 'mps2-an385', program,
                     env={**os.environ, 'OPDUMP_QEMU': '-icount shift=5', 'OPDUMP_QEMU_SECONDS': '60'})
    print(counts)
    got = {name: float(value) for name, value in (line.rsplit(',', 1) for line in counts.splitlines())}
    if got.keys() != rules.keys():
        sys.exit(f'the program counted {", ".join(got)}, and instructions.json has {", ".join(rules)}')
    complaints = list(filter(None, (complaint(f'{name}, instructions', got[name], rule) for name, rule in rules.items())))
    print('\n'.join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == '__main__':
    main()
