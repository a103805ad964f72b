#!/usr/bin/env python3
"""An emulated Cortex-M3 sends a dump over its UART to `opdump receive`, through a line that loses, flips and doubles
bytes in both directions: at 0 the dump is that of a host, byte for byte, and what Python makes of the same bytes; at
0.1 and 5 % each record is the host's or missing and told so. The inputs of the host's dump, played back by `opdump send`
over the same line, make the board dump the same again.

usage: wire_test.py SOURCE_ROOT OPDUMP HOST_COMPILER...

Skips, saying so, without the ARM compiler or QEMU.
"""
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tty
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'support'))
import wire  # noqa: E402
from budget import run  # noqa: E402
from emulated import build, skip_without_tools  # noqa: E402

STEPS = 3
SECONDS = 200


class WireTest(unittest.TestCase):
    root = opdump = compiler = folder = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        sources = [str(cls.root / 'tests/firmware/wire.cpp'), str(cls.root / 'examples/digits/network.cpp')]
        run(*cls.compiler, '-std=c++20', '-ffp-contract=off', f'-I{cls.root}/include', f'-I{cls.root}', *sources,
            *map(str, sorted((cls.root / 'platform/posix').glob('tree*.cpp'))),
            *map(str, sorted((cls.root / 'platform/posix/tree').glob('*.cpp'))), '-o', str(cls.folder / 'host'))
        (cls.folder / 'dump').mkdir()
        run(str(cls.folder / 'host'), str(STEPS), cwd=cls.folder)
        cls.host = cls.files(cls.folder / 'dump')

    @staticmethod
    def files(tree):
        return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob('*') if path.is_file()}

    def receive(self, rate, window, frame, *send):
        """Sends a dump over a line of that rate; returns the tree, the bytes that the board sent, and what was said.
        With `send` the board has its images from the host's dump, played back with these options."""
        program = self.folder / f'wire-{window}-{frame}{"-playback" if send else ""}.elf'
        if not program.exists():
            build(self.root, 'mps2-an385', 'cortex_m',
                  [self.root / 'tests/firmware/wire.cpp', self.root / 'examples/digits/network.cpp'], program, '-O2',
                  '-ffp-contract=off', '-mcpu=cortex-m3', f'-DWIRE_WINDOW={window}', f'-DWIRE_FRAME={frame}',
                  *(['-DWIRE_PLAYBACK'] if send else []))
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(folder / 'uart'))
        server.listen(1)
        environment = {**os.environ, 'OPDUMP_QEMU': f'-serial unix:{folder}/uart', 'OPDUMP_QEMU_SECONDS': str(SECONDS)}
        board = subprocess.Popen(['sh', str(self.root / 'tests/firmware/qemu.sh'), 'mps2-an385', str(program), str(STEPS)],
                                 env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        uart, _ = server.accept()
        master, slave = pty.openpty()
        tty.setraw(slave)
        command = ['send', os.ttyname(slave), str(self.folder / 'dump'), *send] if send else ['receive', os.ttyname(slave)]
        receiver = subprocess.Popen([*self.opdump, *command, '-o', 'tree', '--idle', '20'], cwd=folder,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        sent = b''
        out, back = wire.BadLine(rate, 1), wire.BadLine(rate, 2)
        end = time.monotonic() + SECONDS
        while receiver.poll() is None and time.monotonic() < end:
            ready = select.select([uart, master], [], [], 0.1)[0]
            if uart in ready:
                data = uart.recv(512)
                sent += data
                self.write(master, out.carry(data))
                if not data:
                    break
            if master in ready:
                uart.sendall(back.carry(os.read(master, 512)))
        receiver.terminate()
        said = receiver.communicate()
        os.killpg(board.pid, signal.SIGKILL)  # with the emulator
        board.wait()
        for end in (master, slave):
            os.close(end)
        uart.close()
        server.close()
        print(f'{rate:.1%}, window {window}, frames of {frame}: {said[0].strip()}', file=sys.stderr)
        return folder / 'tree', sent, receiver.returncode, said

    @staticmethod
    def write(master, data):
        while data:
            data = data[os.write(master, data):]

    def test_a_good_line(self):
        tree, sent, status, said = self.receive(0, 8192, 254)
        self.assertEqual((status, said[1]), (0, ''))
        files = self.files(tree)
        self.assertEqual(len(self.host), STEPS * 13 + 1)
        self.assertEqual(files, self.host)
        self.assertEqual(wire.tree(sent), self.host)
        self.assertIn(b'boot: 1.0', sent)
        run(*self.opdump, 'verify', str(tree))

    def test_a_playback_over_a_good_line(self):
        tree, _, status, said = self.receive(0, 8192, 254, '--wait', '30')
        self.assertEqual((status, said[1]), (0, ''))
        self.assertRegex(said[0], rf'^{STEPS} steps, {STEPS} inputs, {STEPS * 128} B played back; '
                                  r'\d+ inputs that the device does not want')
        self.assertEqual(self.files(tree), self.host)
        run(*self.opdump, 'verify', str(tree))
        run(*self.opdump, 'diff', str(self.folder / 'dump'), str(tree))
        run(*self.opdump, 'compare', str(tree), str(self.folder / 'dump'))

    def test_a_playback_over_a_line_that_loses_one_of_a_thousand_bytes(self):
        missing, lost, frames = self.check(0.001, 8192, 254, '--input', 'conv1:0')
        self.assertLess(lost, frames / 10)

    def check(self, rate, window, frame, *send):
        tree, sent, status, (out, error) = self.receive(rate, window, frame, *send)
        files = self.files(tree)
        journals = {path for path in self.host if path.endswith('.journal')}
        for path, what in files.items():
            if path in journals:
                # Lines of the host's in their order, and those that tell of gaps.
                lines, host = what.decode().splitlines(), iter(self.host[path].decode().splitlines())
                gaps = [line for line in lines if line.startswith('unreceived,')]
                self.assertTrue(all(line in host for line in lines if line not in gaps), what)
            else:
                self.assertEqual(what, self.host.get(path), path)
        lost = set()
        for first, last in re.findall(r'frames? (\d+)(?: to (\d+))? never arrived', error):
            lost.update(range(int(first), int(last or first) + 1))
        frames = max(number for kind, _, _, number, _ in wire.frames(sent) if kind not in wire.UNNUMBERED) + 1
        self.assertTrue(lost <= set(range(frames)), lost)
        missing = self.host.keys() - files.keys()
        if not lost:
            self.assertEqual((missing, status), (set(), 0), error)
        else:
            self.assertEqual(status, 1)
        verified = subprocess.run([*self.opdump, 'verify', '--json', str(tree)], capture_output=True, text=True, check=False)
        self.assertEqual(verified.returncode, 1 if lost else 0, verified.stdout)
        # A file is missing when one of its frames is, and only then.
        for path, numbers in self.frames_of_files(sent).items():
            self.assertEqual(path in missing, bool(numbers & lost), path)
        return len(missing), len(lost), frames

    @staticmethod
    def frames_of_files(sent):
        """The numbers of the frames from the beginning of each file to its end."""
        span, paths, entry, first, seen = {}, {}, b'', 0, set()
        for kind, continued, _, number, body in wire.frames(sent):
            if kind in wire.UNNUMBERED or number in seen:
                continue
            seen.add(number)
            if not continued:
                entry, first = b'', number
            entry += body
            if kind == wire.BEGIN:
                paths[first] = entry.decode()
            elif kind == wire.COMMIT:
                begin = int.from_bytes(entry[:4], 'little')
                span[paths[begin]] = set(range(begin, number + 1))
        return span

    def test_a_line_that_loses_one_of_a_thousand_bytes(self):
        missing, lost, frames = self.check(0.001, 8192, 254)
        self.assertLess(lost, frames / 10)

    def test_a_line_that_loses_one_of_twenty_bytes(self):
        missing, lost, frames = self.check(0.05, 8192, 254)
        self.assertGreater(lost, frames / 2)

    def test_short_frames(self):
        missing, lost, frames = self.check(0.005, 16384, 64)
        self.assertLess(lost, frames / 2)


def main():
    skip_without_tools()
    root, opdump, *compiler = sys.argv[1:]
    WireTest.root, WireTest.opdump, WireTest.compiler = pathlib.Path(root), [os.path.abspath(opdump)], compiler
    with tempfile.TemporaryDirectory() as folder:
        WireTest.folder = pathlib.Path(folder)
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(WireTest)
        result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not result.wasSuccessful())


if __name__ == '__main__':
    main()
