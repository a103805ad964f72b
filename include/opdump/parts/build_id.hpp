#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Digits of the longest build-id that is told.
inline constexpr std::size_t kMostBuildIdDigits = 64;

/// The GNU build-id in `notes`, the bytes of an ELF section or segment of notes such as .note.gnu.build-id,
/// in the machine's byte order: hexadecimal digits in `text`; empty when there is none, or one of more than
/// 32 bytes. Firmware whose linker script keeps that section hands it over here. Source: the notes of the ELF
/// specification (gABI, chapter 5), and NT_GNU_BUILD_ID of GNU ld.
inline std::string_view build_id_in(Bytes notes, std::span<char, kMostBuildIdDigits> text) {
  constexpr std::uint32_t kBuildId = 3;
  constexpr std::size_t kHead = 12;
  constexpr std::string_view kGnu("GNU\0", 4);
  const auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  while (notes.size() >= kHead) {
    std::uint32_t head[3];
    copy_bytes(reinterpret_cast<std::byte*>(head), notes.first(kHead));
    notes = notes.subspan(kHead);
    if (head[0] > notes.size() || padded(head[0]) > notes.size()) return {};
    const Bytes name = notes.first(head[0]);
    notes = notes.subspan(padded(head[0]));
    if (head[1] > notes.size()) return {};
    const Bytes id = notes.first(head[1]);
    if (head[2] == kBuildId && as_text(name) == kGnu) {
      if (id.size() > kMostBuildIdDigits / 2) return {};
      put_hex(text.data(), id);
      return {text.data(), 2 * id.size()};
    }
    notes = notes.subspan(padded(id.size()) < notes.size() ? padded(id.size()) : notes.size());
  }
  return {};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
