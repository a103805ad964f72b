#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/cpu.hpp"
#include "opdump/impl/capture/copies_in_flight.hpp"
#include "opdump/impl/capture/copy_way.hpp"
#include "opdump/impl/capture/recorder_context.hpp"
#include "opdump/impl/record/ring_record.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/ring.hpp"
#include "opdump/types/overflow.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The way of one recorder's records into its ring: finds room as WhenFull says, and brings the tensors'
/// bytes there. From a backend that copies in the background, each piece is started while earlier ones are on
/// their way. All calls from the recorder's context.
template <class Memory>
class RingWriter {
 public:
  Status attach(const RecorderContext<Memory>& context, std::size_t slot, MutableBytes ring_memory,
                std::optional<WhenFull> when_full) {
    context_ = &context;
    clock_ = context.clock;
    slot_ = slot;
    own_when_full_ = when_full.has_value();
    when_full_ = possible(when_full.value_or(context.when_full));
    stalled_ = false;
    woken_ = false;
    return ring_.reset(ring_memory);
  }

  /// The session's policy has changed, while nothing is captured.
  void follow(WhenFull when_full) {
    if (!own_when_full_) when_full_ = when_full;
  }

  /// What to do when the ring has no room.
  WhenFull when_full() const {
    // relaxed: no more than a hint to end a wait that leads nowhere.
    return context_->crashed.load(std::memory_order_relaxed) ? WhenFull::drop : when_full_;
  }

  /// From now on nothing is captured; the drainer may still be at work on the ring.
  void detach() { context_ = nullptr; }

  /// Whether it is attached to that context; a recorder that has been taken back is attached to none.
  bool is_attached_to(const void* context) const { return context_ == context; }

  const RecorderContext<Memory>& context() const { return *context_; }
  std::size_t slot() const { return slot_; }
  Ring& ring() { return ring_; }
  const Ring& ring() const { return ring_; }

  /// Comes before the first byte is read of what an operator on that stream has written: `tensors`.
  void prepare([[maybe_unused]] std::uint32_t stream_id, [[maybe_unused]] const CapturedTensors& tensors) {
    static_cast<void>(at_rest());
    if constexpr (FencedMemory<Memory>) fence_.status = context_->memory->fence(stream_id);
    if constexpr (CachedMemory<Memory>) {
      tensors.all([this](const TensorView& tensor) {
        tell_will_read(*context_->memory, tensor.address, tensor.bytes);
        return true;
      });
    }
  }

  /// Whether the device writes no more to the ring's free room, on behalf of a record that was given up.
  bool at_rest() {
    if constexpr (AsyncMemory<Memory>) {
      if (!copies_.empty()) copies_.abandon(*context_->memory, 0);
      return copies_.empty();
    } else {
      return true;
    }
  }

  /// Room for a chunk, as `Ring::reserve` gives it; waits as WhenFull says.
  Status room(std::uint32_t least, std::uint32_t most, MutableBytes& chunk) {
    if constexpr (FencedMemory<Memory>) {
      if (fence_.status != Status::ok) return fence_.status;
    }
    if constexpr (AsyncMemory<Memory>) {
      if (!copies_.empty()) return Status::device_copy_failed;
    }
    return room_behind(least, most, chunk);
  }

  /// Whether a record of `bytes` bytes that comes in pieces is to be dropped at once: what has begun and finds no
  /// room behind would only take it from the next ones. One that is larger than the ring may begin.
  OPDUMP_APART bool drops_at_once(DataBytes bytes) {
    const std::uint32_t size = ring_.size();
    if (when_full() != WhenFull::drop || bytes > size) return false;
    // With the pieces' heads and padding, and what is too short for one before the ring's end.
    const std::uint32_t need = static_cast<std::uint32_t>(bytes) + size / 8;
    return over(need < size ? size - need : 0);
  }

