#!/usr/bin/env python3
"""Tests of what all sub-commands of opdump share, from outside: tool_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402


class CommandLine(Case):
    def usage(self, *arguments):
        out, error = self.run_tool(*arguments, expect=2)
        self.assertEqual(out, '')
        self.assertEqual(error.count('\n'), 1, error)
        self.assertRegex(error, r"(;|\?) see 'opdump( \w+)? --help'\n$")
        return error

    def test_help_of_everything_names_examples_and_exit_codes(self):
        for words in ([], ['show'], ['convert'], ['check'], ['compile'], ['doctor'], ['explain'], ['replay'],
                      ['verify'], ['compare'], ['extract'], ['receive'], ['report'], ['key'], ['open']):
            out, error = self.run_tool(*words, '--help')
            self.assertEqual(error, '')
            for piece in ('usage: opdump', 'exit status', '\n  0  ', '\n  2  ', 'opdump ' + ' '.join(words)):
                self.assertIn(piece, out)
            self.assertLessEqual(max(map(len, out.splitlines())), 118)

    def test_help_of_a_command(self):
        for command in ('show', 'verify', 'replay'):
            self.assertEqual(self.run_tool('help', command), self.run_tool(command, '--help'))
        self.assertEqual(self.run_tool('help'), self.run_tool('--help'))

    def test_commands_that_compare_have_the_same_options(self):
        values = ('-g', '--golden', '-e', '--limits', '--model', '--golden-model', '--op', '--boot', '--golden-boot', '--map')
        for words in (['why', 'd'], ['compare', '-m', 'd'], ['report', 'd', '-o', 'x']):
            out, _ = self.run_tool(words[0], '--help')
            for option in (*values, '--any-model', '--by-order', '--align'):
                self.assertIn(f'{option} ', out.replace(',', ' '))
                named = [option, 'd'] if option in values else [option]
                self.assertNotIn('unknown option', self.run_tool(*words, *named, expect=(1, 2, 3))[1])

    def test_a_dump_has_the_same_name_in_all_commands(self):
        self.write('d/' + tool_case.NAME, tool_case.record([], [tool_case.tensor(
            tool_case.FLOAT, [1], tool_case.floats(1))]))
        for words in (['show'], ['convert', '-out', 'o'], ['overflow'], ['verify'], ['extract', '--list']):
            answers = [self.run_tool(*words, *named, expect=(0, 1)) for named in
                       (['d'], ['-d', 'd'], ['--dump_file=d'])]
            self.assertEqual(answers[1:], answers[:1] * 2)
        self.assertEqual(self.run_tool('compare', 'd', 'd'), self.run_tool('compare', '-m', 'd', '-g', 'd'))
        for words in (['convert'], ['overflow']):
            self.assertIn("'e' has no meaning", self.usage(*words, '-d', 'd', 'e'))
        self.assertIn("'e' has no meaning", self.usage('compare', 'd', 'd', 'e'))

    def test_version(self):
        self.assertRegex(self.run_tool('--version')[0], r'^opdump \d+\.\d+\.\d+\n$')

    def test_usage_errors_say_what_is_wrong(self):
        self.assertIn('a command is missing', self.usage())
        self.assertIn('unknown command \'shwo\'; did you mean "show"? see', self.usage('shwo'))
        self.assertIn("unknown command 'frobnicate'; see", self.usage('frobnicate'))
        self.assertIn('unknown command \'shwo\'; did you mean "show"? see', self.usage('help', 'shwo'))
        self.assertIn('unknown option \'--stat\'; did you mean "--stats"? see', self.usage('show', '--stat', 'x'))
        self.assertIn('unknown option \'--dumpfile\'; did you mean "--dump_file"? see', self.usage('convert', '--dumpfile', 'x'))
        self.assertIn("unknown option '-q'; see", self.usage('convert', '-q', 'x'))
        self.assertIn('a PATH is missing', self.usage('show'))
        self.assertIn("unknown option '--all'", self.usage('show', '--all', 'x'))
        self.assertIn("'-d' needs a value", self.usage('convert', '-d'))
        self.assertIn("'-d PATH' is missing", self.usage('convert'))
        self.assertIn("'-r' takes no value", self.usage('convert', '-r=1'))
        self.assertIn("'x' has no meaning", self.usage('convert', '-d', 'y', 'x'))
        self.assertIn("torch.from_numpy", self.usage('convert', '-d', 'x', '-t', 'pt'))
        self.assertIn("'-t txt' is none of npy, bin, msnpy", self.usage('convert', '-d', 'x', '-t', 'txt'))
        self.assertIn("'-v 1' is not supported", self.usage('convert', '-d', 'x', '-v', '1'))
        self.assertIn("'-c' is not supported", self.usage('convert', '-d', 'x', '-c', '.'))
        for flag in ('-s', '-i', '-o'):
            self.assertIn("'%s' needs '-f FORMAT'" % flag, self.usage('convert', '-d', 'x', flag, '1'))
            self.assertIn('a single dump file', self.usage('convert', '-d', 'x', '-f', 'ND', flag, '1'))
        one = ['convert', '-d', self.write('x', ''), '-f', 'NCHW']
        self.assertIn("'-f nchw' is no format", self.usage('convert', '-d', 'x', '-f', 'nchw'))
        self.assertIn('exclude each other', self.usage(*one, '-i', '0', '-o', '0'))
        self.assertIn('is no number from 0 on', self.usage(*one, '-i', '-1'))
        for bad in ('', '0', '1,', '1,x', '1,-2', '1,0,2', '99999999999999999999'):
            self.assertIn('are no dims from 1 on', self.usage(*one, '-s', bad))
        self.assertIn('more than 32 dims', self.usage(*one, '-s', '1' + ',1' * 32))
        self.assertIn('a CONFIG is missing', self.usage('check'))
        self.assertIn("not also 'b'", self.usage('check', 'a', 'b'))
        self.assertIn('a RUN.json is missing', self.usage('replay', '--config', 'a'))
        self.assertIn("'--config CONFIG' is missing", self.usage('replay', 'a'))
        for bad in ('0', '63', '-1', '1k', '4294967296', ''):
            self.assertIn('is no number from 64', self.usage('replay', 'a', '--config', 'b', '--ring-bytes', bad))
        self.assertIn('none of none, gaps, records',
                      self.usage('replay', 'a', '--config', 'b', '--journal', 'all'))
        self.assertIn('none of drop, block, inline, degrade',
                      self.usage('replay', 'a', '--config', 'b', '--when-full', 'wait'))

    def test_a_full_output_is_a_failure(self):
        with open('/dev/full', 'wb') as full:
            self.assertIn('standard output', self.run_tool('--help', expect=1, stdout=full)[1])


if __name__ == '__main__':
    tool_case.main()
