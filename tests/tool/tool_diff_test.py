#!/usr/bin/env python3
"""Tests of `opdump diff` and of `opdump verify --observer` from outside: tool_diff_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import glob
import hashlib
import json
import os
import resource
import struct
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import crc32c as castagnoli  # noqa: E402
import tool_case  # noqa: E402
from tool_case import Case, FLOAT, STRING, record, tensor  # noqa: E402

BYTES = {'crc32c': 4, 'xxh3': 8, 'md5': 16}
KINDS = list(BYTES)
FLOAT32 = 1  # of opdump's own numbers


def crc32c(data):
    return struct.pack('<I', castagnoli.crc32c(data))


def number(value):
    out = b''
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def text(value):
    return number(len(value)) + value.encode()


def operator(called, model, kind, name, inputs=0, outputs=1, shape=(2, 3)):
    out = number(1) + number(called) + number(1) + number(7) + number(3) + number(0)
    out += text(model) + text(kind) + text(name) + number(inputs) + number(outputs)
    for index in list(range(inputs)) + list(range(outputs)):
        size = 4
        for dim in shape:
            size *= dim
        out += number(index) + number(FLOAT32) + number(2) + number(size) + number(len(shape))
        out += b''.join(number(dim) for dim in shape)
    return out


def step(number_of_step, load=1):
    return number(0) + number(load) + number(number_of_step) + number(5)


def piece(kind, *entries):
    body = b''.join(entries)
    return bytes([0xd1, KINDS.index(kind) + 1]) + number(len(body)) + body


def digest(kind, value):
    """Some digest that tells `value` apart."""
    return hashlib.md5(str(value).encode()).digest()[:BYTES[kind]]


class Diff(Case):
    def run_of(self, name, value_at, ops=3, steps=4, kind='xxh3', model='net', time_dir='20260131130559'):
        """A run in which operator `op` has `value_at(step, op)` at each step; None: it is not there."""
        pieces = []
        for at in range(steps):
            entries = [step(at)]
            for op in range(ops):
                if value_at(at, op) is None:
                    continue
                if at == 0:
                    entries.append(operator(2 + op, model, 'Add', 'op%d' % op))
                entries.append(number(2 + op) + digest(kind, value_at(at, op)))
            pieces.append(piece(kind, *entries))
        return self.write('%s/%s/opdump.0.1795419852982675.digests' % (name, time_dir), b''.join(pieces))

    def diff(self, *arguments, expect=1):
        out, _ = self.run_tool('diff', *arguments, '--json', expect=expect)
        return json.loads(out)

    def test_equal_runs_are_the_same(self):
        for name in 'ABC':
            self.run_of(name, lambda at, op: (at, op))
        out, error = self.run_tool('diff', 'A', 'B', 'C')
        self.assertEqual(out, '3 runs, 12 tensors: all the same\n')
        self.assertEqual(error, '')
        self.assertTrue(self.diff('A', 'B', expect=0)['same'])

    def test_the_same_bytes_of_another_dtype_or_shape_differ(self):
        self.write('a/Relu.r.0.0.1.output.0.npy', tool_case.npy('<f4', (2, 2), bytes(range(16))))
        for dtype, shape in (('<f4', (4,)), ('<i4', (2, 2))):
            self.write('b/Relu.r.0.0.1.output.0.npy', tool_case.npy(dtype, shape, bytes(range(16))))
            self.assertIn('float32 [2,2] or ', self.diff('a', 'b')['differences'][0]['what'])
            self.run_tool('diff', 'a', '--write', 'signature')
            self.diff('signature', 'b')
            self.assertEqual(self.run_tool('verify', '--observer', 'a', 'b', expect=1)[0][:28], 'the dump changed the result:')
        self.assertTrue(self.diff('signature', 'a', expect=0)['same'])

    def test_the_first_by_step_then_by_execution_is_named(self):
        self.run_of('A', lambda at, op: (at, op))
        # op0 goes wrong at step 2 only, op2 and then op1 of the step after it at step 1.
        wrong = {(2, 0), (1, 2), (2, 1)}
        self.run_of('B', lambda at, op: (at, op, 'wrong') if (at, op) in wrong else (at, op))
        found = self.diff('A', 'B')
        self.assertEqual([(one['step'], one['op'], one['verdict']) for one in found['differences']],
                         [(1, 'op2', 'different'), (2, 'op0', 'different'), (2, 'op1', 'different')])
        self.assertEqual(found['differences'][0]['digests'],
                         [digest('xxh3', (1, 2))[::-1].hex(), digest('xxh3', (1, 2, 'wrong'))[::-1].hex()])
        out, _ = self.run_tool('diff', 'A', 'B', expect=1)
        self.assertIn('\nfirst: output 0 of op2 (Add) of net at step 1 is different: run 1 against run 2\n', out)

    def test_flaky_is_told_from_different(self):
        def old(at, op):
            return (at, op)

        def new(at, op):
            return (at, op, 'new') if op == 2 else (at, op)
        for run in range(3):
            # op1 races in one run of each build.
            def race(at, op, run=run):
                return (at, op, run) if op == 1 and at == run else None
            self.run_of('old%d' % run, lambda at, op: race(at, op) or old(at, op))
            self.run_of('new%d' % run, lambda at, op: race(at, op) or new(at, op))
        olds = ['old0', 'old1', 'old2']
        news = ['--against', 'new0', '--against', 'new1', '--against', 'new2']
        for found in (self.diff(*olds, *news), self.diff(*olds, 'new0', 'new1', 'new2')):
            verdicts = {}
            for one in found['differences']:
                verdicts.setdefault(one['op'], set()).add(one['verdict'])
            self.assertEqual(verdicts, {'op1': {'flaky'}, 'op2': {'different'}})
        out, _ = self.run_tool('diff', *olds, *news, expect=1)
        self.assertIn('first: output 0 of op1 (Add) of net at step 0 is flaky', out)

    def test_a_directory_of_several_dumps_is_a_side_of_several_runs(self):
        for side in 'AB':
            for run in range(3):
                self.run_of(side, lambda at, op: (at, op, side if op == 1 else 0, run if op == 2 and side == 'B' else 0),
                            time_dir='2026013113055%d' % run)
        found = self.diff('A', 'B')
        self.assertEqual(len(found['runs']), 6)
        self.assertEqual({(one['op'], one['verdict']) for one in found['differences']},
                         {('op1', 'different'), ('op2', 'flaky')})

    def test_what_a_run_lacks_is_missing(self):
        self.run_of('A', lambda at, op: (at, op))
        self.run_of('B', lambda at, op: None if op == 1 and at == 3 else (at, op))
        found = self.diff('A', 'B')
        self.assertEqual([(one['op'], one['step'], one['verdict'], one['digests'][1]) for one in found['differences']],
                         [('op1', 3, 'missing', '-')])

    def test_a_signature_stands_for_the_runs_it_was_made_of(self):
        for kind in KINDS:
            for run in range(3):
                self.run_of('R%d' % run, lambda at, op: (at, op, run if (at, op) == (2, 1) else 0), kind=kind)
            self.run_tool('diff', 'R0', 'R1', 'R2', '--write', 'golden.sig', expect=1)
            signature = self.read('golden.sig').decode()
            self.assertTrue(signature.startswith('opdump-signature,1,%s\ntensor,net,Add,op0,output,0,float32 [2,3]\n'
                                                 % kind))
            self.assertEqual(signature.count('~'), 1)
            self.run_tool('diff', 'golden.sig', 'R2')
            self.write('windows.sig', b'\xef\xbb\xbf' + signature.replace('\n', '\r\n').encode())
            self.run_tool('diff', 'windows.sig', 'R2')
            self.run_of('bad', lambda at, op: (at, op, 'x' if (at, op) == (3, 0) else 0), kind=kind)
            found = self.diff('golden.sig', 'bad')
            self.assertEqual([(one['op'], one['step']) for one in found['differences']], [('op0', 3)])
            self.run_tool('diff', 'golden.sig', '--write', 'again.sig')
            self.assertEqual(self.read('again.sig').decode(), signature)

    def test_a_signature_of_a_firmware_is_a_few_kilobytes(self):
        self.run_of('A', lambda at, op: (at, op), ops=10, steps=20, kind='crc32c')
        self.run_tool('diff', 'A', '--write', 'golden.sig')
        self.assertLess(len(self.read('golden.sig')), 3 * 1024)

    PLACE = '%s/20260131130559/0/net/1/0/Add.op%d.0.0.1589195081588018'

    def statistics(self, run, op, *cells, titles='Max Value,Min Value', shape='2,2'):
        self.write(self.PLACE % (run, op) + '.csv', 'Input/Output,Index,Data Size,Data Type,Format,Shape,%s\n'
                   'Output,0,16,DT_FLOAT,ND,"%s",%s\n' % (titles, shape, ','.join(cells)))

    def tensor(self, run, op, shape=(2,), data=struct.pack('<2f', 1, 2), dtype=FLOAT):
        self.write(self.PLACE % (run, op), record([], [tensor(dtype, shape, data)]))

    def say(self, *arguments, expect):
        return self.run_tool('diff', *arguments, expect=expect)[0].split('\n')[0]

    def test_statistics_are_compared_as_what_they_are(self):
        for run, cells in (('A', ('3', '-nan')), ('B', ('3.0', '-nan')), ('C', ('3', '1')), ('D', ('4', '1'))):
            self.tensor(run, 0)
            self.statistics(run, 1, *cells)
        self.assertEqual(self.say('A', 'B', expect=0), '2 runs, 2 tensors: 1 the same, statistics of 1 equal')
        told = self.diff('A', 'B', expect=0)
        self.assertEqual((told['complete'], told['same'], told['statistics_equal']), (True, False, 1))
        for run in 'CD':  # each column counts
            self.assertEqual(self.say('A', run, expect=1), '2 runs, 2 tensors: statistics of 1 differs, 1 the same')
        out, _ = self.run_tool('diff', 'C', 'D', expect=1)
        self.assertIn('first: output 0 of op1 (Add) of net at step 0 has other statistics: run 1 against run 2', out)
        told = self.diff('C', 'D')
        self.assertEqual([(one['op'], one['verdict'], one['statistics']) for one in told['differences']],
                         [('op1', 'different', True)])
        self.statistics('D', 1, '3', '1', shape='4')
        self.assertEqual(self.say('C', 'D', expect=1), '2 runs, 2 tensors: statistics of 1 differs, 1 the same')
        for run in 'AB':
            self.statistics(run, 2, '', '', shape='0,2')
        self.assertEqual(self.say('A', 'B', expect=0), '2 runs, 3 tensors: 1 the same, statistics of 1 equal, 1 without elements')

    def test_of_a_fleet_the_devices_that_leave_the_others_are_named(self):
        for run in range(1000):
            odd = {17: 1, 500: 2}.get(run, 9)  # the first operator that computes something else
            self.run_of('d%04d' % run, lambda at, op: (op, run) if op >= odd else op, ops=3, steps=1)
        runs = ['d%04d' % run for run in range(1000)]
        out, _ = self.run_tool('diff', '--fleet', *runs, expect=1)
        self.assertEqual(out.splitlines(), [
            '1000 runs, 3 tensors: 2 leave the others, 998 as most are at all tensors',
            '  d0017 from output 0 of op1 (Add) of net at step 0 on: 2 differ, 1 as most',
            '  d0500 from output 0 of op2 (Add) of net at step 0 on: 1 differ, 2 as most'])
        told = json.loads(self.run_tool('diff', '--fleet', '--json', *runs, expect=1)[0])
        self.assertEqual([(one['name'], one['op'], one['differs']) for one in told['outliers']],
                         [('d0017', 'op1', 2), ('d0500', 'op2', 1)])
        self.run_tool('diff', '--fleet', *runs[18:30], expect=0)
        self.run_tool('diff', '--fleet', *runs[:2], expect=2)
        for run in 'ABCD':
            self.statistics(run, 0, '4' if run == 'C' else '3', '1')
            self.statistics(run, 1, str(ord(run)), '1')
        os.remove(self.path('D', next(path for path in self.files('D') if '.op0.' in path)))
        self.assertEqual(self.run_tool('diff', '--fleet', *'ABCD', expect=1)[0].splitlines(), [
            '4 runs, 2 tensors: 1 leaves the others, 2 as most are where they could be compared, 1 not compared',
            '  C from output 0 of op0 (Add) of net at step 0 on: 1 differ, 1 not compared',
            *('  %s: 1 as most, 1 not compared' % run for run in 'AB'), '  D: 1 missing, 1 not compared'])
        told = json.loads(self.run_tool('diff', '--fleet', '--json', *'ABCD', expect=1)[0])
        self.assertEqual([(one['name'], one['agrees'], one['lacks'], one['not_compared']) for one in told['partial']],
                         [('A', 1, 0, 1), ('B', 1, 0, 1), ('D', 0, 1, 1)])

    def test_statistics_are_never_held_against_others_or_elements(self):
        self.statistics('A', 0, '3', '1')
        self.statistics('B', 0, '3', '1', titles='Max Value,Avg Value')
        self.tensor('C', 0)
        for runs in ('AB', 'AC', 'CA'):
            out, error = self.run_tool('diff', *runs, expect=2)
            self.assertEqual(out, '')
            self.assertIn('nothing is compared', error)
        for run in 'ABC':
            self.tensor(run, 1)
        self.assertEqual(self.say('A', 'B', expect=1), '2 runs, 2 tensors: 1 the same, 1 not compared')
        told = self.diff('A', 'B')
        self.assertEqual((told['same'], told['not_compared'], told['differences']), (False, 1, []))
        # What two of three runs have is compared, and the third is in no group.
        self.statistics('D', 0, '3', '2')
        self.tensor('D', 1)
        told = self.diff('A', 'B', 'D')
        self.assertEqual([(one['op'], one['groups']) for one in told['differences']], [('op0', [0, None, 1])])

    def test_what_a_privacy_keeps_is_compared_as_what_it_is(self):
        def replay(folder, keep, seed):
            ops = [{'name': 'op%d' % op, 'type': 'Add', 'outputs': [{'fill': 'random' if op in seed else 'ramp',
                                                                    'dtype': 'float32', 'shape': [4]}]} for op in range(2)]
            self.write('run.json', json.dumps({'models': [{'name': 'net', 'id': 1, 'ops': ops}]}))
            os.mkdir(self.path(folder))
            cut = {'op': 'op1'} if keep == 'shape' else {'op': 'op1', 'crop': [2]}
            self.write('c.json', json.dumps({'dump': {'dump_path': folder, 'dump_list': [{}]}, 'opdump': {
                'privacy': [dict({'keep': keep}, **more) for more in ({'op': 'op0'}, cut)]}}))
            self.run_tool('replay', 'run.json', '--config', 'c.json')
        for keep in ('stats', 'digest', 'shape'):
            for folder, seed in (('A', ()), ('B', ()), ('C', (1,))):
                replay(keep + folder, keep, seed)
        a, b, c = 'statsA', 'statsB', 'statsC'
        self.assertEqual(self.say(a, b, expect=0), '2 runs, 2 tensors: statistics of 2 equal')
        self.assertEqual(self.say(a, c, expect=1), '2 runs, 2 tensors: statistics of 1 differs, statistics of 1 equal')
        for runs in ((a, b), (b, a)):
            out, error = self.run_tool('verify', '--observer', *runs, expect=2)
            self.assertEqual(out, '')
            self.assertIn('nothing is proved: of 2 tensors that both have, there are equal statistics', error)
        out, _ = self.run_tool('verify', '--observer', a, c, expect=1)
        self.assertTrue(out.startswith('the dump changed the result: output 0 of op1'), out)
        a, b, c = 'digestA', 'digestB', 'digestC'
        self.assertEqual(self.say(a, b, expect=0), '2 runs, 2 tensors: all the same')
        self.assertEqual(self.say(a, c, expect=1), '2 runs, 2 tensors: 1 different, 1 the same')
        out, _ = self.run_tool('verify', '--observer', a, b, expect=1)  # the digest of a crop proves nothing of the rest
        self.assertTrue(out.startswith('not certain: 1 tensor that both have are equal, and of 1 tensor that'), out)
        self.run_tool('verify', '--observer', a, c, expect=1)
        for one in ('statsA', 'digestA'):
            _, error = self.run_tool('diff', one, '--write', 's', expect=2)
            self.assertIn('s: not written: the runs lack digests of all elements of 2 tensors', error)
            self.assertFalse(os.path.exists(self.path('s')))
        self.run_tool('diff', 'statsA', 'digestA', expect=2)
        for command in (('diff',), ('verify', '--observer')):
            out, error = self.run_tool(*command, 'shapeA', 'shapeB', expect=2)
            self.assertEqual(out, '')
            self.assertIn('shapeA: 2 tensors are kept as their shapes by the config: not compared', error)

    def test_md5_in_statistics_is_the_elements_own(self):
        md5 = hashlib.md5(b'elements').hexdigest()
        for run, cells in (('A', ('3', md5)), ('B', ('3', md5)), ('C', ('3', hashlib.md5(b'others').hexdigest()))):
            self.statistics(run, 0, *cells, titles='Max Value,MD5')
        self.assertEqual(self.say('A', 'B', expect=0), '2 runs, 1 tensor: all the same')
        self.run_tool('verify', '--observer', 'A', 'B')
        self.assertEqual(self.say('A', 'C', expect=1), '2 runs, 1 tensor: 1 different')
        self.run_tool('verify', '--observer', 'A', 'C', expect=1)

    def test_bytes_that_are_not_there_are_not_the_same(self):
        for run in 'AB':
            self.tensor(run, 0)
            self.tensor(run, 1, data=b'')
            self.tensor(run, 2, data=b'1234567')
            self.tensor(run, 3, shape=None, data=b'')
            self.tensor(run, 4, dtype=STRING, data=b'')
        out, error = self.run_tool('diff', 'A', 'B', expect=1)
        self.assertEqual(out, '2 runs, 5 tensors: 1 the same, 4 not compared, without those that could not be read\n')
        self.assertIn('A: 4 tensors lack bytes that their shapes need, and statistics: not compared', error)
        out, _ = self.run_tool('verify', '--observer', 'A', 'B', expect=1)
        self.assertIn('nothing is proved', out)
        self.run_tool('diff', 'A', '--write', 's', expect=2)
        # In digests of a device too, and where another run lacks the tensor.
        for run, size in (('C', 0), ('D', 0), ('E', 24)):
            told = operator(2, 'net', 'Add', 'op0').replace(number(24) + number(2), number(size) + number(2))
            self.write(run + '/20260131130559/opdump.0.1.digests',
                       piece('xxh3', step(0), told, number(2) + digest('xxh3', 1)))
        self.run_tool('diff', 'C', 'D', expect=2)
        self.run_tool('diff', 'C', 'E', expect=2)
        self.run_tool('diff', 'C', '--write', 's', expect=2)
        self.run_tool('diff', 'E', '--write', 's')
        self.run_tool('diff', 's', 'E')
        self.tensor('F', 0)
        self.tensor('F', 1)
        self.tensor('G', 0)
        self.tensor('G', 1, data=b'')
        self.tensor('G', 2, data=b'')
        told = self.diff('F', 'G')
        self.assertEqual([(one['op'], one['verdict']) for one in told['differences']], [('op2', 'missing')])
        self.assertEqual(told['not_compared'], 1)

    def test_tensors_of_no_elements_are_told_apart_and_prove_nothing(self):
        for run in 'AB':
            self.tensor(run, 0, shape=(0, 4), data=b'')
        self.assertEqual(self.say('A', 'B', expect=0), '2 runs, 1 tensor: 1 without elements')
        _, error = self.run_tool('verify', '--observer', 'A', 'B', expect=1)
        self.assertIn('nothing is proved', error)
        self.tensor('B', 0, shape=(1, 1), data=b'1234')
        self.assertEqual(self.say('A', 'B', expect=1), '2 runs, 1 tensor: 1 different')

    def test_what_a_signature_does_not_hold_is_counted(self):
        for run in 'AB':
            self.run_of(run, lambda at, op: (at, op, run if op == 1 else 0))
        self.run_tool('diff', 'A', 'B', '--write', 's', expect=1)
        self.assertEqual(self.say('s', 'A', expect=0),
                         "2 runs, 12 tensors: 8 the same, 4 not held against a run, as '~' in a signature")

    def test_digests_are_those_of_the_bytes_in_a_dump(self):
        data = {op: os.urandom(4 * 6) for op in range(3)}
        for op, content in data.items():
            self.write('dump/20260131130559/0/net/7/0/Add.op%d.3.0.%016d' % (op, 1589195081588018 + op),
                       record([], [tensor(FLOAT, [2, 3], content)]))
        for kind, make in (('crc32c', crc32c), ('md5', lambda content: hashlib.md5(content).digest())):
            entries = [step(0)]
            for op, content in data.items():
                entries += [operator(2 + op, 'net', 'Add', 'op%d' % op), number(2 + op) + make(content)]
            self.write('digests/20260131130559/opdump.0.1.digests', piece(kind, *entries))
            self.run_tool('diff', 'digests', 'dump')
            self.run_tool('diff', 'dump', 'digests')
        self.assertTrue(self.diff('dump', 'dump', expect=0)['algorithm'] == 'xxh3')

    def test_what_the_device_writes_is_what_its_dump_has(self):
        self.write('run.json', json.dumps({'steps': 3, 'models': [{'name': 'my net', 'id': 1, 'ops': [
            {'name': 'a.b/c', 'type': 'Conv2D', 'inputs': [{'fill': 'random', 'dtype': 'int8', 'shape': [7]}],
             'outputs': [{'fill': 'random', 'dtype': 'float16', 'shape': [3, 5]},
                         {'fill': 'ramp', 'dtype': 'float32', 'shape': []}]},
            {'name': 'fc', 'type': 'MatMul', 'outputs': [{'fill': 'random', 'dtype': 'int4', 'shape': [9]}]}]}]}))
        # In a NumPy file an int4 takes a byte.
        numpy_differs = [('fc', at) for at in range(3)]

        def replay(folder, options):
            os.mkdir(self.path(folder))
            self.write(folder + '.json', json.dumps({'dump': {'dump_path': folder, 'dump_mode': 'all', 'dump_list': [{}]},
                                                     'opdump': options}))
            self.run_tool('replay', 'run.json', '--config', folder + '.json')
            self.run_tool('verify', folder)
            self.run_tool('verify', folder, '--config', folder + '.json', '--model', 'run.json')
        replay('tensors', {})
        replay('arrays', {'file_format': 'npy'})
        for kind in KINDS:
            replay(kind, {'digest': kind})
            replay(kind + '_gaps', {'digest': kind, 'journal': 'gaps'})
            self.assertEqual(len(glob.glob(self.path(kind, '*', '*'))), 2)
            for other in ('tensors', kind + '_gaps'):
                self.assertEqual(self.diff(kind, other, expect=0)['tensors'], 12)
            self.assertEqual([(one['op'], one['step']) for one in self.diff(kind, 'arrays')['differences']],
                             numpy_differs)
            out, _ = self.run_tool('verify', '--observer', kind, 'tensors')
            self.assertIn('12 tensors that both have are equal', out)
        out, error = self.run_tool('diff', 'xxh3', 'md5', expect=2)
        self.assertIn('has md5 digests, and', error)

    def test_verify_misses_digests_that_are_gone(self):
        self.write('run.json', json.dumps({'steps': 9, 'models': [{'name': 'net', 'id': 1, 'ops': [
            {'name': 'a', 'type': 'A', 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [7]}]}]}]}))
        for journal in ('records', 'gaps'):
            folder = 'dump_' + journal
            os.mkdir(self.path(folder))
            self.write('c.json', json.dumps({'dump': {'dump_path': folder, 'dump_list': [{}]},
                                             'opdump': {'digest': 'crc32c', 'journal': journal}}))
            self.run_tool('replay', 'run.json', '--config', 'c.json')
            path = glob.glob(self.path(folder, '*', '*.digests'))[0]
            with open(path, 'rb') as file:
                whole = file.read()
            for part in (whole[:-1], whole[:-9], b''):
                with open(path, 'wb') as file:
                    file.write(part)
                self.run_tool('verify', folder, expect=1)
            os.remove(path)
            self.run_tool('verify', folder, expect=1)

    def test_a_journal_tells_ranges_of_records_with_digests(self):
        content = b''.join(piece('crc32c', step(at), *([operator(2, 'net', 'Add', 'a')] if at == 0 else []),
                                 number(2) + digest('crc32c', at)) for at in range(4))
        self.write('d/20260131130559/opdump.0.1795419852982675.digests', content)
        counts = '4,4,0,0,0,0,0,0,0,0,0,0,4'

        def journal(*lines, detail='records'):
            self.write('d/20260131130559/opdump.0.1795419852982675.journal',
                       'opdump-journal,1,%s\n' % detail + ''.join(line + '\n' for line in lines))
        journal('from,0,0', 'digests,0,0,3,%d' % len(content), 'to,0,4', 'closed,' + counts)
        self.run_tool('verify', 'd')
        journal('from,0,0', 'to,0,4', 'closed,' + counts, detail='gaps')
        self.run_tool('verify', 'd')
        size = len(content)
        for bad in (['digests,0,0,2,%d' % size], ['digests,0,1,3,%d' % size], ['digests,0,0,4,%d' % size],
                    ['digests,0,3,0,%d' % size], ['digests,0,0,3,%d' % (size + 1)], ['digests,0,0,3'],
                    ['digests,0,0,3,%d,x' % size], ['digests,0,0,3,%d' % size, 'digests,0,3,3,0']):
            journal('from,0,0', *bad, 'to,0,4', 'closed,' + counts)
            self.run_tool('verify', 'd', expect=1)
        journal('from,0,0', 'digests,0,0,3,%d' % size, 'to,0,4', 'closed,' + counts, detail='gaps')
        self.run_tool('verify', 'd', expect=1)

    def test_damaged_digests_are_an_error_and_no_crash(self):
        path = self.run_of('A', lambda at, op: (at, op))
        self.run_of('B', lambda at, op: (at, op))
        with open(path, 'rb') as file:
            whole = file.read()
        for at in range(len(whole)):
            for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:]):
                if at % 7 and len(whole) > 200:
                    continue
                with open(path, 'wb') as file:
                    file.write(damaged)
                self.run_tool('diff', 'A', 'B', expect=(0, 1))
        self.write('A/20260131130559/opdump.0.1795419852982675.digests', b'XX' + whole)
        _, error = self.run_tool('diff', 'A', 'B', expect=1)
        self.assertIn('at byte 0: no piece of digests begins so', error)

    def test_names_that_a_log_has_overwritten_are_noted(self):
        self.write('A/opdump.0.1.digests', piece('xxh3', step(0), number(2) + digest('xxh3', 1)) +
                   piece('xxh3', step(1), operator(2, 'net', 'Add', 'a'), number(2) + digest('xxh3', 2)))
        self.write('B/opdump.0.1.digests',
                   piece('xxh3', step(1), operator(2, 'net', 'Add', 'a'), number(2) + digest('xxh3', 2)))
        out, error = self.run_tool('diff', 'A', 'B')
        self.assertIn('1 tensor: all the same', out)
        self.assertIn('names are overwritten', error)

    def test_nothing_is_the_same_or_proved_where_a_record_cannot_be_read(self):
        values = struct.pack('<6f', *range(6))
        for name in 'AB':
            for op in range(2):
                self.write('%s/20260131130559/0/net/1/0/Add.op%d.0.0.15891950815880%d' % (name, op, op),
                           record([], [tensor(FLOAT, [2, 3], values)]))
        self.run_tool('diff', 'A', 'B', '--write', 'before')
        self.run_tool('verify', '--observer', 'A', 'B')
        cut = 'A/20260131130559/0/net/1/0/Add.op1.0.0.158919508158801'
        self.write(cut, self.read(cut)[:-4])
        out, error = self.run_tool('diff', 'A', 'A', expect=1)
        self.assertIn('without those that could not be read', out)
        self.assertIn(cut, error)
        told = self.diff('A', 'A')
        self.assertEqual((told['complete'], told['same']), (False, False))
        _, error = self.run_tool('diff', 'A', '--write', 'after', expect=1)
        self.assertIn('after: not written', error)
        self.assertFalse(os.path.exists(self.path('after')))
        out, _ = self.run_tool('verify', '--observer', 'A', 'B', expect=1)
        self.assertTrue(out.startswith('nothing is proved: 1 tensor'), out)
        out, _ = self.run_tool('verify', '--observer', 'A', 'B', '--json', expect=1)
        self.assertEqual(json.loads(out), {'common': 1, 'different': 0, 'unproved': 0, 'complete': False,
                                           'unchanged': False})
        os.remove(self.path(cut))
        os.symlink('nowhere', self.path(cut))
        self.run_tool('diff', 'A', 'A', expect=1)

    def test_damaged_signatures_name_their_line(self):
        self.run_of('A', lambda at, op: (at, op))
        self.run_tool('diff', 'A', '--write', 's')
        lines = self.read('s').decode().split('\n')
        for at, line, reason in ((1, 'tensor,net', 'not a tensor'), (4, 'step,x', 'not a step'),
                                 (5, '0 12', 'not a digest'), (5, '7 ~', 'a digest of no tensor'),
                                 (4, '0 ~', 'digests without')):
            bad = list(lines)
            bad[at] = line
            self.write('bad', '\n'.join(bad))
            _, error = self.run_tool('diff', 'A', 'bad', expect=1)
            self.assertIn('bad: line %d: %s' % (at + 1, reason), error)
        self.write('bad', '\n'.join(['opdump-signature,2,xxh3'] + lines[1:]))
        self.run_tool('diff', 'A', 'bad', expect=1)

    def test_runs_of_other_models_are_refused_unless_told(self):
        self.run_of('A', lambda at, op: (at, op))
        self.run_of('B', lambda at, op: (at, op), model='other')
        _, error = self.run_tool('diff', 'A', 'B', expect=2)
        self.assertIn("B: is of model 'other', and A of model 'net'", error)
        self.assertEqual({one['verdict'] for one in self.diff('A', 'B', '--any-model')['differences']}, {'missing'})

    def card(self, folder, sha256):
        self.write(folder + '/20260131130559/opdump.0.7.model.json', json.dumps(
            {'opdump_model': 1, 'name': 'net', 'sha256': sha256, 'id': 7, 'ops': []}))

    def test_runs_of_other_files_of_a_model_are_refused_unless_told(self):
        for folder in 'ABC':
            self.run_of(folder, lambda at, op: (at, op))
        self.run_tool('diff', 'A', 'B', 'C')
        self.card('A', 'a' * 64)
        self.card('B', 'b' * 64)
        self.run_tool('diff', 'A', 'C')
        _, error = self.run_tool('diff', 'A', 'B', expect=2)
        self.assertIn("model 'net' is another one in A (SHA-256 aaaaaaaaaaaa...) than in B (bbbbbbbbbbbb...); "
                      "'--any-model' compares them", error)
        self.run_tool('diff', 'A', 'B', '--any-model')
        self.card('B', 'a' * 64)
        self.run_tool('diff', 'A', 'B')
        self.run_tool('diff', 'A', '--write', 'golden.sig')
        self.assertIn('model,net,%s\n' % ('a' * 64), self.read('golden.sig').decode())
        self.run_tool('diff', 'golden.sig', 'B')
        self.card('B', 'b' * 64)
        self.run_tool('diff', 'golden.sig', 'B', expect=2)

    def test_compare_refuses_other_files_of_a_model_unless_told(self):
        for folder, sha256 in (('A', 'a' * 64), ('B', 'b' * 64)):
            self.write(folder + '/20260131130559/0/net/7/0/Add.op.3.0.1589195081588018',
                       record([], [tensor(FLOAT, [2], b'12345678')]))
            self.card(folder, sha256)
        _, error = self.run_tool('compare', '-m', 'A', '-g', 'B', expect=2)
        self.assertIn("model 'net' is another one in my dump", error)
        self.run_tool('compare', '-m', 'A', '-g', 'B', '--any-model')
        self.card('B', 'a' * 64)
        self.run_tool('compare', '-m', 'A', '-g', 'B')

    def test_commas_in_names_do_not_break_a_signature(self):
        for name in 'AB':
            self.write(name + '/opdump.0.1.digests', piece('md5', step(0), operator(2, 'n,t', 'A,d', 'a,b c'),
                                                           number(2) + digest('md5', 1)))
        self.run_tool('diff', 'A', '--write', 's')
        self.run_tool('diff', 's', 'B')

    def test_observer(self):
        # Once with the final output alone, once with everything.
        self.run_of('alone', lambda at, op: (at, op) if op == 2 else None)
        self.run_of('all', lambda at, op: (at, op))
        self.run_of('changed', lambda at, op: (at, op, 'x') if (at, op) == (1, 2) else (at, op))
        self.run_of('others', lambda at, op: (at, op) if op == 1 else None)
        out, _ = self.run_tool('verify', '--observer', 'alone', 'all')
        self.assertEqual(out, 'the dump did not change the result: 4 tensors that both have are equal\n')
        out, _ = self.run_tool('verify', '--observer', 'alone', 'changed', expect=1)
        self.assertEqual(out, 'the dump changed the result: output 0 of op2 (Add) of net at step 1 is the first of 1 '
                              'tensor that differs, of 4 that both have\n')
        out, _ = self.run_tool('verify', '--observer', 'alone', 'changed', '--json', expect=1)
        self.assertEqual(json.loads(out), {
            'common': 4, 'different': 1, 'unproved': 0, 'complete': True, 'unchanged': False, 'first': {
                'model': 'net', 'type': 'Add', 'op': 'op2', 'role': 'output', 'index': 0, 'step': 1}})
        _, error = self.run_tool('verify', '--observer', 'alone', 'others', expect=1)
        self.assertIn('have no tensor in common', error)
        self.run_tool('verify', '--observer', 'alone', expect=2)
        self.run_tool('verify', '--observer', 'alone', 'all', '--quick', expect=2)

    def test_other_commands_say_what_reads_digests(self):
        self.run_of('A', lambda at, op: (at, op))
        _, error = self.run_tool('show', 'A', expect=1)
        self.assertIn("passed over, holds digests, which 'opdump diff' compares", error)

    def test_usage(self):
        self.run_of('A', lambda at, op: (at, op))
        self.run_tool('diff', expect=2)
        self.run_tool('diff', 'A', expect=2)
        self.run_tool('diff', 'A', 'missing', expect=1)
        out, _ = self.run_tool('diff', '--help')
        self.assertIn('opdump diff RUN', out)

    def processor_time(self, *arguments):
        """The output, and the seconds that processors worked for it: other load adds little to them."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out, _ = self.run_tool(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return out, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_a_hundred_runs_of_ten_thousand_tensors_take_a_second(self):
        """That where OPDUMP_TIMED says that the machine is for it alone; everywhere, no more than so many runs should take
        of what a tenth of them take."""
        self.skip_under_sanitizers()
        self.run_of('R', lambda at, op: (at, op), ops=10000, steps=1)
        path = glob.glob(self.path('R', '*', '*.digests'))[0]
        with open(path, 'rb') as file:
            whole = file.read()
        for runs in (10, 100):
            for run in range(runs):
                self.write('%d/%014d/opdump.0.1.digests' % (runs, 20260131130559 + run), whole)
        best, few, many = 1e9, 1e9, 1e9
        for _ in range(3):
            few = min(few, self.processor_time('diff', '10')[1])
            begin = time.monotonic()
            out, used = self.processor_time('diff', '100')
            best, many = min(best, time.monotonic() - begin), min(many, used)
        self.assertEqual(out, '100 runs, 10000 tensors: all the same\n')
        print('100 runs of 10000 tensors: %.2f s; processors worked %.2f s, and %.2f s for 10 runs' % (best, many, few))
        self.assertLess(many, 2 * 10 * few)
        if os.environ.get('OPDUMP_TIMED'):
            self.assertLess(best, 1)


if __name__ == '__main__':
    tool_case.main()
