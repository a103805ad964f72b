#!/usr/bin/env python3
"""A program written for pyACL dumps with the package of this folder, in the order of calls that CANN documents.

usage: acl_test.py LIBRARY
"""
import ctypes
import json
import os
import pathlib
import sys
import tempfile

os.environ['OPDUMP_PYACL'] = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import acl  # noqa: E402  (once it can be found)

DATA_DUMP = 4


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f'{what} returned {got}, not {wanted}: {acl.last_error()}')


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / 'dump').mkdir()
        config = place / 'acl.json'
        config.write_text(json.dumps({'dump': {'dump_path': str(place / 'dump'), 'dump_list': [{'model_name': 'net'}]}}))
        path_of = ctypes.CDLL(sys.argv[1]).acldumpGetPath
        path_of.restype = ctypes.c_char_p
        expect('acl.mdl.init_dump before acl.init', acl.mdl.init_dump(), 100001)
        expect('acl.init', acl.init(), 0)
        expect('acl.init again', acl.init(), 100002)
        expect('acl.mdl.set_dump before acl.mdl.init_dump', acl.mdl.set_dump(str(config)), 100045)
        for _ in range(2):  # several dumps in one process
            expect('acl.mdl.init_dump', acl.mdl.init_dump(), 0)
            expect('acl.mdl.set_dump of no path', acl.mdl.set_dump(None), 100000)
            expect('acl.mdl.set_dump of no file', acl.mdl.set_dump(str(place / 'missing.json')), 100003)
            if 'missing.json' not in acl.last_error():
                sys.exit(f'last_error says: {acl.last_error()}')
            expect('acl.mdl.set_dump', acl.mdl.set_dump(config), 0)
            directory = (path_of(DATA_DUMP) or b'').decode()
            expect('acldumpGetPath', pathlib.Path(directory).parent, place / 'dump')
            expect('acl.mdl.finalize_dump', acl.mdl.finalize_dump(), 0)
            expect('the journals', len(list(pathlib.Path(directory).rglob('*journal*'))) > 0, True)
        expect('acl.mdl.finalize_dump again', acl.mdl.finalize_dump(), 100045)
        expect('acl.finalize', acl.finalize(), 0)
        expect('acl.finalize again', acl.finalize(), 100037)


if __name__ == '__main__':
    main()
