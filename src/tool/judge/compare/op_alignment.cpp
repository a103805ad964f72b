#include "src/tool/judge/compare/op_alignment.hpp"

#include <algorithm>
#include <cmath>

namespace opdump::tool {
namespace {

constexpr int kSameShape = 2;
constexpr int kSameType = 3;
constexpr int kSameKind = 1;
constexpr int kSameValues = 5;

/// Up to 6 for how near the values of both are.
int value_likeness(const ValueRange& mine, const ValueRange& golden) {
  const double distance = relative_distance(mine, golden);
  if (distance <= 1e-3) return kSameValues + 1;
  if (distance <= 0.02) return kSameValues;
  return distance <= 0.2 ? 2 : 0;
}

using Ops = std::span<const OpTraits>;
using Scores = std::vector<int>;

class Alignment {
 public:
  explicit Alignment(std::vector<std::pair<std::size_t, std::size_t>>& pairs) : pairs_(pairs) {}

  /// `my_first` and `golden_first` are the numbers of the first of each.
  void align(Ops mine, std::size_t my_first, Ops golden, std::size_t golden_first) {
    if (mine.empty() || golden.empty()) return;
    if (mine.size() == 1) {
      pair_best(mine[0], my_first, golden, golden_first);
      return;
    }
    const std::size_t half = mine.size() / 2;
    const Scores before = scores(mine.first(half), golden, false);
    const Scores behind = scores(mine.subspan(half), golden, true);
    std::size_t cut = 0;
    for (std::size_t i = 0; i <= golden.size(); ++i) {
      if (before[i] + behind[golden.size() - i] > before[cut] + behind[golden.size() - cut]) cut = i;
    }
    align(mine.first(half), my_first, golden.first(cut), golden_first);
    align(mine.subspan(half), my_first + half, golden.subspan(cut), golden_first + cut);
  }

 private:
  void pair_best(const OpTraits& mine, std::size_t my_first, Ops golden, std::size_t golden_first) {
    std::size_t best = golden.size();
    int most = 0;
    for (std::size_t i = 0; i < golden.size(); ++i) {
      const int score = likeness(mine, golden[i]);
      if (score <= most) continue;
      most = score;
      best = i;
    }
    if (best != golden.size()) pairs_.emplace_back(my_first, golden_first + best);
  }

  /// What all of `mine` make with each number of golden operators from the front, or from the back if
  /// `reversed`.
  static Scores scores(Ops mine, Ops golden, bool reversed) {
    Scores row(golden.size() + 1, 0), next(golden.size() + 1, 0);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const OpTraits& op = mine[reversed ? mine.size() - 1 - i : i];
      for (std::size_t k = 0; k < golden.size(); ++k) {
        const int score = likeness(op, golden[reversed ? golden.size() - 1 - k : k]);
        next[k + 1] = std::max({next[k], row[k + 1], row[k] + std::max(score, 0)});
      }
      std::swap(row, next);
    }
    return row;
  }

  std::vector<std::pair<std::size_t, std::size_t>>& pairs_;
};

}  // namespace

double relative_distance(const ValueRange& mine, const ValueRange& golden) {
  const double width = std::max(mine.max - mine.min, golden.max - golden.min);
  const double apart = std::max({std::fabs(mine.min - golden.min), std::fabs(mine.max - golden.max),
                                 std::fabs(mine.mean - golden.mean)});
  return apart == 0 ? 0 : apart / width;
}

int likeness(const OpTraits& mine, const OpTraits& golden) {
  if (!mine.has_output || !golden.has_output || mine.sorted_dims != golden.sorted_dims) return 0;
  const int values = mine.values && golden.values ? value_likeness(*mine.values, *golden.values) : 0;
  const bool types_known = !mine.type.empty() && !golden.type.empty();
  const bool same_type = types_known && mine.type == golden.type;
  if (types_known && !same_type && values < kSameValues) return 0;
  return kSameShape + (same_type ? kSameType : 0) + (mine.integer == golden.integer ? kSameKind : 0) + values;
}

std::vector<std::pair<std::size_t, std::size_t>> align_ops(Ops mine, Ops golden) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  Alignment(pairs).align(mine, 0, golden, 0);
  return pairs;
}

}  // namespace opdump::tool
