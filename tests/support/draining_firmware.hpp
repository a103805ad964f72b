#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/one_op_session.hpp"

namespace opdump::tests {

/// What a drain into a flash log is to be bounded under.
struct DrainSetup {
  flashlog::Geometry part;
  std::uint32_t tensor_bytes = 0;
  std::uint32_t budget = 512;
  std::uint8_t prepared_blocks = 2;
  JournalDetail journal = JournalDetail::records;
  bool erases_ahead = true;  ///< and never while it drains
  bool verify = false;
  bool knows_heads = false;
  flashlog::Policy policy = flashlog::Policy::overwrite_oldest;
};

/// A firmware that drains into flash, and counts what each of its calls does there.
class DrainingFirmware {
 public:
  /// On a part of its own, or on a copy of `worn`.
  explicit DrainingFirmware(const DrainSetup& setup, const FlashEmulator* worn = nullptr)
      : setup_(setup),
        flash(worn != nullptr ? *worn : FlashEmulator(setup.part, kPageBytes)),
        device_(flash.device()),
        log(device_, page_,
            {.policy = setup.policy,
             .verify = setup.verify,
             .prepared_blocks = setup.prepared_blocks,
             .erase_budget = setup.erases_ahead ? 0 : UINT32_MAX}),
        data_(setup.tensor_bytes) {
    const std::uint64_t reads = flash.reads;
    REQUIRE(log.mount() == Status::ok);
    mount_reads = flash.reads - reads;
    capturing_.start();
  }

  void step() { step(data_.size()); }

  /// With a tensor of the first `bytes` bytes.
  void step(std::size_t bytes) {
    static_cast<void>(capturing_.step(Bytes(data_).first(bytes)));
    clock_.tick();
  }

  bool ready(std::uint32_t budget) const { return log.ready_bytes() >= most_added(budget); }

  /// Until there is no more to do, or the flash fails.
  Status erase_ahead() {
    for (;;) {
      const std::uint64_t operations = flash.operations;
      const std::uint32_t retired = log.retired();
      const Result<bool> result = setup_.erases_ahead ? log.erase_ahead() : log.prepare();
      CHECK(flash.operations - operations <= 1 + 3 * (log.retired() - retired));
      if (!result.ok() || !result.value()) return result.status();
    }
  }

  /// Makes a call that moves `budget` bytes, and holds what it did against its bound.
  template <class Call>
  auto bounded(std::uint32_t budget, Call call) {
    const std::uint64_t erases = flash.erases, programs = flash.programs, bytes = flash.programmed_bytes;
    const std::uint64_t read = flash.read_bytes;
    const std::uint32_t retired = log.retired();
    const auto result = call();
    const std::uint64_t failures = log.retired() - retired;
    const std::uint64_t most = most_added(budget);
    const std::uint64_t blocks = 1 + failures;
    // One block may be entered that was not prepared, and one for each that fails.
    const bool holds = flash.erases - erases <= (setup_.erases_ahead ? 0 : blocks) &&
                       flash.programs - programs <= most / kPageBytes + 3 + 2 * failures &&
                       flash.programmed_bytes - bytes <= most + blocks * 2 * kPageBytes &&
                       flash.read_bytes - read <= 2 * blocks * setup_.part.block_bytes + 4 * most;
    most_erases = std::max(most_erases, flash.erases - erases);
    most_programs = std::max(most_programs, flash.programs - programs);
    most_read = std::max(most_read, flash.read_bytes - read);
    if (!holds) {
      CAPTURE(budget);
      CAPTURE(failures);
      CAPTURE(flash.erases - erases);
      CAPTURE(flash.programs - programs);
      CAPTURE(flash.programmed_bytes - bytes);
      CAPTURE(flash.read_bytes - read);
      FAIL_CHECK("a call did more in the flash than its bound");
    }
    return result;
  }

  std::uint32_t drain() {
    REQUIRE(ready(setup_.budget));
    return drain(setup_.budget);
  }

  std::uint32_t drain(std::uint32_t budget) {
    const std::size_t moved = bounded(budget, [this, budget] { return session.drain_some(budget); });
    CHECK(moved <= budget + kMostPiece + kMostHead);
    return static_cast<std::uint32_t>(moved);
  }

  Status finalize() {
    Status status = Status::unfinished;
    for (int calls = 0; status == Status::unfinished; ++calls) {
      static_cast<void>(erase_ahead());
      status = bounded(setup_.budget, [this] { return session.finalize_some(setup_.budget); });
      steps_to_end = calls + 1;
    }
    return status;
  }

  static constexpr std::uint32_t kPageBytes = 256;

 private:
  /// A record's head in the ring: what the ring tells of it, its names and its nano head.
  static constexpr std::uint32_t kMostHead = 500;
  static constexpr std::uint32_t kMostPiece = 255;

  std::uint32_t most_added(std::uint32_t budget) const {
    const std::uint32_t least = setup_.knows_heads ? 40 : 128;  // of a record in the ring
    return flashlog::FlashLog::most_bytes(budget + kMostPiece, budget / least + 2);
  }

  const DrainSetup setup_;

 public:
  FlashEmulator flash;

 private:
  flashlog::Device device_;
  std::byte page_[flashlog::FlashLog::kPrefixBytes + kPageBytes];

 public:
  flashlog::FlashLog log;
  std::uint64_t mount_reads = 0;
  std::uint64_t most_erases = 0;    ///< in one bounded call
  std::uint64_t most_programs = 0;  ///< likewise
  std::uint64_t most_read = 0;      ///< likewise, in bytes

 private:
  baremetal::TickClock clock_{1000};
  std::vector<std::byte> data_;
  OneOpSession capturing_{log, clock_, WhenFull::drop, setup_.journal, setup_.knows_heads};

 public:
  BasicSession<HostMemory>& session = capturing_.session;
  int steps_to_end = 0;
};

}  // namespace opdump::tests
