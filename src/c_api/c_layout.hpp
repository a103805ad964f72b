#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include "opdump/knobs.hpp"
#include "opdump/opdump.h"

/// How the structs of opdump.h lie in memory, which is promised (opdump.h, "ABI"). A field that is added
/// there is added here.

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

struct Field {
  std::size_t offset;
  std::size_t bytes;
  std::size_t elements;   ///< of an array; else 1
  std::size_t offset_64;  ///< as promised, where pointers have 64 bits,
  std::size_t offset_32;  ///< and where they have 32
};

template <class Struct>
struct Layout;

/// For counting a struct's fields: stands for any of them.
struct AnyField {
  template <class T>
  operator T() const;
};

template <class Struct, class... Fields>
consteval std::size_t count_fields() {
  if constexpr (requires { Struct{Fields()..., AnyField()}; })
    return count_fields<Struct, Fields..., AnyField>();
  else
    return sizeof...(Fields);
}

/// i386 aligns integers of 64 bits to 4 bytes, so that its structs lie in a way of their own.
inline constexpr bool kHasNaturalAlignment = [] {
  struct Probe {
    char before;
    std::uint64_t integer;
  };
  return offsetof(Probe, integer) == sizeof(std::uint64_t);
}();

template <class Struct>
consteval bool is_as_promised() {
  using Promise = Layout<Struct>;
  constexpr bool kIs64 = sizeof(void*) == 8;
  std::size_t fields = 0;
  for (const Field& field : Promise::kFields) {
    fields += field.elements;
    if (kHasNaturalAlignment && field.offset != (kIs64 ? field.offset_64 : field.offset_32)) return false;
  }
  return fields == count_fields<Struct>() &&
         (!kHasNaturalAlignment || sizeof(Struct) == (kIs64 ? Promise::kBytes64 : Promise::kBytes32));
}

#define OPDUMP_FIELD(name, offset_64, offset_32)                                                       \
  Field {                                                                                              \
    offsetof(Self, name), sizeof(Self::name),                                                          \
        std::extent_v<decltype(Self::name)> == 0 ? 1 : std::extent_v<decltype(Self::name)>, offset_64, \
        offset_32                                                                                      \
  }
#define OPDUMP_LAYOUT(name, bytes_64, bytes_32, ...)  \
  template <>                                         \
  struct Layout<name> {                               \
    using Self = name;                                \
    static constexpr std::size_t kBytes64 = bytes_64; \
    static constexpr std::size_t kBytes32 = bytes_32; \
    static constexpr Field kFields[] = {__VA_ARGS__}; \
  };                                                  \
  static_assert(is_as_promised<name>())

OPDUMP_LAYOUT(opdump_original, 32, 24, OPDUMP_FIELD(name, 0, 0), OPDUMP_FIELD(index, 8, 4),
              OPDUMP_FIELD(dtype, 12, 8), OPDUMP_FIELD(format, 16, 12), OPDUMP_FIELD(rank, 20, 16),
              OPDUMP_FIELD(shape, 24, 20));
OPDUMP_LAYOUT(opdump_tensor, 48, 40, OPDUMP_FIELD(address, 0, 0), OPDUMP_FIELD(bytes, 8, 8),
              OPDUMP_FIELD(dtype, 16, 16), OPDUMP_FIELD(format, 20, 20), OPDUMP_FIELD(rank, 24, 24),
              OPDUMP_FIELD(address_kind, 28, 28), OPDUMP_FIELD(shape, 32, 32),
              OPDUMP_FIELD(original, 40, 36));
OPDUMP_LAYOUT(opdump_attribute, 16, 8, OPDUMP_FIELD(name, 0, 0), OPDUMP_FIELD(value, 8, 4));
OPDUMP_LAYOUT(opdump_op, 56, 36, OPDUMP_FIELD(name, 0, 0), OPDUMP_FIELD(type, 8, 4),
              OPDUMP_FIELD(task_id, 16, 8), OPDUMP_FIELD(stream_id, 20, 12),
              OPDUMP_FIELD(original_names, 24, 16), OPDUMP_FIELD(attributes, 32, 20),
              OPDUMP_FIELD(original_name_count, 40, 24), OPDUMP_FIELD(attribute_count, 44, 28),
              OPDUMP_FIELD(level, 48, 32), OPDUMP_FIELD(marked, 49, 33));
OPDUMP_LAYOUT(opdump_model_desc, 40, 24, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(name, 8, 4),
              OPDUMP_FIELD(graph_name, 16, 8), OPDUMP_FIELD(id, 24, 12), OPDUMP_FIELD(op_count, 28, 16),
              OPDUMP_FIELD(ops, 32, 20));
OPDUMP_LAYOUT(opdump_copy, 16, 16, OPDUMP_FIELD(words, 0, 0));
OPDUMP_LAYOUT(opdump_memory, 72, 40, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(context, 8, 4),
              OPDUMP_FIELD(copy, 16, 8), OPDUMP_FIELD(start, 24, 12), OPDUMP_FIELD(complete, 32, 16),
              OPDUMP_FIELD(fence, 40, 20), OPDUMP_FIELD(alignment, 48, 24), OPDUMP_FIELD(whole_units, 52, 28),
              OPDUMP_FIELD(max_bytes, 56, 32), OPDUMP_FIELD(will_read, 64, 36));
