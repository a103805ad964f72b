#include "src/config/blob/plan.hpp"

#include <string>

#include "opdump/config/blob.hpp"

namespace opdump {
namespace config {
namespace {

struct PlanFault {
  ConfigFault fault;
  std::string_view reason;
};

PlanFault fault_of(Status status) {
  switch (status) {
    case Status::not_a_plan:
      return {ConfigFault::damaged_plan, "a compiled plan whose first 16 bytes are damaged or not all there"};
    case Status::wrong_byte_order:
      return {ConfigFault::swapped_plan,
              "a compiled plan whose bytes have been swapped: plans are little-endian on every machine, so "
              "store the file as it is"};
    case Status::truncated:
      return {ConfigFault::damaged_plan, "a compiled plan that ends too early: store the whole file"};
    case Status::damaged:
      return {ConfigFault::damaged_plan,
              "a compiled plan with a wrong checksum: some of its bytes have changed since it was compiled"};
    case Status::newer_version:
      return {ConfigFault::newer_plan,
              "a compiled plan of another version of opdump: compile it again with the version that the "
              "program is built with"};
    case Status::not_supported:
      return {ConfigFault::newer_plan,
              "a compiled plan that asks for what this program's opdump cannot do: compile it again with the "
              "version that the program is built with"};
    default:
      return {
          ConfigFault::damaged_plan,
          "a compiled plan with a right checksum and wrong contents: it was not written by opdump compile"};
  }
}

}  // namespace

inline namespace OPDUMP_NAMESPACE {

bool read_plan(Reading& reading) {
  Arena& memory = reading.input.memory;
  DumpConfig& config = reading.config;
  const DumpPathCheck check_path = reading.input.check_path;
  const Result<std::string_view> copy = memory.text(reading.input.text);
  const Status status = copy.ok() ? load_plan(as_bytes(copy.value()), memory, config) : copy.status();
  if (status == Status::no_memory)
    return reading.refuse(ConfigFault::no_memory, 0, "",
                          "the memory for the config is full: config_memory_bytes of the plan's size is "
                          "always enough");
  if (status != Status::ok) {
    const PlanFault fault = fault_of(status);
    return reading.refuse(fault.fault, 0, "", fault.reason);
  }
  std::string reason;
  if (!config.active || config.exception != ExceptionDump::none || check_path == nullptr ||
      check_path(config.dump_path, reason))
    return true;
  return reading.refuse(ConfigFault::invalid_value, 0, "dump_path", std::move(reason));
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace config

inline namespace OPDUMP_NAMESPACE {

bool is_plan(std::string_view text) {
  constexpr std::string_view kMagic = "ODPN";
  if (text.starts_with("NPDO") || text.starts_with("DONP")) return true;
  std::size_t same = 0;
  for (std::size_t i = 0; i < kMagic.size() && i < text.size(); ++i) same += text[i] == kMagic[i];
  return same + 1 >= kMagic.size();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
