#!/usr/bin/env python3
"""Memory of the commands that read large dumps: dump_growth_test.py OPDUMP RECORDS [unittest arguments].

Each command reads a small dump and one of RECORDS records. Its peak of resident memory, as the kernel tells it, may
rise by less than a list of the paths would take, and stays below 64 MiB. Pages of mapped files count too. Standard library only.
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
MOST = 64 * MIB
# What several lists hold before a temporary file takes it; a list of 20 000 files takes more.
MORE = 3 * MIB
# The same of tables of the tensors, files and results of two dumps, each of which keeps up to 1 MiB of pages in memory;
# all of 20 000 tensors took 40 to 100 MiB.
MORE_OF_TABLES = 12 * MIB
# The same of what a report knows of tensors and records besides, of two dumps; of 200 000 records it once took 200 MiB.
MORE_OF_REPORT = 32 * MIB


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

    def check(self, *arguments, makes=None, more=MORE, expect=0):
        """`arguments` name the dump {dump}, or its {image} and {run}, and what is made {out}; `expect` is the exit status of
        the large one."""
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
        self.assertLess(large, MOST, arguments)
        self.assertLess(large - small, more, arguments)

    @staticmethod
    def arrays_in(directory):
        return sum(name.endswith('.npy') for _, _, names in os.walk(directory) for name in names)

    @staticmethod
    def records_in(directory):
        return sum(name.startswith('Add.') for _, _, names in os.walk(directory) for name in names)

    def test_verify(self):
        self.check('verify', '{dump}')
        self.check('verify', '{dump}', '--json')

    def test_verify_against_a_config(self):
        self.check('verify', '{dump}', '--config', '{config}', '--model', '{run}')

    def test_show(self):
        self.check('show', '{dump}')
        self.check('show', '{dump}', '--json')

    def test_compare(self):
        self.check('compare', '{dump}', '{dump}', '--json', '-out', '{out}', more=MORE_OF_TABLES)

    def test_diff(self):
        self.check('diff', '{dump}', '{dump}', '--write', '{out}', more=MORE_OF_TABLES)

    def test_edges(self):
        self.check('edges', '{dump}', more=MORE_OF_TABLES)

    def test_report(self):
        self.check('report', '{dump}', '-o', '{out}', '--max-bytes', '64M', more=MORE_OF_REPORT)
        self.check('report', '{dump}', '-g', '{dump}', '-o', '{out}', '--max-bytes', '64M', more=MORE_OF_REPORT)

    def test_a_report_of_many_operators(self):
        """Each of one record; of 200 000 the counts of what was lost alone took 35 MiB."""
        self.make('wide', RECORDS, operators=RECORDS)
        self.assertLess(self.peak('report', self.path('wide'), '-o', self.path('out'), '--max-bytes', '64M'), MOST)

    def test_a_report_that_is_too_large(self):
        self.check('report', '{dump}', '-o', '{out}', '--max-bytes', '500K', more=MORE_OF_TABLES, expect=1)

    def test_convert(self):
        self.check('convert', '-r', '-d', '{dump}', '-out', '{out}', makes=self.arrays_in)

    def test_overflow(self):
        self.check('overflow', '-d', '{dump}', '-out', '{out}')

    def test_extract(self):
        self.check('extract', '{image}', '-o', '{out}', makes=self.records_in)
        self.check('extract', '{image}', '--verify')
        self.check('extract', '{image}', '--list')


if __name__ == '__main__':
    OPDUMP, RECORDS = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
