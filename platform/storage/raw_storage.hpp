#pragma once
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <variant>

#include "platform/flashlog/device.hpp"
#include "platform/storage/block_flash.hpp"
#include "platform/storage/kernel.hpp"
#include "platform/storage/mtd_flash.hpp"
#include "platform/storage/storage_node.hpp"
#include "platform/storage/ubi_flash.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// The storage at a path, of whichever kind it is. For hosts: `RawStorage` is compiled in libopdump.
template <class System>
class BasicRawStorage {
 public:
  explicit BasicRawStorage(const System& system = {}) : system_(system) {}
  BasicRawStorage(const BasicRawStorage&) = delete;
  BasicRawStorage& operator=(const BasicRawStorage&) = delete;

  /// Errors as the `open` of the kind; `not_supported` for a character device that is neither MTD nor UBI and
  /// for what is no device and no file.
  [[nodiscard]] Status open(const std::string& path, Access access) {
    close();
    struct ::stat status {};
    posix::UniqueFd file(system_.open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file || system_.fstat(file.get(), &status) != 0) {
      const int error = errno;
      error_ = path + ": " + ::strerror(error);
      return posix::status_of(error);
    }
    if (S_ISBLK(status.st_mode) || S_ISREG(status.st_mode)) return open_as<BlockFlash<System>>(path, access);
    if (S_ISCHR(status.st_mode) && MtdFlash<System>::is_mtd(system_, file.get()))
      return open_as<MtdFlash<System>>(path, access);
    if (S_ISCHR(status.st_mode) && UbiFlash<System>::is_ubi(system_, file.get())) {
      // UBI counts who has a volume open.
      file.reset();
      return open_as<UbiFlash<System>>(path, access);
    }
    error_ = path + ": is neither an MTD device, a UBI volume, a block device nor a file";
    return Status::not_supported;
  }

  void close() { node_.template emplace<std::monostate>(); }
  bool is_open() const { return node_.index() != 0; }

  /// Refers to this object. Only while it is open.
  flashlog::Device device() {
    return visit([](auto& node) { return node.device(); });
  }
  StorageFacts facts() const {
    return const_cast<BasicRawStorage*>(this)->visit([](auto& node) { return node.facts(); });
  }
  int last_errno() const {
    return const_cast<BasicRawStorage*>(this)->visit([](auto& node) { return node.last_errno(); });
  }

  /// Nothing where the system does not count what the ECC did.
  std::optional<EccCounts> ecc() {
    auto* const mtd = std::get_if<MtdFlash<System>>(&node_);
    return mtd == nullptr ? std::nullopt : mtd->ecc();
  }

  /// "PATH: reason" of the last failed `open`.
  const std::string& error() const { return error_; }

 private:
  template <class Node>
  Status open_as(const std::string& path, Access access) {
    Node& node = node_.template emplace<Node>(system_);
    const Status status = node.open(path, access);
    if (status == Status::ok) return status;
    error_ = node.error();
    close();
    return status;
  }

  template <class Use>
  auto visit(Use use) -> decltype(use(std::declval<BlockFlash<System>&>())) {
    if (auto* const mtd = std::get_if<MtdFlash<System>>(&node_)) return use(*mtd);
    if (auto* const ubi = std::get_if<UbiFlash<System>>(&node_)) return use(*ubi);
    if (auto* const block = std::get_if<BlockFlash<System>>(&node_)) return use(*block);
    return {};
  }

  System system_;
  std::string error_;
  std::variant<std::monostate, MtdFlash<System>, UbiFlash<System>, BlockFlash<System>> node_;
};

using RawStorage = BasicRawStorage<Kernel>;
extern template class BasicRawStorage<Kernel>;

/// Bytes of the blocks that a log can use.
std::uint64_t log_room(const StorageFacts& facts);

/// "NAND flash, 512 blocks of 128 KiB, 64 MiB, 3 of the blocks bad"; tells too what a log leaves unused.
std::string storage_text(const StorageFacts& facts);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
