#include <doctest/doctest.h>

#include <vector>

#include "opdump/session.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

// A record's head in the ring: what the ring tells of it, its names and its nano head.
constexpr std::uint32_t kMostHead = 500;
constexpr std::uint32_t kMostPiece = 255;

constexpr OpDesc kConv[] = {{.name = "conv1/with/a/name", .type = "Conv2D", .task_id = 1}};
constexpr ModelDesc kConvModel = {.name = "net", .id = 1, .ops = kConv};
constexpr ModelRule kRules[] = {{.any_model = true}};

struct Setup {
  Geometry part;
  std::uint32_t tensor_bytes = 0;
  std::uint32_t budget = 512;
  std::uint8_t prepared_blocks = 2;
};

/// A firmware that drains into flash, and counts what each of its calls does there.
class DrainingFirmware {
 public:
  explicit DrainingFirmware(const Setup& setup)
      : setup_(setup),
        flash(setup.part, kPageBytes),
        device_(flash.device()),
        log(device_, page_, {.prepared_blocks = setup.prepared_blocks, .erase_budget = 0}),
        data_(setup.tensor_bytes) {
    REQUIRE(log.mount() == Status::ok);
    DumpConfig config;
    config.active = true;
    config.dump_path = "/flash";
    config.models = kRules;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan_, kConvModel) == Status::ok);
  }

  void step() {
    const Dim dims[] = {static_cast<Dim>(data_.size())};
    const TensorView tensor = {
        .address = address_of(data_.data()), .bytes = data_.size(), .dtype = DType::uint8, .shape = dims};
    REQUIRE(recorder_.begin_step(plan_) == Status::ok);
    static_cast<void>(recorder_.capture(0, {}, {&tensor, 1}));
    REQUIRE(recorder_.end_step() == Status::ok);
  }

  std::uint32_t most_moved() const { return setup_.budget + kMostPiece + kMostHead; }
  bool ready() const { return log.ready_bytes() >= FlashLog::most_bytes(most_moved()); }

  void erase_ahead() {
    for (bool again = true; again;) {
      const std::uint64_t operations = flash.operations;
      const Result<bool> result = log.erase_ahead();
      REQUIRE(result.ok());
      again = result.value();
      CHECK(flash.operations <= operations + 1);
    }
  }

  /// Makes a call that drains, and holds what it did against its bound.
  template <class Call>
  auto bounded(Call call) {
    REQUIRE(ready());
    const std::uint64_t erases = flash.erases, programs = flash.programs, bytes = flash.programmed_bytes;
    const auto result = call();
    const std::uint32_t most = FlashLog::most_bytes(most_moved());
    CHECK(flash.erases == erases);
    CHECK(flash.programs - programs <= most / kPageBytes + 3);
    CHECK(flash.programmed_bytes - bytes <= most + kPageBytes);
    return result;
  }

  void drain() {
    const std::size_t moved = bounded([this] { return session.drain_some(setup_.budget); });
    CHECK(moved <= most_moved());
  }

  Status finalize() {
    Status status = Status::unfinished;
    for (int calls = 0; status == Status::unfinished; ++calls) {
      erase_ahead();
      status = bounded([this] { return session.finalize_some(setup_.budget); });
      steps_to_end = calls + 1;
    }
    return status;
  }

  static constexpr std::uint32_t kPageBytes = 256;

 private:
  const Setup setup_;

 public:
  FlashEmulator flash;

 private:
  Device device_;
  std::byte page_[FlashLog::kPrefixBytes + kPageBytes];

 public:
  FlashLog log;

 private:
  baremetal::TickClock clock_{1000};
  HostMemory memory_;
  std::byte scratch_[2048];
  alignas(8) std::byte ring_[16384];
  std::vector<std::byte> data_;

 public:
  BasicSession<HostMemory> session{{.memory = memory_,
                                    .sink = log,
                                    .clock = clock_,
                                    .scratch = scratch_,
                                    .when_full = WhenFull::drop}};
  int steps_to_end = 0;

 private:
  BasicRecorder<HostMemory>& recorder_ = *session.add_recorder(ring_).value();
  ModelPlanFor<1> plan_;
};

}  // namespace

