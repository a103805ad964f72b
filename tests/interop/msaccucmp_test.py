#!/usr/bin/env python3
"""Dumps made by opdump, read by others: msaccucmp_test.py OPDUMP.

The arrays that the vendor's msaccucmp makes of a dump have to be the tensors that went in, bit for bit, and the
files that `opdump convert` writes have to be its files, byte for byte. nano.py, an independent strict reader of
nano records, has to find every field as it was described.

environment
  OPDUMP_MSACCUCMP  folder of msaccucmp, or its msaccucmp.py
  OPDUMP_NANO_PY    nano.py
Without the first, or without NumPy, the test is skipped (exit status 77).
"""
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import msaccucmp  # noqa: E402
from with_numpy import numpy  # noqa: E402

PLAIN = dict(msaccucmp.PLAIN, resource='<i8')
# Dtypes that are written as bytes, with their bits per element.
AS_BYTES = {'complex32': 32, 'int4': 4, 'int2': 2, 'uint2': 2, 'hifloat8': 8, 'float8_e5m2': 8, 'float8_e4m3fn': 8,
            'float8_e8m0': 8, 'float6_e3m2': 6, 'float4_e2m1': 4, 'qint8': 8, 'quint16': 16, 'dual_sub_int8': 8}
GE_CODES = {'float32': 0, 'float16': 1, 'int8': 2, 'int32': 3, 'uint8': 4, 'int16': 6, 'uint16': 7, 'uint32': 8,
            'int64': 9, 'uint64': 10, 'float64': 11, 'bool': 12, 'complex64': 16, 'complex128': 17, 'resource': 23,
            'bfloat16': 27, 'uint1': 30, 'dual_sub_int8': 14, 'qint8': 18, 'quint16': 22, 'int4': 29, 'int2': 31,
            'uint2': 32, 'complex32': 33, 'hifloat8': 34, 'float8_e5m2': 35, 'float8_e4m3fn': 36, 'float8_e8m0': 37,
            'float6_e3m2': 38, 'float4_e2m1': 40}
FORMAT_CODES = {'NCHW': 0, 'NHWC': 1, 'ND': 2, 'NC1HWC0': 3, 'FRACTAL_Z': 4, 'FRACTAL_NZ': 29, 'NDC1HWC0': 32}

RANKS = [(), (7,), (3, 5), (2, 3, 7), (1, 3, 5, 7), (2, 1, 3, 1, 5), (1, 2, 1, 3, 1, 2), (2,) * 7, (1, 2) * 4]
RANKS_OF_BITS = [(8,), (3, 8), (2, 3, 8), (1, 2, 2, 8), (1, 1, 2, 2, 4), (2, 2, 2, 1, 1, 1), (2,) * 7, (1, 2) * 4]
FORMATS = [('NC1HWC0', (2, 2, 3, 5, 16), (2, 29, 3, 5)), ('FRACTAL_Z', (18, 1, 16, 16), (5, 20, 3, 3)),
           ('FRACTAL_NZ', (3, 2, 16, 16), (20, 40)), ('NDC1HWC0', (1, 2, 1, 3, 2, 16), (1, 9, 2, 3, 2)),
           ('NCHW', (2, 3, 4, 8), (2, 3, 4, 8)), ('NHWC', (2, 4, 8, 3), (2, 4, 8, 3))]


