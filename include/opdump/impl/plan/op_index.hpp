#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whether operators have a name, and one of them a level that `dump_level` takes.
enum class NameLevel : std::uint8_t { unknown, no_op, left_out, taken };

/// Compares `name`, as it stands in file names, with `text`, byte by byte: below 0, 0 or above.
constexpr int compare_file_form(std::string_view name, std::string_view text) {
  const std::size_t common = name.size() < text.size() ? name.size() : text.size();
  for (std::size_t i = 0; i < common; ++i) {
    const auto form = static_cast<unsigned char>(kSanitised[static_cast<unsigned char>(name[i])]);
    const auto other = static_cast<unsigned char>(text[i]);
    if (form != other) return form < other ? -1 : 1;
  }
  return name.size() == text.size() ? 0 : name.size() < text.size() ? -1 : 1;
}

/// The same for two names, both as they stand in file names.
constexpr int compare_file_forms(std::string_view one, std::string_view other) {
  const std::size_t common = one.size() < other.size() ? one.size() : other.size();
  for (std::size_t i = 0; i < common; ++i) {
    const auto a = static_cast<unsigned char>(kSanitised[static_cast<unsigned char>(one[i])]);
    const auto b = static_cast<unsigned char>(kSanitised[static_cast<unsigned char>(other[i])]);
    if (a != b) return a < b ? -1 : 1;
  }
  return one.size() == other.size() ? 0 : one.size() < other.size() ? -1 : 1;
}

/// One name of an operator, and what is noted in its entry while a model is loaded.
struct IndexedName {
  std::uint32_t op = 0;
  std::uint32_t original = 0;  ///< 0: its own name; else the position, from 1 on, among its original names
  std::uint32_t reach = 0;     ///< where ranges end that begin at operator i; i: the entry's position
  bool exact_taken = false;    ///< in a name's first entry: all operators with this name are taken
  bool form_taken = false;     ///< the same for the operators whose file form this is
  NameLevel exact_level = NameLevel::unknown;  ///< of the operators with this name, likewise
  NameLevel form_level = NameLevel::unknown;   ///< of the operators whose file form this is
};

/// Finds in one pass the operators that patterns, kernel types and marks of many rules name. For a caller
/// with a heap.
class ExtrasSearch {
 public:
  /// `extras` must stay until `find`.
  virtual void add(const ModelExtras& extras) = 0;

  /// A byte per operator: not 0 if one of the added extras names the operator, ranges aside.
  virtual std::span<const std::uint8_t> find() = 0;

  /// After `find`: whether an operator matches pattern number `number` of `extras`, which were added.
  virtual bool has_pattern(const ModelExtras& extras, std::size_t number) const = 0;

  /// The same of a part of kernel types.
  virtual bool has_type_part(const ModelExtras& extras, std::size_t number) const = 0;

 protected:
  ~ExtrasSearch() = default;
};

/// A model's operators sorted by name and by type, so that finding a name takes logarithmic time. Refers to
/// memory that a caller with a heap provides during a `load_model`: an IndexedName per name and a uint32_t
/// per operator. While the index is empty, as it always is with OPDUMP_SMALL_CODE, all operators are walked.
class OpIndex {
 public:
  /// Adjacent entries.
  using Names = std::span<IndexedName>;

  constexpr OpIndex() = default;
  /// `names` is sorted by `before`, `by_type` by type. Without a `search` each operator is compared with the extras.
  constexpr OpIndex(std::span<const OpDesc> ops, Names names, std::span<const std::uint32_t> by_type,
                    ExtrasSearch* search = nullptr)
      : ops_(ops), names_(names), by_type_(by_type), search_(search) {}

  ExtrasSearch* search() const { return search_; }

  bool empty() const { return build::kLean || names_.empty(); }
  Names all() const { return names_; }

  static std::string_view text_of(std::span<const OpDesc> ops, const IndexedName& name) {
    const OpDesc& op = ops[name.op];
    return name.original == 0 ? op.name : op.original_names[name.original - 1];
  }

