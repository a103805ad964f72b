#!/usr/bin/env python3
"""Prints what the benchmarks measured, one table per topic, beside the floor of the same run.

Usage: report.py RESULTS.json...
"""
import collections
import json
import math
import statistics
import sys


# From where on a cost is expected to be the same for each.
LARGE = {'bytes': 4096, 'records': 1000, 'operators, load and plan': 1000}
# What the time is told for, where that is no record.
UNITS = {'operators, load and plan': 'operator', 'operators, wants': 'call'}


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


def load(paths):
    """{(topic, what, value): {counter: median over the repetitions}}"""
    gathered = collections.defaultdict(lambda: collections.defaultdict(list))
    for topic, what, value, run in google_runs(paths):
        for counter, number in run.items():
            if counter in ('p50', 'p99', 'mean', 'own', 'gb_per_s', 'of_floor', 'floor_gb_per_s', 'per_byte', 'ram_kib'):
                gathered[topic, what, value][counter].append(number)
    return {key: {name: statistics.median(n) for name, n in runs.items()} for key, runs in gathered.items()}


def size(value):
    for unit, shift in (('GiB', 30), ('MiB', 20), ('KiB', 10)):
        if value >= 1 << shift:
            return f'{value >> shift} {unit}'
    return f'{value} B'


def short(ns):
    return f'{ns:.3g}' if ns < 1000 else f'{ns / 1e3:.3g}k' if ns < 1e6 else f'{ns / 1e6:.3g}M'


def table(title, rows):
    print(f'\n{title}')
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    for row in rows:
        print('  ' + '  '.join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip())


def of_topic(results, topic):
    names, values = [], []
    for at, what, value in results:
        if at == topic:
            names += [what] if what not in names else []
            values += [value] if value not in values else []
    return names, sorted(values)


def recording(results, topic, title, of_peers):
    """`of_peers`: which figure of the peers is compared. Back to back it is the mean: a thread that waits for room seldom,
    but long, has a good p50."""
    names, sizes = of_topic(results, topic)
    if 'opdump' not in names:
        return
    rows = [[''] + [size(value) for value in sizes]]
    for name in names:
        at = [results.get((topic, name, value)) for value in sizes]
        rows.append([name] + [f'{short(r["p50"])} / {short(r["p99"])}' if r else '-' for r in at])
    table(f'{title}: ns in the recording thread, p50 / p99; queues carry time, shape and address too', rows)

    rows = [[''] + [size(value) for value in sizes]]
    for counter in ('p50', 'mean'):
        over, times = [f'opdump {counter}, ns over memcpy'], [f'opdump {counter}, times memcpy']
        for value in sizes:
            ours, floor = (results[topic, name, value][counter] for name in ('opdump', 'memcpy'))
            over.append(f'{ours - floor:+.0f}')
            times.append(f'{ours / max(floor, 0.1):.2f}')
        rows += [over, times]
    for name in names:
        if name in ('memcpy', 'opdump'):
            continue
        row = [f'{name}, times opdump ({of_peers})']
        for value in sizes:
            peer = results.get((topic, name, value))
            row.append(f'{peer[of_peers] / results[topic, "opdump", value][of_peers]:.2f}' if peer else '-')
        rows.append(row)
    table(f'{title}: ratios (goal: every peer above 1)', rows)


def drain(results):
    names, sizes = of_topic(results, 'drain')
    if names:
        rows = [[''] + [size(value) for value in sizes]]
        rows += [[name] + [f'{results["drain", name, v]["p50"]:.1f} / {results["drain", name, v]["p99"]:.1f}' for v in sizes]
                 for name in names]
        table('Drain: ns for each of the records in half a ring, without a sink, p50 / p99 of 2000 turns (goal: 40 at 64 B)', rows)


