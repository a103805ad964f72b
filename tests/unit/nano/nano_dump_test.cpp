// What libge_dbg does behind the nano executor, on a runtime without a board.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "platform/ascend/nano/nano_dump.hpp"
#include "platform/ascend/nano/profiling.hpp"
#include "tests/support/nano/dbg_maker.hpp"
#include "tests/support/nano/fake_nano_runtime.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/working_directory.hpp"

namespace opdump::tests::nano_dumps {

using namespace opdump::nano;

namespace {

using Record = FakeNanoRuntime::Record;

/// A process that runs models as the executor does, call by call.
class Process {
 public:
  Process() { add_model("net", made_ops()); }

  void add_model(const std::string& name, const std::vector<MadeOp>& ops, const std::string& graph = "") {
    const std::vector<std::byte> bytes = DbgMaker::file(graph.empty() ? name : graph, ops);
    write_file(directory.path() / (name + ".dbg"), std::string(as_text(bytes)));
  }

  std::string config(const std::string& members) {
    const std::filesystem::path path = directory.path() / "acl.json";
    write_file(path, "{\"dump\": {\"dump_path\": \"" + directory.text() + "\", " + members + "}}");
    return path.string();
  }

  Code init(const std::string& members) { return dump.init(config(members).c_str()); }

  bool logged(std::string_view text) const { return log.find(text) != std::string::npos; }

  TemporaryDirectory directory;
  std::string log;
  FakeNanoRuntime runtime;
  NanoDump dump{
      runtime,
      [](void* text, std::string_view line) { static_cast<std::string*>(text)->append(line).append("\n"); },
      &log};
};

/// A model that is loaded until it goes out of scope.
class Model {
 public:
  Model(Process& process, const std::string& name, std::uint32_t id = 3, std::uint16_t tasks = 4)
      : process_(process), id_(id), handle_(process.dump.create_handle()) {
    load.total_tasks = tasks;
    load.tasks = this;
    prepared = process.dump.prepare(&load, 400, name.c_str(), handle_);
    if (prepared == kOk) started = process.dump.start(id, &step, handle_);
  }
  Model(const Model&) = delete;
  ~Model() { process_.dump.release(handle_); }

  void run(int times = 1) {
    for (int i = 0; i < times; ++i) {
      process_.runtime.run(id_, this);
      process_.dump.step_done(handle_);
    }
  }

  ModelLoad load = {};
  std::uint64_t step = 0;
  Code prepared = kOk;
  Code started = kOk;

