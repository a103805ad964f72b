#!/usr/bin/env python3
"""Tests of what dumps tell of where they come from: tool_provenance_test.py OPDUMP MAKER MAKER SMALL_CODE_MAKER
[unittest arguments]. Standard library, and readelf of binutils.

Both MAKERs are of one source (provenance_maker.cpp), and two builds.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402

MAKERS = []
SMALL = ''


def build_id(program):
    """As binutils, which is not ours, reads it."""
    notes = subprocess.run(['readelf', '-n', program], check=True, stdout=subprocess.PIPE).stdout.decode()
    return re.search(r'Build ID: ([0-9a-f]+)', notes).group(1)


class Provenance(tool_case.Case):
    @classmethod
    def setUpClass(cls):
        if shutil.which('readelf') is None:
            raise tool_case.unittest.SkipTest('no readelf')
        cls.ids = [build_id(maker) for maker in MAKERS]

    def make(self, build, *arguments):
        subprocess.run([MAKERS[build], *arguments], check=True, cwd=self.directory)

    def config(self, name, **keys):
        os.makedirs(self.path(name + '.dump'), exist_ok=True)
        text = json.dumps({'dump': {'dump_path': name + '.dump', 'dump_list': [{'model_name': 'net'}], **keys}})
        self.write(name, text)
        return name, '%08x' % zlib.crc32(text.encode())

    def told(self, *arguments, expect=0):
        answer = json.loads(self.run_tool('verify', *arguments, '--json', expect=expect)[0])
        return [one for one in answer['findings'] if one['kind'] == 'provenance']

    def journal(self, dump):
        for root, _, names in sorted(os.walk(self.path(dump))):
            for name in names:
                if name.endswith('.journal'):
                    return os.path.join(root, name)
        self.fail('no journal')

    def test_two_builds_have_the_two_build_ids_that_readelf_reads(self):
        self.assertNotEqual(*self.ids)
        for maker, known in zip(MAKERS, self.ids):
            self.assertEqual(subprocess.run([maker, 'id'], stdout=subprocess.PIPE).stdout.decode().strip(), known)

    def test_verify_and_show_tell_what_made_a_dump(self):
        config, digest = self.config('a')
        self.make(0, 'tree', config, 'runtime 1.2, patched', 'c' * 64)
        told, = self.told('a.dump')
        version = self.run_tool('--version')[0].split()[1]
        self.assertEqual({key: told[key] for key in ('build_id', 'config', 'opdump', 'model', 'runtime')},
                         {'build_id': self.ids[0], 'config': digest, 'opdump': version, 'model': 'c' * 64,
                          'runtime': 'runtime 1.2, patched'})
        text = 'build %s, config %s, opdump %s, model %s, runtime 1.2, patched' % (self.ids[0], digest, version,
                                                                                 'c' * 64)
        self.assertIn(text, self.run_tool('verify', 'a.dump')[0])
        self.assertTrue(self.run_tool('show', 'a.dump')[0].endswith('\nfrom %s\n' % text))
        shown = json.loads(self.run_tool('show', 'a.dump', '--json')[0])
        self.assertEqual(shown['provenance'], {'build_id': [self.ids[0]], 'config': [digest], 'opdump': [version],
                                               'model': ['c' * 64], 'runtime': ['runtime 1.2, patched']})

    def test_compare_and_diff_say_what_is_different_and_refuse_nothing(self):
        digests = [self.config('a')[1], self.config('b', dump_mode='all')[1]]
        self.make(0, 'tree', 'a', 'runtime 1.2')
        self.make(1, 'tree', 'b', 'runtime 1.3')
        shutil.copytree(self.path('a.dump'), self.path('same.dump'))
        for command, mine, golden in ((('compare', '-m', 'a.dump', '-g', 'b.dump'), 'my dump', 'the golden one'),
                                      (('diff', 'a.dump', 'b.dump'), 'a.dump', 'b.dump')):
            _, error = self.run_tool(*command)
            for what, one, other in (('different builds of the program', *self.ids),
                                     ('different configs', *digests),
                                     ('different runtimes', 'runtime 1.2', 'runtime 1.3')):
                self.assertIn('opdump: %s: %s made %s, %s made %s' % (what, one, mine, other, golden), error)
            self.assertNotIn('versions', error)
        journal = self.journal('b.dump')
        text = self.read(journal).decode()
        self.write(journal, re.sub(r'(?m)^(provenance,[^,]*,[^,]*),[^,]*,', r'\1,9.9.9,', text))
        self.assertRegex(self.run_tool('diff', 'a.dump', 'b.dump')[1],
                         r'different versions of opdump: [\d.]+ made a.dump, 9.9.9 made b.dump')
        self.assertEqual(self.run_tool('diff', 'a.dump', 'same.dump')[1], '')

    def test_a_swapped_model_is_refused_unless_told(self):
        for name, sum_of_model in (('a', 'a' * 64), ('b', 'b' * 64), ('c', 'a' * 64)):
            self.config(name)
            self.make(0, 'tree', name, 'r', sum_of_model)
        for command, text in ((('compare', '-m', 'a.dump', '-g', 'b.dump'), 'my dump|the golden one'),
                              (('diff', 'a.dump', 'b.dump'), 'a.dump|b.dump')):
            mine, golden = text.split('|')
            out, error = self.run_tool(*command, expect=2)
            self.assertEqual(out, '')
            self.assertEqual(error, "opdump: the model is another one in %s (SHA-256 aaaaaaaaaaaa...) than in %s "
                                    "(bbbbbbbbbbbb...); '--any-model' compares them\n" % (mine, golden))
            self.run_tool(*command, '--any-model')
        self.run_tool('diff', 'a.dump', 'c.dump')
        self.run_tool('compare', '-m', 'a.dump', '-g', 'c.dump')
        # A card beside the other dump tells as well.
        self.config('d')
        self.make(0, 'tree', 'd', 'r')
        self.run_tool('diff', 'a.dump', 'd.dump')
        self.write(os.path.join(os.path.dirname(self.journal('d.dump')), 'opdump.0.1.model.json'),
                   json.dumps({'opdump_model': 1, 'name': 'net', 'sha256': 'd' * 64, 'id': 1, 'ops': []}))
        self.run_tool('diff', 'a.dump', 'd.dump', expect=2)

    def test_two_boots_of_a_log_with_another_firmware_are_told_apart(self):
        self.make(0, 'flash', 'flash.img')
        self.make(1, 'flash', 'flash.img')
        out, _ = self.run_tool('verify', 'flash.img')
        self.assertIn('2 builds of the program', out)
        self.run_tool('extract', 'flash.img', '-o', 'boots')
        boots = sorted(os.listdir(self.path('boots')))
        self.assertEqual(len(boots), 2)
        for boot, known in zip(boots, self.ids):
            told, = self.told(os.path.join('boots', boot))
            self.assertEqual(told['build_id'], known)
            self.assertRegex(told['config'], '^[0-9a-f]{8}$')
        _, error = self.run_tool('diff', *(os.path.join('boots', boot) for boot in boots))
        self.assertIn('different builds of the program: %s made boots/' % self.ids[0], error)
        self.assertNotIn('different configs', error)

    def test_one_firmware_that_boots_twice_is_one_build(self):
        self.make(0, 'flash', 'flash.img')
        self.make(0, 'flash', 'flash.img')
        self.assertNotIn('builds of the program', self.run_tool('verify', 'flash.img')[0])

    def test_attached_programs_tell_it_in_card_and_journal(self):
        _, digest = self.config('a')
        self.make(0, 'attach', 'a', 'runtime 1.2')
        told, = self.told('a.dump')
        self.assertEqual((told['build_id'], told['config'], told['runtime']), (self.ids[0], digest, 'runtime 1.2'))
        folder = os.path.dirname(self.journal('a.dump'))
        card = json.loads(self.read(os.path.join(folder, 'opdump.0.1.model.json')))
        self.assertEqual((card['build_id'], card['runtime']), (self.ids[0], 'runtime 1.2'))
        # The card alone tells as much as a card can.
        os.unlink(self.journal('a.dump'))
        self.assertIn('\nfrom build %s, runtime 1.2\n' % self.ids[0], self.run_tool('show', 'a.dump')[0])

    def test_small_code_tells_it_by_a_call(self):
        subprocess.run([SMALL, self.path('flash.img'), 'provenance'], check=True, stdout=subprocess.PIPE)
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        told, = self.told('dump')
        self.assertEqual((told['build_id'], told['config'], told['runtime']), ('00ff', '9a3b12cd', 'tflm 2.1, own'))
        self.assertTrue(self.read(self.journal('dump')).startswith(b'opdump-journal,1,gaps\nprovenance,00ff,'))

    def test_damaged_lines_and_newer_versions_are_wrong(self):
        self.config('a')
        self.make(0, 'tree', 'a', 'r')
        journal = self.journal('a.dump')
        text = self.read(journal).decode()
        for bad in ('provenance,', 'provenance,1,2,3', 'provenance,1,2,3,4', 'provenance,a\x01,,,,'):
            self.write(journal, text.replace('from,', bad + '\nfrom,', 1))
            self.run_tool('verify', 'a.dump', expect=1)
        self.write(journal, text.replace('journal,1', 'journal,9'))
        self.assertIn('version 9 of the journal', self.run_tool('verify', 'a.dump', expect=1)[0])
        self.write(journal, text)
        self.run_tool('verify', 'a.dump')

    def test_journals_of_programs_that_tell_nothing(self):
        subprocess.run([SMALL, self.path('flash.img'), 'plain'], check=True, stdout=subprocess.PIPE)
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.assertEqual(self.told('dump'), [])


if __name__ == '__main__':
    MAKERS = [os.path.abspath(path) for path in (sys.argv.pop(2), sys.argv.pop(2))]
    SMALL = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
