#!/usr/bin/env python3
"""Tests of how cards of models are read, from outside: tool_card_test.py OPDUMP CARD_MAKER [unittest arguments].

NumPy works out what quantised tensors stand for; without it those tests are skipped. With OPDUMP_GGML naming a
libggml-base.so, blocks are compared with what ggml makes of them too.
"""
import ctypes
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import INT8, UINT8, Case, numpy, record, tensor  # noqa: E402

CARD_MAKER = os.path.abspath(sys.argv.pop(2))

FILE = 'Op.a.0.0.1589195081588018'


def halves(data, at, count=1):
    return data[:, at:at + 2 * count].copy().view('<f2').astype(numpy.float32)


def low_and_high(data):
    return numpy.concatenate([data & 15, data >> 4], axis=1).astype(numpy.int32)


def bits(data):
    """The bits of each row, the lowest of each byte first."""
    return numpy.unpackbits(data, axis=1, bitorder='little').astype(numpy.int32)


def simple(offset, fifth):
    def decode(data):
        codes = low_and_high(data[:, data.shape[1] - 16:])
        if fifth:
            at = 4 if offset else 2
            codes = codes + 16 * bits(data[:, at:at + 4])
        if offset:
            return codes * halves(data, 0) + halves(data, 2)
        return (codes - (16 if fifth else 8)) * halves(data, 0)
    return decode


def q8_0(data):
    return data[:, 2:].view(numpy.int8) * halves(data, 0)


def with_groups(fifth):
    def decode(data):
        packed = data[:, 4:16].astype(numpy.int32)
        first, second, last = packed[:, :4], packed[:, 4:8], packed[:, 8:]
        scales = numpy.concatenate([first & 63, last & 15 | first >> 6 << 4], axis=1)
        least = numpy.concatenate([second & 63, last >> 4 | second >> 6 << 4], axis=1)
        body = data[:, -128:].reshape(-1, 4, 1, 32)
        codes = numpy.concatenate([body & 15, body >> 4], axis=2).reshape(-1, 8, 32).astype(numpy.int32)
        if fifth:
            codes = codes + 16 * bits(data[:, 16:48]).reshape(-1, 32, 8).transpose(0, 2, 1)
        scale = (halves(data, 0) * scales.astype(numpy.float32))[:, :, None]
        return (scale * codes - (halves(data, 2) * least.astype(numpy.float32))[:, :, None]).reshape(-1, 256)
    return decode


def q6_k(data):
    low = data[:, :128].reshape(-1, 2, 1, 64)
    low = numpy.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, 32)
    high = data[:, 128:192].reshape(-1, 2, 1, 32) >> numpy.array([0, 2, 4, 6], numpy.uint8)[None, None, :, None] & 3
    codes = (low | high << 4).reshape(-1, 16, 16).astype(numpy.int32) - 32
    scales = data[:, 192:208].view(numpy.int8).astype(numpy.float32) * halves(data, 208)
    return (scales[:, :, None] * codes).reshape(-1, 256)


# By type: elements and bytes of a block, places of its 16-bit floats, and what the bytes of blocks stand for.
BLOCKS = {'Q4_0': (32, 18, [0], simple(False, False)), 'Q4_1': (32, 20, [0, 2], simple(True, False)),
          'Q5_0': (32, 22, [0], simple(False, True)), 'Q5_1': (32, 24, [0, 2], simple(True, True)),
          'Q8_0': (32, 34, [0], q8_0), 'Q4_K': (256, 144, [0, 2], with_groups(False)),
          'Q5_K': (256, 176, [0, 2], with_groups(True)), 'Q6_K': (256, 210, [208], q6_k)}


def card_of(*quants, **tensor):
    outputs = [dict(tensor, tensor='t%d' % i, **({'quant': quant} if quant else {})) for i, quant in enumerate(quants)]
    return json.dumps({'opdump_model': 1, 'name': 'net', 'ops': [{'name': 'a', 'type': 'Op', 'outputs': outputs}]})


