#pragma once
#include <cstdint>

#include "opdump/bytes.hpp"
#include "opdump/nano.hpp"
#include "opdump/nano_form.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Writes little-endian fields one behind the other, where there is room for all of them.
class FieldWriter {
 public:
  explicit FieldWriter(std::byte* at) : at_(at) {}

  template <std::unsigned_integral T>
  [[gnu::always_inline]] FieldWriter& add(T value) {
    store_little_endian(at_, value);
    at_ += sizeof value;
    return *this;
  }

  [[gnu::always_inline]] FieldWriter& add(std::int32_t value) {
    return add(static_cast<std::uint32_t>(value));
  }

 private:
  std::byte* at_;
};

/// Hands bytes on in pieces of the size of its memory. `Put` is `void(Bytes)`.
template <class Put>
class ByteBatcher {
 public:
  ByteBatcher(MutableBytes memory, Put put) : memory_(memory), put_(put) {}

  template <std::unsigned_integral T>
  void add(T value) {
    std::byte little_endian[sizeof(T)];
    store_little_endian(little_endian, value);
    add(Bytes(little_endian));
  }

  /// The fields that `write(FieldWriter)` writes, `kBytes` bytes altogether.
  template <std::size_t kBytes, class Write>
  void add_fields(Write write) {
    std::byte fields[kBytes];
    write(FieldWriter(fields));
    add(Bytes(fields));
  }

  void add(Bytes bytes) {
    while (!bytes.empty()) {
      if (used_ == memory_.size()) flush();
      const std::size_t room = memory_.size() - used_;
      const std::size_t now = bytes.size() < room ? bytes.size() : room;
      copy_bytes(memory_.data() + used_, bytes.first(now));
      used_ += now;
      bytes = bytes.subspan(now);
    }
  }

  /// `text` with '_' for every byte that is not ASCII.
  void add_ascii(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint8_t>((c & 0x80) != 0 ? '_' : c));
  }

  Bytes pending() const { return memory_.first(used_); }

 private:
  void flush() {
    put_(pending());
    used_ = 0;
  }

  MutableBytes memory_;
  std::size_t used_ = 0;
  Put put_;
};

/// Puts bytes where there is room for all of them.
class ByteCursor {
 public:
  explicit ByteCursor(std::byte* at) : at_(at) {}

  template <std::size_t kBytes, class Write>
  void add_fields(Write write) {
    std::byte* const at = at_;
    at_ = at + kBytes;
    write(FieldWriter(at));
  }

  void add_ascii(std::string_view text) {
    std::byte* at = at_;
    for (const char c : text) *at++ = static_cast<std::byte>((c & 0x80) != 0 ? '_' : c);
    at_ = at;
  }

 private:
  std::byte* at_;
};

/// Writes the parts of a nano record's head to `Out`, a `ByteCursor`, a `ByteBatcher` or a reference to one.
/// Refers to `sizes` and `op_name`.
template <class Out>
class NanoHeadWriter {
 public:
  NanoHeadWriter(Out out, const NanoHeadSizes& sizes, const std::string_view& op_name)
      : out_(out), sizes_(sizes), op_name_(op_name) {}

  void add_start() {
    out_.template add_fields<kNanoHeadLengthBytes + 8>([this](FieldWriter to) {
      to.add(sizes_.head_bytes()).add(std::uint32_t{0}).add(kNanoMagic).add(kNanoVersion);
    });
  }

  /// What comes before the inputs or the outputs.
  void add_list(bool is_output, std::uint32_t count) {
    out_.template add_fields<kNanoListHeadBytes>([&](FieldWriter to) {
      to.add(is_output ? kNanoTagOutputs : kNanoTagInputs).add(4 + sizes_.bytes[is_output]).add(count);
    });
  }

  void add_all(std::span<const TensorView> list, bool is_output) {
    const std::uint32_t count = static_cast<std::uint32_t>(list.size());
    add_list(is_output, count);
    for (std::uint32_t i = 0; i < count; ++i) add_tensor(list[i], is_output, i);
  }

