"""The configurations of profiles.txt, which is beside this file.

usage: profiles.py            prints the knobs of each, one configuration a line
       profiles.py --table    prints the profiles, as the README of the headers has them
"""
import pathlib
import sys

PROFILES = ('full', 'firmware', 'lean', 'lean+all')


def configurations():
    """Lists of KNOB=VALUE by name."""
    found = {}
    for line in (pathlib.Path(__file__).parent / 'profiles.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            name, _, knobs = line.partition(':')
            found[name] = knobs.split()
    assert set(PROFILES) <= found.keys()
    return found


if __name__ == '__main__':
    if sys.argv[1:] == ['--table']:
        print('| profile | knobs |\n|---|---|')
        for profile in PROFILES:
            knobs = [f'`{knob}`' for knob in configurations()[profile]]
            print(f'| {profile} | {", ".join(knobs) or "the defaults"} |')
    else:
        for knobs in configurations().values():
            print(*knobs)
