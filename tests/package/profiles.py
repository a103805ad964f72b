"""The configurations of profiles.txt, which is beside this file.

usage: profiles.py     prints the knobs of each, one configuration a line
"""
import pathlib

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
    for knobs in configurations().values():
        print(*knobs)
