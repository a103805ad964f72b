#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "opdump/types/config.hpp"
#include "opdump/types/name_pattern.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a trigger waits for. Up to `saturated` it is a statistic of a tensor.
enum class TriggerCause : std::uint8_t {
  max,
  min,
  mean,
  l2norm,
  nan,         ///< how many elements are NaN
  inf,         ///< how many are infinite, of either sign
  saturated,   ///< the share, from 0 to 1, of elements that are at a limit of their dtype, or infinite
  change,      ///< the tensor's bytes differ from those of the look before
  latency_us,  ///< microseconds from the begin of a step to its end
  failure,     ///< an operator has failed
  call,        ///< a call of the program
};

/// The words for `TriggerCause` in configs and journals, in its order.
inline constexpr std::string_view kTriggerWords[] = {
    "max", "min", "mean", "l2norm", "nan", "inf", "saturated", "change", "latency_us", "failure", "call"};
static_assert(std::size(kTriggerWords) == static_cast<std::size_t>(TriggerCause::call) + 1);

/// Whether a look at a tensor is needed.
constexpr bool looks_at_tensor(TriggerCause cause) {
  return cause <= TriggerCause::change;
}

/// Whether there is a value, and limits that it is held against.
constexpr bool has_limits(TriggerCause cause) {
  return cause < TriggerCause::change || cause == TriggerCause::latency_us;
}

/// The numbers of a trigger.
struct TriggerNumbers {
  TriggerCause cause = TriggerCause::call;
  bool is_input = false;  ///< the tensor is an input, else an output
  bool has_below = false;
  bool has_above = false;
  std::uint16_t index = 0;  ///< of the tensor among the operator's inputs or outputs
};

/// When the history and the steps behind it are to be written. Refers to its lists.
struct TriggerRule {
  /// Of the model, and of the operator or one fused into it; one without a text takes any name.
  std::span<const NamePattern> names{};
  std::string_view call{};       ///< what the program calls it; of TriggerCause::call
  std::uint64_t below = 0;       ///< the bits of a double, with `has_below`: a value below it fires
  std::uint64_t above = 0;       ///< likewise above
  std::uint64_t numbers = 0;     ///< TriggerNumbers in one word
  std::uint32_t steps = 1;       ///< so many steps in a row, of those that are looked at
  std::uint32_t cooldown_s = 0;  ///< seconds after a firing in which there is no other one

  static constexpr std::uint64_t pack(const TriggerNumbers& from) {
    return static_cast<std::uint64_t>(from.cause) | std::uint64_t{from.is_input} << 8 |
           std::uint64_t{from.has_below} << 9 | std::uint64_t{from.has_above} << 10 |
           std::uint64_t{from.index} << 16;
  }

  constexpr TriggerCause cause() const { return static_cast<TriggerCause>(numbers & 0xff); }
  constexpr bool is_input() const { return (numbers >> 8 & 1) != 0; }
  constexpr bool has_below() const { return (numbers >> 9 & 1) != 0; }
  constexpr bool has_above() const { return (numbers >> 10 & 1) != 0; }
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(numbers >> 16 & 0xffff); }
  constexpr double lower() const { return std::bit_cast<double>(below); }
  constexpr double upper() const { return std::bit_cast<double>(above); }

  /// Empty: every model, or every operator.
  constexpr std::span<const NamePattern> model() const { return name(0); }
  constexpr std::span<const NamePattern> op() const { return name(1); }

  /// Whether `value` is beyond a limit. A NaN is beyond none.
  constexpr bool takes(double value) const {
    return (has_below() && value < lower()) || (has_above() && value > upper());
  }

 private:
  constexpr std::span<const NamePattern> name(std::size_t which) const {
    return which < names.size() && !names[which].text.empty() ? names.subspan(which, 1)
                                                              : std::span<const NamePattern>();
  }
};

/// Of one config.
inline constexpr std::size_t kMostTriggers = 64;

/// Why a firing was held back, or none came of it.
enum class HeldFiring : std::uint8_t {
  cooldown,  ///< too soon after the last one
  firings,   ///< the boot has had all its firings
  bytes,     ///< the boot has had all its bytes
  crowded,   ///< the drainer was behind by more firings than there is room for
};
inline constexpr std::size_t kHeldFirings = 4;

/// What became of the firings of one trigger, or of all.
struct FiringCounts {
  std::uint32_t fired = 0;
  std::uint32_t held[kHeldFirings] = {};  ///< by HeldFiring
  std::uint32_t cut = 0;                  ///< write-outs that the limit of bytes has ended
  std::uint32_t unread = 0;               ///< looks at tensors that could not be read
  std::uint32_t looks = 0;                ///< at tensors or steps

  constexpr bool operator==(const FiringCounts&) const = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
