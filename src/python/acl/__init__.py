"""The dump calls of pyACL, for boards without CANN: `import acl` finds this folder through PYTHONPATH.

Calls, arguments, return codes and the order of calls are those of CANN's aclInit, aclFinalize, aclmdlInitDump,
aclmdlSetDump and aclmdlFinalizeDump (opdump/acl.h): 0 on success. What runs models attaches its recorders to the same
library (opdump/acl_session.h).
"""
import ctypes

from . import mdl
from ._library import call, encoded

__all__ = ['finalize', 'init', 'last_error', 'mdl']


def init(config_path=None):
    """Takes note of a config file, and starts dumping where its "dump" object asks for it. Without one: no config."""
    return call('aclInit', encoded(config_path))


def finalize():
    """Ends what `init` and `mdl.init_dump` began."""
    return call('aclFinalize')


def last_error():
    """Why the last refused call failed, in words. opdump's own: pyACL has acl.get_recent_err_msg."""
    text = ctypes.create_string_buffer(4096)
    call('opdump_acl_last_error', text, ctypes.c_size_t(len(text)))
    return text.value.decode(errors='replace')
