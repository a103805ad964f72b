#!/usr/bin/env python3
"""Firmware that builds opdump with its own Meson or CMake, as a part of itself, for a Cortex-M0 without a system, in
another profile than its own.

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

CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.18)
project(firmware CXX)
add_subdirectory({root}/platform/cmake opdump)
add_executable(firmware.elf main.cpp start.cpp)
target_link_libraries(firmware.elf PRIVATE opdump::opdump)
set_target_properties(firmware.elf PROPERTIES UNITY_BUILD OFF)
"""
FLAGS = '-mthumb -mcpu=cortex-m0 -ffunction-sections -fdata-sections -fno-threadsafe-statics -Wno-psabi'
TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_FLAGS_INIT "{flags} -fno-exceptions -fno-rtti")
set(CMAKE_CXX_FLAGS_MINSIZEREL "-Os")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostartfiles --specs=rdimon.specs -Wl,--gc-sections -L{boards} -T mps2-an385.ld")
"""


def built_with_cmake(root, project):
    (project / 'toolchain.cmake').write_text(TOOLCHAIN.format(flags=FLAGS, boards=root / 'tests/firmware/boards'))
    (project / 'CMakeLists.txt').write_text(CMAKE_PROJECT.format(root=root))
    build = project / 'cmake'
    run('cmake', '-G', 'Ninja', '-S', str(project), '-B', str(build), '-DCMAKE_BUILD_TYPE=MinSizeRel', '-DOPDUMP_PROFILE=firmware',
        '-DCMAKE_TOOLCHAIN_FILE=' + str(project / 'toolchain.cmake'), '-DCMAKE_DISABLE_FIND_PACKAGE_simdjson=ON',
        '-DCMAKE_UNITY_BUILD=ON', '-DCMAKE_UNITY_BUILD_BATCH_SIZE=40')
    run('cmake', '--build', str(build))
    return build / 'firmware.elf'


def sections(program):
    """Bytes of text, data and bss."""
    return run('arm-none-eabi-size', str(program)).splitlines()[1].split()[:3]


def main():
    root = pathlib.Path(sys.argv[1])
    skip_without_tools()
    here = root / 'tests/firmware'
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder)
        (project / 'subprojects').mkdir()
        (project / 'subprojects/opdump').symlink_to(root)
        (project / 'meson.build').write_text(PROJECT)
        text = (here / 'shared_recorder.cpp').read_text()
        (project / 'main.cpp').write_text(text + 'static_assert(OPDUMP_SMALL_CODE == 0 && OPDUMP_MAX_RECORDERS == 2);\n')
        for file in ('semihosting.hpp', 'start.hpp'):
            shutil.copy(here / 'boards' / file, project)
        shutil.copy(here / 'boards/cortex_m.cpp', project / 'start.cpp')
        (project / 'root.ini').write_text(f"[constants]\nroot = '{root}'\nlauncher = []\n")
        machine_files = [project / 'root.ini', here / 'cross/arm-none-eabi.ini', here / 'cross/cortex-m0.ini']
        run('meson', 'setup', str(project / 'build'), str(project), '--wrap-mode=nodownload',
            '--force-fallback-for=opdump', '-Dbuildtype=minsize', '-Dopdump:profile=firmware', '-Dunity=subprojects', '-Dunity_size=40',
            *(f'--cross-file={file}' for file in machine_files))
        run('ninja', '-C', str(project / 'build'), 'firmware.elf')
        with_meson = project / 'build/firmware.elf'
        print(execute(root, 'mps2-an385', with_meson))
        if shutil.which('cmake') is None:
            print('left out: CMake, which is not installed')
            return
        with_cmake = built_with_cmake(root, project)
        print(execute(root, 'mps2-an385', with_cmake))
        if sections(with_meson) != sections(with_cmake):
            sys.exit(f'FAILED: {sections(with_meson)} bytes with Meson, {sections(with_cmake)} with CMake')
        print(f'text, data, bss with either: {", ".join(sections(with_cmake))} bytes')


if __name__ == '__main__':
    main()
