#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "opdump/parts/overflow_scan.hpp"
#include "opdump/port/listeners.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::string_view kC[] = {"C"};
constexpr std::string_view kAB[] = {"A", "B"};
constexpr std::string_view kCD[] = {"C", "D"};
const ModelExtras kWatchC = {.watched = kC};
const ModelExtras kWatchCD = {.watched = kCD};

const OpDesc kWatchOps[] = {
    {.name = "C", .type = "Conv", .task_id = 0, .stream_id = 1},
    {.name = "A", .type = "Add", .task_id = 1, .stream_id = 1},
    {.name = "D", .type = "Conv", .task_id = 2, .stream_id = 1},
    {.name = "H", .type = "HcomAllReduce", .task_id = 3, .stream_id = 1},
    {.name = "B", .type = "Add", .task_id = 4, .stream_id = 1},
};
const ModelDesc kWatchModel = {.name = "net", .id = 9, .ops = kWatchOps};

DumpConfig watching(std::span<const ModelRule> rules, bool changes_only = false) {
  return {.active = true,
          .dump_path = "/dump",
          .models = rules,
          .watch = true,
          .watch_changes_only = changes_only};
}

struct Listener final : WatchListener {
  void overwritten(const Overwrite& overwrite) override { all.push_back(overwrite); }
  std::vector<Overwrite> all;
};

struct WatchBench {
  explicit WatchBench(std::size_t watch_memory_bytes = sizeof watch_memory)
      : session({.memory = memory,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch,
                 .when_full = WhenFull::inline_drain,
                 .watch_memory = MutableBytes(watch_memory).first(watch_memory_bytes),
                 .watch_listener = &listener}),
        recorder(*session.add_recorder(ring).value()) {}

  void start(const DumpConfig& config) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, kWatchModel, bits) == Status::ok);
  }

  /// One step; operator `by` writes over bytes `first` to `last` of C's output.
  void step(std::string_view by = {}, std::size_t first = 0, std::size_t last = 0) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t i = 0; i < 5; ++i) {
      if (kWatchOps[i].name == by) {
        for (std::size_t at = first; at <= last; ++at) outputs[0][at] = ~outputs[0][at];
      }
      const Dim dims[] = {4096};
      const TensorView output = {
          .address = address_of(outputs[i]), .bytes = 4096, .dtype = DType::uint8, .shape = dims};
      if (recorder.wants(i)) CHECK(recorder.capture(i, {}, {&output, 1}) == Status::ok);
    }
    REQUIRE(recorder.end_step() == Status::ok);
  }

  std::vector<std::string> files() {
    REQUIRE(session.finalize() == Status::ok);
    std::vector<std::string> files;
    for (const std::string& path : sink.order) {
      const std::string name = path.substr(path.rfind('|') + 1);
      files.push_back(name.substr(0, name.rfind('.')));
    }
    return files;
  }

  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  Listener listener;
  std::byte scratch[1024];
  alignas(8) std::byte ring[16384];
  alignas(8) std::byte watch_memory[8192];
  BasicSession<FakeMemory> session;
  BasicRecorder<FakeMemory>& recorder;
  ModelPlan plan;
  std::uint8_t bits[5] = {};
  std::byte outputs[5][4096] = {};
};

}  // namespace

TEST_CASE("watch: a watched operator's own output, and again after each suspect") {
  const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = kAB, .extras = &kWatchCD}};
  WatchBench bench;
  bench.start(watching(rules));
  bench.step();
  CHECK(bench.files() == std::vector<std::string>{"Conv.C.0.1", "Add.A_To_C.1.1", "Conv.D.2.1",
                                                  "Add.B_To_C.4.1", "Add.B_To_D.4.1"});
  check_adds_up(bench.session.counts());
  CHECK(bench.session.overwrites() == 0);
}

