#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/config/torchair.hpp"
#include "tests/support/config_corpus.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/trigger_case.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

ParsedConfig parse_with(const std::string& text, std::string& acl_file) {
  ConfigContext context;
  context.acl_file = &acl_file;
  context.triggers = trigger_reader();
  return ParsedConfig(text, check_path, context);
}

ParsedConfig parse_case(const std::string& folder, const std::string& name) {
  std::string acl_file;
  return parse_with(read_file(corpus("torchair/" + folder) / (name + ".json")), acl_file);
}

const ConfigCorpus kCorpus("torchair/", parse_case);

const std::vector<RefusedCase> kRefused = {
    // clang-format off
    {"config_path_capitals", ConfigFault::invalid_value, "dump_config.dump_config_path", "\"acl.JSON\" must end with .json", 2, 60},
    {"config_path_empty", ConfigFault::empty, "dump_config.dump_config_path", "present but empty: name an acl.json", 2, 60},
    {"config_path_number", ConfigFault::wrong_type, "dump_config.dump_config_path", "a number, but it must be a string", 2, 60},
    {"config_path_other_suffix", ConfigFault::invalid_value, "dump_config.dump_config_path", "\"acl.jsn\" must end with .json", 2, 60},
    {"data_boolean", ConfigFault::wrong_type, "dump_config.dump_data", "true or false, but it must be a string", 2, 53},
    {"data_empty", ConfigFault::not_in_list, "dump_config.dump_data", "\"\" is not allowed; allowed: \"tensor\", \"stats\"", 2, 53},
    {"data_unknown", ConfigFault::not_in_list, "dump_config.dump_data", "\"statistic\" is not allowed; allowed: \"tensor\", \"stats\"", 2, 53},
    {"dump_config_is_array", ConfigFault::wrong_type, "dump_config", "an array, but it must be an object", 1, 17},
    {"dump_config_is_null", ConfigFault::wrong_type, "dump_config", "null, but it must be an object", 1, 17},
    {"enable_2", ConfigFault::not_in_list, "dump_config.enable_dump", "2 is not allowed; allowed: true, false", 2, 34},
    {"enable_half", ConfigFault::not_in_list, "dump_config.enable_dump", "0.5 is not allowed; allowed: true, false", 2, 34},
    {"enable_list", ConfigFault::wrong_type, "dump_config.enable_dump", "an array, but it must be true or false", 2, 34},
    {"enable_null", ConfigFault::wrong_type, "dump_config.enable_dump", "null, but it must be true or false", 2, 34},
    {"enable_on", ConfigFault::wrong_type, "dump_config.enable_dump", "a string, but it must be true or false", 2, 34},
    {"enable_one_in_quotes", ConfigFault::wrong_type, "dump_config.enable_dump", "a string, but it must be true or false", 2, 34},
    {"enable_string", ConfigFault::wrong_type, "dump_config.enable_dump", "a string, but it must be true or false", 2, 34},
    {"first_option_before_second", ConfigFault::invalid_value, "dump_config.dump_step", "\"x\" is no list of steps: write 5 or 3-5, digits only, with |", 2, 53},
    {"layer_bar", ConfigFault::invalid_value, "dump_config.dump_layer", "\"a|b\" may consist of letters, digits and _ \" / \\ . only, wit", 2, 54},
    {"layer_colon", ConfigFault::invalid_value, "dump_config.dump_layer", "\"a:b\" may consist of letters, digits and _ \" / \\ . only, wit", 2, 54},
    {"layer_comma", ConfigFault::invalid_value, "dump_config.dump_layer", "\"a,b\" may consist of letters, digits and _ \" / \\ . only, wit", 2, 54},
    {"layer_dash", ConfigFault::invalid_value, "dump_config.dump_layer", "\"conv-1\" may consist of letters, digits and _ \" / \\ . only, ", 2, 54},
    {"layer_line_end_inside", ConfigFault::invalid_value, "dump_config.dump_layer", "\"a?b\" may consist of letters, digits and _ \" / \\ . only, wit", 2, 54},
    {"layer_list", ConfigFault::wrong_type, "dump_config.dump_layer", "an array, but it must be a string", 2, 54},
    {"layer_null", ConfigFault::wrong_type, "dump_config.dump_layer", "null, but it must be a string", 2, 54},
    {"layer_tab", ConfigFault::invalid_value, "dump_config.dump_layer", "\"a?b\" may consist of letters, digits and _ \" / \\ . only, wit", 2, 54},
    {"layer_umlaut", ConfigFault::invalid_value, "dump_config.dump_layer", "\"fühl\" may consist of letters, digits and _ \" / \\ . only, w", 2, 54},
    {"mode_capitals", ConfigFault::not_in_list, "dump_config.dump_mode", "\"ALL\" is not allowed; allowed: \"input\", \"output\", \"all\"; did", 2, 53},
    {"mode_empty", ConfigFault::not_in_list, "dump_config.dump_mode", "\"\" is not allowed; allowed: \"input\", \"output\", \"all\"", 2, 53},
    {"mode_null", ConfigFault::wrong_type, "dump_config.dump_mode", "null, but it must be a string", 2, 53},
    {"mode_unknown", ConfigFault::not_in_list, "dump_config.dump_mode", "\"inputs\" is not allowed; allowed: \"input\", \"output\", \"all\"; ", 2, 53},
    {"options_unknown_key", ConfigFault::not_in_list, "opdump.ring", "unknown key; allowed: \"ring_bytes\", \"when_full\", \"block_limi", 3, 14},
    {"path_empty", ConfigFault::empty, "dump_config.dump_path", "present but empty: name an existing directory", 2, 53},
    {"path_missing_directory", ConfigFault::invalid_value, "dump_config.dump_path", "no such directory", 2, 53},
    {"path_null", ConfigFault::wrong_type, "dump_config.dump_path", "null, but it must be a string", 2, 53},
    {"path_number", ConfigFault::wrong_type, "dump_config.dump_path", "a number, but it must be a string", 2, 53},
    {"path_wrong_though_off", ConfigFault::invalid_value, "dump_config.dump_path", "no such directory", 2, 54},
    {"quant_dumpable_2", ConfigFault::not_in_list, "dump_config.quant_dumpable", "2 is not allowed; allowed: true, false", 2, 58},
    {"quant_dumpable_string", ConfigFault::wrong_type, "dump_config.quant_dumpable", "a string, but it must be true or false", 2, 58},
    {"stage_null", ConfigFault::wrong_type, "dump_config.data_dump_stage", "null, but it must be a string", 2, 59},
    {"stage_unknown", ConfigFault::not_in_list, "dump_config.data_dump_stage", "\"final\" is not allowed; allowed: \"original\", \"optimized\"", 2, 59},
    {"step_bar", ConfigFault::invalid_value, "dump_config.dump_step", "\"|\" is no list of steps: write 5 or 3-5, digits only, with |", 2, 53},
    {"step_blank", ConfigFault::invalid_value, "dump_config.dump_step", "\"0 | 1\" is no list of steps: write 5 or 3-5, digits only, wi", 2, 53},
    {"step_comma", ConfigFault::invalid_value, "dump_config.dump_step", "\"0,1\" is no list of steps: write 5 or 3-5, digits only, with", 2, 53},
    {"step_double_bar", ConfigFault::invalid_value, "dump_config.dump_step", "\"0||1\" is no list of steps: write 5 or 3-5, digits only, wit", 2, 53},
    {"step_leading_bar", ConfigFault::invalid_value, "dump_config.dump_step", "\"|0\" is no list of steps: write 5 or 3-5, digits only, with ", 2, 53},
    {"step_letters", ConfigFault::invalid_value, "dump_config.dump_step", "\"all\" is no list of steps: write 5 or 3-5, digits only, with", 2, 53},
    {"step_line_end_inside", ConfigFault::invalid_value, "dump_config.dump_step", "\"0?|1\" is no list of steps: write 5 or 3-5, digits only, wit", 2, 53},
    {"step_long_and_bad", ConfigFault::invalid_value, "dump_config.dump_step", "\"11111111111111111111x\" is no list of steps: write 5 or 3-5,", 2, 53},
    {"step_negative", ConfigFault::invalid_value, "dump_config.dump_step", "\"-1\" is no list of steps: write 5 or 3-5, digits only, with ", 2, 53},
    {"step_null", ConfigFault::wrong_type, "dump_config.dump_step", "null, but it must be a string", 2, 53},
    {"step_number", ConfigFault::wrong_type, "dump_config.dump_step", "a number, but it must be a string", 2, 53},
    {"step_open_range", ConfigFault::invalid_value, "dump_config.dump_step", "\"10-\" is no list of steps: write 5 or 3-5, digits only, with", 2, 53},
    {"step_three_parts", ConfigFault::invalid_value, "dump_config.dump_step", "\"1-2-3\" is no list of steps: write 5 or 3-5, digits only, wi", 2, 53},
    {"step_two_line_ends", ConfigFault::invalid_value, "dump_config.dump_step", "\"0??\" is no list of steps: write 5 or 3-5, digits only, with", 2, 53},
    {"step_two_trailing_bars", ConfigFault::invalid_value, "dump_config.dump_step", "\"0||\" is no list of steps: write 5 or 3-5, digits only, with", 2, 53},
    {"unknown_option", ConfigFault::not_in_list, "dump_config.dump_steps", "unknown option; there are \"enable_dump\", \"dump_path\", \"dump_", 2, 40},
    {"unknown_option_far", ConfigFault::not_in_list, "dump_config.colour", "unknown option; there are \"enable_dump\", \"dump_path\", \"dump_", 2, 40},
    // clang-format on
};

