#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/types/counts.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Who reported an overflow. The first four are the numbers of the newer layout; the others are the blocks of
/// the older one.
enum class OverflowUnit : std::uint8_t { aic, aiv, aicpu, sdma, ai_core, dha_atomic_add, l2_atomic_add };

/// Bits of a status.
inline constexpr std::uint64_t kOverflowNegation = 0x8;        ///< of the smallest signed integer
inline constexpr std::uint64_t kOverflowInteger = 0x10;        ///< addition, subtraction, multiplication
inline constexpr std::uint64_t kOverflowFloat = 0x20;          ///< floating-point computation
inline constexpr std::uint64_t kOverflowUnsigned = 0x80;       ///< a negative number became an unsigned one
inline constexpr std::uint64_t kOverflowToFloat16 = 0x100;     ///< of float32 or int32
inline constexpr std::uint64_t kOverflowAccumulation = 0x400;  ///< in the cube unit

inline constexpr std::uint64_t kNoOverflowId = 65535;

/// What a lean build knows of one overflow: the content of an OpDebug file, as an AI core gives it in the
/// older layout.
struct LeanOverflowReport {
  std::uint64_t status[1] = {};
  std::uint32_t model_id = 0;  ///< with the next two: filled in by the recorder
  std::uint32_t stream_id = 0;
  std::uint32_t task_id = 0;
  bool searched = false;  ///< as in FullOverflowReport
};
/// What is known of one overflow: the content of an OpDebug file. The file leaves out a field that the unit
/// does not have. Source of the fields: CANN's device and msaccucmp.
struct FullOverflowReport {
  std::uint64_t status[4] = {};  ///< the first word counts, of a `wide` one all four
  std::uint64_t task_type = 0;
  std::uint64_t context_id = kNoOverflowId;
  std::uint64_t thread_id = kNoOverflowId;
  std::uint64_t start = 0;      ///< `pc_start` of a core, `src_addr` of an SDMA
  std::uint64_t arguments = 0;  ///< `para_base` of a core, `dst_addr` of an SDMA
  std::uint64_t core_id = 0;    ///< `cpu_id` of an AICPU, `channel_id` of an SDMA
  std::uint64_t block_id = 0;
  std::uint64_t kernel_code = 0;  ///< of `ai_core`
  std::uint64_t model_id = 0;     ///< with the next two: filled in by the recorder
  std::uint64_t stream_id = 0;
  std::uint64_t task_id = 0;
  std::uint32_t debug_task_id = 65535;  ///< in the file's name; not that of the operator
  OverflowUnit unit = OverflowUnit::ai_core;
  bool wide = false;  ///< version 1 of the newer layout, of `aic` and `aiv`
  /// Nothing reported it: an infinity or a NaN was found in an output. The status then only says which it
  /// may have been, as the vendor's tool passes over files without one; such a file has 1 in kSearchedWord.
  bool searched = false;

  constexpr bool any() const { return status[0] != 0 || (wide && (status[1] | status[2] | status[3]) != 0); }
};

using OverflowReport = std::conditional_t<build::kLean, LeanOverflowReport, FullOverflowReport>;

/// Bytes of the tensor in an OpDebug file, in either layout; the bytes behind the fields are zero.
inline constexpr std::size_t kOpDebugBytes = 2048;
inline constexpr std::size_t kOpDebugWords = kOpDebugBytes / 8;
/// Of the older layout, where CANN has nothing; opdump's own.
inline constexpr std::size_t kSearchedWord = 63;

namespace op_debug {

/// Fields of the newer layout, from its byte 24 on, as many as `unit` has.
constexpr std::size_t field_count(const FullOverflowReport& report) {
  switch (report.unit) {
    case OverflowUnit::aic:
    case OverflowUnit::aiv:
      return report.wide ? 14 : 11;
    case OverflowUnit::sdma:
      return 10;
    default:
      return 8;
  }
}

constexpr std::uint64_t new_field(const FullOverflowReport& report, std::size_t index) {
  const bool cpu = report.unit == OverflowUnit::aicpu;
  const std::uint64_t first[] = {report.model_id,
                                 report.stream_id,
                                 report.task_id,
                                 report.task_type,
                                 report.context_id,
                                 cpu ? report.core_id : report.thread_id,
                                 cpu ? report.thread_id : report.start,
                                 cpu ? report.status[0] : report.arguments,
                                 report.core_id,
                                 report.unit == OverflowUnit::sdma ? report.status[0] : report.block_id};
  constexpr std::size_t kFirst = sizeof first / sizeof first[0];
  return index < kFirst ? first[index] : report.status[index - kFirst];
}

constexpr std::uint64_t new_word(const FullOverflowReport& report, std::size_t index) {
  constexpr std::uint64_t kMagic = 0x5a5a5a5a;
  constexpr std::size_t kHeadWords = 3;
  const std::size_t fields = field_count(report);
  if (index == 0) return kMagic | (report.wide ? std::uint64_t{1} << 32 : 0);
  if (index == 1) return 1 | static_cast<std::uint64_t>(report.unit) << 32;
  if (index == 2) return static_cast<std::uint64_t>(fields * 8) << 32;
  return index - kHeadWords < fields ? new_field(report, index - kHeadWords) : 0;
}

/// Where a unit of the older layout has its six fields, and where its status, in words.
struct OldPlace {
  std::uint8_t fields;
  std::uint8_t status;
};

constexpr OldPlace old_place(OverflowUnit unit) {
  if (unit == OverflowUnit::dha_atomic_add) return {0, 512 / 8};
  if (unit == OverflowUnit::l2_atomic_add) return {128 / 8, 768 / 8};
  return {256 / 8, 1024 / 8};
}

constexpr std::uint64_t old_word(const FullOverflowReport& report, std::size_t index) {
  const OldPlace place = old_place(report.unit);
  const std::uint64_t fields[] = {report.model_id,  report.stream_id, report.task_id,
                                  report.task_type, report.start,     report.arguments};
  if (index >= place.fields && index - place.fields < sizeof fields / sizeof fields[0])
    return fields[index - place.fields];
  const bool core = report.unit == OverflowUnit::ai_core;
  if (index == kSearchedWord) return report.searched ? 1 : 0;
  if (core && index == place.status) return report.kernel_code;
  if (core && index == place.status + std::size_t{1}) return report.block_id;
  return index == place.status + (core ? std::size_t{2} : std::size_t{0}) ? report.status[0] : 0;
}

}  // namespace op_debug

/// Word `index`, below kOpDebugWords, of the tensor that `report` becomes; words lie there little-endian.
constexpr std::uint64_t op_debug_word(const FullOverflowReport& report, std::size_t index) {
  return report.unit <= OverflowUnit::sdma ? op_debug::new_word(report, index)
                                           : op_debug::old_word(report, index);
}

/// Fills `to` with that tensor's bytes from byte `at` on; both are multiples of 8.
inline void put_op_debug_bytes(const LeanOverflowReport& report, std::uint32_t at, MutableBytes to) {
  const auto put = [at, to](std::uint32_t word, std::uint64_t value) {
    const std::uint32_t offset = word * 8 - at;
    if (offset < to.size()) store_little_endian(to.data() + offset, value);
  };
  std::memset(to.data(), 0, to.size());
  put(32, report.model_id);
  put(33, report.stream_id);
  put(34, report.task_id);
  put(kSearchedWord, report.searched ? 1 : 0);
  put(130, report.status[0]);
}

/// The operator that was first to have bad outputs although its inputs were clean.
struct FirstBadOp {
  std::uint64_t unix_us = 0;  ///< 0: there is none
  std::uint64_t step = 0;
  std::uint64_t status = 0;  ///< 0: nothing reported one
  std::string_view name{};   ///< the runtime's text, until the model is unloaded; the next one too
  std::string_view type{};
  std::uint32_t model_id = 0;
  std::uint32_t op = 0;  ///< its index in the model
};

/// What one recorder knows of overflows.
struct OverflowTally {
  [[no_unique_address]] Maybe<build::kOverflow, Count> found{};
  [[no_unique_address]] Maybe<build::kFaults, FirstBadOp> first{};

  void add_one() {
    if_here(found, [](auto& count) { count.add_one(); });
  }
  std::uint32_t count() const {
    std::uint32_t value = 0;
    if_here(found, [&value](const auto& count) { value = count.value(); });
    return value;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
