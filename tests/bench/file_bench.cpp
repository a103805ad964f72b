// Records on their way to a file, through a ring of 64 KiB: into one log, in memory and durable on a disk,
// beside plain writes of 1 MiB and beside a bare ring that the same bytes go through with nothing else done
// to them, and into a tree of files beside the same system calls without opdump.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "log_place.hpp"
#include "logs.hpp"
#include "opdump/base/cpu.hpp"
#include "opdump/ring.hpp"
#include "platform/posix/tree_sink.hpp"
#include "rig.hpp"
#include "sinks.hpp"

namespace {

using namespace opdump;
using namespace opdump::bench;

constexpr std::size_t kSizes[] = {64, 256, 4096, 65536, 1048576};
constexpr std::size_t kRingBytes = 64 * 1024;

std::filesystem::path base;

/// Bytes of the file that a record of `bytes` bytes becomes.
std::size_t file_bytes(std::size_t bytes) {
  const std::vector<std::byte> data(bytes);
  const ByteTensor tensor(address_of(data.data()), bytes);
  NullSink sink;
  Rig<> rig(sink, {.ring_bytes = kRingBytes});
  rig.recorder().capture(3, {}, {&tensor.view, 1});
  rig.finish();
  return static_cast<std::size_t>(sink.bytes());
}

std::size_t log_records_of(std::size_t bytes) {
  return std::min<std::size_t>(500'000, LogPlace::kBytes / (bytes + 250));
}

template <class Log>
double log_records(Log& log, LogPlace::Now now, std::size_t bytes, bool drain_thread) {
  const std::size_t count = log_records_of(bytes);
  const std::vector<std::byte> data(bytes);
  LogSink<Log> sink(log);
  Rig<> rig(sink, {.ring_bytes = kRingBytes, .journal = JournalDetail::gaps, .drain_thread = drain_thread});
  const ByteTensor tensor(address_of(data.data()), bytes);
  const double start_ns = now();
  for (std::size_t i = 0; i < count; ++i) rig.recorder().capture(3, {}, {&tensor.view, 1});
  rig.finish();
  return (now() - start_ns) / static_cast<double>(sink.bytes());
}

/// Waits a moment before the next look at the ring: each takes a line away from the other core.
void let_be() {
  for (int i = 0; i < 16; ++i) cpu_relax();
}

/// Puts what is in `ring` into `log`, as many chunks at a time as lie side by side in a quarter of it. False
/// if there was nothing.
template <class Log>
bool log_chunks(Ring& ring, Log& log) {
  Bytes run = ring.peek();
  if (run.data() == nullptr) return false;
  do {
    ring.pop();
    const Bytes next = ring.peek();
    if (next.data() < run.data() || run.size() + next.size() > kRingBytes / 4) break;
    run = {run.data(), static_cast<std::size_t>(next.data() - run.data()) + next.size()};
  } while (true);
  if (!log.put(run)) std::perror("log"), std::exit(2);
  ring.release();
  return true;
}

/// The bytes of as many records as `log_records` makes, into a ring with no work done to them on the way.
/// `make_room` is called while there is none.
template <class MakeRoom>
std::size_t fill_ring(Ring& ring, std::size_t bytes, MakeRoom make_room) {
  const std::size_t record = file_bytes(bytes);
  const std::vector<std::byte> data(record);
  const std::size_t count = log_records_of(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t done = 0; done < record;) {
      const std::uint32_t piece = static_cast<std::uint32_t>(std::min(record - done, kRingBytes / 4));
      MutableBytes room;
      while ((room = ring.reserve(piece, piece)).data() == nullptr) make_room();
      std::memcpy(room.data(), data.data() + done, piece);
      ring.commit(piece);
      done += piece;
    }
  }
  return count * record;
}

template <class Log>
void end_log(Log& log) {
  if (!log.end()) std::perror("log"), std::exit(2);
}

template <class Log>
double ring_alone(Log& log, LogPlace::Now now, std::size_t bytes) {
  const RingMemory memory(kRingBytes);
  Ring ring;
  expect_ok(ring.reset(memory.bytes()), "ring");
  std::atomic<bool> stop{false};
  pin_to(1);
  std::thread consumer([&] {
    for (bool last = false; !last;) {
      last = stop.load(std::memory_order_acquire);
      while (log_chunks(ring, log)) last = false;
      if (!last) let_be();
    }
    end_log(log);
  });
  pin_to(0);
  const double start_ns = now();
  const std::size_t filled = fill_ring(ring, bytes, let_be);
  stop.store(true, std::memory_order_release);
  consumer.join();
  return (now() - start_ns) / static_cast<double>(filled);
}

/// The same on one thread, which empties the ring when it is full.
template <class Log>
double ring_in_place(Log& log, LogPlace::Now now, std::size_t bytes) {
  const RingMemory memory(kRingBytes);
  Ring ring;
  expect_ok(ring.reset(memory.bytes()), "ring");
  const auto empty = [&] {
    while (log_chunks(ring, log)) continue;
  };
  const double start_ns = now();
  const std::size_t filled = fill_ring(ring, bytes, empty);
  empty();
  end_log(log);
  return (now() - start_ns) / static_cast<double>(filled);
}

/// `use_log(write)` calls `write(log)` with a log in `place` at its start.
template <class UseLog>
void add_log_rows(const std::string& topic, LogPlace& place, UseLog use_log) {
  for (const std::size_t bytes : kSizes) {
    const auto add = [&](const char* name, bool one_thread, auto write) {
      const auto row = [=, &place](benchmark::State& state) {
        beside_floor(state, place, one_thread,
                     [&](LogPlace::Now now) { return use_log([&](auto& log) { return write(log, now); }); });
      };
      benchmark::RegisterBenchmark((topic + '/' + name + '/' + std::to_string(bytes)).c_str(), row)
          ->Iterations(1)
          ->UseManualTime();
    };
    add("opdump", false, [=](auto& log, auto now) { return log_records(log, now, bytes, true); });
    add("opdump, drained by the recording thread", true,
        [=](auto& log, auto now) { return log_records(log, now, bytes, false); });
    add("ring alone", false, [=](auto& log, auto now) { return ring_alone(log, now, bytes); });
    add("ring alone, drained by the recording thread", true,
        [=](auto& log, auto now) { return ring_in_place(log, now, bytes); });
  }
}

void add_written_rows(const std::string& topic, LogPlace& place) {
  add_log_rows(topic, place, [&place](auto write) {
    WrittenLog log(place.rewound(), place.durable());
    return write(log);
  });
}

std::size_t files_for(std::size_t bytes) {
  return bytes < 65536 ? 5'000 : bytes < 1048576 ? 1'000 : 100;
}

/// Keeps all folders until the end: some file systems are slow to use freed inodes again. But not in memory,
/// where pages that were never used may cost ten times as much.
std::string new_folder() {
  static int number = 0;
  if (number != 0 && is_in_memory(base.string()))
    std::filesystem::remove_all(base / std::to_string(number - 1));
  const std::filesystem::path folder = base / std::to_string(number++);
  std::filesystem::create_directory(folder);
  return folder.string();
}

void tree_of_records(benchmark::State& state, std::size_t bytes, bool drain_thread) {
  const std::vector<std::byte> data(bytes);
  for (auto _ : state) {
    posix::TreeSink sink;
    Rig<> rig(sink, {.ring_bytes = kRingBytes, .root = new_folder(), .drain_thread = drain_thread});
    const ByteTensor tensor(address_of(data.data()), bytes);
    const double own_start_ns = own_nanoseconds_now();
    const double start_ns = nanoseconds_now();
    for (std::size_t i = 0; i < files_for(bytes); ++i) rig.recorder().capture(3, {}, {&tensor.view, 1});
    rig.finish();
    const double ns = nanoseconds_now() - start_ns;
    state.counters["own"] = (own_nanoseconds_now() - own_start_ns) / static_cast<double>(files_for(bytes));
    state.SetIterationTime(ns * 1e-9);
    state.counters["mean"] = ns / static_cast<double>(files_for(bytes));
  }
}

/// Files like those of `tree_of_records`: as many, as large, with names as long, in a folder as deep.
void bare_files(benchmark::State& state, std::size_t bytes) {
  const std::vector<std::byte> data(file_bytes(bytes));
  for (auto _ : state) {
    const std::filesystem::path folder = std::filesystem::path(new_folder()) / "20261231000000/0/network/1/0";
    std::filesystem::create_directories(folder);
    const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const double own_start_ns = own_nanoseconds_now();
    const double start_ns = nanoseconds_now();
    for (std::size_t i = 0; i < files_for(bytes); ++i) {
      char name[100];
      char temporary[110];
      std::snprintf(name, sizeof name, "Conv2D.network_block_conv_3.7.65535.%016zu", i);
      std::snprintf(temporary, sizeof temporary, "%s.part", name);
      const int file = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (file < 0 || write(file, data.data(), data.size()) < 0 || close(file) != 0 ||
          renameat(directory, temporary, directory, name) != 0) {
        state.SkipWithError("a file could not be written");
      }
    }
    const double ns = nanoseconds_now() - start_ns;
    state.counters["own"] = (own_nanoseconds_now() - own_start_ns) / static_cast<double>(files_for(bytes));
    close(directory);
    state.SetIterationTime(ns * 1e-9);
    state.counters["mean"] = ns / static_cast<double>(files_for(bytes));
  }
}

/// A new folder in the one that `variable` names, or else in the current one.
std::filesystem::path make_folder(const char* variable) {
  const char* const parent = std::getenv(variable);
  std::string made = std::string(parent == nullptr ? "." : parent) + "/opdump-bench-XXXXXX";
  if (mkdtemp(made.data()) == nullptr) std::perror(made.c_str()), std::exit(2);
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  pin_to(0);
  base = make_folder("OPDUMP_BENCH_FOLDER");
  const std::filesystem::path disk = make_folder("OPDUMP_BENCH_DISK");
  LogPlace log(base.string(), false);
  add_written_rows("log", log);
  if (is_in_memory(base.string())) {
    add_log_rows("mapped log", log, [&log](auto write) {
      MappedLog mapped(log.rewound());
      return write(mapped);
    });
  } else {
    std::fprintf(stderr, "not measured: a mapped log, as %s is not in memory\n", base.c_str());
  }
  std::optional<LogPlace> durable_log;
  if (!is_in_memory(disk.string())) {
    add_written_rows("durable log", durable_log.emplace(disk.string(), true));
  } else {
    std::fprintf(stderr, "not measured: a durable log, as %s is in memory\n", disk.c_str());
  }
  for (const std::size_t bytes : kSizes) {
    const std::string end = "/" + std::to_string(bytes);
    const auto add = [&](const char* name, auto function) {
      benchmark::RegisterBenchmark((name + end).c_str(), function, bytes)->Iterations(1)->UseManualTime();
    };
    const auto tree = [](bool drain_thread) {
      return [=](benchmark::State& state, std::size_t size) { tree_of_records(state, size, drain_thread); };
    };
    add("tree/open + write + close + rename", bare_files);
    add("tree/opdump", tree(true));
    add("tree/opdump, drained by the recording thread", tree(false));
  }
  benchmark::Initialize(&argc, argv);
  const bool understood = !benchmark::ReportUnrecognizedArguments(argc, argv);
  if (understood) benchmark::RunSpecifiedBenchmarks();
  std::error_code ignored;
  std::filesystem::remove_all(base, ignored);
  std::filesystem::remove_all(disk, ignored);
  return understood ? 0 : 2;
}
