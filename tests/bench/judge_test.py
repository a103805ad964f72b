#!/usr/bin/env python3
"""judge.py and report.py on runs made up here: judge_test.py"""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import figures  # noqa: E402  found by the line above
import growth_tools  # noqa: E402


def figure(runs, better='less', what='row', topic='topic'):
    return {'topic': topic, 'what': what, 'figure': 'ns', 'better': better, 'runs': runs}


def google(name, **counters):
    return {'name': name, 'run_type': 'iteration', **counters}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, value):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
        return self.path(name)

    def run_script(self, script, *arguments, status=0):
        run = subprocess.run([sys.executable, os.path.join(HERE, script), *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout if status == 0 else run.stderr

    def keep(self, name, found, google_runs=(), status=0):
        lines = self.write('lines', ''.join(json.dumps(f) + '\n' for f in found))
        results = [self.write('google.json', {'benchmarks': list(google_runs)})] if google_runs else []
        said = self.run_script('judge.py', 'keep', self.path(name), *results, '--lines', lines, '--compiler', 'c++',
                               '--place', self.folder, status=status)
        if status:
            return said
        with open(self.path(name), encoding='utf-8') as file:
            return json.load(file)

    def against(self, old, new):
        self.keep('old', old)
        self.keep('new', new)
        return self.run_script('judge.py', 'against', self.path('old'), self.path('new'))

    def counted(self, text):
        """Figures told as slower, told as faster."""
        return tuple(int(re.search(r'^%s by more than the noise of both runs: (\d+) of' % word, text, re.MULTILINE)[1])
                     for word in ('slower', 'faster'))


class Keep(Case):
    def test_the_circumstances_are_kept(self):
        kept = self.keep('run', [figure([1, 2, 3])])
        for fact in ('processor', 'processors', 'clock source', 'kernel', 'compiler', 'commit', 'place'):
            self.assertTrue(kept[fact], fact)
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            names = re.findall(r'^model name\s*: (.*)$', file.read(), re.MULTILINE)
        if names:
            self.assertEqual(kept['processor'], names[0])
        self.assertEqual(kept['figures'], [figure([1, 2, 3])])

    def test_repetitions_of_google_benchmark_are_one_figure(self):
        runs = [google('paced/opdump/64/iterations:1/manual_time', p50=value, p99=3 * value) for value in (70, 72, 71)]
        runs.append({**google('paced/opdump/64/iterations:1', p50=1), 'run_type': 'aggregate'})
        runs.append({**google('paced/opdump/64/iterations:1', p50=2), 'error_occurred': True})
        kept = self.keep('run', [], runs)['figures']
        self.assertEqual([(f['what'], f['figure'], f['runs']) for f in kept],
                         [('opdump, 64', 'p50, ns', [70, 72, 71]), ('opdump, 64', 'p99, ns', [210, 216, 213])])

    def test_a_run_that_measured_nothing_is_no_run(self):
        self.assertIn('nothing was measured', self.keep('run', [], status=2))

    def test_figures_are_appended_where_the_environment_says(self):
        os.environ['OPDUMP_BENCH_FIGURES'] = self.path('appended')
        self.addCleanup(os.environ.pop, 'OPDUMP_BENCH_FIGURES')
        for runs in ([1.5], [2.5]):
            figures.add_figure('topic', 'row', 'ns', 'less', runs)
        self.assertEqual(figures.line_figures(self.path('appended')), [figure([1.5]), figure([2.5])])


class Against(Case):
    def test_what_lies_within_the_noise_of_both_is_not_told(self):
        text = self.against([figure([10, 11, 12, 13, 14])], [figure([13, 14, 15, 16, 17])])
        self.assertEqual(self.counted(text), (0, 0))

    def test_more_than_the_noise_is_told_with_both_medians(self):
        text = self.against([figure([10, 10, 11, 10, 10])], [figure([20, 21, 20, 20, 20])])
        self.assertEqual(self.counted(text), (1, 0))
        self.assertRegex(text, r'row +ns +10 \(\+-0\.5\) -> +20 \(\+-0\.5\)  \+100\.0 %')

    def test_more_is_better_where_the_figure_says_so(self):
        text = self.against([figure([0.9] * 5, 'more')], [figure([0.6] * 5, 'more')])
        self.assertEqual(self.counted(text), (1, 0))
        text = self.against([figure([0.6] * 5, 'more')], [figure([0.9] * 5, 'more')])
        self.assertEqual(self.counted(text), (0, 1))

    def test_the_worst_is_told_first(self):
        old = [figure([10] * 5, what=name) for name in ('little', 'much')]
        new = [figure([11] * 5, what='little'), figure([30] * 5, what='much')]
        text = self.against(old, new)
        self.assertLess(text.index('much'), text.index('little'))

    def test_fewer_than_five_repetitions_are_not_judged(self):
        text = self.against([figure([10] * 4)], [figure([20] * 5)])
        self.assertEqual(self.counted(text), (0, 0))
        self.assertIn('repeated fewer than 5 times, not judged: 1', text)

    def test_what_is_in_one_run_alone_is_named(self):
        text = self.against([figure([1] * 5, what='gone')], [figure([1] * 5, what='new')])
        self.assertRegex(text, r'measured before alone: 1\n  topic +gone')
        self.assertRegex(text, r'measured now alone: 1\n  topic +new')

    def test_another_processor_is_said_before_anything_is_judged(self):
        self.keep('old', [figure([10] * 5)])
        with open(self.path('old'), encoding='utf-8') as file:
            old = json.load(file)
        self.write('old', {**old, 'processor': 'another one'})
        self.keep('new', [figure([20] * 5)])
        text = self.run_script('judge.py', 'against', self.path('old'), self.path('new'))
        self.assertLess(text.index('before: another one\n  the runs differ in this'), text.index('slower'))

    def test_a_file_of_something_else_is_refused(self):
        self.keep('new', [figure([20] * 5)])
        for name, content in (('text', 'no JSON'), ('list', []), ('later', {'version': 2, 'figures': []})):
            said = self.run_script('judge.py', 'against', self.write(name, content), self.path('new'), status=2)
            self.assertIn(self.path(name), said)


class Report(Case):
    def growth(self, costs):
        runs = [google('growth/records/%d/iterations:1/manual_time' % count, mean=cost, per_byte=1, ram_kib=0)
                for count, cost in costs.items()]
        return self.run_script('report.py', self.write('growth.json', {'benchmarks': runs}))

    def test_the_exponent_of_a_flat_cost_is_zero(self):
        self.assertRegex(self.growth({1000: 50, 10000: 50, 100000: 50}), r'exponent of the time per record +\+0\.00')

    def test_the_exponent_of_a_cost_that_grows_is_told(self):
        self.assertRegex(self.growth({1: 9, 1000: 10, 10000: 100, 100000: 1000}), r'exponent of the time per record +\+1\.00')

    def test_the_last_decade_is_told_apart(self):
        said = self.growth({1000: 50, 10000: 50, 100000: 50, 1000000: 100})
        self.assertRegex(said, r'exponent of the time per record +\+0\.09')
        self.assertRegex(said, r'exponent of the last decade +\+0\.30')


class GrowthTools(Case):
    def setUp(self):
        super().setUp()
        os.environ['OPDUMP_BENCH_FIGURES'] = self.path('figures')
        self.addCleanup(os.environ.pop, 'OPDUMP_BENCH_FIGURES')
        self.growth = growth_tools.Growth('MiB', 'MiB of a flash log', 2, large=64)

    def printed(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.growth.print()
        return said.getvalue()

    def test_all_sizes_from_the_first_large_one_on_count(self):
        for count, seconds in ((64, 0.064), (256, 0.256), (1024, 1.024), (4096, 8.192)):
            self.growth.keep('extract', count, [(seconds, 1 << 20), (2 * seconds, 1 << 21)])
        self.assertRegex(self.printed(), r'extract +1e\+03 +1e\+03 +1e\+03 +2e\+03 +\+0\.15 +\+0\.50 +2\n')

    def test_what_makes_a_dump_is_measured_and_kept_too(self):
        made = []
        self.growth.measure(100, 'replay', [sys.executable, '-c', ''], before=lambda: made.append(1))
        self.assertEqual(len(made), 2)
        kept = figures.line_figures(self.path('figures'))
        self.assertEqual([(f['what'], f['figure'], len(f['runs'])) for f in kept],
                         [('replay, 100 MiB of a flash log', 'us for each', 2),
                          ('replay, 100 MiB of a flash log', 'peak memory, MiB', 2)])


if __name__ == '__main__':
    unittest.main()
