#!/usr/bin/env python3
"""The example for single operators on a simulated driver: as the build made it, and by the commands of its README.

usage: ascend_examples_test.py OPDUMP SINGLE_OPERATOR SERVER OPERATORS SOURCE_ROOT PKG_CONFIG_PATH COMPILER

SERVER and OPERATORS are the simulated libraries of tests/support/ascend.
"""
import os
import re
import shutil
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
from readme_commands import cann_package, commands_of, run_commands  # noqa: E402
from tool_case import Case  # noqa: E402

PROGRAM, SERVER, OPERATORS, ROOT, PKG_CONFIG_PATH = [os.path.abspath(path) for path in sys.argv[2:7]]
COMPILER = sys.argv[7]
del sys.argv[2:8]

# The example leaves its tensors to the end of the process.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS='detect_leaks=0:exitcode=%d' % tool_case.CRASH)
EXAMPLE = os.path.join(ROOT, 'examples', 'ascend')
SHOWN = """\
TYPE  NAME   TASK  STREAM  TIME                         STEP  MODEL
Add   add       -       0  TIME      -  -
  input   0  float32  ND  [2,3]  24 B  min -6   max 5   mean -0.5
  input   1  float32  ND  [2,3]  24 B  min -10  max 10  mean 2.16667
  output  0  float32  ND  [2,3]  24 B  min -7   max 15  mean 1.66667
Relu  relu      -       0  TIME      -  -
  input   0  float32  ND  [2,3]  24 B  min -7  max 15  mean 1.66667
  output  0  float32  ND  [2,3]  24 B  min 0   max 15  mean 4.33333

2 records, 5 tensors, 120 B
"""


class SingleOperator(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('dump'))
        shutil.copy(os.path.join(EXAMPLE, 'single_operator.json'), self.directory)

    def run_program(self, program=PROGRAM, driver='', expect=0, config='single_operator.json'):
        done = waiting.run([program, config], cwd=self.directory, capture_output=True, text=True,
                           check=False, env=dict(ENVIRONMENT, SIMULATED_ASCEND=driver))
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr

    def journal(self):
        (folder,) = os.listdir(self.path('dump'))
        (name,) = [name for name in os.listdir(self.path('dump', folder)) if name.endswith('.journal')]
        return self.read('dump', folder, name).decode()

    def check_dump(self):
        self.assertTrue(self.run_tool('verify', 'dump')[0].startswith('complete\n'))
        shown = re.sub(r'\d{4}-\d\d-\d\dT[\d:.]+', 'TIME', self.run_tool('show', 'dump')[0])
        self.assertEqual(shown, SHOWN)

    def test_every_form_of_the_driver_gives_the_same_dump(self):
        for driver in ('', 'rc', 'rc hides_run_mode', 'fail=aclrtMallocHost:207000'):
            with self.subTest(driver=driver):
                shutil.rmtree(self.path('dump'))
                os.mkdir(self.path('dump'))
                self.run_program(driver=driver)
                self.check_dump()

    def test_what_fails_on_the_way_is_in_the_journal(self):
        self.run_program(driver='fail=aclrtMemcpyAsync:507899')
        self.check_dump()
        self.assertIn('\ndriver,aclrtMemcpyAsync,507899\nclosed,', self.journal())

    def test_without_a_config_the_operators_run_without_a_dump(self):
        said = self.run_program(config='gone.json', expect=1)
        self.assertIn('no dump', said)
        self.assertIn('gone.json', said)
        self.assertEqual(self.files('dump'), [])

    def test_the_commands_of_the_readme(self):
        shutil.copy(os.path.join(EXAMPLE, 'single_operator.cpp'), self.directory)
        shutil.rmtree(self.path('dump'))
        cann = cann_package(self.path('cann'), os.path.join(ROOT, 'tests', 'support', 'ascend', 'cann'),
                            {'ascendcl': SERVER, 'opapi': OPERATORS, 'nnopbase': OPERATORS})
        done = run_commands(commands_of(os.path.join(EXAMPLE, 'README.md'), 'single_operator.cpp'), self.directory, COMPILER,
                            [tool_case.OPDUMP], ASCEND_HOME_PATH=cann, PKG_CONFIG_PATH=PKG_CONFIG_PATH, SIMULATED_ASCEND='',
                            ASAN_OPTIONS=ENVIRONMENT['ASAN_OPTIONS'],
                            LD_LIBRARY_PATH=os.path.dirname(SERVER) + ':' + os.path.join(cann, 'lib64'))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith('complete\n'), done.stdout)
        self.check_dump()

    def test_the_example_is_short(self):
        with open(os.path.join(EXAMPLE, 'single_operator.cpp'), encoding='utf-8') as file:
            self.assertLessEqual(len(file.readlines()), 80)


if __name__ == '__main__':
    tool_case.main()