class Run:
    """A RUN.json with its files, and what is expected of each operator."""

    def __init__(self, folder):
        self.folder = folder
        self.random = numpy.random.default_rng(1)
        self.ops = []
        self.expected = {}

    def tensor(self, dtype, shape, fmt='ND', original=None, padding=0):
        bits = {'bfloat16': 16, 'uint1': 1}.get(dtype) or AS_BYTES.get(dtype) or \
            numpy.dtype(PLAIN[dtype]).itemsize * 8
        elements = int(numpy.prod(shape, dtype=numpy.int64))
        data = self.random.integers(0, 256, (elements * bits + 7) // 8, dtype='u1')
        if dtype == 'bool':
            data %= 2
        stored = bytes(data) + bytes(self.random.integers(0, 256, padding, dtype='u1'))
        described = {'format': fmt, 'original_shape': list(original if original is not None else shape)}
        count = sum(len(op['inputs']) + len(op['outputs']) for op in self.ops) + len(os.listdir(self.folder))
        if dtype in PLAIN and dtype != 'resource' and not padding:
            described['data'] = 'tensor%d.npy' % count
            numpy.save(os.path.join(self.folder, described['data']), data.view(PLAIN[dtype]).reshape(shape))
        else:
            described.update(data='tensor%d.bin' % count, dtype=dtype, shape=list(shape))
            with open(os.path.join(self.folder, described['data']), 'wb') as file:
                file.write(stored)
        return dict(described=described, dtype=dtype, shape=tuple(shape), fmt=fmt, stored=stored,
                    original=tuple(described['original_shape']))

    def op(self, name, inputs, outputs):
        self.ops.append({'name': name, 'type': 'Test', 'task_id': len(self.ops), 'stream_id': 1,
                         'inputs': [t['described'] for t in inputs], 'outputs': [t['described'] for t in outputs]})
        self.expected[name] = (inputs, outputs)


def describe(folder):
    run = Run(folder)
    for dtype in list(PLAIN) + ['uint1', 'bfloat16'] + list(AS_BYTES):
        ranks = RANKS_OF_BITS if dtype == 'uint1' else RANKS
        inputs = [run.tensor(dtype, shape) for shape in ranks]
        outputs = [run.tensor(dtype, shape, fmt, original) for fmt, shape, original in FORMATS]
        outputs.append(run.tensor(dtype, (70000,)))
        # Of padded UINT1 msaccucmp makes no array: it takes the padding for elements.
        outputs.append(run.tensor(dtype, (3, 16), padding=0 if dtype == 'uint1' else 25))
        if dtype not in AS_BYTES:
            outputs.append(run.tensor(dtype, (2, 0, 3)))
        run.op('op_' + dtype, inputs, outputs)
    run.op('only_inputs', [run.tensor('int8', (3,))], [])
    run.op('only_outputs', [], [run.tensor('int8', (3,))])
    run.op('n' * 220, [run.tensor('int8', (3,))] * 3, [run.tensor('float32', (3,))] * 12)
    with open(os.path.join(folder, 'run.json'), 'w', encoding='utf-8') as file:
        json.dump({'models': [{'name': 'every_dtype', 'id': 3, 'ops': run.ops}]}, file)
    return run


def array_of(t):
    """The array that has to come out."""
    if 0 in t['shape'] and t['dtype'] not in AS_BYTES:
        return numpy.empty(t['shape'])
    raw = numpy.frombuffer(t['stored'], 'u1')
    if t['dtype'] in AS_BYTES:
        return raw
    if t['dtype'] == 'uint1':
        bits = numpy.unpackbits(raw)
        return bits[:int(numpy.prod(t['shape']))].reshape(t['shape'])
    dtype = {'bfloat16': '<u2'}.get(t['dtype']) or PLAIN[t['dtype']]
    elements = int(numpy.prod(t['shape'], dtype=numpy.int64))
    array = raw[:elements * numpy.dtype(dtype).itemsize].view(dtype)
    if t['dtype'] == 'bfloat16':
        array = (array.astype('<u4') << 16).view('<f4')
    return array.reshape(t['shape'] or (1,))


class Checks:
    def __init__(self):
        self.done = 0
        self.failed = 0

    def that(self, holds, what):
        self.done += 1
        if not holds:
            self.failed += 1
            print('FAILED: ' + what)


def same(array, wanted):
    return array.dtype == wanted.dtype and array.shape == wanted.shape and array.tobytes() == wanted.tobytes()


def run_command(checks, words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    checks.that(done.returncode == 0, '%s: exit status %d\n%s' % (' '.join(words), done.returncode,
                                                                 done.stdout.decode(errors='replace')[-2000:]))
    return done.returncode == 0


def files_of(folder):
    files = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), 'rb') as file:
            files[name] = file.read()
    return files


def by_long_names(files):
    """The same with `mapping.csv` applied and taken out."""
    rows = [row.split(',') for row in files.pop('mapping.csv', b'').decode().splitlines()]
    renamed = {long: files.pop(short) for short, long in rows}
    return {**files, **renamed}