 private:
  Process& process_;
  const std::uint32_t id_;
  void* const handle_;
};

std::vector<std::uint64_t> steps_of(const FakeNanoRuntime& runtime) {
  std::vector<std::uint64_t> steps;
  for (const Record& record : runtime.records) {
    if (steps.empty() || steps.back() != record.step) steps.push_back(record.step);
  }
  return steps;
}

std::vector<std::string> ops_at(const FakeNanoRuntime& runtime, std::uint64_t step) {
  std::vector<std::string> ops;
  for (const Record& record : runtime.records) {
    if (record.step == step) ops.push_back(record.op);
  }
  return ops;
}

using Steps = std::vector<std::uint64_t>;
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("nano: a relative dump path stays where it was when the dump began") {
  Process process;
  const TemporaryDirectory bare;
  const WorkingDirectory first(process.directory.path());
  write_file("acl.json", R"({"dump": {"dump_path": ".", "dump_list": [{"model_name": "net"}]}})");
  REQUIRE(process.dump.init("acl.json") == kOk);
  const WorkingDirectory other(bare.path());
  Model net(process, "net");
  CHECK(net.prepared == kOk);
  CHECK(net.started == kOk);
  CHECK(process.runtime.directory.starts_with(process.directory.text() + '/'));
}

TEST_CASE("nano: listed operators are marked, and the device part gets the vendor's message") {
  Process process;
  process.runtime.device_id = 2;
  REQUIRE(process.init(R"("dump_list": [{"model_name": "net", "layer": ["conv", "fc"]}])") == kOk);
  CHECK(process.runtime.starts == 1);
  {
    Model model(process, "net");
    CHECK(model.prepared == kOk);
    CHECK(model.started == kOk);
    CHECK(model.load.overflow_en == 0);
    CHECK(process.runtime.marked[&model] == std::set<std::uint32_t>{0, 3});
    CHECK(process.runtime.flag_calls[0] == std::pair<void*, std::size_t>(&model, 400));
    REQUIRE(process.runtime.sent.size() == 1);
    CHECK(process.runtime.last.load);
    CHECK(process.runtime.last.model_id == 3);
    CHECK(process.runtime.last.step == &model.step);
    CHECK(process.runtime.last.mode == kModeOutputs);
    CHECK(process.runtime.last.data == kDataStatistics);
    CHECK(process.runtime.description == DbgMaker::file("net", made_ops()));
    const std::string& directory = process.runtime.directory;
    const std::string root = process.directory.text() + "/";
    REQUIRE(directory.size() == root.size() + 14 + 3);
    CHECK(directory.starts_with(root + "20"));
    CHECK(directory.ends_with("/2/"));
    model.run(3);
    CHECK(model.step == 3);
    CHECK(process.runtime.sent.size() == 1);
  }
  CHECK(process.runtime.sent.size() == 2);
  CHECK_FALSE(process.runtime.last.load);
  CHECK(steps_of(process.runtime) == Steps{0, 1, 2});
  CHECK(ops_at(process.runtime, 1) == Names{"conv", "fc_add"});
  CHECK(process.dump.deinit() == kOk);
  CHECK(process.runtime.stops == 1);
  CHECK(process.logged("model \"net\": 1 rule, 2 of 4 ops match"));
  CHECK(process.logged("model \"net\": asked for are \"conv\", \"fc_add\"\n"));
  CHECK(process.logged("model \"net\" (id 3): 3 steps ran, and 3 of them were asked for\n"));
  CHECK_FALSE(process.logged("never captured"));
}

TEST_CASE("nano: what is dumped of an operator goes to the device part") {
  for (const auto& [members, mode, data] :
       {std::tuple{R"("dump_mode": "input")", kModeInputs, kDataStatistics},
        std::tuple{R"("dump_mode": "all", "dump_data": "stats")", kModeAll, kDataStatistics},
        std::tuple{R"("dump_mode": "output", "dump_data": "tensor")", kModeOutputs, kDataTensors}}) {
    Process process;
    REQUIRE(process.init(std::string(members) + R"(, "dump_list": [{"model_name": "net"}])") == kOk);
    const Model model(process, "net");
    CHECK(process.runtime.last.mode == mode);
    CHECK(process.runtime.last.data == data);
    CHECK(process.runtime.marked[model.load.tasks].size() == 4);
  }
}

TEST_CASE("nano: steps are told by messages between them, and only where something changes") {
  Process process;
  REQUIRE(
      process.init(R"("dump_step": "1|3-5|9-12", "dump_list": [{"model_name": "net", "layer": ["relu"]}])") ==
      kOk);
  {
    Model model(process, "net");
    CHECK(process.runtime.sent.empty());
    model.run(11);
    CHECK(model.step == 11);
  }
  CHECK(steps_of(process.runtime) == Steps{1, 3, 4, 5, 9, 10});
  const std::vector<std::pair<bool, std::uint64_t>> expected = {{true, 1},  {false, 2}, {true, 3},
                                                                {false, 6}, {true, 9},  {false, 11}};
  REQUIRE(process.runtime.sent.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(process.runtime.sent[i].load == expected[i].first);
    CHECK(process.runtime.sent[i].step == expected[i].second);
  }
  CHECK(process.logged("11 steps ran, and 6 of them were asked for\n"));
  CHECK(process.logged("never captured: steps 11 to 12 of model \"net\": the model did not come to them\n"));
}

TEST_CASE("nano: every random choice of steps and operators gives its records and no others") {
  Random random(21);
  const std::vector<MadeOp> ops = made_ops();
  for (int round = 0; round < 300; ++round) {
    Process process;
    std::string steps;
    std::vector<bool> wanted(20, false);
    for (std::uint32_t i = random.below(4); i != 0; --i) {
      const std::uint32_t first = random.below(20);
      const std::uint32_t last = first + random.below(3);
      steps += (steps.empty() ? "" : "|") + std::to_string(first) + "-" + std::to_string(last);
      for (std::uint32_t step = first; step <= last && step < 20; ++step) wanted[step] = true;
    }
    if (steps.empty()) wanted.assign(20, true);
    std::string layers;
    Names names;
    for (const MadeOp& op : ops) {
      if (random.below(2) == 0) continue;
      layers += (layers.empty() ? "\"" : ", \"") + op.name + "\"";
      names.push_back(op.name);
    }
    if (layers.empty()) continue;
    CAPTURE(steps);
    CAPTURE(layers);
    REQUIRE(process.init((steps.empty() ? "" : "\"dump_step\": \"" + steps + "\", ") +
                         "\"dump_list\": [{\"model_name\": \"net\", \"layer\": [" + layers + "]}]") == kOk);
    const std::uint32_t loads = 1 + random.below(2);
    for (std::uint32_t load = 0; load < loads; ++load) {
      process.runtime.records.clear();
      const std::uint32_t runs = random.below(20);
      Model model(process, "net", load);
      model.run(static_cast<int>(runs));
      Steps expected;
      for (std::uint32_t step = 0; step < runs; ++step) {
        if (wanted[step]) expected.push_back(step);
      }
      CHECK(steps_of(process.runtime) == expected);
      for (const std::uint64_t step : expected) CHECK(ops_at(process.runtime, step) == names);
    }
    CHECK(process.runtime.loaded.empty());
    for (std::size_t i = 1; i < process.runtime.sent.size(); ++i) {
      if (process.runtime.sent[i].model_id == process.runtime.sent[i - 1].model_id)
        CHECK(process.runtime.sent[i].load != process.runtime.sent[i - 1].load);
    }
  }
}

TEST_CASE("nano: ranges, blacklists and levels hold, which the vendor's library ignores") {
  Process process;
  REQUIRE(process.init(R"("dump_level": "op", "dump_mode": "all", "dump_list": [{"model_name": "net",
          "opname_range": [{"begin": "relu", "end": "fc_add"}],
          "optype_blacklist": [{"name": "MatMul", "pos": ["input0"]}],
          "opname_blacklist": [{"name": "pool", "pos": ["input0", "output0"]}]}])") == kOk);
  {
    Model model(process, "net");
    CHECK(process.runtime.marked[&model] == std::set<std::uint32_t>{1, 3});
    model.run();
  }
  CHECK(process.runtime.records == std::vector<Record>{{0, "relu", 1, 1}, {0, "fc_add", 1, 1}});
  CHECK(process.logged(
      "operator \"pool\" of model \"net\" is not dumped: the blacklists leave out every tensor"));
}

TEST_CASE("nano: several models, each by its file or by its graph") {
  Process process;
  process.add_model("second", {{"a", "A", 0}, {"b", "B", 1}}, "graph_of_second");
  process.add_model("third", {{"a", "A", 0}});
  REQUIRE(process.init(R"("dump_step": "0", "dump_list": [{"model_name": "net", "layer": ["conv"]},
          {"model_name": "graph_of_second", "layer": ["b"]}, {"model_name": "absent"},
          {"model_name": "thirt"}])") == kOk);
  {
    Model net(process, "net", 1);
    Model second(process, "second", 2);
    Model third(process, "third", 3);
    CHECK(process.runtime.marked[&third].empty());
    net.run(2);
    second.run(2);
    third.run(2);
    CHECK(net.step == 2);
    CHECK(third.step == 0);  // as in the vendor's library
  }
  CHECK(process.runtime.records == std::vector<Record>{{0, "conv", 0, 1}, {0, "b", 0, 0}});
  CHECK(process.logged(
      "model \"third\" is not dumped: the config does not name it; is it meant by \"thirt\"?"));
  process.dump.deinit();
  CHECK(process.logged("never captured: model \"absent\": no such model was loaded"));
  CHECK(process.logged("never captured: model \"thirt\": no such model was loaded"));
  CHECK_FALSE(process.logged("never captured: model \"graph_of_second\""));
}

TEST_CASE("nano: names that match nothing are told, with the name that was meant") {
  Process process;
  REQUIRE(process.init(R"("dump_level": "op", "dump_list": [{"model_name": "net", "layer": ["conw", "conv"],
          "opname_range": [{"begin": "pool", "end": "relu"}],
          "opname_blacklist": [{"name": "fc_ad", "pos": ["input0"]}]}])") == kOk);
  const Model model(process, "net");
  CHECK(process.logged("layer \"conw\" of model \"net\" matches nothing; did you mean \"conv\"?"));
  CHECK(process.logged("range \"pool\" to \"relu\" of model \"net\", which does not run in that order"));
  CHECK(
      process.logged("\"fc_ad\" in the opname_blacklist of model \"net\" matches nothing; did you mean "
                     "\"fc_add\"?"));
}

TEST_CASE("nano: the scenes debug and exception send the message and mark nothing") {
  for (const char* members : {R"("dump_scene": "debug")", R"("dump_debug": "on")"}) {
    Process process;
    REQUIRE(process.init(members) == kOk);
    Model model(process, "net");
    CHECK(model.load.overflow_en == 1);
    CHECK(process.runtime.flag_calls.empty());
    CHECK(process.runtime.sent.size() == 1);
    model.run(2);
    CHECK(model.step == 2);
  }
  Process process;
  REQUIRE(process.init(R"("dump_scene": "exception", "dump_list": [])") == kOk);
  // Only the head of the file matters to the vendor.
  write_file(process.directory.path() / "net.dbg",
             std::string(as_text(DbgMaker::file("net", made_ops()))).substr(0, 50));
  {
    const Model model(process, "net");
    CHECK(model.prepared == kOk);
    CHECK(model.load.overflow_en == 0);
    CHECK(process.runtime.sent.size() == 1);
    CHECK(process.runtime.description.size() == 50);
  }
  CHECK(process.runtime.sent.size() == 2);
  CHECK(process.logged("passes the end of the file"));
}

TEST_CASE("nano: a config that is off, missing or refused leaves every call without effect") {
  Process process;
  for (const char* members :
       {R"("dump_list": [])", R"("dump_mode": "all1", "dump_list": [{"model_name": "net"}])",
        R"("dump_list": [], "dump_op_switch": "on")", R"("dump_list": [{"model_name": "net", "layer": []}])",
        R"("dump_scene": "debug", "dump_list": [{"model_name": "net"}])"}) {
    process.log.clear();
    CHECK(process.init(members) == kOk);
    CHECK(process.logged("the dump is off"));
  }
  const std::string missing = process.directory.text() + "/none.json";
  for (const char* path : {static_cast<const char*>(nullptr), "", missing.c_str()})
    CHECK(process.dump.init(path) == kOk);
  CHECK(process.logged("none.json"));
  CHECK(process.runtime.starts == 0);
  CHECK(process.dump.create_handle() == nullptr);
  CHECK(process.dump.prepare(nullptr, 0, nullptr, nullptr) == kOk);
  CHECK(process.dump.start(1, nullptr, nullptr) == kOk);
  process.dump.step_done(nullptr);
  process.dump.release(nullptr);
  CHECK(process.dump.deinit() == kOk);
  CHECK(process.runtime.stops == 0);
}

