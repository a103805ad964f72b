#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The error that a call of a driver returned.
struct DriverError {
  const char* call = nullptr;  ///< name of the driver's function; null: nothing has failed
  std::int32_t code = 0;       ///< as the driver returned it
};

/// Keeps the latest error of a driver. Any thread or interrupt may set it and any may ask.
class LatestDriverError {
 public:
  /// `calls` are the names that `set` refers to; at most 256, of static lifetime.
  constexpr explicit LatestDriverError(const char* const* calls) : calls_(calls) {}

  /// `code` is kept to 24 bits with its sign.
  void set(std::uint8_t call, std::int32_t code) {
    packed_.store(static_cast<std::uint32_t>(code) << 8 | call, std::memory_order_relaxed);
  }

  DriverError get() const {
    const std::uint32_t packed = packed_.load(std::memory_order_relaxed);
    const std::int32_t code = static_cast<std::int32_t>(packed) >> 8;
    return code == 0 ? DriverError{} : DriverError{calls_[packed & 0xff], code};
  }

 private:
  const char* const* calls_;
  // In one word, so that name and code always belong to the same call.
  std::atomic<std::uint32_t> packed_{0};
};

/// Memory that tensors live in, as a platform supplies it. A recorder is a template over it: a final class
/// (such as `HostMemory`) is called directly, this base class virtually.
///
/// A backend must have `copy` and nothing else. The concepts below say what else it may offer: the session
/// finds a member function of the right form when it is compiled and uses it from then on, and what a backend
/// lacks costs nothing. platform/template/dma_memory.hpp has them all for a DMA engine, to copy from.
class DeviceMemory {
 public:
  /// Copies `bytes` bytes from `from` to `to`, which lies in a ring, and returns when they are there.
  /// Elements are in this machine's byte order. Takes any address and any size up to `CopyRules::max_bytes`;
  /// a driver with narrower rules needs a buffer of its own in between. Must not allocate and must not block
  /// beyond the copy. `device_copy_failed`, or a more exact status, when not every byte arrived; the session
  /// then ignores what `to` holds. Called on the recorder's thread or interrupt.
  [[nodiscard]] virtual Status copy(std::byte* to, Address from, std::size_t bytes) = 0;

 protected:
  ~DeviceMemory() = default;
};

/// Copies that go on in the background. The recorder starts the next piece of a tensor while earlier pieces
/// are on their way, and has all of them before `capture` returns: the next operator may reuse the memory.
///
///   Copy         One copy under way. Default-constructible, never moved: the recorder keeps `kMaxCopies` of
///                them and uses each again and again.
///   kMaxCopies   How many a recorder has under way at once, 2 or more. Each costs it one `Copy` and about 40
///                bytes of RAM.
///   start        As `DeviceMemory::copy`, but returns at once with the copy under way. `not_supported` when
///                this one cannot be (such as an address that the engine does not take, or no free channel):
///                nothing has begun, and the recorder calls `copy` instead. Any other error loses the record.
///   poll         Whether the copy is over, without waiting. An error says that it is over and failed.
///   complete     The same, but waits up to `limit_ms` for it. Where the CPU has a cache, the bytes are
///                visible to it when this or `poll` says true.
///
/// Once a call says true or an error, `to` is not written any more and the `Copy` may be started again. Until
/// then neither is touched: a copy that does not end within `SessionParts::block_limit_ms` loses its record
/// and all later ones of the recorder, as `device_copy_failed`, until it ends; inference goes on. Copies of
/// one recorder may end in any order. All calls for one `Copy` come from its recorder's thread or interrupt;
/// those of different recorders may come at the same time.
template <class Memory>
concept AsyncMemory = std::default_initializable<typename Memory::Copy> && Memory::kMaxCopies >= 2 &&
                      requires(Memory& memory, typename Memory::Copy& copy, std::byte* to, Address from,
                               std::size_t bytes, std::uint32_t limit_ms) {
  { memory.start(copy, to, from, bytes) } -> std::same_as<Status>;
  { memory.poll(copy) } -> std::same_as<Result<bool>>;
  { memory.complete(copy, limit_ms) } -> std::same_as<Result<bool>>;
};

