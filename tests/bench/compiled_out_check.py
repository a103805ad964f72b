#!/usr/bin/env python3
"""With OPDUMP_ENABLED=0 an object file that calls a recorder is the same as one that never heard of opdump.

Usage: compiled_out_check.py COMPILER SOURCE_ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

# The runtime's own code, which calls opdump around each step and operator, and looks at what is said.
SOURCE = """
#if WITH_OPDUMP
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
using Recorder = opdump::BasicRecorder<opdump::HostMemory>;
using Plan = opdump::ModelPlan;
using Tensor = opdump::TensorView;
using Operator = opdump::OpDesc;
using Memory = opdump::OpMemory;
using Report = opdump::OverflowReport;
#define OPDUMP(...) __VA_ARGS__
#define CHECKED(...) \
  if (recorder->__VA_ARGS__ != opdump::Status::ok) refused()
#else
struct Recorder;
struct Plan;
struct Tensor;
struct Operator;
struct Memory;
struct Report;
#define OPDUMP(...)
#define CHECKED(...)
#endif

extern "C" void run_operator(unsigned op);
extern "C" void refused();

extern "C" void guarded(Recorder* recorder, unsigned op, const Tensor* inputs, const Tensor* outputs) {
  run_operator(op);
  OPDUMP(if (recorder->wants(op)) recorder->capture(op, {inputs, 1}, {outputs, 1});)
}

extern "C" void unguarded(Recorder* recorder, unsigned op, const Tensor* inputs, const Tensor* outputs) {
  run_operator(op);
  CHECKED(capture(op, {inputs, 1}, {outputs, 1}));
}

extern "C" void single(Recorder* recorder, const Operator* operation, const Tensor* inputs, const Tensor* outputs) {
  run_operator(0);
  OPDUMP(if (recorder->wants_single_ops()) recorder->capture_single_op(*operation, {inputs, 1}, {outputs, 1});)
  CHECKED(capture_single_op(*operation, {inputs, 1}, {outputs, 1}));
  CHECKED(refuse_single_op(*operation, opdump::Status::invalid_tensor));
}

extern "C" void step(Recorder* recorder, Plan* plan, unsigned number, const Tensor* inputs, const Tensor* outputs,
                     const Memory* memory, const Report* report) {
  CHECKED(begin_step(*plan));
  CHECKED(end_step());
  CHECKED(begin_step(*plan, number));
  OPDUMP(recorder->begin_op(1, {inputs, 1}, {outputs, 1}, memory);)
  run_operator(1);
  CHECKED(refuse(1, opdump::Status::invalid_tensor));
  CHECKED(capture_overflow(1, {inputs, 1}, {outputs, 1}, *report));
  CHECKED(capture_failure());
  OPDUMP(if (recorder->overflows() != 0 || recorder->overwrites() != 0 || recorder->open_plan() != nullptr) return;)
  CHECKED(end_step());
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
