#!/usr/bin/env python3
"""Memory of the commands that read large dumps: dump_growth_test.py OPDUMP RECORDS [unittest arguments].

Each command reads a small dump and one of RECORDS records, of one tensor each. Its peak of resident memory, as the kernel
tells it, may rise by so many bytes a record. Pages of mapped files count too. Standard library only.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from peak_memory import measured  # noqa: E402

OPDUMP = ''
RECORDS = 0
SMALL = 1000
MIB = 1 << 20
# Whatever the number of records.
MORE = 3 * MIB


class Growth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # So many small files take minutes on a disk.
        memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        cls.directory = tempfile.mkdtemp(prefix='opdump_growth_test', dir=memory)
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        for name, records in (('small', SMALL), ('large', RECORDS)):
            cls.make(name, records)

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.directory, *names)

    @classmethod
    def make(cls, name, records, operators=500):
        """A dump of so many records in the folder `name`, and the same as a flash log."""
        output = {'fill': 'ramp', 'dtype': 'int8', 'shape': [16]}
        ops = [{'name': 'operator%d' % i, 'type': 'Add', 'outputs': [output]} for i in range(operators)]
        with open(cls.path(name + '.json'), 'w', encoding='utf-8') as file:
            json.dump({'steps': records // operators, 'models': [{'name': 'net', 'id': 1, 'ops': ops}]}, file)
        os.mkdir(cls.path(name))
        with open(cls.path(name + '.img'), 'wb') as file:
            file.truncate(2 * MIB + records * 640 // 65536 * 65536)
        for place in (name, name + '.img'):
            with open(cls.path('acl.json'), 'w', encoding='utf-8') as file:
                json.dump({'dump': {'dump_path': cls.path(place), 'dump_list': [{'model_name': 'net'}]}}, file)
            subprocess.run([OPDUMP, 'replay', cls.path(name + '.json'), '--config', cls.path('acl.json')], check=True,
                           stdout=subprocess.DEVNULL)

    def peak(self, *arguments, expect=0):
        status, kib, told = measured([OPDUMP, *arguments])
        self.assertEqual(status, expect, told)
        return kib * 1024

    def check(self, *arguments, makes=None, a_record=0, expect=0):
        """`arguments` name the dump {dump}, or its {image} and {run}, and what is made {out}; `a_record` is how many bytes a
        record may take, `expect` the exit status of the large one."""
        def of(name):
            places = {'dump': self.path(name), 'image': self.path(name + '.img'), 'run': self.path(name + '.json'),
                      'out': self.path('out'), 'config': self.path('acl.json')}
            result = self.peak(*[argument.format(**places) for argument in arguments], expect=expect if name == 'large' else 0)
            if makes is not None:
                self.assertEqual(makes(self.path('out')), RECORDS if name == 'large' else SMALL)
            out = self.path('out')
            shutil.rmtree(out) if os.path.isdir(out) else os.path.exists(out) and os.remove(out)
            return result

        small = of('small')
        large = of('large')
        self.assertLess(large - small, MORE + a_record * (RECORDS - SMALL), arguments)

    @staticmethod
    def arrays_in(directory):
        return sum(name.endswith('.npy') for _, _, names in os.walk(directory) for name in names)

    @staticmethod
    def records_in(directory):
        return sum(name.startswith('Add.') for _, _, names in os.walk(directory) for name in names)

    def test_verify(self):
        self.check('verify', '{dump}', a_record=150)
        self.check('verify', '{dump}', '--json', a_record=150)

    def test_verify_against_a_config(self):
        self.check('verify', '{dump}', '--config', '{config}', '--model', '{run}', a_record=250)

    def test_show(self):
        self.check('show', '{dump}', a_record=800)
        self.check('show', '{dump}', '--json', a_record=800)

    def test_compare(self):
        self.check('compare', '{dump}', '{dump}', '--json', '-out', '{out}', a_record=3600)

    def test_diff(self):
        self.check('diff', '{dump}', '{dump}', '--write', '{out}', a_record=1800)

    def test_edges(self):
        self.check('edges', '{dump}', a_record=1500)

    def test_report(self):
        self.check('report', '{dump}', '-o', '{out}', '--max-bytes', '64M', a_record=2200)
        self.check('report', '{dump}', '-g', '{dump}', '-o', '{out}', '--max-bytes', '64M', a_record=4400)

    def test_a_report_of_many_operators(self):
        """Each of one record."""
        self.make('wide', RECORDS, operators=RECORDS)
        self.assertLess(self.peak('report', self.path('wide'), '-o', self.path('out'), '--max-bytes', '64M'),
                        16 * MIB + 3000 * RECORDS)

    def test_a_report_that_is_too_large(self):
        self.check('report', '{dump}', '-o', '{out}', '--max-bytes', '500K', a_record=2200, expect=1)

    def test_convert(self):
        self.check('convert', '-r', '-d', '{dump}', '-out', '{out}', makes=self.arrays_in, a_record=350)

    def test_overflow(self):
        self.check('overflow', '-d', '{dump}', '-out', '{out}', a_record=350)

    def test_extract(self):
        self.check('extract', '{image}', '-o', '{out}', makes=self.records_in)
        self.check('extract', '{image}', '--verify')
        self.check('extract', '{image}', '--list', a_record=190)


if __name__ == '__main__':
    OPDUMP, RECORDS = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