  /// Whether a tensor's bytes may be copied from where the CPU finds them, with nothing to do before.
  static constexpr bool kCopiesAtOnce = !build::kLean && std::endian::native == std::endian::little &&
                                        ViewableMemory<Memory> && !AsyncMemory<Memory> &&
                                        !FencedMemory<Memory> && !CachedMemory<Memory>;

  /// Room for a chunk of `bytes` bytes straight behind the last one, as `Ring::reserve_ahead` gives it: null
  /// also when something else is to be done before, or a drainer to be woken after.
  Ring::Ahead room_ahead(std::uint32_t bytes) { return ring_.reserve_ahead(bytes); }

  /// Until the next `look_ahead` there is no such room.
  void end_ahead() {
    if constexpr (kCopiesAtOnce) ring_.end_ahead();
  }

  /// `bytes` bytes from `from` on, where the CPU finds them; fewer when it does not.
  Bytes view(Address from, std::uint64_t bytes) const { return context_->memory->view(from, bytes); }

  /// Room for a chunk without waiting; null data when there is none.
  MutableBytes room_at_once(std::uint32_t bytes) {
    return at_rest() ? ring_.reserve(bytes, bytes) : MutableBytes();
  }

  std::uint64_t unix_us() const {
    Clock* const clock = clock_;
    return (build::kLean ? context_->clock : clock)->unix_us();
  }

  /// What tensors' bytes are made of from now on; null: they are copied from where they lie.
  void set_report(const LeanOverflowReport* report) { report_ = report; }
  bool has_report() const { return report_ != nullptr; }

  /// Whether bytes that cannot be read become zeros from now on, instead of losing the record; but those that
  /// are copied in the background.
  void zero_unreadable(bool zero) { zero_unreadable_ = zero; }

  /// Copies the tensors, which fit, to `to`, which is in a chunk that has room and is not committed.
  OPDUMP_APART Status copy(std::byte* to, const CapturedTensors& tensors) { return copy_all(to, tensors); }

  /// The same without the frame of a call, where a copy is no more than that; a driver's code stays apart.
  Status copy_now(std::byte* to, const CapturedTensors& tensors) {
    if constexpr (ViewableMemory<Memory> && !AsyncMemory<Memory>) {
      return copy_all(to, tensors);
    } else {
      return copy(to, tensors);
    }
  }

  /// Sends the tensors in chunks of their own, the last of which ends the record; `data_bytes` is the sum of
  /// their bytes. `headroom` bytes of the ring stay free.
  Status stream(const CapturedTensors& tensors, DataBytes data_bytes, std::uint32_t headroom) {
    if constexpr (kChoosesWay) {
      way_.begin();
      const Status status = stream_all(tensors, data_bytes, headroom);
      way_.end(data_bytes, ring_.size());
      return status;
    } else {
      return stream_all(tensors, data_bytes, headroom);
    }
  }

  /// Comes with every record: `wake_if_crowded` speaks up again when there was room in between. A lean build
  /// does so at each record.
  void begin_record() {
    if (!build::kWait || build::kLean) return;
    woken_ = woken_ && crowded();
  }

  void wake_if_crowded() {
    if (!build::kWait) return;
    const bool is_crowded = crowded();
    if (is_crowded && (build::kLean || !woken_)) [[unlikely]]
      wake();
    if (!build::kLean) woken_ = is_crowded;
  }

  /// Comes after each record for which `room_ahead` gave no room: the next ones may find it there.
  void look_ahead() {
    if constexpr (kCopiesAtOnce) {
      if (!stalled_) ring_.look_ahead(build::kWait && !woken_ ? ring_.size() / 2 : ring_.size());
    }
  }

 private:
  Status stream_all(const CapturedTensors& tensors, DataBytes data_bytes, std::uint32_t headroom) {
    const TensorView* at = tensors.inputs.data();
    for (std::size_t left = tensors.size(); left != 0; --left, ++at) {
      if (left == tensors.outputs.size()) at = tensors.outputs.data();
      const Status status = stream(*at, data_bytes, headroom);
      if (status != Status::ok) return give_up(status);
    }
    return complete();
  }