def check_record(checks, vendor, opdump, path, name, tensors, folder):
    ours = os.path.join(folder, 'ours', name)
    theirs = os.path.join(folder, 'theirs', name)
    run_command(checks, [opdump, 'convert', '-d', path, '-out', ours])
    inputs, outputs = tensors
    wanted = {'%s.%s.%d.npy' % (os.path.basename(path), role, i): array_of(t)
              for role, side in (('input', inputs), ('output', outputs)) for i, t in enumerate(side)}
    names = by_long_names(files_of(ours))
    checks.that(sorted(names) == sorted(wanted), '%s: opdump convert wrote %s' % (name, sorted(names)))
    for file, array in wanted.items():
        if file in names:
            found = numpy.load(io.BytesIO(names[file]))
            checks.that(same(found, array), '%s by opdump: %s %s instead of %s %s' %
                        (file, found.dtype, found.shape, array.dtype, array.shape))
    if vendor is None:
        return
    # It knows bfloat16 only with this package.
    if 'bfloat16' in name and importlib.util.find_spec('ml_dtypes') is None:
        print('left out: bfloat16, which msaccucmp needs the package ml_dtypes for')
        return
    if run_command(checks, [sys.executable, vendor, 'convert', '-d', path, '-out', theirs],
                   cwd=os.path.dirname(vendor)):
        checks.that(files_of(ours) == files_of(theirs), '%s: opdump convert and msaccucmp wrote different files: %s'
                    % (name, sorted(set(files_of(ours).items()) ^ set(files_of(theirs).items()))[:4]))


def check_fields(checks, nano, path, name, tensors):
    """Every field of the record, as nano.py reads it."""
    with open(path, 'rb') as file:
        parsed = nano.parse(file.read())
    checks.that(parsed['version'] == 0, name + ': version')
    for role, side in zip(('inputs', 'outputs'), tensors):
        checks.that(len(parsed[role]) == len(side), '%s: %d %s' % (name, len(parsed[role]), role))
        for i, (found, t) in enumerate(zip(parsed[role], side)):
            as_bytes = t['dtype'] in AS_BYTES
            wanted = dict(data_type=GE_CODES['uint8' if as_bytes else t['dtype']], data=t['stored'],
                          format=FORMAT_CODES['ND' if as_bytes else t['fmt']], size=len(t['stored']),
                          shape=[len(t['stored'])] if as_bytes else list(t['shape']),
                          original_shape=list(t['original']))
            if role == 'outputs':
                wanted.update(original_data_type=GE_CODES[t['dtype']], original_format=FORMAT_CODES[t['fmt']],
                              original_index=i, name=name)
            for key, value in wanted.items():
                checks.that(found.get(key) == value, '%s: %s %d: %s is %r instead of %r' %
                            (name, role, i, key, str(found.get(key))[:80], str(value)[:80]))
            described = nano.tensor(found['data_type'], found['shape'], found['data'])
            array = nano.expected(described)
            array = array.reshape(array.shape or (1,))
            checks.that(same(array, array_of(t)), '%s: %s %d: nano.py expects another array' % (name, role, i))


def check_foreign(checks, nano, vendor, opdump, folder):
    """Records as no device of ours writes them."""
    t = nano.tensor
    cases = {
        'no_shape': ([], [t('FLOAT16', [6], omit=('shape', 'original_shape'))]),
        'no_original_shape': ([t('INT32', [2, 3], omit=('original_shape',))], []),
        'no_tlvs': ([], [t('INT64', [3], tlv_list_len=None, omit=('shape', 'original_shape', 'name'))]),
        'nothing': ([], []),
        'string_of_no_elements': ([], [t('STRING', [0, 2], b''), t('FLOAT', [2])]),
        'bits_without_shape': ([], [t('UINT1', [16], omit=('shape', 'original_shape'))]),
        'bool_of_other_bytes': ([], [t('BOOL', [4], bytes([0, 1, 2, 255]))]),
        'rank_32': ([], [t('INT8', [1] * 31 + [3])]),
    }
    for name, (inputs, outputs) in cases.items():
        path = os.path.join(folder, 'Foreign.%s.1.2.1589195081588018' % name)
        nano.write(path, inputs, outputs)
        ours = os.path.join(folder, 'ours', name)
        theirs = os.path.join(folder, 'theirs', name)
        os.makedirs(ours)
        if run_command(checks, [opdump, 'convert', '-d', path, '-out', ours]) and vendor is not None and \
                run_command(checks, [sys.executable, vendor, 'convert', '-d', path, '-out', theirs],
                            cwd=os.path.dirname(vendor)):
            checks.that(files_of(ours) == files_of(theirs), '%s: %s by opdump, %s by msaccucmp' %
                        (name, sorted(files_of(ours)), sorted(files_of(theirs))))


