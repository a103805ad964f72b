#pragma once
#include <errno.h>
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <mtd/ubi-user.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace opdump::tests {

/// What Linux answers of flash, emulated after drivers/mtd/mtdchar.c and drivers/mtd/ubi/cdev.c, as the test machine
/// has neither nandsim nor mtdram: MEMGETINFO, MEMERASE64, MEMGETBADBLOCK, MEMISLOCKED, ECCGETSTATS, the ioctls of UBI
/// volumes, reads and writes. No kernel's MTD has run these tests. It is stricter than the kernel: a page that is not
/// erased cannot be programmed, and bad blocks cannot be touched, without a `violation`.
class EmulatedMtd {
 public:
  struct Shape {
    unsigned type = MTD_NANDFLASH;
    std::uint32_t flags = MTD_CAP_NANDFLASH;
    std::uint32_t block_bytes = 16 * 1024;
    std::uint32_t page_bytes = 2048;
    bool is_ubi = false;
    const char* ubi_type = "dynamic";
  };

  EmulatedMtd(std::span<std::byte> memory, const Shape& shape) : memory_(memory), shape_(shape) {}

  std::set<std::uint32_t> bad;            ///< blocks
  std::set<std::uint32_t> locked;         ///< blocks
  std::set<std::uint32_t> fail_programs;  ///< blocks that report EIO and take half of the bytes
  std::set<std::uint32_t> fail_erases;    ///< blocks that report EIO and keep their bytes
  std::set<std::uint64_t> wrong_bytes;    ///< addresses where the ECC fails: read wrong, without an error
  std::string violation;
  std::uint32_t erases = 0;
  std::uint32_t interrupted_calls = 0;  ///< so many reads and writes end with EINTR first
  bool in_place = false;                ///< UBI_VOL_PROP_DIRECT_WRITE
  mtd_ecc_stats ecc{};

  const Shape& shape() const { return shape_; }
  std::uint64_t size() const { return memory_.size(); }
  std::span<std::byte> memory() { return memory_; }

  int ioctl(unsigned long request, void* argument) {
    return shape_.is_ubi ? ubi_ioctl(request, argument) : mtd_ioctl(request, argument);
  }

  ssize_t pread(void* to, std::size_t bytes, off_t from) {
    if (interrupted_calls != 0) return --interrupted_calls, fail(EINTR);
    const std::uint64_t at = static_cast<std::uint64_t>(from);
    if (at >= size()) return 0;
    // The kernel reads at most so much at once.
    bytes = std::min<std::size_t>({bytes, static_cast<std::size_t>(size() - at), 64 * 1024});
    for (std::uint64_t block = at / shape_.block_bytes; block * shape_.block_bytes < at + bytes; ++block) {
      if (bad.contains(static_cast<std::uint32_t>(block))) return violate("read of a bad block");
    }
    memcpy(to, memory_.data() + at, bytes);
    for (const std::uint64_t wrong : wrong_bytes) {
      if (wrong < at || wrong >= at + bytes) continue;
      static_cast<std::byte*>(to)[wrong - at] ^= std::byte{0x40};
      ++ecc.failed;
    }
    return static_cast<ssize_t>(bytes);
  }

  ssize_t pwrite(const void* from, std::size_t bytes, off_t to) {
    if (interrupted_calls != 0) return --interrupted_calls, fail(EINTR);
    if (shape_.is_ubi && !in_place) return fail(EPERM);
    const std::uint64_t at = static_cast<std::uint64_t>(to);
    if (at >= size() || at + bytes > size()) return fail(ENOSPC);
    if (at % shape_.page_bytes != 0 || bytes % shape_.page_bytes != 0) return fail(EINVAL);
    const std::uint32_t block = static_cast<std::uint32_t>(at / shape_.block_bytes);
    if (bad.contains(block)) return violate("write to a bad block");
    if (locked.contains(block)) return fail(EROFS);
    if (at / shape_.block_bytes != (at + bytes - 1) / shape_.block_bytes)
      return violate("write across blocks");
    const std::byte* const source = static_cast<const std::byte*>(from);
    if (fail_programs.contains(block)) {
      memcpy(memory_.data() + at, source, bytes / 2);
      return fail(EIO);
    }
    for (std::size_t i = 0; i < bytes; ++i) {
      std::byte& cell = memory_[at + i];
      if ((shape_.flags & MTD_BIT_WRITEABLE) == 0 && cell != std::byte{0xff})
        return violate("a page that is not erased is programmed");
      cell &= source[i];
    }
    return static_cast<ssize_t>(bytes);
  }

  bool read_line(const std::string& path, std::string& line) const {
    const auto is = [&path](const char* name) { return path.ends_with(name); };
    if (!shape_.is_ubi || !path.starts_with("/sys/dev/char/")) return false;
    if (is("/usable_eb_size"))
      line = std::to_string(shape_.block_bytes);
    else if (is("/reserved_ebs"))
      line = std::to_string(size() / shape_.block_bytes);
    else if (is("/../min_io_size"))
      line = std::to_string(shape_.page_bytes);
    else if (is("/type"))
      line = shape_.ubi_type;
    else if (is("/upd_marker"))
      line = "0";
    else
      return false;
    return true;
  }

 private:
  static int fail(int error) {
    errno = error;
    return -1;
  }
  int violate(const char* what) {
    violation = what;
    return fail(EIO);
  }

  int erase(std::uint64_t at, std::uint64_t bytes) {
    if (at % shape_.block_bytes != 0 || bytes != shape_.block_bytes || at + bytes > size())
      return fail(EINVAL);
    const std::uint32_t block = static_cast<std::uint32_t>(at / shape_.block_bytes);
    if (bad.contains(block)) return violate("erase of a bad block");
    if (locked.contains(block)) return fail(EROFS);
    if (fail_erases.contains(block)) return fail(EIO);
    ++erases;
    std::fill_n(memory_.data() + at, bytes, std::byte{0xff});
    return 0;
  }

  int mtd_ioctl(unsigned long request, void* argument) {
    const bool is_nor = shape_.type == MTD_NORFLASH || shape_.type == MTD_RAM;
    switch (request) {
      case MEMGETINFO: {
        mtd_info_user info{};
        info.type = static_cast<__u8>(shape_.type);
        info.flags = shape_.flags;
        info.size = static_cast<__u32>(size());
        info.erasesize = shape_.block_bytes;
        info.writesize = shape_.page_bytes;
        memcpy(argument, &info, sizeof info);
        return 0;
      }
      case MEMERASE64: {
        erase_info_user64 range{};
        memcpy(&range, argument, sizeof range);
        return erase(range.start, range.length);
      }
      case MEMGETBADBLOCK: {
        if (is_nor) return fail(EOPNOTSUPP);
        __kernel_loff_t at = 0;
        memcpy(&at, argument, sizeof at);
        return bad.contains(static_cast<std::uint32_t>(static_cast<std::uint64_t>(at) / shape_.block_bytes));
      }
      case MEMISLOCKED: {
        if (!is_nor) return fail(EOPNOTSUPP);
        erase_info_user range{};
        memcpy(&range, argument, sizeof range);
        return locked.contains(range.start / shape_.block_bytes);
      }
      case ECCGETSTATS:
        if (is_nor) return fail(EOPNOTSUPP);
        memcpy(argument, &ecc, sizeof ecc);
        return 0;
      default:
        return fail(ENOTTY);
    }
  }

  int ubi_ioctl(unsigned long request, void* argument) {
    if (request == UBI_IOCSETVOLPROP) {
      const auto* const property = static_cast<const ubi_set_vol_prop_req*>(argument);
      if (property->property != UBI_VOL_PROP_DIRECT_WRITE) return fail(EINVAL);
      in_place = property->value != 0;
      return 0;
    }
    if (request != UBI_IOCEBER) return fail(ENOTTY);
    __s32 block = 0;
    memcpy(&block, argument, sizeof block);
    return erase(static_cast<std::uint64_t>(block) * shape_.block_bytes, shape_.block_bytes);
  }

  std::span<std::byte> memory_;
  Shape shape_;
};

/// The system calls of a machine that has an `EmulatedMtd` at every path, for storage::MtdFlash and UbiFlash.
class EmulatedKernel {
 public:
  explicit EmulatedKernel(EmulatedMtd& part) : part_(&part) {}

  int open(const char*, int) { return ::open("/dev/null", O_RDWR | O_CLOEXEC); }
  int fstat(int, struct ::stat* status) {
    *status = {};
    status->st_mode = S_IFCHR | 0600;
    status->st_rdev = makedev(part_->shape().is_ubi ? 250 : 90, 6);
    return 0;
  }
  off_t end_of(int) { return static_cast<off_t>(part_->size()); }
  int ioctl(int, unsigned long request, void* argument) { return part_->ioctl(request, argument); }
  ssize_t pread(int, void* to, std::size_t bytes, off_t at) { return part_->pread(to, bytes, at); }
  ssize_t pwrite(int, const void* from, std::size_t bytes, off_t at) {
    return part_->pwrite(from, bytes, at);
  }
  int fsync(int) { return 0; }
  int lock(int) { return 0; }
  int fallocate(int, int, off_t, off_t) {
    errno = EOPNOTSUPP;
    return -1;
  }
  bool read_line(const std::string& path, std::string& line) { return part_->read_line(path, line); }

 private:
  EmulatedMtd* part_;
};

}  // namespace opdump::tests
