// A program outside opdump: reads a config with the compiled library and takes a type from the core.

#include <array>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include <opdump/config/parse.hpp>
#include <opdump/opdump.hpp>
#include <platform/posix/file_dump.hpp>

int main() {
  constexpr std::string_view kText = R"({"dump": {"dump_path": "out", "dump_list": [{}]}})";
  std::array<std::byte, opdump::config_memory_bytes(kText.size())> memory;
  opdump::Arena arena(memory);
  opdump::ConfigOutcome outcome;
  const auto& [config, error, notes] = outcome;
  if (opdump::parse_config({kText, arena}, outcome) != opdump::Status::ok) {
    std::printf("%s: %s\n", error.key.c_str(), error.reason.c_str());
    return 1;
  }
  std::printf("dumps to %.*s\n", static_cast<int>(config.dump_path.size()), config.dump_path.data());
  opdump::HostMemory memory_of_tensors;
  static opdump::posix::FileDump dump(memory_of_tensors);
  if (dump.start("absent.json") == opdump::Status::ok || dump.active()) return 1;
  return config.active && config.dump_path == "out" ? 0 : 1;
}
