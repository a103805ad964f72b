#!/usr/bin/env python3
"""Statistics of dumps, against NumPy: statistics_test.py OPDUMP.

Tensors of every dtype with random and hostile elements go through `opdump replay` as CANN's CSV files and as
MindSpore's table; Python's csv module reads both, and pandas where it is there. Counts, largest and smallest elements
and digests have to be NumPy's and hashlib's; averages and norms are compared with sums of long doubles. Nothing of a
tensor but its statistics may be in the dump, and a ring of 4 KiB has to do. Without NumPy the test is skipped (exit
status 77).
"""
import csv
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from msaccucmp import needs_numpy  # noqa: E402
from with_numpy import numpy  # noqa: E402

FLOATS = {'float16': '<f2', 'float32': '<f4', 'float64': '<f8', 'bfloat16': None}
INTEGERS = {'bool': '|b1', 'int8': '|i1', 'int16': '<i2', 'int32': '<i4', 'int64': '<i8', 'uint8': '|u1',
            'uint16': '<u2', 'uint32': '<u4', 'uint64': '<u8'}
CANN_NAMES = {'bool': 'BOOL', 'float32': 'FLOAT', 'float64': 'DOUBLE', 'bfloat16': 'BF16'}
CATEGORIES = {'Max Value': 'max', 'Min Value': 'min', 'Avg Value': 'avg', 'Count': 'count',
              'Negative Zero Count': 'negative', 'Positive Zero Count': 'positive', 'NaN Count': 'nan',
              'Negative Inf Count': 'negative_inf', 'Positive Inf Count': 'positive_inf', 'Zero Count': 'zero',
              'L2Norm Value': 'l2norm', 'MD5': 'md5', 'SHA1': 'sha1'}


def widened(dtype, data):
    """The elements, as long doubles where they are floating numbers, else as Python's integers."""
    with numpy.errstate(invalid='ignore'):
        if dtype == 'bfloat16':
            return (data.view('<u2').astype('<u4') << 16).view('<f4').astype('longdouble')
        return data.view(FLOATS[dtype]).astype('longdouble') if dtype in FLOATS else data.view(INTEGERS[dtype])


def hostile(dtype, random):
    """Arrays of bytes: random ones, and such as break careless sums."""
    code = FLOATS.get(dtype) or INTEGERS.get(dtype) or '<u2'
    size = numpy.dtype(code).itemsize
    for length in (1, 15, 16, 17, 1000, 16384, 70001):
        data = random.integers(0, 256, length * size, dtype='u1')
        yield 'bits %d' % length, data % 2 if dtype == 'bool' else data
    if dtype in INTEGERS:
        if dtype != 'bool':
            limits = numpy.iinfo(code)
            for name, value in (('max', limits.max), ('min', limits.min), ('zero', 0)):
                yield name, numpy.full(5003, value, code).view('u1')
        return

    def of(values):
        values = numpy.asarray(values)
        if dtype == 'bfloat16':
            return (values.astype('<f4').view('<u4') >> 16).astype('<u2').view('u1')
        with numpy.errstate(over='ignore'):
            return values.astype(code).view('u1')

    largest = {'float16': 65504.0, 'float32': 3.4028234e38, 'float64': 1.7976931348623157e308,
               'bfloat16': 3.3895314e38}[dtype]
    least = {'float16': 6e-8, 'float32': 1.5e-45, 'float64': 5e-324, 'bfloat16': 9.2e-41}[dtype]
    inf, nan = numpy.inf, numpy.nan
    yield 'normal', of(random.normal(size=33333))
    yield 'all nan', of([nan] * 77)
    yield 'nan first', of([nan, 1, 2, 3])
    yield 'nan last', of([1, 2, 3, nan])
    yield 'inf', of([1, inf, 2] * 11)
    yield '-inf', of([1, -inf, 2] * 11)
    yield 'both infs', of([inf, -inf, 1] * 11)
    yield 'inf and nan', of([inf, nan, 1] * 11)
    yield 'only inf', of([inf] * 40)
    yield 'zeros', of([0.0, -0.0] * 100)
    yield 'minus zeros', of([-0.0] * 33)
    yield 'denormals', of([least, -least, 2 * least] * 100)
    yield 'largest', of([largest] * 999)
    yield 'largest of both signs', of([largest, -largest] * 999)
    yield 'cancelling', of([1e4, 1, -1e4] * 3333)


