#!/usr/bin/env python3
"""Tests of `opdump compile` from outside: tool_compile_test.py OPDUMP [unittest arguments].

Standard library only. Compilers that are not there are left out.
"""
import json
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import zlib

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from packed_configs import packed_configs  # noqa: E402
from tool_case import Case  # noqa: E402
import tool_replay_test  # noqa: E402

CONFIG = {'dump': {'dump_path': 'no/such/directory', 'dump_mode': 'all', 'dump_step': '0|5-9',
                   'dump_list': [{'model_name': 'digits', 'layer': ['conv1', 'fx']}]}}


class Compile(Case):
    def compile_config(self, config=None, *arguments, **options):
        self.write('acl.json', json.dumps(CONFIG if config is None else config))
        return self.run_tool('compile', 'acl.json', '-o', 'dump.plan', *arguments, **options)

    def test_the_plan_is_whole_and_described(self):
        out, error = self.compile_config()
        plan = self.read('dump.plan')
        self.assertEqual(error, '')
        self.assertRegex(out, r'^dump\.plan: %d bytes; loading it takes at most \d+ bytes of RAM\n$' % len(plan))
        self.assertEqual(struct.unpack('<4sIII', plan[:16]), (b'ODPN', zlib.crc32(plan[8:]), len(plan), 1))
        self.assertEqual(self.run_tool('compile', 'acl.json', '--output=other.plan')[1], '')
        self.assertEqual(self.read('other.plan'), plan)

    def test_check_says_the_same_of_both(self):
        os.makedirs(self.path('output'))
        checked = 0
        for folder in ('accept', 'inactive'):
            for name, text in packed_configs('cann', folder).items():
                self.write('acl.json', text)
                codes = (0,) if folder == 'accept' else (3,)
                self.run_tool('compile', 'acl.json', '-o', 'dump.plan', expect=codes)
                plan = self.read('dump.plan')
                for options in ([], ['--json']):
                    from_plan, _ = self.run_tool('check', '-', *options, stdin=plan, expect=codes)
                    got, error = self.run_tool('check', '-', *options, stdin=self.read('acl.json'), expect=(*codes, 1))
                    if 'dump.dump_path' in got + error:
                        continue  # of a directory that is not there, only the plan is described
                    if options:
                        got, from_plan = json.loads(got), json.loads(from_plan)
                        del got['notes'], from_plan['notes']
                        got.get('options', {}).pop('model_card', None)  # no plan has it: firmware writes no cards
                    else:
                        got = ''.join(line for line in got.splitlines(True) if ': note: ' not in line and not line.startswith('  cards '))
                    self.assertEqual(got, from_plan, name)
                    checked += 1
        self.assertGreater(checked, 40)

    def test_what_is_damaged_is_told(self):
        self.compile_config()
        plan = self.read('dump.plan')

        def refused(data):
            return self.run_tool('check', '-', stdin=data, expect=1)[1]
        self.assertIn('ends too early', refused(plan[:-1]))
        self.assertIn('wrong checksum', refused(plan[:40] + b'?' + plan[41:]))
        self.assertIn('first 16 bytes', refused(b'?' + plan[1:]))
        newer = plan[8:12] + struct.pack('<I', 999) + plan[16:]
        self.assertIn('another version of opdump', refused(plan[:4] + struct.pack('<I', zlib.crc32(newer)) + newer))
        padded = plan + bytes(-len(plan) % 4)
        self.assertIn('have been swapped',
                      refused(b''.join(padded[i:i + 4][::-1] for i in range(0, len(padded), 4))))
        got = json.loads(self.run_tool('check', '-', '--json', stdin=plan[:-1], expect=1)[0])
        self.assertEqual(got['error']['fault'], 'damaged_plan')

    def test_lines_that_match_nothing_are_told(self):
        self.write('run.json', json.dumps(tool_replay_test.Replay.RUN))
        _, error = self.compile_config(None, '--model', 'run.json')
        self.assertEqual(error, 'acl.json: layer "fx" of model "digits" matches nothing; did you mean "fc"?\n')
        self.write('run.json', '{"models": 1}')
        self.assertIn('run.json:1:12', self.compile_config(None, '--model', 'run.json', expect=1)[1])

    def test_refused(self):
        _, error = self.compile_config({'dump': {'dump_path': '.', 'dump_mode': 'ouput'}}, expect=1)
        self.assertIn('dump.dump_mode', error)
        self.assertIn('^', error)
        self.assertEqual(self.files(), ['acl.json'])
        self.assertIn('no/such', self.run_tool('compile', 'no/such', '-o', 'x', expect=1)[1])
        self.write('acl.json', json.dumps(CONFIG))
        self.assertIn('no/where/x', self.run_tool('compile', 'acl.json', '-o', 'no/where/x', expect=1)[1])
        self.assertIn('-o PLAN', self.run_tool('compile', 'acl.json', expect=2)[1])
        for name in ('1a', 'int', 'class', '_Bool', 'xor'):
            error = self.run_tool('compile', 'acl.json', '-o', 'x', '--c', name, expect=2)[1]
            self.assertIn(f"'{name}' is no name for an array in C and C++", error)
        self.assertIn('is missing', self.run_tool('compile', expect=2)[1])

    def test_a_link_is_followed(self):
        self.compile_config()
        plan = self.read('dump.plan')
        os.makedirs(self.path('far'))
        self.write('far/there', 'old')
        for name, target in (('near', 'far/there'), ('over', 'near'), ('new', self.path('far/made'))):
            os.symlink(target, self.path(name))
            self.write('far/there', 'old')
            self.run_tool('compile', 'acl.json', '-o', name)
            self.assertEqual(os.readlink(self.path(name)), target)
            self.assertEqual(self.read(name), plan)
        self.assertEqual(self.files('far'), ['made', 'there'])
        os.symlink('round', self.path('round'))
        self.assertIn('round: Too many levels', self.run_tool('compile', 'acl.json', '-o', 'round', expect=1)[1])

    def state_of(self, name):
        """All that a write or a replacement changes; who only looks changes the time of access."""
        status = os.lstat(self.path(name))
        return (status.st_mode, status.st_dev, status.st_ino, status.st_nlink, status.st_uid, status.st_gid, status.st_size,
                status.st_mtime_ns, status.st_ctime_ns, os.readlink(self.path(name)) if stat.S_ISLNK(status.st_mode) else None)

    def test_what_is_no_file_stays(self):
        self.compile_config()
        os.makedirs(self.path('directory'))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path('socket'))
        os.symlink('directory', self.path('link'))
        for name, why in (('directory', 'Is a directory'), ('socket', 'is a socket, which no file replaces'),
                          ('link', 'Is a directory')):
            before = self.state_of(name)
            self.assertEqual(self.run_tool('compile', 'acl.json', '-o', name, expect=1)[1], f'{name}: {why}\n')
            self.assertEqual(self.state_of(name), before)
        self.assertEqual(self.files('directory'), [])

    def test_a_fifo_is_written_in_place(self):
        self.compile_config()
        os.mkfifo(self.path('fifo'))
        reader = os.open(self.path('fifo'), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.run_tool('compile', 'acl.json', '-o', 'fifo')
        self.assertEqual(os.read(reader, 65536), self.read('dump.plan'))
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.path('fifo')).st_mode))

    def test_a_device_stays(self):
        self.compile_config()
        try:
            os.mknod(self.path('null'), stat.S_IFCHR | 0o600, os.makedev(1, 3))
            os.mknod(self.path('disk'), stat.S_IFBLK | 0o600, os.makedev(7, 200))
            with open(self.path('null'), 'wb'):
                pass
        except PermissionError as error:
            self.skipTest(f'no device of its own: {error}')
        self.run_tool('compile', 'acl.json', '-o', 'null')
        self.assertTrue(stat.S_ISCHR(os.lstat(self.path('null')).st_mode))
        self.assertEqual(self.run_tool('compile', 'acl.json', '-o', 'disk', expect=1)[1],
                         'disk: is a block device, which no file replaces\n')
        self.assertTrue(stat.S_ISBLK(os.lstat(self.path('disk')).st_mode))

    def test_a_file_that_may_not_be_written_stays(self):
        self.compile_config()
        self.write('mine', 'mine')
        os.chmod(self.path('mine'), 0o444)
        os.chmod(self.path('acl.json'), 0o644)
        os.chmod(self.directory, 0o777)
        someone = {'user': 65534} if os.geteuid() == 0 else {}
        try:
            error = self.run_tool('compile', 'acl.json', '-o', 'mine', expect=1, **someone)[1]
        except PermissionError as error:
            self.skipTest(f'the tool is out of reach of other users: {error}')
        self.assertEqual(error, 'mine: Permission denied\n')
        self.assertEqual(self.read('mine'), b'mine')

    def test_inactive(self):
        _, error = self.compile_config({'dump': {'dump_path': '.'}}, expect=3)
        self.assertIn('switches nothing on', error)
        self.assertEqual(len(self.read('dump.plan')) > 16, True)

    def test_c_header(self):
        self.compile_config()
        self.run_tool('compile', 'acl.json', '-o', 'plan.h', '--c', 'dump_plan')
        source = '#include "plan.h"\n#include "plan.h"\n#include <stdio.h>\nint main(void) {\n' \
            '  fwrite(dump_plan, 1, DUMP_PLAN_BYTES, stdout);\n' \
            '  return (unsigned long)dump_plan % 8 != 0 || DUMP_PLAN_MEMORY_BYTES == 0;\n}\n'
        built = 0
        for compiler, standard, suffix in (('gcc', 'c11', 'c'), ('g++', 'c++11', 'cpp'), ('clang++', 'c++20', 'cpp')):
            if shutil.which(compiler) is None:
                print(f'left out: {compiler}, which is not installed')
                continue
            self.write('main.' + suffix, source)
            subprocess.run([compiler, '-std=' + standard, '-Wall', '-Wextra', '-Werror', 'main.' + suffix, '-o', 'main'],
                           cwd=self.directory, check=True)
            done = subprocess.run(['./main'], cwd=self.directory, check=True, stdout=subprocess.PIPE)
            self.assertEqual(done.stdout, self.read('dump.plan'))
            built += 1
        if built == 0:
            self.skipTest('no compiler')


if __name__ == '__main__':
    tool_case.main()
