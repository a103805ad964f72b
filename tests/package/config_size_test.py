#!/usr/bin/env python3
"""What the JSON configs of one dialect and of all take in a program: config_size_test.py SOURCE_ROOT [--write]

Links programs for this machine with -Os, unused functions left out, one that calls `parse_acl_config` and one that
calls `parse_config`; what both take beyond an empty program is the code of opdump and of the templates it uses, without
simdjson, which is a library of its own. The figures in include/opdump/config/README.md have to be within 5 % of that on
x86-64 with g++; --write brings them up to date. Elsewhere only the order is held. Skipped (77) without simdjson.
"""
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile

SKIPPED = 77
PROGRAM = '''
#include "opdump/base/arena.hpp"
#include "opdump/config/parse.hpp"
int main(int argc, char** argv) {
  static std::byte memory[65536];
  opdump::Arena arena(memory);
  opdump::DumpConfig config;
  opdump::ConfigError error;
  return argc > 1 && %s ? 1 : 0;
}
'''
CALLS = {'none': 'argv[1][0] == 0',
         'acl': 'opdump::parse_acl_config(argv[1], arena, nullptr, config, error) == opdump::Status::ok',
         'every': 'opdump::parse_config(argv[1], arena, nullptr, config, error) == opdump::Status::ok'}
SENTENCE = re.compile(r'all dialects take (\d+) KiB\nof code[^,]*, `parse_acl_config` alone (\d+) KiB')


def run(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    if done.returncode != 0:
        sys.exit(' '.join(map(str, words)) + '\n' + done.stdout)
    return done.stdout


def code_bytes(program):
    sections = re.findall(r'^(\.text|\.rodata|\.data\.rel\.ro|\.eh_frame|\.gcc_except_table)\s+(\d+)',
                          run(['size', '-A', program]), re.MULTILINE)
    return sum(int(size) for _, size in sections)


def measure(root, folder):
    compiler = shlex.split(os.environ.get('CXX', 'c++'))
    flags = ['-std=c++20', '-Os', '-ffunction-sections', '-fdata-sections', '-fno-exceptions', '-fno-rtti',
             f'-I{root}/include', f'-I{root}', *shlex.split(run(['pkg-config', '--cflags', 'simdjson']))]
    objects = []
    for source in sorted((root / 'src' / 'config').rglob('*.cpp')):
        objects.append(folder / (source.stem + '.o'))
        run([*compiler, *flags, '-c', source, '-o', objects[-1]])
    sizes = {}
    for name, call in CALLS.items():
        source = folder / (name + '_main.cpp')
        source.write_text(PROGRAM % call, encoding='utf-8')
        run([*compiler, *flags, source, *objects, '-Wl,--gc-sections', '-o', folder / name,
             *shlex.split(run(['pkg-config', '--libs', 'simdjson']))])
        sizes[name] = code_bytes(folder / name)
    return sizes['every'] - sizes['none'], sizes['acl'] - sizes['none']


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if subprocess.run(['pkg-config', '--exists', 'simdjson'], check=False).returncode != 0:
        print('skipped: pkg-config knows no simdjson')
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix='opdump_config_size') as folder:
        measured = measure(root, pathlib.Path(folder))
    print('every dialect: %d bytes, acl.json alone: %d' % measured)
    if measured[1] >= measured[0]:
        print('acl.json alone takes no less: its parser links the other dialects')
        return 1
    readme = root / 'include' / 'opdump' / 'config' / 'README.md'
    text = readme.read_text(encoding='utf-8')
    found = SENTENCE.search(text)
    if found is None:
        print(f'{readme} does not say what the dialects take')
        return 1
    kib = [round(size / 1024) for size in measured]
    if '--write' in sys.argv[2:]:
        said = found[0].replace(f'take {found[1]} KiB', f'take {kib[0]} KiB')
        said = said.replace(f'alone {found[2]} KiB', f'alone {kib[1]} KiB')
        readme.write_text(text.replace(found[0], said), encoding='utf-8')
        return 0
    if platform.machine() != 'x86_64' or 'clang' in run([*shlex.split(os.environ.get('CXX', 'c++')), '--version']):
        return 0
    wrong = [(int(said), size / 1024) for said, size in zip(found.groups(), measured)
             if abs(int(said) - size / 1024) > max(0.05 * size / 1024, 1)]
    for said, size in wrong:
        print('%s says %d KiB, and it is %.1f' % (readme, said, size))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
