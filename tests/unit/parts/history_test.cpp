#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

struct HistoryBench {
  explicit HistoryBench(std::uint32_t history, std::uint32_t after, std::size_t bytes = 64 * 1024)
      : memory(bytes / 8), sink(inner, std::as_writable_bytes(std::span(memory)), history, after) {}

  Status write(std::uint64_t step, const std::string& file, std::size_t bytes = 100) {
    const std::string directory = "20260101000000/0/net/1/" + std::to_string(step);
    return write({"/dump", directory, file, {.kind = ObjectKind::record, .load = 1, .step = step}}, step,
                 bytes);
  }

  Status write_report(std::uint64_t step, const std::string& file) {
    const std::string directory = "20260101000000/0/net/1/" + std::to_string(step);
    return write({"/dump", directory, file, {.kind = ObjectKind::report, .load = 1, .step = step}}, step,
                 100);
  }

  Status write(const ObjectName& name, std::uint64_t step, std::size_t bytes) {
    const Result<ObjectId> object = sink.begin(name);
    if (!object.ok()) return object.status();
    const std::vector<std::byte> data(bytes, static_cast<std::byte>(step));
    // In two pieces, so that one ends inside a block.
    const Bytes parts[] = {Bytes(data).first(bytes / 3), Bytes(data).subspan(bytes / 3)};
    const Status status = sink.append(object.value(), parts);
    if (status != Status::ok) {
      sink.abort(object.value());
      return status;
    }
    return sink.commit(object.value());
  }

  /// `{step}/{file}` in the order of their commits; each has to be whole.
  std::vector<std::string> files(std::size_t bytes = 100) const {
    std::vector<std::string> files;
    for (const std::string& path : inner.order) {
      const std::size_t bar = path.rfind('|');
      const std::size_t slash = path.rfind('/', bar);
      const std::string step = path.substr(slash + 1, bar - slash - 1);
      const std::vector<std::byte>& data = inner.objects.at(path);
      REQUIRE(data == std::vector<std::byte>(bytes, static_cast<std::byte>(std::stoull(step))));
      files.push_back(step + "/" + path.substr(bar + 1));
    }
    return files;
  }

  FakeSink inner;
  std::vector<std::uint64_t> memory;
  HistorySink sink;
};

}  // namespace

TEST_CASE("history: nothing is handed on before a trigger, then the last steps and those afterwards") {
  HistoryBench bench(3, 2);
  for (std::uint64_t step = 0; step < 10; ++step) {
    CHECK(bench.write(step, "a") == Status::ok);
    CHECK(bench.write(step, "b") == Status::ok);
  }
  CHECK(bench.inner.calls == 0);
  bench.sink.trigger();
  CHECK(bench.write(9, "c") == Status::ok);
  for (std::uint64_t step = 10; step < 20; ++step) CHECK(bench.write(step, "a") == Status::ok);
  CHECK(bench.files() ==
        std::vector<std::string>{"7/a", "7/b", "8/a", "8/b", "9/a", "9/b", "9/c", "10/a", "11/a"});
  CHECK(bench.sink.triggers() == 1);
  bench.sink.trigger();
  CHECK(bench.sink.sync() == Status::ok);
  const std::vector<std::string> files = bench.files();
  CHECK(std::vector<std::string>(files.begin() + 9, files.end()) ==
        std::vector<std::string>{"17/a", "18/a", "19/a"});
  CHECK(bench.sink.lost() == 0);
}

TEST_CASE("history: an overflow and an exception are triggers") {
  HistoryBench bench(2, 0);
  for (std::uint64_t step = 0; step < 4; ++step) bench.write(step, "a");
  bench.write(4, "Conv2D.conv1.1.0.1700000000000000");
  bench.write_report(4, "Opdebug.Node_OpDebug.9.0.1700000000000001");
  bench.write(5, "a");
  CHECK(bench.files() == std::vector<std::string>{"3/a", "4/Conv2D.conv1.1.0.1700000000000000",
                                                  "4/Opdebug.Node_OpDebug.9.0.1700000000000001"});

  HistoryBench failed(2, 0);
  failed.write(1, "a");
  const Result<ObjectId> object = failed.sink.begin(
      {"/dump", "extra-info/data-dump/0", "exception_info.0.1.2", {.kind = ObjectKind::failure}});
  REQUIRE(object.ok());
  REQUIRE(failed.sink.commit(object.value()) == Status::ok);
  CHECK(failed.inner.order.size() == 2);
}

TEST_CASE("history: in pieces it hands on the same, when it is asked to") {
  const std::vector<std::string> wanted = {"7/a", "7/b", "8/a", "8/b", "9/a", "9/b", "9/c", "10/a", "11/a"};
  for (const std::size_t budget : {std::size_t{1}, std::size_t{700}, SIZE_MAX}) {
    CAPTURE(budget);
    HistoryBench bench(3, 2);
    bench.sink.hand_on_in_pieces();
    for (std::uint64_t step = 0; step < 10; ++step) {
      CHECK(bench.write(step, "a", 1500) == Status::ok);
      CHECK(bench.write(step, "b", 1500) == Status::ok);
    }
    bench.sink.trigger();
    CHECK(bench.write(9, "c", 1500) == Status::ok);
    for (std::uint64_t step = 10; step < 20; ++step) CHECK(bench.write(step, "a", 1500) == Status::ok);
    CHECK(bench.sink.sync() == Status::ok);
    CHECK(bench.inner.calls == 1);  // the sync
    int calls = 1;
    for (; bench.sink.hand_on_some(budget); ++calls) {
      const int before = bench.inner.calls;
      if (budget == 1 && bench.sink.hand_on_some(budget)) CHECK(bench.inner.calls - before <= 3);
    }
    CHECK(bench.files(1500) == wanted);
    CHECK(calls >= (budget == 1 ? 9 : budget == SIZE_MAX ? 1 : 14));
    CHECK_FALSE(bench.sink.hand_on_some(budget));
    // What came after the trigger's steps is history again.
    bench.sink.trigger();
    while (bench.sink.hand_on_some(budget)) continue;
    const std::vector<std::string> files = bench.files(1500);
    CHECK(std::vector<std::string>(files.begin() + 9, files.end()) ==
          std::vector<std::string>{"17/a", "18/a", "19/a"});
    CHECK(bench.sink.lost() == 0);
    CHECK(bench.inner.open_objects.empty());
  }
}

TEST_CASE("history: while pieces wait nothing of them is let go, and what has no room is refused") {
  HistoryBench bench(2, 0, 16 * HistorySink::kBlockBytes);
  bench.sink.hand_on_in_pieces();
  for (std::uint64_t step = 0; step < 4; ++step) CHECK(bench.write(step, "a", 2000) == Status::ok);
  bench.sink.trigger();
  std::uint64_t refused = 0;
  for (std::uint64_t step = 4; step < 12; ++step)
    refused += bench.write(step, "b", 2000) != Status::ok ? 1 : 0;
  CHECK(refused >= 6);
  while (bench.sink.hand_on_some(100)) continue;
  const std::vector<std::string> files = bench.files(2000);
  REQUIRE(files.size() >= 2);
  CHECK(std::vector<std::string>(files.begin(), files.begin() + 2) == std::vector<std::string>{"2/a", "3/a"});
  CHECK(bench.write(12, "c", 2000) == Status::ok);
}

TEST_CASE("history: pairs stay pairs in pieces, whichever call the other sink refuses") {
  const auto run = [](HistoryBench& bench) {
    bench.sink.hand_on_in_pieces();
    bench.write(1, "a");
    ObjectId ids[2];
    for (int i = 0; i < 2; ++i) {
      const ObjectKind kind = i == 0 ? ObjectKind::record : ObjectKind::report;
      ids[i] =
          bench.sink.begin({"/dump", "d/2", i == 0 ? "op" : "report", {.kind = kind, .load = 1, .step = 2}})
              .value();
      const std::vector<std::byte> data(1200, std::byte{2});
      const Bytes part = data;
      REQUIRE(bench.sink.append(ids[i], {&part, 1}) == Status::ok);
    }
    REQUIRE(bench.sink.commit(ids[0], ids[1]) == Status::ok);
    bench.write(2, "b");
    while (bench.sink.hand_on_some(1)) continue;
  };
  HistoryBench whole(3, 0);
  run(whole);
  CHECK(whole.inner.order.size() == 4);
  for (int fail_at = 0; fail_at < whole.inner.calls; ++fail_at) {
    CAPTURE(fail_at);
    HistoryBench bench(3, 0);
    bench.inner.fail_at = fail_at;
    run(bench);
    const bool op = bench.inner.objects.contains("/dump|d/2|op");
    CHECK(op == bench.inner.objects.contains("/dump|d/2|report"));
    CHECK(bench.inner.order.size() + bench.sink.lost() == 4);
    CHECK(bench.inner.open_objects.empty());
    CHECK(bench.inner.stray_aborts == 0);
  }
}

namespace {

/// A session whose dumps a history keeps, with two models and operators outside of them.
struct RunsInTurn {
  /// Directories and operators of what a trigger hands on, in the order of the commits.
  std::vector<std::string> handed_on() {
    while (session.drain_some(SIZE_MAX) != 0) continue;
    history.trigger();
    REQUIRE(history.sync() == Status::ok);
    std::vector<std::string> found;
    for (const std::string& path : inner.order) {
      const std::size_t bar = path.rfind('|');
      const std::size_t type = path.find('.', bar) + 1;
      const std::size_t step = path.rfind('/', bar) + 1;
      found.push_back(path.substr(type, path.find('.', type) - type) + " " + path.substr(step, bar - step));
    }
    return found;
  }

  void start() {
    const DumpConfig config = {.active = true, .dump_path = "/dump", .single_ops = true, .models = kAnyModel};
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(first_plan, first) == Status::ok);
    REQUIRE(session.load_model(second_plan, second) == Status::ok);
  }

  void step(BasicRecorder<FakeMemory>& recorder, ModelPlan& plan) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    REQUIRE(recorder.capture(0, {}, {&tensors.output, 1}) == Status::ok);
    REQUIRE(recorder.end_step() == Status::ok);
    while (session.drain_some(SIZE_MAX) != 0) continue;
  }

  void single_op() {
    REQUIRE(recorder.capture_single_op({.name = "single", .type = "Add"}, {}, {&tensors.output, 1}) ==
            Status::ok);
  }

  FakeMemory memory;
  FakeSink inner;
  std::vector<std::uint64_t> room = std::vector<std::uint64_t>(8192);
  HistorySink history{inner, std::as_writable_bytes(std::span(room)), 3, 0};
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte rings[2][4096];
  BasicSession<FakeMemory> session{{.memory = memory,
                                    .sink = history,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .device_id = 2,
                                    .journal = JournalDetail::none}};
  BasicRecorder<FakeMemory>& recorder = *session.add_recorder(rings[0]).value();
  BasicRecorder<FakeMemory>& other = *session.add_recorder(rings[1]).value();
  OpDesc first_ops[1] = {{.name = "one", .type = "Relu"}};
  OpDesc second_ops[1] = {{.name = "two", .type = "Relu"}};
  ModelDesc first{.name = "first", .id = 1, .ops = first_ops};
  ModelDesc second{.name = "second", .id = 2, .ops = second_ops};
  ModelPlanFor<1> first_plan, second_plan;
  Tensors tensors;
};

}  // namespace

TEST_CASE("history: an operator on its own is no step, whatever its directory ends in") {
  RunsInTurn runs;
  runs.start();
  for (int step = 0; step < 10; ++step) {
    runs.step(runs.recorder, runs.first_plan);
    runs.single_op();
  }
  CHECK(runs.handed_on() ==
        std::vector<std::string>{"one 7", "single 2", "one 8", "single 2", "one 9", "single 2"});
}

TEST_CASE("history: two models whose steps differ make one step of each") {
  RunsInTurn runs;
  runs.start();
  for (int step = 0; step < 5; ++step) runs.step(runs.recorder, runs.first_plan);
  for (int step = 0; step < 6; ++step) {
    runs.step(runs.recorder, runs.first_plan);
    runs.step(runs.other, runs.second_plan);
  }
  CHECK(runs.handed_on() == std::vector<std::string>{"one 8", "two 3", "one 9", "two 4", "one 10", "two 5"});
}

TEST_CASE("history: a model that another one outruns is kept for as long as that one's steps last") {
  RunsInTurn runs;
  runs.start();
  for (int step = 0; step < 12; ++step) {
    runs.step(runs.recorder, runs.first_plan);
    if (step % 6 == 4) runs.step(runs.other, runs.second_plan);
  }
  CHECK(runs.handed_on() == std::vector<std::string>{"one 9", "one 10", "two 1", "one 11"});
}

TEST_CASE("history: a recorder that is a step behind another of its model begins none") {
  HistoryBench bench(3, 0);
  for (std::uint64_t step = 1; step < 10; ++step) {
    bench.write(step, "ahead");
    bench.write(step - 1, "behind");
  }
  bench.sink.trigger();
  REQUIRE(bench.sink.sync() == Status::ok);
  CHECK(bench.files() ==
        std::vector<std::string>{"7/ahead", "6/behind", "8/ahead", "7/behind", "9/ahead", "8/behind"});
}

TEST_CASE("history: with more models than it knows, steps go on and memory stays bounded") {
  HistoryBench bench(2, 0, 64 * HistorySink::kBlockBytes);
  for (std::uint64_t step = 0; step < 50; ++step) {
    for (std::uint32_t load = 1; load <= 2 * HistorySink::kMaxModels; ++load)
      REQUIRE(bench.write({"/dump",
                           "net",
                           std::to_string(load),
                           {.kind = ObjectKind::record, .load = load, .step = step}},
                          step, 100) == Status::ok);
  }
  CHECK(bench.sink.let_go() >= 49 * 2 * HistorySink::kMaxModels - 2 * HistorySink::kMaxModels);
}

TEST_CASE("history: with 1 MiB for 50 steps memory stays bounded over 100000 steps, and nothing is written") {
  HistoryBench bench(50, 5, 1024 * 1024);
  const std::uint64_t steps = 100000 / OPDUMP_TEST_SHARE;
  for (std::uint64_t step = 0; step < steps; ++step) {
    REQUIRE(bench.write(step, "a", 3000) == Status::ok);
    REQUIRE(bench.write(step, "b", 3000) == Status::ok);
  }
  CHECK(bench.inner.calls == 0);
  CHECK(bench.sink.let_go() == 2 * (steps - 50));
  bench.sink.trigger();
  for (std::uint64_t step = steps; step < steps + 20; ++step) {
    REQUIRE(bench.write(step, "a", 3000) == Status::ok);
    REQUIRE(bench.write(step, "b", 3000) == Status::ok);
  }
  const std::vector<std::string> files = bench.files(3000);
  REQUIRE(files.size() == 2 * (50 + 5));
  for (std::size_t i = 0; i < files.size(); ++i)
    CHECK(files[i] == std::to_string(steps - 50 + i / 2) + (i % 2 == 0 ? "/a" : "/b"));
}

TEST_CASE("history: when memory is short the oldest step goes, and a step of its own size is refused") {
  HistoryBench bench(50, 0, 16 * HistorySink::kBlockBytes);
  for (std::uint64_t step = 0; step < 9; ++step) CHECK(bench.write(step, "a", 1500) == Status::ok);
  CHECK(bench.write(9, "a", 1500) == Status::ok);
  CHECK(bench.write(9, "b", 4500) == Status::ok);
  CHECK(bench.write(9, "c", 4500) == Status::no_space);
  bench.sink.trigger();
  CHECK(bench.sink.sync() == Status::ok);
  CHECK(bench.inner.order.size() == 2);
  CHECK(bench.write(10, "a", 6000) == Status::ok);
  CHECK(bench.write(10, "b", 8200) == Status::no_space);
}

TEST_CASE("history: what the other sink refuses is counted, and lines keep their place") {
  HistoryBench bench(5, 0, HistorySink::kLongNamesFrom - 512);
  bench.write(1, "a");
  const Bytes lines[] = {as_bytes("x,y\n"), as_bytes("z\n")};
  CHECK(bench.sink.append_lines({"/dump", "d/1", "statistic.csv"}, lines) == Status::ok);
  CHECK(bench.inner.calls == 0);
  bench.inner.fail_at = 0;
  bench.sink.trigger();
  CHECK(bench.sink.sync() == Status::ok);
  CHECK(bench.sink.lost() == 1);
  CHECK(bench.inner.journals["/dump|d/1|statistic.csv"] == "x,y\nz\n");
  CHECK(bench.sink.begin({"/dump", std::string(300, 'd'), std::string(120, 'f')}).status() ==
        Status::name_too_long);
  const Result<ObjectId> object = bench.sink.begin({"/dump", "d/2", "f"});
  REQUIRE(object.ok());
  bench.sink.abort(object.value());
  CHECK(bench.inner.open_objects.empty());
}

TEST_CASE("history: with memory for it, names are as long as a tree takes them") {
  HistoryBench bench(5, 0, HistorySink::kLongNamesFrom);
  const std::string root = "/" + std::string(222, 'r'), directory = "net/" + std::string(795, 'd');
  std::uint64_t step = 0;
  for (const std::size_t bytes : {1, 424, 425, 426, 427, 430, 504, 930, 2048}) {
    for (const std::string_view below : {std::string_view(directory), std::string_view("n")}) {
      CAPTURE(bytes);
      const std::string file(bytes, 'f'), name = root + "|" + std::string(below) + "|" + file;
      REQUIRE(bench.write({root, below, file}, ++step, 700) == Status::ok);
      const Bytes line[] = {as_bytes("x,y\n")};
      REQUIRE(bench.sink.append_lines({root, below, file}, line) == Status::ok);
      bench.sink.trigger();
      REQUIRE(bench.sink.sync() == Status::ok);
      CHECK(bench.inner.objects[name] == std::vector<std::byte>(700, std::byte(step)));
      CHECK(bench.inner.journals[name] == "x,y\n");
    }
  }
  CHECK(bench.sink.begin({root, directory, std::string(2051, 'f')}).status() == Status::name_too_long);
  // One that memory is short for leaves nothing behind.
  for (int round = 0; round < 3; ++round) {
    std::vector<ObjectId> open;
    for (Result<ObjectId> object = Status::ok; object.ok(); open.push_back(object.value()))
      object = bench.sink.begin({"/dump", "d", std::string(2048, 'f')});
    CHECK(open.size() == 1 + (HistorySink::kLongNamesFrom - HistorySink::kMostNameBytes) / 512 / 5);
    open.pop_back();
    for (const ObjectId object : open) bench.sink.abort(object);
  }
}

#if OPDUMP_FAULTS == 2
TEST_CASE("history: of a pair both objects are handed on, or neither, whichever call fails") {
  for (int call = 0;; ++call) {
    CAPTURE(call);
    HistoryBench bench(2, 0);
    REQUIRE(bench.write(1, "a") == Status::ok);
    bench.inner.fail_at = call;
    const Result<ObjectId> op = bench.sink.begin({"/dump", "net/2", "Conv2D.conv1.1.0.1700000000000000"});
    const Result<ObjectId> blob =
        bench.sink.begin({"/dump", "net/2", "Opdebug.Node_OpDebug.9.0.17", {.kind = ObjectKind::report}});
    const Bytes part = as_bytes("bytes");
    REQUIRE(bench.sink.append(op.value(), {&part, 1}) == Status::ok);
    REQUIRE(bench.sink.append(blob.value(), {&part, 1}) == Status::ok);
    const Status status = bench.sink.commit(op.value(), blob.value());
    std::size_t of_pair = 0;
    for (const std::string& path : bench.inner.order) of_pair += path.find("net/2") != path.npos ? 1 : 0;
    CHECK(of_pair == (status == Status::ok ? 2u : 0u));
    CHECK(bench.inner.open_objects.empty());
    CHECK(bench.inner.stray_aborts == 0);
    CHECK(bench.sink.triggers() == 1);
    if (call >= bench.inner.calls) {
      CHECK(bench.inner.order.size() == 3);
      break;
    }
  }
}

TEST_CASE("history: a pair is kept as two objects") {
  HistoryBench bench(2, 0);
  const ObjectId one = bench.sink.begin({"/dump", "net/2", "a"}).value();
  const ObjectId other = bench.sink.begin({"/dump", "net/2", "b"}).value();
  CHECK(bench.sink.commit(one, other) == Status::ok);
  CHECK(bench.inner.calls == 0);
  bench.sink.trigger();
  CHECK(bench.sink.sync() == Status::ok);
  CHECK(bench.files(0) == std::vector<std::string>{"2/a", "2/b"});
}
#endif
