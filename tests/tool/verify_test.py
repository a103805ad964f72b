#!/usr/bin/env python3
"""Tests of `opdump verify` from outside: verify_test.py OPDUMP [unittest arguments]. Standard library only."""
import collections
import glob
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402


# The exit status of a dump that has all that was captured, but not all that was asked for.
NEVER = 4


def op(kind, name, size=16, **keys):
    return dict({'name': name, 'type': kind, 'outputs': [{'fill': 'ramp', 'dtype': 'int8', 'shape': [size]}]}, **keys)


class Case(tool_case.DumpCase):
    RUN = {'device_id': 2, 'steps': 3, 'models': [{'name': 'net', 'id': 7, 'ops': [op('Conv2D', 'conv'),
                                                                                 op('MatMul', 'fc')]}]}

    def replay(self, run=None, *arguments, expect=0):
        self.write('run.json', json.dumps(run or self.RUN))
        return self.run_tool('replay', 'run.json', '--config', 'acl.json', *arguments, expect=expect)[0]

    def verify(self, *arguments, expect=1, where='dump'):
        """The findings, without what was counted by operator, and the whole answer; the text for people says the
        same verdict."""
        out = self.run_tool('verify', where, '--json', *arguments, expect=expect)[0]
        answer = json.loads(out)
        self.assertEqual(answer['complete'], expect in (0, NEVER))
        self.assertEqual(answer['never_captured'], any(f['kind'] == 'never' for f in answer['findings']))
        self.assertEqual(any(f['wrong'] for f in answer['findings']), expect == 1)
        text = self.run_tool('verify', where, *arguments, expect=expect)[0]
        self.assertEqual(text.startswith('complete\n'), expect == 0)
        self.assertEqual(text.startswith('not complete\n'), expect == 1)
        self.assertEqual(text.startswith('complete, but some of what was asked for was never captured\n'),
                         expect == NEVER)
        return [f for f in answer['findings'] if f['kind'] != 'by_op'], answer

    def kinds(self, *arguments, expect=1, **keys):
        return [f['kind'] for f in self.verify(*arguments, expect=expect, **keys)[0]]

    def journal(self):
        (path,) = glob.glob(self.path('dump', '*', '*.journal'))
        return path

    def lines(self):
        with open(self.journal(), encoding='utf-8') as file:
            return file.read().splitlines(keepends=True)

    def put(self, lines):
        with open(self.journal(), 'w', encoding='utf-8') as file:
            file.writelines(lines)

    def record(self, index=0):
        return self.path('dump', self.files('dump')[index])


class Never(Case):
    def never(self, expect=NEVER):
        findings, _ = self.verify(expect=expect)
        return [tuple(f[key] for key in ('cause', 'model', 'type', 'name', 'first_step', 'last_step') if key in f)
                for f in findings if f['kind'] == 'never']

    def test_a_torn_step_of_a_history_is_told(self):
        self.write('dump/20260101000000/opdump.history', 'opdump-history,1\nwritten,1,remains,3,5,7,0\ntorn,5,2\n')
        for command in ('verify', 'show'):
            self.assertIn('step 5: torn, objects 2 of ?', self.run_tool(command, 'dump', expect=1)[0])

    def test_a_name_that_no_operator_has(self):
        self.config(dump_list=[{'model_name': 'net', 'layer': ['fc', 'model/conv,9']}])
        self.replay()
        self.assertEqual(self.never(), [('no_op', 'net', 'model/conv,9')])
        text = self.run_tool('verify', 'dump', expect=NEVER)[0]
        self.assertRegex(text, r'model/conv,9 +net +the model has no operator of that name')

    def test_a_model_that_was_not_loaded(self):
        self.config(dump_list=[{'model_name': 'net'}, {'model_name': 'other'}])
        self.replay()
        self.assertEqual(self.never(), [('no_model', 'other')])

    def test_steps_that_were_not_reached(self):
        self.config(dump_list=[{'model_name': 'net'}], dump_step='0|2-5')
        self.replay()
        self.assertEqual(self.never(), [('steps', 'net', 3, 5)])

    def test_a_suspect_that_runs_before_what_is_watched(self):
        self.config(dump_list=[{'layer': ['conv'], 'watcher_nodes': ['fc']}], dump_scene='watcher', dump_mode='output')
        self.replay()
        self.assertEqual(self.never(), [('before_run', 'net', 'Conv2D', 'conv_To_fc', 0, 0)])
        text = self.run_tool('verify', 'dump', expect=NEVER)[0]
        self.assertIn('the watched operator had not run by then', text)

    def test_a_loss_goes_before(self):
        self.config(dump_list=[{'model_name': 'net', 'layer': ['fc', 'gone']}])
        self.replay()
        os.unlink(self.record())
        self.assertEqual(self.never(expect=1), [('no_op', 'net', 'gone')])

    def test_lines_that_no_session_writes(self):
        self.replay()
        lines = self.lines()
        for bad in ('never,gone,0,0,0,_/_/\n', 'never,no_op,0,0,0,net/x\n', 'never,no_op,0,0,x,net/_/x\n'):
            self.put(lines[:-1] + [bad] + lines[-1:])
            self.assertIn('journal', self.kinds(expect=1))
        self.put(lines[:-1] + ['never,not_run,0,0,7,net/T/a b\n'] + lines[-1:])
        self.assertEqual(self.never(), [('not_run', 'net', 'T', 'a b')])

    def test_what_the_driver_said_stands_against_nothing(self):
        self.replay()
        lines = self.lines()
        for bad in ('driver,\n', 'driver,aclrtMemcpy\n', 'driver,aclrtMemcpy,\n', 'driver,aclrtMemcpy,0\n',
                    'driver,aclrtMemcpy,-0\n', 'driver,aclrt/Memcpy,5\n', 'driver,aclrtMemcpy,4294967295\n',
                    'driver,aclrtMemcpy,5,6\n', 'driver,a,-2147483649\n'):
            self.put(lines[:-1] + [bad] + lines[-1:])
            self.assertIn('journal', self.kinds(expect=1), bad)
        for code in ('507899', '-36', '-2147483648'):
            self.put(lines[:-1] + ['driver,aclrtMemcpy,%s\n' % code] + lines[-1:])
            findings, _ = self.verify(expect=0)
            self.assertEqual([(f['kind'], f['call'], f['code'], f['wrong']) for f in findings],
                             [('driver', 'aclrtMemcpy', code, False)])
            text = self.run_tool('verify', 'dump')[0]
            self.assertIn("the latest call of the device's driver that failed (1)", text)
            self.assertIn('aclrtMemcpy returned ' + code, text)
        self.put(['opdump-journal,2,records\n'] + lines[1:])
        self.assertIn('journal', self.kinds(expect=1))

    def test_a_line_that_version_1_has_not_is_wrong(self):
        self.replay()
        lines = self.lines()
        self.put(lines[:-1] + ['later,1,2\n'] + lines[-1:])
        findings, _ = self.verify(expect=1)
        self.assertEqual([(f['kind'], f['line'], f['message']) for f in findings],
                         [('journal', len(lines), 'no line of a journal begins so')])

    def never_said(self, *lines, arguments=()):
        """What verify says of a replayed dump whose journal says that besides."""
        shutil.rmtree(self.path('dump'))
        os.mkdir(self.path('dump'))
        self.replay(None, *arguments)
        told = self.lines()
        self.put(told[:-1] + ['never,%s\n' % line for line in lines] + told[-1:])
        return self.never

    def test_what_another_loading_captured_is_not_missing(self):
        there = ('not_run,0,0,7,net/Conv2D/conv', 'not_dumped,0,0,7,net/_/', 'steps,1,2,7,net/_/',
                 'no_outputs,0,0,7,net/MatMul/fc')
        for arguments in ((), ('--journal', 'gaps')):
            self.never_said(*there, arguments=arguments)
            self.assertEqual(self.verify(expect=0)[0], [])
        self.assertEqual(self.never_said('steps,1,9,7,net/_/')(), [('steps', 'net', 3, 9)])
        self.assertEqual(self.never_said('skipped,0,0,7,net/_/', 'skipped,2,4,7,net/_/')(), [('skipped', 'net', 3, 4)])
        self.assertEqual(self.never_said('no_inputs,0,0,7,net/MatMul/fc')(), [('no_inputs', 'net', 'MatMul', 'fc')])
        other_model = 'not_run,0,0,8,net/Conv2D/conv'
        self.assertEqual(self.never_said(other_model, other_model)(), [('not_run', 'net', 'Conv2D', 'conv')])

    def test_a_name_copied_from_show(self):
        run = {'models': [{'name': 'net', 'ops': [op('Conv2D', 'model/conv2d/Conv2D'), op('T', 'b')]}]}
        self.config(dump_list=[{'model_name': 'net', 'layer': ['model_conv2d_Conv2D']}])
        self.replay(run)
        self.assertEqual(self.verify(expect=0)[1]['files'], 1)

    def test_what_a_config_of_mindspore_names_in_vain(self):
        def said(**keys):
            self.write('acl.json', json.dumps({'common_dump_settings': dict(
                {'op_debug_mode': 0, 'dump_mode': 1, 'path': self.path('dump'), 'net_name': 'net', 'iteration': 'all',
                 'saved_data': 'tensor', 'input_output': 0, 'kernels': [], 'support_device': [2]}, **keys),
                'e2e_dump_settings': {'enable': True, 'trans_flag': False}}))
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))
            self.replay(run, expect=(0, 3))
            return self.never()
        run = {'device_id': 2, 'models': [{'name': 'net', 'ops': [op('Conv2D', 'Default/conv-op1')]}]}
        self.assertEqual(said(kernels=['Default/conv-op1', 'Blah', 'CONV', 'name-regex(zzz.+)', 'name-regex(.*op1)']),
                         [('no_type', 'blah'), ('no_match', 'zzz.+')])
        self.assertEqual(said(dump_mode=2), [('no_mark',)])
        text = self.run_tool('verify', 'dump', expect=NEVER)[0]
        self.assertIn('the program has marked no operator', text)

    def test_single_operators_that_never_came(self):
        self.config(dump_list=[{}], dump_op_switch='on')
        self.replay()
        self.assertEqual(self.never(), [('no_single_op',)])
        self.assertIn('single operators', self.run_tool('verify', 'dump', expect=NEVER)[0])
        shutil.rmtree(self.path('dump'))
        os.mkdir(self.path('dump'))
        self.replay(dict(self.RUN, single_ops=[op('Relu', 'alone')]))
        self.verify(expect=0)

    def test_what_dump_level_leaves_out(self):
        run = {'models': [{'name': 'net', 'ops': [op('Conv2D', 'conv', level='op'), op('MatMul', 'fc')]}]}
        self.config(dump_list=[{'layer': ['conv', 'fc']}], dump_level='kernel')
        self.replay(run)
        self.assertEqual(self.never(), [('level', 'net', 'conv')])

    def test_two_items_of_one_model(self):
        self.config(dump_list=[{'model_name': 'net', 'layer': ['conv']}, {'model_name': 'net', 'layer': ['fc']}])
        self.replay()
        self.assertEqual(self.verify(expect=0)[1]['files'], 6)


