"""Sums up the testlog.json files that `meson test` wrote: 'N passed, N failed' is the last line.

A program of doctest or unittest counts with its test cases, any other test as one, and a log that is not there
(the build failed, or the selection was empty) as one failed; so does a program of doctest that had no case to run.
What a test says it has left out, in lines that begin with 'left out: ', counts as skipped, as its cases that were:
a line for each reason, which says what to install or set, MOST_SKIPPED_LINES in all. What failed comes last, with
the assertions that did, as of a long log only the end may be kept. The exit status is 1 if anything failed or
nothing passed.
"""

import collections
import json
import pathlib
import re
import sys

DOCTEST = re.compile(r"^\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed", re.MULTILINE)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n+(?:OK|FAILED)(?: \((.*)\))?$", re.MULTILINE)
# As unittest says why, where it names its cases.
REASON = re.compile(r" \.\.\. skipped (['\"])(.*)\1$", re.MULTILINE)
# The case a failed assertion of doctest stands in, and the assertion up to the next rule or empty line.
ASSERTION = re.compile(r"^(TEST CASE: .*)$|^(\S.*: (?:ERROR|FATAL ERROR): (?:.+\n?)+)", re.MULTILINE)
UNITTEST_FAILURE = re.compile(r"^(?:FAIL|ERROR): .*\n-+\n(?:.+\n?)+", re.MULTILINE)
LINES_TOLD = 30
MOST_SKIPPED_LINES = 15

# What a reason names that keeps a test out: a variable, or what a package of Debian brings.
VARIABLE = re.compile(r'OPDUMP_[A-Z_]+')
PACKAGES = {
    r'libonnx-testdata|python3-onnx|Python.*onnx': 'libonnx-testdata python3-onnx',
    r'(?i)numpy': 'python3-numpy',
    r'pandas': 'python3-pandas',
    r'protoc\b': 'protobuf-compiler',
    r'riscv64-unknown-elf|rv32': 'gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf',
    r'arm-none-eabi': 'gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib',
    r'qemu-system-arm': 'qemu-system-arm',
    r'qemu-system-x86': 'qemu-system-x86',
    r'g\+\+-11': 'g++-11',
    r'clang-format': 'clang-format-14',
    r'clang': 'clang libclang-rt-dev',
    r'(?i)\bcmake\b': 'cmake',
    r'groff|zsh|fish': 'groff zsh fish',
    r'valgrind': 'valgrind',
    r'abidiff': 'abigail-tools',
    r'chromium': 'chromium npm',
    r'libsodium': 'libsodium23',
    r'mbed TLS': 'libmbedtls-dev',
    r'OpenCL|CL/cl.h': 'ocl-icd-opencl-dev pocl-opencl-icd',
    r'relacy': 'relacy-dev',
    r'(?i)kconfiglib': 'python3-kconfiglib',
    r'openssl': 'openssl',
}
# Unittest begins a line, and the test ends it.
LEFT_OUT = re.compile(r"(?:^| \.\.\. )left out: (.+)$", re.MULTILINE)


def output(test):
    return test.get("stdout", "") + "\n" + test.get("stderr", "")


def cases(text):
    """Passed, failed and skipped test cases; None if there are no such."""
    if found := DOCTEST.search(text):
        # A filter that no case matches has tested nothing.
        return int(found[1]), int(found[2]) or int(found[1] == '0'), 0
    if found := UNITTEST.search(text):
        notes = {what: int(number) for what, number in re.findall(r"(\w[a-z ]*)=(\d+)", found[2] or "")}
        failed = sum(notes.get(what, 0) for what in ("failures", "errors", "unexpected successes"))
        skipped = notes.get("skipped", 0)
        return max(int(found[1]) - failed - skipped, 0), failed, skipped
    return None


def count(test):
    """Passed and failed of one test, how many of its cases were skipped, and why."""
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    text = output(test)
    passed, failed, skipped = cases(text) or (int(good), 0, 0)
    left_out = LEFT_OUT.findall(text)
    reasons = [reason for _, reason in REASON.findall(text)] + left_out
    return passed, failed if good else max(failed, 1), skipped + len(left_out), reasons


def failures(text):
    """The lines that say what failed; the last of all lines if none does."""
    told = []
    case = ""
    for found in ASSERTION.finditer(text):
        if found[1]:
            case = found[1]
            continue
        told += ([case] if case not in told else []) + found[2].splitlines()
    for found in UNITTEST_FAILURE.finditer(text):
        told += found[0].splitlines()
    return told[:LINES_TOLD] if told else text.strip().splitlines()[-LINES_TOLD:]


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else 'no reason given'


def remedy(reason):
    """What to do to have that run which a reason keeps out."""
    if found := VARIABLE.search(reason):
        return f'set {found[0]}, see sh tests/run.sh --help'
    if re.search('sanitizer', reason, re.IGNORECASE):
        return 'nothing: the build without sanitizers has them'
    for pattern, packages in PACKAGES.items():
        if re.search(pattern, reason):
            return 'apt-get install ' + packages
    return reason


class Skipped:
    """Tests and cases that were skipped, by what to do to have them run."""

    def __init__(self):
        self.cases = collections.Counter()
        self.tests = collections.defaultdict(dict)

    def add(self, test, reasons, number):
        """`number` cases of a test, of which a reason may stand for several."""
        reasons = reasons[:number] or ['no reason given']
        for i, reason in enumerate(reasons):
            what = remedy(reason)
            self.cases[what] += number // len(reasons) + (i < number % len(reasons))
            self.tests[what][test] = True

    def lines(self):
        """At most MOST_SKIPPED_LINES; what is most comes first, and the last one has all that is left."""
        if not self.cases:
            return []
        groups = [(what, number, list(self.tests[what])) for what, number in self.cases.most_common()]
        most = MOST_SKIPPED_LINES - 1
        if len(groups) > most:
            rest = groups[most - 1:]
            groups[most - 1:] = [('; '.join(what for what, _, _ in rest), sum(number for _, number, _ in rest),
                                  list(dict.fromkeys(test for _, _, tests in rest for test in tests)))]
        return [f'skipped, {sum(self.cases.values())} tests and cases of tests:'] + [
            f'  {number}: {what} ({some_of(tests)})' for what, number, tests in groups]


def some_of(tests):
    most = 5
    return ', '.join(tests[:most]) + (f' and {len(tests) - most} more' if len(tests) > most else '')


def main(logs):
    passed = failed = 0
    failed_tests = []
    skipped = Skipped()
    for log in map(pathlib.Path, logs):
        build = log.parent.parent.name
        if not log.is_file():
            failed_tests.append((f'{build}: no test ran', []))
            failed += 1
            continue
        for test in map(json.loads, log.read_text(encoding='utf-8').splitlines()):
            short = test['name'].rpartition(' / ')[2]
            if test['result'] == 'SKIP':
                skipped.add(short, [last_line(output(test))], 1)
                continue
            test_passed, test_failed, test_skipped, reasons = count(test)
            passed += test_passed
            failed += test_failed
            if test_failed:
                limit = ' (ended at its time limit)' if test['result'] == 'TIMEOUT' else ''
                failed_tests.append((f"{build}: {test['name']}{limit}", failures(output(test))))
            if test_skipped:
                skipped.add(short, reasons, test_skipped)
    for line in skipped.lines():
        print(line)
    for name, lines in failed_tests:
        print(f'failed: {name}')
        for line in lines:
            print(f'  {line}')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
