#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// How it is known which output an input is.
enum class EdgeSource : std::uint8_t {
  address,  ///< both lie in the same bytes of the device
  view,     ///< the input lies within the output
  name,     ///< the card gives both the same name
};

/// Whether the dump holds the same bytes for both, or the same elements in another order, as a permuted view of
/// the output has them.
enum class EdgeBytes : std::uint8_t { unknown, same, differ, reordered };

struct Edge {
  std::size_t from = 0;  ///< an output, in DumpSide::tensors
  std::size_t to = 0;    ///< an input
  EdgeSource source = EdgeSource::address;
  EdgeBytes bytes = EdgeBytes::unknown;
  std::uint64_t differs_at = 0;  ///< the first byte of the input that differs

  /// Whether something wrote to the output's memory before the input was read.
  bool is_overwritten() const { return bytes == EdgeBytes::differ && source != EdgeSource::name; }
};

/// In the order of their inputs.
using Edges = std::vector<Edge>;

/// Finds for each input of a dump the output that it is: the latest one, at the same step, that was written to the
/// input's addresses; where addresses do not tell it, the one that the card calls the same. Reads the bytes of both, if
/// the dump has them, and shows its progress on a terminal. `errors` gets what could not be read.
Edges find_edges(const DumpSide& side, const CardedOps* card, std::vector<std::string>& errors);

}  // namespace opdump::tool
