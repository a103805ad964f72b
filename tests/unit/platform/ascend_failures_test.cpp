// A program with a dump to files on an Ascend device, while each function and each call of the driver fails
// in turn: inference goes on, the counts balance, and the journal names what failed.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "platform/ascend/ascend_memory.hpp"
#include "platform/posix/basic_file_dump.hpp"
#include "tests/support/ascend/ascend_rig.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::ascend;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kSteps = 5;
constexpr std::size_t kOps = 2;
constexpr std::size_t kMostBytes = 6000;
constexpr std::uint32_t kStreams[kOps] = {5, 6};
constexpr int kInternal = 507899, kUnsupported = 207000, kApiUnsupported = 200001;

const OpDesc kTwoStreams[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = kStreams[0]},
                              {.name = "conv2", .type = "Conv2D", .task_id = 1, .stream_id = kStreams[1]}};
const ModelDesc kTwoStreamsModel = {.name = "net", .id = 1, .ops = kTwoStreams};

struct Form {
  const char* name;
  SimulatedAscend how;
  MemoryOptions options;
};

const Form kForms[] = {
    {"server", {}, {.lanes = 2, .staging_bytes = 1024}},
    {"server, device 1", {.shuffle_seed = 3}, {.device_id = 1, .lanes = 2, .staging_bytes = 1024}},
    {"server without lanes", {}, {.lanes = 0, .staging_bytes = 1024}},
    {"RC", {.rc = true}, {.lanes = 2, .staging_bytes = 1024}},
    {"RC, copied", {.rc = true}, {.lanes = 2, .staging_bytes = 1024, .read_in_place = false}}};

struct ProgramOutcome {
  Status opened = Status::ok;
  std::uint32_t inferences = 0;  ///< steps that ran to their end
  std::uint64_t calls = 0;       ///< of the driver, until the dump had ended
  std::uint64_t background = 0;
  DumpCounts counts{};
  DriverError said{};  ///< by the memory when the dump had ended
  std::string journal{};
  std::uint32_t right = 0, wrong = 0;  ///< files by what they hold

  /// What the journal says of the driver; empty: nothing.
  std::string_view driver_line() const {
    for (const std::string_view line : split(journal, '\n')) {
      if (line.starts_with("driver,")) return line;
    }
    return {};
  }
};

std::size_t bytes_of(std::uint32_t step) {
  return step == 2 ? kMostBytes : 200 + step;
}

/// What operator `op` computes at that step.
std::vector<std::byte> result_of(std::size_t op, std::uint32_t step) {
  std::vector<std::byte> data(bytes_of(step));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>((i * 2654435761u + op * 97 + step * 31) >> 11);
  return data;
}

/// A directory for one dump, and what became of it.
class Dump {
 public:
  Dump() {
    write_file(config(), R"({"dump": {"dump_path": ")" + directory_.text() +
                             R"(", "dump_list": [{"model_name": "net"}]}})");
  }

  std::string config() const { return directory_.text() + "/acl.json"; }

  void look(ProgramOutcome& outcome) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      if (!entry.is_regular_file() || entry.path() == config()) continue;
      const std::string file = read_file(entry.path());
      if (entry.path().extension() == ".journal") {
        outcome.journal += file;
        continue;
      }
      const std::string name = entry.path().filename().string();
      const auto step =
          static_cast<std::uint32_t>(std::stoul(entry.path().parent_path().filename().string()));
      const std::vector<std::byte> result = result_of(name.starts_with("Conv2D.conv1.") ? 0 : 1, step);
      const bool same = file.size() > result.size() && std::memcmp(file.data() + file.size() - result.size(),
                                                                   result.data(), result.size()) == 0;
      ++(same ? outcome.right : outcome.wrong);
    }
  }

 private:
  TemporaryDirectory directory_;
};