@unittest.skipIf(numpy is None, 'there is no NumPy')
class Schemes(Case):
    """What `show` and `compare` make of the numbers of a tensor, against NumPy."""

    def check(self, stored, quant, reals, original=None):
        """`stored` is an array of integers, and `reals` what `quant` makes of it."""
        code = {'i1': INT8, 'u1': UINT8, 'i2': 6, 'i4': tool_case.INT32}[stored.dtype.str[1:]]
        self.write('card.json', card_of(quant))
        self.write('mine/' + FILE, record([], [tensor(code, stored.shape, stored.tobytes(), original=original)]))
        golden = reals.astype('<f4')
        self.write('golden/' + FILE, record([], [tensor(tool_case.FLOAT, golden.shape, golden.tobytes())]))
        shown = json.loads(self.run_tool('show', 'mine', '--json', '--model', 'card.json')[0])
        told = shown['records'][0]['tensors'][0]
        finite = reals[numpy.isfinite(reals)].astype(numpy.float64)
        numpy.testing.assert_allclose([told['real_min'], told['real_max'], told['real_mean']],
                                      [finite.min(), finite.max(), finite.mean()], rtol=1e-6, atol=1e-9)
        self.assertEqual(told['quant'], quant)
        limits = numpy.iinfo(stored.dtype)
        if 'at_least' in told:
            self.assertEqual([told['at_least'], told['at_most']],
                             [numpy.sum(stored == limits.min), numpy.sum(stored == limits.max)])
        out, error = self.run_tool('compare', 'mine', 'golden', '--model', 'card.json', '--json')
        self.assertEqual(error, '')
        compared = json.loads(out)
        self.assertNotIn('no scale is known', out)
        self.assertIn('1 equal', self.run_tool('compare', 'golden', 'mine', '--golden-model', 'card.json')[0])
        return told, compared

    def codes(self, dtype, *shape):
        limits = numpy.iinfo(dtype)
        numbers = numpy.random.default_rng(1).integers(limits.min, limits.max, shape, dtype, endpoint=True)
        numbers.flat[0], numbers.flat[1] = limits.min, limits.max
        return numbers

    def test_affine_for_the_tensor_and_along_each_axis(self):
        stored = self.codes(numpy.uint8, 3, 4, 700)
        for axis in (None, 0, 1, 2):
            count = 1 if axis is None else stored.shape[axis]
            scale = (numpy.arange(count) + 1) / numpy.float32(64)
            zero = numpy.arange(count) * 3 % 200
            quant = {'scheme': 'affine', 'axis': axis, 'scale': scale.tolist(), 'zero_point': zero.tolist()}
            shape = [1] * 3
            if axis is None:
                del quant['axis']
            else:
                shape[axis] = count
            told, _ = self.check(stored, quant, (stored - zero.reshape(shape).astype(float)) * scale.reshape(shape))
            self.assertIn('at_least', told)

    def test_powers_of_two_for_the_tensor_and_along_an_axis(self):
        stored = self.codes(numpy.int16, 5, 6)
        self.check(stored, {'scheme': 'pow2', 'exponent': [-9]}, stored * 2.0 ** -9)
        exponents = numpy.array([-12, -7, 0, 3, 5, -1])
        self.check(stored, {'scheme': 'pow2', 'axis': 1, 'exponent': exponents.tolist()}, stored * 2.0 ** exponents)
        text = self.run_tool('show', 'mine', '--model', 'card.json')[0]
        self.assertIn('scale 2^-12..5  axis 1  at the least', text)

    def test_a_table_for_the_tensor_and_along_an_axis(self):
        table = numpy.random.default_rng(2).normal(size=256).astype(numpy.float32)
        stored = self.codes(numpy.int8, 40, 30)
        self.check(stored, {'scheme': 'lut', 'table': [float(str(x)) for x in table], 'first': -128},
                   table[stored.astype(int) + 128])
        short = table.reshape(4, 64)[:, :16]
        stored = self.codes(numpy.uint8, 50, 4) % 16
        told, _ = self.check(stored, {'scheme': 'lut', 'axis': 1, 'table': [float(str(x)) for x in short.flat]},
                             short[numpy.arange(4), stored])
        self.assertNotIn('at_least', told)  # a table has no end at which anything saturates
        self.assertIn('table of 64 from', self.run_tool('show', 'mine', '--model', 'card.json')[0])

    def test_what_a_table_has_no_entry_for_is_no_number(self):
        self.write('card.json', card_of({'scheme': 'lut', 'table': [1, 2, 'inf']}))
        self.write('mine/' + FILE, record([], [tensor(UINT8, [5], bytes([0, 1, 1, 2, 3]))]))
        self.assertIn('real min 1  max 2  mean 1.66667  table of 3',
                      self.run_tool('show', 'mine', '--model', 'card.json')[0])

    def blocks(self, name, count):
        elements, size, floats, decode = BLOCKS[name]
        random = numpy.random.default_rng(3)
        data = random.integers(0, 256, (count, size), numpy.uint8)
        for at in floats:
            data[:, at:at + 2] = random.normal(size=(count, 1)).astype('<f2').view(numpy.uint8)
        quant = {'scheme': 'block', 'type': name, 'block_elements': elements, 'block_bytes': size}
        return data, quant, decode(data)

    def test_blocks(self):
        for name in BLOCKS:
            with self.subTest(type=name):
                # More than is read at once.
                data, quant, reals = self.blocks(name, 3000)
                rows = reals.reshape(30, -1)
                self.check(data.reshape(-1), quant, rows, original=rows.shape)
                self.check(data.reshape(30, -1), quant, rows)

    def test_blocks_are_those_of_ggml(self):
        if not os.environ.get('OPDUMP_GGML'):
            self.skipTest('OPDUMP_GGML names no library')
        ggml = ctypes.CDLL(os.environ['OPDUMP_GGML'])
        for name in BLOCKS:
            data, _, reals = self.blocks(name, 300)
            made = numpy.zeros(reals.size, numpy.float32)
            getattr(ggml, 'dequantize_row_' + name.replace('Q', 'q'))(
                data.ctypes.data_as(ctypes.c_void_p), made.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(made.size))
            numpy.testing.assert_allclose(reals.reshape(-1), made, rtol=2e-6, atol=1e-5, err_msg=name)

    def test_blocks_that_do_not_fit_or_are_not_known_stay_bytes(self):
        data, quant, _ = self.blocks('Q4_0', 4)
        for changes, size, said in (({}, 71, 'the blocks of the card do not fit this shape'),
                                    ({'type': 'IQ9'}, 72, 'not known for IQ9'),
                                    ({'block_bytes': 20}, 72, 'not known for Q4_0')):
            self.write('card.json', card_of(dict(quant, **changes)))
            for side in 'mine', 'golden':
                self.write(side + '/' + FILE, record([], [tensor(UINT8, [size], data.tobytes()[:size])]))
            self.assertIn(said, self.run_tool('show', 'mine', '--model', 'card.json')[0])
            self.assertIn('1 equal', self.run_tool('compare', 'mine', 'golden', '--model', 'card.json')[0])


