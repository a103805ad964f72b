#include "src/config/text/config_text.hpp"

#include "opdump/format/sealed.hpp"
#include "opdump/format/statistic_table.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/config.hpp"
#include "src/card/hexadecimal.hpp"
#include "src/config/text/human_text.hpp"
#include "src/config/text/privacy_text.hpp"
#include "src/config/text/trigger_text.hpp"

namespace opdump::tool {
namespace {

std::string_view mode_text(DumpMode mode) {
  switch (mode) {
    case DumpMode::input:
      return "the inputs";
    case DumpMode::output:
      return "the outputs";
    case DumpMode::all:
      break;
  }
  return "the inputs and outputs";
}

std::string_view level_text(DumpLevel level) {
  switch (level) {
    case DumpLevel::op:
      return "operators as a whole, not their kernels";
    case DumpLevel::kernel:
      return "kernels, not operators of several kernels as a whole";
    case DumpLevel::all:
      break;
  }
  return "operators and kernels";
}

std::string statistics_text(const DumpConfig& config) {
  std::string text;
  const auto add = [&text](StatBits bit) {
    for (const StatisticColumn& column : kStatisticColumns) {
      if (column.bit == bit) text.append(text.empty() ? "" : ", ").append(column.title);
    }
  };
  for_each_statistic(config.statistic_columns, config.form.statistics, add);
  return text;
}

std::string ranges_text(const StepSet& numbers) {
  std::string text;
  for (const StepRange& range : numbers.ranges) {
    if (!text.empty()) text += ", ";
    text += std::to_string(range.first);
    if (range.last != range.first) text += " to " + std::to_string(range.last);
  }
  return text;
}

std::string steps_text(const StepSet& steps, std::uint32_t first_step) {
  if (steps.every_step()) return "every step";
  const std::string text = ranges_text(steps);
  if (steps.no_step()) return "none";
  const bool one = steps.ranges.size() == 1 && steps.ranges[0].first == steps.ranges[0].last;
  return (one ? "step " : "steps ") + text + ", counted from " + std::to_string(first_step) +
         " when a model is loaded";
}

std::string names_text(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "\"" : ", \"") + printable(name) + '"';
  return text;
}

std::string watch_text(const ModelRule& rule) {
  return "every model: " + names_text(rule.extras->watched) +
         " watched; suspects: " + (rule.all_layers ? "every other operator" : names_text(rule.layers));
}

std::string rule_text(const ModelRule& rule) {
  if (rule.extras != nullptr && !rule.extras->watched.empty()) return watch_text(rule);
  std::string text = rule.any_model ? "every model" : "model \"" + printable(rule.model_name) + '"';
  if (rule.all_layers) return text + ": every operator";
  text += ": ";
  if (rule.extras != nullptr && rule.extras->marked) return text + "operators that the program marks";
  bool first = true;
  for (const std::string_view layer : rule.layers) {
    if (!first) text += ", ";
    text += '"' + printable(layer) + '"';
    first = false;
  }
  if (!first) text += ", by their own names or those of operators fused into them";
  for (const OpRange& range : rule.extras == nullptr ? std::span<const OpRange>{} : rule.extras->ranges) {
    if (!first) text += "; ";
    text +=
        "from \"" + printable(range.begin) + "\" to \"" + printable(range.end) + "\" in the order they run";
    first = false;
  }
  if (rule.extras == nullptr) return text;
  for (const std::string_view type : rule.extras->type_parts) {
    text += std::string(first ? "" : "; ") + "types with \"" + printable(type) + '"';
    first = false;
  }
  for (const NamePattern& pattern : rule.extras->patterns) {
    text += std::string(first ? "" : "; ") + "full names like \"" + printable(pattern.text) + '"';
    first = false;
  }
  return text;
}

std::string data_text(const DumpForm& form) {
  if (digest_bytes(form) != 0) return std::string(digest_word(form)) + " digests of ";
  switch (form.data) {
    case DumpData::tensor:
      return "";
    case DumpData::statistics:
      return "statistics of ";
    case DumpData::full:
      break;
  }
  return "data and statistics of ";
}

std::string devices_text(std::span<const std::uint32_t> devices) {
  std::string text = devices.size() == 1 ? "only the one with the id" : "only those with the ids";
  for (std::size_t i = 0; i < devices.size(); ++i) text += (i == 0 ? " " : ", ") + std::to_string(devices[i]);
  return text;
}

std::string place_text(const DumpConfig& config) {
  std::string text = printable(config.dump_path.empty() ? "." : config.dump_path);
  if (config.form.layout != Layout::cann || config.form.world_size == 0) return text;
  if (!text.ends_with('/')) text += '/';
  return text + "worldsize" + std::to_string(config.form.world_size) + "_global_rank" +
         std::to_string(config.form.rank);
}

std::string history_text(const DumpOptions& options) {
  const std::uint32_t bytes = options.history_bytes == 0 ? kDefaultHistoryBytes : options.history_bytes;
  return "then the " + std::to_string(options.history_steps) + " steps before it, of at most " +
         byte_text(bytes) + ", and " + std::to_string(options.after_steps) + " after it";
}

std::string_view full_text(WhenFull when_full) {
  switch (when_full) {
    case WhenFull::drop:
      return "is lost at once";
    case WhenFull::block:
      return "waits for the drainer";
    case WhenFull::inline_drain:
      return "is drained by the capturing thread itself";
    case WhenFull::degrade:
      break;
  }
  return "is reduced to statistics, or lost";
}

std::string_view journal_text(JournalDetail journal) {
  switch (journal) {
    case JournalDetail::none:
      return "none: losses are only counted";
    case JournalDetail::gaps:
      return "what was lost, and the totals";
    case JournalDetail::records:
      break;
  }
  return "every record, what was lost, and the totals";
}

std::string_view fsync_text(Fsync fsync) {
  switch (fsync) {
    case Fsync::never:
      return "when the system writes it out";
    case Fsync::finalize:
      return "when the dump ends";
    case Fsync::record:
      break;
  }
  return "each record when it is written";
}

std::string room_text(const DumpOptions& options) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (options.max_bytes != 0) add("at most " + byte_text(options.max_bytes));
  if (options.max_files != 0) add("at most " + std::to_string(options.max_files) + " files");
  if (options.reserve_bytes != 0) add(byte_text(options.reserve_bytes) + " of the file system stay free");
  if (options.keep)
    add(*options.keep == Keep::oldest ? "then new records are refused" : "then the oldest go");
  return text;
}

