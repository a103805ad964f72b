#!/usr/bin/env python3
"""The stock libraries of llama.cpp, tapped: one config picks operators and steps, dumped bytes are those of the
runtime, tokens and logits are those of an untapped run, and memory does not grow with the steps.

usage: llama_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import pathlib
import platform
import sys
import unittest

import gguf_llama
import npm_packages
from tapped_program import TappedProgram, build, run

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
COMPILER = sys.argv[4:]
VERSION = '3.22.1'
BINARIES = ('@node-llama-cpp/linux-x64',
            'e6e0820cda9608d7da026f1a47f533c5ba381c1a4a80d17dd640873dea4a86032057638099ab6879f6ce94c8a1b2a0a21f639ddf913f7941d00856df44126e3a')
SOURCE = ('node-llama-cpp',
          '6e5b488a9b9699cd76dc7eed30880318a4ac4ab866865418795502e3c5d38d55bb5c624988927209d95333343f2e25a83e4183a5c2f816f883a60c3ba9f4e20f')
LIBRARIES = ('libllama.v0.5.0.so', 'libggml.v0.5.0.so', 'libggml-base.so')
FOLDER = BUILD / 'runtimes' / 'llama'
BINS = FOLDER / 'bins'
MODEL = FOLDER / 'llama.gguf'

def prepare():
    """Libraries, headers, the model and the program, below the build folder."""
    if platform.machine() != 'x86_64' or sys.platform != 'linux':
        npm_packages.skip('the binaries of llama.cpp that are pinned are for Linux on x86-64')
    npm_packages.unpack(npm_packages.fetch(FOLDER, BINARIES[0], VERSION, BINARIES[1]), BINS, 'package/bins/linux-x64/')
    headers = FOLDER / 'headers'
    if not headers.exists():
        npm_packages.unpack(npm_packages.fetch(FOLDER, SOURCE[0], VERSION, SOURCE[1]), FOLDER / 'source', 'package/llama/')
        git = FOLDER / 'llama.git'
        if not git.exists():
            run(['git', 'clone', '-q', '--bare', FOLDER / 'source' / 'gitRelease.bundle', git])
        headers.mkdir()
        for folder in ('include', 'ggml/include'):
            for name in run(['git', '-C', git, 'ls-tree', '--name-only', 'HEAD', folder + '/']).split():
                (headers / pathlib.Path(name).name).write_text(run(['git', '-C', git, 'show', f'HEAD:{name}']))
    gguf_llama.write(MODEL)
    build(COMPILER, ROOT, BUILD, 'examples/runtimes/llama/main.cpp', FOLDER / 'llama', '-isystem', headers, f'-L{BINS}',
          *(f'-l:{library}' for library in LIBRARIES), f'-Wl,-rpath,{BINS}')


class Llama(TappedProgram):
    opdump = OPDUMP

    def decode(self, tokens=8, config=None, **options):
        """A run, which prints tokens, and with it the logits of each step."""
        logits = self.folder / 'logits'
        done = self.run_program([FOLDER / 'llama', MODEL, BINS, tokens, logits], config, **options)
        data, size = logits.read_bytes(), 4 * gguf_llama.VOCABULARY
        done.logits = [data[i:i + size] for i in range(0, len(data), size)]
        return done

    def test_operators_and_steps_of_one_config(self):
        run = self.decode(8, {'dump_step': '0|2-3', 'dump_mode': 'all', 'dump_list': [
            {'model_name': 'llama', 'layer': ['result_output', 'Kcur-0', 'nowhere']}]})
        records = self.records()
        names = ('MUL_MAT.Kcur-0', 'ROPE.Kcur-0#2', 'MUL_MAT.result_output')
        self.assertEqual(set(records), {(step, name) for step in (0, 2, 3) for name in names})
        for step in (0, 2, 3):
            self.assertTrue(records[step, 'MUL_MAT.result_output'].endswith(run.logits[step]), step)
        self.assertIn('"nowhere" of model "llama": the model has no operator of that name', run.told)
        # What ROPE reads is what MUL_MAT wrote: 4 tokens in the prompt, then one.
        for step, tokens in ((0, 4), (2, 1), (3, 1)):
            written = records[step, 'MUL_MAT.Kcur-0'][-tokens * 4 * gguf_llama.WIDTH:]
            self.assertIn(written, records[step, 'ROPE.Kcur-0#2'])
        self.assertIn('nowhere', self.check_dump(4))

    def test_everything_is_dumped_and_changes_nothing(self):
        off = self.decode(32)
        self.assertEqual((off.told, self.records()), ('', {}))
        on = self.decode(32, {'dump_mode': 'all', 'dump_list': [{}]})
        self.assertEqual(on.printed, off.printed)
        differing = sum(one != other for one, other in zip(on.logits, off.logits))
        self.assertEqual(len(on.logits), 32)
        per_step = len(self.records()) / 32
        print(f'llama.cpp, 32 tokens, {per_step:g} operators a step: CPU time {off.seconds:.2f} s untapped, {on.seconds:.2f} s '
              f'with all inputs and outputs dumped; logits of {differing} of 32 steps differ')
        self.assertEqual(differing, 0)
        self.check_dump(0)

    def test_memory_does_not_grow_with_the_steps(self):
        config = {'dump_list': [{}]}
        few, many = self.decode(4, config).peak, self.decode(48, config).peak
        print(f'peak memory: {few >> 10} KiB in 4 steps, {many >> 10} KiB in 48')
        self.assertLess(many - few, 1 << 20)

    def test_a_broken_config_stops_nothing(self):
        run = self.decode(4, {'dump_list': 3})
        self.assertEqual(run.printed, self.decode(4).printed)
        self.assertIn('no dump: ', run.told)


if __name__ == '__main__':
    prepare()
    unittest.main(argv=sys.argv[:1], verbosity=2)
