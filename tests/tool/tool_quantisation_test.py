#!/usr/bin/env python3
"""How `opdump describe` says that the tensors of ONNX models are quantised: tool_quantisation_test.py OPDUMP
[unittest arguments].

Standard library only. Where python3-onnx is installed, its checker has to find no fault in the models, but for operators
that it does not know.
"""
import json
import os
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from model_files import data, fixed32, number, onnx_model, onnx_node, onnx_tensor, onnx_value  # noqa: E402
from onnx_graph import constant  # noqa: E402
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402

try:
    import onnx
except ImportError:
    onnx = None

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16, INT4 = 1, 2, 3, 6, 7, 9, 10, 22
MICROSOFT = 'com.microsoft'


def scalar(name, value):
    return onnx_tensor(name, FLOAT, [], struct.pack('<f', value))


def scales(name, *values):
    return onnx_tensor(name, FLOAT, [len(values)], struct.pack(f'<{len(values)}f', *values))


def zero(name, value, dtype=UINT8):
    return onnx_tensor(name, dtype, [], struct.pack('B' if dtype == UINT8 else 'b', value))


def zeros(name, *values):
    return onnx_tensor(name, INT8, [len(values)], struct.pack(f'{len(values)}b', *values))


# What two operators of a model are quantised by: "q" is 0.5 * (stored - 3), "r" is 0.25 * (stored - 7).
Q, R = ['q_scale', 'q_zero'], ['r_scale', 'r_zero']
CODES = [scalar('q_scale', 0.5), zero('q_zero', 3), scalar('r_scale', 0.25), zero('r_zero', 7)]
Q_SAYS, R_SAYS = ([0.5], [3], None), ([0.25], [7], None)


