#!/usr/bin/env python3
"""An emulated Cortex-M3 sends a dump over its UART to `opdump receive`, through a line that loses, flips and doubles
bytes in both directions: at 0 the dump is that of a host, byte for byte, and what Python makes of the same bytes; at
0.1 and 5 % each record is the host's or missing and told so, and `opdump verify` names each gap or that no journal came.

usage: wire_test.py SOURCE_ROOT OPDUMP HOST_COMPILER...

Skips, saying so, without the ARM compiler or QEMU.
"""
import json
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
import waiting  # noqa: E402
import wire  # noqa: E402
from budget import run  # noqa: E402
from emulated import build, skip_without_tools  # noqa: E402

STEPS = 3
SECONDS = 200
BAUD = 230400
LARGE_WINDOW = 1 << 20  # of which nothing is let go


class WireTest(unittest.TestCase):
    root = opdump = compiler = folder = None
    seeds, short_frames = (1, 3, 5), (32, 64)
    impatient = ('--wait', '1', '--idle', '5')
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        sources = [str(cls.root / 'tests/firmware/wire.cpp'), str(cls.root / 'examples/digits/network.cpp')]
        run(*cls.compiler, '-std=c++20', '-ffp-contract=off', f'-I{cls.root}/include', f'-I{cls.root}', *sources,
            *map(str, sorted((cls.root / 'platform/posix').glob('tree*.cpp'))),
            *map(str, sorted((cls.root / 'platform/posix/tree').glob('*.cpp'))), '-o', str(cls.folder / 'host'))
        cls.hosts = {}
        for steps in (1, STEPS):
            (cls.folder / str(steps) / 'dump').mkdir(parents=True)
            run(str(cls.folder / 'host'), str(steps), cwd=cls.folder / str(steps))
            cls.hosts[steps] = cls.files(cls.folder / str(steps) / 'dump')
        cls.host = cls.hosts[STEPS]

    @staticmethod
    def files(tree):
        return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob('*') if path.is_file()}

    def receive(self, rate, window, frame, steps=STEPS, seed=1, options=()):
        """Sends a dump over a line of that rate; returns the tree, the bytes that the board sent, and what was said."""
        program = self.folder / f'wire-{window}-{frame}.elf'
        if not program.exists():
            build(self.root, 'mps2-an385', 'cortex_m',
                  [self.root / 'tests/firmware/wire.cpp', self.root / 'examples/digits/network.cpp'], program, '-O2',
                  '-ffp-contract=off', '-mcpu=cortex-m3', '-DOPDUMP_PROFILE=full', f'-DWIRE_WINDOW={window}', f'-DWIRE_FRAME={frame}',
                  f'-DWIRE_BAUD={BAUD}')
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(folder / 'uart'))
        server.listen(1)
        environment = {**os.environ, 'OPDUMP_QEMU': f'-serial unix:{folder}/uart', 'OPDUMP_QEMU_SECONDS': str(SECONDS)}
        board = subprocess.Popen(['sh', str(self.root / 'tests/firmware/qemu.sh'), 'mps2-an385', str(program), str(steps)],
                                 env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        uart, _ = server.accept()
        master, slave = pty.openpty()
        tty.setraw(slave)
        command = [*self.opdump, 'receive', os.ttyname(slave), '-o', 'tree', '--idle', '20', '--baud', str(BAUD), *options]
        receiver = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        sent = b''
        out, back = wire.BadLine(rate, seed), wire.BadLine(rate, seed + 1)
        end = time.monotonic() + SECONDS
        while receiver.poll() is None and time.monotonic() < end:
            ready = select.select([uart, master], [], [], 0.1)[0]
            # QEMU hands bytes over one by one; in pieces they cost a fraction.
            time.sleep(0.004)
            if uart in ready:
                data = uart.recv(4096)
                sent += data
                self.write(master, out.carry(data))
                if not data:
                    break
            if master in ready:
                uart.sendall(back.carry(os.read(master, 512)))
        is_late = receiver.poll() is None and time.monotonic() >= end
        receiver.terminate()
        said = receiver.communicate()
        os.killpg(board.pid, signal.SIGKILL)  # with the emulator
        board.wait()
        for end in (master, slave):
            os.close(end)
        uart.close()
        server.close()
        if is_late:
            raise waiting.WaitedTooLong('the end of the dump', (len(sent), said))
        print(f'{rate:.1%}, seed {seed}, window {window}, frames of {frame}: {said[0].strip()}', file=sys.stderr)
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

    def check(self, rate, window, frame, steps=STEPS, **line):
        """How many files are missing and frames lost, of how many, and whether the journal came."""
        tree, sent, status, (_, error) = self.receive(rate, window, frame, steps=steps, **line)
        host, files = self.hosts[steps], self.files(tree)
        journals = {path for path in host if path.endswith('.journal')}
        for path, what in files.items():
            if path in journals:
                # Lines of the host's in their order, and those that tell of gaps.
                lines, wanted = what.decode().splitlines(), iter(host[path].decode().splitlines())
                gaps = [line for line in lines if line.startswith('unreceived,')]
                self.assertTrue(all(line in wanted for line in lines if line not in gaps), what)
            else:
                self.assertEqual(what, host.get(path), path)
        lost = set()
        gaps = {(int(first), int(last or first))
                for first, last in re.findall(r'frames? (\d+)(?: to (\d+))? never arrived', error)}
        for first, last in gaps:
            lost.update(range(first, last + 1))
        frames = max(number for kind, _, _, number, _ in wire.frames(sent) if kind not in wire.UNNUMBERED) + 1
        self.assertTrue(lost <= set(range(frames)), lost)
        # Of frames behind the last one that the receiver knows of it says that it knows none.
        untold = re.search(r'not told how far it is since frame (\d+): ', error)
        if untold:
            lost.update(range(int(untold[1]) + 1, frames))
        missing = host.keys() - files.keys()
        if not lost:
            self.assertEqual((missing, status), (set(), 1 if untold else 0), error)
        else:
            self.assertEqual(status, 1)
        verified = subprocess.run([*self.opdump, 'verify', '--json', str(tree)], capture_output=True, text=True, check=False)
        self.assertEqual(verified.returncode, 1 if lost else 0, verified.stdout)
        found = json.loads(verified.stdout)['findings']
        has_journal = bool(journals & files.keys())
        if has_journal:
            self.assertEqual({(one['first'], one['last']) for one in found if one['kind'] == 'unreceived'}, gaps)
        else:
            self.assertIn('no_journal', [one['kind'] for one in found])
        # A file is missing when one of its frames is, and only then.
        for path, numbers in self.frames_of_files(sent).items():
            self.assertEqual(path in missing, bool(numbers & lost), path)
        return len(missing), len(lost), frames, has_journal

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
        for seed in self.seeds:
            missing, lost, frames, _ = self.check(0.001, 8192, 254, seed=seed)
            self.assertLess(lost, frames / 10)

    def test_a_line_that_loses_one_of_twenty_bytes(self):
        missing, lost, frames, _ = self.check(0.05, 8192, 254, steps=1, options=self.impatient)
        self.assertGreater(lost, frames / 2)

    def test_short_frames_over_a_good_line(self):
        for frame in self.short_frames:
            tree, _, status, said = self.receive(0, 4096, frame, steps=1)
            self.assertEqual((status, said[1]), (0, ''))
            self.assertEqual(self.files(tree), self.hosts[1])

    def test_short_frames_while_the_window_lasts(self):
        """All that a bad line loses comes again."""
        for frame in self.short_frames:
            for seed in self.seeds:
                missing, lost, _, has_journal = self.check(0.001, LARGE_WINDOW, frame, steps=1, seed=seed)
                self.assertEqual((missing, lost, has_journal), (0, 0, True))

    def test_short_frames_and_a_short_window(self):
        for seed in self.seeds:
            missing, lost, frames, has_journal = self.check(0.005, 4096, 64, steps=1, seed=seed, options=self.impatient)
            self.assertTrue(has_journal)
            self.assertLess(lost, frames / 2)

    def test_short_frames_over_a_line_that_loses_one_of_twenty_bytes(self):
        for frame in self.short_frames:
            for seed in self.seeds:
                missing, lost, frames, _ = self.check(0.05, LARGE_WINDOW, frame, steps=1, seed=seed, options=self.impatient)
                self.assertGreater(lost, 0)
                self.assertLess(lost, frames)


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
