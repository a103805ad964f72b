#!/usr/bin/env python3
"""Tests of `opdump verify` on MindSpore's layouts where the journal names no files, and of all that a
config asks for there: verify_mindspore_test.py OPDUMP
[unittest arguments]. Standard library only."""
import itertools
import json
import os
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402

LAYOUTS = ('mindspore_kernel', 'mindspore_graph', 'mindspore_cpu', 'mindspore_cpu_product', 'mindspore_cpu_document',
           'mindspore_lite')
TABLES = LAYOUTS[:-1]


class MindSporeGaps(Case):
    STEPS = 5
    TENSORS = 4  # of a step: two operators, two outputs each
    GAPS = {'journal': 'gaps'}
    TRIGGER = {'history_steps': 2, 'after_steps': 1, 'trigger': [{'op': 'fc0', 'stat': 'max', 'below': 0.5}],
               'trigger_limits': {'firings_per_boot': 2}}
    HISTORY_TENSORS = 3 * TENSORS  # those of steps 0 and 1, which fire, and of 2, which comes after

    def setUp(self):
        super().setUp()
        self.write('fc.bin', struct.pack('<4f', 0.25, -3, 0.125, 0))

    def replay(self, layout, options, to='dump', device=0, saved='tensor', net='Net'):
        outputs = [{'dtype': 'float32', 'shape': [4], 'data': 'fc.bin'}] * 2
        self.write('run.json', json.dumps({'steps': self.STEPS, 'device_id': device, 'models': [{
            'name': 'net', 'id': 1, 'ops': [{'name': f'fc{i}', 'type': 'MatMul', 'outputs': outputs}
                                            for i in range(2)]}]}))
        self.write('config.json', json.dumps({
            'common_dump_settings': {'dump_mode': 0, 'path': self.path(to), 'net_name': net, 'iteration': 'all',
                                     'saved_data': saved, 'input_output': 0, 'kernels': [],
                                     'support_device': [device], 'op_debug_mode': 0, 'file_format': 'npy'},
            'e2e_dump_settings': {'enable': True, 'trans_flag': False},
            'opdump': dict(options, layout=layout)}))
        self.run_tool('replay', 'run.json', '--config', 'config.json')

    def records(self, to='dump'):
        return [name for name in self.files(to) if name.endswith(('.npy', '.bin')) and 'constants' not in name]

    def verify(self, expect, to='dump'):
        return self.run_tool('verify', to, expect=expect)[0]

    def remove_one(self, count, to='dump'):
        """Without one of `count` files the dump is not complete, and both counts are told; returns with it there."""
        lost = self.records(to)[1]
        os.rename(self.path(to, lost), self.path('kept'))
        report = self.verify(1, to)
        self.assertIn(f'{count - 1} files, and the journals without names count {count} records', report)
        self.assertTrue(report.startswith('not complete'), report)
        os.rename(self.path('kept'), self.path(to, lost))

    def test_plain_gaps(self):
        for layout in LAYOUTS:
            with self.subTest(layout):
                self.replay(layout, self.GAPS, layout)
                count = self.STEPS * self.TENSORS
                self.assertEqual(len(self.records(layout)), count)
                self.assertTrue(self.verify(0, layout).startswith('complete\n'))
                self.remove_one(count, layout)
                self.assertTrue(self.verify(0, layout).startswith('complete\n'))

    def test_history_and_trigger(self):
        for layout in LAYOUTS:
            with self.subTest(layout):
                self.replay(layout, self.TRIGGER, layout)
                self.assertEqual(len(self.records(layout)), self.HISTORY_TENSORS)
                report = self.verify(0, layout)
                self.assertTrue(report.startswith('complete\n'), report)
                self.assertIn('2 firings; 3 held back by the limit of firings; 5 looks', report)
                self.assertIn(f'{self.HISTORY_TENSORS} records written', report)
                self.remove_one(self.HISTORY_TENSORS, layout)

    def test_a_file_too_many(self):
        self.replay(LAYOUTS[0], self.GAPS)
        name = self.records()[0]
        copy = name.replace('MatMul.fc', 'MatMul.other')
        self.write(os.path.join('dump', copy), self.read('dump', name))
        self.assertIn('21 files, and the journals without names count 20 records', self.verify(1))

    def test_rows_of_tables(self):
        for layout in TABLES:
            for saved, files in (('statistic', 0), ('full', self.STEPS * self.TENSORS)):
                with self.subTest(layout + ' ' + saved):
                    to = layout + saved
                    self.replay(layout, self.GAPS, to, saved=saved)
                    count = files + self.STEPS * self.TENSORS
                    report = self.verify(0, to)
                    self.assertTrue(report.startswith('complete\n'), report)
                    self.assertIn(f'{count} records written', report)
                    (table, *_) = [name for name in self.files(to) if name.endswith('statistic.csv')]
                    whole = self.read(to, table)
                    self.write(os.path.join(to, table), whole[:whole[:-1].rindex(b'\n') + 1])
                    self.assertIn(f'{count - 1} files and rows, and the journals without names count {count} records',
                                  self.verify(1, to))
                    os.unlink(self.path(to, table))
                    self.assertIn(f'{count - self.TENSORS} files and rows', self.verify(1, to))

    def test_tables_of_a_history_are_in_the_journal(self):
        for layout in TABLES:
            with self.subTest(layout):
                self.replay(layout, self.TRIGGER, layout, saved='full')
                report = self.verify(0, layout)
                self.assertTrue(report.startswith('complete\n'), report)
                self.remove_one(self.HISTORY_TENSORS, layout)

    def test_two_devices_in_one_folder_are_counted_together(self):
        count = 2 * self.STEPS * self.TENSORS
        for device in range(2):
            self.replay('mindspore_lite', self.GAPS, device=device, net=f'Net{device}')
        self.assertEqual(len(self.records()), count)
        self.assertTrue(self.verify(0).startswith('complete\n'))
        self.remove_one(count)

    def test_a_second_boot_with_a_history_beside_plain_gaps(self):
        self.replay(LAYOUTS[0], self.GAPS)
        self.replay(LAYOUTS[0], self.TRIGGER)
        self.assertTrue(self.verify(0).startswith('complete\n'))
        self.remove_one(self.STEPS * self.TENSORS + self.HISTORY_TENSORS)


