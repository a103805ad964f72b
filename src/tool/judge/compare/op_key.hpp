#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// A record is an operator at one step; so are arrays of one operator that tell the same task and time.
using OpKey = std::tuple<std::optional<std::uint32_t>, std::string, std::string, std::uint64_t, std::uint64_t,
                         std::optional<std::size_t>>;

inline OpKey key_of(const DumpFile& file, std::size_t number) {
  return {file.boot,    file.place,
          file.op,      file.task.value_or(0),
          file.unix_us, file.is_record ? std::optional<std::size_t>(number) : std::nullopt};
}

}  // namespace opdump::tool
