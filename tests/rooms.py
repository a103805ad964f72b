"""Prints the names of the tests of rooms, a line each, from what `meson introspect --tests` prints.

usage: meson introspect --tests FOLDER | rooms.py ROOM...

A test is of a room that is one of its suites, or a word of its name. The exit status is 2 if a room has no test.
"""
import json
import sys


def suites(test):
    return {suite.rpartition(':')[2] for suite in test['suite']}


def main():
    tests = json.load(sys.stdin)
    chosen = {}
    for room in sys.argv[1:]:
        found = [test['name'] for test in tests if room in suites(test) | set(test['name'].split())]
        if not found:
            every = sorted({suite for test in tests for suite in suites(test)} | {test['name'].split()[0] for test in tests})
            sys.exit(f'there is no test of {room!r}, but of: {" ".join(every)}')
        chosen.update(dict.fromkeys(found))
    print('\n'.join(chosen))


if __name__ == '__main__':
    try:
        main()
    except SystemExit as end:
        if end.code:
            print(end.code, file=sys.stderr)
            sys.exit(2)
