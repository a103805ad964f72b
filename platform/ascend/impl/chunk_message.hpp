#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "opdump/base/status.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/chunk_fault.hpp"
#include "opdump/types/counts.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// Files that may be under way at once, each in a slot of its own.
inline constexpr std::uint32_t kMaxChunkFiles = kMaxOpenObjects;

/// The longest path of a file from the dump's directory on.
inline constexpr std::size_t kMaxChunkPathBytes = 1024;

/// What one chunk of the ring says; a payload follows it.
enum class ChunkEvent : std::uint8_t {
  begin,  ///< a file begins in a slot; payload: its path
  data,   ///< payload: its next bytes
  end,    ///< its last byte has come, or it is given up
  lost,   ///< a file is lost that has no slot; payload: its path
  gap,    ///< `count` such files are lost, with no room to name them
  fault,  ///< something about chunks; payload: a path, as the journal has it
};

/// The head of a chunk in the ring between the callback and the drainer.
struct ChunkMessage {
  ChunkEvent event = ChunkEvent::data;
  std::uint8_t slot = 0;
  bool given_up = false;   ///< with `end`
  bool has_cause = false;  ///< else the file never got its last chunk
  LossCause cause = LossCause::invalid;
  Status status = Status::ok;  ///< that goes with the cause
  ChunkFault fault = ChunkFault::late;
  ObjectKind kind = ObjectKind::extra;
  bool is_record = false;
  bool whole = false;         ///< with `begin`: one chunk brings all of it
  std::uint16_t file_at = 0;  ///< where in the path the file's name begins
  std::uint32_t device = 0;
  std::uint32_t count = 0;
  std::uint64_t time = 0;  ///< 0: the path has none
  std::uint64_t step = 0;
  std::uint64_t unix_us = 0;
  std::uint64_t bytes = 0;
};
static_assert(std::is_trivially_copyable_v<ChunkMessage>);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
