#!/usr/bin/env python3
"""Dumps in other formats than nano records, read by others: formats_test.py OPDUMP.

NumPy has to open every `.npy` file and find the elements that went in; protoc, with a description of the message
written from CANN's table of fields, has to find every field of every protobuf record. The other way round, `opdump
compare` has to find the elements that NumPy has stored in other orders, or compressed. Without NumPy, or without
protoc for the second part, the parts are skipped (exit status 77 if all are).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from msaccucmp import PLAIN, needs_numpy  # noqa: E402
from with_numpy import numpy  # noqa: E402

BITS = {'bfloat16': 16, 'int4': 4, 'int2': 2, 'uint2': 2, 'uint1': 1, 'complex32': 32, 'hifloat8': 8,
        'float8_e5m2': 8, 'float8_e4m3fn': 8, 'float6_e3m2': 6, 'float4_e2m1': 4}
PROTO_CODES = {'float32': 1, 'float16': 2, 'int8': 3, 'uint8': 4, 'int16': 5, 'uint16': 6, 'int32': 7, 'int64': 8,
               'uint32': 9, 'uint64': 10, 'bool': 11, 'float64': 12, 'complex64': 16, 'complex128': 17,
               'bfloat16': 27, 'int4': 28, 'uint1': 29, 'int2': 30, 'uint2': 31, 'complex32': 32, 'hifloat8': 33,
               'float8_e5m2': 34, 'float8_e4m3fn': 35, 'float6_e3m2': 37, 'float4_e2m1': 39}
FORMAT_CODES = {'ND': 2, 'NCHW': 0, 'FRACTAL_NZ': 29}
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 7), (1, 1, 2, 1, 1, 3), (1,) * 31, (2, 0, 3), (40000,)]

# CANN's dump message, from the table of its fields.
PROTO = """syntax = "proto3";
message Shape { repeated uint64 dim = 1; }
message OriginalOp { string name = 1; uint32 output_index = 2; int32 data_type = 3; int32 format = 4; }
message OpInput { int32 data_type = 1; int32 format = 2; Shape shape = 3; bytes data = 4; uint64 size = 5;
  Shape original_shape = 6; int32 sub_format = 7; uint64 address = 8; uint64 offset = 9; }
message OpOutput { int32 data_type = 1; int32 format = 2; Shape shape = 3; OriginalOp original_op = 4; bytes data = 5;
  uint64 size = 6; Shape original_shape = 7; int32 sub_format = 8; uint64 address = 9; uint64 offset = 11; }
message DumpData { string version = 1; uint64 dump_time = 2; repeated OpOutput output = 3; repeated OpInput input = 4;
  string op_name = 6; }
