#!/usr/bin/env python3
"""Times `opdump convert` beside cp -r and msaccucmp: convert_bench.py OPDUMP FLOOR FOLDER [REPETITIONS].

FLOOR is convert_floor, which does nothing but the system calls that a conversion needs. Each round runs all of them
in turn, on the same records; the table has the medians and the ratios. Peak memory is what the kernel tells of the
process, and never less than that of this script. Standard library only.

environment
  OPDUMP_MSACCUCMP  folder of the vendor's msaccucmp, or its msaccucmp.py; without it there is a column less
"""
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import time


KIB, MIB = 1 << 10, 1 << 20
CASES = [('one file of 64 KiB', 1, 64 * KIB), ('1000 files of 64 KiB', 1000, 64 * KIB),
         ('10 files of 64 MiB', 10, 64 * MIB), ('one file of 64 MiB', 1, 64 * MIB)]


def record_head(size):
    tlvs = struct.pack('<IIQ', 0, 8, size // 2) + struct.pack('<IIQ', 1, 8, size // 2) + struct.pack('<II', 2, 0)
    output = struct.pack('<6iQQQI', 1, 2, 0, 0, 1, 2, 0, 0, size, len(tlvs)) + tlvs
    head = struct.pack('<IIIII', 0x5a5a5a5a, 0, 4, 4, 0) + struct.pack('<III', 5, 4 + len(output), 1) + output
    return struct.pack('<Q', len(head)) + head


def make(folder, count, size):
    os.mkdir(folder)
    block = os.urandom(min(size, MIB))
    for i in range(count):
        with open(os.path.join(folder, 'Op.op%d.0.0.%d' % (i, 1589195081588018 + i)), 'wb') as file:
            file.write(record_head(size))
            for _ in range(size // len(block)):
                file.write(block)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def run(command, out):
    """Seconds, and the peak of resident memory in KiB."""
    remove(out)
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = status
    if status != 0:
        raise SystemExit('%s: wait status %d' % (' '.join(command), status))
    return seconds, usage.ru_maxrss


def main():
    opdump, floor, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    repetitions = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    msaccucmp = os.environ.get('OPDUMP_MSACCUCMP')
    if msaccucmp and os.path.isdir(msaccucmp):
        msaccucmp = os.path.join(msaccucmp, 'msaccucmp.py')
    print('%-22s %10s %10s %10s %10s %9s %9s %9s %10s' % (
        'convert to npy', 'opdump ms', 'floor ms', 'cp -r ms', 'vendor ms', 'of floor', 'of cp', 'faster', 'peak KiB'))
    for name, count, size in CASES:
        source, out = os.path.join(scratch, 'convert_in'), os.path.join(scratch, 'convert_out')
        make(source, count, size)
        path = source if count > 1 else os.path.join(source, os.listdir(source)[0])
        commands = {'opdump': [opdump, 'convert', '-d', path, '-out', out], 'floor': [floor, path, out], 'cp': ['cp', '-r', path, out]}
        if msaccucmp:
            commands['vendor'] = [sys.executable, msaccucmp, 'convert', '-d', path, '-out', out]
        times, peak = {key: [] for key in commands}, 0
        for _ in range(repetitions):
            for key, command in commands.items():
                seconds, memory = run(command, out)
                times[key].append(seconds)
                peak = max(peak, memory) if key == 'opdump' else peak
        remove(out)
        remove(source)
        median = {key: 1e3 * statistics.median(values) for key, values in times.items()}
        vendor = median.get('vendor')
        print('%-22s %10.1f %10.1f %10.1f %10s %9.2f %9.2f %9s %10d' % (
            name, median['opdump'], median['floor'], median['cp'], '%.1f' % vendor if vendor else '-',
            median['opdump'] / median['floor'], median['opdump'] / median['cp'],
            '%.1f x' % (vendor / median['opdump']) if vendor else '-', peak))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print('"of floor" and "of cp" are times as multiples of those; the peak is never told below the %d KiB of this script' % own)


if __name__ == '__main__':
    main()
