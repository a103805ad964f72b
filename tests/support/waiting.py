"""Waits of tests: each is for the event itself, never for a time that may be long enough. The limit is minutes, which no
busy machine needs; reaching it is a WaitedTooLong, which is no failed check and tells what was seen so far."""
import subprocess
import time

LIMIT_S = 300


class WaitedTooLong(Exception):
    def __init__(self, what, seen):
        super().__init__(f'waited {LIMIT_S} s for {what}; seen so far: {seen!r}')


def until(condition, what, seen=lambda: None):
    """The first value of `condition` that is true."""
    end = time.monotonic() + LIMIT_S
    while not (value := condition()):
        if time.monotonic() >= end:
            raise WaitedTooLong(what, seen())
        time.sleep(0.002)
    return value


def run(command, **options):
    """subprocess.run with the limit."""
    try:
        return subprocess.run(command, timeout=LIMIT_S, **options)
    except subprocess.TimeoutExpired as late:
        raise WaitedTooLong(f'the end of {command}', (late.stdout, late.stderr)) from None


def end_of(process):
    """What `process` writes to its pipes until it ends. It is killed at the limit."""
    try:
        return process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        process.kill()
        process.wait()
        raise WaitedTooLong(f'the end of {process.args}', (late.stdout, late.stderr)) from None


def _status(process, field):
    with open(f'/proc/{process.pid}/status', encoding='ascii') as status:
        return next((line.split()[1] for line in status if line.startswith(field + ':')), '')


def until_caught(process, number):
    """Until `process` has a handler for the signal, or has ended."""
    def catches():
        return process.poll() is not None or int(_status(process, 'SigCgt') or '0', 16) >> (number - 1) & 1
    until(catches, f'a handler of signal {number} in {process.args}')