  /// Pieces end between elements of any dtype.
  static constexpr std::uint32_t kUnit = 16;
  static constexpr std::uint32_t kHead = sizeof(ChunkHead);

  /// Whether the CPU may find a tensor's bytes as a record has them.
  static constexpr bool kReadsInPlace =
      !build::kLean && ViewableMemory<Memory> && std::endian::native == std::endian::little;

  /// Whether there is a copy past the caches to choose.
  static constexpr bool kChoosesWay = kPassesCaches && kReadsInPlace && build::kWait;

  struct Fence {
    Status status = Status::ok;  ///< of the operator that is captured
  };
  struct NoCopies {};

  /// Whether more than half of the ring is taken.
  bool crowded() {
    // Where there is one core, the exact look costs no more than one at what was seen last.
    return build::kLean ? ring_.used() > ring_.size() / 2 : ring_.over(ring_.size() / 2);
  }

  void wake() const {
    // partner: `BasicSession::attach_drainer`.
    if (Waker* waker = context_->waker.load(std::memory_order_acquire)) waker->wake();
  }

  /// Whole units of at most `bytes`; `unit` is a power of two.
  static constexpr std::uint32_t cut_to(std::uint32_t bytes, std::uint32_t unit) {
    return bytes & (0 - unit);
  }

  /// The same, one unit at least.
  static constexpr std::uint32_t whole_units(std::uint32_t bytes, std::uint32_t unit) {
    return bytes < unit ? unit : cut_to(bytes, unit);
  }

  /// Sends the bytes of one tensor; `left` is what the record still has to send and is counted down.
  Status stream(const TensorView& tensor, DataBytes& left, std::uint32_t headroom) {
    if (const Bytes bytes = in_place(tensor); bytes.size() != 0) {
      left -= static_cast<DataBytes>(bytes.size());
      // What the ring holds comes first, such as the record's head.
      while (drain()) {
      }
      static_cast<void>(context_->drainer->enter());
      context_->drainer->take_in_place(slot_, bytes, left == 0);
      context_->drainer->leave();
      return Status::ok;
    }
    if constexpr (AsyncMemory<Memory>) {
      // What is not copied in the background is published at once, behind all that is.
      if (!in_background(tensor)) {
        if (const Status status = complete(); status != Status::ok) return status;
      }
    }
    const DataBytes all = static_cast<DataBytes>(tensor.bytes);
    for (DataBytes done = 0; done < all;) {
      // For each piece anew, which takes less stack and code than to keep them.
      const CopyRules rules = rules_of(*context_->memory);
      const std::uint32_t unit = rules.alignment < kUnit ? kUnit : rules.alignment;
      const std::uint32_t slack = rules.alignment <= 8 ? 0 : rules.alignment - 8;
      // Small enough for the drainer to work on one piece while the next is copied.
      const std::uint32_t quarter = ring_.size() / 4;
      const std::uint32_t most =
          RuledMemory<Memory> ? whole_units(quarter < rules.max_bytes ? quarter : rules.max_bytes, unit)
                              : cut_to(quarter, kUnit);
      const std::uint32_t least = whole_units(most / 4, unit);
      const DataBytes remaining = all - done;
      const auto at_most = [remaining](std::uint32_t limit) {
        return static_cast<std::uint32_t>(remaining < limit ? remaining : limit);
      };
      if (build::kDegrade && headroom != 0 && over(ring_.size() - headroom)) return Status::ring_full;
      MutableBytes chunk;
      Status status = room_behind(kHead + slack + at_most(least), kHead + slack + at_most(most), chunk);
      if (status != Status::ok) return status;
      const std::uint32_t before = kHead + padding_at(chunk.data() + kHead, rules);
      std::uint32_t bytes = static_cast<std::uint32_t>(chunk.size()) - before;
      // What padding leaves of the slack is not for bytes.
      if (slack != 0) bytes = at_most(bytes < most ? bytes : most);
      if (bytes < remaining) bytes = cut_to(bytes, unit);
      if (rules.whole_units && bytes > rules.alignment) bytes = cut_to(bytes, rules.alignment);
      left -= bytes;
      ::new (chunk.data()) ChunkHead(chunk_head(ChunkKind::data, left == 0, Status::ok, {}, before - kHead));
      chunk = chunk.subspan(before, bytes);
      status = send(tensor, done, chunk, before + bytes);
      if (status != Status::ok) return status;
      done += bytes;
    }
    return Status::ok;
  }