def reference(dtype, data, dialect):
    values = widened(dtype, data)
    out = {'count': len(values), 'md5': hashlib.md5(bytes(data)).hexdigest(),
           'sha1': hashlib.sha1(bytes(data)).hexdigest()}
    if dtype in INTEGERS:
        whole = [int(v) for v in values]
        out.update(max=max(whole), min=min(whole), avg=sum(whole) / len(whole), nan=0, negative_inf=0, positive_inf=0,
                   negative=sum(v < 0 for v in whole), positive=sum(v > 0 for v in whole),
                   zero=sum(v == 0 for v in whole), l2norm=math.sqrt(sum(v * v for v in whole)))
        return out
    nans, infs = numpy.isnan(values), numpy.isinf(values)
    numbers = values[~nans]
    out.update(nan=int(nans.sum()), negative_inf=int((values == -numpy.inf).sum()),
               positive_inf=int((values == numpy.inf).sum()), negative=int((values < 0).sum()),
               positive=int((values > 0).sum()), zero=int((values == 0).sum()))
    has_nan, signs = bool(nans.any()), {float(v) for v in values[infs]}
    no_extreme = bool(nans[0]) if dialect == 'cann' else has_nan
    out['max'] = math.nan if no_extreme else float(numbers.max())
    out['min'] = math.nan if no_extreme else float(numbers.min())
    finite = values[~nans & ~infs]
    if len(signs) == 2 or (has_nan and not (dialect == 'cann' and signs)):
        out['avg'] = math.nan
    else:
        out['avg'] = signs.pop() if signs else float(finite.sum() / len(values))
    if has_nan:
        out['l2norm'] = math.nan
    elif infs.any():
        out['l2norm'] = math.inf
    else:
        out['l2norm'] = numpy.sqrt((finite * finite).sum())
    return out


def same(text, wanted, slack):
    """Whether a cell says what is wanted: exactly, or in the six digits of its text."""
    if isinstance(wanted, str) or isinstance(wanted, int):
        return text == str(wanted) or ('e' in text and text == '%g' % wanted)
    got = float(text)
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(wanted) and math.isnan(got)
    if math.isinf(wanted) or math.isinf(got):
        return float(wanted) == got
    return abs(got - wanted) <= max(abs(wanted) * 0.6e-5, slack, 5e-324)


