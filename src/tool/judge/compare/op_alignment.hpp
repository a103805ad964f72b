#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opdump/types/tensor.hpp"

namespace opdump::tool {

/// What the elements of a tensor are like, in whatever order they lie.
struct ValueRange {
  double min = 0;
  double max = 0;
  double mean = 0;
};

/// How far apart two of them are, by the wider one; infinite for two numbers that differ.
double relative_distance(const ValueRange& mine, const ValueRange& golden);

/// By what an operator is known again in another runtime.
struct OpTraits {
  std::string type;              ///< as `canonical_type`; empty: not known
  std::vector<Dim> sorted_dims;  ///< of its first output, without ones
  bool has_output = false;       ///< false: it is like no other
  bool integer = false;          ///< whether the output's elements are integers
  std::optional<ValueRange> values{};
};

/// How much two operators are alike; 0 or less: they are not to be paired. Those of different types only are
/// where one has been fused into the other, so that their values agree.
int likeness(const OpTraits& mine, const OpTraits& golden);

/// Pairs the operators of two runs of one network, each in the order in which it ran, so that the sum of
/// `likeness` is the greatest that keeps both orders. Operators without a partner stay out: they were fused
/// into others. Takes time by the product of both counts, and memory by their sum (Hirschberg 1975).
std::vector<std::pair<std::size_t, std::size_t>> align_ops(std::span<const OpTraits> mine,
                                                           std::span<const OpTraits> golden);

}  // namespace opdump::tool
