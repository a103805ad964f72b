#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace opdump::tests {

/// What a test chooses at random, the same for the same seed.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  /// A number below `end`, which is not 0.
  std::size_t below(std::size_t end) { return engine_() % end; }

 private:
  std::mt19937 engine_;
};

}  // namespace opdump::tests