class Causes(Case):
    def test_each_cause_of_a_faulty_tensor_is_read(self):
        self.replay()
        lines = self.lines()
        at = [line.startswith('written') for line in lines].index(True)
        word, recorder, number, _, path = lines[at].split(',')
        os.unlink(os.path.join(os.path.dirname(self.journal()), path.strip()))
        for text in ('the tensor holds fewer bytes than its shape and dtype need',
                     'the tensor has no dtype or one that is none', 'the tensor has too many dims',
                     'the tensor has a negative dim or more elements than can be counted',
                     'an array or a report is missing', 'invalid argument'):
            lines[at] = ','.join(('lost', recorder, number, 'invalid:' + text, path))
            lines[-1] = 'closed,6,5,0,0,0,1,0,0,0,0,0,0,5\n'
            self.put(lines)
            findings, _ = self.verify()
            self.assertEqual([(f['kind'], f['cause']) for f in findings], [('lost', 'invalid:' + text)])
            self.assertIn(text, self.run_tool('verify', 'dump', expect=1)[0])


class SomeSteps(Case):
    def conditional(self, *arguments):
        """A dump of three steps that has `conv` at two of them."""
        self.replay(None, *arguments)
        (gone,) = [name for name in self.files('dump') if '/1/Conv2D.conv.' in name]
        os.unlink(self.path('dump', gone))
        lines = self.lines()
        kept = [line for line in lines if os.path.basename(gone) not in line]
        number = [line for line in lines if line not in kept][0].split(',')[2]
        renumber = lambda line: re.sub(r'^(written,0|to,0),(\d+)', lambda found: '%s,%d' % (
            found[1], int(found[2]) - (int(found[2]) > int(number))), line)
        self.put([re.sub(r'\b6\b', '5', line) if line.startswith('closed') else renumber(line) for line in kept])

    def test_an_operator_that_ran_at_some_steps_is_a_note(self):
        self.conditional()
        findings, _ = self.verify(expect=0)
        self.assertEqual([(f['kind'], f['op'], f['steps'], f['of_steps'], f['wrong']) for f in findings],
                         [('some_steps', 'Conv2D.conv', 2, 3, False)])
        text = self.run_tool('verify', 'dump')[0]
        self.assertRegex(text, r'Conv2D\.conv +net +at 2 of 3 steps +steps 0, 2\n')

    def test_what_is_lost_is_not_told_so(self):
        self.replay()
        os.unlink(self.record())
        self.assertNotIn('some_steps', self.kinds(expect=1))

    def test_what_is_captured_by_chance_is_not_told_so(self):
        self.conditional()
        lines = self.lines()
        self.put([line.replace('Conv2D.conv', 'Opdebug.Node_OpDebug') for line in lines])
        for name in self.files('dump'):
            os.rename(self.path('dump', name), self.path('dump', name.replace('Conv2D.conv', 'Opdebug.Node_OpDebug')))
        self.assertNotIn('some_steps', self.kinds('--quick', expect=0))
        shutil.rmtree(self.path('dump'))
        os.mkdir(self.path('dump'))
        self.config(dump_list=[{'layer': ['fc'], 'watcher_nodes': ['conv']}], dump_scene='watcher', dump_mode='output')
        self.replay()
        self.assertEqual(self.verify(expect=0)[0], [])


