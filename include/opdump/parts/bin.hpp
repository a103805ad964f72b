#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/format.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/tensor.hpp"

/// Files that hold the bytes of one tensor and nothing else, with names that tell the rest.
/// Source: the benchmark tool of MindSpore Lite, as of 2025-07.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The word for `dtype` in such a name, empty where the tool has none and leaves it out.
constexpr std::string_view lite_word(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "Float32";
    case DType::float16:
      return "Float16";
    case DType::int8:
      return "Int8";
    case DType::int16:
      return "Int16";
    case DType::int32:
      return "Int32";
    case DType::uint8:
      return "UInt8";
    case DType::uint16:
      return "UInt16";
    case DType::uint32:
      return "UInt32";
    case DType::boolean:
      return "Bool";
    case DType::string:
      return "String";
    default:
      return {};
  }
}

/// The same for a format.
constexpr std::string_view lite_word(Format format) {
  const bool known =
      format == Format::nchw || format == Format::nhwc || format == Format::nc || format == Format::ncdhw;
  return known ? to_string(format) : std::string_view();
}

/// Bytes of the file: those of the elements that the shape counts, or all of a tensor whose format pads axes
/// or whose elements have no fixed size.
inline std::uint64_t bin_bytes(const TensorView& tensor) {
  const std::uint64_t bits = info(tensor.dtype).bits;
  const Result<std::uint64_t> count = element_count(tensor.shape);
  if (bits == 0 || !count.ok() || !is_framework_format(tensor.format)) return tensor.bytes;
  const std::uint64_t whole = count.value() / 8 * bits;
  const std::uint64_t rest = count.value() % 8 * bits;
  return std::min(tensor.bytes, whole + (rest + 7) / 8);
}

/// Writes a file for each tensor, named `{name}_{input|output}_{index}_shape_{dim}_{dim}_{dtype}_{format}.bin`.
class BinFormat final : public RecordFormat {
 public:
  bool one_tensor() const override { return true; }

  std::string_view suffix(const RecordView& record, const DumpTarget& /*target*/,
                          std::span<char> memory) const override {
    TextWriter text(memory);
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      add_suffix(text, tensor, is_output, index);
    });
    return text.text();
  }

  static void add_suffix(TextWriter& to, const TensorView& tensor, bool is_output, std::uint32_t index) {
    to.add(is_output ? "_output_" : "_input_").add_decimal(index).add("_shape_");
    for (const Dim dim : tensor.shape) to.add_decimal(dim).add('_');
    to.add(lite_word(tensor.dtype));
    if (const std::string_view format = lite_word(tensor.format); !format.empty()) to.add('_').add(format);
    to.add(".bin");
  }

  [[nodiscard]] Status begin(OpenObject& object, FormatState& state, const RecordView& record, Bytes data,
                             MutableBytes /*scratch*/) override {
    record.for_each_tensor([&](const TensorView& tensor, bool, std::uint32_t) {
      state = {bin_bytes(tensor), tensor.dtype};
    });
    return append(object, state, data);
  }

  [[nodiscard]] Status append(OpenObject& object, FormatState& state, Bytes data) override {
    const Bytes kept = data.first(static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), state.left)));
    state.left -= kept.size();
    return kept.empty() ? Status::ok : object.put(kept);
  }

  /// There are none in this layout.
  [[nodiscard]] Status put_report(OpenObject& /*object*/, const OverflowReport& /*report*/) override {
    return Status::not_supported;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
