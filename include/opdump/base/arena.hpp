#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/bytes.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Hands out pieces of one block of memory that the caller owns. No piece is given back alone; the caller
/// frees the whole block. One thread at a time.
class Arena {
 public:
  constexpr explicit Arena(MutableBytes memory) : memory_(memory) {}

  /// `count` value-initialised elements; `no_memory` when they do not fit, with nothing taken.
  template <class T>
  requires std::is_trivially_destructible_v<T> Result<std::span<T>> array(std::size_t count) {
    if (count == 0) return std::span<T>{};
    T* first = reinterpret_cast<T*>(take(count, sizeof(T), alignof(T)));
    if (first == nullptr) return Status::no_memory;
    for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(first + i)) T{};
    return std::span<T>(first, count);
  }

  /// Bytes for `count` objects of `size` and `alignment`, a power of two; null when they do not fit, with
  /// nothing taken.
  OPDUMP_APART_IF_LEAN std::byte* take(std::size_t count, std::size_t size, std::size_t alignment) {
    std::byte* const free = memory_.data() + used_;
    const std::size_t padding =
        static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(free) & (alignment - 1));
    const std::size_t left = memory_.size() - used_;
    if (padding > left || count > (left - padding) / size) return nullptr;
    used_ += padding + count * size;
    return free + padding;
  }

  /// A copy of `text`; `no_memory` when it does not fit.
  Result<std::string_view> text(std::string_view text) {
    if (text.empty()) return std::string_view();
    std::byte* const copy = take(text.size(), 1, 1);
    if (copy == nullptr) return Status::no_memory;
    std::memcpy(copy, text.data(), text.size());
    return std::string_view(reinterpret_cast<const char*>(copy), text.size());
  }

  std::size_t used() const { return used_; }

 private:
  MutableBytes memory_;
  std::size_t used_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
