"""Faults in the operators of ONNX models, and the models that have them: in what an operator does, by a function of its
name that does something else with its inputs, or in a constant that it reads."""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import typing

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
import npm_packages  # noqa: E402
from with_numpy import numpy  # noqa: E402
if numpy is None:
    npm_packages.skip('no NumPy')
import text_image  # noqa: E402
from model_files import data, number, onnx_attribute  # noqa: E402
from onnx_graph import Model, Node  # noqa: E402
from quantised_model import NUMBERS, array_of, constant_of, quantised  # noqa: E402
from tapped_program import environment  # noqa: E402

FLOAT, HALF = 1, 10  # ONNX's numbers of dtypes
WHOLE = {'when_full': 'block', 'block_limit_ms': 60000}  # however busy the machine is
UNARY = ('BatchNormalization', 'Clip', 'HardSigmoid', 'Relu', 'Sigmoid')
WEIGHED = ('Conv', 'MatMul', 'ConvTranspose', 'QLinearConv')


class NoPlace(Exception):
    """The operator cannot have this fault."""


def cast(source, result, to):
    return Node('Cast', [source], [result], attributes=[onnx_attribute('to', to)])


class Operator:
    """A node of a model that is to be spoilt, in what it does or in a constant of its own."""

    def __init__(self, model, node, in_file, output):
        self.model, self.node, self.in_file, self.output, self.body = model, node, in_file, output, []

    def output_of_numbers(self):
        computed = self.output.dtype.kind == 'f' or self.node.type in ('QuantizeLinear', 'QLinearConv')
        if self.in_file or self.output.size < 2 or not computed:
            raise NoPlace
        return self.output

    def weights_at(self):
        if self.node.type not in WEIGHED:
            raise NoPlace
        return 3 if self.node.type == 'QLinearConv' else 1

    def bias_at(self):
        at = {'Conv': 2, 'QLinearConv': 8, 'BatchNormalization': 2, 'Add': 1}.get(self.node.type)
        if at is None or at >= len(self.node.inputs) or self.constant(at).size < 2:
            raise NoPlace
        return at

    def constant(self, at):
        array = array_of(self.model, self.node.inputs[at])
        if array is None:
            raise NoPlace
        return array

    def put_constant(self, label, array):
        self.body.append(constant_of(label, array))
        return label

    def replace(self, at, array):
        """It computes with `array` in place of an input."""
        if numpy.array_equal(array, self.constant(at)):
            raise NoPlace
        if self.in_file:
            name = self.node.inputs[at] + '/spoilt'
            self.model.nodes.insert(0, constant_of(name, array))
            self.node.inputs[at] = name
            return
        inputs = list(self.node.inputs)
        inputs[at] = self.put_constant('spoilt', array)
        self.compute(self.body, inputs)

    def compute(self, body, inputs, outputs=None):
        """Its body ends with what it did, from other inputs."""
        body.append(Node(self.node.type, inputs, outputs or self.node.outputs, attributes=self.node.attributes))

    def finish(self):
        if self.body:
            self.model.put_into_function(self.node, self.body, 'faulty')


def bias_off_by_a_channel(op, _):
    at = op.bias_at()
    bias = op.constant(at)
    axis = max(range(bias.ndim), key=lambda i: bias.shape[i])
    op.replace(at, numpy.ascontiguousarray(numpy.roll(bias, 1, axis)))


def transposed_weight(op, _):
    at = op.weights_at()
    weights = op.constant(at)
    # As read in the order of the other dims.
    op.replace(at, numpy.ascontiguousarray(weights.reshape(len(weights), -1).T).reshape(weights.shape))


def half_accumulation(op, _):
    """Sums are rounded to float16 after each sixteenth of the terms."""
    if op.node.type == 'QLinearConv' or op.in_file:
        raise NoPlace
    weights = op.constant(op.weights_at())
    by_term = weights.reshape(len(weights), -1) if op.node.type == 'Conv' else weights.reshape(len(weights), -1).T
    terms = by_term.shape[1]
    total = None
    for part, chosen in enumerate(numpy.array_split(numpy.arange(terms), min(16, terms))):
        kept = numpy.zeros_like(by_term)
        kept[:, chosen] = by_term[:, chosen]
        if op.node.type != 'Conv':
            kept = kept.T
        inputs = [op.node.inputs[0], op.put_constant(f'w{part}', numpy.ascontiguousarray(kept).reshape(weights.shape))]
        if part == 0:
            inputs += op.node.inputs[2:]
        op.compute(op.body, inputs, [f'sum{part}'])
        if total is not None:
            op.body.append(Node('Add', [total, f'sum{part}'], [f'both{part}']))
        op.body.append(cast(f'sum{part}' if total is None else f'both{part}', f'half{part}', HALF))
        total = f'total{part}'
        op.body.append(cast(f'half{part}', total, FLOAT))
    op.body[-1].outputs = list(op.node.outputs)


