"""Gives the first input of an ONNX model other dims, without a library: a field of its graph is replaced."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))

import model_files
import proto_record

GRAPH, INPUT, NAME = 7, 11, 1
FLOAT = 1


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(message):
    """Number, payload and whole bytes of each field that has a payload; None as the payload of numbers."""
    at = 0
    while at < len(message):
        begin = at
        tag, at = varint(message, at)
        kind, payload = tag & 7, None
        if kind == 2:
            size, at = varint(message, at)
            payload = message[at:at + size]
            at += size
        elif kind == 0:
            at = varint(message, at)[1]
        else:
            at += 4 if kind == 5 else 8
        yield tag >> 3, payload, message[begin:at]


def replaced(message, number, change):
    """`message` with the payload of its first field `number` changed."""
    out, is_first = b'', True
    for field, payload, whole in fields(message):
        if field == number and is_first:
            whole, is_first = proto_record.text(number, change(payload)), False
        out += whole
    return out


def with_dims(model, dims):
    def named(value):
        name = next(payload for field, payload, _ in fields(value) if field == NAME).decode()
        return model_files.onnx_value(name, FLOAT, dims)

    return replaced(model, GRAPH, lambda graph: replaced(graph, INPUT, named))
