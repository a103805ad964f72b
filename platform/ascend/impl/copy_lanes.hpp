#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/base/cpu.hpp"
#include "opdump/base/status.hpp"
#include "platform/ascend/acl_api.hpp"
#include "platform/ascend/impl/driver_calls.hpp"
#include "platform/ascend/impl/pinned_memory.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// What copies in the background go by: streams, each with a buffer of pinned memory, for one copy at once.
class CopyLanes {
 public:
  static constexpr std::size_t kMost = 32;

  /// A copy under way.
  struct Copy {
    std::size_t lane = 0;
    std::byte* to = nullptr;
    std::byte* staged = nullptr;  ///< where the bytes arrive; null: at `to`
    Address from = 0;
    std::size_t bytes = 0;
  };

  /// What became of a copy.
  enum class End : std::uint8_t {
    under_way,
    arrived,
    failed,
    unknown,  ///< it is over, and the driver does not say how
  };

  explicit CopyLanes(DriverCalls& calls) : calls_(calls) {}
  CopyLanes(const CopyLanes&) = delete;
  CopyLanes& operator=(const CopyLanes&) = delete;

  /// As many lanes as the driver gives, up to `most`; a product whose runtime has the functions but not what
  /// they are for has none.
  void open(std::size_t most, std::size_t staging_bytes) {
    staging_bytes_ = staging_bytes;
    if (!calls_.api().has_async()) return;
    while (count_ < most && open_lane(lanes_[count_])) ++count_;
  }

  /// Once the copies under way are over. An error when something could not be given back.
  Status close() {
    Status worst = Status::ok;
    const auto note = [&](DriverCalls::Call call, AclError code) {
      if (const Status status = calls_.check(call, code); status != Status::ok) worst = status;
    };
    for (Lane& lane : lanes_) {
      if (lane.staging == nullptr) continue;
      if (lane.taken.load(std::memory_order_acquire))  // partner: `give_back`
        note(DriverCalls::kSynchronizeStream, calls_.wait_for(lane.stream));
      note(DriverCalls::kDestroyStream, calls_.api().destroy_stream(lane.stream));
      if (const Status status = lane.pinned.free(calls_); status != Status::ok) worst = status;
      lane.staging = nullptr;
      lane.taken.store(false, std::memory_order_relaxed);
    }
    count_ = 0;
    spare_stuck_.store(false, std::memory_order_relaxed);
    return worst;
  }

  bool any() const { return count_ != 0; }

  bool take(Copy& copy) {
    if (calls_.lacks(DriverCalls::kMemcpyAsync)) return false;
    for (copy.lane = 0; copy.lane < count_; ++copy.lane) {
      // acquire: its last user is done with it; pairs with the release in `give_back`.
      if (!lanes_[copy.lane].taken.exchange(true, std::memory_order_acquire)) return true;
    }
    return false;
  }

  /// Takes a lane for a copy that is waited for, the spare one if all others are taken, perhaps by who waits.
  bool take_to_wait(Copy& copy) { return take(copy) || take_spare(copy); }

