#include "src/tool/compare/compare_pairing.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "src/tool/compare/aligned_pairing.hpp"
#include "src/tool/compare/operator_runs.hpp"

namespace opdump::tool {
namespace {

/// Place, operator, whether it is an output, index.
using Key = std::tuple<std::string, std::string, bool, std::uint32_t>;
using Tensors = std::vector<std::size_t>;
using Groups = std::map<Key, Tensors>;

/// As frameworks name files: what no file name may hold becomes '_'.
std::string file_form(std::string op) {
  for (char& letter : op) {
    if (letter == '/' || letter == '\\' || letter == ' ' || letter == '.') letter = '_';
  }
  return op;
}

/// A golden dump by what its tensors are called: as they are, as in file names, and by the original operators.
class GoldenIndex {
 public:
  explicit GoldenIndex(const DumpSide& golden) {
    for (std::size_t i = 0; i < golden.tensors.size(); ++i) {
      const DumpTensor& tensor = golden.tensors[i];
      const DumpFile& file = golden.files[tensor.file];
      exact_[{file.place, file.op, tensor.is_output, tensor.index}].push_back(i);
      in_files_[{file.place, file_form(file.op), tensor.is_output, tensor.index}].push_back(i);
      if (tensor.is_output && !tensor.original_op.empty())
        originals_[{file.place, file_form(tensor.original_op), true, tensor.original_index}].push_back(i);
    }
  }

  /// Null: there is nothing of that name. `by_original`: another name than `op` led there.
  const Tensors* find(const std::string& place, const std::string& op, const DumpTensor& tensor,
                      bool& by_original) const {
    by_original = false;
    if (const Tensors* found = find_named(place, op, tensor.is_output, tensor.index)) return found;
    if (!tensor.is_output) return nullptr;
    by_original = true;
    if (!tensor.original_op.empty()) {
      const Tensors* const found = find_named(place, tensor.original_op, true, tensor.original_index);
      if (found != nullptr) return found;
    }
    const Tensors* const found = find_in(originals_, place, file_form(op), true, tensor.index);
    if (found != nullptr || tensor.original_op.empty()) return found;
    return find_in(originals_, place, file_form(tensor.original_op), true, tensor.original_index);
  }

 private:
  const Tensors* find_named(const std::string& place, const std::string& op, bool is_output,
                            std::uint32_t index) const {
    const Tensors* const found = find_in(exact_, place, op, is_output, index);
    return found != nullptr ? found : find_in(in_files_, place, file_form(op), is_output, index);
  }

  static const Tensors* find_in(const Groups& groups, const std::string& place, const std::string& op,
                                bool is_output, std::uint32_t index) {
    auto found = groups.find({place, op, is_output, index});
    if (found == groups.end() && !place.empty()) found = groups.find({{}, op, is_output, index});
    return found == groups.end() ? nullptr : &found->second;
  }

  Groups exact_;
  Groups in_files_;
  Groups originals_;
};

/// Pairs tensors of one name.
class NamesakePairing {
 public:
  NamesakePairing(const DumpSide& mine, const DumpSide& golden, std::vector<TensorPair>& pairs)
      : mine_(mine), golden_(golden), pairs_(pairs), used_(golden.tensors.size()) {}

  /// `ours` are indices of pairs; one golden tensor may serve them all when `shared`.
  void pair(const Tensors& ours, const Tensors& theirs, bool shared) {
    if (theirs.size() == 1 && (shared || ours.size() == 1)) {
      for (const std::size_t at : ours) join(at, theirs[0]);
      return;
    }
    for (const Likeness likeness : {Likeness::task, Likeness::type, Likeness::shape})
      pair_alike(ours, theirs, likeness);
    pair_in_turn(ours, theirs);
  }

  bool used(std::size_t golden) const { return used_[golden]; }

 private:
  enum class Likeness { task, type, shape };
  using Traits = std::tuple<std::vector<Dim>, std::string, std::uint64_t>;

  /// Nothing: the tensor does not tell enough of itself.
  static std::optional<Traits> traits(const DumpSide& side, std::size_t number, Likeness likeness) {
    const DumpTensor& tensor = side.tensors[number];
    const DumpFile& file = side.files[tensor.file];
    Traits traits{tensor.shape, {}, 0};
    if (likeness == Likeness::shape) return traits;
    if (file.type.empty()) return std::nullopt;
    std::get<1>(traits) = file.type;
    if (likeness == Likeness::type) return traits;
    if (!file.task) return std::nullopt;
    std::get<2>(traits) = *file.task;
    return traits;
  }

