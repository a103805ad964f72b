#!/usr/bin/env python3
"""How time and memory of the commands grow with a dump, a model and a config: growth_tools.py OPDUMP FOLDER.

usage: growth_tools.py OPDUMP FOLDER [--most RECORDS] [--image BYTES] [--repetitions N] [--only WHAT]
                       [--commands LIST]

  --most RECORDS   the largest dump (100000); 10^6 take 10 GB of FOLDER, and a log of as many records 0.3 GB
  --image BYTES    the largest image of a flash log with records of 1 MiB (1 GiB); FOLDER has to hold it twice
  --repetitions N  runs of each command, of which the best one counts (1)
  --only WHAT      records, log, image, operators or rules
  --commands LIST  of those that a dump of records is given to, these: 'verify,show --json'

Makes dumps with `opdump replay`, runs each command on them and prints the time for each record, operator or rule, the
exponent of that time (0 where it does not grow), that of the last decade alone, and the peak of resident memory, which
the kernel never tells below that of this script. Standard library only.
"""
import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time

from report import exponents, table

MIB = 1 << 20
OPERATORS = 1000
# So large may the page of a report be here, which refuses to be larger than 8 MiB unless told.
PAGE = '1G'
# From where on a command has more to do than to start.
LARGE = 1000


def run(command, out=None, good=(0,)):
    """Seconds, and the peak of resident memory in bytes."""
    with open(out or os.devnull, 'wb') as file:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE)
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in good:
        raise SystemExit('%s: exit status %d\n%s' % (' '.join(command), process.returncode, error.decode()[-2000:]))
    return seconds, usage.ru_maxrss * 1024


def remove(*paths):
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)


def write_json(path, value):
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(value, file, separators=(',', ':'))


def described(operators, steps, floats):
    output = {'fill': 'ramp', 'dtype': 'float32', 'shape': [floats]}
    ops = [{'name': 'op%d' % i, 'type': 'Add', 'task_id': i % 65536, 'stream_id': 0, 'outputs': [output]}
           for i in range(operators)]
    return {'device_id': 0, 'steps': steps, 'models': [{'name': 'net', 'id': 1, 'ops': ops}]}


def acl(place, rules=None):
    return {'dump': {'dump_path': place, 'dump_mode': 'output', 'dump_list': [dict({'model_name': 'net'}, **rules or {})]}}


class Growth:
    """One table: what each command takes for each of so many units."""

    def __init__(self, unit, plural, repetitions, large=LARGE):
        """`large`: from how many units on the exponents are told."""
        self.unit, self.plural, self.repetitions, self.large = unit, plural, repetitions, large
        self.rows = {}

    def measure(self, count, what, command, before=lambda: None, after=(), out=None, good=(0,)):
        """`before` is called before each run, and what lies at `after` removed behind it."""
        runs = []
        for _ in range(self.repetitions):
            before()
            remove(*after)
            runs.append(run(command, out, good))
        remove(*after)
        self.keep(what, count, runs)

    def keep(self, what, count, runs):
        """`runs`: seconds and bytes of each."""
        per_unit = [1e6 * seconds / count for seconds, _ in runs]
        peak = max(memory for _, memory in runs)
        self.rows.setdefault(what, {})[count] = (min(per_unit), peak)

    def print(self):
        counts = sorted({count for row in self.rows.values() for count in row})
        rows = [['us for each %s' % self.unit] + [text_of(count) for count in counts] +
                ['exponent', 'last decade', 'peak, MiB']]
        for what, at in self.rows.items():
            large = [count for count in sorted(at) if count >= self.large]
            rows.append([what] + ['%.3g' % at[count][0] if count in at else '-' for count in counts] +
                        exponents(large, [at[count][0] for count in large]) +
                        ['%.0f' % (max(peak for _, peak in at.values()) / MIB)])
        table('Growth with the %s' % self.plural, rows)


def text_of(count):
    return '10^%d' % (len(str(count)) - 1) if str(count).strip('0') == '1' else str(count)


def powers(first, most):
    counts = []
    while first <= most:
        counts.append(first)
        first *= 10
    return counts


