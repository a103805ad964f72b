// Prints what every accepted config of the corpus comes to: its plan blob in hexadecimal, the config, and
// what of a model it captures. usage: plan_print CORPUS OUTPUT. All machines must print the same bytes, which
// is how plans made on one are known to load on the others (tests/firmware/run.sh compares). Exit status 1
// when a config read from JSON and from its own blob differ.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/blob.hpp"
#include "opdump/config/write_blob.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/plan.hpp"
#include "tests/support/config_cases.hpp"
#include "tests/support/config_print.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;

/// A model with an operator for each name that `config` speaks of, and one that it does not.
struct NamedModel {
  explicit NamedModel(const DumpConfig& config) {
    add("Default/network/Conv2D-op12", "Conv2D");
    for (const ModelRule& rule : config.models) {
      if (!rule.any_model) desc.name = rule.model_name;
      for (const std::string_view layer : rule.layers) add(layer, "Layer");
      if (rule.extras == nullptr) continue;
      for (const OpRange& range : rule.extras->ranges) {
        add(range.begin, "Begin");
        add("between", "Between");
        add(range.end, "End");
      }
    }
    add("unnamed", "Other");
    ops.back().marked = true;
    desc.ops = ops;
    bits.resize(ops.size());
  }

  void add(std::string_view name, std::string_view type) { ops.push_back({.name = name, .type = type}); }

  std::vector<OpDesc> ops;
  std::vector<std::uint8_t> bits;
  ModelDesc desc{.name = "any", .id = 1};
};

std::string plan_text(const DumpConfig& config) {
  NamedModel model(config);
  ModelPlan plan;
  if (resolve_plan(config, model.desc, model.bits, plan) != Status::ok) return "plan fails\n";
  std::string text = "plan \"" + std::string(plan.directory_name) + "\" ";
  for (const std::uint8_t bits : plan.bits) text += static_cast<char>('0' + bits);
  for (const std::uint64_t step : {0u, 1u, 5u, 100u}) text += plan.steps.contains(step) ? 'x' : '.';
  return text + " from " + std::to_string(plan.next_step) + '\n';
}

std::string hex_text(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text + '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: plan_print CORPUS OUTPUT\n");
    return 2;
  }
  std::ofstream output(argv[2], std::ios::binary);
  std::size_t configs = 0;
  std::size_t different = 0;
  for (const ConfigCase& one : accepted_configs(argv[1])) {
    const ParsedConfig parsed(one.text, check_path, one.context);
    const std::vector<std::byte> blob = write_plan(parsed.config);
    std::vector<std::byte> memory(config_memory_bytes(blob.size()));
    Arena arena(memory);
    DumpConfig loaded;
    const std::string text = to_text(parsed.config) + plan_text(parsed.config);
    if (parsed.status != Status::ok || load_plan(blob, arena, loaded) != Status::ok ||
        to_text(loaded) + plan_text(loaded) != text) {
      std::fprintf(stderr, "%s: not the same through its plan\n", one.name.c_str());
      ++different;
    }
    output << one.name << '\n' << hex_text(blob) << text;
    ++configs;
  }
  output.close();
  std::printf("%zu configs, %zu of which differ from their plans\n", configs, different);
  return configs > 200 && different == 0 && output ? 0 : 1;
}
