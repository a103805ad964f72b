#!/usr/bin/env python3
"""The stock library of ONNX Runtime, tapped: one config picks operators and steps, dumped bytes are those of the
runtime, taps run between the kernels, and what cannot be tapped costs no inference.

usage: onnxruntime_test.py OPDUMP SOURCE_ROOT BUILD_ROOT COMPILER...

OPDUMP_ORT_HEADERS names a folder with onnxruntime_c_api.h, with which the numbers of the C ABI are then compared.
"""
import array
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
import onnx_data
import ort_library
import text_image
from model_files import data, number, onnx_attribute, onnx_model, onnx_node, onnx_tensor, onnx_value
from tapped_program import TappedProgram, build, environment, run, run_measured

OPDUMP, ROOT, BUILD = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
COMPILER = sys.argv[4:]
FOLDER = ort_library.folder(BUILD)
LIBRARIES = FOLDER / 'library'
CLASSIFIER = FOLDER / 'models' / ort_library.CLASSIFIER
RESULT = 'softmax_0.tmp_0'
TEST_DATA = pathlib.Path('/usr/share/libonnx-testdata/data')
ALL = {'dump_list': [{}]}
UPRIGHT = text_image.draw('LAYER 47', 192, 48)
FLOAT, UINT8, INT64, STRING = 1, 2, 7, 8


def prepare():
    """The library, the models and the programs, below the build folder."""
    ort_library.library(BUILD)
    ort_library.ocr_models(FOLDER)
    build(COMPILER, ROOT, BUILD, 'examples/runtimes/onnxruntime/main.cpp', FOLDER / 'upright', *ort_library.link_flags(BUILD))
    ort_library.make(COMPILER, ROOT, BUILD, FOLDER / 'driver')


def with_outputs(model, tensors):
    """A model that gives these tensors too: messages of protobuf merge where they stand one behind the other."""
    return model + data(7, b''.join(data(12, data(1, tensor)) for tensor in tensors))


def classifier_input(rows):
    """Its input in the driver's words, and its elements."""
    pixels = array.array('f', (dot / 127.5 - 1 for row in rows for dot in row))
    return f'input x {FLOAT} FILE 1 3 {len(rows)} {len(rows[0])}', pixels.tobytes() * 3


def in_files(name):
    return re.sub('[^0-9A-Za-z_-]', '_', name)


