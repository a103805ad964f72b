#!/usr/bin/env python3
"""Tests of `opdump compare --align`, of one network in two runtimes: tool_align_test.py OPDUMP [unittest arguments].

One runtime fuses activations into what is before them, works in NCHW and has names and types of its own; the other
does not fuse, works in NHWC and lays reshapes between. Standard library only.
"""
import json
import math
import os
import random
import shutil
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case, FLOAT, npy, record, tensor  # noqa: E402


class Value:
    """A tensor of one image: channels, rows, columns, and its elements in that order."""

    def __init__(self, dims, elements):
        self.dims, self.elements = dims, elements

    def planes(self):
        size = self.dims[1] * self.dims[2]
        return [self.elements[i * size:(i + 1) * size] for i in range(self.dims[0])]

    def tensor(self, nhwc):
        c, h, w = self.dims
        shape, elements = [1, c, h, w], self.elements
        if nhwc:
            shape = [1, h, w, c]
            elements = [elements[(k * h + y) * w + x] for y in range(h) for x in range(w) for k in range(c)]
        return tensor(FLOAT, shape, struct.pack('<%df' % len(elements), *elements), name=b'')


class Network:
    """Layers (kind, channels, weights), and what they make of an image; `fault(layer, value)` may spoil a layer."""
    TYPES = {'conv': ('FusedConv', 'CONV_2D'), 'pool': ('MaxPool', 'MAX_POOL_2D'), 'mul': ('Mul', 'MUL'),
             'add': ('Add', 'ADD'), 'sigmoid': ('Sigmoid', 'LOGISTIC')}

    def __init__(self, random_, layers):
        self.random, self.layers = random_, []
        channels, side = 4, 16
        self.image = Value((channels, side, side), [random_.uniform(-1, 1) for _ in range(channels * side * side)])
        for _ in range(layers):
            kind = random_.choice(['conv', 'conv', 'conv', 'mul', 'add', 'sigmoid', 'pool'])
            if kind == 'pool' and side <= 4:
                kind = 'conv'
            wanted = random_.choice([4, 8]) if kind == 'conv' else channels
            weights = [[random_.gauss(0, 1 / math.sqrt(channels)) for _ in range(channels)] for _ in range(wanted)]
            bias = [random_.uniform(-0.5, 0.5) for _ in range(wanted)]
            self.layers.append((kind, weights, bias))
            channels, side = wanted, side // 2 if kind == 'pool' else side

    @staticmethod
    def apply(layer, value):
        """What the layer makes before its activation, and behind it."""
        kind, weights, bias = layer
        c, h, w = value.dims
        planes = value.planes()
        if kind == 'conv':
            planes = [[sum(weight * plane[i] for weight, plane in zip(row, planes)) + b for i in range(h * w)]
                      for row, b in zip(weights, bias)]
        elif kind == 'pool':
            planes = [[max(plane[2 * y * w + 2 * x + d] for d in (0, 1, w, w + 1))
                       for y in range(h // 2) for x in range(w // 2)] for plane in planes]
            h, w = h // 2, w // 2
        else:
            change = {'mul': lambda x, b: x * (1.5 + b), 'add': lambda x, b: x + b,
                      'sigmoid': lambda x, b: 1 / (1 + math.exp(-max(min(x, 60), -60)))}[kind]
            planes = [[change(x, b) for x in plane] for plane, b in zip(planes, bias)]
        before = Value((len(planes), h, w), [x for plane in planes for x in plane])
        behind = before
        if kind == 'conv':
            behind = Value(before.dims, [max(x, 0.0) for x in before.elements])
        return before, behind

    def run(self, spoil=None):
        """Of each layer its input and what `apply` gives."""
        value, made = self.image, []
        for number, layer in enumerate(self.layers):
            before, behind = self.apply(layer, value)
            if spoil is not None and spoil[0] == number:
                behind = spoil[1](behind)
            made.append((value, before, behind))
            value = behind
        return made


def off_by_a_channel(value):
    """As a bias that is added to the next channel's elements."""
    planes = value.planes()
    return Value(value.dims, [x for plane in planes[1:] + planes[:1] for x in plane])


def too_large(value):
    return Value(value.dims, [x * 1.3 for x in value.elements])


class Align(Case):
    def put_mine(self, network, spoil=None):
        for number, (given, _, made) in enumerate(network.run(spoil)):
            name = '%s.n%d.%d.0.%d' % (network.TYPES[network.layers[number][0]][0], number, number, 1589195081588018 + number)
            self.write('mine/20260101000000/0/net/1/0/' + name, record([given.tensor(False)], [made.tensor(False)]))

    def put_golden(self, network, arrays=False):
        """Returns the golden names by those of mine. Arrays are outputs alone, without a type."""
        partners, at = {}, 0

        def put(kind, name, given, made):
            nonlocal at
            time, output = 1589195081588018 + at, made.tensor(True)
            if arrays:
                self.write('golden/%s.0.%d.npy' % (name, time), npy('<f4', output['shape'], output['data']))
            else:
                self.write('golden/20260101000000/0/other/1/0/%s.%s.%d.0.%d' % (kind, name, at, time),
                           record([given.tensor(True)], [output]))
            at += 1

        for number, (given, before, made) in enumerate(network.run()):
            kind = network.layers[number][0]
            name = 'model_block_%d_%s' % (number, kind)
            put(network.TYPES[kind][1], name, given, before)
            if kind == 'conv':
                name = 'model_block_%d_act' % number
                put('RELU', name, before, made)
            if network.random.random() < 0.2:
                put('RESHAPE', 'model_block_%d_reshape' % number, made, Value((made.dims[0], 1, made.dims[1] * made.dims[2]),
                                                                              made.elements))
            partners['n%d' % number] = name
        return partners

    def compare(self, *arguments, expect):
        out, _ = self.run_tool('compare', 'mine', 'golden', '--json', *arguments, expect=expect)
        return json.loads(out)

    def pairs(self, report):
        """The operators whose outputs were paired."""
        def op(side):
            name = os.path.basename(side['file']).split('.')
            return name[0 if name[-1] == 'npy' else 1]
        return {op(t['mine']): op(t['golden']) for t in report['tensors'] if t['mine'] and t['golden'] and ':output:' in t['tensor']}

    def clean(self):
        for side in ('mine', 'golden'):
            shutil.rmtree(self.path(side), ignore_errors=True)

    def test_the_same_network_in_two_runtimes(self):
        common = found = 0
        for seed in range(10):
            with self.subTest(seed):
                self.clean()
                network = Network(random.Random(seed), 30)
                self.put_mine(network)
                arrays = seed % 3 == 0
                partners = self.put_golden(network, arrays)
                report = self.compare('--align', expect=0)
                pairs = self.pairs(report)
                common += len(partners)
                found += sum(pairs.get(mine) == golden for mine, golden in partners.items())
                self.assertNotIn(True, [tensor.get('diverges') for tensor in report['tensors']])
        self.assertGreaterEqual(found, 0.95 * common)

    def test_the_operator_that_was_spoilt_is_named(self):
        named = 0
        for seed in range(10):
            with self.subTest(seed):
                self.clean()
                random_ = random.Random(100 + seed)
                network = Network(random_, 20)
                at = random_.randrange(20)
                self.put_mine(network, (at, random_.choice([off_by_a_channel, too_large])))
                self.put_golden(network)
                report = self.compare('--align', expect=1)
                first = report['ops'][report['first_diverging']['op']]
                named += (first['name'], first['verdict']) == ('n%d' % at, 'culprit')
        self.assertEqual(named, 10)

    def test_names_that_agree_but_for_what_runtimes_add_divide_the_orders(self):
        values = [Value((4, 2, 2), [math.sin(16 * i + k) for k in range(16)]) for i in range(4)]
        for i, name in enumerate(('a', 'odd', 'b', 'late')):
            self.write('mine/Relu.%s.%d.0.%d' % (name, i, 1589195081588018 + i), record([], [values[i].tensor(False)]))
        for i, name in enumerate(('onnx_node!A', 'other', 'B;x', 'end')):
            self.write('golden/Relu.%s.%d.0.%d' % (name, i, 1589195081588018 + i), record([], [values[i].tensor(True)]))
        report = self.compare('--align', expect=0)
        self.assertEqual(self.pairs(report), {'a': 'onnx_node!A', 'odd': 'other', 'b': 'B;x', 'late': 'end'})
        self.assertEqual([t['paired_by'] for t in report['tensors']],
                         ['common name', 'alignment', 'common name', 'alignment'])
        self.assertIn('paired: 2 by common name, 2 by alignment\n', self.run_tool('compare', 'mine', 'golden', '--align')[0])

    def test_a_golden_dump_without_steps_serves_every_step(self):
        value = Value((4, 2, 2), [math.sin(k) for k in range(16)])
        for step in range(3):
            self.write('mine/20260101000000/0/net/1/%d/Relu.a.0.0.1589195081588018' % step, record([], [value.tensor(False)]))
        self.write('golden/Relu.b.0.0.1589195081588018', record([], [value.tensor(True)]))
        self.assertEqual([t['equal'] for t in self.compare('--align', expect=0)['tensors']], [16, 16, 16])

    def test_it_excludes_the_order_alone(self):
        self.assertIn("'--align' and '--by-order' exclude each other",
                      self.run_tool('compare', 'mine', 'golden', '--align', '--by-order', expect=2)[1])


if __name__ == '__main__':
    tool_case.main()
