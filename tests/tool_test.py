#!/usr/bin/env python3
"""Tests of the opdump command from outside: tool_test.py OPDUMP [unittest arguments].

Standard library only. With NumPy the arrays are compared with its own files too.
"""
import io
import json
import math
import os
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'support'))
from with_numpy import numpy  # noqa: E402

OPDUMP = ''
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'tool')
CRASH = 99  # what a sanitizer makes of its findings

FLOAT, FLOAT16, INT8, INT32, UINT8, INT64, DOUBLE, BOOL, STRING = 0, 1, 2, 3, 4, 9, 11, 12, 13
COMPLEX64, QUINT16, BF16, INT4, UINT1, UINT2, COMPLEX32 = 16, 22, 27, 29, 30, 32, 33
E5M2, E4M3, E8M0, E2M1, HIFLOAT8 = 35, 36, 37, 40, 34
ND, NC1HWC0 = 2, 3


def tensor(dtype, shape, data, fmt=ND, original=None, name=b'op', original_dtype=None):
    return dict(dtype=dtype, shape=shape, data=data, fmt=fmt, original=original if original is not None else shape,
                name=name, original_dtype=dtype if original_dtype is None else original_dtype)


def record(inputs, outputs):
    def tlv(tag, value):
        return struct.pack('<II', tag, len(value)) + value

    def dims(shape):
        return struct.pack('<%dQ' % len(shape), *shape)

    def describe(t, is_output):
        tlvs = b''
        if t['shape'] is not None:
            tlvs += tlv(0, dims(t['shape'])) + tlv(1, dims(t['original']))
        fixed = struct.pack('<iii', t['dtype'], t['fmt'], 0)
        if is_output:
            fixed += struct.pack('<iii', 0, t['original_dtype'], t['fmt'])
            tlvs += tlv(2, t['name'])
        return fixed + struct.pack('<QQQI', 0, 0, len(t['data']), len(tlvs)) + tlvs

    head = struct.pack('<II', 0x5a5a5a5a, 0)
    for tag, tensors in ((4, inputs), (5, outputs)):
        head += tlv(tag, struct.pack('<I', len(tensors)) + b''.join(describe(t, tag == 5) for t in tensors))
    return struct.pack('<Q', len(head)) + head + b''.join(t['data'] for t in inputs + outputs)


def npy(descr, shape, data, version=1, fortran=False):
    text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (
        descr if descr[0] == '[' else repr(descr), fortran, repr(tuple(shape)))
    if shape:
        text += ' ' * (21 - len(repr(shape[0])))
    prefix = 10 if version == 1 else 12
    text += ' ' * (64 - (prefix + len(text) + 1) % 64) + '\n'
    return b'\x93NUMPY' + bytes([version, 0]) + struct.pack('<H' if version == 1 else '<I', len(text)) + \
        text.encode() + data


def floats(*values):
    return struct.pack('<%df' % len(values), *values)


def rounded_to_bfloat16(value):
    bits = struct.unpack('<I', floats(value))[0]
    return struct.unpack('<f', struct.pack('<I', bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000))[0]


NAME = 'Conv2D.conv1.3.0.1589195081588018'


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='opdump_tool_test')
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, *names):
        with open(self.path(*names), 'rb') as file:
            return file.read()

    def run_tool(self, *arguments, expect=0, stdin=b'', **options):
        environment = dict(os.environ, TZ='UTC', LC_ALL='C', ASAN_OPTIONS='exitcode=%d' % CRASH,
                           UBSAN_OPTIONS='exitcode=%d' % CRASH, TSAN_OPTIONS='exitcode=%d' % CRASH)
        done = subprocess.run([OPDUMP, *arguments], cwd=self.directory, env=environment, input=stdin,
                              stdout=options.pop('stdout', subprocess.PIPE), stderr=subprocess.PIPE, timeout=300,
                              **options)
        out = (done.stdout or b'').decode(errors='replace')
        error = done.stderr.decode(errors='replace')
        self.assertIn(done.returncode, expect if isinstance(expect, tuple) else (expect,), out + error)
        return out, error

    def files(self, directory='.'):
        found = []
        for root, _, names in os.walk(self.path(directory)):
            found += [os.path.relpath(os.path.join(root, name), self.path(directory)) for name in names
                      if not name.endswith('.journal')]
        return sorted(found)

    def golden(self, name, text):
        with open(os.path.join(DATA, name), encoding='utf-8') as file:
            self.assertEqual(file.read(), text)


class CommandLine(Case):
    def usage(self, *arguments):
        out, error = self.run_tool(*arguments, expect=2)
        self.assertEqual(out, '')
        self.assertEqual(error.count('\n'), 1, error)
        self.assertRegex(error, r"; see 'opdump( \w+)? --help'\n$")
        return error

    def test_help_of_everything_names_examples_and_exit_codes(self):
        for words in ([], ['show'], ['convert'], ['check'], ['explain'], ['replay'], ['verify']):
            out, error = self.run_tool(*words, '--help')
            self.assertEqual(error, '')
            for piece in ('usage: opdump', 'exit status', '\n  0  ', '\n  2  ', 'opdump ' + ' '.join(words)):
                self.assertIn(piece, out)
            self.assertLessEqual(max(map(len, out.splitlines())), 118)

    def test_version(self):
        self.assertRegex(self.run_tool('--version')[0], r'^opdump \d+\.\d+\.\d+\n$')

    def test_usage_errors_say_what_is_wrong(self):
        self.assertIn('a command is missing', self.usage())
        self.assertIn("unknown command 'shwo'", self.usage('shwo'))
        self.assertIn('a PATH is missing', self.usage('show'))
        self.assertIn("unknown option '--all'", self.usage('show', '--all', 'x'))
        self.assertIn("'-d' needs a value", self.usage('convert', '-d'))
        self.assertIn("'-d PATH' is missing", self.usage('convert'))
        self.assertIn("'-r' takes no value", self.usage('convert', '-r=1'))
        self.assertIn("'x' has no meaning", self.usage('convert', '-d', 'y', 'x'))
        self.assertIn("'-t bin' is not supported yet", self.usage('convert', '-d', 'x', '-t', 'bin'))
        self.assertIn("'-v 1' is not supported", self.usage('convert', '-d', 'x', '-v', '1'))
        for flag in ('-f', '-s', '-i', '-o', '-c'):
            self.assertIn("'%s' is not supported yet" % flag, self.usage('convert', '-d', 'x', flag, '1'))
        self.assertIn('a CONFIG is missing', self.usage('check'))
        self.assertIn("not also 'b'", self.usage('check', 'a', 'b'))
        self.assertIn('a RUN.json is missing', self.usage('replay', '--config', 'a'))
        self.assertIn("'--config CONFIG' is missing", self.usage('replay', 'a'))
        for bad in ('0', '63', '-1', '1k', '4294967296', ''):
            self.assertIn('is no number from 64', self.usage('replay', 'a', '--config', 'b', '--ring-bytes', bad))
        self.assertIn('none of none, gaps, records',
                      self.usage('replay', 'a', '--config', 'b', '--journal', 'all'))
        self.assertIn('none of drop, block, inline, degrade',
                      self.usage('replay', 'a', '--config', 'b', '--when-full', 'wait'))

    def test_a_full_output_is_a_failure(self):
        with open('/dev/full', 'wb') as full:
            self.assertIn('standard output', self.run_tool('--help', expect=1, stdout=full)[1])