class Complete(Case):
    def test_from_any_directory_above(self):
        self.replay()
        findings, answer = self.verify(expect=0)
        self.assertEqual(findings, [])
        self.assertEqual((answer['files'], answer['journals'][0]['written']), (6, 6))
        self.verify(expect=0, where='.')
        self.verify(expect=0, where=os.path.dirname(self.journal()))
        self.verify('--quick', expect=0)
        os.rename(os.path.dirname(self.journal()), self.path('elsewhere'))
        self.verify(expect=0, where='elsewhere')

    def test_gaps_journal(self):
        self.replay(None, '--journal', 'gaps')
        self.assertEqual(self.verify(expect=0)[1]['files'], 6)
        with open(self.record(), 'r+b') as file:
            file.truncate(20)
        self.assertEqual(self.kinds(), ['bad_file'])
        os.unlink(self.record())
        findings, _ = self.verify()
        self.assertEqual([f['kind'] for f in findings], ['missing'])
        self.assertIn('5 files, and the journals without names count 6 records', findings[0]['message'])

    def test_statistics_that_a_gaps_journal_counts(self):
        self.config(dump_list=[{}], dump_data='stats')
        names = (None, dict(self.RUN, models=[{'name': 'net', 'id': 7, 'ops': [op('T', 'n' * 300)]}]))
        for run in names:  # the second has its file in mapping.csv
            self.replay(run, '--journal', 'gaps')
            self.verify(expect=0)
            path = max((self.record(i) for i in range(len(self.files('dump')))), key=self.is_statistics)
            with open(path, 'rb') as file:
                whole = file.read()
            titles = whole[:whole.index(b'\n') + 1]
            for cut in (b'', whole[:-1], titles, titles[1:] + whole[len(titles):], titles + b'Output,0\n'):
                with open(path, 'wb') as file:
                    file.write(cut)
                self.assertEqual(self.kinds(), ['bad_file'], cut)
                self.verify('--quick', expect=0)
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))

    @staticmethod
    def is_statistics(path):
        with open(path, 'rb') as file:
            return file.read().startswith(b'Input/Output')

    def test_what_a_log_has_taken_of_a_gaps_journal_is_counted_once(self):
        with open(self.path('flash.img'), 'wb') as file:
            file.truncate(128 * 1024)
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'flash.img', 'dump_list': [{}]},
                                           'opdump': {'keep': 'newest', 'journal': 'gaps'}}))
        self.replay({'steps': 30, 'models': [{'name': 'net', 'id': 7, 'ops': [op('T', f'o{i}', 4000)
                                                                              for i in range(4)]}]})
        text = self.run_tool('verify', 'flash.img', expect=1)[0]
        (gone,) = re.findall(r'as the log went round \((\d+)\)', text)
        (there,) = re.findall(r'(\d+) files, and the journals without names count 120 records', text)
        self.assertEqual(int(gone) + int(there), 120, text)
        self.assertNotIn('the beginning is gone, ', text)

    def test_what_a_history_let_go_is_not_taken_for_overwritten(self):
        """Also where a log that went round has taken the line that says that there was a history."""
        with open(self.path('flash.img'), 'wb') as file:
            file.truncate(128 * 1024)
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'flash.img', 'dump_list': [{}]}, 'opdump': {
            'keep': 'newest', 'history_steps': 2, 'after_steps': 1, 'trigger_limits': {'firings_per_boot': 15},
            'trigger': [{'op': 'o0', 'stat': 'max', 'above': -1e30}]}}))
        self.replay({'steps': 40, 'models': [{'name': 'net', 'id': 7, 'ops': [op('T', f'o{i}', 4000)
                                                                              for i in range(4)]}]})
        text = self.run_tool('verify', 'flash.img', expect=1)[0]
        self.assertTrue(text.startswith('complete but for the oldest records, which newer ones have overwritten'), text)
        (gone,) = re.findall(r'as the log went round \((\d+)\)', text)
        (there,) = re.findall(r'(\d+) files, and the journals without names count 64 records', text)
        self.assertEqual(int(gone) + int(there), 64)
        self.assertIn('1 journal: 64 records written, 0 lost', text)

    def test_more_files_than_a_gaps_journal_counts(self):
        self.replay(None, '--journal', 'gaps')
        shutil.copy(self.record(), self.record()[:-4] + '0000')
        self.assertEqual(self.kinds(), ['unlisted'])

    def test_records_in_pieces_and_a_dump_of_nothing(self):
        self.replay({'models': [{'name': 'm', 'ops': [op('T', 'big', 100000)]}]}, '--ring-bytes', '4096')
        self.assertIn('begun,', ''.join(self.lines()))
        self.verify(expect=0)
        shutil.rmtree(self.path('dump'))
        os.mkdir(self.path('dump'))
        self.config(dump_list=[{'model_name': 'other'}])
        self.replay(expect=3)
        self.assertEqual(self.verify(expect=NEVER)[1]['files'], 0)

    def test_several_sessions_of_one_moment(self):
        for _ in range(3):
            self.replay()
        times = glob.glob(self.path('dump', '*'))
        for other in times[1:]:  # whatever the clock said
            shutil.copytree(other, times[0], dirs_exist_ok=True)
            shutil.rmtree(other)
        _, answer = self.verify(expect=0)
        self.assertEqual((len(answer['journals']), answer['files']), (3, 18))
        os.unlink(sorted(glob.glob(self.path('dump', '*', '*.journal')))[1])
        self.assertEqual(self.kinds(), ['unlisted'] * 6)

    def test_long_names(self):
        self.replay({'models': [{'name': 'm', 'ops': [op('T', letter * 300) for letter in 'ab']}]})
        self.verify(expect=0)
        rows = self.path('dump', os.path.dirname(self.files('dump')[0]), 'mapping.csv')
        content = tool_case.Case.read(self, rows)
        self.write(rows, content.split(b'\n', 1)[1])
        self.assertEqual(sorted(self.kinds()), ['missing', 'unlisted'])
        os.unlink(rows)
        self.assertEqual(sorted(self.kinds()), ['missing', 'missing', 'unlisted', 'unlisted'])

    def test_arrays_beside_the_records(self):
        self.replay()
        self.run_tool('convert', '-d', self.record(), '-out', os.path.dirname(self.record()))
        findings, _ = self.verify(expect=0)
        self.assertEqual([(f['kind'], f['wrong']) for f in findings], [('unlisted', False)])


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.replay()

    def test_no_journal(self):
        os.unlink(self.journal())
        findings, _ = self.verify()
        self.assertEqual([f['kind'] for f in findings], ['unlisted'] * 6 + ['no_journal'])
        self.assertIn('nothing to prove completeness with', findings[-1]['message'])
        os.mkdir(self.path('empty'))
        self.assertEqual(self.kinds(where='empty'), ['no_journal'])
        self.assertEqual(self.kinds(where='gone'), ['no_journal', 'no_journal'])
        self.run_tool('verify', 'run.json', expect=2)

    def test_one_of_two_dumps_without_journal(self):
        first = os.path.dirname(self.journal())
        os.rename(first, self.path('dump', '20200101000000'))
        self.replay()
        self.verify(expect=0)
        os.unlink(glob.glob(self.path('dump', '20200101000000', '*.journal'))[0])
        self.assertEqual(self.kinds(), ['unlisted'] * 6)

    def test_a_file_deleted(self):
        gone = self.record(2)
        os.unlink(gone)
        findings, _ = self.verify('--quick')
        self.assertEqual([(f['kind'], os.path.basename(f['path'])) for f in findings],
                         [('missing', os.path.basename(gone))])

    def test_a_file_cut_grown_or_replaced(self):
        path = self.record()
        with open(path, 'rb') as file:
            content = file.read()
        for changed in (b'', content[:-1], content + b'\0'):
            self.write(path, changed)
            findings, _ = self.verify('--quick')
            self.assertEqual([f['kind'] for f in findings], ['bad_file'])
            self.assertIn('has %d bytes, and %d were written' % (len(changed), len(content)), findings[0]['message'])
        self.write(path, content[:8] + b'\0' + content[9:])  # in the record's magic number
        self.verify('--quick', expect=0)
        self.assertEqual(self.kinds(), ['bad_file'])
        os.unlink(path)
        os.symlink('/dev/null', path)
        self.assertEqual([f['kind'] for f in self.verify()[0] if f['wrong']], ['bad_file'])
        os.unlink(path)
        os.mkdir(path)
        self.assertEqual(self.kinds(), ['bad_file'])

    def test_a_file_renamed(self):
        os.rename(self.record(), self.record()[:-1] + 'x')
        self.assertEqual(self.kinds(), ['missing', 'unlisted'])

    def test_extra_files(self):
        for name, kind in (('notes.txt', 'unlisted'), ('x.part', 'part')):
            extra = self.write(os.path.join(os.path.dirname(self.record()), name), b'x')
            self.assertEqual(self.kinds(), [kind])
            os.unlink(extra)
        self.write(os.path.join(os.path.dirname(os.path.dirname(self.journal())), 'notes.txt'), b'x')
        self.verify(expect=0)

    def test_a_pair_of_which_one_file_is_not_there(self):
        directory = os.path.dirname(self.record())
        alone = self.write(os.path.join(directory, 'Relu.late.3.0.1700000000000077'), b'x')
        note = self.write(os.path.join(directory, '77.pair.part'), os.path.basename(alone).encode() + b'\0its report\0')
        findings, _ = self.verify()
        told = {os.path.basename(f['path']): f['message'] for f in findings if f['kind'] == 'part'}
        self.assertEqual(sorted(told), sorted(os.path.basename(path) for path in (alone, note)))
        self.assertIn('cut off before its report, without which it does not count', told[os.path.basename(alone)])
        self.assertEqual(self.kinds(), ['part', 'part'])
        os.unlink(note)
        self.assertEqual(self.kinds(), ['unlisted'])

    def test_each_line_deleted_doubled_or_swapped_with_the_next(self):
        lines = self.lines()
        for i in range(len(lines)):
            self.put(lines[:i] + lines[i + 1:])
            self.assertTrue({'journal', 'not_final'} & set(self.kinds()), lines[i])
            self.put(lines[:i + 1] + lines[i:])
            if not lines[i].startswith('opdump-journal'):  # written again whenever a session goes on
                self.assertIn('journal', self.kinds(), lines[i])
            if i + 1 < len(lines):
                self.put(lines[:i] + [lines[i + 1], lines[i]] + lines[i + 2:])
                self.assertIn('journal', self.kinds(), lines[i])

    def test_all_lines_of_a_recorder_deleted(self):
        lines = self.lines()
        self.put([lines[0], lines[-1]])
        kinds = self.kinds()
        self.assertEqual(kinds, ['journal'] + ['unlisted'] * 6)

    def test_places_are_told(self):
        lines = self.lines()
        lines[3] = 'written,0,1,x,2/net/7/0/A.b.1.2.1700000000000002\n'
        self.put(lines)
        findings, _ = self.verify()
        self.assertIn(('journal', 4), [(f['kind'], f.get('line')) for f in findings])
        self.assertIn("no line tells of record 1 of recorder 0", [f.get('message') for f in findings])

    def test_counts_changed(self):
        lines = self.lines()
        counts = lines[-1].strip().split(',')
        for i in range(1, len(counts)):
            changed = counts[:i] + [str(int(counts[i]) + 1)] + counts[i + 1:]
            self.put(lines[:-1] + [','.join(changed) + '\n'])
            self.assertEqual(set(self.kinds()), {'journal'})

    def test_losses_that_only_the_counts_tell_of(self):
        lines = self.lines()
        counts = lines[-1].strip().split(',')
        counts[1] = str(int(counts[1]) + 1)
        counts[9] = '1'
        self.put(lines[:-1] + [','.join(counts) + '\n'])
        findings, _ = self.verify()
        self.assertEqual([(f['kind'], f['count'], f['cause']) for f in findings],
                         [('gap', 1, '1: head too large for the ring')])
        self.assertIn('1 record lost, and no line tells which; of all: 1: head too large for the ring',
                      self.run_tool('verify', 'dump', expect=1)[0])

    def test_a_journal_without_a_line_proves_nothing(self):
        self.write('dump/20260101000000/opdump.0.1.journal', '')
        findings, _ = self.verify()
        self.assertEqual([f['kind'] for f in findings], ['not_final'])
        self.assertIn('has no line, as where the disk had no room for one: it proves nothing', findings[0]['message'])

    def test_a_dump_that_gives_way_to_newer_ones_is_passed_over(self):
        shutil.copytree(os.path.dirname(self.journal()), self.path('dump', '20260101000000.removed'))
        shutil.rmtree(self.path('dump', '20260101000000.removed', '2'))
        self.assertEqual(self.kinds(expect=0), [])
        self.assertNotIn('removed', ''.join(self.run_tool('show', 'dump')))

    def test_not_finalized(self):
        lines = self.lines()
        old = self.record(-1)
        new = old[:-4] + '9999'  # not told yet, and so not wrong
        os.rename(old, new)
        self.put([line for line in lines[:-2] if '/2/MatMul' not in line])
        findings, _ = self.verify()
        self.assertEqual([(f['kind'], f['wrong']) for f in findings], [('not_final', True), ('unlisted', False)])
        self.assertEqual(findings[0]['message'], 'was not finalized: what was captured after sequence number 4 of '
                         'recorder 0 is unknown')
        os.rename(new, old)
        self.put(lines + lines[:1])
        self.assertEqual(self.kinds(), ['not_final'])
        self.put([])
        self.assertEqual([f['kind'] for f in self.verify()[0] if f['wrong']], ['not_final'])

    def test_foreign_paths(self):
        lines = self.lines()
        for path in ('../x', '/etc/passwd', '2/../7/0/A.b.1.2.1700000000000002', '2//7/0/A.b.1.2.1700000000000002',
                     '3/net/7/0/A.b.1.2.1700000000000002', '2/net/7/0/A.b.1.2.17', '2/net/7/0/mapping.csv'):
            changed = list(lines)
            changed[2] = 'written,0,0,5,%s\n' % path
            self.put(changed)
            self.assertIn('journal', self.kinds(), path)


