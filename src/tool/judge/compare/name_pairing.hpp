#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// The names that operators of one dump have in another dump: the rows `name,golden name` of a file, or those
/// of msprobe's data_mapping.yaml.
class NameMap {
 public:
  /// Reads `path`: one row per line, with the names separated by the line's only tab, or else its only comma. Empty
  /// lines and lines that begin with '#' are skipped. In a file whose name ends in `.yaml` or `.yml` a row is `name:
  /// golden name`; names of msprobe's tensors, as "Cell.conv1.Conv2d.forward.0.input.0", stand for their operators, and
  /// have to be the same input or output on both sides. On false `error` says what is wrong, and where.
  bool load(const std::string& path, std::string& error);

  /// `name` itself if it has no row.
  const std::string& golden_name(const std::string& name) const;

  /// Names, in the order of their bytes, that no operator of mine has.
  std::vector<std::string> unmatched(const DumpSide& mine) const;
  /// The same of golden's names, of which those in names of files and of original operators count too.
  std::vector<std::string> unmatched_golden(const DumpSide& golden) const;

 private:
  std::unordered_map<std::string, std::string> rows_;
};

/// The golden tensors of one name, role and index at one place: which name of theirs it is, and the first of them.
struct GoldenName {
  enum class Kind : std::uint8_t {
    exact,     ///< the operator's name
    in_files,  ///< as frameworks write it in names of files
    original,  ///< of the original operator, as in names of files
  };

  Kind kind = Kind::exact;
  std::size_t first = 0;
};

/// A golden dump by what its tensors are called: as they are, as in file names, and by the original operators.
class GoldenIndex {
 public:
  /// Adds a step to `progress` for each golden tensor.
  GoldenIndex(const DumpSide& golden, Progress& progress);

  /// Nothing: there is nothing of that name. `by_original`: another name than `op` led there.
  std::optional<GoldenName> find(const std::string& place, const std::string& op, const std::string& type,
                                 const DumpTensor& tensor, bool& by_original) const;

  /// The numbers of all tensors of that name, in their order.
  std::vector<std::size_t> tensors(const GoldenName& name) const;

 private:
  struct Key {
    GoldenName::Kind kind;
    std::string place;
    std::string op;
    bool is_output;
    std::uint32_t index;

    bool operator==(const Key&) const = default;
    std::uint64_t hash() const;
  };

  std::optional<Key> key_of(GoldenName::Kind kind, const DumpTensor& tensor) const;
  std::optional<GoldenName> find_named(const std::string& place, const std::string& op, bool is_output,
                                       std::uint32_t index) const;
  std::optional<GoldenName> find_in(GoldenName::Kind kind, const std::string& place, const std::string& op,
                                    bool is_output, std::uint32_t index) const;
  std::optional<GoldenName> find_key(const Key& key) const;

  const DumpSide& golden_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> index_;  ///< by the hashes of keys
};

/// How a pair came about.
enum class PairedBy : std::uint8_t { name, map, original_name, common_name, turn, alignment };

/// "name", "map", "original name", "common name", "turn" or "alignment".
std::string_view to_string(PairedBy by);

/// A tensor of ours and the golden tensor that it should equal. One of them may be missing.
struct TensorPair {
  std::optional<std::size_t> mine;  ///< number in `DumpSide::tensors`
  std::optional<std::size_t> golden;
  std::string remark{};  ///< a reason to doubt the pair; mostly empty
  PairedBy by = PairedBy::name;
};

using TensorPairs = std::vector<TensorPair>;

/// How tensors are paired other than by their names.
struct PairingOptions {
  const NameMap* names = nullptr;  ///< names of the golden operators; null: the same as ours
  bool by_order = false;           ///< operators are paired by their turn within a step, not by name
  bool align = false;              ///< what names leave over is paired by both orders of execution
};

/// Pairs the tensors of two dumps: ours first, in their order, then golden tensors without a partner. Tensors
/// are paired by operator, role and index, and by model and step if both sides know them; if each side has
/// only one model, by step alone. A name that is not found in this way may match as frameworks write it in
/// file names, or, for an output, as the original operator's name in a record of either side. Tensors of the
/// same name are paired by equal task, type and shape, then by type and shape, then by shape, then by their
/// turn. A golden tensor without model and step serves for every step. Of two files with one operator each
/// tensors are paired by role and index, and if there is one tensor in each, always.
TensorPairs pair_tensors(const DumpSide& mine, const DumpSide& golden, const PairingOptions& options);

/// Pairs tensors by the names of their operators; gives what becomes of each tensor of mine, in their order.
/// `used` becomes which golden tensors have a partner.
TensorPairs pair_by_name(const DumpSide& mine, const DumpSide& golden, const NameMap* names,
                         std::vector<bool>& used);

}  // namespace opdump::tool
