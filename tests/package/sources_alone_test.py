#!/usr/bin/env python3
"""Compiles each alone the sources that the build puts together into larger units, or behind a precompiled header: those of
test programs, and of most rooms of src. One that forgets to include something compiles there behind another that did not.

usage: sources_alone_test.py [--share=N] [--changed=M] COMPILER SOURCE_ROOT

With a share of N one in N is compiled, which are others with each commit, so that N commits have all; beside them those that the
last M commits have changed. Without git or its history the first of each N are.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

from turns import changed, due

FLAGS = ('-std=c++20 -Wall -Wextra -Werror -Wno-restrict -fsyntax-only -DOPDUMP_LINKED -DOPDUMP_TOOL_ZLIB=0 '
         '-DOPDUMP_VERSION="0" -DOPDUMP_TEST_SHARE=1 -DOPDUMP_TEST_DATA="" -DOPDUMP_SIMULATED_ASCEND="" '
         '-DOPDUMP_SIMULATED_NANO="" -DOPDUMP_SIMULATED_RT=""').split()
JOINED = ('src/attach', 'src/c_api', 'src/card', 'src/config', 'src/tool', 'tests/flashlog', 'tests/fuzz', 'tests/opencl',
          'tests/seal', 'tests/tool', 'tests/unit')
OF_ONE_SOURCE = ('_maker.cpp',)  # with flags of their own
FOLDERS = ('include', '.', 'tests', 'examples/digits', 'tests/support/ascend/cann')

# The sources that need what a machine may lack.
NEEDED = {'tests/opencl': 'CL/cl.h', 'tests/seal/psa_test.cpp': 'psa/crypto.h'}


def has_header(compiler, header):
    return subprocess.run([compiler, '-fsyntax-only', '-xc', '-'], input=f'#include <{header}>\n', text=True, capture_output=True,
                          check=False).returncode == 0


def sources(root, compiler):
    lacking = tuple(place for place, header in NEEDED.items() if not has_header(compiler, header))
    for place in lacking:
        print(f'left out: {place}, as {NEEDED[place]} is not there')
    found = (str(path.relative_to(root)) for room in JOINED for path in sorted((root / room).rglob('*.cpp')))
    return [name for name in found if not name.startswith(lacking) and not name.endswith(OF_ONE_SOURCE)]


def compile_alone(compiler, root, source):
    command = [compiler, *FLAGS, *(f'-I{root / folder}' for folder in FOLDERS), root / source]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--share', type=int, default=1)
    parser.add_argument('--changed', type=int, default=0)
    parser.add_argument('compiler')
    parser.add_argument('root', type=pathlib.Path)
    asked = parser.parse_args()
    every = sources(asked.root, asked.compiler)
    late = changed(asked.root, asked.changed) if asked.changed else set()
    chosen = sorted({*due(every, asked.share, asked.root), *(name for name in every if name in late)})
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, done in zip(chosen, pool.map(lambda name: compile_alone(asked.compiler, asked.root, name), chosen)):
            if done.returncode:
                failed += 1
                print(f'{source} does not compile alone:\n{done.stderr}')
    print(f'{len(chosen)} of {len(every)} files compiled alone, {failed} failed')
    return 1 if failed or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())