TEST_CASE("nano: what the vendor's library fails at fails with its code and a reason") {
  Process process;
  const std::string listed = R"("dump_list": [{"model_name": "net"}])";
  process.runtime.start_code = 507000;
  CHECK(process.init(listed) == 507000);
  CHECK(process.logged("cannot be started"));
  CHECK(process.dump.create_handle() == nullptr);
  process.runtime.start_code = 0;
  REQUIRE(process.init(listed) == kOk);

  CHECK(Model(process, "none").prepared == kInternalError);
  CHECK(process.logged(process.directory.text() + "/none.dbg: No such file or directory"));
  write_file(process.directory.path() / "bad.dbg", "no dbg file at all");
  CHECK(Model(process, "bad").prepared == kInternalError);
  CHECK(process.logged("lacks the magic number"));
  write_file(process.directory.path() / "bad.dbg",
             std::string(as_text(DbgMaker::file("net", made_ops()))).substr(0, 90));
  CHECK(Model(process, "bad").prepared == kInternalError);
  write_file(process.directory.path() / "bad.dbg", "");
  CHECK(Model(process, "bad").prepared == kInternalError);
  CHECK(Model(process, "net", 3, 3).prepared == kInternalError);
  CHECK(process.logged("operator \"fc_add\" as task 3, and the model has 3 tasks"));
  CHECK(process.runtime.flag_calls.empty());

  ModelLoad load = {};
  CHECK(process.dump.prepare(&load, 0, "net", nullptr) == kNoMemory);
  CHECK(process.dump.start(1, nullptr, nullptr) == kNoMemory);
  process.dump.step_done(nullptr);

  process.runtime.send_code = 107000;
  CHECK(Model(process, "net").started == 107000);
  CHECK(process.logged("rtMsgSend returned 107000 before step 0, which is wanted and is not dumped"));
}

