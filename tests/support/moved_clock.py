"""A clock for a program that the test moves, by moved_clock.cpp."""
import contextlib
import mmap
import tempfile
import threading

import waiting

SECOND = 1_000_000_000
BEGIN = 1000 * SECOND
NS, HOLD, HELD = range(3)


class MovedClock:
    """`environment` is for the one program whose clock it is."""

    def __init__(self, library):
        self.file = tempfile.NamedTemporaryFile(prefix='opdump_clock')
        self.file.truncate(24)
        self.map = mmap.mmap(self.file.fileno(), 24)
        self.shown = memoryview(self.map).cast('q')
        self.shown[NS] = BEGIN
        self.environment = {'LD_PRELOAD': library, 'OPDUMP_MOVED_CLOCK': self.file.name}
        self.over = threading.Event()
        self.runner = None

    @contextlib.contextmanager
    def standing(self, process):
        """Within, `process` stands still before it looks at its line, with all done that it has read. Not when it has
        ended."""
        self.shown[HOLD] = 1
        try:
            waiting.until(lambda: self.shown[HELD] or process.poll() is not None, f'a poll of {process.args}')
            yield
        finally:
            self.shown[HOLD] = 0
            waiting.until(lambda: not self.shown[HELD] or process.poll() is not None, f'the end of a poll of {process.args}')

    def move(self, seconds):
        self.shown[NS] += round(seconds * SECOND)

    def seconds(self):
        """That it has moved."""
        return (self.shown[NS] - BEGIN) / SECOND

    def run(self, process, may_run=lambda: True, step=0.05):
        """From now on the clock goes on by `step` each time that `process` has looked at its line, where `may_run`."""
        def go():
            while not self.over.wait(0.001) and process.poll() is None:
                if may_run():
                    with self.standing(process):
                        if may_run():
                            self.move(step)
        self.runner = threading.Thread(target=go, daemon=True)
        self.runner.start()

    def close(self):
        self.over.set()
        if self.runner is not None:
            self.runner.join()
        self.shown.release()
        self.map.close()
        self.file.close()
