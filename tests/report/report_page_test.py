#!/usr/bin/env python3
"""Tests of the pages of `opdump report` in Debian's Chromium: report_page_test.py OPDUMP BUILD_FOLDER
SMALL_ONNXRUNTIME [unittest arguments]. The browser is driven by puppeteer-core, and axe-core judges what people with other senses make of the
page; both come from npm, as package.json says, into the build folder. Skipped, saying so, where Chromium, node
or npm are not there. With OPDUMP_SHOTS=FOLDER the pictures of the pages stay there."""
import json
import os
import pathlib
import struct
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent / 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
from made_dumps import HOSTILE, TIME, TYPES, write_negations, write_network  # noqa: E402
from model_files import onnx_model, onnx_node  # noqa: E402
from browser import Browser  # noqa: E402
from report_page import ReportPage  # noqa: E402
from tool_case import Case  # noqa: E402

BROWSER = None
MEASURES = ('cosine', 'euclid', 'max_abs', 'max_rel')
MILLION = 1000 * 1000


def shown(number):
    """As the page writes it: six digits of the float."""
    number = struct.unpack('<f', struct.pack('<f', number))[0]
    if number == int(number) and abs(number) < 1e6:
        return str(int(number))
    return float('%.6g' % number)


class InBrowser(Case):
    def setUp(self):
        super().setUp()
        self.shots = pathlib.Path(os.environ.get('OPDUMP_SHOTS', self.path('shots')))
        self.shots.mkdir(parents=True, exist_ok=True)

    def look(self, *jobs):
        for job in jobs:
            job['page'] = self.path(job['page'])
            if 'shot' in job:
                job['shot'] = str(self.shots / job['shot'])
        results = BROWSER.look(jobs, self.path('jobs.json'))
        for job, saw in zip(jobs, results):
            # The page itself, and nothing else.
            self.assertEqual([url.split('#')[0] for url in saw['requests']], ['file://' + job['page']])
            self.assertEqual(saw['errors'], [])
        return results

    def made(self, **mine):
        write_network(self.write, 'gold', ops=24, shape=(2, 16, 16), steps=5, tensors=3)
        write_network(self.write, 'mine', ops=24, shape=(2, 16, 16), steps=5, tensors=3, **mine)
        self.run_tool('report', 'mine', '-g', 'gold', '-o', 'r.html', expect=(0, 1))

    def test_a_path_of_clicks_leads_from_the_verdict_to_the_tensors_of_the_culprit(self):
        self.made(spoil=9)
        compared = json.loads(self.run_tool('compare', 'mine', 'gold', '--json', expect=1)[0])
        saw, = self.look({'page': 'r.html', 'steps': [['click', '#first']]})
        state = saw['states'][-1]
        self.assertEqual(state['verdict'], 'F' + compared['headline']['text'][1:])
        self.assertEqual(state['heading'], 'Softmax op9')
        self.assertEqual(state['hash'], '#op=9&step=0')
        self.assertEqual(state['focus'], 'op-h')
        self.assertEqual(state['evidence'], compared['ops'][compared['headline']['op']]['evidence'])
        theirs = [t for t in compared['tensors'] if t['tensor'].startswith('op9:')][:3]
        self.assertEqual([name for name, _ in state['measured']], ['output 0 \u25b2 diverges', 'input 0', 'input 1'])
        for (_, mine), told in zip(state['measured'], [theirs[2], theirs[0], theirs[1]]):
            for measure in MEASURES:
                self.assertEqual(float(mine[measure]), float(shown(told[measure])), (measure, told))

    def test_a_click_shows_the_operator_and_its_row(self):
        self.made(spoil=9)
        saw, = self.look({'page': 'r.html', 'height': 700, 'shot': 'click.png', 'steps': [['click', '#first'], ['press', 'Tab']]})
        self.assertTrue(saw['states'][1]['row'])
        self.assertLessEqual(saw['states'][1]['top'], 100)
        self.assertGreaterEqual(saw['states'][1]['top'], 0)

    def test_the_chart_and_the_map_have_one_axis(self):
        self.made(spoil=9)
        op = (9 + 0.5) / 24
        # Behind the margin of the chart's numbers.
        chart = lambda share, width: (46 + share * (width - 46)) / width  # noqa: E731
        width = 1280 - 2 * 24 - 2 * 17
        saw, = self.look({'page': 'r.html', 'steps': [['at', '#heat', op], ['at', '#errors', chart(1 / 48, width)],
                                                      ['at', '#errors', chart(op, width)]]})
        self.assertEqual([state['heading'] for state in saw['states'][1:]], ['Softmax op9', 'Conv2D op0', 'Softmax op9'])
        self.assertEqual(len(set(saw['states'][0]['charts'])), 1)

    def test_what_an_operator_adds_by_itself_is_told(self):
        write_negations(self.write, 'gold')
        write_negations(self.write, 'mine', off=1)
        self.write('net.onnx', onnx_model([onnx_node('Neg', ['t%d' % op], ['t%d' % (op + 1)], 'neg%d' % op) for op in range(3)]))
        self.run_tool('report', 'mine', '-g', 'gold', '--model', 'net.onnx', '-o', 'r.html', expect=1)
        told = json.loads(self.run_tool('diverge', 'mine', '--model', 'net.onnx', '--json', expect=1)[0])['ops']
        saw, = self.look({'page': 'r.html', 'shot': 'isolated.png', 'steps': [
            ['click', '#first'], ['open', '#op details'], ['select', '#only', 'is:own'], ['type', '#filter', 'isolated>0.2']]})
        states = saw['states']
        self.assertEqual((states[1]['heading'], states[1]['replayed']), ('Neg neg1', 'Off by itself: ' + told[1]['evidence']))
        self.assertEqual([state['count'] for state in states[2:]], ['3 of 3', '1 of 3', '0 of 3'])
        isolated = told[1]['outputs'][0]['isolated']['euclid']
        self.assertEqual(float(states[3]['rows'][0][7]), float(shown(isolated)))
        # Each picture has its numbers in a table, too; of mine, of golden and of the error there is one row.
        self.assertEqual(states[2]['tables'], {'Histogram as a table': 96, 'Pictures as a table': 6, 'Quantiles as a table': 33,
                                               'Errors as a table': 48})

    def test_nothing_is_wrong_for_those_who_see_otherwise(self):
        self.made(spoil=9, nan=(2, 20))
        self.run_tool('report', 'mine', '-o', 's.html')
        # Tables of the operator's pictures have thousands of cells, all alike.
        jobs = [{'page': page, 'theme': theme, 'width': width, 'axe': True, 'full': True,
                 'steps': [['click', '#first'], ['open', '#app > section > details']],
                 'shot': '%s-%s-%d.png' % (page[0], theme, width)}
                for page in ('r.html', 's.html') for theme in ('light', 'dark') for width in (1280, 390)]
        for saw in self.look(*jobs):
            self.assertEqual(saw['violations'], [])
            self.assertEqual(saw['states'][-1]['wide'], 0)  # nothing to scroll sideways but tables

    def test_the_keyboard_reaches_what_the_mouse_does(self):
        self.made(spoil=9)
        keys = [['focus', '#heat'], ['press', 'ArrowRight'], ['press', 'ArrowDown'], ['press', 'Enter'],
                ['focus', '#table'], ['press', 'Home'], ['press', 'ArrowDown'], ['press', 'Enter'],
                ['focus', '#errors'], ['press', 'End']]
        saw, = self.look({'page': 'r.html', 'steps': keys})
        states = saw['states']
        self.assertEqual(states[3]['heading'], 'Conv2D op10')
        self.assertEqual(states[3]['hash'], '#op=10&step=1')
        self.assertEqual(states[4]['focus'], 'op-h')
        self.assertEqual(states[8]['hash'], '#op=1&step=0')
        self.assertEqual(states[-1]['live'], 'MatMul op23 at net/4, victim')

    def test_the_table_filters_and_sorts(self):
        self.made(spoil=9)
        saw, = self.look({'page': 'r.html', 'hash': '#op=3&step=2', 'steps': [
            ['type', '#filter', 'type:Relu step:1'], ['type', '#filter', 'err>0.1'], ['select', '#only', 'verdict:culprit'],
            ['type', '#filter', ''], ['select', '#only', ''], ['click', '#table thead th:nth-child(6) button']]})
        states = saw['states']
        self.assertEqual(states[0]['heading'], 'MatMul op3')
        self.assertEqual([state['count'].split()[0] for state in states], ['120', '5', '75', '5', '5', '120', '120'])
        self.assertEqual(states[1]['rows'][0][1:4], ['Relu', 'op2', 'net/1'])
        self.assertEqual(states[-1]['rows'][0][5], '0.5')

    def test_names_stay_text(self):
        names = [name.replace('/', '_').replace('.', '_') for name in HOSTILE]
        write_network(self.write, 'gold', steps=2, names=names)
        write_network(self.write, 'mine', steps=2, names=names, spoil=0)
        self.run_tool('report', 'mine', '-g', 'gold', '-o', 'r.html', expect=1)
        after = [['press', 'Tab']]
        header = 'Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value'
        self.write('long/rank_0/net/1/0/statistic.csv', '%s\nRelu,"%s",1,0,%d,output,0,16,float32,"(2,2)",nan,-1,2\n' % (
            header, ('</script>\u202e' * 400)[:4096], TIME))
        self.run_tool('report', 'long', '-o', 'long.html')
        saw, *_ = self.look({'page': 'r.html', 'steps': [['click', '#first']] + after, 'shot': 'hostile.png'},
                            {'page': 'long.html', 'steps': [['click', '#worst tbody a']] + after},
                            *({'page': 'r.html', 'hash': '#op=%d&step=1' % op} for op in range(len(names))))
        self.assertEqual(saw['states'][-1]['title'], 'opdump report: mine')
        self.assertEqual(saw['states'][-1]['images'], 0)

    def test_it_says_the_essentials_without_its_script(self):
        self.made(spoil=9)
        saw, printed = self.look({'page': 'r.html', 'script': False, 'shot': 'noscript.png'},
                                 {'page': 'r.html', 'media': 'print', 'shot': 'print.png', 'full': True})
        page = ReportPage(self.read('r.html').decode())
        self.assertIn('First cause: Softmax', saw['text'])
        self.assertEqual(saw['text'].count('<tr><th scope="row">'), 50)
        self.assertEqual(len(page.worst()), 50)
        self.assertEqual(printed['states'][-1]['worst'], 50)
        self.assertEqual((printed['states'][-1]['printed'], saw['states']), (2, []))  # the error strip and the map

    def look_at(self, ops):
        saw, = self.look({'page': 'r.html', 'hash': '#op=%d&step=0' % (ops // 2), 'shot': '%d.png' % ops, 'steps': [
            ['type', '#filter', 'type:Relu'], ['type', '#filter', ''], ['click', '#table thead th:nth-child(3) button'],
            ['click', '#table thead th:nth-child(5) button'], ['scroll', '#table', 100000]]})
        return saw

    def measure(self, ops, *options, golden):
        begun = time.monotonic()
        self.run_tool('report', 'mine', *golden, *options, '-o', 'r.html', expect=(0, 1))
        made = time.monotonic() - begun
        size = os.path.getsize(self.path('r.html'))
        saw = self.look_at(ops)
        states = saw['states']
        print('%d operators x 4 tensors: made in %.1f s, %.1f MB, painted after %s ms, ready after %.0f ms, filter and sort '
              '%s ms, at most %d elements, heap %.0f MB' % (
                  ops, made, size / MILLION, saw.get('paint'), states[0]['ready'],
                  ' '.join('%.0f' % state['took'] for state in states[:5]), max(s['nodes'] for s in states),
                  saw['heap'] / MILLION), file=sys.stderr)
        self.assertEqual(states[0]['heading'], 'Conv2D op%d' % (ops // 2))
        self.assertEqual(states[1]['count'], '%d of %d' % (ops // 5, ops))
        self.assertLessEqual(max(state['nodes'] for state in states), 3000)
        return size, saw

    def test_ten_thousand_operators_stay_quick(self):
        write_network(self.write, 'gold', ops=10000, shape=(4, 8), steps=1, tensors=4)
        write_network(self.write, 'mine', ops=10000, shape=(4, 8), steps=1, tensors=4, spoil=5000)
        size, saw = self.measure(10000, golden=('-g', 'gold'))
        self.assertLessEqual(size, 6 * 1024 * 1024)
        self.assertLessEqual(saw['heap'], 150 * MILLION)
        # What other load holds up once is looked at again.
        seen = []

        def is_quick():
            states = seen[-1] if seen else saw['states']
            if states[0]['ready'] <= 15000 and max(state['took'] for state in states) <= 1000:
                return True
            seen.append(self.look_at(10000)['states'])
            return False
        waiting.until(is_quick, 'a look without delays', lambda: [(states[0]['ready'], [state['took'] for state in states])
                                                                  for states in [saw['states'], *seen]])

    def test_a_hundred_thousand_operators_open(self):
        lines = ['Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value']
        for op in range(100000):
            for io, slot in (('input', 0), ('input', 1), ('input', 2), ('output', 0)):
                lines.append('%s,op%d,%d,0,%d,%s,%d,16,float32,"(2,2)",%d,-1,2' % (
                    TYPES[op % len(TYPES)], op, op % 1000, TIME + op, io, slot, op % 100))
        self.write('mine/rank_0/net/1/0/statistic.csv', '\n'.join(lines) + '\n')
        size, _ = self.measure(100000, golden=())
        self.assertLessEqual(size, 8 * 1024 * 1024)


if __name__ == '__main__':
    BROWSER = Browser(sys.argv.pop(2))
    os.environ['OPDUMP_ORT'] = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
