#!/usr/bin/env python3
"""Tests of `opdump diverge` from outside: tool_diverge_test.py OPDUMP SHARE [unittest arguments].

Of the networks with a planted fault one in SHARE is tried. NumPy computes what operators should make; without it the tests are skipped.
"""
import itertools
import json
import math
import os
import shutil
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from model_files import onnx_model, onnx_node, onnx_tensor, onnx_value  # noqa: E402
from proto_record import text as tool_message  # noqa: E402
from tool_case import Case, numpy  # noqa: E402

if numpy is not None:
    from replayed_ops import Operators, record_of, spoilt

SHARE = int(sys.argv.pop(2))
ONNX = {'float32': 1, 'uint8': 2, 'int8': 3, 'int32': 6, 'int64': 7, 'bool': 9, 'float16': 10, 'float64': 11}


def reals(seed, *shape, dtype='float32', low=-2.0, high=2.0):
    return numpy.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def whole(seed, *shape, dtype='int32', low=-9, high=10):
    return numpy.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def int64s(*values):
    return numpy.array(values, numpy.int64)


# References, written from ONNX's words, with NumPy and in float64.


def erf(x):
    return numpy.vectorize(math.erf)(x)


def same_pads(extent, kernel, stride, dilation, upper):
    out = -(-extent // stride)
    pad = max((out - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0)
    return (pad // 2, pad - pad // 2) if upper else (pad - pad // 2, pad // 2)


def windows_of(extent, kernel, stride, dilation, pads, ceil=False):
    room = extent + sum(pads) - (kernel - 1) * dilation - 1
    out = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (out - 1) * stride >= extent + pads[0]:
        out -= 1
    return out


def conv(x, w, b=None, strides=None, pads=None, dilations=None, group=1, auto_pad=None):
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads or [0] * 2 * rank
    if auto_pad:
        both = [same_pads(x.shape[2 + i], w.shape[2 + i], strides[i], dilations[i], auto_pad == 'SAME_UPPER')
                for i in range(rank)]
        pads = [pad[0] for pad in both] + [pad[1] for pad in both]
    padded = numpy.pad(x.astype(numpy.float64), [(0, 0), (0, 0)] + list(zip(pads[:rank], pads[rank:])))
    out = [windows_of(x.shape[2 + i], w.shape[2 + i], strides[i], dilations[i], (pads[i], pads[rank + i]))
           for i in range(rank)]
    y = numpy.zeros([x.shape[0], w.shape[0]] + out)
    each, made = w.shape[1], w.shape[0] // group
    for g in range(group):
        part = padded[:, g * each:(g + 1) * each]
        weights = w[g * made:(g + 1) * made].astype(numpy.float64)
        for k in itertools.product(*map(range, w.shape[2:])):
            cut = tuple(slice(k[i] * dilations[i], k[i] * dilations[i] + (out[i] - 1) * strides[i] + 1, strides[i])
                        for i in range(rank))
            y[:, g * made:(g + 1) * made] += numpy.einsum('nc...,mc->nm...', part[(slice(None), slice(None)) + cut],
                                                          weights[(slice(None), slice(None)) + k])
    return y if b is None else y + b.reshape([1, -1] + [1] * rank)


def pool(x, kernel, strides=None, pads=None, dilations=None, ceil=False, average=None):
    """`average`: None for the greatest, else whether padding counts."""
    rank = x.ndim - 2
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    out = [windows_of(x.shape[2 + i], kernel[i], strides[i], dilations[i], (pads[i], pads[rank + i]), ceil)
           for i in range(rank)]
    y, places = numpy.zeros(list(x.shape[:2]) + out), numpy.zeros(list(x.shape[:2]) + out, numpy.int64)
    for at in itertools.product(*map(range, out)):
        taken, padded = [], 0
        for k in itertools.product(*map(range, kernel)):
            place = [at[i] * strides[i] + k[i] * dilations[i] - pads[i] for i in range(rank)]
            if all(0 <= p < x.shape[2 + i] for i, p in enumerate(place)):
                taken.append(tuple(place))
            elif all(p < x.shape[2 + i] + pads[rank + i] for i, p in enumerate(place)):
                padded += 1
        values = numpy.stack([x[(slice(None), slice(None)) + place] for place in taken]).astype(numpy.float64)
        here = (slice(None), slice(None)) + at
        if average is None:
            y[here] = values.max(axis=0)
            flat = numpy.array([numpy.ravel_multi_index(place, x.shape[2:]) for place in taken])
            first = flat[values.argmax(axis=0)]
            planes = numpy.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2])
            places[here] = first + planes * int(numpy.prod(x.shape[2:]))
        else:
            y[here] = values.sum(axis=0) / (len(taken) + (padded if average else 0))
    return y, places


def softmax(x, axis):
    e = numpy.exp(x.astype(numpy.float64) - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def quantised(real, scale, zero, dtype):
    limits = numpy.iinfo(dtype)
    return numpy.clip(numpy.rint(real / scale) + zero, limits.min, limits.max).astype(dtype)


def per_axis(values, axis, rank):
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def as_float(x, dtype='float32'):
    return numpy.asarray(x).astype(dtype)


def add_unary(ops):
    x = reals(1, 3, 5, 7)
    one = reals(2, 4, 6, low=-0.95, high=0.95)
    some = reals(3, 4, 6, low=0.1, high=4)
    wide = x.astype(numpy.float64)
    for name, f, given in (
            ('Abs', numpy.abs, x), ('Acos', numpy.arccos, one), ('Acosh', numpy.arccosh, some + 1),
            ('Asin', numpy.arcsin, one), ('Asinh', numpy.arcsinh, x), ('Atan', numpy.arctan, x),
            ('Atanh', numpy.arctanh, one), ('Ceil', numpy.ceil, x), ('Cos', numpy.cos, x), ('Cosh', numpy.cosh, x),
            ('Erf', erf, x), ('Exp', numpy.exp, x), ('Floor', numpy.floor, x), ('Log', numpy.log, some),
            ('Neg', numpy.negative, x), ('Reciprocal', lambda v: 1 / v, some), ('Relu', lambda v: numpy.maximum(v, 0), x),
            ('Round', numpy.rint, x), ('Sigmoid', lambda v: 1 / (1 + numpy.exp(-v)), x), ('Sign', numpy.sign, x),
            ('Sin', numpy.sin, x), ('Sinh', numpy.sinh, x), ('Softsign', lambda v: v / (1 + abs(v)), x),
            ('Softplus', lambda v: numpy.log1p(numpy.exp(v)), x), ('Sqrt', numpy.sqrt, some), ('Tan', numpy.tan, one),
            ('Tanh', numpy.tanh, x), ('HardSwish', lambda v: v * numpy.clip(v / 6 + 0.5, 0, 1), x)):
        ops.add(name, [given], as_float(f(given.astype(numpy.float64))))
        half = given.astype(numpy.float16)
        ops.add(name, [half], as_float(f(half.astype(numpy.float64)), 'float16'))
    ops.add('LeakyRelu', [x], as_float(numpy.where(x < 0, 0.01 * wide, wide)))
    ops.add('LeakyRelu', [x], as_float(numpy.where(x < 0, 0.25 * wide, wide)), alpha=0.25)
    ops.add('Elu', [x], as_float(numpy.where(x < 0, 2 * numpy.expm1(wide), wide)), alpha=2.0)
    ops.add('Celu', [x], as_float(numpy.where(x < 0, 0.5 * numpy.expm1(wide / 0.5), wide)), alpha=0.5)
    ops.add('Selu', [x], as_float(1.5 * numpy.where(x < 0, 2 * numpy.expm1(wide), wide)), alpha=2.0, gamma=1.5)
    ops.add('ThresholdedRelu', [x], as_float(numpy.where(x > 0.5, x, 0)), alpha=0.5)
    ops.add('HardSigmoid', [x], as_float(numpy.clip(0.25 * wide + 0.375, 0, 1)), alpha=0.25, beta=0.375)
    ops.add('Shrink', [x], as_float(numpy.where(x < -1, wide + 0.5, numpy.where(x > 1, wide - 0.5, 0))), lambd=1.0, bias=0.5)
    ops.add('Clip', [x, as_float(-0.5), as_float(0.75)], numpy.clip(x, as_float(-0.5), as_float(0.75)))
    ops.add('Clip', [x, None, as_float(0.75)], numpy.minimum(x, as_float(0.75)))
    ops.add('Clip', [whole(4, 30), numpy.int32(-3), numpy.int32(5)], numpy.clip(whole(4, 30), -3, 5))
    ops.add('Relu', [whole(4, 30, dtype='int8')], numpy.maximum(whole(4, 30, dtype='int8'), 0))
    ops.add('Not', [x > 0], ~(x > 0))
    odd = numpy.array([1, numpy.nan, numpy.inf, -numpy.inf], numpy.float32)
    ops.add('IsNaN', [odd], numpy.isnan(odd))
    ops.add('IsInf', [odd], numpy.isneginf(odd), detect_positive=0)
    ops.add('Abs', [odd], numpy.abs(odd))
    for to in ('float16', 'float64', 'int32', 'int8', 'uint8', 'bool', 'int64'):
        given = numpy.abs(x) * 20 if to == 'uint8' else x * 20
        ops.add('Cast', [given], given.astype(to), to=ONNX[to])
    ops.add('Cast', [whole(5, 40)], as_float(whole(5, 40)), to=1)
    ops.add('Cast', [as_float([1e6, -1e6, 3])], as_float([numpy.inf, -numpy.inf, 3], 'float16'), to=10)


def add_binary(ops):
    a, b = reals(11, 3, 1, 5), reals(12, 4, 1, low=0.5, high=2)
    i, k = whole(13, 3, 1, 5), whole(14, 4, 1, low=1)
    for name, f in (('Add', numpy.add), ('Sub', numpy.subtract), ('Mul', numpy.multiply), ('Div', numpy.divide),
                    ('Max', numpy.maximum), ('Min', numpy.minimum)):
        ops.add(name, [a, b], f(a, b))
        ops.add(name, [b, a] if name != 'Div' else [a, as_float(3)], f(b, a) if name != 'Div' else a / as_float(3))
        ops.add(name, [a.astype(numpy.float16), b.astype(numpy.float16)],
                f(a.astype(numpy.float16), b.astype(numpy.float16)))
        ops.add(name, [i, k], f(i, k) if name != 'Div' else numpy.trunc(i / k).astype(numpy.int32))
    big = numpy.array([2**62 + 1, -2**62 - 1, 7], numpy.int64)
    ops.add('Add', [big, int64s(1)], big + 1)
    ops.add('Mul', [numpy.array([2**40], numpy.uint64), numpy.array([2**23 + 1], numpy.uint64)],
            numpy.array([2**40 * (2**23 + 1)], numpy.uint64))
    ops.add('Pow', [numpy.abs(a), b], as_float(numpy.abs(a).astype(numpy.float64)**b))
    ops.add('Pow', [i, whole(15, 5, low=0, high=4)], i**whole(15, 5, low=0, high=4))
    ops.add('Mod', [i, k], numpy.mod(i, k))
    ops.add('Mod', [i, -k], numpy.mod(i, -k))
    ops.add('Mod', [a, b], numpy.fmod(a, b), fmod=1)
    ops.add('PRelu', [a, as_float([[0.5], [2]])[:1]], numpy.where(a < 0, a * as_float(0.5), a))
    for name, f in (('Equal', numpy.equal), ('Less', numpy.less), ('Greater', numpy.greater),
                    ('LessOrEqual', numpy.less_equal), ('GreaterOrEqual', numpy.greater_equal)):
        ops.add(name, [i, k], f(i, k))
        ops.add(name, [a, a + (b > 1)], f(a, a + (b > 1)))
    for name, f in (('And', numpy.logical_and), ('Or', numpy.logical_or), ('Xor', numpy.logical_xor)):
        ops.add(name, [a > 0, b > 1], f(a > 0, b > 1))
    ops.add('Where', [a > 0, a, b], numpy.where(a > 0, a, b))
    ops.add('Sum', [a, b, a], a + b + a)
    ops.add('Mean', [a, b, a], as_float((a + b + a).astype(numpy.float64) / 3))
    ops.add('BitShift', [whole(16, 9, dtype='uint8', low=0, high=250), numpy.array([3], numpy.uint8)],
            whole(16, 9, dtype='uint8', low=0, high=250) >> 3, direction='RIGHT')


def add_reductions(ops):
    x = reals(21, 3, 4, 5, low=0.2)
    wide = x.astype(numpy.float64)
    for name, f in (('ReduceMean', numpy.mean), ('ReduceMax', numpy.max), ('ReduceMin', numpy.min), ('ReduceProd', numpy.prod),
                    ('ReduceL1', lambda v, **k: numpy.sum(numpy.abs(v), **k)),
                    ('ReduceL2', lambda v, **k: numpy.sqrt(numpy.sum(v * v, **k))),
                    ('ReduceLogSum', lambda v, **k: numpy.log(numpy.sum(v, **k))),
                    ('ReduceLogSumExp', lambda v, **k: numpy.log(numpy.sum(numpy.exp(v), **k))),
                    ('ReduceSumSquare', lambda v, **k: numpy.sum(v * v, **k))):
        ops.add(name, [x], as_float(f(wide, axis=(0, 2), keepdims=True)), axes=[0, -1])
        ops.add(name, [x], as_float(f(wide, axis=1)), axes=[1], keepdims=0)
        ops.add(name, [x], as_float(f(wide, axis=(0, 1, 2), keepdims=True)))
    ops.add('ReduceSum', [x, int64s(1, -1)], as_float(wide.sum(axis=(1, 2), keepdims=True)))
    ops.add('ReduceSum', [x, int64s(0)], as_float(wide.sum(axis=0)), keepdims=0)
    ops.add('ReduceSum', [x, None], x, noop_with_empty_axes=1)
    ops.add('ReduceSum', [whole(22, 3, 4), int64s(0)], whole(22, 3, 4).sum(axis=0, keepdims=True, dtype=numpy.int32))
    twice = numpy.array([[1, 3, 3], [2, 2, 0]], numpy.float32)
    ops.add('ArgMax', [twice], int64s(1, 0).reshape(2, 1), axis=1)
    ops.add('ArgMax', [twice], int64s(2, 1), axis=-1, keepdims=0, select_last_index=1)
    ops.add('ArgMin', [x], numpy.argmin(x, axis=0)[None], axis=0)
    for axis in (0, 1, -1):
        ops.add('Softmax', [x], as_float(softmax(x, axis)), axis=axis)
        ops.add('LogSoftmax', [x], as_float(numpy.log(softmax(x, axis))), axis=axis)
    ops.add('Softmax', [x.astype(numpy.float16)], as_float(softmax(x.astype(numpy.float16), -1), 'float16'))
    ops.add('Hardmax', [twice], as_float([[0, 1, 0], [1, 0, 0]]))
    ops.add('CumSum', [x, numpy.int32(1)], as_float(wide.cumsum(axis=1)))
    ops.add('CumSum', [x, numpy.int32(2)],
            as_float(numpy.flip(numpy.flip(wide, 2).cumsum(axis=2), 2) - wide), reverse=1, exclusive=1)


def add_movements(ops):
    x, i = reals(31, 2, 3, 4, 5), whole(32, 4, 6, dtype='int8')
    ops.add('Transpose', [x], x.transpose(3, 1, 0, 2), perm=[3, 1, 0, 2])
    ops.add('Transpose', [i], i.T)
    ops.add('Reshape', [x, int64s(0, -1, 10)], x.reshape(2, 6, 10))
    ops.add('Reshape', [x.astype(numpy.float16), int64s(120)], x.astype(numpy.float16).reshape(120))
    ops.add('Flatten', [x], x.reshape(6, 20), axis=2)
    ops.add('Flatten', [x], x.reshape(1, 120), axis=0)
    ops.add('Flatten', [x], x.reshape(24, 5), axis=-1)
    ops.add('Squeeze', [x[:1, :, :1], int64s(0, 2)], x[0, :, 0])
    ops.add('Squeeze', [x[:1, :, :1]], x[0, :, 0])
    ops.add('Unsqueeze', [i, int64s(0, -1)], i[None, :, :, None])
    ops.add('Identity', [i], i)
    ops.add('Dropout', [x], x)
    ops.add('Concat', [x, x[:, :1], x[:, 1:]], numpy.concatenate([x, x[:, :1], x[:, 1:]], axis=1), axis=1)
    ops.add('Concat', [i, i], numpy.concatenate([i, i], axis=-1), axis=-1)
    ops.add('Split', [x, int64s(1, 3)], [x[:, :, :1], x[:, :, 1:]], axis=2)
    ops.add('Split', [i], [i[:, :3], i[:, 3:]], axis=1)
    ops.add('Slice', [x, int64s(1, -3), int64s(3, 2**62), int64s(1, 3)], x[:, 1:3, :, -3:])
    ops.add('Slice', [x, int64s(-1, 4), int64s(-2**62, 0), int64s(2, 3), int64s(-1, -2)], x[:, :, ::-1, 4:0:-2])
    ops.add('Slice', [i, int64s(0), int64s(100), int64s(1), int64s(4)], i[:, ::4])
    for mode in ('edge', 'reflect'):
        ops.add('Pad', [x, int64s(0, 1, 0, 2, 0, 2, 0, 3)], numpy.pad(x, [(0, 0), (1, 2), (0, 0), (2, 3)], mode), mode=mode)
    ops.add('Pad', [x, int64s(0, 0, 1, -1, 0, 0, 2, 0), as_float(1.5)],
            numpy.pad(x[:, :, :, 1:], [(0, 0), (0, 0), (1, 2), (0, 0)], constant_values=1.5))
    ops.add('Expand', [i[:, :1], int64s(2, 1, 5)], numpy.broadcast_to(i[:, :1], (2, 4, 5)))
    ops.add('Tile', [i, int64s(2, 3)], numpy.tile(i, (2, 3)))
    ops.add('Gather', [x, whole(33, 2, 2, dtype='int64', low=-3, high=3)],
            numpy.take(x, whole(33, 2, 2, dtype='int64', low=-3, high=3) % 3, axis=1), axis=1)
    ops.add('GatherElements', [i, int64s([0, -1], [3, 2])], numpy.array([[i[0, 0], i[3, 1]], [i[3, 0], i[2, 1]]]))
    d = reals(34, 2, 8, 2, 3)
    ops.add('DepthToSpace', [d], d.reshape(2, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 4, 6), blocksize=2)
    ops.add('DepthToSpace', [d], d.reshape(2, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 4, 6), blocksize=2,
            mode='CRD')
    s = reals(35, 2, 3, 4, 6)
    ops.add('SpaceToDepth', [s], s.reshape(2, 3, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3), blocksize=2)
    ops.add('Shape', [x], int64s(3, 4), start=1, end=-1)
    ops.add('Size', [x], numpy.int64(120))
    ops.add('Trilu', [x[0, 0]], numpy.triu(x[0, 0]))
    ops.add('Trilu', [x[0, 0], numpy.int64(-1)], numpy.tril(x[0, 0], -1), upper=0)


def add_products(ops):
    a, b = reals(41, 2, 1, 6, 9), reals(42, 3, 9, 4)
    ops.add('MatMul', [a, b], as_float(numpy.matmul(a.astype(numpy.float64), b)))
    ops.add('MatMul', [a[0, 0], b[0]], a[0, 0] @ b[0])
    ops.add('MatMul', [a[0, 0, 0], b], as_float(numpy.matmul(a[0, 0, 0].astype(numpy.float64), b)))
    ops.add('MatMul', [a, b[0, :, 0]], as_float(numpy.matmul(a.astype(numpy.float64), b[0, :, 0])))
    ops.add('MatMul', [a[0, 0].astype(numpy.float16), b[0].astype(numpy.float16)],
            as_float(a[0, 0].astype(numpy.float16).astype(numpy.float64) @ b[0].astype(numpy.float16), 'float16'))
    ops.add('MatMul', [whole(43, 3, 4), whole(44, 4, 5)], whole(43, 3, 4) @ whole(44, 4, 5))
    m, n, c = reals(45, 6, 9), reals(46, 4, 9), reals(47, 4)
    wide = m.astype(numpy.float64)
    ops.add('Gemm', [m, n, c], as_float(wide @ n.T + c), transB=1)
    ops.add('Gemm', [m.T.copy(), n, c[None]], as_float(0.5 * (wide @ n.T) + 2 * c), transA=1, transB=1, alpha=0.5, beta=2.0)
    ops.add('Gemm', [m, n.T.copy()], as_float(wide @ n.T))
    ops.add('Gemm', [m, n.T.copy(), reals(48, 6, 1)], as_float(wide @ n.T + reals(48, 6, 1)))
    x, w, bias = reals(51, 2, 4, 9, 8), reals(52, 6, 4, 3, 3), reals(53, 6)
    for attributes in ({}, {'strides': [2, 1]}, {'pads': [1, 0, 2, 1]}, {'dilations': [2, 3]}, {'auto_pad': 'SAME_UPPER'},
                       {'auto_pad': 'SAME_LOWER', 'strides': [2, 2]}, {'strides': [3, 2], 'pads': [2, 2, 2, 2], 'dilations': [1, 2]}):
        ops.add('Conv', [x, w, bias], as_float(conv(x, w, bias, **attributes)), **attributes)
    ops.add('Conv', [x, w], as_float(conv(x, w)), auto_pad='VALID', kernel_shape=[3, 3])
    ops.add('Conv', [x, w[:, :2].copy(), bias], as_float(conv(x, w[:, :2], bias, group=2)), group=2)
    deep = reals(54, 4, 1, 3, 3)
    ops.add('Conv', [x, deep], as_float(conv(x, deep, group=4, pads=[1, 1, 1, 1])), group=4, pads=[1, 1, 1, 1])
    ops.add('Conv', [x[:, :, 0], w[:, :, 0]], as_float(conv(x[:, :, 0], w[:, :, 0], strides=[2], pads=[1, 2])), strides=[2],
            pads=[1, 2])
    cube, block = reals(55, 1, 2, 4, 5, 6), reals(56, 3, 2, 2, 3, 2)
    ops.add('Conv', [cube, block], as_float(conv(cube, block, strides=[1, 2, 2], pads=[1, 0, 0, 0, 1, 1])), strides=[1, 2, 2],
            pads=[1, 0, 0, 0, 1, 1])
    half = [v.astype(numpy.float16) for v in (x, w, bias)]
    ops.add('Conv', half, as_float(conv(*half), 'float16'))


def add_windows(ops):
    x = reals(61, 2, 3, 8, 7)
    for attributes in ({}, {'strides': [2, 2]}, {'pads': [1, 0, 1, 1]}, {'strides': [3, 2], 'pads': [1, 1, 1, 1]}):
        y, places = pool(x, (3, 2), **attributes)
        ops.add('MaxPool', [x], [as_float(y), places], kernel_shape=[3, 2], **attributes)
        for count in (0, 1):
            y, _ = pool(x, (3, 2), average=bool(count), **attributes)
            ops.add('AveragePool', [x], as_float(y), kernel_shape=[3, 2], count_include_pad=count, **attributes)
    for average in (None, False, True):
        y, _ = pool(x, (3, 3), strides=[2, 2], pads=[0, 1, 0, 1], ceil=True, average=average)
        ops.add('MaxPool' if average is None else 'AveragePool', [x], as_float(y), kernel_shape=[3, 3], strides=[2, 2],
                pads=[0, 1, 0, 1], ceil_mode=1, **({} if average is None else {'count_include_pad': int(average)}))
    y, _ = pool(x, (2, 3), dilations=[2, 2])
    ops.add('MaxPool', [x], as_float(y), kernel_shape=[2, 3], dilations=[2, 2])
    i = whole(62, 1, 2, 6, 6, dtype='uint8', low=0, high=250)
    ops.add('MaxPool', [i], pool(i, (2, 2), strides=[2, 2])[0].astype(numpy.uint8), kernel_shape=[2, 2], strides=[2, 2])
    wide = x.astype(numpy.float64)
    ops.add('GlobalAveragePool', [x], as_float(wide.mean(axis=(2, 3), keepdims=True)))
    ops.add('GlobalMaxPool', [x], x.max(axis=(2, 3), keepdims=True))
    s, b, m, v = reals(63, 3), reals(64, 3), reals(65, 3), reals(66, 3, low=0.2)
    normal = (wide - per_axis(m, 1, 4)) / numpy.sqrt(per_axis(v, 1, 4).astype(numpy.float64) + 1e-3)
    ops.add('BatchNormalization', [x, s, b, m, v], as_float(normal * per_axis(s, 1, 4) + per_axis(b, 1, 4)), epsilon=1e-3)

    def standard(axes, epsilon):
        return (wide - wide.mean(axis=axes, keepdims=True)) / numpy.sqrt(wide.var(axis=axes, keepdims=True) + epsilon)
    ops.add('InstanceNormalization', [x, s, b], as_float(standard((2, 3), 1e-5) * per_axis(s, 1, 4) + per_axis(b, 1, 4)))
    scale, bias = reals(67, 8, 7), reals(68, 8, 7)
    ops.add('LayerNormalization', [x, scale, bias],
            [as_float(standard((2, 3), 1e-2) * scale + bias), as_float(wide.mean(axis=(2, 3), keepdims=True)),
             as_float(1 / numpy.sqrt(wide.var(axis=(2, 3), keepdims=True) + 1e-2))], axis=2, epsilon=1e-2)
    ops.add('LayerNormalization', [x, scale[0]], as_float(standard((3,), 1e-5) * scale[0]))
    squares = numpy.zeros(x.shape)
    for c in range(3):
        squares[:, c] = (wide[:, max(0, c - 1):c + 2]**2).sum(axis=1)
    ops.add('LRN', [x], as_float(wide / (2 + 0.5 / 3 * squares)**0.75), size=3, alpha=0.5, bias=2.0)


def add_quantising(ops):
    x = reals(71, 2, 3, 4, 5, low=-6, high=6)
    scale, scales = as_float(0.05), as_float([0.1, 0.05, 0.02])
    for dtype, zero, zeros in (('uint8', 120, [100, 120, 140]), ('int8', -3, [-10, 0, 20])):
        zero, zeros = numpy.array(zero, dtype), numpy.array(zeros, dtype)
        q = quantised(x, scale, zero.astype(int), dtype)
        ops.add('QuantizeLinear', [x, scale, zero], q)
        ops.add('DequantizeLinear', [q, scale, zero], as_float((q.astype(int) - int(zero)) * scale))
        each = quantised(x, per_axis(scales, 1, 4), per_axis(zeros.astype(int), 1, 4), dtype)
        ops.add('QuantizeLinear', [x, scales, zeros], each)
        ops.add('DequantizeLinear', [each, scales, zeros],
                as_float((each.astype(int) - per_axis(zeros.astype(int), 1, 4)) * per_axis(scales, 1, 4)), axis=-3)
    ops.add('DequantizeLinear', [whole(72, 4, low=-999, high=999), as_float(0.5)], as_float(whole(72, 4, low=-999, high=999) * 0.5))
    low, high = min(0, float(x.min())), max(0, float(x.max()))
    s = as_float((high - low) / 255)
    zero = numpy.uint8(numpy.rint(-low / s))
    ops.add('DynamicQuantizeLinear', [x], [quantised(x, s, int(zero), 'uint8'), s, zero])
    a, b = whole(73, 6, 9, dtype='uint8', low=0, high=255), whole(74, 9, 4, dtype='int8', low=-128, high=127)
    left, right = a.astype(int) - 120, b.astype(int) - 5
    ops.add('MatMulInteger', [a, b, numpy.uint8(120), numpy.int8(5)], (left @ right).astype(numpy.int32))
    ops.add('QLinearMatMul', [a, as_float(0.1), numpy.uint8(120), b, as_float(0.02), numpy.int8(5), as_float(0.5), numpy.uint8(99)],
            quantised((left @ right) * 0.1 * 0.02, 0.5, 99, 'uint8'))
    images, weights = whole(75, 1, 2, 6, 6, dtype='uint8', low=0, high=255), whole(76, 3, 2, 3, 3, dtype='int8', low=-99, high=99)
    sums = conv(images.astype(int) - 120, weights, strides=[2, 2], pads=[1, 1, 1, 1])
    ops.add('ConvInteger', [images, weights, numpy.uint8(120)], sums.astype(numpy.int32), strides=[2, 2], pads=[1, 1, 1, 1])
    bias, each = whole(77, 3, low=-500, high=500), as_float([0.01, 0.02, 0.03])
    real = (sums + per_axis(bias, 1, 4)) * 0.1 * per_axis(each, 1, 4).astype(numpy.float64)
    ops.add('QLinearConv', [images, as_float(0.1), numpy.uint8(120), weights, each, numpy.zeros(3, numpy.int8), as_float(0.4),
                            numpy.uint8(128), bias], quantised(real, 0.4, 128, 'uint8'), strides=[2, 2], pads=[1, 1, 1, 1])


def add_older(ops):
    """What operators meant at opset 10, with attributes that became inputs."""
    x = reals(81, 2, 3, 4, 5)
    wide = x.astype(numpy.float64)
    ops.add('Clip', [x], numpy.clip(x, as_float(-0.5), as_float(1)), min=-0.5, max=1.0)
    ops.add('Pad', [x], numpy.pad(x, [(0, 0), (1, 0), (0, 0), (0, 2)], constant_values=0.5), pads=[0, 1, 0, 0, 0, 0, 0, 2], value=0.5)
    ops.add('Squeeze', [x[:1]], x[0], axes=[0])
    ops.add('Unsqueeze', [x], x[:, None], axes=[1])
    ops.add('Split', [x], [x[:, :1], x[:, 1:]], axis=1, split=[1, 2])
    ops.add('ReduceSum', [x], as_float(wide.sum(axis=(1, 2), keepdims=True)), axes=[1, 2])
    ops.add('Softmax', [x], as_float(softmax(x.reshape(6, 20), -1).reshape(x.shape)), axis=2)
    ops.add('Softmax', [x], as_float(softmax(x.reshape(2, 60), -1).reshape(x.shape)))


class Case_(Case):
    """Runs over dumps below 'dump' with the model 'net.onnx'."""

    def put(self, ops, change=lambda outputs: outputs):
        shutil.rmtree(self.path('dump'), ignore_errors=True)
        self.write('net.onnx', ops.model())
        for path, content in ops.records(change):
            self.write('dump/' + path, content)

    def diverge(self, *arguments, expect=0, model='net.onnx'):
        out, _ = self.run_tool('diverge', 'dump', '--model', model, '--json', *arguments, expect=expect)
        return json.loads(out)

    def verdicts(self, *arguments, **options):
        return {op['name']: op['verdict'] for op in self.diverge(*arguments, **options)['ops']}


@unittest.skipIf(numpy is None, 'NumPy is not installed')
class NativeOperators(Case_):
    def check(self, ops, spoil_all=True):
        self.put(ops)
        for op in self.diverge()['ops']:
            self.assertEqual(op['verdict'], 'agrees', op)
        if spoil_all:
            self.put(ops, lambda outputs: [spoilt(outputs[0])] + outputs[1:])
            for op in self.diverge(expect=1)['ops']:
                self.assertEqual(op['verdict'], 'culprit', op)

    def test_each_is_what_numpy_makes(self):
        for opset, adders in ((17, (add_unary, add_binary, add_reductions, add_movements, add_products, add_windows, add_quantising)),
                              (10, (add_older,))):
            ops = Operators(opset)
            for add in adders:
                add(ops)
            self.check(ops)

    def test_opset_18_takes_axes_as_an_input(self):
        ops = Operators(18)
        x = reals(1, 2, 3, 4)
        ops.add('ReduceMean', [x, int64s(1)], as_float(x.astype(numpy.float64).mean(axis=1, keepdims=True)))
        ops.add('ReduceMax', [x, int64s(-1)], x.max(axis=2), keepdims=0)
        ops.add('Split', [x], [x[:, :, :2], x[:, :, 2:]], axis=2, num_outputs=2)
        self.check(ops)

    def test_younger_activations(self):
        x = reals(1, 40)
        wide = x.astype(numpy.float64)
        ops = Operators(24)
        ops.add('Mish', [x], as_float(wide * numpy.tanh(numpy.log1p(numpy.exp(wide)))))
        ops.add('Gelu', [x], as_float(0.5 * wide * (1 + erf(wide / math.sqrt(2)))))
        ops.add('Gelu', [x], as_float(0.5 * wide * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))),
                approximate='tanh')
        ops.add('Swish', [x], as_float(wide / (1 + numpy.exp(-0.5 * wide))), alpha=0.5)
        self.check(ops)

    def test_bfloat16(self):
        ops = Operators()
        x = reals(1, 4, 8)
        bits = (x.view(numpy.uint32) >> 16).astype(numpy.uint16)
        exact = (bits.astype(numpy.uint32) << 16).view(numpy.float32)
        rounded = numpy.tanh(exact.astype(numpy.float64)).astype(numpy.float32).view(numpy.uint32)
        rounded = ((rounded + 0x7fff + (rounded >> 16 & 1)) >> 16).astype(numpy.uint16)
        ops.add('Tanh', [('bfloat16', bits)], [('bfloat16', rounded)])
        ops.add('Identity', [('bfloat16', bits)], [('bfloat16', bits)])
        self.check(ops)


