#!/usr/bin/env python3
"""Tests of `opdump convert` from outside, and of hostile dumps: tool_convert_test.py OPDUMP [unittest arguments].

Standard library only. With NumPy the arrays are compared with its own files too.
"""
import glob
import io
import json
import math
import os
import resource
import signal
import stat
import struct
import subprocess
import sys
import unittest
import uuid

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import proto_record  # noqa: E402
import tool_case  # noqa: E402
import waiting  # noqa: E402
from tool_case import (BF16, BOOL, COMPLEX32, COMPLEX64, Case, DOUBLE, E4M3, FLOAT, FLOAT16, HIFLOAT8, INT32, INT4,
                       INT64, INT8, NAME, QUINT16, STRING, UINT1, UINT2, UINT8, floats, npy, record, tensor)  # noqa: E402
from with_numpy import numpy  # noqa: E402


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

    def test_records_of_one_name_do_not_replace_each_other(self):
        for place, value in (('p1', 1), ('p2', 2)):
            self.write(place + '/T.op.0.0.1', record([], [tensor(FLOAT, [1], floats(value))]))
            self.write(place + '/opdump.0.1.jsonl', b'{}\n')
        for paths in ('p1/T.op.0.0.1,p2/T.op.0.0.1', 'p1,p2'):
            out, error = self.run_tool('convert', '-d', paths, '-out', 'o', expect=1)
            self.assertIn('p2/T.op.0.0.1: not written: p1/T.op.0.0.1 has the same name', error)
            self.assertIn('1 array written from 1 record to o, 1 failure', out)
            self.assertEqual(self.read('o/T.op.0.0.1.output.0.npy')[-4:], floats(1))
        self.run_tool('convert', '-r', '-d', '.', '-out', 'o')

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
            (tensor(E4M3, [2], b'\x38\xfe'), '<f8', (2,), struct.pack('<2d', 1, -448)),
            (tensor(HIFLOAT8, [2], b'\x08\xef'), '<f8', (2,), struct.pack('<2d', 1, -math.inf)),
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
        os.remove(self.path('out', NAME + '.output.0.npy'))
        os.mkfifo(self.path('out', NAME + '.output.0.npy'))
        self.assertIn('.output.0.npy: is a FIFO, which no file replaces',
                      self.run_tool('convert', '-d', NAME, '-out', 'out', expect=1)[1])
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
        count = 32  # so many that no delay of the signal lasts until the last one
        for i in range(count):
            with open(self.write('d/T.n.0.0.%d' % i, head), 'r+b') as file:
                file.truncate(len(head) + bytes_each)
        process = subprocess.Popen([tool_case.OPDUMP, 'convert', '-d', 'd', '-out', 'out'], cwd=self.directory,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        waiting.until(lambda: process.poll() is not None or (os.path.exists(self.path('out')) and len(self.files('out')) >= 2),
                      'two files', lambda: self.files('out'))
        process.send_signal(signal.SIGINT)
        error = waiting.end_of(process)[1]
        self.assertEqual(process.returncode, -signal.SIGINT, error)
        for name in self.files('out'):
            self.assertTrue(name.endswith('.npy'), name)
            self.assertEqual(os.path.getsize(self.path('out', name)), bytes_each + 128)
        self.assertLess(len(self.files('out')), count)

    def stored(self, name):
        content = self.read('out', name)
        return content[:content.index(b'\n') + 1], content[content.index(b'\n') + 1:]

    def test_formats_are_restored_and_named(self):
        blocks = bytes(range(64))  # NC1HWC0 [1,2,1,2,16]
        nchw = bytes(c // 16 * 32 + w * 16 + c % 16 for c in range(20) for w in range(2))
        nhwc = bytes(c // 16 * 32 + w * 16 + c % 16 for w in range(2) for c in range(20))
        t = tensor(INT8, [1, 2, 1, 2, 16], blocks, 3, [1, 20, 1, 2])
        self.write(NAME, record([t], [tensor(INT8, [3], b'abc'), t]))

        def convert(*options, expect=0):
            return self.run_tool('convert', '-d', NAME, '-out', 'out', *options, expect=expect)[1]
        error = convert('-f', 'NCHW', expect=1)
        self.assertRegex(error, r'Conv2D[^:]*: at byte \d+: output.0: there is no way from ND to NCHW\n$')
        self.assertEqual(self.files('out'), [NAME + '.input.0.1x20x1x2.npy', NAME + '.output.1.1x20x1x2.npy'])
        for name in self.files('out'):
            self.assertEqual(self.read('out', name), npy('|i1', (1, 20, 1, 2), nchw))
        convert('-f', 'NHWC', '-o', '1')
        self.assertEqual(self.read('out', NAME + '.output.1.1x1x2x20.npy'), npy('|i1', (1, 1, 2, 20), nhwc))
        convert('-f', 'NCHW', '-i', '0', '-s', '1,2,1,1', '-t', 'bin')
        self.assertEqual(self.read('out', NAME + '.input.0.1_2_1_1.int8.NCHW.bin'), b'\0\1')
        convert('-f', 'NC1HWC0', '-o', '1', '-t', 'msnpy')
        self.assertEqual(self.read('out', 'Conv2D.1589195081588018.3.0.1589195081588018.output.1.NC1HWC0.npy'),
                         npy('|i1', (1, 2, 1, 2, 16), blocks))
        self.assertIn('there is no input 1: the record has 1 input', convert('-f', 'NCHW', '-i', '1', expect=1))
        self.assertIn('do not fit each other', convert('-f', 'NCHW', '-i', '0', '-s', '9,9,9,9', expect=1))

    def test_formats_of_large_tensors_in_little_memory(self):
        n, c, h, w = 2, 40, 300, 401
        data = os.urandom(n * 3 * h * w * 16 * 2)
        self.write(NAME, record([], [tensor(BF16, [n, 3, h, w, 16], data, 3, [n, c, h, w])]))
        self.run_tool('convert', '-d', NAME, '-out', 'out', '-f', 'NCHW')
        head, content = self.stored(NAME + '.output.0.2x40x300x401.npy')
        self.assertIn(b"'<f4'", head)
        self.assertEqual(len(content), n * c * h * w * 4)
        for i in range(0, n * c * h * w, 9973):
            at = (i // (c * h * w), i // (h * w) % c, i // w % h, i % w)
            place = (((at[0] * 3 + at[1] // 16) * h + at[2]) * w + at[3]) * 16 + at[1] % 16
            self.assertEqual(content[4 * i:4 * i + 4], b'\0\0' + data[2 * place:2 * place + 2], at)

    def test_memory_does_not_grow_with_the_file(self):
        self.skip_under_sanitizers()
        shape = [2, 8, 64, 512, 16]
        self.write(NAME, record([], [tensor(FLOAT16, shape, bytes(2 * 2 * 8 * 64 * 512 * 16), 3,
                                            [2, 128, 64, 512])]))
        for options in ([], ['-f', 'NCHW'], ['-f', 'NHWC'], ['-f', 'HWCN']):
            self.assertIn(self.peak_kib('convert', '-d', NAME, '-out', 'out', *options), range(1, 16 << 10), options)

    def test_bits_are_rearranged(self):
        nibbles = [i * 7 % 16 for i in range(3 * 1 * 16 * 16)]
        data = bytes(nibbles[i] | nibbles[i + 1] << 4 for i in range(0, len(nibbles), 2))
        self.write(NAME, record([], [tensor(INT4, [3, 1, 16, 16], data, 29, [13, 47])]))
        self.run_tool('convert', '-d', NAME, '-out', 'out', '-f', 'ND')
        wanted = [nibbles[(column // 16 * 16 + row) * 16 + column % 16] for row in range(13) for column in range(47)]
        self.assertEqual(self.stored(NAME + '.output.0.13x47.npy')[1],
                         bytes((value - 16) % 256 if value > 7 else value for value in wanted))

    def test_bfloat16_may_stay(self):
        self.write(NAME, record([], [tensor(BF16, [2], b'abcd')]))
        self.run_tool('convert', '-d', NAME, '-out', 'out', '--keep-bfloat16')
        self.assertEqual(self.array(), npy('<V2', (2,), b'abcd'))

    def test_protobuf_records(self):
        content = proto_record.record(
            [tensor(3, [2], b'ab', 0)], [tensor(0, [9], b'xyz'), tensor(27, [1], b'\x80\x3f')], 'net/conv/Conv2D-op7',
            buffers=[b'l1', b''], spaces=[b'log'], tail=b'!')
        self.write(NAME, content)
        self.assertRegex(self.run_tool('show', NAME)[0], r'\n  l1buffer +0 +2 B\n  l1buffer +1 +0 B\n  space +0 +3 B\n')
        self.assertEqual([(blob['kind'], blob['bytes']) for blob in json.loads(
            self.run_tool('show', NAME, '--json')[0])['records'][0]['blobs']], [('l1buffer', 2), ('l1buffer', 0), ('space', 3)])
        self.run_tool('convert', '-d', NAME, '-out', 'out')
        names = ['input.0.npy', 'l1buffer.0.bin', 'l1buffer.1.bin', 'output.0.npy', 'output.1.npy', 'space.0.bin']
        self.assertEqual(self.files('out'), [NAME + '.' + name for name in names])
        self.assertEqual(self.array('input.0'), npy('|i1', (2,), b'ab'))
        self.assertEqual(self.array('output.0'), npy('|i1', (3,), b'xyz'))
        self.assertEqual(self.array('output.1'), npy('<f4', (1,), floats(1)))
        self.assertEqual((self.read('out', NAME + '.l1buffer.0.bin'), self.read('out', NAME + '.space.0.bin')),
                         (b'l1', b'log'))
        self.run_tool('convert', '-d', NAME, '-out', 'ms', '-t', 'msnpy')
        self.assertIn('Conv2D.Conv2D-op7.3.0.1589195081588018.input.0.NCHW.npy', self.files('ms'))
        for size in range(len(content) - 1):
            self.write('d/T.n.0.0.%d' % size, content[:size])
        self.run_tool('convert', '-d', 'd', '-out', 'none', expect=1)
        self.run_tool('show', 'd', expect=1)

    def test_inputs_keep_their_numbers_where_others_are_left_out(self):
        def made(number):
            self.write('data%d' % number, bytes([number] * 2))
            return {'dtype': 'uint8', 'shape': [1, 1, 1, 2], 'format': 'NCHW', 'data': 'data%d' % number}

        op = {'name': 'a', 'type': 'Add', 'inputs': [made(1), made(2), made(3)], 'outputs': [made(4), made(5)]}
        self.write('run.json', json.dumps({'steps': 1, 'models': [{'name': 'net', 'ops': [op]}]}))
        for made_of in ('nano', 'protobuf'):
            os.mkdir(self.path(made_of))
            config = {'dump': {'dump_path': self.path(made_of), 'dump_mode': 'all',
                               'dump_level': 'op', 'dump_list': [{'opname_blacklist': [
                                   {'name': 'a', 'pos': ['input0', 'output0']}]}]},
                      'opdump': {'file_format': made_of}}
            self.write('acl.json', json.dumps(config))
            self.run_tool('replay', 'run.json', '--config', 'acl.json')
            shown = self.run_tool('show', made_of)[0].splitlines()
            self.assertEqual([line.split()[:2] for line in shown if line.startswith('  ')],
                             [['input', '1'], ['input', '2'], ['output', '1']])
            record = glob.glob(self.path(made_of, '*', '*', 'net', '*', '0', 'Add.*'))[0]
            out = 'out_' + made_of
            self.run_tool('convert', '-d', record, '-out', out)
            self.assertEqual([name.split('.', 5)[5] for name in self.files(out)],
                             ['input.1.npy', 'input.2.npy', 'output.1.npy'])
            numbers = [self.read(out, name)[-2:] for name in self.files(out)]
            self.assertEqual(numbers, [b'\2\2', b'\3\3', b'\5\5'])
            self.run_tool('convert', '-d', record, '-f', 'NHWC', '-i', '2', '-out', 'one_' + made_of)
            self.assertEqual(len(self.files('one_' + made_of)), 1)
            _, error = self.run_tool('convert', '-d', record, '-f', 'NHWC', '-i', '0', '-out', 'none', expect=1)
            self.assertIn('there is no input 0: the record has 2 inputs', error)

    def test_overflow_records_become_json(self):
        words = [0] * 256
        words[32:38] = [514, 563, 57, 0, 0x1008005b0000, 0x100800297000]
        words[128:131] = [0x1008005ae000, 1, 32]
        name = 'OpDebug.Node_Opdebug.59.1.1597922031178434'
        self.write(name, record([tensor(UINT8, [1], b'x')], [tensor(UINT8, [2048], struct.pack('<256Q', *words))]))
        self.run_tool('convert', '-d', name, '-out', 'out')
        self.assertEqual(self.files('out'), [name + '.output.0.json'])
        zeros = dict.fromkeys(['model_id', 'stream_id', 'task_id', 'task_type'], 0)
        zeros.update(pc_start='0x0', para_base='0x0', status=0)
        core = {'model_id': 514, 'stream_id': 563, 'task_id': 57, 'task_type': 0, 'pc_start': '0x1008005b0000',
                'para_base': '0x100800297000', 'kernel_code': '0x1008005ae000', 'block_idx': 1, 'status': 32}
        wanted = {'DHA Atomic Add': zeros, 'L2 Atomic Add': zeros, 'AI Core': core}
        self.assertEqual(self.read('out', name + '.output.0.json').decode(), json.dumps(wanted, indent=4))
        self.write(name, record([], [tensor(UINT8, [2047], bytes(2047))]))
        self.assertIn('but 2047', self.run_tool('convert', '-d', name, '-out', 'out', expect=1)[1])

    def test_what_is_told_keeps_the_order_of_the_files(self):
        for i in range(400):
            good = record([], [tensor(INT8, [1], b'x', name=b'op')])
            self.write('d/T.n.0.0.%d' % i, good if i % 3 else good[:20])
        errors = [self.run_tool('convert', '-d', 'd', '-out', 'out', expect=1)[1] for _ in range(3)]
        self.assertEqual([int(line.split('.')[4].split(':')[0]) for line in errors[0].splitlines()],
                         list(range(0, 400, 3)))
        self.assertEqual(errors[1:], errors[:2])
        self.assertEqual(len(self.files('out')), 400 - 134)


if __name__ == '__main__':
    if numpy is None:
        print('left out: a comparison with the files of NumPy, which is not there')
    tool_case.main()