class Losses(Case):
    STEPS = dict(Case.RUN, steps=30, single_ops=[op('Mul', 's')])

    def test_full_ring(self):
        run = {'models': [{'name': 'm', 'ops': [op('T', 'n', 64), op('MatMul', 'dense', 1 << 16)]}], 'steps': 20}
        self.replay(run, '--when-full', 'drop', '--ring-bytes', '2048', expect=1)
        findings, answer = self.verify()
        by_op = [f for f in answer['findings'] if f['kind'] == 'by_op']
        self.assertEqual({f['kind'] for f in findings} - {'gap'}, {'lost'})
        gone = sum(1 if f['kind'] == 'lost' else f['last'] - f['first'] + 1 for f in findings)
        self.assertEqual(sum(f['ring_full'] for f in by_op), gone)
        self.assertEqual({(f['model'], f['seen'], f['wanted'], f['degraded'], f['quota']) for f in by_op},
                         {('m', 20, 20, 0, 0)})
        for f in by_op:
            self.assertEqual(f['wanted'], f['captured'] + f['dropped'] + f['aborted'])
            self.assertLessEqual(f['last_step'], 19)
        self.assertEqual(gone, answer['journals'][0]['lost'])
        self.assertEqual(answer['journals'][0]['lost'] + answer['journals'][0]['written'], 40)
        lost = [f for f in findings if f.get('op') == 'MatMul.dense']
        self.assertEqual((lost[0]['model'], lost[0]['model_id'], lost[0]['recorder']), ('m', 0, 0))
        text = self.run_tool('verify', 'dump', expect=1)[0]
        self.assertRegex(text, r'\n  MatMul\.dense  m \(0\)  steps? 0.*\d records? lost: ')

    def test_counts_of_operators(self):
        self.replay()
        lines = self.lines()
        ops = ['op,3,0,0,3,2,1,0,0,0,0,0,0,0,0,7,net/Conv2D.conv\n', 'op,3,1,2,3,2,0,1,0,1,0,0,0,1,0,7,net/MatMul.fc\n']
        self.put(lines[:-1] + ops + lines[-1:])
        self.assertEqual([(f['kind'], f['op'], f['dropped'], f['aborted']) for f in self.verify()[1]['findings']],
                         [('by_op', 'Conv2D.conv', 0, 0), ('by_op', 'MatMul.fc', 0, 2)])
        text = self.run_tool('verify', 'dump', expect=1)[0]
        self.assertIn('Conv2D.conv  net (7)             1 of 3 records reduced\n', text)
        self.assertIn('MatMul.fc    net (7)  steps 1-2  2 of 3 records lost: 1: the ring was full, 1: the sink failed\n',
                      text)
        fields = ops[1].strip().split(',')
        for i in range(1, len(fields)):
            for bad in ('x', '-1', '00', '', 'n/a'):
                self.put(lines[:-1] + [','.join(fields[:i] + [bad] + fields[i + 1:]) + '\n'] + lines[-1:])
                self.assertIn('journal', self.kinds(), fields[:i] + [bad])
        for i in (2, 4, 5, 6, 7):  # cut short: more than were lost
            changed = fields[:i] + [str(int(fields[i]) + 9)] + fields[i + 1:]
            self.put(lines[:-1] + [','.join(changed) + '\n'] + lines[-1:])
            self.assertIn('journal', self.kinds(), changed)

    def test_losses_are_summed_up_by_operator_cause_and_steps(self):
        self.replay()
        lines = self.lines()
        lost = []
        for i, line in enumerate(lines):
            found = re.fullmatch(r'written,0,(\d+),\d+,(.*MatMul.*)\.\d+\n', line)
            if found:
                lines[i] = 'lost,0,%s,ring_full,%s\n' % found.groups()
                lost.append(found)
        lines[-1] = 'closed,6,3,0,0,0,0,3,0,0,0,0,0,3\n'
        self.put(lines)
        for path in self.files('dump'):
            if 'MatMul' in path:
                os.unlink(self.path('dump', path))
        self.assertEqual(self.kinds(), ['lost'] * 3)
        self.assertIn('  MatMul.fc  net (7)  steps 0-2  3 records lost: the ring was full (recorder 0, numbers 1 to 5)\n',
                      self.run_tool('verify', 'dump', expect=1)[0])

    def test_reduced_records_are_told_and_looked_for(self):
        self.replay()
        lines = self.lines()
        reduced = re.fullmatch(r'written,0,1,\d+,(.*)\n', lines[3])[1]
        os.unlink(self.path('dump', os.path.basename(os.path.dirname(self.journal())), reduced))
        rows = (b'Input/Output,Index,Data Size,Data Type,Format,Shape,Count\n'
                b'Output,0,16,int8,ND,16,16\n')
        csv = self.write(os.path.join(os.path.dirname(self.journal()), reduced + '.csv'), rows)
        lines[3] = 'reduced,0,1,ring_full,%d,%s.csv\n' % (len(rows), reduced)
        lines[-1] = 'closed,6,5,1,0,0,0,0,0,0,0,0,0,6\n'
        self.put(lines)
        findings, _ = self.verify()
        self.assertEqual([(f['kind'], f['sequence'], f['op'], f['cause']) for f in findings],
                         [('reduced', 1, 'MatMul.fc', 'ring_full')])
        self.assertIn('1 record reduced: the ring was full', self.run_tool('verify', 'dump', expect=1)[0])
        begun = reduced[:-1] + '0'
        self.put(lines[:3] + ['begun,0,1,%s\n' % begun] + lines[3:])
        self.assertEqual(self.kinds(), ['reduced'])
        self.put(lines[:3] + ['begun,0,1,%s\n' % begun.replace('fc', 'fd')] + lines[3:])
        self.assertEqual(sorted(self.kinds()), ['journal', 'reduced'])
        self.put(lines)
        os.unlink(csv)
        self.assertEqual(sorted(self.kinds()), ['missing', 'reduced'])

    def test_a_ring_too_small_to_tell(self):
        run = {'models': [{'name': 'm', 'ops': [op('T', 'n' * 100)]}]}
        self.replay(run, '--ring-bytes', '64', expect=1)
        findings, _ = self.verify()
        self.assertEqual([(f['kind'], f['first'], f['last']) for f in findings], [('gap', 0, 0)])

    def test_gaps_journal_with_losses(self):
        self.config(dump_list=[{}], dump_op_switch='on')
        out = self.replay(self.STEPS, '--when-full', 'drop', '--ring-bytes', '512', '--journal', 'gaps', expect=1)
        _, answer = self.verify()
        journal = answer['journals'][0]
        self.assertEqual((journal['detail'], journal['written'] + journal['lost']), ('gaps', 90))
        self.assertEqual(journal['written'], len(self.files('dump')))
        self.assertIn('lost     %d\n' % journal['lost'], out)

    def test_losses_of_a_gaps_journal_whose_lines_the_sink_refused(self):
        self.replay(None, '--journal', 'gaps')
        gone = [self.files('dump')[index] for index in (1, 3)]
        for name in gone:
            os.unlink(self.path('dump', name))
        lost = ['lost,0,%d,sink_failed,%s\n' % (number, name.split('/', 1)[1]) for number, name in zip((1, 3), gone)]
        head, begin = 'opdump-journal,1,gaps\n', 'from,0,0\n'
        end = ['to,0,6\n', 'closed,6,6,0,0,0,0,0,0,0,0,2,0,4\n']
        self.put([head, begin, *lost, *end])
        findings, whole = self.verify()
        self.assertEqual([f['kind'] for f in findings], ['lost', 'lost'])
        again = [head, 'from,0,3\n', lost[1]]
        for lines in ([begin, lost[1]], [begin] + again, again[1:]):
            self.put([head, *lines, *end])
            findings, answer = self.verify()
            self.assertEqual(answer['journals'], whole['journals'])
            self.assertEqual(sorted(f['kind'] for f in findings), ['gap', 'journal', 'lost'])
            self.assertIn('1 record lost, and no line tells which', self.run_tool('verify', 'dump', expect=1)[0])
        self.put([head, begin, *again])
        self.assertEqual(sorted(self.kinds()), ['journal', 'lost', 'not_final'])

    def test_only_the_first_fifty_lines_for_people(self):
        self.replay(dict(self.RUN, steps=60))
        for path in self.files('dump'):
            os.unlink(self.path('dump', path))
        out = self.run_tool('verify', 'dump', expect=1)[0]
        self.assertEqual(len(re.findall(r'(?m)^  dump/', out)), 50)
        self.assertIn("journal says it was written (120)\n", out)
        self.assertIn("  and 70 more such lines; '--json' gives all\n", out)
        self.assertEqual(len(self.verify()[0]), 120)

    def mount(self, size):
        made = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=' + size, 'none', self.path('dump')],
                              capture_output=True, check=False) if os.geteuid() == 0 else None
        if made is None or made.returncode != 0:
            self.skipTest('a tmpfs cannot be mounted here')
        self.addCleanup(subprocess.run, ['umount', self.path('dump')], check=True)

    @staticmethod
    def lost_in(findings):
        """Records: one where a finding has neither a count nor a range of numbers."""
        return sum(f.get('count', f.get('last', 0) - f.get('first', 0) + 1) for f in findings)

    def test_full_disk(self):
        """Each loss is named or counted, with its cause, by a journal that ends as it should."""
        self.mount('512k')
        for options in ({}, {'journal': 'gaps'}, {'reserve_bytes': 200000}):
            for size in (1, 20000):
                for name in os.listdir(self.path('dump')):
                    shutil.rmtree(self.path('dump', name))
                # A limit that is never reached: replay refuses runs that find no room.
                self.limit(max_bytes=500000, when_full='block', block_limit_ms=300000, **options)
                ops = [op('Conv2D', 'conv', size)] + [op('MatMul', 'fc%d' % i, 1) for i in range(9)]
                self.replay(dict(self.RUN, steps=60, models=[{'name': 'net', 'id': 7, 'ops': ops}]), expect=1)
                findings, answer = self.verify()
                told = (options, size, self.run_tool('verify', 'dump', expect=1)[0])
                self.assertEqual({f['kind'] for f in findings}, {'lost', 'gap'}, told)
                (journal,) = answer['journals']
                self.assertTrue(journal['closed'], told)
                self.assertEqual(journal['written'] + journal['lost'], 600, told)
                self.assertEqual(answer['files'], journal['written'], told)
                self.assertEqual(self.lost_in(findings), journal['lost'], told)
                self.assertTrue(all(f['cause'] for f in findings), told)
                self.assertGreater(len(findings), 32, told)
                # What the first run gave back is the second one's room.
                self.replay(dict(self.RUN, steps=60, models=[{'name': 'net', 'id': 7, 'ops': ops}]), expect=1)
                _, answer = self.verify()
                self.assertEqual([(j['closed'], j['written'] + j['lost']) for j in answer['journals']], [(True, 600)] * 2, told)

    def test_a_disk_that_is_full_from_the_start(self):
        self.mount('512k')
        with open(self.path('dump', 'others'), 'wb') as file:
            self.assertRaises(OSError, file.write, bytes(1 << 20))
        self.limit(max_bytes=500000)
        self.write('run.json', json.dumps(self.RUN))
        out, err = self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=1)
        self.assertEqual((out + err).count('no space left there, not even for a journal'), 1, out + err)
        self.assertIn('the journal lacks lines', err)

    def limit(self, **options):
        self.write('acl.json', json.dumps({'dump': {'dump_path': 'dump', 'dump_list': [{}]}, 'opdump': options}))

    def bytes_in_dump(self):
        return sum(os.path.getsize(self.path('dump', path)) for path in self.files('dump'))

    def test_what_the_quota_refused(self):
        self.limit(max_files=5)
        out = self.replay(dict(self.RUN, steps=20), expect=1)
        findings, answer = self.verify()
        self.assertEqual({(f['kind'], f['cause']) for f in findings}, {('lost', 'quota'), ('gap', 'quota')})
        self.assertEqual(self.lost_in(findings) + answer['files'], 40)
        self.assertIn('the quota was used up', out)
        self.assertIn(' lost: the quota was used up (recorder 0, ', self.run_tool('verify', 'dump', expect=1)[0])

    def test_what_was_removed_to_make_room(self):
        for detail in ('records', 'gaps'):
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))
            self.limit(max_bytes=40000, keep='newest', journal=detail)
            ops = [op('Conv2D', 'conv', 300), op('MatMul', 'fc', 300)]
            models = [{'name': 'net', 'id': 7, 'ops': ops}]
            told = self.replay({'device_id': 2, 'steps': 100, 'models': models})
            self.assertLessEqual(self.bytes_in_dump(), 40000)
            findings, answer = self.verify()
            self.assertEqual({f['kind'] for f in findings}, {'removed'})
            if detail == 'records':
                removed = sum(f.get('count', 1) for f in findings)
                self.assertIn('\nremoved  %d older records for newer ones\n' % removed, told)
                self.assertEqual({f['cause'] for f in findings}, {'quota'})
                self.assertEqual(removed + answer['files'], 200)
                self.assertIn('no longer tells which', self.run_tool('verify', 'dump', expect=1)[0])
                self.assertGreater(removed, 100)
                self.assertTrue(all('/%d/' % s in ''.join(self.files('dump')) for s in range((removed + 1) // 2, 100)))

    def test_accounts_of_what_was_removed_give_way_too(self):
        """However long a run is, and however often it is run: newer records find room, and all are accounted for."""
        self.limit(max_bytes=40000, keep='newest', when_full='block', block_limit_ms=300000)
        for _ in range(2):
            self.replay({'device_id': 2, 'steps': 1000, 'models': [{'name': 'net', 'id': 7, 'ops': [
                op('Conv2D', 'conv', 300), op('MatMul', 'fc', 300)]}]})
        self.assertLessEqual(self.bytes_in_dump(), 40000)
        journals = glob.glob(self.path('dump', '*', '*.journal'))
        self.assertLess(sum(map(os.path.getsize, journals)), 20000)
        findings, answer = self.verify()
        wrong = [f for f in findings if f['wrong']]
        self.assertEqual({f['kind'] for f in wrong}, {'removed'})
        for journal in answer['journals']:
            self.assertEqual((journal['written'], journal['lost'], journal['closed']), (2000, 0, True))
        self.assertEqual(sum(f.get('count', 1) for f in wrong) + answer['files'], 2000 * len(journals))
        self.assertGreater(answer['files'], 20)

    def test_what_could_not_be_synced(self):
        self.replay()
        self.put(self.lines() + ['unsynced,5\n'])
        self.assertEqual([(f['kind'], f['errno']) for f in self.verify()[0]], [('unsynced', 5)])
        self.assertIn('Input/output error', self.run_tool('verify', 'dump', expect=1)[0])

    def test_a_shortened_journal_that_does_not_add_up(self):
        self.replay()
        path, = glob.glob(self.path('dump', '*', '*.journal'))
        lines = self.read(path).decode().splitlines(True)
        first = next(i for i, line in enumerate(lines) if line.startswith('written,0,0,'))
        for counts in ('2,0', '0,0', '1,2'):
            lines[first] = 'forgotten,0,0,0,%s,0,0,0,0,0,0,0,0\n' % counts
            with open(path, 'w', encoding='utf-8') as file:
                file.writelines(lines)
            findings, _ = self.verify()
            self.assertIn('journal', {f['kind'] for f in findings})

    def test_of_names_that_are_too_long_the_oldest_records_are_removed(self):
        self.limit(max_files=30, keep='newest')
        ops = [op('Conv2D', 'n' * 250 + end, 3) for end in 'ab']
        self.replay({'device_id': 2, 'steps': 60, 'models': [{'name': 'net', 'id': 7, 'ops': ops}]})
        self.assertLessEqual(len(self.files('dump')), 30)
        findings, answer = self.verify()
        self.assertEqual({f['kind'] for f in findings}, {'removed'})
        self.assertEqual(len(findings) + answer['files'], 120)
        self.assertGreater(answer['files'], 10)
        self.assertLess(max(f['step'] for f in findings), 60 - answer['files'] // 2 + 1)

    def test_older_dumps_removed_leave_a_complete_one(self):
        self.limit(max_files=8, keep='newest')
        old = self.path('dump', '20200101000000', '2', 'net')
        os.makedirs(old)
        for name in 'abcd':
            with open(os.path.join(old, name), 'wb'):
                pass
        self.replay()
        findings, _ = self.verify(expect=0)
        self.assertEqual([(f['kind'], f['count'], f['first'], f['wrong']) for f in findings],
                         [('rotated', 1, 20200101000000, False)])

    def test_space_left_to_others(self):
        self.mount('1024k')
        self.limit(reserve_bytes=512 * 1024)
        self.replay(dict(self.RUN, steps=100), expect=1)
        free = os.statvfs(self.path('dump'))
        self.assertGreaterEqual(free.f_bavail * free.f_frsize, 500 * 1024)
        # What was kept for the journal while it was written is free again.
        self.assertLessEqual(free.f_bavail * free.f_frsize, (560 + 64) * 1024)
        findings, _ = self.verify()
        self.assertEqual({f['cause'] for f in findings if f['kind'] == 'lost'}, {'quota'})

    def kill_replays(self, *options, after=lambda journal: True, delays=(0, 0.02, 0.1)):
        """The findings that are wrong, of dumps whose writer was killed as many seconds after its journal said what
        `after` looks for."""
        run = dict(self.RUN, steps=1000000)
        self.write('run.json', json.dumps(run))
        for delay in delays:
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))
            process = subprocess.Popen([tool_case.OPDUMP, 'replay', 'run.json', '--config', 'acl.json', *options],
                                       cwd=self.directory, stdout=subprocess.DEVNULL)
            def journals():
                return [self.read(path).decode() for path in glob.glob(self.path('dump', '*', '*.journal'))]
            waiting.until(lambda: any(map(after, journals())), 'what the journal has to say', lambda: journals() or process.poll())
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            findings, _ = self.verify()
            self.assertLessEqual({f['kind'] for f in findings if not f['wrong']}, {'part', 'unlisted'})
            yield [f for f in findings if f['wrong'] and f.get('message') != 'the last line is cut short']

    def test_killed(self):
        for wrong in self.kill_replays():
            self.assertEqual([f['kind'] for f in wrong], ['not_final'])

    def test_killed_while_it_lost_records(self):
        """The marks in band tell what is missing and why; no line says how it ended."""
        causes = collections.Counter()
        for wrong in self.kill_replays('--when-full', 'drop', '--ring-bytes', '1024', after=lambda journal: '\ngap,' in journal):
            self.assertEqual(wrong[-1]['kind'], 'not_final')
            self.assertLessEqual({f['kind'] for f in wrong[:-1]}, {'lost', 'gap'})
            causes.update(f['cause'] for f in wrong[:-1])
            told = sorted((n for f in wrong[:-1] for n in range(f.get('first', f.get('sequence')),
                                                                f.get('last', f.get('sequence')) + 1)))
            self.assertEqual(len(told), len(set(told)))
        self.assertEqual(set(causes), {'ring_full'})


    def test_killed_long_after_it_lost_the_last_records(self):
        """No record came after them that could have told of them; yet every one is accounted for."""
        self.config(dump_list=[{}], dump_step='0')
        self.RUN = dict(self.RUN, models=[{'name': 'net', 'id': 7, 'ops': [op('T', 'n%d' % i) for i in range(400)]}])
        def told_of(journal):
            lines = [line.split(',') for line in journal[:journal.rfind('\n') + 1].splitlines()]
            return sum(int(line[3]) - int(line[2]) + 1 if line[0] == 'gap' else line[0] in ('written', 'lost') for line in lines)
        for wrong in self.kill_replays('--when-full', 'drop', '--ring-bytes', '1024', after=lambda journal: told_of(journal) == 400,
                                       delays=(0, 0, 0)):
            _, answer = self.verify()
            told = sum(f.get('last', 0) - f.get('first', 0) + 1 for f in wrong if f['kind'] in ('lost', 'gap'))
            self.assertGreater(told, 0)
            self.assertEqual(answer['files'] + told, 400)


class Wanted(Case):
    ASKED = ('--config', 'acl.json', '--model', 'run.json')
    RUN = dict(Case.RUN, single_ops=[op('Mul', 's'), {'name': 'nothing', 'type': 'T'}])

    def absent(self, run=None):
        self.write('run.json', json.dumps(run or self.RUN))
        findings, _ = self.verify(*self.ASKED)
        self.assertEqual({f['kind'] for f in findings}, {'absent'})
        return [(f['op'], f.get('steps')) for f in findings]

    def test_all_that_is_wanted(self):
        self.config(dump_list=[{}], dump_op_switch='on')
        self.replay()
        self.verify(*self.ASKED, expect=0)
        self.replay(None, '--journal', 'gaps')
        self.verify(*self.ASKED, expect=0)

    def test_kind_and_roles_of_what_is_there(self):
        tensors = op('Conv2D', 'conv')['outputs']
        run, two = ({'steps': 3, 'models': [{'name': 'net', 'id': 7, 'ops': [
            op('Conv2D', 'conv', inputs=tensors, outputs=tensors * outputs)]}]} for outputs in (1, 2))
        longer = json.loads(json.dumps(run))
        longer['models'][0]['ops'][0]['outputs'][0]['shape'] = [1000]
        for made, asked, model, said in (
                ({'dump_data': 'stats'}, {}, None, 'there, without the elements that are asked for'),
                ({'dump_mode': 'output'}, {'dump_mode': 'all'}, None, 'there, without input 0'),
                ({'dump_mode': 'all'}, {'dump_mode': 'all'}, two, 'there, without output 1'),
                ({}, {}, longer, 'there, with %d elements of output 0, which has 1000 in the model' % math.prod(tensors[0]['shape'])),
                ({}, {'dump_data': 'stats'}, None, 'there, without the statistics that are asked for')):
            shutil.rmtree(self.path('dump'), ignore_errors=True)
            os.mkdir(self.path('dump'))
            self.config(dump_list=[{'model_name': 'net'}], **made)
            self.replay(run)
            self.config(dump_list=[{'model_name': 'net'}], **asked)
            self.write('run.json', json.dumps(model or run))
            findings, _ = self.verify(*self.ASKED)
            self.assertEqual({f['message'] for f in findings if f['kind'] == 'absent'}, {said})

    def test_steps_and_layers(self):
        self.config(dump_list=[{'model_name': 'net', 'layer': ['fc']}], dump_step='1-2')
        self.replay()
        self.verify(*self.ASKED, expect=0)
        self.config(dump_list=[{'model_name': 'net'}], dump_step='0-2')
        self.assertEqual(self.absent(), [('any of its 2 wanted operators', 'step 0'), ('Conv2D.conv', 'steps 1-2')])
        without = {key: value for key, value in self.RUN.items() if key != 'steps'}
        self.assertEqual(self.absent(without), [('Conv2D.conv', 'steps 1-2')])
        self.assertEqual(self.absent(dict(self.RUN, steps=2 ** 64 - 1))[1:], [('Conv2D.conv', 'steps 1-2')])

    def test_an_operator_all_of_whose_tensors_are_left_out(self):
        for positions, records in ((['output0'], 3), (['input0'], 6)):
            self.config(dump_level='op', dump_list=[
                {'model_name': 'net', 'optype_blacklist': [{'name': 'Conv2D', 'pos': positions}]}])
            self.replay()
            self.assertEqual(self.verify(*self.ASKED, expect=0)[1]['files'], records)
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))

    def test_models_and_single_operators(self):
        self.replay()
        self.config(dump_list=[{}], dump_op_switch='on')
        other = {'name': 'other', 'ops': [op('T', 'n')]}
        run = dict(self.RUN, models=self.RUN['models'] + [other])
        self.assertEqual(self.absent(run), [('any of its 1 wanted operator', 'steps 0-2'), ('Mul.s', None)])
        without = {key: value for key, value in run.items() if key != 'steps'}
        self.assertEqual(self.absent(without), [('any of its 1 wanted operator', None), ('Mul.s', None)])

    def test_what_a_loss_explains_is_not_absent(self):
        self.replay()
        lines = self.lines()
        gone = next(path for path in self.files('dump') if '/1/MatMul' in path)
        os.unlink(self.path('dump', gone))
        at = next(i for i, line in enumerate(lines) if '/1/MatMul' in line)
        lines[-1] = 'closed,6,5,0,0,0,0,1,0,0,0,0,0,5\n'
        path = gone.split('/', 1)[1].rsplit('.', 1)[0]
        self.put(lines[:at] + ['lost,0,3,ring_full,%s\n' % path] + lines[at + 1:])
        self.assertEqual(self.kinds(*self.ASKED), ['lost'])
        self.put(lines[:at] + ['gap,0,3,3,ring_full\n'] + lines[at + 1:])
        findings, _ = self.verify(*self.ASKED)
        self.assertEqual([f['kind'] for f in findings], ['gap', 'absent'])
        self.assertEqual((findings[1]['op'], findings[1]['steps'], findings[1]['message']),
                         ('MatMul.fc', 'step 1', '1 record; may be among the 1 record lost without a name'))

    def test_names_of_the_config_that_the_models_lack(self):
        self.replay(dict(self.RUN, single_ops=[]))
        self.config(dump_list=[{'model_name': 'net', 'layer': ['conv', 'nope']}])
        text = self.run_tool('verify', 'dump', *self.ASKED, expect=NEVER)[0]
        self.assertTrue(text.startswith('complete, but some of what was asked for was never captured\n'), text)
        self.assertIn('layer "nope" of model "net" matches nothing', text)
        self.config(dump_list=[{'model_name': 'net', 'layer': ['conv']}])
        self.verify(*self.ASKED, expect=0)

    def test_a_name_that_the_dump_has_is_not_missed_where_the_models_lack_it(self):
        for journal in ('records', 'gaps'):
            self.config(dump_list=[{}])
            self.replay(dict(self.RUN, single_ops=[]), '--journal', journal)
            self.config(dump_list=[{'model_name': 'net', 'layer': ['conv', 'fc', 'nope']}, {'layer': ['fc']},
                                   {'model_name': 'gone'}])
            for name in ('conv', 'other'):
                models = [{'name': 'net', 'id': 7, 'ops': [op('Conv2D', name)]}]
                self.write('run.json', json.dumps(dict(self.RUN, models=models, single_ops=[])))
                text = self.run_tool('verify', 'dump', *self.ASKED, expect=NEVER)[0]
                self.assertEqual(re.findall(r'(?m)^  (.*) matches nothing', text),
                                 ['layer "nope" of model "net"', 'model "gone"'])
            self.config(dump_list=[{'model_name': 'net'}])
            models = [{'name': 'gone', 'ops': [op('T', 'x')]}]
            self.write('run.json', json.dumps(dict(self.RUN, models=models, single_ops=[])))
            self.assertTrue(self.run_tool('verify', 'dump', *self.ASKED)[0].startswith('complete\n'))
            shutil.rmtree(self.path('dump'))
            os.mkdir(self.path('dump'))

    def test_what_a_history_let_go_is_not_absent(self):
        for trigger in ({'stat': 'max', 'above': 1e30}, {'stat': 'max', 'above': -1e30}):
            self.write('acl.json', json.dumps({
                'dump': {'dump_path': 'dump', 'dump_list': [{}]},
                'opdump': {'history_steps': 2, 'trigger': [dict(trigger, op='fc')],
                           'trigger_limits': {'firings_per_boot': 1}}}))
            self.replay(dict(self.RUN, steps=9, single_ops=[]))
            self.assertEqual(set(self.kinds(*self.ASKED, expect=0)) - {'trigger', 'fired'}, set())

    def test_same_operator_twice(self):
        run = {'steps': 2, 'models': [{'name': 'm', 'ops': [op('T', 'n'), op('T', 'n')]}]}
        self.replay(run)
        self.verify(*self.ASKED, expect=0)
        run['models'][0]['ops'].append(op('T', 'n'))
        self.assertEqual(self.absent(run), [('T.n', 'steps 0-1')])

    def test_another_device_and_bad_files(self):
        self.replay()
        self.write('run.json', json.dumps(dict(self.RUN, device_id=1)))
        self.assertEqual(self.kinds(*self.ASKED), ['no_journal'])
        self.write('run.json', '{')
        self.assertIn('run.json:1', self.run_tool('verify', 'dump', *self.ASKED, expect=1)[1])
        self.write('acl.json', '{"dump": {}}')
        self.assertIn('acl.json', self.run_tool('verify', 'dump', *self.ASKED, expect=1)[1])

    def test_usage(self):
        for arguments in (['dump', '--model', 'run.json'], [], ['a', 'b'],
                          ['--all', 'dump']):
            error = self.run_tool('verify', *arguments, expect=2)[1]
            self.assertRegex(error, r"; see 'opdump verify --help'\n$")


