#!/usr/bin/env python3
"""Tests of `opdump extract` from outside: tool_extract_test.py OPDUMP FLASH_IMAGE_MAKER [unittest arguments].

Standard library only.
"""
import binascii
import json
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import flash_log  # noqa: E402
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402

MAKER = ''
BLOCK = 4096
NOON = 1795435200000000  # 2026-11-23T12:00:00Z


class Extract(Case):
    def make(self, kind='plain'):
        os.makedirs(self.path('tree'), exist_ok=True)
        done = subprocess.run([MAKER, self.path('flash.img'), self.path('tree'), kind], check=True, stdout=subprocess.PIPE)
        self.said = done.stdout.decode().split()
        return self.read('flash.img')

    def tree(self, directory):
        """Every file's bytes, but for those that were never finished."""
        return {name: self.read(directory, name) for name in self.all_files(directory) if not name.endswith('.part')}

    def all_files(self, directory):
        return [os.path.relpath(os.path.join(root, name), self.path(directory))
                for root, _, names in os.walk(self.path(directory)) for name in names]

    def test_the_tree_is_that_of_the_tree_sink(self):
        self.make()
        out, error = self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.assertEqual(error, '')
        wanted = self.tree('tree')
        self.assertEqual(len(wanted), 10)
        self.assertEqual(self.tree('dump'), wanted)
        self.assertRegex(out, r'^8 committed files, 103\.\d KiB, 3 pieces of journals, 3 aborted, 1 torn; '
                              r'200 blocks of 4\.0 KiB from byte 0 on, \d+ in use\n$')

    def test_a_cause_of_a_history_that_is_none(self):
        """Each value of the byte is told, under a CRC that holds."""
        self.make('history')
        image = bytearray(self.read('flash.img'))
        mark = struct.pack('<QQIII', 4, 6, 1, 3, 0)
        self.assertEqual(image.count(mark), 1)
        at = image.index(mark) + len(mark)
        (crc,) = struct.unpack_from('<I', image, at + 1)
        words = ['none', 'call', 'overflow', 'failure', 'remains', 'trigger']
        for cause in (*range(8), 0x7f, 0x80, 0xd3, 0xff):
            changed = image[at] ^ cause
            struct.pack_into('<BI', image, at, cause, crc ^ binascii.crc32(bytes([changed])) ^ binascii.crc32(b'\0'))
            crc = struct.unpack_from('<I', image, at + 1)[0]
            self.write('flash.img', bytes(image))
            out, _ = self.run_tool('extract', 'flash.img', '-o', f'of {cause}')
            self.assertIn(f'written out: steps 4 to 6 ({words[cause] if cause < len(words) else "unknown"})\n', out)
        # The first of its steps is the last of them.
        changed = struct.pack('<Q', 4 ^ 6) + bytes(21)
        struct.pack_into('<Q', image, at - len(mark), 6)
        struct.pack_into('<I', image, at + 1, crc ^ binascii.crc32(changed) ^ binascii.crc32(bytes(len(changed))))
        self.write('flash.img', bytes(image))
        self.assertIn('written out: step 6 (unknown)\n', self.run_tool('extract', 'flash.img', '-o', 'one step')[0])

    def test_a_history(self):
        """What the device never wrote out is in the area of its history."""
        self.make('history')
        out, _ = self.run_tool('extract', 'flash.img', '-o', 'all')
        self.assertTrue(out.endswith('boot 1: a history of steps 1 to 10; written out: steps 4 to 6 (call)\n'
                                     'boot 2: a history of steps 1 to 10; never written out\n'), out)
        out, _ = self.run_tool('extract', 'flash.img', '-o', 'kept', '--history')
        self.assertTrue(out.startswith('17 committed files'), out)

        def files(boots, steps):
            return {f'{folder}2026013113050{boot}/0/net/1/{step}/Add.a.0.0.1769864759000000':
                    f'boot {boot}, step {step}'.encode()
                    for boot in boots for step in steps(boot)
                    for folder in [f'boot_{self.boots(out)[boot - 1]:06}/']}
        every = files((1, 2), lambda boot: range(1, 11))
        written = files((1,), lambda boot: (4, 5, 6))
        self.assertEqual(self.tree('all'), every)
        self.assertEqual(self.tree('kept'), {name: every[name] for name in every.keys() - written.keys()})
        handed = self.tree('tree')
        self.assertEqual(handed.pop('20260131130501/opdump.history'),
                         b'opdump-history,1\nwritten,1,call,4,6,3,0\nlet_go,3\n')
        self.assertEqual({f'boot_000001/{name}': data for name, data in handed.items()}, written)
        self.make('plain')
        _, error = self.run_tool('extract', 'flash.img', '-o', 'none', '--history', expect=1)
        self.assertIn("not the area of a history", error)

    def test_a_step_whose_mark_is_damaged_is_kept(self):
        image = bytearray(self.make('history'))
        image[image.find(b'\xa0\x00\x08\x00\x07\x00') + 5] ^= 1
        self.write('hurt.img', bytes(image))
        self.run_tool('extract', 'hurt.img', '-o', 'kept', '--history', expect=(0, 1))
        self.assertIn('boot_000001/20260131130501/0/net/1/7/Add.a.0.0.1769864759000000', self.tree('kept'))

    def boots(self, out):
        return [int(number) for number in re.findall(r'^boot (\d+): a history', out, re.M)]

    def test_nothing_is_replaced(self):
        self.make()
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        before = self.tree('dump')
        out, error = self.run_tool('extract', 'flash.img', '-o', 'dump', expect=1)
        self.assertIn('already exists', error)
        self.assertEqual(out, '')
        self.assertEqual(self.tree('dump'), before)
        # A journal alone is not added to either.
        journal = os.path.join('20260131130559', 'opdump.0.1.journal')
        os.makedirs(self.path('other', '20260131130559'))
        self.write(os.path.join('other', journal), before[journal])
        _, error = self.run_tool('extract', 'flash.img', '-o', 'other', expect=1)
        self.assertIn('opdump.0.1.journal: already exists', error)
        self.assertEqual(self.tree('other'), {journal: before[journal]})
        # What has other names goes beside.
        self.make('session')
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.assertLess(before.items(), self.tree('dump').items())

    def test_list(self):
        self.make()
        out, _ = self.run_tool('extract', 'flash.img', '--list')
        lines = out.splitlines()
        self.assertRegex(lines[0], r'^committed +310  20260131130559/0/net/1/0/Add\.add\.1\.0\.1589195081588018$')
        self.assertRegex(lines[1], r'^committed +35000  20260131130559/0/net/1/0/Conv2D\.conv1\.')
        self.assertRegex(lines[2], r'^journal +7  20260131130559/opdump\.0\.1\.journal$')
        self.assertRegex(lines[3], r'^aborted +5000  20260131130559/0/net/1/0/Mul\.gone\.')
        self.assertRegex(lines[-2], r'^torn +3000  20260131130559/0/Relu\.torn\.')
        self.assertFalse(os.path.exists(self.path('dump')))

    def test_the_log_is_found_behind_other_things(self):
        image = self.make()
        self.write('whole.img', b'\xff' * 3333 + b'OPFL' + b'\0' * 1000 + image + b'\xff' * 999)
        self.run_tool('extract', 'whole.img', '-o', 'dump')
        self.assertEqual(self.tree('dump'), self.tree('tree'))
        self.run_tool('extract', 'whole.img', '-o', 'again', '--offset', str(3333 + 4 + 1000))
        self.assertEqual(self.tree('again'), self.tree('tree'))
        _, error = self.run_tool('extract', 'whole.img', '--list', '--offset', '12', expect=1)
        self.assertIn('cannot begin at byte 12', error)

    def test_a_log_whose_first_block_is_gone_is_found_too(self):
        image = self.make()
        self.write('flash.img', b'\0' * BLOCK + image[BLOCK:])
        self.run_tool('extract', 'flash.img', '-o', 'dump', expect=(0, 1))
        wanted = self.tree('tree')
        got = self.tree('dump')
        self.assertGreater(len(got), 4)
        for name, data in got.items():
            if not name.endswith('.journal'):
                self.assertEqual(data, wanted[name])

    def test_whatever_is_damaged_the_rest_comes(self):
        image = bytearray(self.make())
        wanted = self.tree('tree')
        used = len(image.rstrip(b'\xff'))
        source = random.Random(1)
        for turn in range(40):
            hurt = bytearray(image)
            for _ in range(source.randrange(1, 4)):
                at = source.randrange(used)
                hurt[at] ^= 1 << source.randrange(8)
            self.write('hurt.img', bytes(hurt))
            directory = 'dump%d' % turn
            _, error = self.run_tool('extract', 'hurt.img', '-o', directory, expect=(0, 1))
            got = {name: data for name, data in self.tree(directory).items() if not name.endswith('.journal')}
            for name, data in got.items():
                if not name.endswith('mapping.csv'):
                    self.assertEqual(data, wanted[name], (turn, name, error))
            self.assertGreaterEqual(len(got), 4, (turn, error))

    def test_images_cut_short(self):
        image = self.make()
        wanted = self.tree('tree')
        for size in (0, 3, 24, 50, 100, BLOCK - 1, BLOCK, 3 * BLOCK + 77, len(image) - 1):
            self.write('short.img', image[:size])
            directory = 'dump%d' % size
            out, error = self.run_tool('extract', 'short.img', '-o', directory, expect=1)
            self.assertIn('short.img: ', error)
            for name, data in self.tree(directory).items():
                if not name.endswith('.journal'):
                    self.assertEqual(data, wanted[name])
            self.assertEqual(bool(out), size >= 50)

    def test_names_that_leave_the_directory_are_refused(self):
        self.make('hostile')
        os.makedirs(self.path('here'))
        out, error = self.run_tool('extract', self.path('flash.img'), '-o', 'here/dump', expect=(0, 1))
        self.assertEqual(sorted(self.files('here')), [])
        self.assertFalse(os.path.exists(self.path('here', 'escape')))
        if re.match(r'[1-9]', out):
            self.assertIn('invalid argument', error)

    def test_newer_formats_and_other_files(self):
        image = self.make()
        self.write('text.img', b'no flash log in here')
        self.assertIn('there is no valid block header', self.run_tool('extract', 'text.img', '--list', expect=1)[1])
        self.assertIn('No such file', self.run_tool('extract', 'nothing', '--list', expect=1)[1])
        os.mkfifo(self.path('fifo'))
        self.assertEqual(self.run_tool('extract', 'fifo', '--list', expect=1)[1],
                         'opdump: fifo: neither a regular file nor a device\n')
        import binascii
        newer = bytearray(image)
        for block in range(len(image) // BLOCK):
            at = block * BLOCK
            if newer[at:at + 4] != b'OPFL':
                continue
            newer[at + 4] = 2 * 2 + 1
            size = newer[at + 6] + 256 * newer[at + 7]
            newer[at + size - 4:at + size] = binascii.crc32(newer[at:at + size - 4]).to_bytes(4, 'little')
        self.write('newer.img', bytes(newer))
        self.assertIn('its format has version 2, and this opdump reads version 1: ', self.run_tool('extract', 'newer.img', '--list', expect=1)[1])

    def test_verify_says_whether_the_log_is_undamaged(self):
        image = bytearray(self.make())
        self.run_tool('extract', 'flash.img', '--verify')
        image[image.find(b'Conv2D.conv1') + 6000] ^= 1
        self.write('hurt.img', bytes(image))
        _, error = self.run_tool('extract', 'hurt.img', '--verify', expect=1)
        self.assertIn('damaged', error)

    def test_a_session_in_flash_proves_its_completeness(self):
        image = bytearray(self.make('session'))
        self.run_tool('verify', 'flash.img')
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.run_tool('verify', 'dump')
        self.assertEqual(len([name for name in self.files('dump') if 'conv1' in name]), 4)
        out, _ = self.run_tool('compare', '-m', 'flash.img', '-g', 'dump')
        self.assertIn('8 tensors compared: 8 equal', out)
        image[image.find(b'MatMul.fc') + 5000] ^= 1
        self.write('hurt.img', bytes(image))
        out, _ = self.run_tool('verify', 'hurt.img', expect=1)
        self.assertIn('lost with bytes of the image', out)
        self.assertIn('not there, though the journal says it was written', out)

    def test_the_boots_of_a_device_without_a_calendar_come_out_apart(self):
        image = self.make('reboots')
        boots = [int(word) for word in self.said]
        self.assertEqual(len(boots), 3)
        out, error = self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.assertEqual(error, '')
        self.assertIn('24 committed files', out)
        self.assertIn('; 3 boots; ', out)
        self.assertEqual(sorted(os.listdir(self.path('dump'))), ['boot_%06d' % boot for boot in boots])
        names = set()
        for number, boot in enumerate(boots, 1):
            files = {name: data for name, data in self.tree(os.path.join('dump', 'boot_%06d' % boot)).items()
                     if not name.endswith('.journal')}
            self.assertEqual(len(files), 8)
            for name, data in files.items():
                self.assertIn(struct.pack('<fff', number, 2, 3), data, name)
            names.add(tuple(sorted(files)))
            self.run_tool('extract', 'flash.img', '-o', 'boot%d' % boot, '--boot', str(boot))
            self.assertEqual(self.tree('boot%d' % boot), self.tree('dump/boot_%06d' % boot))
            self.run_tool('verify', 'dump/boot_%06d' % boot)
            listed, _ = self.run_tool('extract', 'flash.img', '--list', '--boot', str(boot))
            self.assertEqual(listed.count('committed  '), 8)
        self.assertEqual(len(names), 1, 'the names of all boots were to be the same')
        out, _ = self.run_tool('extract', 'flash.img', '--list')
        self.assertEqual([line for line in out.splitlines() if line.startswith('boot ')], ['boot %d' % boot for boot in boots])
        out, _ = self.run_tool('verify', 'flash.img')
        self.assertIn('3 journals: 24 records written, 0 lost', out)
        out_of_show, error = self.run_tool('show', 'flash.img')
        self.assertEqual(error, '')
        out, _ = self.run_tool('compare', '-m', 'flash.img', '-g', 'flash.img')
        self.assertIn('24 tensors compared: 24 equal', out)
        _, error = self.run_tool('extract', 'flash.img', '--list', '--boot', '77', expect=1)
        self.assertIn('holds nothing of boot 77; its boots are ' + ', '.join(map(str, boots)), error)
        self.assertEqual([line for line in out_of_show.splitlines() if line.startswith('boot ')],
                         ['boot %d' % boot for boot in boots])
        for where in ('flash.img', 'dump'):
            records = json.loads(self.run_tool('show', where, '--json')[0])['records']
            self.assertEqual([record['boot'] for record in records], [boot for boot in boots for _ in range(8)])
            out, _ = self.run_tool('show', where, '--boot', str(boots[1]), '--head', '1')
            self.assertIn('8 records, ', out)
            self.assertEqual(out.count('min 0  max 3'), 8, out)
            for mine, golden, equal in ((1, 1, 8), (1, 2, 0)):
                out, _ = self.run_tool('compare', '-m', where, '-g', where, '--boot', str(boots[mine]),
                                       '--golden-boot', str(boots[golden]), expect=(0, 1))
                self.assertIn('8 tensors compared', out)
                self.assertEqual('8 equal' in out, equal == 8)
        self.assertIn('boot %d net/' % boots[2], self.run_tool(
            'compare', '-m', 'dump/boot_%06d' % boots[2], '-g', 'dump/boot_%06d' % boots[0], expect=1)[0])
        for command in (['show'], ['overflow'], ['compare', '-g', 'dump', '-m']):
            _, error = self.run_tool(*command, 'flash.img', '--boot', '77', expect=1)
            self.assertIn('holds nothing of boot 77; its boots are ' + ', '.join(map(str, boots)), error)
            self.assertIn('is no number of a boot', self.run_tool(*command, 'flash.img', '--boot', 'x', expect=2)[1])
        # An independent reader finds the same.
        found = {}
        for boot, path, data in flash_log.committed(image):
            found['boot_%06d/%s' % (boot, path)] = data
        self.assertEqual({name: data for name, data in self.tree('dump').items() if not name.endswith('.journal')}, found)

    def times(self, where, *more):
        """By boot, the times of its records."""
        found = {}
        for record in json.loads(self.run_tool('show', where, '--json', *more)[0])['records']:
            found.setdefault(record.get('boot'), []).append(record['unix_us'])
        return found

    def clock_times(self, number):
        """Of boot 'number' from 1 of "clocks": what its records' times are by the calendar, two of each step."""
        begin = {1: [5, 10, 2015, 2020], 2: [2005, 2010, 2015, 2020], 3: [2005, 2010]}[number]
        set_at, noon = {1: 2025, 3: 2015}.get(number), NOON + number * 1000000
        stamps = [1000 * ms if set_at is None else noon - 1000 * (set_at - ms) for ms in begin]
        stamps += [] if set_at is None else [noon, noon + 5000]
        return sorted(stamp + later for stamp in stamps for later in (0, 1))

    def test_the_times_of_a_boot_are_right_once_its_clock_was_set(self):
        self.make('clocks')
        boots = [int(word) for word in self.said]
        out, error = self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.assertEqual(error, '')
        self.assertEqual([line for line in out.splitlines() if line.startswith('boot ')], [
            'boot %d: 12 committed files, 142.2 KiB' % boots[0],
            'boot %d: 19700101000000 is of 20261123115958, as the clock was set later' % boots[0],
            'boot %d: 19700101000002 is of 20261123120000, as the clock was set later' % boots[0],
            'boot %d: 8 committed files, 94.8 KiB' % boots[1],
            'boot %d: 8 committed files, 94.8 KiB' % boots[2],
            'boot %d: 19700101000002 is of 20261123120002, as the clock was set later' % boots[2]])
        wanted = {boot: self.clock_times(number) for number, boot in enumerate(boots, 1)}
        for where in ('flash.img', 'dump'):
            self.assertEqual(self.times(where), wanted)
        # A part of a dump: the journals lie above what is named.
        self.assertEqual(self.times('dump/boot_%06d/19700101000002/0/net' % boots[2])[boots[2]], wanted[boots[2]])
        answer = json.loads(self.run_tool('verify', 'dump', '--json')[0])
        self.assertEqual([(f['shown_us'], f['unix_us'], f['wrong']) for f in answer['findings'] if f['kind'] == 'clock'],
                         [(2025000, NOON + 1000000, False)] * 2 + [(2015000, NOON + 3000000, False)])
        # The whole first session of the boot, which had ended by then, is told too.
        self.assertIn('clock,2025000,%d\n' % (NOON + 1000000),
                      self.read('dump/boot_%06d/19700101000000/opdump.0.1.journal' % boots[0]).decode())

    def test_boots_of_one_tree_keep_their_clocks_apart(self):
        os.makedirs(self.path('tree'))
        subprocess.run([MAKER, self.path('flash.img'), self.path('tree'), 'tree_clocks'], check=True)
        self.assertIn('4 journals: 28 records written, 0 lost; 28 files there', self.run_tool('verify', 'tree')[0])
        # Of two names that were the same, the later one is a microsecond later; the first session has no step.
        wanted = [1000 * ms + later for ms in (5, 10) for later in (0, 1)]
        wanted += [stamp for stamp in self.clock_times(1) if stamp > NOON - 500000]
        wanted += self.clock_times(2)
        wanted += [stamp + (1 if stamp < NOON + 3000000 else 0) for stamp in self.clock_times(3)]
        self.assertEqual(self.times('tree')[None], sorted(wanted))
        names = [name for name in self.all_files('tree') if not name.endswith('.journal')]
        self.assertEqual(len(names), 28)

    def test_journals_that_contradict_each_other_move_nothing(self):
        self.make('clocks')
        self.run_tool('extract', 'flash.img', '-o', 'dump', '--boot', self.said[2])
        journal = os.path.join('dump', '19700101000002', 'opdump.0.2000000.journal')
        self.assertGreater(min(self.times('dump')[None]), NOON)
        with open(self.path(journal), 'a') as file:
            file.write('clock,5,%d\n' % (NOON + 3500000))
        self.assertEqual(min(self.times('dump')[None]), 2005000)
        self.assertIn('which other lines contradict: no time is moved', self.run_tool('verify', 'dump', expect=1)[0])

    def test_the_last_boot_and_all_of_them(self):
        self.make('reboots')
        boots = [int(word) for word in self.said]
        out, _ = self.run_tool('extract', 'flash.img', '-o', 'last', '--boot', 'last')
        self.assertIn('\nboot %d: 8 committed files, 94.8 KiB\n' % boots[2], out)
        self.assertNotIn('boot %d:' % boots[0], out)
        self.run_tool('extract', 'flash.img', '-o', 'third', '--boot', str(boots[2]))
        self.assertEqual(self.tree('last'), self.tree('third'))
        self.run_tool('extract', 'flash.img', '-o', 'all', '--boot', 'all')
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.assertEqual(self.tree('all'), self.tree('dump'))
        listed, _ = self.run_tool('extract', 'flash.img', '--list', '--boot', 'last')
        self.assertEqual(listed.count('committed '), 9)
        # The only one is apart too, if that is asked for.
        self.make('session')
        self.run_tool('extract', 'flash.img', '-o', 'only', '--boot', 'all')
        self.assertEqual(os.listdir(self.path('only')), ['boot_000001'])

    def test_verify_tells_of_each_boot_that_a_power_cut_ended(self):
        self.make('power_cuts')
        boots = [int(word) for word in self.said]
        self.assertEqual(len(boots), 5)
        self.assertEqual(len(set(boots)), 5)
        out, _ = self.run_tool('verify', 'flash.img', '--json', expect=1)
        answer = json.loads(out)
        wrong = sorted((re.search(r'boot_(\d+)', f['journal']).group(1), f['kind']) for f in answer['findings'] if f['wrong'])
        self.assertEqual(wrong, [('%06d' % boots[1], 'not_final'), ('%06d' % boots[3], 'not_final')])
        written = {int(re.search(r'boot_(\d+)', j['path']).group(1)): (j['closed'], j['written']) for j in answer['journals']}
        self.assertEqual(sorted(written), sorted(boots))
        for number, boot in enumerate(boots, 1):
            closed, records = written[boot]
            self.assertEqual(closed, number % 2 == 1)
            self.assertTrue(records == 8 if closed else 0 < records < 8, records)
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        for number, boot in enumerate(boots, 1):
            directory = 'dump/boot_%06d' % boot
            self.run_tool('verify', directory, expect=number % 2 ^ 1)
            files = {name: data for name, data in self.tree(directory).items() if not name.endswith('.journal')}
            self.assertGreaterEqual(len(files), written[boot][1])
            for name, data in files.items():
                self.assertIn(struct.pack('<fff', number, 2, 3), data, name)

    def wrong(self, where):
        """The verdict's first line, the findings and the journals of what `verify` finds incomplete."""
        text, _ = self.run_tool('verify', where, expect=1)
        for untrue in ('cannot be trusted', 'not there, though'):
            self.assertNotIn(untrue, text)
        answer = json.loads(self.run_tool('verify', where, '--json', expect=1)[0])
        return text.splitlines()[0], answer['findings'], answer['journals']

    def test_a_session_larger_than_the_part_is_complete_from_a_number_on(self):
        self.make('wrapped')
        out, _ = self.run_tool('extract', 'flash.img', '-o', 'dump')
        self.assertIn('newer records have taken the beginning of boot 1;', out)
        there = sorted(int(name.split('/')[4]) * 2 + ('MatMul' in name) for name in self.all_files('dump')
                       if not name.endswith('.journal'))
        self.assertEqual(there, list(range(there[0], 120)))
        for where in ('flash.img', 'dump'):
            verdict, (finding,), (journal,) = self.wrong(where)
            self.assertEqual(verdict, 'complete but for the oldest records, which newer ones have overwritten')
            self.assertEqual((finding['kind'], finding['count'], finding['recorder'], finding['complete_from']),
                             ('overwritten', there[0], 0, there[0]))
            self.assertEqual((journal['closed'], journal['written']), (True, 120))
            text, _ = self.run_tool('verify', where, expect=1)
            self.assertRegex(text, r'overwritten by newer records, as the log went round \(%d\)\n.*the beginning is gone, '
                                   r'%d records  recorder 0 is complete from sequence number %d on' % ((there[0],) * 3))
        # What is missing behind the beginning is still told as missing.
        gone = sorted(name for name in self.all_files('dump') if '/1/50/' in name)[0]
        os.remove(os.path.join(self.path('dump'), gone))
        findings = json.loads(self.run_tool('verify', 'dump', '--json', expect=1)[0])['findings']
        self.assertEqual(sorted(finding['kind'] for finding in findings), ['missing', 'overwritten'])
        self.assertTrue(self.run_tool('verify', 'dump', expect=1)[0].startswith('not complete'))

    def test_a_wrapped_session_that_power_ended_tells_the_most_that_is_gone(self):
        self.make('wrapped_power')
        verdict, findings, (journal,) = self.wrong('flash.img')
        self.assertEqual(verdict, 'not complete')
        self.assertEqual(sorted(finding['kind'] for finding in findings), ['not_final', 'overwritten'])
        (gone,) = [finding for finding in findings if finding['kind'] == 'overwritten']
        self.assertEqual(gone['most'], gone['complete_from'])
        self.assertFalse(journal['closed'])

    def test_of_several_boots_only_the_oldest_lacks_its_beginning(self):
        self.make('wrapped_boots')
        verdict, (finding,), journals = self.wrong('flash.img')
        self.assertEqual(verdict, 'complete but for the oldest records, which newer ones have overwritten')
        self.assertTrue(1 < len(journals) < 6)
        self.assertEqual(finding['journal'].split('/boot_')[1], min(j['path'].split('/boot_')[1] for j in journals))
        self.assertEqual({journal['written'] for journal in journals}, {18})
        _, error = self.run_tool('verify', 'flash.img', expect=1)
        boot = int(re.search(r'boot_(\d+)', finding['journal']).group(1))
        self.assertIn('newer records have taken the beginning of boot %d\n' % boot, error)
        self.run_tool('extract', 'flash.img', '-o', 'newest', '--boot', self.said[-1])
        self.run_tool('verify', 'newest')

    def test_a_lost_first_block_is_no_rotation(self):
        image = bytearray(self.make('session'))
        image[0:BLOCK] = bytes(BLOCK)
        self.write('hurt.img', bytes(image))
        out, error = self.run_tool('extract', 'hurt.img', '-o', 'dump', expect=(0, 1))
        self.assertNotIn('gone round', out + error)

    def test_only_what_lies_behind_a_rotation_is_overwritten(self):
        image = bytearray(self.make())
        image[image.find(b'Conv2D.conv1') + 3] ^= 1
        self.write('hurt.img', bytes(image))
        out, _ = self.run_tool('extract', 'hurt.img', '--list', expect=1)
        self.assertRegex(out, r'(?m)^damaged +0  \?/\?$')
        self.assertNotIn('overwritten', out)
        self.make('wrapped')
        out, _ = self.run_tool('extract', 'flash.img', '--list')
        self.assertRegex(out, r'(?m)^overwritten +0  \?/\?$')
        self.assertNotIn('damaged', out)

    def test_an_image_is_known_without_its_first_block(self):
        image = self.make('session')
        self.write('flash.img', bytes(BLOCK) + image[BLOCK:])
        out, _ = self.run_tool('verify', 'flash.img', expect=1)
        self.assertIn('a block of the log is not there', out)
        self.assertIn('records', self.run_tool('show', 'flash.img', expect=1)[0])

    def test_a_lost_block_is_told(self):
        image = self.make('reboots')
        boots = [int(word) for word in self.said]
        (first,) = [block for block in flash_log.blocks(image) if block.sequence == boots[1]]
        at = first.index * BLOCK
        for name, hurt in (('erased', b'\xff' * BLOCK), ('a bit', image[at:at + 20] + b'\x05' + image[at + 21:at + BLOCK]),
                           ('zeros', bytes(BLOCK))):
            self.write('hurt.img', image[:at] + hurt + image[at + BLOCK:])
            wanted = 'a block of the log is not there, of number %d, before the one at byte %d: what it held is lost' % (
                boots[1], at + BLOCK)
            for arguments in (['--list'], ['--verify'], ['-o', name]):
                self.assertIn(wanted, self.run_tool('extract', 'hurt.img', *arguments, expect=1)[1], name)
            self.assertIn(wanted, self.run_tool('verify', 'hurt.img', expect=1)[0])
            self.assertIn(wanted, self.run_tool('show', 'hurt.img', expect=1)[1])
            # It held nothing of the last boot.
            self.run_tool('extract', 'hurt.img', '--verify', '--boot', str(boots[2]))

    def test_an_independent_reader_finds_the_same(self):
        image = self.make()
        self.run_tool('extract', 'flash.img', '-o', 'dump')
        found = {path: data for _, path, data in flash_log.committed(image)}
        for name, data in self.tree('dump').items():
            if not name.endswith(('.journal', 'mapping.csv')) and os.path.basename(name).count('.') > 1:
                self.assertEqual(found.pop(name), data)
        # The one whose name is too long for a file.
        self.assertEqual([len(data) for data in found.values()], [100])

    def test_a_damaged_piece_of_a_journal_is_told(self):
        image = bytearray(self.make('reboots'))
        boots = [int(word) for word in self.said]
        at = image.index(b'written,')
        image[at + 3] ^= 1
        self.write('hurt.img', bytes(image))
        for arguments in (['--list'], ['--verify'], ['-o', 'dump'], ['--verify', '--boot', str(boots[0])]):
            out, error = self.run_tool('extract', 'hurt.img', *arguments, expect=1)
            self.assertIn(' unreadable for a loss of power or damage', out)
            told = re.search(r'boot (\d+) is damaged from byte (\d+) on, up to what is good again at byte (\d+): '
                             r'what it told there is lost\n', error)
            boot, begin, end = map(int, told.groups())
            self.assertEqual(boot, boots[0])
            self.assertTrue(begin <= at < end < begin + 1000, error)
        self.assertIn('is damaged from byte', self.run_tool('verify', 'hurt.img', expect=1)[0])
        self.assertIn('is damaged from byte', self.run_tool('show', 'hurt.img', expect=1)[1])
        self.run_tool('extract', 'hurt.img', '--verify', '--boot', str(boots[2]))

    def test_usage(self):
        for arguments, reason in (([], 'an IMAGE is missing'), (['a', 'b', '--list'], "'b' is too many"),
                                  (['a'], 'give one of'), (['a', '--list', '--verify'], 'give one of'),
                                  (['a', '--list', '--offset', 'x'], "'x' is no number"),
                                  (['a', '--list', '--boot', '-1'], "'-1' is no number of a boot")):
            self.assertIn(reason, self.run_tool('extract', *arguments, expect=2)[1])
        self.assertIn('exit status', self.run_tool('extract', '--help')[0])


if __name__ == '__main__':
    MAKER = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
