"""Figures against what they may be: {"budget": N} or, where that is not reached yet, {"budget": N, "limit": M}."""

import re
import subprocess
import sys

SKIP = 77


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(' '.join(command) + f'\nexit status {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def complaint(what, value, rule):
    """Why `value` fails, None if it does not. A limit that is no longer needed fails too."""
    budget, limit = rule['budget'], rule.get('limit')
    if limit is not None and value <= budget:
        return f'{what}: {value:g} fit the budget of {budget}: take the limit out'
    if value > (budget if limit is None else limit):
        return f'{what}: {value:g}, more than {budget if limit is None else limit}'
    return None


def readme(root, name, table, write):
    """Why the table `name` of tests/firmware/README.md is out of date, None if it is not; `write` makes it so."""
    path = root / 'tests/firmware/README.md'
    before, start, rest = path.read_text().partition(f'<!-- {name} -->\n')
    there, end, after = rest.partition(f'<!-- /{name} -->')
    if write:
        path.write_text(before + start + '\n'.join(table) + '\n' + end + after)
        return None
    rows = [(re.split(r'\d+', line), [int(n) for n in re.findall(r'\d+', line)]) for line in there.splitlines()]
    fresh = [(re.split(r'\d+', line), [int(n) for n in re.findall(r'\d+', line)]) for line in table]
    close = len(rows) == len(fresh) and all(
        words == new_words and all(abs(a - b) <= 0.05 * b for a, b in zip(figures, new_figures))
        for (words, figures), (new_words, new_figures) in zip(rows, fresh))
    return None if close else f'a table of tests/firmware/README.md is out of date: run {sys.argv[0]} --write'
