"""Reads and writes pictures as PNG: 8 bits a sample, not interlaced. Standard library only. Source: ISO/IEC 15948."""
import collections
import struct
import zlib

MAGIC = b'\x89PNG\r\n\x1a\n'


def chunks(content):
    assert content.startswith(MAGIC)
    at = len(MAGIC)
    while at < len(content):
        size, kind = struct.unpack_from('>I4s', content, at)
        yield kind, content[at + 8:at + 8 + size]
        at += size + 12


def unfiltered(data, height, stride, step):
    """The bytes of all rows; `step` is the bytes of a pixel."""
    rows, before = [], bytes(stride)
    for y in range(height):
        kind, row = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride if kind else 0):
            left, up, corner = (row[x - step], before[x], before[x - step]) if x >= step else (0, before[x], 0)
            if kind == 1:
                add = left
            elif kind == 2:
                add = up
            elif kind == 3:
                add = (left + up) // 2
            else:
                far = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
                add = (left, up, corner)[far.index(min(far))]
            row[x] = (row[x] + add) & 255
        before = bytes(row)
        rows.append(before)
    return b''.join(rows)


def read(path):
    """Width, height and colours, (red, green, blue) from the upper left on."""
    with open(path, 'rb') as file:
        parts = collections.defaultdict(bytes)
        for kind, data in chunks(file.read()):
            parts[kind] += data
    width, height, bits, colour, _, _, interlaced = struct.unpack('>IIBBBBB', parts[b'IHDR'])
    step = {2: 3, 3: 1, 6: 4}[colour]
    assert (bits, interlaced) == (8, 0)
    rows = unfiltered(zlib.decompress(parts[b'IDAT']), height, width * step, step)
    if colour == 3:
        palette = [tuple(parts[b'PLTE'][i:i + 3]) for i in range(0, len(parts[b'PLTE']), 3)]
        return width, height, [palette[index] for index in rows]
    return width, height, list(zip(rows[0::step], rows[1::step], rows[2::step]))


def write(path, width, height, colours, most=200, apart=8):
    """With the most frequent colours that are so far apart, others as the nearest of them."""
    counts, palette = collections.Counter(colours), []

    def distance(a, b):
        return max(abs(x - y) for x, y in zip(a, b))
    for colour, _ in counts.most_common():
        if len(palette) < most and all(distance(colour, other) >= apart for other in palette):
            palette.append(colour)
    nearest = {colour: min(range(len(palette)), key=lambda i, c=colour: distance(palette[i], c)) for colour in counts}
    rows = b''.join(b'\0' + bytes(nearest[colour] for colour in colours[y * width:(y + 1) * width]) for y in range(height))

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    with open(path, 'wb') as file:
        file.write(MAGIC + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 3, 0, 0, 0)) +
                   chunk(b'PLTE', bytes(sample for colour in palette for sample in colour)) +
                   chunk(b'IDAT', zlib.compress(rows, 9)) + chunk(b'IEND', b''))
