"""Makes `.dbg` files, field by field: what CANN's converter writes beside a model for its nano products."""
import struct

MAGIC = 0x5a5a5a5a


def tlv(tag, value):
    return struct.pack('<II', tag, len(value)) + value


def dims(numbers):
    return b''.join(struct.pack('<Q', number & 0xffffffffffffffff) for number in numbers)


def tensor(dtype, shape, size, fmt=2, kind=5, address=0, original=None, name=b''):
    return dict(dtype=dtype, shape=shape, size=size, fmt=fmt, kind=kind, address=address,
                original=shape if original is None else original, name=name)


def operator(name, kind, task, inputs=(), outputs=(), originals=(), stream=0):
    tlvs = tlv(0, name) + tlv(1, kind)
    if originals:
        tlvs += tlv(2, b''.join(struct.pack('<I', len(text)) + text for text in originals))
    for tag, tensors in ((4, inputs), (5, outputs)):
        tlvs += tlv(tag, struct.pack('<I', len(tensors)) + b''.join(described(t, tag == 5) for t in tensors))
    tlvs += tlv(8, struct.pack('<I5QI', 1, 1, 1, 1, 1, 4, 0))
    return struct.pack('<IIIiIBI', task, stream, stream, 0, 1, 0, len(tlvs)) + tlvs


def described(t, is_output):
    tlvs = tlv(0, dims(t['shape'])) + tlv(1, dims(t['original']))
    fields = struct.pack('<iii', t['dtype'], t['fmt'], t['kind'])
    if is_output:
        fields += struct.pack('<iii', 0, t['dtype'], t['fmt'])
        if t['name']:
            tlvs += tlv(2, t['name'])
    return fields + struct.pack('<QQQI', t['address'], 0, t['size'], len(tlvs)) + tlvs


def dbg(model, operators):
    return struct.pack('<II', 0, MAGIC) + tlv(0, model) + tlv(1, struct.pack('<I', len(operators)) + b''.join(operators))


def net(model=b'net'):
    """conv, relu, pool, and fc_add that was fused from fc and add; tasks 0 to 3."""
    image = tensor(1, [1, 4, 4, 2], 64, fmt=1, kind=3)
    weights = tensor(1, [2, 2], 32, kind=4)
    small = tensor(0, [1, 4], 16)
    return dbg(model, [operator(b'conv', b'Conv2D', 0, [image, weights], [image]),
                       operator(b'relu', b'Relu', 1, [image], [image]),
                       operator(b'pool', b'MaxPool', 2, [image], [small]),
                       operator(b'fc_add', b'MatMul', 3, [small, weights], [small], [b'fc', b'add'])])
