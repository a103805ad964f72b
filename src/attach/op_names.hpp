#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "opdump/attach.h"
#include "opdump/knobs.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// Gives each operator of a model a name of its own, and finds operators by name or by how they come up. Allocates.
class OpNames {
 public:
  /// The name of the next operator, number `op`: `name` itself, or with a number behind it that makes it new.
  std::string add(std::string_view name, std::uint32_t op);

  /// OPDUMP_NO_OP: none has the name.
  std::uint32_t find(const std::string& name) const;

  /// Operators that got a number.
  std::uint32_t repeated() const { return repeated_; }

  /// The operator that comes up in step `step` with this name and type, as often as both came up in it so
  /// far; OPDUMP_NO_OP: it is new, and the next call of `note` gives its number.
  std::uint32_t see(std::string_view name, std::string_view type, std::uint64_t step);
  void note(std::uint32_t op) { seen_->ops.push_back(op); }

 private:
  struct Seen {
    std::vector<std::uint32_t> ops;
    std::uint64_t step = 0;
    std::size_t in_step = 0;
  };

  std::unordered_map<std::string, std::uint32_t> ops_;
  std::unordered_map<std::string, std::uint32_t> copies_;  ///< of each name that repeats
  std::unordered_map<std::string, Seen> seen_by_key_;
  Seen* seen_ = nullptr;
  std::string key_;
  std::uint32_t repeated_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
