#pragma once
#include <cstdint>
#include <limits>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/parts/forecast.hpp"
#include "opdump/port/listeners.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Calls `use(text)` for each thing that `config` asks for and that this build does not do.
template <class Use>
constexpr void for_each_not_done(const DumpConfig& config, Use use) {
  if (config.kernel_data != 0) use("what kernels print is not captured");
}

/// Of a model under a config of torchair with dump_layer.
inline constexpr std::string_view kNoDataOps =
    "Data operators that feed the chosen ones are not captured, as the model does not tell its producers";

/// Says in words what a session's configs ask for in vain, what each model will cost, and which tensors are faulty:
///
///     config: what kernels print is not captured
///     model "digits": 3 rules, 41 of 214 ops match, about 1.9 MB per step; the partition lasts 12 steps
///     never captured: operator "conv9" of model "digits": the model has no operator of that name
///     never captured: operator "fc" of model "digits" in loading 2: it was not captured at any step ...
///     lost: output 0 of operator "conv1" of model "digits" at step 0: 100 bytes given, float32 [8,24] takes
///     768
class TextLog final : public SessionLog {
 public:
  /// `say` may be null: the log is silent. `partition_bytes` is the room where the dump goes; 0: not known.
  /// `has_notes`: the caller reports the notes of the parser, so that the log need not.
  explicit TextLog(LogHook say = nullptr, void* context = nullptr, std::uint64_t partition_bytes = 0,
                   bool has_notes = false)
      : say_(say), context_(context), partition_bytes_(partition_bytes), has_notes_(has_notes) {}

  void options_ignored() override {
    constexpr std::string_view kLine =
        "config: the options in its \"opdump\" object do not count: the session was neither booted nor "
        "configured with them";
    if (say_ != nullptr) say_(context_, kLine);
  }

  void config_set(const DumpConfig& config, std::uint32_t device_id) override {
    if (say_ == nullptr) return;
    const auto say = [this](std::string_view text) {
      char memory[128];
      say_(context_, TextWriter(memory).add("config: ").add(text).text());
    };
    if (!has_notes_) for_each_not_done(config, say);
    if (!config.active) {
      say("it switches nothing on, and what was set before stays in force");
    } else if (!dumps_on(config, device_id)) {
      say("it leaves this device out, and what was set before stays in force");
    }
  }

  void model_loaded(const DumpConfig& config, const ModelPlan& plan) override {
    if (say_ == nullptr) return;
    char memory[kMaxNameBytes + 10 + kMaxForecastText];
    TextWriter line(memory);
    add_name(line.add("model "), plan.model->name);
    say_(context_, add_forecast(line.add(": "), forecast_of(config, plan), partition_bytes_).text());
    if (plan.matched_ops == 0 || !promises_data_ops(config) || tell_producers(plan.model->ops)) return;
    TextWriter note(memory);
    add_name(note.add("model "), plan.model->name).add(": ").add(kNoDataOps);
    say_(context_, note.text());
  }

  void never_captured(const NeverCaptured& what) override {
    if (say_ == nullptr) return;
    char memory[2 * kMaxNameBytes + 192];
    TextWriter line(memory);
    line.add("never captured: ");
    if (has_steps(what.cause))
      line.add("steps ").add_decimal(what.steps.first).add(" to ").add_decimal(what.steps.last).add(" of ");
    const NeverKind& kind = kind_of(what.cause);
    if (!what.name.empty() || what.model.empty()) line.add(kind.subject);
    if (!what.name.empty()) add_name(line.add(' '), what.name).add(what.model.empty() ? "" : " of ");
    if (!what.model.empty()) add_name(line.add("model "), what.model);
    if (what.load != 0) line.add(" in loading ").add_decimal(what.load);
    say_(context_, line.add(": ").add(kind.text).text());
  }

  void tensor_faulty(const FaultyTensor& faulty) override {
    if (say_ == nullptr) return;
    char memory[2 * kMaxNameBytes + 20 * kMaxToldDims + 256];
    TextWriter line(memory);
    line.add(faulty.fault == TensorFault::spare_bytes     ? "doubtful: "
             : faulty.fault == TensorFault::no_statistics ? "left out: "
                                                          : "lost: ");
    line.add(faulty.is_output ? "output " : "input ").add_decimal(faulty.index);
    add_name(line.add(" of operator "), faulty.op);
    if (!faulty.model.empty()) add_name(line.add(" of model "), faulty.model);
    line.add(" at step ").add_decimal(faulty.step).add(": ").add_decimal(faulty.tensor->bytes);
    say_(context_, add_fault(line.add(" bytes given, "), faulty).text());
  }

 private:
  static constexpr std::size_t kMaxNameBytes = 64;
  static constexpr std::size_t kMaxToldDims = 8;

  static TextWriter& add_fault(TextWriter& line, const FaultyTensor& faulty) {
    const TensorView& tensor = *faulty.tensor;
    switch (faulty.fault) {
      case TensorFault::too_many_dims:
        line.add_decimal(tensor.shape.size()).add(" dims, and ").add_decimal(tensor.original_shape.size());
        return line.add(" in the framework, of which there may be ").add_decimal(kMaxRank);
      case TensorFault::no_dtype:
        if (is_known(tensor.dtype) && is_known(tensor.original_dtype)) return line.add("and no dtype");
        return line.add("and a dtype that is none: ")
            .add_decimal(
                static_cast<unsigned>(is_known(tensor.dtype) ? tensor.original_dtype : tensor.dtype));
      case TensorFault::uncountable:
        return add_layout(line, tensor).add(" has no size");
      case TensorFault::too_large:
        return line.add("more than a record holds with the tensors before it");
      case TensorFault::spare_bytes:
        add_layout(line, tensor).add(" takes ").add_decimal(faulty.needed);
        return line.add("; all are captured: is a shape missing, or the dtype another?");
      case TensorFault::no_statistics:
        return add_layout(line, tensor).add(" has no row in statistic.csv, an array only");
      default:
        return add_layout(line, tensor).add(" takes ").add_decimal(faulty.needed);
    }
  }

  /// The dtype and the dims: `float32 [8,-1]`.
  static TextWriter& add_layout(TextWriter& line, const TensorView& tensor) {
    line.add(info(tensor.dtype).name).add(" [");
    for (std::size_t i = 0; i < tensor.shape.size() && i < kMaxToldDims; ++i) {
      const Dim dim = tensor.shape[i];
      const bool negative = dim > std::numeric_limits<Dim>::max() / 2;
      line.add(i == 0 ? "" : ",").add(negative ? "-" : "").add_decimal(negative ? 0 - dim : dim);
    }
    return line.add(tensor.shape.size() > kMaxToldDims ? ",...]" : "]");
  }

  static TextWriter& add_name(TextWriter& line, std::string_view name) {
    line.add('"');
    for (const char c : name.substr(0, kMaxNameBytes))
      line.add(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
    return line.add('"');
  }

  LogHook say_;
  void* context_;
  std::uint64_t partition_bytes_;
  bool has_notes_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