def op(name, type_name, quant=None, **more):
    output = {'tensor': name, 'dtype': 'int8', 'shape': [4]}
    return dict(more, name=name, type=type_name, outputs=[dict(output, quant=quant) if quant else output])


class BesideTheJournal(Case):
    """Cards that lie in a dump are found without an option."""

    QUANT = {'scheme': 'affine', 'scale': [0.5], 'zero_point': [-4]}
    CARD = {'opdump_model': 1, 'name': 'my net', 'id': 7, 'ops': [op('conv', 'Conv2D', QUANT), op('relu', 'Relu')]}

    def dump(self, layer=('conv', 'relu')):
        """A dump of the card's model, and its directory."""
        os.mkdir(self.path('dump'))
        self.config(layer)
        self.write('run.json', json.dumps({'steps': 2, 'models': [{'name': 'my net', 'id': 7, 'ops': [
            {'name': part['name'], 'type': part['type'], 'outputs': [
                {'dtype': 'int8', 'shape': [4], 'fill': 'ramp'}]} for part in self.CARD['ops']]}]}))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        return os.path.join('dump', os.listdir(self.path('dump'))[0])

    def config(self, layer):
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [
            {'model_name': 'my net', 'layer': list(layer)}]}}))

    def card(self, place, number='0.7', **changes):
        return self.write(os.path.join(place, 'opdump.%s.model.json' % number), json.dumps(dict(self.CARD, **changes)))

    def forget_never(self, place):
        """As small code writes the journal, which tells nothing of what was never captured."""
        for name in os.listdir(self.path(place)):
            if name.endswith('.journal'):
                lines = self.read(place, name).decode().splitlines(True)
                self.write(os.path.join(place, name), ''.join(line for line in lines if ',never,' not in ',' + line))

    def test_show_takes_the_card_of_the_model(self):
        place = self.dump()
        self.card(place)
        self.card(place, '0.8', id=8, ops=[op('conv', 'Conv2D', dict(self.QUANT, scale=[99]))])
        for path in ('dump', place, place + '/0/my_net/7/1'):
            out, error = self.run_tool('show', path, '--step', '1')
            self.assertEqual((error, out.count('scale 0.5  zero point -4'), out.count('real')), ('', 1, 1), out)
        self.write('other.json', json.dumps(dict(self.CARD, ops=[op('conv', 'Conv2D', dict(self.QUANT, scale=[3]))])))
        self.assertIn('scale 3', self.run_tool('show', 'dump', '--model', 'other.json')[0])

    def test_of_two_cards_that_fit_none_is_used(self):
        place = self.dump()
        self.card(place)
        self.card(place, '0.7.2')
        for command in (('show', 'dump'), ('compare', 'dump', 'dump')):
            out, error = self.run_tool(*command)
            self.assertNotIn('real', out)
            self.assertEqual(error.count('no card is used for model "my net"'), 1, error)
            self.assertIn('are both of it; name one with --model', error)

    def test_a_damaged_card_is_told_and_left_out(self):
        place = self.dump()
        self.write(place + '/opdump.0.7.model.json', '{"opdump_model": 1, "name": "my net", "ops": [{}]}')
        out, error = self.run_tool('show', 'dump')
        self.assertNotIn('real', out)
        self.assertIn('opdump.0.7.model.json:1:47: ops[0].name: missing', error)

    def test_compare_takes_the_card_of_each_side(self):
        place = self.dump(['conv'])
        self.card(place)
        stored = struct.unpack('4b', self.read(place, '0', 'my_net', '7', '0', [
            name for name in os.listdir(self.path(place, '0', 'my_net', '7', '0'))][0])[-4:])
        golden = 'golden/%s/0/my_net/7/%d/Conv2D.conv.65535.65535.1589195081588018'
        for step in range(2):
            self.write(golden % ('20260131130559', step), record([], [tensor(
                tool_case.FLOAT, [4], tool_case.floats(*(0.5 * (value + 4) for value in stored)))]))
        self.assertIn('2 equal', self.run_tool('compare', 'dump', 'golden')[0])
        self.assertIn('2 equal', self.run_tool('compare', 'golden', 'dump')[0])
        os.remove(self.path(place, 'opdump.0.7.model.json'))
        self.assertIn('2 diverging', self.run_tool('compare', 'dump', 'golden', expect=1)[0])

    def test_a_card_that_counts_tasks_otherwise_tells_no_namesakes_apart(self):
        ops = [op('svdf', 'SVDF', dict(self.QUANT, scale=[scale]), task_id=task) for task, scale in enumerate((2, 4))]
        card = self.write('card.json', json.dumps(dict(self.CARD, ops=ops)))
        for first, told in ((0, 2), (1, 0)):
            shutil.rmtree(self.path('dump'), ignore_errors=True)
            for task in (first, first + 1):
                self.write('dump/20260131130559/0/my_net/7/0/SVDF.svdf.%d.0.%d' % (task, 1589195081588000 + task),
                           record([], [tensor(INT8, [2], b'\1\2')]))
            out = self.run_tool('show', 'dump', '--model', card)[0]
            self.assertEqual((out.count('scale'), out.count("counts tasks otherwise than the dump, where 'svdf' has 2")),
                             (told, 2 - told), out)
            error = self.run_tool('compare', 'dump', 'dump', '--model', card)[1]
            self.assertEqual('of 2 tensors of mine' in error and "where 'svdf' has 2" in error, not told, error)

    def test_verify_takes_cards_as_part_of_the_dump(self):
        place = self.dump()
        for number in ('0.7', '3.1', '0.7.2'):
            self.card(place, number)
        self.assertIn('complete', self.run_tool('verify', 'dump')[0])
        for name in ('opdump.0.model.json', 'opdump.0.x.model.json', 'opdump.1.2.3.4.model.json',
                     '0/opdump.0.7.model.json'):
            path = self.write(os.path.join(place, name), '{}')
            self.assertIn('in no journal', self.run_tool('verify', 'dump', expect=1)[0], name)
            os.remove(path)

    def test_verify_proves_a_dump_against_the_models_of_its_cards(self):
        place = self.dump()
        self.assertIn('no card beside a journal', self.run_tool('verify', 'dump', '--config', 'acl.json', expect=1)[0])
        self.card(place)
        self.run_tool('verify', 'dump', '--config', 'acl.json')
        self.config(['conv', 'relu', 'ghost'])
        untold = {'name': 'ghost', 'type': 'Add', 'outputs': [{'tensor': 'g'}]}
        self.card(place, ops=[*self.CARD['ops'], untold])
        out = self.run_tool('verify', 'dump', '--config', 'acl.json', expect=1)[0]
        self.assertRegex(out, r'never captured: the runtime did not offer it.*\n +Add\.ghost +my_net \(7\) +steps 0-1')
        untold['outputs'][0].update(dtype='int8', shape=[0])
        self.card(place, ops=[*self.CARD['ops'], untold])
        self.run_tool('verify', 'dump', '--config', 'acl.json')

    def test_verify_tells_what_no_card_has(self):
        place = self.dump(['conv', 'relu', 'rellu'])
        out = self.run_tool('verify', 'dump', expect=4)[0]
        self.assertIn('the model has no operator of that name', out)
        self.assertNotIn('did you mean', out)
        self.card(place)
        self.assertIn('the model has no operator of that name; did you mean "relu"?',
                      self.run_tool('verify', 'dump', expect=4)[0])
        self.forget_never(place)
        self.run_tool('verify', 'dump')
        out = self.run_tool('verify', 'dump', '--config', 'acl.json', expect=4)[0]
        self.assertIn('not in the models as their cards have them', out)
        self.assertIn('layer "rellu" of model "my net" matches nothing; did you mean "relu"?', out)
        found = json.loads(self.run_tool('verify', 'dump', '--config', 'acl.json', '--json', expect=4)[0])
        self.assertEqual([(f['kind'], f['closest']) for f in found['findings']], [('no_such', 'relu')])

    def test_overflow_tells_what_an_operator_is_made_of(self):
        place = 'dump/20260131130559'
        self.write(place + '/0/net/1/5/Conv2D.conv1.3.2.1589195081588018', record(
            [tensor(INT8, [2], b'\1\2')], [tensor(tool_case.FLOAT, [1], tool_case.floats(float('inf')))]))
        blob = bytearray(2048)
        struct.pack_into('<6Q', blob, 256, 1, 2, 3, 0, 0, 0)
        struct.pack_into('<3Q', blob, 1024, 0, 1, 0x110)
        self.write(place + '/0/net/1/5/Opdebug.Node_OpDebug.9.2.1589195081588019',
                   record([], [tensor(UINT8, [2048], bytes(blob))]))
        self.assertNotIn('made of', self.run_tool('overflow', 'dump')[0])
        card = json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
            {'name': 'pool', 'type': 'Pool', 'outputs': [{'tensor': 'other'}, {'tensor': 'p'}]},
            {'name': 'conv1', 'type': 'Conv2D', 'original_names': ['stem/conv', 'stem/bn'],
             'inputs': [{'tensor': 'p', 'quant': self.QUANT}], 'outputs': [{'tensor': 'c'}]}]})
        self.write('card.json', card)
        outs = [self.run_tool('overflow', 'dump', '--model', 'card.json')[0]]
        self.write(place + '/opdump.0.1.model.json', card)
        outs.append(self.run_tool('overflow', 'dump')[0])
        for out in outs:
            self.assertIn('   made of stem/conv, stem/bn\n', out)
            self.assertIn('input 0  int8 [2]  2 finite: min 1, max 2, mean 1.5, output 1 of pool\n'
                          '     scale 0.5  zero point -4  real min 2.5  max 3\n', out)
            self.assertIn('first bad operator: Conv2D conv1, made of stem/conv, stem/bn, model 1 (net)', out)


