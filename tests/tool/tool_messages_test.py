#!/usr/bin/env python3
"""Tests of what opdump prints of names that others chose, and of where it writes aside:
tool_messages_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import glob
import os
import stat
import sys
import unicodedata

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
import waiting  # noqa: E402
from tool_case import Case, FLOAT, floats, npy, record, tensor  # noqa: E402

# Turns colours, sets the title, as C0, as bare C1 bytes and as C1 in UTF-8; turns the direction of writing.
HOSTILE = b'\x1b[31m\x1b]0;owned\x07\x9b31m\xc2\x9b31m\xe2\x80\xae\xff'


class Names(Case):
    def write_hostile(self, directory, name, content):
        path = os.path.join(os.fsencode(self.path(directory)), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(content)
        return path

    def check_clean(self, *words):
        """Runs a command, whatever its exit status is, and looks at all it prints."""
        done = waiting.run([os.fsencode(tool_case.OPDUMP), *[os.fsencode(word) for word in words]],
                           cwd=self.directory, capture_output=True,
                           env=dict(os.environ, TZ='UTC', LC_ALL='C.UTF-8'), check=False)
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        for text in (done.stdout, done.stderr):
            shown = text.decode('utf-8')  # bytes that are no UTF-8 may be C1 controls to a terminal
            turning = '' if '--json' in words else '\u202e\u2028'
            bad = [c for c in shown if (c < ' ' and c != '\n') or '\x7f' <= c <= '\x9f' or c in turning]
            self.assertEqual(bad, [], (words, text))
        self.told += b'owned' in done.stdout + done.stderr

    def test_no_command_prints_what_drives_a_terminal(self):
        self.told = 0
        good = record([], [tensor(FLOAT, [1], floats(1))])
        named = b'Conv2D.' + HOSTILE + b'.3.0.1589195081588018'
        self.write_hostile('good', named, good)
        self.write_hostile('torn', named, good[:40])
        self.write_hostile('torn', b'T.' + HOSTILE + b'.3.0.1.part', b'')
        os.mkfifo(os.path.join(os.fsencode(self.path('torn')), HOSTILE))
        self.write_hostile('mapped', b'mapping.csv', b'1,' + HOSTILE + b'/x\n')
        image = self.write_hostile('image', HOSTILE, b'no log')
        config = self.write_hostile('configs', HOSTILE + b'.json', b'{"dump": {"dump_path": "' +
                                    HOSTILE.replace(b'\x1b', b'').replace(b'\x07', b'') + b'"}}')
        for directory in ('good', 'torn', 'mapped'):
            for words in (['show'], ['convert', '-r', '-out', 'o', '-d'], ['overflow', '-d'], ['verify'],
                          ['compare', '-g', 'torn', '-m']):
                if directory != 'good' or words[0] in ('show',):
                    self.check_clean(*words, directory)
        self.check_clean('show', '--json', 'good')
        self.check_clean('compare', '-m', 'good', '-g', 'torn')
        self.check_clean('extract', image)
        self.check_clean('extract', image, '--list')
        for words in (['check'], ['check', '--json'], ['compile', '-o', 'plan'], ['replay', config, '--config']):
            self.check_clean(*words, config)
        for words in (['show'], ['explain'], ['verify'], ['overflow'], ['show', b'--' + HOSTILE], [], ['check'],
                      ['compare', '-m', 'good', '-g'], ['convert', '-d'], ['extract'],
                      ['compile', '-o', HOSTILE + b'/x', '--model']):
            self.check_clean(*words, HOSTILE)
        self.assertGreaterEqual(self.told, 20)  # or the names were not in what was looked at

    def test_columns_are_as_wide_as_their_names(self):
        """The widths are those of Unicode's own tables, as Python has them."""
        names = ['conv', 'überlauf', '卷积层一', 'e\u0301tage', 'ｆｕｌｌ', '한글', '🙂op', '\u0924\u094d\u0930']
        for i, name in enumerate(names):
            self.write('d/Conv2D.%s.3.0.%d' % (name, 1589195081588018 + i),
                       record([], [tensor(FLOAT, [1], floats(1))]))
        rows = [line for line in self.run_tool('show', 'd')[0].splitlines() if '1970' in line or '2020-' in line]
        self.assertEqual(len(rows), len(names))

        def width(text):
            return sum(0 if unicodedata.category(c) in ('Mn', 'Me', 'Cf') else
                       2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)
        self.assertEqual(len({width(row[:row.index('2020-')]) for row in rows}), 1, rows)


class WrittenAside(Case):
    def test_what_was_planted_beside_an_output_is_left_alone(self):
        """Names that a writer could be foreseen to take: a FIFO would hold it, a file would lend it its mode."""
        self.write('d/' + tool_case.NAME, record([], [tensor(FLOAT, [1], floats(1))]))
        os.mkdir(self.path('out'))
        script = ('for n in 0 1 2; do mkfifo out/.opdump-$$-$n.part; done; '
                  'exec "$0" convert -r -d d -out out')
        done = waiting.run(['sh', '-c', script, tool_case.OPDUMP], cwd=self.directory, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        planted = glob.glob(self.path('out', '.opdump-*.part'))
        self.assertEqual([stat.S_ISFIFO(os.lstat(path).st_mode) for path in planted], [True] * 3)
        arrays = [name for name in self.files('out') if name.endswith('.npy')]
        self.assertEqual(len(arrays), 1)
        self.assertEqual(self.read('out', arrays[0]), npy('<f4', (1,), floats(1)))


if __name__ == '__main__':
    tool_case.main()