class Show(Case):
    def statistics(self, dtype, data, shape=None):
        """What follows the shape in the line of a tensor."""
        self.write(NAME, record([], [tensor(dtype, shape, data)]))
        line = self.run_tool('show', NAME)[0].splitlines()[2]
        return line.split(' B  ')[1].split()

    def test_golden(self):
        step = 'dump/20260131130559/0/digits/1/%d/'
        self.write(step % 10 + 'Relu.relu1.4.0.1589195081588020',
                   record([tensor(FLOAT, [2, 2], floats(1, 2, math.nan, -math.inf))],
                          [tensor(UINT8, [3], b'\x01\x02\x03', original=[5], original_dtype=INT4)]))
        self.write(step % 9 + 'Relu.relu1.4.0.1589195081588019',
                   record([tensor(FLOAT16, [1, 1, 1, 2, 2], struct.pack('<4e', 0.5, -2, 3, 1e-7), NC1HWC0)], []))
        self.write(step % 9 + NAME,
                   record([tensor(BF16, [], b'\x80\x3f')], [tensor(COMPLEX64, [0, 4], b''), tensor(99, [1], b'x')]))
        self.write('dump/20260131130559/0/Add.add.65535.65535.1589195081588017',
                   record([], [tensor(INT64, None, struct.pack('<2q', -5, 7))]))
        out, error = self.run_tool('show', 'dump')
        self.assertEqual(error, '')
        self.golden('show.txt', out)

    def test_numbers_of_every_dtype(self):
        def three(values):
            return ['min', '%.6g' % min(values), 'max', '%.6g' % max(values), 'mean',
                    '%.6g' % (sum(values) / len(values))]
        plain = {FLOAT: 'f', FLOAT16: 'e', INT8: 'b', INT32: 'i', UINT8: 'B', 6: 'h', 7: 'H', 8: 'I', INT64: 'q',
                 10: 'Q', DOUBLE: 'd', 18: 'b', 19: 'h', 20: 'i', 21: 'B', QUINT16: 'H', 23: 'q'}
        for dtype, code in plain.items():
            values = [1, 2, 100, 0] if code in 'BHIQ' else [1, -2, 100, 0]
            self.assertEqual(self.statistics(dtype, struct.pack('<4' + code, *values), [4]), three(values), dtype)
        self.assertEqual(self.statistics(BOOL, b'\0\1\1\2', [4]), three([0, 1, 1, 1]))
        self.assertEqual(self.statistics(BF16, struct.pack('<2H', 0xc040, 0x3f00), [2]), three([-3, 0.5]))
        self.assertEqual(self.statistics(INT4, b'\x8f\x07', [3]), three([-1, -8, 7]))
        self.assertEqual(self.statistics(31, b'\x2d', [4]), three([1, -1, -2, 0]))
        self.assertEqual(self.statistics(UINT2, b'\xe4', [4]), three([0, 1, 2, 3]))
        self.assertEqual(self.statistics(UINT1, b'\x80\xff', [9]), three([1, 0, 0, 0, 0, 0, 0, 0, 1]))
        self.assertEqual(self.statistics(E2M1, b'\xf7', [2]), three([6, -6]))
        self.assertEqual(self.statistics(E8M0, b'\x7f\x80\x7e', [3]), three([1, 2, 0.5]))
        magnitudes = ['|min|', '5', '|max|', '13', '|mean|', '9']
        self.assertEqual(self.statistics(COMPLEX64, floats(3, -4, 5, 12), [2]), magnitudes)
        self.assertEqual(self.statistics(17, struct.pack('<4d', 3, -4, 5, 12), [2]), magnitudes)
        self.assertEqual(self.statistics(COMPLEX32, struct.pack('<4e', 3, -4, 5, 12), [2]), magnitudes)
        nothing = ['min', '-', 'max', '-', 'mean', '-']
        for dtype in (STRING, HIFLOAT8, 38, 42, 99, -1):
            self.assertEqual(self.statistics(dtype, b'\1\2', [1]), nothing, dtype)
        self.assertEqual(self.statistics(FLOAT, b'', [0]), nothing)

    def test_every_float16_is_read_as_python_reads_it(self):
        for first in range(0, 65536, 4096):
            codes = range(first, first + 4096)
            values = [struct.unpack('<e', struct.pack('<H', code))[0] for code in codes]
            finite = [value for value in values if math.isfinite(value)]
            shown = self.statistics(FLOAT16, struct.pack('<4096H', *codes), [4096])
            self.assertEqual(shown[:4], ['min', '%.6g' % min(finite), 'max', '%.6g' % max(finite)])
            self.assertAlmostEqual(float(shown[5]), sum(finite) / len(finite), delta=abs(float(shown[5])) * 1e-5)
            odd = sum(map(math.isnan, values)), sum(map(math.isinf, values))
            self.assertEqual(shown[6:], (['nan', str(odd[0])] if odd[0] else []) +
                             (['inf', str(odd[1])] if odd[1] else []))

    def test_every_float8(self):
        def small(code, exponent_bits, mantissa_bits):
            bias = 2 ** (exponent_bits - 1) - 1
            exponent, mantissa = code >> mantissa_bits & (2 ** exponent_bits - 1), code & (2 ** mantissa_bits - 1)
            size = (mantissa / 2 ** mantissa_bits + (exponent != 0)) * 2.0 ** (max(exponent, 1) - bias)
            return -size if code & 0x80 else size
        for code in range(256):
            for dtype, bits in ((E5M2, (5, 2)), (E4M3, (4, 3))):
                shown = self.statistics(dtype, bytes([code]), [1])
                if dtype == E5M2 and code & 0x7c == 0x7c:
                    want = 'inf' if code & 3 == 0 else 'nan'
                    self.assertEqual(shown, ['min', '-', 'max', '-', 'mean', '-', want, '1'])
                elif dtype == E4M3 and code & 0x7f == 0x7f:
                    self.assertEqual(shown, ['min', '-', 'max', '-', 'mean', '-', 'nan', '1'])
                else:
                    self.assertEqual(float(shown[1]), float('%.6g' % small(code, *bits)), (dtype, code))

    def test_tensors_larger_than_a_block(self):
        values = [i % 1000 - 300 for i in range(300001)]
        shown = self.statistics(FLOAT, floats(*values), [300001])
        self.assertEqual(shown[:5], ['min', '-300', 'max', '699', 'mean'])
        self.assertEqual(shown[5], '%.6g' % (sum(values) / len(values)))
        self.assertEqual(self.statistics(DOUBLE, struct.pack('<2d', 1.5e308, 1.5e308), [2])[5], '1.5e+308')

    def test_order_is_by_directory_then_time(self):
        for step in (10, 9):
            for us in (1589195081588030, 1589195081588004):
                self.write('%d/A.a%d.0.0.%d' % (step, us % 7, us), record([], [tensor(INT8, [1], b'\1')]))
        out, _ = self.run_tool('show', '.')
        times = [line.split()[4][-6:] for line in out.splitlines()[1:] if line.startswith('A')]
        self.assertEqual(times, ['588004', '588030'] * 2)
        self.run_tool('show', '10', '9')

    def test_a_hashed_name_is_looked_up(self):
        self.write('12345', record([], [tensor(INT8, [1], b'\1')]))
        self.write('mapping.csv', '12345,%s\n' % NAME)
        for path in ('.', '12345', self.path('12345')):
            out, error = self.run_tool('show', path)
            self.assertRegex(out, r'\nConv2D  conv1 +3 +0 +2020-05-11T11:04:41.588018 ')
            self.assertEqual(error, '')

    def test_bad_mapping_rows_are_told(self):
        self.write('12345', record([], [tensor(INT8, [1], b'\1')]))
        for row in ('12345', '12345,', ',x', '12345,../../x', '12345,a/b', '12345,a\0b'):
            self.write('mapping.csv', row + '\n')
            out, error = self.run_tool('show', '.')
            self.assertIn('mapping.csv:1: passed over', error)
            self.assertIn('  12345 ', out)

    def test_other_files_are_noted_and_known_ones_not(self):
        self.write('d/' + NAME, record([], [tensor(INT8, [1], b'\1')]))
        self.write('d/readme.txt', 'hello')
        self.write('d/x.npy', 'hello')
        self.write('d/mapping.csv', '')
        os.mkfifo(self.path('d/pipe'))
        self.write('d/T.n.0.0.1.part', record([], [tensor(INT8, [1], b'\1')])[:50])
        out, error = self.run_tool('show', 'd')
        self.assertIn('1 record, 1 tensor, 1 B\n', out)
        self.assertEqual(sorted(line.split('/')[-1] for line in error.splitlines()),
                         ['T.n.0.0.1.part: passed over, not finished: its writer still runs or was cut off',
                          'pipe: passed over, not a regular file',
                          'readme.txt: passed over, not a dump record'])
        self.assertIn('not a dump record', self.run_tool('show', 'd/readme.txt', expect=1)[1])

    def test_what_cannot_be_read_is_told_and_the_rest_shown(self):
        self.write('d/' + NAME, record([], [tensor(INT8, [1], b'\1')]))
        self.write('d/A.a.0.0.1', b'')
        self.write('d/A.a.0.0.2', record([], [tensor(INT32, [2], b'1234567')]))
        out, error = self.run_tool('show', 'd', 'nowhere', expect=1)
        self.assertIn('2 records', out)
        self.assertIn('A.a.0.0.1: at byte 0: not a dump record', error)
        self.assertRegex(error, r'A.a.0.0.2: at byte \d+: the tensor has fewer bytes than its shape needs')
        self.assertIn('nowhere: No such file or directory', error)

    def test_nothing_found_is_a_failure(self):
        os.mkdir(self.path('d'))
        self.assertIn('0 records', self.run_tool('show', 'd', expect=1)[0])

    def test_names_cannot_drive_the_terminal(self):
        self.write('A.a\x1b[31m.0.0.1', record([], [tensor(INT8, [1], b'\1')]))
        self.assertNotIn('\x1b', self.run_tool('show', '.')[0])


