#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/number_text.hpp"
#include "opdump/config/parse.hpp"
#include "opdump/types/privacy.hpp"
#include "opdump/types/trigger.hpp"
#include "platform/posix/dump_store.hpp"
#include "platform/storage/log_claim.hpp"
#include "platform/storage/raw_storage.hpp"
#include "src/card/hexadecimal.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/config_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/config/text/model_match.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

namespace {

constexpr std::array<std::string_view, 14> kFaults = {
    "none",        "unreadable",    "too_deep", "syntax",    "missing",      "wrong_type", "empty",
    "not_in_list", "invalid_value", "conflict", "no_memory", "damaged_plan", "newer_plan", "swapped_plan"};
constexpr std::array<std::string_view, 3> kModes = {"input", "output", "all"};
constexpr std::array<std::string_view, 3> kLevels = {"op", "kernel", "all"};
constexpr std::array<std::string_view, 3> kData = {"tensor", "stats", "full"};
// In the order of the bits.
constexpr std::array<std::string_view, 13> kStatisticNames = {
    "max",   "min",      "mean",     "nan",  "negative_inf", "positive_inf", "l2norm",
    "count", "negative", "positive", "zero", "md5",          "sha1"};
constexpr std::array<std::string_view, 4> kExceptions = {"none", "brief", "norm", "detail"};

template <class Words, class Value>
std::string_view word(const Words& words, Value value) {
  return words[static_cast<std::size_t>(value)];
}

template <class Place>
void write_place(JsonWriter& json, const Place& place) {
  json.key("line").number(place.line);
  json.key("column").number(place.column);
  json.key("offset").number(place.offset);
}

void write_error(JsonWriter& json, const ConfigError& error) {
  json.key("error").open('{');
  json.key("fault").text(word(kFaults, error.fault));
  json.key("key").text(error.key);
  json.key("reason").text(error.reason);
  if (!error.file.empty()) json.key("file").text(error.file);
  write_place(json, error);
  json.key("acl_error").number(static_cast<std::uint64_t>(acl_error(error)));
  json.key("message_id").text(cann_message_id(error.fault));
  json.close('}');
}

void write_notes(JsonWriter& json, const std::vector<ConfigNote>& notes) {
  json.key("notes").open('[');
  for (const ConfigNote& note : notes) {
    json.open('{');
    json.key("key").text(note.key);
    json.key("text").text(note.text);
    if (!note.file.empty()) json.key("file").text(note.file);
    if (note.line != 0) write_place(json, note);
    json.close('}');
  }
  json.close(']');
}

template <class Texts>
void write_texts(JsonWriter& json, std::string_view key, const Texts& texts) {
  json.key(key).open('[');
  for (const auto& text : texts) json.text(text);
  json.close(']');
}

void write_rule(JsonWriter& json, const ModelRule& rule) {
  json.open('{');
  if (!rule.any_model) json.key("model").text(rule.model_name);
  if (!rule.all_layers) write_texts(json, "layers", rule.layers);
  if (rule.extras != nullptr && !rule.extras->ranges.empty()) {
    json.key("ranges").open('[');
    for (const OpRange& range : rule.extras->ranges) {
      json.open('{').key("begin").text(range.begin);
      json.key("end").text(range.end);
      json.close('}');
    }
    json.close(']');
  }
  if (rule.extras != nullptr) {
    if (!rule.extras->type_parts.empty()) write_texts(json, "types", rule.extras->type_parts);
    if (!rule.extras->patterns.empty()) {
      json.key("patterns").open('[');
      for (const NamePattern& pattern : rule.extras->patterns) json.text(pattern.text);
      json.close(']');
    }
    if (rule.extras->marked) json.key("marked").flag(true);
  }
  json.close('}');
}

void write_ranges(JsonWriter& json, std::string_view key, const StepSet& numbers) {
  if (key != "steps" && numbers.every_step()) return;
  json.key(key).open('[');
  for (const StepRange& range : numbers.ranges) {
    json.open('[').number(range.first);
    json.number(range.last);
    json.close(']');
  }
  json.close(']');
}

std::string real_text(double value) {
  char memory[kMaxNumberText];
  TextWriter text(memory);
  return std::string(add_number(text, value).text());
}

void write_triggers(JsonWriter& json, const DumpOptions& options) {
  if (triggers_of(options).empty()) return;
  json.key("trigger").open('[');
  for (const TriggerRule& rule : triggers_of(options)) {
    json.open('{');
    for (const NamePattern& pattern : rule.model()) json.key("model").text(pattern.text);
    for (const NamePattern& pattern : rule.op()) json.key("op").text(pattern.text);
    if (rule.cause() == TriggerCause::call) json.key("call").text(rule.call);
    if (rule.cause() != TriggerCause::call) json.key("stat").text(word(kTriggerWords, rule.cause()));
    if (looks_at_tensor(rule.cause())) json.key(rule.is_input() ? "input" : "output").number(rule.index());
    if (rule.has_below()) json.key("below").text(real_text(rule.lower()));
    if (rule.has_above()) json.key("above").text(real_text(rule.upper()));
    json.key("for").number(rule.steps).key("cooldown_s").number(rule.cooldown_s).close('}');
  }
  json.close(']');
  const TriggerLimits limits = trigger_limits(options);
  if (limits.bytes_per_boot == 0 && limits.firings_per_boot == 0) return;
  json.key("trigger_limits").open('{');
  if (limits.bytes_per_boot != 0) json.key("bytes_per_boot").number(limits.bytes_per_boot);
  if (limits.firings_per_boot != 0) json.key("firings_per_boot").number(limits.firings_per_boot);
  json.close('}');
}

void write_options(JsonWriter& json, const DumpOptions& options) {
  json.key("options").open('{');
  if (options.ring_bytes) json.key("ring_bytes").number(*options.ring_bytes);
  if (options.when_full) json.key("when_full").text(word(kWhenFullWords, *options.when_full));
  if (options.block_limit_ms) json.key("block_limit_ms").number(*options.block_limit_ms);
  if (options.journal) json.key("journal").text(word(kJournalWords, *options.journal));
  if (options.without_cards) json.key("model_card").text("off");
  if (options.dump_on_crash) json.key("on_crash").text("dump");
  if (!seal_key(options).empty()) json.key("seal").text(cards::hexadecimal(as_bytes(seal_key(options))));
  if (options.max_bytes != 0) json.key("max_bytes").number(options.max_bytes);
  if (options.max_files != 0) json.key("max_files").number(options.max_files);
  if (options.reserve_bytes != 0) json.key("reserve_bytes").number(options.reserve_bytes);
  if (options.keep) json.key("keep").text(word(kKeepWords, *options.keep));
  if (options.history_steps != 0) json.key("history_steps").number(options.history_steps);
  if (options.after_steps != 0) json.key("after_steps").number(options.after_steps);
  if (options.history_bytes != 0) json.key("history_bytes").number(options.history_bytes);
  write_triggers(json, options);
  if (options.fsync) json.key("fsync").text(word(kFsyncWords, *options.fsync));
  json.close('}');
}

template <class Numbers>
void write_numbers(JsonWriter& json, std::string_view key, const Numbers& numbers) {
  json.key(key).open('[');
  for (const auto number : numbers) json.number(number);
  json.close(']');
}

/// Of the statistics, in their order; nothing for tensors only.
void write_columns(JsonWriter& json, const DumpConfig& config) {
  if (config.form.data == DumpData::tensor || digest_bytes(config.form) != 0) return;
  json.key("statistics").open('[');
  const auto write = [&json](StatBits bit) {
    json.text(kStatisticNames[static_cast<std::size_t>(std::countr_zero(bit))]);
  };
  for (const StatBits bit : config.statistic_columns) write(bit);
  for (std::size_t i = 0; config.statistic_columns.empty() && i < kStatisticNames.size(); ++i) {
    const StatBits bit = static_cast<StatBits>(1u << i);
    if ((config.form.statistics & bit) != 0) write(bit);
  }
  json.close(']');
}

void write_patterns(JsonWriter& json, std::string_view key, std::span<const NamePattern> patterns) {
  for (const NamePattern& pattern : patterns) json.key(key).text(pattern.text);
}

void write_privacy(JsonWriter& json, const DumpConfig& config) {
  if (privacy_rules(config).empty()) return;
  json.key("privacy").open('[');
  for (const PrivacyRule& rule : privacy_rules(config)) {
    json.open('{');
    write_patterns(json, "model", rule.model());
    write_patterns(json, "op", rule.op());
    write_patterns(json, "type", rule.type());
    if (rule.role() != TensorRole::any) {
      json.key(rule.role() == TensorRole::input ? "input" : "output");
      if (rule.index() == kAnyTensor) json.text("all");
      if (rule.index() != kAnyTensor) json.number(rule.index());
    }
    json.key("keep").text(word(kKeptWords, rule.kept()));
    if (!rule.crop.empty()) json.key("crop").open('[');
    for (const StepRange& range : rule.crop) {
      json.open('[').number(range.first);
      json.number(range.last + 1);
      json.close(']');
    }
    if (!rule.crop.empty()) json.close(']');
    if (rule.every() != 0) json.key("every").number(rule.every());
    if (rule.elements() != 0) json.key("elements").number(rule.elements());
    json.close('}');
  }
  json.close(']');
  json.key("privacy_unmatched").text(config.privacy_tells ? "tell" : "refuse");
}

void write_config(JsonWriter& json, const DumpConfig& config) {
  json.key("dump_path").text(config.dump_path);
  json.key("mode").text(word(kModes, config.mode));
  json.key("level").text(word(kLevels, config.level));
  if (digest_bytes(config.form) != 0) {
    json.key("data").text("digest").key("digest").text(digest_word(config.form));
  } else {
    json.key("data").text(word(kData, config.form.data));
  }
  json.key("file_format").text(word(kFileFormatWords, config.form.file_format));
  json.key("layout").text(word(kLayoutWords, config.form.layout));
  json.key("single_ops").flag(config.single_ops);
  json.key("overflow").flag(config.overflow);
  json.key("watch").flag(config.watch);
  json.key("watch_changes_only").flag(config.watch_changes_only);
  json.key("exception").text(word(kExceptions, config.exception));
  write_columns(json, config);
  json.key("sample_number").number(config.sample_number);
  json.key("device_format").flag(config.device_format);
  json.key("save_kernel_args").flag(config.save_kernel_args);
  json.key("overflow_number").number(config.overflow_number);
  json.key("first_step").number(config.first_step);
  if (!config.every_device) write_numbers(json, "devices", config.devices);
  json.key("net_name").text(config.net_name);
  json.key("world_size").number(config.form.world_size);
  json.key("rank").number(config.form.rank);
  write_ranges(json, "steps", config.steps);
  json.key("rules").open('[');
  for (const ModelRule& rule : config.models) write_rule(json, rule);
  json.close(']');
  write_privacy(json, config);
  write_options(json, config.options);
}

void write_report(JsonWriter& json, const MatchReport& report) {
  json.key("models").open('[');
  for (const ModelMatch& model : report.models) {
    json.open('{').key("model").text(model.model);
    json.key("ops").number(model.forecast.ops);
    write_texts(json, "matched", model.matched);
    json.key("bytes_per_step").number(model.forecast.bytes_per_step);
    if (!model.kept.empty()) write_texts(json, "kept", model.kept);
    json.close('}');
  }
  json.close(']');
  json.key("misses").open('[');
  for (const Miss& miss : report.misses) {
    json.open('{').key("what").text(miss.what);
    if (!miss.closest.empty()) json.key("closest").text(miss.closest);
    json.close('}');
  }
  json.close(']');
  json.key("bytes_per_step").number(report.forecast.bytes_per_step);
  if (report.partition_bytes == 0) return;
  json.key("partition_bytes").number(report.partition_bytes);
  if (report.forecast.bytes_per_step != 0)
    json.key("partition_steps").number(report.partition_bytes / report.forecast.bytes_per_step);
}

/// What `opdump check` has found, as one JSON object. An error without a fault: the config is valid. `report`
/// may be null.
std::string config_json(std::string_view file, const ConfigOutcome& outcome, const MatchReport* report) {
  JsonWriter json;
  const bool valid = outcome.error.fault == ConfigFault::none;
  json.open('{').key("file").text(file);
  json.key("valid").flag(valid);
  json.key("asked").flag(outcome.config.asked);
  json.key("active").flag(outcome.config.active);
  if (!valid) write_error(json, outcome.error);
  if (valid) {
    write_notes(json, outcome.notes);
    write_config(json, outcome.config);
  }
  if (report != nullptr) write_report(json, *report);
  json.close('}');
  return json.take();
}

constexpr char kCheckHelp[] =
    R"(opdump check - says what a config means, or why it is refused

usage: opdump check CONFIG [--model MODEL [--partition BYTES]] [--personality o0|o1|o2|cpu|lite] [--for-device]
                    [--json]

