#!/usr/bin/env python3
"""A network in float32 against its int8 copy, of which the quantiser has broken one operator: `opdump compare` names it,
by a card of the copy, and tells how far the signal of each operator is above its error.

usage: quantiser_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...

The copy is PaddleOCR's detector with every fourth convolution in int8. That it loses little without a fault is tested
too. The scale of the broken operator's output is an eighth of what it should be, so that it saturates.
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
from with_numpy import numpy  # noqa: E402
import npm_packages  # noqa: E402
import ort_library  # noqa: E402

if numpy is None:
    npm_packages.skip('no NumPy')

from onnx_graph import Model  # noqa: E402
from planted_models import Lab, Subject, in_files, int8_copy  # noqa: E402

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
ORT = ort_library.OrtLibrary(sys.argv[4:], ROOT, BUILD, pathlib.Path(__file__).stem)
TOO_SMALL = 8


class Quantiser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lab = Lab.of_tests(cls, ORT.driver, OPDUMP)
        cls.float = Subject(lab, 'detector', (ORT.models / ort_library.DETECTOR).read_bytes(), (1, 3, 64, 96))
        cls.wanted = [node.name for node in Model(cls.float.file).nodes if node.type == 'Conv'][1::4]

    def compare(self, broken):
        """What compare says of the copy with one broken operator, or none, and the copy's arrays."""
        copy = int8_copy(self.float, self.wanted, lambda name: TOO_SMALL if name == broken else 1)
        reports = []
        for limits in ((), ('--limits', 'snr=10')):
            done = subprocess.run([OPDUMP, 'compare', '--any-model', '--json', '--model', copy.golden_card, '-alg', 'snr', *limits,
                                   copy.golden, self.float.golden], text=True, capture_output=True, check=False)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            reports.append(json.loads(done.stdout))
        arrays = {op: numpy.array(tensors['output.0']) for op, tensors in copy.arrays.items()}
        shutil.rmtree(copy.folder)
        return reports, arrays

    def test_signal_to_noise_is_told_of_each_operator(self):
        (report, strict), arrays = self.compare(None)
        told = {t['tensor'].split(':')[0]: t['snr'] for t in report['tensors'] if ':output:' in t['tensor'] and 'snr' in t}
        for name in map(in_files, self.wanted):
            # What ONNX Runtime itself makes of the integers.
            real = arrays[name + '_dequantise'].astype('f8')
            golden = self.float.arrays[name]['output.0'].astype('f8')
            snr = 20 * math.log10(numpy.linalg.norm(golden) / numpy.linalg.norm(real - golden))
            self.assertAlmostEqual(told[name], snr, 2)
        worst = min(told[name] for name in map(in_files, self.wanted))
        print(f'{len(self.wanted)} operators in int8, none broken: the least signal is {worst:.1f} dB above its error')
        self.assertNotIn('first_diverging', strict)
        self.assertNotIn('culprit', [op['verdict'] for op in report['ops']])

    def test_the_broken_operator_is_named(self):
        named = culprit = 0
        for name in self.wanted:
            (report, strict), _ = self.compare(name)
            grown = report['ops'][report['greatest_growth']['op']]['name']
            named += grown == in_files(name)
            culprit += [op['name'] for op in strict['ops'] if op['verdict'] == 'culprit'] == [in_files(name)]
            if grown != in_files(name):
                print(name, report['greatest_growth'], strict.get('first_diverging'))
        print(f'{named} of {len(self.wanted)} broken operators are those in which the error grows most, by the usual limits; {culprit} '
              'are the only culprits where 10 dB are the limit')
        self.assertEqual((named, culprit), (len(self.wanted),) * 2)


if __name__ == '__main__':
    ORT.prepare()
    unittest.main(argv=sys.argv[:1], verbosity=2)
