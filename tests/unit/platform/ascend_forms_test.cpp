// The Ascend backend on boards of several forms, and with drivers that lack functions or fail in them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "opdump/parts/overflow_scan.hpp"
#include "platform/ascend/ascend_memory.hpp"
#include "platform/posix/basic_file_dump.hpp"
#include "tests/support/ascend/ascend_rig.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump;
using namespace opdump::ascend;
using namespace opdump::tests;

static_assert(ViewableMemory<AscendMemory>);

namespace {

constexpr std::size_t kTensorBytes = 9000;
const OpDesc kAscendOp[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 5}};
const ModelRule kAllModels = {.any_model = true};

std::vector<std::byte> pattern(unsigned seed) {
  std::vector<std::byte> data(kTensorBytes + 64);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>((i * 2654435761u + seed * 97u) >> 11);
  return data;
}

/// A model whose one operator has outputs of several sizes, anywhere in device memory.
class Net {
 public:
  Net(AscendMemory& memory, std::uint32_t device, Address on_device, const std::vector<std::byte>& data)
      : data_(data),
        on_device_(on_device),
        session_({.memory = memory,
                  .sink = sink,
                  .clock = clock_,
                  .scratch = scratch_,
                  .device_id = device,
                  .when_full = WhenFull::inline_drain,
                  .block_limit_ms = 10000,
                  .journal = JournalDetail::none}),
        recorder_(*session_.add_recorder(ring_).value()) {
    REQUIRE(session_.init() == Status::ok);
    const DumpConfig config = {
        .active = true, .dump_path = "/d", .mode = DumpMode::all, .models = {&kAllModels, 1}};
    REQUIRE(session_.set_config(config) == Status::ok);
    REQUIRE(session_.load_model(plan_, model_) == Status::ok);
  }

  void run(std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      const Dim dims[] = {1 + step * 31 % 300, step % 3 == 0 ? kTensorBytes : 64};
      TensorView outputs[2];
      for (int i = 0; i < 2; ++i) {
        const std::size_t start = (step * 7 + static_cast<std::size_t>(i)) % 64;
        outputs[i] = {.address = on_device_ + start,
                      .bytes = dims[i],
                      .dtype = DType::uint8,
                      .shape = Shape(&dims[i], 1)};
        const auto from = data_.begin() + static_cast<std::ptrdiff_t>(start);
        expected_.insert(expected_.end(), from, from + static_cast<std::ptrdiff_t>(dims[i]));
      }
      CHECK(recorder_.begin_step(plan_) == Status::ok);
      lost += recorder_.capture(0, {}, outputs) == Status::ok ? 0 : 1;
      CHECK(recorder_.end_step() == Status::ok);
      const bool whole = ends_with_expected();
      wrong += whole ? 0 : 1;
      expected_.clear();
    }
  }

  void end() {
    CHECK(session_.finalize() == Status::ok);
    CHECK(session_.remove_recorder(recorder_) == Status::ok);
  }

  FakeSink sink;
  std::uint32_t lost = 0;
  std::uint32_t wrong = 0;  ///< records that are not what the device holds

 private:
  /// Whether the latest record does, of those that there are.
  bool ends_with_expected() {
    while (session_.drain_some(SIZE_MAX) != 0) continue;
    if (sink.objects.size() <= seen_) return false;
    seen_ = sink.objects.size();
    return std::any_of(sink.objects.begin(), sink.objects.end(), [this](const auto& object) {
      const auto& file = object.second;
      return file.size() > expected_.size() &&
             std::equal(expected_.begin(), expected_.end(),
                        file.end() - static_cast<std::ptrdiff_t>(expected_.size()));
    });
  }

  const std::vector<std::byte>& data_;
  Address on_device_;
  FakeClock clock_;
  std::byte scratch_[4096];
  alignas(8) std::byte ring_[4096];
  BasicSession<AscendMemory> session_;
  BasicSession<AscendMemory>::Recorder& recorder_;
  ModelDesc model_{.name = "net", .id = 1, .ops = kAscendOp};
  ModelPlanFor<1> plan_;
  std::vector<std::byte> expected_;
  std::size_t seen_ = 0;
};

struct Outcome {
  Status opened = Status::ok;
  std::uint32_t lost = 0, wrong = 0;
  std::uint64_t calls = 0;  ///< until the memory was closed
};

/// What becomes of a run of 40 steps, on a driver that is prepared by `prepare` before the memory is opened.
template <class Prepare>
Outcome run(Rig& rig, const SimulatedAscend& how, const MemoryOptions& options, Prepare prepare) {
  Outcome outcome;
  const std::vector<std::byte> data = pattern(3);
  const Address on_device = rig.allocate(data.size());
  rig.upload(on_device, data.data(), data.size());
  rig.reset(how);
  void* const stream = rig.create_stream();
  prepare();
  {
    AscendMemory memory;
    outcome.opened = memory.open(rig.api(), options);
    if (outcome.opened == Status::ok) {
      REQUIRE(memory.add_stream(5, stream) == Status::ok);
      Net net(memory, 0, on_device, data);
      net.run(40);
      net.end();
      outcome.lost = net.lost;
      outcome.wrong = net.wrong;
      static_cast<void>(memory.overflowed(5));
      rig.fail_function(nullptr, 0);
      outcome.calls = rig.counts().calls;
      rig.fail_call(~std::uint64_t{0}, 0);
      CHECK(memory.close() == Status::ok);
    }
  }
  rig.fail_function(nullptr, 0);
  rig.destroy_stream(stream);
  rig.free_all();
  return outcome;
}

const char* const kFunctions[] = {"aclrtMemcpy",
                                  "aclrtGetDevice",
                                  "aclrtGetRunMode",
                                  "aclrtSynchronizeStream",
                                  "aclrtMemcpyAsync",
                                  "aclrtMallocHost",
                                  "aclrtFreeHost",
                                  "aclrtCreateStream",
                                  "aclrtDestroyStream",
                                  "aclrtSynchronizeStreamWithTimeout",
                                  "aclrtStreamQuery",
                                  "aclrtMalloc",
                                  "aclrtFree",
                                  "aclrtGetOverflowStatus",
                                  "aclrtResetOverflowStatus"};

}  // namespace

TEST_CASE("ascend: on a board whose CPU is the device's own, that reads the tensors itself") {
  Rig rig;
  const std::vector<std::byte> data = pattern(1);
  const Address on_device = rig.allocate(data.size());
  rig.upload(on_device, data.data(), data.size());
  rig.reset({.rc = true});
  AscendMemory memory;
  REQUIRE(memory.open(rig.api()) == Status::ok);
  CHECK(memory.reads_in_place());
  CHECK_FALSE(memory.asynchronous());
  CHECK(memory.view(on_device + 3, 100).size() == 100);
  const std::uint64_t calls = rig.counts().calls;
  Net net(memory, 0, on_device, data);
  net.run(200);
  net.end();
  CHECK(net.lost == 0);
  CHECK(net.wrong == 0);
  CHECK(net.sink.objects.size() == 200);
  // But for the question which device it is, the driver is not needed.
  CHECK(rig.counts().calls == calls + 200);
  REQUIRE(memory.close() == Status::ok);
  CHECK_FALSE(memory.reads_in_place());
  rig.reset({});
  REQUIRE(memory.open(rig.api()) == Status::ok);
  CHECK_FALSE(memory.reads_in_place());
  CHECK(memory.view(on_device, 100).empty());
  REQUIRE(memory.close() == Status::ok);
  rig.free_all();
  rig.check_nothing_is_left();
}

TEST_CASE(
    "ascend: where the driver's memory is not aligned, lanes and pinned memory are, and nothing is lost") {
  for (const bool hidden : {true, false}) {
    for (const std::size_t lanes : {std::size_t{4}, std::size_t{0}}) {
      Rig rig;
      const std::vector<std::byte> data = pattern(2);
      const Address on_device = rig.allocate(data.size());
      rig.upload(on_device, data.data(), data.size());
      rig.reset({.rc = true, .hides_run_mode = hidden});
      AscendMemory memory;
      REQUIRE(memory.open(rig.api(), {.lanes = lanes, .staging_bytes = 1024, .read_in_place = hidden}) ==
              Status::ok);
      CHECK_FALSE(memory.reads_in_place());
      CHECK(memory.asynchronous() == (lanes != 0));
      const MutableBytes pinned = memory.allocate_pinned(2048).value();
      CHECK(pinned.size() == 2048);
      CHECK(address_of(pinned.data()) % AscendMemory::kAlignment == 0);
      std::vector<std::byte> plain(1000);
      for (const std::size_t offset : {0u, 3u, 64u}) {
        CHECK(memory.copy(plain.data() + offset, on_device + 5, 900) == Status::ok);
        CHECK(std::memcmp(plain.data() + offset, data.data() + 5, 900) == 0);
      }
      Net net(memory, 0, on_device, data);
      net.run(200);
      net.end();
      CHECK(net.lost == 0);
      CHECK(net.wrong == 0);
      CHECK((rig.counts().background > 400) == (lanes != 0));
      CHECK(rig.counts().waited_for == 0);
      REQUIRE(memory.close() == Status::ok);
      rig.free_all();
      rig.check_nothing_is_left();
    }
  }
}

