"""A small network in float32, float16 or int8, as a dump, with a fault planted in one of its operators. Standard library
only."""
import json
import math
import random
import shutil
import struct

from tool_case import Case, FLOAT, FLOAT16, INT8, record, tensor

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
                    # Constants have a scale for each channel, which is their first axis.
                    rows = array.rows if array.constant else [array.flat()]
                    most = [max(map(abs, row)) / 127 for row in rows]
                    self.scales[array.name] = list(map(max, most, self.scales.get(array.name, most)))


class Run:
    """The network in a dtype, with a fault."""

    def __init__(self, network, dtype, fault=None, noise=0):
        self.network, self.dtype, self.fault = network, dtype, fault
        self.noise = random.Random(noise) if noise else None

    def stored(self, array):
        if self.dtype != 'int8':
            return array.flat()
        return [max(-128, min(127, round(v / scale))) for v, scale in zip(array.flat(), self.scales(array))]

    def scales(self, array):
        scales = self.network.scales[array.name]
        return [scale for scale in scales for _ in range(len(array.flat()) // len(scales))]

    def rounded(self, array):
        if self.dtype == 'float64':
            return array
        if self.dtype == 'int8':
            return array.like(v if math.isnan(v) else struct.unpack('f', struct.pack('f', scale))[0] * q
                              for v, q, scale in zip(array.flat(), self.stored(array), self.scales(array)))
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
            if guilty and fault.kind == 'overwritten':
                inputs[0] = self.rounded(inputs[0].like(-v if i % 3 else v for i, v in enumerate(inputs[0].flat())))
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
        elif self.kind == 'smaller':
            rows = [[v * 0.8 for v in row] for row in rows]
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


class PlantedCase(Case):
    def put(self, side, run, steps=range(STEPS), shift=0, lacks=lambda op, name: False):
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
                           record([one(i) for i in inputs if not lacks(name, i.name)], [one(output)]))
        if run.dtype != 'int8':
            return
        def told(name):
            scales = run.network.scales[name]
            quant = {'scheme': 'affine', 'scale': scales, 'zero_point': [0] * len(scales), **({'axis': 0} if len(scales) > 1 else {})}
            return {'tensor': name, 'quant': quant, **({'constant': True} if name in run.network.weights else {})}
        ops = [{'name': name, 'type': kind, 'inputs': [told(i if isinstance(i, str) else i[0]) for i in inputs], 'outputs': [told(name)]}
               for name, kind, inputs, _ in OPS]
        self.write(side + '.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': ops}).encode())

    def cards(self, pair):
        """The options that name the cards of two sides of such dtypes."""
        return [text for side, option, dtype in (('mine', '--model', pair[0]), ('golden', '--golden-model', pair[1]))
                if dtype == 'int8' for text in (option, side + '.json')]
