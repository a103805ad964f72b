#include "src/tool/commands/doctor/surroundings.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>

#include "opdump/config/parse.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/impl/dump_path.hpp"
#include "platform/posix/impl/free_bytes.hpp"
#include "platform/posix/impl/trusted_variable.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/config/checked_config.hpp"

namespace opdump::tool {
namespace {

constexpr char kConfigVariable[] = "MINDSPORE_DUMP_CONFIG";
constexpr char kUsualConfig[] = "acl.json";

struct KnownVariable {
  const char* name;
  const char* effect;
};

constexpr KnownVariable kVariables[] = {
    {"LD_LIBRARY_PATH", "where libraries are looked for first"},
    {kConfigVariable, "the data_dump.json that load_mindspore_config reads"},
    {"MS_DIAGNOSTIC_DATA_PATH", "where MindSpore's dumps go if their config names no path"},
    {"ENABLE_MS_GE_DUMP", "1: the graph engine makes MindSpore's dumps"},
    {"ASCEND_DUMP_SCENE", "dumps operators that fail, also without a config"},
    {"NPU_COLLECT_PATH", "the same, and where to"},
    {"ASCEND_DUMP_PATH", "where dumps of operators that fail go"},
    {"ASCEND_WORK_PATH", "where those go without ASCEND_DUMP_PATH"},
    {"OPDUMP_DATADUMP_CONFIG", "the config of opdump's libdatadump on a nano device"},
    {"OPDUMP_DATADUMP_FLASH", "the raw flash that it dumps to"},
};

/// `path`, or of one that is not there the nearest directory above it that is.
std::string existing(std::string path) {
  while (!path.empty() && ::access(path.c_str(), F_OK) != 0) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
    if (slash == 0) return "/";
  }
  return path.empty() ? "." : path;
}

/// `is_made`: the dump makes the directory.
void try_directory(FoundFiles& found, bool is_made) {
  const std::string directory = is_made ? existing(found.dump_path) : found.dump_path;
  std::string reason;
  if (!posix::check_dump_path(directory, reason)) {
    found.unwritable = reason;
    return;
  }
  found.free_bytes = posix::free_bytes(directory);
  constexpr std::array<std::byte, 4096> kBlock{};
  const Bytes block(kBlock);
  OutputFile file;
  // Never committed, so that it goes with the object.
  if (!file.create(directory, "opdump-doctor") || !file.write({&block, 1})) found.unwritable = file.error();
}

}  // namespace

std::vector<FoundVariable> find_variables() {
  std::vector<FoundVariable> found;
  for (const KnownVariable& known : kVariables) {
    const char* const value = posix::trusted_variable(known.name);
    if (value != nullptr && *value != '\0') found.push_back({known.name, known.effect, value});
  }
  return found;
}

FoundFiles find_files(const std::string& config) {
  FoundFiles found = {.config = config, .config_from = "the command line", .dump_path = "."};
  const char* const named = posix::trusted_variable(kConfigVariable);
  if (found.config.empty() && named != nullptr && *named != '\0') {
    found.config = named;
    found.config_from = kConfigVariable;
  }
  if (found.config.empty() && ::access(kUsualConfig, F_OK) == 0) {
    found.config = kUsualConfig;
    found.config_from = "the current directory";
  }
  bool is_made = false;
  if (!found.config.empty()) {
    CheckedConfig checked;
    Status status = checked.load(found.config, nullptr);
    if (status == Status::ok) status = checked.follow_environment();
    if (status != Status::ok) found.refusal = to_string(checked.error, found.config);
    found.active = status == Status::ok && checked.config.active;
    if (found.active && !checked.config.dump_path.empty()) found.dump_path = checked.config.dump_path;
    is_made = checked.config.form.layout != Layout::cann;
  }
  try_directory(found, is_made);
  return found;
}

FoundClock find_clock() {
  constexpr std::uint64_t kFirstSane = 1'577'836'800'000'000;  // 2020
  posix::CounterClock clock;
  FoundClock found = {.unix_us = clock.unix_us(), .utc_offset_seconds = clock.utc_offset_seconds()};
#if defined(__x86_64__) || defined(__aarch64__)
  found.by_counter = posix::ProcessorCounter::is_trusted();
#endif
  found.is_set = found.unix_us >= kFirstSane;
  return found;
}

}  // namespace opdump::tool
