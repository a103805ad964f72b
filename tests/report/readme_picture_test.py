#!/usr/bin/env python3
"""Holds the picture in the front README against what `opdump report` makes of a dump of the digits network today:
readme_picture_test.py OPDUMP DIGITS BUILD_FOLDER SOURCE_ROOT [--write]. With --write the picture is made anew."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent / 'support'))
import png_file  # noqa: E402
from browser import Browser  # noqa: E402

OPDUMP, DIGITS, BUILD, ROOT = [pathlib.Path(path).resolve() for path in sys.argv[1:5]]
PICTURE = 'examples/digits/report.png'
WIDTH, HEIGHT = 1100, 740
MOST_BYTES = 60 * 1000
# Fonts and the time of the dump differ.
MOST_UNLIKE = 0.05


def shot(folder):
    (folder / 'dump').mkdir()
    subprocess.run([DIGITS, '--config', ROOT / 'examples/digits/acl.json'], cwd=folder, check=True, capture_output=True)
    subprocess.run([OPDUMP, 'report', 'dump', '-o', 'report.html'], cwd=folder, check=True, capture_output=True)
    saw, = Browser(BUILD).look([{'page': str(folder / 'report.html'), 'width': WIDTH, 'height': HEIGHT,
                                 'shot': str(folder / 'shot.png')}], folder / 'jobs.json')
    assert saw['errors'] == [], saw
    return png_file.read(folder / 'shot.png')


with tempfile.TemporaryDirectory() as name:
    now = shot(pathlib.Path(name))
if '--write' in sys.argv:
    png_file.write(ROOT / PICTURE, *now)
size = (ROOT / PICTURE).stat().st_size
assert size <= MOST_BYTES, f'{PICTURE} has {size} bytes'
kept = png_file.read(ROOT / PICTURE)
assert kept[:2] == now[:2], f'{PICTURE} is {kept[0]} x {kept[1]}, the page {now[0]} x {now[1]}'
unlike = sum(max(abs(a - b) for a, b in zip(x, y)) > 64 for x, y in zip(kept[2], now[2])) / len(now[2])
print(f'{unlike:.1%} of the pixels differ')
assert unlike <= MOST_UNLIKE, f'{PICTURE} shows an older page; make it anew with --write'
assert PICTURE in (ROOT / 'README.md').read_text(encoding='utf-8')
