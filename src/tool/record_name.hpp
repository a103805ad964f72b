#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opdump::tool {

/// What a dump file's name tells: `{type}.{name}.{task}.{stream}.{microseconds}`, or with
/// `.{task type}.{context}.{thread}.{device}` behind it.
struct RecordName {
  std::string_view type;
  std::string_view name;
  std::uint64_t task = 0;
  std::uint64_t stream = 0;
  std::uint64_t unix_us = 0;
};

/// Takes a file name apart; nothing when it is not of that form. Refers to `file_name`.
std::optional<RecordName> parse_record_name(std::string_view file_name);

/// Where a directory lies in a dump: `{time}/{device}/{model}/{model id}/{step}`.
struct RecordPlace {
  std::string_view model;
  std::uint64_t model_id = 0;
  std::uint64_t step = 0;
};

/// What the end of a directory's path tells of the model; nothing when it is not of that form. Refers to
/// `directory`.
std::optional<RecordPlace> parse_record_place(std::string_view directory);

/// A decimal number without sign, all of `text`; nothing when it is something else or passes 64 bits.
std::optional<std::uint64_t> parse_decimal(std::string_view text);

/// Less as a person sorts: runs of digits by their number, everything else by its bytes.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace opdump::tool
