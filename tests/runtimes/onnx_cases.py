"""The single operators of ONNX's test data as dumps."""
import pathlib
import struct

import onnx_data
from tool_case import numpy, record, tensor

DATA = pathlib.Path('/usr/share/libonnx-testdata/data')

# ONNX's dtypes: the code of a nano record, and NumPy's name of the elements.
CODES = {1: (0, '<f4'), 2: (4, '|u1'), 3: (2, '|i1'), 4: (7, '<u2'), 5: (6, '<i2'), 6: (3, '<i4'), 7: (9, '<i8'),
         9: (12, '|b1'), 10: (1, '<f2'), 11: (11, '<f8'), 12: (8, '<u4'), 13: (10, '<u8'), 16: (27, '<u2')}


def texts(message, number):
    return [value.decode() for field, value in onnx_data.fields(message) if field == number]


class SingleOp:
    """A case of one operator; `problem` says why it can be no dump."""

    def __init__(self, folder):
        self.folder, self.problem = folder, ''
        model = (folder / 'model.onnx').read_bytes()
        graph = b''.join(value for number, value in onnx_data.fields(model) if number == 7)
        nodes = [value for number, value in onnx_data.fields(graph) if number == 1]
        if len(nodes) != 1:
            self.problem = 'several operators'
            return
        node = nodes[0]
        self.op_type, = texts(node, 4)
        inputs, outputs = (self.tensors(role, [value for number, value in onnx_data.fields(graph) if number == of])
                           for role, of in (('input', 11), ('output', 12)))
        node_outputs = [name for name in texts(node, 2) if name]
        if None in inputs.values() or None in outputs.values() or any(name not in outputs for name in node_outputs):
            self.problem = 'no tensors of numbers'
            return
        self.inputs = [inputs[name] for name in texts(node, 1) if name in inputs]
        self.outputs = [outputs[name] for name in node_outputs]
        name = (texts(node, 3) + node_outputs)[0]
        self.file = '%s.%s.0.0.1589195081588018' % (self.op_type, name.translate({ord('/'): '_', ord('.'): '_'}))

    def tensors(self, role, values):
        """None for one that holds no numbers."""
        found = {}
        for i, value in enumerate(values):
            name = next(text.decode() for field, text in onnx_data.fields(value) if field == 1)
            path = self.folder / 'test_data_set_0' / ('%s_%d.pb' % (role, i))
            if not path.exists():
                continue
            try:
                read = onnx_data.tensor(path.read_bytes())
                # Of bfloat16 the files have uint16.
                if read is not None and read[1] == 4 and self.dtype_of(value) == 16:
                    read = read[:1] + (16,) + read[2:]
            except (ValueError, IndexError, UnicodeDecodeError, struct.error, TypeError):
                read = None
            found[name] = read if read is not None and read[1] in CODES else None
        return found

    @staticmethod
    def dtype_of(value):
        kinds = [kind for field, kind in onnx_data.fields(value) if field == 2]
        tensors = [kind for field, kind in onnx_data.fields(kinds[0]) if field == 1]
        return next((number for field, number in onnx_data.fields(tensors[0]) if field == 1), 0) if tensors else 0

    def record(self, spoil=False):
        def dumped(one, is_spoilt):
            _, dtype, dims, raw = one
            return tensor(CODES[dtype][0], dims, self.spoilt(dtype, raw) if is_spoilt else raw, name=b'')
        return record([dumped(one, False) for one in self.inputs],
                      [dumped(one, spoil and i == 0) for i, one in enumerate(self.outputs)])

    @staticmethod
    def spoilt(dtype, raw):
        array = numpy.frombuffer(raw, CODES[dtype][1]).copy()
        if not array.size:
            return raw
        if array.dtype == bool:
            array[-1] = not array[-1]
        elif dtype == 16:
            array[-1] ^= 0x0400
        elif array.dtype.kind in 'iu':
            array[-1] += 5 if array[-1] < 100 else -5
        else:
            known = array[numpy.isfinite(array)].astype(numpy.float64)
            size = float(numpy.abs(known).max()) if known.size else 1
            array[-1] = (array[-1] if numpy.isfinite(array[-1]) else 0) + max(size, 1e-2)
        return array.tobytes()
