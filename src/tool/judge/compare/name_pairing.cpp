#include "src/tool/judge/compare/name_pairing.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/aligned_pairing.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {
namespace {

using Names = std::optional<std::pair<std::string, std::string>>;

/// Nothing where it is not plain what they are.
Names names_of(std::string_view row) {
  std::vector<std::string> cells;
  const bool good = split_row(row, row.find('\t') != std::string_view::npos ? '\t' : ',', cells);
  if (!good || cells.size() != 2) return std::nullopt;
  return std::pair(cells[0], cells[1]);
}

std::string trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

Names names_of_yaml(std::string_view row) {
  const std::size_t at = row.find(": ");
  if (at == std::string_view::npos || row.find(": ", at + 1) != std::string_view::npos) return std::nullopt;
  return std::pair(trimmed(row.substr(0, at)), trimmed(row.substr(at + 1)));
}

/// "output.0" of "Cell.conv1.Conv2d.forward.0.output.0"; empty: the name is none of a tensor.
std::string_view role_of(std::string_view name) {
  for (const std::string_view word : {".input.", ".output."}) {
    const std::size_t at = name.rfind(word);
    if (at != std::string_view::npos && parse_decimal(name.substr(at + word.size())))
      return name.substr(at + 1);
  }
  return {};
}

std::string op_of(std::string_view name, std::string_view role) {
  if (!role.empty()) name.remove_suffix(role.size() + 1);
  return parse_msprobe_name(name).op;
}

using Kind = GoldenName::Kind;

/// As frameworks name files: what no file name may hold becomes '_'.
std::string file_form(std::string op) {
  for (char& letter : op) {
    if (letter == '/' || letter == '\\' || letter == ' ' || letter == '.') letter = '_';
  }
  return op;
}

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

/// Of two named files with one operator each its golden name, and with one place each its golden place.
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

