#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/text.hpp"
#include "opdump/types/tensor.hpp"

/// The head of a NumPy file of format 1.0: what its writer and its reader must know. Source: NumPy's
/// description of the format, and the heads that MindSpore writes.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

namespace npy_head {

/// Before the dict come this text, two bytes of version and, in version 1.0, two bytes of the dict's length.
inline constexpr std::string_view kMagic = "\x93NUMPY";
inline constexpr std::string_view kVersion("\x01\x00", 2);
inline constexpr std::size_t kPrefixBytes = kMagic.size() + kVersion.size() + sizeof(std::uint16_t);

/// The dict up to the first dim. After the last dim come kEnd, blanks and a line end.
inline constexpr std::string_view kDescr = "{'descr': '";
inline constexpr std::string_view kShape = "', 'fortran_order': False, 'shape': (";
inline constexpr std::string_view kEnd = "), }";

/// The elements begin at a multiple of this many bytes.
inline constexpr std::size_t kAlignment = 64;

/// How many blanks stand between the first `bytes` bytes of a head and its line end. At least one: a head
/// that is aligned without any gets kAlignment.
constexpr std::size_t blanks_behind(std::size_t bytes) {
  return kAlignment - (bytes + 1) % kAlignment;
}

}  // namespace npy_head

/// The longest head: that of kMaxRank dims of 20 digits.
inline constexpr std::size_t kMaxNpyHeadBytes = 768;

/// Writes the head of an array to `to`, which has room for kMaxNpyHeadBytes, and returns its length, a
/// multiple of 64.
inline std::size_t encode_npy_head(std::string_view descr, Shape shape, std::byte* to) {
  using namespace npy_head;
  TextWriter text({reinterpret_cast<char*>(to), kMaxNpyHeadBytes});
  text.add(kMagic).add(kVersion).add("  ");
  text.add(kDescr).add(descr).add(kShape);
  for (const Dim dim : shape) text.add_decimal(dim).add(',');
  text.add(kEnd);
  const std::size_t blanks = blanks_behind(text.text().size());
  for (std::size_t i = 0; i < blanks; ++i) text.add(' ');
  text.add('\n');
  const std::size_t bytes = text.text().size();
  store_little_endian(to + kPrefixBytes - 2, static_cast<std::uint16_t>(bytes - kPrefixBytes));
  return bytes;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
