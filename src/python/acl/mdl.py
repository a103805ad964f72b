"""acl.mdl, of which the calls for dumps are here."""
from ._library import call, encoded


def init_dump():
    """Makes ready for set_dump."""
    return call('aclmdlInitDump')


def set_dump(dump_cfg_path):
    """Makes a config file count for models loaded from now on; the last one wins."""
    return call('aclmdlSetDump', encoded(dump_cfg_path))


def finalize_dump():
    """Writes out everything and switches dumping off."""
    return call('aclmdlFinalizeDump')
