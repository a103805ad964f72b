#pragma once
#include <mtd/mtd-user.h>

#include <optional>
#include <string>
#include <vector>

#include "platform/storage/kernel.hpp"
#include "platform/storage/storage_node.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// Bits of flash with ECC that were read wrong since the system started.
struct EccCounts {
  std::uint32_t corrected = 0;  ///< bits that the ECC put right
  std::uint32_t failed = 0;     ///< pages that it could not
};

/// A flash part, or a partition of one, as Linux shows it at /dev/mtdN: NOR, NAND with one bit per cell,
/// RAM. Blocks that the system calls bad stay as they are, and keep their numbers: they are neither
/// read, programmed nor erased. Programs and erases are done when they return. Where the ECC fails, the
/// system gives out wrong bytes without an error; the log's CRCs find them. Not thread-safe.
template <class System = Kernel>
class MtdFlash : public StorageNode<System> {
  using Node = StorageNode<System>;

 public:
  explicit MtdFlash(const System& system = {}) : Node(system) {}

  /// Whether `file` is such a device.
  static bool is_mtd(System& system, int file) {
    mtd_info_user info{};
    return system.ioctl(file, MEMGETINFO, &info) == 0;
  }

  /// `not_supported` for kinds of flash that a log cannot use: those that are only read, NAND with several
  /// bits per cell, where a loss of power takes what was there before, and pages above 4096 bytes.
  /// `permission_denied` for `Access::write` to locked blocks. Else the system's error. `error()` says more.
  [[nodiscard]] Status open(const std::string& path, Access access) {
    Status status = this->open_file(path, access == Access::write ? O_RDWR : O_RDONLY);
    if (status != Status::ok) return status;
    mtd_info_user info{};
    if (ioctl(MEMGETINFO, &info) != 0) return this->refuse_errno("is no MTD device");
    this->facts_.kind = kind_of(info.type);
    if (info.type == MTD_MLCNANDFLASH && (info.flags & MTD_SLC_ON_MLC_EMULATION) == 0)
      return this->refuse(
          Status::not_supported,
          "is NAND with several bits per cell, whose pages are programmed in pairs: a loss "
          "of power would take records that were safe; use a UBI volume or another partition");
    if (*this->facts_.kind == '\0')
      return this->refuse(Status::not_supported,
                          "is MTD of type " + std::to_string(info.type) + ", which no log can use");
    if (access == Access::write && (info.flags & MTD_WRITEABLE) == 0)
      return this->refuse(Status::permission_denied, "the system has this partition read-only");
    status = this->take_geometry({.block_bytes = info.erasesize,
                                  .program_bytes = info.writesize == 0 ? 1 : info.writesize,
                                  .erased = std::byte{0xff},
                                  .bits_only_clear = (info.flags & MTD_BIT_WRITEABLE) != 0});
    if (status == Status::ok) status = find_bad_blocks();
    return status == Status::ok && access == Access::write ? check_locks() : status;
  }

  flashlog::Device device() { return device_of(*this); }

  /// Nothing for flash without ECC.
  std::optional<EccCounts> ecc() {
    mtd_ecc_stats stats{};
    if (ioctl(ECCGETSTATS, &stats) != 0) return std::nullopt;
    return EccCounts{stats.corrected, stats.failed};
  }

  Status read(std::uint32_t block, std::uint32_t offset, MutableBytes to) {
    return bad_[block] ? this->fail(EIO) : this->read_file(this->place(block, offset), to);
  }
  Status program(std::uint32_t block, std::uint32_t offset, Bytes from) {
    return bad_[block] ? this->fail(EIO) : this->write_file(this->place(block, offset), from);
  }
  Status erase(std::uint32_t block) {
    if (bad_[block]) return this->fail(EIO);
    erase_info_user64 range{this->place(block, 0), this->facts_.geometry.block_bytes};
    return this->fail(ioctl(MEMERASE64, &range) == 0 ? 0 : errno);
  }
  Status sync() { return Status::ok; }

 private:
  int ioctl(unsigned long request, void* argument) {
    return this->system_.ioctl(this->file_.get(), request, argument);
  }

  static const char* kind_of(unsigned type) {
    switch (type) {
      case MTD_RAM:
        return "MTD RAM";
      case MTD_NORFLASH:
        return "NOR flash";
      case MTD_NANDFLASH:
        return "NAND flash";
      case MTD_MLCNANDFLASH:
        return "NAND flash with one of its bits per cell";
      case MTD_UBIVOLUME:
        return "UBI volume as MTD";
      default:
        return "";
    }
  }

  Status find_bad_blocks() {
    bad_.assign(this->facts_.geometry.block_count, false);
    for (std::uint32_t block = 0; block < bad_.size(); ++block) {
      __kernel_loff_t at = static_cast<__kernel_loff_t>(this->place(block, 0));
      const int bad = ioctl(MEMGETBADBLOCK, &at);
      if (bad < 0 && (errno == EOPNOTSUPP || errno == ENOTTY)) return Status::ok;  // NOR has none
      if (bad < 0)
        return this->refuse_errno("does not tell whether the block at byte " + std::to_string(at) +
                                  " is bad");
      bad_[block] = bad != 0;
      this->facts_.bad_blocks += bad != 0 ? 1 : 0;
    }
    return Status::ok;
  }

  Status check_locks() {
    for (std::uint32_t block = 0; block < bad_.size(); ++block) {
      erase_info_user range{static_cast<__u32>(this->place(block, 0)), this->facts_.geometry.block_bytes};
      if (bad_[block] || this->place(block, 0) > UINT32_MAX) continue;
      const int locked = ioctl(MEMISLOCKED, &range);
      if (locked < 0) return Status::ok;  // has no locks
      if (locked != 0)
        return this->refuse(Status::permission_denied,
                            "the block at byte " + std::to_string(this->place(block, 0)) +
                                " is locked against writing; 'flash_unlock " + this->path_ + "' unlocks it");
    }
    return Status::ok;
  }

  std::vector<bool> bad_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
