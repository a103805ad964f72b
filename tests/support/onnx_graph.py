"""Reads ONNX models into their nodes, and writes them again with nodes changed, added or put into functions.

Standard library only; elements of tensors are bytes.
"""
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'runtimes'))

import onnx_data
from model_files import data, number, onnx_node, onnx_tensor
from onnx_input import fields

IR_WITH_FUNCTIONS = 8


class Node:
    def __init__(self, op_type, inputs, outputs, name='', domain='', attributes=()):
        self.type, self.inputs, self.outputs, self.name, self.domain = op_type, list(inputs), list(outputs), name, domain
        self.attributes = list(attributes)  # each as AttributeProto

    @classmethod
    def parse(cls, message):
        node = cls('', [], [])
        for field, payload, _ in fields(message):
            if field == 1:
                node.inputs.append(payload.decode())
            elif field == 2:
                node.outputs.append(payload.decode())
            elif field in (3, 4, 7):
                setattr(node, {3: 'name', 4: 'type', 7: 'domain'}[field], payload.decode())
            elif field == 5:
                node.attributes.append(payload)
        return node

    def attribute(self, name):
        """The payload of an attribute's fields by number; None without it."""
        for attribute in self.attributes:
            found = {}
            for field, value in onnx_data.fields(attribute):
                found.setdefault(field, []).append(value)
            if found[1] == [name.encode()]:
                return found
        return None

    def to_bytes(self):
        return onnx_node(self.type, self.inputs, self.outputs, self.name, self.domain) + \
            b''.join(data(5, attribute) for attribute in self.attributes)


def constant(name, dtype, dims, raw):
    """The node of a constant."""
    value = data(1, 'value') + data(5, onnx_tensor('', dtype, dims, raw)) + number(20, 4)
    return Node('Constant', [], [name], attributes=[value])


class Model:
    """`nodes` may be changed; `constants`: dtype, dims and bytes by name, as the file had them."""

    def __init__(self, file):
        self.rest, self.graph_rest, self.nodes, self.functions, self.constants = [], [], [], [], {}
        self.opsets = {}
        for field, payload, whole in fields(file):
            if field == 7:
                self._read_graph(payload)
            elif field == 8:
                found = dict(onnx_data.fields(payload))
                self.opsets[found.get(1, b'').decode()] = found[2]
            elif field == 25:
                self.functions.append(payload)
            elif field != 1:
                self.rest.append(whole)

    def _read_graph(self, graph):
        for field, payload, whole in fields(graph):
            if field != 1:
                self.graph_rest.append(whole)
                if field == 5:
                    name, dtype, dims, raw = onnx_data.tensor(payload)
                    self.constants[name] = (dtype, dims, raw)
                continue
            node = Node.parse(payload)
            self.nodes.append(node)
            value = node.attribute('value') if node.type == 'Constant' else None
            if value is not None and onnx_data.tensor(value[5][0]) is not None:
                self.constants[node.outputs[0]] = onnx_data.tensor(value[5][0])[1:]

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)

    def put_into_function(self, node, body, domain):
        """What `node` computes is what the nodes `body` do with its inputs and outputs. It keeps its type."""
        parts = data(1, node.type) + b''.join(data(4, name) for name in node.inputs)
        parts += b''.join(data(5, name) for name in node.outputs) + b''.join(data(7, part.to_bytes()) for part in body)
        parts += b''.join(data(9, data(1, name) + number(2, version)) for name, version in self.opsets.items() if name != domain)
        self.functions.append(parts + data(10, domain))
        self.opsets[domain] = 1
        node.domain, node.attributes = domain, []

    def to_bytes(self):
        graph = b''.join(data(1, node.to_bytes()) for node in self.nodes) + b''.join(self.graph_rest)
        out = number(1, IR_WITH_FUNCTIONS) + b''.join(self.rest) + data(7, graph)
        out += b''.join(data(8, data(1, name) + number(2, version)) for name, version in self.opsets.items())
        return out + b''.join(data(25, function) for function in self.functions)
