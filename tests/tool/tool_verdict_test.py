#!/usr/bin/env python3
"""Faults planted in a small network: the guilty operator is named first, and no innocent one is ever accused.

tool_verdict_test.py OPDUMP [unittest arguments]. Standard library only.
"""
import json
import os
import random
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from planted_network import Fault, NAMES, Network, OPS, PlantedCase, Run, STEPS  # noqa: E402

WITH_WEIGHTS = [op[0] for op in OPS if not all(isinstance(i, str) for i in op[2])]
PLACED = [name for name in NAMES if name not in ('flat', 'fc', 'softmax')]
KINDS = {
    'other weight': WITH_WEIGHTS,
    'doubled channel': ['conv0', 'conv1', 'conv2', 'conv3', 'add0', 'bn', 'res', 'relu0', 'relu2'],
    'wrong scale': NAMES[:-1],
    'transposed': PLACED,
    'shifted rows': PLACED,
    'saturated': ['conv0', 'conv1', 'conv2', 'conv3', 'add0', 'sub0'],
    'missing': ['add0', 'relu0', 'relu1', 'bn', 'relu2'],
    'NaN': NAMES,
    'swapped': ['sub0', 'cat'],
    'stale step': NAMES[:-1],
}
# mine and golden
PAIRS = [('float32', 'float32'), ('float16', 'float32'), ('float16', 'float16'), ('int8', 'float32'), ('int8', 'int8')]


class Why(PlantedCase):
    def judged(self, pair):
        return json.loads(self.run_tool('compare', 'mine', 'golden', '--json', *self.cards(pair), expect=(0, 1))[0])

    def culprits(self, report):
        return sorted({op['name'] for op in report['ops'] if op['verdict'] == 'culprit'})

    def test_no_healthy_operator_is_accused(self):
        for seed in range(3):
            network = Network(seed)
            for pair in PAIRS:
                with self.subTest(seed=seed, pair=pair):
                    self.put('golden', Run(network, pair[1]))
                    self.put('mine', Run(network, pair[0], noise=seed + 1 if pair == ('float32', 'float32') else 0))
                    report = self.judged(pair)
                    self.assertEqual(self.culprits(report), [], report.get('headline'))
                    self.assertIn(report.get('headline', {}).get('cause', ''), ('', 'unclear'), report.get('headline'))

    def test_the_guilty_is_named_first_and_alone(self):
        tried = named = 0
        unsure, wrong = [], []
        for pair in PAIRS:
            for seed in (1, 2):
                network = Network(seed)
                self.put('golden', Run(network, pair[1]))
                clean = [{name: output for name, _, output in Run(network, pair[0]).run(step)} for step in range(STEPS)]
                for kind, ops in KINDS.items():
                    if (kind == 'NaN' and pair[0] == 'int8') or (kind == 'stale step' and seed == 1):
                        continue
                    op = random.Random('%s %s %d' % (pair, kind, seed)).choice(ops)
                    if kind == 'saturated' and pair[0] == 'int8':
                        kind = 'too large'
                    fault = Fault(kind, op, seed, clean)
                    what = '%s against %s, seed %d: %s' % (*pair, seed, fault)
                    self.put('mine', Run(network, pair[0], fault))
                    report = self.judged(pair)
                    headline = report.get('headline', {})
                    tried += 1
                    # Of an operator that is missing, none that is there is accused.
                    innocent = set(self.culprits(report)) - {op}
                    if kind == 'missing':
                        right = headline.get('cause') == 'missing operator' and '"%s" is missing' % op in headline['text']
                    else:
                        right = bool(headline) and report['ops'][headline['op']]['name'] == op
                    certain = headline.get('cause', 'unclear') not in ('unclear', 'unknown inputs', 'ambiguous')
                    if innocent or (certain and not right):
                        wrong.append('%s: %s, %s' % (what, sorted(innocent), headline.get('text')))
                    elif right and certain:
                        named += 1
                    else:
                        unsure.append('%s: %s' % (what, headline.get('text')))
        print('%d faults: %d named first and alone, %d not certain, %d wrong' % (tried, named, len(unsure), len(wrong)), *unsure, sep='\n')
        self.assertEqual(wrong, [], '\n'.join(wrong))
        self.assertGreaterEqual(tried, 60)
        self.assertGreaterEqual(named, 0.95 * tried, '\n'.join(unsure))

    def test_what_no_operator_is_to_blame_for(self):
        network = Network(3)
        for pair in PAIRS:
            with self.subTest(pair=pair):
                self.put('golden', Run(network, pair[1]))
                self.put('mine', Run(network, pair[0], Fault('other inputs', None, 3)))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [])
                self.assertIn("first cause: the model's inputs differ: input 0 of Conv \"conv0\" at net/0", report['headline']['text'])
                if pair[0] != pair[1]:
                    continue
                self.put('mine', Run(network, pair[0]), shift=1)
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [])
                self.assertIn('first cause: mine is shifted by 1 step: from Conv "conv0" at net/0 on', report['headline']['text'])

    def test_what_was_overwritten_accuses_nobody(self):
        for pair in PAIRS:
            with self.subTest(pair=pair):
                network = Network(8)
                self.put('golden', Run(network, pair[1]))
                self.put('mine', Run(network, pair[0], Fault('overwritten', 'relu0', 8)))
                report = self.judged(pair)
                self.assertEqual(self.culprits(report), [], report.get('headline'))
                self.assertIn('first diverging operator: Relu "relu0" at net/0, not certain: its input 0 is not what the operator before '
                              'it has written, which agrees: overwritten in between, or read too early', report['headline']['text'])


if __name__ == '__main__':
    tool_case.main()