class Hostile(Case):
    RECORD = record([tensor(FLOAT, [2, 1], floats(1, 2)), tensor(UINT1, [8], b'\x81')],
                    [tensor(FLOAT16, [2], b'1234', name=b'conv')])

    def both(self, expect):
        _, error = self.run_tool('show', 'd', expect=expect)
        self.run_tool('convert', '-d', 'd', '-out', 'out', expect=expect)
        return error

    def test_every_truncation_is_refused(self):
        for size in range(len(self.RECORD)):
            self.write('d/T.n.0.0.%d' % size, self.RECORD[:size])
        error = self.both(expect=1)
        self.assertEqual(len(error.splitlines()), len(self.RECORD))
        self.assertEqual(self.files('out') if os.path.exists(self.path('out')) else [], [])

    def test_flipped_bits_do_no_harm(self):
        for byte in range(len(self.RECORD)):
            for bit in range(8):
                flipped = bytearray(self.RECORD)
                flipped[byte] ^= 1 << bit
                self.write('d/T.n.0.0.%d' % (8 * byte + bit), bytes(flipped))
        self.both(expect=1)

    def test_trailing_bytes_are_refused(self):
        self.write('d/' + NAME, self.RECORD + b'x')
        self.assertRegex(self.both(expect=1), r'at byte %d: ' % len(self.RECORD))

    def test_shapes_that_pass_every_memory(self):
        for i, shape in enumerate(([2 ** 63, 2], [2 ** 32, 2 ** 32], [2 ** 64 - 1] * 8, [2 ** 61])):
            self.write('d/T.n.0.0.%d' % i, record([], [tensor(FLOAT, shape, b'1234')]))
        self.assertEqual(len(self.both(expect=1).splitlines()), 4)

    def test_heads_that_claim_much(self):
        for i, length in enumerate((2 ** 64 - 1, 2 ** 63, 2 ** 40, 1000, 0)):
            self.write('d/T.n.0.0.%d' % i, struct.pack('<QII', length, 0x5a5a5a5a, 0) + b'\0' * 100)
        with open(self.write('d/T.n.0.0.9', struct.pack('<QII', 2 ** 36, 0x5a5a5a5a, 0)), 'r+b') as sparse:
            sparse.truncate(2 ** 37)
        self.assertIn('more than 64 MiB', self.both(expect=1))