class Network:
    """A chain of operators on what the one before made; `spoil(name)` is a fault of that operator, or None."""

    def __init__(self, seed, blocks=3):
        self.random = numpy.random.default_rng(seed)
        self.constants, self.steps, self.channels = {}, [], 4
        self.image = self.random.uniform(-1, 1, (1, 4, 8, 8)).astype(numpy.float32)
        for number in range(blocks):
            self.add('Conv', 'conv%d' % number, self.reals(4, 4, 3, 3), self.reals(4))
            self.add('Relu', 'relu%d' % number)
            self.add('QuantizeLinear', 'quantize%d' % number, as_float(0.03), numpy.int8(-100))
            self.add('DequantizeLinear', 'dequantize%d' % number, as_float(0.03), numpy.int8(-100))
            self.add('MatMul', 'matmul%d' % number, self.reals(8, 8))

    def reals(self, *shape):
        return self.random.normal(0, 0.4, shape).astype(numpy.float32)

    def add(self, kind, name, *constants):
        names = ['%s_constant%d' % (name, i) for i in range(len(constants))]
        self.constants.update(zip(names, constants))
        self.steps.append((kind, name, names))

    def model(self, with_constants=True, gone=()):
        nodes, given = [], 'image'
        for kind, name, names in self.steps:
            extra = {'pads': [1, 1, 1, 1]} if kind == 'Conv' else {}
            if name not in gone:
                nodes.append(onnx_node(kind, [given] + names, [name + '_made'], name, **extra))
            given = name + '_made'
        constants = [onnx_tensor(name, ONNX[str(value.dtype)], value.shape, value.tobytes())
                     for name, value in self.constants.items()] if with_constants else ()
        return onnx_model(nodes, constants=constants, inputs=[onnx_value('image', 1, [1, 4, 8, 8])])

    @staticmethod
    def compute(kind, x, constants, fault=None):
        if kind == 'Relu':
            return numpy.maximum(x, 0)
        if kind == 'QuantizeLinear':
            made = quantised(x, constants[0], int(constants[1]), 'int8')
            return numpy.minimum(made, numpy.int8(-50)) if fault == 'saturated' else made
        if kind == 'DequantizeLinear':
            return as_float((x.astype(int) - int(constants[1]) - (1 if fault == 'zero point' else 0)) * constants[0])
        if kind == 'MatMul':
            weight = constants[0].T if fault == 'transposed' else constants[0]
            return as_float(x.astype(numpy.float64) @ weight)
        weights, bias = constants
        if fault == 'bias':
            bias = numpy.roll(bias, 1)
        if fault == 'float16':
            y = numpy.zeros(x.shape, numpy.float16) + per_axis(bias, 1, 4).astype(numpy.float16)
            padded = numpy.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
            for c, i, k in itertools.product(range(4), range(3), range(3)):
                y = (y + (padded[:, c:c + 1, i:i + 8, k:k + 8] * per_axis(weights[:, c, i, k], 1, 4))
                     .astype(numpy.float16)).astype(numpy.float16)
            return as_float(y)
        return as_float(conv(x, weights, bias, pads=[1, 1, 1, 1]))

    FAULTS = {'bias': 'conv', 'float16': 'conv', 'transposed': 'matmul', 'saturated': 'quantize', 'zero point': 'dequantize'}

    def records(self, faulty=None, fault=None, with_inputs=True, with_constants=True, step=0):
        value = self.image
        for number, (kind, name, names) in enumerate(self.steps):
            constants = [self.constants[one] for one in names]
            made = self.compute(kind, value, constants, fault if name == faulty else None)
            inputs = [value] + (constants if with_constants else []) if with_inputs else []
            yield ('20260101000000/0/net/1/%d/%s.%s.%d.0.%d' % (step, kind, name, number, 1589195081588018 + 1000 * step + number),
                   record_of(inputs, [made]))
            value = made


