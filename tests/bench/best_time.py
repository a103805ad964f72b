"""Time of a piece of work, for the benchmarks in Python."""
import time


def best_time(work, rounds):
    """The shortest of `rounds` runs, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
