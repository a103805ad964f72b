#!/usr/bin/env python3
"""opdump in one header (platform/one_header.py): the same bytes from every place, each header once; compiles alone and
twice under the profiles, with and without exceptions and RTTI, by the host's compilers and the Arm one; a firmware is
as large with it as with the tree, to the byte, and one for the host needs no library.

usage: one_header_test.py SOURCE_ROOT HOST_COMPILER...

What has no compiler is left out, saying so.
"""
import concurrent.futures
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'firmware'))
sys.path.append(str(pathlib.Path(sys.argv[1]).resolve() / 'platform'))
import linked_size
import one_header
import size_test
from profiles import configurations

ROOT = pathlib.Path(sys.argv[1]).resolve()
HOST = sys.argv[2:]
SCRIPT = 'platform/one_header.py'
FOLDERS = ('baremetal', 'flashlog', 'host', 'template')
FLAGS = '-std=c++20 -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror'.split()
BARE = ['-fno-exceptions', '-fno-rtti']
# One header has functions in another order than the tree. In the order of their names they have the same padding.
BY_NAME = '-Wl,--sort-section=name'
ARM = ['arm-none-eabi-g++', '-mcpu=cortex-m3', '-mthumb', '-Wno-psabi']
OWN = re.compile(r'#include "((?:opdump|platform)/[^"]*)"\n')


# What folders need of systems: declarations of our own.
DECLARED = ROOT / 'tests/rtos/declared'
ESP_IDF = ['-DESP_PLATFORM=1', '-isystem', str(DECLARED / 'esp_idf')]
SYSTEMS = {'esp-idf': ESP_IDF, 'freertos': ESP_IDF, 'zephyr': ['-D__ZEPHYR__=1', '-isystem', str(DECLARED / 'zephyr')]}
OF_THE_LIBRARY = ('opdump/acl.hpp', 'opdump/attach.h', 'opdump/attach.hpp', 'opdump/config/parse.hpp', 'opdump/opdump.h')


def accepted_headers():
    """The headers of include/opdump that one header may have besides what each has."""
    names = sorted(str(path.relative_to(ROOT / 'include')) for path in (ROOT / 'include/opdump').rglob('*.hpp'))
    return [name for name in names if one_header.needs(name) is None]


def lay_out(output, *options, root=ROOT, folders=FOLDERS, **environment):
    chosen = [word for folder in folders for word in ('--platform', folder)]
    return subprocess.run([sys.executable, root / SCRIPT, '-o', output, *chosen, *options], text=True,
                          capture_output=True, check=False, cwd=pathlib.Path(output).parent,
                          env={**os.environ, **environment})