def saturated_int8(op, _):
    """Numbers beyond half the range of the output's scale end there."""
    if op.in_file or op.node.type not in ('QuantizeLinear', 'QLinearConv'):
        raise NoPlace
    at = 1 if op.node.type == 'QuantizeLinear' else 6
    scale, zero = float(op.constant(at)), int(op.constant(at + 1))
    low, high = (numpy.float32((limit - zero) / 2 * scale) for limit in (0, 255))
    source = op.node.inputs[0]
    if op.node.type == 'QLinearConv':
        op.compute(op.body, op.node.inputs, ['q'])
        op.body.append(Node('DequantizeLinear', ['q', *op.node.inputs[at:at + 2]], ['real']))
        source = 'real'
    op.body.append(Node('Max', [source, op.put_constant('low', low)], ['above']))
    op.body.append(Node('Min', ['above', op.put_constant('high', high)], ['between']))
    op.body.append(Node('QuantizeLinear', ['between', *op.node.inputs[at:at + 2]], op.node.outputs))


def wrong_zero_point(op, choose):
    at = {'QuantizeLinear': 2, 'QLinearConv': 7, 'DequantizeLinear': 2}.get(op.node.type)
    if at is None:
        raise NoPlace
    zero = int(op.constant(at))
    wrong = min(max(zero + choose.choice([-32, -16, -8, 8, 16, 32]), 0), 255)
    op.replace(at, numpy.array(wrong, 'u1'))


def spoil_output(op, kind, array, *more, attributes=()):
    """What it makes goes through a node of float32 with `array`, and on through `more`, back to its dtype."""
    op.compute(op.body, op.node.inputs, ['made', *op.node.outputs[1:]])
    odd = op.put_constant('odd', array)
    op.body += [cast('made', 'real', FLOAT), Node(kind, ['real', odd], ['spoilt'], attributes=attributes), *more]
    last = op.body[-1].outputs[0]
    if op.output.dtype.kind == 'u':
        ends = [op.put_constant(name, numpy.float32(end)) for name, end in (('low', 0), ('high', 255))]
        op.body += [Node('Clip', [last, *ends], ['kept']), Node('Round', ['kept'], ['whole'])]
        last = 'whole'
    op.body.append(cast(last, op.node.outputs[0], NUMBERS[op.output.dtype]))


def channel_doubled(op, choose):
    shape = op.output_of_numbers().shape
    axis = 1 if len(shape) > 1 and shape[1] > 1 else len(shape) - 1
    times = numpy.ones([size if i == axis else 1 for i, size in enumerate(shape)], '<f4')
    times.reshape(-1)[choose.randrange(times.size)] = 2
    spoil_output(op, 'Mul', times)


