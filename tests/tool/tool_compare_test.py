#!/usr/bin/env python3
"""Tests of `opdump compare` from outside: tool_compare_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import csv
import json
import math
import os
import shutil
import struct
import sys
import zipfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from model_files import onnx_tensor  # noqa: E402
from tool_case import (BF16, BOOL, COMPLEX64, Case, FLOAT, FLOAT16, INT32, INT4, STRING, floats,
                       npy, record, tensor)  # noqa: E402

HEADER = ['Index', 'OpType', 'NPUDump', 'DataType', 'Address', 'GroundTruth', 'DataType', 'Address', 'TensorIndex',
          'Shape', 'CosineSimilarity', 'MaxAbsoluteError', 'AccumulatedRelativeError', 'RelativeEuclideanDistance',
          'KullbackLeiblerDivergence', 'StandardDeviation', 'MeanAbsoluteError', 'RootMeanSquareError',
          'MaxRelativeError', 'MeanRelativeError', 'CompareFailReason']


def one(values, dtype=FLOAT, code='f', **more):
    return tensor(dtype, [len(values)], struct.pack('<%d%s' % (len(values), code), *values), **more)


NCHW, NHWC, FRACTAL_NZ, NC1HWC0 = 0, 1, 29, 3


def nhwc(values, dims):
    n, c, h, w = dims
    return [values[((i * c + k) * h + y) * w + x]
            for i in range(n) for y in range(h) for x in range(w) for k in range(c)]


def nc1hwc0(values, dims, padding=0):
    n, c, h, w = dims
    blocks = (c + 15) // 16
    return [n, blocks, h, w, 16], [
        values[((i * c + 16 * b + k) * h + y) * w + x] if 16 * b + k < c else padding
        for i in range(n) for b in range(blocks) for y in range(h) for x in range(w) for k in range(16)]


def fractal_nz(values, dims):
    *leading, rows, columns = dims
    count = math.prod(leading)
    down, right = (rows + 15) // 16, (columns + 15) // 16
    return [*leading, right, down, 16, 16], [
        values[(i * rows + 16 * d + a) * columns + 16 * r + b]
        if 16 * d + a < rows and 16 * r + b < columns else 0
        for i in range(count) for r in range(right) for d in range(down) for a in range(16) for b in range(16)]


class Compare(Case):
    def put(self, name, inputs, outputs, side):
        self.write(side + '/' + name, record(inputs, outputs))

    def compare(self, *arguments, expect=0):
        out, error = self.run_tool('compare', '-m', 'mine', '-g', 'golden', '--json', *arguments, expect=expect)
        return json.loads(out)['tensors'], error

    def csv(self, *arguments, expect=0):
        self.run_tool('compare', '-m', 'mine', '-g', 'golden', '-out', 'out', *arguments, expect=expect)
        (name,) = os.listdir(self.path('out'))
        self.assertRegex(name, r'^result_\d{14}\.csv$')
        with open(self.path('out', name), newline='', encoding='utf-8') as file:
            rows = list(csv.reader(file))
        os.remove(self.path('out', name))
        return rows

    def pairs(self, *arguments, expect=0):
        return [(os.path.basename(t['mine']['file']), os.path.basename(t['golden']['file']))
                for t in self.compare(*arguments, expect=expect)[0] if t['mine'] and t['golden']]

    def test_a_map_tells_what_operators_are_called_elsewhere(self):
        for name in ('conv', 'relu'):
            self.put('T.%s.3.0.1' % name, [], [one([1, 2])], 'mine')
        self.write('golden/layer1.0.1.npy', npy('<f4', [2], floats(1, 2)))
        self.write('golden/a,b.0.1.npy', npy('<f4', [2], floats(1, 2)))
        self.write('map', '# ours, theirs\nconv,layer1\r\n\nrelu\ta,b\n')
        self.assertNotIn('is called', self.run_tool('compare', 'mine', 'golden', '--map', 'map')[1])
        self.assertEqual(self.pairs('--map', 'map'),
                         [('T.conv.3.0.1', 'layer1.0.1.npy'), ('T.relu.3.0.1', 'a,b.0.1.npy')])
        self.write('map', 'conv,layer1\nnosuch,x\nrelu\ta,b\n')
        _, error = self.run_tool('compare', 'mine', 'golden', '--map', 'map')
        self.assertEqual(error, "opdump: map: no operator of mine is called 'nosuch'\n"
                                "opdump: map: no golden operator is called 'x'\n")
        for text, told in (('x', 'map:1: not a row'), ('\na,b,c', 'map:2: not a row'), (',b', 'map:1: not a row'),
                           ('a,b\na,c', "map:2: 'a' has a row already")):
            self.write('map', text)
            _, error = self.run_tool('compare', 'mine', 'golden', '--map', 'map', expect=1)
            self.assertIn(told, error)
        self.assertIn('exclude each other', self.run_tool('compare', 'mine', 'golden', '--map', 'map', '--by-order',
                                                          expect=2)[1])

    def test_a_map_as_editors_and_spreadsheets_save_it(self):
        for name in ('conv', 'relu'):
            self.put('T.%s.3.0.1' % name, [], [one([1, 2])], 'mine')
        self.write('golden/layer1.0.1.npy', npy('<f4', [2], floats(1, 2)))
        self.write('golden/a,b.0.1.npy', npy('<f4', [2], floats(1, 2)))
        pairs = [('T.conv.3.0.1', 'layer1.0.1.npy'), ('T.relu.3.0.1', 'a,b.0.1.npy')]
        for text in ('\ufeffconv,layer1\r\nrelu,"a,b"\r\n', '\ufeff"conv","layer1"\n"relu","a,b"'):
            self.write('map.csv', text.encode())
            self.assertEqual(self.pairs('--map', 'map.csv'), pairs)
        self.write('map.yaml', "\ufeffconv: layer1\r\nrelu: 'a,b'\r\n".encode())
        self.assertEqual(self.pairs('--map', 'map.yaml'), pairs)
        for text in ('"conv,layer1', '"conv","a","b"'):
            self.write('map.csv', text.encode())
            self.assertIn('map.csv:1: not a row', self.run_tool('compare', 'mine', 'golden', '--map', 'map.csv', expect=1)[1])
        self.write('map.csv', 'conv,layer1'.encode('utf-16'))
        self.assertIn('map.csv: is UTF-16: save it as UTF-8',
                      self.run_tool('compare', 'mine', 'golden', '--map', 'map.csv', expect=1)[1])

    def test_what_stands_in_a_cards_place_is_named(self):
        self.put('T.conv.3.0.1', [], [one([1, 2])], 'mine')
        for content, told in ((b'\x1c\0\0\0TFL3\0\0', 'is damaged: the model'), (b'PK\x03\x04rest', 'is a ZIP file'),
                              (b'GGUF\x03\0\0\0', 'is a GGUF file'), (b'\x08\x08\x12\x07pytorch', 'is no ONNX model'), (b'ab\0\0\0c', 'is neither a card'),
                              ('{"a": 1}'.encode('utf-16'), 'is UTF-16: save it as UTF-8'),
                              ('{"a": 1}'.encode('utf-16-le'), 'is UTF-16: save it as UTF-8')):
            self.write('card', content)
            _, error = self.run_tool('show', 'mine', '--model', 'card', expect=1)
            self.assertIn(told, error)
            self.assertEqual(error.count('\n'), 1, error)

    def test_operators_go_together_by_their_turn_when_asked(self):
        for i, (a, b) in enumerate((('x', 'conv'), ('y', 'relu'), ('z', 'conv'))):
            self.put('T.%s.3.0.%d' % (a, 100 + i), [one([i])], [one([i, i]), one([7])], 'mine')
            self.put('U.%s.9.0.%d' % (b, 500 + i), [one([i])], [one([i, i])], 'golden')
        self.assertEqual(self.pairs('--by-order', expect=1), [('T.x.3.0.100', 'U.conv.9.0.500')] * 2 +
                         [('T.y.3.0.101', 'U.relu.9.0.501')] * 2 + [('T.z.3.0.102', 'U.conv.9.0.502')] * 2)
        self.assertTrue(all(t['equal'] == t['elements'] for t in self.compare('--by-order', expect=1)[0]
                            if 'equal' in t))

    def test_a_golden_dump_of_outputs_alone_is_for_the_outputs(self):
        for side in ('mine', 'golden'):
            for name, inputs in (('conv', 2), ('relu', 1)):
                self.put('T.%s.3.0.1' % name, [one([3, 4])] * (inputs if side == 'mine' else 0), [one([1, 2], name=b'')], side)
        note = 'opdump: the golden dump has outputs alone: 3 inputs of mine are not compared\n'
        out, error = self.run_tool('compare', 'mine', 'golden')
        self.assertEqual(error, note)
        self.assertTrue(out.startswith('2 tensors compared: 2 equal, 0 diverging, 3 without golden\n2 operators: 2 agree\n'), out)
        tensors, error = self.compare()
        self.assertEqual(([t['tensor'] for t in tensors if 'problem' in t], error), (['conv:input:0', 'conv:input:1', 'relu:input:0'], note))
        self.put('T.relu.3.0.1', [], [one([1, 7], name=b'')], 'golden')
        self.assertEqual(self.run_tool('compare', 'mine', 'golden', expect=1)[1], note)
        # An output without a partner, or an input beside one that has one, is missed as ever.
        self.put('T.relu.3.0.1', [one([3, 4])], [one([1, 2], name=b'')], 'golden')
        self.assertIn('opdump: conv:input:0: ', self.run_tool('compare', 'mine', 'golden', expect=1)[1])
        os.remove(self.path('golden', 'T.relu.3.0.1'))
        error = self.run_tool('compare', 'mine', 'golden', expect=1)[1]
        self.assertIn('opdump: relu:output:0: ', error)
        self.assertIn(note, error)

    def test_nothing_that_pairs_is_told_briefly_and_with_a_way_out(self):
        for i in range(200):
            self.put('T.mine%d.3.0.%d' % (i, 100 + i), [], [one([1], name=b'')], 'mine')
            self.put('T.theirs%d.3.0.%d' % (i, 100 + i), [], [one([1], name=b'')], 'golden')
        out, error = self.run_tool('compare', 'mine', 'golden', expect=1)
        self.assertEqual(error.count('\n'), 12, error)
        self.assertIn('and 190 more', error)
        for piece in ('--map', '--by-order', "'mine0'", "'theirs0'", 'and 197 more'):
            self.assertIn(piece, error.splitlines()[-1])
        self.assertIn('200 without golden, 200 only golden', out)
        self.assertEqual(len(self.compare(expect=1)[0]), 400)
        self.put('T.mine7.3.0.999', [], [one([1], name=b'')], 'golden')
        self.assertNotIn('--by-order', self.run_tool('compare', 'mine', 'golden', expect=1)[1])

    def test_one_model_on_each_side_goes_together_whatever_its_name(self):
        place = '%s/20260131130559/0/%s/1/%d'
        for step in (0, 1):
            self.put('T.a.3.0.%d' % (5 + step), [], [one([step])], place % ('mine', 'float', step))
            self.put('T.a.3.0.%d' % (9 - step), [], [one([step])], place % ('golden', 'quantised', step))
        self.assertEqual([t['equal'] for t in self.compare()[0]], [1, 1])
        self.put('T.a.3.0.7', [], [one([0])], place % ('golden', 'another', 0))
        self.assertEqual(self.pairs(expect=1), [])

    def test_original_names_hold_dots_and_stand_on_either_side(self):
        self.put('T.fused.3.0.1', [], [one([1], name=b'block.0/conv.relu')], 'mine')
        self.write('golden/block_0_conv_relu.0.1.npy', npy('<f4', [1], floats(1)))
        self.write('mine/head_out.0.2.npy', npy('<f4', [1], floats(2)))
        self.put('T.last.3.0.2', [], [one([2], name=b'head.out')], 'golden')
        self.put('T.mine_name.3.0.3', [], [one([3], name=b'x.y')], 'mine')
        self.put('T.their_name.3.0.3', [], [one([3], name=b'x.y')], 'golden')
        self.put('T.a_b_c.3.0.4', [], [one([4], name=b'')], 'mine')
        self.write('golden/a_b.c.0.4.npy', npy('<f4', [1], floats(4)))
        self.assertEqual([t['equal'] for t in self.compare()[0]], [1] * 4)

    def test_namesakes_go_together_by_task_type_and_shape_before_their_turn(self):
        self.put('Add.n.3.0.1', [], [one([1, 1])], 'mine')
        self.put('Mul.n.4.0.2', [], [one([2, 2])], 'mine')
        self.put('Mul.n.5.0.3', [], [one([3, 3])], 'mine')
        self.put('Mul.n.5.0.11', [], [one([3, 3])], 'golden')
        self.put('Mul.n.8.0.12', [], [one([2, 2])], 'golden')
        self.put('Add.n.9.0.13', [], [one([1, 1])], 'golden')
        self.assertEqual(self.pairs(), [('Add.n.3.0.1', 'Add.n.9.0.13'), ('Mul.n.4.0.2', 'Mul.n.8.0.12'),
                                        ('Mul.n.5.0.3', 'Mul.n.5.0.11')])
        self.put('Sub.m.3.0.21', [], [one([1, 2, 3])], 'mine')
        self.put('Sub.m.3.0.22', [], [one([1, 2])], 'mine')
        self.write('golden/m.0.31.npy', npy('<f4', [2], floats(1, 2)))
        self.write('golden/m.0.32.npy', npy('<f4', [3], floats(1, 2, 3)))
        self.assertEqual({t['equal'] == t['elements'] for t in self.compare()[0]}, {True})
        self.put('Sub.m.3.0.23', [], [one([5] * 6)], 'mine')
        self.write('golden/m.0.33.npy', npy('<f4', [1, 6], floats(*[5] * 6)))
        self.assertIn('paired by its turn', [t.get('remark', '') for t in self.compare()[0]][-1])
        self.assertIn('1 tensor share a name', self.run_tool('compare', 'mine', 'golden')[0])

    def test_what_is_unequal_below_the_limits_is_told_and_limits_can_be_given(self):
        self.put('T.a.3.0.1', [], [one([1, 2, 3, 4])], 'mine')
        self.put('T.a.3.0.1', [], [one([1, 2, 3, 4])], 'golden')
        self.put('T.b.3.0.2', [], [one([1, 2, 3, 4.02])], 'mine')
        self.put('T.b.3.0.2', [], [one([1, 2, 3, 4])], 'golden')
        out, _ = self.run_tool('compare', 'mine', 'golden')
        self.assertIn('0 diverging\n', out)
        self.assertRegex(out, r'\nbelow the limits, first unequal operator: T "b": output 0 is not \(cosine 0.9999\d+, euclid 0.003\d+\)\n')
        out, _ = self.run_tool('compare', 'mine', 'golden', '--limits', 'max_abs=0.01', expect=1)
        self.assertIn('not certain: output 0 does not (max_abs 0.02 > 0.01)', out)
        self.run_tool('compare', 'mine', 'golden', '--fail-under', 'max_abs=0.01', expect=1)
        self.assertIn('exclude', self.run_tool('compare', 'mine', 'golden', '--limits', 'max_abs=1', '--fail-under',
                                               'max_abs=1', expect=2)[1])

    def chain(self, side, count, at=None, spoil=None, inputs=True):
        """A chain of operators y = x * w + 1; the output of operator `at` is what `spoil` makes of it."""
        values = [0.5, -1.25, 2, 3.5]
        for i in range(count):
            weights = [1 + i / 10] * 4
            outputs = [x * w + 1 for x, w in zip(values, weights)]
            if i == at:
                outputs = spoil(outputs)
            self.put('20260131130559/0/net/1/0/Mul.op%d.%d.0.%016d' % (i, i, i + 1),
                     [one(values), one(weights)] if inputs else [], [one(outputs)], side)
            values = outputs

    def verdicts(self, *arguments, expect=1):
        out, _ = self.run_tool('compare', '-m', 'mine', '-g', 'golden', '--json', *arguments, expect=expect)
        report = json.loads(out)
        return [op['verdict'] for op in report['ops']], report.get('headline', {}).get('text')

    def test_without_inputs_nobody_is_called_a_culprit(self):
        self.chain('golden', 3, inputs=False)
        self.chain('mine', 3, 1, lambda y: y[::-1], inputs=False)
        verdicts, first = self.verdicts()
        self.assertEqual(verdicts, ['agrees', 'diverges', 'diverges'])
        self.assertIn('without its inputs in both dumps it may be a victim', first)

    def test_records_from_before_an_operator_and_after_it_are_one_run(self):
        """As of one that writes to its inputs; where a record of them is missing, it is not known which run it was of."""
        def put(side, spoil, *records):
            shutil.rmtree(self.path(side), ignore_errors=True)
            for turn, output in enumerate(records):
                values = [1, 2, 3] if not output else [spoil if turn == len(records) - 1 else 5, 6, 7]
                self.put('20260131130559/0/net/1/0/Mul.cell.4.0.%016d' % (turn + 1), *([], [one(values)])[::1 if output else -1], side)
            self.put('20260131130559/0/net/1/0/Add.next.5.0.%016d' % 9, [one([spoil, 6, 7])], [one([spoil + 1, 7, 8])], side)
        for records, verdict in (((False, True), 'culprit'), ((False, False, True), 'diverges')):
            put('golden', 5, *records)
            put('mine', 9, *records)
            verdicts, first = self.verdicts()
            self.assertIn(verdict, verdicts, first)
            self.assertEqual('Mul "cell" at net/0, culprit' in first, verdict == 'culprit', first)

    def quantised_chain(self, side, written, taken, pooled):
        """What is quantised by one zero point, and read by another; between them an operator that has no zero point."""
        stored = [10, 20, 30, 40]
        scale = tensor(0, [1], struct.pack('<f', 0.5))
        between = tensor(tool_case.INT8, [4], struct.pack('<4b', *(q + written for q in stored)))
        zero = {of: tensor(tool_case.INT8, [1], struct.pack('<b', of)) for of in (written, taken)}
        records = [('QuantizeLinear.q', [one([q / 2 for q in stored]), scale, zero[written]], [between])]
        if pooled:
            records.append(('MaxPool.pool', [between], [between]))
        records.append(('DequantizeLinear.d', [between, scale, zero[taken]], [one([(q + written - taken) / 2 for q in stored])]))
        for turn, (name, inputs, outputs) in enumerate(records):
            self.put('20260131130559/0/net/1/0/%s.%d.0.%016d' % (name, turn, turn + 1), inputs, outputs, side)
        quant = {'scheme': 'affine', 'scale': [0.5], 'zero_point': [written]}
        names = [{'tensor': name, 'quant': quant} for name in ('q', 'pooled')[:len(records) - 1]]
        constants = [{'tensor': name, 'constant': True} for name in ('scale', 'zero')]
        ops = [{'name': 'q', 'type': 'QuantizeLinear', 'inputs': [{'tensor': 'x'}, *constants], 'outputs': names[:1]}]
        if pooled:
            ops.append({'name': 'pool', 'type': 'MaxPool', 'inputs': names[:1], 'outputs': names[1:]})
        ops.append({'name': 'd', 'type': 'DequantizeLinear', 'inputs': [names[-1], *constants], 'outputs': [{'tensor': 'y'}]})
        self.write(side + '.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': ops}).encode())

    def test_who_writes_by_another_zero_point_is_the_culprit_and_not_who_reads_it(self):
        for pooled in (False, True):
            self.quantised_chain('mine', 5, 0, pooled)
            self.quantised_chain('golden', 0, 0, pooled)
            verdicts, first = self.verdicts('--model', 'mine.json', '--golden-model', 'golden.json')
            self.assertEqual(verdicts, ['culprit', *['agrees'] * pooled, 'victim'])
            self.assertEqual(first, 'first cause: QuantizeLinear "q" at net/0, culprit: its constant input 2 is another: its output is equal '
                             'by that, but DequantizeLinear "d" at net/0 takes it by zero point 0, which was written by 5')
            shutil.rmtree(self.path('mine'))
            shutil.rmtree(self.path('golden'))

    def steps_of(self, side, values):
        """Operators one behind the other, the values between them given."""
        for i, (x, y) in enumerate(zip(values, values[1:])):
            self.put('20260131130559/0/net/1/0/Sub.op%d.%d.0.%016d' % (i, i, i + 1), [one(x)], [one(y)], side)

    def test_an_error_within_the_limits_that_grows_has_its_beginning_named(self):
        golden = [[i, i + 1, i + 2, i + 3] for i in range(1, 9)]
        self.steps_of('golden', golden)
        # 1 % and then 4 %, both within the limits, and 30 % behind that, as of differences of what is nearly equal.
        off = {4: 1.01, 5: 1.04, 6: 1.3, 7: 1.31}
        self.steps_of('mine', [[row[0] * off.get(i, 1), *row[1:-1], row[-1] * off.get(i, 1)] for i, row in enumerate(golden)])
        verdicts, first = self.verdicts()
        self.assertEqual(verdicts, ['agrees'] * 3 + ['culprit', 'agrees', 'victim', 'victim'])
        self.assertIn('first cause: Sub "op3" at net/0, culprit: its input is equal, output 0 is not (', first)
        out, _ = self.run_tool('compare', 'mine', 'golden', expect=1)
        self.assertIn('\nfirst diverging operator: Sub "op5" at net/0, victim: its inputs agree within the limits, but are not equal, and '
                      'its error is ', out)

    def test_within_the_limits_the_first_unequal_operator_is_told(self):
        self.chain('golden', 4)
        self.chain('mine', 4, 2, lambda y: [y[0] * 1.001] + y[1:])
        out, _ = self.run_tool('compare', 'mine', 'golden', expect=0)
        self.assertIn('below the limits, first unequal operator: Mul "op2" at net/0: its 2 inputs are equal, output 0 is not (', out)

    def msprobe(self, spoil='', side='golden'):
        """The operators op0 and op1 of `chain` as msprobe lays them out, the second one by statistics alone."""
        tensors = {'op0': [[0.5, -1.25, 2, 3.5], [1.5, -0.25, 3, 4.5]], 'op1': [[1.5, -0.25, 3, 4.5], [2.65, 0.725, 4.3, 5.95]]}
        data = {}
        for op, arrays in tensors.items():
            name = {'op0': 'Primitive.op0.0.forward', 'op1': 'Cell.op1.Mul.forward.0'}[op]
            told = []
            for role, values in zip(('input', 'output'), arrays):
                told.append({'type': 'mindspore.Tensor', 'dtype': 'Float32', 'shape': [4], 'Max': max(values), 'Min': min(values),
                             'Mean': sum(values) / 4, 'Norm': math.hypot(*values)})
                if op == 'op0':
                    told[-1]['data_name'] = '%s.%s.0.npy' % (name, role)
                    self.write('%s/step0/rank0/dump_tensor_data/%s' % (side, told[-1]['data_name']), npy('<f4', [4], floats(*values)))
            data[name] = {'input_args': [{'type': 'int', 'value': 3}, [told[0]]], 'input_kwargs': {}, 'output': told[1:]}
        text = json.dumps({'task': 'tensor', 'level': 'L1', 'dump_data_dir': '/elsewhere', 'data': data})
        self.write('%s/step0/rank0/dump.json' % side, (text + spoil).encode())
        return text

    def test_digests_and_bools_of_msprobe_and_steps_of_processes(self):
        def put(side, process, digest, value=1.0):
            for step in (0, 1):
                self.write('%s/step%d/proc%d/dump.json' % (side, step, process), json.dumps({'dump_data_dir': None, 'data': {
                    'Torch.gt.0.forward': {'output': [
                        {'type': 'torch.Tensor', 'dtype': 'torch.float32', 'shape': [4], 'Max': value + step, 'md5': digest},
                        {'type': 'torch.Tensor', 'dtype': 'torch.bool', 'shape': [4], 'Max': True, 'Min': False}]}}}))
        put('mine', 16, 'a' * 8)
        put('golden', 17, 'a' * 8)
        tensors = self.compare()[0]
        self.assertEqual([(one['equal'], one['statistics']) for one in tensors], [(4, 0), (0, 0)] * 2)
        put('golden', 17, 'b' * 8)
        self.assertEqual([one['equal'] for one in self.compare()[0]], [0] * 4)

    def test_folders_of_msprobe(self):
        self.chain('mine', 2)
        text = self.msprobe()
        out, _ = self.run_tool('compare', 'mine', 'golden', expect=1)
        self.assertIn('4 tensors compared: 2 equal, 0 diverging, 2 without golden\n2 tensors only by statistics', out)
        self.chain('mine', 2, 1, lambda y: [y[0] + 20] + y[1:])
        # Golden tells nothing of the second input, so nothing is proved.
        self.assertRegex(self.run_tool('compare', 'mine', 'golden', expect=1)[0],
                         '\nfirst diverging operator: Mul "op1" at net/0, not certain: .*its input 1 could not be compared')
        self.chain('mine', 2)
        os.remove(self.path('golden/step0/rank0/dump_tensor_data/Primitive.op0.0.forward.input.0.npy'))
        _, error = self.run_tool('compare', 'mine', 'golden', expect=1)
        self.assertIn('golden/step0/rank0/dump_tensor_data/Primitive.op0.0.forward.input.0.npy: No such file', error)
        self.msprobe(spoil=' }')
        _, error = self.run_tool('compare', 'mine', 'golden', expect=1)
        self.assertIn('golden/step0/rank0/dump.json: is no JSON: ', error)
        for size in range(0, len(text), 41):
            self.write('golden/step0/rank0/dump.json', text[:size].encode())
            self.run_tool('compare', 'mine', 'golden', expect=1)

    def test_parameters_and_pickled_tensors_of_msprobe_are_compared(self):
        def told(values, name=None):
            return dict({'type': 'torch.Tensor', 'dtype': 'torch.float32', 'shape': [2], 'Max': max(values), 'Min': min(values),
                         'Mean': sum(values) / 2, 'Norm': math.hypot(*values)}, **({'data_name': name} if name else {}))
        def put(side, factor):
            weight = [1 * factor, 2 * factor]
            self.write(side + '/step0/rank0/dump_tensor_data/weight.npy', npy('<f4', [2], floats(*weight)))
            self.write(side + '/step0/rank0/dump.json', json.dumps({'task': 'tensor', 'level': 'L0', 'dump_data_dir': '/x', 'data': {
                'Module.conv.Conv2d.forward.0': {
                    'input_args': [told([1, 2], 'x.pt')], 'input_kwargs': {}, 'output': [told([3, 4], 'y.pt')],
                    'parameters': {'weight': told(weight, 'weight.npy'), 'bias': told([0, 1])}},
                'Module.conv.Conv2d.parameters_grad': {'weight': [told(weight)]}}}).encode())
        put('mine', 1)
        put('golden', 1)
        out, error = self.run_tool('compare', 'mine', 'golden')
        self.assertIn('5 tensors compared: 1 equal, 0 diverging', out)
        self.assertEqual(error.count('2 tensors lie in .pt files, which are not read: by statistics alone'), 2)
        put('mine', 7)
        self.assertIn('5 tensors compared: 0 equal, 2 diverging', self.run_tool('compare', 'mine', 'golden', expect=1)[0])

    def test_a_map_in_yaml(self):
        self.chain('mine', 2)
        self.msprobe()
        for name in ('op0', 'op1'):
            os.rename(self.path('mine/20260131130559/0/net/1/0/Mul.%s.%s.0.%016d' % (name, name[2], int(name[2]) + 1)),
                      self.path('mine/20260131130559/0/net/1/0/Mul.n%s.%s.0.%016d' % (name[2], name[2], int(name[2]) + 1)))
        self.write('map.yaml', b"# ours: theirs\nn0: op0\n'Cell.n1.Mul.forward.0.output.0': \"Cell.op1.Mul.forward.0.output.0\"\n")
        self.assertIn('paired: 4 by map\n', self.run_tool('compare', 'mine', 'golden', '--map', 'map.yaml', expect=1)[0])
        for row, reason in (('n0 op0', "map.yaml:1: not a row 'name: golden name'"), ('n0: op0\nn0: op1', "map.yaml:2: 'n0' has a row already"),
                            ('Cell.n1.Mul.forward.0.output.0: op1', 'map.yaml:1: an input or output goes with another one')):
            self.write('map.yaml', row.encode())
            self.assertIn(reason, self.run_tool('compare', 'mine', 'golden', '--map', 'map.yaml', expect=1)[1])

    def test_operators_without_a_partner_are_told(self):
        self.chain('golden', 2)
        self.chain('mine', 3)
        verdicts, first = self.verdicts()
        self.assertEqual((verdicts, first), (['agrees', 'agrees', 'unpaired'], None))
        self.assertIn('3 operators: 2 agree, 1 unpaired', self.run_tool('compare', 'mine', 'golden', expect=1)[0])

    def containers(self, values):
        """The arrays conv1.output.0 (2, 2) and fc of other programs' files, by file name."""
        arrays = {'conv1.output.0': ([2, 2], floats(*values)), 'fc': ([3], floats(7, 8, 9))}
        with zipfile.ZipFile(self.path('x.npz'), 'w') as file:
            for name, (shape, data) in arrays.items():
                with file.open(name + '.npy', 'w', force_zip64=True) as member:
                    member.write(npy('<f4', shape, data))
        head, body = {'__metadata__': {'by': 'test'}}, b''
        for name, (shape, data) in arrays.items():
            head[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(body), len(body) + len(data)]}
            body += data
        text = json.dumps(head).encode()
        return {'x.npz': self.read('x.npz'), 'x.safetensors': struct.pack('<Q', len(text)) + text + body,
                'conv1.output.0.pb': onnx_tensor('', 1, *arrays['conv1.output.0']),
                'other.pb': onnx_tensor('fc', 1, *arrays['fc'])}

    def test_arrays_of_other_programs(self):
        self.put('Conv.conv1.1.0.1', [], [tensor(FLOAT, [2, 2], floats(1, 2, 3, 4))], 'mine')
        self.put('Fc.fc.2.0.2', [], [one([7, 8, 9])], 'mine')
        files = self.containers((1, 2, 3, 4))
        for name in ('x.npz', 'x.safetensors'):
            self.write('golden', files[name])
            os.rename(self.path('golden'), self.path(name))
            self.assertIn('2 tensors compared: 2 equal', self.run_tool('compare', 'mine', name)[0])
        for name in ('conv1.output.0.pb', 'other.pb'):
            self.write('golden/' + name, files[name])
        self.assertIn('2 tensors compared: 2 equal', self.run_tool('compare', 'mine', 'golden')[0])
        self.write('other.safetensors', self.containers((1, 2, 3, 5))['x.safetensors'])
        out, _ = self.run_tool('compare', 'mine', 'other.safetensors', expect=1)
        self.assertIn('first diverging operator: Conv "conv1"', out)

    def npz(self, name, **arrays):
        with zipfile.ZipFile(self.path(name), 'w') as file:
            for array, values in arrays.items():
                file.writestr(array + '.npy', npy('<f4', [len(values)], floats(*values)))

    def test_an_array_that_nothing_reads_leaves_those_beside_it(self):
        self.put('Relu.r.0.0.1', [], [one((1, 2))], 'mine')
        head = json.dumps({'w': {'dtype': 'F6_E2M3', 'shape': [4], 'data_offsets': [8, 11]},
                           'Relu.r.0.0.1.output.0': {'dtype': 'F32', 'shape': [2], 'data_offsets': [0, 8]}}).encode()
        self.write('x.safetensors', struct.pack('<Q', len(head)) + head + floats(1, 2) + b'abc')
        with zipfile.ZipFile(self.path('x.npz'), 'w') as file:
            file.writestr('meta.npy', npy('<U2', [1], bytes(8)))
            file.writestr('Relu.r.0.0.1.output.0.npy', npy('<f4', [2], floats(1, 2)))
        for name, array in (('x.safetensors', 'w'), ('x.npz', 'meta.npy')):
            out, error = self.run_tool('compare', 'mine', name, expect=1)
            self.assertIn('1 equal', out)
            self.assertIn("array '%s': " % array, error)

    def test_files_of_several_arrays_go_together_by_name(self):
        self.npz('one.npz', a=[9, 8], m1=[1, 2])
        self.npz('two.npz', a=[9, 8], b=[1, 2])
        self.write('m1.npy', npy('<f4', [2], floats(1, 2)))
        self.write('golden/Conv.b.0.0.1', record([], [one([1, 2])]))
        for mine, golden in (('m1.npy', 'one.npz'), ('two.npz', 'two.npz'), ('golden/Conv.b.0.0.1', 'two.npz')):
            out, _ = self.run_tool('compare', mine, golden)
            self.assertIn('%d equal' % (2 if mine == golden else 1), out)
        self.assertIn('1 equal, 0 diverging, 1 without golden',
                      self.run_tool('compare', 'one.npz', 'two.npz', expect=1)[0])
        _, error = self.run_tool('compare', 'm1.npy', 'two.npz', expect=1)
        self.assertIn("mine has 'm1', the golden dump 'a', 'b'", error)

    def test_two_files_of_one_operator_go_together_whatever_its_name(self):
        self.write('Conv.conv.0.0.1', record([one([3])], [one([1, 2])]))
        self.npz('x.npz', **{'y.input.0': [3], 'y.output.0': [1, 2]})
        self.assertIn('2 equal', self.run_tool('compare', 'Conv.conv.0.0.1', 'x.npz')[0])

    def test_a_converted_container_equals_itself(self):
        for name in ('conv', 'relu'):
            self.write('d/20260131130559/0/net/1/7/T.%s.0.0.1' % name, record([one([3])], [one([1, 2])]))
        self.run_tool('convert', '-d', 'd', '--to', 'safetensors', '-out', 'o')
        self.assertIn('4 equal', self.run_tool('compare', *2 * ('o/step7.safetensors',))[0])

    def test_damaged_arrays_of_other_programs(self):
        self.put('Conv.conv1.1.0.1', [], [one([1, 2, 3, 4])], 'mine')
        for name, whole in self.containers((1, 2, 3, 4)).items():
            for size in range(0, len(whole), 7):
                self.write(name, whole[:size])
                out, error = self.run_tool('compare', 'mine', name, expect=1)
                self.assertIn(name + ': ', error)
        with zipfile.ZipFile(self.path('packed.npz'), 'w', zipfile.ZIP_LZMA) as file:
            file.writestr('fc.npy', npy('<f4', [3], floats(7, 8, 9)))
        self.assertIn("array 'fc.npy' is compressed by method 14",
                      self.run_tool('compare', 'mine', 'packed.npz', expect=1)[1])

    def test_arrays_as_others_store_them(self):
        numbers = [float(i * i) for i in range(24)]
        self.put('Conv.conv.1.0.1', [], [tensor(FLOAT, [2, 3, 4], floats(*numbers))], 'mine')
        fortran = [numbers[(i * 3 + j) * 4 + k] for k in range(4) for j in range(3) for i in range(2)]
        for version in (1, 2, 3):
            for order in '<>':
                for code in 'fdiq':
                    for values, in_fortran in ((numbers, False), (fortran, True)):
                        values = values if code in 'fd' else list(map(int, values))
                        descr = ('i' if code in 'iq' else 'f') + str(struct.calcsize(code))
                        self.write('golden/Conv.conv.1.0.1.output.0.ND.npy', npy(order + descr, [2, 3, 4], struct.pack(
                            '%s24%s' % (order, code), *values), version, in_fortran))
                        (result,), _ = self.compare()
                        self.assertEqual((result['equal'], result['golden']['shape']), (24, [2, 3, 4]), descr)
                        self.write('plain/Conv.conv.1.0.1.output.0.ND.npy', npy('<' + descr, [2, 3, 4], struct.pack(
                            '<24' + code, *(numbers if code in 'fd' else map(int, numbers)))))
                        self.run_tool('diff', 'plain', 'golden')
                        self.assertIn('max 529', self.run_tool('show', 'golden')[0].replace('  ', ' '))
        self.put('Conv.conv.1.0.1', [], [tensor(COMPLEX64, [2], floats(1, 2, 3, -4))], 'mine')
        self.write('golden/Conv.conv.1.0.1.output.0.ND.npy', npy('>c16', [2], struct.pack('>4d', 1, 2, 3, -4)))
        self.assertEqual(self.compare()[0][0]['equal'], 2)

    def test_compressed_arrays(self):
        count = 50000
        data = floats(*(math.sin(i) for i in range(count)))
        self.put('Fc.fc.1.0.1', [], [tensor(FLOAT, [count], data)], 'mine')
        with zipfile.ZipFile(self.path('packed.npz'), 'w', zipfile.ZIP_DEFLATED) as file:
            file.writestr('other.npy', npy('>f4', [2], struct.pack('>2f', 1, 2)))
            file.writestr('fc.npy', npy('<f4', [count], data))
        out, error = self.run_tool('compare', 'mine', 'packed.npz', expect=(0, 1))
        if 'without zlib' in error:
            self.assertIn('install zlib', error)
            self.skipTest('this opdump was built without zlib')
        self.assertIn('1 tensor compared: 1 equal', out)
        whole = self.read('packed.npz')
        at = whole.index(b'fc.npy') + 3000
        self.write('damaged.npz', whole[:at] + bytes(64) + whole[at + 64:])
        out, error = self.run_tool('compare', 'mine', 'damaged.npz', expect=1)
        self.assertNotIn('1 equal', out)
        for size in range(0, len(whole), 4999):
            self.write('short.npz', whole[:size])
            self.assertIn('short.npz: ', self.run_tool('compare', 'mine', 'short.npz', expect=1)[1])

    def test_raw_items_are_of_the_dtype_of_the_other_side(self):
        bfloats = struct.pack('<3H', 0x3f80, 0x4000, 0x4040)
        self.write('mine/conv.output.0.npy', npy('<f4', [3], floats(1, 2, 3)))
        self.write('golden/conv.output.0.npy', npy('|V2', [3], bfloats))
        for other in (npy('<f4', [3], floats(1, 2, 3)), npy('<f2', [3], bfloats), npy('<u2', [3], bfloats)):
            self.write('mine/conv.output.0.npy', other)
            self.assertIn('its elements are 2 bytes of unknown kind', self.compare(expect=1)[1])
        card = {'opdump_model': 1, 'name': 'net', 'ops': [{'name': 'conv', 'type': 'Conv', 'outputs': [
            {'tensor': 'y', 'dtype': 'bfloat16', 'shape': [3]}]}]}
        self.write('card.json', json.dumps(card))
        (result,), _ = self.compare('--golden-model', 'card.json', expect=1)
        self.assertEqual(result['golden']['dtype'], 'bfloat16')
        os.remove(self.path('mine', 'conv.output.0.npy'))
        self.put('Conv.conv.1.0.1', [], [tensor(BF16, [3], bfloats)], 'mine')
        for descr in ('|V2', '<V2'):
            self.write('golden/conv.output.0.npy', npy(descr, [3], bfloats))
            (result,), _ = self.compare()
            self.assertEqual((result['equal'], result['golden']['dtype']), (3, 'bfloat16'))
        self.write('golden/conv.output.0.npy', npy('|V1', [3], b'\x38\x40\xc4'))
        self.put('Conv.conv.1.0.1', [], [tensor(tool_case.UINT8, [3], b'\x38\x40\x44', original_dtype=tool_case.E4M3)], 'mine')
        (result,), _ = self.compare(expect=1)
        self.assertEqual((result['equal'], result['golden']['dtype'], result['golden_there']), (2, 'float8_e4m3fn', -3))

    def test_tensor_protos(self):
        self.put('Conv.conv.1.0.1', [], [tensor(INT32, [3], struct.pack('<3i', 1, 300, -2))], 'mine')
        def field(number, wire, data):
            return bytes([number << 3 | wire]) + data
        varints = b'\x01' + b'\xac\x02' + b'\xfe' + b'\xff' * 8 + b'\x01'
        proto = field(1, 0, b'\x03') + field(2, 0, b'\x06') + field(5, 2, bytes([len(varints)]) + varints)
        for name in ('conv.output.0.tensorproto', 'conv.output.0.pb'):
            self.write('golden/' + name, proto)
            self.assertEqual(self.compare()[0][0]['equal'], 3)
            self.run_tool('diff', 'golden', 'golden')
            os.remove(self.path('golden', name))
        self.write('golden/conv.output.0.tensorproto', onnx_tensor('', 6, [3], struct.pack('<3i', 1, 300, -2)))
        self.assertEqual(self.compare()[0][0]['equal'], 3)

    def test_limits_of_other_tools(self):
        self.put('T.a.1.0.1', [], [one([1] * 999 + [1.02])], 'mine')
        self.put('T.a.1.0.1', [], [one([1] * 1000)], 'golden')
        for name, expect in (('default', 0), ('cann', 1), ('msprobe', 0), ('litert', 1), ('polygraphy', 1)):
            self.run_tool('compare', 'mine', 'golden', '--limits', name, expect=expect)
        self.assertIn('cann, msprobe, litert and polygraphy',
                      self.run_tool('compare', 'mine', 'golden', '--limits', 'none', expect=2)[1])

    def test_more_measures(self):
        x = [math.sin(i) * 3 + i % 7 + 0.01 for i in range(3000)]
        y = [value * (1 + (0.004 if i % 4 == 0 else 0.0001)) for i, value in enumerate(x)]
        self.put('T.a.1.0.1', [], [one(x)], 'mine')
        self.put('T.a.1.0.1', [], [one(y)], 'golden')
        more = ['snr', 'psnr', 'pearson', 'within_0.001', 'within_0.005', 'q99_abs', 'q99_rel', 'unlike', 'not_close']
        (result,), _ = self.compare('-alg', ','.join(more))
        errors = sorted(abs(a - b) for a, b in zip(x, y))
        squares = sum(error * error for error in errors)
        self.assertAlmostEqual(result['snr'], 10 * math.log10(sum(b * b for b in y) / squares), 3)
        self.assertAlmostEqual(result['psnr'], 20 * math.log10(max(map(abs, y)) / math.sqrt(squares / 3000)), 3)
        self.assertEqual((result['within_0.001'], result['within_0.005'], result['unlike']), (0.75, 1, 0))
        self.assertLess(abs(result['q99_abs'] / errors[2970] - 1), 0.01)
        self.assertLess(abs(result['q99_rel'] / 0.004 - 1), 0.02)
        mean_x, mean_y = sum(x) / 3000, sum(y) / 3000
        self.assertAlmostEqual(
            result['pearson'],
            sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
            / math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)), 6)
        self.put('T.a.1.0.1', [], [one([1, math.nan, math.inf, 4, -math.inf])], 'mine')
        self.put('T.a.1.0.1', [], [one([1, math.nan, math.inf, math.nan, 5])], 'golden')
        (result,), _ = self.compare('-alg', 'unlike,within_0.001', expect=1)
        self.assertEqual((result['unlike'], result['within_0.001']), (2, 1))

    def test_measures_of_two_arrays(self):
        self.write('a.npy', npy('<f4', [2, 2], floats(1, 2, 3, 5)))
        self.write('b.npy', npy('<f4', [2, 2], floats(1, 2, 3, 4)))
        out, _ = self.run_tool('compare', '-m', 'a.npy', '-g', 'b.npy', '--json', expect=1)
        (result,) = json.loads(out)['tensors']
        self.assertAlmostEqual(result['cosine'], 34 / math.sqrt(39 * 30))
        self.assertEqual((result['max_abs'], result['sum_rel'], result['max_rel']), (1, 0.25, 0.25))
        self.assertAlmostEqual(result['euclid'], math.sqrt(1 / 30))
        self.assertEqual((result['mean_abs'], result['rmse'], result['mean_rel']), (0.25, 0.5, 0.0625))
        self.assertAlmostEqual(result['std']['mine_std'], math.sqrt(35 / 16))
        self.assertEqual((result['equal'], result['elements'], result['max_abs_at']), (3, 4, [1, 1]))
        self.assertEqual((result['mine_there'], result['golden_there'], result['max_ulp']), (5, 4, 1 << 21))
        p = [max((v - 1) / 4, 2 ** -23) for v in (1, 2, 3, 5)]
        q = [max((v - 1) / 3, 2 ** -23) for v in (1, 2, 3, 4)]
        divergence = sum(a / sum(p) * math.log(a / sum(p) / (b / sum(q))) for a, b in zip(p, q))
        self.assertAlmostEqual(result['kl'], divergence, places=6)

    def test_csv_has_the_columns_of_the_vendor(self):
        name = 'Conv2D.conv1.3.0.%016d'
        self.put(name % 20, [one([1, 2])], [one([3, 4])], 'mine')
        self.put(name % 90, [one([1, 2])], [one([3, 5])], 'golden')
        self.put('Add.add.4.0.%016d' % 10, [], [one([0, 0])], 'mine')
        self.put('Add.add.4.0.%016d' % 11, [], [one([1, 1])], 'golden')
        rows = self.csv(expect=1)
        self.assertEqual(rows[0], HEADER)
        self.assertEqual([row[8] for row in rows[1:]], ['add:output:0', 'conv1:input:0', 'conv1:output:0'])
        self.assertEqual([row[0] for row in rows[1:]], ['0', '1', '1'])
        self.assertEqual(rows[1][1:10], ['Add', 'add', 'float32', 'NaN', 'add', 'float32', 'NaN', 'add:output:0', '[2]'])
        self.assertEqual(rows[1][10], 'NaN')
        self.assertIn('All the data is zero in my dump', rows[1][-1])
        self.assertEqual(rows[2][10:], ['1.000000', '0.000000', '0.000000', '0.000000', '0.000000',
                                        '(1.500;0.500),(1.500;0.500)', '0.000000', '0.000000', '0.000000',
                                        '0.000000', ''])
        self.assertEqual(rows[3][15], '(3.500;0.500),(4.000;1.000)')
        self.assertEqual([len(row) for row in rows], [len(HEADER)] * 4)
        self.assertEqual(self.csv('-alg', '0,RootMeanSquareError', expect=1)[0],
                         HEADER[:11] + ['RootMeanSquareError', 'CompareFailReason'])

    def test_numbers_are_compared_as_what_they_are(self):
        for dtype, code, mine, golden, apart in (
                ('<i4', 'i', 16777217, 16777216, 1), ('<u4', 'I', 2 ** 32 - 1, 2 ** 32 - 100, 99),
                ('<i8', 'q', 2 ** 40 + 1, 2 ** 40, 1), ('<i8', 'q', 2 ** 62 + 1, 2 ** 62, 1),
                ('<i8', 'q', -2 ** 62 - 1, -2 ** 62, 1), ('<u8', 'Q', 2 ** 64 - 1, 2 ** 64 - 2, 1),
                ('<f8', 'd', 1 + 1e-9, 1, 1 + 1e-9 - 1), ('<c8', '2f', (3, 1), (3, 2), 1),
                ('<c16', '2d', (3, 1 + 1e-9), (3, 1), 1 + 1e-9 - 1)):
            for name, number in (('a.npy', mine), ('b.npy', golden)):
                parts = number if isinstance(number, tuple) else (number,)
                self.write(name, npy(dtype, [2], 2 * struct.pack('<' + code, *parts)))
            limit = '--limits=max_abs=%r' % (apart / 2)
            out, error = self.run_tool('compare', 'a.npy', 'b.npy', '--json', limit, expect=1)
            (result,) = json.loads(out)['tensors']
            self.assertEqual((result['max_abs'], result['mean_abs'], result['equal']), (apart, apart, 0), dtype)
            self.assertEqual(error, '')
            self.assertNotIn('remark', result)
            self.assertIn('1 diverging', self.run_tool('compare', 'a.npy', 'b.npy', limit, expect=1)[0])
            self.run_tool('compare', 'a.npy', 'b.npy', '--limits=max_abs=%r' % apart)
        self.write('a.npy', npy('<i8', [1], struct.pack('<q', 2 ** 40 + 1)))
        for dtype, code in (('<i8', 'q'), ('<f8', 'd'), ('<u8', 'Q')):
            self.write('b.npy', npy(dtype, [1], struct.pack('<' + code, 2 ** 40)))
            # Integers are the same or not, unless the user says otherwise.
            self.assertIn('1099511627777 for 1099511627776',
                          self.run_tool('compare', 'a.npy', 'b.npy', expect=0 if code == 'd' else 1)[0])
            self.run_tool('compare', 'a.npy', 'b.npy', '--limits', 'default')
        # The vendor's columns are of float32.
        self.run_tool('compare', '-m', 'a.npy', '-g', 'b.npy', '-out', 'out', expect=1)
        (name,) = os.listdir(self.path('out'))
        self.assertIn(',1.000000,0.000000,', self.read('out/' + name).decode())

    def test_integers_of_the_card_are_compared_in_float64(self):
        quant = {'scheme': 'affine', 'scale': [0.5], 'zero_point': [0]}
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
            {'name': 'op', 'type': 'Op', 'inputs': [], 'outputs': [{'tensor': 'y', 'quant': quant}]}]}).encode())
        for side, number in (('mine', 2 ** 26 + 1), ('golden', 2 ** 26)):
            self.put('Op.op.0.0.1', [], [tensor(INT32, [1], struct.pack('<i', number))], side)
        (result,), _ = self.compare('--model', 'card.json', '--golden-model', 'card.json', '--limits', 'max_abs=0.4', expect=1)
        self.assertEqual((result['max_abs'], result['golden_there']), (0.5, 2 ** 25))

    def test_what_a_record_has_as_bytes_is_compared_as_what_it_was(self):
        def put(side, data, original_dtype, role='output', name='Op.op.0.0.1'):
            one = tensor(tool_case.UINT8, [len(data)], data, original=[2, 2], original_dtype=original_dtype)
            self.put(name, [one] * (role == 'input'), [one] * (role == 'output'), side)
        self.write('golden/op.output.0.npy', npy('<f4', [2, 2], floats(1, 2, 3, -2)))
        put('mine', b'\x38\x40\x44\xc0', tool_case.E4M3)
        (result,), _ = self.compare()
        self.assertEqual((result['equal'], result['mine']['dtype'], result['mine']['shape']), (4, 'float8_e4m3fn', [2, 2]))
        put('mine', b'\x38\x40\x44\x7f', tool_case.E4M3)
        (result,), _ = self.compare(expect=1)
        self.assertEqual(result['not_finite_on_one_side'], 1)
        self.run_tool('convert', '-d', 'mine', '-out', 'out')
        (name,) = os.listdir(self.path('out'))
        self.assertIn(b"'descr': '<f8'", self.read('out/' + name))
        self.write('golden/op.output.0.npy', npy('<f4', [2, 2], floats(1, 15, 2, 0)))
        put('mine', b'\xf1\x02', -1)
        (result,), _ = self.compare()
        self.assertEqual((result['equal'], result['mine']['dtype']), (4, 'uint4'))
        # Of an input the record does not tell it, and a card does.
        shutil.rmtree(self.path('golden'))
        put('mine', b'\xf1\x02', tool_case.UINT8, 'input')
        self.write('golden/op.input.0.npy', npy('<f4', [2, 2], floats(1, -1, 2, 0)))
        self.assertIn('the file does not tell its dtype', self.compare(expect=1)[1])
        for dtype, data, values in (('int4', b'\xf1\x02', (1, -1, 2, 0)),
                                    ('float8_e5m2fnuz', b'\x40\x44\xc4\x00', (1, 2, -2, 0)),
                                    ('float8_e4m3fnuz', b'\x40\x48\xc8\x00', (1, 2, -2, 0))):
            self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
                {'name': 'op', 'type': 'Op', 'inputs': [{'tensor': 'x', 'dtype': dtype, 'shape': [2, 2]}],
                 'outputs': []}]}).encode())
            put('mine', data, tool_case.UINT8, 'input')
            self.write('golden/op.input.0.npy', npy('<f4', [2, 2], floats(*values)))
            (result,), _ = self.compare('--model', 'card.json')
            self.assertEqual((result['equal'], result['mine']['dtype']), (4, dtype))

    def test_what_is_no_number_on_both_sides_is_left_out(self):
        mask = [-math.inf] * 8
        self.put('Add.mask.1.0.1', [], [one([1, 2, 3 + 1e-6] + mask + [math.nan])], 'mine')
        self.put('Add.mask.1.0.1', [], [one([1, 2, 3] + mask + [math.nan])], 'golden')
        (result,), _ = self.compare()
        self.assertEqual((result['left_out'], result['equal'], result['diverges']), (9, 11, False))
        self.assertLess(result['max_abs'], 2e-6)
        self.assertGreater(result['cosine'], 0.999)
        self.assertEqual(result['remark'], '9 elements left out, NaN or the same infinity on both sides')
        self.assertIn('1 agrees', self.run_tool('compare', 'mine', 'golden')[0])
        for odd in (math.inf, math.nan, 5):
            self.put('Add.mask.1.0.1', [], [one([1, 2, 3, odd] + mask[1:] + [math.nan])], 'mine')
            for limits in ('default', 'within_0.001=0.1', 'max_abs=1e300'):
                (result,), _ = self.compare('--limits', limits, expect=1)
                self.assertEqual((result['left_out'], result['not_finite_on_one_side']), (8, 1))
            self.assertIn('1 element NaN or infinite on one side alone',
                          self.run_tool('compare', 'mine', 'golden', '--limits', 'within_0.001=0.1', expect=1)[0])

    def test_a_card_of_one_side_alone_is_told(self):
        quant = {'scheme': 'affine', 'scale': [0.5], 'zero_point': [3]}
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
            {'name': 'op', 'type': 'Op', 'inputs': [], 'outputs': [{'tensor': 'y', 'quant': quant}]}]}).encode())
        for side in ('mine', 'golden'):
            self.put('Op.op.0.0.1', [], [tensor(tool_case.INT8, [2], b'\1\2')], side)
        for option, bare in ('--model', 'golden'), ('--golden-model', 'mine'):
            (result,), error = self.compare(option, 'card.json')
            self.assertIn(f'the integers of 1 tensor of {bare} stand for: they are taken by', error)
            self.assertIn(f"{bare}'s integers are taken by", result['remark'])
            told = json.loads(self.run_tool('why', 'mine', '-g', 'golden', option, 'card.json', '--json')[0])
            self.assertIn('1 tensor of integers taken on both sides by the card of one', str(told))
        self.put('Op.op.0.0.1', [], [tensor(tool_case.INT8, [2], b'\1\3')], 'mine')
        (result,), _ = self.compare('--model', 'card.json', expect=1)
        self.assertEqual(result['max_abs'], 0.5)
        self.put('Op.op.0.0.1', [], [tensor(tool_case.INT8, [2], b'\1\2')], 'mine')
        self.assertEqual(self.compare('--model', 'card.json', '--golden-model', 'card.json')[1], '')
        self.assertEqual(self.compare()[1], '')

    def test_integers_by_another_scale_accuse_nobody_where_no_cards_tell_both(self):
        stored = range(-100, 101, 4)

        def put(side, numbers, scale, zero):
            data = [tensor(tool_case.INT8, [len(of)], struct.pack('<%db' % len(of), *of)) for of in (stored, numbers)]
            self.put('20260131130559/0/net/1/0/Conv.conv.1.0.1', data[:1], data[1:], side)
            self.write(side + '.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
                {'name': 'conv', 'type': 'Conv', 'inputs': [{'tensor': 'x'}], 'outputs': [{'tensor': 'y', 'quant': {
                    'scheme': 'affine', 'scale': [scale], 'zero_point': [zero]}}]}]}).encode())

        def why(*cards):
            return json.loads(self.run_tool('why', 'mine', '-g', 'golden', '--json', *cards, expect=(0, 1))[0])
        put('golden', stored, 0.5, 0)
        put('mine', [round(q * 0.75) + 9 for q in stored], 0.5 / 0.75, 9)
        for cards in (), ('--model', 'mine.json'), ('--golden-model', 'golden.json'):
            told = why(*cards)
            self.assertFalse(told['certain'], told)
            self.assertIn('by another scale or zero point', told['headline'])
        both = ('--model', 'mine.json', '--golden-model', 'golden.json')
        self.assertNotIn('diverg', why(*both)['headline'])
        # What only moves numbers has its input's scale.
        for side, more in ('golden', 0), ('mine', 9):
            data = [tensor(tool_case.INT8, [len(stored)], struct.pack('<%db' % len(stored), *(q + by for q in stored))) for by in (0, more)]
            self.put('20260131130559/0/net/1/0/Pad.conv.1.0.1', data[:1], data[1:], side)
        self.assertEqual(why()['certain'], True)
        for side in ('golden', 'mine'):
            os.remove(self.path(side, '20260131130559/0/net/1/0/Pad.conv.1.0.1'))
        put('mine', [round(q * 0.75) + 9 + 40 * (q == 20) for q in stored], 0.5 / 0.75, 9)
        for cards in (), both:
            self.assertTrue(why(*cards)['certain'])

    def test_inputs_without_elements_are_those_that_were_written_or_are_not_known(self):
        """An operator that works in place leaves none: what it has read is what the one before it has written."""
        ramp = [math.sin(i) for i in range(24)]
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
            {'name': name, 'type': kind, 'inputs': [{'tensor': read}], 'outputs': [{'tensor': written}]}
            for name, kind, read, written in (('norm', 'RmsNorm', 'x', 'n'), ('mul', 'Mul', 'n', 'y'))]}).encode())

        def put(side, noise, factor):
            n = [number * (1 + noise * (-1) ** i) for i, number in enumerate(ramp)]
            for i, (kind, read, written) in enumerate((('RmsNorm.norm', [one(ramp)], n),
                                                       ('Mul.mul', [tensor(tool_case.FLOAT, [0], b'')], [2 * v * factor for v in n]))):
                self.put(f'20260131130559/0/net/1/0/{kind}.{i}.0.{i + 1}', read, [one(written)], side)

        def why(*arguments):
            return json.loads(self.run_tool('why', 'mine', '-g', 'golden', '--json', *arguments, expect=(0, 1))[0])
        cards = ('--model', 'card.json', '--golden-model', 'card.json')
        put('golden', 0, 1)
        put('mine', 0.06, 1)
        told = why(*cards)
        self.assertEqual(told['op'], 'norm', told)
        self.assertNotEqual(why()['op'], 'mul')
        put('mine', 0, 1.1)
        told = why(*cards)
        self.assertEqual((told['op'], told['certain']), ('mul', True), told)
        self.assertIn('its input agrees', told['headline'])
        told = why()
        self.assertEqual((told['op'], told['certain']), ('mul', False), told)
        self.assertIn('without its inputs in both dumps it may be a victim', told['headline'])

    def test_what_only_moves_elements_and_changes_one_is_named_within_the_limits(self):
        ramp = [math.sin(i) for i in range(500)]
        for kind, changed, certain in ('Reshape', ramp[:100] + [-0.4] + ramp[101:], True), ('Tanh', ramp[:100] + [-0.4] + ramp[101:], False):
            for side, out in ('golden', ramp), ('mine', changed):
                shutil.rmtree(self.path(side), ignore_errors=True)
                self.put(f'20260131130559/0/net/1/0/{kind}.op.1.0.1', [one(ramp)], [one(out)], side)
            told = json.loads(self.run_tool('why', 'mine', '-g', 'golden', '--json', expect=(0, 1))[0])
            self.assertEqual((told['certain'], told.get('op')), (certain, 'op' if certain else None), told)

    def test_a_constant_that_no_rounding_makes_is_named_within_the_limits(self):
        ramp = [math.sin(i) for i in range(2000)]

        def put(side, weight):
            for i in range(4):
                weights = [weight if j == 7 and i == 2 else v for j, v in enumerate(ramp)]
                out = [a * b for a, b in zip(ramp, weights)]
                self.put(f'20260131130559/0/net/1/0/MatMul.fc{i}.{i}.0.{i + 1}', [one(ramp), one(weights)], [one(out)], side)
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
            {'name': f'fc{i}', 'type': 'MatMul', 'inputs': [{'tensor': f'x{i}'}, {'tensor': 'w', 'constant': True}],
             'outputs': [{'tensor': f'y{i}'}]} for i in range(4)]}).encode())
        put('golden', ramp[7])
        for weight, certain in (-ramp[7], True), (ramp[7] * (1 + 1e-5), False):
            put('mine', weight)
            told = json.loads(self.run_tool('why', 'mine', '-g', 'golden', '--model', 'card.json', '--golden-model', 'card.json',
                                            '--json', expect=(0, 1))[0])
            self.assertEqual((told['certain'], told.get('op')), (certain, 'fc2' if certain else None), told)
            self.assertIn('its constant input 1 is ' + ('another' if certain else 'not equal'), str(told))

    def test_operators_of_one_name_are_told_apart_by_task_and_type(self):
        def card(*ops):
            self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
                dict(name='SVDF', type=kind, inputs=[], outputs=[{'tensor': 'y', 'quant': {
                    'scheme': 'affine', 'scale': [scale], 'zero_point': [0]}}], **({} if task is None else {'task_id': task}))
                for kind, task, scale in ops]}).encode())
        for task in (1, 2):
            for side, dtype, code in (('mine', tool_case.INT8, 'b'), ('golden', FLOAT, 'f')):
                scale = 1 if side == 'mine' else (0.5, 0.25)[task - 1]
                self.put('SVDF.SVDF.%d.0.%d' % (task, task), [], [one([4 * scale, 8 * scale] if code == 'f' else [4, 8], dtype, code)], side)
        card(('SVDF', 1, 0.5), ('SVDF', 2, 0.25))
        results, error = self.compare('--model', 'card.json')
        self.assertEqual(([r['equal'] for r in results], error), ([2, 2], ''))
        shown = self.run_tool('show', 'mine', '--model', 'card.json')[0]
        self.assertIn('max 4', shown.replace('  ', ' '))
        self.assertIn('scale 0.25', shown)
        # The type tells them apart as well.
        self.put('Add.SVDF.65535.0.3', [], [one([4, 8], tool_case.INT8, 'b')], 'mine')
        self.put('Add.SVDF.65535.0.3', [], [one([1, 2])], 'golden')
        card(('SVDF', 1, 0.5), ('SVDF', 2, 0.25), ('Add', None, 0.25))
        self.assertEqual([r['equal'] for r in self.compare('--model', 'card.json')[0]], [2, 2, 2])
        # Where neither does, nothing of the card is used.
        card(('SVDF', None, 0.5), ('SVDF', None, 0.25), ('Add', None, 0.25))
        results, error = self.compare('--model', 'card.json', expect=1)
        self.assertIn('ambiguous: several operators of the card may be that of 2 tensors of mine', error)
        self.assertEqual(sorted(r['equal'] for r in results), [0, 0, 2])
        shown = self.run_tool('show', 'mine', '--model', 'card.json')[0]
        self.assertEqual(shown.count('ambiguous: several operators of the card may be this one'), 2)
        self.assertEqual(shown.count('scale'), 1)

    def test_a_result_replaces_no_other(self):
        self.write('a.npy', npy('<f4', [1], floats(1)))
        told = [self.run_tool('compare', 'a.npy', 'a.npy', '-out', 'rs')[1].strip() for _ in range(5)]
        for path in told:
            self.assertRegex(path, r'^rs/result_\d{14}\.csv$')
        self.assertEqual(sorted(told), sorted('rs/' + name for name in os.listdir(self.path('rs'))))
        self.assertEqual(len(set(self.read(path) for path in told)), 1)

    def test_addresses_go_where_a_side_is_arrays(self):
        self.put('Add.add.4.0.%016d' % 10, [], [one([1])], 'mine')
        self.write('golden/add.0.1589195081588018.npy', npy('<f4', [1], floats(1)))
        self.assertEqual(self.csv()[0], HEADER[:7] + HEADER[8:])

    def test_steps_go_together(self):
        for side, time in (('mine', '20260131130559'), ('golden', '20260201000000')):
            for step in range(3):
                self.put('%s/0/net/1/%d/Add.add.4.0.%016d' % (time, step, 100 - step), [],
                         [one([step + (side == 'mine' and step == 1)])], side)
        results, _ = self.compare(expect=1)
        self.assertEqual({(r['place'], r['max_abs']) for r in results}, {('net/0', 0), ('net/1', 1), ('net/2', 0)})

    def test_a_golden_array_serves_every_step(self):
        for step in range(3):
            self.put('20260131130559/0/net/1/%d/Add.add.4.0.%016d' % (step, step), [], [one([1])], 'mine')
        self.write('golden/add.0.1589195081588018.npy', npy('<f4', [1], floats(1)))
        self.assertEqual([r['cosine'] for r in self.compare()[0]], [1, 1, 1])

    def test_runs_of_one_operator_go_together_in_turn(self):
        for turn in range(3):
            self.put('Add.add.4.0.%016d' % (10 + turn), [], [one([turn])], 'mine')
            self.put('Add.add.4.0.%016d' % (20 + turn), [], [one([turn])], 'golden')
        self.assertEqual([r['max_abs'] for r in self.compare()[0]], [0, 0, 0])
        self.put('Add.add.4.0.%016d' % 13, [], [one([3])], 'mine')
        results, error = self.compare(expect=1)
        self.assertIn("there is no output 0 of operator 'add' in the golden dump", error)
        self.assertEqual(sum('problem' in r for r in results), 1)

    def test_fused_operators_go_by_their_original_names(self):
        self.put('Conv2D.conv1_relu.3.0.%016d' % 1, [], [one([1, 2], name=b'net/relu:x')], 'mine')
        self.write('golden/net_relu:x.0.1589195081588018.npy', npy('<f4', [2], floats(1, 2)))
        self.assertEqual([r['equal'] for r in self.compare()[0]], [2])

    def test_file_names_of_arrays(self):
        for name in ('TYPE.op.1.0.1589195081588018.output.1.npy', 'TYPE.op.1.0.1589195081588018.output.1.NCHW.npy',
                     'op.1.1589195081588018.npy', 'op.output.1.npy'):
            with self.subTest(name):
                self.put('TYPE.op.1.0.%016d' % 7, [], [one([1]), one([5])], 'mine')
                path = self.write('golden/' + name, npy('<f4', [1], floats(5)))
                results, _ = self.compare(expect=1)
                self.assertEqual([r.get('equal') for r in results], [None, 1])
                os.remove(path)

    def test_dtypes_meet_by_their_numbers(self):
        self.put('A.op.1.0.%016d' % 7, [one([-1, 7], INT32, 'i'), one([1, 0], BOOL, '?')],
                 [one([0x3f80, 0x4000], BF16, 'H'), tensor(INT4, [2], b'\xf7'), one([1, 2, 3, 4], COMPLEX64, 'f')],
                 'mine')
        for index, (role, values) in enumerate([('input.0', (-1, 7)), ('input.1', (1, 0)), ('output.0', (1, 2)),
                                                ('output.1', (7, -1))]):
            self.write('golden/op.%s.npy' % role, npy('<f8', [2], struct.pack('<2d', *values)))
        self.write('golden/op.output.2.npy', npy('<f4', [4], floats(1, 3, 0, 0)))
        results, error = self.compare(expect=1)
        self.assertEqual([r.get('equal') for r in results], [2, 2, 2, 2, None])
        self.assertIn('op:output:2', error)
        self.assertTrue(all('max_ulp' not in r for r in results))

    def test_what_cannot_be_compared_is_told(self):
        self.put('A.op.1.0.%016d' % 7, [one([1, 2]), tensor(STRING, [1], b'x')], [one([1])], 'mine')
        self.put('A.op.1.0.%016d' % 8, [one([1, 2, 3]), tensor(STRING, [1], b'x')], [one([1])], 'golden')
        self.put('A.extra.1.0.%016d' % 9, [], [one([1])], 'golden')
        results, error = self.compare(expect=1)
        self.assertIn('op:input:0: the shapes differ: mine [2], golden [3]', error)
        self.assertIn('op:input:1: mine: elements of string are no numbers', error)
        self.assertNotIn('extra', error)
        self.assertEqual([r['problem'] for r in results if r['mine'] is None],
                         ["there is no output 0 of operator 'extra' in my dump"])
        out, _ = self.run_tool('compare', '-m', 'mine', '-g', 'golden', expect=1)
        self.assertEqual(out.splitlines()[0],
                         '1 tensor compared: 1 equal, 0 diverging, 2 not comparable, 1 only golden')
        rows = self.csv(expect=1)
        self.assertEqual([row[10] for row in rows[1:]], ['NaN', 'NaN', '1.000000', 'NaN'])

    def test_summary_ranks_the_worst_and_names_the_first(self):
        for number, (op, error) in enumerate([('a', 0), ('b', 0.2), ('c', 3), ('d', 0.001)]):
            self.put('T.%s.%d.0.%016d' % (op, number, number + 1), [], [one([1, 1, 1 + error])], 'mine')
            self.put('T.%s.%d.0.%016d' % (op, number, number + 5), [], [one([1, 1, 1])], 'golden')
        out, _ = self.run_tool('compare', '-m', 'mine', '-g', 'golden', expect=1)
        self.golden('compare.txt', out)
        self.run_tool('compare', '-m', 'mine', '-g', 'golden', '--fail-under', 'cosine=0.99', expect=1)
        self.run_tool('compare', '-m', 'mine', '-g', 'golden', '--fail-under', 'cosine=0.5,max_abs=3')
        self.run_tool('compare', '-m', 'mine', '-g', 'golden', '--fail-under', 'max_abs=2.9', expect=1)
        self.run_tool('compare', '-m', 'mine', '-g', 'golden', '--fail-under', 'max_abs=0.3', '--op', '[ab]')

    def test_nan_keeps_no_limit(self):
        self.put('T.a.1.0.%016d' % 1, [], [one([1, math.nan])], 'mine')
        self.put('T.a.1.0.%016d' % 1, [], [one([1, 2])], 'golden')
        results, _ = self.compare(expect=1)
        self.assertEqual((results[0]['cosine'], results[0]['diverges'], results[0]['equal']), ('nan', True, 1))
        self.compare('--fail-under', 'max_abs=1e30', expect=1)

    def test_nan_here_alone_is_told_without_its_sign(self):
        self.put('T.a.1.0.%016d' % 1, [], [one([1, 2, 3])], 'golden')
        for nan in (0x7fc00000, 0xffc00000):
            self.put('T.a.1.0.%016d' % 1, [], [tensor(FLOAT, [3], struct.pack('<2fI', 1, 2, nan))], 'mine')
            out, _ = self.run_tool('compare', '-m', 'mine', '-g', 'golden', expect=1)
            self.assertIn('first diverging operator: T "a", not certain: output 0 does not (cosine nan < 0.99, euclid nan > 0.05, '
                          '1 NaN and 0 Inf for 0 NaN and 0 Inf)', out)

    def test_another_dtype_is_told_also_where_it_agrees(self):
        for side, dtype, code in (('mine', FLOAT16, 'e'), ('golden', FLOAT, 'f')):
            self.put('T.a.1.0.%016d' % 1, [one([1, 2])], [one([1, 2], dtype, code)], side)
        out, _ = self.run_tool('compare', '-m', 'mine', '-g', 'golden')
        self.assertIn('another dtype in 1 operator, first T "a": output 0 is float16 for float32\n', out)
        report = json.loads(self.run_tool('compare', '-m', 'mine', '-g', 'golden', '--json')[0])
        self.assertEqual([(op['verdict'], op['evidence']) for op in report['ops']], [('agrees', 'output 0 is float16 for float32')])

    def test_what_is_equal_keeps_every_limit(self):
        for side in ('mine', 'golden'):
            self.put('T.a.1.0.%016d' % 1, [], [one([1, math.nan, math.inf])], side)
        results, _ = self.compare('--fail-under', 'cosine=0.99')
        self.assertEqual((results[0]['cosine'], results[0]['diverges'], results[0]['equal']), (1, False, 3))

    def test_memory_does_not_grow_with_the_files(self):
        self.skip_under_sanitizers()
        # No page begins with an element, and what the kernel maps around those that are read belongs to others.
        count = 32 << 20
        for side in ('mine', 'golden'):
            self.put('T.a.1.0.%016d' % 1, [], [tensor(BF16, [count], b'\0\1\2\3' * (count // 2))], side)
        self.assertIn(self.peak_kib('compare', '-m', 'mine', '-g', 'golden'), range(1, 16 << 10))

    def test_large_tensors_are_the_same_on_every_number_of_cores(self):
        count = 600000
        self.write('a.npy', npy('<f4', [count], floats(*([1.0] * (count - 1) + [2.0]))))
        self.write('b.npy', npy('<f4', [count], floats(*([1.0] * count))))
        outs = set()
        for cores in ({0}, set(os.sched_getaffinity(0))):
            outs.add(self.run_tool('compare', '-m', 'a.npy', '-g', 'b.npy', '--json', '-alg', 'max_abs,within_0.005,q99_abs,not_close',
                                   preexec_fn=lambda cores=cores: os.sched_setaffinity(0, cores)
                                   if cores <= os.sched_getaffinity(0) else None)[0])
        (text,) = outs
        tensor_report, = json.loads(text)['tensors']
        self.assertEqual(tensor_report['max_abs_at'], [count - 1])
        self.assertEqual([tensor_report[key] for key in ('within_0.005', 'q99_abs', 'not_close')], [1 - 1 / count, 0, 1])

    def place(self, side, shape, values, fmt, original):
        self.put('T.a.1.0.%016d' % 1, [], [tensor(FLOAT, list(shape), floats(*values), fmt=fmt, original=original)],
                 side)

    def test_device_formats_are_restored_first(self):
        dims = [2, 19, 3, 5]
        values = [float(i % 251) + 1 for i in range(math.prod(dims))]
        matrix = [3, 35, 20]
        cells = [float(i % 241) + 1 for i in range(math.prod(matrix))]
        blocked, blocks = nc1hwc0(values, dims)
        _, dirty = nc1hwc0(values, dims, padding=99)
        fractal, fractals = fractal_nz(cells, matrix)
        last = [2, 3, 5, 19]
        for mine, golden, restored in (
                ((blocked, blocks, NC1HWC0, dims), (dims, values, NCHW, dims), dims),
                ((dims, values, NCHW, dims), (blocked, blocks, NC1HWC0, dims), dims),
                ((blocked, blocks, NC1HWC0, dims), (blocked, dirty, NC1HWC0, dims), dims),
                ((blocked, blocks, NC1HWC0, dims), (last, nhwc(values, dims), NHWC, last), last),
                ((last, nhwc(values, dims), NHWC, last), (dims, values, NCHW, dims), dims),
                ((fractal, fractals, FRACTAL_NZ, matrix), (matrix, cells, tool_case.ND, matrix), matrix)):
            for wrong in (False, True):
                with self.subTest(mine=mine[2], golden=golden[2], wrong=wrong):
                    self.place('mine', *mine)
                    golden_values = list(golden[1])
                    if wrong:
                        golden_values[golden_values.index(7.0)] = 8.0
                    self.place('golden', golden[0], golden_values, *golden[2:])
                    (result,), _ = self.compare()
                    self.assertEqual((result['elements'], result['equal']),
                                     (math.prod(restored), math.prod(restored) - wrong))
                    self.assertEqual(result.get('compared_shape', result['mine']['shape']), restored)
                    if wrong:
                        at = 0
                        for dim, index in zip(restored, result['max_abs_at']):
                            at = at * dim + index
                        ours = nhwc(values, dims) if restored == last else cells if restored == matrix else values
                        self.assertEqual((ours[at], result['mine_there'], result['golden_there']), (7, 7, 8))

    def test_device_formats_follow_the_dims_of_an_array(self):
        dims = [2, 19, 3, 5]
        values = [float(i) for i in range(math.prod(dims))]
        self.place('mine', *nc1hwc0(values, dims), NC1HWC0, dims)
        for shape, ordered in ((dims, values), ([2, 3, 5, 19], nhwc(values, dims))):
            self.write('golden/a.output.0.npy', npy('<f4', shape, floats(*ordered)))
            (result,), _ = self.compare()
            self.assertEqual((result['equal'], result['compared_shape']), (len(values), shape))
        self.write('golden/a.output.0.npy', npy('<f4', [2, 19, 15, 1, 1, 2], floats(*values, *values)))
        (result,), _ = self.compare(expect=1)
        self.assertEqual(result['problem'], 'the shapes differ: mine NC1HWC0 [2,2,3,5,16] of [2,19,3,5], '
                                            'golden [2,19,15,1,1,2]')

    def test_what_cannot_be_restored_is_compared_with_its_padding(self):
        blocked, blocks = nc1hwc0([1.0] * 19, [1, 19, 1, 1])
        for side in ('mine', 'golden'):
            self.place(side, blocked, blocks, NC1HWC0, [1, 40, 1, 1])
        (result,), _ = self.compare()
        self.assertEqual((result['elements'], result['equal']), (32, 32))
        self.assertIn('compared with its padding: NC1HWC0 [1,2,1,1,16] of [1,40,1,1]', result['remark'])
        self.assertEqual(self.csv()[1][-1].split(':')[0], 'compared with its padding')

    def test_a_large_tensor_is_restored_in_windows(self):
        dims = [1, 17, 200, 300]
        values = [float(i % 65521) for i in range(math.prod(dims))]
        self.place('mine', *nc1hwc0(values, dims), NC1HWC0, dims)
        self.place('golden', dims, values, NCHW, dims)
        (result,), _ = self.compare()
        self.assertEqual((result['elements'], result['equal']), (len(values), len(values)))

    def test_usage(self):
        for arguments, reason in (([], "'-m MINE' is missing"), (['-m', 'x'], "'-g GOLDEN' is missing"),
                                  (['-m', 'x', '-g', 'y', 'z'], "'z' has no meaning"),
                                  (['-m', 'x', '-g', 'y', '-alg', '10'], "there is no measure '10'"),
                                  (['-m', 'x', '-g', 'y', '--fail-under', 'std=1'], "'std=1' is no limit"),
                                  (['-m', 'x', '-g', 'y', '--limits', 'cann,cosine=0.5'],
                                   "'cann' is a set of limits, which stands alone"),
                                  (['-m', 'x', '-g', 'y', '--limits', 'cosine=0.5,default'],
                                   "'default' is a set of limits, which stands alone"),
                                  (['-m', 'x', '-g', 'y', '--fail-under', 'cosine=a'], "'a' in 'cosine=a'")):
            self.assertIn(reason, self.run_tool('compare', *arguments, expect=2)[1])
        self.assertIn('exit status', self.run_tool('compare', '--help')[0])
        self.assertIn('No such file', self.run_tool('compare', '-m', 'x', '-g', 'y', expect=1)[1])

    def test_hostile_files_are_errors(self):
        good = record([], [one([1, 2, 3])])
        self.write('golden/T.a.1.0.%016d' % 1, good)
        self.put('T.b.1.0.%016d' % 1, [], [one([1])], 'golden')
        self.put('T.b.1.0.%016d' % 1, [], [one([1])], 'mine')
        for cut in range(len(good)):
            self.write('mine/T.a.1.0.%016d' % 1, good[:cut])
            results, _ = self.compare(expect=1)
            self.assertIn(1, [r.get('equal') for r in results])

    def test_the_error_in_units_of_the_expected_one(self):
        exact = struct.unpack('<64f', floats(*[1 / (k + 3) for k in range(64)]))
        half = [struct.unpack('<e', struct.pack('<e', x))[0] for x in exact]
        expected = math.sqrt(sum((a - b) ** 2 for a, b in zip(half, exact)) / 64)
        self.write('golden/op.0.1.npy', npy('<f4', [64], floats(*exact)))
        self.write('good/op.0.1.npy', npy('<f2', [64], struct.pack('<64e', *half)))
        for factor, bad in ((2, False), (6, True)):
            mine = [a + factor * expected * (-1) ** k for k, a in enumerate(exact)]
            self.write('mine/op.0.1.npy', npy('<f4', [64], floats(*mine)))
            (tensor,), _ = self.compare('-e', 'good', '-alg', 'by_expected,rmse', expect=1 if bad else 0)
            self.assertAlmostEqual(tensor['expected_rmse'] / expected, 1, 4)
            self.assertAlmostEqual(tensor['by_expected'], factor, 2)
            self.assertEqual(tensor['diverges'], bad)
            self.compare('-e', 'good', '--limits', 'by_expected=%d' % (factor + 1))
            self.compare('-e', 'good', '--limits', 'by_expected=%d' % (factor - 1), expect=1)
        self.assertRegex(self.run_tool('compare', 'mine', 'golden', '-e', 'good', expect=1)[0], r'by_expected (6|5\.99+\d*) > 4')

    def test_golden_rounded_to_my_dtype_is_what_is_expected(self):
        numbers = struct.unpack('<64f', floats(*[1 / (k + 3) for k in range(63)], 1e-7))
        halves = struct.pack('<64e', *numbers)
        expected = math.sqrt(sum((a - b) ** 2 for a, b in zip(struct.unpack('<64e', halves), numbers)) / 64)
        self.write('golden/op.0.1.npy', npy('<f4', [64], floats(*numbers)))
        self.write('mine/op.0.1.npy', npy('<f2', [64], halves))
        (tensor,), _ = self.compare('--expected', 'rounded', '-alg', 'by_expected')
        self.assertAlmostEqual(tensor['expected_rmse'] / expected, 1, 4)
        self.assertAlmostEqual(tensor['by_expected'], 1, 4)
        bits = [struct.unpack('<I', struct.pack('<f', tool_case.rounded_to_bfloat16(x)))[0] >> 16 for x in numbers]
        os.remove(self.path('mine/op.0.1.npy'))
        self.write('mine/Op.op.0.0.1', record([], [tool_case.tensor(BF16, [64], struct.pack('<64H', *bits))]))
        (tensor,), _ = self.compare('--expected', 'rounded', '-alg', 'by_expected')
        self.assertAlmostEqual(tensor['by_expected'], 1, 4)

    def test_golden_rounded_to_integers_by_the_scales_of_the_card(self):
        numbers = [math.sin(k) * (1 + k % 2) for k in range(64)]  # two channels; the second one saturates
        quant = {'scheme': 'affine', 'axis': 1, 'scale': [0.01, 0.0125], 'zero_point': [3, -7]}
        scales, zeros = (struct.unpack('<2f', floats(*quant['scale'])), quant['zero_point'])
        stored = [min(max(round(x / scales[k % 2]) + zeros[k % 2], -128), 127) for k, x in enumerate(numbers)]
        real = [scales[k % 2] * (q - zeros[k % 2]) for k, q in enumerate(stored)]
        expected = math.sqrt(sum((a - b) ** 2 for a, b in zip(real, numbers)) / 64)
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
            {'name': 'op', 'type': 'Op', 'inputs': [], 'outputs': [{'tensor': 'y', 'quant': quant}]}]}).encode())
        self.write('golden/op.0.1.npy', npy('<f4', [32, 2], floats(*numbers)))
        for shift, by in ((0, 1), (2, None)):
            self.write('mine/Op.op.0.0.1', record([], [tool_case.tensor(tool_case.INT8, [32, 2], struct.pack(
                '<64b', *(max(q - shift, -128) for q in stored)))]))
            (tensor,), _ = self.compare('--expected', 'rounded', '--model', 'card.json', '-alg', 'by_expected', expect=(0, 1))
            self.assertAlmostEqual(tensor['expected_rmse'] / expected, 1, 4)
            if by:
                self.assertAlmostEqual(tensor['by_expected'], by, 4)

    def test_without_an_expected_error_the_usual_limits_count(self):
        self.write('golden/op.0.1.npy', npy('<f4', [4], floats(1, 2, 3, 4)))
        self.write('mine/op.0.1.npy', npy('<f4', [4], floats(1, 2, 3, 4.001)))
        self.write('good/op.0.1.npy', npy('<f4', [4], floats(1, 2, 3, 4)))
        self.compare('-e', 'good')
        self.compare('-e', 'rounded')
        self.write('mine/op.0.1.npy', npy('<f4', [4], floats(1, 2, 3, 8)))
        self.compare('-e', 'good', expect=1)
        self.compare('-e', 'rounded', expect=1)
        self.assertIn("'by_expected' needs '--expected PATH'",
                      self.run_tool('compare', 'mine', 'golden', '--limits', 'by_expected=3', expect=2)[1])
        self.assertIn('gone: No such file', self.run_tool('compare', 'mine', 'golden', '-e', 'gone', expect=1)[1])

    CANN_TITLES = ('Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,'
                   'Negative Inf Count,Positive Inf Count\n')

    def put_statistics(self, side, *cells, name='Relu.op.0.0.1589195081588018', shape='4'):
        self.write('%s/%s.csv' % (side, name),
                   self.CANN_TITLES + 'Output,0,16,DT_FLOAT,ND,%s,%s\n' % (shape, ','.join(map(str, cells))))

    def test_devices_are_told_apart_and_runs_are_not_mixed(self):
        for side, times in (('mine', (1000, 2000)), ('golden', (2000, 1000))):
            for device in (0, 1):
                self.write('%s/20260131130559/%d/net/1/0/Relu.r.0.0.%d.output.0.npy' % (side, device, times[device]),
                           npy('<f4', [1], floats(device)))
        self.assertEqual(len(self.compare()[0]), 2)
        self.run_tool('diff', 'mine', 'golden')
        one = 'golden/20260131130559/0'
        self.assertIn('mine is of several devices, and the golden dump of one: name the directory of one',
                      self.run_tool('compare', 'mine', one, expect=1)[1])
        for command in (('diff',), ('diff', '--any-model'), ('verify', '--observer')):
            self.assertIn('mine is of several devices, and %s of one: name the directory of one' % one,
                          self.run_tool(*command, 'mine', one, expect=2)[1])
        for step in (0, 1):
            self.write('steps/%d/2026013113055%d/0/net/1/0/Relu.r.0.0.%d.output.0.npy' % (step, step, 1000 + step),
                       npy('<f4', [1], floats(0)))
        self.assertNotIn('several runs', self.run_tool('compare', 'steps', one, expect=1)[1])
        self.write('mine/20260131150000/1/net/1/0/Relu.r.0.0.3000.output.0.npy', npy('<f4', [1], floats(7)))
        for command in (('compare', 'mine', 'golden'), ('diff', 'mine', 'golden'), ('why', 'mine', '-g', 'golden'), ('edges', 'mine')):
            self.assertIn('mine: several runs of net on device 1/0, as in mine/20260131130559/1 and mine/20260131150000/1: '
                          'name the directory of one', ''.join(self.run_tool(*command, expect=(1, 3))))

    def test_models_of_one_name_are_told_apart(self):
        def put(side, ids, type_name='Mul'):
            for number, value in ids.items():
                self.write('%s/20260131130559/0/net/%d/0/%s.m.0.0.1000.output.0.npy' % (side, number, type_name),
                           npy('<f4', [2], floats(value, value)))

        put('mine', {1: 2, 2: 3})
        put('golden', {1: 2, 2: 3})
        self.assertEqual(len(self.compare()[0]), 2)
        put('golden', {1: 3, 2: 2})
        told = json.loads(self.run_tool('why', 'mine', '-g', 'golden', '--json', expect=1)[0])
        self.assertEqual((told['certain'], told['cause']), (False, 'ambiguous'), told)
        one = 'golden/20260131130559/0/net/1'
        self.assertIn('mine has several models of one name, and the golden dump one: name the directory of one',
                      self.run_tool('compare', 'mine', one, expect=1)[1])
        for side in ('a', 'b'):  # of equal names and times, and of two types
            put(side, {1: 1}, 'Mul')
            put(side, {1: 1}, 'Add')
        self.assertIn('2 operators: 2 agree', self.run_tool('compare', 'a', 'b')[0])
        put('graphs', {1: 1, 2: 2})  # of operators of their own
        os.rename(self.path('graphs/20260131130559/0/net/2/0/Mul.m.0.0.1000.output.0.npy'),
                  self.path('graphs/20260131130559/0/net/2/0/Mul.n.0.0.1000.output.0.npy'))
        self.assertIn('1 equal, 0 diverging, 1 without', self.run_tool('compare', 'graphs', 'graphs/20260131130559/0/net/1', expect=1)[0])

    def test_steps_are_chosen_as_by_the_other_commands(self):
        for side in ('mine', 'golden'):
            for step in range(4):
                self.write('%s/20260131130559/0/net/1/%d/Relu.r.0.0.%d.output.0.npy' % (side, step, 1000 + step),
                           npy('<f4', [1], floats(step if side == 'golden' or step != 2 else 9)))
        for steps, count, status in (('0-1', 2, 0), ('0,3', 2, 0), ('0|3', 2, 0), ('2', 1, 1), ('1-9', 3, 1)):
            out = self.run_tool('compare', 'mine', 'golden', '--step', steps, expect=status)[0]
            self.assertIn('%d tensor%s compared' % (count, 's' if count > 1 else ''), out)
            self.run_tool('why', 'mine', '-g', 'golden', '--step', steps, expect=status)
        self.run_tool('why', 'mine', '--step', '3')
        self.assertIn('mine: there is no tensor to compare at steps 7', self.run_tool('compare', 'mine', 'golden', '--step', '7', expect=1)[1])
        for command in ('compare', 'why'):
            self.assertIn("'--step x': 'x' is no step", self.run_tool(command, 'mine', '-g', 'golden', '--step', 'x', expect=2)[1])
            self.assertIn('--step STEPS', self.run_tool(command, '--help')[0])

    def test_what_is_said_to_differ_is_printed_so(self):
        def put(side, value, descr='<f4', model='net', role='output'):
            self.write('%s/20260131130559/0/%s/1/0/Add.m.0.0.1000.%s.0.npy' % (side, model, role), npy(descr, [1], value))

        for model in ('net_a', 'net_b'):
            put('mine', floats(1), model=model)
        put('golden', floats(1), model='c')
        self.assertIn("'m' is at 'net_a/0', 'net_b/0', and the golden one at 'c/0'", self.run_tool('compare', 'mine', 'golden', expect=1)[1])
        put('a', floats(1), role='input')
        put('b', floats(1))
        self.assertIn("the role and index of a golden one of 'm'", self.run_tool('compare', 'a', 'b', expect=1)[1])
        for descr, code, values, said in (('<f4', '<f', (1.0000001, 1), r'1\.0000001\d* for 1\b'), ('<u8', '<Q', (2 ** 63 + 1, 2 ** 63), ', 1 apart'),
                                          ('<c8', '<2f', ((1, 1), (1, -1)), ', 2 apart')):
            for side, value in zip('cd', values):
                put(side, struct.pack(code, *(value if isinstance(value, tuple) else (value,))), descr)
            for command in (('compare', 'c', 'd'), ('why', 'c', '-g', 'd')):
                self.assertRegex(self.run_tool(*command, '--limits', 'max_abs=0', expect=1)[0], said)
        self.assertRegex(self.run_tool('compare', 'c', 'd', '--limits', 'max_abs=1.9999999', expect=1)[0], r'max_abs 2 > 1\.9999999')
        card = self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'ops': [{'name': 'other', 'type': 'Add'}]}))
        self.assertIn('the card that is named has no operator of mine', self.run_tool('compare', 'c', 'c', '--model', card)[1])

    def test_the_byte_order_mark_of_a_mapping_and_files_that_nothing_reads(self):
        name = 'Relu.op.0.0.1589195081588018.output.0.npy'
        self.write('mine/mapping.csv', '\ufeff123,' + name + '\n')
        self.write('mine/123', npy('<f4', [1], floats(1)))
        self.write('golden/' + name, npy('<f4', [1], floats(1)))
        self.write('golden/statistic.csv', 'Op Type;Op Name\n')
        self.assertIn('1 equal', self.run_tool('compare', 'mine', 'golden')[0])
        self.assertIn('golden/statistic.csv: passed over', self.run_tool('compare', 'mine', 'golden')[1])

    def test_the_dtype_in_the_name_of_an_array_counts(self):
        name = 'Relu.r.0.0.1589195081588018.output.0.ND.float8_e4m3fn.npy'
        self.write('mine/' + name, npy('|u1', [4], bytes([0x38, 0x40, 0x44, 0x48])))
        self.write('golden/Relu.r.0.0.1589195081588018.output.0.npy', npy('<f4', [2, 2], floats(1, 2, 3, 4)))
        self.assertEqual(self.compare()[0][0]['max_abs'], 0)
        self.assertIn('min 1  max 4', self.run_tool('show', 'mine')[0])

    def test_statistics_of_both_sides(self):
        self.put_statistics('golden', 4, 0, 2, 4, 0, 0, 0)
        for cells, distance in (((4, 0, 2), 0), ((4.1, 0, 2), 0.025), ((4, -1, 2), 0.25), ((4, 0, 3), 0.25)):
            self.put_statistics('mine', *cells, 4, 0, 0, 0)
            (tensor,), _ = self.compare(expect=1 if distance > 0.05 else 0)
            self.assertAlmostEqual(tensor['statistics'], distance, 6)
            self.assertEqual((tensor['diverges'], tensor['equal'], tensor['cosine']), (distance > 0.05, 0, 'nan'))
            self.assertIn('by statistics alone', tensor['remark'])
        self.compare('--limits', 'cosine=0.9,statistics=0.3')
        self.compare('--limits', 'cosine=0.9', expect=1)
        out, _ = self.run_tool('compare', 'mine', 'golden', expect=1)
        self.assertIn('1 tensor only by statistics', out)
        self.assertIn('operator "op" (statistics 0.25 > 0.05)'.split('(')[1], out)

    def put_chain(self, side, *tensors):
        """Operators one behind the other: of each its type, and of its input and output dtype, greatest, least, mean, NaNs."""
        for i, (kind, *rows) in enumerate(tensors):
            lines = ''.join('%s,0,16,DT_%s,ND,%s,%s,%s,%s,%s,%s,0,0\n' % (role, dtype, shape, *cells[:3], shape, cells[3]) for role, (dtype, shape, *cells)
                            in zip(('Input', 'Output'), rows))
            self.write(f'{side}/20260131130559/0/net/1/0/{kind}.op{i}.0.0.{i + 1}.csv', self.CANN_TITLES + lines)

    def why(self, *arguments):
        return json.loads(self.run_tool('why', 'mine', '-g', 'golden', '--json', *arguments, expect=(0, 1))[0])

    def test_statistics_alone_prove_little_of_inputs(self):
        def row(*cells, dtype='FLOAT'):
            return (dtype, 4, *cells)
        relu, conv = ('Relu', row(4, -4, 0, 0), row(4, 0, 1, 0)), ('Conv2D', row(4, 0, 1, 0), row(8, -8, 0, 0))
        # Behind operators that are equal, the first one that is not is told, too.
        self.put_chain('golden', relu, relu, relu, relu, conv)
        self.put_chain('mine', relu, relu, relu, (*relu[:2], row(4, 0, 1.01, 0)), (conv[0], row(4, 0, 1.01, 0), row(19, -9, 0.5, 0)))
        told = self.why()
        self.assertEqual((told['op'], told['certain']), ('op4', False))
        self.assertIn('below the limits, first unequal operator: Relu "op3"', told['others'][0])
        for side in ('golden', 'mine'):
            shutil.rmtree(self.path(side))
        self.put_chain('golden', relu, conv)
        # Rows may have moved in what the convolution reads.
        self.put_chain('mine', relu, (*conv[:2], row(9, -9, 0.5, 0)))
        told = self.why()
        self.assertEqual((told['op'], told['certain']), ('op1', False))
        self.assertIn('its inputs are equal by statistics alone', told['headline'])
        self.put_chain('mine', (*relu[:2], row(4, 0, 1.001, 0)), (conv[0], row(4, 0, 1.001, 0), row(19, -9, 0.5, 0)))
        self.assertFalse(self.why()['certain'])
        # No order makes NaNs, nor another output of each element alone.
        self.put_chain('mine', relu, (*conv[:2], row(8, -8, 0, 2)))
        told = self.why()
        self.assertEqual((told['op'], told['certain'], told['cause']), ('op1', True, 'not a number'))
        self.put_chain('mine', (*relu[:2], row(2, 0, 0.5, 0)), conv)
        self.assertEqual((self.why()['op'], self.why()['certain']), ('op0', True))

    def test_statistics_of_integers_are_those_of_what_they_stand_for(self):
        quant = {'scheme': 'affine', 'scale': [0.0625], 'zero_point': [-20]}
        for name, scales in ('card', [0.0625]), ('channels', [0.0625, 0.1]):
            tensors = [{'tensor': 'x', 'quant': {**quant, 'scale': scales, 'zero_point': [-20] * len(scales), 'axis': 0}}]
            self.write(name + '.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
                {'name': 'op0', 'type': 'Relu', 'inputs': tensors, 'outputs': tensors}]}).encode())
        self.put_chain('golden', ('Relu', ('FLOAT', 4, 4, -4, 0, 0), ('FLOAT', 4, 4, 0, 1, 0)))
        self.put_chain('mine', ('Relu', ('INT8', 4, 44, -84, -20, 0), ('INT8', 4, 44, -20, -4, 0)))
        told = self.why('--model', 'card.json')
        self.assertEqual((told['certain'], told.get('op')), (False, None), told)
        for cards in (), ('--model', 'channels.json'):
            told = self.why(*cards)
            self.assertEqual((told['certain'], told.get('op')), (False, 'op0'), told)
            self.assertIn('no scale is known', told['headline'])
        self.put_chain('mine', ('Relu', ('INT8', 4, 44, -84, -20, 0), ('INT8', 4, 108, -20, -4, 0)))
        told = self.why('--model', 'card.json')
        self.assertEqual((told['certain'], told['op']), (True, 'op0'), told)
        # What has no elements on either side is as it is.
        for side in ('mine', 'golden'):
            self.put_chain(side, ('Relu', ('FLOAT', 0, '', '', '', ''), ('FLOAT', 4, 4, 0, 1, 0)))
        self.assertEqual(self.why()['headline'], 'nothing is wrong in what could be judged')

    def test_a_nan_on_one_side_of_statistics_diverges(self):
        self.put_statistics('golden', 4, 0, 2, 4, 0, 0, 0)
        for cells in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            self.put_statistics('mine', 4, 0, 2, 4, *cells)
            (tensor,), _ = self.compare(expect=1)
            self.assertEqual(tensor['statistics'], 'inf')
            self.assertIn('1 ' + {0: 'NaNs', 1: '-inf', 2: 'inf'}[cells.index(1)] + ' for 0', tensor['remark'])

    def test_statistics_of_one_side_alone_or_of_another_shape_are_not_compared(self):
        self.put_statistics('golden', 4, 0, 2, 4, 0, 0, 0)
        for cells, what in (((4, 0), 'inf'), ((4, 0, 2), 'inf'), (('four', 0, 2, 4, 0, 0, 0), 'max'),
                            (('', '', 2, 4, 0, 0, 0), 'min'), (('None', 0, 'None', 4, 0, 0, 0), 'mean')):
            self.put_statistics('mine', *cells)
            (tensor,), _ = self.compare(expect=1)
            self.assertEqual(tensor['problem'], 'the statistics of one side alone have a number of ' + what)
        self.put_statistics('mine', 4, 0, 2, 4, 0, 0, 0, shape='8')
        self.assertEqual(self.compare(expect=1)[0][0]['problem'], 'the shapes differ: mine [8], golden [4]')

    def test_statistics_against_tensors(self):
        self.put('Relu.op.0.0.1589195081588018', [], [one([0, 4, 3, 1])], 'golden')
        self.put_statistics('mine', 4, 0, 2, 4, 0, 0, 0)
        (tensor,), _ = self.compare()
        self.assertEqual(tensor['statistics'], 0)
        self.put_statistics('mine', 4, 0, 2.5, 4, 0, 0, 0)
        self.assertAlmostEqual(self.compare(expect=1)[0][0]['statistics'], 0.125)

    def test_statistics_of_a_tensor_that_is_not_finite_agree_with_it(self):
        nan, inf = math.nan, math.inf
        title = self.CANN_TITLES.replace('\n', ',l2norm\n')
        for values, cells in (((1, 2, nan, 4), '4,1,nan,4,1,0,0,nan'), ((nan, 2, 1, 4), 'nan,nan,nan,4,1,0,0,nan'),
                              ((1, 2, inf, 4), 'inf,1,inf,4,0,0,1,inf'),
                              ((1, -inf, inf, 4), 'inf,-inf,nan,4,0,1,1,inf'),
                              ((1, nan, inf, 4), 'inf,1,inf,4,1,0,1,nan')):
            self.put('Relu.op.0.0.1589195081588018', [], [one(values)], 'golden')
            self.write('mine/Relu.op.0.0.1589195081588018.csv', title + 'Output,0,16,DT_FLOAT,ND,4,%s\n' % cells)
            self.assertEqual(self.compare()[0][0]['statistics'], 0, values)
            self.put('Relu.op.0.0.1589195081588018', [], [one([1, 2, 3, 4])], 'golden')
            self.assertEqual(self.compare(expect=1)[0][0]['statistics'], 'inf', values)
        self.put_statistics('mine', 4, 1, 2.5, 4, 0, 0, 0)
        self.put('Relu.op.0.0.1589195081588018', [], [one([1, 2, nan, 4])], 'golden')
        self.assertEqual(self.compare(expect=1)[0][0]['statistics'], 'inf')

    def test_statistics_of_mindspore_agree_with_a_tensor_that_is_not_finite(self):
        title = ('Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,'
                 'Max Value,Min Value,Avg Value,NaN Count,L2Norm Value\n')
        for values, cells in (((1, 2, math.nan, 4), 'nan,nan,nan,1,nan'), ((1, 2, math.inf, 4), 'inf,1,inf,0,inf')):
            self.put('Relu.op.0.0.1589195081588018', [], [one(values)], 'golden')
            self.write('mine/statistic.csv',
                       title + 'Relu,op,0,0,1589195081588018,output,0,16,float32,"(4,)",%s\n' % cells)
            self.assertEqual(self.compare()[0][0]['statistics'], 0, values)

    def test_tables_of_mindspore_with_norms_and_digests(self):
        titles = 'Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,L2Norm Value,MD5\n'
        row = 'Conv2D,conv,0,0,1589195081588018,output,0,16,float32,"(2, 2)",%s,%s\n'
        self.write('golden/statistic.csv', titles + row % (2, 'a' * 32))
        self.write('mine/statistic.csv', titles + row % (2, 'a' * 32))
        (tensor,), _ = self.compare()
        self.assertEqual((tensor['equal'], tensor['remark'], tensor['mine']['shape']), (4, 'by the digest', [2, 2]))
        self.write('mine/statistic.csv', titles + row % (2.02, 'b' * 32))
        (tensor,), _ = self.compare()
        self.assertAlmostEqual(tensor['statistics'], 0.01)
        self.write('mine/statistic.csv', titles + row % ('NA', 'b' * 32))
        self.assertIn('the digests differ', self.compare(expect=1)[0][0]['remark'])
        self.write('mine/statistic.csv', titles + row % ('NA', 'NA'))
        self.assertIn('no number in common', self.compare(expect=1)[0][0]['problem'])

    def test_a_damaged_file_of_statistics_is_an_error(self):
        self.put_statistics('golden', 4, 0, 2, 4, 0, 0, 0)
        self.write('mine/Relu.op.0.0.1589195081588018.csv', self.CANN_TITLES + 'Output,x,16,DT_FLOAT,ND,2x2,1,2,3,4,0,0,0\n')
        self.assertIn('no numbers where', self.run_tool('compare', 'mine', 'golden', expect=1)[1])


if __name__ == '__main__':
    tool_case.main()
