"""The library of ONNX Runtime, out of a package of npm, for all tests of one build folder."""
import pathlib
import platform
import sys

import npm_packages

LIBRARY = ('sherpa-onnx-linux-x64', '1.13.8',  # with ONNX Runtime 1.28.2
           'ea99678636a0b127939ed0a09e56a0f3a8566ecfee644f42ae6b352e039bebcff59cab0842331df961b9d7d9be68fc13e93aec04e884333af1e35b7cb0be4be6')


def folder(build_root):
    """Where the packages for ONNX Runtime lie."""
    return pathlib.Path(build_root) / 'runtimes' / 'onnxruntime'


def library(build_root):
    """The folder with libonnxruntime.so; the test is skipped where there is none."""
    if platform.machine() != 'x86_64' or sys.platform != 'linux':
        npm_packages.skip('the library of ONNX Runtime that is pinned is for Linux on x86-64')
    archive = npm_packages.fetch(folder(build_root), *LIBRARY)
    return npm_packages.unpack(archive, folder(build_root) / 'library', 'package/')


def link_flags(build_root):
    libraries = folder(build_root) / 'library'
    return f'-L{libraries}', '-l:libonnxruntime.so', f'-Wl,-rpath,{libraries}'