class Convert(Case):
    def convert_one(self, inputs, outputs, expect=0):
        self.write(NAME, record(inputs, outputs))
        return self.run_tool('convert', '-d', NAME, '-out', 'out', expect=expect)

    def array(self, role='output.0'):
        return self.read('out', '%s.%s.npy' % (NAME, role))

    def test_arrays_are_byte_for_byte_what_is_expected(self):
        cases = [
            (tensor(FLOAT, [2, 3], floats(*range(6))), '<f4', (2, 3), floats(*range(6))),
            (tensor(FLOAT16, [3], b'abcdef'), '<f2', (3,), b'abcdef'),
            (tensor(INT32, [], b'\1\2\3\4'), '<i4', (1,), b'\1\2\3\4'),
            (tensor(INT8, None, b'\1\2\3'), '|i1', (3,), b'\1\2\3'),
            (tensor(BOOL, [2, 1], b'\1\2'), '|b1', (2, 1), b'\1\2'),
            (tensor(INT64, [2, 0, 3], b''), '<f8', (2, 0, 3), b''),
            (tensor(STRING, [0], b'xyz'), '<f8', (0,), b''),
            (tensor(DOUBLE, [1], b'12345678' + b'\0' * 24), '<f8', (1,), b'12345678'),
            (tensor(BF16, [2], b'\x80\x3f\x81\x7f'), '<f4', (2,), b'\0\0\x80\x3f\0\0\x81\x7f'),
            (tensor(UINT1, [2, 8], b'\x80\x03'), '|u1', (2, 8), bytes([1] + [0] * 7 + [0] * 6 + [1, 1])),
            (tensor(UINT1, [3], b'\xa0'), '|u1', (3,), b'\1\0\1'),
            (tensor(INT4, [3], b'\x8f\x07'), '|i1', (3,), b'\xff\xf8\x07'),
            (tensor(UINT2, [5], b'\xe4\x03'), '|u1', (5,), bytes([0, 1, 2, 3, 3])),
            (tensor(QUINT16, [1], b'ab'), '<u2', (1,), b'ab'),
            (tensor(23, [1], b'12345678'), '<i8', (1,), b'12345678'),
            (tensor(COMPLEX64, [1], b'12345678'), '<c8', (1,), b'12345678'),
            (tensor(COMPLEX32, [1], struct.pack('<2e', 1, -2)), '<c8', (1,), floats(1, -2)),
            (tensor(E4M3, [2], b'\x38\xfe'), '<f4', (2,), floats(1, -448)),
            (tensor(UINT8, [1] * 32, b'\7'), '|u1', (1,) * 32, b'\7'),
        ]
        self.convert_one([case[0] for case in cases], [case[0] for case in cases])
        for i, (_, descr, shape, data) in enumerate(cases):
            for role in ('input', 'output'):
                self.assertEqual(self.array('%s.%d' % (role, i)), npy(descr, shape, data), cases[i])

    @unittest.skipIf(numpy is None, 'NumPy is not there: arrays are not compared with its files')
    def test_arrays_are_numpys_own_bytes(self):
        arrays = []
        for dtype, code in (('f4', FLOAT), ('f2', FLOAT16), ('f8', DOUBLE), ('i1', INT8), ('?', BOOL), ('c16', 17)):
            for shape in ((), (1,), (9,), (10,), (2, 3), (1, 1, 28, 28, 16), (100000,), (3,) * 8, (1,) * 32):
                arrays.append((code, (numpy.arange(numpy.prod(shape, dtype=int)) % 1000).astype(dtype).reshape(shape)))
        self.convert_one([], [tensor(code, array.shape, array.tobytes()) for code, array in arrays])
        for i, (_, array) in enumerate(arrays):
            file = io.BytesIO()
            numpy.save(file, array.reshape(array.shape or (1,)))
            self.assertEqual(self.array('output.%d' % i), file.getvalue(), (array.shape, array.dtype))

    def test_large_tensors_are_converted_in_blocks(self):
        bits = os.urandom(150000)
        odd = os.urandom(600002)
        self.convert_one([tensor(INT8, [7], b'1234567')],
                         [tensor(UINT1, [1200000], bits), tensor(BF16, [300001], odd), tensor(UINT8, [600002], odd)])
        self.assertEqual(self.array()[128:], bytes(byte >> 7 - i & 1 for byte in bits for i in range(8)))
        self.assertEqual(self.array('output.1')[128:], b''.join(b'\0\0' + odd[i:i + 2] for i in range(0, 600002, 2)))
        self.assertEqual(self.array('output.2')[128:], odd)

    def test_one_bad_tensor_does_not_lose_the_others(self):
        _, error = self.convert_one([tensor(INT8, [1], b'\1')],
                                    [tensor(STRING, [1], b'x'), tensor(FLOAT, [2], b'1234'), tensor(99, [1], b'x'),
                                     tensor(INT32, None, b'12345'), tensor(INT8, [1], b'\2')], expect=1)
        self.assertEqual(self.files('out'), [NAME + '.input.0.npy', NAME + '.output.4.npy'])
        for piece in ('output.0: there is no array for dtype code 13 (string)',
                      'output.1: the shape needs 8 bytes, and the tensor has 4',
                      'output.2: there is no array for dtype code 99\n',
                      'output.3: 5 bytes without a shape are no whole number of elements'):
            self.assertIn(piece, error)

    def test_modes_and_replacing(self):
        os.makedirs(self.path('out'), 0o700)
        self.write('victim', 'untouched')
        os.symlink(self.path('victim'), self.path('out', NAME + '.output.0.npy'))
        self.write('out/%s.output.1.npy' % NAME, 'old')
        self.convert_one([], [tensor(INT8, [1], b'\1'), tensor(INT8, [1], b'\2')])
        self.assertEqual(self.read('victim'), b'untouched')
        for i in (0, 1):
            status = os.lstat(self.path('out', '%s.output.%d.npy' % (NAME, i)))
            self.assertTrue(stat.S_ISREG(status.st_mode))
            self.assertEqual(stat.S_IMODE(status.st_mode), 0o600)
        self.run_tool('convert', '-d', NAME, '-out', 'new/er')
        for directory in ('new', 'new/er'):
            self.assertEqual(stat.S_IMODE(os.stat(self.path(directory)).st_mode), 0o700)

    def test_long_names_become_numbers(self):
        record_bytes = record([], [tensor(INT8, [1], b'\1')])
        suffix = '.output.0.npy'
        fits = 'T.%s.0.0.1' % ('n' * (254 - len(suffix) - len('T..0.0.1')))
        for name, long in ((fits, False), (fits.replace('n', 'nn', 1), True)):
            self.write(name, record_bytes)
            self.run_tool('convert', '-d', name, '-out', 'out')
            if long:
                short = uuid.uuid3(uuid.NAMESPACE_DNS, name + suffix).hex + '.npy'
                self.assertEqual(self.read('out', 'mapping.csv').decode(), '%s,%s\n' % (short, name + suffix))
                self.assertEqual(self.read('out', short), npy('|i1', (1,), b'\1'))
            else:
                self.assertEqual(self.files('out'), [name + suffix])
        for length in range(240, 254):
            self.write('T.%s.0.0.1' % ('m' * (length - 8)), record_bytes)
        self.run_tool('convert', '-d', '.', '-out', 'many')
        for row in self.read('many', 'mapping.csv').decode().splitlines():
            short, name = row.split(',')
            self.assertEqual(short, uuid.uuid3(uuid.NAMESPACE_DNS, name).hex + '.npy')
            self.assertTrue(os.path.exists(self.path('many', short)))

    def test_a_hashed_name_gets_its_real_one(self):
        self.write('d/12345', record([], [tensor(INT8, [1], b'\1')]))
        self.write('d/mapping.csv', '12345,%s\n' % NAME)
        self.run_tool('convert', '-d', 'd', '-out', 'out')
        self.assertEqual(self.files('out'), [NAME + '.output.0.npy'])

    def test_directories_and_lists(self):
        for name in ('a.b.0.0.1', 'd/a.b.0.0.2', 'd/e/a.b.0.0.3', 'with,comma.b.0.0.4'):
            self.write(name, record([], [tensor(INT8, [1], b'\1')]))
        self.run_tool('convert', '-d', 'd')
        self.assertIn('a.b.0.0.2.output.0.npy', self.files())
        self.run_tool('convert', '--recursive', '--dump_file=d', '--output=r')
        self.assertEqual(self.files('r'), ['a.b.0.0.2.output.0.npy', 'e/a.b.0.0.3.output.0.npy'])
        self.run_tool('convert', '-d', 'a.b.0.0.1,d/e/a.b.0.0.3', '-out', 'l', '-t', 'npy', '-v', '2')
        self.assertEqual(self.files('l'), ['a.b.0.0.1.output.0.npy', 'a.b.0.0.3.output.0.npy'])
        self.run_tool('convert', '-d', 'a.b.0.0.1,gone', '-out', 'm', expect=1)
        self.assertEqual(self.files('m'), ['a.b.0.0.1.output.0.npy'])
        self.run_tool('convert', '-d', 'with,comma.b.0.0.4', '-out', 'c')
        self.assertEqual(len(self.files('c')), 1)

    def test_nothing_to_convert_is_a_failure(self):
        os.mkdir(self.path('d'))
        self.assertIn('d: no dump record there', self.run_tool('convert', '-d', 'd', expect=1)[1])

    def test_an_output_that_cannot_be_is_told(self):
        self.write('file', 'x')
        self.write(NAME, record([], [tensor(INT8, [1], b'\1')]))
        self.assertIn('Not a directory', self.run_tool('convert', '-d', NAME, '-out', 'file', expect=1)[1])
        os.makedirs(self.path('out', NAME + '.output.0.npy'))
        self.assertIn('Is a directory', self.run_tool('convert', '-d', NAME, '-out', 'out', expect=1)[1])
        self.assertEqual(self.files('out'), [])

    def test_a_failed_write_leaves_no_file(self):
        self.write(NAME, record([], [tensor(UINT8, [100000], os.urandom(100000)), tensor(INT8, [1], b'\1')]))

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        _, error = self.run_tool('convert', '-d', NAME, '-out', 'out', expect=1, preexec_fn=limit,
                                 restore_signals=False)
        self.assertIn('File too large', error)
        self.assertEqual(self.files('out'), [NAME + '.output.1.npy'])

    def test_an_interrupted_run_leaves_only_whole_files(self):
        bytes_each = 64 << 20
        head = record([], [tensor(UINT8, [bytes_each], b'')])
        # The tensor's bytes are a hole behind the head, whose size field is made to cover them.
        tlvs = (8 + 8) + (8 + 8) + (8 + len('op'))
        at = len(head) - tlvs - 12
        head = head[:at] + struct.pack('<Q', bytes_each) + head[at + 8:]
        for i in range(8):
            with open(self.write('d/T.n.0.0.%d' % i, head), 'r+b') as file:
                file.truncate(len(head) + bytes_each)
        process = subprocess.Popen([OPDUMP, 'convert', '-d', 'd', '-out', 'out'], cwd=self.directory,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(self.path('out')) or len(self.files('out')) < 2:
            self.assertIsNone(process.poll(), process.stderr)
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, -signal.SIGINT, error)
        for name in self.files('out'):
            self.assertTrue(name.endswith('.npy'), name)
            self.assertEqual(os.path.getsize(self.path('out', name)), bytes_each + 128)
        self.assertLess(len(self.files('out')), 8)


