#include "src/tool/judge/compare/compare_pairing.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "src/tool/judge/compare/aligned_pairing.hpp"
#include "src/tool/judge/compare/name_pairing.hpp"
#include "src/tool/judge/compare/operator_runs.hpp"

namespace opdump::tool {
namespace {

TensorPairs pair_by_order(const DumpSide& mine, const DumpSide& golden, std::vector<bool>& used) {
  TensorPairs pairs;
  for (std::size_t i = 0; i < mine.tensors.size(); ++i) pairs.push_back({i, std::nullopt});
  const GoldenPlaces places(mine, golden);
  const auto golden_runs = operator_runs(golden, nullptr);
  for (const auto& [place, ours] : operator_runs(mine, &places)) {
    auto theirs = golden_runs.find(place);
    if (theirs == golden_runs.end()) theirs = golden_runs.find({});
    if (theirs == golden_runs.end()) continue;
    for (std::size_t turn = 0; turn < std::min(ours.size(), theirs->second.size()); ++turn) {
      for (const auto& [role, tensor] : ours[turn].tensors) {
        const auto found = theirs->second[turn].tensors.find(role);
        if (found == theirs->second[turn].tensors.end()) continue;
        pairs[tensor].golden = found->second;
        pairs[tensor].by = PairedBy::turn;
        used[found->second] = true;
      }
    }
  }
  return pairs;
}

}  // namespace

std::string_view to_string(PairedBy by) {
  constexpr std::string_view kWords[] = {"name", "map", "original name", "common name", "turn", "alignment"};
  return kWords[static_cast<std::size_t>(by)];
}

TensorPairs pair_tensors(const DumpSide& mine, const DumpSide& golden, const PairingOptions& options) {
  TensorPairs pairs;
  if (mine.named_file && golden.named_file && mine.tensors.size() == 1 && golden.tensors.size() == 1) {
    pairs.push_back({0, 0});
    return pairs;
  }
  std::vector<bool> used(golden.tensors.size());
  if (options.by_order) {
    pairs = pair_by_order(mine, golden, used);
  } else {
    pairs = pair_by_name(mine, golden, options.names, used);
    if (options.align) pair_by_alignment(mine, golden, pairs, used);
  }
  for (std::size_t i = 0; i < golden.tensors.size(); ++i) {
    if (!used[i]) pairs.push_back({std::nullopt, i});
  }
  return pairs;
}

}  // namespace opdump::tool