class Hostile(Case):
    RUN = {'models': [{'name': 'm', 'id': 1, 'ops': [op('T', 'n'), op('T', 'big', 3000)]}]}

    def verdict(self, content):
        with open(self.journal(), 'wb') as file:
            file.write(content)
        return self.run_tool('verify', 'dump', '--quick', expect=(0, 1))[0].startswith('complete\n')

    def each_change(self, content):
        """Each way to change each byte; of a share, other bytes for each way."""
        ways = [lambda at, mask=mask: bytes([content[at] ^ mask]) + content[at + 1:] for mask in (0x01, 0x80, 0x2a)]
        ways += [lambda at: content[at + 1:], lambda at: b'']
        return ((at, content[:at] + way(at)) for i, way in enumerate(ways)
                for at in range(i % tool_case.SHARE, len(content), tool_case.SHARE))

    def test_no_change_of_a_byte_passes_for_complete(self):
        for detail in ('records', 'gaps'):
            self.replay(None, '--journal', detail, '--ring-bytes', '2048')
            with open(self.journal(), 'rb') as file:
                content = file.read()
            self.assertTrue(self.verdict(content))
            passed = [(at, changed) for at, changed in self.each_change(content) if self.verdict(changed)]
            self.assertEqual(passed, [])
            shutil.rmtree(os.path.dirname(self.journal()))

    def test_losses_stay_losses(self):
        self.replay(None, '--ring-bytes', '512', '--when-full', 'drop', expect=(0, 1))
        with open(self.journal(), 'rb') as file:
            content = file.read()
        lines = content.splitlines(keepends=True)
        lines[2:-1] = [b'lost,0,0,ring_full,2/m/1/0/T.n.65535.65535\n', b'gap,0,1,3,ring_full+too_large\n', b'to,0,4\n']
        content = b''.join(lines)
        self.assertEqual([at for at, changed in self.each_change(content) if self.verdict(changed)], [])

    def test_lines_without_end_and_other_rubbish(self):
        self.replay()
        for content in (b'x' * (2 << 20), b'\n' * 1000, b'\0' * 1000, bytes(range(256)) * 100,
                        b'opdump-journal,1,records\nfrom,0,0\nwritten,0,0,1,' + b'9' * (1 << 20) + b'\n',
                        b'opdump-journal,1,gaps\nfrom,0,0\ngap,0,0,4294967295,ring_full\nto,0,0\n'):
            self.assertFalse(self.verdict(content))

    def test_names_cannot_drive_the_terminal(self):
        self.replay()
        self.write(os.path.join(os.path.dirname(self.record()), '\x1b[31m\n"\\'), b'x')
        findings, _ = self.verify()
        self.assertTrue(findings[0]['path'].endswith('\x1b[31m\n"\\'))
        self.assertNotIn('\x1b', self.run_tool('verify', 'dump', expect=1)[0])