TEST_CASE(
    "ascend: whatever function is missing, unsupported or failing, inference goes on and no record is lost") {
  constexpr int kUnsupported = 207000, kApiUnsupported = 200001, kInternal = 507899;
  struct Form {
    const char* name;
    SimulatedAscend how;
    MemoryOptions options;
  };
  const Form forms[] = {{"server", {}, {.staging_bytes = 1024}},
                        {"server without lanes", {}, {.lanes = 0, .staging_bytes = 1024}},
                        {"RC", {.rc = true}, {.staging_bytes = 1024}},
                        {"RC, copied", {.rc = true}, {.staging_bytes = 1024, .read_in_place = false}}};
  for (const Form& form : forms) {
    for (const char* function : kFunctions) {
      for (const int code : {kUnsupported, kApiUnsupported, kInternal}) {
        CAPTURE(form.name);
        CAPTURE(function);
        CAPTURE(code);
        Rig rig;
        const Outcome outcome = run(rig, form.how, form.options, [&] { rig.fail_function(function, code); });
        // Without its device's number, and without any function that copies, there is nothing to be dumped.
        const bool no_device = code == kInternal && std::strcmp(function, "aclrtGetDevice") == 0;
        const bool no_copy = std::strcmp(function, "aclrtMemcpy") == 0 && form.options.lanes == 0;
        CHECK(outcome.opened == (no_device ? Status::driver_failed : Status::ok));
        if (no_device) continue;
        CHECK(outcome.lost == (no_copy ? 40 : 0));
        CHECK(outcome.wrong == (no_copy ? 40 : 0));
        rig.drop_left_over();
      }
    }
  }
}

TEST_CASE("ascend: each call that fails once in RC form costs no record") {
  for (const bool in_place : {true, false}) {
    std::uint64_t calls = 0;
    bool all = false;
    for (std::uint64_t failing = 0; !all; failing = next_way(failing)) {
      CAPTURE(failing);
      Rig rig;
      const MemoryOptions options = {.lanes = 2, .staging_bytes = 4096, .read_in_place = in_place};
      const Outcome outcome = run(rig, {.rc = true}, options, [&] { rig.fail_call(failing, 507899); });
      calls = outcome.calls;
      all = calls <= failing + 1 && outcome.opened == Status::ok;
      CHECK(outcome.lost == 0);
      CHECK(outcome.wrong == 0);
      CHECK((outcome.opened == Status::ok || failing == 0));
      rig.drop_left_over();
    }
    CHECK(calls > 80);
  }
}

TEST_CASE("ascend: an overflow status that the device cannot tell is looked for in the outputs") {
  const float bad[] = {1.0f, 1e30f * 1e30f, 2.0f, 3.0f};
  const float good[] = {1.0f, 2.0f, 3.0f, 4.0f};
  constexpr Dim kDims[] = {4};
  for (const char* function : {"aclrtGetOverflowStatus", "aclrtResetOverflowStatus", "aclrtMalloc", ""}) {
    for (const int code : {207000, 507000}) {
      CAPTURE(function);
      CAPTURE(code);
      Rig rig;
      const Address on_device = rig.allocate(sizeof bad + sizeof good);
      rig.upload(on_device, bad, sizeof bad);
      rig.upload(on_device + sizeof bad, good, sizeof good);
      const bool tells = *function == '\0';
      rig.fail_function(tells ? nullptr : function, code);
      AscendMemory memory;
      REQUIRE(memory.open(rig.api()) == Status::ok);
      OverflowScan<AscendMemory> scan(memory);
      const auto ask = [&](Address at) {
        const TensorView output = {
            .address = at, .bytes = sizeof bad, .dtype = DType::float32, .shape = Shape(kDims, 1)};
        OverflowReport report;
        const Result<bool> found = scan.overflowed(kAscendOp[0], {.outputs = {&output, 1}}, report);
        REQUIRE(found.ok());
        CHECK(report.searched == (found.value() && !tells));
        return found.value();
      };
      // Where the device does tell, it is believed.
      CHECK(ask(on_device) == (!tells && std::strcmp(function, "aclrtResetOverflowStatus") != 0));
      CHECK_FALSE(ask(on_device + sizeof bad));
      rig.set_overflow(0);
      const bool told = tells || std::strcmp(function, "aclrtResetOverflowStatus") == 0;
      const TensorView output = {.address = on_device + sizeof bad,
                                 .bytes = sizeof good,
                                 .dtype = DType::float32,
                                 .shape = Shape(kDims, 1)};
      OverflowReport report;
      const Result<bool> found = scan.overflowed(kAscendOp[0], {.outputs = {&output, 1}}, report);
      REQUIRE(found.ok());
      CHECK(found.value() == told);
      rig.fail_function(nullptr, 0);
      REQUIRE(memory.close() == Status::ok);
      rig.free_all();
      rig.check_nothing_is_left();
    }
  }
}

