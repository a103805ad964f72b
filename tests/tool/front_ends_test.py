#!/usr/bin/env python3
"""One config file means the same on every front end: front_ends_test.py OPDUMP FRONT_ENDS [unittest arguments].

FRONT_ENDS is the program of front_ends.cpp. Standard library only.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
from tool_case import Case  # noqa: E402

PROGRAM = ''
RUN = {'steps': 12, 'models': [{'name': 'net', 'id': 1, 'ops': [
    {'name': 'conv1', 'type': 'Conv2D', 'task_id': 3, 'stream_id': 1,
     'inputs': [{'data': 'input.bin', 'dtype': 'float32', 'shape': [4, 4]}],
     'outputs': [{'data': 'output.bin', 'dtype': 'float32', 'shape': [4, 4]}]}]}]}
REFUSED = 3


class FrontEnds(Case):
    def setUp(self):
        super().setUp()
        self.write('input.bin', struct.pack('<16f', *(i * 0.5 for i in range(16))))
        self.write('output.bin', struct.pack('<16f', *(i * 0.25 - 2 for i in range(16))))
        self.write('run.json', json.dumps(RUN))

    def dump(self, way, config, expect=0, go_to=(), variable=None):
        """What is in the dump of one way, by path without times: texts without times, arrays, the sizes of records, and
        what these convert to. The environment `variable` names the config, where there is one."""
        for directory in ('dump', 'arrays'):
            shutil.rmtree(self.path(directory), ignore_errors=True)
        os.mkdir(self.path('dump'))
        self.write('config.json', json.dumps(config))
        named = {variable: 'config.json'} if variable else {}
        if way == 'replay':
            self.run_tool('replay', 'run.json', *(() if named else ('--config', 'config.json')), variables=named,
                          expect=0 if expect == 0 else 1)
        else:
            done = waiting.run([PROGRAM, way, '-' if named else 'config.json', *go_to], cwd=self.directory,
                               stderr=subprocess.PIPE, env=dict(os.environ, TZ='UTC', **named), check=False)
            self.assertEqual(done.returncode, expect, '%s: %s' % (way, done.stderr.decode()))
        found = {}
        for root, _, names in os.walk(self.path('dump')):
            for name in names:
                path = os.path.relpath(os.path.join(root, name), self.path('dump'))
                data = self.read('dump', path)
                if name.endswith(('.journal', '.csv', '.json')):
                    # Its lines and those of removals come as the drain thread gets to them. Counts of operators
                    # are of programs that ask for them, as FileDump and replay do.
                    data = sorted(line for line in self.timeless(data.decode()).splitlines()
                                  if not line.startswith('op,'))
                elif name.endswith('.npy'):
                    data = data.hex()
                else:
                    # A record tells where its tensors lay, in protobuf with as many bytes as that takes.
                    data = 0 if 'protobuf' in json.dumps(config) else len(data)
                found[self.timeless(path)] = data
        if any(isinstance(what, int) for what in found.values()):
            self.run_tool('convert', '-r', '-d', 'dump', '-out', 'arrays')
            for name in self.files('arrays'):
                found['arrays/' + self.timeless(name)] = self.read('arrays', name).hex()
        return found

    @staticmethod
    def timeless(text):
        return re.sub(r'\b\d{14}\b', 'TIME', re.sub(r'\b\d{16}\b', 'STAMP', text))

    def check_same(self, config, ways=('cpp', 'c', 'acl', 'replay')):
        first = self.dump(ways[0], config)
        for way in ways[1:]:
            self.assertEqual(self.dump(way, config), first, '%s beside %s' % (way, ways[0]))
        return first

    @staticmethod
    def config(options=None, **keys):
        dump = {'dump_path': 'dump', 'dump_mode': 'all', 'dump_list': [{'model_name': 'net', 'layer': ['conv1']}]}
        return {'dump': dict(dump, **keys), 'opdump': dict({'when_full': 'block', 'block_limit_ms': 60000}, **(options or {}))}

    def test_records_and_journal(self):
        found = self.check_same(self.config(dump_step='0|3-4'))
        journals = [text for name, text in found.items() if name.endswith('.journal')]
        self.assertEqual(len(journals), 1)
        self.assertEqual(sum(line.startswith('written,') for line in journals[0]), 3)

    def test_config_of_the_environment(self):
        dumped = self.dump('cpp', self.config())
        for variable in ('OPDUMP_CONFIG', 'MINDSPORE_DUMP_CONFIG'):
            for way in ('cpp', 'c', 'replay'):
                self.assertEqual(self.dump(way, self.config(), variable=variable), dumped, (variable, way))
            # As CANN has it, NULL is no config, whatever else a program's process is told.
            self.assertEqual(self.dump('acl', self.config(), variable=variable), {}, variable)

    def test_statistics(self):
        found = self.check_same(self.config(dump_data='stats', dump_stats=['Max', 'Min', 'L2norm']))
        self.assertEqual(sum(name.endswith('.csv') for name in found), 12)

    def test_file_formats_and_details_of_the_journal(self):
        for options in ({'file_format': 'protobuf', 'journal': 'gaps'}, {'file_format': 'npy', 'journal': 'none'},
                        {'when_full': 'inline'}):
            with self.subTest(options=options):
                self.check_same(self.config(options))

    def test_limits(self):
        for journal in ('records', 'none'):
            for keep in ('newest', 'oldest'):
                with self.subTest(journal=journal, keep=keep):
                    options = {'journal': journal, 'keep': keep, 'max_files': 5, 'fsync': 'never'}
                    lost = 0 if keep == 'newest' else 1
                    first = None
                    for way in ('cpp', 'c', 'acl', 'replay'):
                        found = self.dump(way, self.config(options), expect=lost)
                        self.assertEqual(first or found, found, way)
                        first = found
                    steps = [int(name.split('/')[4]) for name in first if name.startswith('TIME/0/net/1/')]
                    self.assertEqual(max(steps) == 11, keep == 'newest', sorted(first))

    def test_tables_of_mindspore(self):
        config = {'common_dump_settings': {
            'dump_mode': 0, 'path': self.path('dump', 'made'), 'net_name': 'net', 'iteration': '0-2', 'input_output': 0,
            'kernels': [], 'support_device': [0], 'op_debug_mode': 0, 'saved_data': 'full', 'file_format': 'npy'},
            'e2e_dump_settings': {'enable': True}}
        # The order of execution and the like are FileDump's and replay's; they read the config's file.
        everything = self.check_same(config, ('cpp', 'replay'))
        dumped = self.check_same(config, ('c', 'acl'))
        self.assertEqual({name: what for name, what in everything.items() if name in dumped}, dumped)
        self.assertEqual(sum('.npy' in name and not name.startswith('arrays') for name in dumped), 6)

    def test_a_relative_path_stays_where_it_was_when_the_config_came_into_force(self):
        limited = {'keep': 'newest', 'max_files': 5, 'fsync': 'never', 'reserve_bytes': 1}
        # A folder of that name takes nothing there, and where there is none nothing is lost.
        os.makedirs(self.path('named', 'dump'))
        os.mkdir(self.path('bare'))
        for config in (self.config(), self.config(limited), self.config(dump_data='stats')):
            for way in ('cpp', 'c', 'acl'):
                first = self.dump(way, config)
                self.assertTrue(first)
                for go_to in ('named', 'bare'):
                    with self.subTest(config=config, way=way, go_to=go_to):
                        self.assertEqual(self.dump(way, config, go_to=(go_to,)), first)
                        self.assertEqual(self.files('named') + self.files('bare'), [])

    def test_a_history_is_kept_or_refused(self):
        config = self.config({'history_steps': 2})
        self.assertEqual(self.check_same(config, ('cpp', 'replay')), {})
        for way in ('c', 'acl'):
            self.assertEqual(self.dump(way, config, expect=REFUSED), {})


if __name__ == '__main__':
    PROGRAM = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
