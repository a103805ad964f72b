#!/usr/bin/env python3
"""Tests of `opdump check` and `opdump explain` from outside: tool_check_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import os
import pathlib
import re
import shutil
import sys
import unittest.mock

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from json_places import places  # noqa: E402
from packed_configs import packed_configs  # noqa: E402
from tool_case import Case  # noqa: E402
import tool_replay_test  # noqa: E402


class Check(Case):
    def test_active(self):
        os.mkdir(self.path('dump'))
        config = {'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_step': '0|5-9', 'dump_level': 'kernel',
                           'dump_list': [{'model_name': 'digits', 'layer': ['conv1', 'fc']}, {'model_name': 'm2'}, {}]}}
        self.write('acl.json', json.dumps(config))
        out, error = self.run_tool('check', 'acl.json')
        self.assertEqual(error, '')
        self.golden('check.txt', out)
        self.assertEqual(self.run_tool('check', '-', stdin=json.dumps(config).encode())[0],
                         out.replace('acl.json:', '-:'))

    def test_single_ops(self):
        config = {'dump': {'dump_path': '.', 'dump_op_switch': 'on'}}
        self.write('acl.json', json.dumps(config))
        self.assertIn('operators run outside a model too', self.run_tool('check', 'acl.json')[0])
        config['dump']['dump_step'] = '3'
        self.write('acl.json', json.dumps(config))
        out, _ = self.run_tool('check', 'acl.json')
        self.assertIn('operators run outside a model never', out)
        self.assertIn('step 3, counted from 0', out)

    def test_options_in_words(self):
        config = {'dump': {'dump_path': '.', 'dump_list': [{}]},
                  'opdump': {'ring_bytes': 65536, 'when_full': 'block', 'block_limit_ms': 30, 'journal': 'gaps',
                             'max_bytes': 1000000, 'max_files': 50, 'reserve_bytes': 4096, 'keep': 'newest',
                             'fsync': 'record'}}
        self.write('acl.json', json.dumps(config))
        lines = self.run_tool('check', 'acl.json')[0].splitlines()
        self.assertEqual(lines[-6:], ['  ring    64.0 KiB for each recorder',
                                      '  full    a record that finds no room in its ring waits for the drainer',
                                      '  wait    30 ms without progress at most',
                                      '  journal what was lost, and the totals',
                                      '  room    at most 976.6 KiB, at most 50 files, 4.0 KiB of the file system stay '
                                      'free, then the oldest go',
                                      '  safe    each record when it is written'])
        for key, word, said in (('when_full', 'drop', 'is lost at once'), ('when_full', 'inline', 'capturing thread'),
                                ('when_full', 'degrade', 'reduced to statistics'), ('journal', 'none', 'only counted'),
                                ('journal', 'records', 'every record'), ('fsync', 'never', 'the system'),
                                ('fsync', 'finalize', 'the dump ends'), ('keep', 'oldest', 'new records are refused')):
            self.write('acl.json', json.dumps({**config, 'opdump': {key: word}}))
            out = self.run_tool('check', 'acl.json')[0].splitlines()
            self.assertEqual(len(out), len(lines) - 5)
            self.assertIn(said, out[-1])

    def test_for_a_device(self):
        self.write('acl.json', json.dumps({'dump': {'dump_path': '/on/the/device', 'dump_list': [{}]}}))
        self.assertIn('/on/the/device', self.run_tool('check', 'acl.json', expect=1)[1])
        self.assertIn('to      /on/the/device', self.run_tool('check', '--for-device', 'acl.json')[0])
        self.run_tool('compile', 'acl.json', '-o', 'dump.plan')
        self.assertIn('to      /on/the/device', self.run_tool('check', 'dump.plan')[0])

    def test_inactive(self):
        for text in ('', '{}', '{"dump": {}}', '{"dump": {"dump_path": "."}}'):
            self.write('acl.json', text)
            self.assertIn('switches nothing on', self.run_tool('check', 'acl.json', expect=3)[0])
            self.run_tool('check', '-', stdin=text.encode(), expect=3)

    def test_refused(self):
        self.write('acl.json', '{"dump": {"dump_path": ".",\n  "dump_mode": "ouput"}}')
        out, error = self.run_tool('check', 'acl.json', expect=1)
        self.assertEqual(out, '')
        self.assertRegex(error, r'^acl.json:2:16: dump.dump_mode: .*"ouput".*"output"')
        self.assertEqual(error.split('\n')[1:],
                         ['  2 |   "dump_mode": "ouput"}}', '    |                ^', ''])
        self.assertRegex(self.run_tool('check', '-', stdin=b'{"dump": {,}}', expect=1)[1], r'^-:1:11: ')
        self.assertIn('no/where', self.run_tool('check', 'no/where', expect=1)[1])
        self.run_tool('check', '-', stdin=b' ' * (10 * 1024 * 1024 + 1), expect=1)


    def test_caret(self):
        def lines(text):
            return self.run_tool('check', '-', stdin=text, expect=1)[1].split('\n')[1:]
        self.assertEqual(lines(b'{"dump": {,}}'), ['  1 | {"dump": {,}}', '    |           ^', ''])
        self.assertEqual(lines(b'\n\n{"dump": '), ['  3 | {"dump": ', '    |          ^', ''])
        self.assertEqual(lines('{"ä": 1, "dump": 1}'.encode()), ['  1 | {"ä": 1, "dump": 1}', '    |                  ^', ''])
        self.assertEqual(lines(b'{"dump": "\x1b[2J'), ['  1 | {"dump": "?[2J', '    |           ^', ''])
        long = b'{' + b'"a":1,' * 1000 + b'"dump": 1' + b',"b":2' * 1000 + b'}'
        shown, caret, _ = lines(long)
        self.assertLess(len(shown), 120)
        self.assertEqual(shown[caret.index('^')], '1')
        self.assertTrue(shown.startswith('  1 | ...') and shown.endswith('...'))
        self.assertEqual(lines(b' ' * (10 * 1024 * 1024 + 1)), [''])
        self.assertEqual(self.run_tool('check', 'no/where', expect=1)[1].count('\n'), 1)

    def test_notes(self):
        self.write('acl.json', '{"dump": {"dump_path": ".", "dump_list": [{}], "dump_steps": "1"}}')
        out, error = self.run_tool('check', 'acl.json', expect=4)
        self.assertEqual(error, '')
        self.assertTrue(out.startswith('acl.json: valid and active, but a key is misspelt or misplaced'), out)
        self.assertIn('acl.json:1:48: note: dump.dump_steps: unknown, and ignored; is it', out)

    def test_a_key_in_the_wrong_object(self):
        item = {'model_name': 'net'}
        common = {'dump_mode': 0, 'path': '/dump', 'net_name': 'Net', 'iteration': 'all', 'input_output': 0, 'kernels': [],
                  'support_device': [0], 'op_debug_mode': 0}
        for config, key, where in (
                ({'dump': {'dump_path': '.', 'dump_list': [item], 'layer': ['a']}}, 'dump.layer', 'an item of "dump_list"'),
                ({'dump': {'dump_path': '.', 'dump_list': [item], 'ring_bytes': 4096}}, 'dump.ring_bytes', '"opdump"'),
                ({'dump': {'dump_path': '.', 'dump_list': [{**item, 'dump_mode': 'all'}]}}, 'dump.dump_list[0].dump_mode',
                 '"dump" itself'),
                ({'dump': {'dump_path': '.', 'dump_list': [{**item, 'fsync': 'record'}]}}, 'dump.dump_list[0].fsync',
                 '"opdump"'),
                ({'dump_path': '.', 'dump_list': [item]}, 'dump_path', '"dump"'),
                ({'common_dump_settings': {**common, 'trans_flag': True}}, 'common_dump_settings.trans_flag',
                 '"e2e_dump_settings"'),
                ({'common_dump_settings': common, 'e2e_dump_settings': {'saved_data': 'full'}},
                 'e2e_dump_settings.saved_data', '"common_dump_settings"'),
                ({'common_dump_settings': common, 'sample_num': 3}, 'sample_num', '"e2e_dump_settings"')):
            active = 'dump_path' not in config
            out, _ = self.run_tool('check', '-', stdin=json.dumps(config).encode(), expect=4 if active else 3)
            self.assertIn('note: %s: unknown, and ignored; it belongs in %s\n' % (key, where), out)
        config = {'dump': {'dump_path': '.', 'dump_list': [item]}, 'opdump': {'dump_step': '3'}}
        self.assertIn('opdump.dump_step: unknown key; it belongs in "dump" itself; allowed: ',
                      self.run_tool('check', '-', stdin=json.dumps(config).encode(), expect=1)[1])

    def test_options_beside_their_object_are_refused(self):
        dump = {'dump': {'dump_path': '.', 'dump_list': [{}]}}
        for extra, said in (({'privacy': [{'ops': ['*'], 'keep': 'shape'}]}, 'privacy: unknown key; it belongs in "opdump"'),
                            ({'seal': 'a.pub'}, 'seal: unknown key; it belongs in "opdump"'),
                            ({'opDump': {'digest': 'md5'}}, 'opDump: unknown key; did you mean "opdump"?'),
                            ({'Dump': {}}, 'Dump: unknown key; did you mean "dump"?'),
                            ({'dump': {**dump['dump'], 'opdump': {}}}, 'dump.opdump: unknown key; it belongs beside "dump"')):
            text = json.dumps({**dump, **extra}).encode()
            self.assertIn(said, self.run_tool('check', '-', stdin=text, expect=1)[1])
        text = json.dumps({**dump, 'profiler': {'switch': 'on'}, 'op_debug': 1, 'amp': {}, 'StackSize': 3, '': 1}).encode()
        self.assertNotIn('note', self.run_tool('check', '-', stdin=text)[0])
        text = json.dumps({**dump, 'dump_mode': 'all'}).encode()
        self.assertIn('it belongs in "dump"', self.run_tool('check', '-', stdin=text, expect=4)[0])
        for encoding in ('utf-16', 'utf-16-le', 'utf-16-be'):
            text = json.dumps(dump).encode(encoding)
            self.assertIn('1:1: UTF-16, and not UTF-8', self.run_tool('check', '-', stdin=text, expect=1)[1])

    def test_what_other_formats_allow_is_named(self):
        for text, said in ((b'{"dump": {"dump_path": ".", // here\n"dump_list": []}}', '1:29: a comment, and JSON has none'),
                           (b'{"dump": {"dump_path": "." /* here */, "dump_list": []}}', 'a comment, and JSON has none'),
                           (b'{"dump": {"dump_path": ".",\n# here\n"dump_list": []}}', '2:1: a comment, and JSON has none'),
                           (b'{"dump": {"dump_list": [{},]}}', '1:28: no comma may stand before this'),
                           (b'{"dump": {"dump_path": ".", }}', '1:29: no comma may stand before this'),
                           (b"{'dump': {}}", '1:2: a single quote'),
                           (b'{"dump": {"dump_path": \'.\'}}', '1:24: a single quote')):
            self.assertIn(said, self.run_tool('check', '-', stdin=text, expect=1)[1])

    def test_values_of_another_spelling(self):
        def refused(**objects):
            config = {'dump': {'dump_path': '.', 'dump_list': [{}], **objects.get('dump', {})}}
            if 'opdump' in objects:
                config['opdump'] = objects['opdump']
            return self.run_tool('check', '-', stdin=json.dumps(config).encode(), expect=1)[1]
        self.assertIn('did you mean "stats"?', refused(dump={'dump_data': 'statistics'}))
        self.assertIn('did you mean "ring_bytes"?', refused(opdump={'ring_size': 4096}))
        for text, number in (('4M', '4194304'), ('64 KiB', '65536'), ('4096', '4096'), ('1gB', '1073741824')):
            self.assertIn('a string, but it must be a number: write %s\n' % number, refused(opdump={'ring_bytes': text}))
        for text in ('much', '4 apples', '', '99999999T', '-1'):
            self.assertIn('a string, but it must be a number\n', refused(opdump={'ring_bytes': text}))

    def test_why_nothing_is_switched_on(self):
        for text, said in (('{"dump": {"dump_path": "."}}', 'note: dump.dump_list: missing, and nothing else'),
                           ('{"dump": {"dump_path": ".", "dump_list": []}}', 'note: dump.dump_list: empty, and nothing else'),
                           ('{"dump": {"dump_path": ".", "dump_scene": "watcher"}}', 'note: dump.dump_list: missing'),
                           ('{"dump": {"dump_path": ".", "dump_scene": "watcher", "dump_list": []}}',
                            'note: dump.dump_list: empty'),
                           ('', '\n-: note: the file is empty\n')):
            self.assertIn(said, self.run_tool('check', '-', stdin=text.encode(), expect=3)[0])
        self.assertNotIn('note', self.run_tool('check', '-', stdin=b'{"dump": {}}', expect=3)[0])

    def test_torchair_options_that_do_nothing_here(self):
        def run(expect=0, **options):
            config = {'dump_config': {'enable_dump': True, 'dump_path': '.', **options}}
            return ''.join(self.run_tool('check', '-', stdin=json.dumps(config).encode(), expect=expect))
        self.assertIn('note: dump_config.quant_dumpable: has no effect here: it is ge.quant_dumpable (atc --quant_dumpable=1)',
                      run(quant_dumpable=True))
        self.assertIn('dump_config.dump_step: null, but it must be a string: torchair takes no None here, so leave it out\n',
                      run(expect=1, dump_step=None))

    def test_what_mindspore_takes_beyond_its_document_is_told(self):
        def said(personality, e2e, **keys):
            common = {'dump_mode': 0, 'path': '/dump', 'net_name': 'Net', 'iteration': 'all', 'input_output': 0,
                      'kernels': [], 'support_device': [0], 'op_debug_mode': 0, **keys}
            config = {'common_dump_settings': common, 'e2e_dump_settings': e2e}
            return self.run_tool('check', '-', '--personality', personality, stdin=json.dumps(config).encode())[0]
        sampled = {'sample_mode': 1, 'sample_num': 7}
        self.assertIn('\n  sample  only the first 7 elements of each tensor\n', said('o0', sampled))
        self.assertNotIn('sample', said('o0', {}))
        self.assertRegex(said('o0', sampled, op_debug_mode=3), r'note: e2e_dump_settings\.sample_mode: 1 holds .* left out')
        out = said('o0', {}, op_debug_mode=3, saved_data='statistic')
        self.assertIn('\n  what    statistics of the inputs and outputs of operators that overflow', out)
        self.assertRegex(out, r'note: common_dump_settings\.saved_data: .* no tensors\n')
        self.assertRegex(said('cpu', {}, op_debug_mode=3), r'note: common_dump_settings\.op_debug_mode: 3 finds no overflow')
        for enable in (True, False):
            self.assertIn('note: e2e_dump_settings.enable: has no effect on CPU and GPU\n', said('cpu', {'enable': enable}))
        self.assertNotIn('note: e2e_dump_settings.enable', said('o0', {'enable': False}))

    def test_keys_that_are_not_acted_on_are_told(self):
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_list': [{}], 'dump_kernel_data': 'all'}}))
        note = r'acl\.json:1:\d+: note: dump\.dump_kernel_data: .*not acted on'
        out, error = self.run_tool('check', 'acl.json')
        self.assertEqual(error, '')
        self.assertRegex(out, note)
        self.write('run.json', json.dumps(tool_replay_test.Replay.RUN))
        _, error = self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.assertRegex(error, note)
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_scene': 'aic_err_detail_dump'}}))
        self.assertIn('note: dump.dump_scene: written as "aic_err_brief_dump"', self.run_tool('check', 'acl.json')[0])

    def test_dumps_that_find_a_bug(self):
        for keys, lines in (
                ({'dump_debug': 'on'}, ['what    the inputs and outputs of operators that overflow, and what is known of '
                                        'each overflow', 'models  every model: every operator']),
                ({'dump_scene': 'watcher', 'dump_list': [{'layer': ['a'], 'watcher_nodes': ['b', 'c']}]},
                 ['what    outputs of the watched operators, when they and when suspects have run',
                  'models  every model: "b", "c" watched; suspects: "a"']),
                ({'dump_scene': 'aic_err_norm_dump'}, ['what    the operator that fails, and nothing else'])):
            self.write('acl.json', json.dumps({'dump': dict({'dump_path': '.'}, **keys)}))
            out, _ = self.run_tool('check', 'acl.json')
            for line in lines:
                self.assertIn(line + '\n', out)

    @unittest.skipUnless(os.geteuid() == 0, 'only root can make a program of another user')
    def test_a_setuid_program_obeys_no_variable(self):
        with open(tool_case.OPDUMP, 'rb') as tool:
            if b'LeakSanitizer' in tool.read():
                self.skipTest('LeakSanitizer ends a setuid program, which it may not trace')
        program = self.path('opdump')
        shutil.copy(tool_case.OPDUMP, program)
        os.chown(program, 65534, 65534)
        os.mkdir(self.path('there'))
        for path in (self.directory, self.path('there')):
            os.chmod(path, 0o777)
        config = self.write('acl.json', '{"dump": {"dump_scene": "lite_exception"}}')
        for mode, told in ((0o755, True), (0o4755, False)):
            os.chmod(program, mode)
            with unittest.mock.patch.object(tool_case, 'OPDUMP', program), \
                    unittest.mock.patch.dict(os.environ, ASCEND_DUMP_PATH='there'):
                out, _ = self.run_tool('check', config, expect=(0, 3))
            self.assertEqual('ASCEND_DUMP_PATH' in out, told, out)

    def test_a_path_that_nothing_expands_is_told_so(self):
        for path in ('~/dump', '$HOME/dump', '/x/${USER}'):
            self.write('acl.json', json.dumps({'dump': {'dump_path': path, 'dump_list': [{}]}}))
            error = self.run_tool('check', 'acl.json', expect=1)[1]
            self.assertIn("nothing expands them", error)
            self.assertNotIn('mkdir', error)
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'not/there', 'dump_list': [{}]}}))
        error = self.run_tool('check', 'acl.json', expect=1)[1]
        self.assertIn('"%s": create it there with mkdir -p' % self.directory, error)
        self.write('acl.json', json.dumps({'dump': {'dump_path': '/not/there', 'dump_list': [{}]}}))
        self.assertIn('; create it with mkdir -p', self.run_tool('check', 'acl.json', expect=1)[1])

    def test_a_wildcard_in_a_list_of_names_gets_a_note(self):
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_list': [
            {'model_name': 'm', 'layer': ['a', 'conv*', 'b?']}]}}))
        notes = json.loads(self.run_tool('check', 'acl.json', '--json')[0])['notes']
        self.assertEqual([note['key'] for note in notes], ['dump.dump_list[0].layer'])
        self.assertIn('"conv*" is taken letter by letter', notes[0]['text'])

    def test_the_environment_of_exception_dumps(self):
        self.write('acl.json', '{"dump": {"dump_scene": "aic_err_norm_dump", "dump_path": "here"}}')
        self.write('nothing.json', '{}')
        with unittest.mock.patch.dict(os.environ, ASCEND_DUMP_PATH='not/there/yet'):
            out, _ = self.run_tool('check', 'acl.json')
            self.assertIn('  to      not/there/yet\n', out)
            self.assertIn('acl.json: note: ASCEND_DUMP_PATH: ', out)
            self.assertFalse(os.path.exists(self.path('not')))
            self.run_tool('check', 'nothing.json', expect=3)
        with unittest.mock.patch.dict(os.environ, ASCEND_DUMP_SCENE='aic_err_detail_dump'):
            answer = json.loads(self.run_tool('check', 'nothing.json', '--json')[0])
            self.assertEqual((answer['exception'], answer['dump_path']), ('detail', ''))
            self.assertEqual([note['key'] for note in answer['notes']], ['ASCEND_DUMP_SCENE'])
            self.run_tool('compile', 'nothing.json', '-o', 'plan', expect=3)

    def test_json(self):
        def checked(text, *arguments, expect=0):
            out, error = self.run_tool('check', '-', '--json', *arguments, stdin=text.encode(), expect=expect)
            self.assertEqual(error, '')
            return json.loads(out)
        got = checked('{"dump": {"dump_path": ".", "dump_mode": "ouput"}}', expect=1)
        self.assertFalse(got['valid'] or got['active'] or got['asked'])
        reason = got['error'].pop('reason')
        self.assertIn('did you mean "output"?', reason)
        self.assertEqual(got['error'], {'fault': 'not_in_list', 'key': 'dump.dump_mode', 'line': 1, 'column': 42,
                                        'offset': 41, 'acl_error': 100009, 'message_id': 'EP0002'})
        self.assertEqual(checked('[' * 11, expect=1)['error']['acl_error'], 100006)
        got = checked('{"dump": {"dump_path": ".", "dump_scene": "watcher", "dump_kernel_data": "all", '
                      '"dump_list": [{"watcher_nodes": ["C"]}]}}')
        self.assertEqual((got['valid'], got['asked'], got['active'], got['watch'], got['notes'][0]['key']),
                         (True, True, True, True, 'dump.dump_kernel_data'))
        got = checked('{"dump": {"dump_path": ".", "dump_level": "op", "dump_step": "1|3-5", "dump_list": [{"model_name": "m\\n",'
                      '"layer": ["a"], "opname_range": [{"begin": "b", "end": "c"}]}, {}]}, "opdump": {"ring_bytes": 64,'
                      '"when_full": "inline", "block_limit_ms": 5, "journal": "none"}}')
        self.assertEqual((got['notes'], got['mode'], got['level'], got['data'], got['steps']),
                         ([], 'output', 'op', 'tensor', [[1, 1], [3, 5]]))
        self.assertEqual(got['rules'], [{'model': 'm\n', 'layers': ['a'], 'ranges': [{'begin': 'b', 'end': 'c'}]}, {}])
        self.assertEqual(got['options'],
                         {'ring_bytes': 64, 'when_full': 'inline', 'block_limit_ms': 5, 'journal': 'none'})

    def test_model_names_as_files_have_them(self):
        op = {'type': 'T', 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [4]}]}
        self.write('run.json', json.dumps({'models': [{'name': 'net', 'ops': [
            dict(op, name='model/conv2d/Conv2D'), dict(op, name='b.c'), dict(op, name='d')]}]}))
        config = {'dump': {'dump_path': '.', 'dump_level': 'op', 'dump_list': [
            {'model_name': 'net', 'layer': ['model_conv2d_Conv2D'], 'opname_range': [{'begin': 'b_c', 'end': 'd'}]}]}}
        self.write('acl.json', json.dumps(config))
        out, _ = self.run_tool('check', 'acl.json', '--model', 'run.json')
        lines = out[out.index('  match'):].splitlines()
        self.assertEqual(lines[:3], [
            '  match   model "net": 3 of 3 operators: "model/conv2d/Conv2D", "b.c", "d"',
            '  name    "model_conv2d_Conv2D" of model "net" stands for "model/conv2d/Conv2D", whose files are named so',
            '  name    "b_c" of model "net" stands for "b.c", whose files are named so'])
        self.assertNotIn('miss ', out)

    def test_model_that_a_program_has_described(self):
        """The file is what FileDump::describe writes: tests/unit/platform/file_dump_options_test.cpp."""
        run = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data', 'run', 'described.json')
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_mode': 'all', 'dump_list': [
            {'model_name': 'net', 'layer': ['a/"relu"']}, {'model_name': 'm'}]}}))
        out, _ = self.run_tool('check', 'acl.json', '--model', run)
        self.assertIn('  match   model "net": 1 of 2 operators: "conv/1"\n', out)
        self.assertIn('  match   model "m": 1 of 1 operator: "a"\n', out)
        self.assertIn('2 rules, 2 of 3 ops match, about 2.4 kB per step\n', out)
        self.run_tool('replay', run, '--config', 'acl.json')
        (time,) = [name for name in os.listdir(self.directory) if name.isdigit()]
        self.run_tool('verify', time, '--config', 'acl.json', '--model', run)

    def test_model_names_in_blacklists(self):
        self.write('run.json', json.dumps({'models': [{'name': 'net', 'ops': [{'name': 'a/b', 'type': 'Conv2D'}]}]}))
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_level': 'op', 'dump_list': [
            {'model_name': 'net', 'opname_blacklist': [{'name': name, 'pos': ['input0']} for name in ('a/b', 'a_b')],
             'optype_blacklist': [{'name': name, 'pos': ['input0']} for name in ('Conv2D', 'conv2d')]}]}}))
        out = self.run_tool('check', 'acl.json', '--model', 'run.json', '--json', expect=(0, 1, 3))[0]
        self.assertEqual([miss['what'] for miss in json.loads(out)['misses']],
                         ['"conv2d" in the optype_blacklist of model "net"', '"a_b" in the opname_blacklist of model "net"'])

    def test_model_two_items_of_one(self):
        self.write('run.json', json.dumps(tool_replay_test.Replay.RUN))
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_list': [
            {'model_name': 'digits', 'layer': ['conv1']}, {'model_name': 'digits', 'layer': ['fc']}]}}))
        self.assertIn('  match   model "digits": 2 of 3 operators: "conv1", "fc"\n',
                      self.run_tool('check', 'acl.json', '--model', 'run.json')[0])

    def test_model(self):
        self.write('run.json', json.dumps(tool_replay_test.Replay.RUN))
        config = {'dump': {'dump_path': '.', 'dump_mode': 'all', 'dump_level': 'op', 'dump_list': [
            {'model_name': 'digits', 'layer': ['c', 'fx'],
             'opname_range': [{'begin': 'fc', 'end': 'fc'}, {'begin': 'fc', 'end': 'conv1'}, {'begin': 'conv1', 'end': 'no'}]},
            {'model_name': 'othr'}, {'layer': ['relu', 'none']}]}}
        self.write('acl.json', json.dumps(config))
        out, _ = self.run_tool('check', 'acl.json', '--model', 'run.json')
        self.assertEqual(out[out.index('  match'):], """\
  match   model "digits": 2 of 3 operators: "conv1", "fc"
  match   model "other": 0 of 1 operator
  miss    layer "fx" of model "digits" matches nothing; did you mean "fc"?
  miss    range "fc" to "conv1" of model "digits", which does not run in that order, matches nothing
  miss    "no" in range "conv1" to "no" of model "digits" matches nothing
  miss    model "othr" matches nothing; did you mean "other"?
  miss    layer "none" of every model matches nothing
  cost    3 rules, 2 of 4 ops match, about 386 B per step
