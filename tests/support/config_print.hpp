#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "opdump/types/config.hpp"
#include "opdump/types/privacy.hpp"
#include "opdump/types/trigger.hpp"

namespace opdump::tests {

/// Everything a config says, a line each. Two configs are equal when their texts are.
class ConfigPrint {
 public:
  explicit ConfigPrint(const DumpConfig& config) {
    put("asked", config.asked);
    put("active", config.active);
    put("dump_path", config.dump_path);
    put("mode", config.mode);
    put("level", config.level);
    put("single_ops", config.single_ops);
    for (const StepRange& range : config.steps.ranges) {
      put("step.first", range.first);
      put("step.last", range.last);
    }
    for (const ModelRule& rule : config.models) put(rule);
    for (const PrivacyRule& rule : config.privacy) put(rule);
    put("privacy_tells", config.privacy_tells);
    for (const TriggerRule& rule : triggers_of(config.options)) put(rule);
    put("trigger_bytes_per_boot", trigger_limits(config.options).bytes_per_boot);
    put("trigger_firings_per_boot", trigger_limits(config.options).firings_per_boot);
    put("ring_bytes", config.options.ring_bytes);
    put("when_full", config.options.when_full);
    put("block_limit_ms", config.options.block_limit_ms);
    put("journal", config.options.journal);
    put("history_steps", config.options.history_steps);
    put("after_steps", config.options.after_steps);
    put("history_bytes", config.options.history_bytes);
    put("max_bytes", config.options.max_bytes);
    put("max_files", config.options.max_files);
    put("reserve_bytes", config.options.reserve_bytes);
    put("keep", config.options.keep);
    put("fsync", config.options.fsync);
    put("on_crash", config.options.dump_on_crash);
    put("seal", config.options.seal);
    put("file_format", config.form.file_format);
    put("layout", config.form.layout);
    put("data", config.form.data);
    put("fixed_point", config.form.fixed_point);
    put("trailing_comma", config.form.trailing_comma);
    put("statistics", config.form.statistics);
    for (const StatBits column : config.statistic_columns) put("column", column);
    put("statistics_on_device", config.form.statistics_on_device);
    put("statistics_in_dtype", config.statistics_in_dtype);
    put("sample_number", config.sample_number);
    put("device_format", config.device_format);
    put("save_kernel_args", config.save_kernel_args);
    put("synchronous", config.synchronous);
    put("quant_dumpable", config.quant_dumpable);
    put("overflow_number", config.overflow_number);
    put("first_step", config.first_step);
    for (const std::uint32_t device : config.devices) put("device", device);
    put("every_device", config.every_device);
    put("net_name", config.net_name);
    put("world_size", config.form.world_size);
    put("rank", config.form.rank);
    put("kernel_data", config.kernel_data);
    put("overflow", config.overflow);
    put("watch", config.watch);
    put("watch_changes_only", config.watch_changes_only);
    put("exception", config.exception);
  }

  const std::string& text() const { return text_; }

 private:
  void put(std::string_view name, std::string_view value) {
    text_.append(name).append(" \"").append(value).append("\"\n");
  }

  template <class Value>
  requires(std::is_enum_v<Value> || std::is_integral_v<Value>) void put(std::string_view name, Value value) {
    text_.append(name).append(" ").append(std::to_string(static_cast<unsigned long long>(value))) += '\n';
  }

  template <class Value>
  void put(std::string_view name, const std::optional<Value>& value) {
    if (value) put(name, *value);
  }

  void put(const ModelRule& rule) {
    put("rule.model_name", rule.model_name);
    put("any_model", rule.any_model);
    put("all_layers", rule.all_layers);
    for (const std::string_view layer : rule.layers) put("layer", layer);
    if (rule.extras != nullptr) put(*rule.extras);
  }

  void put(const TriggerRule& rule) {
    put("trigger.names", rule.names.size());
    for (const NamePattern& pattern : rule.names) put(pattern);
    put("call", rule.call);
    put("below", rule.below);
    put("above", rule.above);
    put("trigger.numbers", rule.numbers);
    put("trigger.steps", rule.steps);
    put("cooldown_s", rule.cooldown_s);
  }

  void put(const PrivacyRule& rule) {
    put("names", rule.names.size());
    for (const NamePattern& pattern : rule.names) put(pattern);
    for (const StepRange& range : rule.crop) {
      put("crop.first", range.first);
      put("crop.last", range.last);
    }
    put("numbers", rule.numbers);
  }

  void put(const ModelExtras& extras) {
    put("extras.marked", extras.marked);
    for (const OpRange& range : extras.ranges) {
      put("range.begin", range.begin);
      put("range.end", range.end);
    }
    for (const TensorExclusion& exclusion : extras.exclusions) {
      put("exclusion.by_type", exclusion.by_type);
      put("exclusion.name", exclusion.name);
      for (const TensorPosition& position : exclusion.positions) {
        put("position.output", position.output);
        put("position.index", position.index);
      }
    }
    for (const std::string_view name : extras.watched) put("watched", name);
    for (const std::string_view part : extras.type_parts) put("type_part", part);
    for (const NamePattern& pattern : extras.patterns) put(pattern);
  }

  void put(const NamePattern& pattern) {
    put("pattern", pattern.text);
    for (const NameStep& step : pattern.steps) {
      put("step.kind", step.kind);
      put("step.a", step.a);
      put("step.b", step.b);
    }
    for (const ByteSet& set : pattern.sets) {
      for (const std::uint8_t byte : set) put("set", byte);
    }
  }

  std::string text_;
};

inline std::string to_text(const DumpConfig& config) {
  return ConfigPrint(config).text();
}

}  // namespace opdump::tests