"""


class Tensors:
    """Tensors of every dtype and shape as RUN.json describes them, with their bytes."""

    def __init__(self, folder):
        self.folder = folder
        self.random = numpy.random.default_rng(8)
        self.count = 0

    def make(self, dtype, shape, fmt='ND', padding=0):
        elements = int(numpy.prod(shape, dtype=numpy.int64))
        bits = BITS.get(dtype) or numpy.dtype(PLAIN[dtype]).itemsize * 8
        data = self.random.integers(0, 256, (elements * bits + 7) // 8 + padding, dtype='u1')
        if dtype == 'bool':
            data %= 2
        self.count += 1
        name = 'tensor%d.bin' % self.count
        data.tofile(os.path.join(self.folder, name))
        return {'data': name, 'dtype': dtype, 'shape': list(shape), 'format': fmt}, data

    def array(self, dtype, shape, data):
        """What an `.npy` file of the tensor has to hold."""
        elements = int(numpy.prod(shape, dtype=numpy.int64))
        if dtype in PLAIN:
            return data[:elements * numpy.dtype(PLAIN[dtype]).itemsize].view(PLAIN[dtype]).reshape(shape)
        if dtype == 'bfloat16':
            return (data[:2 * elements].view('<u2').astype('<u4') << 16).view('<f4').reshape(shape)
        if dtype in ('int4', 'int2', 'uint2', 'uint1'):
            bits = BITS[dtype]
            shifts = range(7, -1, -1) if dtype == 'uint1' else range(0, 8, bits)
            parts = numpy.stack([(data >> shift) & ((1 << bits) - 1) for shift in shifts], axis=1)
            flat = parts.reshape(-1)[:elements].astype('i2')
            if dtype.startswith('int'):
                flat = numpy.where(flat >= 1 << (bits - 1), flat - (1 << bits), flat)
            return flat.astype('i1' if dtype.startswith('int') else 'u1').reshape(shape)
        return data


def replay(tool, folder, ops, file_format, more=()):
    run = os.path.join(folder, 'run.json')
    with open(run, 'w', encoding='utf-8') as file:
        json.dump({'device_id': 3, 'steps': 2, 'models': [{'name': 'net', 'id': 5, 'ops': ops}]}, file)
    dump = os.path.join(folder, file_format)
    os.mkdir(dump)
    config = os.path.join(folder, file_format + '.json')
    with open(config, 'w', encoding='utf-8') as file:
        json.dump({'dump': {'dump_path': dump, 'dump_mode': 'all', 'dump_list': [{}]},
                   'opdump': {'file_format': file_format}}, file)
    subprocess.run([tool, 'replay', run, '--config', config, *more], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tool, 'verify', '--quick', dump], check=True, stdout=subprocess.DEVNULL)
    time, = os.listdir(dump)
    return os.path.join(dump, time, '3', 'net', '5')


def check_npy(tool, folder, more=()):
    tensors = Tensors(folder)
    ops, expected = [], {}
    for dtype in list(PLAIN) + list(BITS):
        op = {'name': 'op/' + dtype, 'type': 'Cast', 'task_id': 1, 'stream_id': 2, 'inputs': [], 'outputs': []}
        for role in ('input', 'output'):
            for index, shape in enumerate(SHAPES):
                fmt = 'NCHW' if len(shape) == 3 else 'ND'
                described, data = tensors.make(dtype, shape, fmt, padding=index * 3 if role == 'output' else 0)
                op[role + 's'].append(described)
                expected['Cast.op_%s.1.2.TIME.%s.%d.%s.%s.npy' % (dtype, role, index, fmt, dtype)] = \
                    tensors.array(dtype, shape, data)
        ops.append(op)
    place = replay(tool, folder, ops, 'npy', more)
    for step in ('0', '1'):
        found = {re.sub(r'\.\d{16}\.', '.TIME.', name): name for name in os.listdir(os.path.join(place, step))}
        assert set(found) == set(expected), set(found) ^ set(expected)
        for name, array in expected.items():
            loaded = numpy.load(os.path.join(place, step, found[name]))
            assert loaded.dtype == array.dtype, (name, loaded.dtype, array.dtype)
            assert loaded.shape == array.shape, (name, loaded.shape, array.shape)
            assert loaded.tobytes() == array.tobytes(), name
    print('npy: %d arrays of %d dtypes are what went in' % (2 * len(expected), len(PLAIN) + len(BITS)))


def decoded(folder, message):
    """The message as protoc prints it, as nested lists of (key, value)."""
    out = subprocess.run(['protoc', '--decode=DumpData', '-I' + folder, 'dump.proto'], cwd=folder, input=message,
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    stack = [[]]
    for line in out.splitlines():
        line = line.strip()
        if line == '}':
            inner = stack.pop()
            stack[-1][-1] = (stack[-1][-1][0], inner)
        elif line.endswith('{'):
            stack[-1].append((line[:-1].strip(), None))
            stack.append([])
        else:
            key, value = line.split(': ', 1)
            stack[-1].append((key, value))
    return stack[0]


def check_protobuf(tool, folder):
    with open(os.path.join(folder, 'dump.proto'), 'w', encoding='utf-8') as file:
        file.write(PROTO)
    tensors = Tensors(folder)
    ops, expected = [], {}
    for dtype in list(PLAIN) + list(BITS):
        inputs = [tensors.make(dtype, shape) for shape in SHAPES]
        outputs = [tensors.make(dtype, shape, fmt, padding=5) for shape, fmt in
                   [((3, 4), 'FRACTAL_NZ'), ((2, 3, 4, 5), 'NCHW'), ((300, 129), 'ND')]]
        ops.append({'name': 'op/' + dtype, 'type': 'Cast', 'inputs': [t for t, _ in inputs],
                    'outputs': [t for t, _ in outputs]})
        expected['op/' + dtype] = (inputs, outputs)
    place = os.path.join(replay(tool, folder, ops, 'protobuf'), '1')
    names = os.listdir(place)
    assert len(names) == len(expected), names
    for name in names:
        with open(os.path.join(place, name), 'rb') as file:
            content = file.read()
        length = int.from_bytes(content[:8], 'little')
        fields = decoded(folder, content[8:8 + length])
        op = dict(fields)['op_name'].strip('"')
        inputs, outputs = expected[op]
        assert dict(fields)['version'] == '"2.0"' and dict(fields)['dump_time'] == name.rsplit('.', 1)[1], fields
        assert content[8 + length:] == b''.join(bytes(d) for _, d in inputs + outputs), op
        for role, wanted in (('input', inputs), ('output', outputs)):
            found = [value for key, value in fields if key == role]
            assert len(found) == len(wanted), (op, role)
            for got, (described, data) in zip(found, wanted):
                dims = [int(value) for key, value in dict(got)['shape'] if key == 'dim']
                assert dims == described['shape'], (op, dims)
                assert [int(v) for k, v in dict(got)['original_shape'] if k == 'dim'] == dims
                assert int(dict(got).get('data_type', 0)) == PROTO_CODES[described['dtype']], (op, got)
                assert int(dict(got).get('format', 0)) == FORMAT_CODES[described['format']], (op, got)
                assert int(dict(got).get('size', 0)) == len(data), (op, got)
                if role == 'output':
                    assert dict(dict(got)['original_op'])['name'] == '"%s"' % op, got
    print('protobuf: protoc finds every field of %d records' % len(names))


def check_arrays(tool, folder):
    """Arrays as NumPy stores those that are not packed in C order and little-endian."""
    random = numpy.random.default_rng(5)
    for descr in ('<f4', '<f2', '<f8', '<i2', '<i8', '<c8', '|u1', '|b1'):
        values = (random.standard_normal((3, 5, 7)) * 100).astype(descr)
        halves = values.astype('<f2')
        swapped = values.astype(values.dtype.newbyteorder('>'))
        for side, arrays in (('mine', (values,) * 4 + (halves,)),
                             ('golden', (numpy.asfortranarray(values), swapped, swapped.transpose(2, 0, 1).copy().transpose(1, 2, 0),
                                         values[::-1].T[:, :, ::-1].T, halves)),
                             ('raw', (halves.view('V2'),) * 5)):
            os.makedirs(os.path.join(folder, side), exist_ok=True)
            for number, array in enumerate(arrays):
                numpy.save(os.path.join(folder, side, 'op%d.output.0.npy' % number), array)
            named = {'op%d.output.0' % number: array for number, array in enumerate(arrays)}
            numpy.savez(os.path.join(folder, side + '.npz'), **named)
            numpy.savez_compressed(os.path.join(folder, side + '_packed.npz'), **named)
        for golden in ('golden', 'golden.npz', 'golden_packed.npz', 'mine_packed.npz'):
            told = subprocess.run([tool, 'compare', 'mine', golden], cwd=folder, capture_output=True, text=True, check=False)
            if 'without zlib' in told.stderr:
                continue
            assert told.returncode == 0 and '5 tensors compared: 5 equal' in told.stdout, (descr, golden, told)
        # NumPy knows float16, so its raw items are of another dtype.
        told = subprocess.run([tool, 'compare', 'mine', 'raw'], cwd=folder, capture_output=True, text=True, check=False)
        assert told.returncode == 1 and 'op4:output:0: golden: its elements are 2 bytes of unknown kind' in told.stderr, (descr, told)


def main():
    tool = os.path.abspath(sys.argv[1])
    needs_numpy()
    with tempfile.TemporaryDirectory() as folder:
        check_npy(tool, folder)
    with tempfile.TemporaryDirectory() as folder:
        check_npy(tool, folder, ['--ring-bytes', '4096'])
    with tempfile.TemporaryDirectory() as folder:
        check_arrays(tool, folder)
    if shutil.which('protoc') is None:
        print('left out: protobuf, as there is no protoc')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        check_protobuf(tool, folder)
    return 0


if __name__ == '__main__':
    sys.exit(main())
