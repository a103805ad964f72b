#pragma once
#include <cstddef>

namespace opdump::tool {

/// How much a card may hold. A file may name one list from many places, so that its own size does not bound
/// what it describes.
class CardBudget {
 public:
  /// Takes room for `count` operators, tensors, dims, scales and the like. False: there is none.
  bool take(std::size_t count) {
    spent_ |= count > left_;
    if (!spent_) left_ -= count;
    return !spent_;
  }

  bool is_spent() const { return spent_; }

 private:
  std::size_t left_ = std::size_t{8} << 20;
  bool spent_ = false;
};

}  // namespace opdump::tool
