#!/usr/bin/env python3
"""The examples of the vendors' documents, run through `opdump replay`: examples_test.py OPDUMP [unittest arguments].

The trees that come out are compared name by name with what the documents' own descriptions of directories and names
make of the same operators. NumPy and pandas open what they find there, and the functions with which the vendor's
msprobe reads MindSpore's dumps take every name and row, where OPDUMP_MSPROBE (or what OPDUMP_MSACCUCMP lies in) names
its package. What is missing is skipped.
"""
import ast
import csv
import itertools
import json
import math
import os
import re
import shutil
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402
from with_numpy import numpy  # noqa: E402

try:
    import pandas
except ImportError:
    pandas = None

TIME = r'\d{16}'
SECOND = r'\d{14}'
CONV = {'name': 'Default/network-WithLossCell/conv1-Conv2d/Conv2D-op12', 'type': 'Conv2D', 'stream_id': 1,
        'attributes': {'pad': '(0, 0)', 'group': '1'},
        'inputs': [{'fill': 'random', 'dtype': 'float32', 'shape': [1, 3, 4, 4], 'format': 'NCHW'},
                   {'fill': 'ramp', 'dtype': 'bfloat16', 'shape': [2, 3]}],
        'outputs': [{'fill': 'ramp', 'dtype': 'int4', 'shape': [2, 6]}]}
DENSE = {'name': 'Default/fc.3-Dense/Bias Add-op5', 'type': 'BiasAdd', 'stream_id': 2,
         'outputs': [{'fill': 'random', 'dtype': 'float16', 'shape': [1, 16, 2, 2, 16], 'format': 'NC1HWC0',
                      'original_shape': [1, 256, 2, 2]}]}
# What MindSpore stores for a dtype that NumPy has not got.
STORED = {'bfloat16': 'float32', 'int4': 'int8'}
STEPS = (0, 5, 6, 7, 8)  # of "0|5-8|100-120", in ten steps
NOT_REACHED = '%s  steps 100-120  the model did not come to them'
NEVER_CAPTURED = 4  # verify's exit status

# MindSpore's, as in its document but for the path.
COMMON = {'op_debug_mode': 0, 'dump_mode': 0, 'net_name': 'ResNet50', 'iteration': '0|5-8|100-120',
          'saved_data': 'tensor', 'input_output': 0, 'kernels': ['Default/Conv-op12'],
          'support_device': [0, 1, 2, 3, 4, 5, 6, 7], 'statistic_category': ['max', 'min', 'l2norm']}
E2E = {'enable': True, 'trans_flag': True, 'stat_calc_mode': 'host'}


def elements(npy):
    """What stands behind an array's head."""
    return npy[10 + int.from_bytes(npy[8:10], 'little'):]


def sanitised(name):
    return re.sub(r'[ ./\\]', '_', name)


def tensors(op):
    return [(role, i, t) for role in ('input', 'output') for i, t in enumerate(op.get(role + 's', []))]


def msprobe_functions():
    """Those that read names and tables of MindSpore's dumps, as they stand in msprobe; its other parts are not run."""
    package = os.environ.get('OPDUMP_MSPROBE')
    if not package and os.environ.get('OPDUMP_MSACCUCMP'):
        package = os.environ['OPDUMP_MSACCUCMP'].rstrip('/')
        package = os.path.dirname(os.path.dirname(package) if package.endswith('.py') else package)
    file = os.path.join(package or '', 'mindspore/compare/ms_graph_compare.py')
    if not package or not os.path.isfile(file):
        return None

    class Names:
        SEP = '.'
        NPY_MODE, STATISTIC_MODE, ERROR_MODE = 'npy', 'statistic', 'error'
        error = warning = staticmethod(lambda text: None)

    def read_csv(path, as_pd=True):
        del as_pd
        with open(path, newline='', encoding='utf-8') as opened:
            return list(csv.reader(opened))

    import glob  # pylint: disable=import-outside-toplevel
    space = {'re': re, 'os': os, 'glob': glob, 'np': numpy, 'Const': Names, 'GraphMode': Names, 'logger': Names,
             'CompareException': ValueError, 'read_csv': read_csv,
             'convert_to_int': lambda text: int(text) if str(text).isdigit() else -1}
    with open(file, encoding='utf-8') as opened:
        tree = ast.parse(opened.read())
    wanted = ('get_name_dict', 'npy_data_read', 'statistic_data_read', 'generate_data_name')
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    exec(compile(tree, file, 'exec'), space)  # pylint: disable=exec-used
    return space