  --model MODEL     says which operators of the models described there match, what matches nothing, and how many
                    bytes a step writes: files with their heads, but not the journal, nor what a file system or
                    flash adds; a RUN.json of 'opdump replay', or what 'opdump describe' says. With the .dbg file
                    of a model for CANN's nano products an acl.json is read by their rules
  --partition BYTES says how many steps fit there; with K, M, G or T behind the number for 1024 bytes and so on.
                    Otherwise the raw storage that the config names, or its "max_bytes", says so
  --personality P   which of MindSpore's ways to run the file is for: o0 and o1 (kernel by kernel), o2 (whole
                    graphs), cpu (GPU too), lite (MindSpore Lite). Otherwise o0 with an "e2e_dump_settings", lite
                    without any key that Lite does not know, and else o2. Only for files of MindSpore
  --for-device      the config is for another machine: the directory to dump to need not exist here
  --json            the answer as a JSON object on stdout, a refusal too

CONFIG is CANN's acl.json, MindSpore's data_dump.json, the config of MindSpore Lite's benchmark tool, torchair's
options as {"dump_config": {...}}, a plan that 'opdump compile' has made of one of them, or '-' for standard input;
without it the file that OPDUMP_CONFIG names, or else MINDSPORE_DUMP_CONFIG. The answer goes by the rules the device
goes by; the directory to dump to, or the raw storage, must be here too, but for directories that MindSpore makes, for
a plan, and with --for-device. Raw storage is refused if it is neither erased nor holds a flash log; nothing is
written to it. Notes tell of keys that have no effect. 'opdump explain' says what a key does.