std::vector<std::string> layers_of(const DumpConfig& config) {
  return {config.models[0].layers.begin(), config.models[0].layers.end()};
}

}  // namespace

TEST_CASE("torchair: every file of accept/ and warn/ asks for a dump, those of inactive/ do not") {
  const auto active_or_told = [](const ParsedConfig& parsed) {
    CHECK((parsed.config.active || !parsed.notes.empty()));
  };
  kCorpus.check_accepted("accept", active_or_told);
  kCorpus.check_accepted("warn", [](const ParsedConfig& parsed) { CHECK_FALSE(parsed.notes.empty()); });
  kCorpus.check_accepted("inactive", [](const ParsedConfig&) {});
}

TEST_CASE("torchair: every file of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused(kRefused);
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
  const std::string text = read_file(corpus("torchair/accept") / "enable_true.json");
  const ParsedConfig parsed(text, check_path, context);
  CHECK(parsed.config.form.world_size == 4);
  CHECK(parsed.config.form.rank == 2);
  context.world_size = 1;
  CHECK(ParsedConfig(text, check_path, context).config.form.rank == 0);
}

TEST_CASE("torchair: dump_config_path is passed on, and not in silence where nobody reads it") {
  const std::string alone = read_file(corpus("torchair/inactive") / "config_path_alone.json");
  std::string acl_file;
  CHECK(parse_with(alone, acl_file).status == Status::ok);
  CHECK(acl_file == "acl.json");
  const ParsedConfig noted(alone);
  CHECK(noted.status == Status::ok);
  REQUIRE(noted.notes.size() == 1);
  CHECK(noted.notes[0].key == "dump_config.dump_config_path");

  std::vector<std::byte> memory(config_memory_bytes(alone.size()));
  Arena arena(memory);
  DumpConfig config;
  ConfigError error;
  CHECK(parse_config(alone, arena, nullptr, config, error) == Status::ok);
  CHECK_FALSE(config.active);
}

TEST_CASE("torchair: options of a program mean what they mean in JSON") {
  std::vector<std::byte> memory(4096);
  Arena arena(memory);
  DumpConfig config;
  ConfigError error;
  const auto read = [&](const TorchairConfig& options) {
    return read_torchair_config(options, arena, check_path, config, error);
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
  CHECK(read_torchair_config({.enable_dump = true}, none, nullptr, config, error) == Status::config_refused);
  CHECK(error.fault == ConfigFault::no_memory);
}

TEST_CASE("torchair: triggers are read as beside CANN's object") {
  check_trigger_case(parse_case("accept", "options_trigger"));
}
