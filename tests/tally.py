"""Sums up the testlog.json files that `meson test` wrote: 'N passed, N failed' is the last line.

A program of doctest or unittest counts with its test cases, any other test as one, and a log that is not there
(the build failed, or the selection was empty) as one failed. What a test says it has left out, in lines that begin
with 'left out: ', counts as skipped, as its cases that were. What failed comes last, with the assertions that did,
as of a long log only the end may be kept. The exit status is 1 if anything failed or nothing passed.
"""

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
# Unittest begins a line, and the test ends it.
LEFT_OUT = re.compile(r"(?:^| \.\.\. )left out: (.+)$", re.MULTILINE)


def output(test):
    return test.get("stdout", "") + "\n" + test.get("stderr", "")


def cases(text):
    """Passed, failed and skipped test cases; None if there are no such."""
    if found := DOCTEST.search(text):
        return int(found[1]), int(found[2]), 0
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
    return passed, failed if good else max(failed, 1), skipped + len(left_out), list(dict.fromkeys(reasons))


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
    return lines[-1] if lines else "no reason given"


def main(logs):
    passed = failed = 0
    skipped, failed_tests = [], []
    for log in map(pathlib.Path, logs):
        build = log.parent.parent.name
        if not log.is_file():
            failed_tests.append((f"{build}: no test ran", []))
            failed += 1
            continue
        for test in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
            name = f"{build}: {test['name']}"
            if test["result"] == "SKIP":
                skipped.append(f"{name} ({last_line(output(test))})")
                continue
            test_passed, test_failed, test_skipped, reasons = count(test)
            passed += test_passed
            failed += test_failed
            if test_failed:
                failed_tests.append((name, failures(output(test))))
            if test_skipped:
                why = ": " + ", ".join(reasons) if reasons else ""
                skipped.append(f"{name} ({test_skipped} of its cases{why})")
    if skipped:
        print("skipped: " + "; ".join(skipped))
    for name, lines in failed_tests:
        print(f"failed: {name}")
        for line in lines:
            print(f"  {line}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
