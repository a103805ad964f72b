#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/ring.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The copies of one recorder that its backend carries out in the background, in the order in which they
/// were started. All calls from the recorder's context.
template <class Memory>
class CopiesUnderWay {
 public:
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == Memory::kMaxCopies; }

  /// Chunk of the copy started last, unless this is `empty`.
  Ring::Held latest_chunk() const { return at(count_ - 1).chunk; }

  /// Starts a copy of elements of `dtype` from `from` on, unless this is `full`; one that the backend cannot start is
  /// carried out at once. `chunk`, if it is not empty, is published when this copy and all before it are over.
  [[nodiscard]] Status start(Memory& memory, Address from, MutableBytes to, DType dtype, Ring::Held chunk) {
    Entry& entry = at(count_);
    Status status = memory.start(entry.copy, to.data(), from, to.size());
    entry.over = status == Status::not_supported;
    if (entry.over) status = memory.copy(to.data(), from, to.size());
    if (status != Status::ok) return status;
    entry.to = to;
    entry.dtype = dtype;
    entry.chunk = chunk;
    ++count_;
    return status;
  }

  /// Waits up to `limit_ms` for the oldest copy, which there must be, and publishes its chunk. Any error
  /// loses the record; `abandon` has to follow.
  [[nodiscard]] Status complete_oldest(Memory& memory, Ring& ring, std::uint32_t limit_ms) {
    Entry& entry = at(0);
    if (!entry.over) {
      const Result<bool> over = memory.complete(entry.copy, limit_ms);
      entry.over = !over.ok() || over.value();
      if (!over.ok()) return over.status();
      if (!over.value()) return Status::device_copy_failed;
    }
    take_oldest(ring);
    return Status::ok;
  }

  /// Publishes the chunks of the oldest copies that are over, without waiting.
  [[nodiscard]] Status publish_ready(Memory& memory, Ring& ring) {
    while (!empty()) {
      Entry& entry = at(0);
      const Result<bool> over = entry.over ? true : memory.poll(entry.copy);
      entry.over = !over.ok() || over.value();
      if (!over.ok()) return over.status();
      if (!over.value()) return Status::ok;
      take_oldest(ring);
    }
    return Status::ok;
  }

  /// Publishes nothing more, and waits up to `limit_ms` for copies to end. Those that do not end stay under
  /// way: until this leaves none, the ring's free room may be written to by the device.
  [[gnu::noinline]] void abandon(Memory& memory, std::uint32_t limit_ms) {
    for (std::size_t i = 0; i < count_; ++i) {
      Entry& entry = at(i);
      if (entry.over) continue;
      const Result<bool> over = memory.complete(entry.copy, limit_ms);
      entry.over = !over.ok() || over.value();
      if (!entry.over) limit_ms = 0;
    }
    while (!empty() && at(0).over) drop_oldest();
  }

 private:
  struct Entry {
    typename Memory::Copy copy{};
    MutableBytes to{};
    Ring::Held chunk{};
    DType dtype = DType::undefined;
    bool over = false;  ///< `copy` is not in use
  };

  Entry& at(std::size_t i) { return entries_[(first_ + i) % Memory::kMaxCopies]; }
  const Entry& at(std::size_t i) const { return entries_[(first_ + i) % Memory::kMaxCopies]; }

  void drop_oldest() {
    first_ = (first_ + 1) % Memory::kMaxCopies;
    --count_;
  }

  void take_oldest(Ring& ring) {
    const Entry& entry = at(0);
    to_little_endian(entry.to, entry.dtype);
    if (entry.chunk.bytes != 0) ring.publish(entry.chunk);
    drop_oldest();
  }

  Entry entries_[Memory::kMaxCopies];
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
