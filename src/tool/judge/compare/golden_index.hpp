#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// The golden tensors of one name, role and index at one place: which name of theirs it is, and the first of
/// them.
struct GoldenName {
  enum class Kind : std::uint8_t {
    exact,     ///< the operator's name
    in_files,  ///< as frameworks write it in names of files
    original,  ///< of the original operator, as in names of files
  };

  Kind kind = Kind::exact;
  std::size_t first = 0;
};

/// A golden dump by what its tensors are called: as they are, as in file names, and by the original
/// operators.
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

}  // namespace opdump::tool