  /// Joins `ours` with `theirs`; one golden tensor may serve all when `shared`. `pairs`: by numbers of mine.
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
  const UnscopedOps my_ops(mine), golden_ops(golden);
  for (std::size_t number = 0; number < mine.tensors.size(); ++number) {
    const DumpTensor& tensor = mine.tensors[number];
    const DumpFile& file = mine.files[tensor.file];
    const std::string own_name = implied.op.value_or(file.op);
    const std::string& op = names != nullptr ? names->golden_name(own_name) : own_name;
    const std::string place = implied.place ? *implied.place : places.golden_place(file.place);
    bool by_original = false;
    progress.add();
    std::optional<GoldenName> found = index.find(place, op, file.type, tensor, by_original);
    const std::string* const near = found ? nullptr : golden_ops.find(place, op, my_ops, file.place);
    if (near != nullptr) found = index.find(place, *near, file.type, tensor, by_original);
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

bool NameMap::load(const std::string& path, std::string& error) {
  MappedFile file;
  if (!file.open(path)) {
    error = file.error();
    return false;
  }
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (is_utf16(as_text(file.bytes()))) {
    error = path + ": is UTF-16: save it as UTF-8";
    return false;
  }
  TextLines lines(as_text(file.bytes()));
  for (std::string_view row; lines.next(row);) {
    if (row.empty() || row[0] == '#') continue;
    const Names names = is_yaml ? names_of_yaml(row) : names_of(row);
    const std::string here = path + ":" + std::to_string(lines.number()) + ": ";
    if (!names || names->first.empty() || names->second.empty()) {
      error = here + (is_yaml ? "not a row 'name: golden name'"
                              : "not a row 'name,golden name'; a tab may stand for the comma");
      return false;
    }
    const std::string_view role = is_yaml ? role_of(names->first) : std::string_view();
    if (is_yaml && role != role_of(names->second)) {
      error = here + "an input or output goes with another one; only operators go together";
      return false;
    }
    const std::string name = is_yaml ? op_of(names->first, role) : names->first;
    const std::string golden = is_yaml ? op_of(names->second, role) : names->second;
    const auto [known, is_new] = rows_.emplace(name, golden);
    if (!is_new && (!is_yaml || known->second != golden)) {
      error = here + "'" + name + "' has a row already";
      return false;
    }
  }
  return true;
}

const std::string& NameMap::golden_name(const std::string& name) const {
  const auto row = rows_.find(name);
  return row == rows_.end() ? name : row->second;
}

std::uint64_t GoldenIndex::Key::hash() const {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
  const std::uint64_t role = std::uint64_t{index} << 3 | (is_output ? 4U : 0U) | static_cast<unsigned>(kind);
  const std::uint64_t name = (std::hash<std::string>()(op) ^ role * kMix) * kMix;
  return std::hash<std::string>()(place) * kMix ^ name;
}

GoldenIndex::GoldenIndex(const DumpSide& golden, Progress& progress) : golden_(golden) {
  std::size_t number = 0;
  for (const DumpTensor& tensor : golden.tensors) {
    for (const Kind kind : {Kind::exact, Kind::in_files, Kind::original}) {
      if (const std::optional<Key> key = key_of(kind, tensor)) index_[key->hash()].push_back(number);
    }
    ++number;
    progress.add();
  }
}

std::optional<GoldenIndex::Key> GoldenIndex::key_of(Kind kind, const DumpTensor& tensor) const {
  DumpFile file = golden_.files[tensor.file];
  if (kind != Kind::original) {
    return Key{kind, std::move(file.place), kind == Kind::exact ? std::move(file.op) : file_form(file.op),
               tensor.is_output, tensor.is_output ? tensor.index : real_input(file.type, tensor.index)};
  }
  if (!tensor.is_output || tensor.original_op.empty()) return std::nullopt;
  return Key{kind, std::move(file.place), file_form(tensor.original_op), true, tensor.original_index};
}

std::optional<GoldenName> GoldenIndex::find(const std::string& place, const std::string& op,
                                            const std::string& type, const DumpTensor& tensor,
                                            bool& by_original) const {
  by_original = false;
  const std::uint32_t index = tensor.is_output ? tensor.index : real_input(type, tensor.index);
  if (const auto found = find_named(place, op, tensor.is_output, index)) return found;
  if (!tensor.is_output) return std::nullopt;
  by_original = true;
  if (!tensor.original_op.empty()) {
    if (const auto found = find_named(place, tensor.original_op, true, tensor.original_index)) return found;
  }
  const auto found = find_in(Kind::original, place, file_form(op), true, tensor.index);
  if (found || tensor.original_op.empty()) return found;
  return find_in(Kind::original, place, file_form(tensor.original_op), true, tensor.original_index);
}

std::optional<GoldenName> GoldenIndex::find_named(const std::string& place, const std::string& op,
                                                  bool is_output, std::uint32_t index) const {
  const auto found = find_in(Kind::exact, place, op, is_output, index);
  return found ? found : find_in(Kind::in_files, place, file_form(op), is_output, index);
}

std::optional<GoldenName> GoldenIndex::find_in(Kind kind, const std::string& place, const std::string& op,
                                               bool is_output, std::uint32_t index) const {
  Key key = {kind, place, op, is_output, index};
  const auto found = find_key(key);
  if (found || place.empty()) return found;
  key.place.clear();
  return find_key(key);
}

std::optional<GoldenName> GoldenIndex::find_key(const Key& key) const {
  const auto found = index_.find(key.hash());
  if (found == index_.end()) return std::nullopt;
  const auto at = std::find_if(found->second.begin(), found->second.end(), [&](std::size_t tensor) {
    return key_of(key.kind, golden_.tensors[tensor]) == key;
  });
  return at == found->second.end() ? std::nullopt : std::optional(GoldenName{key.kind, *at});
}

std::vector<std::size_t> GoldenIndex::tensors(const GoldenName& name) const {
  const std::optional<Key> key = key_of(name.kind, golden_.tensors[name.first]);
  if (!key) return {};
  std::vector<std::size_t> tensors = index_.at(key->hash());
  std::erase_if(tensors,
                [&](std::size_t tensor) { return key_of(name.kind, golden_.tensors[tensor]) != key; });
  return tensors;
}

std::vector<std::string> NameMap::unmatched(const DumpSide& mine) const {
  std::set<std::string> names;
  for (const auto& [name, golden] : rows_) names.insert(name);
  for (const DumpFile& file : mine.files) names.erase(file.op);
  return {names.begin(), names.end()};
}

std::vector<std::string> NameMap::unmatched_golden(const DumpSide& golden) const {
  std::set<std::string> names, known;
  for (const DumpFile& file : golden.files) known.insert(file_form(file.op));
  for (const DumpTensor& tensor : golden.tensors) known.insert(file_form(tensor.original_op));
  for (const auto& [name, golden_name] : rows_) {
    if (!known.contains(file_form(golden_name))) names.insert(golden_name);
  }
  return {names.begin(), names.end()};
}

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
