#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/impl/drain/known_heads.hpp"
#include "opdump/impl/record/record_encoder.hpp"
#include "opdump/impl/record/ring_record.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// As `past_dims`, of any number of dims.
OPDUMP_APART_IF_NARROW inline const std::byte* past_all_dims(const std::byte* at, Shape shape) {
  const Dim* known = std::launder(reinterpret_cast<const Dim*>(at));
  for (const Dim dim : shape) {
    if (*known++ != dim) return nullptr;
  }
  return at + shape.size_bytes();
}

/// Where the dims at `at` end if they are those of `shape`; else null.
[[gnu::always_inline]] inline const std::byte* past_dims(const std::byte* at, Shape shape) {
  if (shape.size() != 1) return past_all_dims(at, shape);
  return *std::launder(reinterpret_cast<const Dim*>(at)) == shape[0] ? at + sizeof(Dim) : nullptr;
}

/// The same of the original dims and the original name, with whether the head says the other originals.
[[gnu::noinline]] inline const std::byte* past_originals(const std::byte* at, const TensorHead& head,
                                                         const TensorView& tensor) {
  const std::string_view name = tensor.original_name;
  if (head.original_dtype != tensor.original_dtype ||
      head.original_format != static_cast<std::int32_t>(tensor.original_format) ||
      head.original_index != tensor.original_index || head.original_rank != tensor.original_shape.size() ||
      head.original_name_bytes != name.size())
    return nullptr;
  at = past_dims(at, tensor.original_shape);
  if (at == nullptr || name.empty()) return at;
  return std::memcmp(at, name.data(), name.size()) == 0 ? at + padded_bytes(name.size()) : nullptr;
}

/// Where what a head says of a tensor at `at`, which is 8-byte aligned, ends if it is what `tensor` is in all
/// but its address; else null.
[[gnu::always_inline]] inline const std::byte* past_tensor(const std::byte* at, const TensorView& tensor) {
  const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(at));
  if (head.bytes != tensor.bytes || head.dtype != tensor.dtype || head.rank != tensor.shape.size() ||
      head.format != static_cast<std::int32_t>(tensor.format) ||
      head.address_kind != static_cast<std::uint32_t>(tensor.address_kind))
    return nullptr;
  at = past_dims(at + sizeof head, tensor.shape);
  if (at == nullptr) return nullptr;
  if (has_originals(tensor)) return past_originals(at, head, tensor);
  return head.has_originals == 0 ? at : nullptr;
}

/// The 8 bytes of `object` from `offset` on.
template <class T>
[[gnu::always_inline]] inline std::uint64_t word_at(const T& object, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&object) + offset, sizeof word);
  return word;
}

/// As `past_tensor`, in fewer steps; null also when the runtime said anything about the tensor as it was in
/// the framework, or it is restored.
[[gnu::always_inline]] inline const std::byte* past_plain_tensor(const std::byte* at,
                                                                 const TensorView& tensor) {
  const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(at));
  if (head.bytes != tensor.bytes || head.dtype != tensor.dtype || head.rank != tensor.shape.size() ||
      head.format != static_cast<std::int32_t>(tensor.format))
    return nullptr;
  if constexpr (sizeof(void*) == 8 && std::endian::native == std::endian::little) {
    // Two fields at once. The kinds of address are below 2^16, so that a head with originals equals no tensor.
    constexpr std::size_t kIndex = offsetof(TensorView, original_index);
    constexpr std::size_t kFormat = offsetof(TensorView, original_format);
    static_assert(offsetof(TensorView, original_dtype) == kIndex + 4 &&
                  offsetof(TensorView, address_kind) == kFormat + 4 && sizeof(DType) == 1);
    constexpr std::size_t kSame = offsetof(TensorHead, original_format);
    static_assert(offsetof(TensorHead, address_kind) == kSame + 4 &&
                  offsetof(TensorHead, has_originals) == kSame + 6);
    const std::uint64_t more = word_at(tensor, kIndex) << 24 | tensor.original_shape.size() |
                               tensor.original_name.size() |
                               reinterpret_cast<std::uintptr_t>(restored_elements(tensor));
    if (word_at(tensor, kFormat) != word_at(head, kSame) || more != 0) return nullptr;
  } else if (head.address_kind != static_cast<std::uint32_t>(tensor.address_kind) ||
             head.has_originals != 0 || has_originals(tensor) || is_restored(tensor)) {
    return nullptr;
  }
  return past_dims(at + sizeof head, tensor.shape);
}

