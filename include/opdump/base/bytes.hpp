#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Copies `bytes`; either side may be empty and then null, which memcpy forbids.
inline void copy_bytes(std::byte* to, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

/// As memcpy, which a lean build always calls: GCC copies up to 64 bytes in place, which takes more code.
inline void copy_by_call(void* to, const void* from, std::size_t bytes) {
  if constexpr (build::kLean) asm("" : "+r"(bytes));
  std::memcpy(to, from, bytes);
}

/// Copies an object as bytes.
template <class T>
requires std::is_trivially_copyable_v<T>
void copy_object(T& to, const T& from) {
  copy_by_call(&to, &from, sizeof(T));
}

/// Whether the `bytes` bytes at both places are equal. A lean build avoids memcmp, which takes more code.
OPDUMP_APART_IF_LEAN constexpr bool is_same(const char* one, const char* other, std::size_t bytes) {
  if constexpr (!build::kLean) return std::string_view(one, bytes) == std::string_view(other, bytes);
  for (; bytes != 0; --bytes) {
    if (*one++ != *other++) return false;
  }
  return true;
}
inline bool is_same(const std::byte* one, const std::byte* other, std::size_t bytes) {
  if constexpr (!build::kLean) return std::memcmp(one, other, bytes) == 0;
  return is_same(reinterpret_cast<const char*>(one), reinterpret_cast<const char*>(other), bytes);
}

constexpr bool is_same(const std::string_view& one, const std::string_view& other) {
  return one.size() == other.size() && is_same(one.data(), other.data(), one.size());
}

/// `memmove`, which a lean build avoids too.
inline void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if constexpr (!build::kLean) {
    std::memmove(to, from, bytes);
  } else if (to < from) {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  } else {
    while (bytes-- != 0) to[bytes] = from[bytes];
  }
}

/// `memcpy` for names and dims, which are so short that the call would cost more than the copy.
inline void copy_short(std::byte* to, const void* from, std::size_t bytes) {
  if constexpr (build::kLean) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  const std::byte* at = static_cast<const std::byte*>(from);
  const auto ends = [=]<class Word>(Word) {  // the first and the last word, which may overlap
    Word first;
    Word last;
    std::memcpy(&first, at, sizeof first);
    std::memcpy(&last, at + bytes - sizeof last, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + bytes - sizeof last, &last, sizeof last);
  };
  struct Word16 {
    std::uint64_t words[2];
  };
  if (bytes > 2 * sizeof(Word16)) {
    std::memcpy(to, at, bytes);
  } else if (bytes >= sizeof(Word16)) {
    ends(Word16{});
  } else if (bytes >= sizeof(std::uint64_t)) {
    ends(std::uint64_t{});
  } else if (bytes >= sizeof(std::uint32_t)) {
    ends(std::uint32_t{});
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = at[i];
  }
}

/// `memcpy` for tensors, which on a 64-bit machine copies up to 64 bytes in place: a call would cost as much
/// as the copy.
[[gnu::always_inline]] inline void copy_small(std::byte* to, const std::byte* from, std::size_t bytes) {
  using Word16 [[gnu::vector_size(16)]] =
      std::uint64_t;  // in a register, where a struct would pass through the stack
  constexpr std::size_t kWord = sizeof(Word16);
  if (sizeof(void*) < sizeof(std::uint64_t) || bytes - kWord > 3 * kWord) {  // also less than one
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  // Words from either end, which may overlap.
  Word16 first;
  Word16 last;
  std::memcpy(&first, from, kWord);
  std::memcpy(&last, from + bytes - kWord, kWord);
  if (bytes > 2 * kWord) {
    Word16 second;
    Word16 third;
    std::memcpy(&second, from + kWord, kWord);
    std::memcpy(&third, from + bytes - 2 * kWord, kWord);
    std::memcpy(to + kWord, &second, kWord);
    std::memcpy(to + bytes - 2 * kWord, &third, kWord);
  }
  std::memcpy(to, &first, kWord);
  std::memcpy(to + bytes - kWord, &last, kWord);
}

/// As `copy_short`; returns where the copy ends.
inline std::byte* put_short(std::byte* to, const void* from, std::size_t bytes) {
  copy_short(to, from, bytes);
  return to + bytes;
}

template <std::unsigned_integral T>
constexpr void store_little_endian(std::byte* to, T value) {
  if (std::endian::native == std::endian::little && !std::is_constant_evaluated()) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  for (std::size_t i = 0; i < sizeof(T); ++i)
    to[i] = static_cast<std::byte>(static_cast<std::uint8_t>(value >> (8 * i)));
}

template <std::unsigned_integral T>
constexpr T load_little_endian(const std::byte* from) {
  T value = 0;
  if (std::endian::native == std::endian::little && !std::is_constant_evaluated()) {
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | (static_cast<T>(std::to_integer<std::uint8_t>(from[i])) << (8 * i)));
  return value;
}

/// Reads little-endian values off the front of untrusted bytes. After the first value that does not fit,
/// `truncated()` is true, every read gives zero or nothing, and the position no longer moves.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T read() {
    const Bytes field = take(sizeof(T));
    return field.empty() ? T{0} : load_little_endian<T>(field.data());
  }

  Bytes take(std::uint64_t count) {
    if (truncated_ || count > bytes_.size() - position_) {
      truncated_ = true;
      return {};
    }
    const Bytes taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return taken;
  }

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  bool truncated() const { return truncated_; }

 private:
  Bytes bytes_;
  std::size_t position_ = 0;
  bool truncated_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