class Check(Case):
    def test_active(self):
        os.mkdir(self.path('dump'))
        config = {'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_step': '0|5-9', 'dump_level': 'kernel',
                           'dump_list': [{'model_name': 'digits', 'layer': ['conv1', 'fc']}, {'model_name': 'm2'}, {}]}}
        self.write('acl.json', json.dumps(config))
        out, error = self.run_tool('check', 'acl.json')
        self.assertEqual(error, '')
        self.golden('check.txt', out)
        self.assertEqual(self.run_tool('check', '-', stdin=json.dumps(config).encode())[0],
                         out.replace('acl.json:', '-:'))

    def test_single_ops(self):
        config = {'dump': {'dump_path': '.', 'dump_op_switch': 'on'}}
        self.write('acl.json', json.dumps(config))
        self.assertIn('operators run outside a model too', self.run_tool('check', 'acl.json')[0])
        config['dump']['dump_step'] = '3'
        self.write('acl.json', json.dumps(config))
        out, _ = self.run_tool('check', 'acl.json')
        self.assertIn('operators run outside a model never', out)
        self.assertIn('step 3, counted from 0', out)

    def test_inactive(self):
        for text in ('', '{}', '{"dump": {}}', '{"dump": {"dump_path": "."}}'):
            self.write('acl.json', text)
            self.assertIn('switches nothing on', self.run_tool('check', 'acl.json', expect=3)[0])
            self.run_tool('check', '-', stdin=text.encode(), expect=3)

    def test_refused(self):
        self.write('acl.json', '{"dump": {"dump_path": ".",\n  "dump_mode": "ouput"}}')
        out, error = self.run_tool('check', 'acl.json', expect=1)
        self.assertEqual(out, '')
        self.assertRegex(error, r'^acl.json:2:16: dump.dump_mode: .*"ouput".*"output"')
        self.assertEqual(error.split('\n')[1:],
                         ['  2 |   "dump_mode": "ouput"}}', '    |                ^', ''])
        self.assertRegex(self.run_tool('check', '-', stdin=b'{"dump": {,}}', expect=1)[1], r'^-:1:11: ')
        self.assertIn('no/where', self.run_tool('check', 'no/where', expect=1)[1])
        self.run_tool('check', '-', stdin=b' ' * (10 * 1024 * 1024 + 1), expect=1)


    def test_caret(self):
        def lines(text):
            return self.run_tool('check', '-', stdin=text, expect=1)[1].split('\n')[1:]
        self.assertEqual(lines(b'{"dump": {,}}'), ['  1 | {"dump": {,}}', '    |           ^', ''])
        self.assertEqual(lines(b'\n\n{"dump": '), ['  3 | {"dump": ', '    |          ^', ''])
        self.assertEqual(lines('{"ä": 1, "dump": 1}'.encode()), ['  1 | {"ä": 1, "dump": 1}', '    |                  ^', ''])
        self.assertEqual(lines(b'{"dump": "\x1b[2J'), ['  1 | {"dump": "?[2J', '    |           ^', ''])
        long = b'{' + b'"a":1,' * 1000 + b'"dump": 1' + b',"b":2' * 1000 + b'}'
        shown, caret, _ = lines(long)
        self.assertLess(len(shown), 120)
        self.assertEqual(shown[caret.index('^')], '1')
        self.assertTrue(shown.startswith('  1 | ...') and shown.endswith('...'))
        self.assertEqual(lines(b' ' * (10 * 1024 * 1024 + 1)), [''])
        self.assertEqual(self.run_tool('check', 'no/where', expect=1)[1].count('\n'), 1)

    def test_notes(self):
        self.write('acl.json', '{"dump": {"dump_path": ".", "dump_list": [{}], "dump_steps": "1"}}')
        out, error = self.run_tool('check', 'acl.json')
        self.assertEqual(error, '')
        self.assertIn('acl.json:1:48: note: dump.dump_steps: unknown, and ignored; is it', out)

    def test_keys_of_later_work_are_refused_by_name(self):
        for key, value in (('dump_debug', 'on'), ('dump_scene', 'watcher'), ('dump_data', 'stats'),
                           ('dump_scene', 'aic_err_norm_dump'), ('dump_kernel_data', 'all')):
            items = [{'layer': ['a'], 'watcher_nodes': ['b']}] if value == 'watcher' else [{}]
            self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_list': items, key: value}}))
            for command in (['check', 'acl.json'], ['replay', 'run.json', '--config', 'acl.json']):
                self.write('run.json', json.dumps(Replay.RUN))
                _, error = self.run_tool(*command, expect=1)
                self.assertRegex(error, r'acl\.json:1:\d+: dump\.%s: not supported yet: ' % key)
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_level': 'op', 'dump_list': [
            {'optype_blacklist': [{'name': 'a', 'pos': ['input0']}]}]}}))
        _, error = self.run_tool('check', 'acl.json', expect=1)
        self.assertIn('dump.dump_list[0].optype_blacklist: not supported yet: ', error)

    def test_json(self):
        def checked(text, *arguments, expect=0):
            out, error = self.run_tool('check', '-', '--json', *arguments, stdin=text.encode(), expect=expect)
            self.assertEqual(error, '')
            return json.loads(out)
        got = checked('{"dump": {"dump_path": ".", "dump_mode": "ouput"}}', expect=1)
        self.assertFalse(got['valid'] or got['active'] or got['asked'])
        reason = got['error'].pop('reason')
        self.assertIn('did you mean "output"?', reason)
        self.assertEqual(got['error'], {'fault': 'not_in_list', 'key': 'dump.dump_mode', 'line': 1, 'column': 42,
                                        'offset': 41, 'acl_error': 100009, 'message_id': 'EP0002'})
        self.assertEqual(checked('[' * 11, expect=1)['error']['acl_error'], 100006)
        got = checked('{"dump": {"dump_path": ".", "dump_scene": "watcher"}}', expect=1)
        self.assertEqual((got['valid'], got['error']['fault'], got['error']['key']),
                         (False, 'not_supported', 'dump.dump_scene'))
        got = checked('{"dump": {"dump_path": ".", "dump_level": "op", "dump_step": "1|3-5", "dump_list": [{"model_name": "m\\n",'
                      '"layer": ["a"], "opname_range": [{"begin": "b", "end": "c"}]}, {}]}, "opdump": {"ring_bytes": 64,'
                      '"when_full": "inline", "block_limit_ms": 5, "journal": "none"}}')
        self.assertEqual((got['notes'], got['mode'], got['level'], got['data'], got['steps']),
                         ([], 'output', 'op', 'tensor', [[1, 1], [3, 5]]))
        self.assertEqual(got['rules'], [{'model': 'm\n', 'layers': ['a'], 'ranges': [{'begin': 'b', 'end': 'c'}]}, {}])
        self.assertEqual(got['options'],
                         {'ring_bytes': 64, 'when_full': 'inline', 'block_limit_ms': 5, 'journal': 'none'})

    def test_model(self):
        self.write('run.json', json.dumps(Replay.RUN))
        config = {'dump': {'dump_path': '.', 'dump_mode': 'all', 'dump_level': 'op', 'dump_list': [
            {'model_name': 'digits', 'layer': ['c', 'fx'],
             'opname_range': [{'begin': 'fc', 'end': 'fc'}, {'begin': 'fc', 'end': 'conv1'}, {'begin': 'conv1', 'end': 'no'}]},
            {'model_name': 'othr'}, {'layer': ['relu', 'none']}]}}
        self.write('acl.json', json.dumps(config))
        out, _ = self.run_tool('check', 'acl.json', '--model', 'run.json')
        self.assertEqual(out[out.index('  match'):], """\
  match   model "digits": 2 of 3 operators: "conv1", "fc"
  match   model "other": 0 of 1 operator
  miss    layer "fx" of model "digits" matches nothing; did you mean "fc"?
  miss    range "fc" to "conv1" of model "digits", which does not run in that order, matches nothing
  miss    "no" in range "conv1" to "no" of model "digits" matches nothing
  miss    model "othr" matches nothing; did you mean "other"?
  miss    layer "none" of every model matches nothing
  cost    3 rules, 2 of 4 operators match, about 27 B per step
""")
        got = json.loads(self.run_tool('check', 'acl.json', '--json', '--model=run.json')[0])
        self.assertEqual(got['models'][0], {'model': 'digits', 'ops': 3, 'matched': ['conv1', 'fc'], 'bytes_per_step': 27})
        self.assertEqual(got['misses'][3], {'what': 'model "othr"', 'closest': 'other'})
        self.assertEqual(got['bytes_per_step'], 27)
        self.write('run.json', '{"models": 1}')
        self.assertRegex(self.run_tool('check', 'acl.json', '--model', 'run.json', expect=1)[1], r'^run.json:1:12: models')


