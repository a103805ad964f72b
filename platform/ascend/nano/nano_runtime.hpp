#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "opdump/knobs.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// What the executor and its runtime return: 0, or a number that says what failed.
using Code = std::uint32_t;

/// Those that the executor's own calls return. Source: CANN's ge_error_codes.h.
inline constexpr Code kOk = 0;
inline constexpr Code kParamInvalid = 145000;
inline constexpr Code kNoMemory = 245000;
inline constexpr Code kInternalError = 545000;

/// What the executor is about to load: the runtime's rtMdlLoad_t.
struct ModelLoad {
  std::uint8_t overflow_en;  ///< 1: the device looks for overflows
  std::uint16_t total_tasks;
  void* tasks;  ///< descriptions of the model's tasks, in the memory of the device
  void* code;
  void* parameters;
  void* weights;
  std::uint8_t weight_prefetch;
};

/// The runtime of the board, and the part of the dump that runs on the device side.
class NanoRuntime {
 public:
  virtual ~NanoRuntime() = default;

  /// Whether the runtime has all that a dump needs; otherwise `missing` names what it has not.
  virtual bool is_complete(std::string& missing) = 0;

  /// Starts the device part, which may read the config `path` too. Otherwise `error` says what failed.
  virtual Code start(const char* path, std::string& error) = 0;
  virtual Code stop() = 0;

  /// Has the device stop after task `task` until the device part has looked at it.
  virtual Code set_dump_flag(void* tasks, std::size_t task_bytes, std::uint32_t task) = 0;

  /// Sends a load message, of which the receiver is told `bytes`; see `load_message.hpp`.
  virtual Code send(void* message, std::uint32_t bytes) = 0;

  /// Number of the device that the calling thread uses; 0 if it cannot be told.
  virtual std::uint32_t device() = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