class MindSpore(Case):
    """In the layouts with a folder per rank, the journal beside the networks."""

    def mindspore(self, *arguments, **changes):
        common = dict({'dump_mode': 0, 'path': self.path('dump'), 'net_name': 'Net', 'iteration': 'all',
                       'saved_data': 'full', 'input_output': 0, 'kernels': [], 'support_device': [2]}, **changes)
        self.write('acl.json', json.dumps({'common_dump_settings': common,
                                           'e2e_dump_settings': {'enable': True, 'save_kernel_args': True}}))
        self.replay(None, *arguments)

    def test_complete_with_all_that_is_no_tensor(self):
        for personality in ('o0', 'cpu'):
            self.mindspore('--personality', personality)
            self.verify(expect=0)
            self.assertTrue(any('execution_order' in name for name in self.files('dump')))
            shutil.rmtree(self.path('dump'))

    def test_damaged_and_missing_arrays(self):
        self.mindspore()
        arrays = [name for name in self.files('dump') if name.endswith('.npy')]
        with open(self.path('dump', arrays[0]), 'r+b') as file:
            file.write(b'?')
        self.assertEqual(self.kinds(), ['bad_file'])
        self.verify('--quick', expect=0)
        os.unlink(self.path('dump', arrays[0]))
        self.assertEqual(self.kinds(), ['missing'])

    def test_tables_that_lack_rows(self):
        self.mindspore(saved_data='statistic')
        table = [name for name in self.files('dump') if name.endswith('statistic.csv')][0]
        self.verify(expect=0)
        whole = tool_case.Case.read(self, 'dump', table)
        for cut in (whole[:-1], whole[:whole.index(b'\n') + 1], b''):
            os.unlink(self.path('dump', table))
            self.write(os.path.join('dump', table), cut)
            self.assertEqual(self.kinds(), ['bad_file'])


if __name__ == '__main__':
    tool_case.main()