""")
        got = json.loads(self.run_tool('check', 'acl.json', '--json', '--model=run.json')[0])
        self.assertEqual(got['models'][0], {'model': 'digits', 'ops': 3, 'matched': ['conv1', 'fc'], 'bytes_per_step': 386})
        self.assertEqual(got['misses'][3], {'what': 'model "othr"', 'closest': 'other'})
        self.assertEqual(got['bytes_per_step'], 386)
        self.assertNotIn('partition_steps', got)
        self.write('run.json', '{"models": 1}')
        self.assertRegex(self.run_tool('check', 'acl.json', '--model', 'run.json', expect=1)[1], r'^run.json:1:12: models')

    def test_forecast(self):
        """Files take what check and replay say before."""
        run = dict(tool_replay_test.Replay.RUN, single_ops=[])
        self.write('run.json', json.dumps(run))
        for options in ({}, {'file_format': 'npy'}):
            os.mkdir(self.path('dump'))
            self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_list': [{}]},
                                               'opdump': options}))
            got = json.loads(self.run_tool('check', 'acl.json', '--json', '--model=run.json', '--partition=64K')[0])
            per_step = got['bytes_per_step']
            self.assertEqual(per_step, sum(model['bytes_per_step'] for model in got['models']))
            self.assertEqual((got['partition_bytes'], got['partition_steps']), (65536, 65536 // per_step))
            words, _ = self.run_tool('check', 'acl.json', '--model=run.json', '--partition=64K')
            self.assertIn('; the partition lasts %d steps\n' % (65536 // per_step), words)
            said, _ = self.run_tool('replay', 'run.json', '--config', 'acl.json', '--partition', '64K')
            self.assertRegex(said, r'(?m)^session  model "digits": 1 rule, 3 of 3 ops match, about [\d.]+ k?B per step; '
                                   r'the partition lasts %d steps$' % (65536 // got['models'][0]['bytes_per_step']))
            written = sum(len(self.read('dump', name)) for name in self.files('dump'))
            self.assertEqual(per_step * run['steps'], written)
            per_step_of_records = per_step if not options else per_step_of_records
            shutil.rmtree(self.path('dump'))
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_mode': 'all', 'dump_list': [{}]},
                                           'opdump': {'max_bytes': 65536}}))
        self.assertIn('; the partition lasts %d steps\n' % (65536 // per_step_of_records),
                      self.run_tool('check', 'acl.json', '--model=run.json')[0])
        for bad in ('', '0', '1.5K', '-1', 'K', '1KB', '99999999999999T', '18446744073709551616'):
            for command in (['check', 'acl.json', '--model', 'run.json'], ['replay', 'run.json', '--config', 'acl.json']):
                self.assertIn('--partition', self.run_tool(*command, '--partition', bad, expect=2)[1])
        self.assertIn('--model', self.run_tool('check', 'acl.json', '--partition', '1G', expect=2)[1])


class Refusals(Case):
    """Of every refused file of the corpus: the place that is told, against a reader of JSON of its own."""
    PERSONALITIES = {'cpu_': 'cpu', 'kernel_': 'o0', 'graph_': 'o2', 'lite_': 'lite'}

    def refused(self, name, text):
        options = [item for head, word in self.PERSONALITIES.items() if name.startswith(head)
                   for item in ('--personality', word)]
        answer = json.loads(self.run_tool('check', '-', '--json', *options, stdin=text, expect=1)[0])
        _, shown = self.run_tool('check', '-', *options, stdin=text, expect=1)
        return answer['error'], shown

    def test_the_caret_is_where_the_key_or_value_is(self):
        os.mkdir(self.path('output'))
        checked = {}
        for dialect in ('cann', 'lite', 'mindspore', 'torchair'):
            for name, text in packed_configs(dialect, 'refuse').items():
                with self.subTest(dialect + '/' + name):
                    error, shown = self.refused(name, text)
                    offset = error['offset']
                    line_begin = text.rfind(b'\n', 0, offset) + 1
                    self.assertEqual((error['line'], error['column']),
                                     (text.count(b'\n', 0, offset) + 1, offset - line_begin + 1))
                    self.check_caret(text, offset, line_begin, shown)
                    kind = self.check_place(text, error)
                    checked[kind] = checked.get(kind, 0) + 1
        self.assertGreater(checked['value'], 200)
        for kind in ('key', 'missing', 'syntax', 'nesting'):
            self.assertGreater(checked[kind], 2, kind)

    def check_caret(self, text, offset, line_begin, shown):
        head, caret = shown.rstrip('\n').split('\n')[1:]
        self.assertEqual(caret.strip(' '), '|' + caret.split('|', 1)[1])
        column = caret.index('^')
        line = text[line_begin:].split(b'\n', 1)[0].rstrip(b'\r').decode(errors='replace')
        before = text[line_begin:offset].decode(errors='replace')
        under = line[len(before):len(before) + 1].replace('\ufffd', '?')
        if under.isprintable():
            self.assertEqual(head[column:column + 1], under)

    def check_place(self, text, error):
        """Says what was checked."""
        if error['fault'] == 'too_deep':
            at = error['offset']
            self.assertIn(text[at:at + 1], b'[{')
            if '64 levels' in error['reason']:
                bare = re.sub(rb'"(?:[^"\\]|\\.)*"', b'', text[:at + 1])
                self.assertEqual(bare.count(b'{') + bare.count(b'[') - bare.count(b'}') - bare.count(b']'), 65)
                return 'nesting'
            # CANN counts bytes, in strings too, and objects and arrays apart.
            depth = {b'{': 0, b'[': 0}
            for byte in (text[i:i + 1] for i in range(at + 1)):
                if byte in depth:
                    depth[byte] += 1
                elif byte in (b'}', b']'):
                    opened = b'{' if byte == b'}' else b'['
                    depth[opened] = max(0, depth[opened] - 1)
            self.assertEqual(max(depth.values()), 11)
            return 'nesting'
        if error['fault'] == 'syntax':
            self.assertLessEqual(error['offset'], len(text))
            try:
                json.loads(text.decode())
            except json.JSONDecodeError as flaw:
                byte = len(text.decode()[:flaw.pos].encode())
                # Python goes back or forth to a delimiter; both name the same token.
                between = text[min(byte, error['offset']):max(byte, error['offset'])]
                self.assertRegex(between, rb'(?s)^(|\s*[,:{\[]?\s*|"[^"]*"?.?|[\w.+-]*|\\?.?|//.*)$')
            except UnicodeDecodeError as flaw:
                self.assertEqual(error['offset'], flaw.start)
            return 'syntax'
        found = places(text)
        if error['key'] == '':
            self.assertEqual(error['offset'], found[''][1])
            return 'value'
        parent = re.sub(r'(\.?[^.\[]*|\[\d+\])$', '', error['key'])
        if error['key'] not in found or error['fault'] == 'missing':
            self.assertEqual(error['offset'], found[parent][1], error)
            return 'missing'
        key, value = found[error['key']]
        if 'unknown' in error['reason'].split(';')[0]:
            self.assertEqual(error['offset'], key, error)
            return 'key'
        self.assertEqual(error['offset'], value, error)
        return 'value'


class OtherDialects(Case):
    COMMON = {'dump_mode': 1, 'path': '/dump', 'net_name': 'Net', 'iteration': '1|3-4', 'input_output': 2,
              'kernels': ['name-regex(.*fc.*)', 'conv', 'poool', 'name-regex(x.*)', 'relu1-op'], 'support_device': [0, 2],
              'op_debug_mode': 0}
    OWN = {'file_format': 'nano', 'layout': 'cann'}

    def mindspore(self, e2e=None, **changes):
        config = {'common_dump_settings': dict(self.COMMON, **changes), 'opdump': self.OWN}
        if e2e is not None:
            config['e2e_dump_settings'] = e2e
        self.write('data_dump.json', json.dumps(config))

    def test_mindspore_in_words(self):
        self.mindspore({})
        out, error = self.run_tool('check', 'data_dump.json')
        self.assertEqual(error, '')
        for line in ('what    the outputs of', 'types with "conv"', 'full names like ".*fc.*"', 'steps 1, 3 to 4',
                     'devices only those with the ids 0, 2', 'to      /dump'):
            self.assertIn(line, out)

    def test_mindspore_in_json(self):
        self.mindspore({}, initial_iteration=5)
        answer = json.loads(self.run_tool('check', 'data_dump.json', '--json')[0])
        self.assertEqual(answer['rules'], [{'layers': ['relu1-op'], 'types': ['conv', 'poool'],
                                            'patterns': ['.*fc.*', 'x.*']}])
        self.assertEqual((answer['net_name'], answer['devices'], answer['first_step']), ('Net', [0, 2], 5))

    def test_what_matches_nothing(self):
        op = {'name': 'Default/fc-op1', 'type': 'MatMul'}
        self.write('run.json', json.dumps({'models': [{'name': 'Net', 'ops': [op]}]}))
        self.mindspore({})
        out, _ = self.run_tool('check', 'data_dump.json', '--model', 'run.json')
        for line in ('1 of 1 operator', 'type "conv" of every model matches nothing',
                     'pattern "x.*" of every model matches nothing', 'layer "relu1-op" of every model'):
            self.assertIn(line, out)
        self.assertNotIn('".*fc.*" of every model matches nothing', out)
        self.write('run.json', json.dumps({'models': [{'name': 'Net', 'ops': [{'name': 'Default/Pool-op7', 'type': 'P'},
                                                                             {'name': 'relu2-op', 'type': 'R'}]}]}))
        out, _ = self.run_tool('check', 'data_dump.json', '--model', 'run.json')
        self.assertIn('type "poool" of every model matches nothing; did you mean "Pool"?', out)
        self.assertIn('layer "relu1-op" of every model matches nothing; did you mean "relu2-op"?', out)
        os.mkdir(self.path('dump'))
        self.write('plain.json', json.dumps({'models': [{'name': 'Net', 'ops': [{'name': 'pool', 'type': 'P'}]}]}))
        out, _ = self.run_tool('check', 'data_dump.json', '--model', 'plain.json')
        self.assertIn('type "poool" of every model matches nothing\n', out)
        self.write('torchair.json', json.dumps({'dump_config': {'enable_dump': True, 'dump_path': 'dump',
                                                               'dump_layer': 'relu2_op'}}))
        out, _ = self.run_tool('check', 'torchair.json', '--model', 'run.json')
        self.assertIn('layer "relu2_op" of every model matches nothing; did you mean "relu2-op"?', out)

        self.mindspore({}, dump_mode=2)
        out, _ = self.run_tool('check', 'data_dump.json', '--model', 'run.json')
        self.assertIn('the choice of marked operators matches nothing', out)
        self.write('run.json', json.dumps({'models': [{'name': 'Net', 'ops': [dict(op, marked=True)]}]}))
        self.assertIn('1 of 1 operator: "Default/fc-op1"',
                      self.run_tool('check', 'data_dump.json', '--model', 'run.json')[0])

    def test_a_name_that_cannot_be_loaded(self):
        self.mindspore({}, dump_mode=0)
        for length, code in ((255, 0), (256, 1)):
            self.write('run.json', json.dumps({'models': [{'name': 'm' * length, 'ops': [{'name': 'a', 'type': 'A'}]}]}))
            _, error = self.run_tool('check', 'data_dump.json', '--model', 'run.json', expect=code)
            self.assertEqual(error, code * f'run.json: model "{"m" * length}": a name is too long\n')

    def test_personality(self):
        self.mindspore({}, dump_mode=2)
        for personality, code in (('o0', 0), ('o1', 0), ('o2', 3), ('cpu', 1)):
            out, error = self.run_tool('check', '--personality', personality, 'data_dump.json', expect=code)
            self.assertEqual('set_dump' in error, personality == 'cpu', error)
            self.assertEqual('leave it out' in out, personality == 'o2', out)
        self.mindspore()
        self.run_tool('check', 'data_dump.json')
        self.assertIn('missing', self.run_tool('check', 'data_dump.json', '--personality', 'o0', expect=3)[0])
        _, error = self.run_tool('check', 'data_dump.json', '--personality', 'o3', expect=2)
        self.assertIn("not 'o3'", error)

    def test_torchair(self):
        os.mkdir(self.path('dump'))
        self.write('torchair.json', json.dumps(
            {'dump_config': {'enable_dump': True, 'dump_path': 'dump', 'dump_layer': 'Add_1 Mul2', 'dump_step': '0|'}}))
        out, _ = self.run_tool('check', 'torchair.json')
        self.assertIn('every model: "Add_1", "Mul2"', out)
        self.assertIn('to      dump/worldsize1_global_rank0', out)
        self.assertIn('also    Data operators that feed these, where the model tells its "producers"', out)

    def test_torchair_brings_data_operators(self):
        os.mkdir(self.path('dump'))
        self.write('torchair.json', json.dumps({'dump_config': {
            'enable_dump': True, 'dump_path': 'dump', 'dump_layer': 'add'}}))
        tensor = {'fill': 'ramp', 'dtype': 'float32', 'shape': [2]}
        ops = [{'name': 'x', 'type': 'Data', 'outputs': [tensor]},
               {'name': 'y', 'type': 'Data', 'outputs': [tensor]},
               {'name': 'add', 'type': 'Add', 'inputs': [tensor, tensor], 'outputs': [tensor]}]

        def check():
            self.write('run.json', json.dumps({'steps': 1, 'models': [{'name': 'net', 'ops': ops}]}))
            return self.run_tool('check', 'torchair.json', '--model', 'run.json')[0]

        out = check()
        self.assertIn('  match   model "net": 1 of 3 operators: "add"\n', out)
        self.assertIn('  note    model "net": Data operators that feed the chosen ones are not captured, as the model '
                      'does not tell its producers\n', out)
        ops[2]['producers'] = [0, 1]
        out = check()
        self.assertIn('  match   model "net": 3 of 3 operators: "x", "y", "add"\n', out)
        self.assertNotIn('note ', out)
        self.run_tool('replay', 'run.json', '--config', 'torchair.json')
        self.assertEqual(sorted(name.rsplit('/', 1)[1].split('.')[1] for name in self.files('dump')),
                         ['add', 'x', 'y'])
        ops[2]['producers'] = [0, -1]
        self.write('run.json', json.dumps({'models': [{'name': 'net', 'ops': ops}]}))
        _, error = self.run_tool('check', 'torchair.json', '--model', 'run.json', expect=1)
        self.assertIn('models[0].ops[2].producers[1]', error)

    def test_a_refusal_of_the_file_that_torchair_names(self):
        self.write('torchair.json', json.dumps({'dump_config': {'dump_config_path': 'acl.json'}}))
        self.write('acl.json', '{"dump": {"dump_path": ".",\n "dump_mode": "al"}}')
        _, error = self.run_tool('check', 'torchair.json', expect=1)
        self.assertIn('acl.json:2:15: dump.dump_mode', error)
        self.assertIn('  2 |  "dump_mode": "al"}}\n', error)
        answer = json.loads(self.run_tool('check', 'torchair.json', '--json', expect=1)[0])
        self.assertEqual(answer['error']['file'], 'acl.json')


class Explain(Case):
    def test_an_object_lists_its_keys(self):
        out, _ = self.run_tool('explain', 'opdump')
        for key in ('ring_bytes', 'when_full', 'max_bytes'):
            self.assertIn('\n  %s ' % key, out)
        self.assertNotIn('dump_mode', out)
        out, _ = self.run_tool('explain', 'dump_list')
        self.assertIn('\n  default ', out)
        self.assertIn('\n  layer ', out)

    def test_keys(self):
        for term in ('OPDUMP_CONFIG', 'MINDSPORE_DUMP_CONFIG', 'MS_DIAGNOSTIC_DATA_PATH', 'rank_id', 'data_index'):
            self.assertTrue(self.run_tool('explain', term)[0].startswith(term + ': a'))
        out, _ = self.run_tool('explain', 'dump_step')
        key = r'dump_step: .*\n  in .*%s\n  values   .*3-9.*\n  default  every step\n'
        self.assertRegex(out, '^' + key % 'acl.json' + key % 'torchair' + '$')
        names = self.explained_keys()
        self.assertIn('opname_range', names)
        self.assertIn('when_full', names)
        for name in names:
            self.assertTrue(self.run_tool('explain', name)[0].startswith(name + ': '))

    def explained_keys(self):
        return [line.split()[0] for line in self.run_tool('explain')[0].splitlines() if line.startswith('  ')]

    def test_tables_for_a_document(self):
        out, _ = self.run_tool('explain', '--markdown')
        rows = [line for line in out.splitlines() if line.startswith('| `')]
        self.assertEqual([row.split('`')[1] for row in rows], self.explained_keys())
        for row in rows:
            self.assertEqual(len(re.findall(r'(?<!\\)\|', row)), 5, row)
        self.assertIn('| `iteration` | the steps to dump | "all", or "5" and "3-9", joined with \\|; no blanks | none: it '
                      'must be there |', rows)
        self.assertIn('### "dump_config" of torchair\n\n| key | ', out)
        self.run_tool('explain', '--markdown', 'iteration', expect=2)

    def test_runtimes(self):
        out, _ = self.run_tool('explain', '--runtimes')
        told = [dict(line.split(None, 1) for line in text.splitlines()[1:]) for text in out.split('\n\n')]
        for runtime in told:
            fields = ['header'] * ('header' in runtime) + ['attached', 'seen', 'inside', 'off', 'on', 'state']
            self.assertEqual(list(runtime), fields)
        self.assertIn('TensorFlow Lite Micro\n  header   platform/runtimes/tflite_micro/tflm_tap.hpp\n', out)
        # All adapters are told, with the revisions that their headers name.
        root = pathlib.Path(__file__).resolve().parents[2]
        headers = {runtime['header']: runtime['state'] for runtime in told if 'header' in runtime}
        adapters = (root / 'platform/runtimes').glob('*/*_tap.hpp')
        self.assertEqual(sorted(headers), sorted(str(path.relative_to(root)) for path in adapters))
        for header, state in headers.items():
            if state.startswith('compiled'):
                self.assertIn('Read at revision %s of ' % state.split()[-1], (root / header).read_text())
        table, _ = self.run_tool('explain', '--runtimes', '--markdown')
        rows = table.splitlines()[2:]
        self.assertEqual(len(rows), len(told))
        for row, runtime in zip(rows, told):
            self.assertEqual(row.split(' | ')[1:], [*list(runtime.values())[-6:-1], runtime['state'] + ' |'])
        self.run_tool('explain', '--runtimes', 'iteration', expect=2)

    def test_every_key_of_the_other_dialects_is_explained(self):
        names = set(self.explained_keys())
        objects = {'mindspore': ('common_dump_settings', 'e2e_dump_settings'), 'torchair': ('dump_config',),
                   'lite': ('common_dump_settings',)}
        for dialect, tops in objects.items():
            for name, text in packed_configs(dialect, 'accept').items():
                config = json.loads(text)
                for top in tops:
                    self.assertLessEqual(set(config.get(top, {})), names, name)

    def test_every_key_that_is_read_is_explained(self):
        names = set(self.explained_keys())
        for name, text in packed_configs('cann', 'accept').items():
            if name == 'unknown_keys':
                continue
            config = json.loads(text.decode('utf-8-sig'))
            keys = set(config.get('dump', {})) | set(config.get('opdump', {}))
            for item in config.get('dump', {}).get('dump_list', []):
                keys |= set(item)
            self.assertLessEqual({key for key in keys if key.isascii()}, names, name)

    def test_unknown(self):
        out, error = self.run_tool('explain', 'dump_steps', expect=1)
        self.assertEqual(out, '')
        self.assertIn('did you mean "dump_step"?', error)
        self.run_tool('explain', 'a', 'b', expect=2)


if __name__ == '__main__':
    tool_case.main()
