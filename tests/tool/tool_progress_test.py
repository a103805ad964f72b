#!/usr/bin/env python3
"""Tests of what `opdump` draws on a terminal while it works: tool_progress_test.py OPDUMP HURRIED_CLOCK [unittest arguments].

A bar comes only when the work takes a moment. So the command's clock goes on by much at each reading: what it does
before the bar is due is little work, however fast the machine is.
"""
import contextlib
import json
import os
import pty
import re
import struct
import subprocess
import sys
import threading

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
import wire  # noqa: E402
from tool_case import Case  # noqa: E402

HURRIED = {}

FILES = 400
LINES = 20000
TIME = '20260131130559'
BAR = re.compile(rb'\r\[(=*) *\] +(\d+)%  (?:([\d.]+ \w+) of ([\d.]+ \w+)  [\d.]+ \w+/s|([a-z][a-z ]+))  [\d:?]+ left\x1b\[K')
COUNT = re.compile(rb'\r(\d+) files found\x1b\[K')
WIPED = b'\r\x1b[K'


class Progress(Case):
    parent = tool_case.MEMORY

    def on_terminal(self, *arguments):
        """What a command writes to a terminal that is its stderr, and its output."""
        master, slave = pty.openpty()
        process = subprocess.Popen([tool_case.OPDUMP, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=slave, env=HURRIED)
        os.close(slave)
        output = []
        reader = threading.Thread(target=lambda: output.append(process.stdout.read()))
        reader.start()
        drawn = b''
        while True:
            with contextlib.suppress(OSError):  # the other end is closed
                piece = os.read(master, 4096)
                drawn += piece
                if piece:
                    continue
            break
        process.wait()
        reader.join()
        process.stdout.close()
        os.close(master)
        return drawn, output[0], process.returncode

    def check_bars(self, told, *arguments):
        """Bars grow on a terminal, one after the other, each of bytes or of the work that it names, and are wiped away."""
        drawn, output, status = self.on_terminal(*arguments)
        bars = [bars for bars in ([*BAR.finditer(part)] for part in drawn.split(WIPED)) if bars]
        self.assertEqual([(one[0].group(5) or b'bytes').decode() for one in bars], told)
        for one in bars:
            self.check_drawn(one)
        self.assertTrue(drawn.endswith(WIPED), drawn[-80:])
        self.assertEqual(self.beside_bars(drawn), b'')
        return output, status

    @staticmethod
    def beside_bars(drawn):
        return COUNT.sub(b'', BAR.sub(b'', drawn)).replace(WIPED, b'').replace(b'\r', b'')

    def check_drawn(self, bars):
        shares = [int(bar.group(2)) for bar in bars]
        self.assertEqual(shares, sorted(shares))
        self.assertTrue(all(share <= 100 for share in shares), shares)
        for bar in bars:
            # Of 30; the number is cut to whole ones.
            least, most = (share * 30 // 100 for share in (int(bar.group(2)), int(bar.group(2)) + 1))
            self.assertTrue(least <= len(bar.group(1)) <= most, bar.group(0))
        self.assertEqual(len({bar.group(4, 5) for bar in bars}), 1)

    def check_nothing(self, *arguments, expect=0):
        """Under the same clock, a command whose stderr is a pipe says nothing there."""
        done = waiting.run([tool_case.OPDUMP, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL, env=HURRIED,
                           capture_output=True, check=False)
        self.assertEqual((done.stderr, done.returncode), (b'', expect))
        return done.stdout

    def make_records(self, folder='dump', count=FILES):
        data = struct.pack('<256f', *range(256))
        one = tool_case.record([tool_case.tensor(tool_case.FLOAT, [256], data)],
                               [tool_case.tensor(tool_case.FLOAT, [256], data)])
        for i in range(count):
            self.write(f'{folder}/{TIME}/0/net/1/{i}/Add.add.0.0.{158919508158801 + i}', one)

    def test_convert(self):
        self.make_records()
        output, status = self.check_bars(['measuring files', 'bytes'], 'convert', '-r', '-d', 'dump', '-out', 'slow')
        self.assertEqual(status, 0)
        self.assertEqual(self.check_nothing('convert', '-r', '-d', 'dump', '-out', 'other').replace(b'other', b'slow'), output)
        self.assertEqual(len(self.files('slow')), len(self.files('other')))

    def test_convert_of_one_record(self):
        self.write(tool_case.NAME, tool_case.record([], [tool_case.tensor(tool_case.INT8, [64 << 20], bytes(64 << 20))]))
        drawn, _, status = self.on_terminal('convert', '-d', tool_case.NAME, '-out', 'out', '-f', 'ND')
        self.assertEqual(status, 0)
        self.assertRegex(drawn.decode(), r'\[=* *\] +\d+%  [\d.]+ \w+ of 64\.0 MiB  [\d.]+ \w+/s  \d+:\d\d left')
        self.assertTrue(drawn.endswith(WIPED), drawn[-80:])
        self.check_nothing('convert', '-d', tool_case.NAME, '-out', 'out')

    def test_verify(self):
        lines = ['opdump-journal,1,records', 'from,0,0']
        lines += [f'written,0,{i},8,net/1/0/Add.add.0.0.{i}' for i in range(LINES)]
        lines += [f'to,0,{LINES}', f'closed,{LINES},{LINES}' + ',0' * 10 + f',{LINES}', '']
        self.write(f'dump/{TIME}/opdump.0.1.journal', '\n'.join(lines))
        output, status = self.check_bars(['bytes'], 'verify', '--quick', 'dump')
        self.assertEqual(status, 1)
        self.assertEqual(self.check_nothing('verify', '--quick', 'dump', expect=1), output)

    def test_show(self):
        """In the end it reads of firings from the journals."""
        self.make_records()
        lines = [f'written,0,{i},8,net/1/0/Add.add.0.0.{i}' for i in range(LINES)]
        self.write(f'dump/{TIME}/opdump.0.1.journal', '\n'.join(['opdump-journal,1,records', 'from,0,0', *lines, '']))
        output, status = self.check_bars(['sorting files', 'measuring files', 'bytes', 'looking for journals', 'bytes'],
                                         'show', 'dump')
        self.assertEqual(status, 0)
        self.assertEqual(self.check_nothing('show', 'dump'), output)

    def test_models(self):
        self.write('acl.json', json.dumps({'dump': {'dump_path': '.', 'dump_list': [{'model_name': 'net'}]}}))
        self.write('run.json', json.dumps({'models': [{'name': 'net', 'id': 1, 'ops': [
            {'name': f'op{i}', 'type': 'Add', 'outputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [16]}]}
            for i in range(FILES)]}]}))
        check = ('check', 'acl.json', '--model', 'run.json')
        output, status = self.check_bars(['bytes', 'reading operators'], *check)
        self.assertEqual(status, 0)
        self.assertEqual(self.check_nothing(*check), output)
        _, status = self.check_bars(['bytes', 'reading operators', 'placing operators', 'bytes'],
                                    'replay', 'run.json', '--config', 'acl.json')
        self.assertEqual(status, 0)

    def test_what_reads_all_tensors(self):
        self.make_records()
        read = ['measuring files', 'bytes']
        for told, *command in (
                ([*read, *read, 'pairing tensors', 'bytes', 'judging operators'], 'compare', 'dump', 'dump'),
                ([*read, 'bytes', *read, 'bytes', 'comparing runs'], 'diff', 'dump', 'dump'),
                ([*read, 'following tensors'], 'edges', 'dump'),
                ([*read, 'bytes', 'summing up records', 'following tensors', 'looking for what stands out',
                  'bytes', 'writing the page'], 'report', 'dump', '-o', 'page.html')):
            with self.subTest(command):
                output, status = self.check_bars(told, *command)
                self.assertEqual(status, 0)
                self.assertEqual(self.check_nothing(*command), output)

    def test_finding_files(self):
        """How many there are nobody knows before: they are counted."""
        for i in range(2000):
            self.write(f'dump/{i}.bin', b'')
        drawn, _, _ = self.on_terminal('show', 'dump')
        counts = [int(count) for count in COUNT.findall(drawn)]
        self.assertGreaterEqual(len(counts), 1, drawn[:400])
        self.assertEqual(counts, sorted(counts))
        self.assertIn(b'sorting files', drawn)

    def test_extract(self):
        self.write('flash.img', b'\xff' * (8 << 20))
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'flash.img', 'dump_list': [{'model_name': 'net'}]}}))
        self.write('run.json', json.dumps({'steps': FILES, 'models': [{'name': 'net', 'id': 1, 'ops': [
            {'name': 'add', 'type': 'Add', 'outputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [512]}]}]}]}))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        output, status = self.check_bars(['blocks checked', 'bytes'], 'extract', 'flash.img', '-o', 'slow')
        self.assertEqual(status, 0)
        self.assertEqual(self.check_nothing('extract', 'flash.img', '-o', 'other'), output)
        self.assertEqual(self.files('slow'), self.files('other'))

    def test_receive(self):
        """Its end is not known: what has come is told, as often as the clock goes on by 200 ms."""
        for terminal in (True, False):
            sender = wire.Sender()
            stream = sender.lines(f'{TIME}/opdump.0.1.journal', 'opdump-journal,1,records\n')
            stream += b''.join(sender.file(f'{TIME}/0/op.{i}', bytes(500)) for i in range(30)) + sender.state(wire.ENDED)
            os.mkfifo(self.path('line'))
            command = ('receive', 'line', '-o', f'dump{terminal}')

            def feed():
                with open(self.path('line'), 'wb') as line:
                    for at in range(0, len(stream), 1500):
                        line.write(stream[at:at + 1500])
                        line.flush()
                        wire.until_empty(line)
            feeder = threading.Thread(target=feed)
            feeder.start()
            if terminal:
                drawn, output, status = self.on_terminal(*command)
                told = re.findall(rb'\r(\d+) files?, [\d.]+ \w+, 0 frames lost  [\d.]+ \w+/s\x1b\[K', drawn)
                self.assertGreaterEqual(len(told), 2, drawn)
                self.assertEqual([int(n) for n in told], sorted(int(n) for n in told))
                self.assertLess(int(told[0]), int(told[-1]))
                self.assertTrue(drawn.endswith(WIPED), drawn[-80:])
                self.assertEqual((status, len(self.files('dumpTrue'))), (0, 30))
                told_last = output
            else:
                output, error = self.run_tool(*command)
                self.assertEqual((output.encode(), error), (told_last, ''))
            feeder.join()
            os.remove(self.path('line'))


if __name__ == '__main__':
    HURRIED.update(os.environ, LD_PRELOAD=os.path.abspath(sys.argv.pop(2)))
    tool_case.main()
