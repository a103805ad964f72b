#!/usr/bin/env python3
"""What the JSON configs of each dialect take in a program: config_size_test.py SOURCE_ROOT [--write]

Links programs for this machine with -Os, unused functions left out: one that calls `parse_acl_config`, and for each
choice of -Ddialects one that calls `parse_config`. What each takes beyond an empty program is the code of opdump and
of the templates it uses, without simdjson, which is a library of its own. On x86-64 with g++ the table in
include/opdump/config/README.md has to be within 5 % of that, and each code within its limit; --write brings the table
up to date. Elsewhere only the order is held. Each program also refuses the dialects that it was built without, and
names them, and keys of "opdump" whose readers it does not ask for. Skipped (77) without simdjson.
"""
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile

SKIPPED = 77
KIB = 1024
# The words of -Ddialects, what OPDUMP_DIALECTS counts them as, and a config of each.
COMMON = {'dump_mode': 0, 'path': '/dump', 'net_name': 'net', 'input_output': 0, 'kernels': []}
DIALECTS = {
    'cann': (1, "CANN's acl.json", {'dump': {'dump_path': '.', 'dump_list': [{}]}}),
    'mindspore': (2, "MindSpore's data_dump.json", {'common_dump_settings': dict(
        COMMON, iteration='all', support_device=[0], op_debug_mode=0)}),
    'torchair': (4, "torchair's options", {'dump_config': {'enable_dump': True}}),
    'lite': (8, "MindSpore Lite's config", {'common_dump_settings': COMMON})}
PROGRAM = '''
#include <cstdio>
#include "opdump/base/arena.hpp"
#include "opdump/config/parse.hpp"
int main(int argc, char** argv) {
  static std::byte memory[65536];
  opdump::Arena arena(memory);
  opdump::ConfigOutcome outcome;
  if (argc < 2 || %s) return 0;
  std::printf("%%s: %%s\\n", outcome.error.key.c_str(), outcome.error.reason.c_str());
  return 1;
}
'''
NONE = 'argv[1][0] == 0'
ACL = 'opdump::parse_acl_config({argv[1], arena}, outcome) == opdump::Status::ok'
EVERY = 'opdump::parse_config({argv[1], arena}, outcome) == opdump::Status::ok'
# What each program is called in the table, its call, its dialects, and the most code, in KiB.
PROGRAMS = {
    '`parse_acl_config` alone': (ACL, ['cann'], 50),
    '`cann`': (EVERY, ['cann'], 52),
    '`mindspore`': (EVERY, ['mindspore'], 64),
    '`torchair`': (EVERY, ['torchair'], 42),
    '`lite`': (EVERY, ['lite'], 37),
    '`cann,mindspore,torchair,lite`': (EVERY, list(DIALECTS), 90)}
ALL = list(PROGRAMS)[-1]
HEAD = '| dialects | code | code and constants |\n|---|---|---|\n'
TABLE = re.compile(re.escape(HEAD) + r'((?:\|.*\n)+)')
ROW = '| %s | %d KiB | %d KiB |\n'
# Keys whose readers only a program links that asks for them.
ASKED_FOR = {'privacy': [{'keep': 'nothing'}], 'seal': 'a' * 64,
             'trigger': [{'call': 'door'}], 'trigger_limits': {'firings_per_boot': 1}}
# Each depends on the dialects of the build.
CHOOSING = ('every_dialect', 'acl_config', 'torchair_config')