  void add_tensor(const TensorView& tensor, bool is_output, std::uint32_t index) {
    const NanoForm nano = nano_form(tensor, is_output, op_name_);
    out_.template add_fields<12>([&](FieldWriter to) {
      to.add(std::int32_t{codes_of(nano.dtype).ge_code()})
          .add(static_cast<std::int32_t>(nano.format))
          .add(static_cast<std::int32_t>(tensor.address_kind));
    });
    if (is_output) {
      out_.template add_fields<kNanoOutputBytes - kNanoInputBytes>([&](FieldWriter to) {
        to.add(original_index_of(tensor, index))
            .add(std::int32_t{codes_of(original_dtype_of(tensor)).ge_code()})
            .add(static_cast<std::int32_t>(original_format_of(tensor)));
      });
    }
    out_.template add_fields<kNanoInputBytes - 12>([&](FieldWriter to) {
      to.add(tensor.address).add(std::uint64_t{0}).add(tensor.bytes).add(nano.tlv_bytes);
    });
    add_dims(kNanoTagShape, nano.shape);
    add_dims(kNanoTagOriginalShape, nano.original_shape);
    if (is_output) {
      add_tlv_head(kNanoTagOriginalName, nano.original_name.size());
      // The vendor's reader gives up the whole file over a byte that is not ASCII.
      out_.add_ascii(nano.original_name);
    }
  }

 private:
  void add_tlv_head(std::uint32_t tag, std::size_t bytes) {
    out_.template add_fields<kNanoTlvHeadBytes>(
        [&](FieldWriter to) { to.add(tag).add(static_cast<std::uint32_t>(bytes)); });
  }

  void add_dims(std::uint32_t tag, Shape shape) {
    add_tlv_head(tag, shape.size_bytes());
    for (const Dim dim : shape) out_.template add_fields<sizeof dim>([dim](FieldWriter to) { to.add(dim); });
  }

  Out out_;
  const NanoHeadSizes& sizes_;
  const std::string_view& op_name_;
};

/// The same with the number of inputs and of outputs.
struct NanoLists : NanoHeadSizes {
  std::uint32_t counts[2] = {0, 0};
};

/// `for_each_tensor(use)` calls `use(tensor, is_output, index)` for the inputs of operator `op_name`, then
/// the outputs.
template <class ForEachTensor>
NanoLists nano_head_sizes(ForEachTensor for_each_tensor, std::string_view op_name) {
  NanoLists sizes;
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t) {
    ++sizes.counts[is_output];
    sizes.add(tensor, is_output, op_name);
  });
  return sizes;
}

/// Writes the head of a nano record, from its length up to the first tensor byte: `sizes.file_bytes()`
/// bytes, with `sizes` from `nano_head_sizes` of the same tensors.
template <class ForEachTensor, class Out>
void encode_nano_head(ForEachTensor for_each_tensor, std::string_view op_name, const NanoLists& sizes,
                      Out& out) {
  NanoHeadWriter<Out&> writer(out, sizes, op_name);
  writer.add_start();
  writer.add_list(false, sizes.counts[0]);
  if (sizes.counts[0] == 0) writer.add_list(true, sizes.counts[1]);
  std::uint32_t inputs_left = sizes.counts[0];
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
    writer.add_tensor(tensor, is_output, index);
    if (!is_output && --inputs_left == 0) writer.add_list(true, sizes.counts[1]);
  });
}

/// Makes the addresses in `head`, a nano record's head of `inputs` inputs and `outputs` outputs, those at
/// `addresses`, 8 bytes each as the machine has them.
inline void renew_nano_addresses(std::byte* head, std::uint32_t inputs, std::uint32_t outputs,
                                 const std::byte* addresses) {
  constexpr std::size_t kListHeadBytes = kNanoTlvHeadBytes + 4;
  // Behind the address: offset, bytes, bytes of TLVs.
  constexpr std::size_t kBehindAddress = 8 + 8 + 8;
  std::byte* at = head + kNanoHeadLengthBytes + 8;
  const auto renew_list = [&](std::uint32_t count, std::size_t fixed_bytes) {
    at += kListHeadBytes;
    for (std::uint32_t i = 0; i < count; ++i, addresses += sizeof(Address)) {
      std::byte* const lengths = at + fixed_bytes - 4;
      Address address;
      std::memcpy(&address, addresses, sizeof address);
      store_little_endian(lengths - kBehindAddress, address);
      at += fixed_bytes + load_little_endian<std::uint32_t>(lengths);
    }
  };
  renew_list(inputs, kNanoInputBytes);
  renew_list(outputs, kNanoOutputBytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