TEST_CASE("nano: a runtime without the functions of a dump leaves it off") {
  Process process;
  process.runtime.absent = "rtMsgSend";
  CHECK(process.init(R"("dump_list": [{"model_name": "net"}])") == kOk);
  CHECK(process.logged("the runtime has no rtMsgSend"));
  CHECK(process.dump.create_handle() == nullptr);
}

TEST_CASE(
    "nano: a task that cannot be marked, and messages that fail between steps, are told and cost no step") {
  Process process;
  process.runtime.refused_task = 1;
  REQUIRE(process.init(R"("dump_step": "1|3|5", "dump_list": [{"model_name": "net"}])") == kOk);
  {
    Model model(process, "net");
    CHECK(model.prepared == kOk);
    CHECK(
        process.logged("operator \"relu\" of model \"net\" is not dumped: rtSetTaskDescDumpFlag of task 1"));
    process.runtime.send_code = 207014;
    model.run(2);  // step 1 cannot be asked for
    process.runtime.send_code = 0;
    model.run(1);
    process.runtime.send_code = 207014;
    model.run(1);  // the message after step 3 fails, so that step 4 is dumped too
    process.runtime.send_code = 0;
    model.run(3);
    CHECK(model.step == 7);
  }
  CHECK(steps_of(process.runtime) == Steps{3, 4, 5});
  CHECK(process.logged("7 steps ran, and 3 of them were asked for; 1 step more could not be"));
  CHECK(std::count(process.log.begin(), process.log.end(), '\n') < 40);
}

TEST_CASE("nano: models that outlive the dump are let go without a word to the device") {
  Process process;
  REQUIRE(process.init(R"("dump_list": [{"model_name": "net"}])") == kOk);
  {
    Model model(process, "net");
    model.run();
    process.dump.deinit();
    model.run();
    CHECK(model.step == 1);
  }
  CHECK(process.runtime.sent.size() == 1);
  REQUIRE(process.init(R"("dump_list": [{"model_name": "net"}])") == kOk);
  CHECK(process.runtime.starts == 2);
}

TEST_CASE("nano: keys that only a device part could follow are told") {
  Process process;
  write_file(process.directory.path() / "acl.json",
             "{\"dump\": {\"dump_path\": \"" + process.directory.text() +
                 "\", \"dump_op_switch\": \"on\", \"dump_data\": \"stats\", \"dump_stats\": [\"Max\"], "
                 "\"dump_list\": [{\"model_name\": \"net\"}]}, \"opdump\": {\"max_bytes\": 1000}}");
  REQUIRE(process.dump.init((process.directory.text() + "/acl.json").c_str()) == kOk);
  CHECK(process.logged("\"dump_op_switch\" does not count"));
  CHECK(process.logged("\"dump_stats\" does not count"));
  CHECK(process.logged("counts only if the device part reads it too"));
}

TEST_CASE("nano: the profiler gets its object as it stands in the config") {
  CHECK(object_of(R"({"dump": {}, "profiler": {"switch": "on", "a": ["}", "\"{"]} , "x": 1})", "profiler") ==
        R"({"switch": "on", "a": ["}", "\"{"]})");
  CHECK(object_of(R"({"profiler": "on"})", "profiler").empty());
  CHECK(object_of(R"({"a": {"profiler": {}}})", "profiler").empty());
  CHECK(object_of("{", "profiler").empty());
  CHECK(object_of("", "profiler").empty());
  TemporaryDirectory directory;
  write_file(directory.path() / "acl.json", R"({"profiler": {"switch": "on"}})");
  std::string log;
  Profiling profiling(
      [](void* text, std::string_view line) { static_cast<std::string*>(text)->append(line).append("\n"); },
      &log);
  CHECK(profiling.start(nullptr) == kOk);
  CHECK(profiling.device_set(0, 0) == kOk);
  CHECK(profiling.start((directory.text() + "/acl.json").c_str()) == kParamInvalid);
  CHECK(log.find("libprofapi.so") != std::string::npos);
  CHECK_FALSE(Profiling::times_tasks());
}

}  // namespace opdump::tests::nano_dumps
