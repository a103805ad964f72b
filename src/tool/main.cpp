#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/refusal.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/options.hpp"

namespace {

using namespace opdump::tool;

constexpr char kToolHelp[] =
    R"(opdump - looks at, converts, tries out and proves operator dumps

usage: opdump COMMAND [ARGUMENTS]

  show      lists the records of a dump with their tensors' statistics
  convert   writes the tensors of a dump as NumPy or safetensors files
  compare   compares a dump with a golden one, tensor by tensor
  check     says what a config means, or why it is refused
  compile   turns a config into a plan for a device without a JSON parser
  describe  writes what a model's file says of its operators and tensors
  diff      names the first tensor that differs between runs, bit by bit
  diverge   recomputes each operator from its own inputs, and names those that went wrong
  doctor    says what there is on this board, and what will work
  edges     tells which operator's output each input of a dump is
  explain   says what a key of a config does
  extract   gets the dumps out of a flash log
  key       makes the pair of keys that dumps are sealed and opened with
  open      opens a sealed dump
  overflow  lists the operators that overflowed, and names the first one that went wrong
  receive   takes a dump from a device, over a serial line or TCP
  replay    feeds described models through the capture path, without a device
  report    writes a dump, and how it differs from a golden one, as a page for any browser
  verify    proves that a dump is complete, or lists what is missing and why
  why       says which operator went wrong first, and how that is known

Try a config at the desk, look at the dump, and load a tensor in Python:

  opdump check acl.json
  opdump replay run.json --config acl.json
  opdump verify dump
  opdump show dump
  opdump convert -r -d dump -out arrays
  python3 -c 'import numpy; print(numpy.load("arrays/.../Conv2D.conv1.0.0.1589195081588018.output.0.npy"))'

'opdump help COMMAND' explains a command with examples. 'opdump --version' prints the version.

exit status
  0  it worked
  1  something failed or was refused; stderr says what
  2  the command line is wrong
  3  the config is valid, and switches nothing on (check, compile, replay); no device is there (doctor); nothing
     could be judged (why)
)";

struct Command {
  std::string_view name;
  int (*run)(Words words);
};

constexpr Command kCommands[] = {
    {"show", run_show},       {"convert", run_convert}, {"compare", run_compare},
    {"check", run_check},     {"compile", run_compile}, {"describe", run_describe},
    {"diff", run_diff},       {"diverge", run_diverge}, {"doctor", run_doctor},
    {"edges", run_edges},     {"explain", run_explain}, {"extract", run_extract},
    {"key", run_key},         {"open", run_open},       {"overflow", run_overflow},
    {"receive", run_receive}, {"replay", run_replay},   {"report", run_report},
    {"verify", run_verify},   {"why", run_why},
};

/// A full disk or a closed pipe behind stdout must not pass for success.
int close_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::perror("opdump: standard output");
  return kExitFailed;
}

int run(Words words) {
  if (words.empty()) return usage_error({}, "a command is missing");
  const std::string_view name = words[0];
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(words.subspan(1));
  }
  if (name == "help" && words.size() > 1) {
    const char* const help[] = {words[1], "--help"};
    return run(help);
  }
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(kToolHelp, stdout);
    return kExitOk;
  }
  if (name == "--version") {
    std::puts("opdump " OPDUMP_VERSION);
    return kExitOk;
  }
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  return usage_error(
      {}, "unknown command '" + std::string(name) + "'" + opdump::config::did_you_mean(name, names));
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv + (argc > 0 ? 1 : 0), argc > 0 ? static_cast<std::size_t>(argc) - 1 : 0);
  return close_output(run(words));
}
