#!/usr/bin/env python3
"""An operator that is not wanted costs at most 5 instructions, counted while they run.

Usage: instruction_check.py COMPILER SOURCE_ROOT
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 5
CALLS = 1000
SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;
using HostRecorder = BasicRecorder<HostMemory>;

struct NoSink final : Sink {
  Result<ObjectId> begin(const ObjectName&) override { return Status::no_space; }
  Status append(ObjectId, std::span<const Bytes>) override { return Status::no_space; }
  Status commit(ObjectId, ObjectId) override { return Status::no_space; }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::no_space; }
  Status sync() override { return Status::ok; }
};
struct NoClock final : Clock {
  std::uint64_t unix_us() override { return 0; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return 0; }
  void pause() override {}
};

volatile int captured = 0;

[[gnu::noinline]] void capture(HostRecorder&, std::size_t) { captured = captured + 1; }

extern "C" [[gnu::noinline]] void with_opdump(HostRecorder& recorder, std::size_t op) {
  if (recorder.wants(op)) capture(recorder, op);
}

extern "C" [[gnu::noinline]] void without_opdump(HostRecorder&, std::size_t) { asm volatile(""); }

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const bool ask = std::strcmp(argv[1], "with_opdump") == 0;
  const std::size_t op = std::strtoul(argv[2], nullptr, 10);
  const std::uint64_t step = std::strtoul(argv[3], nullptr, 10);
  static NoSink sink;
  static NoClock clock;
  static HostMemory memory;
  alignas(64) static std::byte ring[1024], scratch[1024];
  static BasicSession<HostMemory> session({.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  HostRecorder& recorder = *session.add_recorder(ring).value();
  const OpDesc ops[] = {{.name = "wanted", .type = "T"}, {.name = "other", .type = "T"}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const std::string_view layer = "wanted";
  const ModelRule rule = {.model_name = "m", .all_layers = false, .layers = {&layer, 1}};
  const StepRange steps = {0, 0};
  const DumpConfig config = {.active = true, .dump_path = "/", .steps = {{&steps, 1}}, .models = {&rule, 1}};
  static ModelPlanFor<2> plan;
  if (session.init() != Status::ok || session.set_config(config) != Status::ok ||
      session.load_model(plan, model) != Status::ok || recorder.begin_step(plan, step) != Status::ok) {
    return 2;
  }
  for (int i = 0; i < 1000; ++i) ask ? with_opdump(recorder, op) : without_opdump(recorder, op);
  std::printf("%d", captured);
  return 0;
}
"""


def count(program, folder, function, op, step):
    """Instructions of one call of `function`, those it calls included, and how often it captured."""
    out = f'{folder}/callgrind.out'
    valgrind = ['valgrind', '-q', '--tool=callgrind', f'--toggle-collect={function}', f'--callgrind-out-file={out}']
    done = subprocess.run([*valgrind, program, function, str(op), str(step)], text=True, check=True, capture_output=True)
    total = re.search(r'^summary: (\d+)', pathlib.Path(out).read_text(), re.MULTILINE)
    return int(total.group(1)) / CALLS, int(done.stdout)


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    if shutil.which('valgrind') is None:
        print('valgrind is not installed')
        sys.exit(77)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/program'
        flags = ['-std=c++20', '-O2', '-fno-exceptions', '-fno-rtti', f'-I{root}/include', f'-I{root}']
        subprocess.run([compiler, *flags, '-xc++', '-', '-o', program], input=SOURCE, text=True, check=True)
        bare, _ = count(program, folder, 'without_opdump', 0, 0)
        for what, op, step, captures in (('operator not wanted', 1, 0, 0), ('step not wanted', 0, 1, 0), ('wanted', 0, 0, CALLS)):
            instructions, captured = count(program, folder, 'with_opdump', op, step)
            extra = instructions - bare
            print(f'{what}: {extra:g} instructions')
            if captured != captures or (captures == 0 and not 0 < extra <= LIMIT) or (captures != 0 and extra <= LIMIT):
                failed = True
                print(f'  failed: captured {captured} times instead of {captures}, at most {LIMIT} instructions when not wanted')
    sys.exit(failed)


if __name__ == '__main__':
    main()
