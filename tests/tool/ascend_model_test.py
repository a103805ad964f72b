#!/usr/bin/env python3
"""The example of a model beside CANN, on the simulated runtime: its dump has the files that CANN itself would have written,
as far as the config wants them, and `opdump verify` accepts it, or names what CANN did not hand over.

usage: ascend_model_test.py MODEL OPDUMP EXAMPLE_FOLDER CANN_INCLUDE SIMULATION PKG_CONFIG_PATH COMPILER
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import waiting  # noqa: E402
from readme_commands import cann_package, commands_of, run_commands  # noqa: E402

MODEL, OPDUMP, EXAMPLE, CANN_INCLUDE, SIMULATION, PKG_CONFIG_PATH = map(os.path.abspath, sys.argv[1:7])
COMPILER = sys.argv[7]


class AscendModel(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name)
        shutil.copy(pathlib.Path(EXAMPLE) / 'acl.json', self.directory)
        (self.directory / 'dump').mkdir()
        (self.directory / 'model.om').touch()

    def run_model(self, *arguments, fault='', code=0):
        environment = {**os.environ, 'SIMULATED_FILES': 'cann', 'SIMULATED_FAULT': fault}
        done = waiting.run([MODEL, *arguments], cwd=self.directory, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def tree(self, root):
        return {str(path.relative_to(self.directory / root)): path.read_bytes()
                for path in (self.directory / root).rglob('*') if path.is_file() and path.suffix != '.journal'}

    def verify(self):
        done = waiting.run([OPDUMP, 'verify', '--json', 'dump'], cwd=self.directory, capture_output=True)
        return done.returncode, json.loads(done.stdout)['findings']

    def test_the_dump_has_the_files_of_cann(self):
        out, _ = self.run_model('acl.json', 'model.om', '4')
        self.assertEqual(out, '8 files written, 0 lost, 8 not asked for\n')
        wanted = {path: data for path, data in self.tree('cann/dump').items() if path.split('/')[4] in '02'}
        self.assertEqual(len(wanted), 8)
        self.assertEqual(self.tree('dump'), wanted)
        self.assertEqual(self.verify(), (0, []))

    def test_the_commands_of_the_readme(self):
        shutil.copy(pathlib.Path(EXAMPLE) / 'model.cpp', self.directory)
        (self.directory / 'dump').rmdir()
        cann = cann_package(str(self.directory / 'board'), CANN_INCLUDE, {'ascendcl': SIMULATION, 'ascend_dump': SIMULATION})
        done = run_commands(commands_of(pathlib.Path(EXAMPLE) / 'README.md', 'model.cpp'), str(self.directory), COMPILER,
                            [OPDUMP], ASCEND_HOME_PATH=cann, PKG_CONFIG_PATH=PKG_CONFIG_PATH, SIMULATED_FILES='cann',
                            LD_LIBRARY_PATH=os.path.dirname(SIMULATION))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith('8 files written, 0 lost, 4 not asked for\ncomplete\n'), done.stdout)

    def test_a_repeated_slice_does_no_harm_or_loses_its_file(self):
        out, _ = self.run_model('acl.json', 'model.om', fault='repeat', code=1)
        self.assertEqual(out, '7 files written, 1 lost, 4 not asked for\n')
        code, findings = self.verify()
        self.assertEqual((code, sorted(f['kind'] for f in findings)), (1, ['chunk', 'lost']))

    def test_what_cann_loses_is_named(self):
        for fault, kinds in (('lose', ['chunk', 'lost']), ('cut', ['lost'])):
            with self.subTest(fault):
                shutil.rmtree(self.directory / 'dump')
                (self.directory / 'dump').mkdir()
                out, error = self.run_model('acl.json', 'model.om', fault=fault, code=1)
                self.assertEqual(out, '7 files written, 1 lost, 4 not asked for\n')
                self.assertIn('1 of 8 records lost', error)
                code, findings = self.verify()
                self.assertEqual((code, sorted(f['kind'] for f in findings)), (1, kinds))
                self.assertEqual({f['op'] for f in findings if 'op' in f}, {'Conv2D.block_conv_1'})

    def test_a_refused_config_leaves_the_model_running(self):
        (self.directory / 'bad.json').write_text('{"dump": {"dump_path": "dump", "dump_list": 1}}')
        out, error = self.run_model('bad.json', 'model.om', code=1)
        self.assertIn('no dump: bad.json', error)
        self.assertIn('dump_list', error)
        self.assertEqual(out, '0 files written, 0 lost, 0 not asked for\n')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
