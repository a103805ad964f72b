#!/usr/bin/env python3
"""The vendor's nano executor with our libge_dbg: nano_executor_test.py LIBGE_DBG [unittest arguments].

Runs the executor's own C code over a simulated runtime (nano/executor_run.c), once beside the vendor's
libge_dbg and once beside LIBGE_DBG. Where the vendor's library knows all of a config, both must tell the runtime
the same; with the rules that it ignores, ours must bring the wanted operators at the wanted steps and no others.

environment
  OPDUMP_GE  folder with what was built of the vendor's repository hicann/ge: lib/libnano_executor.a, the objects of
             its executor in C, lib/libge_dbg.so without its profiling, include/ with the headers of both, and
             data/ with the configs of its own tests
  CC         C compiler (default: gcc)
Without OPDUMP_GE the test is skipped (exit status 77).
"""
import json
import os
import random
import re
import shutil
import sys
import tempfile
import unittest

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'nano')
sys.path.insert(1, os.path.join(HERE, '..', '..', 'support', 'nano'))
sys.path.insert(1, os.path.join(HERE, '..', '..', 'support'))
import dbg_maker  # noqa: E402
import waiting  # noqa: E402

SKIPPED = 77
GE = os.environ.get('OPDUMP_GE', '')
EXECUTOR = os.path.join(GE, 'lib/libnano_executor.a')
OPS = ['conv', 'relu', 'pool', 'fc_add']
CRASHED = ('crashed',)
BUILT = ''


def build_all(folder, library):
    """The program that drives the executor, and beside it each of the two libraries."""

    def build(output, source, *arguments):
        includes = ['-I' + os.path.join(HERE, 'shims'), '-I' + os.path.join(GE, 'include')]
        waiting.run([os.environ.get('CC', 'gcc'), '-w', '-O1', '-g', '-DNANO_OS_TYPE=0', '-D_GNU_SOURCE', *includes,
                     os.path.join(HERE, source), *arguments, '-o', os.path.join(folder, output)], check=True)

    for name in ('vendor', 'ours', 'part'):
        os.mkdir(os.path.join(folder, name))
    build('executor_run', 'executor_run.c', EXECUTOR, '-rdynamic', '-ldl', '-lpthread')
    build('part/libdatadump.so', 'datadump.c', '-shared', '-fPIC')
    shutil.copy(os.path.join(GE, 'lib/libge_dbg.so'), os.path.join(folder, 'vendor'))
    shutil.copy(library, os.path.join(folder, 'ours', 'libge_dbg.so'))


