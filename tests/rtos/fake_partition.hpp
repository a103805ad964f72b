#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "tests/support/flash_emulator.hpp"

namespace opdump::tests {

/// A partition as systems have it, over an emulated part: calls take offsets, must stay inside, and return 0
/// or an error.
class FakePartition {
 public:
  static constexpr int kOutside = -22, kFailed = -5;

  FakePartition(const flashlog::Geometry& part, std::uint32_t page_bytes)
      : flash(part, page_bytes), part_(part) {
    flash.is_protected = false;  // drivers see to that themselves
  }

  int read(std::uint64_t offset, void* to, std::size_t bytes) {
    if (!inside(offset, bytes)) return kOutside;
    ++reads;
    return code(flash.read(block(offset), rest(offset), {static_cast<std::byte*>(to), bytes}));
  }

  int program(std::uint64_t offset, const void* from, std::size_t bytes) {
    if (!inside(offset, bytes)) return kOutside;
    return code(flash.program(block(offset), rest(offset), {static_cast<const std::byte*>(from), bytes}));
  }

  int erase(std::uint64_t offset, std::uint64_t bytes) {
    if (!inside(offset, bytes) || offset % part_.block_bytes != 0 || bytes != part_.block_bytes)
      return kOutside;
    return code(flash.erase(block(offset)));
  }

  FlashEmulator flash;
  unsigned reads = 0;
  int fail_with = 0;  ///< not 0: each call fails with this

 private:
  /// No call of a log crosses a block.
  bool inside(std::uint64_t offset, std::uint64_t bytes) const {
    return offset / part_.block_bytes < part_.block_count &&
           offset % part_.block_bytes + bytes <= part_.block_bytes;
  }
  int code(Status status) const {
    if (fail_with != 0) return fail_with;
    return status == Status::ok ? 0 : kFailed;
  }
  std::uint32_t block(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(offset / part_.block_bytes);
  }
  std::uint32_t rest(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(offset % part_.block_bytes);
  }

  const flashlog::Geometry part_;
};

}  // namespace opdump::tests
