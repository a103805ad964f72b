#include "src/tool/judge/compare/aligned_pairing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/compare/open_pair.hpp"

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

  /// What all of `mine` make with each number of golden operators from the front, or from the back if `reversed`.
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

std::string model_of(const std::string& place) {
  return place.substr(0, place.rfind('/'));
}

std::set<std::string> models_of(const DumpSide& side) {
  std::set<std::string> models;
  for (const DumpFile& file : side.files) {
    if (!file.place.empty()) models.insert(model_of(file.place));
  }
  return models;
}

constexpr std::size_t kNoRun = static_cast<std::size_t>(-1);

std::vector<Dim> sorted_dims(const DumpTensor& tensor) {
  // What a tensor in a device format holds without its padding.
  std::vector<Dim> dims = tensor.layout.original_shape.empty() ? tensor.shape : tensor.layout.original_shape;
  std::erase(dims, Dim{1});
  std::sort(dims.begin(), dims.end());
  return dims;
}

bool is_integer(DType dtype) {
  return dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int16 || dtype == DType::uint16 ||
         dtype == DType::int32 || dtype == DType::uint32 || dtype == DType::int64 || dtype == DType::uint64;
}

/// The operators of one place on one side, and which of the other side each goes with.
struct Runs {
  const DumpSide& side;
  const std::vector<OperatorRun>& all;
  std::vector<std::size_t> partners = std::vector<std::size_t>(all.size(), kNoRun);

  DumpFile file(std::size_t run) const { return side.files[all[run].file]; }

  /// The first output, if there is any.
  std::optional<DumpTensor> output(std::size_t run) const {
    const auto found = all[run].tensors.lower_bound({true, 0});
    if (found == all[run].tensors.end()) return std::nullopt;
    return side.tensors[found->second];
  }

  std::vector<OpTraits> traits(std::size_t first, std::size_t end, std::vector<std::size_t>& numbers) const {
    std::vector<OpTraits> traits;
    for (std::size_t run = first; run < end; ++run) {
      if (partners[run] != kNoRun) continue;
      numbers.push_back(run);
      OpTraits op;
      op.type = canonical_type(file(run).type);
      if (const std::optional<DumpTensor> tensor = output(run)) {
        op.has_output = true;
        op.integer = is_integer(tensor->dtype) && tensor->quant == nullptr;
        op.sorted_dims = sorted_dims(*tensor);
      }
      traits.push_back(std::move(op));
    }
    run_in_order({.count = traits.size(),
                  .work =
                      [&](std::size_t item, std::size_t) {
                        if (traits[item].has_output)
                          traits[item].values = value_range(side, *output(numbers[item]));
                      },
                  .deliver = [](std::size_t) {}},
                 usable_workers());
    return traits;
  }
};

class Aligner {
 public:
  /// `shared`: the golden operators serve several steps.
  Aligner(Runs mine, Runs golden, bool shared, std::vector<TensorPair>& pairs, std::vector<bool>& used)
      : mine_(std::move(mine)), golden_(std::move(golden)), shared_(shared), pairs_(pairs), used_(used) {}

  void pair() {
    take_pairs();
    pair_common_names();
    align_between();
    for (std::size_t run = 0; run < mine_.all.size(); ++run) {
      if (mine_.partners[run] != kNoRun) pair_tensors_of(run);
    }
  }

 private:
  /// Operators go together of which a tensor does.
  void take_pairs() {
    std::map<std::size_t, std::size_t> golden_runs;
    for (std::size_t run = 0; run < golden_.all.size(); ++run) {
      for (const auto& [role, tensor] : golden_.all[run].tensors) golden_runs[tensor] = run;
    }
    for (std::size_t run = 0; run < mine_.all.size(); ++run) {
      for (const auto& [role, tensor] : mine_.all[run].tensors) {
        std::optional<std::size_t>& partner = pairs_[tensor].golden;
        if (!partner) continue;
        const bool same_dims =
            sorted_dims(mine_.side.tensors[tensor]) == sorted_dims(golden_.side.tensors[*partner]);
        if (!same_dims || !pairs_[tensor].remark.empty()) {
          used_[*partner] = false;
          pairs_[tensor] = {tensor, std::nullopt};
          continue;
        }
        const auto found = golden_runs.find(*partner);
        if (found != golden_runs.end()) join(run, found->second, pairs_[tensor].by);
      }
    }
  }