/// What a driver asks of copies.
struct CopyRules {
  std::uint32_t alignment = 1;  ///< power of two; the recorder aligns what it can, both `to` and `from`
  bool whole_units = false;     ///< sizes are to be multiples of the alignment too
  std::uint32_t max_bytes = 0xffffffff;  ///< of one copy: no fewer than the alignment, nor than 16
};

/// A backend with rules. The rules may depend on the device that was found, but do not change once the
/// session is made. Each piece of a streamed tensor begins at a multiple of `alignment` in the ring, and in
/// the device too if the tensor does. The last bytes of a tensor, and tensors that share a chunk, are not
/// aligned. Costs up to `alignment` bytes of the ring per piece.
template <class Memory>
concept RuledMemory = requires(const Memory& memory) {
  { memory.copy_rules() } -> std::same_as<CopyRules>;
};

/// A backend that has to order copies after the operator. `fence(stream_id)` is called with
/// `OpDesc::stream_id` on the recorder's thread before the first byte of a record is read: it waits for the
/// operator, or makes the copies that follow wait for it. An error loses the record. A backend without a
/// fence needs the operator to be over when `capture` is called.
template <class Memory>
concept FencedMemory = requires(Memory& memory, std::uint32_t stream_id) {
  { memory.fence(stream_id) } -> std::same_as<Status>;
};

/// A backend that has to be told what is read, such as one that reads through a data cache what a device wrote
/// past it. `will_read(from, bytes)` is called on the recorder's thread for each tensor of a record, and each
/// range that a watch looks at, after `fence` and before the first byte is read; `bytes` is not 0. For an
/// operator that failed neither is called.
template <class Memory>
concept CachedMemory = requires(Memory& memory, Address from, std::uint64_t bytes) {
  { memory.will_read(from, bytes) } -> std::same_as<void>;
};

/// Tells `memory` of what is about to be read, if it is to be told.
template <class Memory>
constexpr void tell_will_read([[maybe_unused]] Memory& memory, [[maybe_unused]] Address from,
                              [[maybe_unused]] std::uint64_t bytes) {
  if constexpr (CachedMemory<Memory>) {
    if (bytes != 0) memory.will_read(from, bytes);
  }
}

/// A backend whose memory the CPU reads where it lies. `view(from, bytes)` gives those bytes, or fewer when
/// the CPU cannot read them: then `copy` is called. On the recorder's thread, after `fence`.
template <class Memory>
concept ViewableMemory = requires(Memory& memory, Address from, std::uint64_t bytes) {
  { memory.view(from, bytes) } -> std::same_as<Bytes>;
};

/// A backend whose device reports overflows. `overflowed(stream_id)` says whether an operator of that stream
/// overflowed since the last call, and resets the report; an error when the device did not say. Called on the
/// recorder's thread, after `fence`.
template <class Memory>
concept OverflowMemory = requires(Memory& memory, std::uint32_t stream_id) {
  { memory.overflowed(stream_id) } -> std::same_as<Result<bool>>;
};

/// A backend that is bound to one device. `BasicSession::init` refuses one whose id is not the session's.
template <class Memory>
concept IdentifiedMemory = requires(const Memory& memory) {
  { memory.device_id() } -> std::same_as<std::uint32_t>;
};

/// A backend that keeps its driver's own code for the latest call that failed. Any thread may ask.
template <class Memory>
concept ExplainingMemory = requires(const Memory& memory) {
  { memory.driver_error() } -> std::same_as<DriverError>;
};

/// The rules of `memory`, or none.
template <class Memory>
constexpr CopyRules rules_of(const Memory& memory) {
  if constexpr (RuledMemory<Memory>) {
    return memory.copy_rules();
  } else {
    return {};
  }
}

/// A backend that can show the CPU a tensor where it lies, which is cheaper than copies when all of the
/// tensor is looked at. `map` gives the bytes, which stay readable until `unmap` is called for them. Called
/// on the recorder's thread.
template <class Memory>
concept MappingMemory = requires(Memory& memory, Address from, std::uint64_t bytes, Bytes mapped) {
  { memory.map(from, bytes) } -> std::same_as<Result<Bytes>>;
  { memory.unmap(from, mapped) } -> std::same_as<Status>;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