void add_option_lines(const DumpOptions& options, std::vector<std::string>& lines) {
  if (options.ring_bytes) lines.push_back("ring    " + byte_text(*options.ring_bytes) + " for each recorder");
  if (options.when_full)
    lines.push_back("full    a record that finds no room in its ring " +
                    std::string(full_text(*options.when_full)));
  if (options.block_limit_ms)
    lines.push_back("wait    " + std::to_string(*options.block_limit_ms) + " ms without progress at most");
  if (options.journal) lines.push_back("journal " + std::string(journal_text(*options.journal)));
  if (!seal_key(options).empty())
    lines.push_back("sealed  for key " +
                    cards::hexadecimal(as_bytes(seal_key(options).substr(0, sealed::kKeyIdBytes))) +
                    "; names of files and their sizes stay in clear");
  if (options.without_cards) lines.push_back("cards   none: what a model is stands in no file of the dump");
  if (const std::string room = room_text(options); !room.empty()) lines.push_back("room    " + room);
  if (options.fsync) lines.push_back("safe    " + std::string(fsync_text(*options.fsync)));
  if (options.dump_on_crash)
    lines.push_back("crash   what the rings hold is written when a signal ends the process");
}

std::string overflow_text(const DumpConfig& config) {
  std::string text = has_rank_folder(config.form.layout) ? "" : ", and what is known of each overflow";
  if (config.overflow_number != 0) text += "; the first " + std::to_string(config.overflow_number);
  return text;
}

}  // namespace

std::vector<std::string> config_lines(const DumpConfig& config) {
  std::vector<std::string> lines;
  if (config.exception != ExceptionDump::none) {
    lines.push_back("what    the operator that fails, and nothing else");
    lines.push_back("models  every model: every operator");
  } else if (config.watch) {
    lines.push_back(config.watch_changes_only
                        ? "what    outputs of the watched operators, when another operator overwrites them"
                        : "what    outputs of the watched operators, when they and when suspects have run");
  } else if (config.overflow) {
    lines.push_back("what    " + data_text(config.form) +
                    "the inputs and outputs of operators that overflow" + overflow_text(config));
    if (config.models.empty()) lines.push_back("models  every model: every operator");
  } else {
    lines.push_back("what    " + data_text(config.form) + std::string(mode_text(config.mode)) + " of " +
                    std::string(level_text(config.level)));
  }
  if (config.sample_number != 0)
    lines.push_back("sample  only the first " + count_text(config.sample_number, "element") +
                    " of each tensor");
  const bool failures = config.exception != ExceptionDump::none;
  for (const ModelRule& rule : failures ? std::span<const ModelRule>{} : config.models)
    lines.push_back("models  " + rule_text(rule));
  if (promises_data_ops(config))
    lines.push_back("also    Data operators that feed these, where the model tells its \"producers\"");
  if (config.models.empty() && !config.overflow && !failures) lines.push_back("models  none");
  if (config.single_ops) {
    lines.push_back(
        config.steps.every_step()
            ? "single  operators run outside a model too"
            : "single  operators run outside a model never: they have no step, and steps are asked for");
  }
  lines.push_back("steps   " + steps_text(config.steps, config.first_step));
  if (!config.every_device) lines.push_back("devices " + devices_text(config.devices));
  lines.push_back("to      " + place_text(config));
  if (config.form.layout != Layout::cann || config.form.file_format != FileFormat::nano)
    lines.push_back(
        "as      " + std::string(kFileFormatWords[static_cast<std::size_t>(config.form.file_format)]) +
        " files in the layout " + std::string(kLayoutWords[static_cast<std::size_t>(config.form.layout)]));
  if (config.options.history_steps != 0)
    lines.push_back("when    something happens: " + history_text(config.options));
  for (const TriggerRule& rule : triggers_of(config.options))
    lines.push_back("when    " + trigger_text(rule));
  for (const std::string& line : trigger_step_lines(config)) lines.push_back("when    " + line);
  if (const std::string limits = trigger_limits_text(trigger_limits(config.options)); !limits.empty())
    lines.push_back("when    " + limits);
  if (config.form.data != DumpData::tensor && digest_bytes(config.form) == 0)
    lines.push_back("stats   " + statistics_text(config));
  add_option_lines(config.options, lines);
  for (const PrivacyRule& rule : privacy_rules(config)) lines.push_back("keep    " + privacy_text(rule));
  if (!privacy_rules(config).empty())
    lines.push_back(
        config.privacy_tells
            ? "keep    every other tensor; a rule that names no tensor of a model is only told"
            : "keep    every other tensor; a model in which a rule names no tensor is not dumped");
  return lines;
}

}  // namespace opdump::tool
