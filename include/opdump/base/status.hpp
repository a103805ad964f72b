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

/// The statuses, each with its cause in a few words without a comma.
inline constexpr struct StatusText {
  Status status;
  const char* text;
} kStatusTexts[] = {
    {Status::ok, "ok"},
    {Status::not_initialised, "the session is not initialised"},
    {Status::already_initialised, "the session is already initialised"},
    {Status::model_not_loaded, "the model is not loaded"},
    {Status::model_already_loaded, "the model is already loaded"},
    {Status::step_open, "a step is still open"},
    {Status::step_not_open, "no step is open"},
    {Status::drainer_attached, "a drainer is attached or at work"},
    {Status::recorder_busy, "the recorder is still in use"},
    {Status::invalid_argument, "invalid argument"},
    {Status::invalid_tensor, "the tensor holds fewer bytes than its shape and dtype need"},
    {Status::no_such_op, "no operator of that index"},
    {Status::name_too_long, "a name is too long"},
    {Status::no_memory, "the memory handed over is too small"},
    {Status::no_free_recorder, "no recorder is free"},
    {Status::too_many_tensors, "the operator has too many tensors"},
    {Status::too_many_configs, "too many configs have models loaded under them"},
    {Status::unknown_dtype, "the tensor has no dtype or one that is none"},
    {Status::uncountable_shape, "the tensor has a negative dim or more elements than can be counted"},
    {Status::too_many_dims, "the tensor has too many dims"},
    {Status::missing_argument, "an array or a report is missing"},
    {Status::unrecordable, "a tensor or name that no record can hold"},
    {Status::ring_full, "the ring is full"},
    {Status::too_large, "the record's head does not fit the ring"},
    {Status::timeout, "no room in the ring within the limit"},
    {Status::unfinished, "given up before it was whole"},
    {Status::degraded, "only a reduced form was kept"},
    {Status::device_copy_failed, "copying from device memory failed"},
    {Status::not_found, "no such file or directory"},
    {Status::already_exists, "already exists"},
    {Status::permission_denied, "permission denied"},
    {Status::no_space, "no space left"},
    {Status::file_too_large, "file too large"},
    {Status::io_error, "input/output error"},
    {Status::not_supported, "not supported here"},
    {Status::too_many_objects, "too many objects open at once"},
    {Status::library_missing, "driver missing"},
    {Status::symbol_missing, "driver function missing"},
    {Status::driver_failed, "driver call failed"},
    {Status::wrong_device, "wrong device"},
    {Status::not_registered, "unknown address"},
    {Status::quota_exceeded, "the dump has all the room it may take"},
    {Status::config_refused, "the config is refused"},
    {Status::not_a_record, "not a dump record"},
    {Status::truncated, "the bytes end too early"},
    {Status::malformed, "malformed"},
    {Status::not_a_plan, "not a compiled plan"},
    {Status::wrong_byte_order, "the bytes are swapped"},
    {Status::damaged, "the bytes are damaged"},
    {Status::newer_version, "made by a newer version"},
};

/// Static text, which a program has that asks at run time.
constexpr std::string_view status_text(Status status) {
  for (const auto& known : kStatusTexts) {
    if (known.status == status) return known.text;
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