def check_left_out(checks, vendor, opdump, folder):
    """A record that says which inputs it has: msaccucmp counts those, opdump gives their numbers."""
    root = os.path.join(folder, 'left_out')
    os.makedirs(os.path.join(root, 'dump'))
    inputs = []
    for number in range(3):
        with open(os.path.join(root, str(number)), 'wb') as file:
            file.write(bytes([number] * 4))
        inputs.append({'dtype': 'uint8', 'shape': [4], 'data': str(number)})
    with open(os.path.join(root, 'run.json'), 'w', encoding='utf-8') as file:
        json.dump({'steps': 1, 'models': [{'name': 'net', 'ops': [
            {'name': 'a', 'type': 'Add', 'inputs': inputs, 'outputs': inputs[:1]}]}]}, file)
    with open(os.path.join(root, 'acl.json'), 'w', encoding='utf-8') as file:
        json.dump({'dump': {'dump_path': os.path.join(root, 'dump'), 'dump_mode': 'all', 'dump_level': 'op',
                            'dump_list': [{'opname_blacklist': [{'name': 'a', 'pos': ['input0']}]}]}}, file)
    if not run_command(checks, [opdump, 'replay', os.path.join(root, 'run.json'), '--config',
                                os.path.join(root, 'acl.json')]):
        return
    found = [os.path.join(directory, name) for directory, _, names in os.walk(os.path.join(root, 'dump'))
             for name in names if not name.endswith('.journal')]
    checks.that(len(found) == 1, 'records with tensors left out: %s' % found)
    arrays = {}
    for tool, command in (('ours', [opdump]), ('theirs', [sys.executable, vendor])):
        out = os.path.join(root, tool)
        if run_command(checks, [*command, 'convert', '-d', found[0], '-out', out],
                       cwd=os.path.dirname(vendor)):
            arrays[tool] = {name.split('.', 5)[5]: content for name, content in files_of(out).items()}
    ours, theirs = arrays.get('ours', {}), arrays.get('theirs', {})
    checks.that(sorted(ours) == ['input.1.npy', 'input.2.npy', 'output.0.npy'], 'opdump: %s' % sorted(ours))
    checks.that([theirs[name] for name in sorted(theirs)] == [ours[name] for name in sorted(ours)],
                'msaccucmp: %s' % sorted(theirs))


def load_module(path):
    spec = importlib.util.spec_from_file_location('nano', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    opdump = os.path.abspath(sys.argv[1])
    vendor = msaccucmp.found()
    nano = load_module(os.environ['OPDUMP_NANO_PY']) if os.environ.get('OPDUMP_NANO_PY') else None
    if nano is None:
        print('not compared with nano.py: OPDUMP_NANO_PY does not name it')

    checks = Checks()
    with tempfile.TemporaryDirectory(prefix='opdump_interop') as folder:
        run = describe(folder)
        dump = os.path.join(folder, 'dump')
        os.mkdir(dump)
        with open(os.path.join(folder, 'acl.json'), 'w', encoding='utf-8') as file:
            json.dump({'dump': {'dump_path': dump, 'dump_mode': 'all', 'dump_list': [{}]}}, file)
        run_command(checks, [opdump, 'replay', os.path.join(folder, 'run.json'), '--config',
                             os.path.join(folder, 'acl.json')])
        records = {}
        for directory, _, names in os.walk(dump):
            records.update({name.split('.')[1]: os.path.join(directory, name) for name in names
                            if not name.endswith('.journal')})
        checks.that(sorted(records) == sorted(run.expected), 'records of %s' % sorted(records))
        for name in sorted(set(records) & set(run.expected)):
            check_record(checks, vendor, opdump, records[name], name, run.expected[name], folder)
            if nano is not None:
                check_fields(checks, nano, records[name], name, run.expected[name])
        if nano is not None:
            check_foreign(checks, nano, vendor, opdump, folder)
        check_left_out(checks, vendor, opdump, folder)
    print('%d checks, %d failed' % (checks.done, checks.failed))
    return 1 if checks.failed else 0


if __name__ == '__main__':
    sys.exit(main())
