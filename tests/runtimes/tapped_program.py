"""Programs with a tapped runtime: built against this tree, run with one config, and what they dumped."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

# A process of its own, as what a child is said to have used includes the memory of who started it.
MEASURE = '''
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], 'w').write(f'{used.ru_maxrss} {used.ru_utime + used.ru_stime}')
sys.exit(status)
'''


def run(command, **options):
    """What the command prints; without success it is the end."""
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f'{command}: {done.returncode}\n{done.stdout}')
    return done.stdout


def environment(config=None):
    """That of this process, with the path of a config or without any."""
    kept = {key: value for key, value in os.environ.items() if key != 'OPDUMP_CONFIG'}
    return kept if config is None else dict(kept, OPDUMP_CONFIG=str(config))


def run_measured(command, used, **options):
    """The ended process, its peak memory in bytes, and the seconds that CPUs worked for it. `used`: a path for them."""
    done = subprocess.run([sys.executable, '-S', '-c', MEASURE, used, *(str(part) for part in command)], text=True,
                          capture_output=True, check=False, **options)
    peak, seconds = used.read_text().split()
    return done, int(peak) * 1024, float(seconds)


def build(compiler, root, build_root, source, program, *flags):
    """Compiles `source` for C++17, with all warnings, and links it with the opdump of `build_root`."""
    found = run(['pkg-config', '--cflags', '--libs', '--static', 'opdump'],
                env=dict(os.environ, PKG_CONFIG_PATH=str(build_root / 'meson-uninstalled'))).split()
    program.parent.mkdir(parents=True, exist_ok=True)
    run([*compiler, '-std=c++17', '-O1', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror', f'-I{root}',
         root / source, *found, *flags, '-o', program])
    return program


def array(path):
    """Shape and bytes of a .npy file."""
    data = path.read_bytes()
    end = 10 + int.from_bytes(data[8:10], 'little')
    shape = data[10:end].decode().split("'shape': (")[1].split(')')[0]
    return tuple(int(dim) for dim in shape.split(',') if dim.strip()), data[end:]


class TappedProgram(unittest.TestCase):
    """Runs programs with a dump of their own for each test."""
    opdump = None  # the command

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.dump = self.folder / 'dump'
        self.dump.mkdir()

    def run_program(self, command, config=None, **options):
        """What the command prints and tells, its peak memory in bytes, and the seconds that CPUs worked for it. `config`:
        what "dump" has besides its path; None: no dump. `options`: what "opdump" has."""
        path = self.folder / 'acl.json'
        if config is not None:
            path.write_text(json.dumps({'dump': {'dump_path': str(self.dump), **config},
                                        'opdump': {'when_full': 'block', 'block_limit_ms': 60000, **options}}))
        done, peak, seconds = run_measured(command, self.folder / 'used', env=environment(None if config is None else path))
        self.assertEqual(done.returncode, 0, done.stderr)
        return types.SimpleNamespace(printed=done.stdout, told=done.stderr, peak=peak, seconds=seconds)

    def record_files(self):
        return [path for path in self.dump.rglob('*.*.*.*.*') if not path.name.endswith('.model.json')]

    def records(self):
        """Contents by step and by type and name."""
        found = {}
        for path in self.record_files():
            found[int(path.parent.name), '.'.join(path.name.split('.')[:2])] = path.read_bytes()
        return found

    def arrays(self):
        """Shape and bytes by step, type and name, and which tensor, as 'output.0', of a dump of .npy files."""
        found = {}
        for path in self.dump.rglob('*.npy'):
            parts = path.name.split('.')
            found[int(path.parent.name), '.'.join(parts[:2]), '.'.join(parts[5:7])] = array(path)
        return found

    def clear_dump(self):
        for dump in self.dump.iterdir():
            shutil.rmtree(dump)

    def check_dump(self, status):
        """Holds that `opdump verify` ends with `status`; what it says."""
        done = subprocess.run([str(self.opdump), 'verify', str(self.dump)], text=True, stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout
