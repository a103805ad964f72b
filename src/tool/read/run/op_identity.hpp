#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

/// What a dump tells of an operator of a model. A name alone is no key: several operators may have it.
struct OpIdentity {
  std::string_view name;    ///< as paths have it
  std::string_view type{};  ///< the same; empty: not known
  std::optional<std::uint64_t> task{};
};

inline OpIdentity identity_of(const RecordName& record) {
  if (record.name_only) return {.name = record.name};
  return {.name = record.name, .type = record.type, .task = record.task};
}

inline constexpr std::uint32_t kNoTask = 65535;

/// Of `some` operators of one name, which `desc_of` gives the OpDesc of, the one that has the type and the
/// task; nothing where several may be it, which is ambiguous. One alone is it, whatever its type.
template <class Op, class DescOf>
std::optional<Op> only_one(std::vector<Op> some, const OpIdentity& identity, DescOf desc_of) {
  const auto keep = [&some](auto is_it) {
    if (some.size() > 1 && std::any_of(some.begin(), some.end(), is_it))
      std::erase_if(some, [&](const Op& op) { return !is_it(op); });
  };
  if (!identity.type.empty())
    keep([&](const Op& op) { return sanitised(desc_of(op).type) == identity.type; });
  if (identity.task && *identity.task != kNoTask)
    keep([&](const Op& op) { return desc_of(op).task_id == *identity.task; });
  return some.size() == 1 ? std::optional(some[0]) : std::nullopt;
}

}  // namespace opdump::tool
