"""What the tests beside the vendor's msaccucmp share: where it is, and arrays as the device has them in memory."""
import os
import sys

from with_numpy import numpy

SKIPPED = 77
# Dtypes of opdump that NumPy has.
PLAIN = {'float32': '<f4', 'float16': '<f2', 'float64': '<f8', 'int8': '|i1', 'int16': '<i2', 'int32': '<i4',
         'int64': '<i8', 'uint8': '|u1', 'uint16': '<u2', 'uint32': '<u4', 'uint64': '<u8', 'bool': '|b1',
         'complex64': '<c8', 'complex128': '<c16'}


def needs_numpy():
    if numpy is None:
        print('skipped: there is no NumPy')
        sys.exit(SKIPPED)


def found():
    """The path of msaccucmp.py; skips the test where there is none, or no NumPy."""
    needs_numpy()
    place = os.environ.get('OPDUMP_MSACCUCMP')
    if not place:
        print('skipped: OPDUMP_MSACCUCMP does not name the folder of the vendor\'s msaccucmp')
        sys.exit(SKIPPED)
    path = os.path.abspath(os.path.join(place, 'msaccucmp.py') if os.path.isdir(place) else place)
    if not os.path.isfile(path):
        sys.exit('FAILED: OPDUMP_MSACCUCMP: there is no ' + path)
    return path


def blocked(array, fmt, block=16):
    """An NCHW, NCDHW or matrix array as `fmt` has it in memory, zeros for padding."""
    def pad(a, axis, size):
        widths = [(0, 0)] * a.ndim
        widths[axis] = (0, -a.shape[axis] % size)
        return numpy.pad(a, widths)
    if fmt in ('ND', 'NCHW', 'NCDHW'):
        return array
    if fmt == 'NHWC':
        return array.transpose(0, 2, 3, 1)
    if fmt == 'HWCN':
        return array.transpose(2, 3, 1, 0)
    if fmt == 'FRACTAL_NZ':
        a = pad(pad(array, -1, block), -2, 16)
        a = a.reshape(a.shape[:-2] + (a.shape[-2] // 16, 16, a.shape[-1] // block, block))
        axes = list(range(a.ndim - 4)) + [a.ndim - 2, a.ndim - 4, a.ndim - 3, a.ndim - 1]
        return a.transpose(axes)
    a = pad(array, 1, block)
    a = a.reshape((a.shape[0], a.shape[1] // block, block) + a.shape[2:])
    if fmt == 'NC1HWC0':
        return a.transpose(0, 1, 3, 4, 2)
    if fmt == 'NDC1HWC0':
        return a.transpose(0, 3, 1, 4, 5, 2)
    a = pad(a, 0, 16)  # FRACTAL_Z
    n, c1, c0, h, w = a.shape
    return a.reshape(n // 16, 16, c1, c0, h, w).transpose(2, 4, 5, 0, 1, 3).reshape(c1 * h * w, n // 16, 16, c0)
