#!/usr/bin/env python3
"""Tests of `opdump describe` from outside: tool_describe_test.py OPDUMP [unittest arguments].

Standard library only. With OPDUMP_MODELS naming folders (separated by ":"), every model in them is described too;
where NumPy and python3-onnx are installed, what it says is compared with what they read.
"""
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from model_files import (Table, onnx_model, onnx_node, onnx_tensor, onnx_value, tflite_code, tflite_model, tflite_op,
                         tflite_tensor)  # noqa: E402
import tool_case  # noqa: E402
from tool_case import SHARE, Case  # noqa: E402

FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7


def onnx_net():
    return onnx_model(
        [onnx_node('Conv', ['x', 'w', ''], ['c'], name='conv1', strides=[2, 2], group=1, auto_pad='SAME_UPPER'),
         onnx_node('QuantizeLinear', ['c', 'scale', 'zero'], ['q'], axis=1),
         onnx_node('DequantizeLinear', ['q', 'scale', 'zero'], ['d']),
         onnx_node('LeakyRelu', ['d'], ['y'], alpha=0.1),
         onnx_node('Scale', ['y'], ['z'], domain='com.example', factors=[0.5, 2.0])],
        inputs=[onnx_value('x', FLOAT, ['batch', 3, None])], outputs=[onnx_value('z', FLOAT, [1])],
        values=[onnx_value('c', FLOAT, ['batch', 2])],
        constants=[onnx_tensor('w', FLOAT, [2, 3], bytes(24)),
                   onnx_tensor('scale', FLOAT, [2], struct.pack('<2f', 0.5, 0.25)),
                   onnx_tensor('zero', INT8, [2], struct.pack('<2b', -128, 3))])


def tflite_net():
    conv = Table(f0=('b', 1), f1=('i', 2), f2=('i', 3), f3=('b', 3))
    return tflite_model(
        [tflite_code(3), tflite_code(32, 'MyOp'), tflite_code(150)],
        [tflite_tensor('x', 9, [1, 8, 8, 3], scales=[0.5], zero_points=[-4], signature=[-1, 8, 8, 3]),
         tflite_tensor('w', 9, [2, 1, 1, 3], buffer=1, scales=[0.25, 0.125], zero_points=[0, 0], axis=0),
         tflite_tensor('y', 9, [1, 3, 4, 2], scales=[2.0], zero_points=[7]), tflite_tensor('z', 0, [2]),
         tflite_tensor('g', 0, [2])],
        [tflite_op(0, [0, 1, -1], [2], 1, conv), tflite_op(1, [2], [3]), tflite_op(2, [3], [4])], [b'', b'\1' * 6])


