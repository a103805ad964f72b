#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/status.hpp"
#include "opdump/step_set.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Which tensors of an operator are captured.
enum class DumpMode : std::uint8_t { input, output, all };

/// Whether operators, their kernels, or both are captured.
enum class DumpLevel : std::uint8_t { op, kernel, all };

/// What one entry of a config says about the models it names.
struct ModelRule {
  bool any_model = false;         ///< the entry names no model: it holds for every one
  std::string_view model_name{};  ///< empty when `any_model`
  bool all_layers = true;         ///< the entry names no layer: every operator
  std::span<const std::string_view> layers{};
};

/// What a config file asks for, whatever its dialect. All texts and lists are referred to: they lie in the
/// memory that was given to the parser, which must stay until the session it is given to is finalized.
struct DumpConfig {
  bool active = false;  ///< false: valid, but nothing is switched on
  std::string_view dump_path{};
  DumpMode mode = DumpMode::output;
  DumpLevel level = DumpLevel::all;
  bool single_ops = false;  ///< operators run outside a loaded model are captured too
  StepSet steps{};
  std::span<const ModelRule> models{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
