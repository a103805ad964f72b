"""The frames of a wire, written and read after platform/wire/README.md alone. Standard library only."""
import contextlib
import fcntl
import os
import random
import select
import socket
import struct
import sys
import termios
import threading

sys.path.insert(1, os.path.dirname(os.path.abspath(__file__)))
import waiting  # noqa: E402
from crc32c import crc32c  # noqa: E402

PART, BEGIN, DATA, COMMIT, ABORT, LINES, STATE, ENDED, ASK = 0, 1, 2, 3, 4, 5, 8, 9, 10
UNNUMBERED = (STATE, ENDED, ASK)


def stuff(data):
    """COBS of fewer than 255 bytes."""
    return b''.join(bytes([len(run) + 1]) + run for run in data.split(b'\0'))


def unstuff(data):
    """None when nothing is stuffed so."""
    runs = []
    while data:
        if data[0] > len(data):
            return None
        runs.append(data[1:data[0]])
        data = data[data[0]:]
    return b'\0'.join(runs)


def frame(kind, boot, number, body=b'', continued=False, version=1):
    head = struct.pack('<BII', version << 5 | continued << 4 | kind, boot, number)
    return b'\0' + stuff(head + body + struct.pack('<I', crc32c(head + body))) + b'\0'


def frames(stream):
    """(kind, continued, boot, number, body) of each whole frame."""
    for piece in stream.split(b'\0'):
        if not 14 <= len(piece) <= 255:
            continue
        data = unstuff(piece)
        if data is None or struct.unpack('<I', data[-4:])[0] != crc32c(data[:-4]):
            continue
        first, boot, number = struct.unpack('<BII', data[:9])
        yield first & 15, bool(first & 16), boot, number, data[9:-4]


class Sender:
    """A device that sends entries, remembers all frames and can send them again."""

    def __init__(self, boot=1, body_bytes=241):
        self.boot, self.body_bytes = boot, body_bytes
        self.sent = []

    def entry(self, kind, body):
        """The frames of an entry; the number of its first one is that of the object it begins."""
        pieces = [body[i:i + self.body_bytes] for i in range(0, len(body), self.body_bytes)] or [b'']
        first = len(self.sent)
        for i, piece in enumerate(pieces):
            last = i + 1 == len(pieces)
            self.sent.append(frame(kind if last else PART, self.boot, len(self.sent), piece, i != 0))
        return b''.join(self.sent[first:])

    def file(self, path, *pieces):
        number = struct.pack('<I', len(self.sent))
        return self.entry(BEGIN, path.encode()) + b''.join(self.entry(DATA, number + piece) for piece in pieces) + \
            self.entry(COMMIT, number)

    def lines(self, path, text):
        return self.entry(LINES, path.encode() + b'\0' + text.encode())

    def state(self, kind=STATE, oldest=0, asked=0xffffffff):
        return frame(kind, self.boot, len(self.sent), struct.pack('<II', oldest, asked))

    def answer(self, number, count, oldest=0, kind=STATE):
        """To a request for `count` frames from `number` on."""
        wanted = range(max(oldest, number), min(len(self.sent), number + count))
        return b''.join(self.sent[i] for i in wanted) + self.state(kind, oldest, number)


def tree(stream):
    """The files and lines of a stream without gaps, by path."""
    files, objects, entry, number_of_entry = {}, {}, b'', 0
    for kind, continued, _, number, body in frames(stream):
        if kind in UNNUMBERED:
            continue
        if not continued:
            entry, number_of_entry = b'', number
        entry += body
        if kind == BEGIN:
            objects[number_of_entry] = [entry.decode(), b'']
        elif kind == DATA:
            objects[struct.unpack('<I', entry[:4])[0]][1] += entry[4:]
        elif kind in (COMMIT, ABORT):
            for object_number in struct.unpack('<%dI' % (len(entry) // 4), entry):
                path, content = objects.pop(object_number)
                if kind == COMMIT:
                    files[path] = content
        elif kind == LINES:
            path, text = entry.split(b'\0', 1)
            files[path.decode()] = files.get(path.decode(), b'') + text
    return files


class BadLine:
    """Loses, flips and doubles bytes, each at a third of `rate`."""

    def __init__(self, rate, seed):
        self.rate, self.random = rate, random.Random(seed)

    def carry(self, data):
        if self.rate == 0:
            return data
        carried = bytearray()
        for byte in data:
            if self.random.random() >= self.rate:
                carried.append(byte)
                continue
            what = self.random.randrange(3)
            if what == 1:
                carried.append(byte ^ 1 << self.random.randrange(8))
            elif what == 2:
                carried += bytes((byte, byte))
        return bytes(carried)


def is_read(line):
    """Whether the other end of the socket of the file system has read all that was sent."""
    return struct.unpack('i', fcntl.ioctl(line, termios.TIOCOUTQ, bytes(4)))[0] == 0


def until_read(line):
    waiting.until(lambda: is_read(line), 'the reading of what was sent')


def unread(line):
    """How many bytes wait at this end of a socket, or in a pipe."""
    return struct.unpack('i', fcntl.ioctl(line, termios.FIONREAD, bytes(4)))[0]


def until_empty(pipe):
    waiting.until(lambda: unread(pipe) == 0, 'the reading of what was written', lambda: unread(pipe))


class Watch:
    """Of a line that is served by a socket of the file system."""

    def __init__(self):
        self.lock = threading.Lock()  # while the device hears and answers
        self.line = None


@contextlib.contextmanager
def served(path, device, scenes, watch=None):
    """A socket at `path`, or of TCP without one, where `device` hears and answers, one connection for each scene; gives
    the name of the line. A scene gets the connection first, and gives what says whether to cut it; the last one is not
    cut before the end of the context."""
    if path is None:
        server = socket.create_server(('127.0.0.1', 0))
    else:
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
    done = threading.Event()
    watch = watch or Watch()

    def serve():
        for left, scene in zip(range(len(scenes) - 1, -1, -1), scenes):
            try:
                line, _ = server.accept()
            except OSError:
                return  # nothing came
            with line:
                is_over = scene(line)
                watch.line = line
                while not done.is_set() and (left == 0 or not is_over()):
                    if not select.select([line], [], [], 0.05)[0]:
                        continue
                    with watch.lock, contextlib.suppress(OSError):
                        if data := line.recv(4096):
                            line.sendall(device.hear(data))
                            continue
                    break
                with watch.lock:
                    watch.line = None
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f'127.0.0.1:{server.getsockname()[1]}' if path is None else path
    finally:
        done.set()
        with contextlib.suppress(OSError):  # of a server that nobody waits at
            server.shutdown(socket.SHUT_RDWR)  # closed alone, it would wait on
        server.close()
        if path is not None:
            os.remove(path)
        thread.join(waiting.LIMIT_S)
        if thread.is_alive():
            raise waiting.WaitedTooLong('the end of the last scene', None)
