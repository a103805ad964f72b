#!/usr/bin/env python3
"""The stock libraries of llama.cpp, tapped: one config picks operators and steps, dumped bytes are those of the
runtime, tokens and logits are those of an untapped run, and memory does not grow with the steps.

usage: llama_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...
"""
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

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
from with_numpy import numpy  # noqa: E402

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

    def of_tokens(self, name, rules, *arguments, steps=6):
        """A run with rules for tokens, whose dump is moved to a folder of that name."""
        done = self.decode(steps, {'dump_list': [{}]}, arguments, tokens=rules)
        self.check_dump(0)
        self.dump.rename(self.folder / name)
        self.dump.mkdir()
        return done

    def compare(self, mine, golden):
        done = subprocess.run([OPDUMP, 'compare', '--json', '--limits', 'euclid=0.0001', mine, golden], cwd=self.folder,
                              text=True, capture_output=True, check=False)
        return done.returncode, json.loads(done.stdout)

    def test_another_cache_differs_first_in_a_layer_and_token(self):
        for kind in ('f16', 'q8_0'):
            self.of_tokens(kind, {'kv': 'new'}, kind)
        status, found = self.compare('q8_0', 'f16')
        self.assertEqual(status, 1)
        tensors = [tensor for tensor in found['tensors'] if tensor['mine'] and tensor['golden']]
        self.assertEqual({tensor['place'] for tensor in tensors}, {f'llama/token {i}' for i in range(9)})
        # What is stored of the first layer's first key is the first that is another.
        first = found['first_diverging']['text']
        self.assertTrue(first.startswith('SET_ROWS "cache_k_l0_(view)" at llama/token 0, diverges: output 0'), first)
        print(f'q8_0 for f16: {first}')
        alike = self.compare('f16', 'f16')
        self.assertEqual((alike[0], [tensor for tensor in alike[1]['tensors'] if tensor['equal'] != tensor['elements']]), (0, []))

    @unittest.skipIf(numpy is None, 'no NumPy')
    def test_new_rows_are_those_of_the_whole_cache(self):
        folders = {}
        for kind in ('f16', 'q8_0'):
            for kv in ('all', 'new'):
                folders[kind, kv] = self.of_tokens(f'{kind}-{kv}', {'kv': kv}, kind)
        for kind, row in (('f16', 2 * gguf_llama.WIDTH), ('q8_0', gguf_llama.WIDTH // 32 * 34)):
            found = 0
            for path in (self.folder / f'{kind}-new').rglob('SET_ROWS.*'):
                step = int(path.parent.name)
                whole = next((self.folder / f'{kind}-all').rglob(f'{step}/{path.name.split(".65535")[0]}.*')).read_bytes()
                cells = range(4) if step == 0 else [3 + step]
                cache = numpy.frombuffer(whole[-256 * row:], numpy.uint8).reshape(256, row)
                new = numpy.frombuffer(path.read_bytes()[-len(cells) * row:], numpy.uint8).reshape(len(cells), row)
                self.assertTrue((new == cache[list(cells)]).all(), path)
                self.assertTrue(new.any())
                found += 1
            self.assertEqual(found, 2 * gguf_llama.LAYERS * 6)

    def test_a_prompt_in_one_step_and_token_by_token(self):
        one = self.of_tokens('one', {'kv': 'new', 'rows': 'last'})
        many = self.of_tokens('many', {'kv': 'new'}, 'token_by_token', steps=9)
        self.assertEqual(one.printed, many.printed)
        status, found = self.compare('one', 'many')
        self.assertEqual(status, 0)
        pairs = [tensor for tensor in found['tensors'] if tensor['mine'] and tensor['golden']]
        self.assertEqual({tensor['place'] for tensor in pairs}, {f'llama/token {i}' for i in range(3, 9)})
        self.assertFalse(any(tensor['mine'] and not tensor['golden'] for tensor in found['tensors']))

    def test_a_token_takes_what_was_forecast(self):
        for kind in ('f16', 'q8_0'):
            self.of_tokens('first', {'kv': 'new', 'phase': 'decode'}, kind)
            card = next((self.folder / 'first').rglob('*.model.json'))
            told = json.loads(subprocess.run([OPDUMP, 'check', '--json', self.folder / 'acl.json', '--model', card],
                                             stdout=subprocess.PIPE, check=True).stdout)['models'][0]['decode']
            self.assertEqual((told['bytes_per_step'], told['unsized_tensors']), (0, 0))
            run = self.of_tokens('second', {'kv': 'new', 'phase': 'decode', 'every': 2,
                                            'max_bytes_per_token': told['bytes_per_token']}, kind)
            self.assertIn(f"its first step of decode took {told['bytes_per_token']} bytes of tensors for 1 token", run.told)
            taken = {}
            shown = subprocess.run([OPDUMP, 'show', '--json', self.folder / 'second'], stdout=subprocess.PIPE, check=True)
            for record in json.loads(shown.stdout)['records']:
                taken.setdefault(record['kept'], []).extend(tensor['bytes'] for tensor in record['tensors'])
            self.assertEqual({token: sum(sizes) for token, sizes in taken.items()},
                             {token: told['bytes_per_token'] for token in ('4', '6', '8')})
            print(f"{kind}: {told['bytes_per_token']} bytes of tensors per token, as forecast")
            for name in ('first', 'second'):
                shutil.rmtree(self.folder / name)

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
