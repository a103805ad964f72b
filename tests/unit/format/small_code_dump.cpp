#undef OPDUMP_SMALL_CODE
#define OPDUMP_SMALL_CODE 1
#undef OPDUMP_FAULTS
#define OPDUMP_FAULTS 1
#include "tests/unit/format/small_code_dump.hpp"
#include "opdump/config/blob.hpp"
#include "tests/support/dump_of_all.hpp"

std::map<std::string, std::string> dump_of_small_code(bool with_statistics) {
  return dump_of_all(with_statistics ? opdump::DumpData::full : opdump::DumpData::tensor);
}

std::map<std::string, std::string> overflows_of_small_code() {
  return dump_of_all(opdump::DumpData::tensor, true);
}

int status_of_heads_in_small_code(std::size_t bytes) {
  DumpFiles files;
  FileMap sink(files);
  opdump::HostMemory memory;
  CountedClock clock;
  std::byte scratch[64];
  opdump::BasicSession<opdump::HostMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  alignas(8) std::byte ring[1024], heads[1024];
  return static_cast<int>(session.add_recorder(ring, opdump::MutableBytes(heads, bytes)).status());
}

int status_of_small_code(Unusual what) {
  static const opdump::NameStep steps[] = {{}};
  static const opdump::NamePattern patterns[] = {{.text = ".*", .steps = steps}};
  static const std::string_view parts[] = {"conv"};
  static const opdump::TensorExclusion exclusions[] = {{.name = "op"}};
  static const opdump::OpRange ranges[] = {{.begin = "a", .end = "b"}};
  opdump::ModelExtras extras;
  if (what == Unusual::patterns) extras.patterns = patterns;
  if (what == Unusual::type_parts) extras.type_parts = parts;
  if (what == Unusual::exclusions) extras.exclusions = exclusions;
  if (what == Unusual::ranges) extras.ranges = ranges;
  extras.marked = what == Unusual::marked;
  const opdump::ModelRule rules[] = {{.model_name = "m", .all_layers = false, .extras = &extras}};
  DumpFiles files;
  FileMap sink(files);
  opdump::HostMemory memory;
  CountedClock clock;
  std::byte scratch[1024];
  opdump::BasicSession<opdump::HostMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  if (session.init() != opdump::Status::ok) return -1;
  return static_cast<int>(
      session.set_config({.asked = true, .active = true, .dump_path = "d", .models = rules}));
}

int plan_status_of_small_code(const void* plan, std::size_t bytes) {
  alignas(std::max_align_t) std::byte memory[1024];
  opdump::Arena lists(memory);
  opdump::DumpConfig config;
  return static_cast<int>(opdump::load_plan({static_cast<const std::byte*>(plan), bytes}, lists, config));
}
