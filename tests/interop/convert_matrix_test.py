#!/usr/bin/env python3
"""`opdump convert` beside the vendor's msaccucmp: convert_matrix_test.py OPDUMP DUMP_PARSER.

Every file that msaccucmp makes of a generated set of records has to be made by opdump too, under the same name and
with the same bytes: every dtype, rank and format pair, odd shapes, paddings and empty tensors, nano and protobuf
records, npy, msnpy and bin. Where msaccucmp is wrong both results are held against the right one, and the numbers are
printed. DUMP_PARSER is the folder of a library that stands in for the vendor's parser of protobuf messages.

environment
  OPDUMP_MSACCUCMP  folder of msaccucmp, or its msaccucmp.py
Without it, or without NumPy, the test is skipped (exit status 77).
"""
import io
import itertools
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import msaccucmp  # noqa: E402
import proto_record  # noqa: E402
import tool_case  # noqa: E402
from msaccucmp import SKIPPED, blocked  # noqa: E402
from with_numpy import numpy  # noqa: E402

STAMP = 1589195081588018
FORMATS = {'NCHW': 0, 'NHWC': 1, 'ND': 2, 'NC1HWC0': 3, 'FRACTAL_Z': 4, 'HWCN': 16, 'FRACTAL_NZ': 29, 'NCDHW': 30,
           'NDC1HWC0': 32}
# dtype of the array: its code in nano records, in protobuf ones.
DTYPES = {'<f4': (0, 1), '<f2': (1, 2), '|i1': (2, 3), '<i4': (3, 7), '|u1': (4, 4), '<i2': (6, 5), '<u2': (7, 6),
          '<u4': (8, 9), '<u8': (10, 10), '<i8': (9, 8), '<f8': (11, 12), '|b1': (12, 11), '<c8': (16, 16),
          '<c16': (17, 17)}
UINT1 = (30, 29)
HIFLOAT8, E5M2, E4M3, UNDEFINED = 33, 34, 35, 0
RANKS = [(), (7,), (3, 5), (2, 3, 7), (1, 3, 5, 7), (2, 1, 3, 1, 5), (1, 2, 1, 3, 1, 2), (2,) * 7, (1, 2) * 4]
PAIRS = {'NC1HWC0': ['NCHW', 'NHWC', 'HWCN'], 'FRACTAL_Z': ['NCHW', 'HWCN'], 'FRACTAL_NZ': ['ND', 'NCHW', 'NHWC'],
         'NDC1HWC0': ['NCDHW', 'ND'], 'NCHW': ['NHWC', 'FRACTAL_Z'], 'NHWC': ['NCHW', 'HWCN', 'FRACTAL_Z'],
         'HWCN': ['NCHW', 'NHWC', 'FRACTAL_Z']}