OPDUMP_LAYOUT(opdump_clock, 48, 24, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(context, 8, 4),
              OPDUMP_FIELD(unix_us, 16, 8), OPDUMP_FIELD(utc_offset_seconds, 24, 12),
              OPDUMP_FIELD(monotonic_ms, 32, 16), OPDUMP_FIELD(pause, 40, 20));
OPDUMP_LAYOUT(opdump_piece, 40, 24, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(kind, 8, 4),
              OPDUMP_FIELD(path_bytes, 12, 8), OPDUMP_FIELD(path, 16, 12), OPDUMP_FIELD(data, 24, 16),
              OPDUMP_FIELD(data_bytes, 32, 20));
OPDUMP_LAYOUT(opdump_flash, 96, 60, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(context, 8, 4),
              OPDUMP_FIELD(block_bytes, 16, 8), OPDUMP_FIELD(block_count, 20, 12),
              OPDUMP_FIELD(program_bytes, 24, 16), OPDUMP_FIELD(page_bytes, 28, 20),
              OPDUMP_FIELD(policy, 32, 24), OPDUMP_FIELD(erase_budget, 36, 28), OPDUMP_FIELD(erased, 40, 32),
              OPDUMP_FIELD(bits_only_clear, 41, 33), OPDUMP_FIELD(verify, 42, 34),
              OPDUMP_FIELD(prepared_blocks, 43, 35), OPDUMP_FIELD(read, 48, 36),
              OPDUMP_FIELD(program, 56, 40), OPDUMP_FIELD(erase, 64, 44), OPDUMP_FIELD(sync, 72, 48),
              OPDUMP_FIELD(protect, 80, 52), OPDUMP_FIELD(erase_ahead, 88, 56));
OPDUMP_LAYOUT(opdump_watchdog, 32, 16, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(context, 8, 4),
              OPDUMP_FIELD(feed, 16, 8), OPDUMP_FIELD(every_programs, 24, 12),
              OPDUMP_FIELD(every_reads, 26, 14));
OPDUMP_LAYOUT(opdump_sealer, 40, 20, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(context, 8, 4),
              OPDUMP_FIELD(begin, 16, 8), OPDUMP_FIELD(seal, 24, 12), OPDUMP_FIELD(end, 32, 16));
OPDUMP_LAYOUT(opdump_history_counts, 12, 12, OPDUMP_FIELD(triggers, 0, 0), OPDUMP_FIELD(let_go, 4, 4),
              OPDUMP_FIELD(lost, 8, 8));
OPDUMP_LAYOUT(opdump_trigger_options, 40, 28, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(history, 8, 4),
              OPDUMP_FIELD(clock, 16, 8), OPDUMP_FIELD(triggers, 24, 12), OPDUMP_FIELD(points, 28, 16),
              OPDUMP_FIELD(firings, 32, 20), OPDUMP_FIELD(reserved, 36, 24));
OPDUMP_LAYOUT(opdump_trigger_counts, 32, 32, OPDUMP_FIELD(fired, 0, 0), OPDUMP_FIELD(cooldown, 4, 4),
              OPDUMP_FIELD(firings, 8, 8), OPDUMP_FIELD(bytes, 12, 12), OPDUMP_FIELD(crowded, 16, 16),
              OPDUMP_FIELD(cut, 20, 20), OPDUMP_FIELD(unread, 24, 24), OPDUMP_FIELD(looks, 28, 28));
OPDUMP_LAYOUT(opdump_overwrite, 64, 56, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(step, 8, 8),
              OPDUMP_FIELD(first_byte, 16, 16), OPDUMP_FIELD(last_byte, 24, 24), OPDUMP_FIELD(by, 32, 32),
              OPDUMP_FIELD(watched, 40, 36), OPDUMP_FIELD(by_bytes, 48, 40),
              OPDUMP_FIELD(watched_bytes, 52, 44), OPDUMP_FIELD(output, 56, 48));
OPDUMP_LAYOUT(opdump_faults_options, 48, 28, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(memory, 8, 4),
              OPDUMP_FIELD(context, 16, 8), OPDUMP_FIELD(overflowed, 24, 12),
              OPDUMP_FIELD(overwritten, 32, 16), OPDUMP_FIELD(watched_ops, 40, 20),
              OPDUMP_FIELD(name_bytes, 44, 24));
OPDUMP_LAYOUT(opdump_session_options, 80, 48, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(memory, 8, 4),
              OPDUMP_FIELD(clock, 16, 8), OPDUMP_FIELD(sink, 24, 12), OPDUMP_FIELD(extras, 32, 16),
              OPDUMP_FIELD(device_id, 40, 20), OPDUMP_FIELD(when_full, 44, 24),
              OPDUMP_FIELD(block_limit_ms, 48, 28), OPDUMP_FIELD(journal, 52, 32),
              OPDUMP_FIELD(name_bytes, 56, 36), OPDUMP_FIELD(log, 64, 40), OPDUMP_FIELD(faults, 72, 44));
