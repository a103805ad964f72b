#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "opdump/bytes.hpp"
#include "opdump/dump_name.hpp"
#include "opdump/nano_encode.hpp"
#include "opdump/record_match.hpp"
#include "opdump/record_source.hpp"
#include "opdump/record_view.hpp"

/// An operator's head seldom changes from one step to the next, and is larger than many a tensor. So a
/// recorder and the drainer each keep the heads that have gone through the ring, under numbers that the
/// recorder gives out: it then sends an `again` chunk with the number, and what is new, instead of a head. As
/// everything goes through the ring in order, what the recorder has sent the drainer knows, and neither looks
/// into the memory of the other.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_SMALL_CODE == 0
/// Larger heads are sent whole each time. Enough for three tensors of rank 4 with all their originals.
inline constexpr std::size_t kMaxKnownHeadBytes = 512;

/// The heads that a recorder has sent. All calls from the recorder's context.
class SentHeads {
 public:
  struct Entry {
    std::uint32_t load = 0;  ///< which loading of a model the head is of; 0: none
    std::uint32_t op = 0;
    std::uint32_t number = 0;  ///< its own
    std::uint32_t input_count = 0;
    std::uint32_t output_count = 0;
    std::uint32_t head_bytes = 0;
    ChunkHead again{};              ///< of the `again` chunk, when it tells of no gap
    std::uint32_t chunk_bytes = 0;  ///< of that chunk, with the tensors' bytes if it is the last
    DataBytes data_bytes = 0;
    alignas(8) std::byte bytes[kMaxKnownHeadBytes];  ///< as in the ring

    /// Writes the addresses of `tensors` to `to` and returns where they end; null when the head describes
    /// other tensors. There are as many.
    std::byte* put_addresses(std::byte* to, const CapturedTensors& tensors) const {
      const std::byte* at = bytes + sizeof(RecordHead);
      const bool same = tensors.all([&](const TensorView& tensor) {
        to = put_short(to, &tensor.address, sizeof(Address));
        at = past_tensor(at, tensor);
        return at != nullptr;
      });
      return same ? to : nullptr;
    }
  };

  /// Forgets everything and goes on in `entries`.
  void reset(std::span<Entry> entries) {
    entries_ = entries;
    for (Entry& entry : entries_) entry.load = 0;
  }

  /// The head of operator `op`, if it was sent with as many tensors; null otherwise.
  const Entry* find(std::uint32_t load, std::size_t op, const CapturedTensors& tensors) const {
    std::size_t at = op;
    if (at >= entries_.size()) {
      if (entries_.empty()) return nullptr;
      at = number(op);
    }
    const Entry& entry = entries_[at];
    return entry.load == load && entry.op == op && entry.input_count == tensors.inputs.size() &&
                   entry.output_count == tensors.outputs.size()
               ? &entry
               : nullptr;
  }

  /// Number under which a head of `head_bytes` bytes may be kept, `kNotKnown` if it may not. The first
  /// operator of a model that comes for a number keeps it.
  std::uint32_t number_for(std::uint32_t load, std::size_t op, std::uint32_t head_bytes) const {
    if (entries_.empty() || head_bytes > kMaxKnownHeadBytes) return kNotKnown;
    const Entry& entry = entries_[number(op)];
    return entry.load == load && entry.op != op ? kNotKnown : number(op);
  }

  /// Keeps `head`, which is in the ring under the number that it carries. The ring's largest chunk is
  /// `max_chunk`.
  void keep(Bytes head, const RecordSource& source, DataBytes data_bytes, std::uint32_t max_chunk) {
    Entry& entry = entries_[number(source.op_index())];
    std::memcpy(entry.bytes, head.data(), head.size());
    entry.load = source.plan->load;
    entry.op = static_cast<std::uint32_t>(source.op_index());
    entry.number = number(source.op_index());
    entry.head_bytes = static_cast<std::uint32_t>(head.size());
    entry.input_count = static_cast<std::uint32_t>(source.tensors.inputs.size());
    entry.output_count = static_cast<std::uint32_t>(source.tensors.outputs.size());
    entry.data_bytes = data_bytes;
    const auto again_bytes =
        static_cast<std::uint32_t>(sizeof(AgainHead) + sizeof(Address) * source.tensors.size());
    // No more than the head that the ring has just taken.
    entry.chunk_bytes = static_cast<std::uint32_t>(sizeof(ChunkHead)) + again_bytes;
    const bool whole = data_bytes <= max_chunk - entry.chunk_bytes;
    if (whole) entry.chunk_bytes += static_cast<std::uint32_t>(data_bytes);
    entry.again = chunk_head(ChunkKind::again, whole, Status::ok, {}, again_bytes);
  }

 private:
  std::uint32_t number(std::size_t op) const {
    return static_cast<std::uint32_t>(op) % static_cast<std::uint32_t>(entries_.size());
  }

