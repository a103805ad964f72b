"""Times of a piece of work, for the benchmarks in Python."""
import time


def run_times(work, rounds):
    """Of each of `rounds` runs, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times
