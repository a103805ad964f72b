"""CRC-32C (Castagnoli), by a table of the bytes."""


def remainder(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
    return byte


REMAINDERS = tuple(map(remainder, range(256)))


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ REMAINDERS[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff
