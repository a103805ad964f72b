#pragma once
#include <mtd/ubi-user.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <string>

#include "platform/storage/kernel.hpp"
#include "platform/storage/storage_node.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// A dynamic UBI volume at /dev/ubiX_Y. UBI spreads the wear and replaces bad blocks. Its blocks are the
/// volume's logical erase blocks, programmed in place (UBI_VOL_PROP_DIRECT_WRITE). Not thread-safe; UBI lets
/// one program at a time write to a volume.
template <class System = Kernel>
class UbiFlash : public StorageNode<System> {
  using Node = StorageNode<System>;

 public:
  explicit UbiFlash(const System& system = {}) : Node(system) {}

  /// Whether `file` is such a volume.
  static bool is_ubi(System& system, int file) {
    std::string ignored;
    const std::string facts = sysfs(system, file);
    return !facts.empty() && system.read_line(facts + "usable_eb_size", ignored);
  }

  /// `not_supported` for a static volume, one with a cut-off update, and pages above 4096 bytes. Else the
  /// system's error. `error()` says more.
  [[nodiscard]] Status open(const std::string& path, Access access) {
    Status status = this->open_file(path, access == Access::write ? O_RDWR : O_RDONLY);
    if (status != Status::ok) return status;
    const std::string facts = sysfs(this->system_, this->file_.get());
    std::uint32_t block_bytes = 0;
    std::uint32_t blocks = 0;
    std::uint32_t page_bytes = 0;
    std::string type;
    if (facts.empty() || !number_in(facts + "usable_eb_size", block_bytes) ||
        !number_in(facts + "reserved_ebs", blocks) || !number_in(facts + "../min_io_size", page_bytes) ||
        !this->system_.read_line(facts + "type", type))
      return this->refuse(Status::not_supported, "is no UBI volume, or " + facts + " does not describe it");
    if (type != "dynamic")
      return this->refuse(Status::not_supported,
                          "is a " + type + " UBI volume; a log needs one made with 'ubimkvol -t dynamic'");
    std::uint32_t torn_update = 0;
    if (number_in(facts + "upd_marker", torn_update) && torn_update != 0)
      return this->refuse(
          Status::not_supported,
          "an update of this UBI volume was cut off; 'ubiupdatevol -t " + path + "' empties it");
    this->facts_.kind = "UBI volume";
    this->facts_.bytes = std::uint64_t{blocks} * block_bytes;
    status = this->take_geometry({.block_bytes = block_bytes,
                                  .program_bytes = page_bytes,
                                  .erased = std::byte{0xff},
                                  .bits_only_clear = false});
    if (status != Status::ok || access == Access::read) return status;
    ubi_set_vol_prop_req in_place{};
    in_place.property = UBI_VOL_PROP_DIRECT_WRITE;
    in_place.value = 1;
    if (this->system_.ioctl(this->file_.get(), UBI_IOCSETVOLPROP, &in_place) != 0)
      return this->refuse_errno("cannot be written in place");
    return Status::ok;
  }

  flashlog::Device device() { return device_of(*this); }

  Status read(std::uint32_t block, std::uint32_t offset, MutableBytes to) {
    return this->read_file(this->place(block, offset), to);
  }
  Status program(std::uint32_t block, std::uint32_t offset, Bytes from) {
    return this->write_file(this->place(block, offset), from);
  }
  /// Done on the flash when it returns.
  Status erase(std::uint32_t block) {
    __s32 number = static_cast<__s32>(block);
    return this->fail(this->system_.ioctl(this->file_.get(), UBI_IOCEBER, &number) == 0 ? 0 : errno);
  }
  Status sync() { return this->fail(this->system_.fsync(this->file_.get()) == 0 ? 0 : errno); }

 private:
  /// The directory that describes a character device; empty if it is none.
  static std::string sysfs(System& system, int file) {
    struct ::stat status {};
    if (system.fstat(file, &status) != 0 || !S_ISCHR(status.st_mode)) return {};
    return "/sys/dev/char/" + std::to_string(major(status.st_rdev)) + ':' +
           std::to_string(minor(status.st_rdev)) + '/';
  }

  bool number_in(const std::string& path, std::uint32_t& number) {
    std::string line;
    if (!this->system_.read_line(path, line)) return false;
    return std::from_chars(line.data(), line.data() + line.size(), number).ec == std::errc{};
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
