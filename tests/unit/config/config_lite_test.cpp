#include <doctest/doctest.h>

#include <string>

#include "tests/support/config_cases.hpp"
#include "tests/support/config_corpus.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/trigger_case.hpp"

namespace opdump::tests::lite_configs {

namespace {

ParsedConfig parse_case(const std::string& folder, const std::string& name) {
  return parse_case_of("lite/" + folder + '/' + name, context_of(name));
}

const ConfigCorpus kCorpus("lite", parse_case);

}  // namespace

TEST_CASE("lite: every case of accept/ and warn/ asks for a dump, those of inactive/ do not") {
  const auto agrees = [](const ParsedConfig& parsed) { CHECK(parsed.config.active == parsed.config.asked); };
  kCorpus.check_accepted("accept", agrees);
  kCorpus.check_accepted("warn", agrees);
  kCorpus.check_accepted("inactive", [&](const ParsedConfig& parsed) {
    agrees(parsed);
    CHECK_FALSE(parsed.notes.empty());
  });
}

TEST_CASE("lite: every case of warn/ is told what counts otherwise or is ignored") {
  kCorpus.check_warned();
}

TEST_CASE("lite: every case of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused();
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

}  // namespace opdump::tests::lite_configs