class Quantisation(Case):
    def quants(self, nodes, inputs, outputs, constants=(), values=(), known=True):
        """Scales, zero points and axis of each tensor that is quantised."""
        model = onnx_model(nodes, inputs=[onnx_value(*each) for each in inputs], outputs=[onnx_value(*each) for each in outputs],
                           constants=[*CODES, *constants], values=[onnx_value(*each) for each in values])
        if onnx and known:
            onnx.checker.check_model(onnx.load_model_from_string(model), full_check=True)
        self.write('net.onnx', model)
        self.left_out = self.run_tool('describe', 'net.onnx', '-o', 'card.json')[0].split('\n')[1:-1]
        found = {}
        for op in json.loads(self.read('card.json'))['ops']:
            for tensor in op['inputs'] + op['outputs']:
                if 'quant' in tensor:
                    quant = tensor['quant']
                    self.assertEqual(quant.pop('scheme'), 'affine')
                    says = quant.pop('scale'), quant.pop('zero_point', None), quant.pop('axis', None)
                    self.assertEqual((quant, found.setdefault(tensor['tensor'], says)), ({}, says))
        return found

    def test_the_writer_says_it_and_not_a_reader(self):
        found = self.quants([onnx_node('QuantizeLinear', ['x', *Q], ['q']), onnx_node('DequantizeLinear', ['q', *R], ['y'])],
                            [('x', FLOAT, [4])], [('y', FLOAT, [4])])
        self.assertEqual(found, {'q': Q_SAYS})

    def test_a_reader_does_not_say_what_a_writer_finds_when_the_model_runs(self):
        reader = onnx_node('DequantizeLinear', ['q', *R], ['y'])
        for writer, inputs in ((onnx_node('QuantizeLinear', ['x', 's', 'q_zero'], ['q']), [('x', FLOAT, [4]), ('s', FLOAT, [])]),
                               (onnx_node('QuantizeLinear', ['x', 'q_scale', 'z'], ['q']), [('x', FLOAT, [4]), ('z', UINT8, [])]),
                               (onnx_node('DynamicQuantizeLinear', ['x'], ['q', 's', 'z']), [('x', FLOAT, [4])])):
            self.assertEqual(self.quants([writer, reader], inputs, [('y', FLOAT, [4])]), {})
            self.assertEqual(self.quants([writer, onnx_node('Identity', ['q'], ['p']), onnx_node('DequantizeLinear', ['p', *R], ['y'])],
                                         inputs, [('y', FLOAT, [4])]), {})

    def test_readers_say_it_where_nobody_writes_by_a_scale_if_they_agree(self):
        readers = [onnx_node('DequantizeLinear', ['x', *Q], ['y']), onnx_node('DequantizeLinear', ['x', 'same_scale', 'same_zero'], ['z'])]
        x, outputs = ('x', UINT8, [4]), [('y', FLOAT, [4]), ('z', FLOAT, [4])]
        same = [scales('same_scale', 0.5), onnx_tensor('same_zero', UINT8, [1], b'\3')]
        self.assertEqual(self.quants(readers, [x], outputs, same), {'x': Q_SAYS})
        for other in ([scalar('same_scale', 0.25), zero('same_zero', 3)], [scalar('same_scale', 0.5), zero('same_zero', 4)]):
            self.assertEqual(self.quants(readers, [x], outputs, other), {})
        cast = onnx_node('Cast', ['w'], ['x'], to=UINT8)
        self.assertEqual(self.quants([cast, *readers], [('w', FLOAT, [4])], outputs, same), {'x': Q_SAYS})

    def test_a_zero_point_that_is_left_out_is_0(self):
        readers = [onnx_node('DequantizeLinear', ['x', 'q_scale'], ['y']), onnx_node('DequantizeLinear', ['x', 'q_scale', 'none'], ['z'])]
        found = self.quants(readers, [('x', UINT8, [4])], [('y', FLOAT, [4]), ('z', FLOAT, [4])], [zero('none', 0)])
        self.assertEqual(found, {'x': ([0.5], None, None)})

    def test_who_moves_elements_keeps_how_they_are_quantised(self):
        lists = [onnx_tensor(name, INT64, [len(values)], struct.pack(f'<{len(values)}q', *values)) for name, values in (
            ('shape', [1, 64]), ('axes', [0]), ('starts', [1]), ('ends', [2]), ('picks', [1, 0]), ('pads', [0] * 8), ('two', [2]),
            ('repeats', [1, 1, 2, 1]), ('expanded', [3, 4, 4, 4]))]
        ops = (('MaxPool', [], {'kernel_shape': [2, 2]}), ('Reshape', ['shape'], {}), ('Transpose', [], {'perm': [0, 2, 3, 1]}),
               ('Flatten', [], {}), ('Squeeze', ['axes'], {}), ('Unsqueeze', ['axes'], {}), ('Identity', [], {}),
               ('Slice', ['starts', 'ends', 'two'], {}), ('Gather', ['picks'], {'axis': 1}), ('Pad', ['pads'], {}),
               ('Tile', ['repeats'], {}), ('Expand', ['expanded'], {}), ('DepthToSpace', [], {'blocksize': 2}),
               ('SpaceToDepth', [], {'blocksize': 2}), ('Clip', [], {}), ('ReduceMax', [], {}))
        for op, more, attributes in ops:
            with self.subTest(op=op):
                found = self.quants([onnx_node('QuantizeLinear', ['x', *Q], ['q']), onnx_node(op, ['q', *more], ['p'], **attributes),
                                     onnx_node('DequantizeLinear', ['p', *R], ['y'])],
                                    [('x', FLOAT, [1, 4, 4, 4])], [('y', FLOAT, [None] * 4)], lists, known=False)
                self.assertEqual(found, {'q': Q_SAYS, 'p': Q_SAYS})
        found = self.quants([onnx_node('QuantizeLinear', ['x', *Q], ['q']), onnx_node('Split', ['q'], ['a', 'b'], axis=1),
                             onnx_node('DequantizeLinear', ['b', *R], ['y'])],
                            [('x', FLOAT, [1, 4])], [('a', UINT8, [1, 2]), ('y', FLOAT, [1, 2])])
        self.assertEqual(found, {'q': Q_SAYS, 'a': Q_SAYS, 'b': Q_SAYS})

    def test_places_of_elements_are_not_quantised(self):
        found = self.quants([onnx_node('QuantizeLinear', ['x', *Q], ['q']), onnx_node('MaxPool', ['q'], ['p', 'places'], kernel_shape=[2, 2])],
                            [('x', FLOAT, [1, 4, 4, 4])], [('p', UINT8, [1, 4, 3, 3]), ('places', INT64, [1, 4, 3, 3])])
        self.assertEqual(found, {'q': Q_SAYS, 'p': Q_SAYS})

    def test_an_axis_of_scales_moves_with_a_transposition_and_is_lost_in_a_reshape(self):
        codes = [scales('s', 0.5, 0.25), zeros('z', -1, 2)]
        x, y = [('x', FLOAT, [3, 2, 5])], [('y', FLOAT, [3, 5, 2])]
        for inner, dims, says in ((onnx_node('Transpose', ['q'], ['p'], perm=[0, 2, 1]), [3, 5, 2], ([0.5, 0.25], [-1, 2], 2)),
                                  (onnx_node('Reshape', ['q', 'shape'], ['p']), [3, 5, 2], None)):
            found = self.quants([onnx_node('QuantizeLinear', ['x', 's', 'z'], ['q'], axis=1), inner,
                                 onnx_node('DequantizeLinear', ['p', 's', 'z'], ['y'], axis=2)], x, y,
                                [*codes, onnx_tensor('shape', INT64, [3], struct.pack('<3q', *dims))])
            self.assertEqual(found, {name: each for name, each in {'q': ([0.5, 0.25], [-1, 2], 1), 'p': says}.items() if each})
        # Of weights only their reader says it, behind the transposition.
        found = self.quants([onnx_node('Transpose', ['w'], ['p'], perm=[2, 0, 1]), onnx_node('DequantizeLinear', ['p', 's', 'z'], ['y'], axis=-1)],
                            [], [('y', FLOAT, [5, 3, 2])], [*codes, onnx_tensor('w', INT8, [3, 2, 5], bytes(30))], [('p', INT8, [5, 3, 2])])
        self.assertEqual(found, {'w': ([0.5, 0.25], [-1, 2], 1), 'p': ([0.5, 0.25], [-1, 2], 2)})

    def test_what_is_joined_is_quantised_as_all_parts_are(self):
        for second, says in ((Q, {'q': Q_SAYS, 'r': Q_SAYS, 'j': Q_SAYS}), (R, {'q': Q_SAYS, 'r': R_SAYS})):
            for op, first in (('Concat', []), ('Where', ['c'])):
                found = self.quants([onnx_node('QuantizeLinear', ['x', *Q], ['q']), onnx_node('QuantizeLinear', ['x', *second], ['r']),
                                     onnx_node(op, [*first, 'q', 'r'], ['j'], **({} if first else {'axis': 0})),
                                     onnx_node('DequantizeLinear', ['j', *R], ['y'])],
                                    [('x', FLOAT, [4]), ('c', BOOL, [4])], [('y', FLOAT, [4 if first else 8])])
                self.assertEqual(found, says)

    def test_operators_that_compute_with_quantised_tensors(self):
        codes = [scalar('y_scale', 2), zero('y_zero', 9)]
        y_says = ([2], [9], None)
        Y = ['y_scale', 'y_zero']
        weights = [onnx_tensor('w', INT8, [2, 3, 1, 1], bytes(6)), scales('w_scales', 0.5, 0.25), zeros('w_zeros', 0, 0), zero('w_zero', 0, INT8)]
        for w_zero in ('w_zeros', 'w_zero'):  # one for each channel, or one for all
            found = self.quants([onnx_node('QLinearConv', ['x', *Q, 'w', 'w_scales', w_zero, *Y], ['y'])], [('x', UINT8, [1, 3, 4, 4])],
                                [('y', UINT8, [1, 2, 4, 4])], [*codes, *weights])
            self.assertEqual(found, {'x': Q_SAYS, 'w': ([0.5, 0.25], [0, 0], 0), 'y': y_says})
        found = self.quants([onnx_node('QLinearMatMul', ['a', 'a_scales', 'w_zeros', 'b', 'w_scales', 'w_zeros', *Y], ['y'])],
                            [('a', INT8, [7, 2, 3]), ('b', INT8, [3, 2])], [('y', UINT8, [7, 2, 2])],
                            [*codes, *weights, scales('a_scales', 4, 8)])
        self.assertEqual(found, {'a': ([4, 8], [0, 0], 1), 'b': ([0.5, 0.25], [0, 0], 1), 'y': y_says})

    def test_operators_of_onnx_runtime(self):
        codes = [scalar('y_scale', 2), zero('y_zero', 9)]
        Y, says = ['y_scale', 'y_zero'], {'a': Q_SAYS, 'b': R_SAYS, 'y': ([2], [9], None)}
        inputs = [('a', UINT8, [4]), ('b', UINT8, [4]), ('c', BOOL, [4])]
        one = {'a': Q_SAYS, 'y': ([2], [9], None)}
        for op, names, expected in (
                ('QLinearAdd', ['a', *Q, 'b', *R, *Y], says), ('QLinearMul', ['a', *Q, 'b', *R, *Y], says),
                ('QLinearConcat', [*Y, 'a', *Q, 'b', *R], says), ('QLinearWhere', ['c', 'a', *Q, 'b', *R, *Y], says),
                ('QGemm', ['a', *Q, 'b', *R, '', *Y], says), ('QGemm', ['a', *Q, 'b', *R, ''], {'a': Q_SAYS, 'b': R_SAYS}),
                *((op, ['a', *Q, *Y], one) for op in ('QLinearLeakyRelu', 'QLinearSigmoid', 'QLinearSoftmax', 'QLinearAveragePool',
                                                      'QLinearGlobalAveragePool', 'QLinearReduceMean')),
                ('QLinearOfTomorrow', ['a', *Q, *Y], {})):
            with self.subTest(op=op):
                found = self.quants([onnx_node(op, names, ['y'], domain=MICROSOFT)], inputs, [('y', UINT8, [4])], codes, known=False)
                self.assertEqual(found, expected)
        found = self.quants([onnx_node('QLinearOfTomorrow', ['a', *Q, *Y], ['y'], domain=MICROSOFT), onnx_node('DequantizeLinear', ['y', *R], ['z'])],
                            inputs, [('z', FLOAT, [4])], codes, known=False)
        self.assertEqual(found, {})
        found = self.quants([onnx_node('QLinearAdd', ['a', *Q, 'b', *R, *Y], ['y'], domain='com.example')], inputs, [('y', UINT8, [4])], codes,
                            known=False)
        self.assertEqual(found, {})

    def test_an_axis_from_the_end_needs_the_rank_and_blocks_are_not_told(self):
        codes = [scales('s', 0.5, 0.25)]
        quantise = onnx_node('QuantizeLinear', ['x', 's'], ['q'], axis=-2)
        self.assertEqual(self.quants([quantise], [('x', FLOAT, [3, 2, 5])], [('q', UINT8, [3, 2, 5])], codes), {'q': ([0.5, 0.25], None, 1)})
        lone = onnx_node('Scale', ['a'], ['x'], domain='com.example')
        self.assertEqual(self.quants([lone, quantise], [('a', FLOAT, [1])], [], codes, known=False), {})
        blocks = onnx_tensor('b', FLOAT, [2, 1], struct.pack('<2f', 0.5, 0.25))
        for attributes in ({'block_size': 2, 'axis': 1}, {'axis': 1}):
            self.assertEqual(self.quants([onnx_node('QuantizeLinear', ['x', 'b'], ['q'], **attributes)], [('x', FLOAT, [2, 2])], [], [blocks],
                                         known=False), {})

    def test_zero_points_that_do_not_fit_the_scales_are_not_0(self):
        found = self.quants([onnx_node('QuantizeLinear', ['x', 's', 'z'], ['q'])], [('x', FLOAT, [3, 2])], [],
                            [scales('s', 0.5, 0.25), zeros('z', 1, 2, 3)], known=False)
        self.assertEqual(found, {})

    def test_scales_and_zero_points_of_every_coding(self):
        by_fields = [number(2, FLOAT) + data(8, 's') + fixed32(4, 0.5), number(2, UINT8) + data(8, 'z') + number(5, 200)]
        for codes, says in (([onnx_tensor('s', FLOAT16, [], struct.pack('<e', 0.5)), onnx_tensor('z', INT4, [], b'\x0d')], -3),
                            ([scalar('s', 0.5), number(2, INT4) + data(8, 'z') + number(5, 0x0d)], -3),
                            ([scalar('s', 0.5), onnx_tensor('z', INT32, [], struct.pack('<i', -70000))], -70000),
                            (by_fields, 200)):
            found = self.quants([onnx_node('QuantizeLinear', ['x', 's', 'z'], ['q'])], [('x', FLOAT, [4])], [], codes, known=False)
            self.assertEqual(found, {'q': ([0.5], [says], None)})

    def test_constants_may_be_operators(self):
        nodes = [constant('s', FLOAT, [], struct.pack('<f', 4)).to_bytes(), onnx_node('Constant', [], ['none'], value_float=1.0),
                 onnx_node('QuantizeLinear', ['x', 's'], ['q']), onnx_node('QuantizeLinear', ['x', 'none'], ['r'])]
        found = self.quants(nodes, [('x', FLOAT, [4])], [('q', UINT8, [4]), ('r', UINT8, [4])])
        self.assertEqual(found, {'q': ([4], None, None)})
        self.assertEqual(self.left_out, ['left out: scales of 1 tensor, of a form that is not read'])

    def test_what_a_card_lacks_is_told(self):
        elsewhere = number(2, 1) + data(8, 's') + data(13, data(1, 'location') + data(2, 'gone.bin')) + number(14, 1)
        blocks = onnx_tensor('b', FLOAT, [2, 1], struct.pack('<2f', 0.5, 0.25))
        nodes = [onnx_node('QuantizeLinear', ['x', 's'], ['q']), onnx_node('QuantizeLinear', ['x', 's'], ['r']),
                 onnx_node('QuantizeLinear', ['x', 'b'], ['u'], block_size=2), onnx_node('DynamicQuantizeLinear', ['x'], ['v', 'd', 'z']),
                 onnx_node('TopK', ['x', 'k'], ['', 'places'])]
        self.assertEqual(self.quants(nodes, [('x', FLOAT, [2, 2])], [], [elsewhere, blocks], known=False), {})
        told = ['scales of 1 tensor, computed when the model runs', 'scales of 2 tensors, in another file', 'scales of 1 tensor, of blocks',
                'outputs of 1 operator that the model does not use, in front of others, which are counted without them']
        self.assertEqual(self.left_out, ['left out: ' + each for each in told])
        self.write('dump/R.r.1.0.1.output.0.npy', b'')
        self.assertEqual(self.run_tool('show', 'dump', '--model', 'net.onnx', expect=1)[1].count('left out: '), len(told))

    def test_a_constant_of_scales_that_does_not_fill_its_shape_is_damage(self):
        scale = onnx_tensor('scale', FLOAT, [3], struct.pack('<2f', 0.5, 0.25))
        self.write('net.onnx', onnx_model([onnx_node('QuantizeLinear', ['x', 'scale'], ['q'])], constants=[scale]))
        self.assertEqual(self.run_tool('describe', 'net.onnx', '-o', 'card.json', expect=1)[1],
                         'net.onnx: is no ONNX model, or is damaged: a field of operator q is cut short\n')


if __name__ == '__main__':
    tool_case.main()