class Case(TappedProgram):
    def write_config(self, config, **options):
        """The path of the config, None for None, with an empty folder to dump to."""
        if config is None:
            return None
        path = self.folder / 'acl.json'
        self.dump = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        path.write_text(json.dumps({'dump': {'dump_path': str(self.dump), **config},
                                    'opdump': {'when_full': 'block', 'block_limit_ms': 60000, 'ring_bytes': 1 << 22, **options}}))
        return path

    def drive(self, lines, config=None, expected=0, **options):
        """What the driver prints and tells, the outputs of its last run, and its peak memory."""
        path = self.folder / 'outputs'
        text = '\n'.join(lines).replace('OUT', str(path))
        done, peak, _ = run_measured([FOLDER / 'driver'], self.folder / 'used', input=text,
                                  env=environment(self.write_config(config, **options)))
        self.assertEqual(done.returncode, expected, done.stderr)
        times = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith('run ')]
        return {'printed': done.stdout, 'told': done.stderr, 'peak': peak, 'microseconds': times[-1] if times else None,
                'outputs': ort_library.outputs_of(path) if path.exists() else {}}

    def classify(self, config=None, times=1, level=99, before=(), model=CLASSIFIER, rows=None, **options):
        line, elements = classifier_input(rows or UPRIGHT)
        file = self.folder / 'image'
        file.write_bytes(elements)
        return self.drive([*before, f'level {level}', f'session cls {model}', line.replace('FILE', str(file)),
                           f'run OUT {times}'], config, **options)

    def write_model(self, *arguments, **more):
        path = self.folder / 'model.onnx'
        path.write_bytes(onnx_model(*arguments, **more))
        return path

    def records(self):
        """Contents by step and by name of the operator."""
        found = {}
        for path in self.record_files():
            found[int(path.parent.name), path.name.split('.')[1]] = path.read_bytes()
        return found

    def opdump(self, *arguments, expected=0):
        done = subprocess.run([OPDUMP, *(str(argument) for argument in arguments)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, expected, done.stdout)
        return done.stdout

    def card(self, model):
        path = self.folder / 'card.json'
        self.opdump('describe', model, '-o', path)
        return [op for op in json.loads(path.read_text())['ops'] if op['type'] != 'Constant']


class Classifier(Case):
    """PaddleOCR's classifier of lines: 221 operators and 250 constants."""

    def test_the_example_obeys_one_config(self):
        images = []
        for width in (192, 224, 320, 256):
            for name, rows in (('up', text_image.draw('LAYER 47', width, 48)),
                               ('down', text_image.turned(text_image.draw('PRELATTE 7', width, 48)))):
                images.append(self.folder / f'{name}{width}.pgm')
                text_image.write_pgm(images[-1], rows)
        program = [FOLDER / 'upright', CLASSIFIER, *images]
        off = run(program, env=environment())
        self.assertEqual([line.rsplit(' ', 1)[0] for line in off.splitlines()], ['upright', 'upside down'] * 4)
        done, _, _ = run_measured(program, self.folder / 'used', env=environment(self.write_config(
            {'dump_step': '0|2-4', 'dump_mode': 'all', 'dump_level': 'op', 'dump_list': [
                {'model_name': 'upright', 'layer': ['p2o.Conv.0', 'p2o.Softmax.0', 'nowhere'],
                 'optype_blacklist': [{'name': 'Softmax', 'pos': ['input0']}]},
                {'model_name': 'another', 'layer': ['p2o.Conv.1']}]})))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.rsplit(' ', 1)[0] for line in done.stdout.splitlines()], ['upright', 'upside down'] * 4)
        records = self.records()
        names = ('p2o_Conv_0', 'p2o_Softmax_0')
        self.assertEqual(set(records), {(step, name) for step in (0, 2, 3, 4) for name in names})
        for step, width in ((0, 192), (2, 224), (3, 224), (4, 320)):
            shown = self.opdump('show', self.dump, '--step', step)
            self.assertIn(f'[1,3,48,{width}]', shown)
            self.assertIn(f'[1,8,24,{width // 2}]', shown)
            share = struct.unpack('<f', records[step, 'p2o_Softmax_0'][-8:-4])[0]
            self.assertEqual(f'{share:.9g}', done.stdout.splitlines()[step].rsplit(' ', 1)[1])
            self.assertEqual(shown.count('  input '), 2, shown)  # of Conv
        self.assertIn('"nowhere" of model "upright": the model has no operator of that name', done.stderr)
        self.assertIn('nowhere', self.opdump('verify', self.dump, expected=4))

    def test_bytes_are_the_runtimes_own(self):
        card = self.card(CLASSIFIER)
        self.assertEqual(len(card), 221)
        tensors = {op['name']: op['outputs'][0]['tensor'] for op in card}
        wanted = self.folder / 'wanted.onnx'
        wanted.write_bytes(with_outputs(CLASSIFIER.read_bytes(), [name for name in tensors.values() if name != RESULT]))
        for level in (0, 1, 2, 99):
            untapped = self.classify(level=level)['outputs'][RESULT][1]
            reference = self.classify(level=level, model=wanted)['outputs']
            for mode in ('output', 'all'):
                on = self.classify({'dump_mode': mode, **ALL}, level=level)
                records = self.records()
                self.assertEqual(len(records), 221)
                same = sum(records[0, in_files(name)].endswith(reference[tensor][1]) for name, tensor in tensors.items())
                self.assertEqual(same, 221, (level, mode))
                self.assertEqual(on['outputs'][RESULT], reference[RESULT])
            shares = [struct.unpack('<2f', result)[1] for result in (untapped, on['outputs'][RESULT][1])]
            print(f'level {level}: share of "upside down" {shares[0]:.9g} untapped, {shares[1]:.9g} with all tapped')
            self.assertLess(abs(shares[0] - shares[1]), 1e-9)
        self.opdump('verify', self.dump)

    def test_steps_ranges_and_statistics(self):
        self.classify({'dump_step': '1|3', 'dump_mode': 'input', 'dump_level': 'op',
                       'dump_list': [{'model_name': 'cls', 'opname_range': [{'begin': 'p2o.Conv.3', 'end': 'p2o.Conv.4'}]}]},
                      times=5)
        card = [op['name'] for op in self.card(CLASSIFIER)]
        between = card[card.index('p2o.Conv.3'):card.index('p2o.Conv.4') + 1]
        self.assertEqual(set(self.records()), {(step, in_files(name)) for step in (1, 3) for name in between})
        self.classify({'dump_data': 'stats', 'dump_list': [{'model_name': 'cls', 'layer': ['p2o.Softmax.0']}]}, times=2)
        written = [path.read_text() for path in self.dump.rglob('*.csv')]
        self.assertEqual(len(written), 2)
        self.assertIn('0.99999', written[0])

    def test_taps_run_between_the_kernels(self):
        self.classify(ALL, level=0, before=[f'profile {self.folder}/profile'])
        profile, = self.folder.glob('profile*.json')
        kernels = [event for event in json.loads(profile.read_text())
                   if event.get('cat') == 'Node' and event['name'].endswith('_kernel_time')]
        names = [event['name'].removesuffix('_kernel_time') for event in sorted(kernels, key=lambda event: event['ts'])]
        operators = [op['name'] for op in self.card(CLASSIFIER)]
        behind = [names.index(f'opdump:{i}:') - names.index(name) for i, name in enumerate(operators)]
        print(f'profile: {len(names)} kernels, of which 221 are taps; {behind.count(1)} of them run next to their operators')
        self.assertEqual(behind, [1] * 221)

    def test_flags_tell_which_taps_change_the_result(self):
        off = self.classify()
        self.assertEqual((off['told'], off['printed'].split('\n')[0]), ('', 'session cls 0'))
        described = self.folder / 'run.json'
        every = self.drive([f'session cls {CLASSIFIER}', f'describe {described}'], ALL)
        self.assertRegex(every['told'], r'model "cls": \d+ of 221 taps change what ONNX Runtime fuses or lays out, first that of')
        ops = json.loads(described.read_text())['models'][0]['ops']
        # Only what is asked for is read.
        counts = [int(re.search(r'(\d+) of 221 taps change', self.classify({'dump_mode': mode, **ALL})['told'])[1])
                  for mode in ('output', 'all')]
        self.assertLess(counts[0] + 20, counts[1])
        flagged = [op['name'] for op in ops if 'tap_breaks_fusion' in op.get('attributes', {})]
        harmless = [op['name'] for op in ops if op['name'] not in flagged]
        self.assertTrue(30 < len(flagged) < 150, flagged)
        few = {'dump_list': [{'model_name': 'cls', 'layer': harmless}]}
        alone = self.classify(few)
        self.assertNotIn('change what', alone['told'])
        self.assertEqual(len(self.records()), len(harmless))
        self.assertEqual(alone['outputs'], off['outputs'])
        whole = self.classify(ALL)
        shares = {name: struct.unpack('<2f', run['outputs'][RESULT][1])
                  for name, run in (('untapped', off), (f'{len(harmless)} harmless taps', alone), ('all 221 tapped', whole),
                                    ('not optimised', self.classify(level=0)))}
        print('PP-OCR classifier: ' + '; '.join(f'{name} {share[0]:.9g} {share[1]:.9g}' for name, share in shares.items()))
        for share in shares.values():
            self.assertLess(abs(share[0] - shares['untapped'][0]), 1e-5)
        self.assertNotIn('change what', self.classify(ALL, level=0)['told'])
        unknown = self.classify(ALL, before=['compare 1000'])
        self.assertIn('221 of 221 taps may change what ONNX Runtime fuses: the model is larger than', unknown['told'])
        self.opdump('check', self.write_config(ALL), '--model', described)

    def test_memory_does_not_grow_with_the_steps(self):
        few, many = (self.classify(ALL, times=times)['peak'] for times in (3, 30))
        print(f'peak memory: {few >> 10} KiB in 3 steps, {many >> 10} KiB in 30')
        self.assertLess(many - few, 2 << 20)

    def test_what_it_costs(self):
        times = 10
        wanted = self.folder / 'wanted.onnx'
        names = [op['outputs'][0]['tensor'] for op in self.card(CLASSIFIER)]
        wanted.write_bytes(with_outputs(CLASSIFIER.read_bytes(), [name for name in names if name != RESULT]))
        eight = {'dump_list': [{'model_name': 'cls', 'layer': [f'p2o.Relu.{i}' for i in range(8)]}]}
        spent = {'untapped': self.classify(times=times), 'a config for another model': self.classify(
                     {'dump_list': [{'model_name': 'another'}]}, times=times),
                 '8 taps, no step of theirs': self.classify({'dump_step': '999999', **eight}, times=times),
                 '8 taps dumped': self.classify(eight, times=times),
                 'all 221 taps, no step of theirs': self.classify({'dump_step': '999999', **ALL}, times=times),
                 'all 221 taps dumped': self.classify(ALL, times=times),
                 'all 221 as outputs of the graph, ONNX Runtime\'s own way': self.classify(model=wanted, times=times)}
        for name, run_of in spent.items():
            print(f'{name}: {run_of["microseconds"]:.0f} us a run')
        self.assertIn('session cls 0', spent['a config for another model']['printed'])

    def test_threads_of_a_pool(self):
        on = self.classify(ALL, before=['parallel 4'], times=3)
        self.assertEqual(len(self.records()), 3 * 221)
        self.assertEqual(on['outputs'], self.classify(ALL)['outputs'])

    def test_a_model_in_memory(self):
        line, elements = classifier_input(UPRIGHT)
        (self.folder / 'image').write_bytes(elements)
        on = self.drive([f'memory cls {CLASSIFIER}', line.replace('FILE', str(self.folder / 'image')), 'run OUT 1'], ALL)
        self.assertEqual(len(self.records()), 221)
        self.assertEqual(on['outputs'], self.classify(ALL)['outputs'])

    def test_constants_are_left_out_where_that_is_asked_for(self):
        one = {'dump_mode': 'input', 'dump_list': [{'model_name': 'cls', 'layer': ['p2o.Conv.0']}]}
        self.classify(one)
        whole = self.opdump('show', self.dump)
        self.assertIn('[8,3,3,3]', whole)
        self.classify(one, before=['constants 0'])
        shown = self.opdump('show', self.dump)
        self.assertRegex(shown, r'input +1 +uint8 +ND +\[0\]')
        self.assertNotIn('[8,3,3,3]', shown)


