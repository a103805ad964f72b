#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/dump/statistics.hpp"

namespace opdump::tool {

/// What `opdump show` says about a tensor's elements.
struct TensorDigest {
  static constexpr std::size_t kBins = 24;

  bool are_numbers = false;  ///< false: nothing below is known
  std::uint64_t elements = 0;
  Statistics statistics{};

  /// From a second pass, if the spread was asked for.
  bool has_spread = false;
  double deviation = 0;  ///< standard deviation of the finite elements
  std::uint64_t zeros = 0;
  std::array<std::uint64_t, kBins>
      bins{};  ///< finite elements from the smallest to the largest, in equal steps

  std::vector<double> head{};  ///< the first elements

  // Of a quantised tensor: what its elements stand for.
  bool has_real = false;
  Statistics real{};
  bool has_limits = false;
  std::uint64_t at_least = 0;  ///< elements that are the least, or the greatest, of their dtype
  std::uint64_t at_most = 0;
};

/// Reads the tensor's bytes. `quant`: how it is quantised, or null; where that does not fit its shape,
/// nothing real is known. False, with `error`, when they cannot be read or are fewer than its shape needs.
bool digest_tensor(RecordFile& file, const RecordTensor& tensor, bool spread, std::size_t head,
                   const Quantisation* quant, TensorDigest& digest, std::string& error);

/// The bins as a line of blocks, as high as the fullest bin allows.
std::string histogram_text(const std::array<std::uint64_t, TensorDigest::kBins>& bins);

}  // namespace opdump::tool
