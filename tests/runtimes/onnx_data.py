"""Reads the inputs of ONNX's test data: TensorProto messages in files."""
import struct

STRING = 8
SIZES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 14: 8, 15: 16, 16: 2}
FORMS = {1: 'f', 11: 'd', 7: 'q', 13: 'Q', 6: 'i', 2: 'B', 3: 'b', 4: 'H', 5: 'h', 9: 'B', 10: 'H', 12: 'I'}


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(message):
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 2:
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        else:
            size = 8 if kind == 1 else 4
            value, at = message[at:at + size], at + size
        yield tag >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def numbers(value):
    if isinstance(value, int):
        yield signed(value)
        return
    at = 0
    while at < len(value):
        one, at = varint(value, at)
        yield signed(one)


def tensor(message):
    """Name, dtype, dims and bytes; None for one of texts, or for what is no tensor."""
    name, dtype, dims, raw, values = '', 0, [], None, []
    for number, value in fields(message):
        if number == 1:
            dims += numbers(value)
        elif number == 2 and isinstance(value, int):
            dtype = value
        elif number in (4, 10):  # floats and doubles lie as they are
            raw = (raw or b'') + value
        elif number in (5, 7, 11):
            values += numbers(value)
        elif number == 8 and isinstance(value, bytes):
            name = value.decode()
        elif number == 9:
            raw = value
    if dtype not in SIZES:
        return None
    if raw is None:
        raw = b''.join(struct.pack('<' + FORMS[dtype], value) for value in values)
    count = 1
    for dim in dims:
        count *= dim
    return (name, dtype, dims, raw) if len(raw) == count * SIZES[dtype] else None


def tensor_in(path):
    """That of a file of test data; None: the file holds another kind of value, or there is none."""
    try:
        return tensor(path.read_bytes()) if path.exists() else None
    except (ValueError, IndexError, UnicodeDecodeError, struct.error, TypeError):
        return None


def graph_inputs(model):
    """Names of the inputs of a model's graph, without its constants, and whether all are tensors."""
    graph = b''.join(value for number, value in fields(model) if number == 7)
    constants, inputs = set(), []
    for number, value in fields(graph):
        if number == 5:
            constants.update(text.decode() for field, text in fields(value) if field == 8)
        if number == 11:
            inputs.append(next(text.decode() for field, text in fields(value) if field == 1))
    return [name for name in inputs if name not in constants]


def inputs_of(model, file):
    """The driver's lines for the first inputs that a model comes with; None: not all of them are numbers."""
    names = graph_inputs(model.read_bytes())
    folder = model.parent / 'test_data_set_0'
    lines = []
    for i, name in enumerate(names):
        found = tensor_in(folder / f'input_{i}.pb')
        if found is None:
            return None
        _, dtype, dims, raw = found
        kept = file.with_name(f'{file.name}_{i}')
        kept.write_bytes(raw)
        lines.append(f'input {name} {dtype} {kept} ' + ' '.join(map(str, dims)))
    return lines
