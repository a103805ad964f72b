#!/usr/bin/env python3
"""Tests of what `opdump describe`, `check`, `replay` and `verify` make of the .dbg files of nano products:
tool_dbg_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support', 'nano'))
import dbg_maker  # noqa: E402
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402

ACL = {'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_data': 'tensor', 'dump_list': [{'model_name': 'net', 'layer': ['conv', 'fc']}]}}


class Dbg(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('dump'))
        self.write('acl.json', json.dumps(ACL))
        self.write('net.dbg', dbg_maker.net())

    def test_describe(self):
        out, error = self.run_tool('describe', 'net.dbg', '-o', 'run.json')
        self.assertEqual((out, error), ('run.json: model "net": 4 operators, 10 tensors\n', ''))
        model, = json.loads(self.read('run.json'))['models']
        self.assertEqual(model['name'], 'net')
        self.assertNotIn('graph_name', model)
        self.assertEqual([op['name'] for op in model['ops']], ['conv', 'relu', 'pool', 'fc_add'])
        self.assertEqual(model['ops'][3]['original_names'], ['fc', 'add'])
        self.assertEqual(model['ops'][2]['task_id'], 2)
        image, weights = model['ops'][0]['inputs']
        self.assertEqual(image, {'fill': 'zeros', 'dtype': 'float16', 'shape': [1, 4, 4, 2],
                                 'original_shape': [1, 4, 4, 2], 'format': 'NHWC'})
        self.assertEqual((weights['shape'], weights['bytes']), ([2, 2], 32))

    def test_model_of_the_file_and_of_the_graph(self):
        self.write('m.dbg', dbg_maker.net(b'graph'))
        self.run_tool('describe', 'm.dbg', '-o', 'run.json')
        model, = json.loads(self.read('run.json'))['models']
        self.assertEqual((model['name'], model['graph_name']), ('m', 'graph'))
        for name, status in (('m', 0), ('graph', 0), ('net', 0)):
            config = {'dump': {'dump_path': 'dump', 'dump_list': [{'model_name': name}]}}
            self.write('acl.json', json.dumps(config))
            out, _ = self.run_tool('check', 'acl.json', '--model', 'm.dbg', expect=status)
            self.assertEqual('4 of 4 operators' in out, name != 'net', out)

    def test_check_as_the_description(self):
        self.run_tool('describe', 'net.dbg', '-o', 'run.json')
        by_dbg, error = self.run_tool('check', 'acl.json', '--model', 'net.dbg')
        self.assertEqual(error, '')
        self.assertEqual(by_dbg, self.run_tool('check', 'acl.json', '--model', 'run.json')[0])
        self.assertIn('match   model "net": 2 of 4 operators: "conv", "fc_add"', by_dbg)
        ACL2 = json.loads(json.dumps(ACL))
        ACL2['dump']['dump_list'][0]['layer'] = ['conw', 'fc']
        self.write('acl.json', json.dumps(ACL2))
        self.assertIn('layer "conw" of model "net" matches nothing; did you mean "conv"?',
                      self.run_tool('check', 'acl.json', '--model', 'net.dbg')[0])

    def test_rules_of_nano_products(self):
        """Only there is "debug" a scene, and statistics the default."""
        self.run_tool('describe', 'net.dbg', '-o', 'run.json')
        self.write('acl.json', '{"dump": {"dump_path": "dump", "dump_scene": "debug"}}')
        self.assertIn('nano products alone, by whose rules a file is read where the model is a .dbg file',
                      self.run_tool('check', 'acl.json', '--model', 'run.json', expect=1)[1])
        self.assertIn('overflow', self.run_tool('check', 'acl.json', '--model', 'net.dbg')[0])
        self.write('acl.json', '{"dump": {"dump_path": "dump", "dump_list": [{"model_name": "net", "layer": ["conv"]}]}}')
        self.assertIn('statistics of', self.run_tool('check', 'acl.json', '--model', 'net.dbg')[0])
        self.assertNotIn('statistics of', self.run_tool('check', 'acl.json', '--model', 'run.json')[0])
        self.run_tool('replay', 'net.dbg', '--config', 'acl.json')
        self.assertTrue(all(name.endswith('.csv') for name in self.files('dump')), self.files('dump'))
        self.run_tool('verify', 'dump', '--config', 'acl.json', '--model', 'net.dbg')

    def test_replay_and_verify(self):
        self.run_tool('replay', 'net.dbg', '--config', 'acl.json')
        records = [name for name in self.files('dump') if '/net/' in name]
        self.assertEqual(sorted({os.path.basename(name).split('.')[1] for name in records}), ['conv', 'fc_add'])
        self.assertEqual(len(records), 2)
        # The padding of the weights is captured with them: 64 + 32 of inputs, 64 of outputs.
        conv = next(name for name in records if '.conv.' in name)
        shown = json.loads(self.run_tool('show', '--json', os.path.join('dump', conv))[0])
        self.assertEqual([t['bytes'] for t in shown['records'][0]['tensors']], [64, 32, 64])
        self.run_tool('verify', 'dump', '--config', 'acl.json', '--model', 'net.dbg')

    def test_tensors_that_cannot_be(self):
        odd = dbg_maker.operator(b'odd', b'Odd', 0, [
            dbg_maker.tensor(999, [2, 3], 24), dbg_maker.tensor(0, [2, 3], 20), dbg_maker.tensor(13, [4], 9),
            dbg_maker.tensor(0, [-1, 8], 64)])
        self.write('odd.dbg', dbg_maker.dbg(b'odd', [odd]))
        self.run_tool('describe', 'odd.dbg', '-o', 'run.json')
        inputs = json.loads(self.read('run.json'))['models'][0]['ops'][0]['inputs']
        self.assertEqual([(t['dtype'], t['shape'], t['original_shape'][-1]) for t in inputs],
                         [('uint8', [24], 3), ('uint8', [20], 3), ('uint8', [9], 4), ('uint8', [64], 8)])
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_data': 'tensor',
                                                    'dump_list': [{'model_name': 'odd'}]}}))
        self.run_tool('replay', 'odd.dbg', '--config', 'acl.json')
        self.run_tool('verify', 'dump')

    def test_damage(self):
        whole = dbg_maker.net()
        self.write('net.dbg', whole[:100])
        out, error = self.run_tool('check', 'acl.json', '--model', 'net.dbg', expect=1)
        self.assertEqual((out, error), ('', 'net.dbg:1:1: byte 19: a TLV of %d bytes passes the end of the file\n'
                                        % (len(whole) - 27)))
        self.run_tool('describe', 'net.dbg', '-o', 'run.json', expect=1)
        self.assertFalse(os.path.exists(self.path('run.json')))
        damaged = bytearray(whole)
        damaged[27] = 5
        self.write('net.dbg', bytes(damaged))
        self.assertIn('net.dbg:1:1: byte 27: the list of operators promises 5 and has 4',
                      self.run_tool('describe', 'net.dbg', '-o', 'run.json', expect=1)[1])
        for size in range(8, len(whole)):
            self.write('net.dbg', whole[:size])
            if size % 23 == 0:
                self.run_tool('check', 'acl.json', '--model', 'net.dbg', expect=1)

    def test_command_line(self):
        self.run_tool('describe', expect=2)
        self.run_tool('describe', 'net.dbg', expect=2)
        self.run_tool('describe', 'net.dbg', 'net.dbg', '-o', 'x', expect=2)
        self.assertIn('is JSON, not a model', self.run_tool('describe', 'acl.json', '-o', 'x', expect=1)[1])
        self.assertIn('none.dbg', self.run_tool('describe', 'none.dbg', '-o', 'x', expect=1)[1])
        self.run_tool('describe', 'net.dbg', '-o', 'none/x', expect=1)
        self.write('bad.dbg', dbg_maker.dbg(b'\xff', [dbg_maker.operator(b'a', b'A', 0)]))
        self.assertIn('not UTF-8', self.run_tool('describe', 'bad.dbg', '-o', 'x', expect=1)[1])


if __name__ == '__main__':
    tool_case.main()
