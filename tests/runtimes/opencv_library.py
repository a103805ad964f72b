"""OpenCV's stock libraries, and the program that runs a model's layers."""
import contextlib
import fcntl

import debian_packages
from tapped_program import build

VERSION = '4.6.0+dfsg-12'
PACKAGES = [f'{name}={VERSION}' for name in ('libopencv-dnn-dev', 'libopencv-imgproc-dev')]


class OpenCvLibrary:
    """Below the build folder; several tests may prepare it at once."""

    def __init__(self, compiler, root, build_root):
        self.compiler, self.root, self.build_root = compiler, root, build_root
        self.folder = build_root / 'runtimes' / 'opencv_dnn'
        self.layers = self.folder / 'opencv_layers'

    @contextlib.contextmanager
    def locked(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / 'lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def build(self, source, program):
        root = debian_packages.unpack(self.folder / 'packages', *PACKAGES)
        part = program.with_suffix('.part')
        build(self.compiler, self.root, self.build_root, source, part, '-isystem', root / 'usr/include/opencv4',
              *debian_packages.link_flags(root, ['opencv_dnn', 'opencv_imgproc', 'opencv_core']))
        part.rename(program)

    def prepare(self):
        with self.locked():
            self.build('tests/runtimes/opencv_layers.cpp', self.layers)
