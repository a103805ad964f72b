#!/usr/bin/env python3
"""libdatadump, opened as the vendor's executor opens it, into files and into raw flash.

usage: nano_dump_test.py OPDUMP NANO_DEVICE NANO_CHAIN LIBGE_DBG LIBDATADUMP

With OPDUMP_NANO_PY, the path of another parser of nano records, that has to read the files.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import waiting  # noqa: E402
from with_numpy import numpy  # noqa: E402

OPDUMP, DEVICE, CHAIN, GE_DBG, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:6])
STEPS = 3
FILES = 2 * STEPS * 20


def files_below(root, has_time):
    """Path to content of all records below `root`; of paths that end in a time, without it."""
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            if name.endswith('.journal'):
                continue
            path = os.path.join(directory, name)
            key = os.path.relpath(path, root)
            with open(path, 'rb') as file:
                found[key.rsplit('.', 1)[0] if has_time else key] = file.read()
    return found


class NanoDump(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix='opdump-nano-')
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def run_device(self, **environment):
        return waiting.run([DEVICE, LIBRARY, self.directory.name, str(STEPS)], env={**os.environ, **environment},
                           capture_output=True, text=True)

    def opdump(self, *arguments):
        return waiting.run([OPDUMP, *arguments], capture_output=True, text=True)

    def check_dump(self, root):
        expected = files_below(self.path('expected'), False)
        self.assertEqual(len(expected), FILES)
        self.assertEqual(files_below(os.path.join(root, '20260123040506', '0'), True), expected)
        verified = self.opdump('verify', root)
        self.assertEqual((verified.returncode, verified.stdout.splitlines()[0]), (0, 'complete'), verified.stdout)
        shown = self.opdump('show', root, '--step', '2')
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn('Mat_Mul', shown.stdout)

    def test_files(self):
        result = self.run_device()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('%d operators captured, 0 lost' % FILES, result.stderr)
        self.check_dump(self.path('dump'))

    def test_another_parser(self):
        parser = os.environ.get('OPDUMP_NANO_PY')
        if not parser or numpy is None:
            self.skipTest('OPDUMP_NANO_PY does not name one' if not parser else 'there is no NumPy')
        self.assertEqual(self.run_device().returncode, 0)
        for content in files_below(self.path('dump/20260123040506/0/net1/1/0'), True).values():
            path = self.path('record')
            with open(path, 'wb') as file:
                file.write(content)
            subprocess.run([sys.executable, parser, 'parse', path], check=True, stdout=subprocess.DEVNULL)

    def test_flash(self):
        part = self.path('part')
        result = self.run_device(OPDUMP_DATADUMP_FLASH=part + ':4096:256:16')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.path('dump')), [])
        extracted = self.opdump('extract', part, '-o', self.path('tree'))
        self.assertEqual(extracted.returncode, 0, extracted.stdout + extracted.stderr)
        self.check_dump(self.path('tree'))

    def test_config(self):
        with open(self.path('acl.json'), 'w', encoding='utf-8') as file:
            file.write('{"dump": {}, "opdump": {"when_full": "inline", "ring_bytes": 4096, "journal": "gaps"}}')
        result = self.run_device(OPDUMP_DATADUMP_CONFIG=self.path('acl.json'))
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = files_below(self.path('expected'), False)
        self.assertEqual(files_below(self.path('dump/20260123040506/0'), True), expected)

    def run_chain(self, dump, steps, **environment):
        """Both libraries under one config."""
        with open(self.path('acl.json'), 'w', encoding='utf-8') as file:
            json.dump({'dump': {'dump_path': 'dump', **dump}, 'opdump': {'journal': 'records'}}, file)
        folders = [os.path.dirname(GE_DBG), os.path.dirname(LIBRARY)]
        os.mkdir(self.path('dump'))
        result = waiting.run(
            [CHAIN, 'acl.json', 'expected', str(steps)], cwd=self.directory.name, capture_output=True, text=True,
            env={**os.environ, 'LD_LIBRARY_PATH': ':'.join(folders), **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def check_chain(self, wanted_steps, operators):
        times = [name for name in os.listdir(self.path('dump')) if name != 'net.dbg']
        self.assertEqual(len(times), 1)
        expected = {path: content for path, content in files_below(self.path('expected'), False).items()
                    if int(path.split('/')[2]) in wanted_steps}
        self.assertEqual(len(expected), len(wanted_steps) * operators)
        self.assertEqual(files_below(self.path(os.path.join('dump', times[0], '0')), True), expected)
        verified = self.opdump('verify', self.path(os.path.join('dump', times[0])))
        self.assertEqual((verified.returncode, verified.stdout.splitlines()[0]), (0, 'complete'), verified.stdout)

    def test_both_libraries(self):
        layers = ['layer.%d/op' % i for i in (2, 3, 5, 7, 11)]
        self.run_chain({'dump_mode': 'all', 'dump_data': 'tensor', 'dump_step': '1|3-4|8',
                        'dump_list': [{'model_name': 'net', 'layer': layers}]}, 10)
        self.check_chain({1, 3, 4, 8}, len(layers))

    def test_both_libraries_every_operator_and_step(self):
        self.run_chain({'dump_mode': 'all', 'dump_data': 'tensor', 'dump_list': [{'model_name': 'net'}]}, 7)
        self.check_chain(set(range(7)), 20)

    def test_both_libraries_statistics(self):
        self.run_chain({'dump_mode': 'all', 'dump_step': '2', 'dump_list': [{'model_name': 'net'}]}, 4)
        time = [name for name in os.listdir(self.path('dump')) if name != 'net.dbg'][0]
        names = os.listdir(self.path(os.path.join('dump', time, '0/net/3/2')))
        self.assertEqual(len(names), 20)
        self.assertTrue(all(name.endswith('.csv') for name in names), names)

    def test_without_driver(self):
        with open(LIBRARY, 'rb') as file:
            if b'__asan_init' in file.read():
                self.skipTest('Python cannot load a library that is built with a sanitizer')
        program = ('import ctypes, sys\n'
                   'library = ctypes.CDLL(sys.argv[1])\n'
                   'sys.exit(0 if library.InitDataDump() != 0 and library.StopDataDump() == 0 else 1)\n')
        result = waiting.run([sys.executable, '-c', program, LIBRARY], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('the driver has no halEschedWaitEvent', result.stderr)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0]])
