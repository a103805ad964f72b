#!/usr/bin/env python3
"""Tests of `opdump convert --to safetensors` from outside: tool_safetensors_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import os
import struct
import sys
import zipfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import BF16, COMPLEX64, Case, E4M3, FLOAT, INT4, INT8, NC1HWC0, UINT8  # noqa: E402
from tool_case import floats, npy, record, tensor  # noqa: E402

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


class Safetensors(Case):
    def put(self, op, time, inputs=(), outputs=(), step=0, kind='Op', dump=STEP):
        self.write((dump % step if '%d' in dump else dump) + '%s.%s.3.0.%016d' % (kind, op, time),
                   record(list(inputs), list(outputs)))

    def export(self, *options, dump='dump', to='out', expect=0):
        return self.run_tool('convert', '--to', 'safetensors', dump, '-o', to, *options, expect=expect)

    def test_holds_what_numpy_has_not(self):
        self.put('conv1', 1, [tensor(FLOAT, [2, 2], floats(1, 2, 3, 4))],
                 [tensor(BF16, [2], b'\x80\x3f\x00\xc0'), tensor(E4M3, [3], b'\x38\x7e\x08'),
                  tensor(INT4, [3], b'\x21\x0f')])
        self.put('conv1', 2, outputs=[tensor(INT8, [], b'\xff'), tensor(UINT8, [0], b'')])
        self.put('z', 3, outputs=[tensor(COMPLEX64, [1], floats(1, -1))], step=7)
        self.write('dump/20260131130559/opdump.0.1700000000000000.journal',
                   'opdump-journal,1,records\nprovenance,5d3a,,0.1.0,,\nfrom,0,0\nto,0,0\n')
        out, _ = self.export()
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
        self.export()
        self.assertIn('8 tensors compared: 8 equal', self.run_tool('compare', 'dump', 'out')[0])

    def test_what_there_is_stays(self):
        self.put('a', 1, outputs=[tensor(UINT8, [1], b'a')])
        self.write('out/mine.txt', 'mine')
        error = self.export(expect=1)[1]
        self.assertEqual(error, "opdump convert: out: there is something in it already; '--overwrite' replaces "
                                'files of the same name\n')
        self.assertEqual(self.files('out'), ['mine.txt'])
        self.export('--overwrite')
        self.assertEqual(self.read('out', 'mine.txt'), b'mine')
        self.assertEqual(self.files('out'), ['mine.txt', 'step0.safetensors'])
        self.write('file', '')
        self.assertIn('file: is no directory', self.export('--overwrite', to='file', expect=1)[1])

    def test_the_same_bytes_twice(self):
        self.put('a', 1, [tensor(FLOAT, [2], floats(1, 2))], [tensor(UINT8, [1], b'a')])
        self.export()
        before = self.read('out/step0.safetensors')
        self.export('--overwrite')
        self.assertEqual(self.read('out/step0.safetensors'), before)

    def test_arrays_that_share_bytes_are_refused(self):
        """Else a file of 1 MB is the work of gigabytes."""
        head = json.dumps({name: {'dtype': 'U8', 'shape': [2], 'data_offsets': [0, 2]} for name in 'ab'}).encode()
        self.write('x.safetensors', struct.pack('<Q', len(head)) + head + b'xy')
        error = self.run_tool('report', 'x.safetensors', '-o', 'r.html', expect=1)[1]
        self.assertIn("array 'b' has bytes of another one", error)
        with zipfile.ZipFile(self.path('x.npz'), 'w') as file:
            text = "{'descr': '|u1', 'fortran_order': False, 'shape': (200,), }".ljust(117) + '\n'
            file.writestr('a.npy', b'\x93NUMPY\1\0\x76\0' + text.encode() + bytes(200))
        whole = self.read('x.npz')
        at = whole.index(b'PK\1\2')
        entry = whole[at:whole.index(b'PK\5\6')]
        self.write('x.npz', whole[:at] + 2 * entry + struct.pack('<4sHHHHIIH', b'PK\5\6', 0, 0, 2, 2, 2 * len(entry), at, 0))
        self.assertIn('is a damaged npz file', self.run_tool('report', 'x.npz', '-o', 'r.html', expect=1)[1])

    def test_names_that_could_do_harm(self):
        # The last byte is no UTF-8.
        for op in ('"},{"x', 'a\\b', '</script>', 'line\nline', '\udcff', '..', 'x' * 200):
            self.put(op, 1, outputs=[tensor(UINT8, [2], b'ab')])
        self.export()
        self.assertEqual(self.files('out'), ['step0.safetensors'])
        tensors = read_safetensors(self.read('out/step0.safetensors'))[0]
        self.assertEqual(len(tensors), 7)
        for name in tensors:
            name.encode('utf-8')
            self.assertNotIn('\n', name)

    def test_devices_and_models_stay_apart(self):
        for device in (0, 1):
            for model in ('net', 'other'):
                self.put('a', 1, outputs=[tensor(UINT8, [1], bytes([device]))],
                         dump='dump/20260131130559/%d/%s/1/4/' % (device, model))
        self.export()
        self.assertEqual(self.files('out'), ['rank0.step4.safetensors', 'rank1.step4.safetensors'])
        for device in (0, 1):
            tensors = read_safetensors(self.read('out/rank%d.step4.safetensors' % device))[0]
            self.assertEqual(tensors, {'%s/4/Op.a/output.0' % model: ('U8', [1], bytes([device]))
                                       for model in ('net', 'other')})

    def test_files_of_one_tensor_each(self):
        """Those of one name and time are one operator, as long as each has another place in it."""
        for name, value in (('input.0', 1), ('output.0', 3), ('output.0.NHWC', 2)):
            self.write(STEP % 0 + 'Op.a.1.0.0000000000000001.%s.npy' % name, npy('|u1', [1], bytes([value])))
        self.export()
        tensors = {name: value[2] for name, value in read_safetensors(self.read('out/step0.safetensors'))[0].items()}
        self.assertEqual(tensors, {'net/0/Op.a/input.0': b'\x01', 'net/0/Op.a/output.0': b'\x02',
                                   'net/0/Op.a/1/output.0': b'\x03'})

    def test_statistics_have_no_elements(self):
        self.write(STEP % 0 + 'Op.a.1.0.0000000000000001.csv',
                   'Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,Avg Value,l2norm\n'
                   'Output,0,8,DT_FLOAT,ND,[2],2,3,-1,1,4\n')
        error = self.export(expect=1)[1]
        self.assertIn('a output.0: there are statistics of it, and no elements', error)

    def test_tensors_leave_their_device_format(self):
        data = bytes(range(32))
        self.put('conv1', 1, outputs=[tensor(UINT8, [1, 1, 1, 2, 16], data, fmt=NC1HWC0, original=[1, 3, 1, 2])])
        self.export('-f', 'NCHW')
        self.assertEqual(read_safetensors(self.read('out/step0.safetensors'))[0]['net/0/Op.conv1/output.0'],
                         ('U8', [1, 3, 1, 2], bytes([0, 16, 1, 17, 2, 18])))
        self.export(to='plain')
        self.assertEqual(read_safetensors(self.read('plain/step0.safetensors'))[0]['net/0/Op.conv1/output.0'],
                         ('U8', [1, 1, 1, 2, 16], data))
        self.put('vector', 2, outputs=[tensor(UINT8, [3], b'abc')])
        error = self.export('-f', 'FRACTAL_Z', to='z', expect=1)[1]
        self.assertIn('vector output.0: ND [3] cannot be rearranged into FRACTAL_Z', error)

    def test_memory_does_not_grow_with_tensors(self):
        self.skip_under_sanitizers()
        size = 16 << 20
        self.put('a', 1, outputs=[tensor(FLOAT, [size // 4], bytes(size))])
        self.assertLess(self.peak_kib('convert', '--to', 'safetensors', 'dump', '-o', 'out'), 16 * 1024)

    def test_usage(self):
        for arguments, reason in (
                (['--to', 'tflite', 'dump', '-o', 'out'], "'--to tflite' is not written, only '--to safetensors' is"),
                (['--to', 'safetensors', 'dump'], "'-o DIRECTORY' is missing"),
                (['--to', 'safetensors', '-o', 'out'], 'a DUMP is missing'),
                (['--to', 'safetensors', 'dump', '-o', 'out', '-t', 'bin'], "'-t' and '--to' exclude each other"),
                (['--to', 'safetensors', 'dump', '-o', 'out', '-f', 'X'], "'-f X' is no format"),
                (['-d', 'dump', '--overwrite'], "'--overwrite' needs '--to safetensors'")):
            self.assertIn(reason, self.run_tool('convert', *arguments, expect=2)[1])
        self.export(dump='nothing', expect=1)
        self.assertFalse(os.path.exists(self.path('out')))


if __name__ == '__main__':
    tool_case.main()
