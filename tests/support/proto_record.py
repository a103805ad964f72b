"""Protobuf dump records by hand, field by field as CANN's messages number them. Standard library only."""
import struct


def varint(value):
    out = b''
    value &= (1 << 64) - 1
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    """A field of a number; zero is left out, as protobuf does."""
    return varint(field << 3) + varint(value) if value else b''


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def shape(field, dims):
    return text(field, text(1, b''.join(map(varint, dims))) if dims else b'') if dims is not None else b''


def tensor(t, is_output):
    """`t` has dtype, shape, data, fmt, original and perhaps groups, as those of nano records in tool_case."""
    shift = 1 if is_output else 0
    out = number(1, t['dtype']) + number(2, t['fmt']) + shape(3, t['shape'])
    if is_output:
        out += text(4, text(1, t['name']) + number(3, t['original_dtype']))
    return out + number(5 + shift, len(t['data'])) + shape(6 + shift, t['original']) + \
        number(7 + shift, t.get('groups', 0))


def record(inputs, outputs, op_name='', buffers=(), spaces=(), tail=b''):
    message = text(1, '2.0') + number(2, 1589195081588018)
    message += b''.join(text(3, tensor(t, True)) for t in outputs)
    message += b''.join(text(4, tensor(t, False)) for t in inputs)
    message += b''.join(text(5, number(3, len(data))) for data in buffers) + text(6, op_name)
    message += b''.join(text(8, number(3, len(data))) for data in spaces)
    data = b''.join(t['data'] for t in list(inputs) + list(outputs)) + b''.join(buffers) + b''.join(spaces)
    return struct.pack('<Q', len(message)) + message + data + tail
