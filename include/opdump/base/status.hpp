#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What became of a call. One value per cause, grouped by where the cause lies; the numbers are stable. The
/// type is not [[nodiscard]], only functions whose status must be looked at: a recorder counts its errors.
enum class Status : std::uint8_t {
  ok = 0,

  // The caller's order of calls.
  not_initialised = 1,
  already_initialised = 2,
  model_not_loaded = 3,
  model_already_loaded = 4,
  step_open = 5,
  step_not_open = 6,
  drainer_attached = 7,
  recorder_busy = 8,

  // What the caller handed over.
  invalid_argument = 20,
  invalid_tensor = 21,
  no_such_op = 22,
  name_too_long = 23,
  no_memory = 24,
  no_free_recorder = 25,
  too_many_tensors = 26,
  too_many_configs = 27,
  unknown_dtype = 28,
  uncountable_shape = 29,
  too_many_dims = 30,
  missing_argument = 31,
  unrecordable = 32,

  // Room.
  ring_full = 40,
  too_large = 41,
  timeout = 42,
  unfinished = 43,
  degraded = 44,

  // The platform.
  device_copy_failed = 60,
  not_found = 61,
  already_exists = 62,
  permission_denied = 63,
  no_space = 64,
  io_error = 65,
  not_supported = 66,
  too_many_objects = 67,
  quota_exceeded = 68,
  file_too_large = 69,
  library_missing = 70,
  symbol_missing = 71,
  driver_failed = 72,
  wrong_device = 73,
  not_registered = 74,

  // Bytes from outside: configs, dump files.
  config_refused = 80,
  not_a_record = 81,
  truncated = 82,
  malformed = 83,
  not_a_plan = 84,
  wrong_byte_order = 85,
  damaged = 86,
  newer_version = 87,
};

/// The cause in a few words without a comma. Static text, which a program has that asks at run time.
constexpr std::string_view status_text(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::not_initialised:
      return "the session is not initialised";
    case Status::already_initialised:
      return "the session is already initialised";
    case Status::model_not_loaded:
      return "the model is not loaded";
    case Status::model_already_loaded:
      return "the model is already loaded";
    case Status::step_open:
      return "a step is still open";
    case Status::step_not_open:
      return "no step is open";
    case Status::drainer_attached:
      return "a drainer is attached or at work";
    case Status::recorder_busy:
      return "the recorder is still in use";
    case Status::invalid_argument:
      return "invalid argument";
    case Status::invalid_tensor:
      return "the tensor holds fewer bytes than its shape and dtype need";
    case Status::no_such_op:
      return "no operator of that index";
    case Status::name_too_long:
      return "a name is too long";
    case Status::no_memory:
      return "the memory handed over is too small";
    case Status::no_free_recorder:
      return "no recorder is free";
    case Status::too_many_tensors:
      return "the operator has too many tensors";
    case Status::too_many_configs:
      return "too many configs have models loaded under them";
    case Status::unknown_dtype:
      return "the tensor has no dtype or one that is none";
    case Status::uncountable_shape:
      return "the tensor has a negative dim or more elements than can be counted";
    case Status::too_many_dims:
      return "the tensor has too many dims";
    case Status::missing_argument:
      return "an array or a report is missing";
    case Status::unrecordable:
      return "a tensor or name that no record can hold";
    case Status::ring_full:
      return "the ring is full";
    case Status::too_large:
      return "the record's head does not fit the ring";
    case Status::timeout:
      return "no room in the ring within the limit";
    case Status::unfinished:
      return "given up before it was whole";
    case Status::degraded:
      return "only a reduced form was kept";
    case Status::device_copy_failed:
      return "copying from device memory failed";
    case Status::not_found:
      return "no such file or directory";
    case Status::already_exists:
      return "already exists";
    case Status::permission_denied:
      return "permission denied";
    case Status::no_space:
      return "no space left";
    case Status::file_too_large:
      return "file too large";
    case Status::io_error:
      return "input/output error";
    case Status::not_supported:
      return "not supported here";
    case Status::too_many_objects:
      return "too many objects open at once";
    case Status::library_missing:
      return "driver missing";
    case Status::symbol_missing:
      return "driver function missing";
    case Status::driver_failed:
      return "driver call failed";
    case Status::wrong_device:
      return "wrong device";
    case Status::not_registered:
      return "unknown address";
    case Status::quota_exceeded:
      return "the dump has all the room it may take";
    case Status::config_refused:
      return "the config is refused";
    case Status::not_a_record:
      return "not a dump record";
    case Status::truncated:
      return "the bytes end too early";
    case Status::malformed:
      return "malformed";
    case Status::not_a_plan:
      return "not a compiled plan";
    case Status::wrong_byte_order:
      return "the bytes are swapped";
    case Status::damaged:
      return "the bytes are damaged";
    case Status::newer_version:
      return "made by a newer version";
  }
  return "unknown status";
}

/// The numbers of statuses as texts.
inline constexpr struct StatusNumbers {
  char text[100][4];
} kStatusNumbers = [] {
  StatusNumbers numbers{};
  for (int i = 0; i < 100; ++i) {
    numbers.text[i][0] = 'E';
    numbers.text[i][1] = static_cast<char>('0' + i / 10);
    numbers.text[i][2] = static_cast<char>('0' + i % 10);
  }
  return numbers;
}();

/// `status_text`, or the number of the status without OPDUMP_STATUS_TEXTS, for logs, messages and journals. A zero
/// follows the text.
constexpr std::string_view to_string(Status status) {
  if constexpr (OPDUMP_STATUS_TEXTS != 0) return status_text(status);
  if (status == Status::ok) return "ok";
  const std::size_t number = static_cast<std::size_t>(status);
  return {number < 100 ? kStatusNumbers.text[number] : "E??", 3};
}

/// A value, or the status that says why there is none. The value may be read only when `ok()`.
template <class T>
class [[nodiscard]] Result {
 public:
  constexpr Result(T value) : value_(value) {}
  constexpr Result(Status status) : status_(status) {}
  constexpr bool ok() const { return status_ == Status::ok; }
  constexpr Status status() const { return status_; }
  constexpr const T& value() const { return value_; }

 private:
  T value_{};
  Status status_ = Status::ok;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
