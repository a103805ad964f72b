#!/usr/bin/env python3
"""Keeps what a run of the benchmarks measured, and tells two runs apart.

usage: judge.py keep FILE [RESULTS.json...] --lines LINES --compiler CXX --place FOLDER
       judge.py against OLD NEW

keep     writes FILE: the machine (processor, clock source, kernel), the compiler, the commit, and every figure with the
         value of each repetition; LINES is what OPDUMP_BENCH_FIGURES named, RESULTS.json are google-benchmark's
against  prints what became slower by more than the noise of both runs, the worst first, then what became faster, what
         was measured in one of the runs alone, and what was repeated too seldom to be judged

The noise of a figure is half the distance between its largest and its smallest value. A figure changed if the medians
lie further apart than the noise of both runs together, and it takes five repetitions in each to say so. The exit status
is 0 whatever was found, and 2 if a file cannot be read: times decide nothing.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

import figures

REPETITIONS = 5
VERSION = 1


def fail(message):
    print('judge.py: ' + message, file=sys.stderr)
    sys.exit(2)


def first_line(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.readline().strip()
    except OSError:
        return 'unknown'


def output_of(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def processor():
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            for line in file:
                if line.startswith(('model name', 'Model')):
                    return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def circumstances(compiler, place):
    commit = output_of('git', 'rev-parse', 'HEAD') or 'unknown'
    return {'processor': processor(), 'processors': os.cpu_count(),
            'clock source': first_line('/sys/devices/system/clocksource/clocksource0/current_clocksource'),
            'kernel': platform.release(), 'compiler': output_of(compiler, '--version').split('\n')[0] or compiler,
            'commit': commit + (' and changes' if output_of('git', 'status', '--porcelain', '-uno') else ''),
            'place': output_of('stat', '-f', '-c', '%T', place) or 'unknown'}


def keep(arguments):
    found = figures.google_figures(arguments.results) + figures.line_figures(arguments.lines)
    if not found:
        fail('nothing was measured')
    with open(arguments.file, 'w', encoding='utf-8') as file:
        json.dump({'version': VERSION, **circumstances(arguments.compiler, arguments.place), 'figures': found}, file, indent=1)
        file.write('\n')


def load(path):
    try:
        with open(path, encoding='utf-8') as file:
            run = json.load(file)
        if run['version'] != VERSION:
            fail('%s: version %s, where this script reads %d' % (path, run['version'], VERSION))
        return run, {(f['topic'], f['what'], f['figure']): f for f in run['figures']}
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail('%s: no figures of run.sh --json: %s' % (path, error))


def noise(runs):
    return (max(runs) - min(runs)) / 2


def change(old, new):
    """How much worse `new` is, as a part of `old`; negative where it is better; None within the noise of both."""
    before, after = statistics.median(old['runs']), statistics.median(new['runs'])
    if abs(after - before) <= noise(old['runs']) + noise(new['runs']):
        return None
    worse = after - before if new['better'] == 'less' else before - after
    return worse / abs(before) if before else float('inf') if worse > 0 else -1.0


def told(key, old, new, part):
    by = '%+.1f %%' % (100 * part) if abs(part) != float('inf') else 'from nothing'
    return '  %-10s %-52s %-22s %10.4g (+-%.2g) -> %10.4g (+-%.2g)  %s' % (
        *key, statistics.median(old['runs']), noise(old['runs']), statistics.median(new['runs']), noise(new['runs']), by)


def judged(old, new):
    """(changes, keys too seldom repeated): changes are (part, key), the worst first."""
    changes, seldom = [], []
    for key in sorted(old.keys() & new.keys()):
        if min(len(old[key]['runs']), len(new[key]['runs'])) < REPETITIONS:
            seldom.append(key)
            continue
        part = change(old[key], new[key])
        if part is not None:
            changes.append((part, key))
    return sorted(changes, key=lambda entry: (-entry[0], entry[1])), seldom


def against(arguments):
    (old_run, old), (new_run, new) = load(arguments.old), load(arguments.new)
    for fact in ('processor', 'processors', 'clock source', 'kernel', 'compiler', 'place', 'commit'):
        same = old_run.get(fact) == new_run.get(fact)
        print('%s: %s' % (fact, new_run.get(fact)) + ('' if same else ', before: %s' % old_run.get(fact)))
        if not same and fact not in ('commit', 'kernel'):
            print('  the runs differ in this: what follows may come from it alone')
    changes, seldom = judged(old, new)
    slower = [entry for entry in changes if entry[0] > 0]
    faster = [entry for entry in reversed(changes) if entry[0] < 0]
    for title, entries in (('slower', slower), ('faster', faster)):
        print('%s by more than the noise of both runs: %d of %d figures' % (title, len(entries), len(old.keys() & new.keys()) - len(seldom)))
        for part, key in entries:
            print(told(key, old[key], new[key], part))
    for title, keys in (('measured before alone', old.keys() - new.keys()), ('measured now alone', new.keys() - old.keys()),
                        ('repeated fewer than %d times, not judged' % REPETITIONS, seldom)):
        if keys:
            print('%s: %d' % (title, len(keys)))
            for key in sorted(keys):
                print('  %-10s %-52s %s' % key)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser('keep')
    command.add_argument('file')
    command.add_argument('results', nargs='*')
    command.add_argument('--lines', required=True)
    command.add_argument('--compiler', required=True)
    command.add_argument('--place', required=True)
    command.set_defaults(act=keep)
    command = commands.add_parser('against')
    command.add_argument('old')
    command.add_argument('new')
    command.set_defaults(act=against)
    arguments = parser.parse_args()
    arguments.act(arguments)


if __name__ == '__main__':
    main()