TEST_CASE("watch: without layers every operator is a suspect, but for the watched and collective ones") {
  const ModelRule rules[] = {{.any_model = true, .extras = &kWatchCD}};
  WatchBench bench;
  bench.start(watching(rules));
  bench.step();
  CHECK(bench.files() == std::vector<std::string>{"Conv.C.0.1", "Add.A_To_C.1.1", "Conv.D.2.1",
                                                  "Add.B_To_C.4.1", "Add.B_To_D.4.1"});
}

TEST_CASE("watch: a name on both sides is watched, and a collective operator may be") {
  constexpr std::string_view kBoth[] = {"C", "H", "A"};
  const ModelExtras watched = {.watched = kBoth};
  constexpr std::string_view kSuspects[] = {"C", "H", "B"};
  const ModelRule rules[] = {
      {.any_model = true, .all_layers = false, .layers = kSuspects, .extras = &watched}};
  WatchBench bench;
  bench.start(watching(rules));
  bench.step();
  CHECK(bench.files() == std::vector<std::string>{"Conv.C.0.1", "Add.A.1.1", "HcomAllReduce.H.3.1",
                                                  "Add.B_To_C.4.1", "Add.B_To_A.4.1", "Add.B_To_H.4.1"});
}

TEST_CASE("watch: a suspect that runs before the watched operator ever did is told, and who never ran") {
  const auto never_lines = [](const WatchBench& bench) {
    std::vector<std::string> lines;
    REQUIRE(bench.sink.journals.size() == 1);
    const std::string& journal = bench.sink.journals.begin()->second;
    for (std::size_t at = 0, end; (end = journal.find('\n', at)) != journal.npos; at = end + 1) {
      if (journal.compare(at, 6, "never,") == 0) lines.push_back(journal.substr(at, end - at));
    }
    return lines;
  };
  using Lines = std::vector<std::string>;
  const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = kAB, .extras = &kWatchCD}};
  for (const bool changes_only : {false, true}) {
    WatchBench bench;
    bench.start(watching(rules, changes_only));
    bench.step();
    bench.step();
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(never_lines(bench) == (changes_only ? Lines{} : Lines{"never,before_run,0,0,9,net/Add/A_To_D"}));
    check_adds_up(bench.session.counts());
  }
  constexpr std::string_view kWatched[] = {"C", "D", "nobody"};
  constexpr std::string_view kSuspects[] = {"A", "B", "none"};
  const ModelExtras watched = {.watched = kWatched};
  const ModelRule misspelt[] = {
      {.any_model = true, .all_layers = false, .layers = kSuspects, .extras = &watched}};
  constexpr StepRange kSteps[] = {{0, 3}};
  DumpConfig config = watching(misspelt);
  config.steps = {kSteps};
  WatchBench bench;
  bench.start(config);
  const Dim dims[] = {4096};
  const auto run = [&](std::size_t op) {
    const TensorView output = {
        .address = address_of(bench.outputs[op]), .bytes = 4096, .dtype = DType::uint8, .shape = dims};
    CHECK(bench.recorder.capture(op, {}, {&output, 1}) == Status::ok);
  };
  for (int step = 0; step < 3; ++step) {
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    run(1);
    if (step == 2) run(0);
    REQUIRE(bench.recorder.end_step() == Status::ok);
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(never_lines(bench) == Lines{"never,not_run,0,0,9,net/Conv/D", "never,not_run,0,0,9,net/Add/B",
                                    "never,steps,3,3,9,net/_/", "never,before_run,0,2,9,net/Add/A_To_C",
                                    "never,no_op,0,0,0,_/_/none", "never,no_op,0,0,0,_/_/nobody"});
}

TEST_CASE("watch: each entry has suspects of its own") {
  constexpr std::string_view kA[] = {"A"};
  constexpr std::string_view kB[] = {"B"};
  constexpr std::string_view kD[] = {"D"};
  const ModelExtras watch_d = {.watched = kD};
  const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = kA, .extras = &kWatchC},
                             {.any_model = true, .all_layers = false, .layers = kB, .extras = &watch_d}};
  WatchBench bench;
  bench.start(watching(rules));
  bench.step();
  CHECK(bench.files() ==
        std::vector<std::string>{"Conv.C.0.1", "Add.A_To_C.1.1", "Conv.D.2.1", "Add.B_To_D.4.1"});
}

TEST_CASE("watch: who overwrote what is told, and with the verdict only that is written") {
  for (const bool changes_only : {false, true}) {
    CAPTURE(changes_only);
    const ModelRule rules[] = {{.any_model = true, .extras = &kWatchC}};
    WatchBench bench;
    bench.start(watching(rules, changes_only));
    bench.step();
    bench.step("A", 130, 260);
    bench.step("B", 4095, 4095);
    REQUIRE(bench.listener.all.size() == 2);
    const Overwrite& first = bench.listener.all[0];
    CHECK(first.by == "A");
    CHECK(first.watched == "C");
    CHECK(first.output == 0);
    CHECK(first.step == 1);
    CHECK(first.first == 80);
    CHECK(first.last == 319);
    CHECK(bench.listener.all[1].by == "B");
    CHECK(bench.listener.all[1].step == 2);
    CHECK(bench.listener.all[1].first == 4080);
    CHECK(bench.listener.all[1].last == 4095);
    CHECK(bench.session.overwrites() == 2);
    CHECK(bench.session.first_overwrite().by == "A");
    const std::vector<std::string> files = bench.files();
    if (changes_only) CHECK(files == std::vector<std::string>{"Add.A_To_C.1.1", "Add.B_To_C.4.1"});
    if (!changes_only) CHECK(files.size() == 12);
  }
}

TEST_CASE("watch: memory that is too small refuses the plan, and comes back when a model is unloaded") {
  const ModelRule rules[] = {{.any_model = true, .extras = &kWatchC}};
  WatchBench none(0);
  REQUIRE(none.session.init() == Status::ok);
  CHECK(none.session.set_config(watching(rules)) == Status::not_supported);

  WatchBench bench(watch_bytes(1, 2));
  bench.start(watching(rules));
  for (int i = 0; i < 3; ++i) {
    ModelPlan second;
    std::uint8_t bits[5];
    CHECK(bench.session.load_model(second, kWatchModel, bits) == Status::no_memory);
    CHECK(second.bits.empty());
    REQUIRE(bench.session.unload_model(second) == Status::ok);
    REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
    REQUIRE(bench.session.load_model(bench.plan, kWatchModel, bench.bits) == Status::ok);
  }
  bench.step();
  CHECK(bench.files().size() == 4);
}

TEST_CASE("watch: a model without a watched operator is not captured") {
  constexpr std::string_view kNobody[] = {"nobody"};
  const ModelExtras watched = {.watched = kNobody};
  const ModelRule rules[] = {{.any_model = true, .extras = &watched}};
  WatchBench bench;
  bench.start(watching(rules));
  CHECK(bench.plan.matched_ops == 0);
  bench.step();
  CHECK(bench.files().empty());
}

TEST_CASE(
    "watch: memory is read in pieces as small as its driver takes, also when overflows are looked for") {
  struct SmallCopies final : DeviceMemory {
    CopyRules copy_rules() const { return {.max_bytes = 16}; }
    Status copy(std::byte* to, Address from, std::size_t bytes) override {
      if (bytes > 16) return Status::device_copy_failed;
      std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
      return Status::ok;
    }
  } memory;
  float values[100] = {};
  const Dim dims[] = {100};
  const TensorView tensor = {
      .address = address_of(values), .bytes = sizeof values, .dtype = DType::float32, .shape = dims};
  WatchedOutput watched;
  Overwrite overwrite;
  bool changed = false;
  REQUIRE(watched.keep(tensor) == Status::ok);
  CHECK(watched.look(memory, nullptr, changed) == Status::ok);
  values[99] = std::numeric_limits<float>::infinity();
  CHECK(watched.look(memory, &overwrite, changed) == Status::ok);
  CHECK(changed);
  OverflowScan<SmallCopies> scan(memory);
  const Result<bool> bad = scan.bad({&tensor, 1});
  CHECK(bad.ok());
  CHECK(bad.value());
}
