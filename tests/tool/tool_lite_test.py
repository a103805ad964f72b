#!/usr/bin/env python3
"""Tests of what `opdump` makes of MindSpore Lite's config and files, from outside: tool_lite_test.py OPDUMP
[unittest arguments].

Standard library only.
"""
import json
import os
import shutil
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402

CONV = 'Default.Conv-op12'
RUN = {'steps': 2, 'models': [{'name': 'any', 'id': 7, 'ops': [
    {'name': 'Default/Conv-op12', 'type': 'Conv2D',
     'inputs': [{'fill': 'ramp', 'dtype': 'float16', 'format': 'NHWC', 'shape': [1, 2, 2, 2]}],
     'outputs': [{'fill': 'ramp', 'dtype': 'float32', 'format': 'NCHW', 'shape': [2, 2, 1, 1]},
                 {'fill': 'ramp', 'dtype': 'int64', 'shape': [3]}]},
    {'name': 'pool', 'type': 'MaxPool', 'outputs': [{'fill': 'ramp', 'dtype': 'bool', 'shape': []}]},
    {'name': 'other', 'type': 'Add', 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [5]}]}]}]}
STEP = [CONV + '_input_0_shape_1_2_2_2_Float16_NHWC.bin', CONV + '_output_0_shape_2_2_1_1_Float32_NCHW.bin',
        CONV + '_output_1_shape_3_.bin', 'pool_output_0_shape_Bool.bin']


