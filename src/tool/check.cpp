#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "config_json.hpp"
#include "config_text.hpp"
#include "exit_code.hpp"
#include "human_text.hpp"
#include "model_match.hpp"
#include "opdump/arena.hpp"
#include "options.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/dump_path.hpp"
#include "refused_line.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump check - says what a config means, or why it is refused

usage: opdump check CONFIG [--model RUN.json] [--json]

  --model RUN.json  says which operators of the models described there match, what matches nothing, and what
                    a step costs; the file is that of 'opdump replay'
  --json            the answer as a JSON object on stdout, a refusal too

CONFIG is a file in CANN's acl.json format, or '-' for standard input. The answer goes by the rules the device
goes by; the directory to dump to must exist here too. Notes tell of keys that have no effect. 'opdump explain'
says what a key does.

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
)";

/// One byte more than allowed at most, so that too much is seen.
Status read_standard_input(std::string& text, ConfigError& error) {
  char block[4096];
  while (text.size() <= kMaxConfigBytes) {
    const ssize_t got = read(STDIN_FILENO, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error.fault = ConfigFault::unreadable;
      error.reason = strerror(errno);
      return Status::config_refused;
    }
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  return Status::ok;
}

/// What there is of the file, to show a line of it.
std::string text_of(const std::string& file) {
  std::string text;
  std::FILE* from = std::fopen(file.c_str(), "re");
  if (from == nullptr) return text;
  char block[4096];
  for (std::size_t got = 1; got != 0 && text.size() <= kMaxConfigBytes;) {
    got = std::fread(block, 1, sizeof block, from);
    text.append(block, got);
  }
  std::fclose(from);
  return text;
}

/// A config with the memory it lies in.
struct Checked {
  posix::ConfigMemory file_memory;
  std::unique_ptr<std::byte[]> input_memory;
  std::string text;  ///< of standard input, and of a file that is refused
  DumpConfig config;
  ConfigError error;
  std::vector<ConfigNote> notes;

  /// Takes notes only of what is accepted without: a device that cannot act on a key refuses it.
  Status load(const std::string& file) {
    if (file != "-") {
      Status status = posix::load_config_file(file.c_str(), file_memory, config, error);
      if (status != Status::ok && error.fault != ConfigFault::unreadable) text = text_of(file);
      if (status == Status::ok)
        status = posix::load_config_file(file.c_str(), file_memory, config, error, &notes);
      return status;
    }
    if (const Status status = read_standard_input(text, error); status != Status::ok) return status;
    const std::size_t bytes = config_memory_bytes(text.size());
    input_memory.reset(new std::byte[bytes]);
    for (std::vector<ConfigNote>* taken : {static_cast<std::vector<ConfigNote>*>(nullptr), &notes}) {
      Arena arena({input_memory.get(), bytes});
      const Status status = parse_config(text, arena, posix::check_dump_path, config, error, taken);
      if (status != Status::ok) return status;
    }
    return Status::ok;
  }
};

void print_refusal(const std::string& file, const ConfigError& error, std::string_view text) {
  std::fprintf(stderr, "%s\n%s", printable(to_string(error, file)).c_str(),
               refused_line(text, error).c_str());
}

void print_words(const std::string& file, const Checked& checked, const MatchReport* report) {
  const char* verdict = "valid and active";
  if (!checked.config.active)
    verdict =
        "valid, but it switches nothing on: name models in \"dump_list\", or set "
        "\"dump_op_switch\" to \"on\"";
  std::printf("%s: %s\n", file.c_str(), verdict);
  if (checked.config.active) {
    for (const std::string& line : config_lines(checked.config)) std::printf("  %s\n", line.c_str());
  }
  if (report != nullptr) {
    for (const std::string& line : match_lines(*report)) std::printf("  %s\n", line.c_str());
  }
  for (const ConfigNote& note : checked.notes) std::printf("%s\n", printable(to_string(note, file)).c_str());
}

}  // namespace

int run_check(Words words) {
  bool json = false;
  std::optional<std::string> model;
  const Option options[] = {{"--json", {}, &json}, {"--model", {}, nullptr, &model}};
  std::vector<std::string> files;
  if (const std::optional<int> exit_code = read_options({"check", kHelp, options}, words, files))
    return *exit_code;
  if (files.empty()) return usage_error("check", "a CONFIG is missing");
  if (files.size() > 1) return usage_error("check", "one CONFIG at a time, not also '" + files[1] + "'");

  const std::string& file = files[0];
  Checked checked;
  const Status status = checked.load(file);
  RunFile run;
  MatchReport report;
  if (status == Status::ok && model) {
    ConfigError error;
    if (!run.load(*model, error)) {
      print_refusal(*model, error, text_of(*model));
      return kExitFailed;
    }
    report = match_models(checked.config, run);
  }
  const MatchReport* const shown = status == Status::ok && model ? &report : nullptr;
  if (json) {
    std::puts(config_json(file, checked.error, checked.config, checked.notes, shown).c_str());
  } else if (status == Status::ok) {
    print_words(file, checked, shown);
  } else {
    print_refusal(file, checked.error, checked.text);
  }
  if (status != Status::ok) return kExitFailed;
  return checked.config.active ? kExitOk : kExitInactive;
}

}  // namespace opdump::tool
