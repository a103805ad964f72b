#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What is told of the chunks of a file that another runtime brings, such as CANN's callback, apart from what
/// became of the file's record.
enum class ChunkFault : std::uint8_t {
  late,          ///< it came after the file's last chunk
  repeated,      ///< its bytes had come already
  torn,          ///< it is not as long as it says, has no name, or its file does not hold what its head says
  out_of_order,  ///< it does not follow the bytes that came before it
  other,         ///< none: the file came whole and is not a record
};

struct ChunkFaultKind {
  std::string_view word;  ///< in a journal
  std::string_view text;  ///< for people
  /// Whether the file may differ for it from what the runtime would have written.
  bool wrong;
};

/// In the order of `ChunkFault`.
inline constexpr ChunkFaultKind kChunkFaultKinds[] = {
    {"late", "after the last chunk of its file; not taken", true},
    {"repeated", "of bytes that had come already; not taken", false},
    {"torn", "shorter or longer than it says", true},
    {"out_of_order", "behind bytes that never came", true},
    {"other", "a file that is not a record", false},
};
static_assert(std::size(kChunkFaultKinds) == static_cast<std::size_t>(ChunkFault::other) + 1);

constexpr const ChunkFaultKind& kind_of(ChunkFault fault) {
  return kChunkFaultKinds[static_cast<std::size_t>(fault)];
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
