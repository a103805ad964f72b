#!/usr/bin/env python3
"""`opdump why`: the first line names the operator and the kind of fault, in the words of the one judge; healthy runs name
nobody, and what cannot be judged is told; and `opdump edges`, by which why knows who wrote what.

why_test.py OPDUMP [unittest arguments]. Standard library only.
"""
import html
import json
import math
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from planted_network import CODES, Fault, Network, NAMES, OPS, PlantedCase, Run, STEPS  # noqa: E402
from tool_case import FLOAT, INT8, UINT8, floats, npy, record, tensor  # noqa: E402

PAIRS = [('float32', 'float32'), ('float16', 'float32'), ('int8', 'float32'), ('int8', 'int8')]
WITHOUT_JOURNAL = 'whether records were lost: the dump has no journal'


class Spoilt(Fault):
    """A fault that a function makes of the right rows."""

    def __init__(self, op, rule):
        super().__init__('spoilt', op, 1)
        self.rule = rule

    def spoil(self, made, step):
        return made.like(v for row in self.rule(made.rows) for v in row)


class Late(Fault):
    """A fault from step 1 on."""

    def spoil(self, made, step):
        return super().spoil(made, step) if step else made


def inputs_of(before):
    return () if before is None else before if isinstance(before, tuple) else (before,)


