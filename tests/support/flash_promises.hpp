#pragma once
#include <map>
#include <string>
#include <vector>

#include "support/flash_contents.hpp"
#include "support/flash_emulator.hpp"

namespace opdump::tests {

/// What a log has been asked to keep, and what it may have lost by now. The owner tells each call; `broken`
/// holds what is found against it.
class FlashPromises {
 public:
  enum class State : std::uint8_t {
    open,      ///< begun
    given_up,  ///< aborted, refused or open when power went: must never count as committed
    in_doubt,  ///< its commit was called: there whole, or not
    durable,   ///< a sync followed the commit: there
  };

  struct Promise {
    std::string path;
    std::string bytes;
    State state = State::open;
    bool committed = false;    ///< its commit returned ok
    std::uint64_t erases = 0;  ///< of the whole part when it was begun
  };

  std::size_t begin(const std::string& path, const FlashEmulator& flash) {
    promises_.push_back({.path = path, .bytes = {}, .erases = flash.erases});
    return promises_.size() - 1;
  }

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
  /// overwritten. What was in doubt is settled by what is there now. True when every promise is kept.
  bool hold(const FlashContents& contents, const FlashEmulator& flash, bool overwrites,
            std::uint32_t out_of_turn, bool keeps_older, std::string& broken) {
    std::map<std::string, const FlashContents::Object*> found;
    for (const FlashContents::Object& object : contents.objects) {
      if (object.state != flashlog::ObjectState::committed) continue;
      if (!found.emplace(object.path, &object).second) broken += "twice: " + object.path + "\n";
    }
    bool any_older = false;  // a durable one that is there
    for (Promise& promise : promises_) {
      const auto at = found.find(promise.path);
      const bool there = at != found.end();
      if (there && promise.state != State::in_doubt && promise.state != State::durable) {
        broken += "never committed: " + promise.path + "\n";
      }
      if (there && at->second->bytes != promise.bytes) broken += "other bytes: " + promise.path + "\n";
      if (!there && promise.state == State::durable) {
        if (!overwrites || (any_older && !keeps_older) ||
            flash.erases - promise.erases + out_of_turn + 2 < flash.geometry().block_count) {
          broken += "lost: " + promise.path + "\n";
        }
        promise.state = State::given_up;
      }
      if (promise.state == State::in_doubt && !promise.committed)
        promise.state = there ? State::durable : State::given_up;
      if (promise.state == State::durable) any_older = true;
      if (there) found.erase(at);
    }
    for (const auto& [path, object] : found) broken += "unknown: " + path + "\n";
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
