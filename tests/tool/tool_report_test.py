#!/usr/bin/env python3
"""Tests of the pages of `opdump report` from outside, without a browser: tool_report_test.py OPDUMP FLASH_IMAGE_MAKER
SMALL_ONNXRUNTIME [unittest arguments]. Standard library only."""
import base64
import hashlib
import json
import math
import os
import re
import struct
import subprocess
import sys
import unittest.mock

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'report'))
import proto_record  # noqa: E402
import tool_case  # noqa: E402
from made_dumps import HOSTILE, op_name, values, write_negations, write_network  # noqa: E402
from model_files import onnx_model, onnx_node  # noqa: E402
from report_page import ReportPage  # noqa: E402
from tool_case import Case, FLOAT, floats, npy, record, tensor  # noqa: E402

MAKER, ORT = '', ''
VERDICTS = ['agrees', 'culprit', 'victim', 'diverges', 'unpaired']
MEASURES = ['cosine', 'euclid', 'max_abs', 'max_rel']


def float32(number):
    number = {'nan': math.nan, 'inf': math.inf, '-inf': -math.inf}.get(number, number)
    return struct.unpack('<f', struct.pack('<f', number))[0]


def sentence(text):
    return text[0].upper() + text[1:]


class Report(Case):
    def page(self, *arguments, expect=0, name='report.html'):
        out, _ = self.run_tool('report', *arguments, '-o', name, expect=expect)
        self.assertEqual(out.splitlines()[-1], name)
        page = ReportPage(self.read(name).decode('utf-8'))
        self.assertEqual(page.texts['h1'], out.splitlines()[:1])
        return page

    def made(self, **mine):
        write_network(self.write, 'gold')
        write_network(self.write, 'mine', **mine)

    def test_a_page_loads_nothing_and_is_the_same_twice(self):
        self.made(spoil=3)
        page = self.page('mine', '-g', 'gold', expect=1)
        self.page('mine', '-g', 'gold', expect=1, name='again.html')
        self.assertEqual(self.read('report.html'), self.read('again.html'))
        self.assertEqual(re.findall(r'https?:|//[a-z]|@import|url\(', page.raw.replace(page.scripts[0], '')), [])
        policy = [dict(attributes)['content'] for tag, attributes in page.tags
                  if tag == 'meta' and attributes.get('http-equiv') == 'Content-Security-Policy']
        style = re.search('<style>(.*?)</style>', page.raw, re.S).group(1)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, page.scripts[1])]
        self.assertEqual(policy, ["default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; img-src data:" %
                                  tuple(hashes)])
        self.assertFalse([tag for tag, attributes in page.tags if 'style' in attributes])
        self.assertNotRegex(page.scripts[1], r"setAttribute\('style'|style=")
        self.assertFalse([tag for tag, attributes in page.tags if {'src', 'srcset', 'data'} & set(attributes)])
        self.assertEqual([tag for tag, _ in page.tags if tag == 'script'], ['script'] * 2)
        self.assertLessEqual(len(page.scripts[1].encode()), 62000)
        self.assertLessEqual(len(style), 15 * 1024)

    def test_the_numbers_are_those_of_compare(self):
        self.made(spoil=3, nan=(1, 6))
        page = self.page('mine', '-g', 'gold', expect=1)
        compared = json.loads(self.run_tool('compare', 'mine', 'gold', '--json', expect=1)[0])
        self.assertEqual(page.texts['h1'][0], sentence(compared['headline']['text']))
        names, verdicts = page.names(), page.column('runs', 'verdict')
        self.assertEqual([(op['name'], op['verdict']) for op in compared['ops']],
                         [(name, VERDICTS[verdict]) for name, verdict in zip(names, verdicts)])
        places = [page.data['places'][place]['text'] for place in page.column('runs', 'place')]
        self.assertEqual([op['place'] for op in compared['ops']], places)
        for number, evidence in page.data['runs']['evidence'].items():
            self.assertEqual(compared['ops'][int(number)]['evidence'], evidence)
        # Tensors stand in the order of runs, inputs first, in both.
        self.assertEqual(len(compared['tensors']), len(page.column('tensors', 'run_after')))
        for measure in MEASURES:
            column = page.column('tensors', measure)
            for row, told in enumerate(compared['tensors']):
                self.assertEqual(struct.pack('<f', column[row]), struct.pack('<f', float32(told[measure])),
                                 (measure, row))
        self.assertEqual(page.column('tensors', 'diverges'), [int(t['diverges']) for t in compared['tensors']])
        first = compared['headline']['op']
        self.assertIn({'id': 'first', 'class': 'go', 'href': '#op=3&step=0'}, [a for tag, a in page.tags if tag == 'a'])
        self.assertEqual(names[first], 'op3')

    def test_statistics_are_those_of_show(self):
        self.made()
        page = self.page('mine')
        shown = json.loads(self.run_tool('show', 'mine', '--json', '--stats')[0])
        tensors = [tensor for record in shown['records'] for tensor in record['tensors']]
        for mine, theirs in (('min', 'min'), ('max', 'max'), ('mean', 'mean'), ('std', 'std')):
            self.assertEqual([float32(tensor[theirs]) for tensor in tensors], page.column('tensors', mine))
        norm = math.sqrt(sum(float32(v) ** 2 for v in values(0, 0, 24)))
        self.assertAlmostEqual(page.column('tensors', 'l2')[1], norm, places=5)

    def test_it_says_the_essentials_without_its_script(self):
        write_network(self.write, 'gold', ops=30)
        write_network(self.write, 'mine', ops=30, spoil=3)
        page = self.page('mine', '-g', 'gold', expect=1)
        worst = page.worst()
        self.assertEqual(len(worst), 50)
        self.assertEqual([row[0] for row in worst[:3]], ['MatMul op3'] * 3)
        self.assertEqual(worst[0][2], '\u25b2 culprit')
        self.assertIn('its input agrees, output 0 does not', worst[0][-1])
        self.assertIn('not proved: the dump has no journal.', page.texts['p'])

    def test_one_dump_alone_is_judged_by_what_is_no_number(self):
        self.made(nan=(1, 5))
        page = self.page('mine')
        told = json.loads(self.run_tool('why', 'mine', '--json', expect=1)[0])
        self.assertEqual(page.texts['h1'][0], sentence(told['headline']))
        self.assertIn('Conv2D "op5" at net/1', told['headline'])
        self.assertIn('#op=5&step=1', [a['href'] for tag, a in page.tags if tag == 'a' and a.get('id') == 'first'])
        self.assertEqual(page.worst()[0][:3], ['Conv2D op5', 'net/1', '1'])
        self.assertIsNone(page.column('runs', 'verdict'))
        self.assertEqual(self.page('gold').texts['h1'][0], 'Nothing is wrong in what could be judged: 48 tensors looked at')

    def test_it_tells_nothing_of_the_machine(self):
        self.made(spoil=3)
        self.write('mine/Add.odd.1.2.3', b'no record')
        here = os.path.dirname(self.path('mine'))
        self.run_tool('report', self.path('mine'), '-g', self.path('gold'), '-o', self.path('r.html'), expect=(0, 1))
        self.assertNotIn(here, self.read('r.html').decode())

    def test_equal_dumps_agree(self):
        self.made()
        self.assertEqual(self.page('mine', '-g', 'gold').texts['h1'][0], 'Nothing diverges: 48 tensors compared')

    def test_lineage_comes_from_addresses(self):
        self.made()
        page = self.page('mine')
        self.assertEqual(page.column('edges', 'from'), [run for run in range(24) if run % 8 != 7])
        self.assertEqual(page.column('edges', 'to'), [run for run in range(24) if run % 8 != 0])
        self.assertEqual(set(page.column('edges', 'how')), {1})  # the same address, and the same bytes

    def test_steps_and_operators_are_chosen(self):
        self.made(spoil=3)
        for steps, taken in (('1-2', {1, 2}), ('0,2', {0, 2}), ('0|2', {0, 2})):
            page = self.page('mine', '-g', 'gold', '--step', steps, expect=1)
            self.assertEqual({p['step'] for p in page.data['places']}, taken)
        self.assertEqual(set(self.page('mine', '-g', 'gold', '--op', 'op[12]').names()), {'op1', 'op2'})
        self.assertEqual(self.page('mine', '-g', 'gold', '--limits', 'euclid=0.6').texts['h1'],
                         ['Nothing diverges: 48 tensors compared'])

    def test_hostile_names_are_text(self):
        names = [name.replace('/', '_').replace('.', '_') for name in HOSTILE]  # as file names have them
        write_network(self.write, 'gold', steps=1, names=names)
        write_network(self.write, 'mine', steps=1, names=names, spoil=0)
        with open(os.path.join(os.fsencode(self.path('mine')), b'20231114221320', b'0', b'net', b'1', b'0',
                               b'Relu.\xff\xfe<script>.0.0.1700000000009999'), 'wb') as file:
            file.write(record([], [tensor(FLOAT, [2], floats(1, 2))]))
        page = self.page('mine', '-g', 'gold', expect=1)
        self.assertEqual([tag for tag, _ in page.tags if tag == 'script'], ['script'] * 2)
        self.assertEqual([tag for tag, _ in page.tags if tag == 'img'], [])
        self.assertFalse([a for _, attributes in page.tags for a in attributes if a.startswith('on')])
        self.assertEqual(page.names()[:len(names)], names)
        self.assertFalse('<' in page.scripts[0])
        self.assertFalse('\u202e' in page.raw.replace(page.scripts[0], ''))

    def test_it_leaves_out_what_there_is_no_room_for_and_says_so(self):
        write_network(self.write, 'gold', ops=60, shape=(16, 16))
        write_network(self.write, 'mine', ops=60, shape=(16, 16), spoil=50)
        whole = self.page('mine', '-g', 'gold', expect=1)
        self.assertNotIn('Left out', whole.texts['dt'])
        self.assertEqual(len(whole.column('hist', 'of')), 360)
        size = len(whole.raw.encode())
        for _ in range(4):
            page = self.page('mine', '-g', 'gold', '--max-bytes', str(size - 1), expect=1)
            self.assertLess(len(page.raw.encode()), size)
            self.assertIn('Left out', page.texts['dt'])
            self.assertEqual(len(page.names()), 180)
            size = len(page.raw.encode())
        self.assertEqual(self.page('mine', '--histograms', 'none').column('hist', 'of'), [])
        _, error = self.run_tool('report', 'mine', '-o', 'small.html', '--max-bytes', '20K', expect=1)
        self.assertIn('small.html: the page takes', error)
        self.assertFalse(os.path.exists(self.path('small.html')))
        # It is also told what helps.
        told = re.search(r"'--step' or operators with '--op', or allow it by '(--max-bytes) (\d+M)'$", error.strip())
        self.run_tool('report', 'mine', '-o', 'small.html', *told.groups())
        self.run_tool('report', 'mine', '-o', 'smaller.html', '--max-bytes', '85K', '--step', '0')

    def test_journal_losses_are_told(self):
        self.write('run.json', json.dumps({'steps': 3, 'models': [{'name': 'net', 'id': 1, 'ops': [
            {'name': 'conv1', 'type': 'Conv2D', 'outputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [2, 2]}]}]}]}))
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]}}))
        os.mkdir(self.path('dump'))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        page = self.page('dump')
        self.assertIn('complete: 3 records written, 0 lost', page.texts['dd'])
        os.remove(next(os.path.join(root, name) for root, _, names in os.walk(self.path('dump')) for name in names
                       if name.startswith('Conv2D')))
        page = self.page('dump')
        self.assertIn('not complete: 3 records written, 0 lost', page.texts['dd'])
        self.assertIn('not there, though the journal says it was written (1)', page.texts['h3'])

    def test_arrays_of_msprobe_and_mindspore_open(self):
        for op in range(3):
            data = floats(*values(0, op, 6))
            self.write('probe/step0/rank0/dump_tensor_data/Primitive.%s.0.forward.output.0.npy' % op_name(op),
                       npy('<f4', [2, 3], data))
            self.write('probe/step0/rank0/dump_tensor_data/Primitive.%s.0.forward.input.0.npy' % op_name(op),
                       npy('<f4', [2, 3], data))
            self.write('spore/rank_0/net/1/0/Relu.%s.0.0.%d.output.0.ND.npy' % (op_name(op), 1700000000000000 + op),
                       npy('<f4', [2, 3], data))
        page = self.page('probe')
        self.assertEqual(page.names(), ['Primitive.op%d.0.forward' % op for op in range(3)])
        self.assertEqual(page.column('tensors', 'role'), [0, 1] * 3)
        page = self.page('spore')
        self.assertEqual(page.names(), ['op0', 'op1', 'op2'])
        self.assertEqual(page.data['places'][0]['step'], 0)

    def test_plain_dumps_of_cann_open(self):
        output = proto_record.record([], [tensor(1, [2, 2], floats(1, 2, 3, 4))], op_name='conv')  # 1: float32, here
        self.write('cann/20231114221320/0/net/1/7/Conv2D.conv.3.0.1700000000000000', output)
        page = self.page('cann')
        self.assertEqual((page.names(), page.data['places'][0]['step']), (['conv'], 7))
        self.assertEqual(page.column('tensors', 'max'), [4])
        self.assertIn('not proved: the dump has no journal.', page.texts['p'])

    def test_a_flash_image_is_its_tree(self):
        subprocess.run([MAKER, self.path('flash.img'), self.directory, 'session'], check=True, stdout=subprocess.DEVNULL)
        self.run_tool('extract', 'flash.img', '-o', 'tree')
        page, tree = self.page('flash.img'), self.page('tree', name='tree.html')
        self.page('flash.img', name='again.html')
        self.assertEqual(self.read('report.html'), self.read('again.html'))
        self.assertEqual(page.texts['h1'], tree.texts['h1'])
        self.assertRegex(page.texts['h1'][0], r'^Complete, (\d+) of \1 records\. Nothing is wrong in what could be judged: \d+ tensors looked at$')
        self.assertEqual((page.data['image'], page.data['root']), ('flash.img', ''))
        self.assertEqual((tree.data['image'], tree.data['root']), ('', 'tree'))
        for key in ('image', 'root'):
            page.data[key] = tree.data[key]
        self.assertEqual(page.data, tree.data)

    def test_isolated_errors_are_those_of_diverge(self):
        write_negations(self.write, 'mine', off=1)
        write_negations(self.write, 'gold')
        self.write('net.onnx', onnx_model([onnx_node('Neg', ['t%d' % op], ['t%d' % (op + 1)], 'neg%d' % op) for op in range(2)]))
        # Without ONNX Runtime nothing is said of it; of one that is named and not there, it is.
        with unittest.mock.patch.dict(os.environ, {'OPDUMP_ORT': ''}):
            page = self.page('mine', '--model', 'net.onnx')
        self.assertEqual([text for text in page.texts['dd'] if 'recomputed' in text], [])
        self.assertNotIn('isolated', page.data['runs'])
        error = self.run_tool('report', 'mine', '--model', 'net.onnx', '-o', 'x', variables={'OPDUMP_ORT': 'gone.so'}, expect=2)[1]
        self.assertIn('opdump report: gone.so, which OPDUMP_ORT names: ', error)
        os.environ['OPDUMP_ORT'] = ORT
        self.addCleanup(os.environ.pop, 'OPDUMP_ORT')
        told = json.loads(self.run_tool('diverge', 'mine', '--model', 'net.onnx', '--json', expect=1)[0])
        page = self.page('mine', '--model', 'net.onnx', expect=1)
        isolated = page.column('runs', 'isolated')
        self.assertEqual([float32(op['outputs'][0]['isolated']['euclid']) for op in told['ops'][:2]], isolated[:2])
        self.assertEqual(isolated[0], 0)
        self.assertAlmostEqual(isolated[1], 0.5 / math.sqrt(14.0625), places=6)
        self.assertTrue(math.isnan(isolated[2]))
        self.assertEqual(page.column('runs', 'own_fault'), [0, 1, 0])
        self.assertEqual(page.data['runs']['replayed'],
                         {'1': told['ops'][1]['evidence'], '2': 'the model has no operator of this name'})
        self.assertEqual(page.texts['h1'], ['First diverging operator: ' + told['first_diverging']['text']])
        self.assertIn('3 operators, recomputed by onnxruntime 1.99.0: 1 agrees, 1 culprit, 1 not replayed', page.texts['dd'])
        self.assertEqual(page.worst()[0][0], 'Neg neg1')
        # Beside golden both errors stand, and the limits of the comparison have the first word.
        page = self.page('mine', '-g', 'gold', '--model', 'net.onnx', expect=1)
        self.assertEqual(len(page.column('runs', 'error')), len(page.column('runs', 'isolated')))
        page = self.page('mine', '-g', 'gold', '--model', 'net.onnx', '--limits', 'euclid=0.9', expect=1)
        self.assertEqual(page.texts['h1'], ['First operator that is off by itself: ' + told['first_diverging']['text']])
        self.page('gold', '--model', 'net.onnx')
        self.assertIn('net.onnx', self.run_tool('report', 'mine', '--model', 'gone/net.onnx', '-o', 'x', expect=1)[1])

    def test_what_stands_out_against_golden_is_marked(self):
        write_network(self.write, 'gold', nan=(1, 5))
        write_network(self.write, 'mine', nan=(1, 6))
        relu = os.path.join('20231114221320', '0', 'net', '1', '0', 'Relu.op2.2.0.%d' % (1700000000000000 + 200))
        os.remove(self.path('mine', relu))
        self.write(os.path.join('mine', relu), record([], [tensor(11, [4, 6], struct.pack('<24d', *values(0, 2, 24)))]))
        page = self.page('mine', '-g', 'gold', expect=1)
        names, places = page.names(), [page.data['places'][p]['text'] for p in page.column('runs', 'place')]
        for column, run in (('only_mine', ('op6', 'net/1')), ('other_dtype', ('op2', 'net/0'))):
            self.assertEqual([(name, place) for name, place, marked in zip(names, places, page.column('runs', column)) if marked],
                             [run])

    def test_pictures_hold_the_numbers(self):
        self.made(spoil=3)
        page = self.page('mine', '-g', 'gold', expect=1)
        of, quantiles = page.column('pictures', 'of'), page.column('pictures', 'quantiles')
        least, golden_most = page.column('tensors', 'min'), page.column('tensors', 'golden_max')
        pairs = [i for i, pair in enumerate(page.column('pictures', 'pair')) if pair]
        self.assertEqual(len(quantiles), 66 * len(pairs))
        for number, picture in enumerate(pairs):
            mine, golden = quantiles[66 * number:66 * number + 33], quantiles[66 * number + 33:66 * number + 66]
            self.assertEqual((mine[0], golden[32]), (least[of[picture]], golden_most[of[picture]]))
            self.assertEqual((mine, golden), (sorted(mine), sorted(golden)))
        first = page.column('tensors', 'diverges').index(1)
        self.assertEqual(of[:2], [first - 1, first])  # of the culprit
        self.assertEqual(max(page.column('pictures', 'absolute')[48:96]), 255)

    def test_losses_are_told_by_operator(self):
        self.write('run.json', json.dumps({'steps': 20, 'models': [{'name': 'm', 'ops': [
            {'name': name, 'type': 'T', 'outputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [size]}]}
            for name, size in (('small', 16), ('large', 1 << 14))]}]}))
        os.mkdir(self.path('dump'))
        self.run_tool('replay', 'run.json', '--config', self.write('acl.json', json.dumps(
            {'dump': {'dump_path': 'dump', 'dump_list': [{}]}, 'opdump': {'when_full': 'drop', 'ring_bytes': 2048}})), expect=1)
        told = json.loads(self.run_tool('verify', 'dump', '--json', expect=1)[0])
        page = self.page('dump', expect=(0, 1))
        rows = {cells[0]: cells for section, cells in page.rows if section == 'losses' and len(cells) == 7}
        for op in (f for f in told['findings'] if f['kind'] == 'by_op'):
            lost = op['dropped'] + op['aborted']
            self.assertEqual(rows[op['op']][1:6], ['m', '20', str(20 - lost), '0', str(lost)])
        self.assertEqual(rows['T.large'][5], '20')
        self.assertIn('rect', [tag for tag, _ in page.tags])
        self.assertFalse([tag for tag, attributes in page.tags if 'style' in attributes])
        self.assertRegex(page.texts['h1'][0], r'^Not complete, \d+ of 40 records\. Nothing is wrong')

    def test_a_config_is_told_in_words(self):
        self.made()
        config = {'dump': {'dump_path': 'd', 'dump_step': '0', 'dump_list': [{'model_name': 'net', 'layer': ['op1']}]}, 'odd': 1}
        self.write('acl.json', json.dumps(config))
        said = self.run_tool('check', 'acl.json', '--for-device')[0]
        page = self.page('mine', '--config', 'acl.json')
        items = [text for text in page.texts['li'] if text]
        self.assertEqual(items, [line.strip() for line in said.splitlines()[1:]])
        self.assertIn('acl.json: valid and active.', page.texts['p'])
        self.write('acl.json', '{"dump": {"dump_path": "d", "dump_mode": "ouput"}}')
        page = self.page('mine', '--config', 'acl.json', expect=1)
        self.assertIn('acl.json: refused.', page.texts['p'])
        self.assertIn('"ouput" is not allowed', page.texts['li'][0])

    def test_a_name_of_four_thousand_letters(self):
        name = ('</script>\u202e\u2066"\'&' * 400)[:4096]
        header = 'Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value'
        self.write('mine/rank_0/net/1/0/statistic.csv', '%s\nRelu,"%s",1,0,%d,output,0,16,float32,"(2,2)",nan,-1,2\n' % (
            header, name.replace('"', '""'), 1700000000000000))
        page = self.page('mine')
        self.assertEqual(page.names(), [name])
        self.assertEqual([tag for tag, _ in page.tags if tag == 'script'], ['script'] * 2)
        self.assertFalse('\u202e' in page.raw.replace(page.scripts[0], ''))
        self.assertLess(max(len(text) for text in page.texts['h1'] + page.worst()[0]), 500)

    def test_expected_errors_are_told(self):
        self.made(spoil=3)
        write_network(self.write, 'expected', spoil=3)
        page = self.page('mine', '-g', 'gold', '-e', 'expected')
        self.assertEqual(max(v for v in page.column('tensors', 'by_expected') if not math.isnan(v)), 1)

    def test_what_cannot_be_read_is_named(self):
        self.made()
        _, error = self.run_tool('report', 'none', '-o', 'r.html', expect=1)
        self.assertIn('none', error)
        _, error = self.run_tool('report', 'mine', '-o', 'no/such/r.html', expect=1)
        self.assertIn('no/such', error)
        torn = next(os.path.join(root, name) for root, _, names in os.walk(self.path('mine')) for name in names)
        with open(torn, 'r+b') as file:
            file.truncate(40)
        _, error = self.run_tool('report', 'mine', '-o', 'r.html', expect=1)
        self.assertIn(os.path.basename(torn), error)

    def test_the_verdict_tells_what_it_does_not_stand_for(self):
        self.made()
        records = sorted(self.files('mine'))
        os.remove(self.path('mine', records[0]))
        lonely = 'Nothing diverges: 46 tensors compared; 2 golden tensors without a partner'
        self.assertEqual(self.page('mine', '-g', 'gold').texts['h1'], [lonely])
        with open(self.path('mine', records[1]), 'r+b') as file:
            file.truncate(100)
        page = self.page('mine', '-g', 'gold', expect=1)
        self.assertEqual(page.texts['h1'], ['Nothing diverges: 44 tensors compared; 1 file could not be read, '
                                            '4 golden tensors without a partner'])
        self.assertTrue([text for text in page.texts['p']
                         if text.startswith('Could not be read: mine/' + records[1])], page.texts['p'])
        self.assertEqual(self.page('mine', expect=1).texts['h1'],
                         ['Nothing is wrong in what could be judged: 44 tensors looked at; 1 file could not be read'])

    def test_usage(self):
        for words, reason in ((['-o', 'x'], 'a DUMP is missing'), (['a'], "'-o FILE' is missing"),
                              (['a', 'b', '-o', 'x'], 'one DUMP at a time'),
                              (['a', '-o', 'x', '-e', 'y'], "'--expected' needs '-g GOLDEN'"),
                              (['a', '-o', 'x', '--histograms', 'y'], 'is none of all, flagged, none'),
                              (['a', '-o', 'x', '--max-bytes', 'y'], 'is no size'),
                              (['a', '-o', 'x', '--step', 'y'], "'--step y'")):
            self.assertIn(reason, self.run_tool('report', *words, expect=2)[1])


if __name__ == '__main__':
    MAKER, ORT = sys.argv.pop(2), os.path.abspath(sys.argv.pop(2))
    tool_case.main()
