#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/flashlog/device.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A device over calls that take offsets into a partition, as systems have them. `Calls` derives from this and has
///
///     int read(std::uint32_t offset, void* to, std::size_t bytes);
///     int program(std::uint32_t offset, const void* from, std::size_t bytes);
///     int erase(std::uint32_t offset, std::size_t bytes);
///
/// which return when it is done, with 0 or the system's error.
template <class Calls>
class Partition {
 public:
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  /// What a log is given, after an `open` that returned `ok`. Refers to this object.
  Device device() {
    return {.geometry = geometry_,
            .context = static_cast<Calls*>(this),
            .read = read_block,
            .program = program_block,
            .erase = erase_block,
            .sync = [](void*) { return Status::ok; }};
  }

  /// The system's error behind the last failure, 0 when there was none. Any context.
  int last_error() const { return error_.load(std::memory_order_relaxed); }

 protected:
  Partition() = default;
  ~Partition() = default;

  /// Takes over what `part` says; `not_supported` for a part that no log can work with.
  Status use(const Geometry& part) {
    if (!is_usable(part)) return Status::not_supported;
    geometry_ = part;
    return Status::ok;
  }

  /// `otherwise`, noting `error`, or `ok` for none.
  Status told(int error, Status otherwise = Status::io_error) {
    if (error == 0) return Status::ok;
    error_.store(error, std::memory_order_relaxed);
    return otherwise;
  }

 private:
  std::uint32_t place(std::uint32_t block, std::uint32_t offset) const {
    return block * geometry_.block_bytes + offset;
  }

  static Status read_block(void* self, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
    Calls& calls = *static_cast<Calls*>(self);
    return calls.told(calls.read(calls.place(block, offset), to.data(), to.size()));
  }

  static Status program_block(void* self, std::uint32_t block, std::uint32_t offset, Bytes from) {
    Calls& calls = *static_cast<Calls*>(self);
    return calls.told(calls.program(calls.place(block, offset), from.data(), from.size()));
  }

  static Status erase_block(void* self, std::uint32_t block) {
    Calls& calls = *static_cast<Calls*>(self);
    return calls.told(calls.erase(calls.place(block, 0), calls.geometry_.block_bytes));
  }

  Geometry geometry_;
  std::atomic<int> error_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