CONSTANTS = [{'name': 'data-12', 'tensor': {'fill': 'ramp', 'dtype': 'bfloat16', 'shape': [700]}}]


class Examples(Case):
    def replay(self, config, run, *options, name='config.json', expect=0):
        self.write(name, json.dumps(config))
        self.write('run.json', json.dumps(run))
        return self.run_tool('replay', 'run.json', '--config', name, *options, expect=expect)

    def check_tree(self, directory, patterns, never=None):
        """Each file is that of one pattern, and each pattern that of one file. `never`: what was asked for in vain."""
        left = self.files(directory)
        for pattern in patterns:
            found = [name for name in left if re.fullmatch(pattern, name)]
            self.assertEqual(len(found), 1, (pattern, left))
            left.remove(found[0])
        self.assertEqual(left, [])
        said = self.run_tool('verify', directory, expect=0 if never is None else NEVER_CAPTURED)[0]
        if never is None:
            self.assertTrue(said.startswith('complete\n'), said)
        else:
            self.assertRegex(said, r'never captured, as the session itself says \(1\)\n +%s\n' % re.escape(never))

    def check_arrays(self, directory):
        if numpy is None:
            return 0
        arrays = 0
        for name in self.files(directory):
            if name.endswith('.npy'):
                array = numpy.load(self.path(directory, name))
                dtype = name.split('.')[-2]
                self.assertEqual(array.dtype.name, STORED.get(dtype, dtype), name)
                arrays += 1
        return arrays

    def check_tables(self, directory, **options):
        """pandas finds the rows and the statistics of each table."""
        tables = [self.path(directory, name) for name in self.files(directory)
                  if name.endswith('.csv') and 'execution_order' not in name]
        rows = 0
        for table in tables if pandas is not None else []:
            read = pandas.read_csv(table, **options)
            self.assertGreater(len(read), 0)
            self.assertFalse(read['Data Size'].isna().any())
            rows += len(read)
        return rows

    # MindSpore.

    def mindspore(self, personality, common=(), e2e=None):
        config = {'common_dump_settings': dict(COMMON, path=self.path('dump'), **dict(common))}
        if e2e is not None:
            config['e2e_dump_settings'] = e2e
        run = {'steps': 10, 'device_id': 1,
               'models': [{'name': 'graph', 'id': 4, 'ops': [CONV, DENSE], 'constants': CONSTANTS}]}
        self.replay(config, run, '--personality', personality, '--rank', '3', '--world-size', '8')

    @staticmethod
    def array_names(task, stream_of, format_of):
        for op in (CONV, DENSE):
            for role, i, t in tensors(op):
                yield r'%s\.%s\.%s\.%s\.%s\.%s\.%d\.%s\.%s\.npy' % (
                    op['type'], re.escape(sanitised(op['name'])), task, stream_of(op), TIME, role, i, format_of(t),
                    t['dtype'])

    @staticmethod
    def named_format(_t):
        """trans_flag is true, and every tensor in a format of the device has its original shape."""
        return 'DefaultFormat'

    def test_mindspore_o0(self):
        self.mindspore('o0', e2e=E2E)
        names = list(self.array_names('0', lambda op: op['stream_id'], self.named_format))
        self.check_tree('dump', ['rank_3/ResNet50/4/%d/%s' % (step, name) for step in STEPS for name in names] +
                        ['rank_3/execution_order/ms_execution_order_graph_4.csv'], never=NOT_REACHED % 'ResNet50')
        self.assertIn(self.check_arrays('dump'), (0, len(STEPS) * len(names)))
        self.msprobe_reads('npy', len(names))

    def test_mindspore_o0_statistics_and_arguments(self):
        self.mindspore('o0', {'saved_data': 'full'}, dict(E2E, save_kernel_args=True))
        names = list(self.array_names('0', lambda op: op['stream_id'], self.named_format))
        names += ['statistic\\.csv'] + [r'%s\.%s\.json' % (kind, re.escape(sanitised(op['name'])))
                                        for kind, op in (('Conv2D', CONV), ('Bias_Add', DENSE))]
        self.check_tree('dump', ['rank_3/ResNet50/4/%d/%s' % (step, name) for step in STEPS for name in names] +
                        ['rank_3/execution_order/ms_execution_order_graph_4.csv'], never=NOT_REACHED % 'ResNet50')
        self.assertIn(self.check_tables('dump', index_col=False), (0, 4 * len(STEPS)))
        table = self.read('dump/rank_3/ResNet50/4/5/statistic.csv').decode()
        self.assertTrue(table.startswith('Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,'
                                         'Max Value,Min Value,L2Norm Value\n'), table)
        stamps = {name.split('.')[4] for name in self.files('dump/rank_3/ResNet50/4/5') if name.endswith('.npy')}
        self.assertEqual({row.split(',')[4] for row in table.splitlines()[1:]}, stamps)
        arguments = [name for name in self.files('dump') if name.endswith('.json')]
        self.assertEqual(json.loads(self.read('dump', arguments[1])), {'pad': '(0, 0)', 'group': '1'})

    def test_mindspore_o0_statistics_alone(self):
        self.mindspore('o0', {'saved_data': 'statistic'}, E2E)
        self.check_tree('dump', ['rank_3/ResNet50/4/%d/statistic\\.csv' % step for step in STEPS] +
                        ['rank_3/execution_order/ms_execution_order_graph_4.csv'], never=NOT_REACHED % 'ResNet50')
        self.msprobe_reads('statistic', 4)

    def test_mindspore_transformed_as_by_convert(self):
        """trans_flag makes, from the device's memory, the elements that convert makes of an untransformed record."""
        cases = [('NC1HWC0', [2, 3, 5, 7, 16], [2, 40, 5, 7], 'NCHW', 'float32'),
                 ('NC1HWC0', [1, 2, 9, 9, 32], [1, 61, 9, 9], 'NCHW', 'int8'),
                 ('NDC1HWC0', [1, 2, 2, 3, 3, 16], [1, 20, 2, 3, 3], 'NCDHW', 'float16'),
                 ('FRACTAL_Z', [18, 2, 16, 16], [20, 33, 3, 2], 'NCHW', 'float16'),
                 ('FRACTAL_NZ', [3, 4, 3, 16, 16], [3, 33, 50], 'ND', 'float16'),
                 ('FRACTAL_NZ', [63, 65, 16, 16], [1030, 1008], 'ND', 'bfloat16')]
        ops = [{'name': 'op%d' % i, 'type': 'T', 'outputs': [{'fill': 'random', 'dtype': dtype, 'shape': shape,
                                                             'format': fmt, 'original_shape': original}]}
               for i, (fmt, shape, original, _, dtype) in enumerate(cases)]
        run = {'models': [{'name': 'graph', 'id': 4, 'ops': ops}]}
        os.mkdir(self.path('records'))
        self.replay({'dump': {'dump_path': 'records', 'dump_list': [{}]}}, run)
        common = dict(COMMON, path=self.path('dump'), iteration='0')
        for trans_flag in (True, False):
            config = {'common_dump_settings': common, 'e2e_dump_settings': dict(E2E, trans_flag=trans_flag)}
            self.replay(config, run, '--personality', 'o0', '--ring-bytes', '4096')
            for i, (fmt, shape, original, plain, dtype) in enumerate(cases):
                record, = [name for name in self.files('records') if '.op%d.' % i in name]
                converted = 'converted%d' % i
                if trans_flag:
                    self.run_tool('convert', '-d', 'records/' + record, '-out', converted, '-f', plain)
                    array, = self.files(converted)
                    expected, dims, named = elements(self.read(converted, array)), original, 'DefaultFormat'
                else:
                    expected, dims, named = None, shape, fmt
                made, = [name for name in self.files('dump') if '.op%d.' % i in name and '.%s.%s.npy' % (named, dtype) in name]
                self.assertIn(b"'shape': (%s,)" % ','.join(map(str, dims)).encode(), self.read('dump', made)[:128])
                if expected is not None:
                    self.assertEqual(elements(self.read('dump', made)), expected, cases[i])
            shutil.rmtree(self.path('dump'))

    def test_mindspore_o2(self):
        self.mindspore('o2', {'file_format': 'npy'})
        names = list(self.array_names('65535', lambda op: op['stream_id'],
                                      lambda t: 'NCHW' if 'original_shape' in t else t.get('format', 'ND')))
        self.check_tree('dump', ['%d/%s/1/graph/4/%d/%s' % (step, SECOND, step, name)
                                 for step in STEPS for name in names] + [r'acl_dump_1\.json'], never=NOT_REACHED % 'graph')
        self.assertEqual(self.read('dump/acl_dump_1.json').decode(),
                         '{"dump":{"dump_list":[],"dump_mode":"all","dump_op_switch":"on","dump_path":"%s/8"}}'
                         % self.path('dump'))
        self.assertIn(self.check_arrays('dump'), (0, len(STEPS) * len(names)))

    def o2(self, outputs, saved_data, file_format):
        """A dump of a graph with an operator for each of `outputs`: its files, by the number of the operator."""
        ops = [{'name': 'op%d' % i, 'type': 'T', 'outputs': [output]} for i, output in enumerate(outputs)]
        folder = 'dump_' + file_format
        common = dict(COMMON, path=self.path(folder), iteration='0', saved_data=saved_data, file_format=file_format)
        self.replay({'common_dump_settings': common}, {'models': [{'name': 'graph', 'id': 4, 'ops': ops}]},
                    '--personality', 'o2', '--ring-bytes', '4096')
        self.run_tool('verify', folder)
        found = {int(re.search(r'\.op(\d+)\.', name)[1]): name for name in self.files(folder) if '/T.op' in name}
        self.assertEqual(len(found), 0 if saved_data == 'statistic' else len(outputs))
        table = [name for name in self.files(folder) if name.endswith('statistic.csv')]
        rows = list(csv.DictReader(self.read(folder, table[0]).decode().splitlines())) if table else []
        return {i: self.read(folder, name) for i, name in found.items()}, found, {
            int(row['Op Name'][2:]): row for row in rows}

    def test_mindspore_o2_arrays_lie_as_in_the_framework(self):
        """By the definition of each format: where in the device's memory the element (n, c, h, w) is. The memory
        itself is what the same graph leaves in records, which stay as the device has them."""
        def nz(n, c, h, w):  # of (2, 3, 33, 50)
            return ((((n * 3 + c) * 4 + w // 16) * 3 + h // 16) * 16 + h % 16) * 16 + w % 16

        def z(n, c, h, w):  # of (20, 33, 3, 2)
            return ((((c // 16 * 3 + h) * 2 + w) * 2 + n // 16) * 16 + n % 16) * 16 + c % 16

        def diagonal(n, c, h, w):  # of (1, 20, 3, 2)
            return ((((c // 16 * 3 + h) * 2 + w) * 1 + n) * 16 + c % 16) * 16 + c % 16
        cases = [
            ('NC1HWC0', [2, 3, 5, 7, 16], [2, 40, 5, 7], 'float32',
             lambda n, c, h, w: (((n * 3 + c // 16) * 5 + h) * 7 + w) * 16 + c % 16),
            ('NC1HWC0', [1, 2, 9, 9, 32], [1, 61, 9, 9], 'int8',
             lambda n, c, h, w: (((n * 2 + c // 32) * 9 + h) * 9 + w) * 32 + c % 32),
            ('NC1HWC0_C04', [2, 1, 5, 7, 4], [2, 3, 5, 7], 'float16',
             lambda n, c, h, w: ((n * 5 + h) * 7 + w) * 4 + c),
            ('NDC1HWC0', [2, 1, 2, 5, 7, 16], [2, 20, 5, 7], 'float16',
             lambda n, c, h, w: (((n * 2 + c // 16) * 5 + h) * 7 + w) * 16 + c % 16),
            ('FRACTAL_Z', [12, 2, 16, 16], [20, 17, 3, 2], 'float16', z),
            ('FRACTAL_Z_3D', [12, 2, 16, 16], [20, 17, 3, 2], 'float32', z),
            ('FRACTAL_NZ', [2, 3, 4, 3, 16, 16], [2, 3, 33, 50], 'float16', nz),
            ('C1HWNCoC0', [2, 3, 2, 1, 16, 16], [1, 20, 3, 2], 'float32', diagonal)]
        # These stay as they lie, and say so: other dims in the framework, none told, some that do not fit, two deep.
        kept = [('FRACTAL_NZ', [4, 3, 16, 16], [33, 50], 'float16'), ('NC1HWC0', [2, 3, 5, 7, 16], None, 'float32'),
                ('NDC1HWC0', [1, 2, 2, 3, 3, 16], [1, 20, 2, 3, 3], 'float16'),
                ('NC1HWC0', [2, 3, 5, 7, 16], [2, 49, 5, 7], 'float16'),
                ('NDC1HWC0', [1, 2, 2, 3, 3, 16], [1, 20, 3, 3], 'float16'),
                ('C1HWNCoC0', [2, 3, 2, 1, 16, 8], [1, 20, 3, 2], 'float32')]

        def output(fmt, shape, original, dtype):
            made = {'fill': 'random', 'dtype': dtype, 'shape': shape, 'format': fmt}
            return made if original is None else dict(made, original_shape=original)
        outputs = [output(*case[:4]) for case in cases] + [output(*case) for case in kept]
        records, named, _ = self.o2(outputs, 'tensor', 'bin')
        self.assertFalse([name for name in named.values() if not re.search(r'\.\d{16}$', name)])
        arrays, named, _ = self.o2(outputs, 'tensor', 'npy')
        sizes = {'int8': 1, 'float16': 2, 'float32': 4}
        for i, (fmt, shape, original, dtype, index) in enumerate(cases):
            size = sizes[dtype]
            memory = records[i][-math.prod(shape) * size:]
            expected = b''.join(memory[at * size:(at + 1) * size] for at in
                                (index(*place) for place in itertools.product(*map(range, original))))
            self.assertRegex(named[i], r'\.output\.0\.NCHW\.%s\.npy$' % dtype)
            self.assertIn(b"'shape': (%s,)" % ','.join(map(str, original)).encode(), arrays[i][:128])
            self.assertEqual(elements(arrays[i]), expected, fmt)
            if numpy is not None:
                self.assertEqual(numpy.load(self.path('dump_npy', named[i])).tobytes(), expected)
        for i, (fmt, shape, _, dtype) in enumerate(kept, len(cases)):
            self.assertRegex(named[i], r'\.output\.0\.%s\.%s\.npy$' % (fmt, dtype))
            self.assertIn(b"'shape': (%s,)" % ','.join(map(str, shape)).encode(), arrays[i][:128])
            self.assertEqual(elements(arrays[i]), records[i][-math.prod(shape) * sizes[dtype]:])

    def test_mindspore_o2_statistics_are_of_the_framework_s_elements(self):
        ramp = {'fill': 'ramp', 'dtype': 'float32', 'shape': [1, 2, 2, 2, 16], 'format': 'NC1HWC0',
                'original_shape': [1, 20, 2, 2]}
        memory = struct.unpack('<128f', self.o2([ramp], 'tensor', 'bin')[0][0][-512:])
        own = [memory[(c // 16 * 4 + hw) * 16 + c % 16] for c in range(20) for hw in range(4)]
        for saved_data in ('full', 'statistic'):
            _, named, rows = self.o2([ramp], saved_data, 'npy')
            if saved_data == 'full':
                self.assertRegex(named[0], r'\.output\.0\.NCHW\.float32\.npy$')
            row = rows[0]
            self.assertEqual((row['Shape'], row['Data Size'], row['Max Value'], row['Min Value'], row['L2Norm Value']), (
                '(1,20,2,2)', '320', '%g' % max(own), '%g' % min(own), '%g' % math.sqrt(sum(x * x for x in own))))
            self.assertEqual((row['Max Value'], row['L2Norm Value']), ('84', '334.302'))
            shutil.rmtree(self.path('dump_npy'))

    def test_mindspore_o2_in_records(self):
        self.mindspore('o2')
        names = [r'%s\.%s\.65535\.%d\.%s' % (op['type'], re.escape(sanitised(op['name'])), op['stream_id'], TIME)
                 for op in (CONV, DENSE)]
        self.check_tree('dump', ['%d/%s/1/graph/4/%d/%s' % (step, SECOND, step, name)
                                 for step in STEPS for name in names] + [r'acl_dump_1\.json'], never=NOT_REACHED % 'graph')
        self.assertEqual(self.read('dump/acl_dump_1.json').decode(),
                         '{"dump":{"dump_list":[],"dump_mode":"all","dump_op_switch":"on","dump_path":"%s/8"}}'
                         % self.path('dump'))

    def test_mindspore_cpu(self):
        self.mindspore('cpu', e2e={'enable': True, 'trans_flag': True})
        names = list(self.array_names('0', lambda op: '0', self.named_format))
        self.check_tree('dump', ['rank_3/ResNet50/4/%d/%s' % (step, name) for step in STEPS for name in names] +
                        [r'rank_3/ResNet50/4/constants/Parameter\.data-12\.0\.0\.%s\.output\.0\.DefaultFormat\.bfloat16'
                         r'\.npy' % TIME,
                         'rank_3/execution_order/ms_execution_order_graph_4.csv',
                         'rank_3/execution_order/ms_global_execution_order_graph_4.csv',
                         r'rank_3/\.dump_metadata/data_dump\.json', r'rank_3/\.dump_metadata/config\.json'],
                        never=NOT_REACHED % 'ResNet50')
        order = 'dump/rank_3/execution_order/ms_%sexecution_order_graph_4.csv'
        self.assertEqual(self.read(order % '').decode().splitlines(),
                         ['NodeExecutionOrder-FullNameWithScope', CONV['name'], DENSE['name']])
        self.assertEqual(self.read(order % 'global_').decode().split(), [str(step) for step in STEPS])
        self.assertEqual(self.read('dump/rank_3/.dump_metadata/data_dump.json'), self.read('config.json'))
        self.assertIn(self.check_arrays('dump'), (0, len(STEPS) * len(names) + 1))
        self.msprobe_reads('npy', len(names))

    def test_mindspore_cpu_without_outputs(self):
        self.mindspore('cpu', {'input_output': 1})
        self.assertFalse([name for name in self.files('dump') if 'constants' in name or '.output.' in name])

    def msprobe_reads(self, mode, count):
        space = msprobe_functions()
        if space is None or numpy is None:
            return
        for step in STEPS:
            found, rows = space['generate_data_name'](self.path('dump/rank_3/ResNet50/4', str(step)))
            self.assertEqual((found, len(rows)), (mode, count))
        for name in self.files('dump'):
            if name.endswith('.npy'):
                parts = space['get_name_dict'](os.path.basename(name))
                self.assertIn(parts['input_output_index'].split('.')[0], ('input', 'output'))
                self.assertIn(parts['op_type'], ('Conv2D', 'BiasAdd', 'Parameter'))

    # torchair.

    def test_torchair(self):
        os.mkdir(self.path('dump'))
        config = {'dump_config': {'enable_dump': True, 'dump_mode': 'all', 'dump_path': 'dump', 'quant_dumpable': True,
                                  'dump_step': '0|1', 'dump_layer': 'Add_1Mul_1 Add2', 'dump_data': 'stats'}}
        adds = [{'name': name, 'type': 'Add', 'task_id': 7, 'stream_id': 3,
                 'outputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [4]}]} for name in ('Add_1Mul_1', 'Add2', 'Add3')]
        run = {'steps': 4, 'models': [{'name': 'ge_default.20200808163719/121', 'id': 1, 'ops': adds}]}
        for options, rank in (([], 'worldsize1_global_rank0'),
                              (['--world-size', '8', '--rank', '5'], 'worldsize8_global_rank5')):
            self.replay(config, run, *options)
            self.check_tree('dump/' + rank, [r'%s/0/ge_default_20200808163719_121/1/%d/Add\.%s\.7\.3\.%s\.csv' % (
                SECOND, step, name, TIME) for step in (0, 1) for name in ('Add_1Mul_1', 'Add2')])
            self.assertIn(self.check_tables('dump/' + rank), (0, 4))

    # CANN.

    RESNETS = [{'name': 'ResNet-101', 'id': 1, 'ops': [dict(CONV, name='any'), dict(DENSE, name='other')]},
               {'name': 'ResNet-50', 'id': 2, 'ops': [
                   dict(CONV, name='conv1conv1_relu', task_id=5), dict(CONV, name='pool1', task_id=6),
                   dict(CONV, name='fused', task_id=7, original_names=['res2a_branch1', 'x']), dict(CONV, name='no')]},
               {'name': 'ResNet-18', 'id': 3, 'ops': [CONV]}]

    def test_cann_models(self):
        os.mkdir(self.path('output'))
        config = {'dump': {'dump_path': 'output', 'dump_mode': 'output', 'dump_op_switch': 'off', 'dump_data': 'tensor',
                           'dump_list': [{'model_name': 'ResNet-101'},
                                         {'model_name': 'ResNet-50', 'layer': ['conv1conv1_relu', 'pool1', 'res2a_branch1',
                                                                               'res2a_branch2ares2a_branch2a_relu']}]}}
        self.replay(config, {'steps': 2, 'models': self.RESNETS})
        names = ['ResNet-101/1/%%d/Conv2D.any.65535.1.%s' % TIME, 'ResNet-101/1/%%d/BiasAdd.other.65535.2.%s' % TIME]
        names += ['ResNet-50/2/%%d/Conv2D.%s.%d.1.%s' % (name, task, TIME)
                  for name, task in (('conv1conv1_relu', 5), ('pool1', 6), ('fused', 7))]
        self.check_tree('output', [SECOND + '/0/' + name.replace('.', r'\.') % step for step in (0, 1) for name in names],
                        never='res2a_branch2ares2a_branch2a_relu  ResNet-50  the model has no operator of that name')

    def test_cann_single_operators(self):
        os.mkdir(self.path('output'))
        config = {'dump': {'dump_path': 'output', 'dump_list': [], 'dump_op_switch': 'on', 'dump_data': 'tensor'}}
        self.replay(config, {'steps': 2, 'device_id': 6, 'models': self.RESNETS, 'single_ops': [dict(CONV, name='a/b.c')]})
        found = self.files('output')
        self.assertEqual(len(found), 2)
        for name in found:
            self.assertRegex(name, r'^%s/6/Conv2D\.a_b_c\.65535\.1\.%s$' % (SECOND, TIME))

    def test_cann_statistics(self):
        os.mkdir(self.path('output'))
        config = {'dump': {'dump_path': 'output', 'dump_data': 'stats', 'dump_mode': 'all',
                           'dump_list': [{'model_name': 'ResNet-101'}]}}
        self.replay(config, {'models': self.RESNETS})
        self.check_tree('output', [r'%s/0/ResNet-101/1/0/%s\.%s\.csv' % (SECOND, name, TIME)
                                   for name in (r'Conv2D\.any\.65535\.1', r'BiasAdd\.other\.65535\.2')])
        self.assertIn(self.check_tables('output'), (0, 4))


if __name__ == '__main__':
    missing = [what for what, there in (('NumPy', numpy), ('pandas', pandas), ('msprobe', msprobe_functions())) if not there]
    if missing:
        print('\n'.join('left out: reading by ' + what for what in missing))
    tool_case.main()
