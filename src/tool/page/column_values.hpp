#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "src/tool/cli/base64.hpp"
#include "src/tool/read/dump/temporary_file.hpp"

namespace opdump::tool {

/// Any number of numbers in bounded memory: what passes 16 KiB lies in a temporary file.
template <class T>
class ColumnValues {
 public:
  void push_back(T value) {
    if (count_ == 0) first_ = value;
    same_ = same_ && std::memcmp(&value, &first_, sizeof value) == 0;
    used_ = used_ || value != T{};
    if constexpr (std::is_floating_point_v<T>) known_ = known_ || !std::isnan(value);
    ++count_;
    values_.push_back(value);
    if (values_.size() == kBuffered) spill();
  }

  std::size_t size() const { return count_; }
  bool are_same() const { return same_; }  ///< bit by bit
  const std::string& error() const { return file_.error(); }
  bool any_used() const { return used_; }    ///< one is not 0
  bool any_known() const { return known_; }  ///< one is no NaN

  /// Gives the first `count` of them to `put`, as base64 in pieces.
  template <class Put>
  void base64(std::size_t count, Put put) const {
    Base64 text;
    std::vector<T> piece(kBuffered);
    for (std::size_t at = 0; at < count; at += kBuffered) {
      const std::size_t now = std::min(kBuffered, count - at);
      const std::span<T> values = std::span(piece).first(now);
      if (at * sizeof(T) < file_.size()) {
        static_cast<void>(file_.read(at * sizeof(T), std::as_writable_bytes(values)));
      } else {
        std::copy_n(values_.begin(), now, values.begin());
      }
      put(text.add(std::as_bytes(values)));
    }
    put(text.finish());
  }

 private:
  static constexpr std::size_t kBuffered = (std::size_t{16} << 10) / sizeof(T);

  void spill() {
    static_cast<void>(file_.append(std::as_bytes(std::span(values_))));
    values_.clear();
  }

  std::vector<T> values_;
  TemporaryFile file_;
  std::size_t count_ = 0;
  T first_{};
  bool same_ = true;
  bool used_ = false;
  bool known_ = !std::is_floating_point_v<T>;
};

}  // namespace opdump::tool
