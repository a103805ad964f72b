#!/usr/bin/env python3
"""Whether libsodium is there, under one of the names that sodium_library.hpp looks for."""
import ctypes
import sys

for name in ('libsodium.so.23', 'libsodium.so.26'):
    try:
        ctypes.CDLL(name)
        sys.exit(0)
    except OSError:
        pass
sys.exit(1)
