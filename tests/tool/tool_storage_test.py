#!/usr/bin/env python3
"""Tests of dumps into raw storage from outside: tool_storage_test.py OPDUMP MTD_PRELOAD [unittest arguments].

MTD_PRELOAD emulates an MTD device, as few machines have one; the rest is files, and a loop device where the machine
gives one. Nodes of the machine's kernel are used only where OPDUMP_STORAGE_NODES names them. Standard library only.
"""
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402

PRELOAD = ''
MIB = 1 << 20
NAND_BLOCK = 16 * 1024


def config(place, **options):
    return json.dumps({'dump': {'dump_path': place, 'dump_list': [{'model_name': 'net'}]},
                       'opdump': dict({'journal': 'records'}, **options)})


def run(steps, elements=1000):
    output = {'fill': 'ramp', 'dtype': 'float32', 'shape': [elements]}
    return json.dumps({'steps': steps, 'models': [{'name': 'net', 'id': 1, 'ops': [
        {'name': 'conv%d' % op, 'type': 'Conv2D', 'outputs': [output]} for op in range(3)]}]})


class StorageCase(Case):
    def payloads(self, directory):
        """The bytes of the records, which hold no times."""
        return sorted(self.read(directory, name) for name in self.files(directory))


class Storage(StorageCase):
    def make(self, size=4 * MIB, fill=b'\0', **options):
        self.write('storage.img', fill * size)
        self.place = self.path('storage.img')
        self.write('acl.json', config(self.place, **options))
        self.write('run.json', run(20))

    def test_a_dump_in_a_file_is_the_tree_of_the_tree_sink(self):
        self.make()
        out, _ = self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.assertIn('session  %s: file, 256 blocks of 16 KiB, 4 MiB; a log has 0 of them, and this is boot 1\n' %
                      self.place, out)
        self.assertIn("'opdump extract %s -o DIR' gets all of it" % self.place, out)
        self.run_tool('extract', 'storage.img', '-o', 'out')
        out, _ = self.run_tool('verify', 'out')
        self.assertTrue(out.startswith('complete\n'), out)
        os.mkdir(self.path('tree'))
        self.write('tree.json', config(self.path('tree')))
        self.run_tool('replay', 'run.json', '--config', 'tree.json')
        self.assertEqual(len(self.payloads('tree')), 60)
        self.assertEqual([len(one) for one in self.payloads('out')], [len(one) for one in self.payloads('tree')])

    def test_boots_and_rounds(self):
        self.make(size=MIB, keep='newest')
        for _ in range(5):
            self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.run_tool('extract', 'storage.img', '--verify')
        self.run_tool('extract', 'storage.img', '-o', 'out')
        self.assertGreater(len(os.listdir(self.path('out'))), 2)

    def test_when_it_is_full_the_oldest_stay(self):
        self.make(size=MIB)
        self.write('run.json', run(200))
        out, error = self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=(1, 0))
        self.assertIn('the run takes', error)
        self.write('run.json', run(60))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        out, _ = self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=(0, 1))
        self.assertRegex(out, r'lost     \d+\n')
        out, _ = self.run_tool('extract', 'storage.img', '--list')
        self.assertRegex(out, r'(?s)boot 1\n.*conv0')
        self.run_tool('extract', 'storage.img', '-o', 'out')
        answer = json.loads(self.run_tool('verify', 'out', '--json', expect=1)[0])
        self.assertLessEqual({f['kind'] for f in answer['findings'] if f['wrong']}, {'lost', 'gap', 'by_op'})
        self.assertEqual([(one['closed'], one['written'] + one['lost']) for one in answer['journals']],
                         [(True, 180)] * 2)

    def test_check_tells_the_storage_and_how_long_it_lasts(self):
        self.make()
        out, _ = self.run_tool('check', 'acl.json', '--model', 'run.json')
        self.assertIn('\n  storage file, 256 blocks of 16 KiB, 4 MiB; a log has 0 blocks\n', out)
        self.assertRegex(out, r'the partition lasts \d+ steps')
        before = self.read('storage.img')
        self.assertEqual(before, b'\0' * 4 * MIB)

    def test_what_is_not_erased_is_refused_and_stays(self):
        self.make()
        squash = b'\0' * 3 * 16384 + b'hsqs' + b'\1' * 1000
        self.write('storage.img', squash.ljust(4 * MIB, b'\0'))
        before = self.read('storage.img')
        for command in (['check', 'acl.json'], ['replay', 'run.json', '--config', 'acl.json']):
            _, error = self.run_tool(*command, expect=1)
            self.assertIn('dump.dump_path: %s: at byte 49152: a SquashFS file system. ' % self.place, error)
        self.assertEqual(self.read('storage.img'), before)

    def test_what_only_shows_before_an_erase_stays_too(self):
        self.make(size=MIB, keep='newest')
        image = bytearray(MIB)
        image[20 * 16384 + 12000:20 * 16384 + 12004] = b'mine'
        self.write('storage.img', bytes(image))
        self.write('run.json', run(60))
        out, error = self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=(0, 1))
        self.assertIn('at byte %d: bytes that no log wrote, such as 6d 69 6e 65' % (20 * 16384 + 8192), out + error)
        self.assertEqual(self.read('storage.img')[20 * 16384:21 * 16384], bytes(image[20 * 16384:21 * 16384]))
        self.assertEqual(self.read('storage.img')[21 * 16384:], bytes(image[21 * 16384:]))

    def test_keys_that_raw_storage_cannot_follow(self):
        for option, value in (('max_bytes', 1000000), ('max_files', 10), ('reserve_bytes', 1)):
            self.make(**{option: value})
            for command in (['check', 'acl.json'], ['replay', 'run.json', '--config', 'acl.json']):
                _, error = self.run_tool(*command, expect=1)
                self.assertIn('%s: opdump.%s is for directories' % (self.place, option), error)
        self.make(layout='mindspore_cpu')
        _, error = self.run_tool('check', 'acl.json', expect=1)
        self.assertIn('raw storage takes the layout "cann" alone', error)

    def test_a_sealed_dump(self):
        """Raw storage takes what is sealed alone: nothing of it is in clear, and with the key it is whole."""
        self.run_tool('key', 'new', 'key')
        self.make(seal='key.pub')
        try:
            self.run_tool('replay', 'run.json', '--config', 'acl.json')
        except AssertionError as problem:
            if 'libsodium' not in str(problem):
                raise
            self.skipTest('no libsodium')
        self.assertNotIn(b'opdump-journal', self.read('storage.img'))
        self.run_tool('extract', 'storage.img', '-o', 'sealed')
        for name in self.files('sealed'):
            self.assertEqual(self.read('sealed', name)[:6], b'OPSEAL')
        self.run_tool('open', '--key', 'key', 'storage.img', '-o', 'out')
        self.assertTrue(self.run_tool('verify', 'out')[0].startswith('complete\n'))
        image, payloads = self.read('storage.img'), self.payloads('out')
        self.assertEqual(len(payloads), 60)
        for payload in payloads:
            for at in range(len(payload) // 2, len(payload) - 16, 400):
                self.assertNotIn(payload[at:at + 16], image)
        self.run_tool('key', 'new', 'wrong')
        self.assertIn('the wrong key', self.run_tool('open', '--key', 'wrong', 'storage.img', '-o', 'none', expect=1)[1])

    def test_each_record_may_be_synced(self):
        self.make(fsync='record')
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.run_tool('extract', 'storage.img', '-o', 'out')
        self.run_tool('verify', 'out')

    def test_a_replay_that_is_killed(self):
        """Whenever it is killed, the log is undamaged, and the next run goes on."""
        self.make(size=2 * MIB, keep='newest')
        self.write('run.json', run(100000))
        random.seed(1)
        for _ in range(12):
            process = subprocess.Popen([tool_case.OPDUMP, 'replay', 'run.json', '--config', 'acl.json'],
                                       cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0.05, 0.6))
            self.assertIsNone(process.poll())
            process.kill()
            process.wait()
            self.run_tool('extract', 'storage.img', '--verify', expect=(0, 1) if not self.holds_log() else 0)
        self.write('run.json', run(20))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        self.run_tool('extract', 'storage.img', '-o', 'out')
        last = sorted(os.listdir(self.path('out')))[-1]
        out, _ = self.run_tool('verify', os.path.join('out', last))
        self.assertTrue(out.startswith('complete\n'), out)

    def holds_log(self):
        return b'OPFL' in self.read('storage.img')

    def test_a_loop_device(self):
        self.make()
        attached = subprocess.run(['losetup', '-f', '--show', self.place], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False) if os.access('/dev/loop-control', os.W_OK) else None
        if attached is None or attached.returncode != 0:
            self.skipTest('this machine gives the test no loop device')
        device = attached.stdout.decode().strip()
        try:
            self.write('acl.json', config(device))
            self.run_tool('replay', 'run.json', '--config', 'acl.json')
            out, _ = self.run_tool('extract', device, '-o', 'out')
            self.assertIn('\n%s: block device, 256 blocks of 16 KiB, 4 MiB\n' % device, out)
            self.run_tool('verify', 'out')
        finally:
            subprocess.run(['losetup', '-d', device], check=True)


