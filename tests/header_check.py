#!/usr/bin/env python3
"""Compiles every public header alone and included twice, those for C as C too. Usage: header_check.py COMPILER SOURCE_ROOT"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

FLAGS = '-std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Wconversion -Wundef -Werror -fsyntax-only -xc++ -'.split()


C_FLAGS = '-std=c99 -pedantic -Wall -Wextra -Wconversion -Wundef -Werror -fsyntax-only -xc -'.split()


def compile_twice(compiler, root, header, flags):
    # An empty translation unit is no C.
    source = f'#include "{header}"\n#include "{header}"\nextern int one;\n'
    command = [compiler, f'-I{root}/include', f'-I{root}', *flags]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    return header, done.returncode, done.stderr


def has_opencl(compiler):
    return subprocess.run([compiler, '-fsyntax-only', '-xc', '-'], input='#include <CL/cl.h>\n', text=True,
                          capture_output=True, check=False).returncode == 0


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    headers = [p.relative_to(root / 'include') for p in sorted((root / 'include').rglob('*.hpp'))]
    headers += [p.relative_to(root) for p in sorted((root / 'platform').rglob('*.hpp'))]
    if not has_opencl(compiler):
        print('left out: platform/opencl, as OpenCL\'s headers are not there')
        headers = [p for p in headers if p.parts[:2] != ('platform', 'opencl')]
    c_headers = [p.relative_to(root / 'include') for p in sorted((root / 'include').rglob('*.h'))]
    work = [(header, FLAGS) for header in headers + c_headers] + [(header, C_FLAGS) for header in c_headers]
    if len(headers) < 10 or not c_headers:
        sys.exit(f'only {len(headers)} headers found below {root}')
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, code, text in pool.map(lambda item: compile_twice(compiler, root, *item), work):
            if code != 0:
                failed += 1
                print(f'{header} does not compile alone:\n{text}')
    print(f'{len(work)} headers, {failed} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
