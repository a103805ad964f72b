#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/divide.hpp"
#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The character that stands for `code` in a part of a path: '_' for control characters, ' ', '"', '.', '/' and '\\'.
constexpr char sanitised(unsigned char code) {
  if (code > '\\' && code != 0x7f) return static_cast<char>(code);
  const bool replaced = code <= '/' ? code <= ' ' || code == '"' || code >= '.' : code >= '\\';
  return replaced ? '_' : static_cast<char>(code);
}

/// `sanitised` of every code.
inline constexpr std::array<char, 256> kSanitised = [] {
  std::array<char, 256> table{};
  for (std::size_t code = 0; code < table.size(); ++code)
    table[code] = sanitised(static_cast<unsigned char>(code));
  return table;
}();

/// Of a value below 16, in lower case.
constexpr char hex_digit(unsigned value) {
  return static_cast<char>(value < 10 ? '0' + value : 'a' + (value - 10));
}

// These put text into memory that has room for it, and return where the text ends.

/// `text` must not be empty.
inline char* put_text(char* to, std::string_view text) {
  copy_by_call(to, text.data(), text.size());
  return to + text.size();
}

/// Two digits for each byte.
inline char* put_hex(char* to, Bytes bytes) {
  for (const std::byte byte : bytes) {
    *to++ = hex_digit(std::to_integer<unsigned>(byte >> 4));
    *to++ = hex_digit(std::to_integer<unsigned>(byte & std::byte{15}));
  }
  return to;
}

/// Digits of the longest 64-bit number.
inline constexpr std::size_t kMaxDecimalBytes = 20;

/// "00" to "99".
inline constexpr std::array<char, 200> kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i)
    pairs[i] = static_cast<char>('0' + (i % 2 == 0 ? i / 20 : i / 2 % 10));
  return pairs;
}();

