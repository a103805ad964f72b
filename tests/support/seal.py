"""Opens sealed dumps by the description in include/opdump/format/sealed.hpp, with cryptography of its own: X25519
by RFC 7748, HKDF by RFC 5869, ChaCha20-Poly1305 by RFC 8439. Slow, and standard library only."""
import hashlib
import hmac
import struct

PRIME = 2 ** 255 - 19


def x25519(secret, point):
    k = int.from_bytes(secret, 'little') & ~(7 | 1 << 255) | 1 << 254
    x1 = int.from_bytes(point, 'little') & (1 << 255) - 1
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb = d * a % PRIME, c * b % PRIME
        x3, z3 = (da + cb) ** 2 % PRIME, x1 * (da - cb) ** 2 % PRIME
        aa, bb = a * a % PRIME, b * b % PRIME
        e = aa - bb
        x2, z2 = aa * bb % PRIME, e * (aa + 121665 * e) % PRIME
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, PRIME - 2, PRIME) % PRIME).to_bytes(32, 'little')


def hkdf(secret, info):
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b'\x01', hashlib.sha256).digest()


def chacha20(key, nonce, counter, data):
    def quarter(s, a, b, c, d):
        for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = s[x] + s[y] & 0xffffffff
            word = s[z] ^ s[x]
            s[z] = (word << bits | word >> 32 - bits) & 0xffffffff

    out = bytearray()
    for at in range(0, len(data), 64):
        start = list(struct.unpack('<4I', b'expand 32-byte k') + struct.unpack('<8I', key) +
                     (counter + at // 64,) + struct.unpack('<3I', nonce))
        s = start[:]
        for _ in range(10):
            for quad in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                         (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
                quarter(s, *quad)
        stream = struct.pack('<16I', *((a + b) & 0xffffffff for a, b in zip(s, start)))
        out += bytes(a ^ b for a, b in zip(data[at:at + 64], stream))
    return bytes(out)


def poly1305(key, data):
    r = int.from_bytes(key[:16], 'little') & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for at in range(0, len(data), 16):
        total = (total + int.from_bytes(data[at:at + 16] + b'\x01', 'little')) * r % (2 ** 130 - 5)
    return (total + int.from_bytes(key[16:], 'little') & (1 << 128) - 1).to_bytes(16, 'little')


def open_chunk(key, nonce, associated, sealed):
    text, tag = sealed[:-16], sealed[-16:]

    def padded(part):
        return part + bytes(-len(part) % 16)

    one_time = chacha20(key, nonce, 0, bytes(32))
    authenticated = padded(associated) + padded(text) + struct.pack('<QQ', len(associated), len(text))
    assert hmac.compare_digest(poly1305(one_time, authenticated), tag), 'the tag is wrong'
    return chacha20(key, nonce, 1, text)


def open_file(secret, data):
    """A list of (directory, name, text), one for each stream."""
    streams, at = [], 0
    public = x25519(secret, struct.pack('<B31x', 9))
    while at < len(data):
        head = data[at:at + 56]
        magic, version, kind, _, stream, key_id, ephemeral = struct.unpack('<6sBBII8s32s', head)
        assert (magic, version, key_id) == (b'OPSEAL', 1, public[:8])
        key = hkdf(x25519(secret, ephemeral), b'opdump seal 1' + ephemeral + public)
        at += 56
        number, last, text = 0, 0, b''
        while at < len(data) and not last and (number == 0 or data[at:at + 6] != b'OPSEAL'):
            found, chunk, size = struct.unpack_from('<III', data, at)
            assert (found, chunk) == (stream, number)
            size, last = size >> 1, size & 1
            text += open_chunk(key, data[at:at + 12], head, data[at + 12:at + 28 + size])
            at += 28 + size
            number += 1
        assert last or kind == 1
        directory, name = struct.unpack_from('<HH', text)
        start = 4 + directory + name
        streams.append((text[4:4 + directory].decode(), text[4 + directory:start].decode(), text[start + 8 * kind:]))
    return streams