class Why(PlantedCase):
    def why(self, *arguments, expect=1):
        """What both the JSON and the text say."""
        told = json.loads(self.run_tool('why', *arguments, '--json', expect=expect)[0])
        lines = self.run_tool('why', *arguments, expect=expect)[0].splitlines()
        self.assertEqual(lines[0], told['headline'])
        self.assertEqual(told['wrong'], expect == 1)
        for kind, title in (('evidence', 'evidence:'), ('others', 'also:'), ('not_judged', 'not judged:')):
            if told[kind]:
                begin = lines.index(title) + 1
                self.assertEqual(lines[begin:begin + len(told[kind])], ['  ' + line for line in told[kind]])
            else:
                self.assertNotIn(title, lines)
        return told

    def planted(self, pair, fault, seed=1, expect=1):
        network = Network(seed)
        self.put('golden', Run(network, pair[1]))
        self.put('mine', Run(network, pair[0], fault))
        return self.why('mine', '-g', 'golden', *self.cards(pair), expect=expect)

    def test_healthy_runs_name_nobody(self):
        for pair in (*PAIRS, ('float16', 'float16')):
            for seed in (1, 2):
                with self.subTest(pair=pair, seed=seed):
                    network = Network(seed)
                    self.put('golden', Run(network, pair[1]))
                    self.put('mine', Run(network, pair[0], noise=seed if pair[0] == 'float32' else 0))
                    for arguments in (('-g', 'golden', *self.cards(pair)), self.cards(pair)[:2]):
                        told = self.why('mine', *arguments, expect=0)
                        self.assertEqual(told['headline'], 'nothing is wrong in what could be judged')
                        self.assertNotIn('op', told)
                        self.assertEqual(told['evidence'], [])

    def test_the_first_line_tells_the_kind_of_fault(self):
        clean = {dtype: [{name: output for name, _, output in Run(Network(1), dtype).run(step)} for step in range(STEPS)]
                 for dtype in CODES}
        for pair in PAIRS:
            exact, low = pair[0] != 'int8', pair[0] == 'int8'
            for kind, op, said in (
                    ('doubled channel', 'conv1', 'index 3 of axis 0' + (", each 2 times golden's" if exact else '')),
                    ('wrong scale', 'conv1', "each 0.5 times golden's" if exact else "each 0.49"),
                    ('shifted rows', 'conv1', "; they are golden's, moved 5 places to the front, round the end"),
                    ('transposed', 'conv1', "golden's in another layout, with the axes in the order 1,0"),
                    ('saturated', 'conv3', 'all of them at the ends of mine, -0.7'),
                    ('too large', 'conv3', 'its integers are saturated' if low else "each 6 times golden's"),
                    ('stale step', 'gate', '; it is what it was at net/0, bit for bit, as if not written since'),
                    ('NaN', 'conv1', 'it is the first with NaN or infinity'),
                    ('swapped', 'sub0', 'its inputs 0 and 1 are swapped'),
                    ('other weight', 'conv1', 'its constant input 1 is another')):
                if kind == 'NaN' and low:
                    continue
                with self.subTest(pair=pair, kind=kind):
                    told = self.planted(pair, Fault(kind, op, 1, clean[pair[0]]))
                    self.assertIn(said, told['headline'])
                    step = 'net/1' if kind == 'stale step' else 'net/0'
                    begin = 'first cause: %s "%s" at %s, culprit: ' % (OPS[NAMES.index(op)][1], op, step)
                    self.assertTrue(told['headline'].startswith(begin), told['headline'])
                    self.assertEqual((told['op'], told['place'], told['certain']), (op, step, True))
                    self.assertEqual(told['evidence'][0], 'operator %d of 18 at %s' % (NAMES.index(op) + 1, step))

    def test_it_is_the_judge_of_compare(self):
        for kind, op in (('doubled channel', 'res'), ('missing', 'add0'), ('swapped', 'cat'), ('other inputs', None)):
            for pair in PAIRS:
                told = self.planted(pair, Fault(kind, op, 2), seed=2)
                judged = json.loads(self.run_tool('compare', 'mine', 'golden', '--json', *self.cards(pair), expect=1)[0])
                self.assertTrue(told['headline'].startswith(judged['headline']['text']), told['headline'])
                self.assertEqual(told['op'], judged['ops'][judged['headline']['op']]['name'])
                self.assertEqual(told['cause'], judged['headline']['cause'])

    def test_a_dump_of_the_same_precision_is_a_second_golden(self):
        """It has the operators that golden has not, and what it has as mine does is nobody's fault."""
        network, pair = Network(1), ('int8', 'float32')
        self.put('good', Run(network, 'int8'))
        for kind, op, step in (('doubled channel', 'add0', 0), ('other weight', 'conv1', 0), ('swapped', 'sub0', 0), ('stale step', 'gate', 1)):
            clean = [{name: output for name, _, output in Run(network, 'int8').run(step)} for step in range(STEPS)]
            self.put('golden', Run(network, 'float32'))
            self.put('mine', Run(network, 'int8', Fault(kind, op, 1, clean)))
            for path in self.files('golden'):
                if '.%s.' % op in path:
                    os.remove(self.path('golden', path))
            told = self.why('mine', '-g', 'golden', '-e', 'good', *self.cards(pair))
            self.assertEqual((told['op'], told['place'], told['certain']), (op, 'net/%d' % step, True), told['headline'])
            self.assertTrue(told['headline'].endswith('; so by the expected dump'), told['headline'])
            self.assertIn('; by the expected dump, 54 operators: ', told['judged'])
            judged = json.loads(self.run_tool('compare', 'mine', 'golden', '-e', 'good', '--json', *self.cards(pair), expect=1)[0])
            self.assertEqual((judged['headline']['text'], judged['headline']['cause']), (told['headline'], told['cause']))
            self.assertEqual(judged['ops'][judged['headline']['op']]['name'], op)
            self.run_tool('report', 'mine', '-g', 'golden', '-e', 'good', '-o', 'page.html', *self.cards(pair), expect=1)
            with open(self.path('page.html'), encoding='utf-8') as page:
                self.assertIn('F' + html.escape(told['headline'][1:]), page.read())
            alone = self.why('mine', '-g', 'golden', *self.cards(pair))
            self.assertFalse(alone['certain'] and alone['op'] != op and alone['cause'] != 'unwritten input', alone['headline'])
        self.assertFalse(self.why('good', '-g', 'golden', '-e', 'good', *self.cards(pair), expect=0)['certain'])
        self.put('golden', Run(network, 'float32'))
        for side in ('good', 'mine'):
            self.put(side, Run(network, 'int8', Fault('too large', 'conv3', 1)))
        told = self.why('mine', '-g', 'golden', '-e', 'good', '--limits', 'default', *self.cards(pair), expect=0)
        self.assertTrue(told['others'][0].startswith('as in the expected dump, so of its precision: first cause: Conv "conv3"'), told)

    def test_shapes_of_errors(self):
        def channels(rows):
            return [[v + 3 for v in row] if i in (2, 5) else row for i, row in enumerate(rows)]

        def one(rows):
            return [[v + 40 if (i, j) == (4, 7) else v for j, v in enumerate(row)] for i, row in enumerate(rows)]

        def tail(rows):
            return [[0 if i == 7 and j >= 6 else v for j, v in enumerate(row)] for i, row in enumerate(rows)]

        def late(rows):
            return [row[:] for row in rows[1:]] + [[9.5] * len(rows[0])]

        def column(rows):
            return [[-v if j == 11 else v for j, v in enumerate(row)] for row in rows]

        for rule, said in (
                (channels, ', all of indices 2 and 5 of axis 0, each 3 more than golden\'s'),
                (one, '1 of 288 elements is off, at [4,7]'),
                (tail, '30 of 288 elements are off, all at index 7 of axis 0, all of them 0, as if never written'),
                (late, '; they are golden\'s, moved 36 places (1 of axis 0) to the front, but for the last 36'),
                (column, '8 of 288 elements are off, all of index 11 of axis 1, each -1 times golden\'s'),
                (lambda rows: [[0] * len(row) for row in rows],
                 'all 288 elements are off, all of them 0, as if never written')):
            told = self.planted(('float32', 'float32'), Spoilt('conv0', rule))
            self.assertTrue(told['headline'].endswith(said), told['headline'])

    def test_only_what_is_true_of_all_wrong_elements_is_said(self):
        def most(rows):
            rows = [[v * 2 for v in row] if i == 3 else list(row) for i, row in enumerate(rows)]
            rows[6][20] += 5
            return rows
        told = self.planted(('float32', 'float32'), Spoilt('conv0', most))
        self.assertTrue(told['headline'].endswith('; 37 of 288 elements are off, all at indices 3 and 6 of axis 0'),
                        told['headline'])

    def test_values_of_another_tensor(self):
        network = Network(1)
        self.put('golden', Run(network, 'float32'))
        values = {name: output for name, _, output in Run(network, 'float32').run(0)}

        class Other(Fault):
            def spoil(self, made, step):
                return made.like(values['conv0'].flat()) if step == 0 else made
        self.put('mine', Run(network, 'float32', Other('other', 'conv2', 1)))
        told = self.why('mine', '-g', 'golden')
        self.assertIn('culprit', told['headline'])
        self.assertTrue(told['headline'].endswith('; it has the elements of output 0 of "conv0", bit for bit'), told['headline'])

    def flat(self, side, ops, step=0):
        """Operators of one output, each `(name, type, input, output)`, lists of float32 or bytes of int8; inputs in a tuple."""
        for turn, (name, kind, before, after) in enumerate(ops):
            def one(values, address=0):
                made = tensor(INT8, [len(values)], values, name=b'') if isinstance(values, bytes) else \
                    tensor(FLOAT, [len(values)], floats(*values), name=b'')
                return dict(made, address=address)
            self.write('%s/20260131130559/0/net/1/%d/%s.%s.%d.0.%016d' % (side, step, kind, name, turn, 1000 * step + turn + 1),
                       record([one(values, 0x1000 + 0x1000 * turn + 0x100 * i) for i, values in enumerate(inputs_of(before))],
                              [one(after, 0x2000 + 0x1000 * turn)]))

    def test_what_a_healthy_operator_makes_of_little_is_no_proof(self):
        """Choices, roundings and quotients turn over; of types that are not known nothing is."""
        golden = [1 + i % 7 / 4 for i in range(64)]
        mine = [v + (1e-6 if i % 2 else -1e-6) for i, v in enumerate(golden)]
        for kinds, compute in (('Floor FloorDiv Rint Trunc MyOwnKernel', math.floor), ('Greater NotEqual ArgMaxV2 TopKD Sort', lambda v: v >= 1),
                               ('Where SelectV2 MaskedFill Hardmax', lambda v: v if v >= 1 else 0), ('Div RealDiv Inv', lambda v: 1 / (v - 1 + 3e-6))):
            for kind in kinds.split():
                for side, values in (('mine', mine), ('golden', golden)):
                    self.flat(kind + side, [('r', 'Relu', values, values), ('it', kind, values, [float(compute(v)) for v in values])])
                told = self.why(kind + 'mine', '-g', kind + 'golden')
                self.assertEqual((told['op'], told['certain']), ('it', False), told['headline'])
                self.assertIn('its inputs are not equal, and such an operator may make much of little', told['headline'])

    def test_an_operator_that_is_no_function_of_its_inputs_is_not_accused(self):
        x = [float(i) for i in range(16)]
        for kinds, words in (('Dropout Bernoulli RandomNormalLike DropOutGenMask rand_like', 'its result is random'),
                             ('READ_VARIABLE VarHandleOp GRU UNIDIRECTIONAL_SEQUENCE_LSTM KvCache', 'it may read a state that is none of its inputs')):
            for kind in kinds.split():
                for side, factor in (('mine', 2), ('golden', 3)):
                    self.flat(kind + side, [('a', kind, x, [v * factor + 1 for v in x])], step=100)
                told = self.why(kind + 'mine', '-g', kind + 'golden')
                self.assertFalse(told['certain'], told['headline'])
                self.assertIn(words, told['headline'])

    def test_what_is_left_of_terms_that_cancel_out_is_rounding(self):
        weights = [.1, .1, .1, .1, -.8, .1, .1, .1, .1]
        for kind, inputs in (('Conv', ([.3] * 64, weights)), ('ReduceMean', [3, -3, 1, -1])):
            for side, value in (('mine', 1.5e-8), ('golden', -7e-9)):
                self.flat(kind + side, [('a', kind, inputs, [value] * 4)])
            told = self.why(kind + 'mine', '-g', kind + 'golden')
            self.assertFalse(told['certain'], told['headline'])
            self.assertIn('its terms cancel out', told['headline'])

    def test_weights_of_one_sign_add_up_what_all_elements_are_off_by(self):
        signal = [math.sin(i * i) for i in range(4096)]
        for side, offset in (('mine', .01), ('golden', 0)):
            read = [v + offset for v in signal]
            self.flat(side, [('a', 'MatMul', (read, [1 / 1024] * 1024), [sum(read[i:i + 1024]) / 1024 for i in range(0, 4096, 1024)])])
        self.assertFalse(self.why('mine', '-g', 'golden')['certain'])

    def test_products_of_short_numbers_are_no_proof_before_what_diverges(self):
        """As of HF32: a sum in float32 that is off by 2^-12, and no other one from equal inputs that shows better."""
        signal = [math.sin(i * i) for i in range(256)]
        for side, by in (('mine', 1 + 2**-12), ('golden', 1)):
            product = [v * by * (1 if i % 3 else 2 - by) for i, v in enumerate(signal)]
            near = [v * (1 + 1e-3 * math.cos(i)) for i, v in enumerate(product)]
            self.flat(side, [('mm', 'MatMul', (signal, [.5] * 16), product), ('r', 'Tanh', product, near),
                             ('d', 'Sub', (product, near), [(a - b) * (1.2 if side == 'mine' else 1) for a, b in zip(product, near)])])
        self.assertNotEqual(self.why('mine', '-g', 'golden')['op'], 'mm')

    def test_a_logarithm_or_root_of_what_is_just_beyond_has_no_number(self):
        for side, least in (('mine', -1e-9), ('golden', 1e-9)):
            values = [least, 1, 2, 3]
            self.flat(side, [('v', 'Sub', ([1, 1, 2, 3], [1, 0, 0, 0]), values),
                             ('s', 'Sqrt', values, [math.sqrt(v) if v >= 0 else math.nan for v in values])])
        told = self.why('mine', '-g', 'golden')
        self.assertEqual((told['op'], told['certain']), ('s', False), told['headline'])
        for kind, inputs in (('Log', [-1, 2]), ('Sqrt', [-1, 2]), ('Div', ([0, 1], [0, 1]))):
            self.flat(kind, [('a', kind, inputs, [math.nan, 1])])
            self.assertIn('all inputs of it are finite, but %s has no number for some of them' % kind, self.why(kind)['headline'])
        self.flat('lacks', [('a', 'Where', ([1, 0], [1, 2]), [math.nan, 1])])
        self.assertIn('not all of its inputs are in the dump', self.why('lacks')['headline'])

    def test_what_a_tester_gives_at_all_steps_is_no_constant_of_an_operator(self):
        for step in range(3):
            read = [math.sin(i + 7 * step) for i in range(16)]
            for side, by in (('mine', 2), ('golden', 1)):
                self.flat(side, [('r', 'Relu', read, read), ('t', 'Div', (read, [by]), [v / by for v in read])], step)
        told = self.why('mine', '-g', 'golden')
        self.assertEqual(told['cause'], 'unwritten input')
        self.assertIn('input 1 of Div "t" at net/0, a constant, an input of the model, or', told['headline'])

    def test_a_stale_operator_is_no_shift_of_its_step(self):
        for step in range(4):
            for side, stale in (('mine', max(0, step - 1)), ('golden', step)):
                gate = [math.sin(i + 5 * stale) for i in range(16)]
                self.flat(side, [('in', 'Relu', None, [math.cos(i + 3 * step) for i in range(16)]), ('gate', 'Tanh', None, gate),
                                 ('m', 'Mul', None, [v * 2 for v in gate])], step)
        told = self.why('mine', '-g', 'golden')
        self.assertEqual((told['op'], told['certain']), ('gate', False), told['headline'])

    def test_other_numbers_of_namesakes_are_ambiguous(self):
        x = [1.0, 2, 3]
        self.flat('mine', [('m', 'Mul', x, [v * by for v in x]) for by in (2, 3, 4)])
        self.flat('golden', [('m', 'Mul', x, [v * by for v in x]) for by in (2, 4)])
        self.assertEqual(self.why('mine', '-g', 'golden')['cause'], 'ambiguous')

    def test_operators_in_each_others_place(self):
        self.flat('golden', [('z', 'Conv', [1, 2], [3, -4]), ('a', 'Add', [3, -4], [5, -2]), ('b', 'Relu', [5, -2], [5, 0])])
        self.flat('mine', [('z', 'Conv', [1, 2], [3, -4]), ('b', 'Relu', [3, -4], [3, 0]), ('a', 'Add', [3, 0], [5, 2])])
        self.assertEqual(self.why('mine', '-g', 'golden')['headline'], 'first cause: Relu "b" at net/0, culprit: it reads another '
                         'tensor: its input 0 is the output of "z", which in golden it is not; golden\'s Add "a" runs behind it')

    def test_in_a_run_that_is_otherwise_exact_what_is_more_than_rounding_is_a_proof(self):
        """Within the limits too; but not in another dtype. One operator may be computed in another order."""
        def times(op, factor):
            return Spoilt(op, lambda rows: [[v * factor for v in row] for row in rows])
        fault, rounded = times('conv2', 1 + 2e-5), times('conv2', 1 + 2e-7)
        told = self.planted(('float32', 'float32'), fault)
        self.assertRegex(told['headline'], r'^first cause: Conv "conv2" at net/0, culprit: its 2 inputs are equal, output 0 is not '
                                           r'\(.*\), within the limits; whatever else has equal inputs has equal outputs$')
        for pair in (('float16', 'float32'), ('int8', 'float32')):
            self.planted(pair, fault, expect=0)
        self.planted(('float32', 'float32'), rounded, expect=0)
        for op in ('sigmoid0', 'relu2', 'res'):
            self.assertEqual(self.planted(('float32', 'float32'), times(op, 1 + 1e-4))['op'], op)
        right = [{name: made for name, _, made in Run(Network(1), 'int8').run(step)} for step in range(STEPS)]
        fault = Fault('other weight', 'conv2', 1)
        fault.spoil = lambda _, step: right[step]['conv2'].like(v * 1.02 for v in right[step]['conv2'].flat())
        self.assertIn('Conv "conv2" at net/0, culprit: its constant input 1 is another, output 0 is not (',
                      self.planted(('int8', 'int8'), fault)['headline'])
        self.assertFalse(self.planted(('int8', 'float32'), fault)['certain'])

    def test_since_when_is_told(self):
        for pair in PAIRS:
            told = self.planted(pair, Late('doubled channel', 'conv1', 1))
            self.assertEqual((told['op'], told['place'], told['certain']), ('conv1', 'net/1', True))
            self.assertIn('; from step 1 on, not at the 1 step before it', told['headline'])

    def test_another_layout_with_its_shape_is_told(self):
        values = [i * i % 23 - 7 for i in range(24)]
        for side, shape, made in (('golden', [1, 2, 3, 4], values), ('mine', [1, 3, 4, 2], [values[c * 12 + i] for i in range(12) for c in range(2)])):
            one = tensor(FLOAT, shape, floats(*made), name=b'')
            self.write(side + '/20260131130559/0/net/1/0/Conv.a.0.0.%016d' % 1, record([one], [one]))
        self.assertEqual(self.why('mine', '-g', 'golden', expect=0)['others'], [
            '2 tensors in another layout than golden\'s, the first input 0 of Conv "a" at net/0: taken as NHWC against NCHW'])

    def test_what_is_missing_accuses_nobody_behind_it(self):
        """Within the limits too; and one element that is off in what a convolution reads may be far off in what it writes."""
        read, out = [1 + i % 3 for i in range(399)] + [8], [i % 7 / 100 for i in range(400)]
        below, behind = [*read[:-1], 6], [*out[:-1], 0.3]
        def behind_it(read, out):
            return [('b', 'Mul', read, [v * 2 for v in read]), ('c', 'Conv', [v * 2 for v in read], out)]
        self.flat('golden', [('a', 'Add', [1] * 400, read), ('clip', 'Clip', read, below), *behind_it(below, out)])
        self.flat('mine', [('a', 'Add', [1] * 400, read), *behind_it(read, behind)])
        told = self.why('mine', '-g', 'golden')
        self.assertEqual((told['headline'], told['judged']), (
            'first cause: Clip "clip" is missing before Mul "b" at net/0: golden\'s input 0 is its output, mine agrees with what goes into it',
            '3 operators: 2 agree, 1 victim'))
        self.flat('golden alone', behind_it(below, out)[1:])
        self.flat('alone', behind_it(read, behind)[1:])
        self.assertFalse(self.why('alone', '-g', 'golden alone')['certain'])

    def test_what_runs_other_operators_is_not_judged_by_its_inputs(self):
        """Those read what they like of the network around them."""
        for last in (9, math.nan):
            for side, made in (('golden', [1, 2, 3, 4]), ('mine', [1, 2, 3, last])):
                self.flat(side, [('a', 'Conv', [1, 2], [3, 4]), ('b', 'If', [1], made)])
            told = self.why('mine', '-g', 'golden')
            self.assertEqual((told['op'], told['certain']), ('b', False))
            self.assertIn('; the operators that it runs may read more than its inputs', told['headline'])
        self.assertFalse(self.why('mine')['certain'])

    def test_arrays_of_one_operator_tell_times_of_their_own(self):
        for side, last in (('golden', 4), ('mine', 9)):
            for turn, name in enumerate(('a.0.0.%d.input.0', 'a.0.0.%d.input.1', 'a.0.0.%d.output.0', 'b.0.0.%d.input.0', 'b.0.0.%d.output.0')):
                self.write('%s/20260131130559/0/net/1/0/Conv.%s.npy' % (side, name % (1589195081588018 + turn)),
                           npy('<f4', [2], floats(turn, last if turn > 1 else 1)))
        told = self.why('mine', '-g', 'golden')
        self.assertEqual((told['op'], told['certain'], told['judged']), ('a', True, '2 operators: 1 culprit, 1 victim'))

    def test_an_infinity_of_golden_alone_is_off(self):
        self.flat('golden', [('a', 'Conv', [1, 2, 3, 9], [1, 2, 3, math.inf])])
        self.flat('mine', [('a', 'Conv', [1, 2, 3, 9], [1, 2, 3, 4])])
        self.assertEqual(self.why('mine', '-g', 'golden')['evidence'][-1], '  1 of 4 elements is off, at [3]')

    def test_without_golden_the_first_nan_is_a_proof(self):
        self.flat('mine', [('a', 'Conv', [1, 2], [3, 4]), ('b', 'Log', [3, 4], [5, math.nan]), ('c', 'Relu', [5, math.nan], [5, math.nan])])
        told = self.why('mine')
        self.assertEqual(told['headline'], 'first to be wrong: Log "b" at net/0: 1 of 2 elements of output 0 is NaN, the first '
                                           'of the dump: all inputs of it are finite')
        self.assertEqual((told['op'], told['type'], told['cause'], told['certain']), ('b', 'Log', 'not a number', True))
        self.assertEqual(told['judged'], '6 tensors looked at, without a golden dump; -g GOLDEN tells more')
        self.assertEqual(told['not_judged'], [WITHOUT_JOURNAL])

    def test_statistics_tell_the_first_nan(self):
        titles = 'Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count'
        rows = ('Input,0,16,DT_FLOAT,ND,2x2,4,0,2,4', 'Output,0,16,DT_FLOAT,ND,2x2,%s,0,2,4')
        for name, most, counts in (('counted', 4, (',0,0,0', ',3,0,0')), ('ranges', 'nan', ('', ''))):
            more = ',Nan Count,Negative Inf Count,Positive Inf Count' if counts[0] else ''
            self.write(name + '/Log.b.0.0.1589195081588018.csv',
                       '\n'.join([titles + more, rows[0] + counts[0], rows[1] % most + counts[1], '']))
        self.assertEqual(self.why('counted')['headline'], 'first to be wrong: Log "b": 3 of 4 elements of output 0 are NaN, the first of '
                                                          'the dump: all inputs of it are finite')
        self.assertEqual(self.why('ranges')['headline'], 'not certain: Log "b": output 0 has NaN, the first of the dump: its input 0 is '
                                                         'known by its range alone, and it may be a victim')

    def test_without_golden_what_is_no_proof_is_not_certain(self):
        inf = math.inf
        self.flat('later', [('a', 'Conv', [1, 2], [3, inf]), ('b', 'Sub', [3, inf], [0, math.nan])])
        told = self.why('later')
        self.assertEqual(told['headline'], 'not certain: Conv "a" at net/0: 1 of 2 elements of output 0 is infinity, the first of '
                                           'the dump; a mask may be so')
        self.assertFalse(told['certain'])
        self.assertEqual(told['others'], ['Sub "b" at net/0: 1 of 2 elements of output 0 is NaN, the first of the dump: its input '
                                          '0 has infinities, and it may be a victim'])
        self.flat('mask', [('a', 'Where', [1, 0], [0, -inf]), ('b', 'Add', [0, -inf], [2, -inf]), ('c', 'Softmax', [2, -inf], [1, 0])])
        told = self.why('mask', expect=0)
        self.assertEqual(told['others'], ['Where "a" at net/0: 1 of 2 elements of output 0 is negative infinity, the first of the '
                                          'dump; a mask may be so'])
        self.flat('outputs', [('a', 'Conv', None, [3, math.nan])])
        told = self.why('outputs')
        self.assertTrue(told['headline'].startswith('not certain: Conv "a"'), told['headline'])
        self.assertIn('its inputs are not in the dump, and it may be a victim', told['headline'])
        self.flat('given', [('a', 'Conv', [math.nan, 1], [math.nan, math.nan])])
        self.assertIn('not certain: Conv "a" at net/0: 1 of 2 elements of input 0 is NaN, the first of the dump: a constant, an '
                      'input of the model', self.why('given')['headline'])

    def test_without_golden_saturated_integers(self):
        ends = bytes([127, 127, 128, 3])
        self.flat('mine', [('a', 'Conv', bytes([1, 2, 3, 4]), ends), ('b', 'Relu', ends, bytes([127, 127, 0, 3]))])
        told = self.why('mine', expect=0)
        self.assertEqual(told['others'], ['Conv "a" at net/0: 75 % of the elements of output 0 are at the ends of int8, which may '
                                          'stand for 0: no card tells it'])
        quant = {'scheme': 'affine', 'scale': [0.1], 'zero_point': [0]}
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'id': 1, 'ops': [
            {'name': 'a', 'type': 'Conv', 'inputs': [{'tensor': 'x', 'quant': quant}], 'outputs': [{'tensor': 'y', 'quant': quant}]}]}))
        told = self.why('mine', '--model', 'card.json')
        self.assertEqual(told['headline'], 'not certain: Conv "a" at net/0: 75 % of the elements of output 0 are at the ends of int8')

    def test_without_golden_what_was_overwritten(self):
        self.flat('mine', [('a', 'Conv', [1, 2], [3, 4]), ('b', 'Relu', [3, 9], [3, 9])])
        told = self.why('mine')
        self.assertEqual((told['op'], told['cause'], told['certain']), ('b', 'overwritten', False))
        self.assertTrue(told['headline'].startswith('not certain: Relu "b" at net/0: output 0 of "a" was overwritten before this one '
                                                    'read it as input 0: byte 6 differs'), told['headline'])

    def test_what_cannot_be_judged_is_told(self):
        self.flat('mine', [('a', 'Conv', [1, 2], [3, 4]), ('b', 'Relu', [3, 4], [3, 4])])
        self.flat('other', [('p', 'Conv', [1, 2], [3, 4])])
        told = self.why('mine', '-g', 'other', expect=3)
        self.assertEqual(told['headline'], 'nothing could be judged')
        self.assertIn("no tensor of mine has the name, role and index of a golden one: mine has 'a', 'b'", told['not_judged'][2])
        self.flat('part', [('a', 'Conv', [1, 2], [3, 4])])
        self.assertEqual(self.why('mine', '-g', 'part', expect=0)['not_judged'],
                         ['2 tensors of mine without golden, the first input 0 of Relu "b" at net/0', WITHOUT_JOURNAL])
        os.makedirs(self.path('empty'))
        self.assertIn('there is no tensor', self.why('empty', expect=3)['not_judged'][-1])
        self.assertIn('no such file', self.why('nowhere', expect=3)['not_judged'][0].lower())
        self.flat('long', [('a', 'Conv', [1, 2], [3, 4]), ('b', 'Relu', [3, 4], [3, 4, 5])])
        told = self.why('mine', '-g', 'long')
        self.assertEqual(told['headline'], 'not certain: Relu "b" at net/0: its output 0 cannot be compared: the shapes differ: mine '
                                           '[2], golden [3]')

    def test_what_the_dump_lacks_is_told(self):
        ops = [{'name': 'op%d' % i, 'type': 'Add', 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [16]}]} for i in range(3)]
        self.write('run.json', json.dumps({'steps': 2, 'models': [{'name': 'net', 'id': 1, 'ops': ops}]}))
        os.mkdir(self.path('dump'))
        self.write('acl.json', json.dumps({'dump': {'dump_path': self.path('dump'), 'dump_list': [{'model_name': 'net'}]}}))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.assertEqual(self.why('dump', expect=0)['not_judged'], [])
        os.remove(self.path('dump', next(path for path in self.files('dump') if 'Add.op1.' in path)))
        self.assertEqual(self.why('dump', expect=0)['not_judged'],
                         ["what the dump lacks: it is not complete, 0 of 6 records lost, and 'opdump verify' tells all"])

    def test_usage(self):
        for arguments, said in (((), 'MINE, a dump, is missing'), (('a', 'b'), "not also 'b'"),
                                (('a', '-e', 'b'), "needs '-g GOLDEN'"), (('a', '--boot', 'x'), 'no number of a boot')):
            self.assertIn(said, self.run_tool('why', *arguments, expect=2)[1])