  /// The order: by file form, own names before others, by name, by operator.
  static bool before(std::span<const OpDesc> ops, const IndexedName& one, const IndexedName& other) {
    const std::string_view a = text_of(ops, one);
    const std::string_view b = text_of(ops, other);
    if (const int forms = compare_file_forms(a, b); forms != 0) return forms < 0;
    if ((one.original != 0) != (other.original != 0)) return one.original == 0;
    if (const int names = a.compare(b); names != 0) return names < 0;
    return one.op < other.op;
  }

  /// The entries equal to `name`, among operators' own names or among their original names.
  Names exact(std::string_view name, bool original) const {
    return group([&](const IndexedName& entry) {
      const std::string_view text = text_of(ops_, entry);
      if (const int forms = compare_file_forms(text, name); forms != 0) return forms;
      if ((entry.original != 0) != original) return original ? -1 : 1;
      return text.compare(name);
    });
  }

  /// The entries that stand in file names as `text`.
  Names file_forms(std::string_view text) const {
    return group([&](const IndexedName& entry) { return compare_file_form(text_of(ops_, entry), text); });
  }

  /// Positions of the operators of that type.
  std::span<const std::uint32_t> of_type(std::string_view type) const {
    const auto compare = [&](std::uint32_t op) { return ops_[op].type.compare(type); };
    const std::size_t first = count_while(by_type_, [&](std::uint32_t op) { return compare(op) < 0; });
    const std::size_t end = count_while(by_type_, [&](std::uint32_t op) { return compare(op) <= 0; });
    return by_type_.subspan(first, end - first);
  }

  /// As `opdump::match_of`.
  NameMatch match_of(std::string_view name) const {
    if (!exact(name, false).empty() || !exact(name, true).empty()) return NameMatch::exact;
    return file_forms(name).empty() ? NameMatch::none : NameMatch::file_form;
  }

  /// Of the operators that `name` stands for; `takes(op)` says of each position whether its level is taken.
  /// Every name has to be asked for with the same answers.
  template <class Takes>
  NameLevel level_of(std::string_view name, Takes takes) const {
    NameLevel level = level_in(exact(name, false), &IndexedName::exact_level, NameLevel::no_op, takes);
    if (level != NameLevel::taken)
      level = level_in(exact(name, true), &IndexedName::exact_level, level, takes);
    return level != NameLevel::no_op ? level
                                     : level_in(file_forms(name), &IndexedName::form_level, level, takes);
  }

 private:
  template <class Takes>
  static NameLevel level_in(Names names, NameLevel IndexedName::*known, NameLevel if_empty, Takes takes) {
    if (names.empty()) return if_empty;
    NameLevel& level = names.front().*known;
    if (level != NameLevel::unknown) return level;
    level = NameLevel::left_out;
    for (const IndexedName& name : names) {
      if (!takes(name.op)) continue;
      level = NameLevel::taken;
      break;
    }
    return level;
  }

  /// For how many of `sorted`, from the front on, `holds` is true.
  template <class Entry, class Test>
  static std::size_t count_while(std::span<Entry> sorted, Test holds) {
    std::size_t first = 0;
    for (std::size_t count = sorted.size(); count != 0;) {
      const std::size_t half = count / 2;
      const bool beyond = holds(sorted[first + half]);
      first += beyond ? half + 1 : 0;
      count = beyond ? count - half - 1 : half;
    }
    return first;
  }

  /// The entries for which `compare` gives 0.
  template <class Compare>
  Names group(Compare compare) const {
    const std::size_t first =
        count_while(names_, [&](const IndexedName& entry) { return compare(entry) < 0; });
    const Names rest = names_.subspan(first);
    return rest.first(count_while(rest, [&](const IndexedName& entry) { return compare(entry) == 0; }));
  }

  std::span<const OpDesc> ops_{};
  Names names_{};
  std::span<const std::uint32_t> by_type_{};
  ExtrasSearch* search_ = nullptr;
};

/// As `match_of`, but uses the index unless it is empty.
inline NameMatch match_of(std::string_view name, std::span<const OpDesc> ops, const OpIndex& index) {
  return index.empty() ? match_of(name, ops) : index.match_of(name);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
