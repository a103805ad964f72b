#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Names of codes below 256, packed at compile time: code, length, name. Takes a third of the bytes of a
/// table of string_views.
template <std::size_t kBytes>
class PackedNames {
 public:
  /// Bytes that `name` takes.
  static constexpr std::size_t bytes_of(std::string_view name) { return 2 + name.size(); }

  constexpr void add(std::uint32_t code, std::string_view name) {
    text_[used_++] = static_cast<char>(code);
    text_[used_++] = static_cast<char>(name.size());
    for (const char c : name) text_[used_++] = c;
  }

  /// The name of `code`; empty: the code has none.
  constexpr std::string_view find(std::uint32_t code) const {
    for (std::size_t at = 0; at != kBytes;) {
      const std::size_t bytes = static_cast<unsigned char>(text_[at + 1]);
      if (static_cast<unsigned char>(text_[at]) == code) return {text_ + at + 2, bytes};
      at += 2 + bytes;
    }
    return {};
  }

 private:
  char text_[kBytes] = {};
  std::size_t used_ = 0;
};

/// The packed form of `kTable`. `kCode` gives an entry's code, below 256; `kName` its name of fewer than 256
/// characters.
template <auto& kTable, auto kCode, auto kName>
inline constexpr auto kPackedNames = [] {
  constexpr std::size_t kBytes = [] {
    std::size_t bytes = 0;
    for (const auto& entry : kTable) bytes += PackedNames<1>::bytes_of(kName(entry));
    return bytes;
  }();
  PackedNames<kBytes> names;
  for (const auto& entry : kTable) names.add(kCode(entry), kName(entry));
  return names;
}();

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