class NeverFails(Case):
    def test_a_broken_config(self):
        on = self.classify({'dump_list': 3})
        self.assertIn('no dump: ', on['told'])
        self.assertEqual(on['outputs'], self.classify()['outputs'])

    def test_a_runtime_without_taps(self):
        on = self.classify(ALL, before=['runtime 1.21.1'])
        self.assertIn('model "cls": nothing is dumped: ONNX Runtime 1.21.1 has no taps; 1.22 has', on['told'])
        self.assertEqual(on['outputs'], self.classify()['outputs'])

    def test_a_file_that_is_no_model_is_the_runtimes_to_refuse(self):
        path = self.folder / 'model.onnx'
        path.write_bytes(b'no model')
        on = self.drive([f'session m {path}', f'session n {self.folder}/nowhere.onnx'], ALL)
        self.assertIn(f'nothing is dumped: {path}: malformed', on['told'])
        self.assertIn(f'nothing is dumped: {self.folder}/nowhere.onnx: no such file or directory', on['told'])
        self.assertEqual(on['printed'].count('failed session'), 2)

    def test_a_second_session_of_a_tap(self):
        line, elements = classifier_input(UPRIGHT)
        (self.folder / 'image').write_bytes(elements)
        on = self.drive([f'session cls {CLASSIFIER}', f'again {CLASSIFIER}', line.replace('FILE', str(self.folder / 'image')),
                         'run OUT 1'], ALL)
        self.assertIn('this is the second session of its tap', on['told'])
        self.assertEqual(on['outputs'], self.classify()['outputs'])

    def test_two_taps_with_the_same_options(self):
        line, elements = classifier_input(UPRIGHT)
        (self.folder / 'image').write_bytes(elements)
        on = self.drive([f'session first {CLASSIFIER}', f'shared cls {CLASSIFIER}', line.replace('FILE', str(self.folder / 'image')),
                         'run OUT 1'], ALL)
        self.assertIn('session cls 221', on['printed'])
        self.assertEqual(len(self.records()), 221)
        self.assertEqual(on['outputs'], self.classify(ALL)['outputs'])

    def test_operators_on_sequences_are_left_out(self):
        model = self.write_model(
            [onnx_node('SplitToSequence', ['x'], ['parts'], 'split', axis=0), onnx_node('SequenceLength', ['parts'], ['n'], 'length'),
             onnx_node('Relu', ['x'], ['y'], 'relu')],
            [onnx_value('x', FLOAT, [2, 2])], [onnx_value('y', FLOAT, [2, 2]), onnx_value('n', INT64, [])])
        x = array.array('f', [1, -2, 3, -4])
        (self.folder / 'x').write_bytes(x.tobytes())
        on = self.drive([f'session m {model}', f'input x {FLOAT} {self.folder}/x 2 2', 'run OUT 1'], {'dump_mode': 'all', **ALL})
        self.assertIn('operator "split" is not dumped: ', on['told'])
        self.assertIn('operator "length" is not dumped: ', on['told'])
        self.assertEqual(set(self.records()), {(0, 'relu')})
        self.assertEqual(on['outputs']['y'][1], array.array('f', [1, 0, 3, 0]).tobytes())
        self.assertIn('split', self.opdump('verify', self.dump, expected=4))

    def test_names_that_repeat_or_are_not_there_and_inputs_left_out(self):
        bounds = [onnx_tensor(name, FLOAT, [], struct.pack('<f', value)) for name, value in (('low', -1), ('high', 1))]
        model = self.write_model(
            [onnx_node('Relu', ['x'], ['a'], 'same'), onnx_node('Neg', ['a'], ['same']),
             onnx_node('Clip', ['same', '', 'high'], ['y'])],
            [onnx_value('x', FLOAT, ['n'])], [onnx_value('y', FLOAT, ['n'])], bounds)
        (self.folder / 'x').write_bytes(array.array('f', [1, -2]).tobytes())
        (self.folder / 'longer').write_bytes(array.array('f', [1, -2, 3]).tobytes())
        on = self.drive([f'session m {model}', f'input x {FLOAT} {self.folder}/x 2', 'run OUT 1',
                         f'input x {FLOAT} {self.folder}/longer 3', 'run OUT 1'],
                        {'dump_mode': 'all', 'dump_list': [{'model_name': 'm', 'layer': ['same', 'y']}]})
        records = self.records()
        self.assertEqual(set(records), {(step, name) for step in (0, 1) for name in ('same', 'same#2', 'y')}, on['told'])
        self.assertTrue(records[1, 'same#2'].endswith(array.array('f', [-1, -0.0, -3]).tobytes()))
        shown = self.opdump('show', self.dump, '--step', 1)
        self.assertRegex(shown, r'Clip +y.*\n +input +0 +float32 +ND +\[3\].*\n +input +1 +uint8 +ND +\[0\].*\n +input +2 +float32')

    def test_bodies_and_texts(self):
        branch = data(1, onnx_node('Identity', ['x'], ['inner'], 'within')) + data(2, 'branch') + data(12, onnx_value('inner', FLOAT, [2]))
        texts = number(1, 1) + number(2, STRING) + data(6, 'a text') + data(8, 'value')
        model = self.write_model(
            [onnx_node('If', ['which'], ['y'], 'branches', then_branch=branch, else_branch=branch),
             data(2, 'texts') + data(4, 'Constant') + data(5, data(1, 'value') + data(5, texts) + number(20, 4)),
             onnx_node('Identity', ['texts'], ['same_texts'], 'copy')],
            [onnx_value('x', FLOAT, [2]), onnx_value('which', 9, [])], [onnx_value('y', FLOAT, [2]), onnx_value('same_texts', STRING, [1])])
        (self.folder / 'x').write_bytes(array.array('f', [1, -2]).tobytes())
        (self.folder / 'which').write_bytes(b'\1')
        on = self.drive(['level 0', f'session m {model}', f'input x {FLOAT} {self.folder}/x 2', f'input which 9 {self.folder}/which',
                         'run OUT 1'], {'dump_mode': 'all', 'dump_list': [{}, {'model_name': 'm', 'layer': ['within']}]})
        self.assertIn('operators in the bodies of If, Loop and Scan cannot be dumped', on['told'])
        self.assertIn('"within" of model "m": the model has no operator of that name', on['told'])
        self.assertTrue(self.records()[0, 'branches'].endswith(array.array('f', [1, -2]).tobytes()))
        self.assertEqual(set(self.records()), {(0, 'branches')})
        self.assertIn('texts are not dumped, but that they are there, as those of operator "copy"', on['told'])

    def test_domains_and_functions(self):
        opset = data(8, number(2, 17))
        of_ml = data(8, data(1, 'ai.onnx.ml') + number(2, 1))
        values = [onnx_value('x', FLOAT, [2])], [onnx_value('y', FLOAT, [2])]
        only_ml = onnx_model([onnx_node('Binarizer', ['x'], ['y'], 'halves', 'ai.onnx.ml', threshold=0.5)], *values)
        twice = data(25, data(1, 'Twice') + data(4, 'a') + data(5, 'c') + data(7, onnx_node('Add', ['a', 'a'], ['c'])) +
                     data(9, number(2, 17)) + data(10, 'own'))
        function = onnx_model([onnx_node('Twice', ['x'], ['t'], 'twice', 'own'), onnx_node('Neg', ['t'], ['y'], 'neg')], *values)
        (self.folder / 'x').write_bytes(array.array('f', [1, -2]).tobytes())
        for name, model, contents in (('halves', only_ml.removesuffix(opset) + of_ml, [1, 0]),
                                      ('twice', function + twice + data(8, data(1, 'own') + number(2, 1)), [2, -4])):
            (self.folder / 'model.onnx').write_bytes(model)
            on = self.drive([f'session m {self.folder}/model.onnx', f'input x {FLOAT} {self.folder}/x 2', 'run OUT 1'], ALL)
            self.assertNotIn('failed', on['printed'])
            self.assertTrue(self.records()[0, name].endswith(array.array('f', contents).tobytes()), on['told'])

    def test_integers_of_a_quantised_model(self):
        constants = [onnx_tensor('scale', FLOAT, [], struct.pack('<f', 0.5)), onnx_tensor('zero', UINT8, [], b'\x80')]
        model = self.write_model(
            [onnx_node('QuantizeLinear', ['x', 'scale', 'zero'], ['q'], 'quantise'), onnx_node('MaxPool', ['q'], ['m'], 'pool', kernel_shape=[2, 2]),
             onnx_node('DequantizeLinear', ['m', 'scale', 'zero'], ['y'], 'dequantise')],
            [onnx_value('x', FLOAT, [1, 1, 2, 2])], [onnx_value('y', FLOAT, [1, 1, 1, 1])], constants)
        (self.folder / 'x').write_bytes(array.array('f', [1, -2, 3, 80]).tobytes())
        self.drive([f'session m {model}', f'input x {FLOAT} {self.folder}/x 1 1 2 2', 'run OUT 1'], {'dump_mode': 'all', **ALL})
        self.assertTrue(self.records()[0, 'quantise'].endswith(bytes([130, 124, 134, 255])))
        self.assertTrue(self.records()[0, 'pool'].endswith(bytes([130, 124, 134, 255, 255])))


