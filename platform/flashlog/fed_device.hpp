#pragma once
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/port/watchdog.hpp"
#include "platform/flashlog/device.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// How many short operations go by between two calls of Watchdog::feed.
struct FeedEvery {
  std::uint16_t programs = 8;
  std::uint16_t reads = 64;  ///< of a few bytes each: a mount has about two for each block
};

/// When a watchdog is fed.
class Feeding {
 public:
  explicit Feeding(const FeedEvery& every) : every_(every) {}

  /// Before a program, or before a read: whether the watchdog is to be fed.
  bool before_program() { return count(programs_, every_.programs); }
  bool before_read() { return count(reads_, every_.reads); }

 private:
  static bool count(std::uint16_t& since, std::uint16_t most) {
    if (++since < most) return false;
    since = 0;
    return true;
  }

  const FeedEvery every_;
  std::uint16_t programs_ = 0;
  std::uint16_t reads_ = 0;
};

/// A flash part that feeds a watchdog, whatever a log does with it: a mount, a drain, a large `finalize`.
///
///     FedDevice fed(part, watchdog);
///     FlashLog log(fed.device(), page, options);
///
/// The watchdog is fed before and after each erase and each sync, and before every n-th program and read. So
/// between two calls there are at most one erase, one sync, or FeedEvery's programs and reads.
class FedDevice {
 public:
  /// `part` and `watchdog` must outlive this. `every` has no 0.
  FedDevice(const Device& part, Watchdog& watchdog, const FeedEvery& every = {})
      : part_(part), watchdog_(watchdog), feeding_(every), device_(part) {
    device_.context = this;
    device_.read = [](void* self, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
      FedDevice& fed = of(self);
      if (fed.feeding_.before_read()) fed.watchdog_.feed();
      return fed.part_.read(fed.part_.context, block, offset, to);
    };
    device_.program = [](void* self, std::uint32_t block, std::uint32_t offset, Bytes from) {
      FedDevice& fed = of(self);
      if (fed.feeding_.before_program()) fed.watchdog_.feed();
      return fed.part_.program(fed.part_.context, block, offset, from);
    };
    device_.erase = [](void* self, std::uint32_t block) {
      FedDevice& fed = of(self);
      fed.watchdog_.feed();
      const Status status = fed.part_.erase(fed.part_.context, block);
      fed.watchdog_.feed();
      return status;
    };
    device_.sync = [](void* self) {
      FedDevice& fed = of(self);
      fed.watchdog_.feed();
      const Status status = fed.part_.sync(fed.part_.context);
      fed.watchdog_.feed();
      return status;
    };
    if (part.protect == nullptr) return;
    device_.protect = [](void* self, bool on) { of(self).part_.protect(of(self).part_.context, on); };
  }
  FedDevice(const Device&&, Watchdog&, const FeedEvery& = {}) = delete;  // it would end before this
  FedDevice(const FedDevice&) = delete;
  FedDevice& operator=(const FedDevice&) = delete;

  /// For a FlashLog, which refers to it.
  const Device& device() const { return device_; }

 private:
  static FedDevice& of(void* self) { return *static_cast<FedDevice*>(self); }

  const Device& part_;
  Watchdog& watchdog_;
  Feeding feeding_;
  Device device_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
