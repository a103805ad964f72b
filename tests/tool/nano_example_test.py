#!/usr/bin/env python3
"""The example of the nano executor, and what else a process has of our libge_dbg: nano_example_test.py EXECUTOR LIBGE_DBG
DEVICE_PART LIBPROFAPI SHORT_MEMORY [unittest arguments].

Standard library only; `nm` and `cc` where they are there.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import waiting  # noqa: E402
from readme_commands import commands_of, run_commands  # noqa: E402

EXECUTOR, LIBRARY, DEVICE_PART, PROFILER, SHORT_MEMORY = [os.path.abspath(path) for path in sys.argv[1:6]]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
EXAMPLE = os.path.join(ROOT, 'examples', 'ascend', 'nano')
CONFIG = os.path.join(EXAMPLE, 'acl.json')
NINE = ['DbgCreateModelHandle', 'DbgDeInit', 'DbgDumpPreProcess', 'DbgFreeLoadDumpInfo', 'DbgGetprofEnable', 'DbgInit',
        'DbgLoadModelPostProcess', 'DbgNotifySetDevice', 'DbgStepIdCounterPlus']


class Example(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='opdump_nano_test')
        self.addCleanup(shutil.rmtree, self.directory)
        for name in ('dump', 'library'):
            os.mkdir(os.path.join(self.directory, name))
        # Alone: beside it there may be a device part for boards.
        shutil.copy(LIBRARY, os.path.join(self.directory, 'library'))

    def run_example(self, *arguments, device_part=DEVICE_PART, **environment):
        path = os.path.join(self.directory, 'library') + (':' + os.path.dirname(device_part) if device_part else '')
        done = waiting.run([EXECUTOR, *arguments], cwd=self.directory, capture_output=True, text=True,
                           env=dict(os.environ, LD_LIBRARY_PATH=path, **environment))
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_dumps_the_wanted_operators_at_the_wanted_steps(self):
        status, out, log = self.run_example(CONFIG, '6')
        self.assertEqual(status, 0, log)
        self.assertEqual([line for line in out if 'dumps' in line],
                         ['device: dumps %s at step %d' % (op, step) for step in (0, 3, 4) for op in ('relu', 'fc')])
        self.assertEqual(sum('message' in line for line in out), 4)
        self.assertIn('opdump: model "net": 1 rule, 2 of 3 ops match, about', log)
        self.assertIn('opdump: model "net" (id 1): 6 steps ran, and 3 of them were asked for\n', log)

    @unittest.skipIf(shutil.which('cc') is None, 'there is no cc')
    def test_the_commands_of_the_readme(self):
        board = os.path.join(self.directory, 'board')
        shutil.copytree(EXAMPLE, board)
        commands = commands_of(os.path.join(ROOT, 'platform', 'ascend', 'nano', 'README.md'), 'executor.c')
        done = run_commands(commands.replace('DIR', os.path.join(self.directory, 'library')), board)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count('device: dumps '), 6)

    def test_no_config_is_no_dump(self):
        status, out, _ = self.run_example('none.json', '2')
        self.assertEqual((status, out), (0, []))

    def test_no_device_part(self):
        status, out, log = self.run_example(CONFIG, '2', device_part=None)
        self.assertEqual((status, out), (1, []))
        self.assertIn('opdump: libdatadump.so, which writes the files: ', log)

    def test_lack_of_memory_is_an_error_and_no_crash(self):
        with open(LIBRARY, 'rb') as file:
            if b'__asan_init' in (content := file.read()) or b'__tsan_init' in content:
                self.skipTest('the sanitizer takes the place of operator new')
        failed = clean = number = 0
        while clean < 20:  # then there is no further memory to fail
            status, _, log = self.run_example(CONFIG, '4', device_part=SHORT_MEMORY, LD_PRELOAD=SHORT_MEMORY,
                                              FAIL_NEW=str(number))
            self.assertIn(status, (0, 1), (number, log))
            clean = 0 if 'no memory for the dump' in log else clean + 1
            failed += clean == 0
            number += 1
            self.assertLess(number, 2000)
        self.assertGreater(failed, 30)

    def test_exports_nine_functions(self):
        if shutil.which('nm') is None:
            self.skipTest('no nm')
        listed = subprocess.run(['nm', '-D', '--defined-only', LIBRARY], capture_output=True, text=True, check=True)
        names = sorted(line.split()[-1] for line in listed.stdout.splitlines())
        self.assertEqual([name for name in names if not name.startswith(('__', '_fini', '_init', '_edata', '_end'))],
                         NINE)

    def call(self, code, config):
        """What a process prints that has no runtime, and its log."""
        done = waiting.run([sys.executable, '-c', 'import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); '
                            'config = sys.argv[2].encode(); ' + code, LIBRARY, config], cwd=self.directory,
                           capture_output=True, text=True,
                           env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(PROFILER)))
        if '__asan' in done.stderr or 'ASan runtime' in done.stderr:
            self.skipTest('the sanitizer has to come first')
        return done

    def test_profiling_is_passed_on(self):
        config = os.path.join(self.directory, 'acl.json')
        with open(config, 'w', encoding='ascii') as file:
            file.write('{"profiler": {"switch": "on", "output": "}"}}')
        done = self.call('print(library.DbgInit(config), library.DbgNotifySetDevice(1, 2), '
                         'library.DbgGetprofEnable() & 255, library.DbgCreateModelHandle(), '
                         'library.DbgLoadModelPostProcess(9, b"net", None, None), library.DbgDeInit(), '
                         'library.DbgGetprofEnable() & 255)', config)
        self.assertEqual(done.stdout.splitlines(), [
            'register 45', 'init 1 {"switch": "on", "output": "}"}', 'device 1 2 1',
            'report 256: 5a5a 15000 8 16 time 77 model 9 hash 3', 'finalize', '0 0 1 0 0 0 0'], done.stderr)

    def test_a_process_without_the_runtime_gets_a_log(self):
        done = self.call('print(library.DbgInit(config), library.DbgCreateModelHandle(), library.DbgDeInit())', CONFIG)
        self.assertEqual(done.stdout, '0 0 0\n', done.stderr)
        self.assertIn('opdump: the runtime has no rtDumpInit, rtDumpDeInit, rtSetTaskDescDumpFlag, rtMsgSend, without '
                      'which nothing can be dumped: the dump is off\n', done.stderr)


if __name__ == '__main__':
    del sys.argv[1:6]
    unittest.main()
