#!/usr/bin/env python3
"""Tests of what `opdump` draws on a terminal while it works: tool_progress_test.py OPDUMP [unittest arguments].

A bar comes only when the work takes a moment. So the command is stopped for most of the time: what it does before the
bar is due is little work, however fast the machine is. Standard library only.
"""
import contextlib
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import wire  # noqa: E402
from tool_case import Case  # noqa: E402

FILES = 2500
LINES = 200000
STOPPED = 0.11  # seconds: longer than between two bars
TIME = '20260131130559'
BAR = re.compile(rb'\r\[(=*) *\] +(\d+)%  (?:([\d.]+ \w+) of ([\d.]+ \w+)  [\d.]+ \w+/s|([a-z][a-z ]+))  [\d:?]+ left\x1b\[K')
COUNT = re.compile(rb'\r(\d+) files found\x1b\[K')
WIPED = b'\r\x1b[K'


class Progress(Case):
    parent = tool_case.MEMORY

    def on_terminal(self, *arguments, slow=True, until=None, while_it_runs=lambda: None):
        """What a command writes to a terminal that is its stderr, and its output. It is slowed down until three bars are drawn;
        with `until`, until all of that is, except while a bar tells of bytes."""
        master, slave = pty.openpty()
        process = subprocess.Popen([tool_case.OPDUMP, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        output = []
        reader = threading.Thread(target=lambda: output.append(process.stdout.read()))
        reader.start()
        drawn, slow_until = b'', time.monotonic() + 60

        def is_drawn():
            if until is None:
                return drawn.count(b'%') >= 3
            return b' of ' in drawn.rsplit(WIPED, 1)[-1] or all(told in drawn for told in until)

        while True:
            while_it_runs()
            if slow and process.poll() is None and not is_drawn() and time.monotonic() < slow_until:
                process.send_signal(signal.SIGSTOP)
                time.sleep(STOPPED)
                process.send_signal(signal.SIGCONT)
            if select.select([master], [], [], 0.002)[0]:
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

    def check_bar(self, *arguments, most=1):
        """A bar, or up to `most` one after the other, grows on a terminal and is wiped away; elsewhere nothing is drawn, and the output is the same."""
        drawn, output, status = self.on_terminal(*arguments)
        self.assertGreaterEqual(len(BAR.findall(drawn)), 2, drawn)
        bars = [bars for bars in ([*BAR.finditer(part)] for part in drawn.split(WIPED)) if bars]
        self.assertLessEqual(len(bars), most, drawn)
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
        """Slowed down as well, a command whose stderr is a pipe says nothing there."""
        process = subprocess.Popen([tool_case.OPDUMP, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 0.8
        while process.poll() is None and time.monotonic() < end:
            process.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.002)
        output, error = process.communicate()
        self.assertEqual((error, process.returncode), (b'', expect))
        return output

    def make_records(self, folder='dump', count=FILES):
        data = struct.pack('<256f', *range(256))
        one = tool_case.record([tool_case.tensor(tool_case.FLOAT, [256], data)],
                               [tool_case.tensor(tool_case.FLOAT, [256], data)])
        for i in range(count):
            self.write(f'{folder}/{TIME}/0/net/1/{i}/Add.add.0.0.{158919508158801 + i}', one)

    def test_convert(self):
        self.make_records()
        output, status = self.check_bar('convert', '-r', '-d', 'dump', '-out', 'slow')
        self.assertEqual(status, 0)
        self.assertEqual(self.check_nothing('convert', '-r', '-d', 'dump', '-out', 'other').replace(b'other', b'slow'), output)
        self.assertEqual(len(self.files('slow')), len(self.files('other')))

    def test_verify(self):
        lines = ['opdump-journal,1,records', 'from,0,0']
        lines += [f'written,0,{i},8,net/1/0/Add.add.0.0.{i}' for i in range(LINES)]
        lines += [f'to,0,{LINES}', f'closed,{LINES},{LINES}' + ',0' * 10 + f',{LINES}', '']
        self.write(f'dump/{TIME}/opdump.0.1.journal', '\n'.join(lines))
        output, status = self.check_bar('verify', '--quick', 'dump')
        self.assertEqual(status, 1)
        self.assertEqual(self.check_nothing('verify', '--quick', 'dump', expect=1), output)

    def test_what_reads_all_tensors(self):
        self.make_records()
        for command in (('compare', 'dump', 'dump'), ('diff', 'dump', 'dump'), ('edges', 'dump'),
                        ('report', 'dump', '-o', 'page.html')):
            # One for the files of each dump, and one or two for the tensors.
            output, status = self.check_bar(*command, most=4)
            self.assertEqual(status, 0, command)
            self.assertEqual(self.check_nothing(*command), output)

    def test_what_is_done_besides_reading(self):
        """Sorting, pairing and the like have a bar that names them."""
        one = tool_case.record([tool_case.tensor(tool_case.FLOAT, [2], bytes(8))] * 20,
                               [tool_case.tensor(tool_case.FLOAT, [2], bytes(8))] * 20)
        for i in range(500):
            self.write(f'dump/{TIME}/0/net/1/{i}/Add.add{i}.0.0.{158919508158801 + i}', one)
        for command, told in ((('compare', 'dump', 'dump'), ('sorting tensors', 'pairing tensors', 'judging operators')),
                              (('diff', 'dump', 'dump'), ('sorting tensors', 'comparing runs')),
                              (('edges', 'dump'), ('sorting tensors', 'following tensors')),
                              (('report', 'dump', '-o', 'page.html'), ('sorting records', 'summing up records', 'writing the page'))):
            until = [text.encode() for text in told]
            drawn, _, status = self.on_terminal(*command, until=until)
            self.assertEqual(status, 0, command)
            for text in until:
                self.assertIn(text, drawn, command)
            self.assertEqual(self.beside_bars(drawn), b'')
            for part in drawn.split(WIPED):
                bars = [*BAR.finditer(part)]
                if bars:
                    self.check_drawn(bars)

    def test_finding_files(self):
        """How many there are nobody knows before: they are counted."""
        for i in range(20000):
            self.write(f'dump/{i}.bin', b'')
        drawn, _, _ = self.on_terminal('show', 'dump', until=[b'files found', b'sorting files'])
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
        output, status = self.check_bar('extract', 'flash.img', '-o', 'slow')
        self.assertEqual(status, 0)
        self.assertEqual(self.check_nothing('extract', 'flash.img', '-o', 'other'), output)
        self.assertEqual(self.files('slow'), self.files('other'))

    def test_receive(self):
        """Its end is not known: what has come is told, five times a second."""
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
                        time.sleep(0.05)
            feeder = threading.Thread(target=feed)
            feeder.start()
            if terminal:
                drawn, output, status = self.on_terminal(*command, slow=False)
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

    def test_send(self):
        self.make_records(count=40)

        class Device:
            def __init__(self):
                self.pending, self.next = b'', 0

            def hear(self, data):
                self.pending += data
                *whole, self.pending = self.pending.split(b'\0')
                answers = b''
                for kind, _, session, number, _ in wire.frames(b'\0'.join(whole) + b'\0'):
                    if kind not in (wire.INPUT, wire.BYTES, wire.STEP, wire.OVER):
                        continue
                    time.sleep(0.005)
                    self.next = max(self.next, number + 1)
                    answers += wire.frame(wire.TAKEN, session, number + 1, b'\0')
                return answers

        for terminal in (True, False):
            with wire.served(self.path('wire.sock'), Device(), [lambda line: lambda: False]):
                command = ('send', 'wire.sock', 'dump')
                if terminal:
                    self.assertIn(b'40 steps, 40 inputs', self.check_bar(*command)[0])
                else:
                    self.assertIn(b'40 steps, 40 inputs', self.check_nothing(*command))


if __name__ == '__main__':
    tool_case.main()
