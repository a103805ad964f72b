"""Makes small models as ONNX and as TensorFlow Lite files, from the layouts of onnx.proto and schema.fbs.

Standard library only.
"""
import struct

from proto_record import text as data
from proto_record import varint


# Protobuf.


def number(field, value):
    return varint(field << 3) + varint(value)


def fixed32(field, value):
    return varint(field << 3 | 5) + struct.pack('<f', value)


def onnx_value(name, dtype, dims):
    """A ValueInfoProto. A dim is a number, a name, or None where it is not known."""
    shape = b''
    for dim in dims:
        shape += data(1, b'' if dim is None else data(2, dim) if isinstance(dim, str) else number(1, dim))
    return data(1, name) + data(2, data(1, number(1, dtype) + data(2, shape)))


def onnx_tensor(name, dtype, dims, raw):
    return b''.join(number(1, dim) for dim in dims) + number(2, dtype) + data(8, name) + data(9, raw)


def onnx_attribute(name, value):
    if isinstance(value, float):
        return data(1, name) + fixed32(2, value) + number(20, 1)
    if isinstance(value, int):
        return data(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return data(1, name) + data(4, value) + number(20, 3)
    if isinstance(value, bytes):  # a graph
        return data(1, name) + data(6, value) + number(20, 5)
    if value and isinstance(value[0], float):
        return data(1, name) + b''.join(fixed32(7, item) for item in value) + number(20, 6)
    return data(1, name) + data(8, b''.join(map(varint, value))) + number(20, 7)


def onnx_node(op_type, inputs, outputs, name='', domain='', **attributes):
    out = b''.join(data(1, text) for text in inputs) + b''.join(data(2, text) for text in outputs)
    if name:
        out += data(3, name)
    out += data(4, op_type)
    out += b''.join(data(5, onnx_attribute(key, value)) for key, value in attributes.items())
    return out + (data(7, domain) if domain else b'')


def onnx_model(nodes, inputs=(), outputs=(), constants=(), values=(), graph='main', opset=17):
    body = b''.join(data(1, node) for node in nodes) + data(2, graph)
    body += b''.join(data(5, constant) for constant in constants)
    body += b''.join(data(11, value) for value in inputs) + b''.join(data(12, value) for value in outputs)
    body += b''.join(data(13, value) for value in values)
    return number(1, 8) + data(2, 'maker') + data(3, '1.0') + data(7, body) + data(8, number(2, opset))


# FlatBuffers. Objects are laid out one behind another, and every offset leads forward.


class Table:
    def __init__(self, **fields):
        """Fields by their numbers, as f0=...: (format of struct, value), a Table, a str, bytes or a list of those."""
        self.fields = {int(key[1:]): value for key, value in fields.items()}


def flat(root, identifier=b'TFL3'):
    out = bytearray(8)
    out[4:8] = identifier

    def align(to):
        out.extend(b'\0' * (-len(out) % to))

    def put(value):
        if isinstance(value, Table):
            return put_table(value)
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, bytes):
            align(4)
            at = len(out)
            out.extend(struct.pack('<I', len(value)) + value + b'\0')
            return at
        if isinstance(value, tuple):  # a vector of numbers
            code, items = value
            size = struct.calcsize('<' + code)
            align(4)
            out.extend(b'\0' * (-(len(out) + 4) % size))
            at = len(out)
            out.extend(struct.pack(f'<I{len(items)}{code}', len(items), *items))
            return at
        align(4)  # a vector of offsets
        at = len(out)
        out.extend(struct.pack('<I', len(value)) + bytes(4 * len(value)))
        for i, item in enumerate(value):
            place = at + 4 + 4 * i
            struct.pack_into('<I', out, place, put(item) - place)
        return at

    def put_table(table):
        last = max(table.fields, default=-1)
        align(8)
        vtable = len(out)
        slots, size, places = [0] * (last + 1), 4, {}
        for field, value in sorted(table.fields.items()):
            width = struct.calcsize(value[0]) if isinstance(value, tuple) and not isinstance(value[1], (list, tuple)) else 4
            size += -size % width
            slots[field] = places[field] = size
            size += width
        out.extend(struct.pack(f'<HH{len(slots)}H', 4 + 2 * len(slots), size, *slots))
        align(8)
        at = len(out)
        out.extend(bytes(size))
        struct.pack_into('<i', out, at, at - vtable)
        for field, value in sorted(table.fields.items()):
            place = at + places[field]
            if isinstance(value, tuple) and not isinstance(value[1], (list, tuple)):
                struct.pack_into('<' + value[0], out, place, value[1])
            else:
                struct.pack_into('<I', out, place, put(value) - place)
        return at

    struct.pack_into('<I', out, 0, put(root))
    return bytes(out)


def tflite_tensor(name, dtype, shape, buffer=0, scales=(), zero_points=(), axis=0, signature=None):
    fields = {'f0': ('i', list(shape)), 'f1': ('b', dtype), 'f2': ('I', buffer), 'f3': name}
    if scales:
        fields['f4'] = Table(f2=('f', list(scales)), f3=('q', list(zero_points)), f6=('i', axis))
    if signature:
        fields['f7'] = ('i', list(signature))
    return Table(**fields)


def tflite_op(code, inputs, outputs, options_type=0, options=None):
    fields = {'f0': ('I', code), 'f1': ('i', list(inputs)), 'f2': ('i', list(outputs))}
    if options is not None:
        fields.update(f3=('B', options_type), f4=options)
    return Table(**fields)


def tflite_code(number_of, custom=None):
    fields = {'f0': ('b', min(number_of, 127)), 'f3': ('i', number_of)}
    if custom:
        fields['f1'] = custom
    return Table(**fields)


def tflite_model(codes, tensors, ops, buffers, graph='main'):
    return flat(Table(f0=('I', 3), f1=list(codes), f2=[Table(f0=list(tensors), f3=list(ops), f4=graph)], f3='maker',
                      f4=[Table(f0=buffer) if buffer else Table() for buffer in buffers]))
