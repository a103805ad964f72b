#!/usr/bin/env python3
"""Faults planted in a small network: the guilty operator is named first, and no innocent one is ever accused.

tool_verdict_test.py OPDUMP [unittest arguments]. Standard library only.
"""
import json
import os
import random
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from planted_network import CODES, Fault, NAMES, Network, OPS, PlantedCase, Run, STEPS  # noqa: E402
from tool_case import FLOAT, INT32, INT8, record, tensor  # noqa: E402

WITH_WEIGHTS = [op[0] for op in OPS if not all(isinstance(i, str) for i in op[2])]
PLACED = [name for name in NAMES if name not in ('flat', 'fc', 'softmax')]
KINDS = {
    'other weight': WITH_WEIGHTS,
    'doubled channel': ['conv0', 'conv1', 'conv2', 'conv3', 'add0', 'bn', 'res', 'relu0', 'relu2'],
    'wrong scale': NAMES[:-1],
    'transposed': PLACED,
    'shifted rows': PLACED,
    'saturated': ['conv0', 'conv1', 'conv2', 'conv3', 'add0', 'sub0'],
    'missing': ['add0', 'relu0', 'relu1', 'bn', 'relu2'],
    'NaN': NAMES,
    'swapped': ['sub0', 'cat'],
    'stale step': NAMES[:-1],
}
# mine and golden
PAIRS = [('float32', 'float32'), ('float16', 'float32'), ('float16', 'float16'), ('int8', 'float32'), ('int8', 'int8')]


