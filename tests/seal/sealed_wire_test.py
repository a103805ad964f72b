#!/usr/bin/env python3
"""A sealed dump goes over a TCP connection to `opdump receive HOST:PORT`: nothing of the plaintext is on the line, in
either direction, and what `opdump open` makes of it is the dump that is made without a seal, byte for byte. Over a line
that loses, flips and doubles bytes each file is that one or missing and told so.

usage: sealed_wire_test.py OPDUMP MAKER [unittest arguments]. Standard library only.
"""
import contextlib
import json
import os
import re
import select
import socket
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
import wire  # noqa: E402

MAKER = ''
STEPS = 12
WINDOW = 8  # bytes of plaintext that are searched for


class SealedWire(tool_case.Case):
    parent = tool_case.MEMORY

    def setUp(self):
        super().setUp()
        self.run_tool('key', 'new', 'key')

    def tree(self, directory):
        return {os.path.relpath(os.path.join(root, name), self.path(directory)): self.read(root, name)
                for root, _, names in os.walk(self.path(directory)) for name in names}

    def received(self, directory, rate=0.0, seed=1, window=None, **options):
        """Dumps over a line of that rate; the bytes of both directions, and what `receive` says on stderr."""
        os.makedirs(self.path('dump'), exist_ok=True)
        self.write('acl.json', json.dumps({
            'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_list': [{'model_name': 'net'}]},
            'opdump': dict({'journal': 'records'}, **options)}))
        self.run_tool('compile', 'acl.json', '-o', 'dump.plan')
        server = socket.create_server(('127.0.0.1', 0))
        receiver = subprocess.Popen([tool_case.OPDUMP, 'receive', f'127.0.0.1:{server.getsockname()[1]}', '-o', directory,
                                     '--idle', '300', '--wait', '300', '--baud', '4000000'], cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True)
        host, _ = server.accept()
        host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line, device = socket.socketpair()
        # As a line is, which carries what it is given in its own time.
        device.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 0)
        maker = subprocess.Popen([MAKER, self.path('dump.plan'), str(STEPS), *([window] if window else [])], stdin=device)
        device.close()
        seen = {line: b'', host: b''}
        bad = {line: wire.BadLine(rate, seed), host: wire.BadLine(rate, seed + 1)}
        while receiver.poll() is None:
            for end in select.select([line, host], [], [], 0.1)[0]:
                with contextlib.suppress(ConnectionError):  # the receiver has ended
                    data = end.recv(256)
                    seen[end] += data
                    (host if end is line else line).sendall(bad[end].carry(data))
        for end in (line, host, server):
            end.close()
        out, error = receiver.communicate()
        waiting.end_of(maker)
        self.assertEqual(maker.returncode, 0)
        self.assertEqual(receiver.returncode, 1 if error else 0, out + error)
        return seen[line], seen[host], error

    def check_same(self, tree, wanted):
        """Without a page of bytes where they differ."""
        self.assertEqual(sorted(tree), sorted(wanted))
        self.assertEqual([path for path in wanted if tree[path] != wanted[path]], [])

    def windows_in(self, files, line):
        """How many pieces of the files' contents are on the line, as they are or within its frames."""
        stream = line + b''.join(body for *_, body in wire.frames(line)) + \
            b''.join(body[4:] for kind, _, _, _, body in wire.frames(line) if kind in (wire.DATA, wire.LINES))
        known = {stream[at:at + WINDOW] for at in range(len(stream) - WINDOW + 1)}
        pieces = {data[at:at + WINDOW] for data in files.values() for at in range(len(data) - WINDOW + 1)}
        return len({piece for piece in pieces if len(set(piece)) > 4 and not self.is_named(piece)} & known)

    @staticmethod
    def is_named(piece):
        """Whether it is of a name, which stands in clear: of the operator, the files and the time."""
        return piece.strip(b'\0') in b'conv1 Conv2D net' or re.search(rb'[A-Za-z0-9_./]{6}', piece) is not None

    def test_nothing_is_in_clear_and_nothing_is_lost(self):
        there, back, _ = self.received('plain')
        plain = self.tree('plain')
        self.assertEqual(len(plain), STEPS + 1)
        self.assertGreater(self.windows_in(plain, there), 1000)
        self.run_tool('verify', 'plain')

        there, back, _ = self.received('sealed', seal='key.pub')
        for data in self.tree('sealed').values():
            self.assertEqual(data[:6], b'OPSEAL')
        self.assertEqual(self.windows_in(plain, there), 0)
        self.assertEqual(self.windows_in(plain, back), 0)
        for text in (b'opdump-journal', b'written,', b'from,0'):
            self.assertNotIn(text, there)
        self.run_tool('open', '--key', 'key', 'sealed', '-o', 'opened')
        self.check_same(self.tree('opened'), plain)
        self.run_tool('verify', 'opened')

    def test_a_bad_line_costs_time_alone_while_the_window_lasts(self):
        self.received('plain')
        there, _, error = self.received('sealed', 0.01, seal='key.pub')
        self.assertEqual(error, '')
        self.assertEqual(self.windows_in(self.tree('plain'), there), 0)
        self.run_tool('open', '--key', 'key', 'sealed', '-o', 'opened')
        self.check_same(self.tree('opened'), self.tree('plain'))

    def test_what_never_arrives_is_named_once_the_rest_is_open(self):
        self.received('plain')
        plain = self.tree('plain')
        lost_frames = opened_files = journals = 0
        for seed in (1, 3, 5):
            _, _, error = self.received(f'sealed{seed}', 0.0005, seed, 'small', seal='key.pub')
            lost = re.findall(r'frames? (\d+)(?: to (\d+))? never arrived', error)
            lost_frames += len(lost)
            opened = f'opened{seed}'
            self.run_tool('open', '--key', 'key', f'sealed{seed}', '-o', opened, expect=(0, 1))
            files = self.tree(opened)
            told, _ = self.run_tool('verify', '--json', opened, expect=1 if lost else 0)
            findings = json.loads(told)['findings']
            if any(path.endswith('.journal') for path in files):
                journals += 1
                self.assertEqual({(found['first'], found['last']) for found in findings if found['kind'] == 'unreceived'},
                                 {(int(first), int(last or first)) for first, last in lost})
            else:
                self.assertIn('no_journal', [found['kind'] for found in findings])
            for path, data in files.items():
                if not path.endswith('.journal'):
                    self.assertTrue(data == plain[path], path)
                    opened_files += 1
                    continue
                lines = [line for line in data.splitlines() if not line.startswith(b'unreceived,')]
                self.assertEqual(set(lines) - set(plain[path].splitlines()), set())
                for first, last in lost:
                    self.assertIn(f'unreceived,{first},{last or first}\n'.encode(), data)
            self.assertTrue(lost or files == plain)
        self.assertGreater(lost_frames, 0)
        self.assertGreater(journals, 0)
        self.assertGreater(opened_files, 0)


if __name__ == '__main__':
    MAKER = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
