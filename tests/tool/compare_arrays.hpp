#pragma once
#include <random>
#include <vector>

#include "src/tool/judge/compare/comparison.hpp"

/// Arrays in memory for tests of comparisons.

namespace {

struct Memory final : opdump::compare::ElementSource {
  explicit Memory(const void* from) : data(static_cast<const std::byte*>(from)) {}
  const std::byte* read(std::uint64_t offset, std::size_t, std::byte*) const override {
    return data + offset;
  }
  const std::byte* data;
};

inline opdump::compare::ComparedArray floats(const opdump::compare::ElementSource& source) {
  return {.source = &source, .dtype = opdump::DType::float32, .item_bits = 32};
}

inline std::vector<float> normal(std::size_t count, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

constexpr opdump::StatisticsLevel kLevels[] = {opdump::StatisticsLevel::portable,
                                               opdump::StatisticsLevel::avx2, opdump::StatisticsLevel::neon};

}  // namespace
