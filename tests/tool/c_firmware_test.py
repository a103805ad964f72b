#!/usr/bin/env python3
"""Firmware in plain C dumps into raw flash, and its dump is read back: complete by `opdump verify`, and with the numbers
that the network must have had by `opdump convert` and the vendor's msaccucmp.

usage: c_firmware_test.py C_FIRMWARE OPDUMP

environment
  OPDUMP_MSACCUCMP  folder of the vendor's msaccucmp, or its msaccucmp.py; without it that part is skipped, saying so
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case, numpy  # noqa: E402

FIRMWARE = ''
INPUTS, HIDDEN, CLASSES = 16, 8, 4
WEIGHT1 = [i * 7 % 23 - 11 for i in range(HIDDEN * INPUTS)]
WEIGHT2 = [i * 5 % 19 - 9 for i in range(CLASSES * HIDDEN)]


def dense(values, weights, outputs):
    """As the accelerator computes it: sums are divided by 16, towards zero, and kept to int8."""
    sums = [sum(v * w for v, w in zip(values, weights[o * len(values):])) for o in range(outputs)]
    return [max(-128, min(127, int(s / 16))) for s in sums]


def tensors_of(step):
    start = [(step * 11 + i * 5) % 63 - 31 for i in range(INPUTS)]
    hidden = dense(start, WEIGHT1, HIDDEN)
    positive = [max(0, value) for value in hidden]
    return {'fc1': {'input.0': start, 'input.1': WEIGHT1, 'output.0': hidden},
            'fc2': {'input.0': positive, 'input.1': WEIGHT2, 'output.0': dense(positive, WEIGHT2, CLASSES)}}


class CFirmware(Case):
    def run_firmware(self, *arguments):
        return subprocess.run([FIRMWARE, *arguments], cwd=self.directory, capture_output=True, text=True, check=False)

    def dump(self):
        """The dump's records, by step and operator."""
        done = self.run_firmware('flash.img')
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        self.assertEqual(done.stdout, '6 records dumped, 0 lost\n')
        self.run_tool('extract', 'flash.img', '-o', 'tree')
        found = {}
        for name in self.files('tree'):
            _, device, model, model_id, step, file = name.split(os.sep)
            self.assertEqual((device, model, model_id), ('0', 'gesture', '1'))
            found[int(step), file.split('.')[1]] = os.path.join('tree', name)
        return found

    def test_the_dump_is_complete(self):
        self.assertEqual(sorted(self.dump()), [(step, op) for step in (0, 2, 3) for op in ('fc1', 'fc2')])
        out, _ = self.run_tool('verify', 'tree')
        self.assertIn('complete', out)

    def check_arrays(self, folder, record, wanted):
        for place, values in wanted.items():
            names = [name for name in os.listdir(folder)
                     if name.startswith(os.path.basename(record) + '.' + place + '.') and name.endswith('.npy')]
            self.assertEqual(len(names), 1, '%s in %s' % (place, os.listdir(folder)))
            array = numpy.load(os.path.join(folder, names[0]))
            self.assertEqual((array.dtype, array.flatten().tolist()), (numpy.int8, values))

    @unittest.skipIf(numpy is None, 'there is no NumPy')
    def test_the_numbers_are_those_of_the_network(self):
        for (step, op), name in self.dump().items():
            self.run_tool('convert', '-d', name, '-out', 'arrays')
            self.check_arrays(self.path('arrays'), name, tensors_of(step)[op])

    @unittest.skipIf(numpy is None or not os.environ.get('OPDUMP_MSACCUCMP'), 'OPDUMP_MSACCUCMP or NumPy is not there')
    def test_the_vendors_tool_reads_the_same(self):
        vendor = os.environ['OPDUMP_MSACCUCMP']
        if os.path.isdir(vendor):
            vendor = os.path.join(vendor, 'msaccucmp.py')
        for (step, op), name in self.dump().items():
            os.makedirs(self.path('theirs'), exist_ok=True)
            done = subprocess.run([sys.executable, vendor, 'convert', '-d', self.path(name), '-out', self.path('theirs')],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.check_arrays(self.path('theirs'), name, tensors_of(step)[op])

    def test_two_runs_give_the_same_flash(self):
        for name in ('a.img', 'b.img'):
            self.assertEqual(self.run_firmware(name).returncode, 0)
        self.assertEqual(self.read('a.img'), self.read('b.img'))

    def test_without_an_image_it_says_what_is_missing(self):
        done = self.run_firmware()
        self.assertEqual(done.returncode, 2)
        self.assertIn('IMAGE', done.stderr)


if __name__ == '__main__':
    FIRMWARE = os.path.abspath(sys.argv.pop(1))
    tool_case.main()