class Kernel(Case):
    """What the machine's kernel has, where OPDUMP_STORAGE_NODES names nodes whose bytes nobody needs."""

    def test_nodes(self):
        nodes = os.environ.get('OPDUMP_STORAGE_NODES', '').split()
        if not nodes:
            self.skipTest('OPDUMP_STORAGE_NODES names no nodes, such as /dev/mtd0, whose bytes may be lost')
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'storage', 'kernel_storage.sh')
        done = subprocess.run(['sh', script, tool_case.OPDUMP, *nodes], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Mtd(StorageCase):
    """With the emulation of an MTD device."""

    def run_mtd(self, *arguments, bad='0,5,6', expect=0):
        self.skip_under_sanitizers()
        environment = {'LD_PRELOAD': PRELOAD, 'OPDUMP_EMULATED_MTD': self.path('mtd.img'), 'OPDUMP_BAD_BLOCKS': bad}
        os.environ.update(environment)
        try:
            return self.run_tool(*arguments, expect=expect)
        finally:
            for name in environment:
                del os.environ[name]

    def test_a_dump_on_nand_with_bad_blocks(self):
        blocks = bytearray(b'\xff' * 128 * NAND_BLOCK)
        blocks[5 * NAND_BLOCK:6 * NAND_BLOCK] = b'\0\1' * (NAND_BLOCK // 2)
        self.write('mtd.img', bytes(blocks))
        self.write('acl.json', config('/dev/mtd6', keep='newest'))
        self.write('run.json', run(20))
        out, _ = self.run_mtd('check', 'acl.json')
        facts = 'NAND flash, 128 blocks of 16 KiB, 2 MiB, 3 of the blocks bad'
        self.assertIn('\n  storage %s; a log has 0 blocks\n' % facts, out)
        for boot in range(4):
            out, _ = self.run_mtd('replay', 'run.json', '--config', 'acl.json')
            self.assertIn('session  /dev/mtd6: %s; a log has ' % facts, out)
        out, _ = self.run_mtd('extract', '/dev/mtd6', '-o', 'out')
        self.assertTrue(out.endswith('/dev/mtd6: %s; its ECC put 0 bits right\n' % facts), out)
        self.assertEqual(len(os.listdir(self.path('out'))), 4)
        for directory in os.listdir(self.path('out')):
            out, _ = self.run_tool('verify', os.path.join('out', directory))
            self.assertTrue(out.startswith('complete\n'), out)
        # The image that 'nanddump --bb=padbad' makes of it holds the same.
        image = bytearray(self.read('mtd.img'))
        for bad in (0, 5, 6):
            image[bad * NAND_BLOCK:(bad + 1) * NAND_BLOCK] = b'\xff' * NAND_BLOCK
        self.write('nanddump.img', bytes(image))
        self.run_tool('extract', 'nanddump.img', '-o', 'image')
        self.assertEqual(self.payloads('image'), self.payloads('out'))

    def test_other_content_is_refused(self):
        self.write('mtd.img', (b'\xff' * 2 * NAND_BLOCK + b'UBI#').ljust(64 * NAND_BLOCK, b'\xff'))
        self.write('acl.json', config('/dev/mtd6'))
        self.write('run.json', run(2))
        before = self.read('mtd.img')
        _, error = self.run_mtd('replay', 'run.json', '--config', 'acl.json', expect=1)
        self.assertIn('dump.dump_path: /dev/mtd6: at byte 32768: UBI, which manages this flash', error)
        self.assertEqual(self.read('mtd.img'), before)


if __name__ == '__main__':
    PRELOAD = os.path.abspath(sys.argv.pop(2))
    print('MTD: emulated; a kernel\'s is used where OPDUMP_STORAGE_NODES names it', file=sys.stderr)
    tool_case.main()
