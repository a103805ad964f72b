#!/usr/bin/env python3
"""Tests of `opdump overflow`, and of faults in RUN.json: tool_overflow_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import os
import re
import shutil
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import proto_record  # noqa: E402
import tool_case  # noqa: E402
from tool_case import (Case, FLOAT, UINT8, floats, record, tensor)  # noqa: E402

STAMP = 1589195081588018


def old_blob(block=256, status_at=1024, model=1, stream=2, task=3, status=0x110):
    data = bytearray(2048)
    struct.pack_into('<6Q', data, block, model, stream, task, 0, 0x1008005b0000, 0x100800297000)
    if status_at == 1024:
        struct.pack_into('<3Q', data, status_at, 0x1008005ae000, 1, status)
    else:
        struct.pack_into('<Q', data, status_at, status)
    return bytes(data)


def new_blob(kind, *fields, version=0):
    data = struct.pack('<6I', 0x5a5a5a5a, version, 1, kind, 0, 8 * len(fields)) + struct.pack('<%dQ' % len(fields), *fields)
    return data + bytes(2048 - len(data))


class Overflow(Case):
    def put(self, name, content):
        self.write('dump/20260131130559/0/net/1/5/' + name, content)

    def put_op(self, name='Conv2D.conv1.3.2.%d' % STAMP, inputs=(1, 2), outputs=(1, float('inf'))):
        self.put(name, record([tensor(FLOAT, (len(inputs),), floats(*inputs))],
                              [tensor(FLOAT, (len(outputs),), floats(*outputs))]))

    def put_blob(self, blob, name='Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 1)):
        self.put(name, record([], [tensor(UINT8, (len(blob),), blob)]))

    def overflow(self, *arguments, expect=0):
        return self.run_tool('overflow', '-d', 'dump', '-out', 'out', *arguments, expect=expect)

    def summaries(self):
        return [name for name in self.files('out') if name.startswith('overflow_summary_')]

    def test_one_overflow(self):
        self.put_op()
        self.put_blob(old_blob())
        out, error = self.overflow()
        self.assertEqual(error, '')
        path = 'dump/20260131130559/0/net/1/5/Conv2D.conv1.3.2.%d' % STAMP
        self.assertEqual(out.splitlines(), [
            '1 overflow',
            '1  2020-05-11T11:04:41.588019  model 1 (net), step 5, stream 2, task 3',
            '   operator Conv2D conv1, ' + path,
            '   AI Core status 272 = 0x110: integer addition, subtraction, multiplication or multiply-add, '
            'converting float32 or int32 to float16',
            '   input 0  float32 [2]  2 finite: min 1, max 2, mean 1.5',
            '   output 0  float32 [2]  1 infinite, 1 finite: min 1, max 1, mean 1',
            'first bad operator: Conv2D conv1, model 1 (net), step 5, stream 2, task 3: output 0 holds '
            '1 infinite, 1 finite: min 1, max 1, mean 1, and its inputs are clean'])
        self.assertEqual(self.read('out', *self.summaries()).decode(), out)
        name = 'out/20260131130559/0/net/1/5/Opdebug.Node_OpDebug.9.2.%d.output.0.json' % (STAMP + 1)
        said = json.loads(self.read(name))
        self.assertEqual(list(said), ['DHA Atomic Add', 'L2 Atomic Add', 'AI Core'])
        self.assertEqual(said['AI Core'], {
            'model_id': 1, 'stream_id': 2, 'task_id': 3, 'task_type': 0, 'pc_start': '0x1008005b0000',
            'para_base': '0x100800297000', 'kernel_code': '0x1008005ae000', 'block_idx': 1, 'status': 272})

    def test_names_without_a_stream(self):
        self.put_op('Pooling.pool1.3.%d' % STAMP)
        self.put_op('Pooling.other.3.7.%d' % STAMP)
        self.put_blob(old_blob(), 'Opdebug.Node_OpDebug.59.%d' % (STAMP + 1))
        out, error = self.overflow()
        self.assertEqual(error, '')
        self.assertIn('\n   operator Pooling pool1, ', out)
        shown = self.run_tool('show', 'dump')[0].splitlines()
        self.assertEqual([line.split()[:4] for line in shown if line.startswith(('Pool', 'Opd'))],
                         [['Pooling', 'other', '3', '7'], ['Pooling', 'pool1', '3', '-'],
                          ['Opdebug', 'Node_OpDebug', '59', '-']])
        records = json.loads(self.run_tool('show', '--json', 'dump')[0])['records']
        self.assertEqual([(record['task'], record.get('stream')) for record in records], [(3, 7), (3, None), (59, None)])

    def test_the_first_bad_operator_has_clean_inputs(self):
        nan = float('nan')
        for i, (inputs, outputs) in enumerate([((nan,), (nan,)), ((1,), (2,)), ((1,), (nan,)), ((1,), (nan,))]):
            self.put_op('T.op%d.%d.2.%d' % (i, i, STAMP + 10 * i), inputs, outputs)
            self.put_blob(old_blob(task=i), 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 10 * i + 1))
        out, _ = self.overflow()
        self.assertIn('first bad operator: T op2, ', out)
        out, _ = self.overflow('-n', '2')
        self.assertEqual(out.splitlines()[0], '4 overflows, of which the first 2 follow')
        self.assertIn('first bad operator: none', out)

    def test_spellings_and_mapping(self):
        self.put_op()
        self.put('mapping.csv', '123,OpDebug.Node_Opdebug.9.2.%d\n' % (STAMP + 5))
        self.put_blob(old_blob(), '123')
        self.put_blob(old_blob(), 'opdebug.NODE_OPDEBUG.9.%d' % (STAMP + 2))
        out, _ = self.overflow()
        self.assertEqual(out.splitlines()[0], '2 overflows')
        self.assertEqual(out.count('operator Conv2D conv1'), 2)

    def test_threads_have_files_of_their_own(self):
        for thread in (4, 5):
            self.put_op('Conv2D.conv1.3.2.%d.0.7.%d.0' % (STAMP + thread, thread))
        self.put_blob(new_blob(0, 1, 2, 3, 0, 7, 5, 0xabc, 0, 0, 0, 0x20))
        out, _ = self.overflow()
        self.assertIn('Conv2D.conv1.3.2.%d.0.7.5.0' % (STAMP + 5), out)
        self.assertIn('   AIC status 32 = 0x20: floating-point computation\n', out)

    def test_every_unit(self):
        ids = (1, 2, 3, 0, 65535, 65535)
        blobs = [('AIC', new_blob(0, *ids, 1, 2, 3, 4, 8)), ('AIV', new_blob(1, *ids, 1, 2, 3, 4, 8, 0, 0, 0, version=1)),
                 ('AICPU', new_blob(2, 1, 2, 3, 0, 65535, 1, 65535, 8)), ('SDMA', new_blob(3, *ids, 1, 2, 3, 8)),
                 ('DHA Atomic Add', old_blob(0, 512, status=8)), ('L2 Atomic Add', old_blob(128, 768, status=8)),
                 ('AI Core', old_blob(status=8))]
        self.put_op()
        for i, (_, blob) in enumerate(blobs):
            self.put_blob(blob, 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + i + 1))
        out, error = self.overflow()
        self.assertEqual(error, '')
        for unit, _ in blobs:
            self.assertIn('   %s status 8 = 0x8: negating the smallest signed integer\n' % unit, out)
        self.assertEqual(out.count('operator Conv2D conv1'), len(blobs))

    def test_what_is_missing_or_broken_is_told(self):
        self.put_blob(old_blob())
        out, error = self.overflow(expect=1)
        self.assertIn('no operator\'s file of that task and stream is beside it', error)
        self.put('Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 2), b'nothing')
        self.put_blob(b'x' * 100, 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 3))
        out, error = self.overflow(expect=1)
        self.assertEqual(out.splitlines()[0], '1 overflow')
        self.assertEqual(len(error.splitlines()), 3)

    def test_nothing(self):
        os.makedirs(self.path('dump'))
        nothing = ('', 'opdump overflow: dump: there is neither a record nor a journal\n')
        self.assertEqual(self.overflow(expect=1), nothing)
        self.assertEqual(self.files(), [])
        self.put('notes.txt', 'nothing of a dump')
        self.assertEqual(self.overflow(expect=1), nothing)
        self.put_op()
        self.assertEqual(self.overflow(), ('0 overflows: no overflow file among 2 files\n', ''))
        self.write('dump/a.part', '')
        self.assertIn('dump/a.part: passed over, not finished', self.overflow()[1])
        shutil.rmtree(self.path('dump'))
        self.write('dump/opdump.0.1.journal', '')
        self.assertEqual(self.overflow(), ('0 overflows: no overflow file among 1 file\n', ''))

    def test_a_file_that_is_no_overflow_file(self):
        self.put_op()
        self.put_blob(old_blob(), 'Opdebug.Node_OpDebug.9.2.%d.output.0.json' % STAMP)
        folder = 'dump/20260131130559/0/net/1/5/'
        for name, why in (('Conv2D.conv1.3.2.%d' % STAMP, 'is no overflow file'),
                          ('Opdebug.Node_OpDebug.9.2.%d.output.0.json' % STAMP, 'is no overflow file'),
                          ('Opdebug.Node_OpDebug.9.2.7', 'No such file or directory')):
            error = self.run_tool('overflow', '-d', folder + name, '-out', 'out', expect=1)[1]
            self.assertIn(f'opdump overflow: {folder}{name}: {why}', error)

    def test_one_file_alone(self):
        self.put_op()
        self.put_blob(old_blob())
        self.put_blob(old_blob(), 'Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 2))
        path = 'dump/20260131130559/0/net/1/5/Opdebug.Node_OpDebug.9.2.%d' % (STAMP + 2)
        out, error = self.run_tool('overflow', '-d', path, '-out', 'out')
        self.assertEqual((out.splitlines()[0], error), ('1 overflow', ''))

    def test_command_line(self):
        for arguments in ([], ['-d', 'dump', 'x'], ['-d', 'dump', '-n', '0'], ['-d', 'dump', '-n', 'x'],
                          ['-d', 'dump', '-out', '']):
            self.run_tool('overflow', *arguments, expect=2)


TENSOR = {'fill': 'ramp', 'dtype': 'float16', 'shape': [4]}


class Faults(Case):
    RUN = {'steps': 3, 'models': [{'name': 'net', 'id': 7, 'ops': [
        {'name': name, 'type': 'T', 'task_id': i, 'stream_id': 4, 'inputs': [TENSOR], 'outputs': [TENSOR]}
        for i, name in enumerate('abc')]}]}

    def replay(self, faults, expect=0, **keys):
        os.makedirs(self.path('dump'), exist_ok=True)
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_debug': 'on', **keys}}))
        self.write('run.json', json.dumps(dict(self.RUN, inject=faults)))
        return self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=expect)

    def dumped(self):
        return ['.'.join(name.split('/')[-2:]).rsplit('.', 1)[0] for name in self.files('dump')]

    def test_overflow_and_nan(self):
        out, _ = self.replay([{'step': 1, 'op': 'b', 'kind': 'overflow', 'status': 256},
                              {'step': 2, 'op': 'a', 'kind': 'nan', 'model': 'net'}])
        self.assertIn('overflow 2 operators\nfirst    T b at step 1 of model 7, with clean inputs\n', out)
        self.assertEqual(self.dumped(), ['1.Opdebug.Node_OpDebug.65535.4', '1.T.b.1.4',
                                         '2.Opdebug.Node_OpDebug.65535.4', '2.T.a.0.4'])
        self.run_tool('verify', 'dump')
        out, error = self.run_tool('overflow', '-d', 'dump', '-out', 'out')
        self.assertEqual(error, '')
        self.assertIn('status 256 = 0x100: converting float32 or int32 to float16', out)
        self.assertNotIn('status 32', out)
        self.assertIn('   nothing reported a status: an infinity or a NaN was found in an output; the file has 32 for '
                      'tools that want one\n', out)
        self.assertIn('first bad operator: T b, model 7 (net), step 1, stream 4, task 1: output 0 holds 1 infinite', out)

    def test_no_fault_no_file(self):
        out, _ = self.replay([], expect=3)
        self.assertIn('overflow 0 operators\n', out)
        self.assertEqual(self.dumped(), [])

    def test_steps_are_honoured(self):
        faults = [{'step': step, 'op': 'a', 'kind': 'nan'} for step in range(3)]
        self.replay(faults, dump_step='2')
        self.assertEqual([name[0] for name in self.dumped()], ['2', '2'])

    def watch(self, faults, expect=0, **options):
        os.makedirs(self.path('dump'), exist_ok=True)
        self.write('acl.json', json.dumps({
            'dump': {'dump_path': 'dump', 'dump_mode': 'output', 'dump_scene': 'watcher',
                     'dump_list': [{'layer': ['b', 'c'], 'watcher_nodes': ['a']}]}, 'opdump': options}))
        self.write('run.json', json.dumps(dict(self.RUN, inject=faults)))
        return self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=expect)

    TRAMPLE = {'step': 1, 'op': 'c', 'kind': 'trample', 'victim': 'a', 'offset': 2, 'bytes': 3}

    def test_watch(self):
        out, _ = self.watch([self.TRAMPLE])
        self.assertIn('watch    1 overwrite\n  c overwrote output 0 of a at step 1, bytes 0..7\n', out)
        self.assertEqual(self.dumped(), [name for step in '012' for name in
                                         (step + '.T.a.0.4', step + '.T.b_To_a.1.4', step + '.T.c_To_a.2.4')])
        self.run_tool('verify', 'dump')
        self.run_tool('convert', '-r', '-d', 'dump', '-out', 'arrays')
        elements = {}
        for name in self.files('arrays'):
            step, file = name.split('/')[-2:]
            elements[step, file.split('.')[1]] = self.read('arrays', name)[-8:]
        changed = {key for key, value in elements.items() if value != elements['0', 'a']}
        self.assertEqual(changed, {('1', 'c_To_a')})

    def test_watch_verdict(self):
        out, _ = self.watch([self.TRAMPLE], watch='verdict')
        self.assertIn('c overwrote output 0 of a at step 1, bytes 0..7\n', out)
        self.assertEqual(self.dumped(), ['1.T.c_To_a.2.4'])
        self.watch([], expect=3, watch='verdict')

    def test_a_victim_has_to_have_the_bytes(self):
        for keys in ({'offset': 8}, {'bytes': 9}, {'bytes': 0}, {'offset': 7, 'bytes': 2}):
            _, error = self.watch([dict(self.TRAMPLE, **dict({'offset': 0}, **keys))], expect=1)
            self.assertIn('inject[0].victim: its first output has 8 bytes', error)

    def test_history(self):
        os.makedirs(self.path('dump'), exist_ok=True)
        self.write('acl.json', json.dumps({
            'dump': {'dump_path': 'dump', 'dump_debug': 'on', 'dump_mode': 'output', 'dump_list': [{'layer': ['a']}]},
            'opdump': {'history_steps': 3, 'after_steps': 1}}))
        self.assertIn('when    something happens: then the 3 steps before it, of at most 1.0 MiB, and 1 after it\n',
                      self.run_tool('check', 'acl.json')[0])
        self.write('run.json', json.dumps(dict(self.RUN, steps=9, inject=[{'step': 5, 'op': 'b', 'kind': 'nan'}])))
        out, _ = self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.assertIn('history  written 1 time, ', out)
        self.assertEqual(self.dumped(), ['3.T.a.0.4', '4.T.a.0.4', '5.Opdebug.Node_OpDebug.65535.4', '5.T.a.0.4',
                                         '5.T.b.1.4', '6.T.a.0.4'])

    def exception(self, scene):
        os.makedirs(self.path('dump'), exist_ok=True)
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_scene': scene}}))
        self.write('run.json', json.dumps(dict(self.RUN, inject=[{'step': 1, 'op': 'b', 'kind': 'exception'}])))
        out, _ = self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.assertIn('ended    b failed at step 1\n', out)
        self.assertIn('dump     dump/extra-info/data-dump/0\n', out)
        files = self.files('dump')
        self.assertEqual(len(files), 1)
        self.assertEqual(os.path.dirname(files[0]), 'extra-info/data-dump/0')
        journal = re.search(r'^journal  (dump/extra-info/data-dump/opdump\.0\.[0-9]+\.journal)$', out, re.M).group(1)
        self.assertTrue(os.path.exists(self.path(journal)))
        self.assertIn('1 journal: 1 record written, 0 lost; 1 file there', self.run_tool('verify', 'dump')[0])
        return os.path.basename(files[0])

    def test_exception_scenes(self):
        for scene in ('lite_exception', 'aic_err_brief_dump', 'aic_err_detail_dump'):
            self.assertRegex(self.exception(scene), r'^exception_info\.4\.1\.20[0-9]{15}$')
            shown = self.run_tool('show', 'dump')[0]
            self.assertRegex(shown, r'\nexception_info +exception_info\.4\.1 +1 +4 +20')
            self.assertRegex(shown, r'\n  output +0 +bytes +')
            self.assertNotIn('undefined', shown)
            # A card names the operator, one of several does not.
            self.assertRegex(self.run_tool('show', 'dump', '--model', 'run.json')[0], r'\nT +b +1 +4 +20')
            run = dict(self.RUN, models=self.RUN['models'] + [dict(self.RUN['models'][0], name='n', id=9)])
            self.write('two.json', json.dumps(run))
            self.assertIn('ambiguous: several', self.run_tool('show', 'dump', '--model', 'two.json')[0])
            shutil.rmtree(self.path('dump'))
        name = self.exception('aic_err_norm_dump')
        self.assertRegex(name, r'^T\.b\.1\.20[0-9]{15}$')
        self.assertRegex(self.run_tool('show', 'dump')[0], r'\nT +b +1 +- +20')
        self.run_tool('convert', '-d', 'dump/extra-info/data-dump/0/' + name, '-out', 'arrays')
        self.assertEqual(self.files('arrays'), [name + '.input.0.npy', name + '.output.0.npy'])

    def test_an_exception_that_is_lost_or_removed_is_told(self):
        run = json.loads(json.dumps(self.RUN))
        for op in run['models'][0]['ops']:
            op['outputs'] = [dict(TENSOR, shape=[1000])]
        self.RUN = run
        for scene, op in (('lite_exception', 'exception_info.4.1'), ('aic_err_norm_dump', 'T.b')):
            name = self.exception(scene)
            os.remove(self.path('dump/extra-info/data-dump/0/' + name))
            out, _ = self.run_tool('verify', 'dump', expect=1)
            self.assertIn('not there, though the journal says it was written (1)', out)
            self.assertIn(name, out)
            shutil.rmtree(self.path('dump'))
            self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_scene': scene},
                                               'opdump': {'max_bytes': 1000}}))
            os.makedirs(self.path('dump'))
            self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=1)
            out, _ = self.run_tool('verify', 'dump', expect=1)
            self.assertRegex(out, op.replace('.', r'\.') + r' .*1 record lost: the quota was used up')
            shutil.rmtree(self.path('dump'))

    def test_a_dump_in_which_no_operator_fails_leaves_nothing(self):
        os.makedirs(self.path('dump'))
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_scene': 'lite_exception'}}))
        self.write('run.json', json.dumps(self.RUN))
        out, _ = self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=3)
        self.assertIn('journal  none: no operator failed\n', out)
        self.assertEqual(os.listdir(self.path('dump')), [])

    def test_an_exception_has_the_attributes(self):
        run = json.loads(json.dumps(self.RUN))
        for model in run['models']:
            model['ops'] = [dict(op, attributes={'axis': '-1', 'empty': ''}) for op in model['ops']]
        self.RUN = run
        name = self.exception('aic_err_norm_dump')
        with open(self.path('dump/extra-info/data-dump/0/' + name), 'rb') as file:
            data = file.read()
        for attribute in (('axis', '-1'), ('empty', '')):
            field = b''.join(proto_record.text(i + 1, text) for i, text in enumerate(attribute) if text)
            self.assertIn(proto_record.text(7, field), data)

    def test_a_fault_that_cannot_be_is_refused_at_its_place(self):
        for fault, words in (
                ({'op': 'x', 'kind': 'nan'}, 'inject[0].op: no operator of "net" is called "x"'),
                ({'op': 'a', 'kind': 'nan', 'model': 'y'}, 'inject[0].model: no model is called "y"'),
                ({'op': 'a', 'kind': 'bang'}, 'inject[0].kind: one of '),
                ({'op': 'a'}, 'inject[0].kind: missing'),
                ({'op': 'a', 'kind': 'nan', 'step': 3}, 'inject[0].step: the last step is 2'),
                ({'kind': 'nan'}, 'inject[0].op: missing'),
                ({'op': 'a', 'kind': 'nan', 'Step': 1}, 'inject[0].Step: unknown key')):
            _, error = self.replay([fault], expect=1)
            self.assertIn(words, error)


if __name__ == '__main__':
    tool_case.main()
