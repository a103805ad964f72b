#!/usr/bin/env python3
"""The statistics of a dump in straightforward NumPy, beside what statistics_bench has just printed:
numpy_statistics.py TABLE REPETITIONS [MiB].

Prints, for float32 and float16, the time of both for a tensor of that size, and how many times faster each of the
kernels is.
"""
import sys

import numpy

from run_times import run_times

DTYPES = {'float32': 'f4', 'float16': 'f2'}


def statistics(x):
    wide = x.astype('f8')
    return [x.max(), x.min(), wide.mean(), x.size, numpy.isnan(x).sum(), numpy.isneginf(x).sum(), numpy.isposinf(x).sum(),
            (x < 0).sum(), (x == 0).sum(), (x > 0).sum(), numpy.sqrt((wide ** 2).sum())]


def speeds(path):
    """[(dtype, kernels, bytes per second)]"""
    with open(path, encoding='utf-8') as table:
        rows = [line.split() for line in table]
    return [(row[0], row[1], float(row[3]) * 1e9) for row in rows if row and row[0] in DTYPES]


def main():
    size = int(sys.argv[3] if len(sys.argv) > 3 else 64) << 20
    rows = speeds(sys.argv[1])
    for dtype, code in DTYPES.items():
        values = numpy.random.default_rng(1).standard_normal(size // 4, dtype='f4').astype(code)
        values = numpy.resize(values, size // values.itemsize)
        times = run_times(lambda: statistics(values), int(sys.argv[2]))
        with_numpy = min(times)
        ours = ['%s %.1f ms, %.0f times as fast' % (kernels, size / speed * 1e3, with_numpy * speed / size)
                for name, kernels, speed in rows if name == dtype]
        print('%s, %d MiB: NumPy %.0f ms; %s' % (dtype, size >> 20, with_numpy * 1e3, '; '.join(ours)))


if __name__ == '__main__':
    main()
