#!/usr/bin/env python3
"""Tests of `opdump receive` from outside, with devices written here: tool_receive_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import functools
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import time
import tty

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import wire  # noqa: E402
from tool_case import Case  # noqa: E402

TIME = '20260131130559'
JOURNAL = f'{TIME}/opdump.0.1.journal'
RECORD = f'{TIME}/0/net/1/0/Add.add%d.0.0.158919508158801%d'
HEAD = 'opdump-journal,1,records\nfrom,0,0\n'


def content(i):
    return tool_case.record([], [tool_case.tensor(tool_case.FLOAT, [60 + i], struct.pack('<%df' % (60 + i), *range(60 + i)))])


def closed(written):
    return f'to,0,{written}\nclosed,{written},{written}' + ',0' * 10 + f',{written}\n'


def dump(sender, count=6):
    """A dump as frames, one list per entry or file."""
    parts = [sender.lines(JOURNAL, HEAD)]
    for i in range(count):
        parts.append(sender.file(RECORD % (i, i), content(i)[:100], content(i)[100:]))
        parts.append(sender.lines(JOURNAL, f'written,0,{i},{len(content(i))},{(RECORD % (i, i))[15:]}\n'))
    return parts


class Device:
    """A sender behind a socket or a pseudo-terminal, which answers requests from its last `window` frames."""

    def __init__(self, sender, window=10000):
        self.sender, self.window, self.pending = sender, window, b''
        self.asked = []
        self.ended = False

    def kind(self):
        return wire.ENDED if self.ended else wire.STATE

    def hear(self, data):
        """What to send for what was heard."""
        self.pending += data
        *whole, self.pending = self.pending.split(b'\0')
        answers = b''
        for kind, _, boot, number, body in wire.frames(b'\0'.join(whole) + b'\0'):
            if kind != wire.ASK:
                continue
            count = body[0] if boot == self.sender.boot else 0
            if count:
                self.asked.append((number, count))
            oldest = max(0, len(self.sender.sent) - self.window)
            answers += self.sender.answer(number, count, oldest, self.kind())
        return answers


class Receive(Case):
    parent = tool_case.MEMORY

    def tree(self, directory='dump'):
        return {name: self.read(directory, name)
                for root, _, names in os.walk(self.path(directory))
                for name in (os.path.relpath(os.path.join(root, n), self.path(directory)) for n in names)}

    def recorded(self, stream, expect=0, *options):
        self.write('line', stream)
        return self.run_tool('receive', 'line', '-o', 'dump', *options, expect=expect)

    def serve(self, device, scenes, *options, expect=0, tcp=False):
        """Runs `receive` on a socket; each scene is a connection: what is sent before requests are heard."""
        def begin(scene, line):
            scene(line)
            end = time.monotonic() + 0.3
            return lambda: time.monotonic() >= end

        path = None if tcp else self.path('wire.sock')
        with wire.served(path, device, [functools.partial(begin, scene) for scene in scenes]) as name:
            return self.run_tool('receive', name if tcp else 'wire.sock', '-o', 'dump', *options, expect=expect)

    def test_what_was_recorded(self):
        sender = wire.Sender()
        stream = b''.join(dump(sender)) + sender.lines(JOURNAL, closed(6)) + sender.state(wire.ENDED)
        out, error = self.recorded(b'boot: v1\r\n\xff\x01' + stream)
        self.assertEqual(error, '')
        self.assertEqual(self.tree(), wire.tree(stream))
        self.assertEqual({(RECORD % (i, i)): content(i) for i in range(6)}.items() - self.tree().items(), set())
        self.assertRegex(out, r'^6 files, \d+\.\d KiB, 8 pieces of journals and tables; 38 frames; 12 B of other things\n$')
        self.run_tool('verify', 'dump')

    def test_long_names_and_short_frames(self):
        sender = wire.Sender(body_bytes=19)
        stream = b''.join(dump(sender)) + sender.lines(JOURNAL, closed(6)) + sender.state(wire.ENDED)
        self.recorded(stream)
        self.assertEqual(self.tree(), wire.tree(stream))

    def test_garbage_between_and_within_frames(self):
        sender = wire.Sender()
        parts = dump(sender) + [sender.lines(JOURNAL, closed(6)), sender.state(wire.ENDED)]
        wanted = wire.tree(b''.join(parts))
        rng = random.Random(7)
        self.recorded(b''.join(part + rng.randbytes(rng.randrange(300)) for part in parts))
        self.assertEqual(self.tree(), wanted)

    def test_nothing_is_made_of_garbage(self):
        _, error = self.recorded(random.Random(3).randbytes(300000), expect=1)
        self.assertEqual(self.tree(), {})
        self.assertIn('line: no frame of a dump has come', error)

    def test_each_lost_frame_is_named(self):
        """Whichever frame is lost, nothing is written that was not sent, and both commands say what is missing."""
        sender = wire.Sender()
        parts = dump(sender, 3) + [sender.lines(JOURNAL, closed(3))]
        wanted = wire.tree(b''.join(parts))
        for lost in range(len(sender.sent)):
            with self.subTest(lost=lost):
                sent = sender.sent[:lost] + sender.sent[lost + 1:]
                self.write('line', b''.join(sent) + sender.state(wire.ENDED))
                directory = f'dump{lost}'
                out, error = self.run_tool('receive', 'line', '-o', directory, expect=1)
                self.assertIn(f'opdump: frame {lost} never arrived', error)
                self.assertIn('1 lost in 1 gap', out)
                found = self.tree(directory)
                journal = found.pop(JOURNAL, b'').decode().splitlines()
                self.assertEqual(journal.count(f'unreceived,{lost},{lost}'), 1)
                self.assertEqual(found.items() - wanted.items(), set())
                lines = wanted[JOURNAL].decode().splitlines()
                self.assertEqual(set(journal) - set(lines), {f'unreceived,{lost},{lost}'})
                said, _ = self.run_tool('verify', directory, expect=1)
                self.assertRegex(said, rf'never arrived over the wire \(1\)\n  \S+opdump.0.1.journal  frame {lost}\n')
                for path in wanted.keys() - found.keys() - {JOURNAL}:
                    number = path.split('add')[1][0]
                    self.assertTrue(path in said or 'record ' + number in said or 'records' in said, said)

    def test_a_missing_frame_is_asked_for(self):
        sender = wire.Sender()
        device = Device(sender)
        stream = b''.join(dump(sender) + [sender.lines(JOURNAL, closed(6))])
        lost = {0, 5, 6, 7, 20, len(sender.sent) - 1}
        device.ended = True
        out, error = self.serve(device, [lambda line: line.sendall(
            b''.join(f for i, f in enumerate(sender.sent) if i not in lost))])
        self.assertEqual(error, '')
        self.assertEqual(self.tree(), wire.tree(stream))
        self.assertEqual({n for first, count in device.asked for n in range(first, first + count)} & lost, lost)

    def test_a_missing_frame_is_asked_for_over_tcp(self):
        sender = wire.Sender()
        device = Device(sender)
        stream = b''.join(dump(sender) + [sender.lines(JOURNAL, closed(6))])
        device.ended = True
        out, error = self.serve(device, [lambda line: line.sendall(
            b''.join(f for i, f in enumerate(sender.sent) if i not in (0, 5, 6)))], tcp=True)
        self.assertEqual(error, '')
        self.assertEqual(self.tree(), wire.tree(stream))
        self.assertTrue(device.asked)

    def test_a_server_that_is_not_there(self):
        _, error = self.run_tool('receive', '127.0.0.1:1', '-o', 'dump', expect=1)
        self.assertIn('127.0.0.1:1: Connection refused', error)

    def test_what_the_device_has_no_longer_is_given_up(self):
        sender = wire.Sender()
        device = Device(sender, window=8)
        dump(sender)
        sender.lines(JOURNAL, closed(6))
        lost = {3, 4, len(sender.sent) - 3}
        device.ended = True
        _, error = self.serve(device, [lambda line: line.sendall(
            b''.join(f for i, f in enumerate(sender.sent) if i not in lost))], expect=1)
        self.assertEqual(error.splitlines(), [f'opdump: frames 3 to 4 never arrived; {RECORD % (0, 0)} is incomplete and '
                                              'not written'])
        self.assertIn('unreceived,3,4', self.read('dump', JOURNAL).decode().splitlines())

    def test_a_device_that_goes_and_comes_back(self):
        sender = wire.Sender()
        device = Device(sender)
        parts = dump(sender, 30)
        parts.append(sender.lines(JOURNAL, closed(30)))
        half = len(sender.sent) // 2

        def second(line):
            device.ended = True
            line.sendall(b'hello again' + b''.join(sender.sent[half + 4:]))  # 4 frames went nowhere
        _, error = self.serve(device, [lambda line: line.sendall(b''.join(sender.sent[:half]) + sender.sent[half][:30]),
                                       second])
        self.assertEqual(self.tree(), wire.tree(b''.join(parts)))
        self.assertEqual(error.splitlines(), ['opdump: wire.sock is gone; waiting until it is back',
                                              'opdump: wire.sock is back'])
        self.run_tool('verify', 'dump')

    def test_a_pseudo_terminal(self):
        sender = wire.Sender()
        device = Device(sender)
        parts = dump(sender) + [sender.lines(JOURNAL, closed(6))]
        device.ended = True
        master, slave = pty.openpty()
        tty.setraw(slave)
        process = subprocess.Popen([tool_case.OPDUMP, 'receive', os.ttyname(slave), '-o', 'dump', '--baud', '921600'],
                                   cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.write(master, b'U-Boot\r\n' + b''.join(sender.sent[1:4]))
        while process.poll() is None:
            if select.select([master], [], [], 0.1)[0]:
                os.write(master, device.hear(os.read(master, 4096)))
        out, error = process.communicate()
        os.close(master)
        os.close(slave)
        self.assertEqual((process.returncode, error), (0, b''), out)
        self.assertEqual(self.tree(), wire.tree(b''.join(parts)))

    def test_each_boot_has_its_own_folder(self):
        first, second, third = wire.Sender(1), wire.Sender(2), wire.Sender(2)
        streams = []
        for i, sender in enumerate((first, second, third)):
            parts = dump(sender, 2 + i)
            if i != 1:
                parts.append(sender.lines(JOURNAL, closed(2 + i)))
            streams.append(b''.join(parts))
        # The third boot has the number of the second, and its first file is another one.
        third = wire.Sender(2)
        streams[2] = third.file(RECORD % (7, 7), b'x') + third.state(wire.ENDED)
        self.recorded(b''.join(streams))
        tree = self.tree()
        self.assertEqual({p: c for p, c in tree.items() if not p.startswith('boot')}, wire.tree(streams[0]))
        self.assertEqual({p[12:]: c for p, c in tree.items() if p.startswith('boot_000002/')}, wire.tree(streams[1]))
        self.assertEqual({p[14:]: c for p, c in tree.items() if p.startswith('boot_000002_2/')}, wire.tree(streams[2]))

    def test_pairs_count_both_or_not(self):
        sender = wire.Sender()
        one = struct.pack('<I', 0)
        stream = sender.entry(wire.BEGIN, b'a/one') + sender.entry(wire.DATA, one + b'1')
        two = struct.pack('<I', len(sender.sent))
        stream += sender.entry(wire.BEGIN, b'a/two') + sender.entry(wire.DATA, two + b'2') + sender.entry(wire.COMMIT, one + two)
        self.recorded(stream)
        self.assertEqual(self.tree(), {'a/one': b'1', 'a/two': b'2'})

    def test_a_name_that_leaves_the_directory(self):
        sender = wire.Sender()
        stream = sender.file('../up', b'x') + sender.file('/root', b'y') + sender.file('a/../../b', b'z') + \
            sender.lines('../c.journal', 'x\n')
        _, error = self.recorded(stream, expect=1)
        self.assertEqual(self.tree(), {'root': b'y'})
        self.assertEqual(len(error.splitlines()), 3)
        self.assertEqual(sorted(os.listdir(self.directory)), ['dump', 'line'])

    def test_frames_that_no_device_sends(self):
        rng = random.Random(5)
        for round_ in range(40):
            stream = b''
            for i in range(200):
                number = rng.choice((i, i, i, rng.randrange(1 << 32), rng.randrange(300)))
                body = rng.choice((rng.randbytes(rng.randrange(20)), struct.pack('<I', rng.randrange(300)), b'a/b', b'd/e\0f',
                                   struct.pack('<II', rng.randrange(300), rng.randrange(300))))
                stream += wire.frame(rng.randrange(16), rng.choice((1, 1, 1, 1, 2)), number, body, rng.random() < 0.2)
            self.write('line', stream)
            self.run_tool('receive', 'line', '-o', f'dump{round_}', expect=(0, 1))
        self.assertEqual({name.rstrip('0123456789') for name in os.listdir(self.directory)}, {'dump', 'line'})

    def test_a_newer_format(self):
        _, error = self.recorded(wire.frame(wire.BEGIN, 1, 0, b'a/b', version=2), expect=1)
        self.assertIn('line: 1 frame of version 2 of the format, and this opdump reads version 1', error)

    def test_what_is_refused(self):
        self.write('dump/there', 'x')
        self.write('line', b'')
        _, error = self.run_tool('receive', 'line', '-o', 'dump', expect=1)
        self.assertIn('dump: not empty', error)
        _, error = self.run_tool('receive', 'nowhere', '-o', 'new', expect=1)
        self.assertIn('nowhere: No such file or directory', error)
        for words in ([], ['line'], ['line', 'more', '-o', 'x'], ['line', '-o', 'x', '--baud', '3'],
                      ['line', '-o', 'x', '--idle', 'soon']):
            self.run_tool('receive', *words, expect=2)

    def test_silence_and_interrupts_end_it(self):
        sender = wire.Sender()
        device = Device(sender)
        stream = b''.join(dump(sender))
        out, error = self.serve(device, [lambda line: line.sendall(stream)], '--idle', '1')
        self.assertEqual(self.tree(), wire.tree(stream))
        process = subprocess.Popen([tool_case.OPDUMP, 'receive', '-', '-o', 'again'], cwd=self.directory,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(stream)
        process.stdin.flush()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.tree('again'), wire.tree(stream))


if __name__ == '__main__':
    tool_case.main()
