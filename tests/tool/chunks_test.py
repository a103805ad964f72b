#!/usr/bin/env python3
"""Hands streams of chunks to opdump as CANN hands them to a callback, and compares the files with those that CANN would have
written, and what `opdump verify` says of them. The streams are made as CANN's aicpu_sched and adump make theirs.

usage: chunks_test.py OPDUMP TAKE_CHUNKS
"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
import waiting  # noqa: E402

OPDUMP, TAKE_CHUNKS = sys.argv[1:3]
PATH_BYTES = 4096
STRUCT_BYTES = PATH_BYTES + 24
TIME = '20260102030405'


def varint(value):
    out = b''
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def record(op_name, outputs=(), inputs=(), originals=(), addresses=True):
    """A record as a server writes it: the message's length, DumpData, then the tensors' bytes."""
    message = field(1, '2.0') + field(2, 1700000000000000)
    for i, data in enumerate(outputs):
        original = field(4, field(1, originals[i])) if i < len(originals) else b''
        message += field(3, field(1, 4) + field(2, 2) + field(3, field(1, varint(len(data)))) + original +
                         field(6, len(data)) + field(9, 4096 if addresses else 0))
    for data in inputs:
        message += field(4, field(1, 4) + field(2, 2) + field(3, field(1, varint(len(data)))) + field(5, len(data)) +
                         field(8, 8192 if addresses else 0))
    message += field(6, op_name)
    data = b''.join([*inputs, *outputs]) if addresses else b''
    return struct.pack('<Q', len(message)) + message + data


def file_form(name):
    return ''.join('_' if c in ' ./\\' else c for c in name)


class Stream:
    """A recorded stream, and the files that CANN writes of it without a callback."""

    def __init__(self, root):
        self.root = str(root)
        self.bytes = bytearray()
        self.files = {}

    def chunk(self, name, data, last=1, offset=-1, flag=0, said=None, length=None, kept=None):
        """`said`: bufLen; `length`: the callback's second argument; `kept`: what of the data CANN has in the file."""
        said = len(data) if said is None else said
        length = STRUCT_BYTES + said if length is None else length
        name = name.encode()
        self.bytes += struct.pack('<i', length) + name.ljust(PATH_BYTES, b'\0') + struct.pack('<IIqi', said, last, offset, flag)
        self.bytes += data
        path = name.decode().split(':', 1)[-1] if name[:1].isdigit() and b':' in name[:16] else name.decode()
        path = path.removeprefix(self.root + '/')
        self.files[path] = self.files.get(path, b'') + (data if kept is None else kept)

    def file(self, name, data, slice_bytes=None):
        slices = [data[i:i + slice_bytes] for i in range(0, len(data), slice_bytes)] if slice_bytes else [data]
        for i, part in enumerate(slices):
            self.chunk(name, part, last=int(i + 1 == len(slices)))

    def name(self, op, step=0, model='net', model_id=1, device=0, task=3, stream=0, us=1700000000000000, time=TIME, suffix=''):
        op_type, op_name = op
        place = f'{device}/{file_form(model)}/{model_id}/{step}' if model else f'{device}'
        return f'{self.root}/{time}/{place}/{file_form(op_type)}.{file_form(op_name)}.{task}.{stream}.{us}{suffix}'


def read_tree(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob('*')
            if path.is_file() and not path.name.endswith('.journal')}


class ChunksTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name) / 'dump'
        self.root.mkdir()
        self.stream = Stream(self.root)

    def take(self, dump=None, options=None, stream=None, environment=None):
        config = {'dump': {'dump_path': str(self.root), 'dump_list': [{'model_name': 'net'}], 'dump_mode': 'all', **(dump or {})}}
        if options:
            config['opdump'] = options
        path = self.root.parent / 'acl.json'
        path.write_text(json.dumps(config))
        done = waiting.run([TAKE_CHUNKS, path], input=(stream or self.stream).bytes, capture_output=True,
                           env=environment)
        text = done.stdout.decode()
        self.assertEqual((done.returncode, text.splitlines()[0]), (0, 'before: -1'), done.stderr.decode() + text)
        words = text.splitlines()[-1].split()
        self.said = text
        return dict(zip(words[::2], map(int, words[1::2])))

    def verify(self, time=TIME):
        done = waiting.run([OPDUMP, 'verify', '--json', self.root / time], capture_output=True)
        report = json.loads(done.stdout)
        return done.returncode, [(f['kind'], f['wrong']) for f in report['findings']], report['findings']

    def journal(self, time=TIME, device=0):
        journals = list((self.root / time).glob(f'opdump.{device}.*.journal'))
        self.assertEqual(len(journals), 1)
        return journals[0].read_text()

    def check_same(self, counts, files=None):
        files = self.stream.files if files is None else files
        self.assertEqual(read_tree(self.root), files)
        self.assertEqual((counts['lost'], counts['late'], counts['torn'], counts['out_of_order']), (0, 0, 0, 0))

    # Streams as CANN's own tests send them.

    def test_names_and_bytes_of_the_tests_of_adump(self):
        word = b'adx_data_dump_server_manager\0'
        self.stream.chunk('adx_data_dump_server_manager', word)
        self.stream.chunk('adx_data_dump_server_manager1', word)
        self.stream.chunk('127.0.0.1:adx_data_dump_server_manager2', b'127.0.0.1:adx_data_dump_server_manager')
        self.stream.chunk('test_dump.bin', b'test data', offset=0)
        statistics = 'aclnnBatchMatMul_0_L2.aclnnBatchMatMul.65535.65535.1725960383079645.csv'
        self.stream.chunk(statistics, b'Input/Output,Index\nInput,0\n\0', offset=1, flag=1, kept=b'Input/Output,Index\nInput,0\n')
        self.check_same(self.take())

    def test_statistics_go_on_behind_their_last_chunk(self):
        name = self.stream.name(('Add', 'add'), model=None, suffix='.csv')
        other = self.stream.name(('Mul', 'mul'), model=None, suffix='.csv')
        head = b'Input/Output,Index,Data Size,Data Type,Format,Shape,Count\n'
        rows = [b'Output,%d,8,float32,ND,2,2\n' % index for index in range(2)]
        self.stream.chunk(name, head + rows[0] + b'\0', kept=head + rows[0])
        self.stream.chunk(other, head + rows[0] + b'\0', kept=head + rows[0])
        self.stream.chunk(name, rows[1] + b'\0', kept=rows[1])
        self.check_same(self.take({'dump_op_switch': 'on'}))
        self.assertEqual(self.verify()[0], 4)  # nothing of the model came

    def test_slices_of_many_files_alternate(self):
        random.seed(1)
        expected = 0
        for turn in range(5):
            waiting = []
            for i in range(8):
                data = record(f'conv/{i}', [random.randbytes(random.randrange(1, 300000))], [random.randbytes(i * 1000)])
                name = self.stream.name(('Conv2D', f'conv/{i}'), step=turn, us=1700000000000000 + i)
                cut = random.choice([len(data), 700, 50000])
                waiting.append((name, [data[at:at + max(cut, len(data) // 50)] for at in range(0, len(data), max(cut, len(data) // 50))]))
                expected += 1
            while waiting:
                name, parts = random.choice(waiting)
                self.stream.chunk(name, parts.pop(0), last=int(not parts))
                waiting = [(name, parts) for name, parts in waiting if parts]
        counts = self.take(options={'ring_bytes': 65536})
        self.check_same(counts)
        self.assertEqual((counts['wanted'], counts['written']), (expected, expected))
        self.assertEqual(self.verify()[:2], (0, []))

    def test_journal_of_gaps(self):
        for i in range(6):
            self.stream.file(self.stream.name(('Conv2D', f'c{i}')), record('c', [bytes(3000)]), 1000)
        self.stream.chunk(f'{self.root}/{TIME}/0/notes.txt', b'notes')
        self.check_same(self.take(options={'journal': 'gaps'}))
        self.assertEqual(self.verify()[:2], (0, []))
        self.assertNotIn('written', self.journal())
        next(self.root.rglob('Conv2D.c3*')).unlink()
        self.assertEqual(self.verify()[0], 1)

    def test_several_devices_and_models(self):
        for device in (0, 1, 7):
            for model, model_id in (('net', 1), ('other net', 2)):
                for step in range(3):
                    data = record('op', [bytes([device, step] * 100)])
                    self.stream.file(self.stream.name(('Relu', 'op'), step, model, model_id, device), data)
        counts = self.take({'dump_list': [{}]})
        self.check_same(counts)
        self.assertEqual(counts['written'], 18)
        self.assertEqual(self.verify()[:2], (0, []))
        for device in (0, 1, 7):
            self.assertEqual(self.journal(device=device).count('\nwritten,'), 6)

    def test_names_of_threads_and_reports(self):
        self.stream.file(self.stream.name(('Conv2D', 'conv'), suffix='.4.0.1.0'), record('conv', [b'abcd']))
        self.stream.file(self.stream.name(('Opdebug', 'Node_OpDebug'), task=9), record('Node_OpDebug', [bytes(2048)]))
        # As adump counts files that it makes in a stream of its own.
        for suffix in ('', '.FFTSPLUS.0.1.0'):
            self.stream.file(f'{self.root}/{TIME}/0/Add.add.17.4.5.1700000000000000{suffix}', record('add', [b'abcd']))
        self.check_same(self.take({'dump_op_switch': 'on', 'dump_list': [{'model_name': 'net', 'layer': ['conv']}]}))
        self.assertEqual(self.verify()[:2], (0, []))
        self.assertEqual(self.journal().count('\nwritten,'), 4)
        shown = subprocess.run([OPDUMP, 'show', self.root], capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown.count('\nAdd '), 2, shown)

    def test_tensors_that_cann_could_not_reach(self):
        self.stream.file(self.stream.name(('Conv2D', 'conv')), record('conv', [b'abcd'], addresses=False))
        self.check_same(self.take())
        self.assertEqual(self.verify()[:2], (1, [('bad_file', True)]))  # no reader opens such a file

    def test_other_files_pass(self):
        self.stream.chunk(f'{self.root}/{TIME}/0/net/1/notes.txt', b'notes')
        self.stream.chunk(f'{self.root}/0/pid42/net/1/0/0/Relu.op.1.1700000000000000', b'host')
        self.stream.chunk(f'/elsewhere/{TIME}/0/net/1/0/Relu.op.1.0.1700000000000000', record('op', [b'ab']))
        counts = self.take()
        del self.stream.files[f'/elsewhere/{TIME}/0/net/1/0/Relu.op.1.0.1700000000000000']
        self.stream.files[f'{TIME}/0/net/1/0/Relu.op.1.0.1700000000000000'] = record('op', [b'ab'])
        self.check_same(counts)
        self.assertEqual(self.verify()[:2], (0, []))
        self.assertIn('\nchunk,other,1,5,0/net/1/notes.txt\n', self.journal())
        (self.root / TIME / '0/net/1/notes.txt').write_text('note')
        self.assertEqual(self.verify()[:2], (1, [('bad_file', True)]))

    # Filters.

    def test_filter(self):
        kept = []
        for device in (0, 1):
            for model in ('net', 'else'):
                for step in range(5):
                    for op in (('Conv2D', 'block/conv 1'), ('Relu', 'relu.1'), ('Add', 'fused'), ('Mul', 'mul')):
                        originals = ['was/first', 'was/second'] if op[1] == 'fused' else []
                        data = record(op[1], [b'1234', b'5678'], originals=originals)
                        name = self.stream.name(op, step, model, device=device)
                        self.stream.file(name, data, 100)
                        if model == 'net' and step in (1, 3, 4) and op[0] != 'Mul':
                            kept.append(name.removeprefix(f'{self.root}/'))
        counts = self.take({'dump_step': '1|3-4', 'dump_list': [{'model_name': 'net', 'layer': ['block/conv 1', 'relu_1', 'was/second']}]})
        self.check_same(counts, {name: self.stream.files[name] for name in kept})
        self.assertEqual(counts['unwanted'], 2 * 2 * 5 * 4 - len(kept))
        self.assertEqual(self.verify()[:2], (0, []))

    def test_ranges_and_watches_are_left_to_cann(self):
        self.stream.file(self.stream.name(('Conv2D', 'c3')), record('c3', [b'1234']))
        self.check_same(self.take({'dump_level': 'op', 'dump_list': [
            {'model_name': 'net', 'layer': ['c1'], 'opname_range': [{'begin': 'c2', 'end': 'c9'}]}]}))

    def test_what_never_came_is_told(self):
        self.stream.file(self.stream.name(('Conv2D', 'c1'), step=2), record('c1', [b'1234']))
        self.take({'dump_step': '2|7-9', 'dump_list': [{'model_name': 'net', 'layer': ['c1', 'c2']}, {'model_name': 'absent'}]})
        code, _, findings = self.verify()
        self.assertEqual(code, 4)
        self.assertEqual(sorted(((f['kind'], f.get('cause'), f.get('name')) for f in findings), key=str),
                         sorted([('never', 'no_op', 'c2'), ('never', 'no_model', 'absent'), ('never', 'steps', None)], key=str))

    def test_nothing_came(self):
        self.take(stream=Stream(self.root))
        journals = list(self.root.rglob('*.journal'))
        self.assertEqual(len(journals), 1)
        self.assertIn('\nnever,no_model,', journals[0].read_text())

    # Faults.

    def check_lost(self, counts, causes, wrong=('lost',)):
        code, kinds, findings = self.verify()
        self.assertEqual(code, 1)
        self.assertEqual(sorted(kind for kind, bad in kinds if bad), sorted(wrong))
        self.assertEqual([f['cause'] for f in findings if f['kind'] == 'lost'], causes)
        self.assertEqual(counts['wanted'], counts['written'] + counts['lost'])
        self.assertFalse([path for path in self.root.rglob('*.part')])
        self.assertIn('stopped: ', self.said)

    def test_no_last_chunk(self):
        whole = self.stream.name(('Conv2D', 'c1'))
        self.stream.file(whole, record('c1', [b'1234']))
        name = self.stream.name(('Conv2D', 'c2'))
        self.stream.chunk(name, record('c2', [b'1234', b'5678'])[:-4], last=0)
        counts = self.take()
        self.check_lost(counts, ['unfinished'])
        self.assertEqual(list(read_tree(self.root)), [whole.removeprefix(f'{self.root}/')])
        self.assertRegex(self.journal(), r'\nlost,\d,\d,unfinished,0/net/1/0/Conv2D.c2.3.0.1700000000000000\n')

    def test_torn(self):
        data = record('c1', [b'1234'] * 10)
        for case, (change, refused) in enumerate({
                'shorter than it says': ({'length': STRUCT_BYTES + len(data) - 7}, 1),
                'negative': ({'length': -1}, 1)}.values()):
            self.stream.chunk(self.stream.name(('Conv2D', f'c{case}')), data, **change)
        # The device was cut off between two chunks, and sent the last one all the same.
        name = self.stream.name(('Conv2D', 'c9'))
        self.stream.chunk(name, data[:-30], last=0)
        self.stream.chunk(name, data[-20:])
        counts = self.take()
        self.assertEqual((counts['torn'], counts['lost'], counts['refused']), (3, 3, 0))
        self.assertEqual(read_tree(self.root), {})
        self.check_lost(counts, self.causes(), ('chunk',) * 3 + ('lost',) * 3)
        self.assertEqual(len(set(self.causes())), 1)
        self.assertEqual(self.journal().count('\nchunk,torn,1,'), 3)

    def causes(self):
        return [line.split(',')[3] for line in self.journal().splitlines() if line.startswith('lost,')]

    def test_out_of_order(self):
        data = record('c1', [b'1234'] * 100)
        name = self.stream.name(('Conv2D', 'c1'))
        self.stream.chunk(name, data[:50], last=0, offset=0)
        self.stream.chunk(name, data[90:], last=1, offset=90)
        self.stream.chunk(name, data[50:90], last=0, offset=50)
        self.stream.chunk(self.stream.name(('Conv2D', 'c2')), data[50:], offset=50)
        counts = self.take(environment={'TELL_CANN': '1'})
        self.assertEqual((counts['out_of_order'], counts['lost'], counts['refused']), (2, 2, 3))
        self.assertEqual(read_tree(self.root), {})
        self.check_lost(counts, self.causes(), ('chunk',) * 2 + ('lost',) * 2)

    def test_repeated(self):
        data = record('c1', [bytes(range(256)) * 10])
        one, two, three = (self.stream.name(('Conv2D', name)) for name in ('c1', 'c2', 'c3'))
        for part, offset in ((data[:800], 0), (data[:800], 0), (data[800:1600], 800), (data[1000:1400], 1000), (data[1600:], 1600)):
            self.stream.chunk(one, part, last=int(offset == 1600), offset=offset)
        # Without offsets: the second time is more than the head says.
        for part, last in ((data[:2000], 0), (data[:2000], 0), (data[2000:], 1)):
            self.stream.chunk(two, part, last=last)
        self.stream.chunk(three, data)
        self.stream.chunk(three, data)
        counts = self.take()
        self.check_same(counts, {name.removeprefix(f'{self.root}/'): data for name in (one, two, three)})
        self.assertEqual(counts['repeated'], 4)
        code, kinds, findings = self.verify()
        self.assertEqual((code, kinds), (0, [('chunk', False)] * 4))
        self.assertEqual({f['fault'] for f in findings}, {'repeated'})

    def test_repeated_where_nothing_shows_it_at_once(self):
        data = record('c1', [bytes(range(256)) * 10])
        name = self.stream.name(('Conv2D', 'c1'))
        for part, last in ((data[:700], 0), (data[:700], 0), (data[700:], 1)):
            self.stream.chunk(name, part, last=last)
        counts = self.take()
        self.assertEqual(read_tree(self.root), {})
        self.check_lost(counts, self.causes(), ('chunk', 'lost'))

    def test_late(self):
        data = record('c1', [b'1234'] * 100)
        name = self.stream.name(('Conv2D', 'c1'))
        self.stream.chunk(name, data)
        self.stream.chunk(name, b'more')
        counts = self.take()
        self.assertEqual((counts['late'], counts['lost']), (1, 0))
        self.assertEqual(list(read_tree(self.root).values()), [data])
        code, kinds, findings = self.verify()
        self.assertEqual((code, kinds), (1, [('chunk', True)]))
        self.assertEqual((findings[0]['fault'], findings[0]['path']), ('late', '0/net/1/0/Conv2D.c1.3.0.1700000000000000'))

    def test_names_that_lead_outside(self):
        for name in ('../../evil', f'{self.root}/{TIME}/0/../../../evil', '', 'a//b', f'{self.root}/'):
            self.stream.chunk(name, b'evil')
        counts = self.take()
        self.assertEqual((counts['torn'], counts['wanted']), (5, 0))
        self.assertEqual(read_tree(self.root), {})
        self.assertEqual(sorted(p.name for p in self.root.parent.iterdir()), ['acl.json', 'dump'])

    def test_more_files_at_once_than_slots(self):
        names = [self.stream.name(('Conv2D', f'c{i}')) for i in range(20)]
        data = record('c', [b'1234'] * 100)
        for name in names:
            self.stream.chunk(name, data[:60], last=0)
        for name in names:
            self.stream.chunk(name, data[60:], last=1)
        counts = self.take()
        self.assertEqual((counts['wanted'], counts['written']), (20, 9))
        self.check_lost(counts, self.causes(), ('lost',) * 11)
        self.assertEqual(set(read_tree(self.root).values()), {data})

    def test_quota(self):
        for i in range(40):
            self.stream.file(self.stream.name(('Conv2D', 'c1'), step=i), record('c1', [bytes(2000)]))
        counts = self.take(options={'max_bytes': 60000})
        self.assertLess(counts['written'], 35)
        self.assertGreater(counts['written'], 20)
        self.check_lost(counts, ['quota'] * counts['lost'], ('lost',) * counts['lost'])

    def test_quota_keeps_the_newest(self):
        for i in range(40):
            self.stream.file(self.stream.name(('Conv2D', 'c1'), step=i, us=1700000000000000 + i), record('c1', [bytes(2000)]))
        counts = self.take(options={'max_bytes': 60000, 'keep': 'newest'})
        self.assertEqual((counts['written'], counts['lost']), (40, 0))
        code, kinds, _ = self.verify()
        self.assertEqual((code, {kind for kind, _ in kinds}), (1, {'removed'}))
        steps = sorted(int(path.split('/')[4]) for path in read_tree(self.root))
        self.assertEqual(steps, list(range(40 - len(steps), 40)))

    def test_full_ring(self):
        for i in range(60):
            self.stream.file(self.stream.name(('Conv2D', f'c{i}')), record('c', [random.randbytes(12000)]), 5000)
        counts = self.take(options={'ring_bytes': 16384, 'when_full': 'drop'})
        files = read_tree(self.root)
        self.assertEqual(files, {name: data for name, data in self.stream.files.items() if name in files})
        self.assertEqual((len(files), counts['wanted']), (counts['written'], 60))
        self.assertEqual(self.verify()[0], 1 if counts['lost'] else 0)

    def test_inline(self):
        for i in range(20):
            self.stream.file(self.stream.name(('Conv2D', f'c{i}')), record('c', [random.randbytes(50000)]), 9000)
        self.check_same(self.take(options={'ring_bytes': 16384, 'when_full': 'inline'}))
        self.assertEqual(self.verify()[:2], (0, []))

    def test_refused_config(self):
        path = self.root.parent / 'bad.json'
        path.write_text('{"dump": {"dump_list": [{}]}}')
        done = waiting.run([TAKE_CHUNKS, path], input=b'', capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('dump_path', done.stdout.decode())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
