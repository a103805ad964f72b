#include "src/tool/judge/compare/name_pairing.hpp"

#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/golden_index.hpp"
#include "src/tool/judge/compare/operator_runs.hpp"
#include "src/tool/read/dump/spilled_sort.hpp"

namespace opdump::tool {
namespace {

/// A tensor of mine whose name golden has.
struct NamedTensor {
  std::uint64_t mine = 0;
  std::uint64_t first = 0;  ///< of mine, the first tensor of the same name and place
  GoldenName golden;
  PairedBy by = PairedBy::name;
  bool placed = false;  ///< mine has a place
};

/// A tensor of mine that has found its partner.
struct JoinedTensor {
  std::uint64_t mine = 0;
  std::uint64_t golden = 0;
  PairedBy by = PairedBy::name;
  bool by_turn = false;  ///< among others of its name, though shape or type differ
};

template <class Head>
Head head_in(std::string_view text) {
  return FieldReader(text).next<Head>();
}

/// By golden name, then by my place, which is what follows; then as they were added.
bool same_name_first(std::string_view a, std::string_view b) {
  const NamedTensor x = head_in<NamedTensor>(a), y = head_in<NamedTensor>(b);
  if (x.golden.kind != y.golden.kind) return x.golden.kind < y.golden.kind;
  if (x.golden.first != y.golden.first) return x.golden.first < y.golden.first;
  return a.substr(sizeof x) < b.substr(sizeof y);
}

bool in_order_of_names(std::string_view a, std::string_view b) {
  return head_in<NamedTensor>(a).first < head_in<NamedTensor>(b).first;
}

bool in_my_order(std::string_view a, std::string_view b) {
  return head_in<JoinedTensor>(a).mine < head_in<JoinedTensor>(b).mine;
}

template <class Head>
void add_to(SpilledSort& sort, const Head& head, std::string_view behind = {}) {
  std::string text;
  FieldWriter(text).put(head);
  static_cast<void>(sort.add(text.append(behind)));
}

/// The operator and place of all tensors of a side; nothing where it has several.
struct OnlyName {
  std::optional<std::string> op;
  std::optional<std::string> place;
};

OnlyName only_name(const DumpSide& side) {
  OnlyName only;
  bool first = true;
  for (const DumpTensor& tensor : side.tensors) {
    const DumpFile file = side.files[tensor.file];
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

  /// Joins `ours` with `theirs`; one golden tensor may serve them all when `shared`. `joined` becomes what
  /// became of each of `ours`.
  void pair(const std::vector<NamedTensor>& ours, const std::vector<std::size_t>& theirs, bool shared,
            std::vector<std::optional<JoinedTensor>>& joined) {
    joined.assign(ours.size(), std::nullopt);
    if (theirs.size() == 1 && (shared || ours.size() == 1)) {
      for (std::size_t i = 0; i < ours.size(); ++i) join(ours[i], theirs[0], joined[i]);
      return;
    }
    for (const Likeness likeness : {Likeness::task, Likeness::type, Likeness::shape})
      pair_alike(ours, theirs, likeness, joined);
    pair_in_turn(ours, theirs, joined);
  }

 private:
  enum class Likeness { task, type, shape };
  using Traits = std::tuple<std::vector<Dim>, std::string, std::uint64_t>;
  using Joined = std::vector<std::optional<JoinedTensor>>;

  /// Nothing: the tensor does not tell enough of itself.
  static std::optional<Traits> traits(const DumpSide& side, std::size_t number, Likeness likeness) {
    const DumpTensor tensor = side.tensors[number];
    Traits traits{tensor.shape, {}, 0};
    if (likeness == Likeness::shape) return traits;
    const DumpFile file = side.files[tensor.file];
    if (file.type.empty()) return std::nullopt;
    std::get<1>(traits) = file.type;
    if (likeness == Likeness::type) return traits;
    if (!file.task) return std::nullopt;
    std::get<2>(traits) = *file.task;
    return traits;
  }

  void pair_alike(const std::vector<NamedTensor>& ours, const std::vector<std::size_t>& theirs,
                  Likeness likeness, Joined& joined) {
    std::map<Traits, std::deque<std::size_t>> free;
    for (const std::size_t golden : theirs) {
      const std::optional<Traits> key = used_[golden] ? std::nullopt : traits(golden_, golden, likeness);
      if (key) free[*key].push_back(golden);
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (joined[i]) continue;
      const std::optional<Traits> key = traits(mine_, static_cast<std::size_t>(ours[i].mine), likeness);
      const auto found = key ? free.find(*key) : free.end();
      if (found == free.end() || found->second.empty()) continue;
      join(ours[i], found->second.front(), joined[i]);
      found->second.pop_front();
    }
  }

  void pair_in_turn(const std::vector<NamedTensor>& ours, const std::vector<std::size_t>& theirs,
                    Joined& joined) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (joined[i]) continue;
      while (next < theirs.size() && used_[theirs[next]]) ++next;
      if (next == theirs.size()) return;
      join(ours[i], theirs[next], joined[i]);
      joined[i]->by_turn = true;
    }
  }