  void pair_common_names() {
    const auto named = [](const Runs& runs) {
      std::map<std::string, std::vector<std::size_t>> names;
      for (std::size_t run = 0; run < runs.all.size(); ++run) {
        if (runs.partners[run] == kNoRun) names[common_name(runs.file(run).op)].push_back(run);
      }
      return names;
    };
    const auto theirs = named(golden_);
    for (const auto& [name, ours] : named(mine_)) {
      const auto found = theirs.find(name);
      if (found == theirs.end() || ours.size() != 1 || found->second.size() != 1) continue;
      const std::optional<DumpTensor> x = mine_.output(ours[0]);
      const std::optional<DumpTensor> y = golden_.output(found->second[0]);
      if (!x || !y || sorted_dims(*x) != sorted_dims(*y)) continue;
      join(ours[0], found->second[0], PairedBy::common_name);
    }
  }

  /// Pairs that cross others do not divide the orders.
  void align_between() {
    std::size_t my_first = 0, golden_first = 0;
    for (const std::size_t run : longest_rise()) {
      align(my_first, run, golden_first, mine_.partners[run]);
      my_first = run + 1;
      golden_first = mine_.partners[run] + 1;
    }
    align(my_first, mine_.all.size(), golden_first, golden_.all.size());
  }

  /// The most operators with partners whose partners ran in the same order.
  std::vector<std::size_t> longest_rise() const {
    std::vector<std::size_t> ends;  // of rises by their length, the one that ends earliest on the golden side
    std::vector<std::size_t> previous(mine_.all.size(), kNoRun);
    for (std::size_t run = 0; run < mine_.all.size(); ++run) {
      if (mine_.partners[run] == kNoRun) continue;
      const auto at = std::lower_bound(ends.begin(), ends.end(), run, [&](std::size_t end, std::size_t now) {
        return mine_.partners[end] < mine_.partners[now];
      });
      if (at != ends.begin()) previous[run] = *(at - 1);
      if (at == ends.end()) {
        ends.push_back(run);
      } else {
        *at = run;
      }
    }
    std::vector<std::size_t> rise;
    for (std::size_t run = ends.empty() ? kNoRun : ends.back(); run != kNoRun; run = previous[run])
      rise.push_back(run);
    std::reverse(rise.begin(), rise.end());
    return rise;
  }

  void align(std::size_t my_first, std::size_t my_end, std::size_t golden_first, std::size_t golden_end) {
    if (my_first >= my_end || golden_first >= golden_end) return;
    std::vector<std::size_t> ours, theirs;
    const std::vector<OpTraits> mine = mine_.traits(my_first, my_end, ours);
    const std::vector<OpTraits> golden = golden_.traits(golden_first, golden_end, theirs);
    for (const auto& [x, y] : align_ops(mine, golden)) join(ours[x], theirs[y], PairedBy::alignment);
  }

  void join(std::size_t run, std::size_t golden, PairedBy by) {
    by_[run] = by;
    mine_.partners[run] = golden;
    golden_.partners[golden] = run;
  }

  /// Outputs go with those of the same index, or the next with the same dims; inputs with those that are most
  /// alike, of the partner or of operators before it that have no partner and so may be fused into mine.
  void pair_tensors_of(std::size_t run) {
    const std::size_t partner = mine_.partners[run];
    std::vector<std::size_t> outputs, inputs;
    add_tensors(partner, true, outputs);
    std::size_t first = partner;
    while (first != 0 && golden_.partners[first - 1] == kNoRun) --first;
    for (std::size_t golden = partner + 1; golden-- > first;) add_tensors(golden, false, inputs);
    for (const auto& [role, tensor] : mine_.all[run].tensors) {
      if (pairs_[tensor].golden) continue;
      std::vector<std::size_t> fits;
      for (const std::size_t golden : role.first ? outputs : inputs) {
        if ((shared_ || !used_[golden]) &&
            sorted_dims(golden_.side.tensors[golden]) == sorted_dims(mine_.side.tensors[tensor]))
          fits.push_back(golden);
      }
      if (fits.empty()) continue;
      const std::size_t golden = role.first ? same_index(fits, role.second) : most_alike(fits, tensor);
      pairs_[tensor].golden = golden;
      pairs_[tensor].by = by_[run];
      used_[golden] = true;
    }
  }

