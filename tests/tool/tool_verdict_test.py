#!/usr/bin/env python3
"""Faults planted in a small network: the guilty operator is named first, and no innocent one is ever accused.

tool_verdict_test.py OPDUMP [unittest arguments]. Standard library only.
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
from tool_case import Case, FLOAT, FLOAT16, INT8, record, tensor  # noqa: E402

CHANNELS, PLACES, CLASSES, STEPS = 8, 36, 10, 3
CODES = {'float32': (FLOAT, 'f'), 'float16': (FLOAT16, 'e'), 'int8': (INT8, 'b')}


class Array:
    """Rows of numbers, with the name that a card gives them."""

    def __init__(self, rows, name=None, constant=False):
        self.rows, self.name, self.constant = [list(row) for row in rows], name, constant

    def flat(self):
        return [value for row in self.rows for value in row]

    def shape(self):
        return [len(self.rows), len(self.rows[0])]

    def like(self, values, **more):
        width, values = len(self.rows[0]), list(values)
        return Array([values[i:i + width] for i in range(0, len(values), width)],
                     more.get('name', self.name), more.get('constant', self.constant))


def product(a, b):
    columns = list(zip(*b.rows))
    return [[math.fsum(x * y for x, y in zip(row, column)) for column in columns] for row in a.rows]


def each(rule):
    return lambda x: [[rule(v) for v in row] for row in x.rows]


def both(rule):
    def made(a, b):
        return [[rule(x, y) for x, y in zip(row, b.rows[i] if len(b.rows[0]) > 1 else b.rows[i] * len(row))]
                for i, row in enumerate(a.rows)]
    return made


def softmax(x):
    powers = [math.exp(v) for v in x.flat()]
    return [[v / sum(powers)] for v in powers]


# name, type, inputs ('=...' is a constant of that shape and deviation), rule
OPS = [
    ('conv0', 'Conv', ['x', ('w0', CHANNELS, CHANNELS, 0.4)], lambda x, w: product(w, x)),
    ('add0', 'Add', ['conv0', ('b0', CHANNELS, 1, 0.3)], both(lambda x, y: x + y)),
    ('relu0', 'Relu', ['add0'], each(lambda v: max(v, 0))),
    ('conv1', 'Conv', ['relu0', ('w1', CHANNELS, CHANNELS, 0.4)], lambda x, w: product(w, x)),
    ('relu1', 'Relu', ['conv1'], each(lambda v: max(v, 0))),
    ('conv2', 'Conv', ['relu0', ('w2', CHANNELS, CHANNELS, 0.4)], lambda x, w: product(w, x)),
    ('sigmoid0', 'Sigmoid', ['conv2'], each(lambda v: 1 / (1 + math.exp(-v)))),
    ('gate', 'Mul', ['relu1', 'sigmoid0'], both(lambda x, y: x * y)),
    ('sub0', 'Sub', ['gate', 'relu0'], both(lambda x, y: x - y)),
    ('cat', 'Concat', ['sub0', 'relu0'], lambda a, b: a.rows + b.rows),
    ('conv3', 'Conv', ['cat', ('w3', CHANNELS, 2 * CHANNELS, 0.3)], lambda x, w: product(w, x)),
    ('bn', 'BatchNormalization', ['conv3', ('s', CHANNELS, 1, 0.5)], both(lambda x, y: x * (1 + y))),
    ('res', 'Add', ['bn', 'relu0'], both(lambda x, y: x + y)),
    ('relu2', 'Relu', ['res'], each(lambda v: max(v, 0))),
    ('pool', 'AveragePool', ['relu2'], lambda x: [[(a + b) / 2 for a, b in zip(row[::2], row[1::2])] for row in x.rows]),
    ('flat', 'Reshape', ['pool'], lambda x: [[v] for v in x.flat()]),
    ('fc', 'MatMul', ['flat', ('wf', CLASSES, CHANNELS * PLACES // 2, 0.06)], lambda x, w: product(w, x)),
    ('softmax', 'Softmax', ['fc'], softmax),
]
NAMES = [op[0] for op in OPS]


class Network:
    """Weights, inputs, and what each operator makes of them in float64."""

    def __init__(self, seed):
        source = random.Random(seed)
        self.inputs = [Array([[source.gauss(0, 1) for _ in range(PLACES)] for _ in range(CHANNELS)], 'x')
                       for _ in range(STEPS + 1)]
        self.weights = {name: Array([[source.gauss(0, deviation) for _ in range(columns)] for _ in range(rows)], name, True)
                        for _, _, inputs, _ in OPS for name, rows, columns, deviation in (i for i in inputs if not isinstance(i, str))}
        self.scales = {}
        for step in range(STEPS):
            for _, inputs, output in Run(self, 'float64').run(step):
                for array in (*inputs, output):
                    most = max(map(abs, array.flat()))
                    self.scales[array.name] = max(self.scales.get(array.name, 0), most / 127)


class Run:
    """The network in a dtype, with a fault."""

    def __init__(self, network, dtype, fault=None, noise=0):
        self.network, self.dtype, self.fault = network, dtype, fault
        self.noise = random.Random(noise) if noise else None

    def stored(self, array):
        if self.dtype != 'int8':
            return array.flat()
        scale = self.network.scales[array.name]
        return [max(-128, min(127, round(v / scale))) for v in array.flat()]

    def rounded(self, array):
        if self.dtype == 'float64':
            return array
        if self.dtype == 'int8':
            scale = self.network.scales[array.name]
            return array.like(v if math.isnan(v) else struct.unpack('f', struct.pack('f', scale))[0] * q
                              for v, q in zip(array.flat(), self.stored(array)))
        code = CODES[self.dtype][1]
        return array.like(struct.unpack(code, struct.pack(code, v))[0] for v in array.flat())

    def run(self, step, given=None):
        """Gives the name, the inputs and the output of each operator that there is."""
        fault, values = self.fault, {'x': self.rounded(given or self.network.inputs[step])}
        if fault and fault.kind == 'other inputs':
            values['x'] = self.rounded(self.network.inputs[step].like(v * 0.7 + 0.5 for v in self.network.inputs[step].flat()))
        for name, _, wanted, rule in OPS:
            guilty = fault is not None and fault.op == name
            inputs = []
            for i in wanted:
                weights = i if isinstance(i, str) else self.network.weights[i[0]]
                if not isinstance(i, str) and guilty and fault.kind == 'other weight':
                    weights = weights.like(random.Random(name).sample(weights.flat(), len(weights.flat())))
                inputs.append(values[i] if isinstance(i, str) else self.rounded(weights))
            if guilty and fault.kind == 'swapped':
                inputs.reverse()
            if guilty and fault.kind == 'missing':
                values[name] = inputs[0]
                continue
            made = Array(rule(*inputs), name)
            if self.noise:
                made = made.like(v * (1 + self.noise.gauss(0, 1e-7)) for v in made.flat())
            if guilty:
                made = fault.spoil(made, step)
            values[name] = self.rounded(made)
            yield name, inputs, values[name]


class Fault:
    def __init__(self, kind, op, seed, stale=None):
        self.kind, self.op, self.random, self.stale = kind, op, random.Random(seed), stale

    def __str__(self):
        return '%s in %s' % (self.kind, self.op)

    def spoil(self, made, step):
        rows = made.rows
        if self.kind == 'doubled channel':
            most = max(range(len(rows)), key=lambda i: sum(v * v for v in rows[i]))
            rows = [[v * 2 for v in row] if i == most else row for i, row in enumerate(rows)]
        elif self.kind == 'wrong scale':
            rows = [[v * 0.5 for v in row] for row in rows]
        elif self.kind == 'transposed':
            return made.like(v for column in zip(*rows) for v in column)
        elif self.kind == 'shifted rows':
            return made.like(made.flat()[5:] + made.flat()[:5])
        elif self.kind == 'saturated':
            limit = max(map(abs, made.flat())) / 6
            rows = [[max(-limit, min(limit, v)) for v in row] for row in rows]
        elif self.kind == 'too large':
            rows = [[v * 6 for v in row] for row in rows]
        elif self.kind == 'NaN':
            rows = [[math.nan] + rows[0][1:]] + rows[1:]
        elif self.kind == 'stale step' and step:
            return self.stale[step - 1][self.op]
        return made.like(v for row in rows for v in row)


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


class Why(Case):
    def put(self, side, run, steps=range(STEPS), shift=0):
        dtype, code = CODES[run.dtype]
        shutil.rmtree(self.path(side), ignore_errors=True)
        for step in steps:
            folder = '%s/20260131130559/0/net/1/%d' % (side, step)
            for turn, (name, inputs, output) in enumerate(run.run(step, run.network.inputs[step + shift])):
                def one(array):
                    values = run.stored(array)
                    return tensor(dtype, array.shape(), struct.pack('<%d%s' % (len(values), code), *values), name=b'')
                op = NAMES.index(name)
                self.write('%s/%s.%s.%d.0.%016d' % (folder, OPS[op][1], name, op, 1000 * step + turn + 1),
                           record([one(i) for i in inputs], [one(output)]))
        if run.dtype != 'int8':
            return
        def told(name):
            quant = {'scheme': 'affine', 'scale': [run.network.scales[name]], 'zero_point': [0]}
            return {'tensor': name, 'quant': quant, **({'constant': True} if name in run.network.weights else {})}
        ops = [{'name': name, 'type': kind, 'inputs': [told(i if isinstance(i, str) else i[0]) for i in inputs], 'outputs': [told(name)]}
               for name, kind, inputs, _ in OPS]
        self.write(side + '.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': ops}).encode())

    def judged(self, pair):
        cards = [text for side, option, dtype in (('mine', '--model', pair[0]), ('golden', '--golden-model', pair[1]))
                 if dtype == 'int8' for text in (option, side + '.json')]
        return json.loads(self.run_tool('compare', 'mine', 'golden', '--json', *cards, expect=(0, 1))[0])

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


if __name__ == '__main__':
    tool_case.main()
