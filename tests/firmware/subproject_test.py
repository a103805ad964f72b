#!/usr/bin/env python3
"""Firmware that builds opdump with its own Meson, as a subproject, for a Cortex-M0 without a system.

usage: subproject_test.py SOURCE_ROOT
"""
import pathlib
import shutil
import sys
import tempfile

from budget import run
from emulated import execute, skip_without_tools

PROJECT = """project('firmware', 'cpp', default_options: ['cpp_std=c++20'])
opdump = dependency('opdump', version: '>=0.1', fallback: 'opdump')
executable('firmware', 'main.cpp', 'start.cpp', dependencies: opdump, name_suffix: 'elf')
"""


def main():
    root = pathlib.Path(sys.argv[1])
    skip_without_tools()
    here = root / 'tests/firmware'
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder)
        (project / 'subprojects').mkdir()
        (project / 'subprojects/opdump').symlink_to(root)
        (project / 'meson.build').write_text(PROJECT)
        shutil.copy(here / 'shared_recorder.cpp', project / 'main.cpp')
        for file in ('semihosting.hpp', 'start.hpp'):
            shutil.copy(here / 'boards' / file, project)
        shutil.copy(here / 'boards/cortex_m.cpp', project / 'start.cpp')
        (project / 'root.ini').write_text(f"[constants]\nroot = '{root}'\nlauncher = []\n")
        machine_files = [project / 'root.ini', here / 'cross/arm-none-eabi.ini', here / 'cross/cortex-m0.ini']
        run('meson', 'setup', str(project / 'build'), str(project), '--wrap-mode=nodownload',
            '--force-fallback-for=opdump', '-Dbuildtype=minsize', '-Dunity=subprojects', '-Dunity_size=40',
            *(f'--cross-file={file}' for file in machine_files))
        run('ninja', '-C', str(project / 'build'), 'firmware.elf')
        print(execute(root, 'mps2-an385', project / 'build/firmware.elf'))


if __name__ == '__main__':
    main()
