#!/usr/bin/env python3
"""Tests of `opdump receive` from outside, with devices written here: tool_receive_test.py OPDUMP MOVED_CLOCK [unittest
arguments].

Where the time counts that the command waits, its clock is one that the test moves. Standard library only.
"""
import os
import pty
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tty
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
import wire  # noqa: E402
from moved_clock import MovedClock  # noqa: E402
from peak_memory import measured  # noqa: E402
from tool_case import Case  # noqa: E402

CLOCK = ''  # moved_clock.cpp
PATIENT = ('--wait', '300')  # as long as a busy machine may take
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

    def serve(self, device, scenes, expect=0, tcp=False):
        """Runs `receive` on a socket; each scene is a connection: what is sent before requests are heard. All but the last
        end when that was read."""
        def beginning(scene):
            def begin(line):
                scene(line)
                return lambda: wire.is_read(line)
            return begin

        path = None if tcp else self.path('wire.sock')
        with wire.served(path, device, [beginning(scene) for scene in scenes]) as name:
            return self.run_tool('receive', name if tcp else 'wire.sock', '-o', 'dump', *PATIENT, expect=expect)

    def moved_clock(self):
        clock = MovedClock(CLOCK)
        self.addCleanup(clock.close)
        return clock

    def begin(self, line, *options, clock=None, **how):
        """Starts `receive`."""
        process = subprocess.Popen([tool_case.OPDUMP, 'receive', line, '-o', 'dump', *options], cwd=self.directory,
                                   env=dict(os.environ, **(clock.environment if clock else {})), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **how)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        return process

    def connect(self, *options, clock):
        """Starts it on a socket: the process and its line, at which it has begun to look."""
        server = socket.socket(socket.AF_UNIX)
        server.bind(self.path('wire.sock'))
        server.listen(1)
        process = self.begin('wire.sock', *options, clock=clock)
        line, _ = server.accept()
        server.close()
        self.addCleanup(line.close)
        return process, line

    def send(self, line, data, process, clock):
        """Returns when it has done all that there is to do with the data at this time."""
        line.sendall(data)
        wire.until_read(line)
        with clock.standing(process):
            pass

    def asked(self, line):
        """What it has asked for since: the first frame and the count, which is 0 for how far the device is."""
        data = b''
        line.setblocking(False)
        try:
            while piece := line.recv(4096):
                data += piece
        except BlockingIOError:
            pass
        finally:
            line.setblocking(True)
        return [(number, body[0]) for kind, _, _, number, body in wire.frames(data) if kind == wire.ASK]

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

    def test_a_device_that_is_no_line(self):
        out, error = self.run_tool('receive', '/dev/null', '-o', 'dump', expect=1)
        self.assertEqual(error.splitlines(), [
            'opdump: /dev/null: at its end, which a line never is; name a serial line, a socket or what was recorded',
            'opdump: /dev/null: no frame of a dump has come'])
        # One that never ends is left to who interrupts it.
        process = self.begin('/dev/zero')
        waiting.until_caught(process, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, error = waiting.end_of(process)
        self.assertEqual(error, b'opdump: /dev/zero: no frame of a dump has come\n')

    def test_a_pseudo_terminal(self):
        sender = wire.Sender()
        device = Device(sender)
        parts = dump(sender) + [sender.lines(JOURNAL, closed(6))]
        device.ended = True
        master, slave = pty.openpty()
        tty.setraw(slave)
        process = self.begin(os.ttyname(slave), '--baud', '921600', *PATIENT)
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
            streams.append(b''.join(parts) + sender.state())
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
        stream += sender.entry(wire.BEGIN, b'a/two') + sender.entry(wire.DATA, two + b'2') + sender.entry(wire.COMMIT, one + two) + \
            sender.state()
        self.recorded(stream)
        self.assertEqual(self.tree(), {'a/one': b'1', 'a/two': b'2'})

    def test_a_name_that_leaves_the_directory(self):
        sender = wire.Sender()
        stream = sender.file('../up', b'x') + sender.file('/root', b'y') + sender.file('a/../../b', b'z') + \
            sender.lines('../c.journal', 'x\n') + sender.state()
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

    def test_what_was_sent_last_may_be_unknown(self):
        """Frames that are lost behind the last one that came are named when the device tells of them, and otherwise it
        is said that nobody knows of any."""
        sender = wire.Sender()
        parts = dump(sender, 2)
        came, last = b''.join(parts[:3]), len(sender.sent)
        sender.sent = sender.sent[:sum(1 for _ in wire.frames(came))]
        known = len(sender.sent)
        untold = f'opdump: the device has not told how far it is since frame {known - 1}: whether it sent more is not known\n'
        out, error = self.recorded(came, 1)
        self.assertEqual(error, untold)
        self.assertNotIn('lost', out)
        os.rename(self.path('dump'), self.path('cut'))
        self.recorded(came + sender.state())
        os.rename(self.path('dump'), self.path('whole'))
        self.assertEqual(self.tree('cut'), self.tree('whole'))

        # A device that hears nothing.
        clock = self.moved_clock()
        process, line = self.connect('--idle', '1', clock=clock)
        self.send(line, came, process, clock)
        clock.move(1)
        _, error = waiting.end_of(process)
        self.assertEqual((process.returncode, error.decode()), (1, untold))
        self.assertEqual(self.tree(), self.tree('whole'))
        os.rename(self.path('dump'), self.path('deaf'))
        sender.sent += [b''] * (last - known)
        _, error = self.recorded(came + sender.state(), 1)
        self.assertEqual(error, f'opdump: frames {known} to {last - 1} never arrived\n')
        os.rename(self.path('dump'), self.path('told'))
        _, error = self.recorded(came + wire.frame(wire.BEGIN, 2, 0, b'a/b') + wire.Sender(2).state(), 1)
        self.assertTrue(error.startswith(untold), error)

    def test_who_interrupts_a_silent_device_hears_of_it(self):
        sender = wire.Sender()
        master, slave = pty.openpty()
        tty.setraw(slave)
        clock = self.moved_clock()
        process = self.begin(os.ttyname(slave), clock=clock)
        sent = b''.join(dump(sender, 1))
        os.write(master, sent)

        def written():
            return os.path.exists(self.path('dump', JOURNAL)) and self.read('dump', JOURNAL) == wire.tree(sent)[JOURNAL]
        waiting.until(written, 'the last frame', lambda: os.listdir(self.path('dump')))
        # Asked every half second; a device that hears has answered after two.
        for _ in range(5):
            with clock.standing(process):
                clock.move(0.5)
        with clock.standing(process):
            process.send_signal(signal.SIGINT)
        _, error = waiting.end_of(process)
        asked = [kind for kind, *_ in wire.frames(os.read(master, 4096))]
        os.close(master)
        os.close(slave)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(set(asked), {wire.ASK})
        self.assertIn(f'since frame {len(sender.sent) - 1}: whether it sent more is not known', error.decode())

    @unittest.skipIf(shutil.which('strace') is None, 'strace is not installed')
    def test_boots_of_a_recording_are_synced_once(self):
        self.write('line.bin', b''.join(wire.frame(wire.LINES, boot, 0, b'a\0x') for boot in range(1, 9)))
        counts = subprocess.run(['strace', '-f', '-e', 'trace=syncfs', tool_case.OPDUMP, 'receive', self.path('line.bin'), '-o',
                                 self.path('boots')], capture_output=True, text=True, check=False).stderr
        self.assertEqual(counts.count('syncfs('), 1, counts)

    def test_a_boot_behind_the_end_of_another_is_read(self):
        first, second = wire.Sender(1), wire.Sender(2)
        one = b''.join(dump(first, 1)) + first.lines(JOURNAL, closed(1)) + first.state(wire.ENDED)
        other = b''.join(dump(second, 2)) + second.lines(JOURNAL, closed(2)) + second.state(wire.ENDED)
        for between in (b'', b'console text ' * 4000):
            self.recorded(one + between + other)
            self.assertEqual(self.tree(), {**wire.tree(one), **{'boot_000002/' + p: c for p, c in wire.tree(other).items()}})
            shutil.rmtree(self.path('dump'))
        more = first.file('a/late', b'x')
        self.recorded(one + b'console text ' * 4000 + more + first.state(wire.ENDED))
        self.assertEqual(self.read('dump/a/late'), b'x')

    def test_a_second_dump_of_a_boot_behind_its_end_is_received(self):
        """Each sync of it still tells of the end."""
        sender = wire.Sender()
        first = b''.join(dump(sender, 1)) + sender.lines(JOURNAL, closed(1)) + sender.state(wire.ENDED)
        again = sender.file('a/begun', b'x') + sender.state(wire.ENDED)
        rest = sender.file('a/late', b'y') + sender.state(wire.ENDED)

        clock = self.moved_clock()
        process, line = self.connect(clock=clock)
        self.send(line, first + again, process, clock)
        with clock.standing(process):
            clock.move(2)
        self.send(line, rest, process, clock)
        with clock.standing(process):
            clock.move(2.4)
        with clock.standing(process):
            self.assertIsNone(process.poll())
            clock.move(0.2)
        _, error = waiting.end_of(process)
        self.assertEqual((process.returncode, error), (0, b''))
        self.assertEqual(self.tree(), wire.tree(first + again + rest))

    def test_what_was_begun_and_not_ended_is_named(self):
        for name, body in ((wire.LINES, JOURNAL.encode() + b'\0' + b'x' * 300), (wire.BEGIN, b'd/' + b'n' * 300)):
            sender = wire.Sender()
            sender.lines(JOURNAL, HEAD)
            sender.entry(name, body)
            sender.sent.pop()
            cut, reboot = b''.join(sender.sent) + sender.state(), wire.Sender(2)
            for behind in (b'', reboot.lines(JOURNAL, HEAD) + reboot.state(), sender.file('a/b', b'x') + sender.state()):
                out, error = self.recorded(cut + behind, 1)
                self.assertIn('what began with frame 1 did not end, so it is not written\n', error)
                self.assertIn('1 incomplete', out)
                shutil.rmtree(self.path('dump'))

    def test_frames_that_belong_to_nothing_are_named(self):
        for make in (lambda sender: sender.entry(wire.DATA, struct.pack('<I', 77) + b'x'),
                     lambda sender: sender.entry(wire.COMMIT, struct.pack('<I', 77)),
                     lambda sender: sender.sent.append(wire.frame(wire.LINES, 1, len(sender.sent), b'a/b.csv\0x', True))):
            sender = wire.Sender()
            sender.lines(JOURNAL, HEAD)
            make(sender)
            _, error = self.recorded(b''.join(sender.sent) + sender.state(), 1)
            self.assertEqual(error, 'opdump: frame 1 belongs to nothing that has begun, and is passed over\n')
            shutil.rmtree(self.path('dump'))

    def test_both_files_of_a_pair_that_cannot_be_written_are_named(self):
        sender = wire.Sender()
        stream = sender.file('a/two/in_its_place', b'x')
        first = len(sender.sent)
        stream += sender.entry(wire.BEGIN, b'a/one') + sender.entry(wire.BEGIN, b'a/two')
        stream += sender.entry(wire.COMMIT, struct.pack('<II', first, first + 1)) + sender.state()
        out, error = self.recorded(stream, 1)
        self.assertIn('a/one: ', error)
        self.assertIn('a/two: ', error)
        self.assertIn('2 incomplete', out)
        self.assertEqual(self.tree(), {'a/two/in_its_place': b'x'})

    def test_a_frame_that_was_sent_again_long_ago_begins_no_boot(self):
        count = 66000
        lines = [wire.frame(wire.LINES, 1, number, b'a/b.csv\0%d\n' % number) for number in range(count)]
        self.recorded(b''.join(lines[1:]) + lines[0] * 2 + wire.frame(wire.STATE, 1, count, struct.pack('<II', 0, 0xffffffff)))
        self.assertEqual(self.read('dump/a/b.csv'), b''.join(b'%d\n' % number for number in range(count)))

    def test_frames_that_wait_behind_a_gap_are_bounded(self):
        """The most that wait, and one more: then what is missing is given up, and memory does not grow with the rest."""
        most = 1 << 17
        with open(tool_case.OPDUMP, 'rb') as tool:
            has_memory_of_its_own = b'__asan_init' in tool.read()
        lines = [wire.frame(wire.LINES, 1, number, b'a/b.csv\0%d\n' % number) for number in range(2 * most)]
        for waiting, lost in ((most, False), (most + 1, True), (2 * most - 1, True)):
            state = wire.frame(wire.STATE, 1, waiting + 1, struct.pack('<II', 0, 0xffffffff))
            self.write('line', b''.join(lines[1:waiting + 1]) + lines[0] + state)
            status, kib, told = measured([tool_case.OPDUMP, 'receive', 'line', '-o', 'dump'], cwd=self.directory)
            self.assertEqual(status, int(lost), told)
            self.assertEqual('frame 0 never arrived' in told, lost, told)
            self.assertEqual(self.read('dump/a/b.csv'), b''.join(b'%d\n' % number for number in range(lost, waiting + 1)))
            if not has_memory_of_its_own:
                self.assertLess(kib, 50 << 10)
            shutil.rmtree(self.path('dump'))

    def test_folders_of_boots_that_cannot_be_made(self):
        """The end of the run, and no crash."""
        first, second = wire.Sender(1), wire.Sender(2)
        stream = first.lines('a/b.csv', 'x\n') + first.state() + second.lines('a/b.csv', 'x\n') + second.lines('a/c.csv', 'x\n')
        self.write('line', stream + second.state())
        long = '/'.join(['x' * 200] * 20) + '/' + 'y' * 68
        out, error = self.run_tool('receive', 'line', '-o', long, expect=1)
        self.assertEqual(error.count('File name too long'), 1, error)
        self.assertIn('2 boots', out)

    def test_a_recording_that_was_interrupted(self):
        self.write('line', b''.join(dump(wire.Sender(), 1)))
        with open(self.path('line'), 'ab') as file:
            file.truncate(1 << 40)  # zeros: empty frames
        process = self.begin('line')
        waiting.until(lambda: os.path.exists(self.path('dump', JOURNAL)), 'a journal', process.poll)
        process.send_signal(signal.SIGINT)
        _, error = waiting.end_of(process)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b'line: interrupted, and not read to its end', error)

    def test_a_device_that_told_and_is_heard_no_more(self):
        """Whether it went or hears nothing: what it has sent since nobody knows."""
        sender = wire.Sender()
        told = b''.join(dump(sender, 1)) + sender.state()
        since = f'the device has not told how far it is since frame {len(sender.sent) - 1}: whether it sent more is not known'
        for goes in (True, False):
            clock = self.moved_clock()
            process, line = self.connect('--idle', '4', clock=clock)
            self.send(line, told, process, clock)
            if goes:
                line.close()
                self.assertEqual(process.stderr.readline(), b'opdump: wire.sock is gone; waiting until it is back\n')
            clock.move(4)
            _, error = waiting.end_of(process)
            os.remove(self.path('wire.sock'))
            self.assertEqual(process.returncode, 1)
            self.assertIn(since, error.decode())
            shutil.rmtree(self.path('dump'))

    def test_a_port_that_is_none(self):
        _, error = self.run_tool('receive', '127.0.0.1:99999', '-o', 'dump', expect=1)
        self.assertIn('127.0.0.1:99999: a port is at most 65535', error)

    def test_what_has_come_and_was_not_read_is_not_given_up(self):
        """A receiver that stands still for longer than it waits."""
        sender = wire.Sender()
        stream = b''.join(dump(sender)) + sender.lines(JOURNAL, closed(6))
        clock = self.moved_clock()
        process, line = self.connect('--wait', '1', clock=clock)
        self.send(line, b''.join(frame for i, frame in enumerate(sender.sent) if i != 5), process, clock)
        self.assertIn((5, 1), self.asked(line))
        with clock.standing(process):
            clock.move(1.5)
            line.sendall(b'console text ' * 400 + sender.sent[5] + sender.state(wire.ENDED))
        _, error = waiting.end_of(process)
        self.assertEqual((process.returncode, error), (0, b''))
        self.assertEqual(self.tree(), wire.tree(stream))

    def test_silence_and_interrupts_end_it(self):
        sender = wire.Sender()
        device = Device(sender)
        stream = b''.join(dump(sender))
        clock = self.moved_clock()
        process, line = self.connect('--idle', '1', clock=clock)
        self.send(line, stream, process, clock)
        clock.move(0.6)
        with clock.standing(process):
            self.assertEqual([count for _, count in self.asked(line)][-1:], [0])
        line.sendall(sender.state())  # which is nothing new
        wire.until_read(line)
        clock.move(0.4)
        waiting.end_of(process)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.tree(), wire.tree(stream))
        shutil.rmtree(self.path('dump'))
        process = self.begin('-', stdin=subprocess.PIPE)
        process.stdin.write(stream)
        process.stdin.flush()
        wire.until_empty(process.stdin)
        process.send_signal(signal.SIGINT)
        waiting.end_of(process)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.tree(), wire.tree(stream))


if __name__ == '__main__':
    CLOCK = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
