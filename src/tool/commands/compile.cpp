#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opdump/config/blob.hpp"
#include "opdump/config/write_blob.hpp"
#include "src/config/text/human_text.hpp"
#include "src/config/text/model_match.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {
namespace {

constexpr char kCompileHelp[] =
    R"(opdump compile - turns a config into a plan for a device without a JSON parser

usage: opdump compile CONFIG -o PLAN [--c NAME] [--model RUN.json] [--personality o0|o1|o2|cpu|lite]

  -o PLAN           the file to write
  --c NAME          write a C header with the array NAME instead of the bytes themselves
  --model RUN.json  also tell what of the config matches nothing in the models described there
  --personality P   as for 'opdump check'

CONFIG is any file that 'opdump check' takes, or '-' for standard input. A plan holds all that the config says,
with its defaults, under a checksum. Firmware loads it with opdump::load_plan, without heap; a program that
reads JSON takes it in place of the JSON. 'opdump check PLAN' says what is in it. The directory to dump to is
the device's: it need not exist here.

  $ opdump compile acl.json -o dump.plan
  dump.plan: 147 bytes; loading it takes at most 96 bytes of RAM
  $ opdump compile acl.json -o dump_plan.h --c dump_plan

The header defines dump_plan, DUMP_PLAN_BYTES and DUMP_PLAN_MEMORY_BYTES:

  #include "dump_plan.h"
  alignas(8) static std::byte memory[DUMP_PLAN_MEMORY_BYTES];
  opdump::Arena arena(memory);
  opdump::DumpConfig config;
  opdump::Status status = opdump::load_plan(std::as_bytes(std::span(dump_plan)), arena, config);

exit status
  0  written
  1  the config is refused or not readable, or PLAN cannot be written; stderr says where and why
  2  the command line is wrong
  3  written, and nothing that this build does is switched on
)";

/// What loading `plan` takes where pointers are the largest: here.
Result<std::size_t> memory_bytes(Bytes plan) {
  const std::size_t most = config_memory_bytes(plan.size());
  const std::unique_ptr<std::byte[]> memory(new std::byte[most]);
  Arena arena({memory.get(), most});
  DumpConfig loaded;
  const Status status = load_plan(plan, arena, loaded);
  if (status != Status::ok) return status;
  return arena.used();
}

}  // namespace

int run_compile(Words words) {
  std::optional<std::string> output;
  std::optional<std::string> array;
  std::optional<std::string> model;
  std::optional<std::string> personality;
  const Option options[] = {{"-o", "--output", nullptr, &output},
                            {"--c", {}, nullptr, &array},
                            {"--model", {}, nullptr, &model},
                            {"--personality", {}, nullptr, &personality}};
  std::vector<std::string> files;
  if (const std::optional<int> exit_code = read_options({"compile", kCompileHelp, options}, words, files))
    return *exit_code;
  if (files.empty()) return usage_error("compile", "a CONFIG is missing");
  if (files.size() > 1) return usage_error("compile", "one CONFIG at a time, not also '" + files[1] + "'");
  if (!output || output->empty()) return usage_error("compile", "name the file to write with -o PLAN");
  if (array && !is_c_name(*array))
    return usage_error("compile", "'" + *array + "' is no name for an array in C and C++");
  ConfigContext context;
  if (!read_personality(personality, context))
    return usage_error("compile",
                       std::string("--personality takes ") + kPersonalities + ", not '" + *personality + "'");

  const std::string& file = files[0];
  RunFile run;
  if (model && !load_or_say(*model, run)) return kExitFailed;
  context.nano = run.is_dbg();
  CheckedConfig checked;
  if (checked.load(file, nullptr, context) != Status::ok) {
    print_refusal(file, checked.error, checked.text());
    return kExitFailed;
  }
  const std::vector<std::byte> plan = write_plan(checked.config);
  const Result<std::size_t> memory = memory_bytes(plan);
  if (!memory.ok()) {
    say(file + ": the plan cannot be loaded again: " + std::string(to_string(memory.status())));
    return kExitFailed;
  }
  const std::string source = array ? plan_source(plan, *array, memory.value()) : std::string();
  std::string reason;
  if (!write_file(*output, array ? as_bytes(source) : Bytes(plan), reason)) {
    say(reason);
    return kExitFailed;
  }

  std::printf("%s: %zu bytes; loading it takes at most %zu bytes of RAM\n", printable(*output).c_str(),
              plan.size(), memory.value());
  for (const ConfigNote& note : checked.notes) say(to_string(note, file));
  if (checked.config.options.without_cards && seal_key(checked.config.options).empty())
    say(file + ": opdump.model_card: has no effect here: firmware with a compiled config writes no cards");
  if (model) {
    for (const Miss& miss : match_models(checked.config, DescribedModels(run.models).all()).misses)
      say(file + ": " + miss_text(miss));
  }
  if (checked.config.active) return kExitOk;
  say(file + ": switches nothing on");
  return kExitInactive;
}

}  // namespace opdump::tool
