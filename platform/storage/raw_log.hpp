#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>

#include "opdump/base/bytes.hpp"
#include "platform/flashlog/fed_device.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/storage/log_claim.hpp"
#include "platform/storage/raw_storage.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// The largest page of a log on `part`, up to 64 KiB: a multiple of the granule that divides the block.
constexpr std::uint32_t page_bytes_for(const flashlog::Geometry& part) {
  constexpr std::uint32_t kMost = 64 * 1024;
  const std::uint32_t granules = part.block_bytes / part.program_bytes;
  std::uint32_t best = part.program_bytes;
  // The blocks of a log hold two pages at least.
  for (std::uint32_t pages = 2; pages <= granules; ++pages) {
    const std::uint32_t page = part.block_bytes / pages;
    if (granules % pages == 0 && page <= kMost) return page;
  }
  return best;
}

/// A flash log on the storage at a path, with all that it needs inside. Erases nothing but what `LogClaim`
/// lets it. Allocates in `open`. Not thread-safe.
template <class System>
class BasicRawLog {
 public:
  explicit BasicRawLog(const System& system = {}) : storage_(system) {}
  BasicRawLog(const BasicRawLog&) = delete;
  BasicRawLog& operator=(const BasicRawLog&) = delete;

  /// Opens the storage, makes sure that it is erased or holds a log, and mounts the log. Errors as
  /// `BasicRawStorage::open`, `LogClaim::inspect` and `FlashLog::mount`; `no_memory`. `error()` says more.
  /// `watchdog`, which outlives this, is fed meanwhile and whenever the log works, as by a FedDevice.
  [[nodiscard]] Status open(const std::string& path, const flashlog::Options& options,
                            Watchdog* watchdog = nullptr) {
    path_ = path;
    Status status = storage_.open(path, Access::write);
    if (status != Status::ok) {
      error_ = storage_.error();
      return status;
    }
    part_ = device_ = storage_.device();
    if (watchdog != nullptr) device_ = fed_.emplace(part_, *watchdog).device();
    status = claim_.inspect(device_);
    if (status != Status::ok) return refuse(status, claim_.reason());
    flashlog::Device guarded = device_;
    guarded.context = this;
    guarded.read = [](void* context, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
      const flashlog::Device& device = static_cast<BasicRawLog*>(context)->device_;
      return device.read(device.context, block, offset, to);
    };
    guarded.program = [](void* context, std::uint32_t block, std::uint32_t offset, Bytes from) {
      const flashlog::Device& device = static_cast<BasicRawLog*>(context)->device_;
      return device.program(device.context, block, offset, from);
    };
    guarded.erase = [](void* context, std::uint32_t block) {
      return static_cast<BasicRawLog*>(context)->erase(block);
    };
    guarded.sync = [](void* context) {
      const flashlog::Device& device = static_cast<BasicRawLog*>(context)->device_;
      return device.sync(device.context);
    };
    guarded_ = guarded;
    const std::uint32_t page = page_bytes_for(device_.geometry);
    // The page itself lies where a device may read it directly.
    constexpr std::size_t kAlignment = 4096;
    constexpr std::size_t kPrefix = flashlog::FlashLog::kPrefixBytes;
    memory_.reset(new (std::nothrow) std::byte[kPrefix + page + kAlignment]);
    if (memory_ == nullptr) return refuse(Status::no_memory, "no memory for a page");
    const std::size_t place = reinterpret_cast<std::uintptr_t>(memory_.get()) + kPrefix;
    const std::size_t skip = (kAlignment - place % kAlignment) % kAlignment;
    log_.reset(new (std::nothrow)
                   flashlog::FlashLog(guarded_, {memory_.get() + skip, kPrefix + page}, options));
    if (log_ == nullptr) return refuse(Status::no_memory, "no memory for the log");
    status = log_->mount();
    return status == Status::ok ? status : refuse(status, "the log cannot be mounted");
  }

  flashlog::FlashLog& log() { return *log_; }
  StorageFacts facts() const { return storage_.facts(); }
  int last_errno() const { return storage_.last_errno(); }

  /// Bytes that a log can have there.
  std::uint64_t room() const { return log_room(storage_.facts()); }

  /// What the storage is and how much of it the log had in use when it was opened.
  std::string report() const {
    return path_ + ": " + storage_text(facts()) + "; a log has " + std::to_string(claim_.blocks_of_log()) +
           " of them, and this is boot " + std::to_string(log_->boot());
  }

  /// "PATH: reason" of the last failure to open, or of a refusal to erase since; else empty.
  const std::string& error() const { return error_; }

 private:
  Status refuse(Status status, const std::string& reason) {
    error_ = path_ + ": " + reason;
    return status;
  }

  Status erase(std::uint32_t block) {
    const Status status = claim_.may_erase(block);
    if (status != Status::ok) return refuse(status, claim_.reason());
    return device_.erase(device_.context, block);
  }

  BasicRawStorage<System> storage_;
  LogClaim claim_;
  flashlog::Device part_;
  std::optional<flashlog::FedDevice> fed_;
  flashlog::Device device_;  ///< `part_`, or that through `fed_`
  flashlog::Device guarded_;
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<flashlog::FlashLog> log_;
  std::string path_;
  std::string error_;
};

using RawLog = BasicRawLog<Kernel>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
