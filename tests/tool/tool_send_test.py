#!/usr/bin/env python3
"""Tests of `opdump send` from outside, with devices written here: tool_send_test.py OPDUMP MOVED_CLOCK [unittest arguments].

Where the time counts that the command waits, its clock is one that the test moves. Standard library only.
"""
import os
import random
import struct
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
import wire  # noqa: E402
from moved_clock import MovedClock  # noqa: E402
from tool_case import Case  # noqa: E402

CLOCK = ''  # moved_clock.cpp
PATIENT = ('--wait', '300')  # as long as a busy machine may take
NO_SUCH_OP, TOO_LARGE = 22, 41
FLOAT32 = 1  # of types/dtype.hpp
# The end of what is said, where a busy machine may make the device late.
LATE = r'(; \d+ frames? sent again)?\n$'


def payload(step, op, index, count=70):
    return struct.pack('<%df' % count, *(1000 * step + 100 * op + 10 * index + i for i in range(count)))


class Device:
    """Takes a playback after platform/wire/README.md. `loses` says of each frame in and out whether it is lost."""

    def __init__(self, wants=lambda op, index: 0, loses=lambda: False):
        self.wants, self.loses = wants, loses
        self.session, self.next, self.status, self.left = None, 0, 0, 0
        self.pending, self.played, self.step = b'', [], []
        self.over = False
        self.taken = 0

    def hear(self, data):
        self.pending += data
        *whole, self.pending = self.pending.split(b'\0')
        answers = b''
        for kind, _, session, number, body in wire.frames(b'\0'.join(whole) + b'\0'):
            if kind not in (wire.INPUT, wire.BYTES, wire.STEP, wire.OVER) or self.loses():
                continue
            if session != self.session:
                if number != 0:
                    continue
                self.session, self.next = session, 0
            if number == self.next:
                self.next += 1
                self.status = self.take(kind, body)
            if number + 1 == self.next and not self.loses():
                answers += wire.frame(wire.TAKEN, session, self.next, bytes([self.status]))
        return answers

    def take(self, kind, body):
        self.taken += 1
        if kind == wire.INPUT:
            index, dtype, self.left = struct.unpack('<BBI', body[:6])
            status = self.wants(body[6:].decode(), index)
            if status == 0:
                self.step.append([body[6:].decode(), index, dtype, b''])
            else:
                self.left = 0
            return status
        if kind == wire.BYTES:
            assert 0 < len(body) <= self.left
            self.left -= len(body)
            self.step[-1][3] += body
            return 0
        assert self.left == 0
        if kind == wire.STEP:
            self.played.append((struct.unpack('<I', body)[0], self.step))
            self.step = []
        else:
            self.over = True
        return 0


