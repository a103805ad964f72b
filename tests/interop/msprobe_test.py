#!/usr/bin/env python3
"""Dumps that msprobe's own writer makes are a side of `opdump compare`: msprobe_test.py OPDUMP [unittest arguments].

msprobe's package is named by OPDUMP_MSPROBE; without it or NumPy the test is skipped (exit status 77).
"""
import concurrent.futures  # noqa: F401  msprobe takes it for imported
import json
import math
import os
import struct
import sys
import types

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import FLOAT, Case, record, tensor  # noqa: E402
from with_numpy import numpy  # noqa: E402

PACKAGE = os.environ.get('OPDUMP_MSPROBE', '').rstrip('/')
# A run as msprobe names it, the operator in a dump of opdump, and what it computes.
RUNS = [('Primitive.conv1.0.forward', 'Conv2D', 'conv1', lambda x: x * 2 + 1),
        ('Cell.block.act.ReLU.forward.0', 'Relu', 'block_act', lambda x: numpy.maximum(x, 0)),
        ('Primitive.mul.0.forward', 'Mul', 'mul', lambda x: x * 3),
        ('Primitive.mul.1.forward', 'Mul', 'mul', lambda x: x - 4),
        ('Cell.head.Dense.forward.0', 'MatMul', 'head', lambda x: x[::-1] / 2)]


def skip(reason):
    print('skipped: ' + reason)
    sys.exit(77)


def writer_class():
    """msprobe's own, without the parts of its package that need a framework."""
    sys.path.insert(1, os.path.dirname(PACKAGE))
    for name in ('tqdm', 'rich', 'einops', 'mindspore'):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules['tqdm'].tqdm = getattr(sys.modules['tqdm'], 'tqdm', None)
    from msprobe.core.dump.data_dump.json_writer import DataWriter  # pylint: disable=import-outside-toplevel
    return DataWriter


class Msprobe(Case):
    def values(self):
        x, found = numpy.linspace(-2, 3, 24, dtype='<f4'), []
        for _, _, _, compute in RUNS:
            y = compute(x).astype('<f4')
            found.append((x, y))
            x = y
        return found

    def put_mine(self, spoilt=None):
        for i, ((_, kind, op, _), (x, y)) in enumerate(zip(RUNS, self.values())):
            y = y + (i == spoilt) * numpy.float32(2)
            self.write('mine/20260131130559/0/net/1/0/%s.%s.%d.0.%016d' % (kind, op, i, i + 1),
                       record([tensor(FLOAT, [24], x.tobytes())], [tensor(FLOAT, [24], y.tobytes())]))

    def put_golden(self, task, change=lambda values: values):
        base = os.path.join(self.directory, 'golden', 'step0', 'rank0')
        arrays = os.path.join(base, 'dump_tensor_data')
        os.makedirs(arrays, exist_ok=True)
        writer = writer_class()()
        writer.update_dump_paths(types.SimpleNamespace(
            dump_file_path=base + '/dump.json', stack_file_path=base + '/stack.json', construct_file_path=base + '/construct.json',
            dump_tensor_data_dir=arrays if task == 'tensor' else None, debug_file_path=base + '/debug.json', dump_error_info_path=None))
        writer.initialize_json_file(task=task, level='mix', framework='mindspore')
        for (name, *_), (x, y) in zip(RUNS, change(self.values())):
            def described(array, role):
                told = {'type': 'mindspore.Tensor', 'dtype': 'Float32', 'shape': list(array.shape), 'Max': float(array.max()),
                        'Min': float(array.min()), 'Mean': float(array.mean()), 'Norm': float(numpy.linalg.norm(array))}
                if task == 'tensor':
                    told['data_name'] = '%s.%s.0.npy' % (name, role)
                    numpy.save(os.path.join(arrays, told['data_name']), array)
                return told
            writer.update_data({name: {'input_args': [described(x, 'input'), {'type': 'int', 'value': 3}], 'input_kwargs': {},
                                       'output': [described(y, 'output')]}})
            writer.update_stack(name, ('line 1',))
            writer.update_construct({name: ''})
        writer.write_json()

    def compare(self, *arguments, expect=0):
        return json.loads(self.run_tool('compare', 'mine', 'golden', '--json', *arguments, expect=expect)[0])

    def test_tensors_pair_by_operator_and_turn(self):
        self.put_mine()
        self.put_golden('tensor')
        report = self.compare()
        self.assertEqual([(t['equal'], t['paired_by']) for t in report['tensors']], [(24, 'name')] * 2 * len(RUNS))
        for spoilt, run in enumerate(RUNS):
            self.put_mine(spoilt)
            report = self.compare(expect=1)
            self.assertEqual(report['ops'][report['first_diverging']['op']]['name'], run[2])
            self.assertEqual([op['verdict'] for op in report['ops']].index('culprit'), spoilt)

    def test_statistics(self):
        self.put_mine()
        self.put_golden('statistics')
        self.assertIn('10 tensors only by statistics', self.run_tool('compare', 'mine', 'golden')[0])
        self.put_mine(2)
        report = self.compare(expect=1)
        self.assertEqual(report['first_diverging']['op'], 2)

    def test_numbers_that_are_none(self):
        self.put_mine()
        self.put_golden('statistics', lambda values: values[:-1] + [(values[-1][0], values[-1][1] * math.nan)])
        self.assertIn('NaN', self.read('golden/step0/rank0/dump.json').decode())
        self.assertEqual(self.compare(expect=1)['first_diverging']['op'], len(RUNS) - 1)

    def test_data_mapping(self):
        import yaml  # pylint: disable=import-outside-toplevel
        self.put_golden('tensor')
        for i, (x, y) in enumerate(self.values()):
            self.write('mine/20260131130559/0/net/1/0/T.n%d.%d.0.%016d' % (i, i, i + 1),
                       record([tensor(FLOAT, [24], x.tobytes())], [tensor(FLOAT, [24], y.tobytes())]))
        rows = {'Cell.n%d.T.forward.0.%s.0' % (i, role): '%s.%s.0' % (run[0], role)
                for i, run in enumerate(RUNS) for role in ('input', 'output')}
        self.write('data_mapping.yaml', yaml.safe_dump(rows).encode())
        report = self.compare('--map', 'data_mapping.yaml')
        paired = [t for t in report['tensors'] if t.get('paired_by') == 'map']
        self.assertEqual((len(paired), sum(t['equal'] == 24 for t in paired)), (10, 10))


if __name__ == '__main__':
    if numpy is None:
        skip('no NumPy')
    if not os.path.isfile(os.path.join(PACKAGE, 'core/dump/data_dump/json_writer.py')):
        skip('OPDUMP_MSPROBE names no package of msprobe')
    tool_case.main()
