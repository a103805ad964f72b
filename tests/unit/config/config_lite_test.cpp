#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/config_cases.hpp"
#include "tests/support/config_corpus.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/trigger_case.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

ParsedConfig parse_case(const std::string& folder, const std::string& name) {
  return ParsedConfig(read_file(corpus("lite/" + folder) / (name + ".json")), check_path, context_of(name));
}

const ConfigCorpus kCorpus("lite/", parse_case);

const std::vector<RefusedCase> kRefused = {
    // clang-format off
    {"dump_mode_before_path", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "a string, but it must be a number", 2, 41},
    {"dump_mode_beyond_32_bits", ConfigFault::invalid_value, "common_dump_settings.dump_mode", "4294967296 is no whole number from -2147483648 to 2147483647", 2, 41},
    {"dump_mode_boolean", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "true or false, but it must be a number", 2, 41},
    {"dump_mode_fraction", ConfigFault::invalid_value, "common_dump_settings.dump_mode", "0.5 is no whole number from -2147483648 to 2147483647", 2, 41},
    {"dump_mode_null", ConfigFault::missing, "common_dump_settings.dump_mode", "missing: 0 dumps every operator, 1 those of kernels", 2, 27},
    {"dump_mode_string", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "a string, but it must be a number", 2, 41},
    {"input_output_fraction", ConfigFault::invalid_value, "common_dump_settings.input_output", "1.5 is no whole number from -2147483648 to 2147483647", 2, 111},
    {"input_output_is_string", ConfigFault::wrong_type, "common_dump_settings.input_output", "a string, but it must be a number", 2, 111},
    {"kernels_is_object", ConfigFault::wrong_type, "common_dump_settings.kernels", "an object, but it must be an array", 2, 72},
    {"kernels_is_string", ConfigFault::wrong_type, "common_dump_settings.kernels", "a string, but it must be an array", 2, 72},
    {"kernels_of_numbers", ConfigFault::wrong_type, "common_dump_settings.kernels[1]", "a number, but it must be a string", 2, 78},
    {"kernels_with_dump_mode_0", ConfigFault::conflict, "common_dump_settings.kernels", "names operators, and does not go with \"dump_mode\": 0: set th", 2, 72},
    {"lite_dump_mode_missing", ConfigFault::missing, "common_dump_settings.dump_mode", "missing: 0 dumps every operator, 1 those of kernels", 2, 27},
    {"lite_path_missing", ConfigFault::missing, "common_dump_settings.path", "missing: name the directory to write to", 2, 27},
    {"lite_settings_are_array", ConfigFault::wrong_type, "common_dump_settings", "an array, but it must be an object", 2, 27},
    {"lite_settings_missing", ConfigFault::missing, "common_dump_settings", "missing: MindSpore Lite's settings stand in there", 1, 1},
    {"lite_settings_null", ConfigFault::missing, "common_dump_settings", "missing: MindSpore Lite's settings stand in there", 1, 1},
    {"net_name_is_number", ConfigFault::wrong_type, "common_dump_settings.net_name", "a number, but it must be a string", 2, 107},
    {"net_name_with_nul", ConfigFault::invalid_value, "common_dump_settings.net_name", "contains a NUL byte", 2, 107},
    {"options_format_npy", ConfigFault::conflict, "opdump.file_format", "the files of \"layout\": \"mindspore_lite\" are \"bin\": leave thi", 3, 29},
    {"options_layout_without_its_format", ConfigFault::conflict, "opdump.file_format", "\"bin\" only goes with \"layout\": \"mindspore_lite\": set that", 3, 47},
    {"options_unknown_key", ConfigFault::not_in_list, "opdump.layuot", "unknown key; allowed: \"ring_bytes\", \"when_full\", \"block_limi", 3, 14},
    {"path_empty", ConfigFault::empty, "common_dump_settings.path", "present but empty: name the directory to write to", 2, 52},
    {"path_is_number", ConfigFault::wrong_type, "common_dump_settings.path", "a number, but it must be a string", 2, 52},
    {"path_null", ConfigFault::missing, "common_dump_settings.path", "missing: name the directory to write to", 2, 27},
    {"path_too_long", ConfigFault::invalid_value, "common_dump_settings.path", "4096 bytes long, and a path has fewer than 4096", 2, 52},
    {"path_with_nul", ConfigFault::invalid_value, "common_dump_settings.path", "contains a NUL byte", 2, 52},
    // clang-format on
};

const std::vector<WarnedCase> kWarned = {
    // clang-format off
    {"dump_mode_2", "common_dump_settings.dump_mode", "counts as 1"},
    {"dump_mode_negative", "common_dump_settings.dump_mode", "counts as 1"},
    {"kernels_missing", "common_dump_settings.kernels", "own tool ends without it"},
    {"kernels_null", "common_dump_settings.kernels", "own tool ends without it"},
    {"lite_e2e", "e2e_dump_settings", "unknown, and ignored"},
    {"lite_iteration", "common_dump_settings.iteration", "unknown, and ignored"},
    {"net_name_empty", "common_dump_settings.net_name", "counts as \"default\""},
    {"net_name_with_slash", "common_dump_settings.net_name", "become _"},
    {"unknown_key", "common_dump_settings.kernel", "a slip of the keys for \"kernels\""},
    {"unknown_root_key", "e2e_dump_setting", "unknown, and ignored"},
    // clang-format on
};

}  // namespace