# As GE prints a graph (`DUMP_GE_GRAPH=1`): its own operators, and those of a subgraph.
GE_NET = rb"""name: "model"
version: 1
graph {
  name: "ge_default_1"
  op { name: "x" type: "Data" output_desc { dtype: DT_FLOAT shape { dim: -1 dim: 3 } layout: "ND" } }
  op {
    name: "w" type: "Const"  # its elements are not read
    attr { key: "value" value { t { desc { dtype: DT_FLOAT16 } data: "\000\x01\"}\n" "{" } } }
    output_desc { dtype: DT_FLOAT16 shape { dim: [3, 4] } }
  }
  op {
    name: "net/conv\303\2741" type: "Conv2D" input: "x:0" input: "w:0" input: "" input: "x:-1"
    attr { key: "_datadump_original_op_names" value { list { s: "conv" s: "bn" } } }
    attr { key: "_index" value { i: 1 } }
    attr { key: "strides" value { list { i: 1 i: 2 } } }
    attr { key: "mode" value { s: 'SAME' } }
    stream_id: 2
    input_desc { dtype: DT_FLOAT shape { dim: -1 dim: 3 } }
    output_desc { dtype: DT_BF16 shape { dim: -2 } }
  }
  op { name: "call" type: "PartitionedCall" input: "net/conv\303\2741:0" subgraph_name: "sub" output_desc { } }
  op { name: "out" type: "NetOutput" input: "call:0" }
}
graph {
  name: "sub"
  op { name: "relu" type: "Relu" input: "unknown:1" input_desc { dtype: DT_INT8 shape { dim: 4 } } }
}
"""
GE_PROTO = """syntax = "proto3";
enum DataType { DT_UNDEFINED = 0; DT_FLOAT = 1; DT_FLOAT16 = 2; DT_INT8 = 3; DT_BF16 = 27; }
message List { repeated bytes s = 2; repeated int64 i = 3; }
message Value { bytes s = 2; int64 i = 3; float f = 4; bool b = 5; List list = 1; TensorDef t = 12; }
message Shape { repeated int64 dim = 1; }
message Desc { DataType dtype = 2; Shape shape = 3; string layout = 4; }
message TensorDef { Desc desc = 1; bytes data = 2; }
message Op {
  string name = 1; string type = 2; repeated string input = 5; map<string, Value> attr = 10; int64 stream_id = 22;
  repeated Desc input_desc = 33; repeated Desc output_desc = 34; repeated string subgraph_name = 35;
}
message Graph { string name = 1; repeated Op op = 6; }
message Model { string name = 1; uint32 version = 2; repeated Graph graph = 7; }
"""


