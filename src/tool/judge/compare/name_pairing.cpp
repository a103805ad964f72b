#include "src/tool/judge/compare/name_pairing.hpp"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/golden_index.hpp"
#include "src/tool/judge/compare/operator_runs.hpp"

namespace opdump::tool {
namespace {

/// A tensor of mine whose name golden has.
struct NamedTensor {
  std::size_t mine = 0;
  PairedBy by = PairedBy::name;
};

/// Those of one name and place, in their order.
struct SameNamed {
  GoldenName golden;
  bool placed = false;  ///< mine have a place
  std::vector<NamedTensor> ours{};
};

/// The operator and place of all tensors of a side; nothing where it has several.
struct OnlyName {
  std::optional<std::string> op;
  std::optional<std::string> place;
};

OnlyName only_name(const DumpSide& side) {
  OnlyName only;
  bool first = true;
  for (const DumpTensor& tensor : side.tensors) {
    const DumpFile& file = side.files[tensor.file];
    if (first) only = {file.op, file.place};
    first = false;
    if (only.op != file.op) only.op.reset();
    if (only.place != file.place) only.place.reset();
    if (!only.op && !only.place) break;
  }
  return only;
}

/// Of two named files with one operator each its golden name, and with one place each its golden place,
/// whatever mine are called.
OnlyName implied_name(const DumpSide& mine, const DumpSide& golden) {
  if (!mine.named_file || !golden.named_file) return {};
  const OnlyName ours = only_name(mine);
  OnlyName theirs = only_name(golden);
  if (!ours.op) theirs.op.reset();
  if (!ours.place) theirs.place.reset();
  return theirs;
}

/// Pairs tensors of one name.
class NamesakePairing {
 public:
  NamesakePairing(const DumpSide& mine, const DumpSide& golden, std::vector<bool>& used)
      : mine_(mine), golden_(golden), used_(used) {}

  /// Joins `ours` with `theirs`; one golden tensor may serve them all when `shared`. `pairs` are by the numbers
  /// of mine.
  void pair(const std::vector<NamedTensor>& ours, const std::vector<std::size_t>& theirs, bool shared,
            TensorPairs& pairs) {
    if (theirs.size() == 1 && (shared || ours.size() == 1)) {
      for (const NamedTensor& mine : ours) join(mine, theirs[0], pairs);
      return;
    }
    for (const Likeness likeness : {Likeness::task, Likeness::type, Likeness::shape})
      pair_alike(ours, theirs, likeness, pairs);
    pair_in_turn(ours, theirs, pairs);
  }

 private:
  enum class Likeness { task, type, shape };
  using Traits = std::tuple<std::vector<Dim>, std::string, std::uint64_t>;

  /// Nothing: the tensor does not tell enough of itself.
  static std::optional<Traits> traits(const DumpSide& side, std::size_t number, Likeness likeness) {
    const DumpTensor& tensor = side.tensors[number];
    Traits traits{tensor.shape, {}, 0};
    if (likeness == Likeness::shape) return traits;
    const DumpFile& file = side.files[tensor.file];
    if (file.type.empty()) return std::nullopt;
    std::get<1>(traits) = file.type;
    if (likeness == Likeness::type) return traits;
    if (!file.task) return std::nullopt;
    std::get<2>(traits) = *file.task;
    return traits;
  }

  void pair_alike(const std::vector<NamedTensor>& ours, const std::vector<std::size_t>& theirs,
                  Likeness likeness, TensorPairs& pairs) {
    std::map<Traits, std::deque<std::size_t>> free;
    for (const std::size_t golden : theirs) {
      const std::optional<Traits> key = used_[golden] ? std::nullopt : traits(golden_, golden, likeness);
      if (key) free[*key].push_back(golden);
    }
    for (const NamedTensor& named : ours) {
      if (pairs[named.mine].golden) continue;
      const std::optional<Traits> key = traits(mine_, named.mine, likeness);
      const auto found = key ? free.find(*key) : free.end();
      if (found == free.end() || found->second.empty()) continue;
      join(named, found->second.front(), pairs);
      found->second.pop_front();
    }
  }

  void pair_in_turn(const std::vector<NamedTensor>& ours, const std::vector<std::size_t>& theirs,
                    TensorPairs& pairs) {
    std::size_t next = 0;
    for (const NamedTensor& named : ours) {
      if (pairs[named.mine].golden) continue;
      while (next < theirs.size() && used_[theirs[next]]) ++next;
      if (next == theirs.size()) return;
      join(named, theirs[next], pairs);
      pairs[named.mine].remark =
          "of several operators of that name, paired by its turn: shape or type differ";
    }
  }

  void join(const NamedTensor& named, std::size_t golden, TensorPairs& pairs) {
    pairs[named.mine].golden = golden;
    pairs[named.mine].by = named.by;
    used_[golden] = true;
  }

  const DumpSide& mine_;
  const DumpSide& golden_;
  std::vector<bool>& used_;
};

/// The tensors of mine whose names golden has, by name and place, in the order of their first ones.
std::vector<SameNamed> namesakes_of(const DumpSide& mine, const DumpSide& golden, const NameMap* names,
                                    const GoldenIndex& index, Progress& progress) {
  using Name = std::tuple<GoldenName::Kind, std::size_t, std::string_view>;
  std::map<Name, std::size_t> known;
  std::vector<SameNamed> all;
  const GoldenPlaces places(mine, golden);
  const OnlyName implied = implied_name(mine, golden);
  for (std::size_t number = 0; number < mine.tensors.size(); ++number) {
    const DumpTensor& tensor = mine.tensors[number];
    const DumpFile& file = mine.files[tensor.file];
    const std::string own_name = implied.op.value_or(file.op);
    const std::string& op = names != nullptr ? names->golden_name(own_name) : own_name;
    const std::string place = implied.place ? *implied.place : places.golden_place(file.place);
    bool by_original = false;
    progress.add();
    const std::optional<GoldenName> found = index.find(place, op, file.type, tensor, by_original);
    if (!found) continue;
    const auto [at, is_new] = known.emplace(Name(found->kind, found->first, file.place), all.size());
    if (is_new) all.push_back({*found, !file.place.empty()});
    const PairedBy by = by_original        ? PairedBy::original_name
                        : &op != &own_name ? PairedBy::map
                                           : PairedBy::name;
    all[at->second].ours.push_back({number, by});
  }
  return all;
}

}  // namespace

TensorPairs pair_by_name(const DumpSide& mine, const DumpSide& golden, const NameMap* names,
                         std::vector<bool>& used) {
  Progress progress(golden.tensors.size() + mine.tensors.size(), "pairing tensors");
  const GoldenIndex index(golden, progress);
  NamesakePairing pairing(mine, golden, used);
  TensorPairs pairs;
  for (std::size_t i = 0; i < mine.tensors.size(); ++i) pairs.push_back({i, std::nullopt});
  for (const SameNamed& namesakes : namesakes_of(mine, golden, names, index, progress)) {
    const bool shared =
        namesakes.placed && golden.files[golden.tensors[namesakes.golden.first].file].place.empty();
    pairing.pair(namesakes.ours, index.tensors(namesakes.golden), shared, pairs);
  }
  return pairs;
}

}  // namespace opdump::tool
