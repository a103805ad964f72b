#!/usr/bin/env python3
"""Every test below tests/ is built or run by a meson.build: one that is not would never fail.

usage: registered_test.py SOURCE_ROOT
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])


def names_made_in_loops(text):
    """Of `foreach name : ['a', 'b']`, with files('x_' + name + '_test.py') in it: x_a_test.py, x_b_test.py."""
    for variable, values, body in re.findall(r'foreach (\w+) : \[(.*?)\]\n(.*?)endforeach', text, re.S):
        for prefix, suffix in re.findall(r"'([^']*)' \+ %s \+ '([^']*)'" % variable, body):
            yield from (prefix.split('/')[-1] + value + suffix for value in re.findall(r"'([^']*)'", values))


def main():
    registered = set()
    for build in (ROOT / 'tests').rglob('meson.build'):
        text = build.read_text()
        registered.update(name.split('/')[-1] for name in re.findall(r"'([^'\n]+)'", text))
        registered.update(names_made_in_loops(text))
    tests = [path for kind in ('cpp', 'py', 'sh') for path in sorted((ROOT / 'tests').rglob(f'*_test.{kind}'))]
    missing = [str(path.relative_to(ROOT)) for path in tests if path.name not in registered]
    if not tests or missing:
        sys.exit('no meson.build names: ' + ', '.join(missing or ['any test']))


if __name__ == '__main__':
    main()
