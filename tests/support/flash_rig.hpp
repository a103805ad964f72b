#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/flash_promises.hpp"

namespace opdump::tests {

/// A part and the log on it.
struct FlashSetup {
  flashlog::Geometry geometry;
  std::uint32_t page_bytes = 128;
  flashlog::Options options{};
  std::uint32_t bad_blocks = 0;  ///< that have faults
};

/// A log on a part, driven by random calls whose outcome is held against what was promised.
class FlashRig {
 public:
  FlashRig(const FlashSetup& setup, const FlashEmulator& flash, const FlashPromises& promises,
           std::uint32_t seed)
      : setup_(setup),
        flash(flash),
        promises(promises),
        device_(this->flash.device()),
        page_(flashlog::FlashLog::kPrefixBytes + setup.page_bytes),
        log_(device_, page_, setup.options),
        random_(seed) {}
  FlashRig(const FlashRig&) = delete;
  FlashRig& operator=(const FlashRig&) = delete;

  /// Mounts after a loss of power and checks what is there.
  void boot() {
    flash.power_on();
    REQUIRE(log_.mount() == Status::ok);
    promises.power_lost();
    promises.settle();
    repeats_before_ = flash.repeats;
    check();
  }

  void check() {
    hold(read_flash(device_), !flash.unsteady);
    FlashEmulator image = flash.image();
    if (flash.unsteady) hold(read_flash(image.device()), true);
    check_losses(image.device());
    if (setup_.bad_blocks == 0) return;
    image = flash.image(~setup_.geometry.erased);
    check_losses(image.device());
    check_losses(device_);
  }

  /// Whether all blocks were erased equally often, up to the rotation under way; but for what the loss of
  /// power before the latest boot made necessary again. Each erase is synced, so that takes back no more than
  /// the current block, those prepared ahead of it, and the one that was being erased.
  bool worn_evenly() const {
    std::uint32_t least = UINT32_MAX;
    std::uint32_t most = 0;
    for (std::uint32_t block = 0; block < setup_.geometry.block_count; ++block) {
      least = std::min(least, flash.turns_of(block));
      most = std::max(most, flash.turns_of(block));
    }
    return most - least <= 1 && flash.repeats - repeats_before_ <= setup_.options.prepared_blocks + 2u;
  }

  std::uint32_t retired() const { return log_.retired(); }

  void step() {
    const std::uint32_t dice = random() % 16;
    if (dice < 4) {
      begin();
#if OPDUMP_FAULTS == 2
    } else if (dice == 12 && open_.size() > 1 && random() % 2 == 0) {
      end_pair();
#endif
    } else if (dice < 10) {
      append();
    } else if (dice < 13) {
      end(dice == 12);
    } else if (dice == 13) {
      const std::string text = "line " + std::to_string(random()) + "\n";
      const Bytes line = as_bytes(text);
      static_cast<void>(log_.append_lines({{}, "time", "journal"}, {&line, 1}));
    } else if (dice == 14) {
      if (log_.sync() == Status::ok) promises.synced();
    } else {
      static_cast<void>(log_.prepare());
    }
  }

  /// Writes one object and syncs. Whether the log took it.
  bool accepts() {
    const std::size_t opened = open_.size();
    begin();
    if (open_.size() == opened) return false;
    std::swap(open_.front(), open_.back());
    append();
    end(false);
    if (log_.sync() != Status::ok) return false;
    promises.synced();
    return true;
  }

 private:
  struct Open {
    ObjectId id;
    std::size_t promise;
  };

  std::uint32_t random() {
    return static_cast<std::uint32_t>(random_());
  }

  /// Whatever a loss of power, a fault or a rotation leaves is none.
  static void check_losses(const flashlog::Device& device) {
    const FlashLosses losses = losses_in(device);
    if (losses.holes != 0) FAIL("a hole in a log that lost nothing");
    if (losses.damaged_places != 0) FAIL("a damaged place in a log that lost nothing");
  }

  void hold(const FlashContents& contents, bool steady) {
    std::string broken;
    const bool overwrites = setup_.options.policy == flashlog::Policy::overwrite_oldest;
    const std::uint32_t out_of_turn = setup_.bad_blocks + setup_.options.prepared_blocks;
    const bool keeps_older = setup_.bad_blocks != 0;
    if (steady) broken = contents.unread;
    const bool kept = promises.hold(contents, flash, overwrites, out_of_turn, keeps_older, steady, broken);
    // One assertion, because a million of doctest's take longer than the rest.
    if (!kept) FAIL(broken);
  }

  void begin() {
    if (open_.size() == std::min<std::size_t>(3, OPDUMP_MAX_RECORDERS)) return;
    const std::string directory = "time/" + std::to_string(random() % 3);
    // The count makes it the only one: two boots may come to draw the same numbers.
    const std::string file = "op" + std::to_string(random()) + "." + std::to_string(promises.count());
    const std::size_t promise = promises.begin(directory + "/" + file, flash);
    const Result<ObjectId> id = log_.begin({{}, directory, file});
    if (id.ok()) {
      open_.push_back({id.value(), promise});
    } else {
      promises[promise].state = FlashPromises::State::given_up;
    }
  }

  void append() {
    if (open_.empty()) return;
    const Open& open = open_.front();
    std::string bytes(random() % 8 == 0 ? random() % 900 : random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random() >> 7);
    const Bytes parts[] = {as_bytes(bytes).first(bytes.size() / 3),
                           as_bytes(bytes).subspan(bytes.size() / 3)};
    promises[open.promise].bytes += bytes;
    if (log_.append(open.id, parts) != Status::ok) {
      log_.abort(open.id);
      promises[open.promise].state = FlashPromises::State::given_up;
      open_.erase(open_.begin());
    }
  }

  void end(bool abort) {
    if (open_.empty()) return;
    FlashPromises::Promise& promise = promises[open_.front().promise];
    if (abort) {
      log_.abort(open_.front().id);
      promise.state = FlashPromises::State::given_up;
    } else {
      promise.state = FlashPromises::State::in_doubt;
      promise.committed = log_.commit(open_.front().id) == Status::ok;
      if (!promise.committed && !flash.off) promise.state = FlashPromises::State::given_up;
    }
    open_.erase(open_.begin());
  }

#if OPDUMP_FAULTS == 2
  void end_pair() {
    const Open pair[] = {open_[0], open_[1]};
    for (const Open& open : pair) promises[open.promise].state = FlashPromises::State::in_doubt;
    promises[pair[0].promise].other = pair[1].promise;
    promises[pair[1].promise].other = pair[0].promise;
    const bool done = log_.commit(pair[0].id, pair[1].id) == Status::ok;
    for (const Open& open : pair) {
      promises[open.promise].committed = done;
      if (!done && !flash.off) promises[open.promise].state = FlashPromises::State::given_up;
    }
    open_.erase(open_.begin(), open_.begin() + 2);
  }
#endif

  const FlashSetup& setup_;
  std::uint64_t repeats_before_ = 0;

 public:
  FlashEmulator flash;
  FlashPromises promises;

 private:
  flashlog::Device device_;
  std::vector<std::byte> page_;
  flashlog::FlashLog log_;
  std::vector<Open> open_;
  std::minstd_rand random_;
};

}  // namespace opdump::tests