class OneHeader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='opdump_one_header'))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.header = cls.folder / 'opdump.hpp'
        done = lay_out(cls.header)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.said = done.stderr

    def compile(self, compiler, source, *options, flags=FLAGS, run=False, folder=None):
        program = self.folder / 'program'
        done = subprocess.run([*compiler, *flags, f'-I{folder or self.folder}', *options, *([] if run else ['-fsyntax-only']),
                               '-xc++', '-', *(['-o', program] if run else [])],
                              input=source, text=True, capture_output=True, check=False)
        return done.returncode, done.stderr

    def test_same_bytes_from_every_place(self):
        other = self.folder / 'another place/opdump'
        for folder in ('include', 'platform'):
            shutil.copytree(ROOT / folder, other / folder)
        done = lay_out(self.folder / 'again.hpp', root=other, PYTHONHASHSEED='7', LC_ALL='C')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / 'again.hpp').read_bytes(), self.header.read_bytes())
        for place in (str(ROOT), str(self.folder), os.path.expanduser('~/')):
            self.assertNotIn(place, self.header.read_text())

    def test_each_header_once(self):
        text = self.header.read_text()
        names = re.findall(r'^// ((?:opdump|platform)/\S+)$', text, re.M)
        self.assertEqual(len(names), len(set(names)))
        for name in ('opdump/session.hpp', 'opdump/impl/session.inl', 'opdump/impl/lean/reduction.hpp',
                     'platform/flashlog/flash_log.hpp', 'platform/template/drain_task.hpp'):
            self.assertIn(name, names)
        self.assertEqual(OWN.findall(text), [])
        self.assertNotIn('///', text)
        system = re.findall(r'^#include <(\w+)>$', text, re.M)
        self.assertEqual(len(system), len(set(system)))  # those under a condition end in .h

    def test_comments_on_request(self):
        done = lay_out(self.folder / 'told.hpp', '--comments')
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / 'told.hpp').read_text()
        self.assertIn('/// Build-time knobs.', text)
        self.assertGreater(len(text), 1.2 * len(self.header.read_text()))

    def test_what_is_left_out_is_named(self):
        self.assertIn('platform/flashlog/log_reader.hpp is left out: platform/flashlog/impl/log_runs.hpp needs a .cpp file\n', self.said)
        self.assertNotIn('LogReader', self.header.read_text())
        for options, words in ((['--platform', 'nowhere'], 'platform/nowhere has no headers'),
                               (['--header', 'opdump/missing.hpp'], 'no header opdump/missing.hpp'),
                               (['--header', 'platform/posix/tree_sink.hpp'], 'needs a .cpp file'),
                               *((['--header', name], 'are in the library') for name in OF_THE_LIBRARY)):
            done = lay_out(self.folder / 'none.hpp', *options)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / 'none.hpp').exists())

    def test_compiles_alone_and_twice(self):
        named = configurations()
        work = [('g++', 'full', []), ('g++', 'firmware', BARE), ('g++', 'lean', BARE), ('g++', 'lean+all', []),
                ('clang++', 'full', BARE), ('clang++', 'lean', []),
                (ARM[0], 'firmware', BARE), (ARM[0], 'lean', []), (ARM[0], 'off', BARE)]
        there = [item for item in work if shutil.which(item[0])]
        for missing in {item[0] for item in work} - {item[0] for item in there}:
            print(f'left out: {missing}, which is not installed')

        def fault(item):
            compiler, name, options = item
            command = ARM if compiler == ARM[0] else [compiler]
            code, text = self.compile(command, '#include "opdump.hpp"\n#include "opdump.hpp"\n', *options,
                                      *(f'-D{knob}' for knob in named[name]))
            return f'{compiler}, {name}, {options}:\n{text}' if code else None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.assertEqual([*filter(None, pool.map(fault, there))], [])
        self.assertTrue(there)

    def test_each_folder_and_header_compiles(self):
        """Each folder of platform/ that is taken, and all headers that are, on top of it."""
        folders = sorted({path.parent.name for path in (ROOT / 'platform').glob('*/*.hpp')})
        self.assertGreater(len(folders), 10)
        compilers = [['g++'], ['clang++']]
        lay = {folder: ['--platform', folder] for folder in folders}
        lay['all headers'] = [word for name in accepted_headers() for word in ('--header', name)]
        self.assertGreater(len(lay['all headers']), 2 * 20)

        def fault(item):
            (name, options), compiler = item
            place = self.folder / f'{name} {compiler[0]}'
            place.mkdir()
            done = lay_out(place / 'opdump.hpp', *options, folders=[])
            if done.returncode:
                return done.stderr
            code, text = self.compile(compiler, '#include "opdump.hpp"\n', *SYSTEMS.get(name, []),
                                      flags=['-std=c++20', '-Wall', '-Werror'], folder=place)
            return f'{name}, {compiler}:\n{text}' if code else None

        for folder, header in (('opencl', 'CL/cl.h'), ('psa', 'psa/crypto.h')):
            if folder in lay and self.compile(HOST, f'#include <{header}>\n')[0]:
                print(f'left out: {folder}, as {header} is not there')
                del lay[folder]
        for name, in compilers:
            if not shutil.which(name):
                print(f'left out: {name}, which is not installed')
        # Those of clang++ are one folder in four, and all headers.
        work = [(item, compiler) for compiler in compilers if shutil.which(compiler[0])
                for item in [*lay.items()][::-1][::4 if compiler == ['clang++'] else 1]]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.assertEqual([*filter(None, pool.map(fault, work))], [])

    def test_two_sets_of_knobs_do_not_link(self):
        def compiled(source, *knobs):
            text = OWN.sub('#include "opdump.hpp"\n', (ROOT / 'tests/package' / source).read_text())
            built = self.folder / f'{source}{len(knobs)}.o'
            done = subprocess.run([*HOST, '-std=c++20', f'-I{self.folder}', *knobs, '-c', '-xc++', '-', '-o', built],
                                  input=text, text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return built

        def link(*objects):
            return subprocess.run([*HOST, *objects, '-o', self.folder / 'linked'], text=True, capture_output=True, check=False)

        caller, callee = compiled('bare_build_caller.cpp'), compiled('bare_build_callee.cpp')
        self.assertEqual(link(caller, callee).returncode, 0)
        done = link(caller, compiled('bare_build_callee.cpp', '-DOPDUMP_MAX_RECORDERS=3'))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('knobs_', done.stderr)

    def test_lines_as_the_readme_says(self):
        text = (ROOT / 'platform/README.md').read_text()
        lines = int(re.search(r'one header of some (\d+) lines:', text)[1])
        folders = re.findall(r'--platform (\w+)', re.search(r'one_header\.py -o opdump\.hpp .*', text)[0])
        lay_out(self.folder / 'of the readme.hpp', folders=folders)
        found = len((self.folder / 'of the readme.hpp').read_text().splitlines())
        self.assertAlmostEqual(found, lines, delta=lines / 20)

    def test_two_layouts_are_refused(self):
        lay_out(self.folder / 'smaller.hpp', folders=['host'])
        code, text = self.compile(HOST, '#include "opdump.hpp"\n#include "smaller.hpp"\n')
        self.assertNotEqual(code, 0)
        self.assertIn('two layouts of opdump in one translation unit', text)

    def test_a_program_needs_no_library(self):
        readme = (ROOT / 'platform/README.md').read_text()
        program = re.search(r'<!-- file firmware\.cpp -->\n```cpp\n(.*?)```', readme, re.S)[1]
        # With its config built in: the compiled one is the tool's to make.
        program = program.replace('#include "dump_plan.h"\n', '')
        program = program.replace('std::as_bytes(std::span(dump_plan)), arena', 'config')
        program = program.replace('alignas(8) static std::byte lists[DUMP_PLAN_MEMORY_BYTES];\n', '')
        program = program.replace('static Arena arena(lists);', 'static const ModelRule rules[] = {{.any_model = true}};\n'
                                  'static const DumpConfig config = {.active = true, .dump_path = "/d", .models = rules};')
        program, count = OWN.subn('', program)
        self.assertGreater(count, 2)
        code, text = self.compile(HOST, f'#include "opdump.hpp"\n{program}', flags=['-std=c++20', '-Wall'], run=True)
        self.assertEqual(code, 0, text)
        done = subprocess.run([self.folder / 'program'], cwd=self.folder, text=True, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, 'boot 1: ok\n'))

    def tree_of_one_header(self):
        """A folder with the programs that tests/firmware measures, all over the one header."""
        tree = self.folder / 'tree'
        for folder in ('size', 'linked', 'boards'):
            shutil.copytree(ROOT / 'tests/firmware' / folder, tree / 'tests/firmware' / folder)
        (tree / 'include').mkdir()
        shutil.copy(self.header, tree / 'include')
        for source in (tree / 'tests/firmware').rglob('*.?pp'):
            text = source.read_text()
            if OWN.search(text):
                source.write_text('#include "opdump.hpp"\n' + OWN.sub('', text))
        return tree

    def functions_of(self, program):
        """Sizes and names of all that is in a program, but for how the compiler marks and numbers its clones."""
        lines = [line.split() for line in size_test.run('arm-none-eabi-nm', '-S', '--defined-only', program).splitlines()]
        return sorted((re.sub(r'(\.(isra|constprop|part|\d+))+$', '', line[3]), int(line[1], 16)) for line in lines if len(line) == 4)

    def test_firmware_is_as_large(self):
        if shutil.which(ARM[0]) is None:
            self.skipTest(f'{ARM[0]} is not installed')
        rules = json.loads((ROOT / 'tests/firmware/size.json').read_text())
        linked, components = ['core', 'product with all'], ['everything']
        found = {}
        for which, root in {'one': self.tree_of_one_header(), 'tree': ROOT}.items():
            work = self.folder / f'work of {which}'
            work.mkdir()
            for name in linked:
                program = linked_size.built(root, name, rules['linked']['rows'][name], work, BY_NAME)[0]
                found[name, which] = linked_size.flash_of(program), self.functions_of(str(program))
            for name in components:
                with contextlib.redirect_stdout(io.StringIO()):
                    figures = size_test.measure(root, name, rules['components'][name], 'cortex-m3', work, BY_NAME)
                found[name, which] = figures['flash'], self.functions_of(str(work / f'{name}-cortex-m3.elf'))
        for name in [*linked, *components]:
            (one, functions), (tree, others) = found[name, 'one'], found[name, 'tree']
            print(f'{name}: {one} B with one header, {tree} B with the tree')
            self.assertGreater(len(functions), 5)
            self.assertEqual(functions, others, name)
            self.assertEqual(one, tree, name)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
