#!/usr/bin/env python3
"""Each adapter for a runtime is one header of at most 250 lines that says what it was read at, and compiles alone and
twice, without exceptions and RTTI, under all warnings: over the declarations of the runtime that are in declared/.

usage: adapter_headers_test.py SOURCE_ROOT COMPILER [ARGUMENT...]
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2:]
MAX_LINES = 250
# Those over the recorder of a device need C++20, those over attach.hpp C++17.
DEVICE = ('esp_dl', 'tflite_micro')
FLAGS = ['-fno-exceptions', '-fno-rtti', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror', '-fsyntax-only']


def adapters():
    """(name, header) of each adapter that has declarations."""
    for folder in sorted((ROOT / 'tests/runtimes/declared').iterdir()):
        if folder.is_dir():
            headers = sorted((ROOT / 'platform/runtimes' / folder.name).glob('*'))
            if len(headers) != 1:
                sys.exit(f'platform/runtimes/{folder.name} is to be one header, has {len(headers)} files')
            yield folder.name, headers[0]


def compile_twice(name, header):
    standard = '-std=c++20' if name in DEVICE else '-std=c++17'
    with tempfile.NamedTemporaryFile('w', suffix='.cpp') as source:
        source.write(f'#include "{header}"\n#include "{header}"\nint main() {{}}\n')
        source.flush()
        done = subprocess.run([*COMPILER, standard, *FLAGS, f'-I{ROOT / "include"}', f'-I{ROOT}', '-isystem',
                               ROOT / 'tests/runtimes/declared' / name, source.name],
                              capture_output=True, text=True, check=False)
    return '' if done.returncode == 0 else f'{name} with {standard}:\n{done.stderr}'


def main():
    faults = []
    for name, header in adapters():
        text = header.read_text()
        if (lines := text.count('\n')) > MAX_LINES:
            faults.append(f'{header}: {lines} lines')
        if '/// Read at revision ' not in text:
            faults.append(f'{header}: says no revision')
    work = list(adapters())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults += filter(None, pool.map(lambda item: compile_twice(*item), work))
    print('\n'.join([*faults, f'{len(work)} compilations, {len(faults)} faults']))
    sys.exit(1 if faults or not work else 0)


if __name__ == '__main__':
    main()