TEST_CASE("lite: every file of accept/ and warn/ asks for a dump, those of inactive/ do not") {
  const auto agrees = [](const ParsedConfig& parsed) { CHECK(parsed.config.active == parsed.config.asked); };
  kCorpus.check_accepted("accept", agrees);
  kCorpus.check_accepted("warn", agrees);
  kCorpus.check_accepted("inactive", [&](const ParsedConfig& parsed) {
    agrees(parsed);
    CHECK_FALSE(parsed.notes.empty());
  });
}

TEST_CASE("lite: every file of warn/ is told what counts otherwise or is ignored") {
  kCorpus.check_warned(kWarned);
}

TEST_CASE("lite: every file of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused(kRefused);
}

TEST_CASE("lite: the documented file, and what the others mean") {
  const ParsedConfig documented = parse_case("accept", "documented");
  CHECK(documented.notes.empty());
  CHECK(documented.config.dump_path == "/absolute_path");
  CHECK(documented.config.net_name == "ResNet50");
  CHECK(documented.config.mode == DumpMode::all);
  CHECK(documented.config.steps.every_step());
  CHECK(documented.config.every_device);
  CHECK(documented.config.form.layout == Layout::mindspore_lite);
  CHECK(documented.config.form.file_format == FileFormat::bin);
  CHECK(documented.config.form.data == DumpData::tensor);
  REQUIRE(documented.config.models.size() == 1);
  const ModelRule& rule = documented.config.models[0];
  CHECK(rule.any_model);
  CHECK_FALSE(rule.all_layers);
  REQUIRE(rule.layers.size() == 1);
  CHECK(rule.layers[0] == "Default/Conv-op12");

  CHECK(parse_case("accept", "every_operator").config.models[0].all_layers);
  CHECK(parse_case("accept", "every_operator").config.net_name == "default");
  CHECK(parse_case("accept", "nulls_count_as_missing").config.net_name == "default");
  CHECK(parse_case("accept", "inputs").config.mode == DumpMode::input);
  CHECK(parse_case("accept", "outputs").config.mode == DumpMode::output);
  CHECK(parse_case("accept", "path_relative").config.dump_path == "./dump dir.d/x");
  CHECK(parse_case("accept", "kernels_twice").config.models[0].layers.size() == 4);
  CHECK(parse_case("accept", "duplicate_key_last_wins").config.models[0].all_layers);
  CHECK_FALSE(parse_case("warn", "dump_mode_negative").config.models[0].all_layers);
  CHECK(parse_case("warn", "net_name_empty").config.net_name == "default");
}

TEST_CASE("lite: the opdump object beside it changes the layout, and with it the format") {
  CHECK(parse_case("accept", "options_beside").config.options.max_bytes == 1000000);
  CHECK(parse_case("accept", "options_beside").config.form.layout == Layout::mindspore_lite);
  CHECK(parse_case("accept", "options_format_bin").config.form.file_format == FileFormat::bin);
  const DumpConfig cann = parse_case("accept", "options_layout_cann").config;
  CHECK(cann.form.layout == Layout::cann);
  CHECK(cann.form.file_format == FileFormat::nano);
  const DumpConfig cpu = parse_case("accept", "options_layout_and_format").config;
  CHECK(cpu.form.layout == Layout::mindspore_cpu);
  CHECK(cpu.form.file_format == FileFormat::npy);
}

TEST_CASE("lite: a file is Lite's unless a key or the program says that it is MindSpore's") {
  const std::string lite =
      R"("dump_mode": 0, "path": "/dump", "net_name": "Net", "input_output": 0, "kernels": [])";
  const auto is_lite = [](const std::string& common, const ConfigContext& context = {},
                          const char* rest = "") {
    const std::string text = "{\"common_dump_settings\": {" + common + "}" + rest + "}";
    const ParsedConfig parsed = ParsedConfig(text, check_path, context);
    return parsed.status == Status::ok && parsed.config.form.layout == Layout::mindspore_lite;
  };
  CHECK(is_lite(lite));
  CHECK_FALSE(is_lite(lite, {}, ", \"e2e_dump_settings\": {}"));
  for (const char* key : {"iteration", "support_device", "op_debug_mode", "saved_data", "statistic_category",
                          "overflow_number", "file_format", "initial_iteration"}) {
    CAPTURE(key);
    CHECK_FALSE(is_lite(lite + ", \"" + key + "\": 0"));
    ConfigContext context;
    context.dialect = ConfigDialect::mindspore_lite;
    CHECK(is_lite(lite + ", \"" + key + "\": 0", context));
  }
  CHECK_FALSE(is_lite(R"("dump_mode": 0, "kernels": [])"));
  CHECK_FALSE(is_lite(R"("path": "/dump", "kernels": [])"));
  for (const MindSporeMode mode : {MindSporeMode::kernel, MindSporeMode::graph, MindSporeMode::cpu}) {
    ConfigContext context;
    context.mindspore = mode;
    CHECK_FALSE(is_lite(lite, context));
  }
  ConfigContext mindspore;
  mindspore.dialect = ConfigDialect::mindspore;
  CHECK_FALSE(is_lite(lite, mindspore));
}

TEST_CASE("lite: the memory that is always enough, is") {
  const std::string text = R"({"common_dump_settings": {"dump_mode": 1, "path": "/", "kernels": [)" +
                           repeated("\"\",", 20000) + "\"\"]}}";
  const ParsedConfig parsed(text);
  CHECK(parsed.status == Status::ok);
  CHECK(parsed.config.models[0].layers.size() == 20001);
  const ParsedConfig small(64, text);
  CHECK(small.error.fault == ConfigFault::no_memory);
}

TEST_CASE("lite: triggers are read as beside CANN's object") {
  check_trigger_case(parse_case("accept", "options_trigger"));
}
