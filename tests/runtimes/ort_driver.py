"""The program that runs models in ONNX Runtime, ort_driver.cpp."""
import ort_package
from tapped_program import build


def make(compiler, root, build_root, program):
    build(compiler, root, build_root, 'tests/runtimes/ort_driver.cpp', program, *ort_package.link_flags(build_root))


def outputs_of(path):
    """Dims and bytes by name, out of a file of the driver's."""
    found, left = {}, path.read_bytes()
    while left:
        head, _, left = left.partition(b'\n')
        name, _, size, *dims = head.decode().split(' ')
        found[name] = ([int(dim) for dim in dims], left[:int(size)])
        left = left[int(size):]
    return found
