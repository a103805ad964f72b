#!/usr/bin/env python3
"""Runs the digits example as a user would: without a dump, with one, and with all that can be wrong with one. What the
network reads must be the same every time. Usage: digits_test.py DIGITS OPDUMP"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import waiting  # noqa: E402

DIGITS, OPDUMP = [os.path.abspath(path) for path in sys.argv[1:3]]
LAYERS = ['conv1', 'relu1', 'pool2', 'dense', 'softmax']


def dump_of(**keys):
    return {'dump': {'dump_path': 'dump', 'dump_list': [{'model_name': 'digits'}], **keys}}


class Digits(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.plain = self.run_digits(0, config=None)[0].splitlines()[0]

    def run_digits(self, code, config, images=None, make_path=True, arguments=()):
        """Output and errors of a run with `config`, which is an object, a text, or the name of a file."""
        command = [DIGITS, *arguments]
        if make_path:
            os.makedirs(os.path.join(self.folder, 'dump'), exist_ok=True)
        if config is not None:
            name = os.path.join(self.folder, 'acl.json')
            with open(name, 'w', encoding='utf-8') as file:
                file.write(config if isinstance(config, str) else json.dumps(config))
            command += ['--config', 'acl.json']
        if images is not None:
            command += ['--images', str(images)]
        done = waiting.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def same_result(self, out):
        self.assertEqual(out.splitlines()[0], self.plain)

    def dumped(self):
        found = []
        for root, _, names in os.walk(os.path.join(self.folder, 'dump')):
            found += [os.path.relpath(os.path.join(root, name), self.folder) for name in names]
        return sorted(name for name in found if not name.endswith('.journal'))

    def test_accuracy(self):
        right, total = int(self.plain.split()[0]), int(self.plain.split()[2])
        self.assertEqual(total, 360)
        self.assertGreaterEqual(right / total, 0.95)

    def test_an_empty_config_dumps_nothing(self):
        out, error = self.run_digits(0, {})
        self.same_result(out)
        self.assertIn('0 records dumped, 0 lost', out)
        self.assertEqual((error, self.dumped()),
                         ('opdump: config: it switches nothing on, and what was set before stays in force\n', []))

    def test_every_operator_of_every_image(self):
        out, _ = self.run_digits(0, dump_of(dump_mode='all'))
        self.same_result(out)
        self.assertIn('%d records dumped, 0 lost' % (13 * 360), out)
        self.assertEqual(len(self.dumped()), 13 * 360)

    def test_chosen_layers_and_steps(self):
        config = dump_of(dump_step='0|3-4', dump_list=[{'model_name': 'digits', 'layer': LAYERS}])
        self.same_result(self.run_digits(0, config)[0])
        names = self.dumped()
        self.assertEqual(sorted({name.split('/')[5] for name in names}), ['0', '3', '4'])
        self.assertEqual(sorted({name.split('/')[6].split('.')[1] for name in names}), sorted(LAYERS))
        self.assertEqual(len(names), 15)

    def test_the_layer_that_overflows_is_named(self):
        config = {'dump': {'dump_path': 'dump', 'dump_debug': 'on', 'dump_step': '0-1'}}
        self.same_result(self.run_digits(0, config)[0])
        self.assertEqual(self.dumped(), [])
        self.run_digits(1, config, arguments=['--overflow', '1'])
        overflowed = [name.split('/')[6].split('.')[1] for name in self.dumped() if name.split('/')[5] == '0']
        self.assertEqual(sorted(overflowed), ['Node_OpDebug'] * (len(overflowed) // 2) +
                         sorted(name for name in overflowed if name != 'Node_OpDebug'))
        self.assertIn('bias2', overflowed)
        done = subprocess.run([OPDUMP, 'overflow', '-d', 'dump', '-out', 'overflows'], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        self.assertIn('first bad operator: Conv2D conv2, model 1 (digits), step 0, stream 0, task 4: output 0 holds ',
                      done.stdout)
        self.assertIn(' and its inputs are clean', done.stdout)

    def test_an_unknown_model(self):
        out, _ = self.run_digits(0, dump_of(dump_list=[{'model_name': 'letters'}]))
        self.same_result(out)
        self.assertEqual(self.dumped(), [])

    def test_refused_configs_stop_the_dump_not_the_network(self):
        for config, why in [('{"dump": ', 'acl.json:1:'),
                            (dump_of(dump_path='absent'), 'mkdir -p'),
                            (dump_of(dump_mode='outptu'), 'output'),
                            ({'dump': {'dump_list': [{}]}}, 'dump.dump_path')]:
            out, error = self.run_digits(1, config)
            self.same_result(out)
            self.assertIn('digits: nothing will be dumped: acl.json:', error)
            self.assertIn(why, error)
            self.assertEqual(self.dumped(), [])

    def test_a_missing_config(self):
        done = subprocess.run([DIGITS, '--config', 'absent.json'], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.same_result(done.stdout)
        self.assertIn('absent.json', done.stderr)

    def test_a_disk_that_fills_up(self):
        # In a mount namespace of its own, so that nothing is left mounted.
        script = 'mount -t tmpfs -o size=64k none dump && exec "$0" --config acl.json && exit 9'
        os.makedirs(os.path.join(self.folder, 'dump'), exist_ok=True)
        with open(os.path.join(self.folder, 'acl.json'), 'w', encoding='utf-8') as file:
            json.dump(dump_of(), file)
        for unshare in (['unshare', '-m'], ['unshare', '-Urm']):
            if subprocess.run([*unshare, 'true'], capture_output=True, check=False).returncode == 0:
                break
        else:
            self.skipTest('no mount namespace can be made here')
        done = waiting.run([*unshare, 'sh', '-c', script, DIGITS], cwd=self.folder, capture_output=True,
                           text=True, check=False)
        if 'mount' in done.stderr:
            self.skipTest('no tmpfs can be mounted here: ' + done.stderr)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.same_result(done.stdout)
        written, lost = [int(word) for word in done.stdout.splitlines()[1].replace(',', '').split() if word.isdigit()]
        self.assertEqual(written + lost, 13 * 360)
        self.assertGreater(written, 0)
        self.assertGreater(lost, 0)

    def test_the_instrumentation_stays_below_30_lines(self):
        with open(os.path.join(os.path.dirname(__file__), '../../examples/digits/main.cpp'), encoding='utf-8') as file:
            lines, inside = 0, False
            for line in (line.strip() for line in file):
                if line in ('// opdump {', '// opdump }'):
                    inside = line.endswith('{')
                else:
                    lines += inside or line.endswith('// opdump')
        self.assertTrue(20 < lines < 30, lines)

    def test_show_reads_the_dump(self):
        self.run_digits(0, dump_of(dump_step='0'))
        done = subprocess.run([OPDUMP, 'show', 'dump'], cwd=self.folder, capture_output=True, text=True, check=True)
        for name in ('Conv2D', 'conv1', 'Softmax', 'float16', '[1,8,8,8]', '13 records'):
            self.assertIn(name, done.stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
