#!/usr/bin/env python3
"""`opdump diverge --reference ort:LIBRARY`, with the stock library of ONNX Runtime: the single operators of ONNX's test
data, as dumped, agree or are told as not replayed; with a fault in each they are culprits, and what is saved of them
runs in ONNX Runtime without opdump.

usage: diverge_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
from onnx_cases import DATA, SingleOp
import onnx_data
import ort_library
from tapped_program import TappedProgram, environment

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
COMPILER = sys.argv[4:]
DRIVER = BUILD / 'runtimes' / 'diverge' / 'driver'
LIBRARY = ort_library.folder(BUILD) / 'library' / 'libonnxruntime.so'

# Where the test data are not what the operator gives.
PI = 'made with 3.1415 for pi'
PRINTED = 'has four decimals'
CUT = 'cut to bfloat16, not rounded'
WRONG = {
    'test_blackmanwindow': PI, 'test_blackmanwindow_symmetric': PI, 'test_hammingwindow': PI, 'test_hammingwindow_symmetric': PI,
    'test_hannwindow': PI, 'test_hannwindow_symmetric': PI,
    'test_gridsample_bicubic': PRINTED, 'test_roialign_aligned_false': PRINTED, 'test_roialign_aligned_true': PRINTED,
    'test_cast_FLOAT_to_BFLOAT16': CUT, 'test_castlike_FLOAT_to_BFLOAT16': CUT, 'test_castlike_FLOAT_to_BFLOAT16_expanded': CUT,
    'test_maxunpool_export_with_output_shape': 'its indices count in another shape than output_shape',
    'test_resize_downsample_scales_cubic_align_corners': 'aligned as if the size were not rounded',
    'test_resize_downsample_scales_linear_align_corners': 'aligned as if the size were not rounded',
}


class Diverge(TappedProgram):
    def diverge_all(self, cases, spoil, *options):
        """What is said of the operator of each: verdict, and why."""
        def diverge(i):
            dump = self.folder / f'{"spoilt" if spoil else "right"}{i}' / cases[i].file
            dump.parent.mkdir()
            dump.write_bytes(cases[i].record(spoil))
            done = subprocess.run([OPDUMP, 'diverge', dump.parent, '--model', cases[i].folder / 'model.onnx', '--reference',
                                   f'ort:{LIBRARY}', '--json', *(str(option).replace('CASE', str(i)) for option in options)],
                                  text=True, capture_output=True, check=False, errors='replace', env=environment())
            self.assertIn(done.returncode, (0, 1), done.stderr)
            op, = json.loads(done.stdout)['ops']
            return op['verdict'], op.get('reason') or op.get('evidence', '')
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(diverge, range(len(cases))))

    def test_single_operators_of_the_test_data(self):
        if not DATA.is_dir():
            self.skipTest('no libonnx-testdata')
        every = [SingleOp(path.parent) for path in sorted(DATA.rglob('model.onnx'))]
        cases = [case for case in every if not case.problem]
        said = self.diverge_all(cases, False)
        names = collections.defaultdict(set)
        for case, (verdict, reason) in zip(cases, said):
            names[verdict].add(case.folder.name)
            if verdict != 'agrees':
                print(f'  {verdict}: {case.folder.name}: {WRONG.get(case.folder.name, "")} {reason}')
                self.assertNotEqual(reason, '')
        problems = collections.Counter(case.problem for case in every if case.problem)
        print(f'libonnx-testdata: {dict(problems)}; {({verdict: len(of) for verdict, of in names.items()})}')
        self.assertEqual(names['culprit'], set(WRONG))
        self.assertGreaterEqual(len(names['agrees']), 828)

        # Each with a fault.
        kept = self.folder / 'kept'
        spoilt = self.diverge_all(cases, True, '--save-failing', kept / 'CASE')
        missed = [case.folder.name for case, (verdict, _) in zip(cases, spoilt)
                  if case.folder.name in names['agrees'] and case.outputs[0][3] and verdict != 'culprit']
        self.assertEqual(missed, [])
        self.run_saved(cases, kept)

    def run_saved(self, cases, kept):
        """Each model that was saved gives in ONNX Runtime what was saved with it, without opdump's reference."""
        lines, folders = ['level 0', 'threads 1'], sorted(kept.glob('*/op0_*'))
        for i, folder in enumerate(folders):
            inputs = onnx_data.inputs_of(folder / 'model.onnx', self.folder / f'saved{i}')
            self.assertIsNotNone(inputs, folder)
            lines += [f'session s{i} {folder}/model.onnx', *inputs, f'run {self.folder}/result{i} 1']
        done = subprocess.run([DRIVER], input='\n'.join(lines), text=True, capture_output=True, check=False,
                              env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn('failed', done.stdout)
        outputs = 0
        for i, folder in enumerate(folders):
            found = ort_library.outputs_of(self.folder / f'result{i}')
            for k, path in enumerate(sorted((folder / 'test_data_set_0').glob('output_*.pb'))):
                _, _, dims, raw = onnx_data.tensor(path.read_bytes())
                self.assertEqual(found[f'output_{k}'], (dims, raw), (cases[int(folder.parent.name)].folder.name, k))
                outputs += 1
        print(f'{len(folders)} operators with a fault saved; their models give the same {outputs} outputs in ONNX Runtime')
        self.assertGreater(len(folders), 780)


if __name__ == '__main__':
    ort_library.library(BUILD)
    ort_library.make(COMPILER, ROOT, BUILD, DRIVER)
    unittest.main(argv=sys.argv[:1], verbosity=2)