class Send(Case):
    parent = tool_case.MEMORY

    def make_dump(self, root='dump/20260131130559', steps=(0, 1, 2), model='net/1'):
        for step in steps:
            for op in range(2):
                inputs = [tool_case.tensor(tool_case.FLOAT, [70], payload(step, op, index)) for index in range(2)]
                outputs = [tool_case.tensor(tool_case.FLOAT, [70], payload(step, op, 9))]
                # The second operator ran before the first one.
                self.write(f'{root}/0/{model}/{step}/Add.add{op}.0.0.{158919508158801 + 10 * step - op}',
                           tool_case.record(inputs, outputs))

    def wanted(self, steps=(0, 1, 2), inputs=((1, 0), (1, 1), (0, 0), (0, 1))):
        return [(step, [['add%d' % op, index, FLOAT32, payload(step, op, index)] for op, index in inputs]) for step in steps]

    def serve(self, device, *options, expect=0, dump='dump', scenes=1, cut_after=None, tcp=False):
        """Runs `send` on a socket; of several scenes all but the last end when `cut_after` frames were taken."""
        path = None if tcp else self.path('wire.sock')
        with wire.served(path, device, [lambda line: lambda: device.taken >= cut_after] * scenes) as name:
            return self.run_tool('send', name if tcp else 'wire.sock', dump, *PATIENT, *options, expect=expect)

    def serve_by_clock(self, device, *options):
        """The same, where time passes only while both ends wait for the other: the status, what it says, and the seconds
        that passed."""
        clock, watch = MovedClock(CLOCK), wire.Watch()
        self.addCleanup(clock.close)
        with wire.served(self.path('wire.sock'), device, [lambda line: lambda: False], watch):
            process = subprocess.Popen([tool_case.OPDUMP, 'send', 'wire.sock', 'dump', *options], cwd=self.directory, text=True,
                                       env=dict(os.environ, **clock.environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            clock.run(process, watch.is_quiet)
            out, error = waiting.end_of(process)
        return process.returncode, out, error, clock.seconds()

    def test_all_inputs_in_their_order(self):
        self.make_dump()
        device = Device()
        out, error = self.serve(device)
        self.assertEqual((device.played, device.over, error), (self.wanted(), True, ''))
        self.assertRegex(out, '^3 steps, 12 inputs, 3.3 KiB played back' + LATE)

    def test_over_tcp(self):
        self.make_dump()
        device = Device()
        _, error = self.serve(device, tcp=True)
        self.assertEqual((device.played, device.over, error), (self.wanted(), True, ''))

    def test_what_the_device_wants(self):
        self.make_dump()
        device = Device(lambda op, index: 0 if (op, index) == ('add1', 0) else NO_SUCH_OP)
        out, _ = self.serve(device)
        self.assertEqual(device.played, self.wanted(inputs=[(1, 0)]))
        self.assertRegex(out, '^3 steps, 3 inputs, 840 B played back; 9 inputs that the device does not want' + LATE)

    def test_what_the_user_names(self):
        self.make_dump()
        device = Device()
        self.serve(device, '--input', 'add0:1', '--input', 'add1:0', '--step', '0,2')
        self.assertEqual(device.played, self.wanted((0, 2), [(1, 0), (0, 1)]))

    def test_a_line_that_loses_one_frame_of_five(self):
        self.make_dump()
        for seed, options in ((1, ()), (2, ('--frame', '32'))):
            rng = random.Random(seed)
            device = Device(loses=lambda: rng.random() < 0.2)
            out, _ = self.serve(device, *options)
            self.assertEqual((device.played, device.over), (self.wanted(), True))
            self.assertRegex(out, r'; \d+ frames sent again\n$')

    def test_a_line_that_loses_nearly_all(self):
        """A device that answers at once is not waited for ever longer, so that many tries go into the time of --wait."""
        self.make_dump(steps=(0,))
        heard = 0

        def loses():
            nonlocal heard
            heard += 1
            return heard > 4 and heard % 12 > 1  # this and its answer
        device = Device(loses=loses)
        status, out, error, _ = self.serve_by_clock(device, '--input', 'add1:0', '--wait', '6')
        self.assertEqual((status, error), (0, ''))
        self.assertEqual((device.played, device.over), (self.wanted((0,), [(1, 0)]), True))
        self.assertRegex(out, r'; \d+ frames sent again\n$')

    def test_a_device_that_is_unplugged(self):
        self.make_dump()
        device = Device()
        _, error = self.serve(device, scenes=3, cut_after=7)
        self.assertEqual((device.played, device.over), (self.wanted(), True))
        self.assertIn('opdump: wire.sock is back', error)

    def test_refusals_name_the_tensor(self):
        self.make_dump()
        device = Device(lambda op, index: TOO_LARGE if (op, index) == ('add0', 1) else 0)
        out, error = self.serve(device, expect=1)
        self.assertRegex(error, r'/0/net/1/0/Add\.add0\.[^:]*: input 1 of add0: refused by the device: ')
        self.assertEqual(device.played, [])
        self.assertTrue(out.startswith('0 steps, 3 inputs'), out)
        device = Device(lambda op, index: NO_SUCH_OP)
        _, error = self.serve(device, '--input', 'add0:1', expect=1)
        self.assertIn('input 1 of add0: refused by the device: ', error)
        _, error = self.serve(Device(lambda op, index: NO_SUCH_OP), expect=1)
        self.assertIn('step 0: no input of it was played', error)

    def test_silence(self):
        self.make_dump()
        status, _, error, seconds = self.serve_by_clock(Device(loses=lambda: True), '--wait', '1')
        self.assertEqual(status, 1)
        self.assertIn('input 0 of add1: wire.sock has not answered for 1 second\n', error)
        self.assertTrue(1 <= seconds < 2, seconds)

    def test_dumps_that_cannot_be_played(self):
        self.make_dump()
        self.make_dump(model='other/2', steps=(0,))
        _, error = self.serve(Device(), expect=1)
        self.assertIn('dump: holds several runs or models, such as ', error)
        self.write('empty/readme', 'x')
        _, error = self.serve(Device(), dump='empty', expect=1)
        self.assertIn('empty: holds no records', error)
        _, error = self.serve(Device(), '--step', '7', dump='dump/20260131130559/0/net', expect=1)
        self.assertIn('holds none of these steps', error)
        _, error = self.serve(Device(), '--input', 'conv:0', dump='dump/20260131130559/0/net', expect=1)
        self.assertIn('step 0: --input conv:0 is not in the dump', error)
        path = 'dump/20260131130559/0/net/1/1/Add.add1.0.0.158919508158810'
        self.write(path, self.read(path)[:-10])
        device = Device()
        _, error = self.serve(device, dump='dump/20260131130559/0/net', expect=1)
        self.assertIn(path, error)
        self.assertEqual(device.played, self.wanted((0,)))

    def test_an_input_that_a_step_lacks_is_named(self):
        """The step would run on what the device has of the step before."""
        self.make_dump(steps=(0, 1))
        os.remove(self.path('dump/20260131130559/0/net/1/1/Add.add1.0.0.158919508158810'))
        device = Device()
        out, error = self.serve(device, '--input', 'add0:0', '--input', 'add1:0', expect=1)
        self.assertEqual(error, 'opdump send: step 1: --input add1:0 is not in the dump\n')
        self.assertEqual(device.played, self.wanted((0,), [(1, 0), (0, 0)]))
        self.assertTrue(out.startswith('1 step, '), out)

    def test_a_device_that_had_ended_its_dump_before(self):
        """Its end is not that of the playback, and it does not mean that the end of the playback was taken."""
        self.make_dump(steps=(0,))

        class Ended(Device):
            """It answers at once how far it is, and takes a frame when that is sent again."""
            sender = wire.Sender(7)
            is_deaf_to, is_late = (), True
            sent_once = frozenset()

            def hear(self, data):
                asked = [(number, body[0]) for kind, _, _, number, body in wire.frames(data) if kind == wire.ASK]
                if any(kind in self.is_deaf_to for kind, *_ in wire.frames(data)):
                    return b''
                numbers = {number for kind, _, _, number, _ in wire.frames(data) if kind != wire.ASK}
                answers = super().hear(data) if not self.is_late or numbers <= self.sent_once else self.sender.state(wire.ENDED)
                self.sent_once |= numbers
                return b''.join(self.sender.answer(number, count, kind=wire.ENDED) for number, count in asked) + answers

        device = Ended()
        device.sender.lines('a/b.csv', 'x\n')
        self.serve(device, '-o', 'now')
        self.assertEqual((device.played, device.over), (self.wanted((0,)), True))
        device = Ended()
        device.is_deaf_to, device.is_late = (wire.OVER,), False
        status, _, error, seconds = self.serve_by_clock(device, '-o', 'again', '--wait', '3')
        self.assertEqual(status, 1)
        self.assertTrue(3 <= seconds < 4, seconds)
        self.assertIn('the end: wire.sock has not answered for 3 seconds', error)
        self.assertFalse(device.over)

    def test_what_is_refused(self):
        self.make_dump()
        self.write('line', b'')
        _, error = self.run_tool('send', 'line', 'dump', expect=1)
        self.assertIn('line: has one direction only', error)
        _, error = self.run_tool('send', 'nowhere', 'dump', expect=1)
        self.assertIn('nowhere: No such file or directory', error)
        for words in ([], ['line'], ['line', 'dump', 'more'], ['line', 'dump', '--input', 'conv1'],
                      ['line', 'dump', '--input', 'conv1:x'], ['line', 'dump', '--step', 'x'],
                      ['line', 'dump', '--frame', '31'], ['line', 'dump', '--idle', '3']):
            self.run_tool('send', *words, expect=2)


if __name__ == '__main__':
    CLOCK = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
