#!/usr/bin/env python3
"""`opdump diverge` over a small library in the place of ONNX Runtime's, over one that cannot be had or refuses, and what
--save-failing does. What the stock library computes is tests/runtimes/diverge_verdicts_test.py.

usage: tool_diverge_test.py OPDUMP OLD_LIBRARY SMALL_LIBRARY [unittest arguments]
"""
import json
import os
import shutil
import stat
import sys
import unittest
import unittest.mock

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from model_files import onnx_model, onnx_node, onnx_value  # noqa: E402
from tool_case import FLOAT, Case, floats, numpy, record, tensor  # noqa: E402

if numpy is not None:
    from replayed_ops import Operators, spoilt

OLD, SMALL = (os.path.abspath(path) for path in (sys.argv.pop(2), sys.argv.pop(2)))


@unittest.skipIf(numpy is None, 'NumPy is not installed')
class DivergeCase(Case):
    def setUp(self):
        super().setUp()
        ops = Operators()
        x = numpy.arange(-3, 3, dtype=numpy.float32).reshape(2, 3)
        ops.add('Relu', [x], numpy.maximum(x, 0))
        ops.add('Clip', [x, None, numpy.float32(1)], numpy.minimum(x, 1))
        ops.add('Exp', [x], numpy.exp(x))
        self.write('net.onnx', ops.model())
        for path, content in ops.records():
            self.write('right/' + path, content)
        for path, content in ops.records(lambda outputs: [spoilt(outputs[0])] + outputs[1:]):
            self.write('dump/' + path, content)

    def diverge(self, *options, dump='dump', expect=1, library=SMALL):
        """`library`: what OPDUMP_ORT names."""
        with unittest.mock.patch.dict(os.environ, {'OPDUMP_ORT': library}):
            return self.run_tool('diverge', dump, '--model', 'net.onnx', *options, expect=expect)


class Library(DivergeCase):
    def refused(self, reference, library=''):
        out, error = self.diverge('--reference', reference, library=library, expect=2)
        self.assertEqual(out, '')
        return error

    def test_a_library_that_cannot_be_had_is_named(self):
        self.assertEqual(self.refused('ort:/nowhere/libort.so'), 'opdump diverge: /nowhere/libort.so: cannot open shared '
                         'object file: No such file or directory\n')
        self.assertIn('opdump diverge: net.onnx: ', self.refused('ort:net.onnx'))  # in this folder, not where libraries lie
        self.assertEqual(self.refused('ort', '/nowhere/libort.so'), 'opdump diverge: /nowhere/libort.so, which OPDUMP_ORT '
                         'names: cannot open shared object file: No such file or directory\n')

    def test_a_library_of_something_else(self):
        shutil.copy(OLD, self.path('libold.so'))
        self.assertEqual(self.refused('ort:libm.so.6'),
                         'opdump diverge: libm.so.6: is not the library of ONNX Runtime: it has no OrtGetApiBase\n')
        self.assertEqual(self.refused('ort:libold.so'), 'opdump diverge: libold.so: is ONNX Runtime 1.4.0, which is older than '
                         '1.11\n')
        self.assertEqual(self.refused('ort', OLD), f'opdump diverge: {OLD}, which OPDUMP_ORT names: is ONNX Runtime 1.4.0, which '
                         'is older than 1.11\n')

    def test_without_a_library_it_is_said_what_to_install(self):
        error = self.refused('ort')
        self.assertIn('libonnxruntime.so: cannot open shared object file', error)
        self.assertIn('; install ONNX Runtime 1.11 or later, or name its library by --reference ort:FILE or by OPDUMP_ORT\n', error)

    def test_verdicts(self):
        out, error = self.diverge(dump='right', expect=0)
        self.assertEqual((out.splitlines()[0], error), ('3 operators, recomputed by onnxruntime 1.99.0: 2 agree, 1 not replayed', ''))
        self.assertEqual(out, self.diverge('--reference', 'ort:' + SMALL, dump='right', expect=0, library='')[0])
        out, _ = self.diverge()
        self.assertTrue(out.startswith('first diverging operator: Relu "Relu_0" at net/0, culprit: output 0 is not what its inputs '
                                       'make: 1 of 6 elements wrong, the worst'), out)
        self.assertIn('3 operators, recomputed by onnxruntime 1.99.0: 2 culprits, 1 not replayed\n', out)

    def test_what_a_runtime_has_fused_into_an_operator_is_no_fault_of_it(self):
        x = [-1.0, 2, -3]
        for behind, output, words in (('Relu', [1, 0, 3], '1 operator, recomputed by onnxruntime 1.99.0: 1 agrees\n'),
                                      ('Relu', [1, 0, 2], 'first diverging operator: Neg "n" at net/0, culprit'),
                                      ('Exp', [1, 0, 3], "'behind' (Exp), which the dump lacks, may be fused into it")):
            self.write('fused.onnx', onnx_model([onnx_node('Neg', ['x'], ['y'], name='n'), onnx_node(behind, ['y'], ['z'], name='behind')],
                                                inputs=[onnx_value('x', 1, [3])], outputs=[onnx_value('z', 1, [3])]))
            one, made = (tensor(FLOAT, [3], floats(*values), name=b'') for values in (x, output))
            self.write('fused/20260131130559/0/net/1/0/Neg.n.0.0.0000000000000001', record([one], [made]))
            with unittest.mock.patch.dict(os.environ, {'OPDUMP_ORT': SMALL}):
                self.assertIn(words, self.run_tool('diverge', 'fused', '--model', 'fused.onnx', expect=(0, 1))[0])

    def test_what_the_runtime_says_is_the_reason(self):
        out, _ = self.diverge('--json', dump='right', expect=0)
        self.assertEqual(json.loads(out)['ops'][2]['reason'], 'onnxruntime 1.99.0: no such operators here, and no \x1b[31mcolours')
        out, _ = self.diverge(dump='right', expect=0)
        self.assertIn('no such operators here, and no ?[31mcolours (Exp', out)

    def test_an_operator_in_which_the_runtime_crashes_is_told_and_the_others_are_computed(self):
        with unittest.mock.patch.dict(os.environ, {'OTHER_CRASHES': '1'}):
            out, _ = self.diverge('--json', dump='right', expect=0)
        ops = {op['type']: op.get('reason', op['verdict']) for op in json.loads(out)['ops']}
        self.assertEqual((ops['Relu'], ops['Clip']), ('agrees', 'onnxruntime 1.99.0 crashes: Aborted'))

    def test_command_lines(self):
        for arguments, words in (([], 'the dump, MINE, is missing'), (['dump'], "'--model MODEL.onnx'"),
                                 (['a', 'b', '--model', 'c'], "one dump at a time, not also 'b'"),
                                 (['a', '--model', 'c', '--reference', 'native'], "takes ort or ort:PATH, not 'native'"),
                                 (['a', '--model', 'c', '--step', '3-1'], "'3-1' is no step"),
                                 (['a', '--model', 'c', '--limits', 'odd=1'], "'odd=1' is no limit"),
                                 (['a', '--model', 'c', '--save-failing', ''], "'--save-failing' needs a directory")):
            self.assertIn(words, self.run_tool('diverge', *arguments, expect=2)[1])
        reference = ('--reference', 'ort:' + SMALL)
        for arguments, words in ((['dump', '--model', 'none.onnx'], 'none.onnx: No such file'),
                                 (['gone', '--model', 'net.onnx'], 'gone: '),
                                 (['dump', '--model', 'net.onnx', '--step', '99'], 'dump: it has no operator at steps 99')):
            self.assertIn(words, self.run_tool('diverge', *arguments, *reference, expect=1)[1])

    def test_hostile_models_are_refused(self):
        model = self.read('net.onnx')
        for cut in range(0, len(model), 31):
            self.write('cut.onnx', model[:cut])
            self.run_tool('diverge', 'right', '--model', 'cut.onnx', '--reference', 'ort:' + SMALL, expect=(0, 1))
        self.write('cut.onnx', b'{"opdump_model": 2}')
        self.run_tool('diverge', 'right', '--model', 'cut.onnx', '--reference', 'ort:' + SMALL, expect=1)


