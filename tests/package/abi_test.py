#!/usr/bin/env python3
"""What the headers for C say, and what the shared library exports, is as in the last release, or has grown as
their rules allow.

usage: abi_test.py SOURCE_ROOT LIBRARY [--write]
With --write what they say now becomes the last release: so it is while that release is not out, with each function and
constant that is added. The types are compared by abidiff of libabigail; without it the rest is looked at, and the test
counts as skipped.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADERS = ['opdump.h', 'attach.h', 'acl_chunks.h']
VERSION = 'OPDUMP_1'


def fail(text):
    sys.exit(f'FAILED: {text}')


def call(*command, allowed=(0,)):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in allowed:
        fail(f'{" ".join(map(str, command))} ended with {done.returncode}:\n{done.stdout}')
    return done


def declared(include):
    """The functions of the headers, the structs that may grow, and the constants."""
    functions, growing, constants = [], [], ['OPDUMP_API_MAJOR', 'OPDUMP_MAX_STRUCT_BYTES']
    for header in HEADERS:
        text = re.sub(r'/\*.*?\*/', '', (include / 'opdump' / header).read_text(), flags=re.S)
        functions += re.findall(r'^(?!typedef)[a-z][\w *]*?\b(opdump_\w+)\(', text, flags=re.M)
        growing += re.findall(r'struct (opdump_\w+) \{\s*size_t struct_bytes;', text)
        # A struct that a call fills is passed with its size.
        growing += re.findall(r'(opdump_\w+)\* \w+,\s*size_t bytes\)', text)
        constants += re.findall(r'^\s+(OPDUMP_\w+) = ', text, flags=re.M)
    return sorted(functions), sorted(set(growing)), sorted(constants)


def description(include, work):
    """A library that has the type of each function and the value of each constant, and no code."""
    functions, _, constants = declared(include)
    lines = [f'#include <opdump/{header}>' for header in HEADERS]
    lines += [f'__typeof__({name})* const type_of_{name} = 0;' for name in functions]
    lines += [f'char value_of_{name}[1 + (unsigned)({name})];' for name in constants]
    (work / 'types.c').write_text('\n'.join(lines) + '\n')
    library = work / 'types.so'
    call('cc', '-std=gnu99', '-g', '-O0', '-fPIC', '-shared', f'-I{include}', work / 'types.c', '-o', library)
    return library


def describe(include, work):
    library = description(include, work)
    return call('abidw', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs', '--no-parameter-names', library).stdout


def difference(old, include, work):
    """What abidiff says against the dump `old`; empty if programs that were compiled then work now."""
    growing = declared(include)[1]
    library = description(include, work)
    (work / 'growth.ini').write_text(''.join(
        f'[suppress_type]\n  type_kind = struct\n  name = {name}\n  has_data_member_inserted_at = end\n\n'
        for name in growing))
    done = call('abidiff', '--no-added-syms', '--suppressions', work / 'growth.ini', old, library,
                allowed=(0, 4, 8, 12))
    return done.stdout if done.returncode else ''


def exported(library):
    names = {}
    for line in call('nm', '-D', '--defined-only', library).stdout.splitlines():
        name, _, version = line.split()[-1].partition('@@')
        if version or line.split()[-2] != 'A':
            names[name] = version
    return names


def check_library(library, functions):
    names = exported(library)
    if set(names) != set(functions):
        fail(f'declared, not exported: {sorted(set(functions) - set(names))}; '
             f'exported, not declared: {sorted(set(names) - set(functions))}')
    if set(names.values()) != {VERSION}:
        fail(f'symbols without the version {VERSION}: {names}')


def unguarded(old, functions, constants):
    """What the dump does not have, so that nothing would be told if it changed."""
    dumped = set(re.findall(r"name='(?:type|value)_of_(opdump_\w+|OPDUMP_\w+)'", old, re.I))
    return sorted({*functions, *constants} - dumped)


def check_dump(old, functions, constants):
    missing = unguarded(old, functions, constants)
    if missing:
        fail(f'not in tests/data/abi/opdump_c.abi, which abi_test.py --write brings up to date: {missing}')
    for gone in (functions[0], constants[0]):
        if unguarded(old.replace(f"_of_{gone}'", "_of_gone'"), functions, constants) != [gone]:
            fail(f'a dump without {gone} should be refused')


def spoilt(include, work, changes):
    """The headers with what breaks programs."""
    copy = work / 'spoilt'
    shutil.rmtree(copy, ignore_errors=True)
    (copy / 'opdump').mkdir(parents=True)
    for header in HEADERS:
        text = (include / 'opdump' / header).read_text()
        for old, new in changes:
            text = text.replace(old, new)
        (copy / 'opdump' / header).write_text(text)
    return copy


# name: whether programs break, and the changes
CHANGES = {
    'a parameter of another type': (True, [('uint32_t* boot);', 'uint64_t* boot);')]),
    'a function that is gone': (True, [('uint32_t opdump_flash_log_ready_bytes(opdump_sink* sink);', '')]),
    'a value of an enumeration': (True, [('OPDUMP_ERR_IO = 65', 'OPDUMP_ERR_IO = 99')]),
    'a field before the others of a struct': (True, [('size_t struct_bytes;', 'size_t struct_bytes; void* early;')]),
    'another function': (False, [('uint32_t opdump_api_version(void);', 'uint32_t opdump_api_version(void); int opdump_later(int);')]),
}


def main():
    root, library = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    include, old = root / 'include', root / 'tests/data/abi/opdump_c.abi'
    functions, growing, constants = declared(include)
    if len(functions) < 100 or len(growing) < 15 or len(constants) < 80:
        fail(f'only {len(functions)} functions, {len(growing)} structs that may grow and {len(constants)} constants '
             'are found in the headers')
    check_library(library, functions)
    if shutil.which('abidiff') is None:
        check_dump(old.read_text(), functions, constants)
        print(f'{len(functions)} functions are exported; types are not compared: abidiff (abigail-tools) is not there')
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if '--write' in sys.argv:
            old.parent.mkdir(exist_ok=True)
            old.write_text(describe(include, work))
        check_dump(old.read_text(), functions, constants)
        told = difference(old, include, work)
        if told:
            fail(f'programs that were compiled with the last release may break:\n{told}')
        for name, (breaks, changes) in CHANGES.items():
            told = difference(old, spoilt(include, work, changes), work)
            if breaks != (told != ''):
                fail(f'{name}: abidiff should {"" if breaks else "not "}have found it{told}')
        grown = re.sub(r'(struct opdump_flash \{.*?)(\n\} opdump_flash;|\n\};)', r'\1\n  void* later;\2',
                       (include / 'opdump/opdump.h').read_text(), count=1, flags=re.S)
        if grown == (include / 'opdump/opdump.h').read_text():
            fail('opdump_flash is not found')
        copy = spoilt(include, work, [])
        (copy / 'opdump/opdump.h').write_text(grown)
        if difference(old, copy, work):
            fail('a struct with struct_bytes may grow at its end')
    print(f'{len(functions)} functions, {len(growing)} structs that may grow, {len(constants)} constants: as in the last '
          'release, or grown')


if __name__ == '__main__':
    main()
