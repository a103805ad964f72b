#!/usr/bin/env python3
"""Whatever tells a version tells the same: Meson, Debian's changelog, and CHANGELOG.md with the numbers of all formats.

usage: versions_test.py SOURCE_ROOT
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()


def number(file, pattern):
    found = re.findall(pattern, (ROOT / file).read_text())
    assert found, f'{file} has no {pattern}'
    return found[-1]


def newest_journal():
    """The version that a journal's head is written as."""
    headers = [path for folder in ('include/opdump', 'platform') for path in sorted((ROOT / folder).rglob('*.hpp'))]
    text = '\n'.join(path.read_text() for path in headers)
    version, = set(re.findall(r'"opdump-journal,(\d+),', text))
    return version


class Versions(unittest.TestCase):
    def setUp(self):
        self.version = number('meson.build', r"\n  version: '([\d.]+)',")
        # Of the newest version alone, on one line.
        self.changes = ' '.join((ROOT / 'include/opdump/CHANGELOG.md').read_text().split('\n## ')[1].split())

    def test_version(self):
        self.assertEqual(self.changes.split()[0].rstrip(','), self.version)
        self.assertEqual(re.match(r'opdump \(([^)]+)\)', (ROOT / 'platform/debian/changelog').read_text())[1], self.version)
        self.assertEqual(number('include/opdump/types/account.hpp', r'kOpdumpVersion = "([^"]+)"'), self.version)

    def test_symbols_of_the_debian_package(self):
        symbols = (ROOT / 'platform/debian/libopdump-c1.symbols').read_text()
        self.assertRegex(symbols, rf'\n \(symver\)OPDUMP_1 {re.escape(self.version)}\n')

    def test_api_for_c(self):
        header = 'include/opdump/opdump.h'
        api = '.'.join(number(header, rf'#define OPDUMP_API_{part} (\d+)') for part in ('MAJOR', 'MINOR'))
        self.assertEqual(re.search(r'API for C is ([\d.]+)\. ', self.changes)[1], api)

    def test_compiled_configs(self):
        version = number('include/opdump/config/blob_format.hpp', r'kPlanVersion = (\d+);')
        self.assertIn(f'Compiled configs are of version {version}, ', self.changes)

    def test_journals(self):
        self.assertIn(f'journals are of version {newest_journal()}, ', self.changes)

    def test_flash(self):
        version = number('platform/flashlog/format.hpp', r'\bkVersion = (\d+);')
        self.assertIn(f'flash logs and histories in flash of version {version}.', self.changes)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
