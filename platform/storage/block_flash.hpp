#pragma once
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <sys/sysmacros.h>

#include <string>

#include "platform/posix/base/flash_file.hpp"
#include "platform/storage/kernel.hpp"
#include "platform/storage/storage_node.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of a block on a block device of `bytes`: 16 KiB to 4 MiB, so that there are about 256 of them where that is
/// possible, and never more than a log can have. It depends on nothing else, as the blocks of a log must stay.
constexpr std::uint32_t block_bytes_for(std::uint64_t bytes) {
  constexpr std::uint32_t kLeast = 16 * 1024;
  constexpr std::uint32_t kMost = 4 * 1024 * 1024;
  std::uint32_t block = kLeast;
  while (block < 0x80000000u && ((block < kMost && bytes / block > 256) || bytes / block > kMostBlocks))
    block *= 2;
  return block;
}

/// A block device, such as a partition of an eMMC or an SD card, or a file in place of one. What is programmed
/// goes past the page cache where the system allows it (`posix::FlashFile`), and `sync` waits until it is on
/// the medium. An erased byte is 0: an erase discards the block so that it reads as zeros, or writes zeros
/// where the device cannot. While it is open to write, nobody mounts the device. Not thread-safe.
template <class System = Kernel>
class BlockFlash : public StorageNode<System> {
  using Node = StorageNode<System>;

 public:
  explicit BlockFlash(const System& system = {}) : Node(system) {}

  /// `not_supported` for what is too small, for sectors above 4096 bytes, and for the block devices of MTD,
  /// which know of no bad blocks; `permission_denied` for `Access::write` to a read-only device; the system's
  /// error EBUSY for a device that is mounted. `error()` says more.
  [[nodiscard]] Status open(const std::string& path, Access access) {
    struct ::stat status {};
    // O_EXCL without O_CREAT claims a block device, and means nothing for a file.
    Status opened = this->open_file(path, access == Access::write ? O_RDWR | O_EXCL : O_RDONLY);
    if (opened != Status::ok) {
      if (this->last_errno_ == EBUSY) this->error_ += ": it is mounted, or another program has claimed it";
      return opened;
    }
    if (this->system_.fstat(this->file_.get(), &status) != 0) return this->refuse_errno("cannot be read");
    this->facts_.kind = "file";
    if (S_ISBLK(status.st_mode)) {
      opened = look_at_device(status, access);
    } else if (!S_ISREG(status.st_mode)) {
      opened = this->refuse(Status::not_supported, "is neither a block device nor a file");
    }
    if (opened == Status::ok)
      opened = this->take_geometry({.block_bytes = block_bytes_for(this->facts_.bytes),
                                    .program_bytes = kSectorBytes,
                                    .erased = std::byte{0},
                                    .bits_only_clear = false});
    if (opened != Status::ok || access == Access::read) return opened;
    opened = written_.open(path.c_str(), this->facts_.geometry, false);
    this->last_errno_ = errno = written_.last_errno();
    return opened == Status::ok ? opened : this->refuse_errno("cannot be opened");
  }

  flashlog::Device device() { return device_of(*this); }

  Status read(std::uint32_t block, std::uint32_t offset, MutableBytes to) {
    return this->read_file(this->place(block, offset), to);
  }
  Status program(std::uint32_t block, std::uint32_t offset, Bytes from) {
    const flashlog::Device to = written_.device();
    return note(to.program(to.context, block, offset, from));
  }
  Status erase(std::uint32_t block) {
    const off_t at = static_cast<off_t>(this->place(block, 0));
    const std::uint32_t bytes = this->facts_.geometry.block_bytes;
    constexpr int kDiscard = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (discards_ && this->system_.fallocate(this->file_.get(), kDiscard, at, bytes) == 0) return Status::ok;
    discards_ = discards_ && errno != EOPNOTSUPP && errno != ENODEV && errno != ENOSYS;
    const flashlog::Device to = written_.device();
    return note(to.erase(to.context, block));
  }
  Status sync() {
    const flashlog::Device to = written_.device();
    return note(to.sync(to.context));
  }

  /// Whether erases have given their blocks back so far, instead of writing zeros.
  bool discards() const { return discards_; }

 private:
  static constexpr std::uint32_t kSectorBytes = 4096;

  Status note(Status status) {
    this->last_errno_ = written_.last_errno();
    return status;
  }

  Status look_at_device(const struct ::stat& status, Access access) {
    this->facts_.kind = "block device";
    if (major(status.st_rdev) == MTD_BLOCK_MAJOR)
      return this->refuse(Status::not_supported, "knows of no bad blocks and hides erases; name /dev/mtd" +
                                                     std::to_string(minor(status.st_rdev)) + " instead");
    std::uint64_t bytes = 0;
    int sector = 0;
    int read_only = 0;
    const int file = this->file_.get();
    if (this->system_.ioctl(file, BLKGETSIZE64, &bytes) != 0 ||
        this->system_.ioctl(file, BLKSSZGET, &sector) != 0 ||
        this->system_.ioctl(file, BLKROGET, &read_only) != 0)
      return this->refuse_errno("does not tell its size");
    this->facts_.bytes = bytes;
    if (sector > static_cast<int>(kSectorBytes))
      return this->refuse(Status::not_supported,
                          "has sectors of " + std::to_string(sector) + " bytes, and a log takes up to 4096");
    if (access == Access::write && read_only != 0)
      return this->refuse(Status::permission_denied, "the system has this device read-only");
    return Status::ok;
  }

  posix::FlashFile written_;
  bool discards_ = true;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
