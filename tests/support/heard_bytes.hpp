#pragma once
#include <cstddef>
#include <deque>

#include "opdump/base/bytes.hpp"

namespace opdump::tests {

/// The half of a wire's port that reads.
struct HeardBytes {
  std::size_t read(MutableBytes to) {
    std::size_t count = 0;
    for (; count < to.size() && !heard.empty(); ++count) {
      to[count] = heard.front();
      heard.pop_front();
    }
    return count;
  }

  std::deque<std::byte> heard;
};

}  // namespace opdump::tests