/// The heads that a recorder has sent; a lean build keeps none. All calls from the recorder's context.
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
        std::memcpy(to, &tensor.address, sizeof(Address));
        to += sizeof(Address);
        at = past_tensor(at, tensor);
        return at != nullptr;
      });
      return same ? to : nullptr;
    }

    /// Writes the addresses of the tensors from `inputs` and `outputs` on, as many as the head has, to `to`, and
    /// their bytes behind, as `feed` views them; false when it cannot, or the head describes other tensors.
    template <class Feed>
    [[gnu::always_inline]] bool put_tensors(std::byte* to, const TensorView* inputs,
                                            const TensorView* outputs, const Feed& feed) const {
      std::size_t left = input_count + output_count;
      std::byte* data = to + sizeof(Address) * left;
      const std::byte* known = bytes + sizeof(RecordHead);
      const TensorView* tensor = inputs;
      do {  // a head has a tensor
        if (left == output_count) tensor = outputs;
        known = past_plain_tensor(known, *tensor);
        if (known == nullptr) return false;
        const Bytes from = feed.view(tensor->address, tensor->bytes);
        if (from.size() != tensor->bytes) return false;
        std::memcpy(to, &tensor->address, sizeof(Address));
        to += sizeof(Address);
        copy_small(data, from.data(), from.size());
        data += from.size();
        ++tensor;
      } while (--left != 0);
      return true;
    }
  };

  /// Forgets everything and goes on in `entries`.
  void reset(std::span<Entry> entries) {
    entries_ = entries;
    for (Entry& entry : this->entries()) entry.load = 0;
  }

  /// The head of operator `op`, if it was sent with as many tensors; null otherwise.
  const Entry* find(std::uint32_t load, std::size_t op, const CapturedTensors& tensors) const {
    std::size_t at = op;
    if (at >= entries().size()) {
      if (entries().empty()) return nullptr;
      at = number(op);
    }
    const Entry& entry = entries()[at];
    return entry.load == load && entry.op == op && entry.input_count == tensors.inputs.size() &&
                   entry.output_count == tensors.outputs.size()
               ? &entry
               : nullptr;
  }

  /// Whether none is kept.
  bool empty() const { return entries().empty(); }

  /// The head of operator `op`, if it was sent under the number of the operator; null otherwise.
  const Entry* find_own(std::uint32_t load, std::size_t op) const {
    if (op >= entries().size()) return nullptr;
    const Entry* entry = &entries()[op];
    asm("" : "+r"(entry));  // Clang would add it up anew at each use
    return entry->load == load && entry->op == op ? entry : nullptr;
  }

  /// Number under which a head of `head_bytes` bytes may be kept, `kNotKnown` if it may not. The first
  /// operator of a model that comes for a number keeps it.
  std::uint32_t number_for(std::uint32_t load, std::size_t op, std::uint32_t head_bytes) const {
    if (entries().empty() || head_bytes > kMaxKnownHeadBytes) return kNotKnown;
    const Entry& entry = entries()[number(op)];
    return entry.load == load && entry.op != op ? kNotKnown : number(op);
  }

  /// Keeps `head`, which is in the ring under the number that it carries. The ring's largest chunk is `max_chunk`.
  void keep(Bytes head, const RecordSource& source, DataBytes data_bytes, std::uint32_t max_chunk) {
    Entry& entry = entries()[number(source.op_index())];
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
    return static_cast<std::uint32_t>(op) % static_cast<std::uint32_t>(entries().size());
  }

  std::span<Entry> entries() const { return entries_; }

  [[no_unique_address]] Maybe<!build::kLean, std::span<Entry>> entries_{};
};

/// `memory` as entries for both sides, as many as fit; none in a lean build.
struct HeadMemory {
  explicit HeadMemory(MutableBytes memory) {
    if (build::kLean) return;
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
/// Bytes of memory, 8-byte aligned, in which a recorder and the drainer keep the heads of `operators`
/// operators: 1,112 each on a 32-bit machine. A lean build keeps none: 1 byte, so that it can be declared.
constexpr std::size_t head_memory_bytes(std::size_t operators) {
  if (build::kLean) return operators == 0 ? 0 : 1;
  return operators * (sizeof(SentHeads::Entry) + sizeof(KnownHeads::Entry));
}

/// Whether `bytes` of memory for heads are none, or serve for something: in a lean build nothing does.
constexpr bool head_memory_serves(std::size_t bytes) {
  return build::kLean ? bytes <= 1 : bytes == 0 || bytes >= head_memory_bytes(1);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