def logs(results, topic, title):
    names, sizes = of_topic(results, topic)
    if 'opdump' not in names:
        return

    def row(name, cell):
        return [name] + [cell(value) for value in sizes]

    def of_floor(name):
        return lambda value: f'{results[topic, name, value]["of_floor"]:.2f}'

    rows = [row('', size)]
    for who in ('', ', drained by the recording thread'):
        ours, bare = 'opdump' + who, 'ring alone' + who
        rows.append(row(ours, of_floor(ours)))
        rows.append(row(bare + ', with no work done to what it carries', of_floor(bare)))
        rows.append(row(f'{ours}, times that ring (goal: 0.90)', lambda v, ours=ours, bare=bare: '{:.2f}'.format(
            results[topic, ours, v]['of_floor'] / results[topic, bare, v]['of_floor'])))
        rows.append(row(f'{ours}, GB/s', lambda v, at=ours: f'{results[topic, at, v]["gb_per_s"]:.2f}'))
    floors = [results[topic, name, value]['floor_gb_per_s'] for name in names for value in sizes]
    table(f'{title} through a ring of 64 KiB, gaps alone in the journal: times plain write() of 1 MiB just before and '
          f'after, {min(floors):.2f} to {max(floors):.2f} GB/s', rows)


def files(results):
    logs(results, 'log', 'Records to one log in OPDUMP_BENCH_FOLDER, with write(),')
    logs(results, 'mapped log', 'Records to one log in OPDUMP_BENCH_FOLDER, of fixed size and mapped beforehand,')
    logs(results, 'durable log', 'Records to one log in OPDUMP_BENCH_DISK, until they would survive a loss of power,')
    _, sizes = of_topic(results, 'tree')
    if sizes:
        rows = [[''] + [size(value) for value in sizes]]
        ours, bare = ('opdump', 'opdump, drained by the recording thread'), 'open + write + close + rename'
        for name in (*ours, bare):
            rows.append([f'{name}, us per file'] + [f'{results["tree", name, value]["mean"] / 1e3:.1f}' for value in sizes])
        # Of one thread its own time counts, which neighbours on the machine vary less.
        for name, counter in zip(ours, ('mean', 'own')):
            rows.append([f'{name}, times the bare calls (goal: 1.15)'] +
                        ['{:.2f}'.format(results['tree', name, v][counter] / results['tree', bare, v][counter]) for v in sizes])
        table('Records to a tree of files through a ring of 64 KiB', rows)


def exponent(values, costs):
    """Of the power of `values` that fits `costs` best: 0 where they do not grow with it."""
    xs, ys = [math.log(v) for v in values], [math.log(c) for c in costs]
    middle = sum(xs) / len(xs)
    return sum((x - middle) * y for x, y in zip(xs, ys)) / sum((x - middle) ** 2 for x in xs)


def last_decade(values, costs):
    """The exponent from a tenth of the largest value on, or of the last two values where they lie further apart."""
    late = max(2, sum(10 * v >= values[-1] for v in values))
    return exponent(values[-late:], costs[-late:])


def exponents(values, costs):
    """Of all `values`, which rise, and of the last decade, as texts."""
    return ['%+.2f' % of(values, costs) if len(values) > 1 else '-' for of in (exponent, last_decade)]


def growth(results):
    topics, _ = of_topic(results, 'growth')
    for what in topics:
        values = sorted(value for topic, name, value in results if topic == 'growth' and name == what)
        rows = [[what] + [size(v) if what == 'bytes' else str(v) for v in values]]
        at = [results['growth', what, value] for value in values]
        unit = UNITS.get(what, 'record')
        rows.append([f'ns per {unit}, mean'] + [short(r['mean']) for r in at])
        if what == 'bytes':
            rows.append(['ns per byte'] + [f'{r["per_byte"]:.3g}' for r in at])
        per_unit = 'per_byte' if what == 'bytes' else 'mean'
        # What a run costs once is all that the smallest ones have to bear.
        large = [i for i, v in enumerate(values) if v >= LARGE[what]] if what in LARGE else range(len(values))
        whole, late = exponents([values[i] for i in large], [at[i][per_unit] for i in large])
        rows.append(['exponent of the time per ' + ('byte' if what == 'bytes' else unit), whole])
        rows.append(['exponent of the last decade', late])
        rows.append(['peak memory, KiB more'] + [f'{r["ram_kib"]:.0f}' for r in at])
        table(f'Growth with the {what}', rows)


def main():
    results = load(sys.argv[1:])
    recording(results, 'paced', 'Paced, a record every 5 us (64 KiB: 100 us, 1 MiB: 1.5 ms)', 'p50')
    recording(results, 'flat', 'Back to back', 'mean')
    drain(results)
    files(results)
    growth(results)


if __name__ == '__main__':
    main()