  void pair_alike(const Tensors& ours, const Tensors& theirs, Likeness likeness) {
    std::map<Traits, std::deque<std::size_t>> free;
    for (const std::size_t golden : theirs) {
      const std::optional<Traits> key = used_[golden] ? std::nullopt : traits(golden_, golden, likeness);
      if (key) free[*key].push_back(golden);
    }
    for (const std::size_t at : ours) {
      if (pairs_[at].golden) continue;
      const std::optional<Traits> key = traits(mine_, *pairs_[at].mine, likeness);
      const auto found = key ? free.find(*key) : free.end();
      if (found == free.end() || found->second.empty()) continue;
      join(at, found->second.front());
      found->second.pop_front();
    }
  }

  void pair_in_turn(const Tensors& ours, const Tensors& theirs) {
    std::size_t next = 0;
    for (const std::size_t at : ours) {
      if (pairs_[at].golden) continue;
      while (next < theirs.size() && used_[theirs[next]]) ++next;
      if (next == theirs.size()) return;
      join(at, theirs[next]);
      pairs_[at].remark = "of several operators of that name, paired by its turn: shape or type differ";
    }
  }

  void join(std::size_t at, std::size_t golden) {
    pairs_[at].golden = golden;
    used_[golden] = true;
  }

  const DumpSide& mine_;
  const DumpSide& golden_;
  std::vector<TensorPair>& pairs_;
  std::vector<bool> used_;
};

void pair_by_order(const DumpSide& mine, const DumpSide& golden, std::vector<TensorPair>& pairs,
                   std::vector<bool>& used) {
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
}

void pair_by_name(const DumpSide& mine, const DumpSide& golden, const NameMap* names,
                  std::vector<TensorPair>& pairs, std::vector<bool>& used) {
  struct Namesakes {
    std::string place;
    const Tensors* theirs;
    Tensors ours;
  };
  const GoldenIndex index(golden);
  const GoldenPlaces places(mine, golden);
  const bool one_file_each = mine.named_file && golden.named_file && !golden.files.empty();
  std::vector<Namesakes> all;
  std::map<std::pair<const Tensors*, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < mine.tensors.size(); ++i) {
    const DumpTensor& tensor = mine.tensors[i];
    const DumpFile& file = mine.files[tensor.file];
    const std::string& own_name = one_file_each ? golden.files[0].op : file.op;
    const std::string& op = names != nullptr ? names->golden_name(own_name) : own_name;
    const std::string place = one_file_each ? golden.files[0].place : places.golden_place(file.place);
    bool by_original = false;
    const Tensors* const theirs = index.find(place, op, tensor, by_original);
    if (theirs == nullptr) continue;
    if (&op != &own_name) pairs[i].by = PairedBy::map;
    if (by_original) pairs[i].by = PairedBy::original_name;
    const auto [found, is_new] = known.emplace(std::pair(theirs, file.place), all.size());
    if (is_new) all.push_back({file.place, theirs, {}});
    all[found->second].ours.push_back(i);
  }
  NamesakePairing pairing(mine, golden, pairs);
  for (const Namesakes& namesakes : all) {
    const bool shared = !namesakes.place.empty() && golden.files[golden.tensors[(*namesakes.theirs)[0]].file].place.empty();
    pairing.pair(namesakes.ours, *namesakes.theirs, shared);
  }
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = pairing.used(i);
}

}  // namespace

std::string_view to_string(PairedBy by) {
  constexpr std::string_view kWords[] = {"name", "map", "original name", "common name", "turn", "alignment"};
  return kWords[static_cast<std::size_t>(by)];
}

std::vector<TensorPair> pair_tensors(const DumpSide& mine, const DumpSide& golden,
                                     const PairingOptions& options) {
  if (mine.named_file && golden.named_file && mine.tensors.size() == 1 && golden.tensors.size() == 1)
    return {{0, 0}};
  std::vector<TensorPair> pairs;
  for (std::size_t i = 0; i < mine.tensors.size(); ++i) pairs.push_back({i, std::nullopt});
  std::vector<bool> used(golden.tensors.size());
  if (options.by_order) {
    pair_by_order(mine, golden, pairs, used);
  } else {
    pair_by_name(mine, golden, options.names, pairs, used);
    if (options.align) pair_by_alignment(mine, golden, pairs, used);
  }
  for (std::size_t i = 0; i < golden.tensors.size(); ++i) {
    if (!used[i]) pairs.push_back({std::nullopt, i});
  }
  return pairs;
}

}  // namespace opdump::tool
