"""`from with_numpy import numpy`: NumPy, or None where there is none.

Where this Python has none and the system's Python has, the script starts over with that one.
"""
import os
import subprocess
import sys

SYSTEM_PYTHON = '/usr/bin/python3'

try:
    import numpy
except ImportError:
    numpy = None
    if os.path.exists(SYSTEM_PYTHON) and os.environ.get('OPDUMP_STARTED_OVER') is None and \
            subprocess.run([SYSTEM_PYTHON, '-c', 'import numpy'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.environ['OPDUMP_STARTED_OVER'] = '1'
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