A config for one operator of one model, checked before it is shipped:

  $ mkdir dump
  $ cat acl.json
  {"dump": {"dump_path": "dump", "dump_mode": "all", "dump_step": "0|5-9",
            "dump_list": [{"model_name": "digits", "layer": ["conv1"]}]}}
  $ opdump check acl.json
  acl.json: valid and active
    what    the inputs and outputs of operators and kernels
    models  model "digits": "conv1", by their own names or those of operators fused into them
    steps   steps 0, 5 to 9, counted from 0 when a model is loaded
    to      dump

How long 64 MiB of flash last:

  $ opdump check acl.json --model run.json --partition 64M
    ...
    match   model "digits": 1 of 10 operators: "conv1"
    cost    1 rule, 1 of 10 ops matches, about 2.6 kB per step; the partition lasts 25420 steps

A slip is told with its place:

  $ echo '{"dump": {"dump_path": ".", "dump_mode": "ouput"}}' | opdump check -
  -:1:42: dump.dump_mode: "ouput" is not allowed; allowed: "input", "output", "all"; did you mean "output"?
    1 | {"dump": {"dump_path": ".", "dump_mode": "ouput"}}
      |                                          ^

exit status
  0  valid and active
  1  refused, or not readable; stderr says where and why
  2  the command line is wrong
  3  valid, and nothing that this build does is switched on
  4  valid and active, but a key that looks misspelt or misplaced has no effect; a note says which
)";

/// What there is at the place of a config, and what of it a log has.
struct PlaceReport {
  std::string text;         ///< empty for a directory
  std::string problem;      ///< why no dump can begin there
  std::uint64_t bytes = 0;  ///< that a dump can have; 0: not known
};

PlaceReport report_of_place(const DumpConfig& config) {
  PlaceReport report;
  storage::RawStorage storage;
  storage::LogClaim claim;
  const std::string path(config.dump_path);
  if (!posix::is_raw_place(path) || storage.open(path, storage::Access::read) != Status::ok ||
      claim.inspect(storage.device()) != Status::ok)
    return report;
  const storage::StorageFacts facts = storage.facts();
  report.text = storage::storage_text(facts) + "; a log has " + count_text(claim.blocks_of_log(), "block");
  report.problem = posix::raw_refusal(config);
  report.bytes = storage::log_room(facts);
  return report;
}

/// Whether a key that seems to be meant for another has no effect.
bool has_slip(const CheckedConfig& checked) {
  return std::any_of(checked.notes.begin(), checked.notes.end(), config::is_misplaced_or_misspelt);
}

void print_words(const std::string& file, const CheckedConfig& checked, const PlaceReport& place,
                 const MatchReport* report) {
  const char* verdict = "valid and active";
  if (has_slip(checked)) verdict = "valid and active, but a key is misspelt or misplaced, and has no effect";
  if (!checked.config.active)
    verdict = "valid, but it switches nothing on; 'opdump explain' tells of the keys that do";
  print_line(file + ": " + verdict);
  if (checked.text().empty()) print_line(file + ": note: the file is empty");
  if (checked.config.active) {
    for (const std::string& line : config_lines(checked.config)) print_line("  " + line);
    if (!place.text.empty()) print_line("  storage " + place.text);
  }
  if (report != nullptr) {
    for (const std::string& line : match_lines(*report)) print_line("  " + line);
  }
  for (const ConfigNote& note : checked.notes) print_line(to_string(note, file));
}

}  // namespace

