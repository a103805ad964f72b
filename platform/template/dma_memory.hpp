#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/base/cpu.hpp"
#include "opdump/port/device_memory.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tensors in the memory of an accelerator, read by a DMA engine: a device memory with all that a backend may
/// offer, to copy and cut down. `Engine` is the port:
///
///     struct Engine {
///       static constexpr std::size_t kChannels = 4;        // transfers that it can have under way: 3 or more
///       static constexpr std::uint32_t kAlignment = 32;    // of both addresses and of sizes: a power of two
///       static constexpr std::uint32_t kMaxBytes = 65504;  // of one transfer: a multiple of the alignment
///       // Starts a transfer on a free channel and returns. What `to` held is no longer in the cache.
///       void start(std::size_t channel, std::byte* to, Address from, std::uint32_t bytes);
///       // 1 when the channel's transfer is over and `to` can be read by the CPU, 0 before; less: the
///       // code of its error.
///       std::int32_t poll(std::size_t channel);
///       // Milliseconds that only grow, wrapping at 32 bits.
///       std::uint32_t now_ms();
///       // Returns when the operators sent to `stream_id` so far are over; 0, or the code of an error.
///       std::int32_t wait_for_operators(std::uint32_t stream_id);
///       // Whether an operator of `stream_id` overflowed since the last call: 1, 0, or the code of an error.
///       std::int32_t take_overflow(std::uint32_t stream_id);
///       std::uint32_t device_id() const;
///     };
///
/// What breaks the engine's rules goes through channel 0 and a buffer of `kStagingBytes` of this object's.
/// Recorders of several threads or interrupts may share one object, on cores that have an atomic exchange; on
/// a Cortex-M0, which has none, no recorder that shares it may interrupt another. A copy through the buffer
/// while another recorder has it fails as `recorder_busy`.
template <class Engine, std::size_t kStagingBytes = 256>
class DmaMemory final : public DeviceMemory {
 public:
  static constexpr std::size_t kMaxCopies = Engine::kChannels - 1;
  static constexpr std::size_t kStagingChannel = 0;

  struct Copy {
    std::size_t channel = kStagingChannel;
  };

  /// `copy_limit_ms`: the longest a transfer may take before it counts as failed.
  explicit DmaMemory(Engine& engine, std::uint32_t copy_limit_ms = 100)
      : engine_(engine), copy_limit_ms_(copy_limit_ms) {}

  /// Through the buffer, piece by piece: any address and size. `device_copy_failed` also when the engine
  /// does not end; `recorder_busy` until it does, and while another recorder has the buffer.
  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (!take(staging_taken_)) return Status::recorder_busy;
    staging_overdue_ = staging_overdue_ && engine_.poll(kStagingChannel) == 0;
    const Status status = staging_overdue_ ? Status::recorder_busy : copy_staged(to, from, bytes);
    // release: our use of the buffer comes before; pairs with the acquire in `take`.
    staging_taken_.store(0, std::memory_order_release);
    return status;
  }

  [[nodiscard]] Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    if (((address_of(to) | from | bytes) & (Engine::kAlignment - 1)) != 0) return Status::not_supported;
    for (copy.channel = kStagingChannel + 1; copy.channel < Engine::kChannels; ++copy.channel) {
      if (!take(channels_taken_[copy.channel])) continue;
      engine_.start(copy.channel, to, from, static_cast<std::uint32_t>(bytes));
      return Status::ok;
    }
    return Status::not_supported;
  }

  [[nodiscard]] Result<bool> poll(Copy& copy) { return complete(copy, 0); }

  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    const Result<bool> over = wait(copy.channel, limit_ms);
    // release: our use of the channel comes before; pairs with the acquire in `take`.
    if (!over.ok() || over.value()) channels_taken_[copy.channel].store(0, std::memory_order_release);
    return over;
  }

  CopyRules copy_rules() const {
    return {.alignment = Engine::kAlignment, .whole_units = true, .max_bytes = Engine::kMaxBytes};
  }

  [[nodiscard]] Status fence(std::uint32_t stream_id) {
    const std::int32_t code = engine_.wait_for_operators(stream_id);
    if (code != 0) error_.set(kWait, code);
    return code == 0 ? Status::ok : Status::driver_failed;
  }

  [[nodiscard]] Result<bool> overflowed(std::uint32_t stream_id) {
    const std::int32_t answer = engine_.take_overflow(stream_id);
    if (answer == 0 || answer == 1) return answer == 1;
    error_.set(kOverflow, answer);
    return Status::driver_failed;
  }

  std::uint32_t device_id() const { return engine_.device_id(); }

  DriverError driver_error() const { return error_.get(); }

 private:
  /// A word: not every core exchanges bytes.
  using Taken = std::atomic<std::uint32_t>;

  /// Takes what is not taken; whether it did.
  static bool take(Taken& taken) {
    // acquire: the last user is done with it; pairs with the releases above.
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
    return taken.exchange(1, std::memory_order_acquire) == 0;
#else
    const bool free = taken.load(std::memory_order_acquire) == 0;
    taken.store(1, std::memory_order_relaxed);
    return free;
#endif
  }

  static_assert(kStagingBytes % Engine::kAlignment == 0 && kStagingBytes >= 2 * Engine::kAlignment &&
                kStagingBytes <= Engine::kMaxBytes);

  enum Call : std::uint8_t { kTransfer, kWait, kOverflow };
  static constexpr const char* kCalls[] = {"transfer", "wait for operators", "take overflow"};

  Result<bool> wait(std::size_t channel, std::uint32_t limit_ms) {
    const std::uint32_t start = engine_.now_ms();
    std::int32_t state = engine_.poll(channel);
    while (state == 0 && engine_.now_ms() - start < limit_ms) {
      cpu_relax();
      state = engine_.poll(channel);
    }
    if (state >= 0) return state > 0;
    error_.set(kTransfer, state);
    return Status::device_copy_failed;
  }

  Status copy_staged(std::byte* to, Address from, std::size_t bytes) {
    while (bytes != 0) {
      // Whole units around the bytes that are wanted: memory of an accelerator is handed out in them.
      const std::size_t before = static_cast<std::size_t>(from & (Engine::kAlignment - 1));
      const std::size_t room = kStagingBytes - before;
      const std::size_t wanted = bytes < room ? bytes : room;
      const std::size_t whole =
          (before + wanted + Engine::kAlignment - 1) & ~std::size_t{Engine::kAlignment - 1};
      const Status status = transfer(from - before, whole);
      if (status != Status::ok) return status;
      std::memcpy(to, staging_.data() + before, wanted);
      to += wanted;
      from += wanted;
      bytes -= wanted;
    }
    return Status::ok;
  }

  Status transfer(Address from, std::size_t bytes) {
    engine_.start(kStagingChannel, staging_.data(), from, static_cast<std::uint32_t>(bytes));
    const Result<bool> over = wait(kStagingChannel, copy_limit_ms_);
    if (!over.ok()) return over.status();
    staging_overdue_ = !over.value();
    return staging_overdue_ ? Status::device_copy_failed : Status::ok;
  }

  Engine& engine_;
  const std::uint32_t copy_limit_ms_;
  Taken staging_taken_{0};
  bool staging_overdue_ = false;  ///< a transfer into the buffer has not ended; of whoever has taken it
  std::array<Taken, Engine::kChannels> channels_taken_{};
  LatestDriverError error_{kCalls};
  alignas(Engine::kAlignment) std::array<std::byte, kStagingBytes> staging_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
