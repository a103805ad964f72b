"""Dumps of single operators together with the ONNX model that they are of, for the tests of `opdump diverge`."""
import numpy

from model_files import onnx_model, onnx_node
from tool_case import record, tensor

# By NumPy's names: the code of a nano record. Bfloat16 is told by a pair, ('bfloat16', uint16 bits).
CODES = {'float32': 0, 'float16': 1, 'int8': 2, 'int32': 3, 'uint8': 4, 'int16': 6, 'uint16': 7, 'uint32': 8,
         'int64': 9, 'uint64': 10, 'float64': 11, 'bool': 12, 'bfloat16': 27}


def dumped(array):
    name, array = array if isinstance(array, tuple) else (str(numpy.asarray(array).dtype), numpy.asarray(array))
    return tensor(CODES[name], list(array.shape), numpy.ascontiguousarray(array).tobytes(), name=b'')


def record_of(inputs, outputs):
    """Inputs that are None are not in it."""
    return record([dumped(array) for array in inputs if array is not None], [dumped(array) for array in outputs])


class Operators:
    """Operators of one opset: what they get, and what they should make of it."""

    def __init__(self, opset=17):
        self.opset, self.all, self.nodes = opset, [], []

    def add(self, op_type, inputs, outputs, domain='', **attributes):
        name = '%s_%d' % (op_type, len(self.all))
        outputs = outputs if isinstance(outputs, list) else [outputs]
        names = ['' if array is None else '%s_in%d' % (name, i) for i, array in enumerate(inputs)]
        self.nodes.append(onnx_node(op_type, names, ['%s_out%d' % (name, i) for i in range(len(outputs))], name, domain,
                                    **attributes))
        self.all.append((op_type, name, inputs, outputs))
        return name

    def model(self):
        return onnx_model(self.nodes, opset=self.opset)

    def records(self, change=lambda outputs: outputs, place='20260101000000/0/net/1/0/'):
        """Paths and contents of the records; `change` may spoil the outputs."""
        for number, (op_type, name, inputs, outputs) in enumerate(self.all):
            yield ('%s%s.%s.%d.0.%d' % (place, op_type, name, number, 1589195081588018 + number),
                   record_of(inputs, change(outputs)))


def spoilt(array, index=-1):
    """The array with one element that is plainly another."""
    kind, array = array if isinstance(array, tuple) else (None, numpy.array(array))
    array = array.copy()
    flat = array.reshape(-1)
    if array.dtype == bool:
        flat[index] = not flat[index]
    elif kind == 'bfloat16':
        flat[index] ^= 0x0400
    elif array.dtype.kind in 'iu':
        five = array.dtype.type(5)
        flat[index] = flat[index] + five if flat[index] < 100 else flat[index] - five
    else:
        size = float(numpy.sqrt(numpy.mean(numpy.square(array[numpy.isfinite(array)].astype(numpy.float64))))) \
            if numpy.isfinite(array).any() else 1
        flat[index] = (flat[index] if numpy.isfinite(flat[index]) else 0) + max(size, 1e-3)
    return array if kind is None else (kind, array)