  /// Starts a copy, of at most a lane's bytes, on the lane that was taken for it. `direct`: the device copies
  /// to `to` itself. `not_supported`: nothing has begun, and the lane is given back.
  Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes, bool direct) {
    // Device memory is handed out in aligned blocks, so the bytes before `from` in its block are there too.
    const std::size_t before = direct ? 0 : beyond_alignment(from);
    Lane& lane = lanes_[copy.lane];
    std::byte* arrival = direct ? to : lane.staging;
    copy.to = to;
    copy.from = from;
    copy.staged = direct ? nullptr : lane.staging + before;
    copy.bytes = bytes;
    const AclError code = calls_.api().memcpy_async(arrival, before + bytes, pointer_of(from - before),
                                                    before + bytes, kDeviceToHost, lane.stream);
    if (code == kAclSuccess) return Status::ok;
    give_back(lane);
    if (says_unsupported(code)) {
      calls_.note_lacking(DriverCalls::kMemcpyAsync);
    } else if (code != kRtQueueFull) {
      static_cast<void>(calls_.check(DriverCalls::kMemcpyAsync, code));
    }
    return Status::not_supported;
  }

  /// Whether the driver says that nothing is under way on the copy's lane.
  bool is_known_idle(const Copy& copy) { return calls_.is_known_idle(lanes_[copy.lane].stream); }

  /// Gives the lane back if the copy is over.
  End wait_for(const Copy& copy, std::uint32_t limit_ms) {
    Lane& lane = lanes_[copy.lane];
    const AclError code = calls_.wait_for(lane.stream, limit_ms);
    if (says_timeout(code)) return End::under_way;
    if (says_call_failed(code) && calls_.is_known_idle(lane.stream)) {
      give_back(lane);
      return End::unknown;
    }
    const Status status =
        says_overflow(code) ? Status::ok : calls_.check(DriverCalls::kSynchronizeStream, code);
    if (status != Status::ok) {
      // The wait may have failed rather than the copy, which then still writes.
      const Result<bool> idle = calls_.is_idle(lane.stream);
      const bool over = idle.ok() ? idle.value() : idle.status() == Status::not_supported;
      if (!over) return End::under_way;
    }
    if (status == Status::ok && copy.staged != nullptr) std::memcpy(copy.to, copy.staged, copy.bytes);
    give_back(lane);
    return status == Status::ok ? End::arrived : End::failed;
  }

  /// The copy did not end within its limit. If it has the spare lane, nobody waits for that any more.
  void note_stuck(const Copy& copy) {
    if (copy.lane == kSpare) spare_stuck_.store(true, std::memory_order_relaxed);
  }

 private:
  static constexpr AclError kRtQueueFull = 207014;
  static constexpr std::size_t kSpare = kMost;

  struct Lane {
    Stream stream = nullptr;
    Pinned pinned{};
    std::byte* staging = nullptr;  ///< in `pinned`; null: the lane is not open
    std::atomic<bool> taken{false};
  };

  bool open_lane(Lane& lane) {
    // With room for what comes along before the first byte.
    if (lane.pinned.allocate(calls_, staging_bytes_ + kCopyAlignment) != Status::ok) return false;
    const AclApi& api = calls_.api();
    const AclError code = api.create_stream(&lane.stream);
    // What cannot be waited for cannot go on in the background.
    if (code == kAclSuccess && !says_unsupported(calls_.wait_for(lane.stream))) {
      lane.staging = lane.pinned.aligned.data();
      return true;
    }
    if (code == kAclSuccess)
      static_cast<void>(calls_.check(DriverCalls::kDestroyStream, api.destroy_stream(lane.stream)));
    if (code != kAclSuccess && !says_unsupported(code))
      static_cast<void>(calls_.check(DriverCalls::kCreateStream, code));
    static_cast<void>(lane.pinned.free(calls_));
    return false;
  }

  /// The spare lane is opened when it is first taken.
  bool take_spare(Copy& copy) {
    if (count_ == 0 || calls_.lacks(DriverCalls::kMemcpyAsync)) return false;
    copy.lane = kSpare;
    Lane& spare = lanes_[copy.lane];
    // acquire: as in `take`. Whoever has it waits for one copy.
    while (spare.taken.exchange(true, std::memory_order_acquire)) {
      if (spare_stuck_.load(std::memory_order_relaxed)) return false;
      cpu_relax();
    }
    if (spare.staging != nullptr || open_lane(spare)) return true;
    give_back(spare);
    return false;
  }

  // partners: `take`, `take_spare`, `close`.
  static void give_back(Lane& lane) { lane.taken.store(false, std::memory_order_release); }

  DriverCalls& calls_;
  std::size_t staging_bytes_ = 0;
  std::array<Lane, kMost + 1> lanes_;     ///< the last one is the spare
  std::atomic<bool> spare_stuck_{false};  ///< with a copy that has not ended within its limit
  std::size_t count_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
