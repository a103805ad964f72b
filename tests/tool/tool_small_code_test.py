#!/usr/bin/env python3
"""Tests of what the tool makes of the journal of small code: tool_small_code_test.py OPDUMP SMALL_CODE_MAKER
[unittest arguments]. Standard library only.

The firmware of small_code_maker.cpp runs over a flash part in a file, on which power fails and which is killed.
"""
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402

MAKER = ''


class SmallCode(tool_case.Case):
    def make(self, *scenario):
        """What the firmware counts: records written, reduced and lost; and what `finalize` said."""
        done = subprocess.run([MAKER, self.path('flash.img'), *map(str, scenario)], check=True, stdout=subprocess.PIPE)
        written, reduced, lost, status = done.stdout.decode().split(maxsplit=3)
        return int(written), int(reduced), int(lost), status.strip()

    def extract(self, expect=0):
        directory = 'dump%d' % len(os.listdir(self.directory))
        self.run_tool('extract', 'flash.img', '-o', directory, expect=expect)
        return directory

    def verify(self, directory, expect):
        """The findings, those of each kind in a list, and the answer."""
        answer = json.loads(self.run_tool('verify', directory, '--json', expect=expect)[0])
        self.assertEqual(answer['complete'], expect == 0)
        findings = {}
        for finding in answer['findings']:
            findings.setdefault(finding['kind'], []).append(finding)
        return findings, answer

    def lines(self, directory):
        """Those of each journal, without the heads."""
        journals = []
        for root, _, names in sorted(os.walk(self.path(directory))):
            for name in sorted(names):
                if name.endswith('.journal'):
                    text = self.read(root, name).decode().splitlines()
                    journals.append([line for line in text if line != 'opdump-journal,1,gaps'])
        return journals

    def test_a_whole_dump_proves_itself(self):
        self.assertEqual(self.make('plain'), (15, 0, 0, 'ok'))
        dump = self.extract()
        findings, answer = self.verify(dump, 0)
        self.assertEqual(findings, {})
        self.assertEqual((answer['files'], answer['journals'][0]['written']), (15, 15))
        self.assertEqual(self.lines(dump), [['from,0,0', 'from,1,0', 'to,0,10', 'to,1,5',
                                             'closed,15,15,0,0,0,0,0,0,0,0,0,0,15']])

    def test_a_file_that_is_gone(self):
        self.make('plain')
        dump = self.extract()
        os.unlink(self.path(dump, self.files(dump)[3]))
        findings, _ = self.verify(dump, 1)
        self.assertEqual(list(findings), ['missing'])
        self.assertIn('14 files, and the journals without names count 15 records', findings['missing'][0]['message'])

    def test_losses_have_their_numbers_and_their_cause(self):
        written, _, lost, status = self.make('losses')
        self.assertEqual(status, 'ok')
        dump = self.extract()
        findings, _ = self.verify(dump, 1)
        self.assertEqual(list(findings), ['gap'])
        gaps = [f for f in findings['gap'] if 'recorder' in f]
        rest = [f for f in findings['gap'] if 'recorder' not in f]
        self.assertEqual({f['recorder'] for f in gaps}, {0, 1})
        self.assertEqual({f['cause'] for f in gaps}, {'ring_full'})
        # What was lost behind the last records is counted.
        self.assertEqual(sum(f['last'] - f['first'] + 1 for f in gaps) + sum(f['count'] for f in rest), lost)
        self.assertEqual(len(rest), 1)
        self.assertIn('the ring was full', rest[0]['cause'])
        self.assertEqual(len(self.files(dump)), written)

    def test_reduced_records_are_told(self):
        written, reduced, lost, _ = self.make('degrade')
        self.assertTrue(reduced and lost)
        dump = self.extract()
        findings, _ = self.verify(dump, 1)
        self.assertEqual(sorted(findings), ['gap', 'reduced'])
        self.assertEqual([f['count'] for f in findings['reduced']], [reduced])
        self.assertEqual(sum(name.endswith('.csv') for name in self.files(dump)), reduced)
        self.assertEqual(len(self.files(dump)), written)

    def test_each_config_has_its_journal(self):
        _, _, lost, _ = self.make('configs')
        dump = self.extract()
        findings, answer = self.verify(dump, 1)
        self.assertEqual(list(findings), ['gap'])
        self.assertEqual([journal['closed'] for journal in answer['journals']], [True, True])
        self.assertEqual(sum(journal['lost'] for journal in answer['journals']), lost)
        first, second = self.lines(dump)
        # A recorder goes on in the second where it ended in the first.
        for recorder in '01':
            (end,) = [line.split(',')[2] for line in first if line.startswith('to,' + recorder)]
            self.assertIn('from,%s,%s' % (recorder, end), second)

    def test_a_part_that_is_full(self):
        written, _, lost, status = self.make('full')
        self.assertTrue(lost)
        self.assertEqual(status, 'ok')
        dump = self.extract()
        findings, answer = self.verify(dump, 1)
        self.assertEqual(list(findings), ['gap'])
        self.assertEqual([(one['closed'], one['written'], one['lost']) for one in answer['journals']],
                         [(True, written, lost)])
        self.assertEqual(len(self.files(dump)), written)

    def test_a_part_that_keeps_the_newest(self):
        written, _, _, status = self.make('overwrite')
        self.assertEqual(status, 'ok')
        dump = self.extract()
        findings, answer = self.verify(dump, 1)
        self.assertEqual(list(findings), ['overwritten'])
        self.assertIn('the beginning is gone', findings['overwritten'][0]['message'])
        self.assertIn('%d files, and the journals without names count %d records' % (len(self.files(dump)), written),
                      findings['overwritten'][1]['message'])
        self.assertEqual(answer['journals'][0]['written'], written)

    def test_power_that_fails_at_any_program(self):
        complete = 0
        for scenario in ('plain', 'losses'):
            programs = 0
            while True:
                written, _, lost, status = self.make(scenario, programs)
                dump = self.extract()
                ends = [line for journal in self.lines(dump) for line in journal if line.startswith('closed,')]
                if status == 'ok' and ends:
                    self.verify(dump, 1 if lost else 0)
                    complete += 1
                    break
                findings, _ = self.verify(dump, 1)
                self.assertTrue('not_final' in findings or 'no_journal' in findings, (scenario, programs, findings))
                self.assertNotIn('journal', findings)
                self.assertLessEqual(len(self.files(dump)), written + 1)
                programs += 1
            self.assertGreater(programs, 20)
        self.assertEqual(complete, 2)

    def check_certain(self, dump, synced):
        """A dump that was not finalized tells of `synced` records or more, of both recorders, as certain."""
        findings, _ = self.verify(dump, 1)
        self.assertNotIn('journal', findings)
        (message,) = [finding['message'] for finding in findings['not_final']]
        last = [int(number) for number in re.findall(r'sequence number (\d+) of recorder', message)]
        self.assertGreaterEqual(sum(last) + len(last), synced, message)
        # The account holds to the file, where none was overwritten, as `missing` would tell.
        if 'overwritten' not in findings:
            self.assertEqual(list(findings), ['not_final'])
        return last

    def test_power_that_fails_behind_a_sync(self):
        most = 0
        for programs in range(40, 120, 5):
            firmware = subprocess.run([MAKER, self.path('flash.img'), 'endless', str(programs)], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL)
            self.assertEqual(firmware.returncode, 1)
            synced = [int(line.split()[1]) for line in firmware.stdout.decode().splitlines()]
            dump = self.extract()
            last = self.check_certain(dump, synced[-1])
            # Of the two recorders one captures twice as often.
            self.assertIn(sum(last) + 2, range(synced[-1], synced[-1] + 10))
            most = max(most, len(synced))
        self.assertGreater(most, 3)

    def test_what_a_sync_adds_to_the_log(self):
        subprocess.run([MAKER, self.path('flash.img'), 'endless', '120'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        (lines,) = self.lines(self.extract())
        told = [line for line in lines if line.startswith('to,')]
        self.assertGreater(len(told), 6)
        for end in told:
            begin = lines[lines.index(end) + 1]
            self.assertEqual(begin, end.replace('to', 'from'))
            entry = 8  # its head and its CRC
            self.assertLessEqual(entry + len(end + begin) + 2, 40)

    def test_a_kill_in_between(self):
        chance = random.Random(9)
        for _ in range(3):
            firmware = subprocess.Popen([MAKER, self.path('flash.img'), 'endless'], stdout=subprocess.PIPE)
            first = firmware.stdout.readline()
            time.sleep(chance.uniform(0, 0.05))
            firmware.kill()
            synced = re.findall(r'^synced (\d+)\n', (first + firmware.communicate()[0]).decode(), re.MULTILINE)
            dump = self.extract(expect=(0, 1))
            self.check_certain(dump, int(synced[-1]))
            # More than those may have pushed out the oldest.
            self.assertGreaterEqual(len(self.files(dump)), min(int(synced[-1]), 1000))


if __name__ == '__main__':
    MAKER = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
