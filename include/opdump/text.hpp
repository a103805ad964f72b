#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The character that stands for `code` in a part of a path: '_' for control characters, ' ', '"', '.', '/'
/// and '\\'.
constexpr char sanitised(unsigned char code) {
  const bool replaced =
      code <= '/' ? code <= ' ' || code == '"' || code >= '.' : code == '\\' || code == 0x7f;
  return replaced ? '_' : static_cast<char>(code);
}

/// Writes text into memory of a fixed size. What does not fit is left out and `overflowed()` says so.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> memory) : memory_(memory) {}

  TextWriter& add(std::string_view text) {
    char* const to = take(text.size());
    if (to != nullptr && !text.empty()) std::memcpy(to, text.data(), text.size());
    return *this;
  }

  TextWriter& add(const char* text) { return add(std::string_view(text)); }

  TextWriter& add(char c) {
    if (char* const to = take(1)) *to = c;
    return *this;
  }

  /// `value` in decimal, with leading zeros up to `width` digits.
  TextWriter& add_decimal(std::uint64_t value, std::size_t width = 1) { return add_wide(width, value); }

  /// `name` as one part of a path: CANN turns ' ', '.', '/' and '\' into '_'; here control characters and
  /// '"' become that too, and an empty name becomes "_".
  TextWriter& add_sanitised(std::string_view name) {
    if (name.empty()) name = "_";
    char* to = take(name.size());
    for (std::size_t i = 0; to != nullptr && i < name.size(); ++i) {
      const unsigned char code = static_cast<unsigned char>(name[i]);
      to[i] = OPDUMP_SMALL_CODE != 0 ? sanitised(code) : kSanitised[code];
    }
    return *this;
  }

  std::string_view text() const { return {memory_.data(), used_}; }
  std::span<char> rest() const { return memory_.subspan(used_); }
  bool overflowed() const { return overflowed_; }

  /// Turns around what was added behind the first `first` characters, or takes it back if it did not all fit.
  TextWriter& reverse(std::size_t first) {
    if (overflowed_) {
      used_ = first;
      memory_ = memory_.first(used_);
    }
    for (std::size_t last = used_; first + 1 < last; ++first) {
      const char c = memory_[--last];
      memory_[last] = memory_[first];
      memory_[first] = c;
    }
    return *this;
  }

 private:
  static constexpr std::array<char, 256> kSanitised = [] {
    std::array<char, 256> table{};
    for (std::size_t code = 0; code < table.size(); ++code)
      table[code] = sanitised(static_cast<unsigned char>(code));
    return table;
  }();

  /// Where the next `count` characters go; null when they do not fit, nor will any that follow.
  char* take(std::size_t count) {
    if (count > memory_.size() - used_) {
      overflowed_ = true;
      memory_ = memory_.first(used_);
      return nullptr;
    }
    char* const at = memory_.data() + used_;
    used_ += count;
    return at;
  }

  TextWriter& add_wide(std::size_t width, std::uint64_t value) {
    // Eight digits at a time: divisions of 64 bits are slow.
    constexpr std::size_t kDigits = 8;
    constexpr std::uint32_t kLimit = 100'000'000;
    if (value >= kLimit || width > kDigits) {
      add_wide(width > kDigits ? width - kDigits : 1, value / kLimit);
      return add_digits(static_cast<std::uint32_t>(value % kLimit), kDigits);
    }
    const std::uint32_t part = static_cast<std::uint32_t>(value);
    if (OPDUMP_SMALL_CODE == 0 && width == kDigits) return add_digits(part, kDigits);
    std::size_t count = 1;
    for (std::uint32_t limit = 10; part >= limit && count < kDigits; limit *= 10) ++count;
    return add_digits(part, count < width ? width : count);
  }

  /// The last `count` digits of `value`.
  TextWriter& add_digits(std::uint32_t value, std::size_t count) {
    char* const digits = take(count);
    if (digits == nullptr) return *this;
    for (; OPDUMP_SMALL_CODE == 0 && count >= 2; count -= 2, value /= 100) {
      const std::uint32_t pair = value % 100;
      digits[count - 1] = static_cast<char>('0' + pair % 10);
      digits[count - 2] = static_cast<char>('0' + pair / 10);
    }
    for (; count != 0; value /= 10) digits[--count] = static_cast<char>('0' + value % 10);
    return *this;
  }

  std::span<char> memory_;
  std::size_t used_ = 0;
  bool overflowed_ = false;
};

/// The local calendar time `unix_seconds` + `utc_offset_seconds` as the number YYYYMMDDHHMMSS, from 1970 on.
constexpr std::uint64_t local_time_number(std::uint64_t unix_seconds, std::int32_t utc_offset_seconds) {
  const std::int64_t local = static_cast<std::int64_t>(unix_seconds) + utc_offset_seconds;
  const std::uint64_t seconds = local < 0 ? 0 : static_cast<std::uint64_t>(local);
  const std::uint64_t second_of_day = seconds % 86400;
  // Days counted from 0000-03-01, so that the leap day is the last of its year.
  const std::uint64_t days = seconds / 86400 + 719468;
  const std::uint64_t era = days / 146097;
  const std::uint64_t day_of_era = days % 146097;
  const std::uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint64_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::uint64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const std::uint64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const std::uint64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
  const std::uint64_t date = (year * 100 + month) * 100 + day;
  return ((date * 100 + second_of_day / 3600) * 100 + second_of_day / 60 % 60) * 100 + second_of_day % 60;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
