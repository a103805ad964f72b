"""Sums up the testlog.json files that `meson test` wrote: 'N passed, N failed' is the last line.

A doctest program counts with its test cases, any other test as one, and a log that is not there (the build
failed, or the selection was empty) as one failed. The exit status is 1 if anything failed or nothing passed.
"""

import json
import pathlib
import re
import sys

CASES = re.compile(r"^\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed", re.MULTILINE)


def count(test):
    """Passed and failed of one test."""
    cases = CASES.search(test.get("stdout", ""))
    passed, failed = map(int, cases.groups()) if cases else (0, 0)
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        return (passed if cases else 1), failed
    return passed, max(failed, 1)


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason given"


def main(logs):
    passed = failed = 0
    skipped = []
    for log in map(pathlib.Path, logs):
        build = log.parent.parent.name
        if not log.is_file():
            print(f"failed: {build}: no test ran")
            failed += 1
            continue
        for test in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
            if test["result"] == "SKIP":
                skipped.append(f"{build}: {test['name']} ({last_line(test.get('stdout', ''))})")
                continue
            test_passed, test_failed = count(test)
            passed += test_passed
            failed += test_failed
            if test_failed:
                print(f"failed: {build}: {test['name']}")
    if skipped:
        print("skipped: " + "; ".join(skipped))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