class MindSporeConfig(Case):
    """CANN's config with a layout of MindSpore's: operators outside models are dumped as well."""
    STEPS = 3
    RECORDS = 3 * STEPS

    def replay(self, layout, to='dump', journal='records', options=None, **keys):
        os.makedirs(self.path(to), exist_ok=True)
        output = {'fill': 'ramp', 'dtype': 'float32', 'shape': [20]}
        ops = [{'name': name, 'type': 'Add', 'outputs': [output]} for name in ('a', 'b', 's')]
        run = {'steps': self.STEPS, 'models': [{'name': 'net', 'id': 1, 'ops': ops[:2]}]}
        switch = 'on' if layout in TABLES else 'off'
        if switch == 'on':
            run['single_ops'] = ops[2:]
        self.write('run.json', json.dumps(run))
        self.write('acl.json', json.dumps({
            'dump': dict({'dump_path': self.path(to), 'dump_list': [{}], 'dump_op_switch': switch}, **keys),
            'opdump': dict({'layout': layout, 'journal': journal}, **options or {})}))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')

    def test_single_operators(self):
        for layout in TABLES:
            for journal in ('records', 'gaps'):
                for data in ('tensor', 'stats'):
                    with self.subTest(layout + ' ' + journal + ' ' + data):
                        to = layout + journal + data
                        self.replay(layout, to, journal, dump_data=data)
                        report = self.run_tool('verify', to)[0]
                        self.assertTrue(report.startswith('complete\n'), report)
                        self.assertIn(f'{self.RECORDS} records written', report)

    def test_all_that_a_config_asks_for(self):
        wanted = ('--config', 'acl.json', '--model', 'run.json')
        for layout in LAYOUTS:
            for journal, data in itertools.product(('records', 'gaps'),
                                                   ('tensor', 'stats') if layout in TABLES else ('tensor',)):
                with self.subTest(layout + ' ' + journal + ' ' + data):
                    to = layout + journal + data
                    self.replay(layout, to, journal, dump_data=data)
                    report = self.run_tool('verify', to, *wanted)[0]
                    self.assertTrue(report.startswith('complete\n'), report)
                    with open(self.path('run.json'), encoding='utf-8') as file:
                        run = json.load(file)
                    run['models'][0]['ops'][1]['name'] = 'c'
                    for op in run.get('single_ops', []):
                        op['name'] = 't'
                    self.write('run.json', json.dumps(run))
                    report = self.run_tool('verify', to, *wanted, expect=1)[0]
                    self.assertRegex(report, r'Add\.c +net \(1\) +steps 0-2 +3 records')
                    if layout in TABLES:
                        self.assertRegex(report, r'Add\.t +single operator +3 records')
                    self.assertNotIn('Add.a', report)

    def test_digests_that_are_gone_may_be_those_that_are_asked_for(self):
        for layout, journal in itertools.product(LAYOUTS, ('records', 'gaps')):
            with self.subTest(layout + ' ' + journal):
                to = layout + journal
                self.replay(layout, to, journal, {'digest': 'xxh3'})
                (digests,) = [name for name in self.files(to) if name.endswith('.digests')]
                os.unlink(self.path(to, digests))
                report = self.run_tool('verify', to, '--config', 'acl.json', '--model', 'run.json', expect=1)[0]
                self.assertRegex(report, r'at none of these steps; may be among the \d records lost without a name')


if __name__ == '__main__':
    tool_case.main()
