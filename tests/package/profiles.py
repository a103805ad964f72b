"""The configurations of profiles.txt, which is beside this file.

usage: profiles.py --table    prints what the profiles have and cost, as the README of the headers has it
"""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
KNOBS = ROOT / 'include/opdump/knobs.hpp'
PROFILES = ('small', 'firmware', 'full')
COSTS = {'flash': 'flash of a program for a Cortex-M3, bytes at most', 'session': 'RAM of its session, bytes at most',
         'host': 'RAM on x86-64'}


def configurations():
    """Lists of KNOB=VALUE by name."""
    found = {}
    for line in (pathlib.Path(__file__).parent / 'profiles.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            name, _, knobs = line.partition(':')
            found[name] = knobs.split()
    assert set(PROFILES) <= found.keys()
    return found


def knob_values(*options, compiler=('c++',)):
    """What knobs.hpp makes of each knob with these options of the compiler."""
    names = [line.split()[1] for line in KNOBS.read_text().splitlines() if line.startswith('#ifndef OPDUMP_')]
    text = f'#include "{KNOBS}"\n' + ''.join(f'knob "{name}" {name}\n' for name in names)
    done = subprocess.run([*compiler, '-std=c++20', '-E', '-P', *options, '-xc++', '-'], input=text, text=True,
                          capture_output=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith('knob ')]
    return {name.strip('"'): value for _, name, value in lines}


def table():
    columns = [knob_values(f'-DOPDUMP_PROFILE={profile}', compiler=os.environ.get('CXX', 'c++').split()) for profile in PROFILES]
    rows = [('knob', *PROFILES), ('---',) * 4]
    rows += [(f'`{knob}`', *(column[knob] for column in columns)) for knob in columns[0]
             if knob != 'OPDUMP_PROFILE' and len({column[knob] for column in columns}) > 1]
    costs = json.loads((ROOT / 'tests/firmware/size.json').read_text())['profiles']
    rows += [(title, *(str(costs[profile][cost]['budget']) for profile in PROFILES)) for cost, title in COSTS.items()]
    return ['|' + '|'.join(row) + '|' if row[1] == '---' else '| ' + ' | '.join(row) + ' |' for row in rows]


if __name__ == '__main__':
    print(*table(), sep='\n')
