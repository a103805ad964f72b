#!/usr/bin/env python3
"""The ten measures of `opdump compare` in straightforward NumPy, for 2 x 64 MiB of float32:
numpy_compare.py OPDUMP FOLDER REPETITIONS.

Prints the time of NumPy in memory, and that of the whole command on the same arrays in files.
"""
import os
import subprocess
import sys

import numpy

from run_times import run_times


def shares(values):
    low, high = values.min(), values.max()
    values = numpy.maximum((values - low) / (high - low), numpy.finfo('f4').eps)
    return values / values.sum()


def measures(x, y):
    relative = numpy.where(numpy.abs(y) > 2.22e-16, numpy.abs(x / y - 1), 0)
    p, q = shares(x), shares(y)
    return [((x / numpy.linalg.norm(x)) * (y / numpy.linalg.norm(y))).sum(), numpy.abs(x - y).max(), relative.sum(),
            (((x - y) ** 2).sum() / (y ** 2).sum()) ** 0.5, (p * numpy.log(p / q)).sum(),
            (x.mean(dtype='f8'), x.std(dtype='f8'), y.mean(dtype='f8'), y.std(dtype='f8')), numpy.abs(x - y).mean(),
            ((x - y) ** 2).mean() ** 0.5, relative.max(), relative.mean()]


def main():
    opdump, folder = sys.argv[1:3]
    repetitions = int(sys.argv[3])
    random = numpy.random.default_rng(1)
    x = random.standard_normal(16 << 20, dtype='f4')
    y = x * (1 + numpy.float32(0.001) * random.standard_normal(16 << 20, dtype='f4'))
    paths = [os.path.join(folder, name) for name in ('x.npy', 'y.npy')]
    for path, array in zip(paths, (x, y)):
        numpy.save(path, array)
    with_numpy = run_times(lambda: measures(x, y), repetitions)
    command = run_times(lambda: subprocess.run([opdump, 'compare', '-m', paths[0], '-g', paths[1]], check=True,
                                               stdout=subprocess.DEVNULL), repetitions)
    for path in paths:
        os.remove(path)
    with_numpy, command = min(with_numpy), min(command)
    print('NumPy, in memory %.3f s; opdump compare, from files, %.3f s: %.1f times as fast' %
          (with_numpy, command, with_numpy / command))


if __name__ == '__main__':
    main()
