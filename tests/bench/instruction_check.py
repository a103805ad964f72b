#!/usr/bin/env python3
"""An operator that is not wanted costs at most 5 instructions, counted while they run, and one whose head is known and whose
tensor has 64 bytes at most 160, the call and a clock that counts included; its drain at most 390, without what a sink does.

Usage: instruction_check.py COMPILER SOURCE_ROOT
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 5
CAPTURE_LIMIT = 160
DRAIN_LIMIT = 390
CALLS = 1000
SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;
using HostRecorder = BasicRecorder<HostMemory>;

struct NullSink final : Sink {
  Result<ObjectId> begin(const ObjectName&) override { return ObjectId{0}; }
  Status append(ObjectId, std::span<const Bytes>) override { return Status::ok; }
  Status commit(ObjectId, ObjectId) override { return Status::ok; }
  Status put_object(const ObjectName&, std::span<const Bytes>) OPDUMP_OVERRIDE_IF_WIDE { return Status::ok; }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }
};
struct StoppedClock : Clock {
  std::uint64_t unix_us() override { return 0; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return 0; }
  void pause() override {}
};
struct CountingClock : StoppedClock {
  std::uint64_t unix_us() override { return now += 10; }
  std::uint64_t now = 1700000000000000;
};

volatile int captured = 0;

[[gnu::noinline]] void capture(HostRecorder&, std::size_t) { captured = captured + 1; }

extern "C" [[gnu::noinline]] void with_opdump(HostRecorder& recorder, std::size_t op) {
  if (recorder.wants(op)) capture(recorder, op);
}

extern "C" [[gnu::noinline]] void without_opdump(HostRecorder&, std::size_t) { asm volatile(""); }

extern "C" [[gnu::noinline]] Status with_capture(HostRecorder& recorder, std::size_t op, const TensorView& tensor) {
  return recorder.capture(op, {}, {&tensor, 1});
}

extern "C" [[gnu::noinline]] void with_drain(BasicSession<HostMemory>& session) {
  static_cast<void>(session.drain_some(SIZE_MAX));
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const bool ask = std::strcmp(argv[1], "with_opdump") == 0;
  const bool capture = std::strcmp(argv[1], "with_capture") == 0 || std::strcmp(argv[1], "with_drain") == 0;
  const std::size_t op = std::strtoul(argv[2], nullptr, 10);
  const std::uint64_t step = std::strtoul(argv[3], nullptr, 10);
  static NullSink sink;
  static StoppedClock stopped;
  static CountingClock counting;
  Clock& clock = capture ? counting : stopped;
  static HostMemory memory;
  alignas(64) static std::byte ring[65536], heads[head_memory_bytes(2)], scratch[4096];
  static BasicSession<HostMemory> session({.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  HostRecorder& recorder = *session.add_recorder(ring, heads).value();
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
  if (capture) {
    // The first record brings the head. As with a drainer that keeps up, half of the ring stays free.
    static std::byte data[64];
    const Dim dims[] = {64};
    const TensorView tensor = {.address = address_of(data), .bytes = 64, .dtype = DType::uint8, .shape = dims};
    if (recorder.capture(op, {}, {&tensor, 1}) != Status::ok) return 2;
    session.drain_some(SIZE_MAX);
    for (int i = 0; i < 1000; ++i) {
      if (with_capture(recorder, op, tensor) != Status::ok) return 2;
      if (i % 100 == 99) with_drain(session);
    }
    std::printf("%u", session.counts().written - 1);
    return 0;
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
        for what, function, op, step, captures, least, most in (
                ('operator not wanted', 'with_opdump', 1, 0, 0, 1, LIMIT), ('step not wanted', 'with_opdump', 0, 1, 0, 1, LIMIT),
                ('wanted', 'with_opdump', 0, 0, CALLS, LIMIT + 1, None),
                ('capture of a 64 B record', 'with_capture', 0, 0, CALLS, LIMIT + 1, CAPTURE_LIMIT),
                ('drain of a 64 B record', 'with_drain', 0, 0, CALLS, LIMIT + 1, DRAIN_LIMIT)):
            instructions, captured = count(program, folder, function, op, step)
            extra = instructions - bare
            print(f'{what}: {extra:g} instructions')
            if most in (CAPTURE_LIMIT, DRAIN_LIMIT) and platform.machine() != 'x86_64':
                most = None
            if captured != captures or extra < least or (most is not None and extra > most):
                failed = True
                print(f'  failed: captured {captured} times instead of {captures}, {least} to {most or "any number of"} instructions')
    sys.exit(failed)


if __name__ == '__main__':
    main()
