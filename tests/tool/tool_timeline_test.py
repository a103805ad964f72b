#!/usr/bin/env python3
"""Tests of `opdump timeline` from outside: tool_timeline_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case, UINT8, record, tensor  # noqa: E402

ROOT = 'dump/20260131130559/'
BEGAN = 1700000000000000
COUNTS = ('wanted', 'captured', 'degraded', 'empty', 'cut_short', 'invalid', 'ring_full', 'timed_out', 'too_large',
          'device_failed', 'sink_failed', 'quota', 'written')
REQUIRED = {'M': {'name', 'args', 'pid'}, 'X': {'name', 'cat', 'ts', 'dur', 'pid', 'tid', 'args'},
            'i': {'name', 'cat', 'ts', 'pid', 'tid', 's', 'args'}, 'C': {'name', 'ts', 'pid', 'args'},
            'b': {'name', 'cat', 'ts', 'pid', 'id'}, 'e': {'name', 'cat', 'ts', 'pid', 'id'}}


def path(op, time, step=0, model='net'):
    return '0/%s/1/%d/Op.%s.3.0.%016d' % (model, step, op, BEGAN + time)


class Timeline(Case):
    def journal(self, *lines, name='opdump.0.%d.journal' % BEGAN, end='\n'):
        self.write(ROOT + name, '\n'.join(('opdump-journal,1,records',) + lines) + end)

    def events(self, *options, expect=0):
        """The events of a trace that keeps the rules of its format."""
        _, error = self.run_tool('timeline', 'dump', '-o', 'trace.json', '--overwrite', *options, expect=expect)
        trace = json.loads(self.read('trace.json').decode('utf-8'))
        self.assertEqual(set(trace), {'displayTimeUnit', 'traceEvents'})
        events = trace['traceEvents']
        slices, counters, spans, threads = {}, {}, {}, set()
        for event in events:
            self.assertEqual(REQUIRED[event['ph']] - set(event), set(), event)
            key = (event['pid'], event.get('tid'))
            if event['ph'] == 'X':
                self.assertGreaterEqual(event['ts'], slices.get(key, 0), 'slices of a thread do not overlap')
                self.assertGreaterEqual(event['dur'], 0)
                slices[key] = event['ts'] + event['dur']
            elif event['ph'] == 'C':
                before = counters.get((event['pid'], event['name']), (0, 0))
                value = (event['ts'], event['args']['bytes'])
                self.assertTrue(value[0] >= before[0] and value[1] >= before[1], event)
                counters[event['pid'], event['name']] = value
            elif event['ph'] in 'be':
                spans.setdefault((event['pid'], event['cat'], event['id'], event['name']), []).append(
                    (event['ph'], event['ts']))
            elif event['ph'] == 'M' and event['name'] == 'thread_name':
                threads.add(key)
        for begun in spans.values():
            self.assertEqual([phase for phase, _ in begun], ['b', 'e'])
            self.assertLessEqual(begun[0][1], begun[1][1])
        self.assertLessEqual(set(slices), threads)
        return events, error

    @staticmethod
    def told(events, phase):
        return [(event['tid'], event['ts'] - BEGAN, event['cat'], event['name']) for event in events
                if event['ph'] == phase]

    def test_what_a_journal_tells(self):
        counts = dict.fromkeys(COUNTS, 0)
        counts.update(wanted=10, written=5, degraded=1, ring_full=2, timed_out=1, sink_failed=2)
        self.journal(
            'provenance,5d3a,,0.1.0,,onnxruntime 1.20', 'from,0,0', 'from,1,0',
            'written,0,0,100,' + path('a', 10),
            'begun,1,0,' + path('big', 12),
            'lost,0,1,timed_out,' + path('b', 25),
            'gap,0,2,3,ring_full',
            'written,1,0,5000,',
            'reduced,0,4,ring_full,40,' + path('c', 30, step=1) + '.csv',
            'written,0,5,100,' + path('d', 55, step=1),
            # A clock that was set back.
            'written,0,6,100,' + path('e', 50, step=1),
            'lost,1,1,sink_failed,',
            'to,0,7', 'to,1,2',
            'op,2,0,0,2,1,0,0,0,1,0,0,0,0,0,1,net/Op.b',
            'closed,' + ','.join(str(counts[name]) for name in COUNTS))
        events, error = self.events()
        self.assertEqual(error, '')
        slices = {event['name']: event for event in events if event['ph'] == 'X'}
        self.assertEqual({name: (event['tid'], event['ts'] - BEGAN, event['dur'], event['cat'])
                          for name, event in slices.items()},
                         {'Op a': (1, 10, 15, 'op'), 'Op c': (1, 30, 25, 'reduced'), 'Op d': (1, 55, 0, 'op'),
                          'Op e': (1, 55, 0, 'op'), 'Op big': (2, 12, 0, 'op')})
        self.assertEqual(slices['Op big']['args'], {'model': 'net', 'step': 0, 'sequence': 0, 'bytes': 5000,
                                                    'file': path('big', 12), 'dur_is_gap': True})
        self.assertEqual(slices['Op c']['args']['causes'], 'the ring was full')
        instants = [event for event in events if event['ph'] == 'i']
        self.assertEqual([(event['tid'], event['ts'] - BEGAN, event['cat'], event['args'].get('from'),
                           event['args'].get('to')) for event in instants if event['s'] == 't'],
                         [(1, 25, 'wait', 1, 1), (1, 25, 'drop', 2, 3), (2, 12, 'lost', 1, 1)])
        self.assertEqual([event['name'] for event in instants if event['s'] == 't'],
                         ['Op b wait: no room in the ring within the limit', 'drop: the ring was full',
                          'lost: the sink failed'])
        self.assertEqual(next(event['args'] for event in instants if event['cat'] == 'provenance'),
                         {'build_id': '5d3a', 'opdump': '0.1.0', 'runtime': 'onnxruntime 1.20'})
        closed = next(event for event in instants if event['cat'] == 'closed')
        self.assertEqual(closed['args'], counts)
        # The sums are those of the journal.
        lost = sum(event['args']['to'] - event['args']['from'] + 1 for event in instants if event['s'] == 't')
        self.assertEqual((len(slices), lost), (counts['written'], counts['wanted'] - counts['written'] - 1))
        self.assertEqual({(event['name'], event['ts'] - BEGAN) for event in events if event['ph'] == 'e'},
                         {('net step 0', 12), ('net step 1', 55)})
        out, _ = self.run_tool('timeline', 'dump', '-o', 'other.json')
        self.assertEqual(out, '5 records, 1 of them reduced, 4 lost, written to other.json\n')
        self.assertEqual(self.read('other.json'), self.read('trace.json'))
        self.assertEqual(self.run_tool('timeline', 'dump')[0].encode(), self.read('trace.json'))

    def test_a_dump_without_a_journal(self):
        for device in (0, 1):
            for i, op in enumerate(('a', 'b')):
                for stream in (0, 2):
                    self.write(ROOT + '%d/net/1/0/Op.%s.3.%d.%016d' % (device, op, stream, BEGAN + 10 * i),
                               record([], [tensor(UINT8, [1], b'x')]))
        events, _ = self.events()
        slices = [event for event in events if event['ph'] == 'X']
        self.assertEqual(len(slices), 8)
        self.assertEqual({(event['pid'], event['tid']) for event in slices}, {(0, 1), (0, 3), (1, 1), (1, 3)})
        self.assertEqual([event['dur'] for event in slices], [10, 0] * 4)

    def test_records_that_a_journal_does_not_tell(self):
        """Its detail is "gaps"."""
        self.write(ROOT + path('a', 5), record([], [tensor(UINT8, [1], b'x')]))
        self.write(ROOT + 'opdump.0.%d.journal' % BEGAN,
                   'opdump-journal,1,gaps\nfrom,0,0\ngap,0,1,4,ring_full\nto,0,5\n')
        events, _ = self.events()
        self.assertEqual([(name, ts) for _, ts, _, name in self.told(events, 'X')], [('Op a', 5)])
        self.assertEqual([(cat, ts) for _, ts, cat, _ in self.told(events, 'i')], [('drop', 0)])

    def test_what_a_program_leaves_that_is_cut_off(self):
        self.journal('from,0,0', 'written,0,0,9,' + path('a', 1), 'written,0,1,9,0/net/1/0/Op', end='')
        events, error = self.events()
        self.assertEqual(len(self.told(events, 'X')), 1)
        self.assertIn('the last line is not whole and is left out', error)
        self.journal('from,0,0', 'nonsense', 'written,0,0,9,' + path('a', 1))
        events, error = self.events(expect=1)
        self.assertEqual(len(self.told(events, 'X')), 1)
        self.assertIn('line 3: no line of a journal begins so', error)

    def test_files_that_are_not_whole_are_told(self):
        content = record([], [tensor(UINT8, [4], b'abcd')])
        for kept in (content, content[:30], content[:-1], b''):
            self.write(ROOT + path('a', 1), content)
            self.write(ROOT + path('b', 2), kept)
            self.journal('from,0,0', *('written,0,%d,%d,%s' % (i, len(content), path(op, i + 1))
                                       for i, op in enumerate('ab')))
            for journal in (True, False):
                if not journal:
                    os.unlink(self.path(ROOT + 'opdump.0.%d.journal' % BEGAN))
                events, error = self.events(expect=int(kept != content))
                self.assertEqual(len([event for event in events if event['ph'] == 'X']), 2)
                self.assertEqual(path('b', 2) in error, kept != content, error)
                self.assertNotIn(path('a', 1), error)
                self.run_tool('show', 'dump', expect=int(kept != content))

    def test_two_boots_and_two_journals(self):
        for boot in (1, 2):
            self.write('dump/boot_%d/x/opdump.0.%d.journal' % (boot, BEGAN + boot),
                       'opdump-journal,1,records\nfrom,0,0\nwritten,0,0,1,%s\nto,0,1\n' % path('a', boot))
        events, _ = self.events()
        self.assertEqual({event['args']['name'] for event in events if event['name'] == 'process_name'},
                         {'device 0, boot 1', 'device 0, boot 2'})
        self.assertEqual(len({(event['pid'], event['tid']) for event in events if event['ph'] == 'X'}), 2)

    def test_names_that_are_no_text(self):
        for time, op in enumerate(('"}', '\udcff', '\u202e')):
            self.write(ROOT + path(op, time), record([], [tensor(UINT8, [1], b'x')]))
        events, _ = self.events()
        self.assertEqual([name for _, _, _, name in self.told(events, 'X')], ['Op "}', 'Op ?', 'Op ?'])
        self.read('trace.json').decode('utf-8')
        json.dumps(events, ensure_ascii=False).encode('utf-8')

    def test_a_replay(self):
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]}}))
        self.write('run.json', json.dumps({'steps': 20, 'models': [{'name': 'net', 'id': 1, 'ops': [
            {'name': 'op%d' % i, 'type': 'Op', 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [4]}]}
            for i in range(3)]}]}))
        os.mkdir(self.path('dump'))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        events, error = self.events()
        self.assertEqual((error, len(self.told(events, 'X'))), ('', 60))
        self.assertEqual(len([event for event in events if event['ph'] == 'b']), 20)

    def test_usage(self):
        self.journal('from,0,0', 'to,0,0')
        self.write('there.json', 'mine')
        self.assertIn("there.json: is there already; '--overwrite' replaces it",
                      self.run_tool('timeline', 'dump', '-o', 'there.json', expect=1)[1])
        self.assertEqual(self.read('there.json'), b'mine')
        os.symlink('there.json', self.path('link.json'))
        self.assertIn("link.json: is there already", self.run_tool('timeline', 'dump', '-o', 'link.json', expect=1)[1])
        self.run_tool('timeline', 'dump', '-o', 'link.json', '--overwrite')
        self.assertTrue(os.path.islink(self.path('link.json')))
        self.assertIn(b'traceEvents', self.read('there.json'))
        self.assertIn('dump: Is a directory', self.run_tool('timeline', 'dump', '-o', 'dump', expect=1)[1])
        os.mkfifo(self.path('fifo'))
        reader = os.open(self.path('fifo'), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.run_tool('timeline', 'dump', '-o', 'fifo')
        self.assertEqual(os.read(reader, 65536), self.read('there.json'))
        self.run_tool('timeline', expect=2)
        self.run_tool('timeline', 'a', 'b', expect=2)
        self.run_tool('timeline', 'none', '-o', 'x.json', expect=1)
        os.mkdir(self.path('empty'))
        self.assertEqual(self.run_tool('timeline', 'empty', '-o', 'x.json', expect=1)[1],
                         'opdump timeline: empty: there is neither a record nor a journal\n')
        self.assertFalse(os.path.exists(self.path('x.json')))
        self.run_tool('timeline', 'dump', '-o', 'x.json')


if __name__ == '__main__':
    tool_case.main()
