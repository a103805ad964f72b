#!/usr/bin/env python3
"""Tests of dumps of language models, from outside: tool_tokens_test.py OPDUMP TOKEN_MAKER [unittest arguments]."""
import glob
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
from tool_case import Case  # noqa: E402

MAKER = os.path.abspath(sys.argv.pop(2))
WIDTH, CELLS = 6, 16  # of token_maker.cpp
TOKEN_BYTES = 4 * 4 * WIDTH  # of its four operators


class Tokens(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)

    def ask(self, *arguments):
        """A run of the command that ends by itself."""
        done = waiting.run([tool_case.OPDUMP, *arguments], text=True, capture_output=True, check=False,
                           env=dict(os.environ, ASAN_OPTIONS=f'exitcode={tool_case.CRASH}',
                                    UBSAN_OPTIONS=f'exitcode={tool_case.CRASH}'))
        self.assertIn(done.returncode, (0, 1, 4), done.stdout + done.stderr)
        return done

    def make(self, name, prompt, tokens, rules, fault=None, status=0):
        """A dump in a directory of that name, by a config beside it. What the program told."""
        os.mkdir(name)
        with open(name + '.json', 'w', encoding='utf-8') as file:
            json.dump({'dump': {'dump_path': name, 'dump_list': [{}]},
                       'opdump': {'when_full': 'block', 'block_limit_ms': 60000, 'tokens': rules}}, file)
        fault = [] if fault is None else [str(fault)]
        done = subprocess.run([MAKER, name + '.json', str(prompt), str(tokens), *fault], text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def table(self, name):
        return glob.glob(name + '/*/opdump.0.0.tokens')[0]

    def change_table(self, name, change):
        with open(self.table(name), encoding='utf-8') as file:
            text = file.read()
        changed = change(text)
        self.assertNotEqual(changed, text)
        with open(self.table(name), 'w', encoding='utf-8') as file:
            file.write(changed)

    def records(self, name):
        """Contents by step and operator."""
        found = {}
        for path in glob.glob(name + '/*/0/words/0/*/*'):
            with open(path, 'rb') as file:
                found[int(path.split('/')[-2]), os.path.basename(path).split('.')[1]] = file.read()
        return found

    def test_tokens_go_together_by_position(self):
        self.make('prompt', 5, 8, {'kv': 'new'})
        self.make('single', 1, 8, {'kv': 'new'}, fault=6)
        done = self.ask('compare', 'prompt', 'single')
        self.assertEqual(done.returncode, 1)
        self.assertIn('28 tensors compared: 26 equal, 2 diverging, 4 only golden', done.stdout)
        self.assertIn('first diverging operator: Attention "attend" at words/token 6, ', done.stdout)
        done = self.ask('compare', '--json', 'prompt', 'single')
        tensors = json.loads(done.stdout)['tensors']
        places = [tensor['place'] for tensor in tensors if tensor['golden'] and tensor['mine']]
        self.assertEqual(places, sorted(places))
        by_op = {}
        for tensor in tensors:
            if tensor['mine'] and tensor['golden']:
                by_op.setdefault(tensor['tensor'].split(':')[0], []).append(int(tensor['place'].split()[-1]))
                shape = {'attend': [2, 3]}.get(tensor['tensor'].split(':')[0], [WIDTH])
                self.assertEqual([tensor['mine']['shape'], tensor['golden']['shape']], [shape, shape])
        # Of a prompt the last operator has run for its last token only.
        self.assertEqual(by_op, {'embed': [*range(8)], 'attend': [*range(8)], 'keep': [*range(8)], 'head': [4, 5, 6, 7]})

    def test_steps_go_together_where_they_are_asked_for(self):
        self.make('one', 5, 8, {'kv': 'new'})
        self.make('other', 1, 8, {'kv': 'new'})
        done = self.ask('compare', '--by-step', 'one', 'other')
        self.assertIn('not comparable', done.stdout)
        self.make('alike', 5, 8, {'kv': 'new'})
        done = self.ask('compare', '--by-step', 'one', 'alike')
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('16 tensors compared: 16 equal', done.stdout)

    def test_dumps_of_other_rules_meet_in_the_tokens_of_both(self):
        self.make('last', 5, 8, {'rows': 'last', 'kv': 'new'})
        self.make('third', 3, 8, [{'phase': 'decode', 'every': 2, 'kv': 'new'}])
        done = self.ask('compare', '--json', 'third', 'last')
        tensors = json.loads(done.stdout)['tensors']
        held = {tensor['place'] for tensor in tensors if tensor['mine'] and tensor['golden']}
        self.assertEqual(held, {'words/token 4', 'words/token 6'})
        self.assertTrue(all(tensor['equal'] == tensor['elements'] for tensor in tensors if tensor['mine'] and tensor['golden']))

    def test_new_cells_are_those_of_the_whole_cache(self):
        self.make('whole', 5, 8, {'kv': 'all'})
        self.make('new', 5, 8, {'kv': 'new'})
        whole, new = self.records('whole'), self.records('new')
        row = 4 * WIDTH
        for step, positions in enumerate([[0, 1, 2, 3, 4], [5], [6], [7]]):
            cache = whole[step, 'keep'][-CELLS * row:]
            cells = b''.join(cache[(CELLS - 1 - i) * row:][:row] for i in positions)
            self.assertEqual(new[step, 'keep'][-len(cells):], cells)
            self.assertEqual(len(whole[step, 'keep']) - len(new[step, 'keep']), CELLS * row - len(cells))

    def test_show_tells_phase_position_and_slice(self):
        self.make('dump', 5, 7, {'rows': 'last', 'heads': [1], 'kv': 'new'})
        done = self.ask('show', 'dump', '--step', '0')
        for line in ('  prefill, token 4 of 0-4', '    token 4, 1 of 5 along dim 0', '    cells 11 of 16 along dim 0',
                     '    token 4, 1 of 5 along dim 1, heads 1 of 2 along dim 0'):
            self.assertIn('\n' + line + '\n', done.stdout)
        self.assertEqual(done.stderr, '')
        shown = json.loads(self.ask('show', '--json', 'dump', '--step', '1', '--op', 'attend').stdout)['records'][0]
        self.assertEqual([shown['phase'], shown['positions'], shown['kept']], ['decode', '5', '5'])
        self.assertEqual(shown['tensors'][0]['slice'], {'axis': 1, 'of': 1, 'per': 1, 'positions': '5',
                                                        'heads': {'axis': 0, 'of': 2, 'held': '1'}})

    def test_verify_tells_tokens_and_holds_records_against_them(self):
        self.make('dump', 5, 8, {'kv': 'new'})
        done = self.ask('verify', 'dump')
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('1 prompt, 3 steps of one token: tokens 0-7', done.stdout)
        for change, reason in (
                (lambda text: text.replace('"kept": "0-4"', '"kept": "0-3"'),
                 'output 0 has 5 entries along dim 0, and the table of tokens tells 4'),
                (lambda text: text.replace('"step": 2, "phase"', '"step": 9, "phase"'),
                 'no line of one table of tokens tells its step'),
                (lambda text: text.replace('"op": "attend", "tensors": [{"output": 0, "axis": 1',
                                           '"op": "attend", "tensors": [{"output": 0, "axis": 3'),
                 'output 0 has no dim 3, of which the table of tokens tells'),
                (lambda text: text.replace('"phase": "decode"', '"phase": "decoding"', 1), 'opdump.0.0.tokens:7: phase: ')):
            with open(self.table('dump'), encoding='utf-8') as file:
                before = file.read()
            self.change_table('dump', change)
            done = self.ask('verify', 'dump')
            self.assertEqual(done.returncode, 1, reason)
            self.assertIn(reason, done.stdout)
            self.change_table('dump', lambda _, text=before: text)
        # A crash may cut its last line.
        self.change_table('dump', lambda text: text + '{"step": 4, "ph')
        self.assertEqual(self.ask('verify', 'dump').returncode, 0)
        self.assertEqual(self.ask('verify', 'dump', '--config', 'dump.json').returncode, 0)

    def test_what_has_no_room_is_named(self):
        told = self.make('dump', 5, 7, {'kv': 'new', 'max_bytes_per_token': TOKEN_BYTES - 1}, status=1)
        self.assertIn('96 bytes of tensors per token; more than max_bytes_per_token, 95: what comes when these are used up '
                      'is lost', told)
        self.assertIn('step 1 has used up 95 bytes', told)
        done = self.ask('verify', 'dump')
        self.assertEqual(done.returncode, 1)
        for step in (1, 2):
            self.assertRegex(done.stdout, f'operator head, step {step} +lost: max_bytes_per_token has no room for its 24 bytes')
        found = json.loads(self.ask('verify', '--json', 'dump').stdout)['findings']
        self.assertEqual([(one['op'], one['step'], one['lost_bytes']) for one in found if 'lost_bytes' in one],
                         [('head', 1, 24), ('head', 2, 24)])
        # A prompt has the room of all of its tokens, and its last operator is of one of them.
        self.assertIn((0, 'head'), self.records('dump'))

    def test_check_forecasts_what_a_token_takes(self):
        self.make('dump', 5, 7, {'kv': 'new', 'max_bytes_per_token': 4096})
        card = glob.glob('dump/*/opdump.0.0.model.json')[0]
        forecast = json.loads(self.ask('check', '--json', 'dump.json', '--model', card).stdout)['models'][0]
        self.assertEqual(forecast['decode'], {'bytes_per_token': TOKEN_BYTES, 'bytes_per_step': 0, 'unsized_tensors': 0})
        shown = json.loads(self.ask('show', '--json', 'dump', '--step', '1').stdout)['records']
        self.assertEqual(sum(tensor['bytes'] for record in shown for tensor in record['tensors']), TOKEN_BYTES)
        told = self.ask('check', 'dump.json', '--model', card).stdout
        self.assertIn('cost    model "words": prefill: at most 96 bytes of tensors per token\n', told)
        self.assertIn('cost    model "words": decode: 96 bytes of tensors per token\n', told)
        with open('other.json', 'w', encoding='utf-8') as file:
            json.dump({'dump': {'dump_path': '.', 'dump_list': [{}]},
                       'opdump': {'tokens': {'phase': 'decode', 'heads': [0], 'max_bytes_per_token': 400}}}, file)
        told = self.ask('check', 'other.json', '--model', card).stdout
        self.assertIn('prefill: nothing\n', told)
        # Half of the heads, and the whole cache.
        self.assertIn('decode: 444 bytes of tensors per token; more than max_bytes_per_token, 400: ', told)

    def test_hostile_tables_are_refused(self):
        self.make('dump', 5, 7, {'kv': 'new'})
        with open(self.table('dump'), encoding='utf-8') as file:
            head = file.readline()
        step = '{"step": 0, "phase": "prefill", "positions": "0-4", "kept": "0-4"}\n'
        for lines in ('', '\n', '[]\n', '{"opdump_tokens": 2}\n', head + 'x\n', head + '[]\n', head + '{}\n',
                      head + '{"step": -1}\n', head + '{"step": 0}\n', head + step + step,
                      head + step.replace('0-4', '0-18446744073709551615'), head + step.replace('0-4', '4-0'),
                      head + step.replace('0-4', '0|'), head + step.replace('"kept"', '"keeps"'),
                      head + '{"step": 0, "op": 3}\n', head + '{"step": 0, "op": "embed", "tensors": {}}\n',
                      head + '{"step": 0, "op": "embed", "tensors": [{}]}\n',
                      head + '{"step": 0, "op": "embed", "tensors": [{"input": 0, "output": 0}]}\n',
                      head + '{"step": 0, "op": "embed", "tensors": [{"output": 0, "axis": 32}]}\n',
                      head + '{"step": 0, "op": "embed", "tensors": [{"output": 0, "axis": 0, "per": 0}]}\n',
                      head + '{"step": 0, "op": "embed", "tensors": [{"output": 0, "heads": 3}]}\n'):
            self.change_table('dump', lambda _, text=lines: text)
            done = self.ask('verify', 'dump')
            self.assertEqual(done.returncode, 1, lines)
            self.assertIn('opdump.0.0.tokens', done.stdout, lines)
            for command in (['show', 'dump'], ['compare', 'dump', 'dump']):
                done = self.ask(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn('the table of tokens is not used: ', done.stderr, lines)
        # What can be read and is wrong: entries that a tensor has not.
        self.change_table('dump', lambda _: head + step +
                          '{"step": 0, "op": "embed", "tensors": [{"output": 0, "axis": 0, "per": 1048576}]}\n')
        done = self.ask('compare', 'dump', 'dump')
        self.assertIn('its shape has no dim for the tokens that the table of tokens tells', done.stderr)

    def test_who_has_no_tokens_refuses_the_rules(self):
        with open('acl.json', 'w', encoding='utf-8') as file:
            json.dump({'dump': {'dump_path': '.', 'dump_list': [{}]}, 'opdump': {'tokens': {}}}, file)
        with open('run.json', 'w', encoding='utf-8') as file:
            json.dump({'models': [{'name': 'net', 'ops': [{'name': 'a', 'type': 'Op'}]}]}, file)
        done = self.ask('compile', 'acl.json', '-o', 'plan')
        self.assertEqual(done.returncode, 1)
        self.assertIn('acl.json: opdump.tokens: no firmware with a compiled config tells its tokens', done.stderr)
        self.assertFalse(os.path.exists('plan'))
        done = self.ask('replay', 'run.json', '--config', 'acl.json')
        self.assertEqual(done.returncode, 1)
        self.assertIn('acl.json: opdump.tokens: no run that is replayed tells its tokens', done.stderr)


if __name__ == '__main__':
    tool_case.main()
