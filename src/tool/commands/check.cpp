#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "platform/posix/dump_store.hpp"
#include "platform/storage/log_claim.hpp"
#include "platform/storage/raw_storage.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/config_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/config/text/model_match.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/config/config_json.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {
namespace {

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
