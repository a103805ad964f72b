#!/usr/bin/env python3
"""Holds the README against the program: its table of RAM, its example, its output of the quickstart, its links.
usage: readme_test.py SOURCE_ROOT BUDGET_REPORT DIGITS OPDUMP [--write] -- COMPILER...
With --write the table is brought up to date instead."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

SEPARATOR = sys.argv.index('--')
ROOT, BUDGET, DIGITS, OPDUMP = [os.path.abspath(path) for path in sys.argv[1:5]]
WRITE = '--write' in sys.argv[:SEPARATOR]
COMPILER = sys.argv[SEPARATOR + 1:]
README = os.path.join(ROOT, 'README.md')


def read():
    with open(README, encoding='utf-8') as file:
        return file.read()


def block(name):
    return re.search('<!-- %s -->\n(.*?)<!-- /%s -->' % (name, name), read(), re.S).group(1)


def budget():
    return subprocess.run([BUDGET], capture_output=True, text=True, check=True).stdout


def digits_lines():
    lines, inside = [], False
    with open(os.path.join(ROOT, 'examples/digits/main.cpp'), encoding='utf-8') as file:
        for line in file.read().splitlines():
            if line.strip() in ('// opdump {', '// opdump }'):
                inside = line.endswith('{')
            elif inside or line.endswith('// opdump'):
                lines.append(re.sub(r' *// opdump$', '', line))
    return '```cpp\n%s\n```\n' % '\n'.join(lines)


class Readme(unittest.TestCase):
    def test_the_table_of_ram(self):
        self.assertEqual(block('budget'), budget(), 'run this test with --write')

    def test_the_lines_of_the_digits_example(self):
        self.assertEqual(block('digits'), digits_lines(), 'run this test with --write')

    def test_the_example_compiles_and_dumps(self):
        code = re.search('```cpp\n(.*?)```', block('use'), re.S).group(1)
        lines = [line for line in code.splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 25)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'use.cpp'), 'w', encoding='utf-8') as file:
                file.write('#include <cstdio>\n' + code + 'int main() {\n  const float output[4] = {1, 2, 3, 4};\n'
                           '  run(output, "acl.json");\n}\n')
            with open(os.path.join(folder, 'acl.json'), 'w', encoding='utf-8') as file:
                file.write('{"dump": {"dump_path": ".", "dump_list": [{"model_name": "net"}]}}')
            subprocess.run([*COMPILER[:1], '-std=c++20', '-I' + ROOT, '-I' + os.path.join(ROOT, 'include'), 'use.cpp',
                            '-o', 'use', *COMPILER[1:]], cwd=folder, check=True)
            done = subprocess.run(['./use'], cwd=folder, capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, '')
            shown = subprocess.run([OPDUMP, 'show', '.'], cwd=folder, capture_output=True, text=True, check=False)
            self.assertIn('Conv2D', shown.stdout)
            self.assertRegex(shown.stdout, r'min 1 +max 4 +mean 2.5')

    def test_the_quickstart_prints_what_is_said(self):
        said = [line for line in block('quickstart').splitlines() if not line.startswith(('```', '=='))]
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, 'dump'))
            config = os.path.join(ROOT, 'examples/digits/acl.json')
            run = subprocess.run([DIGITS, '--config', config], cwd=folder, capture_output=True, text=True, check=True)
            show = subprocess.run([OPDUMP, 'show', 'dump'], cwd=folder, capture_output=True, text=True, check=True)
        printed = (run.stdout + show.stdout).splitlines()[:len(said)]
        hide_time = lambda lines: [re.sub(r'\d{4}-\d\d-\d\dT[\d:.]+', 'TIME', line) for line in lines]
        self.assertGreaterEqual(len(said), 10)
        self.assertEqual(hide_time(printed), hide_time(said))

    def test_links_and_commands_lead_somewhere(self):
        text = read()
        for link in re.findall(r'\]\((?!http)([^)#]+)\)', text):
            self.assertTrue(os.path.exists(os.path.join(ROOT, link)), link)
        for script in re.findall(r'sh ([a-z/_]+\.sh)', text):
            self.assertTrue(os.path.exists(os.path.join(ROOT, script)), script)
        help_text = subprocess.run([OPDUMP, '--help'], capture_output=True, text=True, check=True).stdout
        for command in set(re.findall(r'`opdump ([a-z]+)', text)):
            self.assertIn('\n  %s ' % command, help_text)


if __name__ == '__main__':
    if WRITE:
        text = read()
        for name, now in (('budget', budget()), ('digits', digits_lines())):
            text = text.replace('<!-- %s -->\n' % name + block(name), '<!-- %s -->\n' % name + now)
        with open(README, 'w', encoding='utf-8') as file:
            file.write(text)
    else:
        unittest.main(argv=sys.argv[:1])
