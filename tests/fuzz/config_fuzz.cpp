// Configs of every dialect, and compiled plans: what is accepted is the same through its own plan.
#include <string_view>
#include <vector>

#include "opdump/config/blob.hpp"
#include "opdump/config/parse.hpp"
#include "opdump/config/write_blob.hpp"
#include "record_use.hpp"
#include "tests/support/config_print.hpp"

namespace {

using namespace opdump;

void read(std::string_view text, MindSporeMode mode, ConfigDialect dialect = ConfigDialect::by_key) {
  std::vector<std::byte> memory(config_memory_bytes(text.size()));
  Arena arena(memory);
  ConfigContext context;
  context.dialect = dialect;
  context.mindspore = mode;
  context.diagnostic_path = "/diagnostic";
  context.privacy = privacy_reader();
  context.seal = seal_reader();
  context.triggers = trigger_reader();
  ConfigOutcome outcome;
  const auto& [config, error, notes] = outcome;
  const Status status = parse_config({text, arena, nullptr, context, true}, outcome);
  fuzz::require((status == Status::ok) == (error.fault == ConfigFault::none));
  fuzz::require(error.fault != ConfigFault::no_memory);
  fuzz::require(error.offset <= text.size() && notes.size() <= kMaxConfigNotes);
  if (status != Status::ok) {
    fuzz::require(!error.reason.empty() && !config.asked && !config.active);
    return;
  }
  const std::vector<std::byte> plan = write_plan(config);
  std::vector<std::byte> plan_memory(config_memory_bytes(plan.size()));
  Arena plan_arena(plan_memory);
  DumpConfig loaded;
  fuzz::require(load_plan(plan, plan_arena, loaded) == Status::ok);
  fuzz::require(tests::to_text(loaded) == tests::to_text(config));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const MindSporeMode mode : {MindSporeMode::by_file, MindSporeMode::cpu}) read(text, mode);
  read(text, MindSporeMode::by_file, ConfigDialect::mindspore_lite);
  return 0;
}