/// A program that runs `kSteps` steps on a driver that `prepare` has prepared.
ProgramOutcome run_program(const Form& form, const std::function<void(Rig&)>& prepare) {
  ProgramOutcome outcome;
  Rig rig;
  rig.use_device(static_cast<std::int32_t>(form.options.device_id));
  Address outputs[kOps];
  void* streams[kOps];
  for (std::size_t op = 0; op < kOps; ++op) {
    outputs[op] = rig.allocate(kMostBytes + 8) + op * 8;
    streams[op] = rig.create_stream();
  }
  rig.reset(form.how);
  prepare(rig);
  const Dump files;
  {
    AscendMemory memory;
    outcome.opened = memory.open(rig.api(), form.options);
    for (std::size_t op = 0; op < kOps && outcome.opened == Status::ok; ++op)
      REQUIRE(memory.add_stream(kStreams[op], streams[op]) == Status::ok);
    auto dump = std::make_unique<posix::BasicFileDump<AscendMemory>>(memory, form.options.device_id);
    dump->log_to(nullptr, nullptr);
    ModelPlanFor<kOps> plan;
    // Where the memory does not open, the program runs on without a dump.
    if (outcome.opened == Status::ok) REQUIRE(dump->start(files.config().c_str()) == Status::ok);
    REQUIRE(dump->load_model(plan, kTwoStreamsModel) == Status::ok);
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      CHECK(dump->recorder().begin_step(plan) == Status::ok);
      for (std::size_t op = 0; op < kOps; ++op) {
        const std::vector<std::byte> result = result_of(op, step);
        rig.upload(outputs[op], result.data(), result.size());
        if (step == 3) rig.set_overflow(static_cast<std::int32_t>(form.options.device_id));
        if (outcome.opened == Status::ok) static_cast<void>(memory.overflowed(kStreams[op]));
        const Dim dim = result.size();
        const TensorView output = {
            .address = outputs[op], .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
        if (dump->recorder().wants(op)) static_cast<void>(dump->recorder().capture(op, {}, {&output, 1}));
      }
      CHECK(dump->recorder().end_step() == Status::ok);
      ++outcome.inferences;
    }
    static_cast<void>(dump->stop());
    outcome.counts = dump->counts();
    outcome.said = memory.driver_error();
    outcome.calls = rig.counts().calls;
    outcome.background = rig.counts().background;
    dump.reset();
    rig.fail_function(nullptr, 0);
    rig.fail_call(~std::uint64_t{0}, 0);
    CHECK(memory.close() == Status::ok);
  }
  files.look(outcome);
  for (void* stream : streams) {
    rig.synchronize_stream(stream);
    rig.destroy_stream(stream);
  }
  rig.free_all();
  rig.drop_left_over();
  rig.use_device(0);
  return outcome;
}

/// Holds for whatever has failed.
void check_account(const ProgramOutcome& outcome, int code) {
  CHECK(outcome.inferences == kSteps);
  if (outcome.opened != Status::ok) {
    CHECK(outcome.said.code == code);
    return;
  }
  const JournalAccount account = account_of(outcome.journal);
  CHECK(account.wrong == "");
  CHECK(outcome.counts.wanted == kSteps * kOps);
  CHECK(outcome.counts.wanted == outcome.counts.written + outcome.counts.lost());
  CHECK(account.written == outcome.counts.written);
  CHECK(account.lost + account.in_gaps == outcome.counts.lost());
  CHECK(outcome.counts.lost() == outcome.counts.device_failed);
  CHECK(outcome.right == outcome.counts.written);
  CHECK(outcome.wrong == 0);
  const std::string line = outcome.said.call == nullptr ? std::string()
                                                        : "driver," + std::string(outcome.said.call) + "," +
                                                              std::to_string(outcome.said.code);
  CHECK(outcome.driver_line() == line);
  const bool is_named = line.ends_with("," + std::to_string(code));
  if (outcome.counts.lost() != 0) CHECK(is_named);
}

enum class Used { always, to_copy, by_lanes, to_read_in_place };

struct Function {
  const char* name;
  Used used = Used::always;

  bool is_used(const Form& form) const {
    const bool in_place = form.how.rc && form.options.read_in_place;
    if (used == Used::to_copy) return !in_place;
    if (used == Used::by_lanes) return !in_place && form.options.lanes != 0;
    return used == Used::always || form.options.read_in_place;
  }
};

// Those that give things back are called when the dump has ended, or when others fail.
const Function kUsed[] = {{"aclrtMemcpy", Used::to_copy},
                          {"aclrtGetDevice"},
                          {"aclrtGetRunMode", Used::to_read_in_place},
                          {"aclrtSynchronizeStream"},
                          {"aclrtMemcpyAsync", Used::by_lanes},
                          {"aclrtMallocHost", Used::by_lanes},
                          {"aclrtCreateStream", Used::by_lanes},
                          {"aclrtMalloc"},
                          {"aclrtGetOverflowStatus"},
                          {"aclrtResetOverflowStatus"}};
const Function kOthers[] = {{"aclrtFreeHost"},
                            {"aclrtDestroyStream"},
                            {"aclrtSynchronizeStreamWithTimeout"},
                            {"aclrtStreamQuery"},
                            {"aclrtFree"}};

}  // namespace

