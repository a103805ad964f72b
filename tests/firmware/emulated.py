"""Programs without a system: compiled by one call of the compiler, and run by QEMU."""

import os
import re
import shutil
import sys

from budget import SKIP, run

FLAGS = ('-std=c++20 -mthumb -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections -fdata-sections '
         '-Wl,--gc-sections -Wall -Wextra -Wconversion -Wundef -Werror -Wno-psabi -nostartfiles '
         '--specs=rdimon.specs').split()


def skip_without_tools():
    for tool in ('arm-none-eabi-g++', 'qemu-system-arm'):
        if shutil.which(tool) is None:
            print(f'{tool} is not installed')
            sys.exit(SKIP)


def build(root, board, startup, sources, program, *options):
    boards = root / 'tests/firmware/boards'
    run('arm-none-eabi-g++', *FLAGS, *options, f'-I{root}/include', f'-I{root}', *map(str, sources),
        str(boards / f'{startup}.cpp'), f'-L{boards}', f'-T{board}.ld', '-o', str(program))


def opdump_symbols(program):
    """What a program has of opdump: functions, data, tables of virtual functions."""
    return [line for line in run('arm-none-eabi-nm', '-C', str(program)).splitlines()
            if re.match(r'\w* +\w (?:[a-z ]+ for )?opdump(?:::|_)', line)]


def execute(root, machine, program, qemu_options='', *arguments):
    """What the program prints; ends the test if its exit status is not 0."""
    environment = {**os.environ, 'OPDUMP_QEMU': qemu_options, 'OPDUMP_QEMU_SECONDS': '60'}
    return run('sh', str(root / 'tests/firmware/qemu.sh'), machine, str(program), *arguments, env=environment)
