#!/usr/bin/env python3
"""One ONNX model in ONNX Runtime and in OpenCV: `opdump compare --align` pairs their operators, and names the one that is
spoilt in one of them.

usage: two_runtimes_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...

An operator is common if both runtimes have dumped one that has the name of the same node of the model; OpenCV writes
'onnx_node!' before it. So that names do not help the alignment, it is tried again with other names in one runtime.
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
from with_numpy import numpy  # noqa: E402
import ort_library  # noqa: E402
import onnx_input  # noqa: E402
import opencv_library  # noqa: E402
from onnx_graph import Model  # noqa: E402
from planted_models import WHOLE, Lab, Planted, Subject, bias_off_by_a_channel, image, in_files, transposed_weight  # noqa: E402
from tapped_program import environment  # noqa: E402

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
ORT = ort_library.OrtLibrary(sys.argv[4:], ROOT, BUILD, pathlib.Path(__file__).stem)
OPENCV = opencv_library.OpenCvLibrary(sys.argv[4:], ROOT, BUILD)
SHAPE = (1, 3, 48, 192)
FAULTS = 20


def other_names(file):
    """The model with its nodes' names replaced, and what they were."""
    model, names = Model(file), {}
    for number, node in enumerate(model.nodes):
        names[f'n{number}'] = in_files(node.name)
        node.name = f'n{number}'
    return model.to_bytes(), names


def op_of(path):
    return pathlib.Path(path).name.split('.')[1]


class TwoRuntimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lab = Lab.of_tests(cls, ORT.driver, OPDUMP)
        cls.folder = lab.folder
        # OpenCV 4.6 reads no model with dims that are not known.
        file = onnx_input.with_dims((ORT.models / ort_library.CLASSIFIER).read_bytes(), SHAPE)
        cls.plain = Subject(lab, 'plain', file, {'x': image(SHAPE)})
        hidden, cls.names = other_names(file)
        cls.hidden = Subject(lab, 'hidden', hidden, {'x': image(SHAPE)})
        cls.opencv = cls.folder / 'opencv'
        cls.opencv.mkdir()
        config = cls.folder / 'opencv.json'
        config.write_text(json.dumps({'dump': {'dump_path': str(cls.opencv), 'dump_mode': 'all', 'dump_list': [{}]},
                                      'opdump': WHOLE}))
        subprocess.run([OPENCV.layers, cls.plain.golden.with_suffix('.onnx'), cls.plain.folder / 'x', ','.join(map(str, SHAPE)),
                        'tapped'], env=environment(config), check=True, capture_output=True)

    def compare(self, dump):
        done = subprocess.run([OPDUMP, 'compare', '--any-model', '--align', '--json', dump, self.opencv], text=True,
                              capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def test_common_operators_are_paired(self):
        theirs = {op_of(path).removeprefix('onnx_node!') for path in self.opencv.rglob('*.onnx_node!*')}
        for subject, names in ((self.plain, {}), (self.hidden, self.names)):
            ours = {op_of(path) for path in subject.golden.rglob('*.*.*.*.*') if not path.name.endswith('.json')}
            common = {op for op in ours if names.get(op, op) in theirs}
            self.assertGreater(len(common), 200)
            report = self.compare(subject.golden)
            pairs = {op_of(t['mine']['file']): op_of(t['golden']['file']).removeprefix('onnx_node!') for t in report['tensors']
                     if t['mine'] and t['golden'] and ':output:' in t['tensor']}
            right = sum(pairs.get(op) == names.get(op, op) for op in common)
            wrong = {op: golden for op, golden in pairs.items() if op in common and golden != names.get(op, op)}
            ways = sorted({t['paired_by'] for t in report['tensors'] if 'paired_by' in t})
            print(f'{subject.name} names: {right} of {len(common)} common operators paired, {len(wrong)} wrongly, of '
                  f'{len(ours)} of ONNX Runtime and {len(theirs)} of OpenCV; by {", ".join(ways)}')
            self.assertGreaterEqual(right, 0.95 * len(common), wrong)
            self.assertNotIn('first_diverging', report)

    def test_the_spoilt_operator_is_named(self):
        for subject in (self.plain, self.hidden):
            small, wrong = 0, []
            for number in range(FAULTS):
                choose = random.Random(f'two runtimes {number}')
                while True:
                    fault = Planted(subject, (bias_off_by_a_channel, transposed_weight)[number % 2], choose)
                    dump = subject.folder / 'mine'
                    subject.run(fault.file, dump)
                    array = subject.arrays[in_files(fault.op)]['output.0']
                    spoilt = numpy.frombuffer(subject.output(dump, fault.op), array.dtype).reshape(array.shape)
                    if numpy.linalg.norm(spoilt - array) > 0.1 * numpy.linalg.norm(array):
                        break
                    small += 1
                    shutil.rmtree(dump)
                report = self.compare(dump)
                shutil.rmtree(dump)
                culprits = [op['name'] for op in report['ops'] if op['verdict'] == 'culprit']
                if report['ops'][report['first_diverging']['op']]['name'] != in_files(fault.op) or culprits != [in_files(fault.op)]:
                    wrong.append(f'{fault}: {culprits}, {report["first_diverging"]["text"]}')
            print(f'{subject.name} names: {FAULTS - len(wrong)} of {FAULTS} spoilt operators named first, and as the only culprits; '
                  f'{small} more changed their outputs by less than 10 %')
            self.assertEqual(wrong, [])


if __name__ == '__main__':
    ORT.prepare()
    OPENCV.prepare()
    unittest.main(argv=sys.argv[:1], verbosity=2)