class Verdicts(PlantedCase):
    def judged(self, pair):
        return json.loads(self.run_tool('compare', 'mine', 'golden', '--json', *self.cards(pair), expect=(0, 1))[0])

    def culprits(self, report):
        return sorted({op['name'] for op in report['ops'] if op['verdict'] == 'culprit'})

    def test_no_healthy_operator_is_accused(self):
        for seed in range(3):
            network = Network(seed)
            for pair in PAIRS:
                with self.subTest(seed=seed, pair=pair):
                    self.put('golden', Run(network, pair[1]))
                    self.put('mine', Run(network, pair[0], noise=seed + 1 if pair == ('float32', 'float32') else 0))
                    report = self.judged(pair)
                    self.assertEqual(self.culprits(report), [], report.get('headline'))
                    self.assertIn(report.get('headline', {}).get('cause', ''), ('', 'unclear'), report.get('headline'))

    def test_the_guilty_is_named_first_and_alone(self):
        tried = named = 0
        unsure, wrong = [], []
        for pair in PAIRS:
            for seed in (1, 2):
                network = Network(seed)
                self.put('golden', Run(network, pair[1]))
                clean = [{name: output for name, _, output in Run(network, pair[0]).run(step)} for step in range(STEPS)]
                for kind, ops in KINDS.items():
                    if (kind == 'NaN' and pair[0] == 'int8') or (kind == 'stale step' and seed == 1):
                        continue
                    op = random.Random('%s %s %d' % (pair, kind, seed)).choice(ops)
                    if kind == 'saturated' and pair[0] == 'int8':
                        kind = 'too large'
                    fault = Fault(kind, op, seed, clean)
                    what = '%s against %s, seed %d: %s' % (*pair, seed, fault)
                    self.put('mine', Run(network, pair[0], fault))
                    report = self.judged(pair)
                    headline = report.get('headline', {})
                    tried += 1
                    # Of an operator that is missing, none that is there is accused.
                    innocent = set(self.culprits(report)) - {op}
                    if kind == 'missing':
                        right = headline.get('cause') == 'missing operator' and '"%s" is missing' % op in headline['text']
                    else:
                        right = bool(headline) and report['ops'][headline['op']]['name'] == op
                    certain = headline.get('cause', 'unclear') not in ('unclear', 'unknown inputs', 'ambiguous')
                    if innocent or (certain and not right):
                        wrong.append('%s: %s, %s' % (what, sorted(innocent), headline.get('text')))
                    elif right and certain:
                        named += 1
                    else:
                        unsure.append('%s: %s' % (what, headline.get('text')))
        print('%d faults: %d named first and alone, %d not certain, %d wrong' % (tried, named, len(unsure), len(wrong)), *unsure, sep='\n')
        self.assertEqual(wrong, [], '\n'.join(wrong))
        self.assertGreaterEqual(tried, 60)
        self.assertGreaterEqual(named, 0.95 * tried, '\n'.join(unsure))

    def test_what_no_operator_is_to_blame_for(self):
        network = Network(3)
        for pair in PAIRS:
            with self.subTest(pair=pair):
                self.put('golden', Run(network, pair[1]))
                self.put('mine', Run(network, pair[0], Fault('other inputs', None, 3)))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [])
                self.assertIn("first cause: the model's inputs differ: input 0 of Conv \"conv0\" at net/0", report['headline']['text'])
                if pair[0] != pair[1]:
                    continue
                self.put('mine', Run(network, pair[0]), shift=1)
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [])
                self.assertIn('first cause: mine is shifted by 1 step: from Conv "conv0" at net/0 on', report['headline']['text'])

    def test_constants_that_one_dump_lacks(self):
        """Weights that no other runtime dumps stop no judgement; what may be an input of the network does."""
        class Fed(Run):
            def run(self, step, given=None):
                self.network.weights['b0'] = Network(6).weights['b0'].like(v + step for v in Network(6).weights['b0'].flat())
                return super().run(step, given)
        weights = Network(6).weights
        def lacks_weights(_, name):
            return name in weights
        def judge(lacks, fault, run=Run, sides=('golden', 'mine')):
            for side, spoilt, more in zip(sides, (None, fault), ({'lacks': lacks}, {})):
                self.put(side, run(Network(6), 'float32', spoilt), **more)
            report = self.judged(('float32', 'float32'))
            return self.culprits(report), report.get('headline', {}).get('text')
        for op in ('conv0', 'add0', 'conv1', 'fc'):
            for kind in ('other weight', 'wrong scale'):
                for sides in (('golden', 'mine'), ('mine', 'golden')):
                    culprits, text = judge(lacks_weights, Fault(kind, op, 6), sides=sides)
                    self.assertEqual(culprits, [op])
                    self.assertTrue(text.endswith('; or a constant of it is another: input 1 could not be compared'), text)
        self.assertEqual(judge(lacks_weights, None), ([], None))
        fault = Fault('other weight', 'add0', 6)
        for lacks, run in ((lambda _, name: name == 'b0', Run), (lacks_weights, Fed),
                           (lambda op, name: name in weights or (op, name) == ('gate', 'sigmoid0'), Run),
                           (lambda op, name: name in weights or op == 'conv0', Run)):
            culprits, text = judge(lacks, fault, run)
            self.assertEqual(culprits, [])
            self.assertIn('Add "add0" at net/0, not certain: output 0 does not ', text)

    def test_what_is_the_same_at_all_steps_need_not_be_a_constant(self):
        """Where each step has the same inputs, nothing tells constants, and where operators were not dumped, nothing tells inputs."""
        for pair in PAIRS[:3]:
            with self.subTest(pair=pair):
                network = Network(4)
                network.inputs = network.inputs[:1] * len(network.inputs)
                self.put('golden', Run(network, pair[1]))
                for fault, said in ((Fault('other inputs', None, 4), 'input 0 of Conv "conv0"'), (Fault('other weight', 'conv1', 4), 'input 1 of Conv "conv1"')):
                    self.put('mine', Run(network, pair[0], fault))
                    report = self.judged(pair)
                    self.assertEqual(self.culprits(report), [])
                    self.assertIn('first cause: what no operator of the dump writes is another: %s at net/0, a constant, an input of the model, '
                                  'or the output of an operator that was not dumped' % said, report['headline']['text'])
                network = Network(4)
                self.put('golden', Run(network, pair[1]))
                self.put('mine', Run(network, pair[0], Fault('wrong scale', 'conv1', 4)))
                for path in self.files():
                    if '/Conv.conv1.' in path:
                        os.remove(self.path(path))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [])
                self.assertIn('what no operator of the dump writes is another: input 0 of Relu "relu1"', report['headline']['text'])

    def test_one_channel_of_a_weight(self):
        """Another scale of one channel makes another constant of it, by the card of integers, too."""
        for pair in PAIRS:
            with self.subTest(pair=pair):
                network = Network(5)
                self.put('golden', Run(network, pair[1]))
                spoilt = Network(5)
                rows = spoilt.weights['w3'].rows
                rows[6] = [v * 2 for v in rows[6]]
                spoilt.scales['w3'][6] *= 2
                self.put('mine', Run(spoilt, pair[0]))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), ['conv3'], report.get('headline'))
                self.assertIn('first cause: Conv "conv3" at net/0, culprit: its constant input 1 is another', report['headline']['text'])

    def write_int8(self, side, gain=None, quantised=True, level=None):
        """A convolution of 88 channels as ONNX writes it for integers, with its quantiser before it, or in float32."""
        source = random.Random(8)
        x = [source.gauss(0, 1) for _ in range(88 * 16)]
        y = [source.gauss(0, 1) for _ in range(88 * 16)]
        w = [source.gauss(0, 1) for _ in range(88 * 4)]
        if level is not None:  # of all elements of a channel
            y[7 * 16:8 * 16] = [level] * 16
        folder = side + '/20260131130559/0/net/1/0/'
        shape, weights = [1, 88, 4, 4], [88, 4]
        if not quantised:
            self.write(folder + 'Conv.conv.1.0.1002', record([self.reals(x, shape), self.reals(w, weights), self.reals(w[:88], [88])], [self.reals(y, shape)]))
            return
        rough = random.Random(9)
        y = [v + rough.gauss(0, 0.047) * (level is None or i // 16 != 7) for i, v in enumerate(y)]
        if gain is not None:
            y = [v * 1.5 if i // 16 == gain else v for i, v in enumerate(y)]
        def integers(values, dims, code=INT8, size='b', step=0.04):
            return tensor(code, dims, struct.pack('<%d%s' % (len(values), size), *(max(-128, min(127, round(v / step))) for v in values)), name=b'')
        step, zero = self.reals([0.04], [1]), integers([0], [1])
        q = integers(x, shape)
        self.write(folder + 'QuantizeLinear.conv_quantise.0.0.1001', record([self.reals(x, shape), step, zero], [q]))
        bias = tensor(INT32, [88], struct.pack('<88i', *(round(v / 0.0016) for v in w[:88])), name=b'')
        self.write(folder + 'QLinearConv.conv.1.0.1002',
                   record([q, step, zero, integers(w, weights), self.reals([0.04] * 88, [88]), integers([0] * 88, [88]), step, zero, bias], [integers(y, shape)]))
        quant = {'scheme': 'affine', 'scale': [0.04], 'zero_point': [0]}
        channels = {'scheme': 'affine', 'scale': [0.04] * 88, 'zero_point': [0] * 88, 'axis': 0}
        told = [{'tensor': 'q', 'quant': quant}, *({'tensor': n, 'constant': True} for n in ('xs', 'xz')),
                {'tensor': 'w', 'constant': True, 'quant': channels}, *({'tensor': n, 'constant': True} for n in ('ws', 'wz', 'ys', 'yz', 'b'))]
        ops = [{'name': 'conv_quantise', 'type': 'QuantizeLinear', 'inputs': [{'tensor': 'x'}, *told[1:3]], 'outputs': told[:1]},
               {'name': 'conv', 'type': 'QLinearConv', 'inputs': told, 'outputs': [{'tensor': 'y', 'quant': quant}]}]
        self.write(side + '.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': ops}).encode())

    def reals(self, values, shape):
        return tensor(FLOAT, shape, struct.pack('<%df' % len(values), *values), name=b'')

    def test_integers_as_onnx_writes_them(self):
        """Inputs go with those of the operator for real numbers, and of integers without a scale nothing is said."""
        self.write_int8('golden', quantised=False)
        self.write_int8('mine')
        for arguments in ([], ['--model', 'mine.json'], ['--limits', 'max_abs=0'], ['--model', 'mine.json', '--limits', 'max_abs=0']):
            report = json.loads(self.run_tool('compare', 'mine', 'golden', '--json', *arguments, expect=(0, 1))[0])
            self.assertEqual(self.culprits(report), [])
            self.assertIn(report.get('headline', {}).get('cause', ''), ('', 'unclear', 'no scale', 'unknown inputs'))
        pairs = {t['tensor'] for t in report['tensors'] if t['mine'] and t['golden']}
        self.assertEqual({name.split(':', 1)[1] for name in pairs}, {'input:0', 'input:3', 'input:8', 'output:0'})

    def test_one_channel_of_many(self):
        """One of 88 channels that is half as much again changes the whole tensor by no more than ten times what comes in."""
        self.write_int8('golden', quantised=False)
        self.write_int8('good')
        self.write_int8('mine', gain=7)
        for more in ((), ('-e', 'good')):
            report = json.loads(self.run_tool('compare', 'mine', 'golden', '--model', 'mine.json', '--json', *more, expect=(0, 1))[0])
            self.assertEqual(self.culprits(report), ['conv'])
            self.assertRegex(report['headline']['text'], r"channel 7 of 88 \(axis 1\) of output 0 is 1\.[45]\S* times golden's")
            good = json.loads(self.run_tool('compare', 'good', 'golden', '--model', 'mine.json', '--json', *more, expect=(0, 1))[0])
            self.assertEqual(self.culprits(good), [])

    def test_a_channel_that_is_shifted_has_no_factor(self):
        self.write_int8('golden', quantised=False, level=0.44)
        self.write_int8('mine', level=0.56)
        report = json.loads(self.run_tool('compare', 'mine', 'golden', '--model', 'mine.json', '--json', expect=(0, 1))[0])
        self.assertEqual(self.culprits(report), [], report.get('headline'))

    def test_fused_operators(self):
        """A right fold agrees and is told; of a wrong one the operator that has it is the culprit."""
        class Folded(Run):
            def run(self, step, given=None):
                for name, inputs, output in super().run(step, given):
                    if name == 'conv3':
                        held = inputs
                    elif name == 'bn':
                        yield 'conv3', held, output
                    else:
                        yield name, inputs, output
        for pair in PAIRS[:3]:
            with self.subTest(pair=pair):
                network = Network(6)
                self.put('golden', Run(network, pair[1]))
                self.put('mine', Folded(network, pair[0]))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [], report.get('headline'))
                self.assertNotIn('headline', report)
                told = [op['evidence'] for op in report['ops'] if op['name'] == 'conv3']
                self.assertEqual(told, ['its output is that of golden\'s BatchNormalization "bn", which is fused into it'] * STEPS)
                self.run_tool('why', 'mine', '-g', 'golden', *self.cards(pair))
                self.put('mine', Folded(network, pair[0], Fault('smaller', 'bn', 6)))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), ['conv3'], report.get('headline'))
                self.assertIn('first cause: Conv "conv3" at net/0, culprit: its 2 inputs agree, its output is that of golden\'s '
                              'BatchNormalization "bn", and is off', report['headline']['text'])

    def test_namesakes_are_not_told_apart(self):
        """Of two operators of one name, type, task and step nobody knows which is golden's."""
        for pair in PAIRS[:3]:
            with self.subTest(pair=pair):
                network = Network(7)
                self.put('golden', Run(network, pair[1]))
                self.put('mine', Run(network, pair[0], Fault('wrong scale', 'conv1', 7)))
                for side in ('golden', 'mine'):
                    for path in self.files(side):
                        if '/Conv.conv1.3.' in path or '/Conv.conv2.5.' in path:
                            name = path.replace('conv1.3.', 'conv.3.').replace('conv2.5.', 'conv.3.')
                            os.rename(self.path(side, path), self.path(side, name))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [], report.get('headline'))
                self.assertIn('first diverging operator: Conv "conv" at net/0, not certain: several operators of one type are called '
                              'so at one step', report['headline']['text'])

    def test_what_was_overwritten_accuses_nobody(self):
        for pair in PAIRS:
            with self.subTest(pair=pair):
                network = Network(8)
                self.put('golden', Run(network, pair[1]))
                self.put('mine', Run(network, pair[0], Fault('overwritten', 'relu0', 8)))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [], report.get('headline'))
                self.assertIn('first diverging operator: Relu "relu0" at net/0, not certain: its input 0 is not what the operator before '
                              'it has written, which agrees: overwritten in between, or read too early', report['headline']['text'])

    def test_swapped_outputs(self):
        source = random.Random(9)
        made = [[source.gauss(0, 1) for _ in range(64)] for _ in range(3)]
        for dtype, (code, letter) in CODES.items():
            with self.subTest(dtype=dtype):
                x, p, q = [tensor(code, [64], struct.pack('<64' + letter, *(round(v * 30) if dtype == 'int8' else v for v in values)), name=b'')
                           for values in made]
                for side, outputs in (('golden', [p, q]), ('mine', [q, p])):
                    self.write(side + '/20260131130559/0/net/1/0/Split.split.0.0.%016d' % 1, record([x], outputs))
                report = self.judged((dtype, 'float32') if dtype != 'int8' else ('', ''))
                self.assertEqual(report['headline']['text'], 'first cause: Split "split" at net/0, culprit: its outputs 0 and 1 are swapped: '
                                                             'each agrees with the other one of golden')


if __name__ == '__main__':
    tool_case.main()
