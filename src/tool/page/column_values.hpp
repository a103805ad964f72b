#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "src/tool/cli/base64.hpp"

namespace opdump::tool {

/// The numbers of one column.
template <class T>
class ColumnValues {
 public:
  void push_back(T value) {
    same_ = same_ && (values_.empty() || std::memcmp(&value, &values_[0], sizeof value) == 0);
    used_ = used_ || value != T{};
    if constexpr (std::is_floating_point_v<T>) known_ = known_ || !std::isnan(value);
    values_.push_back(value);
  }

  std::size_t size() const { return values_.size(); }
  bool are_same() const { return same_; }    ///< bit by bit
  bool any_used() const { return used_; }    ///< one is not 0
  bool any_known() const { return known_; }  ///< one is no NaN

  /// Gives the first `count` of them to `put`, as base64 in pieces.
  template <class Put>
  void base64(std::size_t count, Put put) const {
    constexpr std::size_t kPiece = (std::size_t{16} << 10) / sizeof(T);
    Base64 text;
    for (std::span<const T> left(values_.data(), count); !left.empty();) {
      const std::span<const T> piece = left.first(std::min(kPiece, left.size()));
      put(text.add(std::as_bytes(piece)));
      left = left.subspan(piece.size());
    }
    put(text.finish());
  }

 private:
  std::vector<T> values_;
  bool same_ = true;
  bool used_ = false;
  bool known_ = !std::is_floating_point_v<T>;
};

}  // namespace opdump::tool