  void add_tensors(std::size_t run, bool outputs, std::vector<std::size_t>& tensors) const {
    for (const auto& [role, tensor] : golden_.all[run].tensors) {
      if (role.first == outputs) tensors.push_back(tensor);
    }
  }

  std::size_t same_index(const std::vector<std::size_t>& tensors, std::uint32_t index) const {
    for (const std::size_t tensor : tensors) {
      if (golden_.side.tensors[tensor].index == index) return tensor;
    }
    return tensors[0];
  }

  std::size_t most_alike(const std::vector<std::size_t>& tensors, std::size_t mine) const {
    if (tensors.size() == 1) return tensors[0];
    const std::optional<ValueRange> values = value_range(mine_.side, mine_.side.tensors[mine]);
    std::size_t best = tensors[0];
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t tensor : tensors) {
      const std::optional<ValueRange> others = value_range(golden_.side, golden_.side.tensors[tensor]);
      const double distance = values && others ? relative_distance(*values, *others) : least;
      if (distance >= least) continue;
      least = distance;
      best = tensor;
    }
    return best;
  }

  Runs mine_;
  Runs golden_;
  bool shared_;
  std::vector<PairedBy> by_ = std::vector<PairedBy>(mine_.all.size());
  std::vector<TensorPair>& pairs_;
  std::vector<bool>& used_;
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

GoldenPlaces::GoldenPlaces(const DumpSide& mine, const DumpSide& golden) {
  const std::set<std::string> golden_models = models_of(golden);
  told_ = !golden_models.empty();
  if (golden_models.size() == 1 && models_of(mine).size() == 1) only_model_ = *golden_models.begin();
}

std::string GoldenPlaces::golden_place(const std::string& place) const {
  if (!told_ || place.empty()) return {};
  return only_model_ ? *only_model_ + place.substr(place.rfind('/')) : place;
}

std::map<std::string, std::vector<OperatorRun>> operator_runs(const DumpSide& side,
                                                              const GoldenPlaces* places) {
  using Moment = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;
  std::map<std::string, std::vector<OperatorRun>> runs;
  std::map<Moment, std::size_t> known;
  for (std::size_t i = 0; i < side.tensors.size(); ++i) {
    const DumpTensor& tensor = side.tensors[i];
    const DumpFile& file = side.files[tensor.file];
    std::vector<OperatorRun>& here = runs[places != nullptr ? places->golden_place(file.place) : file.place];
    const std::pair<bool, std::uint32_t> role(tensor.is_output, tensor.index);
    const Moment moment(file.place, file.op, file.unix_us, file.task.value_or(0));
    const auto [found, is_new] = known.emplace(moment, here.size());
    if (!is_new && here[found->second].tensors.contains(role)) found->second = here.size();
    if (found->second == here.size()) here.push_back({tensor.file, {}});
    here[found->second].tensors[role] = i;
  }
  return runs;
}

void pair_by_alignment(const DumpSide& mine, const DumpSide& golden, TensorPairs& pairs,
                       std::vector<bool>& used) {
  const GoldenPlaces places(mine, golden);
  const auto golden_runs = operator_runs(golden, nullptr);
  for (const auto& [place, ours] : operator_runs(mine, nullptr)) {
    auto theirs = golden_runs.find(places.golden_place(place));
    if (theirs == golden_runs.end()) theirs = golden_runs.find({});
    if (theirs == golden_runs.end()) continue;
    const bool shared = theirs->first.empty() && !place.empty();
    Aligner({mine, ours}, {golden, theirs->second}, shared, pairs, used).pair();
  }
}

}  // namespace opdump::tool
