#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/forecast.hpp"
#include "opdump/session_log.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Takes one line without its end, which is good during the call. From whom it comes, it must not be called.
using LogHook = void (*)(void* context, std::string_view line);

/// Calls `use(text)` for each thing that `config` asks for and this build does not do.
template <class Use>
constexpr void for_each_not_done(const DumpConfig& config, Use use) {
  if (config.kernel_data != 0) use("what kernels print is not captured");
}

/// Tells in words what a session's configs ask for in vain, and what each model will cost:
///
///     config: what kernels print is not captured
///     model "digits": 3 rules, 41 of 214 ops match, about 1.9 MB per step; the partition lasts 12 steps
class TextLog final : public SessionLog {
 public:
  /// `say` may be null: nothing is told. `partition_bytes` is the room where the dump goes; 0: not known.
  /// `has_notes`: the notes of the parser are told elsewhere, so that they need not be again.
  explicit TextLog(LogHook say = nullptr, void* context = nullptr, std::uint64_t partition_bytes = 0,
                   bool has_notes = false)
      : say_(say), context_(context), partition_bytes_(partition_bytes), has_notes_(has_notes) {}

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
    line.add("model \"");
    for (const char c : plan.model->name.substr(0, kMaxNameBytes))
      line.add(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
    say_(context_, add_forecast(line.add("\": "), forecast_of(config, plan), partition_bytes_).text());
  }

 private:
  static constexpr std::size_t kMaxNameBytes = 64;

  LogHook say_;
  void* context_;
  std::uint64_t partition_bytes_;
  bool has_notes_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
