"""`module = import_here_or_there('name')`: the module, or None where there is none.

Where this Python has none and the system's Python has, the script starts over with that one.
"""
import importlib
import os
import subprocess
import sys

SYSTEM_PYTHON = '/usr/bin/python3'


def import_here_or_there(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        pass
    if os.path.exists(SYSTEM_PYTHON) and os.environ.get('OPDUMP_STARTED_OVER') is None and \
            subprocess.run([SYSTEM_PYTHON, '-c', f'import {name}'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.environ['OPDUMP_STARTED_OVER'] = '1'
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    return None
