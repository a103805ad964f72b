#!/usr/bin/env python3
"""Faults at random operators of real models: `opdump compare` names the operator as the culprit, and nothing else.

usage: planted_faults_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...

Golden is the model as it is, mine the same one with a fault in one operator, both run and dumped by ONNX Runtime. A
fault is either in what the operator does, which its inputs do not tell, or in a constant that it reads. OPDUMP_FAULTS
says how many faults there are, OPDUMP_SEED which.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
from with_numpy import numpy  # noqa: E402
import ort_library  # noqa: E402
from planted_models import (Half, Lab, Planted, Subject, before_its_writer, bias_off_by_a_channel, channel_doubled, fused_wrongly,  # noqa: E402
                            half_accumulation, in_files, int8_copy, left_out, never_written, not_a_number, other_layout, other_scale,
                            rows_moved, saturated_int8, transposed_weight, wrong_zero_point)

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
ORT = ort_library.OrtLibrary(sys.argv[4:], ROOT, BUILD, pathlib.Path(__file__).stem)
FAULTS = int(os.environ.get('OPDUMP_FAULTS', 66))
SEED = int(os.environ.get('OPDUMP_SEED', 23))
OF_INTEGERS = (saturated_int8, wrong_zero_point, other_scale)
FLOAT16 = (channel_doubled, never_written, not_a_number, rows_moved, transposed_weight)
KINDS = (bias_off_by_a_channel, half_accumulation, transposed_weight, channel_doubled, never_written, not_a_number, rows_moved,
         other_layout, *OF_INTEGERS)


class PlantedFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lab = Lab.of_tests(cls, ORT.driver, OPDUMP)
        cls.floats = [Subject(lab, name, (ORT.models / file).read_bytes(), shape) for name, file, shape in (
            ('classifier', ort_library.CLASSIFIER, (1, 3, 48, 96)), ('detector', ort_library.DETECTOR, (1, 3, 64, 96)),
            ('reader', ort_library.READER, (1, 3, 48, 48)))]
        cls.int8 = [int8_copy(cls.floats[1])]

    def ask(self, command, *arguments):
        done = subprocess.run([OPDUMP, command, '--any-model', '--json', *arguments], text=True, capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def judge(self, fault, dump, card, arguments):
        cards = ('--model', card, '--golden-model', fault.subject.golden_card)
        return self.ask('compare', *cards, *arguments, dump, fault.subject.golden)

    def test_an_int8_copy_accuses_nobody(self):
        """Against the float model, by cards and without them, by any limits."""
        copy, real = self.int8[0], self.floats[1]
        for cards in ((), ('--model', copy.golden_card, '--golden-model', real.golden_card)):
            for more in ((), ('-e', copy.golden), ('--limits', 'max_abs=0')):
                told = self.ask('why', copy.golden, '-g', real.golden, *cards, *more)
                self.assertFalse(told['certain'], told['headline'])

    def test_whoever_is_accused_is_it(self):
        """Of operators that are missing, fused or too early, and in float16, it may be not certain."""
        real, named = self.floats[0], 0
        half = Half(real)
        self.assertFalse(self.ask('why', half.golden, '-g', real.golden)['wrong'])
        for number in range(FAULTS // 4):
            kind = (left_out, fused_wrongly, before_its_writer, FLOAT16[number // 4 % len(FLOAT16)])[number % 4]
            subject = half if kind in FLOAT16 else self.floats[number // 4 % len(self.floats)]
            fault = Planted(subject, kind, random.Random(f'{SEED} accused {number}'))
            dump = fault.subject.folder / f'accused{number}'
            fault.subject.run(fault.file, dump)
            for golden in {subject.golden, (real if subject is half else subject).golden}:
                told = self.ask('why', dump, '-g', golden)
                missing = told.get('cause') == 'missing operator' and f'"{in_files(fault.op)}" is missing' in told['headline']
                right = missing if kind is left_out else told.get('op') == in_files(fault.op)
                self.assertTrue(right or not told['certain'], f'{fault}: {told["headline"]}')
                named += told['certain']
            shutil.rmtree(dump)
        self.assertGreater(named, FAULTS // 8)

    def plant(self, number):
        """A fault that changes something, what `compare` says of it, and whom `why` accuses instead."""
        choose = random.Random(f'{SEED} {number}')
        kind = KINDS[number % len(KINDS)]
        while True:
            subject = choose.choice(self.int8 if kind in OF_INTEGERS else self.floats + self.int8)
            fault = Planted(subject, kind, choose)
            dump = fault.subject.folder / f'mine{number}'
            fault.subject.run(fault.file, dump)
            if subject.output(dump, fault.op) != subject.output(subject.golden, fault.op):
                break
            shutil.rmtree(dump)
        card = subject.card(dump.with_suffix('.onnx'))
        reports = {limits: self.judge(fault, dump, card, limits) for limits in ((), ('--limits', 'max_abs=0'))}
        # Without cards, and against the float model, it may be not certain.
        innocent = []
        for golden, cards in ((subject.golden, ()), (self.floats[1].golden, ('--model', card, '--golden-model', self.floats[1].golden_card))):
            if golden == subject.golden or subject in self.int8:
                told = self.ask('why', dump, '-g', golden, *cards)
                if told['certain'] and told['op'] != in_files(fault.op):
                    innocent.append(told['headline'])
        shutil.rmtree(dump)
        return fault, reports, innocent

    def test_each_is_named(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            planted = list(pool.map(self.plant, range(FAULTS)))
        wrong, below = [], 0
        for fault, reports, innocent in planted:
            usual, strict = reports.values()
            culprits = [[op['name'] for op in report['ops'] if op['verdict'] == 'culprit'] for report in (usual, strict)]
            if 'first_diverging' not in usual:
                # Within the limits, it is told where equality ends.
                below += 1
                culprits[0] = culprits[0] or [usual['ops'][usual['first_unequal']['op']]['name']]
            if innocent or culprits != [[in_files(fault.op)]] * 2:
                wrong.append(f'{fault}: {culprits} {usual.get("first_diverging")} {strict.get("first_diverging")} {innocent}')
        kinds = collections.Counter((fault.kind.__name__, fault.in_file) for fault, *_ in planted)
        print(f'{FAULTS - len(wrong)} of {FAULTS} faults of seed {SEED} are named, and nothing else; {below} of them are within the usual limits')
        for (kind, in_file), count in sorted(kinds.items()):
            print(f'  {count} {kind}' + (', in a constant of the file' if in_file else ''))
        self.assertEqual(wrong, [])


if __name__ == '__main__':
    ORT.prepare()
    unittest.main(argv=sys.argv[:1], verbosity=2)