class OfAProgram(Case):
    """The cards of a program that attaches, from its calls to what the commands make of them."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path('dump'))
        self.write('acl.json', json.dumps({'dump': {'dump_path': self.path('dump'), 'dump_mode': 'all',
                                                    'dump_list': [{}]}, 'opdump': {'when_full': 'block', 'block_limit_ms': 60000}}))
        subprocess.run([CARD_MAKER, self.path('acl.json')], check=True, stderr=subprocess.DEVNULL)
        self.place = os.path.join('dump', os.listdir(self.path('dump'))[0])

    def test_cards_are_beside_the_journal_and_the_dump_is_complete(self):
        cards = sorted(name for name in os.listdir(self.path(self.place)) if name.endswith('.model.json'))
        self.assertEqual(cards, ['opdump.0.1.model.json', 'opdump.0.2.model.json'])
        fixed, dynamic = (json.loads(self.read(self.place, name)) for name in cards)
        self.assertEqual([fixed['runtime'], fixed['sha256']], ['maker 1.0', hashlib.sha256(b'model').hexdigest()])
        self.assertEqual(fixed['ops'][0]['original_names'], ['stem/conv', 'stem/bn'])
        self.assertEqual(dynamic['ops'], [{'index': 0, 'name': 'lookup', 'type': 'GatherND', 'inputs': [], 'outputs': [
            {'tensor': 'codes', 'dtype': 'uint8', 'quant': {'scheme': 'lut', 'table': [1, 2, 4, 8]}}]}])
        self.assertIn('complete', self.run_tool('verify', 'dump')[0])
        self.run_tool('verify', 'dump', '--config', 'acl.json')

    def test_show_tells_real_values(self):
        out = self.run_tool('show', 'dump', '--step', '1')[0]
        self.assertIn('real min -64  max 63.5  mean 0.125  scale 0.5  zero point 128  '
                      'at the least 25 %  at the most 25 %', out)
        # The output of one operator is the input of the next, which names the same tensor.
        self.assertEqual(out.count('real min -32  max 254  mean 56.125  scale 2^-2..1  axis 1'), 2)
        self.assertIn('real min 1  max 8  mean 3.25  table of 4 from 1..8', out)

    def test_check_and_edges_read_them(self):
        card = os.path.join(self.place, 'opdump.0.1.model.json')
        self.assertIn('2 of 2 operators: "conv", "relu"', self.run_tool('check', 'acl.json', '--model', card)[0])
        self.assertIn('relu', self.run_tool('edges', 'dump', '--model', card)[0])


class Refusals(Case):
    def test_a_damaged_quantisation_is_refused(self):
        os.mkdir(self.path('dump'))
        for quant, said in (('{"scheme": "cubic"}', 'scheme: one of "affine", "pow2", "block", "lut"'),
                            ('{"scheme": "affine"}', 'scale: missing'),
                            ('{"scheme": "affine", "scale": [1, 2], "zero_point": [1]}', 'as many as scales'),
                            ('{"scheme": "affine", "scale": ["1"]}', 'a string instead of a number'),
                            ('{"scheme": "affine", "scale": [1e99]}', 'no such number is a float'),
                            ('[]', 'quant: an array instead of an object'),
                            ('{"scheme": "affine", "scale": [1], "zero_point": [1.5]}', 'no such number is a whole'),
                            ('{"scheme": "affine", "scale": [1], "axis": 32}', 'up to 32 dims'),
                            ('{"scheme": "affine", "scale": ["infinite"]}', 'a string instead of a number'),
                            ('{"scheme": "affine", "scale": [1], "exponent": [1]}', 'exponent: unknown key'),
                            ('{"scheme": "pow2"}', 'exponent: missing'),
                            ('{"scheme": "pow2", "exponent": [1, 128]}', 'from -149 to 127'),
                            ('{"scheme": "pow2", "exponent": [-1e2]}', 'no such number is a whole'),
                            ('{"scheme": "block", "block_elements": 1, "block_bytes": 1}', 'type: missing'),
                            ('{"scheme": "block", "type": "Q4_0", "block_bytes": 1}', 'block_elements: missing'),
                            ('{"scheme": "block", "type": "Q4_0", "block_elements": 1}', 'block_bytes: missing'),
                            ('{"scheme": "lut", "table": []}', 'table: missing'),
                            ('{"scheme": "lut", "table": [1], "first": "0"}', 'a string instead of a number')):
            self.write('card.json', card_of(None)[:-5] + ', "quant": ' + quant + '}]}]}')
            self.assertIn(said, self.run_tool('show', 'dump', '--model', 'card.json', expect=1)[1])


if __name__ == '__main__':
    tool_case.main()
