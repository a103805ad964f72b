#!/usr/bin/env python3
"""OpenCV's stock libraries, tapped, with PaddleOCR's classifier of directions: one config picks layers and steps,
dumped bytes are those that OpenCV returns for the layers, results are those of an untapped run, and memory does not
grow with the steps.

usage: opencv_dnn_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import array
import pathlib
import struct
import sys
import unittest

import onnx_input
import opencv_library
import ort_library
import tapped_program
from onnx_input import model_files

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
COMPILER = sys.argv[4:]
OPENCV = opencv_library.OpenCvLibrary(COMPILER, ROOT, BUILD)
FOLDER = OPENCV.folder
MODEL = FOLDER / 'direction.onnx'
PROGRAM, LAYERS = FOLDER / 'opencv_dnn', OPENCV.layers
CLASSES = 2
FIRST = 'Convolution.onnx_node!p2o_Conv_0'


def prepare():
    """Libraries, headers, the model and the programs, below the build folder."""
    OPENCV.prepare()
    with OPENCV.locked():
        assets = ort_library.ocr_models(FOLDER)
        OPENCV.build('examples/runtimes/opencv_dnn/main.cpp', PROGRAM)
    # OpenCV 4.6 reads no model with dims that are not known.
    MODEL.write_bytes(onnx_input.with_dims((assets / ort_library.CLASSIFIER).read_bytes(), [1, 3, 48, 192]))


class OpenCv(tapped_program.TappedProgram):
    opdump = OPDUMP

    def classify(self, pictures, config=None, fused=False, **options):
        """A run, and with it the probabilities of each picture as bytes."""
        results = self.folder / 'results'
        run = self.run_program([PROGRAM, MODEL, pictures, results, *([] if fused else ['unfused'])], config, **options)
        data, size = results.read_bytes(), 4 * CLASSES
        run.results = [data[i:i + size] for i in range(0, len(data), size)]
        self.assertEqual(len(run.results), pictures)
        return run

    def of_opencv(self, model, data, dims, *modes):
        """What OpenCV returns for all layers of a model, by name as in a dump: the bytes of each output, and the names
        of the layers that it reads."""
        (self.folder / 'input').write_bytes(data)
        to = self.folder / 'layers'
        to.mkdir(exist_ok=True)
        said = tapped_program.run([LAYERS, model, self.folder / 'input', ','.join(map(str, dims)), to, *modes])
        layers = [[name.replace('/', '_').replace('.', '_') for name in line.split('\t')] for line in said.splitlines()]
        return {name: ([path.read_bytes() for path in sorted(to.glob(f'{i}.*'))], reads)
                for i, (name, *reads) in enumerate(layers)}

    def check_bytes(self, step, model, data, dims):
        """Holds that what is dumped of a step is what OpenCV returns, inputs too; how many layers that are."""
        dumped = {}
        for (at, layer, tensor), (_, dumped_data) in sorted(self.arrays().items()):
            if at == step:
                inputs, outputs = dumped.setdefault(layer.split('.', 1)[1], ([], []))
                (inputs if tensor.startswith('input') else outputs).append(dumped_data)
        layers = self.of_opencv(model, data, dims, 'unfused')
        self.assertEqual(set(dumped), set(layers))
        for name, (outputs, reads) in layers.items():
            # What is no layer is the network's input. No layer of these models has a second output.
            inputs = [layers[read][0][0] if read in layers else data for read in reads]
            self.assertTrue(dumped[name] == (inputs, outputs), name)
        return len(layers)

    def test_layers_and_steps_of_one_config(self):
        # The first name is OpenCV's, the second that of the file.
        run = self.classify(8, {'dump_step': '0|2-3', 'dump_mode': 'all', 'dump_list': [
            {'model_name': 'direction', 'layer': ['onnx_node!p2o.Conv.0', 'p2o.Softmax.0', 'nowhere']}]})
        records = self.records()
        names = ('Convolution.onnx_node!p2o_Conv_0', 'Softmax.onnx_node!p2o_Softmax_0')
        self.assertEqual(set(records), {(step, name) for step in (0, 2, 3) for name in names})
        for step in (0, 2, 3):
            self.assertTrue(records[step, names[1]].endswith(run.results[step]), step)
        self.assertIn('"nowhere" of model "direction": the model has no operator of that name', run.told)
        self.assertIn('nowhere', self.check_dump(4))

    def test_bytes_and_shapes_are_those_of_opencv(self):
        self.classify(3, {'dump_mode': 'all', 'dump_list': [{}]}, file_format='npy')
        pictures = {step: self.arrays()[step, FIRST, 'input.0'] for step in (0, 2)}
        self.assertNotEqual(pictures[0][0], pictures[2][0])
        for step, (dims, data) in pictures.items():
            self.assertEqual(self.check_bytes(step, MODEL, data, dims), 216)
        print(f'inputs of {pictures[0][0]} and {pictures[2][0]}: inputs and outputs of 216 layers are those of OpenCV')

    def test_layers_that_write_into_the_output_of_another(self):
        # OpenCV lets them do so where that one is an untapped concatenation.
        dims, model = (1, 3, 2, 2), self.folder / 'concat.onnx'
        nodes = [model_files.onnx_node('Relu', ['x'], ['a'], 'a'), model_files.onnx_node('Sigmoid', ['x'], ['b'], 'b'),
                 model_files.onnx_node('Concat', ['a', 'b'], ['y'], 'y', axis=1)]
        model.write_bytes(model_files.onnx_model(nodes, [model_files.onnx_value('x', 1, dims)],
                                                 [model_files.onnx_value('y', 1, (1, 6, 2, 2))], opset=11))
        data = struct.pack('<12f', *range(-6, 6))
        (self.folder / 'x').write_bytes(data)
        self.run_program([LAYERS, model, self.folder / 'x', '1,3,2,2', 'tapped'],
                         {'dump_list': [{'model_name': 'net', 'layer': ['a', 'b']}]}, file_format='npy')
        layers = self.of_opencv(model, data, dims, 'unfused')
        self.assertEqual({layer: array for (_, layer, _), array in self.arrays().items()},
                         {f'{kind}.onnx_node!{name}': (dims, layers[f'onnx_node!{name}'][0][0])
                          for kind, name in (('ReLU', 'a'), ('Sigmoid', 'b'))})

    def test_everything_is_dumped_and_changes_nothing(self):
        off = self.classify(8)
        self.assertEqual((off.told, self.records()), ('', {}))
        on = self.classify(8, {'dump_mode': 'all', 'dump_list': [{}]})
        self.assertEqual((on.printed, on.results), (off.printed, off.results))
        self.assertEqual(len(self.records()), 8 * 216)
        self.check_dump(0)

    def test_what_fusion_changes_is_told(self):
        off = self.classify(8, fused=True)
        few = self.classify(8, {'dump_list': [{'model_name': 'direction', 'layer': ['p2o.Softmax.0', 'p2o.Relu.3']}]}, fused=True)
        on = self.classify(8, {'dump_list': [{}]}, fused=True)
        self.assertEqual((few.printed, on.printed), (off.printed, off.printed))
        for what, run in (('2', few), ('216', on)):
            pairs = zip(array.array('f', b''.join(run.results)), array.array('f', b''.join(off.results)))
            differs = max(abs(one - other) for one, other in pairs)
            print(f'with fusion and {what} layers tapped, probabilities differ from untapped ones by at most {differs:.2g}')
            self.assertLess(differs, 1e-4)

    def test_statistics(self):
        self.classify(2, {'dump_data': 'stats', 'dump_list': [{'model_name': 'direction', 'layer': ['p2o.Softmax.0']}]})
        rows = [path.read_text() for path in self.dump.rglob('*.csv')]
        self.assertEqual([row.split('\n')[1].split(',')[:6] for row in rows], [['Output', '0', '8', 'DT_FLOAT', 'ND', '1x2']] * 2)

    def test_costs(self):
        def seconds(*arguments):
            return min(self.classify(36, *arguments).seconds - self.classify(4, *arguments).seconds for _ in range(2)) / 32

        off = seconds()
        idle = seconds({'dump_step': '100000', 'dump_list': [{}]})
        on = seconds({'dump_list': [{}]})
        print(f'CPU time: a picture without a dump {off * 1e3:.2f} ms; each of 216 layers costs {(idle - off) / 216 * 1e6:.2f} us where '
              f'its step is not asked for, and {(on - off) / 216 * 1e6:.1f} us where its output is dumped')

    def test_memory_does_not_grow_with_the_steps(self):
        config = {'dump_list': [{}]}
        few, many = self.classify(8, config).peak, self.classify(48, config).peak
        print(f'peak memory: {few >> 10} KiB in 8 steps, {many >> 10} KiB in 48')
        self.assertLess(many - few, 1 << 20)

    def test_a_broken_config_stops_nothing(self):
        run = self.classify(4, {'dump_list': 3})
        self.assertEqual(run.results, self.classify(4).results)
        self.assertIn('no dump: ', run.told)


if __name__ == '__main__':
    prepare()
    unittest.main(argv=sys.argv[:1], verbosity=2)
