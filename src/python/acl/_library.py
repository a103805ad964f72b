"""libopdump_pyacl, loaded once, by the first call: from OPDUMP_PYACL, from the folder that this package was installed
beside, or from where the system finds libraries."""
import ctypes
import functools
import os
import pathlib

NAME = 'libopdump_pyacl.so'


@functools.lru_cache(maxsize=None)
def library():
    """Globally, for what runs models in this process is to find the same session."""
    asked = os.environ.get('OPDUMP_PYACL')
    prefix = pathlib.Path(__file__).resolve().parents[4]  # share/opdump/python/acl is below it
    beside = sorted(prefix.glob(f'lib*/{NAME}')) + sorted(prefix.glob(f'lib/*/{NAME}'))
    return ctypes.CDLL(asked or str(beside[0] if beside else NAME), mode=ctypes.RTLD_GLOBAL)


def call(name, *arguments):
    return getattr(library(), name)(*arguments)


def encoded(path):
    """NULL for None, which ACL refuses or takes for no config."""
    return None if path is None else os.fsencode(path)
