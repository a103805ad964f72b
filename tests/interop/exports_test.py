#!/usr/bin/env python3
"""What `opdump convert --to` writes, read by the programs it is for: exports_test.py OPDUMP [unittest arguments].

msprobe's own comparison and graph service mark the operator that was spoilt, and no other, where OPDUMP_MSPROBE names
its package or the folder above it; Polygraphy's own loader and comparison read what is written for it, where
OPDUMP_POLYGRAPHY names the folder of its package; and python3-onnx reads the tensors for ONNX. What is missing is
skipped.
"""
import csv
import glob
import json
import os
import struct
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import BF16, Case, FLOAT, FLOAT16, INT8, floats, record, tensor  # noqa: E402
from with_numpy import numpy  # noqa: E402

try:
    from onnx import TensorProto, numpy_helper
except ImportError:
    TensorProto = None

# Runs msprobe without the frameworks that the parts used here do not need.
MSPROBE = r'''
import argparse, os, sys, types
root, mine, golden, out = sys.argv[1:]

class Absent(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return type(name, (object,), {})

for name in ('mindspore', 'mindspore.ops', 'mindspore.nn', 'mindspore.common', 'mindspore.communication',
             'mindspore.mint', 'einops', 'rich', 'rich.console', 'rich.progress', 'rich.table'):
    sys.modules[name] = Absent(name)
sys.path.insert(0, root)
package = types.ModuleType('msprobe.mindspore')
package.__path__ = [os.path.join(root, 'msprobe', 'mindspore')]
import msprobe
sys.modules['msprobe.mindspore'] = package
from msprobe.mindspore.compare.ms_compare import ms_compare
from msprobe.visualization.graph_service import _graph_service_command
csv_out, db_out = os.path.join(out, 'csv'), os.path.join(out, 'db')
for made in (csv_out, db_out):
    os.makedirs(made, 0o750)
ms_compare({'npu_path': mine + '/dump.json', 'bench_path': golden + '/dump.json', 'stack_path': mine + '/stack.json',
            'npu_json_path': mine + '/dump.json', 'bench_json_path': golden + '/dump.json',
            'stack_json_path': mine + '/stack.json', 'is_print_compare_log': False}, csv_out)
_graph_service_command(argparse.Namespace(
    target_path=mine, golden_path=golden, output_path=db_out, layer_mapping=None, overflow_check=True,
    fuzzy_match=False, is_print_compare_log=False, is_print_progress_log=False, rank_size=None, tp=None, pp=None,
    vpp=None, order=None, file_type='db'))
'''

POLYGRAPHY = r'''
import json, sys
sys.path.insert(0, sys.argv[1])
from polygraphy.comparator import RunResults
from polygraphy.json import load_json
mine, golden = (load_json(path) for path in sys.argv[2:4])
assert isinstance(mine, RunResults), type(mine)
told = {}
for runner, iterations in mine.items():
    for i, outputs in enumerate(iterations):
        for name, array in outputs.items():
            told['%s/%d/%s' % (runner, i, name)] = [str(array.dtype), list(array.shape), array.ravel().tolist()]
from polygraphy.comparator import CompareFunc
unlike = []
for i, outputs in enumerate(mine['opdump']):
    for name, good in CompareFunc.simple(atol=1e-3, rtol=1e-3)(outputs, golden['opdump'][i]).items():
        if not good:
            unlike.append('%d/%s' % (i, name))
print(json.dumps({'arrays': told, 'unlike': unlike}))
'''


def below(variable, package):
    """The folder to import `package` from, which a variable of the environment names; None without."""
    folder = os.environ.get(variable, '').rstrip('/')
    for root in (folder, os.path.dirname(folder)):
        if folder and os.path.isdir(os.path.join(root, package)):
            return root
    return None


def halves(*values):
    return struct.pack('<%de' % len(values), *values)


