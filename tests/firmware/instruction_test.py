#!/usr/bin/env python3
"""Instructions of the hot path on a Cortex-M3, counted by QEMU, stay within tests/firmware/instructions.json.

Two builds are counted: one for speed, with memory for the operator's head, and one for size. The drainer takes
eight records per call. Looks of triggers are counted in the first kind of build, by a program of their own. Where
instructions.json says "some", only the counts that it has are looked at.

usage: instruction_test.py SOURCE_ROOT [--write]

The table of tests/firmware/README.md has to be within 5 % of what is counted; --write brings it up to date.
"""
import json
import pathlib
import sys
import tempfile

from budget import complaint, readme
from emulated import build, execute, skip_without_tools


def count(root, source, options, program):
    build(root, 'mps2-an385', 'cortex_m', [root / 'tests/firmware' / source], program, '-mcpu=cortex-m3', *options)
    counts = execute(root, 'mps2-an385', program, '-icount shift=5')
    return {name: float(value) for name, value in (line.rsplit(',', 1) for line in counts.splitlines())}


def main():
    root = pathlib.Path(sys.argv[1])
    skip_without_tools()
    rules = json.loads((root / 'tests/firmware/instructions.json').read_text())
    complaints, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, rule in rules.items():
            options = rule.pop('options')
            got = count(root, rule.pop('source', 'instructions.cpp'), options, f'{folder}/{name}.elf')
            print(f'{name}:', ', '.join(f'{what} {value:g}' for what, value in got.items()))
            if rule.pop('some', False):
                got = {what: got[what] for what in rule}
            if got.keys() != rule.keys():
                sys.exit(f'the program counted {", ".join(got)}, and instructions.json has {", ".join(rule)}')
            complaints += [complaint(f'{name}: {what}, instructions', got[what], rule[what]) for what in rule]
            title = ' '.join(option for option in options if not option.endswith('=0'))
            rows += [(what, f'`{title}`', f'{round(got[what])}', f'{rule[what]["budget"]}') for what in rule]
    table = ['| instructions | built with | counted | goal |', '|---|---|---|---|',
             *('| ' + ' | '.join(row) + ' |' for row in rows)]
    complaints.append(readme(root, 'instructions', table, '--write' in sys.argv))
    complaints = list(filter(None, complaints))
    print('\n'.join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == '__main__':
    main()