@unittest.skipIf(numpy is None, 'NumPy is not installed')
class Verdicts(Case_):
    def put_network(self, network, folder='dump', **options):
        for path, content in network.records(**options):
            self.write(folder + '/' + path, content)

    def fresh(self, network, **options):
        for folder in ('dump', 'golden'):
            shutil.rmtree(self.path(folder), ignore_errors=True)
        self.write('net.onnx', network.model())
        self.put_network(network, **options)

    def test_planted_faults_are_named_and_victims_never_are(self):
        kinds = list(Network.FAULTS)
        for seed in range(0, 100, SHARE):
            network = Network(seed)
            fault = kinds[seed // SHARE % len(kinds)]
            faulty = '%s%d' % (Network.FAULTS[fault], network.random.integers(3))
            self.fresh(network, faulty=faulty, fault=fault)
            self.put_network(network, 'golden')
            report = self.diverge('-g', 'golden', expect=1)
            verdicts = {op['name']: op['verdict'] for op in report['ops']}
            self.assertEqual([name for name, verdict in verdicts.items() if verdict == 'culprit'], [faulty], (seed, fault))
            self.assertEqual(report['ops'][report['first_diverging']['op']]['name'], faulty)
            names = [name for _, name, _ in network.steps]
            self.assertEqual({verdicts[name] for name in names[:names.index(faulty)]} - {'agrees'}, set())
            if fault in ('bias', 'transposed') and faulty != names[-1]:
                self.assertIn('victim', {verdicts[name] for name in names[names.index(faulty) + 1:]}, (seed, fault))

    def test_a_sound_network_agrees(self):
        network = Network(1)
        self.fresh(network)
        out, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx')
        self.assertEqual((out, error), ('15 operators, recomputed by native: 15 agree\n', ''))

    def test_the_first_sentence_names_operator_and_step(self):
        network = Network(2)
        self.fresh(network, step=3)
        self.put_network(network, step=7, faulty='conv1', fault='bias')
        out, _ = self.run_tool('diverge', 'dump', '--model', 'net.onnx', expect=1)
        first = out.splitlines()[0]
        self.assertTrue(first.startswith('first diverging operator: Conv "conv1" at net/7, culprit: output 0 is not what its '
                                         'inputs make: '), first)
        self.assertIn('30 operators, recomputed by native: 29 agree, 1 culprit\n', out)
        self.assertEqual(self.run_tool('diverge', 'dump', '--model', 'net.onnx', '--step', '0-3,5')[0],
                         '15 operators, recomputed by native: 15 agree\n')
        _, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', '--step', '99', expect=1)
        self.assertIn('dump: it has no operator at steps 99', error)

    def test_inputs_come_from_the_model_and_from_operators_before(self):
        network = Network(3)
        self.fresh(network, with_inputs=False, faulty='matmul1', fault='transposed')
        verdicts = self.verdicts(expect=1)
        self.assertEqual(verdicts.pop('conv0'), 'not replayed')  # nobody dumped the image
        self.assertEqual([name for name, verdict in verdicts.items() if verdict != 'agrees'], ['matmul1'])
        self.fresh(network, with_constants=False, faulty='matmul1', fault='transposed')
        self.assertEqual([name for name, verdict in self.verdicts(expect=1).items() if verdict != 'agrees'], ['matmul1'])

    def test_a_constant_that_is_not_that_of_the_model(self):
        network = Network(4)
        self.fresh(network)
        name = 'matmul2_constant0'
        network.constants[name] = network.constants[name].T.copy()
        self.write('net.onnx', network.model())
        report = self.diverge(expect=1)
        op = report['ops'][report['first_diverging']['op']]
        self.assertEqual((op['name'], op['evidence']), ('matmul2', "input 1 'matmul2_constant0' is not the constant of the model"))

    def test_external_constants_lie_beside_the_model(self):
        weight = reals(1, 8, 4)
        place = b''.join(tool_message(13, tool_message(1, key) + tool_message(2, value))
                         for key, value in ((b'location', b'weights.bin'), (b'offset', b'16')))
        constant = b'\x08\x08\x08\x04\x10\x01' + tool_message(8, b'w') + place + b'\x70\x01'
        self.write('weights.bin', bytes(16) + weight.tobytes())
        self.write('net.onnx', onnx_model([onnx_node('MatMul', ['x', 'w'], ['y'], 'fc')], constants=[constant]))
        x = reals(2, 3, 8)
        self.write('dump/MatMul.fc.0.0.1589195081588018', record_of([x], [x @ weight]))
        self.assertEqual(self.verdicts(), {'fc': 'agrees'})
        self.write('weights.bin', bytes(16))
        op, = self.diverge(expect=1)['ops']
        self.assertIn("the constant 'w': weights.bin ends before its last element", op['reason'])
        elsewhere = constant.replace(b'\x0bweights.bin', b'\x0b../ghts.bin')
        self.write('net.onnx', onnx_model([onnx_node('MatMul', ['x', 'w'], ['y'], 'fc')], constants=[elsewhere]))
        op, = self.diverge(expect=1)['ops']
        self.assertIn("the constant 'w' lies in a file outside the model's directory", op['reason'])

    def test_what_cannot_be_replayed_says_why(self):
        x = reals(1, 2, 3, 4, 4)
        ops = Operators()
        ops.add('Conv', [x, None], x)
        ops.add('Relu', [x], x, odd=1)
        ops.add('NonMaxSuppression', [x], x)
        ops.add('Gelu', [x], x, domain='com.microsoft')
        ops.add('If', [x > 0], x, then_branch=b'')
        ops.add('MatMul', [x, reals(2, 3, 3)], x)
        ops.add('Flatten', [x], x)
        ops.add('Softmax', [x], x, axis=7)
        self.put(ops)
        self.write('dump/20260101000000/0/net/1/0/Relu.other.9.0.1589195081588099', record_of([x], [x]))
        report = self.diverge(expect=1)
        self.assertEqual([op.get('reason') for op in report['ops']], [
            'input 1 is missing', "attribute 'odd' is not known", 'NonMaxSuppression is not computed natively',
            'com.microsoft.Gelu is not computed natively', 'it runs a graph of its own, which is not computed',
            'its matrices do not fit each other', 'the output has the shape [2,3,4,4], and should have [2,48]',
            'axis 7 of 4 dims', 'the model has no operator of this name'])
        out, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', expect=1)
        self.assertIn('9 operators, recomputed by native: 9 not replayed\n', out)
        self.assertIn('  not replayed: the model has no operator of this name (Relu "other" at net/0)\n', out)
        self.assertIn('opdump diverge: no operator could be recomputed', error)

    def test_a_card_in_place_of_the_model(self):
        network = Network(5)
        self.fresh(network, faulty='conv1', fault='bias')
        self.run_tool('describe', 'net.onnx', '-o', 'card.json')
        verdicts = self.verdicts(model='card.json', expect=1)
        self.assertEqual([name for name, verdict in verdicts.items() if verdict != 'agrees'], ['conv1'])
        self.fresh(network, with_constants=False)
        report = self.diverge(model='card.json')
        self.assertEqual(report['ops'][0]['reason'], "input 1 'conv0_constant0' was not dumped")

    def test_operators_of_other_runtimes(self):
        x, y = reals(1, 2, 8), reals(2, 2, 8)
        card = {'opdump_model': 1, 'name': 'net', 'ops': [
            {'name': name, 'type': kind, 'attributes': attributes, 'inputs': [{'tensor': n} for n in names],
             'outputs': [{'tensor': name + ':0'}]}
            for name, kind, attributes, names in (
                ('a', 'AddV2', {}, 'xy'), ('b', 'RealDiv', {}, 'xy'), ('c', 'LOGISTIC', {}, 'x'), ('d', 'SOFTMAX', {'beta': 1}, 'x'),
                ('e', 'Conv2D', {}, 'xy'), ('f', 'MUL', {'fused_activation_function': 'RELU'}, 'xy'),
                ('g', 'ADD', {'fused_activation_function': 'NONE'}, 'xy'), ('h', 'MatMul', {}, 'xy'))]}
        card['ops'].append(dict(card['ops'][0], name='i', inputs=[
            {'tensor': 'q', 'quant': {'scheme': 'affine', 'scale': [0.5]}}, {'tensor': 'y'}]))
        self.write('card.json', json.dumps(card))
        for kind, name, inputs, made in (('AddV2', 'a', [x, y], x + y), ('RealDiv', 'b', [x, y], x / y),
                                         ('LOGISTIC', 'c', [x], as_float(1 / (1 + numpy.exp(-x.astype(numpy.float64))))),
                                         ('SOFTMAX', 'd', [x], as_float(softmax(x, 1))), ('Conv2D', 'e', [x, y], x),
                                         ('MUL', 'f', [x, y], x * y), ('ADD', 'g', [x, y], x + y), ('MatMul', 'h', [x, y], x),
                                         ('AddV2', 'i', [whole(3, 2, 8, dtype='int8'), y], y)):
            self.write('dump/%s.%s.0.0.1589195081588018' % (kind, name), record_of(inputs, [made]))
        report = self.diverge(model='card.json')
        self.assertEqual({op['name']: op.get('reason', op['verdict']) for op in report['ops']}, {
            'a': 'agrees', 'b': 'agrees', 'c': 'agrees', 'd': 'agrees',
            'e': 'what Conv2D computes is not known: the card tells no type of ONNX',
            'f': "attribute 'fused_activation_function' is not known", 'g': 'agrees',
            'h': 'what MatMul computes is not known: the card tells no type of ONNX',
            'i': 'its integers stand for real numbers, which only operators of ONNX compute with'})

    def test_device_formats_are_restored(self):
        x = reals(1, 1, 20, 3, 5).astype(numpy.float16)
        blocks = numpy.zeros((1, 2, 3, 5, 16), numpy.float16)
        for c in range(20):
            blocks[:, c // 16, :, :, c % 16] = x[:, c]
        made = numpy.maximum(blocks, 0)
        describe = lambda data: dict(tool_case.tensor(1, [1, 2, 3, 5, 16], data.tobytes(), tool_case.NC1HWC0, [1, 20, 3, 5], b''))
        self.write('net.onnx', onnx_model([onnx_node('Relu', ['x'], ['y'], 'relu'),
                                           onnx_node('GlobalAveragePool', ['x'], ['z'], 'pool')]))
        mean = as_float(x.astype(numpy.float64).mean(axis=(2, 3), keepdims=True), 'float16')
        self.write('dump/Relu.relu.0.0.1589195081588018', tool_case.record([describe(blocks)], [describe(made)]))
        self.write('dump/Pool.pool.0.0.1589195081588019',
                   tool_case.record([describe(blocks)], [tool_case.tensor(1, list(mean.shape), mean.tobytes(), name=b'')]))
        self.assertEqual(self.verdicts(), {'relu': 'agrees', 'pool': 'agrees'})

    def test_limits(self):
        x = reals(1, 4, 64)
        ops = Operators()
        exact = numpy.exp(x.astype(numpy.float64))
        ops.add('Exp', [x], as_float(exact * (1 + 1e-5)))
        w = reals(2, 64, 8)
        ops.add('MatMul', [x, w], as_float(x.astype(numpy.float16) @ w.astype(numpy.float16)))
        q = quantised(x, 0.05, 0, 'int8')
        ops.add('QuantizeLinear', [x, as_float(0.05), numpy.int8(0)], (q + (numpy.arange(256).reshape(4, 64) == 3)).astype(numpy.int8))
        ops.add('QuantizeLinear', [x, as_float(0.05), numpy.int8(0)], (q + (numpy.arange(256).reshape(4, 64) < 30)).astype(numpy.int8))
        ops.add('Relu', [x], numpy.nextafter(numpy.maximum(x, 0), numpy.float32(9)))
        self.put(ops)
        self.assertEqual(list(self.verdicts(expect=1).values()), ['culprit', 'culprit', 'agrees', 'culprit', 'culprit'])
        loose = 'float32=1e-4,accumulate=0.001,step_share=0.2'
        self.assertEqual(list(self.verdicts('--limits', loose, expect=1).values()), ['agrees'] * 4 + ['culprit'])
        self.assertEqual(list(self.verdicts('--limits', 'steps=0', expect=1).values())[2], 'culprit')
        for wrong, words in (('odd=1', "'odd=1' is no limit"), ('float32', "limit 'float32' takes a number, not ''"),
                             ('steps=-1', "not '-1'"), ('float16=nan', "not 'nan'")):
            _, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', '--limits', wrong, expect=2)
            self.assertIn(words, error)

    def test_long_sums_in_float32_agree_and_in_float16_do_not(self):
        def in_order(a, b, dtype):
            total = numpy.zeros((a.shape[0], b.shape[1]), dtype)
            for k in range(a.shape[1]):
                total = (total + (a[:, k:k + 1] * b[k:k + 1]).astype(dtype)).astype(dtype)
            return total

        for low in (-1.0, 0.0):
            for terms in (8, 300, 4608):
                a, b = reals(1, 6, terms, low=low, high=1), reals(2, terms, 7, low=low, high=1)
                ops = Operators()
                for dtype in ('float32', 'float16'):
                    ops.add('MatMul', [a, b], as_float(in_order(a, b, dtype)))
                    x, y = a.astype(numpy.float16), b.astype(numpy.float16)
                    ops.add('MatMul', [x, y], in_order(x.astype(numpy.float32), y.astype(numpy.float32), dtype).astype(numpy.float16))
                self.put(ops)
                self.assertEqual(list(self.verdicts(expect=1).values()), ['agrees'] * 2 + ['culprit'] * 2, (low, terms))

    def test_infinities_and_nan(self):
        big = numpy.array([60000, 70000, -1e5, 1], numpy.float32)
        half = numpy.array([60000, numpy.inf, -numpy.inf, 1], numpy.float16)
        odd = numpy.array([numpy.nan, 1, numpy.inf, 2], numpy.float32)
        ops = Operators()
        ops.add('Cast', [big], half, to=10)
        ops.add('Add', [odd, odd], odd + odd)
        ops.add('Sqrt', [as_float([-1, 4])], as_float([numpy.nan, 2]))
        self.put(ops)
        self.assertEqual(set(self.verdicts().values()), {'agrees'})
        for wrong in (numpy.nan, numpy.inf, -numpy.inf, 3):
            self.put(ops, lambda outputs: [numpy.concatenate([outputs[0][:-1], outputs[0].dtype.type([wrong])])])
            self.assertEqual(set(self.verdicts(expect=1).values()), {'culprit'})

    def test_failing_operators_are_saved(self):
        network = Network(6)
        self.fresh(network, faulty='conv1', fault='bias')
        self.diverge('--save-failing', 'failing', expect=1)
        folder, = os.listdir(self.path('failing'))
        self.assertEqual(folder, 'op5_conv1')
        self.assertIn('model.onnx', os.listdir(self.path('failing', folder)))

    def test_hostile_models_are_refused(self):
        network = Network(7)
        self.fresh(network)
        model = network.model()
        for cut in range(0, len(model), 311):
            self.write('net.onnx', model[:cut])
            self.run_tool('diverge', 'dump', '--model', 'net.onnx', expect=(0, 1))
        self.write('net.onnx', b'{"opdump_model": 2}')
        self.run_tool('diverge', 'dump', '--model', 'net.onnx', expect=1)
        ops = Operators()
        ops.add('Expand', [reals(1, 1), int64s(2**40)], reals(1, 1))
        ops.add('Tile', [reals(1, 1), int64s(2**62)], reals(1, 1))
        ops.add('Pad', [reals(1, 1), int64s(2**62, 2**62)], reals(1, 1))
        ops.add('Slice', [reals(1, 1), int64s(0), int64s(-1), int64s(0), int64s(-2**63)], reals(1, 1))
        ops.add('Reshape', [reals(1, 1), int64s(-1, 0, 0, 2**62)], reals(1, 1))
        ops.add('MaxPool', [reals(1, 1, 1, 2, 2)], reals(1, 1), kernel_shape=[2**40, 1])
        self.put(ops)
        self.assertEqual(set(self.verdicts(expect=1).values()), {'not replayed'})

    def test_command_lines(self):
        for arguments, words in (([], 'the dump, MINE, is missing'), (['dump'], "'--model MODEL.onnx'"),
                                 (['a', 'b', '--model', 'c'], "one dump at a time, not also 'b'"),
                                 (['a', '--model', 'c', '--reference', 'gpu'], "not 'gpu'"),
                                 (['a', '--model', 'c', '--step', '3-1'], "'3-1' is no step"),
                                 (['a', '--model', 'c', '--save-failing', ''], "'--save-failing' needs a directory")):
            _, error = self.run_tool('diverge', *arguments, expect=2)
            self.assertIn(words, error)
        _, error = self.run_tool('diverge', 'dump', '--model', 'none.onnx', expect=1)
        self.assertIn('none.onnx: No such file', error)
        network = Network(8)
        self.fresh(network)
        shutil.rmtree(self.path('dump'))
        _, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', expect=1)
        self.assertIn('dump: ', error)
        _, error = self.run_tool('diverge', 'dump', '--model', 'net.onnx', '--reference', 'ort:/none/libonnxruntime.so', expect=1)
        self.assertIn('/none/libonnxruntime.so', error)
        self.assertIn('usage: opdump diverge', self.run_tool('diverge', '--help')[0])


if __name__ == '__main__':
    tool_case.main()
