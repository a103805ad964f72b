#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "config_text.hpp"
#include "exit_code.hpp"
#include "human_text.hpp"
#include "opdump/arena.hpp"
#include "options.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/dump_path.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump check - says what a config means, or why it is refused

usage: opdump check CONFIG

CONFIG is a file in CANN's acl.json format, or '-' for standard input. The answer goes by the rules the device
goes by; the directory to dump to must exist here too.

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

exit status
  0  valid and active
  1  refused, or not readable; stderr says where and why
  2  the command line is wrong
  3  valid, and nothing is switched on
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

}  // namespace

int run_check(Words words) {
  std::vector<std::string> files;
  if (const std::optional<int> exit_code = read_options({"check", kHelp, {}}, words, files))
    return *exit_code;
  if (files.empty()) return usage_error("check", "a CONFIG is missing");
  if (files.size() > 1) return usage_error("check", "one CONFIG at a time, not also '" + files[1] + "'");

  const std::string& file = files[0];
  posix::ConfigMemory file_memory;
  std::unique_ptr<std::byte[]> input_memory;
  DumpConfig config;
  ConfigError error;
  Status status = Status::ok;
  if (file == "-") {
    std::string text;
    status = read_standard_input(text, error);
    if (status == Status::ok) {
      const std::size_t bytes = config_memory_bytes(text.size());
      input_memory.reset(new std::byte[bytes]);
      Arena arena({input_memory.get(), bytes});
      status = parse_config(text, arena, posix::check_dump_path, config, error);
    }
  } else {
    status = posix::load_config_file(file.c_str(), file_memory, config, error);
  }
  if (status != Status::ok) {
    std::fprintf(stderr, "%s\n", printable(to_string(error, file)).c_str());
    return kExitFailed;
  }
  if (!config.active) {
    std::printf(
        "%s: valid, but it switches nothing on: name models in \"dump_list\", or set \"dump_op_switch\" to "
        "\"on\"\n",
        file.c_str());
    return kExitInactive;
  }
  std::printf("%s: valid and active\n", file.c_str());
  for (const std::string& line : config_lines(config)) std::printf("  %s\n", line.c_str());
  return kExitOk;
}

}  // namespace opdump::tool