class Describe(Case):
    def describe(self, name, model, *options):
        self.write(name, model)
        out, error = self.run_tool('describe', name, '-o', 'card.json', *options)
        self.assertEqual(error, '')
        card = json.loads(self.read('card.json'))
        self.assertEqual(card['sha256'], hashlib.sha256(model).hexdigest())
        return card, out

    def test_onnx(self):
        card, out = self.describe('net.onnx', onnx_net(), '--dim', 'batch=4', '--id', '7')
        self.assertEqual(out, 'card.json: model "net": 5 operators, 9 tensors, 1 of them quantised\n')
        head = {key: card[key] for key in ('opdump_model', 'name', 'graph_name', 'made_by', 'id')}
        self.assertEqual(head, {'opdump_model': 1, 'name': 'net', 'graph_name': 'main', 'made_by': 'maker 1.0',
                                'id': 7})
        conv, quantize, dequantize, relu, scale = card['ops']
        self.assertEqual(conv['attributes'], {'strides': [2, 2], 'group': 1, 'auto_pad': 'SAME_UPPER'})
        self.assertEqual(conv['onnx'], {'op': 'Conv', 'domain': '', 'opset': 17})
        self.assertEqual(conv['inputs'], [{'tensor': 'x', 'dtype': 'float32', 'shape': [4, 3, -1]},
                                          {'tensor': 'w', 'constant': True, 'dtype': 'float32', 'shape': [2, 3]}, {}])
        self.assertEqual(conv['outputs'], [{'tensor': 'c', 'dtype': 'float32', 'shape': [4, 2]}])
        quant = {'scheme': 'affine', 'axis': 1, 'scale': [0.5, 0.25], 'zero_point': [-128, 3]}
        self.assertEqual(quantize['outputs'], [{'tensor': 'q', 'quant': quant}])
        self.assertEqual(dequantize['inputs'][0], {'tensor': 'q', 'quant': quant})
        self.assertEqual([op['name'] for op in card['ops']], ['conv1', 'q', 'd', 'y', 'z'])
        self.assertEqual(relu['attributes'], {'alpha': 0.1})
        self.assertEqual(scale['onnx'], {'op': 'Scale', 'domain': 'com.example'})
        self.assertEqual(scale['attributes'], {'factors': [0.5, 2]})
        self.assertEqual([op['task_id'] for op in card['ops']], [0, 1, 2, 3, 4])

    def test_a_dim_that_nobody_gives_is_not_known(self):
        card, _ = self.describe('net.onnx', onnx_net())
        self.assertEqual(card['ops'][0]['inputs'][0]['shape'], [-1, 3, -1])

    def test_a_body_of_an_onnx_operator_is_flagged(self):
        body = onnx_node('Relu', ['a'], ['b'])
        model = onnx_model([onnx_node('If', ['c'], ['b'], then_branch=b'\x0a' + bytes([len(body)]) + body)])
        card, _ = self.describe('net.onnx', model)
        self.assertEqual([(op['type'], op['flags']) for op in card['ops']], [('If', ['control_flow'])])

    def test_tflite(self):
        card, out = self.describe('net.tflite', tflite_net(), '--name', 'other')
        self.assertEqual(out, 'card.json: model "other": 3 operators, 5 tensors, 3 of them quantised\n')
        conv, custom, gelu = card['ops']
        self.assertEqual(conv['attributes'], {'padding': 'VALID', 'stride_w': 2, 'stride_h': 3,
                                              'fused_activation_function': 'RELU6', 'dilation_w_factor': 1,
                                              'dilation_h_factor': 1})
        self.assertEqual(conv['inputs'], [
            {'tensor': 'x', 'dtype': 'int8', 'shape': [-1, 8, 8, 3],
             'quant': {'scheme': 'affine', 'scale': [0.5], 'zero_point': [-4]}},
            {'tensor': 'w', 'constant': True, 'dtype': 'int8', 'shape': [2, 1, 1, 3],
             'quant': {'scheme': 'affine', 'axis': 0, 'scale': [0.25, 0.125], 'zero_point': [0, 0]}}, {}])
        self.assertEqual([(op['name'], op['type']) for op in card['ops']],
                         [('y', 'CONV_2D'), ('z', 'MyOp'), ('g', 'GELU')])

    def test_a_graph_of_cann(self):
        card, out = self.describe('ge_proto_00000007_graph_1_Build.txt', GE_NET)
        self.assertEqual(out, 'card.json: model "ge_default_1": 3 operators, 5 tensors\n')
        conv, call, relu = card['ops']
        x = {'tensor': 'x:0', 'dtype': 'float32', 'shape': [-1, 3]}
        w = {'tensor': 'w:0', 'constant': True, 'dtype': 'float16', 'shape': [3, 4]}
        out = {'tensor': 'net/conv\u00fc1:0', 'dtype': 'bfloat16'}
        self.assertEqual(conv, {'index': 0, 'name': 'net/conv\u00fc1', 'type': 'Conv2D', 'stream_id': 2,
                                'original_names': ['conv', 'bn'], 'inputs': [x, w, {}], 'outputs': [out]})
        self.assertEqual((call['inputs'], call['outputs'], call['flags']),
                         ([out], [{'tensor': 'call:0'}], ['control_flow']))
        self.assertEqual(relu['inputs'], [{'tensor': 'unknown:1', 'dtype': 'int8', 'shape': [4]}])

    def test_a_graph_of_cann_as_protobuf_prints_it(self):
        if shutil.which('protoc') is None:
            print('left out: a graph that protoc prints, as protoc is not installed')
            return
        self.write('ge.proto', GE_PROTO)
        printed = GE_NET
        for way in ('--encode', '--decode'):
            printed = subprocess.run(['protoc', f'{way}=Model', f'--proto_path={self.path("")}', 'ge.proto'],
                                     input=printed, stdout=subprocess.PIPE, check=True).stdout
        self.assertNotEqual(printed, GE_NET)
        cards = [self.describe('graph.txt', text)[0] for text in (GE_NET, printed)]
        for card in cards:
            del card['sha256']
        self.assertEqual(*cards)

    def test_a_card_is_a_model_for_check_and_replay(self):
        self.describe('net.tflite', tflite_net())
        os.mkdir(self.path('dump'))
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_list': [
            {'model_name': 'net', 'layer': ['y', 'q']}]}}))
        out, error = self.run_tool('check', 'acl.json', '--model', 'card.json')
        self.assertIn('1 of 3 operators: "y"', out)
        self.assertIn('layer "q" of model "net" matches nothing', out)
        # The batch is not known, and one input is not given.
        self.assertEqual(error, 'card.json: 2 tensors without a size before the model runs, such as input 0 of '
                                'operator "y"; the cost leaves them out\n')
        self.assertIn('has no size before the model runs',
                      self.run_tool('replay', 'card.json', '--config', 'acl.json', expect=1)[1])
        card = json.loads(self.read('card.json'))
        card['ops'][0]['inputs'][0]['shape'][0] = 1
        del card['ops'][0]['inputs'][2]
        self.write('card.json', json.dumps(card))
        self.assertEqual(self.run_tool('check', 'acl.json', '--model', 'card.json')[1], '')
        self.run_tool('replay', 'card.json', '--config', 'acl.json')
        self.assertIn('complete', self.run_tool('verify', 'dump', expect=4)[0])
        shown = self.run_tool('show', 'dump')[0]
        self.assertIn('CONV_2D', shown)
        self.assertIn('[1,8,8,3]', shown)

    def test_a_model_is_taken_as_a_card_a_file_or_a_dump(self):
        self.describe('net.onnx', onnx_net())
        self.write('dump/1/opdump.3.0.model.json', self.read('card.json'))
        self.write('dump/2/opdump.4.0.model.json', self.read('card.json'))
        self.write('net.tflite', tflite_net())
        self.write('dump/1/0/net/1/0/Conv.conv1.0.0.1', tool_case.record([], [tool_case.tensor(
            tool_case.FLOAT, [1], tool_case.floats(1))]))
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{'model_name': 'net'}]}}))
        for model in ('card.json', 'net.onnx', 'dump', 'net.tflite'):
            out = self.run_tool('check', 'acl.json', '--model', model)[0]
            self.assertIn('%d of' % (3 if model == 'net.tflite' else 5), out[out.index('  match'):], model)
            for command in ('show', 'edges', 'why', 'overflow'):
                self.run_tool(command, 'dump', '--model', model, expect=(0, 3))
            self.run_tool('compare', 'dump', 'dump', '--model', model)
            self.assertIn('no size', self.run_tool('replay', model, '--config', 'acl.json', expect=1)[1])
            self.run_tool('report', 'dump', '--model', model, '-o', 'page.html')
            self.assertIn('no journal', self.run_tool('verify', 'dump', '--config', 'acl.json', '--model', model,
                                                      expect=1)[0])
        self.write('dump/2/opdump.4.0.model.json', self.read('card.json').replace(b'conv1', b'conv2'))
        self.assertIn('is another card of the same model', self.run_tool('check', 'acl.json', '--model', 'dump', expect=1)[1])
        self.assertIn('there is no card', self.run_tool('show', 'dump', '--model', 'dump/1/0', expect=1)[1])

    def test_show_tells_what_integers_stand_for(self):
        self.describe('net.tflite', tflite_net())
        where = 'dump/20260131130559/0/net/1/0/'
        stored = [-128, -128, 127, 7, 9, 11]
        self.write(where + 'CONV_2D.y.0.0.1589195081588018',
                   tool_case.record([tool_case.tensor(tool_case.INT8, [1, 6], struct.pack('6b', *stored)),
                                     tool_case.tensor(tool_case.INT8, [2, 1, 1, 3],
                                                      struct.pack('6b', 4, 8, -8, 16, 0, -32))],
                                    [tool_case.tensor(tool_case.INT8, [6], struct.pack('6b', *stored))]))
        self.write(where + 'CONV_2D.other.0.0.1589195081588019',
                   tool_case.record([], [tool_case.tensor(tool_case.INT8, [1], b'\1')]))
        lines = self.run_tool('show', 'dump', '--model', 'card.json')[0].splitlines()
        reals = [line.split() for line in lines if line.split()[:1] == ['real']]
        mean = sum(0.5 * (value + 4) for value in stored) / 6
        self.assertEqual(' '.join(reals[0]), f'real min -62 max 65.5 mean {mean:.6g} scale 0.5 zero point -4 '
                                             'at the least 33.3 % at the most 16.7 %')
        self.assertEqual(' '.join(reals[1]), 'real min -4 max 2 mean -0.166667 scale 0.125..0.25 zero point 0 axis 0 '
                                             'at the least 0 % at the most 0 %')
        self.assertEqual(len(reals), 3)
        shown = json.loads(self.run_tool('show', 'dump', '--json', '--model', 'card.json')[0])
        tensors = shown['records'][0]['tensors']
        self.assertEqual([tensors[2][key] for key in ('real_min', 'real_max', 'at_least', 'at_most')],
                         [-270, 240, 2, 1])
        self.assertEqual(tensors[1]['quant'],
                         {'scheme': 'affine', 'scale': [0.25, 0.125], 'zero_point': [0, 0], 'axis': 0})
        self.assertEqual([t.get('tensor') for t in tensors], ['x', 'w', 'y'])
        self.assertNotIn('quant', shown['records'][1]['tensors'][0])

    def test_compare_takes_what_integers_stand_for(self):
        self.describe('net.tflite', tflite_net())
        weights = [4, 8, -8, 16, 0, -32]
        scales = [0.25] * 3 + [0.125] * 3
        self.write('mine/CONV_2D.y.0.0.1589195081588018',
                   tool_case.record([tool_case.tensor(tool_case.INT8, [1, 700], bytes(range(100)) * 7),
                                     tool_case.tensor(tool_case.INT8, [2, 1, 1, 3], struct.pack('6b', *weights))], []))
        self.write('golden/CONV_2D.y.0.0.1589195081588018',
                   tool_case.record([tool_case.tensor(tool_case.FLOAT, [1, 700],
                                                      tool_case.floats(*[0.5 * (i + 4) for i in range(100)] * 7)),
                                     tool_case.tensor(tool_case.FLOAT, [2, 1, 1, 3], tool_case.floats(
                                         *(scale * value for scale, value in zip(scales, weights))))], []))
        out, _ = self.run_tool('compare', 'mine', 'golden', '--model', 'card.json')
        self.assertIn('2 tensors compared: 2 equal, 0 diverging', out)
        self.assertNotIn('no scale is known', out)
        self.assertIn('2 equal', self.run_tool('compare', 'golden', 'mine', '--golden-model', 'card.json')[0])
        out, _ = self.run_tool('compare', 'mine', 'golden', expect=1)
        self.assertIn('0 equal, 2 diverging', out)
        self.assertIn('2 tensors of integers met real numbers, and no scale is known', out)

    def test_scales_that_do_not_fit_are_told(self):
        self.describe('net.tflite', tflite_net())
        self.write('dump/20260131130559/0/net/1/0/CONV_2D.y.0.0.1589195081588018',
                   tool_case.record([tool_case.tensor(tool_case.INT8, [1], b'\1'),
                                     tool_case.tensor(tool_case.INT8, [3], b'\1\2\3')], []))
        self.assertIn('the scales of the card do not fit this shape',
                      self.run_tool('show', 'dump', '--model', 'card.json')[0])

    def test_a_card_of_another_version_is_refused(self):
        self.write('card.json', '{"opdump_model": 2, "name": "net", "ops": []}')
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]}}))
        os.mkdir(self.path('dump'))
        self.assertIn('card.json:1:18: opdump_model: this build reads version 1',
                      self.run_tool('check', 'acl.json', '--model', 'card.json', expect=1)[1])

    def test_damage_is_told(self):
        for name, model, words in (('net.onnx', onnx_net()[:40], 'is no ONNX model, or is damaged'),
                                   ('empty', b'', 'is no ONNX model: it has no version or no graph'),
                                   ('net.tflite', tflite_net()[:-40], 'lies outside of the file'),
                                   ('ge.txt', GE_NET[:-40], 'is no graph of CANN, or is damaged in line 26'),
                                   ('ge.json', b'{"graph": [{"op": []}]}', 'JSON')):
            self.write(name, model)
            out, error = self.run_tool('describe', name, '-o', 'card.json', expect=1)
            self.assertEqual(out, '')
            self.assertTrue(error.startswith(name + ': '), error)
            self.assertIn(words, error)
            self.assertNotIn('card.json', self.files())

    def test_damage_at_each_byte_is_an_error_or_another_model(self):
        for name, model in (('net.onnx', onnx_net()), ('net.tflite', tflite_net()), ('ge.txt', GE_NET)):
            cuts = refused = 0
            for at in range(0, len(model), SHARE):
                for damaged in (model[:at], model[:at] + bytes([model[at] ^ 0xff]) + model[at + 1:]):
                    self.write(name, damaged)
                    out, error = self.run_tool('describe', name, '-o', 'card.json', expect=(0, 1))
                    if 'card.json' in self.files():
                        self.assertIn('ops', json.loads(self.read('card.json')))
                        os.remove(self.path('card.json'))
                    else:
                        self.assertTrue(error.startswith(name + ': ') and not out, (at, out, error))
                    if len(damaged) == at:
                        cuts += 1
                        refused += error.startswith(name + ': ')
            # A file may end before what nobody needs, as the version of the operators.
            self.assertGreater(refused, cuts - 40 / SHARE - 1, name)

    def test_a_name_that_is_not_utf8_is_refused(self):
        self.write('odd.onnx', onnx_model([onnx_node('Relu', ['a'], ['b'], name='conv')]).replace(b'conv', b'co\xffv'))
        self.assertEqual(self.run_tool('describe', 'odd.onnx', '-o', 'card.json', expect=1),
                         ('', 'odd.onnx: a name of the model is not UTF-8, which JSON cannot hold\n'))
        self.assertNotIn('card.json', self.files())

    def test_a_list_named_from_everywhere_is_too_much(self):
        count = 3000
        constants = [onnx_tensor('s', FLOAT, [count], bytes(4 * count))]
        nodes = [onnx_node('QuantizeLinear', ['x', 's'], [f'q{i}']) for i in range(count)]
        self.write('many.onnx', onnx_model(nodes, constants=constants))
        self.assertIn('describes more than', self.run_tool('describe', 'many.onnx', '-o', 'card.json', expect=1)[1])

    def test_usage(self):
        for words, said in ((('describe',), 'a MODEL is missing'), (('describe', 'm'), '-o CARD.json'),
                            (('describe', 'm', '-o', 'c', '--dim', 'x'), '--dim takes NAME=N'),
                            (('describe', 'm', '-o', 'c', '--id', '-1'), '--id takes a whole number')):
            self.assertIn(said, self.run_tool(*words, expect=2)[1])

    def test_models_of_others(self):
        folders = [folder for folder in os.environ.get('OPDUMP_MODELS', '').split(':') if folder]
        if not folders:
            self.skipTest('OPDUMP_MODELS names no folder')
        models = [path for folder in folders for ending in ('onnx', 'tflite')
                  for path in sorted(pathlib.Path(folder).rglob('*.' + ending))]
        self.assertNotEqual(models, [])
        try:
            import onnx
        except ImportError:
            onnx = None
        for path in models:
            with self.subTest(model=str(path)):
                self.run_tool('describe', str(path), '-o', 'card.json')
                card = json.loads(self.read('card.json'))
                if onnx and path.suffix == '.onnx':
                    nodes = onnx.load(str(path), load_external_data=False).graph.node
                    self.assertEqual(
                        [(node.op_type, [text for text in node.input], [text for text in node.output if text])
                         for node in nodes],
                        [(op['type'], [tensor.get('tensor', '') for tensor in op['inputs']],
                          [tensor['tensor'] for tensor in op['outputs']]) for op in card['ops']])
        print(f'{len(models)} models described' if onnx else 'left out: a comparison with python3-onnx, which is not installed')


if __name__ == '__main__':
    tool_case.main()
