#!/usr/bin/env python3
"""The single operators of ONNX's test data, dumped and recomputed: diverge_cases_test.py OPDUMP SHARE [unittest arguments].

One in SHARE cases is tried. Without libonnx-testdata, or without NumPy, the test is skipped.
"""
import collections
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'runtimes'))
import tool_case  # noqa: E402
from onnx_cases import DATA, SingleOp  # noqa: E402
from tool_case import Case, numpy  # noqa: E402

SHARE = int(sys.argv.pop(2))

NATIVE = '''
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift Cast CastLike Ceil
    Celu Clip Concat Conv ConvInteger Cos Cosh CumSum DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Elu
    Equal Erf Exp Expand Flatten Floor Gather GatherElements Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual
    HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Less
    LessOrEqual Log LogSoftmax MatMul MatMulInteger Max MaxPool Mean Min Mod Mul Neg Not Or PRelu Pad Pow QLinearConv
    QLinearMatMul QuantizeLinear Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
    ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax
    Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile Transpose Trilu Unsqueeze
    Where Xor'''.split()

# Why cases of an operator that is computed natively may not be.
KNOWN_REASONS = ('BatchNormalization of opset 6 is not computed natively', 'PRelu of opset 6 is not computed natively',
                 "attribute 'broadcast' is not known", 'indices in column-major order are not computed',
                 'it drops by chance', 'it is that of training', 'its mask is not computed',
                 'it runs a graph of its own, which is not computed')


@unittest.skipIf(numpy is None, 'NumPy is not installed')
@unittest.skipUnless(DATA.is_dir(), 'libonnx-testdata is not installed')
class Cases(Case):
    def diverge(self, case, spoil, expect):
        shutil.rmtree(self.path('dump'), ignore_errors=True)
        self.write('dump/' + case.file, case.record(spoil))
        # The test data cut bfloat16 off where they should round.
        out, error = self.run_tool('diverge', 'dump', '--model', str(case.folder / 'model.onnx'), '--json',
                                   '--limits', 'bfloat16=0.0078125', expect=expect)
        op, = json.loads(out)['ops']
        return op, error

    def test_each_case_agrees_or_is_listed(self):
        verdicts, reasons, agreed, wrong = collections.Counter(), collections.defaultdict(list), set(), []
        for number, model in enumerate(sorted(DATA.glob('*/*/model.onnx'))):
            if number % SHARE:
                continue
            case = SingleOp(model.parent)
            if case.problem:
                verdicts[case.problem] += 1
                continue
            op, _ = self.diverge(case, False, (0, 1))
            verdicts[op['verdict']] += 1
            if op['verdict'] == 'not replayed':
                reasons[op['reason']].append(case.folder.name)
                continue
            agreed.add(case.op_type)
            if op['verdict'] != 'agrees':
                wrong.append((case.folder.name, op))
                continue
            if any(len(one[3]) for one in case.outputs[:1]):
                spoilt, _ = self.diverge(case, True, 1)
                if spoilt['verdict'] != 'culprit':
                    wrong.append((case.folder.name, spoilt))
        print(dict(verdicts), 'of one in %d cases; %d types' % (SHARE, len(agreed)))
        for reason, names in sorted(reasons.items()):
            print('  not replayed: %s (%d, as %s)' % (reason, len(names), names[0]))
        self.assertEqual(wrong, [])
        self.assertLessEqual(agreed, set(NATIVE))
        for reason in reasons:
            if reason not in KNOWN_REASONS:
                op_type, _, rest = reason.partition(' ')
                self.assertEqual(rest, 'is not computed natively', reasons[reason])
                self.assertNotIn(op_type, NATIVE)
        if SHARE == 1:
            self.assertEqual(sorted(agreed), sorted(NATIVE))
            self.assertGreaterEqual(verdicts['agrees'], 660)


if __name__ == '__main__':
    tool_case.main()