def run(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    if done.returncode != 0:
        sys.exit(' '.join(map(str, words)) + '\n' + done.stdout)
    return done.stdout


def sizes_of(program):
    """Bytes of machine code, and of that with constants and tables for unwinding, without those of simdjson."""
    theirs = sum(int(size, 16) for size in re.findall(r'^\S+ (\S+) [DRV] simdjson::', run(
        ['nm', '-C', '-S', program]), re.MULTILINE))
    sections = dict(re.findall(r'^(\.text|\.rodata|\.data\.rel\.ro|\.eh_frame|\.gcc_except_table)\s+(\d+)',
                               run(['size', '-A', program]), re.MULTILINE))
    return int(sections['.text']), sum(map(int, sections.values())) - theirs


class Builder:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.compiler = shlex.split(os.environ.get('CXX', 'c++'))
        self.flags = ['-std=c++20', '-Os', '-ffunction-sections', '-fdata-sections', '-fno-exceptions', '-fno-rtti',
                      f'-I{root}/include', f'-I{root}', *shlex.split(run(['pkg-config', '--cflags', 'simdjson']))]
        self.libraries = shlex.split(run(['pkg-config', '--libs', 'simdjson']))
        sources = sorted((root / 'src' / 'config').rglob('*.cpp'))
        self.choosing = [source for source in sources if source.stem in CHOOSING]
        self.common = [self.compiled(source) for source in sources if source.stem not in CHOOSING]

    def compiled(self, source, *more):
        built = self.folder / (source.stem + '.o')
        run([*self.compiler, *self.flags, *more, '-c', source, '-o', built])
        return built

    def program(self, call, dialects):
        choice = f'-DOPDUMP_DIALECTS={sum(DIALECTS[dialect][0] for dialect in dialects)}'
        main = self.folder / 'main.cpp'
        main.write_text(PROGRAM % call, encoding='utf-8')
        chosen = [self.compiled(source, choice) for source in [*self.choosing, main]]
        program = self.folder / 'program'
        run([*self.compiler, *chosen, *self.common, '-Wl,--gc-sections', '-o', program, *self.libraries])
        return program


def check_refusals(program, name, call, dialects):
    for dialect, (_, file, config) in DIALECTS.items():
        done = subprocess.run([program, json.dumps(config)], stdout=subprocess.PIPE, check=False, text=True)
        said = 'CANN\'s acl.json only' if call == ACL else f'of {file}, a dialect that opdump was built without: build ' \
            f'it with -Ddialects and {dialect} among them'
        wanted = (0, '') if dialect in dialects else (1, said)
        if done.returncode != wanted[0] or wanted[1] not in done.stdout:
            sys.exit(f'{name}: {dialect}: exit status {done.returncode}: {done.stdout}')
        for key, value in ASKED_FOR.items() if dialect in dialects else ():
            done = subprocess.run([program, json.dumps(config | {'opdump': {key: value}})], stdout=subprocess.PIPE,
                                  check=False, text=True)
            if done.returncode != 1 or not re.match(fr'opdump\.{key}: \w.*program', done.stdout):
                sys.exit(f'{name}: {dialect} with {key}: exit status {done.returncode}: {done.stdout}')


def measure(root, folder):
    builder = Builder(root, folder)
    empty = sizes_of(builder.program(NONE, DIALECTS))
    measured = {}
    for name, (call, dialects, _) in PROGRAMS.items():
        program = builder.program(call, dialects)
        check_refusals(program, name, call, dialects)
        measured[name] = [size - nothing for size, nothing in zip(sizes_of(program), empty)]
    return measured


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if subprocess.run(['pkg-config', '--exists', 'simdjson'], check=False).returncode != 0:
        print('skipped: pkg-config knows no simdjson')
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix='opdump_config_size') as folder:
        measured = measure(root, pathlib.Path(folder))
    rows = ''.join(ROW % (name, *(round(size / KIB) for size in sizes)) for name, sizes in measured.items())
    print(HEAD + rows, end='')
    print({name: sizes for name, sizes in measured.items()})
    wrong = [f'{name} takes no less than all dialects: it links others' for name, sizes in measured.items()
             if name != ALL and sizes[0] >= measured[ALL][0]]
    readme = root / 'include' / 'opdump' / 'config' / 'README.md'
    text = readme.read_text(encoding='utf-8')
    found = TABLE.search(text)
    if found is None:
        wrong.append(f'{readme} does not say what the dialects take')
    elif '--write' in sys.argv[2:]:
        readme.write_text(text.replace(found[0], HEAD + rows), encoding='utf-8')
    elif platform.machine() == 'x86_64' and 'clang' not in run([*shlex.split(os.environ.get('CXX', 'c++')), '--version']):
        said = [re.match(r'\| (.*) \| (\d+) KiB \| (\d+) KiB \|', row) for row in found[1].splitlines()]
        told = {row[1]: (int(row[2]), int(row[3])) for row in said if row is not None}
        wrong += [f'{readme} has {told.get(name)} for {name}, and it is {[round(size / KIB, 1) for size in sizes]} KiB'
                  for name, sizes in measured.items()
                  if name not in told or any(abs(kib - size / KIB) > max(0.05 * size / KIB, 1)
                                             for kib, size in zip(told[name], sizes))]
        wrong += [f'{name} takes {sizes[0]} bytes of code, more than {PROGRAMS[name][2]} KiB'
                  for name, sizes in measured.items() if sizes[0] > PROGRAMS[name][2] * KIB]
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
