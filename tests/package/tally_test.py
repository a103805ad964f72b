#!/usr/bin/env python3
"""What tests/tally.py makes of the logs of Meson: nothing that was skipped or left out goes unsaid.

usage: tally_test.py SOURCE_ROOT
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

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
                         ['skipped: plain: b (2 of its cases: there\'s no cc, no QEMU)', '9 passed, 0 failed'])

    def test_left_out(self):
        said = ['left out: clang++, which is not installed', 'headers right', 'left out: rv32', 'all left out: no such line']
        self.assertEqual(self.tally({'name': 'a', 'result': 'OK', 'stdout': '\n'.join(said)}),
                         ['skipped: plain: a (2 of its cases: clang++, which is not installed, rv32)', '1 passed, 0 failed'])
        begun = 'test_a (x.X) ... left out: rv32\nok\n\nRan 1 test in 0.1s\n\nOK\n'
        self.assertEqual(self.tally({'name': 'a', 'result': 'OK', 'stderr': begun}),
                         ['skipped: plain: a (1 of its cases: rv32)', '1 passed, 0 failed'])

    def test_skipped_as_a_whole(self):
        self.assertEqual(self.tally({'name': 'a', 'result': 'SKIP', 'stdout': 'one\nthere is no QEMU\n'}, {'name': 'b', 'result': 'OK'}),
                         ['skipped: plain: a (there is no QEMU)', '1 passed, 0 failed'])

    def test_failures(self):
        told = self.tally({'name': 'a', 'result': 'TIMEOUT', 'stderr': UNITTEST}, code=1)
        self.assertEqual([told[0][:7], told[1], told[-1]], ['skipped', 'failed: plain: a', '1 passed, 1 failed'])
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


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
