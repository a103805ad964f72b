"""Makes an int8 copy of an ONNX model: each convolution with constant weights becomes QuantizeLinear, QLinearConv and
DequantizeLinear, with scales from the ranges that its tensors had."""
import numpy

from onnx_graph import Node, constant

FLOAT, UINT8, INT8, INT32 = 1, 2, 3, 6
TYPES = {FLOAT: '<f4', UINT8: 'u1', INT8: 'i1', INT32: '<i4', 7: '<i8', 10: '<f2'}
NUMBERS = {numpy.dtype(code): number for number, code in TYPES.items()}


def array_of(model, name):
    """A constant of the model; None: it is none."""
    if name not in model.constants:
        return None
    dtype, dims, raw = model.constants[name]
    return numpy.frombuffer(raw, TYPES[dtype]).reshape(dims)


def constant_of(name, array):
    array = numpy.asarray(array)
    return constant(name, NUMBERS[array.dtype], array.shape, array.tobytes())


def affine(low, high):
    """Scale and zero point of uint8 for numbers of this range."""
    low, high = min(float(low), 0.0), max(float(high), 1e-6)
    scale = numpy.float32((high - low) / 255)
    return scale, numpy.uint8(round(-low / float(scale)))


def quantised(model, ranges):
    """Changes `model`. `ranges`: least and greatest number of the input and of the output of each convolution, by its
    name."""
    nodes = []
    for node in model.nodes:
        weights = array_of(model, node.inputs[1]) if node.type == 'Conv' else None
        if weights is None or node.name not in ranges:
            nodes.append(node)
            continue
        (x_scale, x_zero), (y_scale, y_zero) = (affine(*limits) for limits in ranges[node.name])
        per_channel = numpy.abs(weights.reshape(len(weights), -1)).max(axis=1)
        w_scale = (numpy.maximum(per_channel, 1e-8) / 127).astype('<f4')
        w = numpy.rint(weights / w_scale.reshape(-1, *[1] * (weights.ndim - 1))).astype('i1')
        constants = {'x_scale': x_scale, 'x_zero': x_zero, 'w': w, 'w_scale': w_scale, 'w_zero': numpy.zeros(len(w), 'i1'),
                     'y_scale': y_scale, 'y_zero': y_zero}
        if len(node.inputs) > 2:
            constants['bias'] = numpy.rint(array_of(model, node.inputs[2]) / (x_scale * w_scale)).astype('<i4')
        names = {key: f'{node.name}/{key}' for key in constants}
        for key, value in constants.items():
            nodes.append(constant_of(names[key], value))
            value = numpy.asarray(value)
            model.constants[names[key]] = (NUMBERS[value.dtype], value.shape, value.tobytes())
        x, y = f'{node.name}/x', f'{node.name}/y'
        nodes.append(Node('QuantizeLinear', [node.inputs[0], names['x_scale'], names['x_zero']], [x], f'{node.name}.quantise'))
        nodes.append(Node('QLinearConv', [x, *(names[key] for key in ('x_scale', 'x_zero', 'w', 'w_scale', 'w_zero', 'y_scale', 'y_zero')),
                                          *([names['bias']] if 'bias' in names else [])], [y], node.name, attributes=node.attributes))
        nodes.append(Node('DequantizeLinear', [y, names['y_scale'], names['y_zero']], node.outputs, f'{node.name}.dequantise'))
    model.nodes = nodes
