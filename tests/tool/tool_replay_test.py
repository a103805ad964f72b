#!/usr/bin/env python3
"""Tests of `opdump replay` from outside: tool_replay_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import (DumpCase, floats, npy, rounded_to_bfloat16)  # noqa: E402


class Replay(DumpCase):
    def replay(self, run, *arguments, expect=0):
        self.write('run.json', run if isinstance(run, str) else json.dumps(run))
        return self.run_tool('replay', 'run.json', '--config', 'acl.json', *arguments, expect=expect)

    def replay_tensor(self, t, expect=0):
        """One operator `n` of type `T` with one output; gives the .npy made of it."""
        out = self.replay({'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'outputs': [t]}]}]},
                          expect=expect)
        if expect != 0:
            return out[1]
        shutil.rmtree(self.path('out'), ignore_errors=True)
        self.run_tool('convert', '-r', '-d', 'dump', '-out', 'out')
        shutil.rmtree(self.path('dump'))
        os.mkdir(self.path('dump'))
        return self.read('out', self.files('out')[0])

    RUN = {'device_id': 2, 'steps': 3, 'models': [
        {'name': 'digits', 'graph_name': 'main', 'id': 7, 'ops': [
            {'name': 'conv1', 'type': 'Conv2D', 'task_id': 1, 'stream_id': 2, 'original_names': ['c', 'relu'],
             'inputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [4]}],
             'outputs': [{'fill': 'random', 'dtype': 'int8', 'shape': [3, 3]}]},
            {'name': 'fc', 'type': 'MatMul', 'level': 'op', 'outputs': [{'fill': 'zeros', 'dtype': 'int4', 'shape': [3]}]},
            {'name': 'fc_1', 'type': 'MatMul', 'level': 'kernel',
             'outputs': [{'fill': 'zeros', 'dtype': 'float16', 'shape': [3]}]}]},
        {'name': 'other', 'ops': [{'name': 'x', 'type': 'X', 'outputs': [{'fill': 'zeros', 'dtype': 'bool', 'shape': [1]}]}]}],
        'single_ops': [{'name': 's', 'type': 'Mul', 'outputs': [{'fill': 'ramp', 'dtype': 'uint8', 'shape': [3]}]}]}

    def test_mindspore_makes_its_path_in_any_layout(self):
        run = {'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'outputs': [
            {'fill': 'zeros', 'dtype': 'int8', 'shape': [3]}]}]}]}
        for layout in (None, 'cann', 'mindspore_graph', 'mindspore_kernel'):
            for more in ({'net_name': 'Net', 'iteration': 'all', 'support_device': [0], 'op_debug_mode': 0}, {}):
                path = self.path('made', str(layout), str(len(more)))
                config = {'common_dump_settings': {'dump_mode': 0, 'path': path, 'input_output': 0, 'kernels': [], **more}}
                if layout is not None:
                    config['opdump'] = {'layout': layout}
                self.write('acl.json', json.dumps(config))
                self.assertRegex(self.replay(run)[0], r'\nlost +nothing\n', config)
                self.assertNotEqual(self.files(path), [])

    def test_why_nothing_was_captured(self):
        op = {'name': 'n', 'type': 'T', 'outputs': [{'fill': 'zeros', 'dtype': 'int8', 'shape': [3]}]}
        run = {'steps': 2, 'models': [{'name': 'm', 'ops': [op]}]}
        single = {'models': [], 'single_ops': [op]}
        marked = {'common_dump_settings': {
            'dump_mode': 2, 'path': self.path('made'), 'net_name': 'Net', 'iteration': 'all', 'input_output': 0,
            'kernels': [], 'support_device': [0], 'op_debug_mode': 0}, 'e2e_dump_settings': {}}
        dump = {'dump_path': 'dump'}
        for config, tried, said in (
                ({**dump, 'dump_debug': 'on'}, run, 'overflowed: '),
                ({**dump, 'dump_scene': 'lite_exception'}, run, 'failed: '),
                (marked, run, 'is marked: '),
                ({**dump, 'dump_op_switch': 'on'}, run, 'of RUN.json runs outside a model: '),
                ({**dump, 'dump_op_switch': 'on', 'dump_step': '1'}, single, 'is captured outside a model: '),
                ({**dump, 'dump_step': '7', 'dump_list': [{}]}, run, 'was captured: RUN.json runs 2 steps, '),
                ({**dump, 'dump_list': [{'model_name': 'M'}]}, run, 'of RUN.json matches the config: names ')):
            self.write('acl.json', json.dumps(config if config is marked else {'dump': config}))
            self.assertIn('\nnothing  ' + said, self.replay(tried, expect=3)[0], config)
        faults = [{'step': 1, 'op': 'n', 'kind': 'overflow'}]
        self.config(dump_debug='on')
        self.assertNotIn('\nnothing', self.replay({**run, 'inject': faults})[0])

    def test_a_run_that_the_disk_cannot_hold_is_refused_before_it_writes(self):
        tensor = {'fill': 'zeros', 'dtype': 'float32', 'shape': [2 ** 31, 2 ** 20]}
        run = {'steps': 3, 'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'outputs': [tensor]}]}]}
        _, error = self.replay(run, expect=1)
        self.assertRegex(error, r'^opdump replay: dump: the run takes 24\.0 PiB, and [0-9.]+ ([KMGT]i)?B are free there: ')
        self.assertEqual(os.listdir(self.path('dump')), [])
        run['steps'] = 2 ** 60
        self.assertIn(' are free there: ', self.replay(run, expect=1)[1])
        single = {'models': [], 'single_ops': run['models'][0]['ops']}
        self.config(dump_op_switch='on')
        self.assertIn(' are free there: ', self.replay(single, expect=1)[1])
        self.assertEqual(os.listdir(self.path('dump')), [])

    def test_dtypes_that_no_dump_has_a_code_for_come_as_their_bytes(self):
        for dtype, elements in (('uint4', [0, 0, 1, 0, 2]), ('float8_e4m3fnuz', range(5)), ('float8_e5m2fnuz', range(5))):
            array = self.replay_tensor({'fill': 'ramp', 'dtype': dtype, 'shape': [5]})
            self.assertEqual(array, npy('|u1', (5,), bytes(elements)), dtype)

    def test_a_device_that_is_left_out_is_the_reason(self):
        self.write('run.json', json.dumps({'device_id': 3, 'models': [{'name': 'm', 'ops': [
            {'name': 'a', 'type': 'T', 'outputs': [{'dtype': 'float32', 'shape': [1], 'fill': 'zeros'}]}]}]}))
        self.write('c.json', json.dumps({
            'common_dump_settings': {'dump_mode': 0, 'path': self.path('dump'), 'net_name': 'n', 'iteration': 'all',
                                     'input_output': 0, 'kernels': [], 'support_device': [0, 1], 'op_debug_mode': 0},
            'e2e_dump_settings': {'enable': True}}))
        out, _ = self.run_tool('replay', 'run.json', '--config', 'c.json', expect=3)
        self.assertIn('nothing  is dumped on device 3', out)
        self.assertNotIn('letter by letter', out)

    def test_the_journal_of_a_device_is_where_the_summary_says(self):
        self.write('run.json', json.dumps({'device_id': 3, 'models': [{'name': 'm', 'ops': [
            {'name': 'a', 'type': 'T', 'outputs': [{'dtype': 'float32', 'shape': [1], 'fill': 'zeros'}]}]}]}))
        self.write('c.json', json.dumps({
            'common_dump_settings': {'dump_mode': 0, 'path': self.path('dump'), 'net_name': 'n', 'iteration': 'all',
                                     'input_output': 0, 'kernels': [], 'support_device': [3], 'op_debug_mode': 0},
            'e2e_dump_settings': {'enable': True}}))
        out, _ = self.run_tool('replay', 'run.json', '--config', 'c.json')
        journal = re.search(r'^journal  (.*)$', out, re.M)[1]
        self.assertIn('/rank_3/', journal)
        self.assertTrue(os.path.isfile(journal), out)

    def test_the_config_says_how_and_the_command_line_goes_before_it(self):
        def journal(options, *arguments):
            self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]}, 'opdump': options}))
            return re.search(r'^journal .*$', self.replay(self.RUN, *arguments)[0], re.M).group()
        self.assertEqual(journal({'journal': 'none', 'when_full': 'inline'}), 'journal  none')
        self.assertNotEqual(journal({}), 'journal  none')
        self.assertNotEqual(journal({'journal': 'none'}, '--journal', 'gaps'), 'journal  none')
        self.assertEqual(journal({'journal': 'gaps'}, '--journal', 'none'), 'journal  none')
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]},
                                           'opdump': {'when_full': 'drop', 'ring_bytes': 64}}))
        self.assertIn('head too large for the ring', self.replay(self.RUN, expect=1)[0])
        self.replay(self.RUN, '--ring-bytes', '65536')

    def names(self):
        """Directories below the time, and file names without their time."""
        return sorted('/'.join(name.split('/')[1:]).rsplit('.', 1)[0] for name in self.files('dump'))

    def test_summary_and_files(self):
        self.config(dump_list=[{'model_name': 'digits', 'layer': ['relu', 'fc']}], dump_step='0|2')
        for how in ('block', 'inline', 'degrade', 'drop'):
            out, error = self.replay(self.RUN, '--when-full', how)
            self.assertEqual(error, '')
            self.assertRegex(out, r'\ndump     dump/\d{14}/2\nmodel ')
            journal = re.search(r'journal  (dump/\d{14}/opdump\.2\.\d+\.journal)\n$', out)
            self.assertTrue(os.path.isfile(self.path(journal[1])), out)
            self.golden('replay.txt', re.sub(r'dump     .*\n', '', out[:journal.start()]))
            self.assertEqual(self.names(), ['2/digits/7/%d/%s' % (step, name) for step in (0, 2)
                                            for name in ('Conv2D.conv1.1.2', 'MatMul.fc.65535.65535')])
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))

    def test_single_ops_and_levels(self):
        self.config(dump_op_switch='on', dump_list=[{'model_name': 'main'}], dump_level='kernel')
        out, _ = self.replay(self.RUN)
        self.assertIn('single   1 operator, 3 records captured\n  s  Mul  3 records\n', out)
        self.assertEqual(self.names(), sorted(
            ['2/Mul.s.65535.65535'] * 3 +
            ['2/main/7/%d/%s' % (step, name) for step in range(3)
             for name in ('Conv2D.conv1.1.2', 'MatMul.fc_1.65535.65535')]))

    def test_nothing_switched_on(self):
        self.config()
        self.assertIn('switches nothing on', self.replay(self.RUN, expect=3)[0])
        self.config(dump_list=[{'model_name': 'Digits'}])
        self.assertIn('of RUN.json matches', self.replay(self.RUN, expect=3)[0])
        self.config(dump_list=[{}], dump_step='3')
        self.assertIn('was captured: RUN.json runs 3 steps', self.replay(self.RUN, expect=3)[0])
        self.assertEqual(self.files('dump'), [])

    def test_journal(self):
        for detail, last in (('none', None), ('gaps', 'gaps'), ('records', 'records')):
            out, _ = self.replay(self.RUN, '--journal', detail)
            journals = [name for name in os.listdir(self.path('dump', os.listdir(self.path('dump'))[0]))
                        if name.endswith('.journal')]
            self.assertEqual(len(journals), 0 if last is None else 1)
            if last is None:
                self.assertTrue(out.endswith('\njournal  none\n'))
            else:
                self.assertTrue(out.endswith('/%s\n' % journals[0]))
                self.assertIn(b'opdump-journal,1,%s\n' % last.encode(),
                              self.read('dump', os.listdir(self.path('dump'))[0], journals[0]))
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))

    def test_losses_are_told(self):
        run = {'models': [{'name': 'm', 'ops': [
            {'name': 'n' * 100, 'type': 'T', 'outputs': [{'fill': 'zeros', 'dtype': 'int8', 'shape': [1]}]}]}]}
        out, error = self.replay(run, '--ring-bytes', '64', expect=1)
        self.assertIn('records  1 wanted, 0 written\nlost     1\n  1  head too large for the ring\n', out)
        self.assertIn('a larger --ring-bytes helps', error)
        big = {'models': [{'name': 'm', 'ops': [
            {'name': 'n', 'type': 'T', 'outputs': [{'fill': 'zeros', 'dtype': 'int8', 'shape': [1 << 28]}]}]}]}
        out, _ = self.replay(big, '--ring-bytes', '1024', '--when-full', 'drop', expect=1)
        self.assertIn('  1  the ring was full\n', out)
        self.assertRegex(out, r'\nwhat was lost, and why: opdump verify dump/\d{14}\n$')
        self.assertEqual(self.files('dump'), [])

    def test_a_dump_that_cannot_be_written(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        self.write('run.json', json.dumps({'models': [{'name': 'm', 'ops': [
            {'name': 'n', 'type': 'T', 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [size]}]}
            for size in (100, 100000)]}]}))
        out, error = self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=1, preexec_fn=limit,
                                   restore_signals=False)
        self.assertIn('  1  the sink failed\n', out)
        self.assertIn('writing below dump failed: ', error)
        self.assertEqual(len(self.files('dump')), 1)
        self.assertIn('file too large', self.run_tool('verify', 'dump', expect=1)[0])

    def test_fills(self):
        def data(dtype, shape, fill='ramp'):
            return self.replay_tensor({'fill': fill, 'dtype': dtype, 'shape': shape})[128:]
        ramp = [(i - 3) * 0.75 for i in range(100)]
        self.assertEqual(data('float32', [100]), floats(*ramp))
        self.assertEqual(data('float16', [100]), struct.pack('<100e', *ramp))
        self.assertEqual(data('float64', [4, 25]), struct.pack('<100d', *ramp))
        self.assertEqual(data('bfloat16', [100]), floats(*map(rounded_to_bfloat16, ramp)))
        self.assertEqual(data('complex64', [50]), floats(*ramp))
        self.assertEqual(data('bool', [5]), b'\0\1\0\1\0')
        self.assertEqual(data('uint8', [300]), bytes(i & 255 for i in range(300)))
        self.assertEqual(data('int16', [70000]), b''.join(struct.pack('<H', i & 65535) for i in range(70000)))
        self.assertEqual(data('int64', [3], 'zeros'), bytes(24))
        half = struct.unpack('<70000e', data('float16', [70000]))
        self.assertEqual([value for value in half if not math.isfinite(value)], [])
        wanted = struct.unpack('<70000e', struct.pack('<70000e', *((i % 65536 - 3) * 0.75 for i in range(70000))))
        self.assertEqual(half, wanted)
        for dtype, code in (('float32', 'f'), ('float16', 'e'), ('float64', 'd')):
            values = struct.unpack('<1000' + code, data(dtype, [1000], 'random'))
            self.assertTrue(all(-1 <= value <= 1 for value in values))
            self.assertLess(abs(sum(values)) / 1000, 0.1)
            self.assertGreater(len(set(values)), 900)
        self.assertEqual(set(data('bool', [100], 'random')), {0, 1})

    def test_random_tensors_differ_and_runs_do_not(self):
        def run():
            t = {'fill': 'random', 'dtype': 'uint8', 'shape': [64]}
            self.replay({'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'inputs': [t], 'outputs': [t]}]}]})
            name = self.files('dump')[0]
            content = self.read('dump', name)
            shutil.rmtree(self.path('dump', name.split('/')[0]))
            return content
        first = run()
        self.assertEqual(first, run())
        self.assertNotEqual(first[-64:], first[-128:-64])

    def test_npy_files_come_back_as_they_are(self):
        cases = [('<f4', (2, 3), 4), ('<f2', (), 2), ('|i1', (5,), 1), ('|b1', (2, 2, 2), 1), ('<c16', (3,), 16),
                 ('<u8', (1,) * 8, 8), ('<i2', (100000,), 2)]
        for descr, shape, size in cases:
            data = bytes(i * 7 & 1 if descr == '|b1' else i * 7 & 255 for i in range(size * math.prod(shape)))
            for version in (1, 2, 3):
                self.write('x.npy', npy(descr, shape, data, version))
                self.assertEqual(self.replay_tensor({'data': 'x.npy'}), npy(descr, shape or (1,), data))
        self.write('sub/x.npy', npy('<f4', (2, 1), floats(1, 2), fortran=False))
        self.write('sub/run.json', json.dumps({'models': [{'name': 'm', 'ops': [
            {'name': 'n', 'type': 'T', 'outputs': [{'data': 'x.npy'}]}]}]}))
        self.run_tool('replay', 'sub/run.json', '--config', 'acl.json')

    def test_npy_files_given_another_dtype(self):
        self.write('x.npy', npy('<u2', (2,), b'\x80\x3f\0\0'))
        self.assertEqual(self.replay_tensor({'data': 'x.npy', 'dtype': 'bfloat16'}), npy('<f4', (2,), floats(1, 0)))
        self.write('x.npy', npy('|V2', (2,), b'\x80\x3f\0\0'))
        self.assertEqual(self.replay_tensor({'data': 'x.npy', 'dtype': 'bfloat16'}), npy('<f4', (2,), floats(1, 0)))
        self.write('x.npy', npy('|u1', (8,), bytes(range(8))))
        self.assertEqual(self.replay_tensor({'data': 'x.npy', 'dtype': 'float32', 'shape': [2, 1]}),
                         npy('<f4', (2, 1), bytes(range(8))))

    def test_raw_files_may_be_padded(self):
        self.write('x.bin', bytes(range(32)))
        self.assertEqual(self.replay_tensor({'data': 'x.bin', 'dtype': 'int32', 'shape': [3]}),
                         npy('<i4', (3,), bytes(range(12))))

    def test_files_that_are_refused(self):
        def refused(name, content, t=None):
            self.write(name, content)
            return self.replay_tensor(dict({'data': name}, **(t or {})), expect=1)
        at = r'^run.json:1:\d+: models\[0\]\.ops\[0\]\.outputs\[0\]\.'
        self.assertRegex(refused('x.npy', npy('<f4', (2, 2), bytes(16), fortran=True)), at + 'data: .*Fortran order')
        self.assertRegex(refused('x.npy', npy('>f4', (2,), bytes(8))), at + 'data: .*little-endian')
        self.assertRegex(refused('x.npy', npy('|O', (2,), bytes(8))), at + 'data: .*Python objects')
        self.assertRegex(refused('x.npy', npy("[('a', '<f4')]", (2,), bytes(8))), at + 'data: .*structured')
        self.assertRegex(refused('x.npy', npy('<U3', (2,), bytes(24))), at + "data: .*'<U3' is not supported")
        self.assertRegex(refused('x.npy', npy('|V2', (2,), bytes(4))), at + 'dtype: missing')
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(7))), at + 'data: .*ends too early')
        self.assertRegex(refused('x.npy', npy('<f4', (2 ** 62, 4), bytes(8))), at + 'data: .*passes every memory')
        self.assertRegex(refused('x.npy', npy('<f4', (1,) * 33, bytes(4))), at + 'data: .*more than 32 dims')
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(8), version=4)), at + 'data: .*version 4')
        self.assertRegex(refused('x.npy', b'no'), at + 'data: .*not an .npy file')
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(8)), {'dtype': 'float16'}),
                         at + "dtype: .*'<f4'.*another size")
        self.assertRegex(refused('x.npy', npy('<f4', (2,), bytes(8)), {'shape': [3]}), at + 'data: .*holds 8 .*need 12')
        self.assertRegex(refused('x.bin', b'1234567', {'dtype': 'int32', 'shape': [2]}), at + 'data: .*7 .*need 8')
        self.assertRegex(refused('x.bin', b'1234567', {'shape': [2]}), at + 'dtype: missing')
        self.assertRegex(refused('x.bin', b'1234567', {'dtype': 'int8'}), at + 'shape: missing')
        self.assertRegex(self.replay_tensor({'data': 'gone.npy'}, expect=1), at + 'data: gone.npy: No such file')
        self.assertRegex(self.replay_tensor({'data': '.'}, expect=1), at + 'data: .*not a regular file')

    def test_npy_files_cut_or_flipped_do_no_harm(self):
        whole = npy('<f4', (2,), floats(1, 2))
        for size in range(len(whole)):
            self.write('x.npy', whole[:size])
            self.assertIn('.outputs[0].data: ', self.replay_tensor({'data': 'x.npy'}, expect=1))
        for byte in range(80):
            flipped = bytearray(whole)
            flipped[byte] ^= 4
            self.write('x.npy', bytes(flipped))
            self.write('run.json', json.dumps({'models': [{'name': 'm', 'ops': [
                {'name': 'n', 'type': 'T', 'outputs': [{'data': 'x.npy'}]}]}]}))
            self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=(0, 1))

    def test_descriptions_that_are_refused(self):
        op = '{"models": [{"name": "m", "ops": [{"name": "n", "type": "T", %s}]}]}'
        fill = '"outputs": [{"fill": "ramp", %s}]'
        cases = [
            ('', r'^run.json:1:1: '),
            ('[]', r'^run.json:1:1: an array instead of an object'),
            ('{"models": [}', r'^run.json:1:13: '),
            ('{"steps": 1,\n "modles": []}', r'^run.json:2:2: modles: unknown key, "models" is meant\?'),
            ('{"steps": -1}', r'^run.json:1:11: steps: a whole number from 0 to 18446744073709551615'),
            ('{"steps": 1.5}', r': steps: a whole number'),
            ('{"steps": "1"}', r': steps: a string instead of a number'),
            ('{"device_id": 4294967296}', r': device_id: a whole number from 0 to 4294967295'),
            ('{"models": {}}', r': models: an object instead of an array'),
            ('{"models": [{"ops": []}]}', r'^run.json:1:13: models\[0\].name: missing'),
            ('{"models": [{"name": 1}]}', r': models\[0\].name: a number instead of a string'),
            ('{"single_ops": [{"type": "T"}]}', r': single_ops\[0\].name: missing'),
            ('{"single_ops": [{"name": "n"}]}', r': single_ops\[0\].type: missing'),
            ('{"models": [{"name": "m", "constants": [{"tensor": {}}]}]}', r'constants\[0\].name: missing'),
            ('{"models": [{"name": "m", "constants": [{"name": "c"}]}]}', r'constants\[0\].tensor: missing'),
            ('{"models": [{"name": "m", "constants": [{"name": "c", "tensor": {"fill": "ramp"}}]}]}',
             r'constants\[0\].tensor.dtype: missing'),
            (op % '"tsk_id": 1', r': models\[0\].ops\[0\].tsk_id: unknown key, "task_id" is meant'),
            (op % '"level": "all"', r': models\[0\].ops\[0\].level: one of "both", "op", "kernel"'),
            (op % '"original_names": [1]', r'original_names\[0\]: a number instead of a string'),
            (op % '"outputs": [{"dtype": "int8", "shape": [1]}]', r'outputs\[0\]: missing: .*"data".*"fill"'),
            (op % '"outputs": [{"data": "x", "fill": "ramp"}]', r'outputs\[0\]: "data" and "fill" exclude each other'),
            (op % fill % '"shape": [1]', r'outputs\[0\].dtype: missing'),
            (op % fill % '"dtype": "int8"', r'outputs\[0\].shape: missing'),
            (op % fill % '"dtype": "int7", "shape": [1]', r'dtype: "int7" is no dtype'),
            (op % fill % '"dtype": "string", "shape": [1]', r'dtype: .* no fixed size'),
            (op % fill % '"dtype": "int8", "shape": [-1]', r'shape\[0\]: a whole number'),
            (op % fill % '"dtype": "int8", "shape": [9223372036854775807, 3]', r'shape: passes every memory'),
            (op % fill % ('"dtype": "int8", "shape": [%s]' % ','.join(['1'] * 33)), r'shape\[32\]: more than 32'),
            (op % fill % '"dtype": "int8", "shape": [1], "format": "NCWH"', r'format: "NCWH" is no format'),
            (op % '"outputs": [{"fill": "ones", "dtype": "int8", "shape": [1]}]', r'fill: one of "zeros", "ramp"'),
        ]
        for text, pattern in cases:
            out, error = self.replay(text, expect=1)
            self.assertEqual(out, '', text)
            self.assertIn(error.count('\n'), (1, 3), error)
            self.assertRegex(error, pattern)
        self.assertRegex(self.run_tool('replay', 'gone.json', '--config', 'acl.json', expect=1)[1], '^gone.json:1:1: ')

    def test_a_refused_config(self):
        self.config(dump_mode='some', dump_list=[{}])
        self.assertRegex(self.replay(self.RUN, expect=1)[1], r'^acl.json:1:\d+: dump.dump_mode: ')

    def test_memory_does_not_grow_with_the_tensors(self):
        with open(tool_case.OPDUMP, 'rb') as file:
            if b'__asan_init' in (content := file.read()) or b'__tsan_init' in content:
                self.skipTest('sanitizers take memory of their own')

        def peak(*arguments):
            process = subprocess.Popen([tool_case.OPDUMP, *arguments], cwd=self.directory, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            self.assertEqual(status, 0)
            return usage.ru_maxrss * 1024
        self.write('x.bin', bytes(1 << 25))
        self.write('run.json', json.dumps({'models': [{'name': 'm', 'ops': [{'name': 'n', 'type': 'T', 'outputs': [
            {'fill': 'ramp', 'dtype': 'float16', 'shape': [1 << 25]},
            {'data': 'x.bin', 'dtype': 'int8', 'shape': [1 << 25]}]}]}]}))
        base = peak('--version')
        for how in ('block', 'inline'):
            self.assertLess(peak('replay', 'run.json', '--config', 'acl.json', '--ring-bytes', '65536',
                                 '--when-full', how) - base, 2 << 20)
        self.assertLess(peak('show', 'dump') - base, 2 << 20)
        self.assertLess(peak('convert', '-r', '-d', 'dump', '-out', 'out') - base, 2 << 20)


if __name__ == '__main__':
    tool_case.main()
