#!/usr/bin/env python3
"""Flash, RAM and stack of opdump on Cortex-M3 and M55, in parts and in whole firmware, stay within
tests/firmware/size.json.

usage: size_test.py SOURCE_ROOT [--write]

Each component is a file below tests/firmware/size that calls what a firmware calls. It is compiled with -Os and
linked alone, unused functions left out; what it needs of the C library is not counted but has to be among the few
functions that size.json allows. Stack is the deepest path through all its functions by -fcallgraph-info, as far as
virtual calls; where size.json says which of them lead where, a second figure follows those too. What a port supplies
behind a virtual call comes on top. Of whole firmware see linked_size.py.

A component that is "more than" another build is what it takes more flash than that one.

The tables of tests/firmware/README.md have to be within 5 % of what is measured; --write brings them up to date.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

from budget import SKIP, complaint, readme, run
from callgraph import CallGraph

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'package'))
from linked_size import linked_rows, linked_table, profile_complaints
from profiles import configurations

CPUS = {'cortex-m3': ['-mcpu=cortex-m3'], 'cortex-m55': ['-mcpu=cortex-m55', '-mfloat-abi=hard']}
FLAGS = ('-std=c++20 -mthumb -Os -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections '
         '-fdata-sections -Wall -Wextra -Wconversion -Wundef -Werror -Wno-psabi').split()
SECTIONS = {'flash': ('.text', '.rodata', '.ARM.exidx', '.init_array'), 'ram': ('.data', '.bss')}


def symbol_bytes(binary, prefix):
    sizes = [line.split() for line in run('arm-none-eabi-nm', '-S', binary).splitlines()]
    return {s[3][len(prefix):]: int(s[1], 16) for s in sizes if len(s) == 4 and s[3].startswith(prefix)}


def measure(root, component, rule, cpu, folder, *options):
    """Figures of a component, linked with `options` besides."""
    source = root / 'tests/firmware/size' / rule.get('source', f'{component}.cpp')
    stem = folder / f'{component}-{cpu}'
    knobs = configurations()[rule['profile']] if 'profile' in rule else rule['knobs']
    include = [f'-I{root}/include', f'-I{root}', *(f'-D{knob}' for knob in knobs)]
    run('arm-none-eabi-g++', *CPUS[cpu], *FLAGS, *include, '-fcallgraph-info=su', '-c', str(source), '-o', f'{stem}.o')
    entries = [line.split()[2] for line in run('arm-none-eabi-nm', f'{stem}.o').splitlines()
               if re.match(r'\w+ T size_', line)]
    if not entries:
        sys.exit(f'{source} defines no function size_...')
    run('arm-none-eabi-g++', *CPUS[cpu], '-mthumb', '-nostdlib', '-Wl,--gc-sections,--unresolved-symbols=ignore-all',
        *options, f'-Wl,-e,{entries[0]}', *(f'-Wl,-u,{entry}' for entry in entries), f'{stem}.o', '-o', f'{stem}.elf')
    sizes = {}
    for line in run('arm-none-eabi-size', '-A', f'{stem}.elf').splitlines():
        if (fields := line.split()) and fields[0].startswith('.'):
            sizes[fields[0]] = int(fields[1])
    figures = {what: sum(sizes.get(section, 0) for section in sections) for what, sections in SECTIONS.items()}
    if 'more than' in rule:
        figures['flash'] -= measure(root, f'{component}-less', rule['more than'], cpu, folder)['flash']
    figures['needs'] = sorted(line.split()[-1] for line in run('arm-none-eabi-nm', '-u', f'{stem}.elf').splitlines())
    graph = CallGraph(stem.with_suffix('.ci').read_text())
    figures['stack'], figures['path'], _ = graph.deepest()
    if 'virtual' in rule:
        graph.add_virtual(rule['virtual'])
        figures['virtual stack'], figures['path'], _ = graph.deepest()
    figures['objects'] = symbol_bytes(f'{stem}.o', 'bytes_of_')
    return figures


def table_complaints(root, rows, linked):
    """Of the tables of README; brings them up to date where asked to."""
    table = ['| bytes, -Os | flash M3 | flash M55 | goal | deepest stack | goal |', '|---|---|---|---|---|---|',
             *('| ' + ' | '.join(row) + ' |' for row in rows)]
    return [readme(root, 'firmware', table, '--write' in sys.argv),
            readme(root, 'linked', linked_table(linked), '--write' in sys.argv)]


def main():
    root = pathlib.Path(sys.argv[1])
    if shutil.which('arm-none-eabi-g++') is None:
        print('arm-none-eabi-g++ is not installed')
        sys.exit(SKIP)
    rules = json.loads((root / 'tests/firmware/size.json').read_text())
    complaints, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        for component, rule in rules['components'].items():
            figures = {cpu: measure(root, component, rule, cpu, pathlib.Path(folder)) for cpu in CPUS}
            for cpu, got in figures.items():
                complaints.append(complaint(f'{component}, {cpu}, flash in bytes', got['flash'], rule['flash']))
                complaints.append(complaint(f'{component}, {cpu}, stack in bytes', got['stack'], rule['stack']))
                if got['ram']:
                    complaints.append(f'{component}, {cpu}: {got["ram"]} B of static RAM, where all is the caller\'s')
                for name, value in got['objects'].items():
                    complaints.append(complaint(f'{name}, {cpu}, bytes', value, rule['objects'][name]))
                if unknown := set(got['needs']) - set(rules['library']):
                    complaints.append(f'{component}, {cpu}: needs {", ".join(sorted(unknown))} of the library')
                through = ''
                if 'virtual' in rule:
                    through = f', through virtual calls {got["virtual stack"]} B'
                    complaints.append(complaint(f'{component}, {cpu}, stack through virtual calls in bytes',
                                                got['virtual stack'], rule['virtual stack']))
                print(f'{component}, {cpu}: {got["flash"]} B flash, {got["stack"]} B stack{through}',
                      got['objects'] or '')
                names = run('arm-none-eabi-c++filt', '-p', *(name for _, name in got['path'])).splitlines()
                frames = (f'{name.split("::")[-1]} {own}' for name, (own, _) in zip(names, got['path']))
                print('  deepest:', ', '.join(frames))
            rows.append((rule['title'], *(f'{figures[cpu]["flash"]}' for cpu in CPUS),
                         f'{rule["flash"]["budget"]}', f'{max(f["stack"] for f in figures.values())}',
                         f'{rule["stack"]["budget"]}'))
        complaints += profile_complaints(root, rules['profiles'], pathlib.Path(folder))
        linked, others = linked_rows(root, rules['linked'], pathlib.Path(folder))
        complaints += others + table_complaints(root, rows, linked)
    complaints = list(filter(None, complaints))
    print('\n'.join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == '__main__':
    main()