def never_written(op, _):
    """The last third is 0."""
    output = op.output_of_numbers()
    kept = numpy.ones(output.size, '<f4')
    kept[-max(1, output.size // 3):] = 0
    spoil_output(op, 'Mul', kept.reshape(output.shape))


def not_a_number(op, choose):
    output = op.output_of_numbers()
    if output.dtype.kind != 'f':
        raise NoPlace
    more = numpy.zeros(output.size, '<f4')
    more[choose.randrange(output.size)] = choose.choice([numpy.nan, numpy.inf])
    spoil_output(op, 'Add', more.reshape(output.shape))


def rows_moved(op, choose):
    shape = op.output_of_numbers().shape
    axis = choose.choice([i for i, size in enumerate(shape) if size > 1] or [None])
    if axis is None:
        raise NoPlace
    spoil_output(op, 'Gather', numpy.roll(numpy.arange(shape[axis]), 1).astype('<i8'), attributes=[onnx_attribute('axis', axis)])


def other_layout(op, _):
    """Its output lies as NHWC, and is read as NCHW."""
    shape = op.output_of_numbers().shape
    if len(shape) != 4 or sum(size > 1 for size in shape) < 2:
        raise NoPlace
    order = data(1, 'perm') + b''.join(number(8, axis) for axis in (0, 2, 3, 1)) + number(20, 7)
    dims = op.put_constant('dims', numpy.array(shape, '<i8'))
    spoil_output(op, 'Add', numpy.zeros(1, '<f4'), Node('Transpose', ['spoilt'], ['turned'], attributes=[order]),
                 Node('Reshape', ['turned', dims], ['relaid']))


def other_scale(op, choose):
    """Of one channel of the weights, or of the output."""
    if op.node.type != 'QLinearConv':
        raise NoPlace
    at = choose.choice([4, 6])
    scale = op.constant(at).copy()
    scale.reshape(-1)[choose.randrange(scale.size)] *= 2
    op.replace(at, scale)


def writer_of(op):
    """Who writes what it alone reads."""
    read, nodes = op.node.inputs[0], op.model.nodes
    writer = next((node for node in nodes if read in node.outputs), None)
    alone = sum(read in node.inputs for node in nodes) == 1 and any(op.node.outputs[0] in node.inputs for node in nodes)
    if op.node.type not in UNARY or writer is None or not alone:
        raise NoPlace
    return writer


def left_out(op, _):
    read = writer_of(op).outputs[0]
    for node in op.model.nodes:
        node.inputs = [read if name == op.node.outputs[0] else name for name in node.inputs]
    op.model.nodes.remove(op.node)


def before_its_writer(op, _):
    b, a, nodes = op.node, writer_of(op), op.model.nodes
    if a.type not in UNARY:
        raise NoPlace
    i, j = nodes.index(a), nodes.index(b)
    nodes[i], nodes[j] = b, a
    b.inputs[0], b.outputs[0], a.inputs[0], a.outputs[0] = a.inputs[0], a.outputs[0], a.outputs[0], b.outputs[0]


def fused_wrongly(op, choose):
    """Who writes what it reads does what it did, with another bias."""
    writer, node = writer_of(op), op.node
    op.in_file = True
    bias_off_by_a_channel(op, choose)
    body = [Node(one.type, one.inputs, [f'made{i}'], attributes=one.attributes) for i, one in enumerate((writer, node))]
    body[1].inputs[0], body[1].outputs = 'made0', node.outputs
    writer.inputs, writer.outputs, op.node = writer.inputs + node.inputs[1:], node.outputs, writer
    op.model.nodes.remove(node)
    op.model.put_into_function(writer, body, 'fused')


class Lab(typing.NamedTuple):
    """With what models are run and dumped, and where."""
    driver: pathlib.Path  # ort_driver.cpp
    opdump: pathlib.Path
    folder: pathlib.Path

    @classmethod
    def of_tests(cls, case, driver, opdump):
        """In a folder that goes when the tests of the class `case` have run."""
        folder = tempfile.TemporaryDirectory()
        case.addClassCleanup(folder.cleanup)
        return cls(driver, opdump, pathlib.Path(folder.name))


def image(shape):
    """A word in grey."""
    rows = text_image.draw('LAYER 47', shape[3], shape[2])
    return numpy.broadcast_to(numpy.array([list(row) for row in rows], '<f4') / 127.5 - 1, shape)


class Subject:
    """A model, its inputs by name and the dump of it as it is."""

    def __init__(self, lab, name, file, inputs):
        self.lab, self.name, self.file, self.inputs, self.folder = lab, name, file, inputs, lab.folder / name
        self.folder.mkdir()
        self.golden = self.folder / 'golden'
        self.run(file, self.golden)
        self.arrays = self.read_arrays()
        self.golden_card = self.card(self.golden.with_suffix('.onnx'))
        self.operators = [node.name for node in Model(file).nodes
                          if node.type != 'Constant' and 'output.0' in self.arrays[in_files(node.name)]]

    def run(self, file, dump, level=0, inputs=None, data='tensor', **options):
        """By ONNX Runtime's optimisations of that level."""
        dump.mkdir()
        paths = {name: dump.with_name(f'{dump.name}.{name}') for name in ('onnx', 'json', 'out')}
        paths['onnx'].write_bytes(file)
        paths['json'].write_text(json.dumps({'dump': {'dump_path': str(dump), 'dump_mode': 'all', 'dump_data': data, 'dump_list': [{}]},
                                             'opdump': {**WHOLE, 'ring_bytes': 1 << 22, **options}}))
        lines = [f'level {level}', f'session {self.name} {paths["onnx"]}']
        for name, array in (inputs or self.inputs).items():
            (self.folder / name).write_bytes(array.tobytes())
            lines.append(' '.join(map(str, ('input', name, NUMBERS[array.dtype], self.folder / name, *array.shape))))
        lines.append(f'run {paths["out"]} 1')
        done = subprocess.run([self.lab.driver], input='\n'.join(lines), text=True, capture_output=True, check=False,
                              env=environment(paths['json']))
        if done.returncode != 0 or 'failed' in done.stdout:
            raise RuntimeError(f'{self.name}: {done.stdout}{done.stderr}')

    def output(self, dump, op):
        """The bytes of an operator's output in a dump: the end of its record."""
        path, = dump.rglob(f'*.{in_files(op)}.*.*.*')
        return path.read_bytes()[-self.arrays[in_files(op)]['output.0'].nbytes:]

    def read_arrays(self):
        """Of the model as it is, by operator in files and by role."""
        dump = self.folder / 'arrays'
        self.run(self.file, dump, file_format='npy')
        found = collections.defaultdict(dict)
        for path in dump.rglob('*.npy'):
            parts = path.name.split('.')
            found[parts[1]]['.'.join(parts[5:7])] = numpy.load(path, mmap_mode='r')
        return found

    def card(self, model):
        """The card of a model's file."""
        path = model.with_suffix('.card')
        done = subprocess.run([self.lab.opdump, 'describe', model, '-o', path], text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return path


class Half(Subject):
    """What each operator of another one makes is rounded to float16, and dumped so."""

    def __init__(self, real):
        self.real = real
        super().__init__(real.lab, real.name + '_half', real.file, real.inputs)

    def run(self, file, dump, **_):
        model, nodes, rounded = Model(file), [], {}
        for node in model.nodes:
            node.inputs = [rounded.get(name, name) for name in node.inputs]
            nodes.append(node)
            array = self.real.arrays.get(in_files(node.name), {}).get('output.0')
            if array is not None and array.dtype == numpy.float32:
                made = node.outputs[0]
                rounded[made] = made + '/float'
                nodes += [Node('Cast', [made], [made + '/half'], 'half_' + node.name, attributes=[onnx_attribute('to', HALF)]),
                          Node('Cast', [made + '/half'], [made + '/float'], 'half_back_' + node.name, attributes=[onnx_attribute('to', FLOAT)])]
        model.nodes = nodes
        super().run(model.to_bytes(), dump, file_format='npy')
        for path in dump.rglob('*.npy'):
            array = numpy.load(path)
            if '.half_' in path.name:
                path.unlink()
            elif array.dtype == numpy.float32:
                numpy.save(path, array.astype('<f2'))


def in_files(name):
    return name.replace('.', '_').replace('/', '_')


def int8_copy(subject):
    model, arrays = Model(subject.file), subject.arrays
    limits = {op: [(array.min(), array.max()) for array in (tensors['input.0'], tensors['output.0'])]
              for op, tensors in arrays.items() if 'input.0' in tensors and tensors['output.0'].dtype == numpy.float32}
    quantised(model, {node.name: limits[in_files(node.name)] for node in model.nodes
                      if node.type == 'Conv'})
    copy = Subject(subject.lab, subject.name + '_int8', model.to_bytes(), subject.inputs)
    copy.real = subject
    return copy


class Planted:
    """A fault of this kind at a random operator: what it is, where it is, and the model with it. NoPlace if there is none."""

    def __init__(self, subject, kind, choose):
        model = Model(subject.file)
        for last in (False,) * 19_999 + (True,):
            self.in_file = choose.random() < 0.5
            node = model.node(choose.choice(subject.operators))
            op = Operator(model, node, self.in_file, subject.arrays[in_files(node.name)]['output.0'])
            try:
                kind(op, choose)
            except NoPlace:
                if last:
                    raise
                continue
            break
        op.finish()
        self.subject, self.kind, self.op, self.type, self.file = subject, kind, op.node.name, node.type, model.to_bytes()

    def __str__(self):
        where = ', in a constant of the file' if self.in_file else ''
        return f'{self.kind.__name__} of {self.type} "{self.op}" of {self.subject.name}{where}'
