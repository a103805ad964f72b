"""Programs that have a runtime: how the tests build and run them."""
import os
import subprocess
import sys

# A process of its own, as what a child is said to have used includes the memory of who started it.
MEASURE = '''
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
'''


def run(command, **options):
    """What the command prints; without success it is the end."""
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f'{command}: {done.returncode}\n{done.stdout}')
    return done.stdout


def build(compiler, source_root, build_root, source, output, *flags):
    """Builds a program as a user does, but with warnings as errors."""
    of_opdump = run(['pkg-config', '--cflags', '--libs', '--static', 'opdump'],
                    env=dict(os.environ, PKG_CONFIG_PATH=str(build_root / 'meson-uninstalled'))).split()
    run([*compiler, '-std=c++17', '-O1', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror', f'-I{source_root}',
         source_root / source, *of_opdump, *flags, '-o', output])


def environment(config=None):
    """That of this process, with the path of a config or without any."""
    kept = {key: value for key, value in os.environ.items() if key != 'OPDUMP_CONFIG'}
    return kept if config is None else dict(kept, OPDUMP_CONFIG=str(config))


def run_measured(command, peak_file, **options):
    """The ended process, and its peak memory in bytes."""
    done = subprocess.run([sys.executable, '-S', '-c', MEASURE, str(peak_file), *(str(part) for part in command)],
                          text=True, capture_output=True, check=False, **options)
    return done, int(peak_file.read_text()) * 1024