  void join(const NamedTensor& mine, std::size_t golden, std::optional<JoinedTensor>& joined) {
    joined = JoinedTensor{mine.mine, golden, mine.by, false};
    used_[golden] = true;
  }

  const DumpSide& mine_;
  const DumpSide& golden_;
  std::vector<bool>& used_;
};

class NamePairing {
 public:
  NamePairing(const DumpSide& mine, const DumpSide& golden, const NameMap* names, std::vector<bool>& used)
      : mine_(mine),
        golden_(golden),
        names_(names),
        progress_(golden.tensors.size() + 4 * mine.tensors.size(), "pairing tensors"),
        index_(golden, progress_),
        namesakes_(mine, golden, used) {}

  TensorPairs pair() {
    find_names();
    tell_firsts();
    join_names();
    return in_turn();
  }

  std::string error() const {
    for (const std::string* const error :
         {&index_.error(), &by_name_.error(), &in_order_.error(), &joined_.error()}) {
      if (!error->empty()) return *error;
    }
    return {};
  }

 private:
  void find_names() {
    const GoldenPlaces places(mine_, golden_);
    const OnlyName implied = implied_name(mine_, golden_);
    NamedTensor named;
    for (const DumpTensor& tensor : mine_.tensors) {
      const DumpFile file = mine_.files[tensor.file];
      const std::string own_name = implied.op.value_or(file.op);
      const std::string& op = names_ != nullptr ? names_->golden_name(own_name) : own_name;
      const std::string place = implied.place ? *implied.place : places.golden_place(file.place);
      bool by_original = false;
      if (const std::optional<GoldenName> found = index_.find(place, op, tensor, by_original)) {
        named.golden = *found;
        named.by = by_original ? PairedBy::original_name : &op != &own_name ? PairedBy::map : PairedBy::name;
        named.placed = !file.place.empty();
        add_to(by_name_, named, file.place);
      }
      ++named.mine;
      progress_.add();
    }
  }

  /// Tensors of one name and place are one after another.
  void tell_firsts() {
    static_cast<void>(by_name_.finish());
    SpilledSort::Reader reader(by_name_);
    std::string last;
    std::uint64_t first = 0;
    for (std::string_view text; reader.next(text);) {
      NamedTensor named = head_in<NamedTensor>(text);
      if (last.empty() || same_name_first(last, text)) first = named.mine;
      last = text;
      named.first = first;
      add_to(in_order_, named);
      progress_.add();
    }
    static_cast<void>(in_order_.finish());
  }

  void join_names() {
    SpilledSort::Reader reader(in_order_);
    std::vector<NamedTensor> ours;
    for (std::string_view text; reader.next(text);) {
      const NamedTensor named = head_in<NamedTensor>(text);
      if (!ours.empty() && ours.back().first != named.first) join(ours);
      ours.push_back(named);
      progress_.add();
    }
    join(ours);
    static_cast<void>(joined_.finish());
  }

  void join(std::vector<NamedTensor>& ours) {
    if (ours.empty()) return;
    const GoldenName name = ours[0].golden;
    const bool shared = ours[0].placed && golden_.files[golden_.tensors[name.first].file].place.empty();
    namesakes_.pair(ours, index_.tensors(name), shared, found_);
    for (const std::optional<JoinedTensor>& joined : found_) {
      if (joined) add_to(joined_, *joined);
    }
    ours.clear();
  }

  TensorPairs in_turn() {
    TensorPairs pairs;
    SpilledSort::Reader reader(joined_);
    std::string_view text;
    bool more = reader.next(text);
    for (std::size_t i = 0; i < mine_.tensors.size(); ++i) {
      TensorPair pair = {i, std::nullopt};
      if (const JoinedTensor joined = more ? head_in<JoinedTensor>(text) : JoinedTensor();
          more && joined.mine == i) {
        pair.golden = static_cast<std::size_t>(joined.golden);
        pair.by = joined.by;
        if (joined.by_turn)
          pair.remark = "of several operators of that name, paired by its turn: shape or type differ";
        more = reader.next(text);
      }
      pairs.push_back(pair);
      progress_.add();
    }
    return pairs;
  }

  const DumpSide& mine_;
  const DumpSide& golden_;
  const NameMap* const names_;
  Progress progress_;
  const GoldenIndex index_;
  NamesakePairing namesakes_;
  SpilledSort by_name_{same_name_first};
  SpilledSort in_order_{in_order_of_names};
  SpilledSort joined_{in_my_order};
  std::vector<std::optional<JoinedTensor>> found_;
};

}  // namespace

TensorPairs pair_by_name(const DumpSide& mine, const DumpSide& golden, const NameMap* names,
                         std::vector<bool>& used, std::string& error) {
  NamePairing pairing(mine, golden, names, used);
  TensorPairs pairs = pairing.pair();
  error = pairing.error();
  return pairs;
}

}  // namespace opdump::tool
