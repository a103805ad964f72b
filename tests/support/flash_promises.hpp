#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

namespace opdump::tests {

/// What a log has been asked to keep, and what it may have lost by now. The owner tells each call; `broken`
/// holds what is found against it.
class FlashPromises {
 public:
  enum class State : std::uint8_t {
    open,      ///< begun
    given_up,  ///< aborted, refused or open when power went: must never count as committed
    in_doubt,  ///< its commit was called: there whole, or not; for ever, where cells are unsteady
    gone,      ///< was to be overwritten; may be seen again, where cells are unsteady
    durable,   ///< a sync followed the commit: there
  };

  struct Promise {
    std::string path;
    std::string bytes;
    State state = State::open;
    bool committed = false;        ///< its commit returned ok
    std::uint64_t erases = 0;      ///< of the whole part when it was begun
    std::size_t other = SIZE_MAX;  ///< the promise with which it is there, or not at all
    bool had_older = false;        ///< `hold` has found a durable one that is older
  };

  std::size_t begin(const std::string& path, const FlashEmulator& flash) {
    promises_.push_back({.path = path, .bytes = {}, .erases = flash.erases});
    return promises_.size() - 1;
  }

  std::size_t count() const { return promises_.size(); }

  Promise& operator[](std::size_t index) { return promises_[index]; }

  void synced() {
    for (Promise& promise : promises_) {
      if (promise.committed && promise.state == State::in_doubt) promise.state = State::durable;
    }
  }

  void power_lost() {
    for (Promise& promise : promises_) {
      if (promise.state == State::open) promise.state = State::given_up;
    }
  }

  /// Holds what a reader finds against what was promised. `out_of_turn`: blocks that are not erased in their
  /// turn, because they are bad or prepared; `keeps_older`: bad ones may keep objects older than what was
  /// overwritten; `steady`: the reader found each byte the same each time. What was in doubt is settled by
  /// what is there now. True when every promise is kept.
  bool hold(const FlashContents& contents, const FlashEmulator& flash, bool overwrites,
            std::uint32_t out_of_turn, bool keeps_older, bool steady, std::string& broken) {
    std::map<std::string, const FlashContents::Object*> found;
    for (const FlashContents::Object& object : contents.objects) {
      if (object.state != flashlog::ObjectState::committed) continue;
      if (!found.emplace(object.path, &object).second) broken += "twice: " + object.path + "\n";
    }
    bool any_older = false;  // a durable one that is there
    std::size_t known = 0;
    for (Promise& promise : promises_) {
      const auto at = found.find(promise.path);
      const bool there = at != found.end();
      const bool may_be_there =
          promise.state == State::in_doubt || promise.state == State::durable || promise.state == State::gone;
      if (there && !may_be_there) {
        broken += "never committed: " + promise.path + "\n";
      }
      if (there && at->second->bytes != promise.bytes) broken += "other bytes: " + promise.path + "\n";
      // A pair is as old as the older one of the two, and goes with it.
      const Promise* const other = promise.other != SIZE_MAX ? &promises_[promise.other] : nullptr;
      const bool is_younger = other != nullptr && other < &promise;
      promise.had_older = is_younger ? other->had_older : any_older;
      const std::uint64_t erases = flash.erases - (is_younger ? other->erases : promise.erases);
      const bool stays = erases + out_of_turn + 2 < flash.geometry().block_count;
      if (!there && promise.state == State::durable) {
        if (!overwrites || (promise.had_older && !keeps_older) || stays)
          broken += "lost: " + promise.path + "\n";
        promise.state = flash.unsteady ? State::gone : State::given_up;
      }
      if (other != nullptr && steady && there != (found.count(other->path) != 0) &&
          promise.state != State::open) {
        broken += "without its other: " + promise.path + "\n";
      }
      if (promise.state == State::in_doubt && !promise.committed && !flash.unsteady)
        promise.state = there ? State::durable : State::given_up;
      // A block whose erase was cut short may show its bytes for a while.
      if (there && promise.state == State::durable && (steady || stays)) any_older = true;
      if (there) ++known;
    }
    if (known != found.size()) broken += "unknown: " + std::to_string(found.size() - known) + "\n";
    if (flash.violation != nullptr) broken += flash.violation;
    return broken.empty();
  }

  /// Settles what was in doubt when power went.
  void settle() {
    for (Promise& promise : promises_) promise.committed = false;
  }

 private:
  std::vector<Promise> promises_;
};

}  // namespace opdump::tests