class SaveFailing(DivergeCase):
    def test_each_culprit_gets_a_folder(self):
        self.diverge('--save-failing', 'new/failing')
        self.assertEqual(sorted(os.listdir(self.path('new/failing'))), ['op0_Relu_0', 'op1_Clip_1'])
        folder = self.path('new/failing/op1_Clip_1')
        self.assertEqual(sorted(os.listdir(folder)), ['README.txt', 'device_0.npy', 'expected_0.npy', 'input_0.npy',
                                                      'input_1.npy', 'model.onnx', 'test_data_set_0'])
        self.assertEqual(sorted(os.listdir(folder + '/test_data_set_0')), ['input_0.pb', 'input_1.pb', 'output_0.pb'])
        self.assertEqual(stat.S_IMODE(os.stat(folder + '/model.onnx').st_mode), 0o600)
        found = {name: numpy.load(f'{folder}/{name}_0.npy') for name in ('input', 'expected', 'device')}
        numpy.testing.assert_array_equal(found['expected'], numpy.minimum(found['input'], 1))
        numpy.testing.assert_array_equal(found['device'], spoilt(found['expected']))
        text = self.read('new/failing/op1_Clip_1/README.txt').decode()
        self.assertIn('Operator "Clip_1": Clip, opset 17\n', text)
        self.assertIn('output 0: 1 of 6 elements', text)
        self.assertIn('test_data_set_0/output_*.pb  what it should give, by onnxruntime 1.99.0\n', text)
        self.assertIn('  input_1  float32  []  "Clip_1_in2" in the model that ran\n', text)

    def test_what_is_there_stays(self):
        self.write('failing/op0_Relu_0/mine', b'kept')
        _, error = self.diverge('--save-failing', 'failing')
        self.assertEqual(error, 'opdump diverge: failing/op0_Relu_0: is there already; remove it, or name another folder\n')
        self.assertEqual(os.listdir(self.path('failing/op0_Relu_0')), ['mine'])
        self.assertTrue(os.path.exists(self.path('failing/op1_Clip_1/model.onnx')))

    def test_nothing_is_made_where_nothing_fails(self):
        self.diverge('--save-failing', 'failing', dump='right', expect=0)
        self.assertFalse(os.path.exists(self.path('failing')))

    def test_a_folder_that_cannot_be_made(self):
        self.write('file', b'')
        _, error = self.diverge('--save-failing', 'file/failing')
        self.assertEqual(error, 'opdump diverge: file/failing: Not a directory\n' * 2)


if __name__ == '__main__':
    tool_case.main()
