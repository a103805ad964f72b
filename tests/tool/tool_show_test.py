#!/usr/bin/env python3
"""Tests of `opdump show` from outside: tool_show_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import glob
import json
import math
import os
import shutil
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import (BF16, BOOL, COMPLEX32, COMPLEX64, Case, DOUBLE, E2M1, E4M3, E5M2, E8M0, FLOAT, FLOAT16,
                       HIFLOAT8, INT32, INT4, INT64, INT8, NAME, NC1HWC0, QUINT16, STRING, UINT1, UINT2, UINT8,
                       floats, record, tensor)  # noqa: E402


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

    def test_what_a_record_has_as_bytes_is_what_it_was(self):
        def shown(data, original, code, role='output'):
            one = tensor(UINT8, [len(data)], data, original=original, original_dtype=code)
            self.write(NAME, record([one], []) if role == 'input' else record([], [one]))
            return self.run_tool('show', NAME)[0].splitlines()[2].split('  ')
        e4m3 = shown(b'\x38\x40\x44\xc0\x7f', [5], E4M3)
        self.assertEqual(' '.join(e4m3).split()[2:], 'uint8 (float8_e4m3fn) ND [5] 5 B min -2 max 3 mean 1 nan 1'.split())
        # No code is given out for uint4, nor for the fnuz kinds, which have as many bytes as uint8.
        uint4 = ' '.join(shown(b'\xf1\x02', [3], -1)).split()
        self.assertEqual(uint4[2:], 'uint8 (uint4) ND [3] 2 B min 1 max 15 mean 6'.split())
        self.assertIn('uint8', shown(b'\xf1\x02', [2], -1))
        # An input's record does not tell its dtype: fewer bytes than elements are no uint8.
        self.assertIn('uint8 (undefined)', '  '.join(shown(b'\xf1\x02', [3], UINT8, 'input')))
        self.assertIn('uint8', shown(b'\xf1\x02', [2], UINT8, 'input'))
        # A tensor of uint8 that was another in the framework stays one.
        self.assertIn('uint8 (int8)', shown(b'\xf1\x02', [2], INT8))
        self.assertIn('uint8 (float32)', shown(b'\xf1\x02', [2], FLOAT))

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
        self.assertEqual(self.statistics(HIFLOAT8, b'\x10\x6e\xef\x80', [4]),
                         three([2, 32768])[:4] + ['mean', '16385', 'nan', '1', 'inf', '1'])
        nothing = ['min', '-', 'max', '-', 'mean', '-']
        for dtype in (STRING, 38, 42, 99, -1):
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
        for dtype, bits in ((E5M2, (5, 2)), (E4M3, (4, 3))):
            self.write(NAME, record([], [tensor(dtype, [1], bytes([code])) for code in range(256)]))
            lines = [line for line in self.run_tool('show', NAME)[0].splitlines() if ' B  ' in line]
            self.assertEqual(len(lines), 256)
            for code, shown in enumerate(line.split(' B  ')[1].split() for line in lines):
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

    def test_order_is_that_of_execution(self):
        for step, us in ((10, 1589195081588030), (9, 1589195081588004), (9, 1589195081588040), (10, 1589195081588003)):
            self.write('%d/A.a%d.0.0.%d' % (step, us % 7, us), record([], [tensor(INT8, [1], b'\1')]))
        out, _ = self.run_tool('show', '.')
        times = [line.split()[4][-6:] for line in out.splitlines()[1:] if line.startswith('A')]
        self.assertEqual(times, ['588003', '588004', '588030', '588040'])
        self.run_tool('show', '10', '9')

    def test_filters(self):
        for step in (2, 3, 4, 10):
            for name in ('conv1', 'conv2', 'relu'):
                self.write('20260131130559/0/net/1/%d/T.%s.0.0.%d' % (step, name, 1589195081588000 + step),
                           record([], [tensor(INT8, [1], b'\1')]))
        self.write('T.single.0.0.1589195081588000', record([], [tensor(INT8, [1], b'\1')]))

        def shown(*arguments, expect=0):
            out, _ = self.run_tool('show', '.', *arguments, expect=expect)
            return ['%s:%s' % tuple(line.split()[1:6:4]) for line in out.splitlines() if line.startswith('T ')]
        self.assertEqual(len(shown()), 13)
        self.assertEqual(shown('--op', 'conv?', '--step', '3-4|10'),
                         ['conv1:3', 'conv2:3', 'conv1:4', 'conv2:4', 'conv1:10', 'conv2:10'])
        self.assertEqual(shown('--op', 's*'), ['single:-'])
        self.assertEqual(shown('--step', '2', '--op', '[r]elu'), ['relu:2'])
        self.assertEqual(shown('--op', 'none', expect=1), [])
        for bad in ('x', '1,2', '3-'):
            self.assertIn("'--step %s'" % bad, self.run_tool('show', '.', '--step', bad, expect=2)[1])
        for bad in ('0', '1001', 'x'):
            self.assertIn('no number from 1 to 1000', self.run_tool('show', '.', '--head', bad, expect=2)[1])

    def test_stats_and_head(self):
        values = [-1.0] * 3 + [0.0] * 5 + [1.0] * 2
        self.write(NAME, record([], [tensor(FLOAT, [10], floats(*values)), tensor(FLOAT, [2], floats(math.nan, 5)),
                                     tensor(STRING, [1], b'x')]))
        out, error = self.run_tool('show', NAME, '--stats', '--head', '4')
        self.assertEqual(error, '')
        lines = [line.strip() for line in out.splitlines()]
        bar = '\u2585' + ' ' * 11 + '\u2588' + ' ' * 10 + '\u2584'
        self.assertEqual(lines[3:5], ['std 0.7  zeros 5 of 10  -1 |%s| 1' % bar, '-1 -1 -1 0 ...'])
        self.assertEqual(lines[6:8], ['std 0  zeros 0 of 2  5 |\u2588%s| 5' % (' ' * 23), 'nan 5'])
        self.write(NAME, record([], [tensor(DOUBLE, [3], struct.pack('<3d', -1.7e308, 1.7e308, 0))]))
        self.run_tool('show', NAME, '--stats')

    def test_json(self):
        self.write('20260131130559/0/net/1/7/' + NAME,
                   record([tensor(FLOAT, [2, 2], floats(1, 2, math.inf, math.nan), original=[4])],
                          [tensor(INT8, [3], b'\0\1\2'), tensor(99, None, b'x'), tensor(INT32, [9], b'1')]))
        self.write('readme.txt', 'x')
        out, error = self.run_tool('show', '.', '--json', '--stats', '--head', '9', expect=1)
        self.assertIn('fewer bytes than its shape needs', error)
        got = json.loads(out)
        self.assertEqual(got['count'], {'records': 1, 'tensors': 4, 'bytes': 21})
        shown, = got['records']
        tensors = shown.pop('tensors')
        self.assertEqual(shown, {'file': './20260131130559/0/net/1/7/' + NAME, 'type': 'Conv2D', 'name': 'conv1', 'task': 3,
                                 'stream': 0, 'unix_us': 1589195081588018, 'model': 'net', 'model_id': 1, 'step': 7})
        self.assertEqual((tensors[0]['min'], tensors[0]['max'], tensors[0]['mean'], tensors[0]['nan'], tensors[0]['inf'],
                          tensors[0]['original_shape'], tensors[0]['head']), (1, 2, 1.5, 1, 1, [4], [1, 2, 'inf', 'nan']))
        self.assertAlmostEqual(tensors[1]['std'], math.sqrt(2 / 3))
        self.assertEqual((tensors[1]['zeros'], sum(tensors[1]['histogram'])), (1, 3))
        self.assertEqual((tensors[2]['shape'], 'elements' in tensors[2]), (None, False))
        self.assertIn('problem', tensors[3])
        self.assertEqual(json.loads(self.run_tool('show', 'readme.txt', '--json', expect=1)[0])['records'], [])

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
                          'readme.txt: passed over, not a dump record', 'x.npy: at byte 0: not an .npy file'])
        self.assertIn('not a dump record', self.run_tool('show', 'd/readme.txt', expect=1)[1])

    def test_a_file_whose_pair_was_not_committed_does_not_count(self):
        for name in ('A.a.0.0.1', 'B.b.0.0.2', 'C.c.0.0.3'):
            self.write('d/' + name, record([], [tensor(INT8, [1], b'\1')]))
        self.write('d/123.pair.part', b'B.b.0.0.2\0B.report.0.0.2\0')
        # None of these is a note.
        self.write('d/x.pair.part', b'A.a.0.0.1\0C.c.0.0.3\0')
        self.write('d/4.pair.part', b'A.a.0.0.1\0C.c.0.0.3')
        self.write('d/5.pair.part', b'A.a.0.0.1\0C.c.0.0.3\0\0')
        self.write('d/6.pair.part', b'A.a.0.0.1\0\0')
        out, error = self.run_tool('show', 'd')
        self.assertIn('2 records, 2 tensors', out)
        self.assertIn('B.b.0.0.2: passed over, not committed: its writer was cut off before B.report.0.0.2, '
                      'without which it does not count\n', error)

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
        out, error = self.run_tool('show', 'd', expect=1)
        self.assertIn('0 records', out)
        self.assertEqual(error, 'opdump show: d: there is no record\n')
        self.write('d/A.a.0.0.1', record([], [tensor(INT8, [1], b'\1')]))
        for options, why in ((['--op', 'nosuch'], " that '--op nosuch' takes"),
                             (['--step', '5'], " that '--step 5' takes"),
                             (['--op', 'a', '--step', '5', '--json'], " that '--op a' and '--step 5' take"),
                             (['--boot', '2'], ' of boot 2')):
            error = self.run_tool('show', 'd', *options, expect=1)[1]
            self.assertEqual(error, f'opdump show: d: there is no record{why}\n')

    def test_names_cannot_drive_the_terminal(self):
        self.write('A.a\x1b[31m.0.0.1', record([], [tensor(INT8, [1], b'\1')]))
        self.assertNotIn('\x1b', self.run_tool('show', '.')[0])


class OtherFiles(Case):
    """Tensors in files of their own, and statistics."""
    OP = {'name': 'Default/fc-Dense/MatMul-op5', 'type': 'MatMul', 'stream_id': 2,
          'inputs': [{'fill': 'ramp', 'dtype': 'bfloat16', 'shape': [2, 3]}],
          'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [7]}]}

    def replay(self, config, *options):
        self.write('config.json', json.dumps(config))
        self.write('run.json', json.dumps({'steps': 2, 'models': [{'name': 'm', 'id': 3, 'ops': [self.OP]}]}))
        self.run_tool('replay', 'run.json', '--config', 'config.json', *options)

    def mindspore(self, data, *options):
        self.replay({'common_dump_settings': {
            'dump_mode': 0, 'path': self.path('dump'), 'net_name': 'Net', 'iteration': 'all', 'saved_data': data,
            'input_output': 0, 'kernels': [], 'support_device': [0]}, 'e2e_dump_settings': {}}, *options)

    def shown(self, *arguments):
        return json.loads(self.run_tool('show', 'dump', '--json', *arguments)[0])

    def test_a_tree_of_arrays(self):
        self.mindspore('tensor', '--rank', '1', '--world-size', '2')
        answer = self.shown()
        self.assertEqual(answer['count'], {'records': 4, 'tensors': 4, 'bytes': 2 * (24 + 7)})
        first = answer['records'][0]
        self.assertEqual((first['type'], first['name'], first['task'], first['stream'], first['model'], first['model_id'],
                          first['step']), ('MatMul', 'Default_fc-Dense_MatMul-op5', 0, 2, 'Net', 3, 0))
        self.assertEqual([(r['step'], t['role'], t['dtype'], t['shape'])
                          for r in answer['records'] for t in r['tensors']],
                         [(step, role, dtype, shape) for step in (0, 1)
                          for role, dtype, shape in (('input', 'float32 (bfloat16)', [2, 3]), ('output', 'int8', [7]))])
        self.assertEqual(self.shown('--step', '1', '--op', '*MatMul*')['count']['records'], 2)
        self.assertRegex(self.run_tool('show', 'dump', '--stats', '--head', '2')[0], r'output  0  int8 +ND +\[7\] +7 B +min')

    def test_an_operator_of_mindspore_is_one_with_its_scope_and_without(self):
        self.mindspore('tensor')
        shutil.copytree(self.path('dump'), self.path('old'))
        for path in glob.glob(self.path('old', '**', '*.npy'), recursive=True):
            os.rename(path, path.replace('Default_fc-Dense_', ''))
        self.assertIn('4 equal, 0 diverging', self.run_tool('compare', '-m', 'dump', '-g', 'old')[0])
        self.assertIn('same', self.run_tool('diff', 'dump', 'old')[0])
        self.assertIn('agree', self.run_tool('why', 'old', '-g', 'dump')[0])
        ops = [dict(self.OP, inputs=[{'tensor': 'x'}], outputs=[{'tensor': 'y'}])]
        self.write('card', json.dumps({'opdump_model': 1, 'name': 'm', 'ops': ops}))
        for asked in ('MatMul-op5', 'Default_fc-Dense_MatMul-op5'):
            self.assertEqual(self.shown('--op', asked)['count']['records'], 4)
            found = json.loads(self.run_tool('show', 'old', '--json', '--op', asked, '--model', 'card')[0])
            self.assertEqual([r['tensors'][0]['tensor'] for r in found['records']], ['x', 'y'] * 2)
        # Where two may be it, neither is.
        for path in glob.glob(self.path('dump', '**', '*.npy'), recursive=True):
            shutil.copy(path, path.replace('fc-Dense', 'fd-Dense'))
        out = self.run_tool('compare', '-m', 'dump', '-g', 'old', expect=1)[0]
        self.assertIn('0 tensors compared: 0 equal, 0 diverging, 8 without golden, 4 only golden', out)

    def test_mindspores_table(self):
        self.mindspore('statistic')
        answer = self.shown()
        self.assertEqual(answer['count'], {'records': 2, 'tensors': 4, 'bytes': 0})
        record_ = answer['records'][1]
        self.assertEqual((record_['type'], record_['name'], record_['stream'], record_['step']),
                         ('MatMul', 'Default_fc-Dense_MatMul-op5', 2, 1))
        self.assertEqual(record_['tensors'][1]['shape'], [7])
        self.assertEqual(list(record_['tensors'][0]['statistics']), ['Max Value', 'Min Value', 'L2Norm Value'])
        self.assertEqual(self.shown('--step', '0')['count']['records'], 1)
        words = self.run_tool('show', 'dump')[0]
        self.assertRegex(words, r'\n  input +0  bfloat16  -  \[2,3\]  12 B  min [-\d.]+  max [-\d.]+ +l2 [\d.]+\n')

    def test_canns_statistics(self):
        os.mkdir(self.path('dump'))
        self.replay({'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_data': 'stats', 'dump_list': [{}]}})
        tensors = self.shown('--step', '1')['records'][0]['tensors']
        self.assertEqual([(t['role'], t['dtype'], t['format'], t['shape'], t['bytes'], t['statistics']['Count'])
                          for t in tensors], [('input', 'bfloat16', 'ND', [2, 3], 12, 6), ('output', 'int8', 'ND', [7], 7, 7)])
        self.assertRegex(self.run_tool('show', 'dump')[0], r'B  min \S+  max \S+ +mean \S+ .* nan 0')

    def test_tensors_and_statistics_are_sorted(self):
        self.write('dump/Conv.c.1.0.1', record([], [tensor(FLOAT, [2], floats(3, -4)), tensor(FLOAT, [1], floats(float('nan')))]))
        self.write('dump/Add.a.1.2.1.csv', 'Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,'
                   'L2Norm Value\nOutput,0,4,DT_FLOAT,ND,1,1,-9,nan,9\n')
        for key, order in (('absmax', 'aOcOcO'), ('l2', 'aOcOcO'), ('nan', 'cOcOaO'), ('name', 'aOcOcO'), ('bytes', 'cOaOcO')):
            rows = [row.split() for row in self.run_tool('show', 'dump', '--sort', key)[0].splitlines()[1:4]]
            self.assertEqual(''.join(row[0] + 'O' for row in rows), order, key)
        self.assertEqual(rows[0][-9:], ['-', '8', '-4', '3', '-0.5', '5', '4', '0', '0'])
        self.assertIn('\n1 of 3 tensors', self.run_tool('show', 'dump', '--sort', 'max', '--top', '1')[0])
        self.run_tool('show', 'dump', '--sort', 'speed', expect=2)
        self.run_tool('show', 'dump', '--top', '1', expect=2)

    def test_statistics_of_many_tensors(self):
        rows = ''.join('Output,%d,4,DT_FLOAT,ND,1,%d\n' % (i, i) for i in range(2500))
        self.write('dump/Add.a.1.2.1589195081588018.csv',
                   'Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value\n' + rows)
        answer = self.shown()
        self.assertEqual((len(answer['records']), answer['count']['tensors']), (3, 2500))
        self.assertEqual(answer['records'][2]['tensors'][-1]['statistics'], {'Max Value': 2499})

    def test_files_that_are_no_statistics(self):
        name = 'Add.a.1.2.1589195081588018.csv'
        head = 'Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value\n'
        for text, error in (('', 'neither'), ('a,b\n', 'neither'), (head + 'Input,0,4\n', ':2: a row with too few'),
                            (head + 'Input,x,4,DT_INT8,ND,4,1\n', ':2: no numbers'), (head + 'Input', ':2: the last line'),
                            (head + 'Input,"0,4,DT_INT8,ND,4,1\n', ':2: a quotation mark')):
            self.write(name, text)
            self.assertIn(error, self.run_tool('show', name, expect=1)[1])
        self.write('dump/results.csv', 'a,b\n')
        self.write('dump/' + name, head + 'Input,0,4,DT_?,NX,-,\nOutput,1,0,DT_INT8,ND,,"1\x1b"\n')
        out, error = self.run_tool('show', 'dump')
        self.assertEqual(error, 'opdump show: dump/results.csv: passed over, not a dump record\n')
        self.assertIn('input   0  DT_?  NX  no shape  4 B  max -', out)
        self.assertIn('max 1?', out)
        numbers = ('1', '-0.5', '1e+10', '01', '1.', '.5', '0x1', 'nan', '-', '1e', '+1')
        self.write('dump/' + name, head + ''.join('Input,%d,1,DT_INT8,ND,1,%s\n' % (i, n) for i, n in enumerate(numbers)))
        values = [t['statistics']['Max Value'] for t in self.shown()['records'][0]['tensors']]
        self.assertEqual(values, [1, -0.5, 1e10] + list(numbers[3:]))

    def test_arrays_that_convert_and_frameworks_write(self):
        for name, descr in (('Relu.r.3.1.1589195081588000.output.1', '<f4'), ('layer1.0.2', '<f4'), ('T.v.3.1.1589195081588000.input.0', '|V2')):
            self.write('dump/%s.npy' % name, tool_case.npy(descr, [1], tool_case.floats(2)[:4 if descr == '<f4' else 2]))
        out = self.run_tool('show', 'dump')[0]
        self.assertRegex(out, r'Relu +r +3 +1 .*\n +output  1  float32  -  \[1\]  4 B  min 2  max 2  mean 2')
        self.assertRegex(out, r'- +layer1 .*\n +output  0  float32')
        self.assertRegex(out, r'T +v +3 +1 .*\n +input  0  unknown  -  \[1\]  2 B')
        self.assertIn('1 record', self.run_tool('show', 'dump', '--op', 'layer1')[0])
        self.assertIn("holds arrays, which 'opdump show' and", self.run_tool('overflow', 'dump', expect=1)[1])

    def test_arrays_named_in_each_of_mindspores_ways(self):
        self.write('run.json', json.dumps({'steps': 1, 'models': [{'name': 'net', 'ops': [
            {'name': 'a', 'type': 'Add', 'outputs': [{'fill': 'ramp', 'dtype': 'bfloat16', 'shape': [2]}]}]}]}))
        told = []
        for layout, end in (('mindspore_cpu', 'bfloat16.npy'), ('mindspore_cpu_product', 'BFloat16.npy'),
                            ('mindspore_cpu_document', 'DefaultFormat.npy')):
            os.mkdir(self.path(layout))
            self.write('acl.json', json.dumps({'dump': {'dump_path': layout, 'dump_list': [{}]},
                                               'opdump': {'layout': layout, 'file_format': 'npy'}}))
            self.run_tool('replay', 'run.json', '--config', 'acl.json')
            self.assertEqual([name.rsplit('.', 2)[1] + '.npy' for name in self.files(layout) if name.endswith('.npy')],
                             [end])
            self.run_tool('verify', layout)
            told.append(self.run_tool('show', layout)[0].split('\n')[2].split('  ')[3])
        self.assertEqual(told, ['float32 (bfloat16)', 'float32 (bfloat16)', 'float32'])

    def test_arrays_that_are_damaged(self):
        self.mindspore('tensor')
        name = os.path.join('dump', [name for name in self.files('dump') if name.endswith('.int8.npy')][0])
        whole = self.read(name)
        for bad in (b'', whole[:60], whole[:-1], b'x' + whole[1:], whole + b'x'):
            os.remove(self.path(name))
            self.write(name, bad)
            self.assertIn(name, self.run_tool('show', 'dump', expect=1)[1])


if __name__ == '__main__':
    tool_case.main()