int run_check(Words words) {
  bool json = false;
  bool for_device = false;
  std::optional<std::string> model;
  std::optional<std::string> partition;
  std::optional<std::string> personality;
  const Option options[] = {{"--json", {}, &json},
                            {"--for-device", {}, &for_device},
                            {"--model", {}, nullptr, &model},
                            {"--partition", {}, nullptr, &partition},
                            {"--personality", {}, nullptr, &personality}};
  std::vector<std::string> files;
  if (const std::optional<int> exit_code = read_options({"check", kCheckHelp, options}, words, files))
    return *exit_code;
  const posix::FoundConfig found = posix::find_config(nullptr);
  if (files.empty() && found.path != nullptr) files = {found.path};
  if (files.empty()) return usage_error("check", "a CONFIG is missing");
  if (files.size() > 1) return usage_error("check", "one CONFIG at a time, not also '" + files[1] + "'");
  ConfigContext context;
  if (!read_personality(personality, context))
    return usage_error("check",
                       std::string("--personality takes ") + kPersonalities + ", not '" + *personality + "'");

  const std::optional<std::uint64_t> partition_bytes = parse_byte_size(partition.value_or("0"));
  if (!partition_bytes || (partition && *partition_bytes == 0))
    return usage_error("check", "--partition takes a number of bytes such as 4096, 64K, 16M or 1G, not '" +
                                    *partition + "'");
  if (partition && !model)
    return usage_error("check", "--partition needs --model, which tells what a step is");

  const std::string& file = files[0];
  RunFile run;
  if (model && !load_or_say(*model, run)) return kExitFailed;
  context.nano = run.is_dbg();
  CheckedConfig checked;
  Status status = checked.load(file, for_device ? nullptr : posix::check_dump_place, context);
  if (status == Status::ok) status = checked.follow_environment();
  PlaceReport place;
  if (status == Status::ok && !for_device) place = report_of_place(checked.config);
  if (!place.problem.empty()) {
    say(file + ": " + place.problem);
    return kExitFailed;
  }
  MatchReport report;
  if (status == Status::ok && model) {
    report = match_models(checked.config, DescribedModels(run.models).all());
    for (const ModelMatch& match : report.models) {
      if (!match.is_long) continue;
      say(*model + ": model \"" + printable(match.model) +
          "\": " + std::string(to_string(Status::name_too_long)));
      return kExitFailed;
    }
    std::string first;
    if (const std::size_t unsized = run.unsized_tensors(first); unsized != 0) {
      say(*model + ": " + count_text(unsized, "tensor") + " without a size before the model runs, such as " +
          first + "; the cost leaves them out");
    }
    report.partition_bytes = partition          ? *partition_bytes
                             : place.bytes != 0 ? place.bytes
                                                : checked.config.options.max_bytes;
  }
  const MatchReport* const shown = status == Status::ok && model ? &report : nullptr;
  if (json) {
    std::puts(config_json(file, checked, shown).c_str());
  } else if (status == Status::ok) {
    print_words(file, checked, place, shown);
  } else {
    print_refusal(file, checked.error, checked.text());
  }
  if (status != Status::ok) return kExitFailed;
  if (!checked.config.active) return kExitInactive;
  return has_slip(checked) ? kExitNever : kExitOk;
}

}  // namespace opdump::tool