def describe(folder):
    random = numpy.random.default_rng(7)
    ops, tensors = [], {}
    for dtype in list(FLOATS) + list(INTEGERS):
        op = {'name': 'op/' + dtype, 'type': 'Test', 'task_id': 4, 'stream_id': 6, 'inputs': [], 'outputs': []}
        for index, (name, data) in enumerate(hostile(dtype, random)):
            file = '%s.%d.bin' % (dtype, index)
            data.tofile(os.path.join(folder, file))
            size = numpy.dtype(FLOATS.get(dtype) or INTEGERS.get(dtype) or '<u2').itemsize
            role = 'inputs' if index % 2 == 0 else 'outputs'
            tensors['op_' + dtype, role[:-1], len(op[role])] = (dtype, name, data)
            op[role].append({'data': file, 'dtype': dtype, 'shape': [len(data) // size]})
        ops.append(op)
    return ops, tensors


def replay(tool, folder, name, ops, config, ring):
    run = os.path.join(folder, 'run.json')
    with open(run, 'w', encoding='utf-8') as file:
        json.dump({'models': [{'name': 'net', 'id': 1, 'ops': ops}]}, file)
    dump = os.path.join(folder, name)
    os.mkdir(dump)
    config['dump'].update(dump_path=dump, dump_mode='all', dump_list=[{}])
    path = os.path.join(folder, name + '.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(config, file)
    subprocess.run([tool, 'replay', run, '--config', path, '--ring-bytes', str(ring)], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([tool, 'verify', dump], check=True, stdout=subprocess.DEVNULL)
    return [os.path.join(place, file) for place, _, files in os.walk(dump) for file in files
            if not file.endswith('.journal')]


def check_cells(key, tensor, columns, dialect):
    dtype, name, data = tensor
    wanted = reference(dtype, data, dialect)
    values = widened(dtype, data)
    with numpy.errstate(all='ignore'):
        finite = numpy.abs(values[numpy.isfinite(values)].astype('longdouble')) if dtype in FLOATS else None
        slack = float(finite.mean()) * 1e-12 if finite is not None and len(finite) else 0
    for column, text in columns.items():
        what = CATEGORIES.get(column) or {'Nan Count': 'nan', 'l2norm': 'l2norm'}[column]
        assert same(text, wanted[what], slack), (key, name, column, text, wanted[what])


def check_cann(tool, folder, ops, tensors, read):
    # An operator's rows lie in the ring together: these have some thirty tensors each.
    found = 0
    stats = ['Max', 'Min', 'Avg', 'Nan', 'Negative Inf', 'Positive Inf', 'L2norm']
    files = replay(tool, folder, 'cann', ops, {'dump': {'dump_data': 'stats', 'dump_stats': stats}}, 16384)
    for path in files:
        assert re.fullmatch(r'Test\.op_\w+\.4\.6\.\d{16}\.csv', os.path.basename(path)), path
        for row in read(path):
            dtype = os.path.basename(path).split('.')[1]
            key = (dtype, row['Input/Output'].lower(), int(row['Index']))
            tensor = tensors[key]
            plain = dtype.split('_', 1)[1]
            assert row['Data Type'] == 'DT_' + CANN_NAMES.get(plain, plain.upper()), row
            assert int(row['Data Size']) == len(tensor[2]) and row['Format'] == 'ND', row
            check_cells(key, tensor, {c: row[c] for c in list(row)[6:]}, 'cann')
            found += 1
    assert found == len(tensors), (found, len(tensors))
    return found


def check_table(tool, folder, ops, tensors, read):
    for trailing in ('on', 'off'):
        files = replay(tool, folder, 'table_' + trailing, ops,
                       {'dump': {'dump_data': 'stats'}, 'opdump': {'layout': 'mindspore_kernel', 'file_format': 'npy',
                                                                   'trailing_comma': trailing}}, 4096)
        path, = (file for file in files if '/net/' in file)
        assert path.endswith('/rank_0/net/1/0/statistic.csv'), path
        with open(path, encoding='utf-8') as file:
            lines = file.read().splitlines()
        assert not lines[0].endswith(',')
        assert all(line.endswith(',') == (trailing == 'on') for line in lines[1:])
        rows = list(read(path))
        assert len(rows) == len(tensors)
        for row in rows:
            key = (row['Op Name'], row['IO'], int(row['Slot']))
            assert row['Op Type'] == 'Test' and row['Task ID'] == '0' and row['Stream ID'] == '6', row
            assert 'op_' + row['Data Type'] == row['Op Name'] and row['Shape'].startswith('('), row
            columns = {c: row[c] for c in list(row)[10:] if c in CATEGORIES}
            assert len(columns) == 6, columns
            check_cells(key, tensors[key], columns, 'mindspore')
    return len(tensors)


def read_with_csv(path):
    with open(path, encoding='utf-8', newline='') as file:
        yield from csv.DictReader(file)


def read_with_pandas(path):
    import pandas
    table = pandas.read_csv(path, dtype=str, index_col=False, keep_default_na=False)
    yield from table.to_dict('records')


def main():
    tool = os.path.abspath(sys.argv[1])
    needs_numpy()
    readers = {'csv': read_with_csv}
    try:
        import pandas  # noqa: F401
        readers['pandas'] = read_with_pandas
    except ImportError:
        print('left out: pandas, which is not there')
    for name, read in readers.items():
        with tempfile.TemporaryDirectory() as folder:
            ops, tensors = describe(folder)
            print('%s: %d tensors in CANN\'s files' % (name, check_cann(tool, folder, ops, tensors, read)))
            print('%s: %d tensors in MindSpore\'s table' % (name, check_table(tool, folder, ops, tensors, read)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
