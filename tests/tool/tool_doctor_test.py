#!/usr/bin/env python3
"""Tests of opdump doctor on boards of many forms: tool_doctor_test.py OPDUMP SERVER NANO RT [unittest arguments].

SERVER, NANO and RT are the simulated drivers of tests/support/ascend, which the command finds as it would find CANN's.
Standard library only.
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
from tool_case import Case  # noqa: E402

SERVER, NANO, RT = [os.path.abspath(path) for path in sys.argv[2:5]]
del sys.argv[2:5]

BACKGROUND, AT_ONCE, SINGLE, HOST = 'in the background', 'at once', 'single operators', 'host memory'
RUNTIME = 'libascendcl.so'

ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(('ASCEND_', 'MINDSPORE_', 'MS_', 'NPU_', 'LD_LIBRARY'))}


class Doctor(Case):
    def install(self, library, name='libascendcl.so', without=()):
        """A copy of `library` where the loader looks, which lacks the functions `without`."""
        with open(library, 'rb') as file:
            content = file.read()
        for function in without:
            symbol = b'\0' + function.encode() + b'\0'
            self.assertIn(symbol, content)
            content = content.replace(symbol, b'\0' + b'x' + function[1:].encode() + b'\0')
        return self.write('lib/' + name, content)

    def run_doctor(self, *words, driver='', expect=0, **variables):
        # What a driver fails to take back is leaked.
        environment = dict(ENVIRONMENT, TZ='UTC', LC_ALL='C', LD_LIBRARY_PATH=self.path('lib'), SIMULATED_ASCEND=driver,
                           ASAN_OPTIONS='detect_leaks=0:exitcode=%d' % tool_case.CRASH,
                           UBSAN_OPTIONS='exitcode=%d' % tool_case.CRASH, **variables)
        done = waiting.run([tool_case.OPDUMP, 'doctor', *words], cwd=self.directory, env=environment,
                           capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1) if expect is None else (expect,), done.stdout + done.stderr)
        return done.stdout, done.stderr

    def diagnose(self, *words, expect=0, **how):
        """State and text by the name of what was found, the answers of what will work, and the calls that failed."""
        out, error = self.run_doctor('--json', *words, expect=expect, **how)
        self.assertEqual(error, '')
        board = json.loads(out)
        self.assertEqual(board['exit_status'], expect)
        found = {finding['name']: (finding['state'], finding['text']) for finding in board['findings']}
        found['answers'] = [finding['state'] for finding in board['findings'] if finding['part'] == 'What will work']
        found['failed'] = [(f['name'], f['text']) for f in board['findings'] if f['state'] == 'failed' and f['name'] != 'alignment']
        return found

    def functions(self, library):
        names = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True)
        return [line.split()[-1] for line in names.stdout.splitlines() if line.split()[-1].startswith(('acl', 'rt'))]

    def test_without_cann_it_says_what_is_missing_and_what_works_all_the_same(self):
        board = self.diagnose(expect=3)
        self.assertEqual([board[name][0] for name in board if name.startswith('lib')], ['missing'] * 7)
        self.assertEqual(board['answers'], ['no'] * 7 + ['yes'])
        self.assertIn('there is no runtime that can copy', board[BACKGROUND][1])
        self.assertIn(' free', board['dumps go to'][1])
        out, error = self.run_doctor(expect=3)
        self.assertEqual(error, '')
        for words in ('libascendcl.so     missing', 'no runtime that can copy was found', 'host memory        yes  with FileDump'):
            self.assertIn(words, out)
        self.assertLessEqual(max(map(len, out.replace(self.directory, '').splitlines())), 118)
        self.assertLess(out.count('\n'), 40)

    def test_a_server_copies_in_the_background(self):
        path = self.install(SERVER)
        board = self.diagnose()
        self.assertEqual((board[RUNTIME], board['runtime']), (('found', path + '; lacks rtMemcpy'), ('found', path)))
        self.assertEqual((board['versions'][1], board['devices'][1], board['device 0']),
                         ('AscendCL 1.14.0, package 8.5.0-simulated', '2', ('taken', 'Ascend310B4')))
        self.assertEqual((board['run mode'][0], board['alignment'][0]), ('host', 'right'))
        self.assertNotIn('pinned', board)
        self.assertEqual(board['failed'], [])
        self.assertEqual(board['answers'], ['yes', 'yes', 'no', 'yes', 'yes', 'no', 'no', 'yes'])
        self.assertIn('device 1', self.diagnose('--device=1'))

    def test_on_a_board_whose_cpu_is_the_devices_own_memory_is_read_in_place(self):
        self.install(SERVER)
        board = self.diagnose(driver='rc')
        self.assertEqual((board['run mode'][0], board['pinned'][0], board['alignment'][0]), ('device', 'odd', 'right'))
        self.assertIn('the driver refuses addresses', board['alignment'][1])
        self.assertEqual((board['answers'][:5], board['failed']), (['yes'] * 5, []))
        board = self.diagnose(driver='rc hides_run_mode')
        self.assertEqual((board['answers'][:3], board['run mode'][0]), (['yes', 'yes', 'no'], 'untold'))

    def test_products_with_fewer_functions(self):
        self.install(NANO)
        board = self.diagnose()
        self.assertIn('of a nano product', board['runtime'][1])
        self.assertEqual(board['answers'], ['no', 'yes', 'no', 'yes', 'yes', 'no', 'perhaps', 'yes'])
        self.assertEqual((board['devices'][0], board['versions'][1]),
                         ('untold', 'AscendCL 1.14.0, package not told (aclsysGetVersionStr)'))
        os.remove(self.path('lib', RUNTIME))
        path = self.install(RT, 'libruntime.so')
        board = self.diagnose()
        self.assertEqual(board['runtime'], ('found', path))
        self.assertIn('aclrtSetDevice', board['copies'][1])
        self.assertEqual(board['answers'], ['no', 'perhaps', 'no', 'perhaps', 'perhaps', 'no', 'no', 'yes'])
        self.install(SERVER)
        board = self.diagnose(driver='unsupported')
        self.assertEqual(board['answers'][:5], ['no', 'yes', 'no', 'yes', 'yes'])
        self.assertIn('searched', board['overflow dumps'][1])

    def test_every_function_may_be_missing(self):
        """What depends on it does not work, and the rest does."""
        without_background = {'aclrtMemcpyAsync', 'aclrtMallocHost', 'aclrtFreeHost', 'aclrtCreateStream',
                              'aclrtDestroyStream', 'aclrtSynchronizeStream'}
        no_device = {'aclrtMemcpy': 3}
        seen = 0
        for function in self.functions(SERVER):
            with self.subTest(function=function):
                self.install(SERVER, without=[function])
                board = self.diagnose(expect=no_device.get(function, 0))
                state, text = board[RUNTIME]
                seen += state == 'found' and function in text
                if function in no_device:
                    self.assertEqual(board['answers'], ['no'] * 7 + ['yes'])
                    continue
                tried = function not in ('aclrtMalloc', 'aclrtFree', 'aclrtSetDevice')
                self.assertEqual(board[BACKGROUND][0], 'no' if function in without_background else 'yes' if tried else 'perhaps')
                self.assertEqual(board[AT_ONCE][0], 'yes' if tried else 'perhaps')
                self.assertEqual(board['failed'], [])
        self.assertEqual(seen, 15)
        self.install(SERVER, without=['aclrtGetVersion', 'aclsysGetVersionStr', 'aclrtGetSocName', 'aclrtGetDeviceCount'])
        out, _ = self.run_doctor()
        for name in ('aclrtGetVersion', 'aclsysGetVersionStr', 'aclrtGetSocName', 'aclrtGetDeviceCount'):
            self.assertIn('not told (%s)' % name, out)

    def test_every_function_may_fail(self):
        """The answer names it with its code, and says what works all the same, in both forms."""
        needed = {'aclrtSetDevice', 'aclrtMalloc', 'aclrtGetDevice', 'aclrtMemcpy'}
        untold = {'aclrtStreamQuery', 'aclrtResetOverflowStatus',  # not needed here
                  'aclrtGetSocName'}  # has no code
        self.install(SERVER)
        for form in ('', 'rc '):
            for function in self.functions(SERVER):
                with self.subTest(function=function, form=form):
                    expect = 1 if function in needed else 0
                    board = self.diagnose(driver='%sfail=%s:507899' % (form, function), expect=expect)
                    if function in untold:
                        self.assertEqual(board['failed'], [])
                    elif function != 'aclrtSynchronizeStreamWithTimeout':  # the plain one stands in
                        self.assertIn((function, 'returned 507899'), board['failed'])
                    self.assertEqual((board[SINGLE][0], board[HOST][0]), ('no' if expect else 'yes', 'yes'))

    def test_each_call_may_fail_once(self):
        """The exit status is 0 exactly if something could copy, and the code is told."""
        self.install(SERVER)
        for form in ('', 'rc '):
            told, statuses = [], []
            for number in range(80):
                driver = '%sfail_call=%d:507899' % (form, number)
                out, error = self.run_doctor('--json', driver=driver, expect=None)
                self.assertEqual(error, '')
                board = json.loads(out)
                states = [finding['state'] for finding in board['findings']]
                self.assertEqual(board['exit_status'], 0 if 'yes' in states[-8:-5] else 1)
                statuses.append(board['exit_status'])
                told.append('failed' in states)
            self.assertEqual((told[-10:], statuses[-10:]), ([False] * 10, [0] * 10))  # beyond the last call
            self.assertGreater(told.count(True), 25)
            self.assertGreater(statuses.count(1), 1)

    def test_a_driver_that_brings_other_bytes_does_not_pass(self):
        self.install(SERVER)
        board = self.diagnose(driver='wrong', expect=1)
        self.assertEqual(board['answers'][:5], ['no'] * 5)
        self.assertIn('brought other bytes', board[AT_ONCE][1])

    def test_no_device_and_no_such_device(self):
        self.install(SERVER)
        board = self.diagnose(driver='no_devices', expect=1)
        self.assertEqual((board['devices'][1], board['copies'][1]), ('0', 'there is no device 0'))
        board = self.diagnose('--device', '2', expect=1)
        self.assertEqual(board['copies'][1], 'there is no device 2')

    def test_a_call_that_hangs_or_crashes_is_named(self):
        self.install(SERVER)
        # Long enough for the calls that do come back.
        out, error = self.run_doctor('--limit', '5', driver='hang=aclrtSetDevice', expect=1)
        self.assertIn('libascendcl.so     found', out)
        self.assertRegex(error, r'^opdump doctor: aclrtSetDevice\(0\) has not come back for 5 s; .*--no-trial.*\n$')
        with open(tool_case.OPDUMP, 'rb') as file:
            program = file.read()
        sanitized = b'__asan_init' in program or b'__tsan_init' in program
        if not sanitized:
            _, error = self.run_doctor(driver='crash=aclrtMalloc', expect=1)
            self.assertRegex(error, r'^opdump doctor: writing to device 0 has crashed; .*\n$')
        board = self.diagnose('--no-trial', driver='crash=aclInit hang=aclrtSetDevice')
        self.assertEqual((board['copies'][1], board['answers'][:2]), ('--no-trial', ['perhaps'] * 2))

    def test_a_library_that_cannot_be_loaded_or_lies_elsewhere(self):
        self.write('lib/libascendcl.so', 'no library')
        self.assertEqual(self.diagnose(expect=1)[RUNTIME][0], 'broken')
        # What a library needs is missing: the driver, on a machine with CANN and without a device.
        os.remove(self.path('lib', 'libascendcl.so'))
        compiler = shutil.which('cc') or shutil.which('gcc')
        self.write('a.c', 'int a(void) { return 1; }')
        self.write('b.c', 'int a(void); int aclrtMemcpy(void) { return a(); }')
        for words in (['-shared', '-fPIC', 'a.c', '-o', 'liba.so'],
                      ['-shared', '-fPIC', 'b.c', '-L.', '-la', '-o', 'lib/libascendcl.so']):
            subprocess.run([compiler, *words], cwd=self.directory, check=True)
        state, text = self.diagnose(expect=1)[RUNTIME]
        self.assertEqual(state, 'broken')
        self.assertIn('liba.so', text)
        os.remove(self.path('lib', 'libascendcl.so'))
        there = self.write('cann/lib64/libascendcl.so', '')
        text = self.diagnose(expect=3, ASCEND_HOME_PATH=self.path('cann'))[RUNTIME][1]
        self.assertRegex(text, re.escape(there) + ' is there, .*LD_LIBRARY_PATH$')

    def test_canns_dump_and_the_nano_executors_libraries(self):
        self.write('dump.c', 'int acldumpRegCallback(void) { return 0; }')
        self.write('other.c', 'int other(void) { return 0; }')
        compiler = shutil.which('cc') or shutil.which('gcc')
        for source, library in (('dump', 'ascend_dump'), ('other', 'ge_dbg')):
            os.makedirs(self.path('lib'), exist_ok=True)
            subprocess.run([compiler, '-shared', '-fPIC', source + '.c', '-o', 'lib/lib%s.so' % library],
                           cwd=self.directory, check=True)
        board = self.diagnose(expect=3)
        self.assertIn('; lacks acldumpUnregCallback, acldumpGetPath', board['libascend_dump.so'][1])
        self.assertEqual(board['libge_dbg.so'][1].count(','), 8)
        self.assertEqual(board["CANN's dump"][0], 'no')
        subprocess.run([compiler, '-shared', 'other.c', '-o', 'lib/libascend_dump.so'], cwd=self.directory, check=True)
        self.assertIn('has no acldumpRegCallback', self.diagnose(expect=3)["CANN's dump"][1])
        subprocess.run([compiler, '-shared', 'dump.c', '-o', 'lib/libascend_dump.so'], cwd=self.directory, check=True)
        self.install(SERVER)
        self.assertEqual(self.diagnose()["CANN's dump"][0], 'perhaps')
        self.install(NANO)
        state, text = self.diagnose()['the nano executor']
        self.assertEqual(state, 'perhaps')
        self.assertIn(self.path('lib', 'libge_dbg.so'), text)

    def test_the_config_and_its_directory(self):
        config = '{"dump": {"dump_path": "%s", "dump_list": [{"model_name": "net"}]}}'
        os.mkdir(self.path('dump'))
        self.write('acl.json', config % 'dump')
        board = self.diagnose(expect=3)
        self.assertEqual(board['config'], ('active', 'acl.json, named by the current directory'))
        self.assertTrue(board['dumps go to'][1].startswith('dump: '))
        self.assertEqual(os.listdir(self.path('dump')), [])
        self.write('other.json', config % 'nowhere')
        state, text = self.diagnose('other.json', expect=1)['dumps go to']
        self.assertEqual(state, 'unwritable')
        self.assertIn('nowhere', text)
        self.write('bad.json', '{"dump": {"dump_path": 1}}')
        state, text = self.diagnose('bad.json', expect=1)['config']
        self.assertEqual(state, 'refused')
        self.assertRegex(text, 'bad.json:1:.*dump.dump_path')
        self.write('data_dump.json', json.dumps({'common_dump_settings': {
            'dump_mode': 0, 'path': self.path('made', 'later'), 'net_name': 'net', 'iteration': 'all',
            'input_output': 0, 'kernels': [], 'support_device': [0], 'op_debug_mode': 0}}))
        board = self.diagnose(expect=3, MINDSPORE_DUMP_CONFIG=self.path('data_dump.json'))
        self.assertTrue(board['dumps go to'][1].startswith(self.path('made', 'later')))
        self.assertFalse(os.path.exists(self.path('made')))
        self.assertIn('MINDSPORE_DUMP_CONFIG', board['config'][1])
        if os.geteuid() != 0:
            os.chmod(self.path('dump'), 0o500)
            self.assertEqual(self.diagnose(expect=1)['dumps go to'][0], 'unwritable')

    def test_a_full_directory_does_not_pass(self):
        full = '/dev/full'
        self.write('acl.json', '{"dump": {"dump_path": "%s", "dump_list": [{"model_name": "net"}]}}' % full)
        self.assertEqual(self.diagnose(expect=1)['dumps go to'][0], 'unwritable')

    def test_the_command_line(self):
        for words, said in ((['a', 'b'], "not also 'b'"), (['--device', 'x'], "not 'x'"),
                            (['--limit', '0'], '1 to 3600'), (['--limit', '99999'], '1 to 3600')):
            _, error = self.run_doctor(*words, expect=2)
            self.assertIn(said, error)
        self.assertTrue(re.search(r'\n  3  no runtime', self.run_doctor('--help')[0]))


if __name__ == '__main__':
    tool_case.main()