class Explain(Case):
    def test_keys(self):
        out, _ = self.run_tool('explain', 'dump_step')
        self.assertRegex(out, r'^dump_step: .*\n  in .*acl.json\n  values   .*3-9.*\n  default  every step\n$')
        names = [line.split()[0] for line in self.run_tool('explain')[0].splitlines()]
        self.assertIn('opname_range', names)
        self.assertIn('when_full', names)
        for name in names:
            self.assertTrue(self.run_tool('explain', name)[0].startswith(name + ': '))

    def test_every_key_that_is_read_is_explained(self):
        names = {line.split()[0] for line in self.run_tool('explain')[0].splitlines()}
        for folder in ('accept', 'not_acted_on'):
            directory = os.path.join(os.path.dirname(DATA), 'config', folder)
            for file in os.listdir(directory):
                if file in ('unknown_keys.json', 'byte_order_mark.json') or not file.endswith('.json'):
                    continue
                with open(os.path.join(directory, file), encoding='utf-8-sig') as text:
                    config = json.load(text)
                keys = set(config.get('dump', {})) | set(config.get('opdump', {}))
                for item in config.get('dump', {}).get('dump_list', []):
                    keys |= set(item)
                self.assertLessEqual({key for key in keys if key.isascii()}, names, file)

    def test_unknown(self):
        out, error = self.run_tool('explain', 'dump_steps', expect=1)
        self.assertEqual(out, '')
        self.assertIn('did you mean "dump_step"?', error)
        self.run_tool('explain', 'a', 'b', expect=2)


