"""The peak of resident memory of a command, as the kernel tells it at its end, however soon that comes."""
import subprocess
import sys

import waiting

# The kernel tells no peak below that of the process that starts another, so this is a small one.
MEASURE = """import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, file=sys.stderr)
"""


def measured(command, cwd=None):
    """Its exit status, its peak in KiB, and what it says on stderr."""
    told = waiting.run([sys.executable, '-I', '-S', '-c', MEASURE, *command], cwd=cwd, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True).stderr
    *said, last = told.splitlines(keepends=True)
    status, kib = map(int, last.split())
    return status, kib, ''.join(said)