def up(value, block=16):
    return -(-value // block)


class Set:
    """Records of one folder, in both kinds."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        self.count = 0
        self.random = numpy.random.default_rng(7)

    def data(self, dtype, shape):
        item = numpy.dtype(dtype).itemsize
        data = self.random.integers(0, 256, item * math.prod(shape), dtype='u1')
        return (data % 2 if dtype == '|b1' else data).view(dtype).reshape(shape)

    def add(self, inputs, outputs, kinds=('nano', 'proto'), name=None, **options):
        for kind in kinds:
            def make(t):
                t = dict(t)
                dtype, original = t.pop('codes'), t.pop('logical', None)
                code = dtype[0 if kind == 'nano' else 1]
                return dict(tool_case.tensor(code, t['shape'], t['data'], t.get('fmt', 2), original), **t, dtype=code,
                            original_dtype=code)
            build = tool_case.record if kind == 'nano' else proto_record.record
            content = build(list(map(make, inputs)), list(map(make, outputs)), **(options if kind == 'proto' else {}))
            name_here = name or 'Test.%s%d.3.1.%d' % (kind, self.count, STAMP + self.count)
            self.count += 1
            with open(os.path.join(self.folder, name_here), 'wb') as file:
                file.write(content)

    def tensor(self, array, codes, fmt='ND', logical=None, padding=0, **more):
        return dict(codes=codes, shape=list(array.shape), data=array.tobytes() + bytes(padding), fmt=FORMATS[fmt],
                    logical=list(logical if logical is not None else array.shape), **more)


class Checks:
    def __init__(self, opdump, msaccucmp, parser):
        self.opdump, self.msaccucmp, self.parser = opdump, msaccucmp, parser
        self.done = self.failed = self.compared = 0
        self.bugs = []

    def that(self, holds, what):
        self.done += 1
        if not holds:
            self.failed += 1
            print('FAILED: ' + what)

    def bug(self, there, what):
        """A place where msaccucmp is wrong; that it is right now is no failure of ours."""
        self.bugs.append(what if there else 'no longer so: ' + what)

    def run(self, path, *options):
        """The files of both, by name, and both exit statuses."""
        found = []
        with tempfile.TemporaryDirectory(prefix='opdump_matrix') as folder:
            environment = dict(os.environ, LD_LIBRARY_PATH=self.parser)
            for i, command in enumerate(([self.opdump], [sys.executable, self.msaccucmp])):
                out = os.path.join(folder, str(i))
                status = subprocess.run(command + ['convert', '-d', path, '-out', out, *options], env=environment,
                                        cwd=os.path.dirname(self.msaccucmp), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, check=False).returncode
                files = {}
                for name in os.listdir(out) if os.path.isdir(out) else []:
                    with open(os.path.join(out, name), 'rb') as file:
                        files[name] = file.read()
                files.pop('convert_failed_file_list.txt', None)
                found.append((files, status))
        return found[0] + found[1]

    def same(self, path, *options, all_good=True):
        """All that msaccucmp wrote is ours too; ours may be more."""
        ours, status, theirs, _ = self.run(path, *options)
        what = ' '.join((os.path.basename(path),) + options)
        self.that(bool(theirs), what + ': msaccucmp wrote nothing')
        self.that(status == 0 or not all_good, what + ': exit status %d' % status)
        for name, content in sorted(theirs.items()):
            self.compared += 1
            self.that(name in ours and same_content(name, ours[name], content), '%s: %s is %s' %
                      (what, name, 'missing' if name not in ours else 'different:\n  %s\n  %s' %
                       (ours[name][:160], content[:160])))
        return ours, theirs


def array(content):
    return numpy.load(io.BytesIO(content))


def same_content(name, ours, theirs):
    """msaccucmp stores some of the arrays that it has transposed in Fortran order."""
    if ours == theirs or not name.endswith('.npy'):
        return ours == theirs
    ours, theirs = array(ours), array(theirs)
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def check_dtypes(checks, folder):
    records = Set(folder, 'dtypes')
    for dtype, codes in DTYPES.items():
        tensors = [records.tensor(records.data(dtype, shape), codes) for shape in RANKS]
        tensors += [records.tensor(records.data(dtype, (3, 5)), codes, padding=25),
                    records.tensor(records.data(dtype, (2, 0, 3)), codes),
                    records.tensor(records.data(dtype, (30000,)), codes)]
        records.add(tensors[:6], tensors[6:], op_name='scope/net/conv_1', buffers=[b'abc', b''], spaces=[b'xyz'])
    bits = records.data('|u1', (6,))
    records.add([], [dict(records.tensor(bits, UINT1), shape=[2, 3, 8], logical=[48])])
    records.add([], [records.tensor(records.data('|u1', (24,)), (-1, UNDEFINED))], kinds=['proto'], tail=b'more')
    for options in ([], ['-t', 'msnpy'], ['-t', 'bin']):
        checks.same(records.folder, *options)


def check_formats(checks, folder):
    generator = random.Random(5)
    for source, targets in PAIRS.items():
        for target in targets:
            records = Set(folder, source + '_to_' + target)
            for dtype in ('<f2', '|i1', '<f4', '<c16'):
                for _ in range(4):
                    pick = lambda most: generator.randint(1, most)  # noqa: E731
                    if source == 'FRACTAL_NZ':
                        logical = [pick(3)] * generator.randint(0, 1) + [pick(40), pick(70)]
                    elif source == 'NDC1HWC0':
                        logical = [pick(3), pick(40), pick(3), pick(4), pick(5)]
                    else:
                        logical = [pick(35), pick(35), pick(4), pick(5)]
                    plain = records.data(dtype, logical)
                    there = blocked(plain, source)
                    # msaccucmp compares the original dims with the result's place by place, so they have to be in the
                    # target's order; for a result in blocks there must be none.
                    order = [] if target == 'FRACTAL_Z' else plain.shape \
                        if source in ('FRACTAL_NZ', 'NDC1HWC0') else blocked(plain, target).shape
                    tensor = records.tensor(there, DTYPES[dtype], source, order)
                    records.add([tensor], [tensor])
            checks.same(records.folder, '-f', target)
            one = sorted(os.listdir(records.folder))[0]
            for options in (['-t', 'msnpy'], ['-t', 'bin'], ['-i', '0'], ['-o', '0']):
                checks.same(os.path.join(records.folder, one), '-f', target, *options)


def check_op_debug(checks, folder):
    generator = random.Random(6)
    word = lambda: generator.getrandbits(64)  # noqa: E731
    payloads = []
    for kind, count in ((0, 11), (1, 11), (2, 8), (3, 10)):
        for version, more in ((0, 0), (1, 3 if kind < 2 else 0), (2, 0)):
            payloads.append(struct.pack('<6I', 0x5a5a5a5a, version, 1, kind, 9, 88) +
                            struct.pack('<%dQ' % (count + more), *(word() for _ in range(count + more))) + b'tail' * 3)
    payloads.append(struct.pack('<256Q', *(word() for _ in range(256))))
    for i, payload in enumerate(payloads):
        records = Set(folder, 'debug%d' % i)
        tensor = dict(codes=(4, 4), shape=[len(payload)], data=payload, fmt=2)
        name = 'Opdebug.Node_OpDebug.%d.1.%d' % (i, STAMP)
        for kind in ('nano', 'proto'):
            records.add([], [tensor, tensor], kinds=[kind], name=name)
            ours, _ = checks.same(os.path.join(records.folder, name))
            checks.that(all(json.loads(text) for text in ours.values()), 'no JSON')


def restored(checks, records, tensor, wanted, *options):
    """Ours has to be `wanted`; gives msaccucmp's array, if it wrote one."""
    records.add([], [tensor], kinds=['proto' if 'groups' in tensor else 'nano'])
    path = os.path.join(records.folder, sorted(os.listdir(records.folder), key=lambda n: int(n[-8:]))[-1])
    ours, _, theirs, status = checks.run(path, *options)
    arrays = [array(content) for content in ours.values()]
    checks.that(len(arrays) == 1 and arrays[0].shape == wanted.shape and
                arrays[0].tobytes() == numpy.ascontiguousarray(wanted).tobytes(),
                'not what is right: ' + ' '.join(options) + ' ' + str([a.shape for a in arrays]) + str(wanted.shape))
    theirs = [array(content) for content in theirs.values()]
    return (theirs[0] if theirs else None), status


def grouped_fractal_z(plain, groups):
    total, c, h, w = plain.shape
    n = total // groups
    joined = min(math.lcm(math.lcm(c, 16) // c, math.lcm(n, 16) // n), groups)
    c1, n1 = up(joined * c), up(joined * n)
    out = numpy.zeros((up(groups, joined), c1, h, w, n1, 16, 16), plain.dtype)
    for group, i, j in itertools.product(range(groups), range(n), range(c)):
        dc, dn = group % joined * c + j, group % joined * n + i
        out[group // joined, dc // 16, :, :, dn // 16, dn % 16, dc % 16] = plain[group * n + i, j]
    return out.reshape(-1, n1, 16, 16)


def check_bugs(checks, folder):
    f2 = DTYPES['<f2']
    records = Set(folder, 'bugs')

    plain = numpy.arange(1, 2305, dtype='<i2').reshape(32, 8, 3, 3)
    wanted = grouped_fractal_z(plain, 8)
    theirs, _ = restored(checks, records, records.tensor(plain, (6, 5), 'NCHW', [], groups=8), wanted, '-f',
                         'FRACTAL_Z')
    missing = plain.size - numpy.isin(plain, theirs).sum() if theirs is not None else plain.size
    checks.bug(missing != 0, 'FRACTAL_Z of 8 groups of 4x8x3x3 weights: %d of %d elements are lost' %
               (missing, plain.size))

    plain = records.data('<i2', (2, 3, 20, 40))
    theirs, _ = restored(checks, records, records.tensor(blocked(plain, 'FRACTAL_NZ'), (6, 5), 'FRACTAL_NZ',
                                                         plain.shape), plain, '-f', 'ND')
    checks.bug(theirs is None or theirs.shape != plain.shape, 'FRACTAL_NZ of rank 4: %s in place of %s' %
               (theirs.shape if theirs is not None else 'nothing', plain.shape))

    plain = records.data('|i1', (20, 40))
    theirs, status = restored(checks, records, records.tensor(blocked(plain, 'FRACTAL_NZ', 32), (2, 3), 'FRACTAL_NZ',
                                                              plain.shape), plain, '-f', 'ND')
    checks.bug(theirs is None, 'FRACTAL_NZ of 32-element blocks, 24 of them padding: refused, exit status %d' % status)

    plain = records.data('<i2', (1, 40))
    theirs, status = restored(checks, records, records.tensor(blocked(plain, 'FRACTAL_NZ'), (6, 5), 'FRACTAL_NZ',
                                                              [40]), plain.reshape(40), '-f', 'ND')
    checks.bug(theirs is None, 'FRACTAL_NZ of a vector: refused, exit status %d' % status)

    plain = records.data('<i2', (2, 3, 4, 5))
    wanted = plain.transpose(0, 2, 3, 1)
    theirs, _ = restored(checks, records, records.tensor(plain, (6, 5), 'NCHW'), wanted, '-f', 'NHWC')
    checks.bug(theirs is not None and theirs.shape != wanted.shape, 'NCHW %s to NHWC with its own original shape: '
               'cut to %s, %d of %d elements lost' % (plain.shape, theirs.shape, wanted.size - theirs.size, wanted.size)
               if theirs is not None else 'NCHW to NHWC: nothing written')

    plain = records.data('<i2', (2, 29, 3, 5))
    wanted = plain.transpose(0, 2, 3, 1)
    theirs, status = restored(checks, records, records.tensor(blocked(plain, 'NC1HWC0'), (6, 5), 'NC1HWC0',
                                                              plain.shape), wanted, '-f', 'NHWC')
    checks.bug(theirs is None or theirs.shape != wanted.shape, 'NC1HWC0 to NHWC with an NCHW original shape: %s in '
               'place of %s, exit status %d' % (theirs.shape if theirs is not None else 'nothing', wanted.shape, status))

    plain = records.data('<i2', (3, 20, 4, 4))
    wanted = blocked(plain, 'FRACTAL_Z')
    theirs, _ = restored(checks, records, records.tensor(plain, (6, 5), 'NCHW'), wanted, '-f', 'FRACTAL_Z')
    checks.bug(theirs is not None and theirs.shape != wanted.shape, 'NCHW %s to FRACTAL_Z: %s in place of %s' %
               (plain.shape, theirs.shape if theirs is not None else 'nothing', wanted.shape))


def small_float(code, exponent_bits, mantissa_bits, has_infinity):
    bias = 2 ** (exponent_bits - 1) - 1
    exponent, mantissa = code >> mantissa_bits & (2 ** exponent_bits - 1), code & (2 ** mantissa_bits - 1)
    top = exponent == 2 ** exponent_bits - 1
    if top and has_infinity:
        value = math.nan if mantissa else math.inf
    elif top and mantissa == 2 ** mantissa_bits - 1:
        value = math.nan
    else:
        value = (mantissa / 2 ** mantissa_bits + (exponent != 0)) * 2.0 ** (max(exponent, 1) - bias)
    return -value if code & 0x80 else value


def hifloat8(code):
    bits = '{:07b}'.format(code & 0x7f)
    sign = -1.0 if code & 0x80 else 1.0
    if code == 0x80:
        return math.nan
    if bits == '1101111':
        return sign * math.inf
    for prefix, width in (('11', 4), ('10', 3), ('01', 2), ('001', 1), ('0001', 0)):
        if bits.startswith(prefix):
            rest = bits[len(prefix):]
            exponent = int('1' + rest[1:width], 2) * (-1 if rest[0] == '1' else 1) if width else 0
            mantissa = rest[width:]
            return sign * (1 + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0 ** exponent
    return sign * 2.0 ** (code % 8 - 23) if code & 0x7f else 0.0


def check_small_floats(checks, folder):
    codes = numpy.arange(256, dtype='u1')
    right = {HIFLOAT8: ('hifloat8', hifloat8), E5M2: ('float8_e5m2', lambda c: small_float(c, 5, 2, True)),
             E4M3: ('float8_e4m3fn', lambda c: small_float(c, 4, 3, False))}
    for dtype, (name, decode) in right.items():
        records = Set(folder, name)
        wanted = numpy.array([decode(int(code)) for code in codes])
        theirs, _ = restored(checks, records, dict(records.tensor(codes, (-1, dtype)), groups=0), wanted)
        wrong = ~((theirs == wanted) | (numpy.isnan(theirs) & numpy.isnan(wanted)))
        first = int(wrong.argmax())
        checks.bug(wrong.any(), '%s: %d of 256 codes are wrong, the first 0x%02x: %g in place of %g' %
                   (name, wrong.sum(), first, theirs[first], wanted[first]))


def check_losses(checks, folder):
    records = Set(folder, 'losses')
    good, bad = records.tensor(records.data('<f4', (2, 3)), (0, 1)), dict(codes=(29, 28), shape=[4], data=b'ab', fmt=2)
    records.add([good], [bad], kinds=['nano'])
    ours, status, theirs, _ = checks.run(os.path.join(records.folder, os.listdir(records.folder)[0]))
    checks.that((len(ours), status) == (2, 0), 'a record with an int4 tensor: %d files' % len(ours))
    checks.bug(len(theirs) < 2, 'a record with an int4 tensor: %d of 2 tensors written' % len(theirs))


def main():
    vendor = msaccucmp.found()
    if subprocess.run([sys.executable, '-c', 'import psutil'], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print('skipped: msaccucmp needs the Python package psutil for folders')
        return SKIPPED
    checks = Checks(os.path.abspath(sys.argv[1]), vendor, os.path.abspath(sys.argv[2]))
    with tempfile.TemporaryDirectory(prefix='opdump_matrix') as folder:
        for check in (check_dtypes, check_formats, check_op_debug, check_bugs, check_small_floats, check_losses):
            check(checks, folder)
    print('where msaccucmp is wrong:')
    for bug in checks.bugs:
        print('  ' + bug)
    print('%d files compared, %d checks, %d failed' % (checks.compared, checks.done, checks.failed))
    return 1 if checks.failed else 0


if __name__ == '__main__':
    sys.exit(main())