class Replay(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('dump'))
        self.config(dump_list=[{}])

    def config(self, **keys):
        self.write('acl.json', json.dumps({'dump': dict({'dump_path': 'dump', 'dump_mode': 'all'}, **keys)}))

    def replay(self, run, *arguments, expect=0):
        self.write('run.json', run if isinstance(run, str) else json.dumps(run))
        return self.run_tool('replay', 'run.json', '--config', 'acl.json', *arguments, expect=expect)

    def replay_tensor(self, t, expect=0):
        """One operator `n` of type `T` with one output; gives the .npy made of it."""
        out = self.replay({'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'outputs': [t]}]}]},
                          expect=expect)
        if expect != 0:
            return out[1]
        shutil.rmtree(self.path('out'), ignore_errors=True)
        self.run_tool('convert', '-r', '-d', 'dump', '-out', 'out')
        shutil.rmtree(self.path('dump'))
        os.mkdir(self.path('dump'))
        return self.read('out', self.files('out')[0])

    RUN = {'device_id': 2, 'steps': 3, 'models': [
        {'name': 'digits', 'graph_name': 'main', 'id': 7, 'ops': [
            {'name': 'conv1', 'type': 'Conv2D', 'task_id': 1, 'stream_id': 2, 'original_names': ['c', 'relu'],
             'inputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [4]}],
             'outputs': [{'fill': 'random', 'dtype': 'int8', 'shape': [3, 3]}]},
            {'name': 'fc', 'type': 'MatMul', 'level': 'op', 'outputs': [{'fill': 'zeros', 'dtype': 'int4', 'shape': [3]}]},
            {'name': 'fc_1', 'type': 'MatMul', 'level': 'kernel',
             'outputs': [{'fill': 'zeros', 'dtype': 'float16', 'shape': [3]}]}]},
        {'name': 'other', 'ops': [{'name': 'x', 'type': 'X', 'outputs': [{'fill': 'zeros', 'dtype': 'bool', 'shape': [1]}]}]}],
        'single_ops': [{'name': 's', 'type': 'Mul', 'outputs': [{'fill': 'ramp', 'dtype': 'uint8', 'shape': [3]}]}]}

    def test_the_config_says_how_and_the_command_line_goes_before_it(self):
        def journal(options, *arguments):
            self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]}, 'opdump': options}))
            return re.search(r'^journal .*$', self.replay(self.RUN, *arguments)[0], re.M).group()
        self.assertEqual(journal({'journal': 'none', 'when_full': 'inline'}), 'journal  none')
        self.assertNotEqual(journal({}), 'journal  none')
        self.assertNotEqual(journal({'journal': 'none'}, '--journal', 'gaps'), 'journal  none')
        self.assertEqual(journal({'journal': 'gaps'}, '--journal', 'none'), 'journal  none')
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]},
                                           'opdump': {'when_full': 'drop', 'ring_bytes': 64}}))
        self.assertIn('head too large for the ring', self.replay(self.RUN, expect=1)[0])
        self.replay(self.RUN, '--ring-bytes', '65536')

    def names(self):
        """Directories below the time, and file names without their time."""
        return sorted('/'.join(name.split('/')[1:]).rsplit('.', 1)[0] for name in self.files('dump'))

    def test_summary_and_files(self):
        self.config(dump_list=[{'model_name': 'digits', 'layer': ['relu', 'fc']}], dump_step='0|2')
        for how in ('block', 'inline', 'degrade', 'drop'):
            out, error = self.replay(self.RUN, '--when-full', how)
            self.assertEqual(error, '')
            self.assertRegex(out, r'^dump     dump/\d{14}/2\n')
            journal = re.search(r'journal  (dump/\d{14}/opdump\.2\.\d+\.journal)\n$', out)
            self.assertTrue(os.path.isfile(self.path(journal[1])), out)
            self.golden('replay.txt', out[out.index('\n') + 1:journal.start()])
            self.assertEqual(self.names(), ['2/digits/7/%d/%s' % (step, name) for step in (0, 2)
                                            for name in ('Conv2D.conv1.1.2', 'MatMul.fc.65535.65535')])
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))

    def test_single_ops_and_levels(self):
        self.config(dump_op_switch='on', dump_list=[{'model_name': 'main'}], dump_level='kernel')
        out, _ = self.replay(self.RUN)
        self.assertIn('single   1 operator, 3 records captured\n  s  Mul  3 records\n', out)
        self.assertEqual(self.names(), sorted(
            ['2/Mul.s.65535.65535'] * 3 +
            ['2/main/7/%d/%s' % (step, name) for step in range(3)
             for name in ('Conv2D.conv1.1.2', 'MatMul.fc_1.65535.65535')]))

    def test_nothing_switched_on(self):
        self.config()
        self.assertIn('switches nothing on', self.replay(self.RUN, expect=3)[0])
        self.config(dump_list=[{'model_name': 'Digits'}])
        self.assertIn('of RUN.json matches', self.replay(self.RUN, expect=3)[0])
        self.config(dump_list=[{}], dump_step='3')
        self.assertIn('of RUN.json matches', self.replay(self.RUN, expect=3)[0])
        self.assertEqual(self.files('dump'), [])

    def test_journal(self):
        for detail, last in (('none', None), ('gaps', 'gaps'), ('records', 'records')):
            out, _ = self.replay(self.RUN, '--journal', detail)
            journals = [name for name in os.listdir(self.path('dump', os.listdir(self.path('dump'))[0]))
                        if name.endswith('.journal')]
            self.assertEqual(len(journals), 0 if last is None else 1)
            if last is None:
                self.assertTrue(out.endswith('\njournal  none\n'))
            else:
                self.assertTrue(out.endswith('/%s\n' % journals[0]))
                self.assertIn(b'opdump-journal,1,%s\n' % last.encode(),
                              self.read('dump', os.listdir(self.path('dump'))[0], journals[0]))
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))

    def test_losses_are_told(self):
        run = {'models': [{'name': 'm', 'ops': [
            {'name': 'n' * 100, 'type': 'T', 'outputs': [{'fill': 'zeros', 'dtype': 'int8', 'shape': [1]}]}]}]}
        out, error = self.replay(run, '--ring-bytes', '64', expect=1)
        self.assertIn('records  1 wanted, 0 written\nlost     1\n  1  head too large for the ring\n', out)
        self.assertIn('a larger --ring-bytes helps', error)
        big = {'models': [{'name': 'm', 'ops': [
            {'name': 'n', 'type': 'T', 'outputs': [{'fill': 'zeros', 'dtype': 'int8', 'shape': [1 << 28]}]}]}]}
        out, _ = self.replay(big, '--ring-bytes', '1024', '--when-full', 'drop', expect=1)
        self.assertIn('  1  no room in the ring\n', out)
        self.assertRegex(out, r'\nwhat was lost, and why: opdump verify dump/\d{14}\n$')
        self.assertEqual(self.files('dump'), [])

    def test_a_dump_that_cannot_be_written(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        self.write('run.json', json.dumps({'models': [{'name': 'm', 'ops': [
            {'name': 'n', 'type': 'T', 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [size]}]}
            for size in (100, 100000)]}]}))
        out, error = self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=1, preexec_fn=limit,
                                   restore_signals=False)
        self.assertIn('  1  file not written\n', out)
        self.assertIn('writing below dump failed: ', error)
        self.assertEqual(len(self.files('dump')), 1)

    def test_fills(self):
        def data(dtype, shape, fill='ramp'):
            return self.replay_tensor({'fill': fill, 'dtype': dtype, 'shape': shape})[128:]
        ramp = [(i - 3) * 0.75 for i in range(100)]
        self.assertEqual(data('float32', [100]), floats(*ramp))
        self.assertEqual(data('float16', [100]), struct.pack('<100e', *ramp))
        self.assertEqual(data('float64', [4, 25]), struct.pack('<100d', *ramp))
        self.assertEqual(data('bfloat16', [100]), floats(*map(rounded_to_bfloat16, ramp)))
        self.assertEqual(data('complex64', [50]), floats(*ramp))
        self.assertEqual(data('bool', [5]), b'\0\1\0\1\0')
        self.assertEqual(data('uint8', [300]), bytes(i & 255 for i in range(300)))
        self.assertEqual(data('int16', [70000]), b''.join(struct.pack('<H', i & 65535) for i in range(70000)))
        self.assertEqual(data('int64', [3], 'zeros'), bytes(24))
        half = struct.unpack('<70000e', data('float16', [70000]))
        self.assertEqual([value for value in half if not math.isfinite(value)], [])
        wanted = struct.unpack('<70000e', struct.pack('<70000e', *((i % 65536 - 3) * 0.75 for i in range(70000))))
        self.assertEqual(half, wanted)
        for dtype, code in (('float32', 'f'), ('float16', 'e'), ('float64', 'd')):
            values = struct.unpack('<1000' + code, data(dtype, [1000], 'random'))
            self.assertTrue(all(-1 <= value <= 1 for value in values))
            self.assertLess(abs(sum(values)) / 1000, 0.1)
            self.assertGreater(len(set(values)), 900)
        self.assertEqual(set(data('bool', [100], 'random')), {0, 1})

    def test_random_tensors_differ_and_runs_do_not(self):
        def run():
            t = {'fill': 'random', 'dtype': 'uint8', 'shape': [64]}
            self.replay({'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'inputs': [t], 'outputs': [t]}]}]})
            name = self.files('dump')[0]
            content = self.read('dump', name)
            shutil.rmtree(self.path('dump', name.split('/')[0]))
            return content
        first = run()
        self.assertEqual(first, run())
        self.assertNotEqual(first[-64:], first[-128:-64])

    def test_npy_files_come_back_as_they_are(self):
        cases = [('<f4', (2, 3), 4), ('<f2', (), 2), ('|i1', (5,), 1), ('|b1', (2, 2, 2), 1), ('<c16', (3,), 16),
                 ('<u8', (1,) * 8, 8), ('<i2', (100000,), 2)]
        for descr, shape, size in cases:
            data = bytes(i * 7 & 1 if descr == '|b1' else i * 7 & 255 for i in range(size * math.prod(shape)))
            for version in (1, 2, 3):
                self.write('x.npy', npy(descr, shape, data, version))
                self.assertEqual(self.replay_tensor({'data': 'x.npy'}), npy(descr, shape or (1,), data))
        self.write('sub/x.npy', npy('<f4', (2, 1), floats(1, 2), fortran=False))
        self.write('sub/run.json', json.dumps({'models': [{'name': 'm', 'ops': [
            {'name': 'n', 'type': 'T', 'outputs': [{'data': 'x.npy'}]}]}]}))
        self.run_tool('replay', 'sub/run.json', '--config', 'acl.json')

    def test_npy_files_given_another_dtype(self):
        self.write('x.npy', npy('<u2', (2,), b'\x80\x3f\0\0'))
        self.assertEqual(self.replay_tensor({'data': 'x.npy', 'dtype': 'bfloat16'}), npy('<f4', (2,), floats(1, 0)))
        self.write('x.npy', npy('|V2', (2,), b'\x80\x3f\0\0'))
        self.assertEqual(self.replay_tensor({'data': 'x.npy', 'dtype': 'bfloat16'}), npy('<f4', (2,), floats(1, 0)))
        self.write('x.npy', npy('|u1', (8,), bytes(range(8))))
        self.assertEqual(self.replay_tensor({'data': 'x.npy', 'dtype': 'float32', 'shape': [2, 1]}),
                         npy('<f4', (2, 1), bytes(range(8))))

    def test_raw_files_may_be_padded(self):
        self.write('x.bin', bytes(range(32)))
        self.assertEqual(self.replay_tensor({'data': 'x.bin', 'dtype': 'int32', 'shape': [3]}),
                         npy('<i4', (3,), bytes(range(12))))

    def test_files_that_are_refused(self):
        def refused(name, content, t=None):
            self.write(name, content)
            return self.replay_tensor(dict({'data': name}, **(t or {})), expect=1)
        at = r'^run.json:1:\d+: models\[0\]\.ops\[0\]\.outputs\[0\]\.'
        self.assertRegex(refused('x.npy', npy('<f4', (2, 2), bytes(16), fortran=True)), at + 'data: .*Fortran order')
        self.assertRegex(refused('x.npy', npy('>f4', (2,), bytes(8))), at + 'data: .*little-endian')
        self.assertRegex(refused('x.npy', npy('|O', (2,), bytes(8))), at + 'data: .*Python objects')
        self.assertRegex(refused('x.npy', npy("[('a', '<f4')]", (2,), bytes(8))), at + 'data: .*structured')
        self.assertRegex(refused('x.npy', npy('<U3', (2,), bytes(24))), at + "data: .*'<U3' is not supported")
        self.assertRegex(refused('x.npy', npy('|V2', (2,), bytes(4))), at + 'dtype: missing')
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(7))), at + 'data: .*ends too early')
        self.assertRegex(refused('x.npy', npy('<f4', (2 ** 62, 4), bytes(8))), at + 'data: .*passes every memory')
        self.assertRegex(refused('x.npy', npy('<f4', (1,) * 33, bytes(4))), at + 'data: .*more than 32 dims')
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(8), version=4)), at + 'data: .*version 4')
        self.assertRegex(refused('x.npy', b'no'), at + 'data: .*not an .npy file')
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(8)), {'dtype': 'float16'}),
                         at + "dtype: .*'<f4'.*another size")
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(8)), {'shape': [3]}), at + 'data: .*holds 8 .*need 12')
        self.assertRegex(refused('x.bin', b'1234567', {'dtype': 'int32', 'shape': [2]}), at + 'data: .*7 .*need 8')
        self.assertRegex(refused('x.bin', b'1234567', {'shape': [2]}), at + 'dtype: missing')
        self.assertRegex(refused('x.bin', b'1234567', {'dtype': 'int8'}), at + 'shape: missing')
        self.assertRegex(self.replay_tensor({'data': 'gone.npy'}, expect=1), at + 'data: gone.npy: No such file')
        self.assertRegex(self.replay_tensor({'data': '.'}, expect=1), at + 'data: .*not a regular file')

    def test_npy_files_cut_or_flipped_do_no_harm(self):
        whole = npy('<f4', (2,), floats(1, 2))
        for size in range(len(whole)):
            self.write('x.npy', whole[:size])
            self.assertIn('.outputs[0].data: ', self.replay_tensor({'data': 'x.npy'}, expect=1))
        for byte in range(80):
            flipped = bytearray(whole)
            flipped[byte] ^= 4
            self.write('x.npy', bytes(flipped))
            self.write('run.json', json.dumps({'models': [{'name': 'm', 'ops': [
                {'name': 'n', 'type': 'T', 'outputs': [{'data': 'x.npy'}]}]}]}))
            self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=(0, 1))

    def test_descriptions_that_are_refused(self):
        op = '{"models": [{"name": "m", "ops": [{"name": "n", "type": "T", %s}]}]}'
        fill = '"outputs": [{"fill": "ramp", %s}]'
        cases = [
            ('', r'^run.json:1:1: '),
            ('[]', r'^run.json:1:1: an array instead of an object'),
            ('{"models": [}', r'^run.json:1:13: '),
            ('{"steps": 1,\n "modles": []}', r'^run.json:2:2: modles: unknown key, "models" is meant\?'),
            ('{"steps": -1}', r'^run.json:1:11: steps: a whole number from 0 to 18446744073709551615'),
            ('{"steps": 1.5}', r': steps: a whole number'),
            ('{"steps": "1"}', r': steps: a string instead of a number'),
            ('{"device_id": 4294967296}', r': device_id: a whole number from 0 to 4294967295'),
            ('{"models": {}}', r': models: an object instead of an array'),
            ('{"models": [{"ops": []}]}', r'^run.json:1:13: models\[0\].name: missing'),
            ('{"models": [{"name": 1}]}', r': models\[0\].name: a number instead of a string'),
            ('{"single_ops": [{"type": "T"}]}', r': single_ops\[0\].name: missing'),
            ('{"single_ops": [{"name": "n"}]}', r': single_ops\[0\].type: missing'),
            (op % '"tsk_id": 1', r': models\[0\].ops\[0\].tsk_id: unknown key, "task_id" is meant'),
            (op % '"level": "all"', r': models\[0\].ops\[0\].level: one of "both", "op", "kernel"'),
            (op % '"original_names": [1]', r'original_names\[0\]: a number instead of a string'),
            (op % '"outputs": [{"dtype": "int8", "shape": [1]}]', r'outputs\[0\]: missing: .*"data".*"fill"'),
            (op % '"outputs": [{"data": "x", "fill": "ramp"}]', r'outputs\[0\]: "data" and "fill" exclude each other'),
            (op % fill % '"shape": [1]', r'outputs\[0\].dtype: missing'),
            (op % fill % '"dtype": "int8"', r'outputs\[0\].shape: missing'),
            (op % fill % '"dtype": "int7", "shape": [1]', r'dtype: "int7" is no dtype'),
            (op % fill % '"dtype": "string", "shape": [1]', r'dtype: .* no fixed size'),
            (op % fill % '"dtype": "int8", "shape": [-1]', r'shape\[0\]: a whole number'),
            (op % fill % '"dtype": "int8", "shape": [9223372036854775807, 3]', r'shape: passes every memory'),
            (op % fill % ('"dtype": "int8", "shape": [%s]' % ','.join(['1'] * 33)), r'shape\[32\]: more than 32'),
            (op % fill % '"dtype": "int8", "shape": [1], "format": "NCWH"', r'format: "NCWH" is no format'),
            (op % '"outputs": [{"fill": "ones", "dtype": "int8", "shape": [1]}]', r'fill: one of "zeros", "ramp"'),
        ]
        for text, pattern in cases:
            out, error = self.replay(text, expect=1)
            self.assertEqual((out, error.count('\n')), ('', 1), text)
            self.assertRegex(error, pattern)
        self.assertRegex(self.run_tool('replay', 'gone.json', '--config', 'acl.json', expect=1)[1], '^gone.json:1:1: ')

    def test_a_refused_config(self):
        self.config(dump_mode='some', dump_list=[{}])
        self.assertRegex(self.replay(self.RUN, expect=1)[1], r'^acl.json:1:\d+: dump.dump_mode: ')

    def test_memory_does_not_grow_with_the_tensors(self):
        with open(OPDUMP, 'rb') as file:
            if b'__asan_init' in (content := file.read()) or b'__tsan_init' in content:
                self.skipTest('sanitizers take memory of their own')

        def peak(*arguments):
            process = subprocess.Popen([OPDUMP, *arguments], cwd=self.directory, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            self.assertEqual(status, 0)
            return usage.ru_maxrss * 1024
        self.write('x.bin', bytes(1 << 25))
        self.write('run.json', json.dumps({'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'outputs': [
            {'fill': 'ramp', 'dtype': 'float16', 'shape': [1 << 25]},
            {'data': 'x.bin', 'dtype': 'int8', 'shape': [1 << 25]}]}]}]}))
        base = peak('--version')
        for how in ('block', 'inline'):
            self.assertLess(peak('replay', 'run.json', '--config', 'acl.json', '--ring-bytes', '65536',
                                 '--when-full', how) - base, 2 << 20)
        self.assertLess(peak('show', 'dump') - base, 2 << 20)
        self.assertLess(peak('convert', '-r', '-d', 'dump', '-out', 'out') - base, 2 << 20)


if __name__ == '__main__':
    OPDUMP = os.path.abspath(sys.argv.pop(1))
    if numpy is None:
        print('NumPy is not there: its files are not compared', file=sys.stderr)
    unittest.main()
