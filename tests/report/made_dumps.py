"""Dumps of made networks for the tests of `opdump report`: chains of operators, each of which reads what the one
before it has written. Standard library only."""
import math
import os
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from tool_case import FLOAT, record, tensor  # noqa: E402

TIME = 1700000000000000
TYPES = ['Conv2D', 'BiasAdd', 'Relu', 'MatMul', 'Softmax']
HOSTILE = ['</script><img src=x onerror=document.title=1>', '<!--<script>', '\u202egnp.exe\u202c', 'x' * 180,
           '"onmouseover="document.title=1', "&lt;b&gt;'", '\u2028\\u003c', 'a${1}`']


def op_name(op):
    return 'op%d' % op


def values(step, op, count):
    return [math.sin(0.37 * i + op + 0.1 * step) for i in range(count)]


def floats(numbers):
    return struct.pack('<%df' % len(numbers), *numbers)


def write_network(write, root, steps=3, ops=8, shape=(4, 6), spoil=None, tensors=2, names=None, nan=None):
    """Writes the records of a chain by write(path, bytes). From operator `spoil` on what is computed is wrong, by
    its own fault at that operator alone. `nan`: the step and operator whose output holds one."""
    count = math.prod(shape)
    for step in range(steps):
        wrong = False
        for op in range(ops):
            read = floats([v * 1.5 if wrong else v for v in values(step, op - 1, count)])
            wrong = wrong or op == spoil
            numbers = [v * 1.5 if wrong else v for v in values(step, op, count)]
            if nan == (step, op):
                numbers[3] = math.nan
            inputs = [tensor(FLOAT, list(shape), read)] + [
                tensor(FLOAT, [3], floats([0.5, 0.25, op])) for _ in range(tensors - 2)]
            outputs = [tensor(FLOAT, list(shape), floats(numbers), name=b'')]
            inputs[0]['address'], outputs[0]['address'] = 0x1000 * (op + 1), 0x1000 * (op + 2)
            kind, name = TYPES[op % len(TYPES)], names[op] if names else op_name(op)
            when = TIME + (step * ops + op) * 100
            write('%s/20231114221320/0/net/1/%d/%s.%s.%d.0.%d' % (root, step, kind, name, op, when),
                  record(inputs, outputs))


def write_negations(write, root, off=None):
    """A chain of three operators, each of which negates its input; operator `off` adds 0.5 besides, to one element."""
    numbers = [1.0, -2.0, 3.0, 0.25]
    for op in range(3):
        read, numbers = numbers, [-number for number in numbers]
        if op == off:
            numbers[1] += 0.5
        write('%s/20231114221320/0/net/1/0/Neg.neg%d.%d.0.%d' % (root, op, op, TIME + op),
              record([tensor(FLOAT, [4], floats(read))], [tensor(FLOAT, [4], floats(numbers))]))