class TestData(Case):
    """All models of libonnx-testdata: of each the results are the same with all its operators dumped."""

    def test_results_stay(self):
        if not TEST_DATA.is_dir():
            self.skipTest('no libonnx-testdata')
        lines, models = ['level 0'], []
        for model in sorted(TEST_DATA.rglob('model.onnx')):
            inputs = onnx_data.inputs_of(model, self.folder / f'input{len(models)}')
            if inputs is None:
                continue
            models.append(model.parent.name)
            lines += [f'session {model.parent.name} {model}', *inputs, f'run {self.folder}/SIDE{len(models) - 1} 1']
        found = {}
        for side, config in (('off', None), ('twice', None), ('on', {'dump_mode': 'all', **ALL})):
            found[side] = self.drive([line.replace('SIDE', side) for line in lines], config)
        self.assertGreater(len(models), 900)
        refused = [[line for line in found[side]['printed'].splitlines() if line.startswith('failed')] for side in ('off', 'on')]
        self.assertEqual(refused[0], refused[1])
        ran = same = random = 0
        for i, name in enumerate(models):
            files = [self.folder / f'{side}{i}' for side in ('off', 'twice', 'on')]
            self.assertEqual(files[0].exists(), files[2].exists(), name)
            if not files[0].exists():
                continue
            ran += 1
            random += files[0].read_bytes() != files[1].read_bytes()
            same += files[0].read_bytes() == files[2].read_bytes()
            if files[0].read_bytes() == files[1].read_bytes():
                self.assertEqual(files[0].read_bytes(), files[2].read_bytes(), name)
        dumped = len(self.record_files())
        left_out = found['on']['told'].count(' is not dumped: ')
        print(f'libonnx-testdata: {len(models)} models, {ran} run; {dumped} operators dumped, {left_out} left out; results of '
              f'{same} are the same, {random} are random')
        self.assertGreater(same, 800)


class Header(Case):
    def test_the_numbers_are_those_of_the_runtimes_header(self):
        headers = os.environ.get('OPDUMP_ORT_HEADERS')
        if headers is None:
            self.skipTest('OPDUMP_ORT_HEADERS names no folder with onnxruntime_c_api.h')
        found = []
        for flags in ([], ['-isystem', headers]):
            program = self.folder / 'offsets'
            run([*COMPILER, '-std=c++17', *flags, f'-I{ROOT}', ROOT / 'tests/runtimes/ort_offsets.cpp', '-o', program])
            found.append(run([program]))
        self.assertEqual(*found)
        self.assertGreater(found[0].count('\n'), 90)
        build(COMPILER, ROOT, BUILD, 'examples/runtimes/onnxruntime/main.cpp', self.folder / 'upright', '-isystem', headers,
              f'-L{LIBRARIES}', '-l:libonnxruntime.so')


if __name__ == '__main__':
    prepare()
    unittest.main(argv=sys.argv[:1], verbosity=2)
