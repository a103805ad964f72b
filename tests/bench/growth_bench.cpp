// How the cost of a record grows with the number of recorders, operators, bytes and records, and how far
// memory rises meanwhile.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "rig.hpp"
#include "sinks.hpp"

namespace {

using namespace opdump;
using namespace opdump::bench;

/// A device whose memory repeats the same 64 KiB, so that a tensor may be larger than this machine.
class RepeatingMemory final : public DeviceMemory {
 public:
  Status copy(std::byte* to, Address, std::size_t bytes) override {
    for (std::size_t done = 0; done < bytes; done += sizeof pattern_)
      std::memcpy(to + done, pattern_, std::min(bytes - done, sizeof pattern_));
    return Status::ok;
  }

 private:
  std::byte pattern_[64 * 1024] = {};
};

/// Peak memory of the process in KiB since the last `forget_peak`.
double peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6));
  return 0;
}

void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

struct Case {
  std::size_t recorders = 1;
  std::size_t ops = 16;
  std::uint64_t bytes = 64;
  std::uint64_t records = 100'000;
  std::size_t known_heads = 16;  ///< operators whose heads the recorder has memory for
};

void run(benchmark::State& state, const Case& shape) {
  for (auto _ : state) {
    NullSink sink;
    Rig<RepeatingMemory> rig(sink, {.ring_bytes = 64 * 1024,
                                    .recorders = shape.recorders,
                                    .ops = shape.ops,
                                    .known_heads = shape.known_heads});
    const ByteTensor tensor(0, shape.bytes);
    const auto capture = [&](std::uint64_t i) {
      // A stride that visits all operators out of order.
      rig.recorder(i % shape.recorders).capture(i * 7919 % shape.ops, {}, {&tensor.view, 1});
    };
    // The first record of an operator brings its head.
    const std::uint64_t first = std::max<std::uint64_t>(shape.known_heads, 100);
    for (std::uint64_t i = 0; i < std::min(shape.records, first); ++i)
      if (shape.bytes < 1 << 20) capture(i);
    forget_peak();
    const double before_kib = peak_kib();
    const double start_ns = nanoseconds_now();
    for (std::uint64_t i = 0; i < shape.records; ++i) capture(i);
    rig.finish();
    const double took_ns = nanoseconds_now() - start_ns;
    const double records = static_cast<double>(shape.records);
    state.SetIterationTime(took_ns * 1e-9);
    state.counters["mean"] = took_ns / records;
    state.counters["per_byte"] = took_ns / (records * static_cast<double>(shape.bytes));
    state.counters["ram_kib"] = peak_kib() - before_kib;
  }
}

void add(const char* topic, std::uint64_t value, const Case& shape) {
  const std::string name = "growth/" + std::string(topic) + "/" + std::to_string(value);
  benchmark::RegisterBenchmark(name.c_str(), run, shape)->Iterations(1)->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  pin_to(0);
  for (const std::size_t recorders : {1, 2, 4, 8, 16, 32, 64, 128, 254})
    add("recorders", recorders, {.recorders = recorders});
  // What a record costs depends on whether there is memory for its operator's head, not on their number.
  for (const std::size_t ops : {10, 100, 1'000, 10'000, 100'000, 1'000'000}) {
    add("operators, each head kept", ops, {.ops = ops, .known_heads = ops});
    add("operators, no head kept", ops, {.ops = ops, .known_heads = 0});
  }
  for (int power = 0; power <= 30; power += 5) {
    const std::uint64_t bytes = std::uint64_t{1} << power;
    add("bytes", bytes,
        {.bytes = bytes, .records = std::clamp<std::uint64_t>((1u << 29) / bytes, 1, 20'000)});
  }
  for (const std::uint64_t records : {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000})
    add("records", records, {.records = records});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
