"""What the tests of the opdump command share: records and arrays made by hand, and a test case in a directory of
its own. Standard library only."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest


sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'support'))
import waiting  # noqa: E402
from peak_memory import measured  # noqa: E402
from with_numpy import numpy  # noqa: E402

OPDUMP = ''
DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'data', 'tool')
CRASH = 99  # what a sanitizer makes of its findings
SHARE = int(os.environ.get('OPDUMP_TEST_SHARE', '1'))  # of what is tried out exhaustively, one in so many

FLOAT, FLOAT16, INT8, INT32, UINT8, INT64, DOUBLE, BOOL, STRING = 0, 1, 2, 3, 4, 9, 11, 12, 13
COMPLEX64, QUINT16, BF16, INT4, UINT1, UINT2, COMPLEX32 = 16, 22, 27, 29, 30, 32, 33
E5M2, E4M3, E8M0, E2M1, HIFLOAT8 = 35, 36, 37, 40, 34
ND, NC1HWC0 = 2, 3


def tensor(dtype, shape, data, fmt=ND, original=None, name=b'op', original_dtype=None):
    return dict(dtype=dtype, shape=shape, data=data, fmt=fmt, original=original if original is not None else shape,
                name=name, original_dtype=dtype if original_dtype is None else original_dtype)


def record(inputs, outputs):
    def tlv(tag, value):
        return struct.pack('<II', tag, len(value)) + value

    def dims(shape):
        return struct.pack('<%dQ' % len(shape), *shape)

    def describe(t, is_output):
        tlvs = b''
        if t['shape'] is not None:
            tlvs += tlv(0, dims(t['shape'])) + tlv(1, dims(t['original']))
        fixed = struct.pack('<iii', t['dtype'], t['fmt'], 0)
        if is_output:
            fixed += struct.pack('<iii', 0, t['original_dtype'], t['fmt'])
            tlvs += tlv(2, t['name'])
        return fixed + struct.pack('<QQQI', t.get('address', 0), 0, len(t['data']), len(tlvs)) + tlvs

    head = struct.pack('<II', 0x5a5a5a5a, 0)
    for tag, tensors in ((4, inputs), (5, outputs)):
        head += tlv(tag, struct.pack('<I', len(tensors)) + b''.join(describe(t, tag == 5) for t in tensors))
    return struct.pack('<Q', len(head)) + head + b''.join(t['data'] for t in inputs + outputs)


def npy(descr, shape, data, version=1, fortran=False):
    text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (
        descr if descr[0] == '[' else repr(descr), fortran, repr(tuple(shape)))
    if shape:
        text += ' ' * (21 - len(repr(shape[0])))
    prefix = 10 if version == 1 else 12
    text += ' ' * (64 - (prefix + len(text) + 1) % 64) + '\n'
    return b'\x93NUMPY' + bytes([version, 0]) + struct.pack('<H' if version == 1 else '<I', len(text)) + \
        text.encode() + data


def floats(*values):
    return struct.pack('<%df' % len(values), *values)


def rounded_to_bfloat16(value):
    bits = struct.unpack('<I', floats(value))[0]
    return struct.unpack('<f', struct.pack('<I', bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000))[0]


NAME = 'Conv2D.conv1.3.0.1589195081588018'


# A folder without a disk, whose caches a dump would wait for; None if there is none.
MEMORY = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None


class Case(unittest.TestCase):
    maxDiff = None
    parent = None  # of the tests' directories; None: where temporary files go

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='opdump_tool_test', dir=self.parent)
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, *names):
        with open(self.path(*names), 'rb') as file:
            return file.read()

    def run_tool(self, *arguments, expect=0, stdin=b'', variables=None, **options):
        environment = dict(os.environ, TZ='UTC', LC_ALL='C', ASAN_OPTIONS='exitcode=%d' % CRASH,
                           UBSAN_OPTIONS='exitcode=%d' % CRASH, TSAN_OPTIONS='exitcode=%d' % CRASH, **(variables or {}))
        done = waiting.run([OPDUMP, *arguments], cwd=self.directory, env=environment, input=stdin,
                           stdout=options.pop('stdout', subprocess.PIPE), stderr=subprocess.PIPE, **options)
        out = (done.stdout or b'').decode(errors='replace')
        error = done.stderr.decode(errors='replace')
        self.assertIn(done.returncode, expect if isinstance(expect, tuple) else (expect,), out + error)
        return out, error

    def skip_under_sanitizers(self):
        with open(OPDUMP, 'rb') as file:
            if b'__asan_init' in file.read():
                self.skipTest('the sanitizer takes memory of its own')

    def peak_kib(self, *arguments):
        """The most resident memory of a run that succeeds."""
        status, kib, said = measured([OPDUMP, *arguments], cwd=self.directory)
        self.assertEqual(status, 0, said)
        return kib

    def files(self, directory='.'):
        found = []
        for root, _, names in os.walk(self.path(directory)):
            found += [os.path.relpath(os.path.join(root, name), self.path(directory)) for name in names
                      if not name.endswith('.journal')]
        return sorted(found)

    def golden(self, name, text):
        with open(os.path.join(DATA, name), encoding='utf-8') as file:
            self.assertEqual(file.read(), text)


class DumpCase(Case):  # with a folder for a dump and a config, at first of everything
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('dump'))
        self.config(dump_list=[{}])

    def config(self, **keys):
        self.write('acl.json', json.dumps({'dump': dict({'dump_path': 'dump', 'dump_mode': 'all'}, **keys)}))


def main():
    """Runs the tests of the calling script, whose first argument is the command."""
    global OPDUMP
    OPDUMP = os.path.abspath(sys.argv.pop(1))
    unittest.main('__main__', verbosity=2)  # with the reasons of what is skipped