  /// The tensor's bytes, where they are as the record has them and the drainer works in this context, so that
  /// it may take them from there; else none.
  Bytes in_place(const TensorView& tensor) const {
    if constexpr (build::kWait && kReadsInPlace) {
      if (when_full() != WhenFull::inline_drain || is_restored(tensor) || context_->drainer->is_busy())
        return {};
      if constexpr (AsyncMemory<Memory>) {
        if (!copies_.empty()) return {};
      }
      if (zero_unreadable_) return {};
      const Bytes bytes = context_->memory->view(tensor.address, tensor.bytes);
      if (bytes.size() == tensor.bytes) return bytes;
    }
    return {};
  }

  /// Whether its bytes may be copied in the background.
  bool in_background(const TensorView& tensor) const { return !has_report() && !is_restored(tensor); }

  static std::uint32_t padding_at(const std::byte* at, const CopyRules& rules) {
    if constexpr (RuledMemory<Memory>) {
      return static_cast<std::uint32_t>(-reinterpret_cast<std::uintptr_t>(at) & (rules.alignment - 1));
    } else {
      return 0;
    }
  }

  /// Fills `to`, which ends the chunk of `chunk_bytes` bytes that room was found for, and has it published.
  Status send(const TensorView& tensor, DataBytes at, const MutableBytes& to, std::uint32_t chunk_bytes) {
    if constexpr (AsyncMemory<Memory>) {
      if (in_background(tensor)) {
        const Ring::Held chunk = ring_.hold(position(), chunk_bytes);
        const Status status = start(tensor.address + at, to, tensor.dtype, chunk);
        if (status != Status::ok) return status;
        return copies_.publish_ready(*context_->memory, ring_);
      }
    }
    // No copy is under way.
    const Status status = passes_caches(tensor, at, to) ? Status::ok : fetch(tensor, at, to);
    if (status == Status::ok) ring_.commit(chunk_bytes);
    return status;
  }

  /// Copies as `fetch`, but past the caches, while a drainer in another context is behind and that is the
  /// faster way; whether it did.
  bool passes_caches([[maybe_unused]] const TensorView& tensor, [[maybe_unused]] DataBytes at,
                     [[maybe_unused]] MutableBytes to) {
    if constexpr (kChoosesWay) {
      if (when_full() == WhenFull::inline_drain || is_restored(tensor) || !crowded() || !way_.passes_caches())
        return false;
      const Bytes bytes = context_->memory->view(tensor.address + at, to.size());
      if (bytes.size() != to.size()) return false;
      copy_past_caches(to.data(), bytes);
      end_past_caches();
      return true;
    } else {
      return false;
    }
  }

  /// `to` by reference: its two words would not both be in registers.
  Status fetch(const TensorView& tensor, DataBytes at, const MutableBytes& to) {
    if (has_report()) {
      put_op_debug_bytes(*report_, static_cast<std::uint32_t>(at), to);
      return Status::ok;
    }
    const Status status = copy_elements(*context_->memory, tensor, at, to);
    if (status == Status::ok || !zero_unreadable_) return status;
    std::memset(to.data(), 0, to.size());
    return Status::ok;
  }

