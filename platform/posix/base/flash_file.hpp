#pragma once
#include <cstddef>
#include <cstdint>

#include "platform/flashlog/device.hpp"
#include "platform/posix/base/unique_fd.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// A file or block device as flash. Programs bypass the page cache (O_DIRECT) where the granule is a multiple
/// of 4096 bytes and the file system allows it; an erase writes the erased value. Not thread-safe.
class FlashFile {
 public:
  FlashFile() = default;
  FlashFile(const FlashFile&) = delete;
  FlashFile& operator=(const FlashFile&) = delete;

  /// Opens `path` and leaves its content alone. With `create`, a missing file is made, all erased.
  /// `invalid_argument` for an unusable geometry, `no_space` when the file is smaller than the geometry; else
  /// the system's error, see `last_errno`.
  [[nodiscard]] Status open(const char* path, const flashlog::Geometry& part, bool create);

  /// The device to give to a log or a reader; refers to this object.
  flashlog::Device device();

  /// Whether programs bypass the page cache.
  bool direct() const { return static_cast<bool>(direct_); }

  /// The errno behind the last error, for messages; 0 if the system was not its cause.
  int last_errno() const { return last_errno_; }

 private:
  static constexpr std::size_t kDirectBytes = 4096;

  Status fail(int error);
  Status read(std::uint32_t block, std::uint32_t offset, MutableBytes to);
  Status program(std::uint32_t block, std::uint32_t offset, Bytes from);
  Status erase(std::uint32_t block);
  Status sync();
  std::uint64_t place(std::uint32_t block, std::uint32_t offset) const {
    return std::uint64_t{block} * part_.block_bytes + offset;
  }

  flashlog::Geometry part_;
  UniqueFd fd_;
  UniqueFd direct_;
  int last_errno_ = 0;
  alignas(kDirectBytes) std::byte buffer_[kDirectBytes];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