/// Puts the last `count` digits of `value`, at least 1.
OPDUMP_APART_IF_LEAN inline char* put_digits(char* to, std::uint32_t value, std::size_t count) {
  char* const end = to + count;
  char* at = end;
  if constexpr (build::kLean) {
    do {
      *--at = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (--count != 0);
  } else {
    for (; count >= 2; count -= 2, value /= 100)
      std::memcpy(at -= 2, kDigitPairs.data() + 2 * (value % 100), 2);
    if (count != 0) *--at = static_cast<char>('0' + value % 10);
  }
  return end;
}

/// Puts the four digits of `value`, which must have no more.
[[gnu::always_inline]] inline char* put_four_digits(char* to, std::uint32_t value) {
  const std::uint32_t hundreds = value * 10486 >> 20;
  std::memcpy(to, kDigitPairs.data() + 2 * hundreds, 2);
  std::memcpy(to + 2, kDigitPairs.data() + 2 * (value - hundreds * 100), 2);
  return to + 4;
}

/// Puts the eight digits of `value`, which must have no more.
[[gnu::always_inline]] inline char* put_eight_digits(char* to, std::uint32_t value) {
  if constexpr (build::kLean) {
    return put_digits(to, value, 8);
  } else if constexpr (sizeof(std::size_t) < 8) {
    return put_four_digits(put_four_digits(to, value / 10000), value % 10000);
  } else {
    // In lanes of 32, 16 and then 8 bits, the first digits in the lowest; each multiplication divides every lane.
    std::uint64_t lanes = value / 10000 | std::uint64_t{value % 10000} << 32;
    const std::uint64_t hundreds = (lanes * 10486 >> 20) & 0x0000007f'0000007f;
    lanes = hundreds | (lanes - hundreds * 100) << 16;
    const std::uint64_t tens = (lanes * 103 >> 10) & 0x000f000f'000f000f;
    lanes = tens | (lanes - tens * 10) << 8;
    store_little_endian(reinterpret_cast<std::byte*>(to), lanes | 0x3030303030303030);
    return to + 8;
  }
}

/// The number of digits of `value`, at least `width`.
[[gnu::always_inline]] inline std::size_t decimal_bytes(std::uint32_t value, std::size_t width) {
  std::size_t count = 0;
  do {
    ++count;
    value /= 10;
  } while (value != 0);
  return count < width ? width : count;
}

/// Puts `value` in decimal. In fewer steps than `put_short_decimal`, which is less code.
inline char* put_number(char* to, std::uint32_t value) {
  if (value < 100) {
    if (value < 10) {
      *to = static_cast<char>('0' + value);
      return to + 1;
    }
    std::memcpy(to, kDigitPairs.data() + 2 * value, 2);
    return to + 2;
  }
  if (value < 10'000) {
    to = put_number(to, value / 100);
    std::memcpy(to, kDigitPairs.data() + 2 * (value % 100), 2);
    return to + 2;
  }
  if (value < 100'000'000) {
    to = put_number(to, value / 10'000);
    return put_four_digits(to, value % 10'000);
  }
  to = put_number(to, value / 100'000'000);
  return put_eight_digits(to, value % 100'000'000);
}

/// Puts `value` in decimal, with leading zeros up to `width` digits.
OPDUMP_APART_IF_LEAN inline char* put_short_decimal(char* to, std::uint32_t value, std::size_t width = 1) {
  return put_digits(to, value, decimal_bytes(value, width));
}

/// The same for 64 bits and up to kMaxDecimalBytes digits. In this order all arguments pass in registers.
inline char* put_wide(char* to, std::size_t width, std::uint64_t value) {
  constexpr std::size_t kDigits = 4;
  std::uint32_t behind[3];
  std::size_t parts = 0;
  while (value > UINT32_MAX || width > 10) {
    behind[parts++] = divide(value, 10000);
    width = width > kDigits ? width - kDigits : 1;
  }
  to = put_short_decimal(to, static_cast<std::uint32_t>(value), width);
  while (parts != 0) to = put_digits(to, behind[--parts], kDigits);
  return to;
}

[[gnu::always_inline]] inline char* put_decimal(char* to, std::uint64_t value, std::size_t width = 1) {
  return put_wide(to, width, value);
}

/// Bytes of `name` as one part of a path.
constexpr std::size_t sanitised_bytes(std::string_view name) {
  return name.empty() ? 1 : name.size();
}

/// Puts the `bytes` characters of `name` as one part of a path: CANN turns ' ', '.', '/' and '\' into '_';
/// here control characters and '"' become that too, and an empty name becomes "_".
OPDUMP_APART_IF_LEAN inline char* put_sanitised(char* to, const char* name, std::size_t bytes) {
  if (bytes == 0) {
    *to = '_';
    return to + 1;
  }
  for (char* const end = to + bytes; to != end; ++to) {
    const unsigned char code = static_cast<unsigned char>(*name++);
    *to = OPDUMP_SMALL_CODE != 0 ? sanitised(code) : kSanitised[code];
  }
  return to;
}

[[gnu::always_inline]] inline char* put_sanitised(char* to, std::string_view name) {
  return put_sanitised(to, name.data(), name.size());
}

/// Writes text into memory of a fixed size. Text that does not fit is left out, and `overflowed()` says so.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> memory) : memory_(memory) {}

  TextWriter& add(std::string_view text) {
    char* const to = take(text.size());
    if (to != nullptr && !text.empty()) put_text(to, text);
    return *this;
  }

  TextWriter& add(const char* text) { return add(std::string_view(text)); }

  TextWriter& add(char c) {
    if (char* const to = take(1)) *to = c;
    return *this;
  }

  /// As `put_decimal`.
  TextWriter& add_decimal(std::uint64_t value, std::size_t width = 1) {
    if (!build::kLean && memory_.size() - used_ >= kMaxDecimalBytes) {
      char* const to = memory_.data() + used_;
      used_ += static_cast<std::size_t>(put_decimal(to, value, width) - to);
      return *this;
    }
    char digits[kMaxDecimalBytes];
    return add({digits, static_cast<std::size_t>(put_decimal(digits, value, width) - digits)});
  }

  /// As `put_short_decimal`. Takes a third of the stack that `add_decimal` does.
  TextWriter& add_short_decimal(std::uint32_t value, std::size_t width = 1) {
    const std::size_t count = decimal_bytes(value, width);
    if (char* const to = take(count)) put_digits(to, value, count);
    return *this;
  }

  /// As `put_hex`.
  TextWriter& add_hex(Bytes bytes) {
    if (char* const to = take(2 * bytes.size())) put_hex(to, bytes);
    return *this;
  }

  /// As `put_sanitised`.
  TextWriter& add_sanitised(std::string_view name) {
    if (char* const to = take(sanitised_bytes(name))) put_sanitised(to, name);
    return *this;
  }

  std::string_view text() const { return {memory_.data(), used_}; }
  std::span<char> rest() const { return memory_.subspan(used_); }
  bool overflowed() const { return overflowed_; }

  /// Reverses what was added after the first `first` characters, or takes it back if it did not all fit.
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
  /// Where the next `count` characters go; null when they do not fit, and then nothing later will.
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

  std::span<char> memory_;
  std::size_t used_ = 0;
  bool overflowed_ = false;
};

/// The local calendar time `unix_seconds` + `utc_offset_seconds` as the number YYYYMMDDHHMMSS, from 1970 on.
OPDUMP_APART_IF_LEAN constexpr std::uint64_t local_time_number(std::uint64_t unix_seconds,
                                                               std::int32_t utc_offset_seconds) {
  const std::int64_t local = static_cast<std::int64_t>(unix_seconds) + utc_offset_seconds;
  std::uint64_t left = local < 0 ? 0 : static_cast<std::uint64_t>(local);
  const std::uint32_t second = divide(left, 60);
  const std::uint32_t minute = divide(left, 60);
  const std::uint32_t hour = divide(left, 24);
  // Days counted from 0000-03-01, so that the leap day is the last of its year.
  const std::uint32_t days = static_cast<std::uint32_t>(left) + 719468;
  // A century has 36524.25 days, a year of it 365.25, and five months from March on 153.
  const std::uint32_t quarters = 4 * days + 3;
  const std::uint32_t of_century = (quarters % 146097) | 3;
  const std::uint32_t fifths = of_century % 1461 / 4 * 5 + 2;
  const std::uint32_t day = fifths % 153 / 5 + 1;
  std::uint32_t month = fifths / 153 + 3;
  std::uint32_t year = quarters / 146097 * 100 + of_century / 1461;
  if (month > 12) {
    month -= 12;
    ++year;
  }
  const std::uint32_t time = (((month * 100 + day) * 100 + hour) * 100 + minute) * 100 + second;
  return std::uint64_t{year} * 10'000'000'000 + time;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
