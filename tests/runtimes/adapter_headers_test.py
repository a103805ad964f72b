#!/usr/bin/env python3
"""Each adapter for a runtime is one header of at most 250 lines. Those that have declarations of their runtime in
declared/ compile over them alone and twice, under all warnings, without exceptions and RTTI unless the runtime throws;
those that no test runs say at which revision of the runtime they were read.

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
# One over the recorder of a device needs C++20, those over attach.hpp C++17.
DEVICE = ('tflite_micro',)
THROWS = ('armnn',)
RUN = ('armnn',)
FLAGS = ['-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror', '-fsyntax-only']


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
    without = [] if name in THROWS else ['-fno-exceptions', '-fno-rtti']
    with tempfile.NamedTemporaryFile('w', suffix='.cpp') as source:
        source.write(f'#include "{header}"\n#include "{header}"\nint main() {{}}\n')
        source.flush()
        done = subprocess.run([*COMPILER, standard, *without, *FLAGS, f'-I{ROOT / "include"}', f'-I{ROOT}', '-isystem',
                               ROOT / 'tests/runtimes/declared' / name, source.name],
                              capture_output=True, text=True, check=False)
    return '' if done.returncode == 0 else f'{name} with {standard}:\n{done.stderr}'


def main():
    faults = []
    for header in sorted((ROOT / 'platform/runtimes').glob('*/*_tap.hpp')):
        if (lines := header.read_text().count('\n')) > MAX_LINES:
            faults.append(f'{header}: {lines} lines')
    for name, header in adapters():
        if name not in RUN and '/// Read at revision ' not in header.read_text():
            faults.append(f'{header}: says no revision')
    work = list(adapters())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults += filter(None, pool.map(lambda item: compile_twice(*item), work))
    print('\n'.join([*faults, f'{len(work)} compilations, {len(faults)} faults']))
    sys.exit(1 if faults or not work else 0)


if __name__ == '__main__':
    main()