def records(opdump, folder, most, repetitions, chosen=None):
    """`chosen`: those of the commands; all without."""
    growth = Growth('record', 'records', repetitions)
    dump, out, config, model = (os.path.join(folder, name) for name in ('dump', 'out', 'acl.json', 'run.json'))
    write_json(config, acl(dump))

    commands = {'verify': ['verify', dump], 'verify --json': ['verify', dump, '--json'],
                'verify --config': ['verify', dump, '--config', config, '--model', model],
                'show': ['show', dump], 'show --json': ['show', dump, '--json'],
                'convert': ['convert', '-r', '-d', dump, '-out', out],
                'overflow': ['overflow', '-d', dump, '-out', out],
                'compare': ['compare', '-m', dump, '-g', dump], 'diff': ['diff', dump, dump],
                'edges': ['edges', dump], 'report': ['report', dump, '-o', out, '--max-bytes', PAGE]}
    for what in chosen or ():
        if what not in commands:
            raise SystemExit("--commands: no command '%s', but: %s" % (what, ', '.join(commands)))

    def empty():
        remove(dump)
        os.mkdir(dump)

    for count in powers(1000, most):
        write_json(model, described(OPERATORS, count // OPERATORS, 16))
        growth.measure(count, 'replay, which drains', [opdump, 'replay', model, '--config', config], before=empty)
        for what in chosen or commands:
            growth.measure(count, what, [opdump] + commands[what], after=[out])
    remove(dump, config, model)
    growth.print()


def empty_image(path, size):
    remove(path)
    with open(path, 'wb') as file:
        file.truncate(size)


def log(opdump, folder, most, repetitions):
    """A flash log of small records."""
    growth = Growth('record', 'records of a flash log', repetitions)
    image, out, config, model = (os.path.join(folder, name) for name in ('log.img', 'out', 'acl.json', 'run.json'))
    write_json(config, acl(image))
    for count in powers(1000, most):
        write_json(model, described(OPERATORS, count // OPERATORS, 16))
        growth.measure(count, 'replay, which drains', [opdump, 'replay', model, '--config', config],
                       before=lambda: empty_image(image, 4 * MIB + 640 * count // (64 * 1024) * 64 * 1024))
        growth.measure(count, 'extract', [opdump, 'extract', image, '-o', out], after=[out])
        growth.measure(count, 'extract --list', [opdump, 'extract', image, '--list'])
        growth.measure(count, 'extract --verify', [opdump, 'extract', image, '--verify'])
    remove(image, config, model)
    growth.print()


def large_image(opdump, folder, most, repetitions):
    """Of records of 1 MiB."""
    growth = Growth('MiB', 'MiB of a flash log', repetitions, large=64)
    image, out, config, model = (os.path.join(folder, name) for name in ('log.img', 'out', 'acl.json', 'run.json'))
    write_json(config, acl(image))
    megabytes = 64
    while megabytes * MIB <= most:
        write_json(model, described(1, megabytes * 15 // 16, MIB // 4))
        growth.measure(megabytes, 'replay, which drains', [opdump, 'replay', model, '--config', config],
                       before=lambda: empty_image(image, megabytes * MIB))
        growth.measure(megabytes, 'extract', [opdump, 'extract', image, '-o', out], after=[out])
        growth.measure(megabytes, 'extract --verify', [opdump, 'extract', image, '--verify'])
        megabytes *= 4
    remove(image, config, model)
    growth.print()


def operators(opdump, folder, most, repetitions):
    growth = Growth('operator', 'operators', repetitions)
    dump, config, model, out = (os.path.join(folder, name) for name in ('dump', 'acl.json', 'run.json', 'out'))
    os.mkdir(dump)
    write_json(config, acl(dump))
    for count in powers(10, most):
        ops = [{'name': 'op%d' % i, 'type': 'A'} for i in range(count)]
        write_json(model, {'models': [{'name': 'net', 'id': 1, 'ops': ops}]})
        growth.measure(count, 'check', [opdump, 'check', config, '--model', model])
        growth.measure(count, 'replay: load, plan, wants', [opdump, 'replay', model, '--config', config, '--journal', 'none'],
                       good=(0, 1, 3))
    remove(dump, config, model, out)
    growth.print()


def rules(opdump, folder, most, repetitions):
    growth = Growth('rule', 'rules of a config', repetitions)
    dump, config, model = (os.path.join(folder, name) for name in ('dump', 'acl.json', 'run.json'))
    os.mkdir(dump)
    write_json(model, described(OPERATORS, 1, 16))
    for count in powers(10, most):
        write_json(config, acl(dump, {'layer': ['op%d' % i for i in range(count)]}))
        growth.measure(count, 'check', [opdump, 'check', config])
        growth.measure(count, 'check --model, of 1000 operators', [opdump, 'check', config, '--model', model])
    remove(dump, config, model)
    growth.print()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('opdump')
    parser.add_argument('folder')
    parser.add_argument('--most', type=int, default=100_000)
    parser.add_argument('--image', type=int, default=1 << 30)
    parser.add_argument('--repetitions', type=int, default=1)
    parser.add_argument('--only', choices=['records', 'log', 'image', 'operators', 'rules'])
    parser.add_argument('--commands', type=lambda words: words.split(','))
    arguments = parser.parse_args()
    if arguments.commands and arguments.only not in (None, 'records'):
        parser.error('--commands is for dumps of records, not with --only ' + arguments.only)
    opdump, folder = os.path.abspath(arguments.opdump), os.path.abspath(arguments.folder)
    parts = {'records': lambda: records(opdump, folder, arguments.most, arguments.repetitions, arguments.commands),
             'log': lambda: log(opdump, folder, arguments.most, arguments.repetitions),
             'image': lambda: large_image(opdump, folder, arguments.image, arguments.repetitions),
             'operators': lambda: operators(opdump, folder, 10 * arguments.most, arguments.repetitions),
             'rules': lambda: rules(opdump, folder, arguments.most, arguments.repetitions)}
    print('%s, files in %s' % (platform.processor() or platform.machine(), folder))
    for part, measure in parts.items():
        if arguments.only in (None, part):
            measure()
            sys.stdout.flush()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print('\nno peak is told below the %.0f MiB of this script' % (own / 1024))


if __name__ == '__main__':
    main()
