#!/usr/bin/env python3
"""What `--save-failing` writes, read by python3-onnx and NumPy: failing_op_test.py MAKER.

Where they are not installed the test is skipped.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
from with_numpy import numpy  # noqa: E402

SKIPPED = 77  # Meson's exit status of a test that was skipped
MAKER = pathlib.Path(sys.argv[1]).resolve()
SCHEMAS_OF = 17  # the last opset that each python3-onnx of Debian 12 knows
FLOAT, FLOAT16, BFLOAT16 = 1, 10, 16

try:
    import onnx
    import onnx.numpy_helper
except ImportError:
    onnx = None


def dims_of(value):
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim]


class SavedOps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = pathlib.Path(tempfile.mkdtemp(prefix='opdump_failing'))
        cls.addClassCleanup(shutil.rmtree, cls.base)
        cls.folder = cls.base / 'deep' / 'failing'
        cls.said = cls.make()

    @classmethod
    def make(cls):
        done = subprocess.run([MAKER, cls.folder], stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().splitlines()

    def saved(self, number):
        found, = self.folder.glob(f'op{number}_*')
        return found

    def model(self, number):
        return onnx.load(self.saved(number) / 'model.onnx')

    def node(self, number):
        node, = self.model(number).graph.node
        return node, {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}

    def array(self, number, name):
        return numpy.load(self.saved(number) / f'{name}.npy')

    def proto(self, number, name):
        tensor = onnx.TensorProto()
        tensor.ParseFromString((self.saved(number) / 'test_data_set_0' / f'{name}.pb').read_bytes())
        return tensor

    def test_every_model_and_tensor_is_what_onnx_allows(self):
        self.assertEqual(sorted(int(path.name[2:].split('_')[0]) for path in self.folder.iterdir()), list(range(20)))
        for number in range(20):
            model = self.model(number)
            if model.opset_import[0].version <= SCHEMAS_OF:
                onnx.checker.check_model(model, full_check=True)
            for role, values in (('input', model.graph.input), ('output', model.graph.output)):
                self.assertEqual([value.name for value in values], [f'{role}_{k}' for k in range(len(values))])
                data = self.saved(number) / 'test_data_set_0'
                self.assertEqual(len(list(data.glob(f'{role}_*'))), len(values))
                for k, value in enumerate(values):
                    tensor = self.proto(number, f'{role}_{k}')
                    if model.opset_import[0].version <= SCHEMAS_OF:
                        onnx.checker.check_tensor(tensor)
                    self.assertEqual((tensor.name, tensor.data_type, list(tensor.dims)),
                                     (value.name, value.type.tensor_type.elem_type, dims_of(value)))
                    array = self.array(number, ('expected' if role == 'output' else role) + f'_{k}')
                    self.assertEqual(list(array.shape), dims_of(value))
                    if tensor.data_type in (BFLOAT16, 22):  # NumPy has none
                        continue
                    read = onnx.numpy_helper.to_array(tensor)
                    self.assertEqual((read.dtype, read.shape, read.tobytes()), (array.dtype, array.shape, array.tobytes()))

    def test_attributes(self):
        node, attributes = self.node(0)
        self.assertEqual((node.op_type, list(node.input), list(node.output)), ('Conv', ['input_0', 'input_1'], ['output_0']))
        self.assertEqual(attributes, {'auto_pad': b'SAME_UPPER', 'group': 1, 'strides': [1, 1]})
        self.assertEqual(node.name, '../../a\x1b[31m_/conv')  # a name in ONNX is UTF-8
        self.assertEqual(self.node(1)[1], {'alpha': 0.5, 'beta': 0, 'transA': 0, 'transB': 1})
        self.assertEqual(onnx.numpy_helper.to_array(self.node(3)[1]['value']).tolist(), [7])
        self.assertEqual(self.node(4)[1], {'hidden_size': 2, 'activations': [b'Sigmoid', b'LeakyRelu', b'Tanh'],
                                           'activation_alpha': [0.25]})

    def test_optional_inputs_and_outputs(self):
        node, _ = self.node(2)
        self.assertEqual(list(node.input), ['input_0', '', 'input_1'])
        self.assertEqual(self.array(2, 'input_1').shape, ())
        self.assertIn('no device_0.npy: that output was not dumped', (self.saved(2) / 'README.txt').read_text())
        node, _ = self.node(4)  # nothing stands behind the last one that is given
        self.assertEqual((list(node.input), list(node.output)), (['input_0', 'input_1', 'input_2'], ['', 'output_0']))

    def test_an_attribute_of_a_file_stays_as_it_stood(self):
        node, attributes = self.node(5)
        self.assertEqual((node.domain, attributes, node.attribute[0].doc_string), ('ai.onnx.not.known', {'axis': -1}, 'kept'))
        self.assertIn('Softmax of ai.onnx.not.known, opset 1', (self.saved(5) / 'README.txt').read_text())
        self.assertEqual(self.array(5, 'device_0').shape, (4,))  # as the device has it

    def test_versions(self):
        found = [(model.ir_version, model.opset_import[0].version) for model in map(self.model, (3, 0, 1, 4, 5, 19))]
        self.assertEqual(found, [(4, 9), (6, 11), (7, 13), (7, 14), (8, 1), (10, 21)])

    def test_float64_is_rounded_to_what_the_device_has(self):
        odd = numpy.array([0, -0.0, 1, 1 / 3, 65504, 65519, 65520, 1e-8, 2.98023223876953125e-8, 3e-8, 6.1e-5, -6.1035e-5, 1e300,
                           numpy.inf, -numpy.inf, numpy.nan, 1.00048828125, 1.00390625, 1.01171875, 3.4e38])
        with numpy.errstate(over='ignore'):
            halves = odd.astype(numpy.float16)
        numpy.testing.assert_array_equal(self.array(6, 'expected_0').view(numpy.uint16), halves.view(numpy.uint16))
        # NumPy has no bfloat16: the upper half of a float32, rounded by hand.
        found = numpy.frombuffer(self.proto(7, 'output_0').raw_data, '<u2')
        with numpy.errstate(over='ignore'):
            bits = odd.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
        expected = numpy.where(numpy.isnan(odd), 0x7fc0, (bits + 0x7fff + (bits >> 16 & 1)) >> 16)
        numpy.testing.assert_array_equal(found, expected)
        numpy.testing.assert_array_equal(self.array(7, 'expected_0').view(numpy.uint32) >> 16, expected)
        self.assertEqual(self.proto(0, 'output_0').data_type, FLOAT)
        self.assertEqual(self.array(0, 'expected_0').tolist(), numpy.full((1, 1, 4, 4), 0.1, numpy.float32).tolist())

    def test_what_cannot_be_saved_leaves_no_folder(self):
        self.assertEqual([line.split('failing/')[1] for line in self.said],
                         ['op20_other/model.onnx: input_0: ONNX has no dtype hifloat8',
                          'op21_eight: output 0 is computed as float64, which is not rounded to float8_e5m2'])

    def test_nothing_is_written_over(self):
        before = {path: path.stat().st_mtime_ns for path in self.base.rglob('*')}
        said = self.make()
        self.assertEqual(len(said), 22)
        self.assertIn('op0_.._.._a__31m__conv: is there already; remove it, or name another folder', said[0])
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.base.rglob('*')}, before)

    def test_hostile_names_stay_in_their_folder(self):
        self.assertEqual(self.saved(0).name, 'op0_.._.._a__31m__conv')
        self.assertEqual([path.name for path in self.base.iterdir()], ['deep'])
        text = (self.saved(0) / 'README.txt').read_bytes().decode()
        self.assertFalse(set(text) & set(map(chr, (*range(10), *range(11, 32), 127))))
        self.assertIn('Operator "../../a?[31m?/conv": Conv, opset 11\n', text)
        self.assertIn('output 0: too far\nfrom it\n', text)


if __name__ == '__main__':
    if numpy is None or onnx is None:
        print('skipped: python3-numpy and python3-onnx are not installed')
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
