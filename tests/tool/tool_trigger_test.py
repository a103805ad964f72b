#!/usr/bin/env python3
"""Tests of configs with triggers: tool_trigger_test.py OPDUMP [unittest arguments]. Standard library only."""
import glob
import json
import os
import re
import struct
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402


class Trigger(Case):
    STEPS = 10

    def setUp(self):
        super().setUp()
        self.write('fc.bin', struct.pack('<4f', 0.25, -3, 0.125, 0))
        self.write('conv.bin', struct.pack('<4f', 1, float('nan'), float('inf'), 2))
        self.write('run.json', json.dumps({'steps': self.STEPS, 'models': [{'name': 'net', 'id': 1, 'ops': [
            {'name': name, 'type': kind, 'outputs': [{'dtype': 'float32', 'shape': [4], 'data': file}]}
            for name, kind, file in (('conv1', 'Conv2D', 'conv.bin'), ('fc', 'MatMul', 'fc.bin'))]}]}))

    def config(self, *triggers, to='dump', file='acl.json', steps=None, **options):
        os.makedirs(self.path(to), exist_ok=True)
        self.write(file, json.dumps({'dump': dict({'dump_path': to, 'dump_list': [{}]},
                                                       **({'dump_step': steps} if steps else {})),
                                     'opdump': dict({'history_steps': 2, 'after_steps': 1,
                                                     'trigger': list(triggers)}, **options)}))

    def said(self, *words, expect=0):
        return ''.join(self.run_tool(*words, expect=expect))

    def replay(self, config='acl.json'):
        return self.said('replay', 'run.json', '--config', config)

    def steps(self, to='dump'):
        return sorted({int(path.split('/')[-2]) for path in glob.glob(self.path(to, '*/0/net/1/*/*'))})

    def journal(self, to='dump'):
        (name,) = glob.glob(self.path(to, '*/opdump.*.journal'))
        with open(name, encoding='utf-8') as file:
            return file.read().splitlines()

    LOW = {'op': 'fc', 'stat': 'max', 'below': 0.5}

    def test_a_limit_holds_firings_back_and_the_journal_tells_all(self):
        self.config(self.LOW, trigger_limits={'firings_per_boot': 2})
        self.replay()
        self.assertEqual(self.steps(), [0, 1, 2])
        lines = self.journal()
        self.assertEqual([line for line in lines if line.startswith('fired,')],
                         [f'fired,0,max,{step},0.25,<0.5,1,net/MatMul.fc' for step in (0, 1)])
        self.assertIn('history,2,1', lines)
        self.assertIn('trigger,0,max,2,0,8,0,0,0,0,10', lines)
        self.assertIn('wrote,6,0', lines)
        verified = self.said('verify', 'dump')
        self.assertTrue(verified.startswith('complete\n'), verified)
        self.assertIn('2 firings; 8 held back by the limit of firings; 10 looks', verified)
        self.assertIn('6 records written', verified)
        shown = self.said('show', 'dump')
        self.assertEqual(re.findall('^fired .*$', shown, re.MULTILINE),
                         [f'fired    step {step}  net/MatMul.fc  max 0.25 < 0.5  (trigger 0)' for step in (0, 1)])
        found = json.loads(self.said('verify', 'dump', '--json'))['findings']
        self.assertEqual([(one['step'], one['value'], one['limit']) for one in found if one['kind'] == 'fired'],
                         [(0, '0.25', '<0.5'), (1, '0.25', '<0.5')])

    def test_lines_of_firings_leave_room_for_records(self):
        for keep in ('newest', 'oldest'):
            self.config(self.LOW, to=keep, max_bytes=60000, keep=keep)
            run = json.loads(self.read('run.json'))
            self.write('long.json', json.dumps(dict(run, steps=1500)))
            self.said('replay', 'long.json', '--config', 'acl.json', expect=(0, 1))
            lines = self.journal(keep)
            self.assertLess(sum(len(line) + 1 for line in lines), 25000, keep)
            self.assertTrue(any(line.startswith('firings_forgotten,0,max,') for line in lines), keep)
            self.assertGreater(len(self.steps(keep)), 10, keep)
            found = json.loads(self.said('verify', keep, '--json', expect=(0, 1)))['findings']
            self.assertNotIn('journal', {one['kind'] for one in found}, keep)
            told = sum(int(line.split(',')[3]) if line.startswith('firings_forgotten') else 1
                       for line in lines if line.startswith('fir'))
            self.assertEqual([one['fired'] for one in found if one['kind'] == 'trigger'], [told], keep)
            self.assertGreater(told, 150, keep)

    def test_verify_misses_what_a_history_has_written(self):
        self.config(self.LOW, trigger_limits={'firings_per_boot': 1})
        self.replay()
        (lost,) = glob.glob(self.path('dump', '*/0/net/1/1/MatMul*'))
        os.rename(lost, self.path('kept'))
        self.assertIn('3 files, and the journals without names count 4 records',
                      self.said('verify', 'dump', expect=1))
        os.rename(self.path('kept'), lost)
        self.said('verify', 'dump')
        (name,) = glob.glob(self.path('dump', '*/opdump.*.journal'))
        lines = self.journal()
        for broken, reason in (('trigger,0,max,7,0,9,0,0,0,0,10', 'counts 7 firings'),
                               ('trigger,0,max,1,0', "not a line 'trigger'"),
                               ('fired,0,colour,1,,,1,net', "not a line 'fired'"),
                               ('wrote,x,0', "not a line 'wrote'")):
            word = broken.split(',')[0]
            with open(name, 'w', encoding='utf-8') as file:
                file.write('\n'.join(broken if line.startswith(word + ',') else line for line in lines) + '\n')
            self.assertIn(reason, self.said('verify', 'dump', expect=1))

    def test_each_cause_and_the_bytes_of_a_boot(self):
        self.config({'op': 'conv?', 'stat': 'nan'}, {'op': 'conv1', 'stat': 'inf', 'above': 1},
                    {'op': 'conv1', 'stat': 'saturated', 'above': 0.2}, {'op': 'fc', 'stat': 'change'},
                    {'op': 'fc', 'stat': 'mean', 'below': -0.5, 'for': 4}, {'call': 'door'},
                    trigger_limits={'bytes_per_boot': 1000})
        self.replay()
        counts = {int(line.split(',')[1]): list(map(int, line.split(',')[3:])) for line in self.journal()
                  if line.startswith('trigger,')}
        self.assertEqual(sorted(counts), list(range(6)))
        for number, firings in ((0, 10), (1, 0), (2, 10), (3, 0), (4, 7), (5, 0)):
            fired, cooldown, of_firings, of_bytes, crowded, cut, unread, looks = counts[number]
            self.assertEqual(fired + of_bytes, firings, number)
            self.assertEqual([cooldown, of_firings, crowded, unread, looks], [0, 0, 0, 0, 10 if number != 5 else 0])
        files = [path for path in glob.glob(self.path('dump', '*/0/net/1/*/*'))]
        lines = sum(len(line) + 1 for line in self.journal() if line.startswith('fired,'))
        self.assertLessEqual(sum(map(os.path.getsize, files)) + lines, 1000)
        self.assertEqual(sum(count[5] for count in counts.values()), 1)
        self.assertIn('trigger 5  call       0 firings; the program told of none', self.said('verify', 'dump'))

    def test_a_compiled_config_fires_as_its_json(self):
        self.config(self.LOW, {'stat': 'latency_us', 'above': 3600e6}, {'stat': 'failure'}, to='plain',
                    trigger_limits={'firings_per_boot': 1})
        self.said('compile', 'acl.json', '-o', 'dump.plan')
        self.assertEqual(self.when('dump.plan'), self.when('acl.json'))
        self.replay('dump.plan')
        self.assertEqual(self.steps('plain'), [0, 1])
        self.assertIn('fired,0,max,0,0.25,<0.5,1,net/MatMul.fc', self.journal('plain'))

    def when(self, file):
        return re.findall('^  when .*$', self.said('check', file), re.MULTILINE)

    def test_check_says_what_triggers_are_and_cost(self):
        self.config(dict(self.LOW, **{'for': 3, 'cooldown_s': 600}), {'op': 'fd', 'stat': 'nan'},
                    {'model': 'n*', 'op': 'fc', 'output': 1, 'stat': 'mean', 'below': -1, 'above': 1e3},
                    trigger_limits={'firings_per_boot': 4})
        self.assertEqual(self.when('acl.json')[1:], [
            '  when    max of output 0 of op "fc" below 0.5, in 3 steps in a row of those it looks at, then not for 600 s',
            '  when    the NaNs of output 0 of op "fd" above 0',
            '  when    mean of output 1 of op "fc" of model "n*" below -1 or above 1000',
            '  when    4 firings a boot at most'])
        report = self.said('check', 'acl.json', '--model', 'run.json')
        self.assertIn('miss    trigger 1 (the NaNs of output 0 of op "fd" above 0) in model "net" matches nothing; '
                      'did you mean "fc"?', report)
        self.assertIn('miss    trigger 2 ', report)
        self.assertIn('look    trigger 0 at "fc", 16 B a step\n', report)
        self.assertIn('look    a step of all models has 1 look at 16 B: on a Cortex-M3 about 762 instructions', report)
        self.assertIn('instructions, were all of float32: 762 for extremes and counts\n', report)
        # 303 bytes a step, as the line of the cost has them: two steps before, one after.
        self.assertIn('about 303 B per step', report)
        self.assertIn('fire    a firing writes 909 B at most: 606 B of 2 steps before, and 1 step after', report)
        self.assertIn('fire    a boot writes 3.6 KiB at most, for 4 firings or fewer', report)
        options = json.loads(self.said('check', 'acl.json', '--json'))['options']
        self.assertEqual(options['trigger'][0], {'op': 'fc', 'stat': 'max', 'output': 0, 'below': '0.5', 'for': 3,
                                                 'cooldown_s': 600})
        self.assertEqual(options['trigger_limits'], {'firings_per_boot': 4})
        self.config(self.LOW)
        self.assertIn('fire    a boot has no limit', self.said('check', 'acl.json', '--model', 'run.json'))

    def test_a_row_is_of_the_steps_that_dump_step_wants(self):
        self.config(dict(self.LOW, **{'for': 3}), steps='0|4|7|9')
        self.replay()
        self.assertEqual([line.split(',')[3] for line in self.journal() if line.startswith('fired,')], ['7', '9'])
        self.assertIn('trigger,0,max,2,0,0,0,0,0,0,4', self.journal())
        self.said('verify', 'dump')
        told = 'the steps that are not dumped are not looked at: they fire nothing, and end no row'
        self.assertEqual(self.when('acl.json')[2:], ['  when    ' + told])
        self.config(dict(self.LOW, **{'for': 5}), {'op': 'fc', 'stat': 'change', 'for': 4}, {'call': 'door'},
                    dict(self.LOW, **{'for': 4}), steps='0|4|7|9')
        self.assertEqual(self.when('acl.json')[5:], [
            '  when    ' + told, '  when    trigger 0 never fires: it looks at 4 steps and needs 5',
            '  when    trigger 1 never fires: it looks at 4 steps and needs 5'])

    def test_check_tells_the_cost_of_each_kind_of_look_apart(self):
        self.config(self.LOW, {'op': 'fc', 'stat': 'nan'}, {'op': 'fc', 'stat': 'mean', 'above': 1},
                    {'op': 'fc', 'stat': 'change'})
        kinds = {'extremes and counts': 2 * (650 + 16 * 7), 'sums': 700 + 16 * 35, 'changes': 450 + 16 * 7}
        self.assertIn(f'look    a step of all models has 4 looks at 64 B: on a Cortex-M3 about {sum(kinds.values())} '
                      'instructions, were all of float32: ' +
                      ', '.join(f'{count} for {kind}' for kind, count in kinds.items()) + '\n',
                      self.said('check', 'acl.json', '--model', 'run.json'))

    def test_check_names_what_never_fires_at_a_dtype(self):
        self.write('run.json', json.dumps({'models': [{'name': 'net', 'ops': [
            {'name': dtype, 'type': 'T', 'outputs': [{'dtype': dtype, 'shape': [4], 'fill': 'ramp'}]}
            for dtype in ('int8', 'uint64', 'float16', 'float8_e5m2')]}]}))
        self.config({'op': '*', 'stat': 'nan'}, {'op': '*', 'stat': 'saturated', 'above': 0.5},
                    {'op': '*', 'stat': 'change'})
        self.assertEqual(re.findall('^  look    (trigger.*never fires.*)$',
                                    self.said('check', 'acl.json', '--model', 'run.json'), re.MULTILINE), [
            'trigger 0 at "int8" never fires: the tensor is int8, which has neither NaN nor infinity',
            'trigger 0 at "uint64" never fires: the tensor is uint64, which has neither NaN nor infinity',
            'trigger 1 at "uint64" never fires: the tensor is uint64, whose saturated elements are not known',
            'trigger 1 at "float8_e5m2" never fires: the tensor is float8_e5m2, whose saturated elements are not known'])

    def test_sealed_histories_are_opened_and_complete(self):
        self.run_tool('key', 'new', 'key')
        self.config(self.LOW, {'op': 'conv1', 'stat': 'nan', 'cooldown_s': 3600}, seal='key.pub',
                    trigger_limits={'firings_per_boot': 3})
        self.replay()
        sealed = {name: self.read('dump', name) for name in self.files('dump')}
        (journal,) = glob.glob(self.path('dump', '*/opdump.*.journal'))
        for clear in (b'MatMul', b'fired', struct.pack('<4f', 0.25, -3, 0.125, 0)):
            for data in list(sealed.values()) + [self.read(journal)]:
                self.assertNotIn(clear, data)
        self.said('verify', 'dump', expect=1)
        self.said('open', '--key', 'key', 'dump', '-o', 'opened')
        # Steps 0 and 1 fire, 0 by both triggers; the step after is written too.
        self.assertEqual(self.steps('opened'), [0, 1, 2])
        self.assertEqual([line.split(',')[1:4] for line in self.journal('opened') if line.startswith('fired,')],
                         [['1', 'nan', '0'], ['0', 'max', '0'], ['0', 'max', '1']])
        report = self.said('verify', 'opened')
        self.assertTrue(report.startswith('complete\n'), report)
        self.assertIn('6 records written', report)
        (lost,) = glob.glob(self.path('opened', '*/0/net/1/1/MatMul*'))
        os.unlink(lost)
        self.assertIn('5 files, and the journals without names count 6 records', self.said('verify', 'opened', expect=1))

    def test_what_nothing_can_look_at_is_told(self):
        self.config({'op': 'fd', 'stat': 'nan'})
        self.replay()
        self.assertIn('no tensor of the model is one that it looks at', self.said('verify', 'dump', expect=4))
        self.assertEqual(self.steps(), [])

    def test_explain_knows_the_keys(self):
        for key in ('trigger', 'trigger_limits'):
            self.assertTrue(self.said('explain', key).startswith(key + ': with '))


if __name__ == '__main__':
    tool_case.main()