class Executor(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='opdump_nano_test')
        self.addCleanup(shutil.rmtree, self.directory)
        os.mkdir(os.path.join(self.directory, 'dump'))
        self.write('dump/net.dbg', dbg_maker.net())

    def write(self, name, content):
        with open(os.path.join(self.directory, name), 'wb') as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def run_one(self, which, config, script, parts=True, **environment):
        """The lines of stdout, without the time of the dump, and stderr."""
        self.write('acl.json', config if isinstance(config, (str, bytes)) else json.dumps(config))
        path = os.path.join(BUILT, which) + (':' + os.path.join(BUILT, 'part') if parts else '')
        done = waiting.run([os.path.join(BUILT, 'executor_run'), 'acl.json', *script], cwd=self.directory,
                           env=dict(os.environ, LD_LIBRARY_PATH=path, **environment), capture_output=True)
        if done.returncode != 0 and which == 'vendor':
            return [CRASHED[0]], ''
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
        return re.sub(r'/\d{14}/', '/TIME/', done.stdout.decode()).splitlines(), done.stderr.decode()

    def run_both(self, config, script, **options):
        ours, log = self.run_one('ours', config, script, **options)
        theirs, _ = self.run_one('vendor', config, script, **options)
        self.assertEqual(ours, theirs, log)
        return ours, log

    def dumps(self, lines, model=0):
        """{step: [operator]} of what the device dumped of one loading."""
        found = {}
        for line in lines:
            words = line.split()
            if words[0] == 'dump' and int(words[1]) == model:
                found.setdefault(int(words[2]), []).append(OPS[int(words[3])])
        return found

    @staticmethod
    def acl(members=None, **item):
        return {'dump': dict({'dump_path': 'dump', 'dump_list': [dict({'model_name': 'net'}, **item)]},
                             **(members or {}))}

    SCRIPT = ('load:net:4', 'run:0:3', 'unload:0')

    def test_tells_the_runtime_what_the_vendors_library_tells(self):
        lists = [{}, {'layer': ['conv']}, {'layer': ['fc', 'pool']}, {'layer': ['add']}, {'layer': ['none']},
                 {'layer': ['conv', 'relu', 'pool']}]
        for item in lists:
            for members in ({}, {'dump_mode': 'input'}, {'dump_mode': 'all', 'dump_data': 'tensor'},
                            {'dump_data': 'stats', 'dump_op_switch': 'on'}, {'dump_scene': 'normal'}):
                with self.subTest(item=item, members=members):
                    self.run_both(self.acl(members, **item), self.SCRIPT)
        self.run_both(self.acl({'dump_path': 'dump/'}), self.SCRIPT)
        lines, _ = self.run_both(self.acl(layer=['conv']), self.SCRIPT)
        self.assertEqual(self.dumps(lines), {0: ['conv'], 1: ['conv'], 2: ['conv']})
        self.assertIn('message load 0 0 1 0 dump/TIME/5/', '\n'.join(lines))

    def test_scenes(self):
        for members in ({'dump_scene': 'debug'}, {'dump_scene': 'debug', 'dump_list': []}, {'dump_debug': 'on'},
                        {'dump_scene': 'exception'}, {'dump_scene': 'exception', 'dump_list': [], 'dump_mode': 'all'},
                        {'dump_scene': 'debug', 'dump_list': [{'model_name': 'net'}]},
                        {'dump_scene': 'exception', 'dump_op_switch': 'on'}, {'dump_scene': 'normal1'},
                        {'dump_scene': 'normal', 'dump_debug': 'on', 'dump_list': [{'model_name': 'net'}]}):
            with self.subTest(members=members):
                self.run_both({'dump': dict({'dump_path': 'dump'}, **members)}, self.SCRIPT)

    def test_configs_of_the_vendors_tests(self):
        folder = os.path.join(GE, 'data')
        if not os.path.isdir(folder):
            self.skipTest('OPDUMP_GE has no data')
        names = sorted(name for name in os.listdir(folder) if name.endswith('.json'))
        self.assertGreater(len(names), 20)
        for name in names:
            with open(os.path.join(folder, name), 'rb') as file:
                config = file.read()
            for place in set(re.findall(rb'"dump_path"\s*:\s*"([^"]*)"', config)):
                if place not in (b'', b'345'):
                    config = config.replace(b'"' + place + b'"', b'"dump"')
            with self.subTest(name=name):
                self.run_both(config, self.SCRIPT)

    def test_several_models_loadings_and_orders(self):
        self.write('dump/b.dbg', dbg_maker.net(b'graph_b'))
        config = {'dump': {'dump_path': 'dump', 'dump_list': [{'model_name': 'net', 'layer': ['conv']},
                                                              {'model_name': 'graph_b', 'layer': ['relu']}]}}
        for script in (['load:net:4', 'load:b:4', 'run:0:2', 'run:1:3', 'unload:0', 'run:1:1', 'unload:1'],
                       ['load:net:4', 'unload:0', 'load:net:4', 'run:1:2'], ['load:net:4', 'run:0:1'],
                       ['load:net:4', 'run:0:1', 'end', 'run:0:2'], ['end'], []):
            with self.subTest(script=script):
                self.run_both(config, script)

    def test_failures(self):
        good = self.acl()
        self.run_both(good, ['load:none:4', 'load:net:4', 'run:1:1'])
        # Ours marks no task of a model whose file is another's.
        ours, log = self.run_one('ours', good, ['load:net:3'])
        theirs, _ = self.run_one('vendor', good, ['load:net:3'])
        self.assertEqual(ours, [line for line in theirs if not line.startswith('flag')], log)
        self.run_both(good, self.SCRIPT, FAIL_SEND='1')
        # After these the vendor's library crashes when a model is loaded.
        for options, code in (({'FAIL_DUMP_INIT': '1'}, 507000), ({'parts': False}, 145000)):
            lines, log = self.run_one('ours', good, self.SCRIPT, **options)
            self.assertEqual(lines[0], 'init %d' % code, log)
            self.assertIn('load 0', lines)
            self.assertEqual(self.run_one('vendor', good, [], **options)[0][:1], lines[:1])
        for config in ('', '{', '[]', '{"dump": 1}', '{"dump": {}}', 'null'):
            self.run_both(config, self.SCRIPT)
        _, log = self.run_one('ours', good, ['load:none:4'])
        self.assertIn('dump/none.dbg: No such file or directory', log)

    def test_damaged_dbg(self):
        """Where the vendor's library neither crashes nor reads past the end, both say the same."""
        whole = dbg_maker.net()
        rng = random.Random(2)
        cases = [whole[:size] for size in range(0, len(whole), 29)]
        for at in sorted(rng.sample(range(len(whole)), 150)):
            damaged = bytearray(whole)
            damaged[at] ^= rng.choice((1, 4, 0x80))
            cases.append(bytes(damaged))
        same = 0
        for number, case in enumerate(cases):
            self.write('dump/net.dbg', case)
            for config in (self.acl(layer=['conv', 'fc']), {'dump': {'dump_path': 'dump', 'dump_scene': 'debug'}}):
                ours, log = self.run_one('ours', config, ['load:net:4'])
                theirs, _ = self.run_one('vendor', config, ['load:net:4'])
                if theirs == [CRASHED[0]]:
                    continue
                codes = [[line for line in lines if line.split()[0] == 'load'] for lines in (ours, theirs)]
                with self.subTest(case=number):
                    self.assertEqual(codes[0] == ['load 0'], codes[1] == ['load 0'], log)
                same += codes[0] == codes[1]
        self.assertGreater(same, len(cases))

    def test_steps(self):
        rng = random.Random(3)
        for _ in range(40):
            wanted, items = set(), []
            for _ in range(rng.randrange(1, 4)):
                first = rng.randrange(12)
                last = first + rng.randrange(3)
                items.append('%d-%d' % (first, last) if last > first or rng.random() < 0.5 else str(first))
                wanted |= set(range(first, last + 1))
            layer = rng.sample(['conv', 'relu', 'pool', 'fc'], rng.randrange(1, 5))
            names = [name for name in OPS if name.split('_')[0] in layer]
            config = self.acl({'dump_step': '|'.join(items)}, layer=layer)
            with self.subTest(config=config):
                lines, log = self.run_one('ours', config, ['load:net:4', 'run:0:12', 'unload:0', 'load:net:4', 'run:1:5'])
                self.assertEqual(self.dumps(lines, 0), {step: names for step in wanted if step < 12}, log)
                self.assertEqual(self.dumps(lines, 1), {step: names for step in wanted if step < 5}, log)
                messages = [line.split()[1:4] for line in lines if line.startswith('message')]
                for model in ('0', '1'):
                    kinds = [kind for kind, of, _ in messages if of == model]
                    self.assertEqual(kinds, ['load', 'unload'] * (len(kinds) // 2))

    def test_ranges_and_blacklists(self):
        members = {'dump_level': 'op', 'dump_mode': 'all'}
        lines, _ = self.run_one('ours', self.acl(members, opname_range=[{'begin': 'relu', 'end': 'pool'}]), self.SCRIPT)
        self.assertEqual(self.dumps(lines)[0], ['relu', 'pool'])
        lines, log = self.run_one('ours', self.acl(members, opname_blacklist=[
            {'name': 'conv', 'pos': ['input0', 'input1', 'output0']}]), self.SCRIPT)
        self.assertEqual(self.dumps(lines)[0], ['relu', 'pool', 'fc_add'])
        self.assertIn('operator "conv" of model "net" is not dumped', log)
        lines, _ = self.run_one('ours', self.acl(members, layer=['fc'], optype_blacklist=[
            {'name': 'MatMul', 'pos': ['input1']}]), self.SCRIPT)
        self.assertEqual(self.dumps(lines)[0], ['fc_add'])
        message, = [line for line in lines if line.startswith('message load')]
        self.assertLess(int(message.split()[7]), len(dbg_maker.net()))

    def test_log(self):
        _, log = self.run_one('ours', self.acl({'dump_step': '1|9'}, layer=['conw', 'relu']), self.SCRIPT)
        for line in ('layer "conw" of model "net" matches nothing; did you mean "conv"?',
                     'model "net": asked for are "relu"', '3 steps ran, and 1 of them was asked for',
                     'never captured: steps 9 to 9 of model "net"'):
            self.assertIn(line, log)
        self.assertTrue(all(line.startswith('opdump: ') for line in log.splitlines()), log)


def main():
    global BUILT
    library = os.path.abspath(sys.argv.pop(1))
    if not os.path.isfile(EXECUTOR):
        print('skipped: OPDUMP_GE does not name a folder with lib/libnano_executor.a')
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix='opdump_nano_build') as BUILT:
        build_all(BUILT, library)
        return 0 if unittest.main('__main__', exit=False).result.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(main())
