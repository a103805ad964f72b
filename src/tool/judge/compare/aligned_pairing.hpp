#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opdump/types/tensor.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/name_pairing.hpp"

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

/// What places of ours, "model/step", are called on the golden side.
class GoldenPlaces {
 public:
  GoldenPlaces(const DumpSide& mine, const DumpSide& golden);

  /// Empty for a place that only our side tells; of two dumps with one model each, the step counts alone.
  std::string golden_place(const std::string& place) const;

 private:
  bool told_ = false;
  std::optional<std::string> only_model_;
};

/// One operator at one time.
struct OperatorRun {
  std::size_t file = 0;  ///< of the first tensor, in `DumpSide::files`
  std::map<std::pair<bool, std::uint32_t>, std::size_t> tensors;  ///< by whether it is an output, and index
};

/// The operators of a dump in the order in which they ran, by place; by the golden place of ours if `places`
/// is not null.
std::map<std::string, std::vector<OperatorRun>> operator_runs(const DumpSide& side,
                                                              const GoldenPlaces* places);

/// Pairs those of `pairs`, one for each tensor of mine, that have no partner: operators whose names agree but for what
/// runtimes add, then, between those that have partners, by the alignment of both orders of execution. Pairs of
/// operators that cannot be the same, as their shapes differ by more than the order of dims, are undone. `used` tells
/// which golden tensors have a partner. Reads the outputs that are aligned.
void pair_by_alignment(const DumpSide& mine, const DumpSide& golden, TensorPairs& pairs,
                       std::vector<bool>& used);

}  // namespace opdump::tool
