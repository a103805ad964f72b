#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/npy.hpp"
#include "opdump/overflow_json.hpp"
#include "opdump/record_format.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Writes a NumPy file for each tensor, named `....{input|output}.{index}.{format}.{dtype}.npy`, of the
/// elements that the shape counts, without padding. bfloat16 becomes float32 and integers of fewer than 8
/// bits become bytes; a dtype that NumPy has nothing like is written as an array of the tensor's bytes. The
/// name has the dtype that the tensor had. Where MindSpore has tensors in the framework's format, and names
/// that DefaultFormat, one that is still in a format of the device (see Restorer) is written as it is, with
/// the name of that. Source: MindSpore's names and heads.
class NpyFormat final : public RecordFormat {
 public:
  bool one_tensor() const override { return true; }

  std::string_view suffix(const RecordView& record, const DumpTarget& target,
                          std::span<char> memory) const override {
    TextWriter text(memory);
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      add_suffix(text, tensor, is_output, index, target.default_format);
    });
    return text.text();
  }

  static void add_suffix(TextWriter& to, const TensorView& tensor, bool is_output, std::uint32_t index,
                         bool default_format) {
    to.add(is_output ? ".output." : ".input.").add_decimal(index).add('.');
    const std::string_view format = to_string(tensor.format);
    if (default_format && is_framework_format(tensor.format)) {
      to.add("DefaultFormat");
    } else if (format.empty()) {
      to.add_decimal(static_cast<std::uint32_t>(tensor.format));
    } else {
      to.add(format);
    }
    to.add('.').add(info(tensor.dtype).name).add(".npy");
  }

  [[nodiscard]] Status begin(OpenObject& object, FormatState& state, const RecordView& record, Bytes data,
                             MutableBytes /*scratch*/) override {
    Status status = Status::ok;
    record.for_each_tensor([&](const TensorView& tensor, bool, std::uint32_t) {
      status = begin_tensor(object, state, tensor, data);
    });
    return status;
  }

  /// Puts the head of a file with `tensor`, and `data`, its first bytes; the others go to `append`.
  [[nodiscard]] Status begin_tensor(OpenObject& object, FormatState& state, const TensorView& tensor,
                                    Bytes data) {
    state = {npy_data_bytes(tensor), tensor.dtype};
    const Bytes head(buffer_, encode_npy_head(npy_descr(tensor.dtype), npy_shape(tensor), buffer_));
    if (is_as_it_lies(state.dtype)) {
      const Bytes parts[] = {head, take(state, data)};
      return object.put(parts);
    }
    const Status status = object.put(head);
    return status == Status::ok ? append(object, state, data) : status;
  }

  [[nodiscard]] Status append(OpenObject& object, FormatState& state, Bytes data) override {
    if (is_as_it_lies(state.dtype)) {
      const Bytes kept = take(state, data);
      return kept.empty() ? Status::ok : object.put(kept);
    }
    // Bytes of the file for each byte of memory.
    const bool widens = npy_elements(state.dtype) == NpyElements::bfloat16;
    const std::size_t growth = widens ? 2 : 8 / info(state.dtype).bits;
    while (!data.empty() && state.left != 0) {
      const std::size_t from_bytes = std::min(data.size(), kBufferBytes / growth);
      const std::size_t to_bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(from_bytes * growth, state.left));
      const MutableBytes to(buffer_, to_bytes);
      if (widens) {
        widen_bfloat16(data.data(), to);
      } else {
        unpack_elements(state.dtype, data.data(), to);
      }
      if (const Status status = object.put(to); status != Status::ok) return status;
      state.left -= to_bytes;
      data = data.subspan(from_bytes);
    }
    return Status::ok;
  }

  [[nodiscard]] Status put_report(OpenObject& object, const OverflowReport& report) override {
    TextWriter text({reinterpret_cast<char*>(buffer_), kBufferBytes});
    return object.put(as_bytes(add_overflow_json(text, report).text()));
  }

 private:
  static constexpr std::size_t kBufferBytes = 4096;
  static_assert(kBufferBytes >= kMaxNpyHeadBytes);

  static bool is_as_it_lies(DType dtype) {
    const NpyElements elements = npy_elements(dtype);
    return elements == NpyElements::plain || elements == NpyElements::opaque;
  }

  static Bytes take(FormatState& state, Bytes data) {
    const Bytes kept = data.first(static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), state.left)));
    state.left -= kept.size();
    return kept;
  }

  std::byte buffer_[kBufferBytes];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
