"""Draws a line of text as a grey image, in letters of five by seven dots."""
LETTERS = {
    'A': '01110 10001 10001 11111 10001 10001 10001', 'E': '11111 10000 10000 11110 10000 10000 11111',
    'F': '11111 10000 10000 11110 10000 10000 10000', 'L': '10000 10000 10000 10000 10000 10000 11111',
    'P': '11110 10001 10001 11110 10000 10000 10000', 'R': '11110 10001 10001 11110 10100 10010 10001',
    'T': '11111 00100 00100 00100 00100 00100 00100', 'Y': '10001 10001 01010 00100 00100 00100 00100',
    '4': '00010 00110 01010 10010 11111 00010 00010', '7': '11111 00001 00010 00100 01000 01000 01000',
    ' ': '00000 00000 00000 00000 00000 00000 00000'}
DOT, MARGIN = 5, 6


def draw(text, width, height):
    """Rows of bytes, dark on light, of a line that begins at the left."""
    rows = [bytearray(b'\xf0' * width) for _ in range(height)]
    for number, letter in enumerate(text):
        for y, line in enumerate(LETTERS[letter].split()):
            for x, dot in enumerate(line):
                left = MARGIN + (number * 6 + x) * DOT
                if dot == '1' and left + DOT <= width:
                    for row in rows[MARGIN + y * DOT:MARGIN + (y + 1) * DOT]:
                        row[left:left + DOT] = b'\x20' * DOT
    return rows


def write_pgm(path, rows):
    path.write_bytes(f'P5 {len(rows[0])} {len(rows)} 255\n'.encode() + b''.join(rows))


def turned(rows):
    """By 180 degrees."""
    return [row[::-1] for row in reversed(rows)]