TEST_CASE("ascend: two devices with two streams each are captured at the same time") {
  for (const bool rc : {false, true}) {
    Rig rig;
    rig.reset({.shuffle_seed = 5, .rc = rc});
    const std::vector<std::byte> data[] = {pattern(10), pattern(11)};
    Address on_device[2];
    AscendMemory memories[2];
    void* streams[2][2];
    for (std::int32_t device = 0; device < 2; ++device) {
      rig.use_device(device);
      on_device[device] = rig.allocate(data[device].size());
      rig.upload(on_device[device], data[device].data(), data[device].size());
      const MemoryOptions options = {.device_id = static_cast<std::uint32_t>(device), .staging_bytes = 1024};
      REQUIRE(memories[device].open(rig.api(), options) == Status::ok);
      for (std::uint32_t i = 0; i < 2; ++i) {
        streams[device][i] = rig.create_stream();
        REQUIRE(memories[device].add_stream(5 + i, streams[device][i]) == Status::ok);
      }
    }
    std::unique_ptr<Net> nets[4];
    for (std::uint32_t i = 0; i < 4; ++i)
      nets[i] = std::make_unique<Net>(memories[i / 2], i / 2, on_device[i / 2], data[i / 2]);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        rig.use_device(static_cast<std::int32_t>(i / 2));
        nets[i]->run(100);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::uint32_t i = 0; i < 4; ++i) {
      nets[i]->end();
      CHECK(nets[i]->lost == 0);
      CHECK(nets[i]->wrong == 0);
      CHECK(nets[i]->sink.objects.size() == 100);
    }
    for (std::int32_t device = 0; device < 2; ++device) {
      rig.use_device(device);
      REQUIRE(memories[device].close() == Status::ok);
      for (void* stream : streams[device]) rig.destroy_stream(stream);
    }
    rig.free_all();
    rig.check_nothing_is_left();
    rig.use_device(0);
  }
}

TEST_CASE("ascend: recorders that share too few lanes lose nothing while no other function copies") {
  constexpr std::size_t kThreads = 4;
  for (const int code : {207000, 507899}) {
    CAPTURE(code);
    Rig rig;
    const std::vector<std::byte> data = pattern(12);
    const Address on_device = rig.allocate(data.size());
    rig.upload(on_device, data.data(), data.size());
    rig.reset({.shuffle_seed = 7});
    rig.fail_function("aclrtMemcpy", code);
    AscendMemory memory;
    REQUIRE(memory.open(rig.api(), {.lanes = 2, .staging_bytes = 1024}) == Status::ok);
    std::unique_ptr<Net> nets[kThreads];
    for (auto& net : nets) net = std::make_unique<Net>(memory, 0, on_device, data);
    std::vector<std::thread> threads;
    for (auto& net : nets) {
      threads.emplace_back([&] {
        rig.use_device(0);
        net->run(60);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto& net : nets) {
      net->end();
      CHECK(net->lost == 0);
      CHECK(net->wrong == 0);
      CHECK(net->sink.objects.size() == 60);
    }
    rig.fail_function(nullptr, 0);
    REQUIRE(memory.close() == Status::ok);
    rig.free_all();
    rig.check_nothing_is_left();
  }
}

TEST_CASE(
    "ascend: a copy that never ends on the lane of last resort fails within its limit, and so do others") {
  Rig rig;
  const std::vector<std::byte> data = pattern(13);
  const Address on_device = rig.allocate(data.size());
  rig.upload(on_device, data.data(), data.size());
  rig.fail_function("aclrtMemcpy", 207000);
  AscendMemory memory;
  REQUIRE(memory.open(rig.api(), {.lanes = 1, .staging_bytes = 1024, .operator_limit_ms = 20}) == Status::ok);
  std::vector<std::byte> first(500), to(500);
  AscendMemory::Copy copy;
  REQUIRE(memory.start(copy, first.data(), on_device, first.size()) == Status::ok);
  REQUIRE(memory.copy(to.data(), on_device, to.size()) == Status::ok);
  CHECK(std::equal(to.begin(), to.end(), data.begin()));
  rig.hold_copies(0, 1);
  {
    const WaitLimit limit("copies that the device does not end");
    for (int i = 0; i < 3; ++i)
      CHECK(memory.copy(to.data(), on_device, to.size()) == Status::device_copy_failed);
  }
  CHECK(rig.counts().limits_ms < 2000);
  rig.let_go();
  const Result<bool> over = memory.complete(copy, kWaitLimitMs);
  CHECK((over.ok() && over.value()));
  CHECK(std::equal(first.begin(), first.end(), data.begin()));
  REQUIRE(memory.close() == Status::ok);
  rig.free_all();
  rig.check_nothing_is_left();
}
