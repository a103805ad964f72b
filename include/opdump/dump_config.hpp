#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/dump_options.hpp"
#include "opdump/status.hpp"
#include "opdump/step_set.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Which tensors of an operator are captured.
enum class DumpMode : std::uint8_t { input, output, all };

/// Whether operators, their kernels, or both are captured.
enum class DumpLevel : std::uint8_t { op, kernel, all };

/// Whether the tensors themselves or their statistics are written.
enum class DumpData : std::uint8_t { tensor, statistics };

/// Which statistics are written, as bits.
inline constexpr std::uint8_t kStatMax = 1;
inline constexpr std::uint8_t kStatMin = 2;
inline constexpr std::uint8_t kStatMean = 4;
inline constexpr std::uint8_t kStatNan = 8;
inline constexpr std::uint8_t kStatNegativeInf = 16;
inline constexpr std::uint8_t kStatPositiveInf = 32;
inline constexpr std::uint8_t kStatL2Norm = 64;
inline constexpr std::uint8_t kStatsByDefault = 63;

/// What kernels may write besides tensors, as bits.
inline constexpr std::uint8_t kKernelPrintf = 1;
inline constexpr std::uint8_t kKernelTensor = 2;
inline constexpr std::uint8_t kKernelAssert = 4;
inline constexpr std::uint8_t kKernelTimestamp = 8;
inline constexpr std::uint8_t kKernelAll = 15;

/// What is written when the device fails.
enum class ExceptionDump : std::uint8_t { none, brief, norm, detail };

/// Operators from `begin` to `end` in execution order, both included.
struct OpRange {
  std::string_view begin{};
  std::string_view end{};
};

/// A tensor of an operator: `input0` or `output12`.
struct TensorPosition {
  bool output = false;
  std::uint32_t index = 0;
};

/// Tensors that are left out of the dump of one operator, or of all of one type.
struct TensorExclusion {
  bool by_type = false;  ///< `name` is that of a type
  std::string_view name{};
  std::span<const TensorPosition> positions{};
};

/// What few entries of a config have.
struct ModelExtras {
  std::span<const OpRange> ranges{};
  std::span<const TensorExclusion> exclusions{};
  /// Operators whose outputs are captured again after each of the entry's operators.
  std::span<const std::string_view> watched{};
};

/// What one entry of a config says about the models it names.
struct ModelRule {
  std::string_view model_name{};  ///< empty when `any_model`
  bool any_model = false;         ///< the entry names no model: it holds for every one
  bool all_layers = true;         ///< the entry names no layer and no range: every operator
  std::span<const std::string_view> layers{};
  const ModelExtras* extras = nullptr;  ///< null: none
};

/// What a config file asks for, whatever its dialect. All texts and lists are referred to: they lie in the
/// memory that was given to the parser, which must stay until the session it is given to is finalized.
struct DumpConfig {
  bool asked = false;   ///< the config switches something on, whether or not this build can do it
  bool active = false;  ///< false: valid, but nothing that this build does is switched on
  std::string_view dump_path{};
  DumpMode mode = DumpMode::output;
  DumpLevel level = DumpLevel::all;
  bool single_ops = false;  ///< operators run outside a loaded model are captured too
  StepSet steps{};
  std::span<const ModelRule> models{};
  DumpOptions options{};

  // Understood, and not acted on by this build: a config of which one of these is the only effect is not
  // active.
  DumpData data = DumpData::tensor;
  std::uint8_t statistics = kStatsByDefault;
  std::uint8_t kernel_data = 0;  ///< 0: the config does not say
  bool overflow = false;         ///< operators that overflow are captured, instead of those of `models`
  bool watch = false;            ///< the watched operators of `models` are captured instead
  ExceptionDump exception = ExceptionDump::none;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
