#!/usr/bin/env python3
"""Verdicts of `opdump diverge` on networks with planted faults, by the stock library of ONNX Runtime.

usage: diverge_verdicts_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import itertools
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
import tool_case  # noqa: E402
from model_files import onnx_model, onnx_node, onnx_tensor, onnx_value  # noqa: E402
from proto_record import text as tool_message  # noqa: E402
from tool_case import Case, numpy  # noqa: E402
import npm_packages  # noqa: E402
import ort_library  # noqa: E402

if numpy is None:
    npm_packages.skip('no NumPy')

from replayed_ops import Operators, record_of  # noqa: E402

ONNX = {'float32': 1, 'int8': 3}
SEEDS = 20


def reals(seed, *shape, dtype='float32', low=-2.0, high=2.0):
    return numpy.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def whole(seed, *shape, dtype='int32', low=-9, high=10):
    return numpy.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def conv(x, w, b):
    """With a kernel of 3 by 3, and padding by 1."""
    padded = numpy.pad(x.astype(numpy.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    y = numpy.zeros((x.shape[0], w.shape[0]) + x.shape[2:])
    for i, k in itertools.product(range(3), range(3)):
        y += numpy.einsum('nchw,mc->nmhw', padded[:, :, i:i + x.shape[2], k:k + x.shape[3]], w[:, :, i, k].astype(numpy.float64))
    return y + b.reshape([1, -1, 1, 1])


def softmax(x, axis):
    e = numpy.exp(x.astype(numpy.float64) - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def quantised(real, scale, zero, dtype):
    limits = numpy.iinfo(dtype)
    return numpy.clip(numpy.rint(real / scale) + zero, limits.min, limits.max).astype(dtype)


def per_axis(values, axis, rank):
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def as_float(x, dtype='float32'):
    return numpy.asarray(x).astype(dtype)


class DivergeCase(Case):
    """Runs over dumps below 'dump' with the model 'net.onnx'."""

    def put(self, ops, change=lambda outputs: outputs):
        shutil.rmtree(self.path('dump'), ignore_errors=True)
        self.write('net.onnx', ops.model())
        for path, content in ops.records(change):
            self.write('dump/' + path, content)

    def diverge(self, *arguments, expect=0, model='net.onnx'):
        out, _ = self.run_tool('diverge', 'dump', '--model', model, '--json', *arguments, expect=expect)
        return json.loads(out)

    def verdicts(self, *arguments, **options):
        return {op['name']: op['verdict'] for op in self.diverge(*arguments, **options)['ops']}


class Network:
    """A chain of operators on what the one before made; `spoil(name)` is a fault of that operator, or None."""

    def __init__(self, seed, blocks=3):
        self.random = numpy.random.default_rng(seed)
        self.constants, self.steps, self.channels = {}, [], 4
        self.image = self.random.uniform(-1, 1, (1, 4, 8, 8)).astype(numpy.float32)
        for number in range(blocks):
            self.add('Conv', 'conv%d' % number, self.reals(4, 4, 3, 3), self.reals(4))
            self.add('Relu', 'relu%d' % number)
            self.add('QuantizeLinear', 'quantize%d' % number, as_float(0.03), numpy.int8(-100))
            self.add('DequantizeLinear', 'dequantize%d' % number, as_float(0.03), numpy.int8(-100))
            self.add('MatMul', 'matmul%d' % number, self.reals(8, 8))

    def reals(self, *shape):
        return self.random.normal(0, 0.4, shape).astype(numpy.float32)

    def add(self, kind, name, *constants):
        names = ['%s_constant%d' % (name, i) for i in range(len(constants))]
        self.constants.update(zip(names, constants))
        self.steps.append((kind, name, names))

    def model(self, with_constants=True, gone=()):
        nodes, given = [], 'image'
        for kind, name, names in self.steps:
            extra = {'pads': [1, 1, 1, 1]} if kind == 'Conv' else {}
            if name not in gone:
                nodes.append(onnx_node(kind, [given] + names, [name + '_made'], name, **extra))
            given = name + '_made'
        constants = [onnx_tensor(name, ONNX[str(value.dtype)], value.shape, value.tobytes())
                     for name, value in self.constants.items()] if with_constants else ()
        return onnx_model(nodes, constants=constants, inputs=[onnx_value('image', 1, [1, 4, 8, 8])])

    @staticmethod
    def compute(kind, x, constants, fault=None):
        if kind == 'Relu':
            return numpy.maximum(x, 0)
        if kind == 'QuantizeLinear':
            made = quantised(x, constants[0], int(constants[1]), 'int8')
            return numpy.minimum(made, numpy.int8(-50)) if fault == 'saturated' else made
        if kind == 'DequantizeLinear':
            return as_float((x.astype(int) - int(constants[1]) - (1 if fault == 'zero point' else 0)) * constants[0])
        if kind == 'MatMul':
            weight = constants[0].T if fault == 'transposed' else constants[0]
            return as_float(x.astype(numpy.float64) @ weight)
        weights, bias = constants
        if fault == 'bias':
            bias = numpy.roll(bias, 1)
        if fault == 'float16':
            y = numpy.zeros(x.shape, numpy.float16) + per_axis(bias, 1, 4).astype(numpy.float16)
            padded = numpy.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
            for c, i, k in itertools.product(range(4), range(3), range(3)):
                y = (y + (padded[:, c:c + 1, i:i + 8, k:k + 8] * per_axis(weights[:, c, i, k], 1, 4))
                     .astype(numpy.float16)).astype(numpy.float16)
            return as_float(y)
        return as_float(conv(x, weights, bias))

    FAULTS = {'bias': 'conv', 'float16': 'conv', 'transposed': 'matmul', 'saturated': 'quantize', 'zero point': 'dequantize'}

    def records(self, faulty=None, fault=None, with_inputs=True, with_constants=True, step=0):
        value = self.image
        for number, (kind, name, names) in enumerate(self.steps):
            constants = [self.constants[one] for one in names]
            made = self.compute(kind, value, constants, fault if name == faulty else None)
            inputs = [value] + (constants if with_constants else []) if with_inputs else []
            yield ('20260101000000/0/net/1/%d/%s.%s.%d.0.%d' % (step, kind, name, number, 1589195081588018 + 1000 * step + number),
                   record_of(inputs, [made]))
            value = made


class Verdicts(DivergeCase):
    def put_network(self, network, **options):
        for path, content in network.records(**options):
            self.write('dump/' + path, content)

    def fresh(self, network, **options):
        shutil.rmtree(self.path('dump'), ignore_errors=True)
        self.write('net.onnx', network.model())
        self.put_network(network, **options)

    def test_planted_faults_are_named_and_victims_never_are(self):
        kinds = list(Network.FAULTS)
        for seed in range(SEEDS):
            network = Network(seed)
            fault = kinds[seed % len(kinds)]
            faulty = '%s%d' % (Network.FAULTS[fault], network.random.integers(3))
            self.fresh(network, faulty=faulty, fault=fault)
            report = self.diverge(expect=1)
            verdicts = {op['name']: op['verdict'] for op in report['ops']}
            self.assertEqual([name for name, verdict in verdicts.items() if verdict == 'culprit'], [faulty], (seed, fault))
            self.assertEqual(report['ops'][report['first_diverging']['op']]['name'], faulty)
            self.assertEqual(set(verdicts.values()), {'culprit', 'agrees'})

    def test_a_sound_network_agrees(self):
        network = Network(1)
        self.fresh(network)
        out, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx')
        self.assertEqual((out, error), ('15 operators, recomputed by onnxruntime 1.28.2: 15 agree\n', ''))

    def test_the_first_sentence_names_operator_and_step(self):
        network = Network(2)
        self.fresh(network, step=3)
        self.put_network(network, step=7, faulty='conv1', fault='bias')
        out, _ = self.run_tool('diverge', 'dump', '--model', 'net.onnx', expect=1)
        first = out.splitlines()[0]
        self.assertTrue(first.startswith('first diverging operator: Conv "conv1" at net/7, culprit: output 0 is not what its '
                                         'inputs make: '), first)
        self.assertIn('30 operators, recomputed by onnxruntime 1.28.2: 29 agree, 1 culprit\n', out)
        self.assertEqual(self.run_tool('diverge', 'dump', '--model', 'net.onnx', '--step', '0-3,5')[0],
                         '15 operators, recomputed by onnxruntime 1.28.2: 15 agree\n')
        _, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', '--step', '99', expect=1)
        self.assertIn('dump: it has no operator at steps 99', error)

    def test_inputs_come_from_the_model_and_from_operators_before(self):
        network = Network(3)
        self.fresh(network, with_inputs=False, faulty='matmul1', fault='transposed')
        verdicts = self.verdicts(expect=1)
        self.assertEqual(verdicts.pop('conv0'), 'not replayed')  # nobody dumped the image
        self.assertEqual([name for name, verdict in verdicts.items() if verdict != 'agrees'], ['matmul1'])
        self.fresh(network, with_constants=False, faulty='matmul1', fault='transposed')
        self.assertEqual([name for name, verdict in self.verdicts(expect=1).items() if verdict != 'agrees'], ['matmul1'])

    def test_a_constant_that_is_not_that_of_the_model(self):
        network = Network(4)
        self.fresh(network)
        name = 'matmul2_constant0'
        network.constants[name] = network.constants[name].T.copy()
        self.write('net.onnx', network.model())
        report = self.diverge(expect=1)
        op = report['ops'][report['first_diverging']['op']]
        self.assertEqual((op['name'], op['evidence']), ('matmul2', "input 1 'matmul2_constant0' is not the constant of the model"))

    def test_external_constants_lie_beside_the_model(self):
        weight = reals(1, 8, 4)
        place = b''.join(tool_message(13, tool_message(1, key) + tool_message(2, value))
                         for key, value in ((b'location', b'weights.bin'), (b'offset', b'16')))
        constant = b'\x08\x08\x08\x04\x10\x01' + tool_message(8, b'w') + place + b'\x70\x01'
        self.write('weights.bin', bytes(16) + weight.tobytes())
        self.write('net.onnx', onnx_model([onnx_node('MatMul', ['x', 'w'], ['y'], 'fc')], constants=[constant]))
        x = reals(2, 3, 8)
        self.write('dump/MatMul.fc.0.0.1589195081588018', record_of([x], [x @ weight]))
        self.assertEqual(self.verdicts(), {'fc': 'agrees'})
        self.write('weights.bin', bytes(16))
        op, = self.diverge(expect=1)['ops']
        self.assertIn("the constant 'w': weights.bin ends before its last element", op['reason'])
        elsewhere = constant.replace(b'\x0bweights.bin', b'\x0b../ghts.bin')
        self.write('net.onnx', onnx_model([onnx_node('MatMul', ['x', 'w'], ['y'], 'fc')], constants=[elsewhere]))
        op, = self.diverge(expect=1)['ops']
        self.assertIn("the constant 'w' lies in a file outside the model's directory", op['reason'])

    def test_what_cannot_be_replayed_says_why(self):
        x = reals(1, 2, 3, 4, 4)
        ops = Operators()
        ops.add('Conv', [x, None], x)
        ops.add('Relu', [x], x, odd=1)
        ops.add('If', [x > 0], x, then_branch=b'')
        ops.add('MatMul', [x, reals(2, 3, 3)], x)
        ops.add('Flatten', [x], x)
        ops.add('Softmax', [x], x, axis=7)
        self.put(ops)
        self.write('dump/20260101000000/0/net/1/0/Relu.other.9.0.1589195081588099', record_of([x], [x]))
        reasons = [op['reason'] for op in self.diverge(expect=1)['ops']]
        for reason, words in zip(reasons, ('has input size 1 not in range', 'Unrecognized attribute: odd', 'it runs a graph of its own, '
                                           'which is not computed', 'MatMul dimension mismatch', 'the output has the shape [2,3,4,4], '
                                           'and should have [2,48]', "'axis' must be in", 'the model has no operator of this name')):
            self.assertIn(words, reason)
        out, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', expect=1)
        self.assertIn('7 operators, recomputed by onnxruntime 1.28.2: 7 not replayed\n', out)
        self.assertIn('  not replayed: the model has no operator of this name (Relu "other" at net/0)\n', out)
        self.assertIn('opdump diverge: no operator could be recomputed', error)

    def test_a_card_in_place_of_the_model(self):
        network = Network(5)
        self.fresh(network, faulty='conv1', fault='bias')
        self.run_tool('describe', 'net.onnx', '-o', 'card.json')
        verdicts = self.verdicts(model='card.json', expect=1)
        self.assertEqual([name for name, verdict in verdicts.items() if verdict != 'agrees'], ['conv1'])
        self.fresh(network, with_constants=False)
        report = self.diverge(model='card.json')
        self.assertEqual(report['ops'][0]['reason'], "input 1 'conv0_constant0' was not dumped")

    def test_operators_of_other_runtimes(self):
        x, y = reals(1, 2, 8), reals(2, 2, 8)
        card = {'opdump_model': 1, 'name': 'net', 'ops': [
            {'name': name, 'type': kind, 'attributes': attributes, 'inputs': [{'tensor': n} for n in names],
             'outputs': [{'tensor': name + ':0'}]}
            for name, kind, attributes, names in (
                ('a', 'AddV2', {}, 'xy'), ('b', 'RealDiv', {}, 'xy'), ('c', 'LOGISTIC', {}, 'x'), ('d', 'SOFTMAX', {'beta': 1}, 'x'),
                ('e', 'Conv2D', {}, 'xy'), ('f', 'MUL', {'fused_activation_function': 'RELU'}, 'xy'),
                ('g', 'ADD', {'fused_activation_function': 'NONE'}, 'xy'), ('h', 'MatMul', {}, 'xy'))]}
        card['ops'].append(dict(card['ops'][0], name='i', inputs=[
            {'tensor': 'q', 'quant': {'scheme': 'affine', 'scale': [0.5]}}, {'tensor': 'y'}]))
        self.write('card.json', json.dumps(card))
        for kind, name, inputs, made in (('AddV2', 'a', [x, y], x + y), ('RealDiv', 'b', [x, y], x / y),
                                         ('LOGISTIC', 'c', [x], as_float(1 / (1 + numpy.exp(-x.astype(numpy.float64))))),
                                         ('SOFTMAX', 'd', [x], as_float(softmax(x, 1))), ('Conv2D', 'e', [x, y], x),
                                         ('MUL', 'f', [x, y], x * y), ('ADD', 'g', [x, y], x + y), ('MatMul', 'h', [x, y], x),
                                         ('AddV2', 'i', [whole(3, 2, 8, dtype='int8'), y], y)):
            self.write('dump/%s.%s.0.0.1589195081588018' % (kind, name), record_of(inputs, [made]))
        report = self.diverge(model='card.json')
        self.assertEqual({op['name']: op.get('reason', op['verdict']).split('. ')[0] for op in report['ops']}, {
            'a': 'agrees', 'b': 'agrees', 'c': 'agrees', 'd': 'agrees',
            'e': 'what Conv2D computes is not known: the card tells no type of ONNX',
            'f': 'onnxruntime 1.28.2: This is an invalid model', 'g': 'agrees',
            'h': 'what MatMul computes is not known: the card tells no type of ONNX',
            'i': 'its integers stand for real numbers, which only operators of ONNX compute with'})

    def test_device_formats_are_restored(self):
        x = reals(1, 1, 20, 3, 5).astype(numpy.float16)
        blocks = numpy.zeros((1, 2, 3, 5, 16), numpy.float16)
        for c in range(20):
            blocks[:, c // 16, :, :, c % 16] = x[:, c]
        made = numpy.maximum(blocks, 0)
        describe = lambda data: dict(tool_case.tensor(1, [1, 2, 3, 5, 16], data.tobytes(), tool_case.NC1HWC0, [1, 20, 3, 5], b''))
        self.write('net.onnx', onnx_model([onnx_node('Relu', ['x'], ['y'], 'relu'),
                                           onnx_node('GlobalAveragePool', ['x'], ['z'], 'pool')]))
        mean = as_float(x.astype(numpy.float64).mean(axis=(2, 3), keepdims=True), 'float16')
        self.write('dump/Relu.relu.0.0.1589195081588018', tool_case.record([describe(blocks)], [describe(made)]))
        self.write('dump/Pool.pool.0.0.1589195081588019',
                   tool_case.record([describe(blocks)], [tool_case.tensor(1, list(mean.shape), mean.tobytes(), name=b'')]))
        self.assertEqual(self.verdicts(), {'relu': 'agrees', 'pool': 'agrees'})

    def test_limits(self):
        x = reals(1, 4, 64)
        ops = Operators()
        exact = numpy.exp(x.astype(numpy.float64))
        ops.add('Exp', [x], as_float(exact * (1 + 1e-5)))
        w = reals(2, 64, 8)
        ops.add('MatMul', [x, w], as_float(x.astype(numpy.float16) @ w.astype(numpy.float16)))
        q = quantised(x, 0.05, 0, 'int8')
        ops.add('QuantizeLinear', [x, as_float(0.05), numpy.int8(0)], (q + (numpy.arange(256).reshape(4, 64) == 3)).astype(numpy.int8))
        ops.add('QuantizeLinear', [x, as_float(0.05), numpy.int8(0)], (q + (numpy.arange(256).reshape(4, 64) < 30)).astype(numpy.int8))
        ops.add('Relu', [x], numpy.nextafter(numpy.maximum(x, 0), numpy.float32(9)))
        self.put(ops)
        self.assertEqual(list(self.verdicts(expect=1).values()), ['culprit', 'culprit', 'agrees', 'culprit', 'culprit'])
        loose = 'float32=1e-4,accumulate=0.001,step_share=0.2'
        self.assertEqual(list(self.verdicts('--limits', loose, expect=1).values()), ['agrees'] * 4 + ['culprit'])
        self.assertEqual(list(self.verdicts('--limits', 'steps=0', expect=1).values())[2], 'culprit')
        for wrong, words in (('odd=1', "'odd=1' is no limit"), ('float32', "limit 'float32' takes a number, not ''"),
                             ('steps=-1', "not '-1'"), ('float16=nan', "not 'nan'")):
            _, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', '--limits', wrong, expect=2)
            self.assertIn(words, error)

    def test_long_sums_in_float32_agree_and_in_float16_do_not(self):
        def in_order(a, b, dtype):
            total = numpy.zeros((a.shape[0], b.shape[1]), dtype)
            for k in range(a.shape[1]):
                total = (total + (a[:, k:k + 1] * b[k:k + 1]).astype(dtype)).astype(dtype)
            return total

        for low in (-1.0, 0.0):
            for terms in (300, 4608):
                a, b = reals(1, 6, terms, low=low, high=1), reals(2, terms, 7, low=low, high=1)
                ops = Operators()
                for dtype in ('float32', 'float16'):
                    ops.add('MatMul', [a, b], as_float(in_order(a, b, dtype)))
                    x, y = a.astype(numpy.float16), b.astype(numpy.float16)
                    ops.add('MatMul', [x, y], in_order(x.astype(numpy.float32), y.astype(numpy.float32), dtype).astype(numpy.float16))
                self.put(ops)
                self.assertEqual(list(self.verdicts(expect=1).values()), ['agrees'] * 2 + ['culprit'] * 2, (low, terms))

    def test_infinities_and_nan(self):
        big = numpy.array([60000, 70000, -1e5, 1], numpy.float32)
        half = numpy.array([60000, numpy.inf, -numpy.inf, 1], numpy.float16)
        odd = numpy.array([numpy.nan, 1, numpy.inf, 2], numpy.float32)
        ops = Operators()
        ops.add('Cast', [big], half, to=10)
        ops.add('Add', [odd, odd], odd + odd)
        ops.add('Sqrt', [as_float([-1, 4])], as_float([numpy.nan, 2]))
        self.put(ops)
        self.assertEqual(set(self.verdicts().values()), {'agrees'})
        for wrong in (numpy.nan, numpy.inf, -numpy.inf, 3):
            self.put(ops, lambda outputs: [numpy.concatenate([outputs[0][:-1], outputs[0].dtype.type([wrong])])])
            self.assertEqual(set(self.verdicts(expect=1).values()), {'culprit'})

    def test_failing_operators_are_saved(self):
        network = Network(6)
        self.fresh(network, faulty='conv1', fault='bias')
        self.diverge('--save-failing', 'failing', expect=1)
        folder, = os.listdir(self.path('failing'))
        self.assertEqual(folder, 'op5_conv1')
        self.assertIn('model.onnx', os.listdir(self.path('failing', folder)))



if __name__ == '__main__':
    os.environ['OPDUMP_ORT'] = os.path.join(ort_library.library(sys.argv[3]), 'libonnxruntime.so')
    del sys.argv[2:]
    tool_case.main()