TEST_CASE("flash log: a drain programs no more than its bound, and erases only ahead") {
  const Geometry parts[] = {
      {.block_bytes = 4096, .block_count = 24, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 4096, .block_count = 24, .program_bytes = 16},
      {.block_bytes = 65536, .block_count = 8, .program_bytes = 8}};
  for (const Geometry& part : parts) {
    for (const std::uint32_t tensor_bytes : {1u, 200u, 3000u, 7000u}) {
      for (const std::uint32_t budget : {1u, 512u, 2000u}) {
        CAPTURE(part.block_bytes);
        CAPTURE(part.program_bytes);
        CAPTURE(tensor_bytes);
        CAPTURE(budget);
        DrainingFirmware firmware(
            {.part = part, .tensor_bytes = tensor_bytes, .budget = budget, .prepared_blocks = 4});
        for (int round = 0; round < 300; ++round) {
          if (round % 4 == 0) firmware.step();
          firmware.erase_ahead();
          firmware.drain();
        }
        CHECK(firmware.finalize() == Status::ok);
        CHECK(firmware.flash.violation == nullptr);
        const DumpCounts counts = firmware.session.counts();
        CHECK(counts.sink_failed == 0);
        CHECK(counts.written > 0);
        CHECK(counts.wanted == counts.written + counts.lost());
      }
    }
  }
}

TEST_CASE("flash log: finalize in steps ends what is left of large records") {
  DrainingFirmware firmware({.part = {.block_bytes = 4096, .block_count = 24, .program_bytes = 4},
                             .tensor_bytes = 7000,
                             .budget = 512});
  firmware.step();
  firmware.step();
  CHECK(firmware.finalize() == Status::ok);
  CHECK(firmware.steps_to_end >= 20);
  CHECK(firmware.session.counts().written == 2);
  CHECK(firmware.session.finalize_some(512) == Status::not_initialised);
}

TEST_CASE("flash log: without a block erased ahead it refuses, and goes on when there is one") {
  DrainingFirmware firmware(
      {.part = {.block_bytes = 4096, .block_count = 8, .program_bytes = 4, .bits_only_clear = true},
       .tensor_bytes = 3000,
       .prepared_blocks = 1});
  firmware.erase_ahead();
  std::uint32_t refused = 0;
  for (int round = 0; round < 60; ++round) {
    firmware.step();
    const std::uint64_t erases = firmware.flash.erases;
    firmware.session.drain_some(SIZE_MAX);
    CHECK(firmware.flash.erases == erases);
    // Seldom enough that the log runs out of erased blocks.
    if (round % 5 == 4) firmware.erase_ahead();
    refused = firmware.session.counts().sink_failed;
  }
  CHECK(refused > 10);
  CHECK(firmware.session.last_sink_failure() == Status::no_space);
  const std::uint32_t written = firmware.session.counts().written;
  CHECK(written > 10);
  firmware.erase_ahead();
  CHECK(firmware.log.sync() == Status::ok);
  // What was written last is there, as a log that never refused has it: the newest of eight blocks.
  const FlashContents contents = read_flash(firmware.flash.device());
  CHECK(contents.count(ObjectState::committed) >= 5);
  CHECK(contents.count(ObjectState::damaged) == 0);
  CHECK(firmware.flash.violation == nullptr);
}

TEST_CASE("flash log: an emergency does not sync, and pairs of a log that erases ahead are synced") {
  FlashEmulator flash({.block_bytes = 4096, .block_count = 8, .program_bytes = 4}, 256);
  const Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + 256];
  FlashLog log(device, page, {.prepared_blocks = 2, .erase_budget = 0});
  REQUIRE(log.mount() == Status::ok);
  while (log.erase_ahead().value()) {
  }
  const auto commit_pair = [&log](const char* a, const char* b) {
    const ObjectId first = log.begin({{}, "d", a}).value(), second = log.begin({{}, "d", b}).value();
    return log.commit(first, second);
  };
  const std::uint64_t before = flash.syncs;
  CHECK(commit_pair("a", "b") == Status::ok);
  CHECK(flash.syncs > before);
  CHECK(log.emergency() == Status::ok);
  const std::uint64_t after = flash.syncs;
  CHECK(commit_pair("c", "d") == Status::ok);
  CHECK(flash.syncs == after);
}