class Lite(Case):
    def settings(self, **keys):
        return dict({'dump_mode': 1, 'path': self.path('dump'), 'net_name': 'ResNet50', 'input_output': 0,
                     'kernels': ['Default/Conv-op12', 'pool']}, **keys)

    def config(self, beside=None, **keys):
        return self.write('lite.json', json.dumps(dict({'common_dump_settings': self.settings(**keys)}, **beside or {})))

    def replay(self, *arguments, expect=0, run=RUN):
        self.write('run.json', json.dumps(run))
        return self.run_tool('replay', 'run.json', '--config', 'lite.json', *arguments, expect=expect)

    def names(self, folder):
        return sorted(os.listdir(self.path('dump', 'ResNet50', folder)))

    def path(self, *parts):
        return os.path.join(super().path(parts[0]), *parts[1:])

    def test_check_says_what_is_dumped_and_what_it_takes(self):
        self.config()
        self.write('run.json', json.dumps(RUN))
        out, error = self.run_tool('check', 'lite.json', '--model', 'run.json')
        self.assertEqual(error, '')
        self.assertIn('as      bin files in the layout mindspore_lite', out)
        self.assertIn('match   model "any": 2 of 3 operators: "Default/Conv-op12", "pool"', out)
        self.assertIn('2 of 3 ops match, about 57 B per step', out)
        answer = json.loads(self.run_tool('check', 'lite.json', '--json')[0])
        self.assertIn('mindspore_lite', json.dumps(answer))

    def test_a_personality_decides(self):
        self.config(iteration='all')
        self.assertIn('support_device', self.run_tool('check', 'lite.json', expect=1)[1])
        self.assertIn('unknown, and ignored', ''.join(self.run_tool('check', 'lite.json', '--personality', 'lite')))
        self.config()
        self.assertIn('iteration', self.run_tool('check', 'lite.json', '--personality', 'cpu', expect=1)[1])
        self.assertIn('o0, o1, o2, cpu or lite', self.run_tool('check', 'lite.json', '--personality', 'x', expect=2)[1])

    def test_files_of_the_benchmark_tool(self):
        self.config()
        self.replay()
        self.assertEqual(self.names('0'), STEP)
        self.assertEqual(self.names('1'), STEP)
        with open(self.path('dump', 'ResNet50', '0', STEP[0]), 'rb') as file:
            self.assertEqual(file.read(), struct.pack('<8e', *(-2.25 + 0.75 * i for i in range(8))))
        with open(self.path('dump', 'ResNet50', '0', STEP[2]), 'rb') as file:
            self.assertEqual(len(file.read()), 24)
        self.assertIn('complete', self.run_tool('verify', 'dump')[0])
        self.replay()
        self.assertEqual(sorted(os.listdir(self.path('dump', 'ResNet50'))), ['0', '1', '2', '3'])
        self.assertIn('16 records written, 0 lost', self.run_tool('verify', 'dump')[0])

    def test_statistics_become_rows_that_name_type_and_operator(self):
        long_name = 'part.' + 'n' * 300
        ops = [{'name': name, 'type': kind, 'outputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [3]}]}
               for name, kind in (('op0', 'Add'), ('relu/two', 'LeakyRelu'), (long_name, 'Conv 2D'))]
        os.mkdir(self.path('dump'))
        self.write('lite.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_data': 'stats', 'dump_list': [
            {'model_name': 'net'}]}, 'opdump': {'layout': 'mindspore_lite'}}))
        self.replay(run={'steps': 2, 'models': [{'name': 'net', 'id': 1, 'ops': ops}]})
        for step in '01':
            with open(self.path('dump', 'net', step, 'statistic.csv')) as file:
                rows = [line.split(',')[:2] for line in file.read().splitlines()[1:]]
            self.assertEqual(rows, [['Add', 'op0'], ['LeakyRelu', 'relu_two'],
                                    ['Conv_2D', long_name.replace('.', '_')]])
        out, _ = self.run_tool('verify', 'dump')
        self.assertIn('6 records written, 0 lost', out)
        journal, = (name for name in os.listdir(self.path('dump')) if name.endswith('.journal'))
        with open(self.path('dump', journal)) as file:
            paths = [line.split(',')[-1] for line in file.read().splitlines() if line.startswith('row,')]
        self.assertEqual(paths[:3], ['net/0/op0', 'net/0/relu.two', 'net/0/' + long_name])

    def test_the_same_from_a_compiled_config(self):
        self.config()
        self.run_tool('compile', 'lite.json', '-o', 'lite.plan')
        self.write('run.json', json.dumps(RUN))
        self.run_tool('replay', 'run.json', '--config', 'lite.plan')
        self.assertEqual(self.names('0'), STEP)

    def test_of_another_dialect(self):
        os.mkdir(self.path('dump'))
        self.write('lite.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_step': '1', 'dump_list': [{}]},
                                            'opdump': {'layout': 'mindspore_lite'}}))
        self.replay()
        self.assertEqual(sorted(os.listdir(self.path('dump', 'any'))), ['1'])
        self.assertIn('other_output_0_shape_5_Int8.bin', os.listdir(self.path('dump', 'any', '1')))
        out, error = self.replay(expect=(0, 1))
        self.assertIn('lost', out)
        self.assertIn('already exists', self.run_tool('verify', 'dump', expect=1)[0])

    def test_show_tells_what_the_names_tell(self):
        self.config()
        self.replay()
        out, error = self.run_tool('show', 'dump', '--step', '1')
        self.assertEqual(error, '')
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual(lines[1], ['-', CONV, '-', '-', '-', '1', 'ResNet50'])
        self.assertEqual(lines[2][:6], ['input', '0', 'float16', 'NHWC', '[1,2,2,2]', '16'])
        self.assertEqual(lines[6][:6], ['output', '1', 'undefined', '-', '[3]', '24'])
        self.assertEqual(lines[8][:6], ['output', '0', 'bool', '-', '[]', '1'])
        self.assertEqual(lines[-1][:2], ['4', 'records,'])
        record = json.loads(self.run_tool('show', 'dump/ResNet50/0/' + STEP[0], '--json')[0])['records'][0]
        self.assertEqual({key: record[key] for key in ('name', 'model', 'step')},
                         {'name': CONV, 'model': 'ResNet50', 'step': 0})
        self.assertNotIn('type', record)
        self.assertNotIn('model_id', record)
        self.assertIn('2 records', self.run_tool('show', 'dump', '--op', 'pool')[0])

    def test_show_takes_formats_of_lite_and_wants_as_many_bytes_as_the_name_says(self):
        self.write('n/0/a_output_0_shape_1_3_2_2_Float32_NC4HW4.bin', struct.pack('<16f', *range(16)))
        self.write('n/0/b_output_1_shape_2_3_UInt8_KHWC.bin', bytes(6))
        self.write('n/0/x_input_2_shape_9_output_3_shape_2_Int16.bin', bytes(4))
        out, _ = self.run_tool('show', 'n')
        self.assertIn('NC4HW4  no shape  64 B', out)
        self.assertIn('KHWC  [2,3]', out)
        self.assertIn('x_input_2_shape_9', out)
        self.write('n/0/b_output_1_shape_2_3_UInt8_KHWC.bin', bytes(7))
        self.assertIn('7 bytes, but shape and dtype in its name make 6', self.run_tool('show', 'n', expect=1)[1])
        shutil.rmtree(self.path('n'))
        self.write('n/0/weights.bin', bytes(8))
        self.write('n/0/a_output_0_shape_2_Float99.bin', bytes(8))
        self.run_tool('show', 'n', expect=1)

    def test_verify_finds_what_is_gone_cut_or_strange(self):
        self.config()
        self.replay()
        os.remove(self.path('dump', 'ResNet50', '1', STEP[0]))
        out, _ = self.run_tool('verify', 'dump', expect=1)
        self.assertIn('ResNet50/1/' + STEP[0], out)
        self.assertEqual(out.count('ResNet50/'), 1, out)
        with open(self.path('dump', 'ResNet50', '1', STEP[1]), 'ab') as file:
            file.write(b'x')
        self.assertIn('has 17 bytes, and 16 were written', self.run_tool('verify', 'dump', expect=1)[0])
        shutil.copy(self.path('dump', 'ResNet50', '0', STEP[2]), self.path('dump', 'ResNet50', '0', 'z' + STEP[2]))
        self.assertIn('ResNet50/0/z' + STEP[2], self.run_tool('verify', 'dump', expect=1)[0])

    def test_a_file_without_bytes_is_no_tensor_of_an_unnamed_dtype(self):
        for name in ('op', 'n' * 300):  # the second has its files in mapping.csv
            self.config({'opdump': {'journal': 'gaps'}}, kernels=[name])
            self.replay(run={'models': [{'name': 'any', 'id': 7, 'ops': [
                {'name': name, 'type': 'Add', 'outputs': [{'fill': 'ramp', 'dtype': 'int64', 'shape': [3]}]}]}]})
            self.run_tool('verify', 'dump')
            (file,) = [path for path in self.files('dump') if path.endswith('.bin')]
            self.write(os.path.join('dump', file), b'')
            self.assertIn('no bytes, but the shape in its name has elements',
                          self.run_tool('verify', 'dump', expect=1)[0])
            self.run_tool('show', 'dump', expect=1)
            shutil.rmtree(self.path('dump'))

    def test_verify_counts_what_another_loading_captured(self):
        self.config(kernels=['Default/Conv-op12', 'pool', 'gone'])
        self.replay()
        out, _ = self.run_tool('verify', 'dump', expect=4)
        self.assertIn('gone', out)
        self.assertNotIn('Conv-op12', out)

    def test_losses_are_named(self):
        self.config({'opdump': {'max_files': 4}})
        self.replay(expect=(0, 1))
        out, _ = self.run_tool('verify', 'dump', expect=1)
        self.assertIn(CONV, out)
        self.assertIn('ResNet50', out)
        self.assertNotIn('ResNet50 (', out.split('\n\n')[1])

    def test_compare_pairs_two_runs(self):
        self.config()
        self.replay()
        out, _ = self.run_tool('compare', '-m', 'dump', '-g', 'dump', expect=(0, 1))
        self.assertIn('6 equal', out)
        shutil.copytree(self.path('dump', 'ResNet50', '0'), self.path('golden', 'Other', '17'))
        out, _ = self.run_tool('compare', '-m', 'dump/ResNet50/0', '-g', 'golden', expect=(0, 1))
        self.assertIn('3 equal', out)
        name = self.path('golden', 'Other', '17', STEP[1])
        os.chmod(name, 0o600)
        with open(name, 'r+b') as file:
            file.write(struct.pack('<f', 99))
        out, _ = self.run_tool('compare', '-m', 'dump/ResNet50/0', '-g', 'golden', expect=(0, 1))
        self.assertIn('1 diverging', out)

    def test_compare_pairs_with_a_dump_of_cann(self):
        self.config()
        self.replay()
        os.mkdir(self.path('cann'))
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'cann', 'dump_mode': 'all', 'dump_list': [
            {'layer': ['Default/Conv-op12', 'pool']}]}}))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        out, _ = self.run_tool('compare', '-m', 'cann', '-g', 'dump/ResNet50/0', expect=(0, 1))
        self.assertNotIn(' 0 tensors compared', out)
        self.assertIn('equal', out)

    def test_every_key_is_explained(self):
        out, _ = self.run_tool('explain', 'net_name')
        self.assertIn("MindSpore Lite's benchmark tool", out)
        self.assertIn('"mindspore_lite"', self.run_tool('explain', 'layout')[0])


if __name__ == '__main__':
    tool_case.main()
