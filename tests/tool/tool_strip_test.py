#!/usr/bin/env python3
"""Tests of `opdump show --heat` and `--steps` from outside: tool_strip_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import fcntl
import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case, FLOAT, INT8, floats, record, tensor  # noqa: E402

BLOCKS = '▁▂▃▄▅▆▇█'


class Strips(Case):
    def put(self, op, step, *values, number=0):
        self.write('dump/20260131130559/0/net/1/%d/Op.%s.%d.0.%016d' % (step, op, number, 1000 * step + number + 1),
                   record([tensor(FLOAT, [1], floats(1e9))], [tensor(FLOAT, [len(values)], floats(*values))]))

    def network(self):
        for step in range(3):
            self.put('conv1', step, 1 + step, -0.5, number=0)
            self.put('relu1', step, *((math.nan, math.inf) if step == 2 else (10 ** (step + 1), 0)), number=1)
            self.put('zero', step, 0, number=2)
        self.put('late', 1, -1000, number=3)

    def in_terminal(self, *arguments, width=60, **environment):
        leader, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, width, 0, 0))
        done = subprocess.Popen([tool_case.OPDUMP, *arguments], cwd=self.directory, stdout=terminal,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                env={**{name: value for name, value in os.environ.items() if name != 'NO_COLOR'},
                                     'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', **environment})
        os.close(terminal)
        out = b''
        try:
            while part := os.read(leader, 65536):
                out += part
        except OSError:  # the other end is closed
            pass
        os.close(leader)
        self.assertEqual(done.wait(), 0, done.stderr.read())
        done.stderr.close()
        return out.decode().replace('\r\n', '\n')

    def test_letters(self):
        self.network()
        out, error = self.run_tool('show', 'dump', '--heat')
        self.assertEqual(error, '')
        self.assertEqual(out, '''\
net: greatest |x| of the outputs, 4 operators from conv1 to late, 3 steps down
      0 |ac. |
      1 |af.h|
      2 |b!. |
  a is 1, h is 1000, on a scale of logarithms
  . zero   ! NaN or Inf   blank: not dumped
  ! relu1 at step 2: 1 NaN, 1 Inf
''')

    def test_a_terminal_gets_blocks_and_colours(self):
        self.network()
        out = self.in_terminal('show', 'dump', '--heat')
        self.assertIn('\033[38;5;196m!\033[0m', out)
        plain = re.sub(r'\033\[[\d;]*m', '', out)
        self.assertEqual(plain.splitlines()[1:4], ['      0 |▁▃. |', '      1 |▁▆.█|', '      2 |▂!. |'])
        self.assertEqual(self.in_terminal('show', 'dump', '--heat', NO_COLOR='1'), plain)
        self.assertEqual(self.in_terminal('show', 'dump', '--heat', TERM='dumb').splitlines()[1], '      0 |ac. |')

    def test_no_bad_operator_is_lost_in_a_narrow_terminal(self):
        for i in range(200):
            self.put('op%d' % i, 0, math.nan if i == 77 else 1, number=i)
        plain = re.sub(r'\033\[[\d;]*m', '', self.in_terminal('show', 'dump', '--heat', width=40))
        row = plain.splitlines()[1]
        self.assertIn('200 operators from op0 to op199, 7 in a column', plain)
        self.assertEqual(row, '      0 |' + '▁' * 11 + '!' + '▁' * 17 + '|')
        self.assertLessEqual(len(row), 40)
        self.assertIn('! op77 at step 0: 1 NaN, 0 Inf', plain)

    def test_one_value_and_none(self):
        self.put('a', 0, 5)
        self.assertIn('      0 |a|\n  a is 5, a is 5,', self.run_tool('show', 'dump', '--heat')[0])
        self.write('b/20260131130559/0/net/1/0/Op.b.1.0.0000000000000001', record([], [tensor(INT8, [0], b'')]))
        self.assertIn('      0 | |\n  . zero', self.run_tool('show', 'b', '--heat')[0])

    def test_statistics_from_step_to_step(self):
        self.network()
        out, _ = self.run_tool('show', 'dump', '--op', 'relu1', '--steps')
        self.assertEqual(out, '''\
Op relu1 (net)
  input 0, 3 steps, 0 to 2
    min     |aaa| 1e+09 to 1e+09, last 1e+09
    max     |aaa| 1e+09 to 1e+09, last 1e+09
    mean    |aaa| 1e+09 to 1e+09, last 1e+09
    nan+inf |aaa| 0 to 0, last 0
  output 0, 3 steps, 0 to 2
    min     |aa | 0 to 0, last 0
    max     |ah | 10 to 100, last 100
    mean    |ah | 5 to 50, last 50
    nan+inf |aah| 0 to 2, last 2
''')
        out = re.sub(r'\033\[[\d;]*m', '', self.in_terminal('show', 'dump', '--op', 'conv1', '--steps'))
        self.assertIn('    max     |▁▅█| 1 to 3, last 3\n', out)

    def test_more_steps_than_cells(self):
        for step in range(150):
            self.put('a', step, 99 if step == 100 else step % 2)
        out, _ = self.run_tool('show', 'dump', '--steps')
        self.assertIn('  output 0, 150 steps, 0 to 149, 3 in a cell\n', out)
        self.assertIn('    max     |' + 'a' * 33 + 'h' + 'a' * 16 + '| 0 to 99, last 1\n', out)

    def test_statistics_files(self):
        self.write('dump/20260131130559/0/net/1/0/Op.a.1.0.0000000000000001.csv',
                   'Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,Avg Value,l2norm\n'
                   'Output,0,8,DT_FLOAT,ND,[2],2,3,-1,1,4\n')
        self.assertIn('      0 |a|\n  a is 3,', self.run_tool('show', 'dump', '--heat')[0])

    def test_names_that_could_do_harm(self):
        self.put('\033[2J', 0, math.nan)
        for option in ('--heat', '--steps'):
            self.assertNotIn('\033', self.run_tool('show', 'dump', option)[0])

    def test_usage(self):
        for options in (('--heat', '--json'), ('--heat', '--steps'), ('--steps', '--stats'), ('--heat', '--head', '3')):
            self.run_tool('show', 'dump', *options, expect=2)
        self.run_tool('show', 'nothing', '--heat', expect=1)


if __name__ == '__main__':
    tool_case.main()
