#!/usr/bin/env python3
"""The stock libraries of llama.cpp, tapped: one config picks operators and steps, dumped bytes are those of the
runtime, tokens and logits are those of an untapped run, and memory does not grow with the steps.

usage: llama_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import itertools
import json
import pathlib
import platform
import shutil
import subprocess
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
QUANTISED = {}  # what weights stand for, by name

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
    QUANTISED.update(gguf_llama.write(MODEL))
    build(COMPILER, ROOT, BUILD, 'examples/runtimes/llama/main.cpp', FOLDER / 'llama', '-isystem', headers, f'-L{BINS}',
          *(f'-l:{library}' for library in LIBRARIES), f'-Wl,-rpath,{BINS}')


class Llama(TappedProgram):
    opdump = OPDUMP

    def decode(self, steps=8, config=None, arguments=(), **options):
        """A run, which prints tokens, and with it the logits of each step."""
        logits = self.folder / 'logits'
        done = self.run_program([FOLDER / 'llama', MODEL, BINS, steps, logits, *arguments], config, **options)
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

    def test_the_card_tells_what_weights_stand_for(self):
        self.decode(4, {'dump_step': '1', 'dump_mode': 'all', 'dump_list': [
            {'model_name': 'llama', 'layer': ['Kcur-0', 'result_output']}]})
        card = json.loads(next(self.dump.rglob('opdump.0.0.model.json')).read_text())
        self.assertRegex(card['runtime'], r'^ggml \d')
        ops = {op['name']: op for op in card['ops']}
        weight = ops['Kcur-0']['inputs'][0]
        self.assertEqual([weight['tensor'], weight['constant']], ['blk.0.attn_k.weight', True])
        self.assertEqual(weight['quant'], {'scheme': 'block', 'type': 'q8_0', 'block_elements': 32, 'block_bytes': 34})
        # What an operator reads has the name of what wrote it.
        self.assertIn('attn_norm-0', ops['Kcur-0']['inputs'][1]['tensor'])
        self.assertEqual(ops['result_output']['outputs'][0]['tensor'], 'result_output')
        shown = subprocess.run([OPDUMP, 'show', '--json', self.dump], stdout=subprocess.PIPE, check=True).stdout
        told = next(tensor for record in json.loads(shown)['records'] for tensor in record['tensors'] if 'quant' in tensor)
        reals = QUANTISED['blk.0.attn_k.weight']
        for key, real in (('min', min(reals)), ('max', max(reals)), ('mean', sum(reals) / len(reals))):
            self.assertAlmostEqual(told['real_' + key], real, 6)

    def dumped(self, name, **of_model):
        """All of three steps of a model made so."""
        gguf_llama.write(self.folder / 'made.gguf', **of_model)
        self.run_program([FOLDER / 'llama', self.folder / 'made.gguf', BINS, 3], {'dump_mode': 'all', 'dump_list': [{}]})
        self.dump.rename(self.folder / name)
        self.dump.mkdir()
        return self.folder / name

    def why(self, mine, golden):
        done = subprocess.run([OPDUMP, 'why', mine, '-g', golden, '--json', '--any-model'], text=True, capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def test_weights_of_fewer_bits_accuse_nobody(self):
        kinds = {'float32': gguf_llama.TENSOR_F32, 'float16': gguf_llama.TENSOR_F16, 'q8_0': gguf_llama.TENSOR_Q8_0}
        dumps = {name: self.dumped(name, matrices=kind) for name, kind in kinds.items()}
        for mine, golden in itertools.permutations(kinds, 2):
            told = self.why(dumps[mine], dumps[golden])
            self.assertFalse(told['certain'], f'{mine} against {golden}: {told["headline"]}')

    def test_another_weight_is_named(self):
        """By what reads it, in any type of weights."""
        readers = {'token_embd': 'embd', 'output_norm': 'result_norm', 'output': 'result_output'}
        for layer in range(gguf_llama.LAYERS):
            readers |= {f'blk.{layer}.{weight}': f'{op}-{layer}' for weight, op in (
                ('attn_norm', 'attn_norm'), ('attn_q', 'Qcur'), ('attn_k', 'Kcur'), ('attn_v', 'Vcur'), ('attn_output', 'attn_out'),
                ('ffn_norm', 'ffn_norm'), ('ffn_gate', 'ffn_gate'), ('ffn_up', 'ffn_up'), ('ffn_down', 'ffn_out'))}
        for kind in (gguf_llama.TENSOR_F32, gguf_llama.TENSOR_F16, gguf_llama.TENSOR_Q8_0):
            golden = self.dumped(f'golden{kind}', matrices=kind)
            for weight, op in readers.items():
                def change(name, weights, weight=weight):
                    return [2 * number for number in weights] if name == weight + '.weight' else weights
                mine = self.dumped('mine', matrices=kind, change=change)
                told = self.why(mine, golden)
                self.assertEqual((told.get('op'), told['certain']), (op, True), f'{weight} of type {kind}: {told["headline"]}')
                shutil.rmtree(mine)

    def test_weights_that_the_backend_repacks_have_no_elements(self):
        config = {'dump_mode': 'all', 'dump_list': [{'model_name': 'llama', 'layer': ['Kcur-0']}]}
        run = self.decode(4, config, ['repack'])
        self.assertEqual(run.printed, self.decode(4, arguments=['repack']).printed)
        shown = json.loads(subprocess.run([OPDUMP, 'show', '--json', self.dump], stdout=subprocess.PIPE, check=True).stdout)
        weights = {tuple(record['tensors'][0]['shape']) for record in shown['records'] if record['type'] == 'MUL_MAT'}
        # Whether this CPU repacks them is the runtime's to choose.
        self.assertIn(weights, ({(0,)}, {(gguf_llama.WIDTH, gguf_llama.WIDTH // 32 * 34)}))
        print(f'weights as they may be repacked: {weights}')

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
