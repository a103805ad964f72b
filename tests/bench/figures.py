"""Figures of the benchmarks: what one run measured, as lines of JSON that the programs append (figures.hpp), as files
of google-benchmark, and as the one file of `run.sh --json`.

A figure is a dictionary: topic, what (the row of the table, with the size), figure (the column, with its unit), better
("less" or "more") and runs, one value per repetition.
"""
import collections
import json
import os

# What is kept of google-benchmark's counters, which the programs set.
COUNTERS = {'p50': ('p50, ns', 'less'), 'p99': ('p99, ns', 'less'), 'mean': ('mean, ns', 'less'),
            'of_floor': ('of the floor', 'more'), 'ram_kib': ('peak memory, KiB more', 'less')}


def add_figure(topic, what, figure, better, runs):
    """Appends to the file that OPDUMP_BENCH_FIGURES names, if it names one."""
    path = os.environ.get('OPDUMP_BENCH_FIGURES')
    if path:
        with open(path, 'a', encoding='utf-8') as file:
            file.write(json.dumps({'topic': topic, 'what': what, 'figure': figure, 'better': better, 'runs': runs}) + '\n')


def google_runs(paths):
    """(topic, what, value, counters) of each repetition that ended well."""
    for path in paths:
        with open(path, encoding='utf-8') as file:
            text = file.read()
        for run in json.loads(text)['benchmarks'] if text else []:
            if run['run_type'] != 'iteration' or run.get('error_occurred'):
                continue
            topic, what, value = run['name'].replace('/iterations:1', '').replace('/manual_time', '').split('/')[:3]
            yield topic, what, int(value), run


def google_figures(paths):
    gathered = collections.defaultdict(list)
    for topic, what, value, run in google_runs(paths):
        for counter in COUNTERS:
            if counter in run:
                gathered[topic, '%s, %d' % (what, value), counter].append(run[counter])
    return [{'topic': topic, 'what': what, 'figure': COUNTERS[counter][0], 'better': COUNTERS[counter][1], 'runs': runs}
            for (topic, what, counter), runs in gathered.items()]


def line_figures(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]
