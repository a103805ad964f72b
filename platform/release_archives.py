#!/usr/bin/env python3
"""Lays out the headers of opdump for firmware as package managers want them, one archive for each.

usage: release_archives.py FOLDER

FOLDER gets opdump-KIND-VERSION.tar.gz: zephyr for west, with zephyr/module.yml, esp-idf for ESP-IDF's registry of
components, with idf_component.yml at the root, platformio with library.json. The same sources make the same bytes.
"""
import gzip
import io
import json
import pathlib
import re
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = re.search(r"^  version: '([^']+)'", (ROOT / 'meson.build').read_text(), re.M)[1]
# The folders of platform/ that need no operating system, and what only Zephyr and ESP-IDF have.
FOLDERS = ('include/opdump', *(f'platform/{name}' for name in ('baremetal', 'flashlog', 'host', 'psa', 'template', 'wire')))
MORE = {'zephyr': ('platform/kconfig', 'platform/zephyr'), 'platformio': ('platform/freertos',),
        'esp-idf': ('platform/esp-idf', 'platform/freertos', 'platform/kconfig')}
SUFFIXES = ('.h', '.hpp', '.inl', '.cmake')
LIBRARY = {'name': 'opdump', 'version': VERSION, 'frameworks': '*', 'platforms': '*',
           'description': 'Captures tensors of a neural network on the device into dump files or raw flash',
           'build': {'includeDir': 'include', 'srcDir': '.', 'srcFilter': '-<*>'}}


def files_of(kind):
    """Bytes by the name in the archive."""
    at_root = ROOT / 'platform/esp-idf/opdump'
    files = {}
    for folder in (*FOLDERS, *MORE[kind]):
        for path in (ROOT / folder).rglob('*'):
            if path.parent != at_root and (path.suffix in SUFFIXES or path.name in ('Kconfig', 'CMakeLists.txt')):
                files[str(path.relative_to(ROOT))] = path.read_bytes()
    if kind == 'zephyr':
        module = (ROOT / 'platform/zephyr/module.yml').read_text()
        files['zephyr/module.yml'] = module.replace(': zephyr', ': platform/zephyr').encode()
    elif kind == 'esp-idf':
        files.update((path.name, path.read_bytes()) for path in at_root.iterdir())
    else:
        files['library.json'] = json.dumps(LIBRARY, indent=2).encode() + b'\n'
    return files


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit(f'release_archives.py: name one folder that exists, not {" ".join(sys.argv[1:]) or "none"}\n{__doc__}')
    for kind in MORE:
        to = pathlib.Path(sys.argv[1]) / f'opdump-{kind}-{VERSION}.tar.gz'
        with gzip.GzipFile(to, 'wb', mtime=0) as packed, tarfile.open(fileobj=packed, mode='w') as archive:
            for name, data in sorted(files_of(kind).items()):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o644
                archive.addfile(entry, io.BytesIO(data))


if __name__ == '__main__':
    main()
