#!/usr/bin/env python3
"""Times numpy.save, a file per tensor, as recording_bench does with the rest. Usage: numpy_save.py FOLDER REPETITIONS > JSON"""
import json
import pathlib
import sys
import tempfile
import time

import numpy


def quantile(times, part):
    return float(sorted(times)[int(part * (len(times) - 1))])


def measure(folder, size, count, pause_ns):
    times = []
    deadline = time.perf_counter_ns()
    for i in range(count):
        tensor = numpy.full(size, i % 256, numpy.uint8)
        deadline = max(deadline + pause_ns, time.perf_counter_ns())
        while time.perf_counter_ns() < deadline:
            pass
        start = time.perf_counter_ns()
        numpy.save(folder / f'{i % 256}.npy', tensor)
        times.append(time.perf_counter_ns() - start)
    return {'p50': quantile(times, 0.5), 'p99': quantile(times, 0.99), 'mean': sum(times) / count}


def main():
    results = []
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        for _ in range(int(sys.argv[2])):
            for size in (64, 256, 4096, 65536, 1048576):
                for mode, pause_ns in (('paced', 100_000), ('flat', 0)):
                    row = measure(pathlib.Path(folder), size, 2000 if size < 1 << 20 else 200, pause_ns)
                    results.append({'name': f'{mode}/numpy.save/{size}', 'run_type': 'iteration', **row})
    json.dump({'benchmarks': results}, sys.stdout)


if __name__ == '__main__':
    main()
