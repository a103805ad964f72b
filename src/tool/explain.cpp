#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "config_keys.hpp"
#include "exit_code.hpp"
#include "options.hpp"
#include "src/config/refusal.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump explain - says what a key of a config does

usage: opdump explain [KEY]

KEY is the name of a key, without the objects it stands in; keys of that name in other dialects are told too.
Without KEY the keys are listed.

  $ opdump explain iteration
  iteration: the steps to dump
    in       "common_dump_settings" of MindSpore's data_dump.json
    values   "all", or "5" and "3-9", joined with |; no blanks
    default  none: it must be there

exit status
  0  told
  1  there is no such key; stderr names the closest
  2  the command line is wrong
)";

void print(const ConfigKey& key) {
  const auto line = [](const char* head, std::string_view text) {
    std::printf("  %-8s %.*s\n", head, static_cast<int>(text.size()), text.data());
  };
  std::printf("%.*s: %.*s\n", static_cast<int>(key.name.size()), key.name.data(),
              static_cast<int>(key.what.size()), key.what.data());
  line("in", key.in);
  line("values", key.values);
  line("default", key.otherwise);
}

void print_all() {
  std::string_view in;
  for (const ConfigKey& key : config_keys()) {
    if (key.in != in)
      std::printf("%s%.*s\n", in.empty() ? "" : "\n", static_cast<int>(key.in.size()), key.in.data());
    in = key.in;
    std::printf("  %-26.*s %.*s\n", static_cast<int>(key.name.size()), key.name.data(),
                static_cast<int>(key.what.size()), key.what.data());
  }
}

}  // namespace

int run_explain(Words words) {
  std::vector<std::string> names;
  if (const std::optional<int> exit_code = read_options({"explain", kHelp, {}}, words, names))
    return *exit_code;
  if (names.size() > 1) return usage_error("explain", "one KEY at a time, not also '" + names[1] + "'");
  if (names.empty()) {
    print_all();
    return kExitOk;
  }
  std::vector<std::string_view> known;
  bool told = false;
  for (const ConfigKey& key : config_keys()) {
    known.push_back(key.name);
    if (key.name != names[0]) continue;
    print(key);
    told = true;
  }
  if (told) return kExitOk;
  std::string message = "no key " + config::quoted(names[0]);
  if (const std::string_view near = config::closest(names[0], known); !near.empty())
    message += ", did you mean " + config::quoted(near) + "?";
  std::fprintf(stderr, "opdump explain: %s; 'opdump explain' lists them\n", message.c_str());
  return kExitFailed;
}

}  // namespace opdump::tool
