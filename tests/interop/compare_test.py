#!/usr/bin/env python3
"""The results of `opdump compare` beside those of the vendor's msaccucmp: compare_test.py OPDUMP.

Two dumps that differ by noise, by one element, by zeros, by nothing and by infinities are compared by both. The rows
of the two result files have to be the same, but for the last digits of numbers: the vendor adds up in float32.

environment
  OPDUMP_MSACCUCMP  folder of msaccucmp, or its msaccucmp.py
Without it, or without NumPy, the test is skipped (exit status 77).
"""
import csv
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import msaccucmp  # noqa: E402
from with_numpy import numpy  # noqa: E402
from tool_case import record, tensor  # noqa: E402

DTYPES = {'<f4': 0, '<f2': 1, '|i1': 2, '<i4': 3, '|u1': 4, '<i2': 6, '<u2': 7, '<u4': 8, '<i8': 9, '<u8': 10,
          '<f8': 11, '|b1': 12, '<c8': 16}
SHAPES = [(2,), (1,), (3, 5), (1, 1), (2, 3, 7), (64, 33), (1, 2, 1, 3), (5000,)]
CHANGES = ['noise', 'one', 'zeros', 'golden zeros', 'nothing', 'constant', 'infinite', 'nan']


def change(values, how, random):
    """Mine and golden."""
    golden = values.copy()
    mine = values.copy()
    flat = mine.reshape(-1)
    if how == 'noise':
        if mine.dtype.kind in 'fc':
            mine = (mine * (1 + 0.01 * random.standard_normal(mine.shape))).astype(mine.dtype)
        else:
            flat[::3] = flat[::3] // 2
    elif how == 'one':
        flat[flat.size // 2] = 1
    elif how == 'zeros':
        flat[:] = 0
    elif how == 'golden zeros':
        golden[...] = 0
    elif how == 'constant':
        golden[...] = 1
        flat[:] = 1
    elif how in ('infinite', 'nan') and mine.dtype.kind == 'f':
        flat[flat.size // 3] = numpy.inf if how == 'infinite' else numpy.nan
    return mine, golden


# Of both sides, which the vendor restores then.
DEVICE_FORMATS = [(3, 'NC1HWC0', (2, 19, 3, 5)), (3, 'NC1HWC0', (1, 16, 7, 1)), (29, 'FRACTAL_NZ', (35, 20)),
                  (29, 'FRACTAL_NZ', (16, 33)), (29, 'FRACTAL_NZ', (3, 17, 18)), (4, 'FRACTAL_Z', (20, 35, 3, 2))]


def put(folder, number, sides):
    for side, tensors in sides.items():
        name = 'Test.op_%d.%d.0.%016d' % (number, number, 1589195081588018 + number)
        os.makedirs(os.path.join(folder, side), exist_ok=True)
        with open(os.path.join(folder, side, name), 'wb') as file:
            file.write(record(tensors[:3], tensors[3:]))


def make_dumps(folder):
    random = numpy.random.default_rng(7)
    for number, (descr, how) in enumerate((d, h) for d in DTYPES for h in CHANGES):
        sides = {'mine': [], 'golden': []}
        for shape in SHAPES:
            if numpy.dtype(descr).kind in 'fc':
                values = (random.standard_normal(shape) * 3).astype(descr)
            else:
                values = random.integers(0, 2 if descr == '|b1' else 100, shape).astype(descr)
            for side, array in zip(('mine', 'golden'), change(values, how, random)):
                sides[side].append(tensor(DTYPES[descr], list(shape), array.tobytes(), fmt=0))
        put(folder, number, sides)
    for number, (descr, how) in enumerate(((d, h) for d in ('<f4', '<f2', '<i4', '|i1') for h in CHANGES), 1000):
        sides = {'mine': [], 'golden': []}
        for code, fmt, shape in DEVICE_FORMATS:
            values = (random.standard_normal(shape) * 3 + 5).astype(descr)
            for side, array in zip(('mine', 'golden'), change(values, how, random)):
                blocks = msaccucmp.blocked(array, fmt)
                sides[side].append(tensor(DTYPES[descr], list(blocks.shape), blocks.tobytes(), fmt=code,
                                          original=list(shape)))
        put(folder, number, sides)


def rows_of(folder):
    (path,) = glob.glob(os.path.join(folder, 'result_*.csv'))
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.reader(file))


def numbers(cell):
    return [float(text) for text in re.findall(r'-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)', cell)]


def alike(ours, theirs, column):
    if ours == theirs:
        return True
    mine, vendors = numbers(ours), numbers(theirs)
    if not mine or len(mine) != len(vendors):
        return False
    # Two units of the last printed digit, and what float32 loses in sums of the tensor's size.
    step = 2e-3 if column == 'StandardDeviation' else 2e-6
    slack = 3e-5 if column in ('KullbackLeiblerDivergence', 'AccumulatedRelativeError') else 1e-5
    return all(abs(a - b) <= step + slack * abs(b) for a, b in zip(mine, vendors))


def main():
    vendor = msaccucmp.found()
    opdump = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix='opdump_compare') as folder:
        make_dumps(folder)
        arguments = ['compare', '-m', os.path.join(folder, 'mine'), '-g', os.path.join(folder, 'golden'), '-out']
        # Some diverge, which is the exit status 1.
        subprocess.run([opdump, *arguments, os.path.join(folder, 'ours')], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        subprocess.run([sys.executable, vendor, *arguments, os.path.join(folder, 'theirs')],
                       cwd=os.path.dirname(vendor), check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        ours, theirs = rows_of(os.path.join(folder, 'ours')), rows_of(os.path.join(folder, 'theirs'))
    failed = checked = same = 0
    if ours[0] != theirs[0] or len(ours) != len(theirs):
        print('FAILED: %d rows and the header %s; msaccucmp has %d and %s' % (len(ours), ours[0], len(theirs), theirs[0]))
        failed += 1
    wanted = {row[8]: row for row in theirs[1:]}
    for row in ours[1:]:
        other = wanted.get(row[8])
        # The reasons that go with an answer are the tools' own words.
        for column, mine, vendors in zip(ours[0][:-1], row, other or [''] * len(row)):
            checked += 1
            same += mine == vendors
            if not alike(mine, vendors, column):
                failed += 1
                print('FAILED: %s: %s: %s; msaccucmp: %s' % (row[8], column, mine, vendors))
    print('%d cells compared, %d the same to the last digit, %d apart' % (checked, same, failed))
    return 1 if failed or not checked else 0


if __name__ == '__main__':
    sys.exit(main())