  Status copy_all(std::byte* to, const CapturedTensors& tensors) {
    const TensorView* at = tensors.inputs.data();
    for (std::size_t left = tensors.size(); left != 0; --left, ++at) {
      if (left == tensors.outputs.size()) at = tensors.outputs.data();
      const std::size_t bytes = static_cast<std::size_t>(at->bytes);
      if (bytes == 0) continue;
      const Status status = copy(*at, {to, bytes});
      if (status != Status::ok) [[unlikely]]
        return give_up(status);
      to += bytes;
    }
    return complete();
  }

  Status copy(const TensorView& tensor, MutableBytes to) {
    if constexpr (AsyncMemory<Memory>) {
      if (in_background(tensor)) return start_all(tensor, to);
    }
    return fetch(tensor, 0, to);
  }

  Status start_all(const TensorView& tensor, MutableBytes to) {
    const std::size_t most = whole_units(rules_of(*context_->memory).max_bytes, kUnit);
    Status status = Status::ok;
    for (std::size_t at = 0; at < to.size() && status == Status::ok; at += most) {
      const std::size_t bytes = to.size() - at < most ? to.size() - at : most;
      status = start(tensor.address + at, to.subspan(at, bytes), tensor.dtype, {});
    }
    return status;
  }

  Status start(Address from, MutableBytes to, DType dtype, Ring::Held chunk) {
    if (copies_.full()) {
      const Status status = complete_oldest();
      if (status != Status::ok) return status;
    }
    return copies_.start(*context_->memory, from, to, dtype, chunk);
  }

  Status complete_oldest() {
    return copies_.complete_oldest(*context_->memory, ring_, context_->block_limit_ms);
  }

  Status complete() {
    if constexpr (AsyncMemory<Memory>) {
      while (!copies_.empty()) {
        const Status status = complete_oldest();
        if (status != Status::ok) return give_up(status);
      }
    }
    return Status::ok;
  }

  Status give_up(Status cause) {
    if constexpr (AsyncMemory<Memory>) copies_.abandon(*context_->memory, context_->block_limit_ms);
    return cause;
  }

  /// Where the next chunk goes.
  std::uint32_t position() const {
    return copies_.empty() ? ring_.position() : ring_.end_of(copies_.latest_chunk());
  }

  MutableBytes reserve(std::uint32_t least, std::uint32_t most) {
    if constexpr (AsyncMemory<Memory>) {
      return ring_.reserve_at(position(), least, most);
    } else {
      return ring_.reserve(least, most);
    }
  }

  bool over(std::uint32_t bytes) {
    if constexpr (AsyncMemory<Memory>) {
      return ring_.over_at(position(), bytes);
    } else {
      return ring_.over(bytes);
    }
  }

  Status room_behind(std::uint32_t least, std::uint32_t most, MutableBytes& chunk) {
    if (build::kLean) return wait_for_room(least, most, chunk);
    // Without the frame that waiting takes.
    chunk = reserve(least, most);
    if (chunk.data() != nullptr) [[likely]] {
      if (build::kWait) stalled_ = false;
      return Status::ok;
    }
    if (!build::kWait && !AsyncMemory<Memory>) return Status::ring_full;
    MutableBytes found;  // so that `chunk` may be in registers
    const Status status = wait_for_room(least, most, found);
    chunk = found;
    return status;
  }

  OPDUMP_APART Status wait_for_room(std::uint32_t least, std::uint32_t most, MutableBytes& chunk) {
    Wait wait;
    for (;;) {
      chunk = reserve(least, most);
      if (chunk.data() != nullptr) break;
      if (const Status status = make_room(wait); status != Status::ok) return status;
    }
    if (build::kWait) stalled_ = false;
    return Status::ok;
  }

  /// Drains in the caller; whether there was something to drain. Not while the caller is a part of that.
  bool drain() {
    Drainer& drainer = *context_->drainer;
    if (!drainer.enter()) return false;
    const bool moved = drainer.drain(slot_, ring_, ring_.size()) != 0;
    drainer.leave();
    return moved;
  }

