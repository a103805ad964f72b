"""Figures against what they may be: {"budget": N} or, where that is not reached yet, {"budget": N, "limit": M}."""

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
