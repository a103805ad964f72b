#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "opdump/base/byte_output.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/format/nano.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/record/record_view.hpp"

/// An operator's head seldom changes from one step to the next, and is larger than many a tensor. So a recorder and
/// the drainer each keep the heads that have gone through the ring, under numbers that the recorder gives out: it
/// then sends an `again` chunk with the number, and what is new, instead of a head. As everything goes through the
/// ring in order, what the recorder has sent the drainer knows, and neither looks into the memory of the other.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The same heads as the drainer keeps them, and what it makes of them as far as there is room for it; a lean
/// build has none. All calls from the drain context.
class KnownHeads {
 public:
  struct Entry {
    RecordView view{};
    ReadyName name{};
    bool known = false;
    bool ready = false;             ///< with all that is made of it
    std::uint16_t again_bytes = 0;  ///< of the head of each `again` chunk that refers to it
    alignas(8) std::byte bytes[kMaxKnownHeadBytes];
  };

  /// Forgets everything and goes on in `entries`.
  void reset(std::span<Entry> entries) {
    entries_ = entries;
    for (Entry& entry : entries_) entry.known = entry.ready = false;
  }

  /// The head of that number, if all is made of it that a nano record begins with; else null.
  [[gnu::always_inline]] const Entry* find_ready(std::uint32_t number) const {
    return number < entries_.size() && entries_[number].ready ? &entries_[number] : nullptr;
  }

  /// Has the tensors of the head that `again` refers to, which is known, at `addresses`.
  OPDUMP_APART void move(const AgainHead& again, const std::byte* addresses) {
    renew(entries_[again.known_as], again, addresses);
  }

  /// Keeps `head`, which `view` reads and which goes to `target`, under the number that it carries.
  void keep(Bytes head, const RecordView& view, const DumpTarget& target) {
    const std::uint32_t number = view.head().known_as;
    if (number >= entries_.size() || head.size() > kMaxKnownHeadBytes) return;
    Entry& entry = entries_[number];
    std::memcpy(entry.bytes, head.data(), head.size());
    entry.view = view.moved_to(entry.bytes);
    entry.known = true;
    entry.ready = false;
    entry.again_bytes = static_cast<std::uint16_t>(sizeof(AgainHead) + sizeof(Address) * view.tensor_count());
    make_ready(entry, MutableBytes(entry.bytes).subspan(head.size()), target);
  }

  /// The head that an `again` chunk's `body` refers to, made the new record's; good until the next call.
  /// `malformed` when it refers to none, or not to one with as many tensors.
  Result<const RecordView*> recall(Bytes body) {
    if (body.size() < sizeof(AgainHead)) return Status::malformed;
    const AgainHead& again = *std::launder(reinterpret_cast<const AgainHead*>(body.data()));
    if (again.known_as >= entries_.size() || !entries_[again.known_as].known) return Status::malformed;
    Entry& entry = entries_[again.known_as];
    if (body.size() != entry.again_bytes) return Status::malformed;
    renew(entry, again, body.data() + sizeof again);
    return &entry.view;
  }

 private:
  static void renew(Entry& entry, const AgainHead& again, const std::byte* addresses) {
    const bool moved = entry.view.renew(again, entry.bytes, addresses);
    if (const Bytes nano_head = entry.view.nano_head(); moved && !nano_head.empty()) {
      renew_nano_addresses(entry.bytes + (nano_head.data() - entry.bytes), entry.view.head().input_count,
                           entry.view.head().output_count, addresses);
    }
  }

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
      entry.ready = true;
    }
    entry.view.set_ready(entry.name, nano_head);
  }

  std::span<Entry> entries_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
