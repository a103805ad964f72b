#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/refusal.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/config/config_keys.hpp"

namespace opdump::tool {
namespace {

constexpr char kExplainHelp[] =
    R"(opdump explain - says what a key of a config does, and which runtimes there are adapters for

usage: opdump explain [KEY]
       opdump explain --runtimes
       opdump explain [--runtimes] --markdown

  --runtimes  the adapters for runtimes: how each is attached, what it sees and costs, where it was run
  --markdown  all keys with all that is said of them, or all runtimes, as tables for a document

KEY is the name of a key, without the objects it stands in; keys of that name in other dialects are told too. Of
an object, such as opdump, the keys in it are listed.
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

/// What is no key and stands in documents and logs beside keys.
struct ExplainedTerm {
  std::string_view name, what;
};
constexpr ExplainedTerm kTerms[] = {
    {"OPDUMP_CONFIG",
     "an environment variable: the path of the config, of any dialect, that a program starts with"},
    {"MINDSPORE_DUMP_CONFIG",
     "an environment variable: the path of the data_dump.json that a program of MindSpore starts with"},
    {"MS_DIAGNOSTIC_DATA_PATH",
     "an environment variable: where the \"path\" of a data_dump.json is empty, files lie in debug_dump below it"},
    {"rank_id",
     "a part of MindSpore's paths, rank_{rank_id}: the number of the process in the training, or 0"},
    {"data_index",
     "a part of CANN's paths: the step, as dump_step counts it, or a number from 0 on, 1 more for each step"},
};

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

/// The first name in quotes of `in`: of the object or list that a key stands in.
std::string_view object_of(std::string_view in) {
  const std::string_view rest = in.substr(in.find('"') + 1);
  return rest.substr(0, rest.find('"'));
}

/// Whether there are keys in objects of that name; they are listed.
bool print_object(std::string_view name, bool behind_others) {
  std::string_view in;
  for (const ConfigKey& key : config_keys()) {
    if (object_of(key.in) != name) continue;
    if (key.in != in) {
      if (behind_others || !in.empty()) print_line({});
      print_line("keys of " + std::string(key.in));
    }
    in = key.in;
    std::printf("  %-26.*s %.*s\n", static_cast<int>(key.name.size()), key.name.data(),
                static_cast<int>(key.what.size()), key.what.data());
  }
  return !in.empty();
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

/// A bar would end the cell.
std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

void print_markdown() {
  std::string_view in;
  for (const ConfigKey& key : config_keys()) {
    if (key.in != in) {
      std::printf("%s### %.*s\n\n| key | what it says | values | default |\n|---|---|---|---|\n",
                  in.empty() ? "" : "\n", static_cast<int>(key.in.size()), key.in.data());
    }
    in = key.in;
    std::printf("| `%.*s` | %s | %s | %s |\n", static_cast<int>(key.name.size()), key.name.data(),
                markdown_cell(key.what).c_str(), markdown_cell(key.values).c_str(),
                markdown_cell(key.otherwise).c_str());
  }
}

struct RuntimeField {
  const char* head;
  std::string_view Runtime::*text;
};

constexpr RuntimeField kRuntimeFields[] = {
    {"attached", &Runtime::attached}, {"seen", &Runtime::seen}, {"inside", &Runtime::inside},
    {"off", &Runtime::off},           {"on", &Runtime::on},     {"state", &Runtime::state},
};

void print_runtimes() {
  for (const Runtime& runtime : runtimes()) {
    const auto line = [](const char* head, std::string_view text) {
      std::printf("  %-8s %.*s\n", head, static_cast<int>(text.size()), text.data());
    };
    std::printf("%s%.*s\n", &runtime == runtimes().data() ? "" : "\n", static_cast<int>(runtime.name.size()),
                runtime.name.data());
    if (!runtime.header.empty()) line("header", runtime.header);
    for (const RuntimeField& field : kRuntimeFields) line(field.head, runtime.*field.text);
  }
}

/// With links for a document two folders below the root.
void print_runtimes_markdown() {
  print_line("| runtime | how it is attached | what is seen | inside fused operators | off | on | state |");
  print_line("|---|---|---|---|---|---|---|");
  for (const Runtime& runtime : runtimes()) {
    std::string row = "| " + std::string(runtime.name);
    if (!runtime.header.empty())
      row = "| [" + std::string(runtime.name) + "](../../" + std::string(runtime.header) + ")";
    for (const RuntimeField& field : kRuntimeFields) row += " | " + markdown_cell(runtime.*field.text);
    print_line(row + " |");
  }
}

}  // namespace

int run_explain(Words words) {
  bool markdown = false;
  bool of_runtimes = false;
  const Option options[] = {{.name = "--markdown", .flag = &markdown},
                            {.name = "--runtimes", .flag = &of_runtimes}};
  std::vector<std::string> names;
  if (const std::optional<int> exit_code = read_options({"explain", kExplainHelp, options}, words, names))
    return *exit_code;
  if (markdown && !names.empty()) return usage_error("explain", "--markdown goes with no KEY");
  if (of_runtimes && !names.empty()) return usage_error("explain", "--runtimes goes with no KEY");
  if (of_runtimes) {
    if (markdown) {
      print_runtimes_markdown();
    } else {
      print_runtimes();
    }
    return kExitOk;
  }
  if (markdown) {
    print_markdown();
    return kExitOk;
  }
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
  for (const ExplainedTerm& term : kTerms) {
    known.push_back(term.name);
    if (term.name != names[0]) continue;
    print_line(std::string(term.name) + ": " + std::string(term.what));
    told = true;
  }
  if (print_object(names[0], told)) return kExitOk;
  if (told) return kExitOk;
  std::string message = "no key " + config::in_quotes(names[0]);
  if (const std::string_view near = config::closest(names[0], known); !near.empty())
    message += ", did you mean " + config::in_quotes(near) + "?";
  say("opdump explain: " + message + "; 'opdump explain' lists them");
  return kExitFailed;
}

}  // namespace opdump::tool