TEST_CASE("ascend failures: without any, all is written and the journal has no word of the driver") {
  for (const Form& form : kForms) {
    CAPTURE(std::string(form.name));
    const ProgramOutcome outcome = run_program(form, [](Rig&) {});
    check_account(outcome, 0);
    CHECK(outcome.counts.lost() == 0);
    // Not even where the driver has refused addresses that are not aligned.
    CHECK(outcome.driver_line() == "");
  }
}

TEST_CASE("ascend failures: inference goes on with each function that fails, and the journal names it") {
  for (const Form& form : kForms) {
    for (const Function& function : kUsed) {
      CAPTURE(std::string(form.name));
      CAPTURE(std::string(function.name));
      const ProgramOutcome outcome =
          run_program(form, [&](Rig& rig) { rig.fail_function(function.name, kInternal); });
      check_account(outcome, kInternal);
      const bool no_device = std::strcmp(function.name, "aclrtGetDevice") == 0;
      CHECK(outcome.opened == (no_device ? Status::driver_failed : Status::ok));
      if (no_device) continue;
      const std::string named = "driver," + std::string(function.name) + "," + std::to_string(kInternal);
      CHECK(outcome.driver_line() == (function.is_used(form) ? named : ""));
      const bool no_copy = std::strcmp(function.name, "aclrtMemcpy") == 0 && form.options.lanes == 0;
      CHECK(outcome.counts.lost() == (no_copy ? kSteps * kOps : 0));
    }
    for (const Function& function : kOthers) {
      CAPTURE(std::string(form.name));
      CAPTURE(std::string(function.name));
      const ProgramOutcome outcome =
          run_program(form, [&](Rig& rig) { rig.fail_function(function.name, kInternal); });
      check_account(outcome, kInternal);
      CHECK(outcome.counts.lost() == 0);
    }
  }
}

TEST_CASE("ascend failures: what is not supported is no failure, and loses nothing") {
  for (const Form& form : kForms) {
    for (const auto& functions : {std::vector<Function>(std::begin(kUsed), std::end(kUsed)),
                                  std::vector<Function>(std::begin(kOthers), std::end(kOthers))}) {
      for (const Function& function : functions) {
        for (const int code : {kUnsupported, kApiUnsupported}) {
          if (code == kApiUnsupported && OPDUMP_TEST_SHARE > 1) continue;
          CAPTURE(std::string(form.name));
          CAPTURE(std::string(function.name));
          const bool no_copy = std::strcmp(function.name, "aclrtMemcpy") == 0 && form.options.lanes == 0;
          const ProgramOutcome outcome =
              run_program(form, [&](Rig& rig) { rig.fail_function(function.name, code); });
          CHECK(outcome.inferences == kSteps);
          CHECK(outcome.counts.lost() == (no_copy ? kSteps * kOps : 0));
          CHECK(outcome.right == outcome.counts.written);
          CHECK(account_of(outcome.journal).wrong == "");
          CHECK(outcome.driver_line().find(std::to_string(code)) == std::string_view::npos);
        }
      }
    }
  }
}

TEST_CASE(
    "ascend failures: each call of the driver may fail once; the journal names it, RC form loses nothing") {
  for (const Form& form : kForms) {
    std::uint64_t calls = 0;
    for (std::uint64_t failing = 0; failing <= calls; failing = next_way(failing)) {
      CAPTURE(std::string(form.name));
      CAPTURE(failing);
      const ProgramOutcome outcome =
          run_program(form, [failing](Rig& rig) { rig.fail_call(failing, kInternal); });
      check_account(outcome, kInternal);
      CHECK((outcome.opened == Status::ok || failing < 2));
      calls = std::max(calls, outcome.calls);
      if (form.how.rc) CHECK(outcome.counts.lost() == 0);
      CHECK(outcome.counts.lost() <= 1);
      const bool is_named = outcome.said.call != nullptr && outcome.said.code == kInternal;
      CHECK(is_named == (failing < outcome.calls));
    }
    MESSAGE(std::string(form.name) << ": calls that failed, each in a run of its own: " << calls);
    CHECK(calls > 40);
  }
}

TEST_CASE(
    "ascend failures: each copy in the background that fails on the device costs one record, which is "
    "named") {
  std::uint64_t copies = 1;
  for (std::uint64_t failing = 0; failing <= copies; ++failing) {
    CAPTURE(failing);
    const ProgramOutcome outcome =
        run_program(kForms[0], [failing](Rig& rig) { rig.fail_copy(failing, 507052); });
    check_account(outcome, 507052);
    copies = outcome.background;
    const bool failed = failing < copies;
    CHECK(outcome.counts.lost() == (failed ? 1 : 0));
    CHECK(outcome.driver_line() == (failed ? "driver,aclrtSynchronizeStream,507052" : ""));
  }
  CHECK(copies > 15);
}
