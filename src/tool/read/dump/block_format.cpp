#include "src/tool/read/dump/block_format.hpp"

#include <algorithm>
#include <array>

#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {

MemoryLayout memory_layout(const RecordTensor& tensor) {
  MemoryLayout layout;
  const bool four =
      tensor.format == Format::nchw || tensor.format == Format::nhwc || tensor.format == Format::hwcn;
  layout.format = four && tensor.rank != 4 ? Format::nd : tensor.format;
  layout.original_format = tensor.is_output ? tensor.original_format : Format::nd;
  if (tensor.sub_format > 1) layout.groups = static_cast<std::uint32_t>(tensor.sub_format);
  layout.original_shape.assign(tensor.original_shape().begin(), tensor.original_shape().end());
  return layout;
}

RelayoutRequest restoration(const MemoryLayout& layout, Shape shape, Format to, std::uint32_t item_bytes) {
  return {.from = layout.format,
          .to = to,
          .shape = shape,
          .logical = layout.original_shape,
          .logical_format = layout.original_format,
          .groups = layout.groups,
          .item_bytes = item_bytes};
}

namespace {

std::uint32_t byte_at(const std::byte* at, std::size_t i) {
  return std::to_integer<std::uint32_t>(at[i]);
}

/// One of the 4-bit halves of byte `i`.
std::uint32_t nibble_at(const std::byte* at, std::size_t i, bool high) {
  return high ? byte_at(at, i) >> 4 : byte_at(at, i) & 15;
}

float half_at(const std::byte* at, std::size_t i) {
  static const ReadElements read = element_reader(DType::float16);
  double number = 0;
  read(at + i, 1, &number);
  return static_cast<float>(number);
}

/// 32 elements of 4 or 5 bits, the first 16 in the low halves of 16 bytes. Before them stand a scale, an
/// offset if the least element is not fixed, and 32 fifth bits.
template <bool kHasOffset, bool kHasFifth>
void decode_32(const std::byte* block, float* to) {
  constexpr std::size_t kFifth = kHasOffset ? 4 : 2;
  const std::byte* const halves = block + kFifth + (kHasFifth ? 4 : 0);
  const float scale = half_at(block, 0);
  const float offset = kHasOffset ? half_at(block, 2) : 0;
  const int centre = kHasOffset ? 0 : kHasFifth ? 16 : 8;
  for (std::size_t i = 0; i < 32; ++i) {
    std::uint32_t code = nibble_at(halves, i % 16, i >= 16);
    if constexpr (kHasFifth) code |= (byte_at(block, kFifth + i / 8) >> i % 8 & 1) << 4;
    to[i] = static_cast<float>(static_cast<int>(code) - centre) * scale + offset;
  }
}

/// 32 signed bytes behind a scale.
void decode_q8_0(const std::byte* block, float* to) {
  const float scale = half_at(block, 0);
  for (std::size_t i = 0; i < 32; ++i)
    to[i] = static_cast<float>(static_cast<std::int8_t>(byte_at(block, 2 + i))) * scale;
}

struct ScaleAndLeast {
  std::uint32_t scale;
  std::uint32_t least;
};

/// Of group `i` of 8, both of 6 bits: those of the first four lie in the low bits of the first 8 bytes, whose
/// high bits lead those of the last four.
ScaleAndLeast packed_scale(const std::byte* packed, std::size_t i) {
  if (i < 4) return {byte_at(packed, i) & 63, byte_at(packed, i + 4) & 63};
  return {nibble_at(packed, i + 4, false) | byte_at(packed, i - 4) >> 6 << 4,
          nibble_at(packed, i + 4, true) | byte_at(packed, i) >> 6 << 4};
}

/// 8 groups of 32 elements of 4 or 5 bits, two groups in each 32 bytes. The fifth bits of group g are bit g
/// of 32 bytes. Scales and least elements of the groups have a scale each of the block's.
template <bool kHasFifth>
void decode_k(const std::byte* block, float* to) {
  constexpr std::size_t kPacked = 4;
  constexpr std::size_t kFifth = kPacked + 12;
  const std::byte* const halves = block + kFifth + (kHasFifth ? 32 : 0);
  for (std::size_t group = 0; group < 8; ++group) {
    const ScaleAndLeast packed = packed_scale(block + kPacked, group);
    const float scale = half_at(block, 0) * static_cast<float>(packed.scale);
    const float least = half_at(block, 2) * static_cast<float>(packed.least);
    for (std::size_t i = 0; i < 32; ++i) {
      std::uint32_t code = nibble_at(halves, group / 2 * 32 + i, group % 2 != 0);
      if constexpr (kHasFifth) code |= (byte_at(block, kFifth + i) >> group & 1) << 4;
      *to++ = scale * static_cast<float>(code) - least;
    }
  }
}

/// 16 groups of 16 elements of 6 bits. Of each half of the block, low parts lie in 64 bytes, and the two high
/// bits of four elements, 32 apart, in each of 32 bytes.
void decode_q6_k(const std::byte* block, float* to) {
  constexpr std::size_t kHigh = 128;
  constexpr std::size_t kScales = kHigh + 64;
  const float scale = half_at(block, kScales + 16);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t half = i / 128;
    const std::size_t quarter = i % 128 / 32;
    const std::size_t low = half * 64 + quarter % 2 * 32 + i % 32;
    const std::uint32_t high = byte_at(block, kHigh + half * 32 + i % 32) >> 2 * quarter & 3;
    const int code = static_cast<int>(nibble_at(block, low, quarter >= 2) | high << 4) - 32;
    const auto group = static_cast<std::int8_t>(byte_at(block, kScales + i / 16));
    to[i] = scale * static_cast<float>(group) * static_cast<float>(code);
  }
}

constexpr std::array kFormats = {BlockFormat{"Q4_0", 32, 18, decode_32<false, false>},
                                 BlockFormat{"Q4_1", 32, 20, decode_32<true, false>},
                                 BlockFormat{"Q5_0", 32, 22, decode_32<false, true>},
                                 BlockFormat{"Q5_1", 32, 24, decode_32<true, true>},
                                 BlockFormat{"Q8_0", 32, 34, decode_q8_0},
                                 BlockFormat{"Q4_K", 256, 144, decode_k<false>},
                                 BlockFormat{"Q5_K", 256, 176, decode_k<true>},
                                 BlockFormat{"Q6_K", 256, 210, decode_q6_k}};

/// ggml's own names of types have small letters.
bool same_type(std::string_view a, std::string_view b) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return upper(x) == upper(y); });
}

}  // namespace

const BlockFormat* block_format(const cards::Quantisation& quant) {
  if (quant.scheme != cards::QuantScheme::block) return nullptr;
  for (const BlockFormat& format : kFormats) {
    if (same_type(format.type, quant.block_type) && format.elements == quant.block_elements &&
        format.bytes == quant.block_bytes)
      return &format;
  }
  return nullptr;
}

std::optional<std::vector<Dim>> shape_of_blocks(const BlockFormat& format, std::uint64_t bytes, Shape shape,
                                                Shape original) {
  if (bytes % format.bytes != 0 || bytes / format.bytes > UINT64_MAX / format.elements) return std::nullopt;
  const Result<std::uint64_t> known = element_count(original);
  if (!original.empty() && known.ok() && known.value() == bytes / format.bytes * format.elements)
    return std::vector<Dim>(original.begin(), original.end());
  if (shape.empty() || shape.back() % format.bytes != 0) return std::nullopt;
  std::vector<Dim> dims(shape.begin(), shape.end());
  dims.back() = dims.back() / format.bytes * format.elements;
  return dims;
}

}  // namespace opdump::tool
