#!/usr/bin/env python3
"""The C API compiles, links and runs on an emulated Cortex-M3 in the profiles of the knobs, without a build system.

usage: c_api_test.py SOURCE_ROOT
"""
import pathlib
import sys
import tempfile

from budget import run
from emulated import build, execute, skip_without_tools

SOURCES = 'callback_sink config extras faults fed_flash flash_log history_sink log model recorder sealed_sink session status'.split()
BELOW = ('src/format/relayout.cpp', 'src/kernels/statistics/kernels.cpp', 'src/kernels/non_finite.cpp', 'src/config/blob/plan.cpp')
PROFILES = ('OPDUMP_PROFILE=full OPDUMP_MAX_RECORDERS=2', '', 'OPDUMP_STATISTICS=2', 'OPDUMP_JOURNAL=0 OPDUMP_WAIT=0',
            'OPDUMP_STATISTICS=1 OPDUMP_FAULTS=1', 'OPDUMP_PROFILE=firmware OPDUMP_STATISTICS=0')


def main():
    root = pathlib.Path(sys.argv[1])
    skip_without_tools()
    sources = [root / f'src/c_api/c_{name}.cpp' for name in SOURCES]
    sources += [root / name for name in BELOW]
    with tempfile.TemporaryDirectory() as folder:
        program, c_object = f'{folder}/c_api.elf', f'{folder}/c_api.o'
        run('arm-none-eabi-gcc', '-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-mcpu=cortex-m3', '-mthumb',
            '-Os', f'-I{root}/include', '-c', str(root / 'tests/firmware/c_api.c'), '-o', c_object)
        # One translation unit, as linked_size.py compiles each source alone.
        together = pathlib.Path(folder) / 'c_api.cpp'
        together.write_text(''.join(f'#include "{source}"\n' for source in sources))
        for profile in PROFILES:
            knobs = [f'-D{knob}' for knob in profile.split()]
            build(root, 'mps2-an385', 'cortex_m', [together, c_object], program, '-Os', '-mcpu=cortex-m3',
                  '-DOPDUMP_VERSION="0.1.0"', *knobs)
            print(f'{profile or "default knobs"}: {execute(root, "mps2-an385", program).strip() or "ran"}')


if __name__ == '__main__':
    main()