class Edges(tool_case.Case):
    def put(self, op, number, inputs, outputs, step=0):
        """Tensors are (address, bytes)."""
        def made(tensors):
            return [dict(tensor(UINT8, [len(data)], data), address=address) for address, data in tensors]
        self.write('dump/20260131130559/0/net/1/%d/Op.%s.%d.0.%016d' % (step, op, number, 100 * step + number + 1),
                   record(made(inputs), made(outputs)))

    def edges(self, *options, expect=0):
        out, error = self.run_tool('edges', 'dump', '--json', *options, expect=expect)
        return [(edge['input']['op'], edge['input']['index'], edge['output']['op'], edge['output']['index'],
                 edge['by'], edge['bytes']) for edge in json.loads(out)['edges']], error

    def test_chain_view_and_reuse(self):
        self.put('a', 0, [(0x9000, b'in')], [(0x1000, b'abcd')])
        self.put('b', 1, [(0x1000, b'abcd'), (0x8000, b'weight')], [(0x2000, b'efgh')])
        self.put('c', 2, [(0x2001, b'fg'), (0x1000, b'abcd')], [(0x1000, b'xy')])
        # The end of what `a` wrote is still there; `c` wrote over its start.
        self.put('d', 3, [(0x1000, b'xy'), (0x1002, b'cd'), (0x1000, b'xycd')], [])
        self.put('a', 0, [(0x1000, b'xy')], [], step=1)
        found, error = self.edges()
        self.assertEqual(found, [('b', 0, 'a', 0, 'same address', 'same bytes'),
                                 ('c', 0, 'b', 0, 'view', 'same bytes'),
                                 ('c', 1, 'a', 0, 'same address', 'same bytes'),
                                 ('d', 0, 'c', 0, 'same address', 'same bytes'),
                                 ('d', 1, 'a', 0, 'view', 'same bytes')])
        self.assertEqual(error, '')
        out, _ = self.run_tool('edges', 'dump')
        self.assertIn('net/0  b input 0  is  a output 0  same address, same bytes\n', out)
        self.assertTrue(out.endswith('\n9 inputs, 5 of them an output of the dump\n'), out)

    def test_what_is_overwritten_in_between_is_a_finding(self):
        self.put('a', 0, [], [(0x1000, b'abcd')])
        self.put('b', 1, [(0x1000, b'abXd')], [])
        found, error = self.edges(expect=1)
        self.assertEqual(found, [('b', 0, 'a', 0, 'same address', 'other bytes')])
        self.assertEqual(error, 'opdump edges: net/0: a output 0 was overwritten before b input 0 was read: byte 2 '
                                'differs\n')

    def test_a_permuted_view_is_none(self):
        pairs = b'\1\0\2\0\3\0\4\0'
        self.put('a', 0, [], [(0x1000, pairs), (0x2000, b'abcdef')])
        self.put('b', 1, [(0x1000, b'\3\0\1\0\4\0\2\0'), (0x2000, b'ace')], [])
        found, error = self.edges()
        self.assertEqual([edge[4:] for edge in found], [('same address', 'same elements in another order'),
                                                        ('view', 'same elements in another order')])
        self.assertEqual(error, '')
        self.assertTrue(self.run_tool('edges', 'dump')[0].endswith(
            '\n2 inputs, 2 of them an output of the dump, 2 in another order (permuted views, or moved in between)\n'))
        self.write('dump/20260131130559/0/net/1/0/Op.c.2.0.%016d' % 9, record(
            # As bytes a permutation too, as elements of two bytes none.
            [dict(tensor(7, [4], b'\0\1\2\0\3\0\4\0'), address=0x1000)], []))
        found, error = self.edges(expect=1)
        self.assertEqual(found[-1][4:], ('same address', 'other bytes'))
        self.assertIn('a output 0 was overwritten before c input 0 was read: byte 0 differs\n', error)

    def test_names_of_a_card_tell_where_addresses_do_not(self):
        self.put('a', 0, [], [(0, b'abcd')])
        self.put('b_1', 1, [(0, b'abcd'), (0, b'w')], [])
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'ops': [
            {'name': 'a', 'type': 'Op', 'outputs': [{'tensor': 't'}]},
            {'name': 'b.1', 'type': 'Op', 'inputs': [{'tensor': 't'}, {'tensor': 'w', 'constant': True}]}]}))
        self.assertEqual(self.edges()[0], [])
        self.assertEqual(self.edges('--model', 'card.json')[0], [('b_1', 0, 'a', 0, 'same name', 'same bytes')])

    def test_usage(self):
        self.run_tool('edges', expect=2)
        self.run_tool('edges', 'a', 'b', expect=2)
        self.run_tool('edges', 'none', expect=1)


if __name__ == '__main__':
    tool_case.main()
