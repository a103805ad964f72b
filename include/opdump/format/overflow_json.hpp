#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/types/overflow.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

namespace overflow_json {

inline TextWriter& add_key(TextWriter& to, std::string_view key) {
  return to.add('"').add(key).add("\":");
}

inline TextWriter& add_hex(TextWriter& to, std::uint64_t value) {
  int shift = 60;
  while (shift != 0 && value >> shift == 0) shift -= 4;
  to.add("\"0x");
  for (; shift >= 0; shift -= 4) to.add(hex_digit(static_cast<unsigned>(value >> shift & 15)));
  return to.add('"');
}

inline void add_unit(TextWriter& to, std::string_view name, const FullOverflowReport& report,
                     OverflowUnit unit) {
  constexpr FullOverflowReport kNone;
  // All units of the newer layout appear as the AI core.
  const bool core = unit == OverflowUnit::ai_core;
  const bool same = report.unit == unit || (core && report.unit <= OverflowUnit::sdma);
  const FullOverflowReport& from = same ? report : kNone;
  add_key(to, name).add('{');
  if (core) {
    add_key(to, "block_idx").add_decimal(from.block_id).add(',');
    add_hex(add_key(to, "kernel_code"), from.kernel_code).add(',');
  }
  add_key(to, "model_id").add_decimal(from.model_id).add(',');
  add_hex(add_key(to, "para_base"), from.arguments).add(',');
  add_hex(add_key(to, "pc_start"), from.start).add(',');
  add_key(to, "status").add_decimal(from.status[0]).add(',');
  add_key(to, "stream_id").add_decimal(from.stream_id).add(',');
  add_key(to, "task_id").add_decimal(from.task_id).add(',');
  add_key(to, "task_type").add_decimal(from.task_type).add('}');
}

}  // namespace overflow_json

/// Adds `report` as the JSON object that MindSpore writes for `file_format` "npy": its three units, keys in
/// alphabetical order, no blanks; and "searched": true if no device reported the status. A report of any unit
/// of the newer layout stands under "AI Core". Not with OPDUMP_SMALL_CODE, which knows no units.
inline TextWriter& add_overflow_json(TextWriter& to, const FullOverflowReport& report) {
  to.add('{');
  overflow_json::add_unit(to, "AI Core", report, OverflowUnit::ai_core);
  to.add(',');
  overflow_json::add_unit(to, "DHA Atomic Add", report, OverflowUnit::dha_atomic_add);
  to.add(',');
  overflow_json::add_unit(to, "L2 Atomic Add", report, OverflowUnit::l2_atomic_add);
  if (report.searched) overflow_json::add_key(to.add(','), "searched").add("true");
  return to.add('}');
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
