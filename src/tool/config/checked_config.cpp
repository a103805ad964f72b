#include "src/tool/config/checked_config.hpp"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "platform/posix/exception_environment.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/refused_line.hpp"

namespace opdump::tool {

/// One byte more than allowed at most, so that too much is seen.
Status CheckedConfig::read_standard_input() {
  std::string text;
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
  text_.bytes.reset(new char[text.size()]);
  text_.size = text.copy(text_.bytes.get(), text.size());
  return Status::ok;
}

Status CheckedConfig::load(const std::string& file, DumpPathCheck check_path, const ConfigContext& context) {
  const Status read =
      file == "-" ? read_standard_input() : posix::read_config_file(file.c_str(), text_, error);
  if (read != Status::ok) return read;
  if (is_plan(text())) check_path = nullptr;
  ConfigContext any_program = context;
  return posix::load_config_text(text(), file.c_str(), memory_, config, error, &notes, any_program,
                                 check_path);
}

Status CheckedConfig::follow_environment() {
  if (is_plan(text())) return Status::ok;
  posix::ProcessEnvironment environment(false);
  const Status status = posix::follow_environment(environment, memory_, config, &notes);
  if (status == Status::ok) return status;
  error.fault = ConfigFault::no_memory;
  error.reason = to_string(status);
  return status;
}

bool read_personality(const std::optional<std::string>& word, ConfigContext& context) {
  constexpr std::pair<std::string_view, MindSporeMode> kModes[] = {{"o0", MindSporeMode::kernel},
                                                                   {"o1", MindSporeMode::kernel},
                                                                   {"o2", MindSporeMode::graph},
                                                                   {"cpu", MindSporeMode::cpu}};
  if (!word) return true;
  if (*word == "lite") {
    context.dialect = ConfigDialect::mindspore_lite;
    return true;
  }
  for (const auto& [name, value] : kModes) {
    if (*word != name) continue;
    context.mindspore = value;
    return true;
  }
  return false;
}

void print_refusal(const std::string& file, const ConfigError& error, std::string_view text) {
  // The error may lie in a file that `file` names.
  posix::ConfigText named;
  ConfigError unreadable;
  if (!error.file.empty())
    text = posix::read_config_file(error.file.c_str(), named, unreadable) == Status::ok ? named.view()
                                                                                        : std::string_view{};
  const std::string line = is_plan(text) ? std::string() : refused_line(text, error);
  say(to_string(error, file));
  std::fputs(line.c_str(), stderr);
}

}  // namespace opdump::tool
