#!/usr/bin/env python3
"""DrainTask on FreeRTOS itself, on an emulated Cortex-M3: a task and an interrupt capture 12000 records and more, a task
of lower priority drains them into a flash log, and one of higher priority stops it. What `opdump extract` gets out of
the flash is complete by `opdump verify`, byte for byte; and where the interrupt comes faster than the drain, what is
missing is what was counted as lost.

usage: freertos_test.py SOURCE_ROOT OPDUMP

environment
  OPDUMP_FREERTOS  a checkout of FreeRTOS-Kernel (GitHub FreeRTOS/FreeRTOS-Kernel), version 11 or later. Its tasks and
                   its port GCC/ARM_CM3 are compiled with freertos/FreeRTOSConfig.h.
Skips, saying so, without that folder, the ARM compiler or QEMU.
"""
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from budget import SKIP, run
from emulated import build, execute, skip_without_tools

FLASH_BYTES = 16 << 20
STEPS = 4000
OPS = ('conv1', 'relu1', 'dense1')
CAPTURED = re.compile(r'(\d+) captured by a task, (\d+) by an interrupt; (\d+) written, (\d+) lost')


PORT = 'portable/GCC/ARM_CM3'


def built_kernel(root, kernel, folder):
    """The objects of the kernel, and the options with which a program includes its headers."""
    includes = [word for place in (kernel / 'include', kernel / PORT, root / 'tests/firmware/freertos') for word in ('-isystem', str(place))]
    objects = []
    for source in ('list.c', 'tasks.c', f'{PORT}/port.c'):
        objects.append(folder / f'{pathlib.Path(source).stem}.o')
        run('arm-none-eabi-gcc', '-Os', '-mcpu=cortex-m3', '-mthumb', '-ffunction-sections', '-fdata-sections', *includes,
            '-c', str(kernel / source), '-o', str(objects[-1]))
    return objects, includes


class FreeRtos(unittest.TestCase):
    root = opdump = kernel = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='opdump_freertos')
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.program = cls.folder / 'main.elf'
        objects, includes = built_kernel(cls.root, cls.kernel, cls.folder)
        build(cls.root, 'mps2-an385', 'cortex_m', [cls.root / 'tests/firmware/freertos/main.cpp', *objects], cls.program,
              '-Os', '-mcpu=cortex-m3', '-DOPDUMP_PROFILE=firmware', *includes)

    def run_firmware(self, steps, interrupts_per_second):
        """Records captured by the task and by the interrupt, written and lost; and the folder of the dump."""
        image = self.folder / 'flash.img'
        image.write_bytes(b'\xff' * FLASH_BYTES)
        # The emulated time is that of the instructions, so that a busy machine loses nothing.
        text = execute(self.root, 'mps2-an385,memory-backend=fl', self.program,
                       f'-icount shift=4 -object memory-backend-file,id=fl,mem-path={image},size=16M,share=on',
                       str(steps), str(interrupts_per_second))
        print(text)
        dump = self.folder / f'dump at {interrupts_per_second}'
        run(self.opdump, 'extract', str(image), '-o', str(dump))
        self.prepares = int(re.search(r'(\d+) prepares', text)[1])
        return [int(number) for number in CAPTURED.search(text).groups()], dump

    def verify(self, dump):
        done = subprocess.run([self.opdump, 'verify', dump], text=True, capture_output=True, check=False)
        return done.returncode, done.stdout

    def words_of(self, dump, name):
        """The tensor of each record of the operator, as words."""
        return sorted(struct.unpack('<16I', path.read_bytes()[-64:]) for path in dump.rglob(f'*.{name}.*'))

    def test_nothing_is_lost(self):
        (by_task, by_interrupt, written, lost), dump = self.run_firmware(STEPS, 100)
        self.assertEqual((by_task, lost), (STEPS * len(OPS), 0))
        self.assertGreater(by_interrupt, 100)
        self.assertEqual(written, by_task + by_interrupt)
        self.assertGreater(self.prepares, 0)
        status, text = self.verify(dump)
        self.assertEqual(status, 0, text)
        self.assertIn(f'{written} records written, 0 lost', text)
        for op, name in enumerate(OPS):
            self.assertEqual([words[:2] for words in self.words_of(dump, name)], [(step, op) for step in range(STEPS)])
        self.assertEqual(self.words_of(dump, 'timer'), [(number,) * 16 for number in range(1, by_interrupt + 1)])

    def test_what_is_lost_is_counted(self):
        (by_task, by_interrupt, written, lost), dump = self.run_firmware(STEPS // 8, 5000)
        self.assertEqual(by_task, STEPS // 8 * len(OPS))  # it waits for room
        self.assertGreater(lost, 0)
        self.assertEqual(written + lost, by_task + by_interrupt)
        status, text = self.verify(dump)
        self.assertEqual(status, 1, text)
        self.assertIn(f'{written} records written, {lost} lost', text)
        self.assertEqual(sum(len(self.words_of(dump, name)) for name in OPS), by_task)
        readings = self.words_of(dump, 'timer')
        self.assertEqual(len(readings), by_interrupt - lost)
        self.assertTrue(all(words == words[:1] * 16 for words in readings))


if __name__ == '__main__':
    if not os.environ.get('OPDUMP_FREERTOS'):
        print('OPDUMP_FREERTOS names no folder with FreeRTOS')
        sys.exit(SKIP)
    skip_without_tools()
    FreeRtos.root, FreeRtos.opdump = pathlib.Path(sys.argv[1]), sys.argv[2]
    FreeRtos.kernel = pathlib.Path(os.environ['OPDUMP_FREERTOS'])
    for needed in ('include/FreeRTOS.h', 'tasks.c', f'{PORT}/port.c'):
        if not (FreeRtos.kernel / needed).exists():
            sys.exit(f'OPDUMP_FREERTOS: {FreeRtos.kernel} has no {needed}')
    unittest.main(argv=sys.argv[:1], verbosity=2)
