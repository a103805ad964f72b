#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/flashlog/history_tape.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A step that a tape keeps.
struct KeptStep {
  HistoryTape::Place place;  ///< behind its mark
  std::uint32_t objects = 0;
  std::uint32_t bytes = 0;  ///< of their data
};

/// The latest steps that a tape keeps, the oldest first.
class KeptSteps {
 public:
  static constexpr std::size_t memory_bytes(std::uint32_t steps) { return steps * sizeof(KeptStep); }

  /// Empty, with room for `steps` at `memory`, which has `memory_bytes(steps)` bytes and is 8-byte aligned.
  void use(std::byte* memory, std::uint32_t steps) {
    steps_ = reinterpret_cast<KeptStep*>(memory);
    for (std::uint32_t i = 0; i < steps; ++i) ::new (&steps_[i]) KeptStep;
    room_ = steps;
    clear();
  }

  void clear() { first_ = count_ = 0; }
  std::uint32_t count() const { return count_; }
  bool is_full() const { return count_ == room_; }

  /// The `i`th, from the oldest on.
  KeptStep& at(std::uint32_t i) const { return steps_[(first_ + i) % room_]; }

  /// While there is room.
  void add(const HistoryTape::Place& place) { at(count_++) = {place, 0, 0}; }
  void drop_first() {
    first_ = (first_ + 1) % room_;
    --count_;
  }

  std::uint32_t objects() const {
    std::uint32_t objects = 0;
    for (std::uint32_t i = 0; i < count_; ++i) objects += at(i).objects;
    return objects;
  }
  std::uint32_t bytes() const {
    std::uint32_t bytes = 0;
    for (std::uint32_t i = 0; i < count_; ++i) bytes += at(i).bytes;
    return bytes;
  }

 private:
  KeptStep* steps_ = nullptr;
  std::uint32_t room_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