  /// How long a recorder has waited for room.
  struct Wait {
    std::uint32_t used = UINT32_MAX;  ///< of the ring when there was progress last; nothing yet
    std::uint32_t since = 0;          ///< that moment, in milliseconds; later by what does not count
    std::uint32_t at = 0;             ///< of the latest look at the time
    std::uint32_t left_out = 0;       ///< milliseconds since that progress that do not count
    int looks = 0;
  };

  /// Does a part of what may free room, or waits for a moment; when neither helps any more, why not.
  [[gnu::always_inline]] Status make_room(Wait& wait) {
    if constexpr (AsyncMemory<Memory>) {
      // What is under way becomes room only by way of the drainer, to whom it has to be published first. No
      // more of it than is needed, so that the device has something left to do.
      if (!copies_.empty()) {
        if (when_full() == WhenFull::inline_drain && drain()) return Status::ok;
        const Status status = complete_oldest();
        if (status == Status::ok) wake_if_crowded();
        return status;
      }
    }
    if (!build::kWait) return Status::ring_full;
    const WhenFull policy = when_full();
    if (policy == WhenFull::inline_drain && drain()) return Status::ok;
    if (policy != WhenFull::block) return Status::ring_full;
    if (stalled_) return Status::timeout;
    const bool first = wait.used == UINT32_MAX;
    if (first) wake();
    if (!build::kLean && wait.looks != kLooks) {
      ++wait.looks;
      wait.used = 0;
      for (int i = 0; i < kRelaxesPerLook; ++i) cpu_relax();
      return Status::ok;
    }
    const std::uint32_t now = context_->clock->monotonic_ms();
    const std::uint32_t used = ring_.used();
    if (used != wait.used) {
      wait.used = used;
      wait.since = now;
      wait.left_out = 0;
    } else {
      if (!build::kLean) leave_out_stop(wait, now);
      if (now - wait.since >= context_->block_limit_ms) {
        stalled_ = true;
        ring_.end_ahead();  // `room` has to find some first
        return Status::timeout;
      }
    }
    wait.at = now;
    context_->clock->pause();
    return Status::ok;
  }

  /// Of the longest time between two looks no more counts than an eighth of the limit: in the rest the
  /// drainer was most likely stopped too. But of that one only, as pauses may be as long.
  void leave_out_stop(Wait& wait, std::uint32_t now) const {
    const std::uint32_t passed = now - wait.at;
    const std::uint32_t most = context_->block_limit_ms / 8 + 1;
    if (passed <= most + wait.left_out) return;
    wait.since += passed - most - wait.left_out;
    wait.left_out = passed - most;
  }

  // A drainer that is at work frees room within microseconds. Waiting awake for about as long as a pause takes is
  // never far from the best; looks are few, as each takes the line with the tail away from the drainer.
  static constexpr int kLooks = 256;
  static constexpr int kRelaxesPerLook = 16;

  Ring ring_;
  const RecorderContext<Memory>* context_ = nullptr;
  // The context's. A clock that reads a counter waits for all that comes before, so the way to it is short.
  [[no_unique_address]] Maybe<!build::kLean, Clock*> clock_{};
  std::size_t slot_ = 0;
  [[no_unique_address]] Maybe<kChoosesWay, CopyWay> way_;
  bool stalled_ = false;
  [[no_unique_address]] Maybe<!build::kLean, bool, 1> woken_{};
  bool own_when_full_ = false;
  WhenFull when_full_ = WhenFull::drop;
  [[no_unique_address]] Maybe<build::kFaults, bool> zero_unreadable_{};
  [[no_unique_address]] Maybe<build::kLean && build::kOverflow, const LeanOverflowReport*> report_{};
  [[no_unique_address]] Maybe<FencedMemory<Memory>, Fence> fence_;
  [[no_unique_address]] std::conditional_t<AsyncMemory<Memory>, CopiesUnderWay<Memory>, NoCopies> copies_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