OPDUMP_LAYOUT(opdump_provenance, 40, 20, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(build_id, 8, 4),
              OPDUMP_FIELD(config, 16, 8), OPDUMP_FIELD(model, 24, 12), OPDUMP_FIELD(runtime, 32, 16));
OPDUMP_LAYOUT(opdump_counts, 60, 60, OPDUMP_FIELD(wanted, 0, 0), OPDUMP_FIELD(captured, 4, 4),
              OPDUMP_FIELD(degraded, 8, 8), OPDUMP_FIELD(empty, 12, 12), OPDUMP_FIELD(invalid, 16, 16),
              OPDUMP_FIELD(ring_full, 20, 20), OPDUMP_FIELD(timed_out, 24, 24),
              OPDUMP_FIELD(too_large, 28, 28), OPDUMP_FIELD(device_failed, 32, 32),
              OPDUMP_FIELD(written, 36, 36), OPDUMP_FIELD(sink_failed, 40, 40), OPDUMP_FIELD(quota, 44, 44),
              OPDUMP_FIELD(lost, 48, 48), OPDUMP_FIELD(dropped, 52, 52), OPDUMP_FIELD(aborted, 56, 56));
OPDUMP_LAYOUT(opdump_bad_op, 32, 32, OPDUMP_FIELD(unix_us, 0, 0), OPDUMP_FIELD(step, 8, 8),
              OPDUMP_FIELD(status, 16, 16), OPDUMP_FIELD(model_id, 24, 24), OPDUMP_FIELD(op, 28, 28));
OPDUMP_LAYOUT(opdump_op_counts, 80, 80, OPDUMP_FIELD(seen, 0, 0), OPDUMP_FIELD(first_lost_step, 8, 8),
              OPDUMP_FIELD(last_lost_step, 16, 16), OPDUMP_FIELD(wanted, 24, 24),
              OPDUMP_FIELD(captured, 28, 28), OPDUMP_FIELD(degraded, 32, 32), OPDUMP_FIELD(dropped, 36, 36),
              OPDUMP_FIELD(aborted, 40, 40), OPDUMP_FIELD(lost, 44, 44), OPDUMP_FIELD(invalid, 48, 48),
              OPDUMP_FIELD(ring_full, 52, 52), OPDUMP_FIELD(timed_out, 56, 56),
              OPDUMP_FIELD(too_large, 60, 60), OPDUMP_FIELD(device_failed, 64, 64),
              OPDUMP_FIELD(sink_failed, 68, 68), OPDUMP_FIELD(quota, 72, 72));
OPDUMP_LAYOUT(opdump_recorder_options, 32, 24, OPDUMP_FIELD(struct_bytes, 0, 0),
              OPDUMP_FIELD(ring_bytes, 8, 4), OPDUMP_FIELD(max_tensors, 12, 8),
              OPDUMP_FIELD(known_heads, 16, 12), OPDUMP_FIELD(reserved, 20, 16),
              OPDUMP_FIELD(when_full, 24, 20));
OPDUMP_LAYOUT(opdump_overflow, 48, 48, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(status, 8, 8),
              OPDUMP_FIELD(start, 16, 16), OPDUMP_FIELD(arguments, 24, 24), OPDUMP_FIELD(core_id, 32, 32),
              OPDUMP_FIELD(block_id, 40, 40));
OPDUMP_LAYOUT(opdump_running_op, 64, 40, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(op, 8, 4),
              OPDUMP_FIELD(input_count, 12, 8), OPDUMP_FIELD(output_count, 16, 12),
              OPDUMP_FIELD(argument_count, 20, 16), OPDUMP_FIELD(workspace_count, 24, 20),
              OPDUMP_FIELD(inputs, 32, 24), OPDUMP_FIELD(outputs, 40, 28), OPDUMP_FIELD(arguments, 48, 32),
              OPDUMP_FIELD(workspaces, 56, 36));

/// What `take_struct` and `give_struct` know of a struct, a byte each: the bytes of the struct, the number of
/// its fields, and of each field the byte behind it.
template <class Struct>
inline constexpr auto kFieldEnds = [] {
  static_assert(sizeof(Struct) <= UINT8_MAX && sizeof(Struct) <= OPDUMP_MAX_STRUCT_BYTES);
  constexpr std::size_t kFields = std::size(Layout<Struct>::kFields);
  std::array<std::uint8_t, 2 + kFields> ends{sizeof(Struct), kFields};
  for (std::size_t i = 0; i < kFields; ++i)
    ends[2 + i] =
        static_cast<std::uint8_t>(Layout<Struct>::kFields[i].offset + Layout<Struct>::kFields[i].bytes);
  return ends;
}();

/// Bytes up to the end of the last field that is whole in the first `bytes` bytes; `ends` as `kFieldEnds`.
inline std::size_t whole_bytes(const std::uint8_t* ends, std::size_t bytes) {
  std::size_t whole = 0;
  for (unsigned left = *++ends; left != 0; --left) {
    if (*++ends <= bytes) whole = *ends;
  }
  return whole;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
