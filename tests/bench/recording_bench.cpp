// What recording one tensor costs the thread that records it, for opdump and what one could use instead.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "peers.hpp"

namespace {

using namespace opdump::bench;

constexpr std::size_t kSizes[] = {64, 256, 4096, 65536, 1048576};

struct Amount {
  std::size_t paced;
  double pause_ns;  // between two paced records
  std::size_t flat;
};

Amount amount_for(std::size_t bytes) {
  if (bytes <= 4096) return {20'000, 5e3, 200'000};
  if (bytes <= 65536) return {2'000, 100e3, 4'000};
  return {300, 1.5e6, 300};
}

void report(benchmark::State& state, Samples& samples, double mean_ns) {
  state.SetIterationTime(mean_ns * 1e-9);
  state.counters["p50"] = std::max(samples.quantile_ns(0.50) - timer_ns(), 0.0);
  state.counters["p99"] = std::max(samples.quantile_ns(0.99) - timer_ns(), 0.0);
  state.counters["mean"] = mean_ns;
}

/// One record every few microseconds, of a tensor that the recording thread has just written.
template <class Peer>
void paced(benchmark::State& state, std::size_t bytes) {
  for (auto _ : state) {
    const Amount amount = amount_for(bytes);
    Samples samples(amount.paced);
    const RingMemory memory(bytes);
    const opdump::MutableBytes tensor = memory.bytes();
    Peer peer(bytes);
    double sum = 0;
    double next = nanoseconds_now();
    for (std::size_t i = 0; i < amount.paced; ++i) {
      std::fill(tensor.begin(), tensor.end(), static_cast<std::byte>(i));
      next = std::max(next + amount.pause_ns, nanoseconds_now());
      while (nanoseconds_now() < next) {
      }
      const std::uint64_t start = ticks();
      peer.record(tensor.data(), bytes);
      const std::uint64_t took = ticks() - start;
      samples.add(took);
      sum += static_cast<double>(took);
    }
    peer.finish();
    report(state, samples, sum * ns_per_tick() / static_cast<double>(amount.paced) - timer_ns());
  }
}

/// As many records as there is room for, one after the other.
template <class Peer>
void flat(benchmark::State& state, std::size_t bytes) {
  for (auto _ : state) {
    const std::size_t count = amount_for(bytes).flat;
    Samples samples(count);
    const RingMemory memory(bytes);
    const opdump::MutableBytes tensor = memory.bytes();
    Peer peer(bytes);
    for (std::size_t i = 0; i < count / 10; ++i) peer.record(tensor.data(), bytes);
    const double start_ns = nanoseconds_now();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t start = ticks();
      peer.record(tensor.data(), bytes);
      samples.add(ticks() - start);
    }
    const double took_ns = nanoseconds_now() - start_ns;
    peer.finish();
    report(state, samples, took_ns / static_cast<double>(count) - timer_ns());
  }
}

/// Records of `bytes` bytes that lie in half a ring of 64 KiB.
std::size_t records_of(std::size_t bytes) {
  return 32 * 1024 / (bytes + 80);
}

/// `Drain(bytes)` has `fill` make `records_of(bytes)` records, and `drain` take them.
template <class Drain>
void drained(benchmark::State& state, std::size_t bytes) {
  for (auto _ : state) {
    constexpr int kRounds = 2000;
    Samples samples(kRounds);
    Drain drain(bytes);
    double sum = 0;
    for (int i = 0; i < kRounds; ++i) {
      drain.fill();
      const std::uint64_t start = ticks();
      drain.drain();
      const std::uint64_t took = ticks() - start;
      samples.add(took);
      sum += static_cast<double>(took);
    }
    const double count = static_cast<double>(records_of(bytes));
    const double mean_ns = (sum * ns_per_tick() / kRounds - timer_ns()) / count;
    state.SetIterationTime(mean_ns * 1e-9);
    state.counters["p50"] = (samples.quantile_ns(0.50) - timer_ns()) / count;
    state.counters["p99"] = (samples.quantile_ns(0.99) - timer_ns()) / count;
    state.counters["mean"] = mean_ns;
  }
}

/// Captured and drained by one thread, into no sink.
template <opdump::JournalDetail kDetail>
class DrainedRecords {
 public:
  explicit DrainedRecords(std::size_t bytes)
      : data_(bytes),
        tensor_(opdump::address_of(data_.bytes().data()), bytes),
        count_(records_of(bytes)),
        rig_(sink_, {.ring_bytes = 64 * 1024, .journal = kDetail, .drain_thread = false}) {}

  void fill() {
    for (std::size_t i = 0; i < count_; ++i) rig_.recorder().capture(3, {}, {&tensor_.view, 1});
  }
  void drain() { rig_.drain(); }

 private:
  RingMemory data_;
  ByteTensor tensor_;
  std::size_t count_;
  NullSink sink_;
  Rig<> rig_;
};

/// As many bytes, copied record by record.
class CopiedRecords {
 public:
  explicit CopiedRecords(std::size_t bytes)
      : step_(bytes + 80), count_(records_of(bytes)), from_(step_ * count_), to_(step_ * count_) {}

  void fill() { benchmark::DoNotOptimize(from_.bytes().data()); }
  void drain() {
    for (std::size_t at = 0; at < step_ * count_; at += step_) {
      std::memcpy(to_.bytes().data() + at, from_.bytes().data() + at, step_);
      benchmark::ClobberMemory();
    }
  }

 private:
  std::size_t step_;
  std::size_t count_;
  RingMemory from_;
  RingMemory to_;
};

template <class Drain>
void add_drain(const std::string& name) {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{256}, std::size_t{4096}}) {
    benchmark::RegisterBenchmark(("drain/" + name + "/" + std::to_string(bytes)).c_str(), drained<Drain>,
                                 bytes)
        ->Iterations(1)
        ->UseManualTime();
  }
}

template <class Peer>
void add(const std::string& name) {
  for (const std::size_t bytes : kSizes) {
    const std::string end = "/" + name + "/" + std::to_string(bytes);
    benchmark::RegisterBenchmark(("paced" + end).c_str(), paced<Peer>, bytes)->Iterations(1)->UseManualTime();
    benchmark::RegisterBenchmark(("flat" + end).c_str(), flat<Peer>, bytes)->Iterations(1)->UseManualTime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  pin_to(0);
  ns_per_tick();
  add<Memcpy>("memcpy");
  add<Opdump>("opdump");
  add<MutexQueue>("mutex + condvar queue");
  add<FilePerTensor>("fopen + fwrite");
  add_drain<CopiedRecords>("memcpy of the record");
  add_drain<DrainedRecords<opdump::JournalDetail::gaps>>("opdump, gaps alone in the journal");
  add_drain<DrainedRecords<opdump::JournalDetail::records>>("opdump");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
