#!/usr/bin/env python3
"""What the headers for C say, and what the shared library exports, is as in the last release, or has grown as
their rules allow.

usage: abi_test.py SOURCE_ROOT LIBRARY [--write]
With --write what they say now becomes the last release: so it is while that release is not out, with each function and
constant that is added. The release is kept as its declarations in C. The types are compared by abidiff of libabigail;
without it the rest is looked at, and the test counts as skipped.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADERS = ['opdump_values.h', 'opdump.h', 'opdump_more.h', 'opdump_system.h', 'attach.h', 'acl_chunks.h']
VERSION = 'OPDUMP_1'
# Functions and lines of opdump.h, which a reader meets first.
MOST_CORE = (16, 386)


def fail(text):
    sys.exit(f'FAILED: {text}')


def call(*command, allowed=(0,)):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in allowed:
        fail(f'{" ".join(map(str, command))} ended with {done.returncode}:\n{done.stdout}')
    return done


def statements(text):
    """The declarations and constants of C's text, one on a line."""
    text = re.sub(r'/\*.*?\*/|^#ifdef __cplusplus$.*?^#endif$', '', text, flags=re.S | re.M)
    text = re.sub(r'^#(?!define \w+ )(?:.*\\\n)*.*', '', text, flags=re.M)
    text = re.sub(r'^(#define .*)', r'\1;', text, flags=re.M)
    found, depth, begun = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign == '{') - (sign == '}')
        if sign == ';' and depth == 0:
            found.append(' '.join(text[begun:i + 1].split()))
            begun = i + 1
    return '\n'.join(line[:-1] if line.startswith('#') else line for line in found) + '\n'


def said(include):
    return statements(''.join((include / 'opdump' / header).read_text() for header in HEADERS))


def declared(text):
    """The functions of statements, the structs that may grow, and the constants."""
    functions = re.findall(r'^(?!typedef)[a-z][\w *]*?\b(opdump_\w+)\(', text, flags=re.M)
    growing = re.findall(r'struct (opdump_\w+) \{ size_t struct_bytes;', text)
    # A struct that a call fills is passed with its size.
    growing += re.findall(r'(opdump_\w+)\* \w+, size_t bytes\)', text)
    constants = re.findall(r'\b(OPDUMP_\w+) = ', text)
    return sorted(functions), sorted(set(growing)), sorted(['OPDUMP_API_MAJOR', 'OPDUMP_MAX_STRUCT_BYTES', *constants])


def description(text, source, library, *arguments):
    """A library that has the type of each function of `text` and the value of each constant, as `source` declares them."""
    functions, _, constants = declared(text)
    lines = [f'__typeof__({name})* const type_of_{name} = 0;' for name in functions]
    lines += [f'char value_of_{name}[1 + (unsigned)({name})];' for name in constants]
    library.with_suffix('.c').write_text(source + '\n' + '\n'.join(lines) + '\n')
    call('cc', '-std=gnu99', '-g', '-O0', '-fPIC', '-shared', *arguments, library.with_suffix('.c'), '-o', library)
    return library


def of_text(text, library):
    return description(text, '#include <stddef.h>\n#include <stdint.h>\n' + text, library)


def difference(old, text, new):
    """What abidiff says of the library `new` of `text` against `old`; empty if programs that were compiled then work now."""
    growth = new.with_suffix('.ini')
    growth.write_text(''.join(
        f'[suppress_type]\n  type_kind = struct\n  name = {name}\n  has_data_member_inserted_at = end\n\n'
        for name in declared(text)[1]))
    done = call('abidiff', '--no-added-syms', '--suppressions', growth, old, new, allowed=(0, 4, 8, 12))
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
    """What the last release does not have, so that nothing would be told if it changed."""
    known = declared(old)
    return sorted({*functions, *constants} - {*known[0], *known[2]})


def check_release(old, functions, constants):
    missing = unguarded(old, functions, constants)
    if missing:
        fail(f'not in tests/data/abi/opdump_c.txt, which abi_test.py --write brings up to date: {missing}')
    for gone in (functions[0], constants[-1]):
        if unguarded(re.sub(rf'\b{gone}\b', 'gone', old), functions, constants) != [gone]:
            fail(f'a release without {gone} should be refused')


# name: whether programs break, and the changes
CHANGES = {
    'a parameter of another type': (True, [('uint32_t* boot);', 'uint64_t* boot);')]),
    'a function that is gone': (True, [('uint32_t opdump_flash_log_ready_bytes(opdump_sink* sink);', '')]),
    'a value of an enumeration': (True, [('OPDUMP_ERR_IO = 65', 'OPDUMP_ERR_IO = 99')]),
    'a field before the others of a struct': (True, [('size_t struct_bytes;', 'size_t struct_bytes; void* early;')]),
    'another function': (False, [('uint32_t opdump_api_version(void);', 'uint32_t opdump_api_version(void);\nint opdump_later(int);')]),
    'a field at the end of a struct with struct_bytes': (False, [('} opdump_flash;', 'void* later; } opdump_flash;')]),
}


def main():
    root, library = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    include, release = root / 'include', root / 'tests/data/abi/opdump_c.txt'
    text = said(include)
    functions, growing, constants = declared(text)
    if len(functions) < 100 or len(growing) < 15 or len(constants) < 80:
        fail(f'only {len(functions)} functions, {len(growing)} structs that may grow and {len(constants)} constants '
             'are found in the headers')
    core = (include / 'opdump/opdump.h').read_text()
    if (has := (len(declared(statements(core))[0]), core.count('\n'))) > MOST_CORE or has[1] > MOST_CORE[1]:
        fail(f'opdump.h has {has} functions and lines, at most {MOST_CORE} are wanted: the rest is for opdump_more.h')
    off = re.findall(r'^#define (opdump_\w+)\(', (include / 'opdump/impl/c_api/off.h').read_text(), re.M)
    if sorted(off) != declared(statements(''.join((include / 'opdump' / name).read_text() for name in HEADERS[1:4])))[0]:
        fail('impl/c_api/off.h has not each function of opdump.h, opdump_more.h and opdump_system.h once')
    check_library(library, functions)
    if '--write' in sys.argv:
        release.write_text(text)
    old = release.read_text()
    check_release(old, functions, constants)
    if shutil.which('abidiff') is None:
        print(f'{len(functions)} functions are exported; types are not compared: abidiff (abigail-tools) is not there')
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        before = of_text(old, work / 'before.so')
        includes = '\n'.join(f'#include <opdump/{header}>' for header in HEADERS)
        told = difference(before, text, description(text, includes, work / 'now.so', f'-I{include}'))
        if told:
            fail(f'programs that were compiled with the last release may break:\n{told}')
        for name, (breaks, changes) in CHANGES.items():
            changed = text
            for was, becomes in changes:
                changed = changed.replace(was, becomes)
            if changed == text:
                fail(f'{name}: nothing to change is found')
            told = difference(before, changed, of_text(changed, work / 'changed.so'))
            if breaks != (told != ''):
                fail(f'{name}: abidiff should {"" if breaks else "not "}have found it{told}')
    print(f'{len(functions)} functions, {len(growing)} structs that may grow, {len(constants)} constants: as in the last '
          'release, or grown')


if __name__ == '__main__':
    main()
