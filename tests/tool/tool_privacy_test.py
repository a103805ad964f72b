#!/usr/bin/env python3
"""Tests of dumps of configs with a privacy: tool_privacy_test.py OPDUMP [unittest arguments].

Standard library only. With OPDUMP_MSACCUCMP, the folder of the vendor's msaccucmp, that has to read them too.
"""
import json
import os
import random
import struct
import subprocess
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402
from with_numpy import numpy  # noqa: E402


class Privacy(Case):
    SHAPE = [4, 6]

    def setUp(self):
        super().setUp()
        self.random = random.Random(7)
        self.secrets = {}
        self.write('run.json', json.dumps({'steps': 2, 'models': [{'name': 'net', 'id': 1, 'ops': [
            self.op('embed', 'Gather'), self.op('block/fc', 'MatMul'), self.op('logits', 'Softmax')]}]}))

    def op(self, name, kind):
        tensors = {}
        for role, count in (('inputs', 2), ('outputs', 2)):
            tensors[role] = []
            for i in range(count):
                file = '%s.%s%d.bin' % (name.replace('/', '_'), role, i)
                data = self.random.randbytes(24 * 8)
                # Numbers whose statistics say little, and none that is no number.
                data = b''.join(struct.pack('<Q', struct.unpack_from('<Q', data, 8 * j)[0] >> 1 | 1 << 61)
                                for j in range(24))
                self.write(file, data)
                self.secrets[name, role[:-1], i] = [data[8 * j:8 * j + 8] for j in range(24)]
                tensors[role].append({'dtype': 'int64', 'shape': self.SHAPE, 'data': file})
        return dict(tensors, name=name, type=kind)

    def replay(self, privacy, to='dump', expect=0, dump=(), **options):
        os.makedirs(self.path(to), exist_ok=True)
        config = {'dump': dict({'dump_path': to, 'dump_mode': 'all', 'dump_list': [{}]}, **dict(dump)),
                  'opdump': dict({'privacy': privacy}, **options)}
        if privacy is None:
            del config['opdump']['privacy']
        self.write('acl.json', json.dumps(config))
        return self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=expect)

    def written(self, directory='dump'):
        everything = b''
        for root, _, names in os.walk(self.path(directory)):
            for name in names:
                with open(os.path.join(root, name), 'rb') as file:
                    everything += name.encode() + b'\n' + file.read() + b'\n'
        return everything

    def leaked(self, everything):
        """The tensors of which elements are there, and how many."""
        return {key: sum(element in everything for element in elements)
                for key, elements in self.secrets.items() if any(element in everything for element in elements)}

    RULES = [{'op': 'embed', 'input': 0, 'keep': 'stats'}, {'op': 'embed', 'input': 1, 'keep': 'digest'},
             {'op': 'block*', 'input': 'all', 'keep': 'shape'}, {'type': 'Softmax', 'output': 1, 'keep': 'nothing'},
             {'op': 'logits', 'input': 0, 'keep': 'tensor', 'crop': [2, [1, 4]]},
             {'op': 'logits', 'input': 1, 'keep': 'tensor', 'every': 5}]
    LEFT = {('embed', 'output', 0): 24, ('embed', 'output', 1): 24, ('block/fc', 'output', 0): 24,
            ('block/fc', 'output', 1): 24, ('logits', 'input', 0): 6, ('logits', 'input', 1): 5,
            ('logits', 'output', 0): 24}

    def test_no_file_has_what_is_left_out(self):
        for options in ({}, {'file_format': 'npy'}, {'file_format': 'protobuf'}, {'when_full': 'degrade'},
                        {'when_full': 'inline', 'ring_bytes': 2048}, {'journal': 'none'}, {'fsync': 'record'}):
            self.replay(self.RULES, to='d%d' % len(self.files()), **options)
        for root in sorted(os.listdir(self.directory)):
            if root.startswith('d') and os.path.isdir(self.path(root)):
                self.assertEqual(self.leaked(self.written(root)), self.LEFT, root)

    def test_verify_calls_it_complete(self):
        for options in ({}, {'file_format': 'npy'}, {'file_format': 'protobuf'}):
            to = 'v%d' % len(self.files())
            self.replay(self.RULES, to=to, **options)
            out, _ = self.run_tool('verify', to)
            self.assertIn('complete', out)
            self.assertNotIn('not complete', out)
            self.assertNotIn('never captured', out)

    def test_show_says_what_the_config_has_kept(self):
        self.replay(self.RULES)
        out, _ = self.run_tool('show', 'dump', '--step', '0')
        self.assertRegex(out, r'input +0 +int64 +ND +\[4,6\] +192 B +min [0-9]+ +max .* kept as stats by the config')
        self.assertRegex(out, r'input +1 +int64 +ND +\[4,6\] +192 B +(md5|MD5) [0-9a-f]{32} +kept as digest by the config')
        self.assertRegex(out, r'input +1 +int64 +ND +\[4,6\] +192 B +kept as shape by the config')
        self.assertIn('kept as tensor of 0:2x1:4 by the config', out)
        self.assertRegex(out, r'input +0 +int64 +ND +\[2,3\] +48 B')
        kept = [tensor['kept'] for record in json.loads(self.run_tool('show', '--json', 'dump')[0])['records']
                for tensor in record['tensors'] if 'kept' in tensor]
        self.assertEqual(len(kept), 2 * 6)
        self.assertEqual(set(kept), {'stats', 'digest', 'shape', 'tensor of 0:2x1:4', 'tensor every 5'})

    def test_compare_takes_what_is_kept(self):
        self.replay(self.RULES, to='mine')
        self.replay(self.RULES, to='other')
        self.replay(None, to='golden')
        out, _ = self.run_tool('compare', 'mine', 'other')
        self.assertIn('kept as', out)
        out, error = self.run_tool('compare', 'mine', 'golden', expect=(0, 1))
        self.assertIn('kept as stats by the config', out + error)
        self.assertIn('kept as shape by the config', out + error)

    def test_convert_makes_arrays_of_the_rest(self):
        self.replay(self.RULES)
        self.run_tool('convert', '-r', '-d', 'dump', '-out', 'out')
        names = self.files('out')
        logits = [name for name in names if 'logits' in name]
        self.assertEqual(sorted(name.split('.', 5)[-1] for name in logits if name.startswith(logits[0][:20])),
                         sorted(2 * ['input.0.npy', 'input.1.npy', 'output.0.npy']))
        self.assertEqual(self.leaked(self.written('out')), self.LEFT)

    def test_a_rule_without_a_tensor_dumps_nothing(self):
        typo = [{'op': 'embde', 'keep': 'nothing'}]
        out, error = self.replay(typo, expect=1)
        self.assertIn('model "net" is not captured: the config is refused', error)
        self.assertIn('never captured: rule of the privacy "embde" of model "net"', out + error)
        self.assertEqual(self.leaked(self.written()), {})
        out, error = self.replay(typo, to='told', privacy_unmatched='tell')
        self.assertIn('never captured: rule of the privacy "embde" of model "net"', out + error)
        self.assertEqual(len(self.leaked(self.written('told'))), 12)
        out, _ = self.run_tool('verify', 'told', expect=4)
        self.assertIn('embde', out)

    def test_check_says_what_will_be_kept(self):
        self.write('acl.json', json.dumps({
            'dump': {'dump_path': '.', 'dump_mode': 'all', 'dump_list': [{}]},
            'opdump': {'privacy': [{'op': 'em*', 'input': 0, 'keep': 'stats', 'crop': [2]}, {'op': 'fcc', 'keep': 'shape'},
                                   {'keep': 'nothing'}]}}))
        out, _ = self.run_tool('check', 'acl.json', '--model', 'run.json')
        self.assertIn('  keep    stats of 0:2 of input 0 of op "em*"\n', out)
        self.assertIn('  keep    nothing of every tensor\n', out)
        self.assertIn('a model in which a rule names no tensor is not dumped', out)
        self.assertIn('  keep    "embed" input 0: stats of 0:2, input 1: nothing, output 0: nothing, output 1: nothing\n', out)
        self.assertIn('  miss    the rule of the privacy for shape of every tensor of op "fcc" in model "net" matches nothing', out)
        self.assertIn('model "net" is not dumped', out)
        told = json.loads(self.run_tool('check', '--json', 'acl.json')[0])
        self.assertEqual(told['privacy'], [{'op': 'em*', 'input': 0, 'keep': 'stats', 'crop': [[0, 2]]},
                                           {'op': 'fcc', 'keep': 'shape'}, {'keep': 'nothing'}])
        self.assertEqual(told['privacy_unmatched'], 'refuse')

    def test_a_compiled_plan_says_the_same(self):
        self.replay(self.RULES)
        out, _ = self.run_tool('check', 'acl.json')
        self.run_tool('compile', 'acl.json', '-o', 'acl.plan')
        self.assertEqual(self.run_tool('check', 'acl.plan')[0].replace('acl.plan', 'acl.json'), out)
        os.makedirs(self.path('from_plan'))
        plan = self.read('acl.plan')
        self.assertEqual(plan[12:16], b'\1\0\1\0')  # the version, and the feature that small code lacks
        self.run_tool('replay', 'run.json', '--config', 'acl.plan')
        self.assertEqual(self.leaked(self.written()), self.LEFT)

    def test_layouts_of_mindspore_keep_parts_or_nothing(self):
        rules = [{'op': 'embed', 'input': 'all', 'keep': 'nothing'}, {'op': 'block*', 'keep': 'tensor', 'crop': [1]},
                 {'op': 'logits', 'keep': 'tensor', 'elements': 3}]
        self.replay(rules, layout='mindspore_cpu', file_format='npy')
        left = {('embed', 'output', 0): 24, ('embed', 'output', 1): 24}
        for role in ('input', 'output'):
            for i in range(2):
                left['block/fc', role, i] = 6
                left['logits', role, i] = 3
        self.assertEqual(self.leaked(self.written()), left)

    def test_the_vendors_tool_reads_what_is_there(self):
        msaccucmp = os.environ.get('OPDUMP_MSACCUCMP')
        if not msaccucmp or numpy is None:
            self.skipTest('OPDUMP_MSACCUCMP is not set, or there is no NumPy')
        script = msaccucmp if msaccucmp.endswith('.py') else os.path.join(msaccucmp, 'msaccucmp.py')
        self.replay(self.RULES)
        records = [name for name in self.files('dump') if 'logits' in name and not name.endswith('.csv')]
        self.assertEqual(len(records), 2)
        os.makedirs(self.path('arrays'))
        done = subprocess.run([sys.executable, script, 'convert', '-d', self.path('dump', records[0]), '-out',
                               self.path('arrays')], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              cwd=os.path.dirname(script))
        names = self.files('arrays')
        self.assertEqual(len(names), 3, done.stdout.decode())
        shapes = sorted(numpy.load(self.path('arrays', name)).shape for name in names)
        self.assertEqual(shapes, [(2, 3), (4, 6), (5,)])
        arrays = b''.join(numpy.load(self.path('arrays', name)).tobytes() for name in names)
        self.assertEqual(self.leaked(arrays), {key: n for key, n in self.LEFT.items() if key[0] == 'logits'})


if __name__ == '__main__':
    tool_case.main()
