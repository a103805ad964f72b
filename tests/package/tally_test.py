#!/usr/bin/env python3
"""What tests/tally.py makes of the logs of Meson: nothing that was skipped or left out goes unsaid. Which tests tests/rooms.py
chooses of Meson's list.

usage: tally_test.py SOURCE_ROOT
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOMS = pathlib.Path(sys.argv[1]).resolve() / 'tests/rooms.py'
TALLY = pathlib.Path(sys.argv[1]).resolve() / 'tests/tally.py'
UNITTEST = ('test_a (x.X) ... ok\ntest_b (x.X) ... skipped "there\'s no cc"\ntest_c (x.X) ... skipped \'no QEMU\'\n'
            '\nRan 3 tests in 0.1s\n\nOK (skipped=2)\n')

DOCTEST_FAILURE = ('=' * 79 + '\nring_test.cpp:7:\nTEST CASE:  rings\n\n'
                   'ring_test.cpp:9: ERROR: CHECK( a == b ) is NOT correct!\n  values: CHECK( 1 == 2 )\n\n')
DOCTEST_SUMMARY = '[doctest] test cases: 7 | 6 passed | 1 failed | 0 skipped\n'
UNITTEST_FAILURE = ('test_a (x.X) ... FAIL\n\n' + '=' * 70 + '\nFAIL: test_a (x.X)\n' + '-' * 70 +
                    '\nTraceback (most recent call last):\nAssertionError: 1 != 2\n\n' + '-' * 70 +
                    '\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n')


class Tally(unittest.TestCase):
    def tally(self, *tests, code=0):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / 'plain/meson-logs/testlog.json'
            log.parent.mkdir(parents=True)
            log.write_text(''.join(json.dumps(test) + '\n' for test in tests))
            done = subprocess.run([sys.executable, TALLY, log], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_cases(self):
        self.assertEqual(self.tally({'name': 'a', 'result': 'OK', 'stdout': '[doctest] test cases:  7 |  7 passed | 0 failed |'},
                                    {'name': 'b', 'result': 'OK', 'stderr': UNITTEST}, {'name': 'c', 'result': 'OK'}),
                         ['skipped, 2 tests and cases of tests:', "  1: there's no cc (b)", '  1: no QEMU (b)', '9 passed, 0 failed'])

    def test_left_out(self):
        said = ['left out: clang++, which is not installed', 'headers right', 'left out: rv32', 'all left out: no such line']
        self.assertEqual(self.tally({'name': 'a', 'result': 'OK', 'stdout': '\n'.join(said)}),
                         ['skipped, 2 tests and cases of tests:', '  1: apt-get install clang libclang-rt-dev (a)',
                          '  1: apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf (a)', '1 passed, 0 failed'])
        begun = 'test_a (x.X) ... left out: rv32\nok\n\nRan 1 test in 0.1s\n\nOK\n'
        self.assertEqual(self.tally({'name': 'a', 'result': 'OK', 'stderr': begun}),
                         ['skipped, 1 tests and cases of tests:',
                          '  1: apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf (a)', '1 passed, 0 failed'])

    def test_skipped_as_a_whole(self):
        self.assertEqual(self.tally({'name': 'a', 'result': 'SKIP', 'stdout': 'one\nthere is no QEMU\n'}, {'name': 'b', 'result': 'OK'}),
                         ['skipped, 1 tests and cases of tests:', '  1: there is no QEMU (a)', '1 passed, 0 failed'])

    def test_one_line_for_one_reason(self):
        def skips(name, *reasons):
            return {'name': f'opdump:tool / {name}', 'result': 'OK',
                    'stderr': ''.join(f'test_{i} (x.X) ... skipped {why!r}\n' for i, why in enumerate(reasons)) +
                    f'\nRan {len(reasons) + 1} tests in 0.1s\n\nOK (skipped={len(reasons)})\n'}
        told = self.tally(skips('show', 'OPDUMP_MSACCUCMP is not set, or there is no NumPy', 'no NumPy'),
                          skips('convert', 'OPDUMP_MSACCUCMP names no folder'),
                          skips('check', 'the sanitizer takes memory of its own', 'there is no python3-onnx'))
        self.assertEqual(told, ['skipped, 5 tests and cases of tests:',
                                '  2: set OPDUMP_MSACCUCMP, see sh tests/run.sh --help (show, convert)',
                                '  1: apt-get install python3-numpy (show)',
                                '  1: nothing: the build without sanitizers has them (check)',
                                '  1: apt-get install libonnx-testdata python3-onnx (check)', '3 passed, 0 failed'])
        many = self.tally(*(skips(f't{i}', *(f'reason {j}' for j in range(i + 1))) for i in range(30)))
        self.assertEqual(len(many), 16)
        self.assertEqual(many[0], 'skipped, 465 tests and cases of tests:')
        self.assertEqual(sum(int(line.split(':')[0]) for line in many[1:-1]), 465)
        self.assertIn('reason 29', many[-2])

    def test_a_filter_that_matches_no_case_has_failed(self):
        told = self.tally({'name': 'a', 'result': 'OK', 'stdout': '[doctest] test cases: 0 | 0 passed | 0 failed | 7 skipped\n'}, code=1)
        self.assertEqual([told[0], told[-1]], ['failed: plain: a', '0 passed, 1 failed'])

    def test_failures(self):
        told = self.tally({'name': 'a', 'result': 'TIMEOUT', 'stderr': UNITTEST}, code=1)
        self.assertEqual([told[0][:7], told[3], told[-1]],
                         ['skipped', 'failed: plain: a (ended at its time limit)', '1 passed, 1 failed'])
        self.assertEqual(self.tally(code=1), ['0 passed, 0 failed'])

    def test_failed_assertions_are_told_last(self):
        noise = 'opdump: never captured: model "m"\n' * 400
        self.assertEqual(self.tally({'name': 'a', 'result': 'FAIL', 'stdout': noise + DOCTEST_FAILURE + noise + DOCTEST_SUMMARY}, code=1),
                         ['failed: plain: a', '  TEST CASE:  rings', '  ring_test.cpp:9: ERROR: CHECK( a == b ) is NOT correct!',
                          '    values: CHECK( 1 == 2 )', '6 passed, 1 failed'])
        self.assertEqual(self.tally({'name': 'a', 'result': 'FAIL', 'stderr': UNITTEST_FAILURE}, code=1),
                         ['failed: plain: a', '  FAIL: test_a (x.X)', '  ' + '-' * 70, '  Traceback (most recent call last):',
                          '  AssertionError: 1 != 2', '1 passed, 1 failed'])
        self.assertEqual(self.tally({'name': 'a', 'result': 'FAIL', 'stderr': 'no compiler\n'}, code=1),
                         ['failed: plain: a', '  no compiler', '0 passed, 1 failed'])


class Rooms(unittest.TestCase):
    TESTS = [{'name': 'unit ring', 'suite': ['opdump:unit', 'opdump:ring']}, {'name': 'ring model', 'suite': ['opdump:model']},
             {'name': 'verify', 'suite': ['opdump:tool']}, {'name': 'verify of mindspore', 'suite': ['opdump:tool']}]

    def choose(self, *rooms):
        done = subprocess.run([sys.executable, ROOMS, *rooms], input=json.dumps(self.TESTS), text=True, capture_output=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_a_suite_or_a_word_of_a_name(self):
        self.assertEqual(self.choose('ring'), (0, ['unit ring', 'ring model'], ''))
        self.assertEqual(self.choose('verify', 'model'), (0, ['verify', 'verify of mindspore', 'ring model'], ''))

    def test_a_room_without_a_test_is_refused(self):
        self.assertEqual(self.choose('ring', 'rong'), (2, [], "there is no test of 'rong', but of: model ring tool unit verify\n"))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
