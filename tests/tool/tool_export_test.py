#!/usr/bin/env python3
"""Tests of `opdump convert --to` from outside: tool_export_test.py OPDUMP [unittest arguments].

Standard library only. What other programs make of the files is tests/interop/exports_test.py.
"""
import base64
import json
import os
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import BF16, COMPLEX64, Case, E4M3, FLOAT, INT4, INT8, NC1HWC0, STRING, UINT8  # noqa: E402
from tool_case import floats, npy, record, tensor  # noqa: E402

PROGRAMS = ('msprobe', 'safetensors', 'polygraphy', 'onnx-tensors', 'model-explorer')
STEP = 'dump/20260131130559/0/net/1/%d/'


def read_safetensors(data):
    """{name: (dtype, shape, bytes)} and the metadata, as the format is specified."""
    length = struct.unpack('<Q', data[:8])[0]
    head = json.loads(data[8:8 + length].decode())
    metadata = head.pop('__metadata__', {})
    assert all(isinstance(value, str) for value in metadata.values())
    body, end, tensors = data[8 + length:], 0, {}
    for name, entry in sorted(head.items(), key=lambda item: item[1]['data_offsets']):
        start, stop = entry['data_offsets']
        assert start == end and stop >= start, 'the tensors leave no holes'
        end = stop
        tensors[name] = (entry['dtype'], entry['shape'], body[start:stop])
    assert end == len(body)
    return tensors, metadata


