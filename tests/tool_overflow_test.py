#!/usr/bin/env python3
"""Tests of `opdump overflow`: tool_overflow_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import os
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'support'))
import tool_case  # noqa: E402
from tool_case import (Case, FLOAT, UINT8, floats, record, tensor)  # noqa: E402

STAMP = 1589195081588018


def old_blob(block=256, status_at=1024, model=1, stream=2, task=3, status=0x110):
    data = bytearray(2048)
    struct.pack_into('<6Q', data, block, model, stream, task, 0, 0x1008005b0000, 0x100800297000)
    if status_at == 1024:
        struct.pack_into('<3Q', data, status_at, 0x1008005ae000, 1, status)
    else:
        struct.pack_into('<Q', data, status_at, status)
    return bytes(data)


def new_blob(kind, *fields, version=0):
    data = struct.pack('<6I', 0x5a5a5a5a, version, 1, kind, 0, 8 * len(fields)) + struct.pack('<%dQ' % len(fields), *fields)
    return data + bytes(2048 - len(data))


class Overflow(Case):
    def put(self, name, content):
        self.write('dump/20260131130559/0/net/1/5/' + name, content)

    def put_op(self, name='Conv2D.conv1.3.2.%d' % STAMP, inputs=(1, 2), outputs=(1, float('inf'))):
        self.put(name, record([tensor(FLOAT, (len(inputs),), floats(*inputs))],
                              [tensor(FLOAT, (len(outputs),), floats(*outputs))]))

    def put_blob(self, blob, name='Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 1)):
        self.put(name, record([], [tensor(UINT8, (len(blob),), blob)]))

    def overflow(self, *arguments, expect=0):
        return self.run_tool('overflow', '-d', 'dump', '-out', 'out', *arguments, expect=expect)

    def summaries(self):
        return [name for name in self.files('out') if name.startswith('overflow_summary_')]

    def test_one_overflow(self):
        self.put_op()
        self.put_blob(old_blob())
        out, error = self.overflow()
        self.assertEqual(error, '')
        path = 'dump/20260131130559/0/net/1/5/Conv2D.conv1.3.2.%d' % STAMP
        self.assertEqual(out.splitlines(), [
            '1 overflow',
            '1  2020-05-11T11:04:41.588019  model 1 (net), step 5, stream 2, task 3',
            '   operator Conv2D conv1, ' + path,
            '   AI Core status 272 = 0x110: integer addition, subtraction, multiplication or multiply-add, '
            'converting float32 or int32 to float16',
            '   input 0  float32 [2]  2 finite: min 1, max 2, mean 1.5',
            '   output 0  float32 [2]  1 infinite, 1 finite: min 1, max 1, mean 1',
            'first bad operator: Conv2D conv1, model 1 (net), step 5, stream 2, task 3: output 0 holds '
            '1 infinite, 1 finite: min 1, max 1, mean 1, and its inputs are clean'])
        self.assertEqual(self.read('out', *self.summaries()).decode(), out)
        name = 'out/20260131130559/0/net/1/5/Opdebug.Node_OpDebug.9.2.%d.output.0.json' % (STAMP + 1)
        said = json.loads(self.read(name))
        self.assertEqual(list(said), ['DHA Atomic Add', 'L2 Atomic Add', 'AI Core'])
        self.assertEqual(said['AI Core'], {
            'model_id': 1, 'stream_id': 2, 'task_id': 3, 'task_type': 0, 'pc_start': '0x1008005b0000',
            'para_base': '0x100800297000', 'kernel_code': '0x1008005ae000', 'block_idx': 1, 'status': 272})

    def test_the_first_bad_operator_has_clean_inputs(self):
        nan = float('nan')
        for i, (inputs, outputs) in enumerate([((nan,), (nan,)), ((1,), (2,)), ((1,), (nan,)), ((1,), (nan,))]):
            self.put_op('T.op%d.%d.2.%d' % (i, i, STAMP + 10 * i), inputs, outputs)
            self.put_blob(old_blob(task=i), 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 10 * i + 1))
        out, _ = self.overflow()
        self.assertIn('first bad operator: T op2, ', out)
        out, _ = self.overflow('-n', '2')
        self.assertEqual(out.splitlines()[0], '4 overflows, of which the first 2 follow')
        self.assertIn('first bad operator: none', out)

    def test_spellings_and_mapping(self):
        self.put_op()
        self.put('mapping.csv', '123,OpDebug.Node_Opdebug.9.2.%d\n' % (STAMP + 5))
        self.put_blob(old_blob(), '123')
        self.put_blob(old_blob(), 'opdebug.NODE_OPDEBUG.9.%d' % (STAMP + 2))
        out, _ = self.overflow()
        self.assertEqual(out.splitlines()[0], '2 overflows')
        self.assertEqual(out.count('operator Conv2D conv1'), 2)

    def test_threads_have_files_of_their_own(self):
        for thread in (4, 5):
            self.put_op('Conv2D.conv1.3.2.%d.0.7.%d.0' % (STAMP + thread, thread))
        self.put_blob(new_blob(0, 1, 2, 3, 0, 7, 5, 0xabc, 0, 0, 0, 0x20))
        out, _ = self.overflow()
        self.assertIn('Conv2D.conv1.3.2.%d.0.7.5.0' % (STAMP + 5), out)
        self.assertIn('   AIC status 32 = 0x20: floating-point computation\n', out)

    def test_every_unit(self):
        ids = (1, 2, 3, 0, 65535, 65535)
        blobs = [('AIC', new_blob(0, *ids, 1, 2, 3, 4, 8)), ('AIV', new_blob(1, *ids, 1, 2, 3, 4, 8, 0, 0, 0, version=1)),
                 ('AICPU', new_blob(2, 1, 2, 3, 0, 65535, 1, 65535, 8)), ('SDMA', new_blob(3, *ids, 1, 2, 3, 8)),
                 ('DHA Atomic Add', old_blob(0, 512, status=8)), ('L2 Atomic Add', old_blob(128, 768, status=8)),
                 ('AI Core', old_blob(status=8))]
        self.put_op()
        for i, (_, blob) in enumerate(blobs):
            self.put_blob(blob, 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + i + 1))
        out, error = self.overflow()
        self.assertEqual(error, '')
        for unit, _ in blobs:
            self.assertIn('   %s status 8 = 0x8: negating the smallest signed integer\n' % unit, out)
        self.assertEqual(out.count('operator Conv2D conv1'), len(blobs))

    def test_what_is_missing_or_broken_is_told(self):
        self.put_blob(old_blob())
        out, error = self.overflow(expect=1)
        self.assertIn('no operator\'s file of that task and stream is beside it', error)
        self.put('Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 2), b'nothing')
        self.put_blob(b'x' * 100, 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 3))
        out, error = self.overflow(expect=1)
        self.assertEqual(out.splitlines()[0], '1 overflow')
        self.assertEqual(len(error.splitlines()), 3)

    def test_nothing(self):
        os.makedirs(self.path('dump'))
        self.assertEqual(self.overflow(), ('0 overflows\n', ''))
        self.assertEqual(self.files(), [])

    def test_one_file_alone(self):
        self.put_op()
        self.put_blob(old_blob())
        self.put_blob(old_blob(), 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 2))
        path = 'dump/20260131130559/0/net/1/5/Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 2)
        out, error = self.run_tool('overflow', '-d', path, '-out', 'out')
        self.assertEqual((out.splitlines()[0], error), ('1 overflow', ''))

    def test_command_line(self):
        for arguments in ([], ['-d', 'dump', 'x'], ['-d', 'dump', '-n', '0'], ['-d', 'dump', '-n', 'x'],
                          ['-d', 'dump', '-out', '']):
            self.run_tool('overflow', *arguments, expect=2)


if __name__ == '__main__':
    tool_case.main()