  std::span<Entry> entries_{};
};

/// The same heads as the drainer keeps them, and what it makes of them as far as there is room for it. All
/// calls from the drain context.
class KnownHeads {
 public:
  struct Entry {
    RecordView view{};
    ReadyName name{};
    bool known = false;
    alignas(8) std::byte bytes[kMaxKnownHeadBytes];
  };

  /// Forgets everything and goes on in `entries`.
  void reset(std::span<Entry> entries) {
    entries_ = entries;
    for (Entry& entry : entries_) entry.known = false;
  }

  /// Keeps `head`, which `view` reads and which goes to `target`, under the number that it carries.
  void keep(Bytes head, const RecordView& view, const DumpTarget& target) {
    const std::uint32_t number = view.head().known_as;
    if (number >= entries_.size() || head.size() > kMaxKnownHeadBytes) return;
    Entry& entry = entries_[number];
    std::memcpy(entry.bytes, head.data(), head.size());
    entry.view = view.moved_to(entry.bytes);
    entry.known = true;
    make_ready(entry, MutableBytes(entry.bytes).subspan(head.size()), target);
  }

  /// The head that an `again` chunk's `body` refers to, made the new record's; good until the next call.
  /// `malformed` when it refers to none, or not to one with as many tensors.
  Result<const RecordView*> recall(Bytes body) {
    AgainHead again;
    if (body.size() < sizeof again) return Status::malformed;
    std::memcpy(&again, body.data(), sizeof again);
    if (again.known_as >= entries_.size() || !entries_[again.known_as].known) return Status::malformed;
    Entry& entry = entries_[again.known_as];
    if (body.size() - sizeof again != sizeof(Address) * entry.view.tensor_count()) return Status::malformed;
    const bool moved = entry.view.renew(again, entry.bytes, body.data() + sizeof again);
    const Bytes nano_head = entry.view.nano_head();
    if (moved && !nano_head.empty()) {
      renew_nano_addresses(entry.bytes + (nano_head.data() - entry.bytes), entry.view.head().input_count,
                           entry.view.head().output_count, body.data() + sizeof again);
    }
    return &entry.view;
  }

 private:
  static void make_ready(Entry& entry, MutableBytes room, const DumpTarget& target) {
    if (holds_failures(target) || room.size() < DumpNamer::most_stem_bytes(entry.view) + NameTime::kBytes)
      return;
    char* const name = reinterpret_cast<char*>(room.data());
    const std::size_t name_bytes =
        static_cast<std::size_t>(DumpNamer::put_stem(name, entry.view, target) - name) + NameTime::kBytes;
    entry.name = ReadyName({name, name_bytes});
    room = room.subspan(name_bytes);
    Bytes nano_head;
    const auto for_each_tensor = [&entry](auto use) { entry.view.for_each_tensor(use); };
    const NanoLists sizes = nano_head_sizes(for_each_tensor, entry.view.name());
    if (target.format == nullptr && sizes.file_bytes() <= room.size()) {
      ByteCursor out(room.data());
      encode_nano_head(for_each_tensor, entry.view.name(), sizes, out);
      nano_head = room.first(static_cast<std::size_t>(sizes.file_bytes()));
    }
    entry.view.set_ready(entry.name, nano_head);
  }

  std::span<Entry> entries_{};
};

/// `memory` as entries for both sides, as many as fit.
struct HeadMemory {
  explicit HeadMemory(MutableBytes memory) {
    const std::size_t count = memory.size() / (sizeof(SentHeads::Entry) + sizeof(KnownHeads::Entry));
    sent = make<SentHeads::Entry>(memory.data(), count);
    known = make<KnownHeads::Entry>(memory.data() + count * sizeof(SentHeads::Entry), count);
  }

  std::span<SentHeads::Entry> sent;
  std::span<KnownHeads::Entry> known;

 private:
  template <class Entry>
  static std::span<Entry> make(std::byte* at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ::new (at + i * sizeof(Entry)) Entry;
    return {std::launder(reinterpret_cast<Entry*>(at)), count};
  }
};
#else
/// Compiled out by OPDUMP_SMALL_CODE.
struct NoHeads {
  struct Entry {};
  void reset(std::span<Entry>) {}
};
using SentHeads = NoHeads;
using KnownHeads = NoHeads;

struct HeadMemory {
  explicit HeadMemory(MutableBytes) {}

  static constexpr std::span<NoHeads::Entry> sent{};
  static constexpr std::span<NoHeads::Entry> known{};
};
#endif

/// Bytes of memory, 8-byte aligned, in which a recorder and the drainer keep the heads of `operators`
/// operators.
constexpr std::size_t head_memory_bytes(std::size_t operators) {
  return operators * (sizeof(SentHeads::Entry) + sizeof(KnownHeads::Entry));
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
