"""A reader of undamaged flash logs of its own, after the text of platform/flashlog/format.hpp alone."""
import binascii
import struct

START, DIRECTORY, BEGIN, DATA, COMMIT, ABORT, JOURNAL, LINES, COMMIT_WITH_NEXT = range(1, 10)
NEW_STREAM = 0xffffffff


class Block:
    def __init__(self, image, at):
        (self.sequence, self.block_bytes, self.block_count, self.index, self.granule,
         _) = struct.unpack_from('<IIHHHH', image, at + 8)
        self.erased = image[at + 5]
        header_bytes = struct.unpack_from('<H', image, at + 6)[0]
        self.data = image[at:at + self.block_bytes]
        self.start = header_bytes
        if self.data[self.start] == self.erased:
            self.start = -(-header_bytes // self.granule) * self.granule
        self.empty = self.data[self.start] != START << 4
        if self.empty:
            return
        assert struct.unpack_from('<H', self.data, self.start + 2)[0] == 20
        self.previous, self.previous_end = struct.unpack_from('<II', self.data, self.start + 4)
        self.boot = struct.unpack_from('<I', self.data, self.start + 20)[0]
        self.begin = self.start + 28
        crc = struct.unpack_from('<I', self.data, self.begin - 4)[0]
        assert crc == binascii.crc32(self.data[self.start:self.begin - 4])


def blocks(image):
    """The blocks of an image that begins with its first block, by their sequence."""
    first = next(at for at in range(0, len(image), 64) if image[at:at + 4] == b'OPFL')
    size = struct.unpack_from('<I', image, first + 12)[0]
    found = [Block(image, at) for at in range(0, len(image), size) if image[at:at + 4] == b'OPFL']
    return sorted((block for block in found if not block.empty), key=lambda block: block.sequence)


def streams(image):
    """The boot, the granule and the erased byte of each stream, and its pieces: bytes and offset in the block."""
    found = []
    for block in blocks(image):
        if block.previous_end == NEW_STREAM:
            found.append((block.boot, block.granule, block.erased, []))
        else:
            last = found[-1][3][-1]
            assert last[2] == block.previous, 'a block is missing'
            found[-1][3][-1] = (last[0][:block.previous_end - last[1]], last[1], last[2])
        found[-1][3].append((block.data[block.begin:], block.begin, block.sequence))
    return found


class Stream:
    def __init__(self, granule, erased, pieces):
        self.granule, self.erased = granule, erased
        self.bytes = b''.join(piece for piece, _, _ in pieces)
        self.offsets = [offset for piece, begin, _ in pieces for offset in range(begin, begin + len(piece))]
        self.ends = set()
        at = 0
        for piece, _, _ in pieces:
            at += len(piece)
            self.ends.add(at)

    def entries(self):
        """Kind, number and body of each entry under a CRC that holds."""
        at, run, crc = 0, [], 0
        while at < len(self.bytes):
            if self.bytes[at] == self.erased:
                # Up to the next granule, or the end of the block where one begins.
                to_end = self.offsets[at] % self.granule == 0
                at += 1
                while at < len(self.bytes) and at not in self.ends and (to_end or self.offsets[at] % self.granule != 0):
                    at += 1
                continue
            head = self.bytes[at] << 8 | self.bytes[at + 1]
            kind, number = head >> 12, head & 0xfff
            size = struct.unpack_from('<H', self.bytes, at + 2)[0]
            body = self.bytes[at + 4:at + 4 + size]
            crc = binascii.crc32(self.bytes[at:at + 4 + size], crc)
            run.append((kind, number, body))
            at += 4 + size
            if kind in (COMMIT, ABORT, LINES) or (kind == DATA and size >= 512):
                if len(self.bytes) < at + 4 or struct.unpack_from('<I', self.bytes, at)[0] != crc:
                    return
                yield from run
                at, run, crc = at + 4, [], 0


def committed(image):
    """Boot, path and bytes of each object that counts."""
    for boot, granule, erased, pieces in streams(image):
        directory, there = '', {}
        for kind, number, body in Stream(granule, erased, pieces).entries():
            if kind == DIRECTORY:
                directory = body.decode()
            elif kind == BEGIN:
                there[number] = (directory + '/' + body.decode(), [])
            elif kind == DATA:
                there[number][1].append(body)
            elif kind == ABORT:
                del there[number]
            elif kind in (COMMIT, COMMIT_WITH_NEXT):
                path, parts = there.pop(number)
                data = b''.join(parts)
                assert struct.unpack('<I', body)[0] == len(data)
                yield boot, path, data