class Exports(Case):
    def dump(self, name, spoilt=None, steps=2):
        """Four operators in a chain. Of the spoilt one an output is another, and nobody reads it."""
        for step in range(steps):
            x = [0.5 * (i + 1) + step for i in range(8)]
            for i, op in enumerate(('conv1', 'relu1', 'pool1', 'fc')):
                y = [value * (1.25 if op != spoilt else -3.0) for value in x]
                self.write('%s/20260131130559/0/net/1/%d/Op.%s.%d.0.%016d' % (name, step, op, i, 100 * step + i + 1),
                           record([tensor(FLOAT, [2, 4], floats(*x))],
                                  [tensor(FLOAT16, [8], halves(*y)), tensor(INT8, [2], b'\x01\xff')]))

    def export(self, program, name, *options):
        self.run_tool('convert', '--to', program, name, '-o', name + '.' + program, *options)
        return self.path(name + '.' + program)

    def python(self, script, *arguments):
        done = subprocess.run([sys.executable, '-I', '-c', script, *arguments], cwd=self.directory, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_msprobe_marks_the_spoilt_operator_alone(self):
        root = below('OPDUMP_MSPROBE', 'msprobe')
        if root is None:
            self.skipTest('OPDUMP_MSPROBE names no package of msprobe')
        self.dump('golden')
        self.dump('mine', spoilt='relu1')
        mine, golden = self.export('msprobe', 'mine'), self.export('msprobe', 'golden')
        for path in glob.glob(mine + '/**', recursive=True):
            self.assertEqual(os.stat(path).st_mode & 0o022, 0, path)
        self.python(MSPROBE, root, mine + '/step1/rank0', golden + '/step1/rank0', self.path('told'))
        with open(glob.glob(self.path('told/csv/*.csv'))[0], encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 12)
        results = {row['NPU Name']: row['Result'] for row in rows}
        self.assertEqual([name for name, result in results.items() if result != 'pass'],
                         ['Primitive.relu1.0.forward.output.0'], results)
        import sqlite3  # pylint: disable=import-outside-toplevel
        with sqlite3.connect(glob.glob(self.path('told/db/*.db'))[0]) as base:
            nodes = dict(base.execute("SELECT node_name, precision_index FROM tb_nodes WHERE data_source = 'NPU' AND "
                                      "node_name LIKE 'Primitive%'"))
        self.assertEqual({name: float(index) for name, index in nodes.items()},
                         {'Primitive.%s.0.forward' % op: float(op == 'relu1')
                          for op in ('conv1', 'relu1', 'pool1', 'fc')})

    def test_polygraphy_loads_and_compares(self):
        root = below('OPDUMP_POLYGRAPHY', 'polygraphy')
        if root is None or numpy is None:
            self.skipTest('OPDUMP_POLYGRAPHY names no package of Polygraphy, or there is no NumPy')
        self.dump('golden')
        self.dump('mine', spoilt='relu1')
        paths = [self.export('polygraphy', name) + '/outputs.json' for name in ('mine', 'golden')]
        told = json.loads(self.python(POLYGRAPHY, root, *paths).splitlines()[-1])
        self.assertEqual(told['unlike'], ['0/relu1:0', '1/relu1:0'])
        self.assertEqual(len(told['arrays']), 16)
        self.assertEqual(told['arrays']['opdump/1/conv1:0'],
                         ['float16', [8], [1.25 * (0.5 * (i + 1) + 1) for i in range(8)]])
        self.assertEqual(told['arrays']['opdump/0/fc:1'], ['int8', [2], [1, -1]])

    def test_onnx_reads_every_tensor(self):
        if TensorProto is None or numpy is None:
            self.skipTest('there is no python3-onnx')
        self.dump('mine', steps=1)
        self.write('mine/20260131130559/0/net/1/0/Op.wide.9.0.0000000000000009',
                   record([], [tensor(BF16, [3], b'\x80\x3f\x00\xc0\x00\x40'), tensor(FLOAT, [], floats(7))]))
        folder = self.export('onnx-tensors', 'mine')

        def read(name):
            proto = TensorProto()
            with open(folder + '/step0/' + name, 'rb') as file:
                proto.ParseFromString(file.read())
            return proto.name, proto.data_type, numpy_helper.to_array(proto)

        self.assertEqual(len(os.listdir(folder + '/step0')), 14)
        name, dtype, array = read('Op.conv1.output.0.pb')
        self.assertEqual((name, dtype, array.dtype, array.shape),
                         ('net/0/Op.conv1/output.0', TensorProto.FLOAT16, numpy.float16, (8,)))
        self.assertEqual(array.tolist(), [0.625 * (i + 1) for i in range(8)])
        name, dtype, array = read('Op.conv1.input.0.pb')
        self.assertEqual((dtype, array.tolist()), (TensorProto.FLOAT, [[0.5, 1, 1.5, 2], [2.5, 3, 3.5, 4]]))
        name, dtype, array = read('Op.conv1.output.1.pb')
        self.assertEqual((dtype, array.tolist()), (TensorProto.INT8, [1, -1]))
        name, dtype, array = read('Op.wide.output.0.pb')
        self.assertEqual((dtype, array.tolist()), (TensorProto.BFLOAT16, [1, -2, 2]))
        name, dtype, array = read('Op.wide.output.1.pb')
        self.assertEqual((array.shape, array.tolist()), ((), 7))


if __name__ == '__main__':
    tool_case.main()
