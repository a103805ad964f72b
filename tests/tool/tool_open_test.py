#!/usr/bin/env python3
"""Tests of sealed dumps, `opdump open` and `opdump key` from outside: tool_open_test.py OPDUMP IMAGE_MAKER [unittest
arguments].

What is sealed is opened by seal.py too, whose cryptography is neither libsodium's nor mbed TLS's. Standard library;
openssl if it is there.
"""
import base64
import json
import os
import re
import shutil
import stat
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import seal  # noqa: E402
import tool_case  # noqa: E402

MAKER = ''

RUN = {'device_id': 0, 'steps': 3, 'models': [{'name': 'net', 'id': 1, 'ops': [
    {'name': 'conv1', 'type': 'Conv2D', 'inputs': [{'fill': 'ramp', 'dtype': 'float32', 'shape': [64]}],
     'outputs': [{'fill': 'ramp', 'dtype': 'int32', 'shape': [2500]}]},
    {'name': 'fc', 'type': 'MatMul', 'outputs': [{'fill': 'random', 'dtype': 'float32', 'shape': [7]}]}]}]}


class Sealed(tool_case.Case):
    def setUp(self):
        super().setUp()
        self.public = re.search('public key  ([0-9a-f]{64})\n', self.run_tool('key', 'new', 'key')[0]).group(1)

    def private(self, name='key'):
        """Out of its PEM, as RFC 8410 has it."""
        der = base64.b64decode(self.read(name).split(b'\n')[1])
        self.assertEqual(der[:16].hex(), '302e020100300506032b656e04220420')
        return der[16:]

    def config(self, **options):
        os.makedirs(self.path('dump'), exist_ok=True)
        self.write('acl.json', json.dumps({
            'dump': {'dump_path': 'dump', 'dump_mode': 'all', 'dump_list': [{'model_name': 'net'}]},
            'opdump': dict({'seal': 'key.pub'}, **options)}))

    def dump(self, **options):
        self.config(**options)
        self.write('run.json', json.dumps(RUN))
        self.run_tool('replay', 'run.json', '--config', 'acl.json')
        return self.tree('dump')

    def tree(self, directory):
        return {os.path.relpath(os.path.join(root, name), self.path(directory)): self.read(root, name)
                for root, _, names in os.walk(self.path(directory)) for name in names}

    def open(self, *arguments, expect=0, to='opened'):
        shutil.rmtree(self.path(to), ignore_errors=True)
        return self.run_tool('open', '--key', 'key', *arguments, '-o', to, expect=expect)

    def by_other_code(self, sealed):
        """The same files, opened by seal.py."""
        opened = {}
        for path, data in sealed.items():
            texts = seal.open_file(self.private(), data)
            for directory, name, _ in texts:
                self.assertEqual(os.path.join(directory, name), path)
            opened[path] = b''.join(text for _, _, text in texts)
        return opened

    def test_a_dump_is_opened_and_complete(self):
        sealed = self.dump()
        self.assertEqual(len(sealed), 7)
        out, error = self.open('dump')
        self.assertEqual(error, '')
        self.assertIn('7 files opened', out)
        self.assertIn(self.public[:16], out)
        opened = self.tree('opened')
        self.assertEqual(opened, self.by_other_code(sealed))
        self.assertTrue(self.run_tool('verify', 'opened')[0].startswith('complete'))
        self.assertIn('conv1', self.run_tool('show', 'opened')[0])
        # Nothing of it is in clear.
        together = b''.join(sealed.values())
        for text in opened.values():
            for at in range(0, len(text) - 16, 61):
                if len(set(text[at:at + 16])) > 6:
                    self.assertNotIn(text[at:at + 16], together)
        # Nothing is replaced.
        _, error = self.run_tool('open', '--key', 'key', 'dump', '-o', 'opened', expect=1)
        self.assertEqual(error.count('already exists'), 7)

    def test_commands_say_that_a_dump_is_sealed_and_for_whom(self):
        self.dump()
        for command in (['show', 'dump'], ['verify', 'dump'], ['verify', '--json', 'dump'], ['convert', '-r', '-d', 'dump', '-out', 'a'],
                        ['compare', 'dump', 'dump'], ['diff', 'dump', 'dump']):
            out, error = self.run_tool(*command, expect=(1, 2))
            self.assertIn('sealed for key ' + self.public[:16], out + error)
            self.assertIn("'opdump open --key FILE", out + error)

    def test_check_explain_and_compile_tell_of_it(self):
        self.config()
        self.assertIn('sealed  for key ' + self.public[:16], self.run_tool('check', 'acl.json')[0])
        self.assertEqual(json.loads(self.run_tool('check', '--json', 'acl.json')[0])['options']['seal'],
                         self.public)
        self.assertIn('X25519', self.run_tool('explain', 'seal')[0])
        self.run_tool('compile', 'acl.json', '-o', 'dump.plan')
        self.assertIn(bytes.fromhex(self.public), self.read('dump.plan'))
        self.assertIn('sealed  for key ' + self.public[:16], self.run_tool('check', 'dump.plan')[0])

    def test_keys_that_cannot_be_read_are_refused(self):
        for key, reason in (('key', 'holds a private key'), ('nowhere.pub', 'No such file'), ('acl.json', 'holds no public key')):
            self.config(seal=key)
            self.assertRegex(self.run_tool('check', 'acl.json', expect=1)[1],
                             r'acl.json:1:\d+: opdump.seal: .*' + reason)
        self.config()
        self.assertIn('public key', self.run_tool('open', '--key', 'key.pub', 'dump', '-o', 'o', expect=1)[1])
        self.run_tool('open', 'dump', '-o', 'opened', expect=2)

    def test_a_pair_is_as_openssl_makes_it(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.path('key')).st_mode), 0o600)
        self.assertEqual(seal.x25519(self.private(), bytes([9]) + bytes(31)).hex(), self.public)
        self.assertIn(self.public, self.run_tool('key', 'show', 'key')[0])
        self.assertIn('File exists', self.run_tool('key', 'new', 'key', expect=1)[1])
        if shutil.which('openssl') is None:
            self.skipTest('no openssl')
        public = subprocess.run(['openssl', 'pkey', '-in', self.path('key'), '-pubout'], check=True, stdout=subprocess.PIPE)
        self.assertEqual(public.stdout, self.read('key.pub'))
        subprocess.run(['openssl', 'genpkey', '-algorithm', 'X25519', '-out', self.path('other')], check=True)
        public = re.search('public key  ([0-9a-f]+)', self.run_tool('key', 'show', 'other')[0]).group(1)
        self.dump(seal=public)
        self.run_tool('open', '--key', 'other', 'dump', '-o', 'opened')

    def test_a_wrong_key_is_told(self):
        self.dump()
        self.run_tool('key', 'new', 'wrong')
        out, error = self.run_tool('open', '--key', 'wrong', 'dump', '-o', 'opened', expect=1)
        self.assertIn('0 files opened', out)
        self.assertIn('sealed for key ' + self.public[:16], error)
        self.assertIn('the wrong key', error)
        self.assertEqual(self.tree('opened'), {})

    def test_a_changed_byte_is_named_with_its_file(self):
        for path, data in self.dump().items():
            changed = bytearray(data)
            changed[len(data) * 2 // 3] ^= 1
            self.write('dump/' + path, bytes(changed))
            _, error = self.open('dump', expect=1)
            self.assertIn('dump/' + path, error)
            self.assertIn('changed', error)
            if not path.endswith('.journal'):
                self.assertNotIn(path, self.tree('opened'))
            self.write('dump/' + path, data)
        self.open('dump')

    def test_files_that_are_swapped_renamed_left_out_cut_or_not_sealed_are_named(self):
        sealed = self.dump()
        one, two = [path for path in sorted(sealed) if 'conv1' in path][:2]
        self.write('dump/' + one, sealed[two])
        _, error = self.open('dump', expect=1)
        self.assertIn('dump/%s: moved or renamed, or swapped for another file: sealed as %s' % (one, two), error)
        self.write('dump/' + one, sealed[one][:6000])
        _, error = self.open('dump', expect=1)
        self.assertIn(one + ': ends within chunk 1: the rest is missing', error)
        self.assertNotIn(one, self.tree('opened'))
        self.open('dump', '--partial', expect=1)
        whole = seal.open_file(self.private(), sealed[one])[0][2]
        partial = self.tree('opened')[one]
        self.assertTrue(whole.startswith(partial) and len(partial) > 3900)
        self.write('dump/' + one, b'plain')
        self.assertIn(one + ': is not sealed', self.open('dump', expect=1)[1])
        os.remove(self.path('dump', one))
        self.open('dump')
        self.assertIn(os.path.basename(one), self.run_tool('verify', 'opened', expect=1)[0])

    def test_lines_that_are_left_out_or_repeated_are_named(self):
        path, data = next((path, data) for path, data in self.dump(journal='records').items() if path.endswith('.journal'))
        pieces, at = [], 56
        while at < len(data):
            if data[at:at + 6] == b'OPSEAL':
                at += 56
            size = int.from_bytes(data[at + 8:at + 12], 'little') >> 1
            pieces.append((at, at + 28 + size))
            at = pieces[-1][1]
        self.assertGreater(len(pieces), 1)
        start, end = pieces[-1]
        previous = pieces[-2][0]
        for changed in (data[:end] + data[start:end], data[:previous] + data[start:] if len(pieces) > 2 else data[:start] + data[previous:start] + data[start:]):
            self.write('dump/' + path, changed)
            self.assertRegex(self.open('dump', expect=1)[1], 'missing|repeated|swapped')

    def test_digests_and_statistics_are_sealed(self):
        for options in ({'digest': 'crc32c'}, {'file_format': 'npy'}, {'file_format': 'protobuf'}, {'history_steps': 2}):
            shutil.rmtree(self.path('dump'), ignore_errors=True)
            for data in self.dump(**options).values():
                self.assertEqual(data[:6], b'OPSEAL')
            if 'history_steps' not in options:
                self.open('dump')
                self.assertTrue(self.run_tool('verify', 'opened')[0].startswith('complete'))

    def make_image(self, blocks, boots, *more, expect=0):
        self.run_tool('compile', 'acl.json', '-o', 'dump.plan')
        done = subprocess.run([MAKER, self.path('dump.plan'), self.path('flash.img'), str(blocks), str(boots), *more])
        self.assertEqual(done.returncode, expect)

    def test_what_a_limit_kept_out_is_told(self):
        for detail in ('records', 'gaps'):
            self.config(max_bytes=400000, journal=detail)
            self.write('run.json', json.dumps(dict(RUN, steps=1600)))
            self.run_tool('replay', 'run.json', '--config', 'acl.json', expect=1)
            self.open('dump')
            answer = json.loads(self.run_tool('verify', 'opened', '--json', expect=1)[0])
            self.assertEqual({f['kind'] for f in answer['findings'] if f['wrong']}, {'lost', 'gap', 'by_op'}, detail)
            self.assertEqual([(one['closed'], one['written'] + one['lost']) for one in answer['journals']],
                             [(True, 3200)], detail)
            shutil.rmtree(self.path('dump'))

    def test_an_image_of_a_device_is_opened(self):
        self.config()
        self.make_image(64, 1)
        image = self.read('flash.img')
        self.assertNotIn(b'\xe7\xc4\x5e\x00' * 2, image)
        self.assertNotIn(b'opdump-journal', image)
        self.assertIn(b'conv1', image)
        out, _ = self.open('flash.img')
        self.assertIn('11 files opened', out)
        self.assertTrue(self.run_tool('verify', 'opened')[0].startswith('complete'))
        self.run_tool('extract', 'flash.img', '-o', 'tree')
        sealed = self.tree('tree')
        self.open('tree', to='again')
        self.assertEqual(self.tree('again'), self.tree('opened'))
        self.assertEqual(self.by_other_code(sealed), self.tree('opened'))
        record = next(data for path, data in self.tree('opened').items() if 'conv1' in path)
        self.assertIn(b'\xe7\xc4\x5e\x00' * 200, record)
        self.assertIn('sealed for key', self.run_tool('show', 'flash.img', expect=1)[1])
        self.assertIn('sealed for key', self.run_tool('verify', 'flash.img', expect=1)[0])

    def test_a_history_in_flash_is_sealed_and_opened(self):
        self.config(journal='none')
        self.make_image(32, 2, 'history')
        for image in ('flash.img', 'flash.img.history'):
            self.assertNotIn(b'\xe7\xc4\x5e\x00' * 2, self.read(image))
            self.assertIn(b'conv1', self.read(image))
        self.run_tool('extract', 'flash.img', '-o', 'tree')
        out, error = self.open('tree')
        self.assertIn('8 files opened', out)
        self.assertEqual(set(error.splitlines()), {f'opdump open: tree/{path}: is not sealed, as a history in flash '
                                                   'writes it: nothing proves who wrote it'
                                                   for path in self.tree('tree') if path.endswith('opdump.history')})
        opened = self.tree('opened')
        steps = sorted(int(path.split('/')[-2]) for path in opened if 'conv1' in path)
        self.assertEqual(steps, [5, 5, 6, 6, 7, 7, 8, 8])
        for path, data in opened.items():
            if 'conv1' in path:
                self.assertIn(b'\xe7\xc4\x5e\x00' * 200, data)
        self.open('flash.img', to='again')
        self.assertEqual(self.tree('again'), opened)
        # 'verify' says of it what it says of a history without a seal: no journal proves that it is complete.
        self.write('acl.json', re.sub('"seal": "key.pub", ', '', self.read('acl.json').decode()))
        self.make_image(32, 2, 'history')
        self.assertIn(b'\xe7\xc4\x5e\x00' * 2, self.read('flash.img.history'))
        self.run_tool('extract', 'flash.img', '-o', 'plain')
        self.assertEqual(len(self.tree('plain')), len(opened))
        said = [re.sub(fr'\b{directory}\b(/boot_[0-9]+)?', '', self.run_tool('verify', directory, expect=1)[0])
                for directory in ('plain', 'opened')]
        self.assertEqual(said[0], said[1])

    def test_boots_and_a_log_that_has_gone_round_are_opened(self):
        self.config()
        self.make_image(64, 3)
        out, _ = self.open('flash.img')
        self.assertIn('33 files opened', out)
        self.assertEqual(self.run_tool('verify', 'opened')[0].splitlines()[0], 'complete')
        self.run_tool('extract', 'flash.img', '-o', 'tree')
        tree = self.tree('tree')
        new = next(path for path in sorted(tree) if path.startswith('boot_000007/') and 'conv1' in path)
        self.write('tree/' + new, tree[new.replace('7', '1', 1)])
        self.assertIn(new + ': sealed in a session that no journal of its dump is of', self.open('tree', expect=1)[1])
        self.assertEqual(set(tree) - set(self.tree('opened')), {new})
        self.make_image(14, 8)
        _, error = self.open('flash.img')
        self.assertIn('overwritten', error)
        self.assertIn('overwritten', self.run_tool('verify', 'opened', expect=1)[0])


if __name__ == '__main__':
    MAKER = os.path.abspath(sys.argv.pop(2))
    tool_case.main()
