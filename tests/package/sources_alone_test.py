#!/usr/bin/env python3
"""Compiles source files of the library, the tool and the platforms each alone: run.sh joins them, and a file that forgets
to include something compiles there after another that did not.

usage: sources_alone_test.py [--share=N] COMPILER SOURCE_ROOT BUILD_ROOT

With a share of N one in N is compiled, which are others with each commit, so that N commits have all. Without git
or its history the first of each N are.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

from turns import due

FLAGS = '-std=c++20 -fno-rtti -Wall -Wextra -Werror -Wno-restrict -fsyntax-only -DOPDUMP_VERSION="0" -DSIMDJSON_EXCEPTIONS=0'.split()


def sources(root):
    return sorted(path for room in ('src', 'platform') for path in (root / room).rglob('*.cpp'))


def compile_alone(compiler, root, build, source):
    command = [compiler, *FLAGS, '-I', root / 'include', '-I', root, '-I', build, '-I', build / 'src', source]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    words = sys.argv[1:]
    share = int(words.pop(0).partition('=')[2]) if words[0].startswith('--share=') else 1
    compiler, root, build = words[0], pathlib.Path(words[1]), pathlib.Path(words[2])
    chosen = due(sources(root), share, root)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, done in zip(chosen, pool.map(lambda path: compile_alone(compiler, root, build, path), chosen)):
            if done.returncode:
                failed += 1
                print('%s does not compile alone:\n%s' % (source.relative_to(root), done.stderr))
    print('%d files compiled alone, one in %d; %d failed' % (len(chosen), share, failed))
    return 1 if failed or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())
