#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/op_alignment.hpp"

namespace opdump::tool {

/// Reads all elements of a tensor; of quantised ones with one scale the real values count. Nothing when none
/// is finite, or when they cannot be read.
std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor);

/// The share of the elements that are the least or the greatest of their integer dtype, without those that
/// stand for 0; nothing of other dtypes, and of what cannot be read.
std::optional<double> share_at_ends(const DumpSide& side, const DumpTensor& tensor);

/// The share of such elements from which golden's are more than a step away: what mine could not hold. Nothing
/// also where golden's elements do not lie in the same order.
std::optional<double> clipped_share(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                    const DumpTensor& golden_tensor);

/// A channel of mine that is so many times golden's.
struct ChannelGain {
  std::size_t channel = 0;
  std::size_t channels = 0;
  std::size_t axis = 0;
  double times = 1;
};

/// The channel whose factor to golden's is ten times as far from 1 as that of most others, and five times its own
/// noise. Nothing where there is none, or too little to tell.
std::optional<ChannelGain> odd_channel(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                       const DumpTensor& golden_tensor, std::size_t axis);

/// All elements, as what they stand for; nothing where there are more than `most`, or they cannot be read.
std::optional<std::vector<double>> real_elements(const DumpSide& side, const DumpTensor& tensor,
                                                 std::uint64_t most);

}  // namespace opdump::tool
