#!/usr/bin/env python3
"""With OPDUMP_ENABLED=0 an object file that captures is the same as one that never heard of opdump.

Usage: compiled_out_check.py COMPILER SOURCE_ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

# The runtime's own code, which calls opdump after each operator.
SOURCE = """
#if WITH_OPDUMP
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
using Recorder = opdump::BasicRecorder<opdump::HostMemory>;
using Tensor = opdump::TensorView;
#else
struct Recorder;
struct Tensor;
#endif

extern "C" void run_operator(unsigned op);

extern "C" void guarded(Recorder* recorder, unsigned op, const Tensor* inputs, const Tensor* outputs) {
  run_operator(op);
#if WITH_OPDUMP
  if (recorder->wants(op)) recorder->capture(op, {inputs, 1}, {outputs, 1});
#endif
}

extern "C" void unguarded(Recorder* recorder, unsigned op, const Tensor* inputs, const Tensor* outputs) {
  run_operator(op);
#if WITH_OPDUMP
  recorder->capture(op, {inputs, 1}, {outputs, 1});
#endif
}

extern "C" void single(Recorder* recorder, const void* description, const Tensor* inputs, const Tensor* outputs) {
  run_operator(0);
#if WITH_OPDUMP
  if (recorder->wants_single_ops())
    recorder->capture_single_op(*static_cast<const opdump::OpDesc*>(description), {inputs, 1}, {outputs, 1});
#endif
}
"""


def contents(compiler, root, folder, *defines):
    """Sections with their sizes, symbols, and instructions of the object file."""
    target = f'{folder}/object.o'
    flags = ['-std=c++20', '-O2', '-fno-exceptions', '-fno-rtti', f'-I{root}/include', f'-I{root}', *defines]
    subprocess.run([compiler, *flags, '-xc++', '-', '-c', '-o', target], input=SOURCE, text=True, check=True)
    sizes = {}
    for line in run('size', '-A', target).splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit() and words[0].startswith(('.text', '.data', '.rodata', '.bss', '.init')):
            sizes[words[0]] = int(words[1])
    return {
        'sections': sizes,
        'symbols': run('nm', '--format=posix', target).splitlines(),
        'code': run('objdump', '--disassemble', '--reloc', '--no-show-raw-insn', target).split('Disassembly', 1)[1],
    }


def run(*command):
    return subprocess.run(command, text=True, check=True, capture_output=True).stdout


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        bare = contents(compiler, root, folder, '-DWITH_OPDUMP=0')
        off = contents(compiler, root, folder, '-DWITH_OPDUMP=1', '-DOPDUMP_ENABLED=0')
        on = contents(compiler, root, folder, '-DWITH_OPDUMP=1', '-DOPDUMP_ENABLED=1')
    failed = False
    for what, expected in bare.items():
        if off[what] != expected:
            failed = True
            print(f'{what} without opdump:\n{expected}\n{what} with OPDUMP_ENABLED=0:\n{off[what]}')
        if on[what] == expected:
            failed = True
            print(f'{what} with OPDUMP_ENABLED=1 are those without opdump: this check sees nothing')
    print(f'bytes of code and data: bare {sum(bare["sections"].values())}, compiled out {sum(off["sections"].values())}, '
          f'compiled in {sum(on["sections"].values())}')
    sys.exit(failed)


if __name__ == '__main__':
    main()
