#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/config/torchair.hpp"
#include "tests/support/config_corpus.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/trigger_case.hpp"

namespace opdump::tests::torchair_configs {

namespace {

ParsedConfig parse_with(const std::string& text, std::string& acl_file) {
  ConfigContext context;
  context.acl_file = &acl_file;
  context.triggers = trigger_reader();
  return ParsedConfig(text, check_path, context);
}

ParsedConfig parse_case(const std::string& folder, const std::string& name) {
  std::string acl_file;
  return parse_with(packed_text("torchair/" + folder + '/' + name), acl_file);
}

const ConfigCorpus kCorpus("torchair", parse_case);

std::vector<std::string> layers_of(const DumpConfig& config) {
  return {config.models[0].layers.begin(), config.models[0].layers.end()};
}

}  // namespace

TEST_CASE("torchair: every case of accept/ and warn/ asks for a dump, those of inactive/ do not") {
  const auto active_or_told = [](const ParsedConfig& parsed) {
    CHECK((parsed.config.active || !parsed.notes.empty()));
  };
  kCorpus.check_accepted("accept", active_or_told);
  kCorpus.check_accepted("warn", [](const ParsedConfig& parsed) { CHECK_FALSE(parsed.notes.empty()); });
  kCorpus.check_accepted("inactive", [](const ParsedConfig&) {});
}

TEST_CASE("torchair: every case of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused();
}

TEST_CASE("torchair: the documented options") {
  const DumpConfig& config = parse_case("accept", "documented").config;
  CHECK(config.active);
  CHECK(config.dump_path == "/home/dump");
  CHECK(config.mode == DumpMode::all);
  CHECK(config.steps.contains(1));
  CHECK_FALSE(config.steps.contains(2));
  CHECK(layers_of(config) == std::vector<std::string>{"Add_1Mul_1", "Add2"});
  CHECK(config.models[0].any_model);
  CHECK(config.form.layout == Layout::cann);
  CHECK(config.form.world_size == 1);
  CHECK(config.form.rank == 0);
}

TEST_CASE("torchair: defaults, layers and steps") {
  const DumpConfig& plain = parse_case("accept", "enable_true").config;
  CHECK(plain.dump_path == "./");
  CHECK(plain.mode == DumpMode::all);
  CHECK(plain.form.data == DumpData::tensor);
  CHECK(plain.steps.every_step());
  CHECK(plain.models[0].all_layers);
  CHECK(parse_case("accept", "data_stats").config.form.data == DumpData::statistics);
  CHECK(parse_case("accept", "mode_input").config.mode == DumpMode::input);
  CHECK(parse_case("warn", "quant_dumpable_true").config.quant_dumpable);
  CHECK(layers_of(parse_case("accept", "layer_many_blanks").config) ==
        std::vector<std::string>{"Add1", "Add2"});
  CHECK(layers_of(parse_case("accept", "layer_line_end").config) == std::vector<std::string>{"Add1"});
  CHECK(parse_case("accept", "layer_only_blanks").config.models[0].all_layers);
  CHECK(parse_case("accept", "step_trailing_bar").config.steps.ranges.size() == 1);
  CHECK(parse_case("accept", "step_line_end").config.steps.ranges.size() == 2);
  for (const char* name : {"step_backwards", "step_arabic_digits", "step_of_101_items"}) {
    const ParsedConfig parsed = parse_case("inactive", name);
    REQUIRE(parsed.notes.size() == 1);
    CHECK(parsed.notes[0].text.ends_with("no step is dumped"));
  }
}

TEST_CASE("torchair: a step list takes linear time") {
  const std::string digits(1 << 20, '1');
  const ParsedConfig parsed = ParsedConfig(R"({"dump_config": {"dump_step": ")" + digits + "x\"}}");
  CHECK(parsed.error.fault == ConfigFault::invalid_value);
}

TEST_CASE("torchair: the rank folder is the caller's") {
  ConfigContext context;
  context.world_size = 4;
  context.rank = 2;
  const std::string text = packed_text("torchair/accept/enable_true");
  const ParsedConfig parsed(text, check_path, context);
  CHECK(parsed.config.form.world_size == 4);
  CHECK(parsed.config.form.rank == 2);
  context.world_size = 1;
  CHECK(ParsedConfig(text, check_path, context).config.form.rank == 0);
}

TEST_CASE("torchair: dump_config_path is passed on, and not in silence where nobody reads it") {
  const std::string alone = packed_text("torchair/inactive/config_path_alone");
  std::string acl_file;
  CHECK(parse_with(alone, acl_file).status == Status::ok);
  CHECK(acl_file == "acl.json");
  const ParsedConfig noted(alone);
  CHECK(noted.status == Status::ok);
  REQUIRE(noted.notes.size() == 1);
  CHECK(noted.notes[0].key == "dump_config.dump_config_path");

  std::vector<std::byte> memory(config_memory_bytes(alone.size()));
  Arena arena(memory);
  ConfigOutcome unnoted;
  CHECK(parse_config({alone, arena}, unnoted) == Status::ok);
  CHECK_FALSE(unnoted.config.active);
  CHECK(unnoted.notes.empty());
}

TEST_CASE("torchair: options of a program mean what they mean in JSON") {
  std::vector<std::byte> memory(4096);
  Arena arena(memory);
  ConfigOutcome outcome;
  const DumpConfig& config = outcome.config;
  const ConfigError& error = outcome.error;
  const auto read = [&](const TorchairConfig& options) {
    return read_torchair_config(options, {{}, arena, check_path}, outcome);
  };
  CHECK(read({}) == Status::ok);
  CHECK_FALSE(config.asked);
  CHECK(read({.enable_dump = true, .dump_step = "0|3-5|", .dump_layer = "a b"}) == Status::ok);
  CHECK(config.active);
  CHECK(config.dump_path == "./");
  CHECK(config.steps.ranges.size() == 2);
  CHECK(config.models[0].layers.size() == 2);

  const auto fault = [&](const TorchairConfig& options) {
    CHECK(read(options) == Status::config_refused);
    CHECK_FALSE(config.asked);
    return error.key + " " + std::to_string(static_cast<int>(error.fault));
  };
  const auto at = [](const char* key, ConfigFault expected) {
    return "dump_config." + std::string(key) + " " + std::to_string(static_cast<int>(expected));
  };
  CHECK(fault({.dump_path = "missing"}) == at("dump_path", ConfigFault::invalid_value));
  CHECK(fault({.dump_path = ""}) == at("dump_path", ConfigFault::empty));
  CHECK(fault({.dump_mode = "ALL"}) == at("dump_mode", ConfigFault::not_in_list));
  CHECK(fault({.dump_step = "10-"}) == at("dump_step", ConfigFault::invalid_value));
  CHECK(fault({.dump_layer = "a-b"}) == at("dump_layer", ConfigFault::invalid_value));
  CHECK(fault({.dump_data = "statistic"}) == at("dump_data", ConfigFault::not_in_list));
  CHECK(fault({.dump_config_path = "x.txt"}) == at("dump_config_path", ConfigFault::invalid_value));
  CHECK(fault({.data_dump_stage = ""}) == at("data_dump_stage", ConfigFault::not_in_list));

  Arena none{{}};
  CHECK(read_torchair_config({.enable_dump = true}, {{}, none}, outcome) == Status::config_refused);
  CHECK(error.fault == ConfigFault::no_memory);
}

TEST_CASE("torchair: triggers are read as beside CANN's object") {
  check_trigger_case(parse_case("accept", "options_trigger"));
}

}  // namespace opdump::tests::torchair_configs