class Exports(Case):
    def put(self, op, time, inputs=(), outputs=(), step=0, kind='Op', dump=STEP):
        self.write((dump % step if '%d' in dump else dump) + '%s.%s.3.0.%016d' % (kind, op, time),
                   record(list(inputs), list(outputs)))

    def export(self, program, *options, dump='dump', to='out', expect=0):
        return self.run_tool('convert', '--to', program, dump, '-o', to, *options, expect=expect)

    def exported(self, name):
        return json.loads(self.read('out', name).decode('utf-8'))

    def test_safetensors_holds_what_numpy_has_not(self):
        self.put('conv1', 1, [tensor(FLOAT, [2, 2], floats(1, 2, 3, 4))],
                 [tensor(BF16, [2], b'\x80\x3f\x00\xc0'), tensor(E4M3, [3], b'\x38\x7e\x08'),
                  tensor(INT4, [3], b'\x21\x0f')])
        self.put('conv1', 2, outputs=[tensor(INT8, [], b'\xff'), tensor(UINT8, [0], b'')])
        self.put('z', 3, outputs=[tensor(COMPLEX64, [1], floats(1, -1))], step=7)
        self.write('dump/20260131130559/opdump.0.1700000000000000.journal',
                   'opdump-journal,1,records\nprovenance,5d3a,,0.1.0,,\nfrom,0,0\nto,0,0\n')
        out, _ = self.export('safetensors')
        self.assertEqual(out, '7 tensors written to 2 files in out\n')
        tensors, metadata = read_safetensors(self.read('out/step0.safetensors'))
        self.assertEqual((metadata['step'], metadata['provenance']), ('0', 'build 5d3a, opdump 0.1.0'))
        self.assertEqual(tensors, {
            'net/0/Op.conv1/input.0': ('F32', [2, 2], floats(1, 2, 3, 4)),
            'net/0/Op.conv1/output.0': ('BF16', [2], b'\x80\x3f\x00\xc0'),
            'net/0/Op.conv1/output.1': ('F8_E4M3', [3], b'\x38\x7e\x08'),
            'net/0/Op.conv1/output.2': ('I8', [3], b'\x01\x02\xff'),
            'net/0/Op.conv1/1/output.0': ('I8', [], b'\xff'),
            'net/0/Op.conv1/1/output.1': ('U8', [0], b'')})
        self.assertEqual(read_safetensors(self.read('out/step7.safetensors'))[0],
                         {'net/7/Op.z/output.0': ('C64', [1], floats(1, -1))})

    def test_compare_reads_it_back(self):
        for step in (0, 3):
            for i, value in enumerate((b'\x80\x3f', b'\x80\x40')):
                self.put('conv1', 10 * step + i, [tensor(FLOAT, [2], floats(i, step))], [tensor(BF16, [1], value)], step)
        for program in ('safetensors', 'onnx-tensors'):
            self.export(program, to=program)
            out, _ = self.run_tool('compare', 'dump', program)
            self.assertIn('8 tensors compared: 8 equal', out)

    def test_what_there_is_stays(self):
        self.put('a', 1, outputs=[tensor(UINT8, [1], b'a')])
        for program in PROGRAMS:
            self.write(program + '/mine.txt', 'mine')
            error = self.export(program, to=program, expect=1)[1]
            self.assertEqual(error, "opdump convert: %s: there is something in it already; '--overwrite' replaces "
                                    'files of the same name\n' % program)
            self.assertEqual(self.files(program), ['mine.txt'])
            self.export(program, '--overwrite', to=program)
            self.assertEqual(self.read(program, 'mine.txt'), b'mine')
        self.write('file', '')
        self.assertIn('file: is no directory', self.export('msprobe', '--overwrite', to='file', expect=1)[1])

    def test_the_same_bytes_twice(self):
        self.put('a', 1, [tensor(FLOAT, [2], floats(1, 2))], [tensor(UINT8, [1], b'a')])
        for program in PROGRAMS:
            self.export(program, to=program)
            before = {name: self.read(program, name) for name in self.files(program)}
            self.assertNotEqual(before, {})
            self.export(program, '--overwrite', to=program)
            self.assertEqual({name: self.read(program, name) for name in self.files(program)}, before)

    def test_names_that_could_do_harm(self):
        # The last byte is no UTF-8.
        for op in ('"},{"x', 'a\\b', '</script>', 'line\nline', '\udcff', '..', 'x' * 200):
            self.put(op, 1, outputs=[tensor(UINT8, [2], b'ab')])
        for program in PROGRAMS:
            self.export(program, to=program)
            for name in self.files(program):
                data = self.read(program, name)
                if name.endswith('.json'):
                    text = json.dumps(json.loads(data.decode('utf-8')), ensure_ascii=False)
                    text.encode('utf-8')
                elif name.endswith('.safetensors'):
                    self.assertEqual(len(read_safetensors(data)[0]), 7)
                self.assertNotIn('..', name.split('/'))
        self.assertEqual(len(json.loads(self.read('msprobe/step0/rank0/dump.json'))['data']), 7)

    def test_msprobe(self):
        self.put('conv1', 1, [tensor(FLOAT, [1, 2], floats(3, -4))], [tensor(BF16, [1], b'\x80\x3f')])
        self.put('conv1', 2, [], [tensor(FLOAT, [2], floats(float('nan'), 1))])
        self.put('odd', 3, [], [tensor(STRING, [1], b'abcd'), tensor(UINT8, [1], b'\x05')])
        out, error = self.export('msprobe', expect=1)
        self.assertIn('odd output.0: elements of string are no numbers', error)
        self.assertEqual(out, '4 tensors written to 7 files in out, 1 failure\n')
        dump = self.exported('step0/rank0/dump.json')
        folder = self.path('out/step0/rank0/dump_tensor_data')
        self.assertEqual((dump['task'], dump['level'], dump['framework'], dump['dump_data_dir']),
                         ('tensor', 'L1', 'mindspore', os.path.realpath(folder)))
        first = dump['data']['Primitive.conv1.0.forward']
        self.assertEqual(first['input_args'], [{
            'type': 'mindspore.Tensor', 'dtype': 'Float32', 'shape': [1, 2], 'Max': 3, 'Min': -4, 'Mean': -0.5,
            'Norm': 5, 'data_name': 'Primitive.conv1.0.forward.input.0.npy'}])
        self.assertEqual(first['output'][0]['dtype'], 'BFloat16')
        second = dump['data']['Primitive.conv1.1.forward']['output'][0]
        self.assertEqual((second['Max'], second['Min'], second['Mean'], second['Norm']), ('nan',) * 4)
        self.assertEqual(dump['data']['Primitive.odd.0.forward']['output'][0], None)
        self.assertEqual(self.read('out/step0/rank0/dump_tensor_data/Primitive.conv1.0.forward.output.0.npy'),
                         npy('<f4', [1], floats(1)))
        self.assertEqual(list(self.exported('step0/rank0/stack.json')), list(dump['data']))
        self.assertEqual(set(self.exported('step0/rank0/construct.json').values()), {''})

    def test_devices_and_models_stay_apart(self):
        for device in (0, 1):
            for model in ('net', 'other'):
                self.put('a', 1, outputs=[tensor(UINT8, [1], bytes([device]))],
                         dump='dump/20260131130559/%d/%s/1/4/' % (device, model))
        self.export('msprobe', to='m')
        self.assertEqual([name for name in self.files('m') if name.endswith('npy')],
                         ['step4/rank%d/dump_tensor_data/Primitive.%s_a.0.forward.output.0.npy' % (device, model)
                          for device in (0, 1) for model in ('net', 'other')])
        self.export('safetensors')
        self.assertEqual(self.files('out'), ['rank0.step4.safetensors', 'rank1.step4.safetensors'])
        self.export('polygraphy', to='p')
        runners = dict(json.loads(self.read('p/outputs.json'))['lst'])
        self.assertEqual(sorted(runners), ['opdump net rank 0', 'opdump net rank 1', 'opdump other rank 0',
                                           'opdump other rank 1'])

    def test_files_of_one_tensor_each(self):
        """Those of one name and time are one operator, as long as each has another place in it."""
        for name, value in (('input.0', 1), ('output.0', 3), ('output.0.NHWC', 2)):
            self.write(STEP % 0 + 'Op.a.1.0.0000000000000001.%s.npy' % name, npy('|u1', [1], bytes([value])))
        self.export('safetensors')
        tensors = {name: value[2] for name, value in read_safetensors(self.read('out/step0.safetensors'))[0].items()}
        self.assertEqual(tensors, {'net/0/Op.a/input.0': b'\x01', 'net/0/Op.a/output.0': b'\x02',
                                   'net/0/Op.a/1/output.0': b'\x03'})

    def test_statistics_have_no_elements(self):
        self.write(STEP % 0 + 'Op.a.1.0.0000000000000001.csv',
                   'Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,Avg Value,l2norm\n'
                   'Output,0,8,DT_FLOAT,ND,[2],2,3,-1,1,4\n')
        self.export('msprobe')
        dump = self.exported('step0/rank0/dump.json')
        self.assertEqual((dump['task'], dump['dump_data_dir']), ('statistics', None))
        told = dump['data']['Primitive.a.0.forward']['output'][0]
        self.assertEqual((told['Max'], told['Min'], told['Mean'], told['shape']), (3, -1, 1, [2]))
        self.assertNotIn('data_name', told)
        error = self.export('safetensors', to='s', expect=1)[1]
        self.assertIn('a output.0: there are statistics of it, and no elements', error)

    def test_polygraphy_by_the_names_of_a_card(self):
        self.put('conv1', 1, [tensor(FLOAT, [1], floats(1))],
                 [tensor(FLOAT, [1], floats(2)), tensor(INT4, [1], b'\x0f')])
        self.put('conv1', 2, [], [tensor(FLOAT, [1], floats(3))])
        self.put('fc', 3, [], [tensor(FLOAT, [2, 0], b'')])
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'ops': [
            {'name': 'conv1', 'type': 'Op', 'outputs': [{'tensor': 'head/y'}]}]}))
        self.export('polygraphy', '--model', 'card.json')
        results = self.exported('outputs.json')
        self.assertEqual(results['polygraphy_class'], 'RunResults')
        self.assertEqual([name for name, _ in results['lst']], ['opdump'])
        outputs = results['lst'][0][1][0]['outputs']
        arrays = {name: base64.b64decode(array['values']['array'], validate=True) for name, array in outputs.items()}
        self.assertEqual(arrays, {'head/y': npy('<f4', [1], floats(2)), 'conv1:1': npy('|i1', [1], b'\xff'),
                                  'head/y#1': npy('<f4', [1], floats(3)), 'fc:0': npy('<f4', [2, 0], b'')})
        self.export('onnx-tensors', '--model', 'card.json', to='onnx')
        self.assertIn(b'head/y', self.read('onnx/step0/Op.conv1.output.0.pb'))

    def test_tensors_leave_their_device_format(self):
        data = bytes(range(32))
        self.put('conv1', 1, outputs=[tensor(UINT8, [1, 1, 1, 2, 16], data, fmt=NC1HWC0, original=[1, 3, 1, 2])])
        self.export('safetensors', '-f', 'NCHW')
        self.assertEqual(read_safetensors(self.read('out/step0.safetensors'))[0]['net/0/Op.conv1/output.0'],
                         ('U8', [1, 3, 1, 2], bytes([0, 16, 1, 17, 2, 18])))
        self.export('safetensors', to='plain')
        self.assertEqual(read_safetensors(self.read('plain/step0.safetensors'))[0]['net/0/Op.conv1/output.0'],
                         ('U8', [1, 1, 1, 2, 16], data))
        self.put('vector', 2, outputs=[tensor(UINT8, [3], b'abc')])
        error = self.export('safetensors', '-f', 'FRACTAL_Z', to='z', expect=1)[1]
        self.assertIn('vector output.0: ND [3] cannot be rearranged into FRACTAL_Z', error)

    def test_memory_does_not_grow_with_tensors(self):
        self.skip_under_sanitizers()
        size = 16 << 20
        self.put('a', 1, outputs=[tensor(FLOAT, [size // 4], bytes(size))])
        for program in ('msprobe', 'safetensors', 'polygraphy', 'onnx-tensors'):
            self.assertLess(self.peak_kib('convert', '--to', program, 'dump', '-o', program), 16 * 1024, program)

    def explorer_dump(self, name, factor):
        """conv1 -> relu1 -> fc by the addresses of their tensors."""
        for step in (0, 1):
            self.write('%s/20260131130559/0/net/1/%d/Conv2D.conv1.0.0.%016d' % (name, step, 10 * step + 1), record(
                [], [dict(tensor(FLOAT, [2], floats(1, 2)), address=0x1000)]))
            self.write('%s/20260131130559/0/net/1/%d/Relu.relu1.1.0.%016d' % (name, step, 10 * step + 2), record(
                [dict(tensor(FLOAT, [2], floats(1, 2)), address=0x1000)],
                [dict(tensor(FLOAT, [2], floats(1, 2 if step == 0 else 2 * factor)), address=0x2000)]))
            self.write('%s/20260131130559/0/net/1/%d/MatMul.fc.2.0.%016d' % (name, step, 10 * step + 3), record(
                [dict(tensor(FLOAT, [2], floats(1, 2 if step == 0 else 2 * factor)), address=0x2000)],
                [dict(tensor(FLOAT, [1], floats(float('inf'))), address=0x3000)]))

    def test_model_explorer(self):
        self.explorer_dump('dump', -4)
        self.explorer_dump('golden', 1)
        out, _ = self.export('model-explorer', '-g', 'golden')
        self.assertIn('3 operators in 1 graph written to out\n', out)
        self.assertEqual(self.files('out'), ['cosine.json', 'golden.json', 'graph.json', 'magnitude.json',
                                             'max_abs_error.json', 'nan_inf.json', 'sync.json', 'verdict.json'])
        for name in ('graph.json', 'golden.json'):
            collection = self.exported(name)
            self.assertEqual([graph['id'] for graph in collection['graphs']], ['net'])
            nodes = collection['graphs'][0]['nodes']
            self.assertEqual([(node['id'], node['label'], node['namespace']) for node in nodes],
                             [('conv1', 'Conv2D', ''), ('relu1', 'Relu', ''), ('fc', 'MatMul', '')])
            self.assertEqual([node['incomingEdges'] for node in nodes], [
                [], [{'sourceNodeId': 'conv1', 'sourceNodeOutputId': '0', 'targetNodeInputId': '0'}],
                [{'sourceNodeId': 'relu1', 'sourceNodeOutputId': '0', 'targetNodeInputId': '0'}]])
            for node in nodes:
                for group in ('inputsMetadata', 'outputsMetadata'):
                    for metadata in node[group]:
                        self.assertEqual(set(metadata), {'id', 'attrs'})
                        for attribute in metadata['attrs'] + node['attrs']:
                            self.assertEqual({key: type(value) for key, value in attribute.items()},
                                             {'key': str, 'value': str})
            self.assertIn({'key': 'tensor_name', 'value': 'relu1:0'}, nodes[1]['outputsMetadata'][0]['attrs'])
            self.assertIn({'key': 'tensor_shape', 'value': 'float32[2]'}, nodes[1]['outputsMetadata'][0]['attrs'])

        def values(name):
            return {key: entry['value'] for key, entry in self.exported(name)['results'].items()}

        # The worst of both steps.
        cosine = values('cosine.json')
        told = json.loads(self.run_tool('compare', 'dump', 'golden', '--json', expect=1)[0])
        worst = min(pair['cosine'] for pair in told['tensors'] if pair['tensor'] == 'relu1:output:0')
        self.assertEqual((cosine['conv1:0'], cosine['fc:0'], len(cosine)), (1, 1, 3))
        self.assertAlmostEqual(cosine['relu1:0'], worst, 12)
        self.assertLess(cosine['relu1:0'], 0)
        self.assertEqual(values('max_abs_error.json'), {'conv1:0': 0, 'relu1:0': 10, 'fc:0': 0})
        self.assertEqual(values('verdict.json'), {'conv1:0': 'agrees', 'relu1:0': 'culprit', 'fc:0': 'agrees'})
        self.assertEqual(values('magnitude.json'), {'conv1:0': 2, 'relu1:0': 8})
        self.assertEqual(values('nan_inf.json'), {'conv1:0': 0, 'relu1:0': 0, 'fc:0': 1})
        limits = [limit['value'] for limit in self.exported('cosine.json')['thresholds']]
        self.assertEqual(limits, sorted(limits))
        sync = self.exported('sync.json')
        self.assertEqual(sync['type'], 'sync_navigation')
        self.assertEqual(sync['mappingEntries'], [{'leftNodeIds': [op], 'rightNodeIds': [op]}
                                                  for op in ('conv1', 'relu1', 'fc')])

    def test_model_explorer_by_a_card(self):
        for model in ('net', 'other'):
            for i, op in enumerate(('back_conv', 'back_relu')):
                self.put(op, i + 1, outputs=[tensor(UINT8, [1], b'\x02')],
                         dump='dump/20260131130559/0/%s/1/0/' % model)
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'ops': [
            {'name': 'back/conv', 'type': 'Op', 'outputs': [{'tensor': 't', 'quant': {
                'scheme': 'affine', 'scale': [0.5], 'zero_point': [0]}}]},
            {'name': 'back/relu', 'type': 'Op', 'inputs': [{'tensor': 't'}], 'outputs': [{'tensor': 'u'}]}]}))
        self.export('model-explorer', '--model', 'card.json')
        graphs = self.exported('graph.json')['graphs']
        self.assertEqual([graph['id'] for graph in graphs], ['net', 'other'])
        conv, relu = graphs[0]['nodes']
        self.assertEqual((conv['id'], conv['namespace']), ('back_conv', 'back'))
        self.assertEqual(relu['incomingEdges'], [{'sourceNodeId': 'back_conv', 'sourceNodeOutputId': '0',
                                                  'targetNodeInputId': '0'}])
        self.assertIn('quantization', [attribute['key'] for attribute in conv['outputsMetadata'][0]['attrs']])
        self.assertEqual({graph: list(data['results']) for graph, data in self.exported('magnitude.json').items()},
                         {'net': ['t', 'u'], 'other': ['t', 'u']})

    def test_usage(self):
        for arguments, reason in (
                (['--to', 'tflite', 'dump', '-o', 'out'], "'--to tflite' is none of msprobe, safetensors"),
                (['--to', 'msprobe', 'dump'], "'-o DIRECTORY' is missing"),
                (['--to', 'msprobe', '-o', 'out'], 'a DUMP is missing'),
                (['--to', 'msprobe', 'dump', '-o', 'out', '-t', 'bin'], "'-t' and '--to' exclude each other"),
                (['--to', 'msprobe', 'dump', '-o', 'out', '-g', 'x'], "'-g' is for '--to model-explorer'"),
                (['--to', 'safetensors', 'dump', '-o', 'out', '-f', 'X'], "'-f X' is no format"),
                (['-d', 'dump', '--overwrite'], "need '--to PROGRAM'")):
            self.assertIn(reason, self.run_tool('convert', *arguments, expect=2)[1])
        self.export('msprobe', dump='nothing', expect=1)
        self.assertFalse(os.path.exists(self.path('out')))


if __name__ == '__main__':
    tool_case.main()
