#!/usr/bin/env python3
"""A compiler that is too old gets one line that says so: from CMake, from Meson, and from the headers in each form in
which they are taken without a build of opdump. The old compiler is the one that is there, telling another version. The
oldest g++ that is taken, 11, compiles programs where it is installed.

usage: old_compiler_test.py SOURCE_ROOT
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
LEAST = 'opdump needs g++ 11 or clang++ 14'
# What tells the version, of the newest that is refused and of the oldest that is not.
VERSIONS = {'g++': ('__GNUC__', 10, 11), 'clang++': ('__clang_major__', 13, 14)}
RTOS = ROOT / 'tests/rtos/declared'
FORMS = {
    'installed, or added to the include path': ('#include "opdump/opdump.hpp"\n', [f'-I{ROOT}/include']),
    'a folder of platform': ('#include "platform/flashlog/flash_log.hpp"\n', [f'-I{ROOT}/include', f'-I{ROOT}']),
    'the module of Zephyr': ('#include "platform/zephyr/drain.hpp"\n',
                             [f'-I{ROOT}/include', f'-I{ROOT}', '-D__ZEPHYR__=1', '-isystem', f'{RTOS}/zephyr']),
    'the component of ESP-IDF': ('#include "platform/esp-idf/flash_partition.hpp"\n',
                                 [f'-I{ROOT}/include', f'-I{ROOT}', '-DESP_PLATFORM=1', '-isystem', f'{RTOS}/esp_idf']),
}
PROJECT = 'cmake_minimum_required(VERSION 3.18)\nproject(app CXX)\nadd_subdirectory("{root}/platform/cmake" opdump)\n'


def said_of(text):
    """The lines in which compilers, Meson and CMake tell of a fault."""
    return [line.strip() for line in text.splitlines() if re.search(r'error: |ERROR: |CMake Error', line)]


class OldCompiler(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def there(self):
        for name in VERSIONS:
            if shutil.which(name):
                yield name
            else:
                print(f'left out: {name}, which is not installed')

    def fake(self, name, version):
        """The compiler, of another version by all that build systems look at."""
        path = self.folder / f'{name}-{version}'
        macro = VERSIONS[name][0]
        path.write_text('#!/bin/sh\n'
                        f'if [ "$*" = --version ]; then echo "{name} (clang version or GCC) {version}.2.0"; '
                        f'{name} --version | tail -n +2; exit; fi\n'
                        f'exec {name} -U{macro} -D{macro}={version} "$@"\n')
        path.chmod(0o755)
        return path

    def run_failing(self, *command, **options):
        done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False, **options)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_headers(self):
        layout = self.folder / 'layout'
        layout.mkdir()
        subprocess.run([sys.executable, ROOT / 'platform/one_header.py', '-o', layout / 'opdump.hpp'], check=True)
        forms = {**FORMS, 'one header': ('#include "opdump.hpp"\n', [f'-I{layout}'])}
        for name in self.there():
            macro, old, least = VERSIONS[name]
            for form, (text, flags) in forms.items():
                for version in (old, least):
                    with self.subTest(compiler=name, version=version, form=form):
                        done = subprocess.run([name, '-std=c++20', *flags, f'-U{macro}', f'-D{macro}={version}', '-E',
                                               '-xc++', '-'], input=text, text=True, capture_output=True, check=False)
                        errors = said_of(done.stderr)
                        self.assertEqual([LEAST in error for error in errors], [True] * (version == old), done.stderr)

    def test_every_header_tells_it(self):
        """First of all, before what the old compiler does not know."""
        headers = [path for folder in ('include/opdump', 'platform/host', 'platform/baremetal', 'platform/flashlog')
                   for path in sorted((ROOT / folder).rglob('*.hpp'))
                   if path.relative_to(ROOT / 'include' if folder.startswith('include') else ROOT).name != 'attach.hpp']
        self.assertGreater(len(headers), 100)

        def fault(path):
            done = subprocess.run(['g++', '-std=c++20', f'-I{ROOT}/include', f'-I{ROOT}', '-U__GNUC__', '-D__GNUC__=10', '-fsyntax-only',
                                   '-xc++', '-'], input=f'#include "{path}"\n', text=True, capture_output=True, check=False)
            errors = said_of(done.stderr)
            return None if len(errors) == 1 and LEAST in errors[0] else f'{path}: {errors[:3]}'

        if shutil.which('g++') is None:
            self.skipTest('g++ is not installed')
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.assertEqual([*filter(None, pool.map(fault, headers))], [])

    def test_the_oldest_compiles(self):
        if shutil.which('g++-11') is None:
            self.skipTest('g++-11 is not installed')
        programs = ['#include "opdump/config/blob.hpp"\n#include "platform/flashlog/flash_log.hpp"\n', '#include "consumer.cpp"\n']
        for program, knobs in ((programs[0], ['-DOPDUMP_SMALL_CODE=1', '-fno-exceptions', '-fno-rtti']), (programs[1], [])):
            done = subprocess.run(['g++-11', '-std=c++20', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror',
                                   f'-I{ROOT}/include', f'-I{ROOT}', f'-I{ROOT}/tests/package', *knobs, '-fsyntax-only', '-xc++', '-'],
                                  input=program, text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_meson(self):
        for name in self.there():
            _, old, least = VERSIONS[name]
            with self.subTest(compiler=name):
                takes = [subprocess.call(['sh', '-c', '. examples/build_tools.sh; compiles_cxx20 "$0"', self.fake(name, version)],
                                         cwd=ROOT, stderr=subprocess.DEVNULL) == 0 for version in (old, least)]
                self.assertEqual(takes, [False, True])
                text = self.run_failing('meson', 'setup', self.folder / f'meson {name}', ROOT,
                                        env={**os.environ, 'CXX': str(self.fake(name, old))})
                errors = said_of(text)
                self.assertEqual(len(errors), 1, text)
                self.assertIn(f'{LEAST}; this compiler is ', errors[0])

    @unittest.skipIf(shutil.which('cmake') is None, 'cmake is not installed')
    def test_cmake(self):
        (self.folder / 'CMakeLists.txt').write_text(PROJECT.format(root=ROOT))
        for name in self.there():
            old = VERSIONS[name][1]
            with self.subTest(compiler=name):
                text = self.run_failing('cmake', '-G', 'Ninja', '-S', self.folder, '-B', self.folder / f'cmake {name}',
                                        f'-DCMAKE_CXX_COMPILER={self.fake(name, old)}')
                self.assertEqual(len(said_of(text)), 1, text)
                lines = [line.strip() for line in text.splitlines() if LEAST in line]
                self.assertEqual(len(lines), 1, text)
                self.assertRegex(lines[0], rf'^{LEAST.replace("+", "[+]")}; this compiler is (GNU|Clang) {old}[.]')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
