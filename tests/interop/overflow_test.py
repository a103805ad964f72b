#!/usr/bin/env python3
"""Overflow dumps by opdump, read by the vendor's msaccucmp: overflow_test.py OPDUMP OVERFLOW_MAKER FOLDER.

OVERFLOW_MAKER FORMAT DIRECTORY dumps an overflow of every unit and layout. Of each msaccucmp has to make the JSON
that `opdump overflow` makes, byte for byte, and it has to convert each operator's file. FOLDER has the library that
msaccucmp needs for protobuf records.

environment
  OPDUMP_MSACCUCMP  folder of msaccucmp, or its msaccucmp.py
Without it, or without NumPy, the test is skipped (exit status 77).
"""
import os
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import msaccucmp  # noqa: E402
import waiting  # noqa: E402
from with_numpy import numpy  # noqa: E402


def run(command, folder, **environment):
    done = waiting.run(command, cwd=folder, capture_output=True, text=True,
                       env=dict(os.environ, **environment))
    assert done.returncode == 0, (command, done.stdout + done.stderr)
    return done.stdout


def files_below(folder):
    return sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names
                  if not name.endswith('.journal'))


def check(opdump, maker, parser, vendor, file_format):
    with tempfile.TemporaryDirectory() as folder:
        for name in ('dump', 'theirs'):
            os.mkdir(os.path.join(folder, name))
        run([maker, file_format, 'dump'], folder)
        run([opdump, 'overflow', '-d', 'dump', '-out', 'ours'], folder)
        files = files_below(os.path.join(folder, 'dump'))
        blobs = [path for path in files if os.path.basename(path).startswith('Opdebug.Node_OpDebug.')]
        assert len(blobs) == 9 and len(files) == 18, files
        ours = {os.path.basename(path): path for path in files_below(os.path.join(folder, 'ours'))}
        for path in files:
            run([sys.executable, vendor, 'convert', '-d', path, '-out', os.path.join(folder, 'theirs')], folder,
                LD_LIBRARY_PATH=parser)
        for path in blobs:
            name = os.path.basename(path) + '.output.0.json'
            with open(os.path.join(folder, 'theirs', name), 'rb') as theirs, open(ours[name], 'rb') as mine:
                assert theirs.read() == mine.read(), name
        arrays = [name for name in os.listdir(os.path.join(folder, 'theirs')) if name.endswith('.npy')]
        assert len(arrays) == 18, arrays
        for name in arrays:
            array = numpy.load(os.path.join(folder, 'theirs', name))
            assert array.shape == (4,) and numpy.isinf(array).any() == ('.output.' in name), name
        print('%s: %d overflows, the same JSON' % (file_format, len(blobs)))


def main():
    vendor = msaccucmp.found()
    opdump, maker, parser = (os.path.abspath(path) for path in sys.argv[1:4])
    for file_format in ('nano', 'protobuf'):
        check(opdump, maker, parser, vendor, file_format)
    return 0


if __name__ == '__main__':
    sys.exit(main())
