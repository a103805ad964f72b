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
  return parse_case_of("mindspore/" + folder + '/' + name, context_of(name));
}

const ConfigCorpus kCorpus("mindspore", parse_case);

/// The members stand behind valid ones, so that they count. `e2e` "none": there is no such object.
ParsedConfig parse(const std::string& common, const std::string& e2e = "",
                   const ConfigContext& context = {}) {
  std::string text =
      R"({"common_dump_settings": {"path": "/dump", "net_name": "Net", "support_device": [0], "kernels": [], )"
      R"("op_debug_mode": 0, "dump_mode": 0, "iteration": "all", "input_output": 0)";
  if (!common.empty()) text += ", " + common;
  text += "}";
  if (e2e != "none") text += ", \"e2e_dump_settings\": {" + e2e + "}";
  return ParsedConfig(text + "}", check_path, context);
}

}  // namespace

TEST_CASE("mindspore: every case of accept/ and warn/ asks for a dump, those of inactive/ do not") {
  const auto agrees = [](const ParsedConfig& parsed) {
    CHECK((!parsed.config.active || parsed.config.asked));
  };
  kCorpus.check_accepted("accept", agrees);
  kCorpus.check_accepted("warn", agrees);
  kCorpus.check_accepted("inactive", [&](const ParsedConfig& parsed) {
    agrees(parsed);
    CHECK_FALSE(parsed.notes.empty());
  });
}

TEST_CASE("mindspore: every case of warn/ is told what is replaced or ignored") {
  kCorpus.check_warned();
}

TEST_CASE("mindspore: every case of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused();
}

TEST_CASE("mindspore: the documented files") {
  const DumpConfig& o0 = parse_case("accept", "documented_o0").config;
  CHECK(o0.dump_path == "/absolute_path");
  CHECK(o0.net_name == "ResNet50");
  CHECK(o0.mode == DumpMode::all);
  CHECK(o0.form.data == DumpData::tensor);
  CHECK(o0.form.layout == Layout::mindspore_kernel);
  CHECK(o0.form.file_format == FileFormat::npy);
  CHECK(o0.synchronous);
  CHECK_FALSE(o0.device_format);
  REQUIRE(o0.models.size() == 1);
  CHECK(o0.models[0].any_model);
  CHECK(o0.models[0].all_layers);
  REQUIRE(o0.steps.ranges.size() == 3);
  for (const std::uint64_t step : {0, 5, 8, 100, 120}) CHECK(o0.steps.contains(step));
  for (const std::uint64_t step : {1, 4, 9, 99, 121}) CHECK_FALSE(o0.steps.contains(step));
  CHECK_FALSE(o0.every_device);
  CHECK(o0.devices.size() == 8);
  CHECK(o0.devices[7] == 7);

  const DumpConfig& o2 = parse_case("accept", "documented_o2").config;
  CHECK(o2.form.layout == Layout::mindspore_graph);
  CHECK(o2.form.file_format == FileFormat::npy);
  CHECK(parse_case("accept", "o2_default_format").config.form.file_format == FileFormat::protobuf);

  const DumpConfig& cpu = parse_case("accept", "cpu_documented").config;
  CHECK(cpu.form.layout == Layout::mindspore_cpu);
  CHECK(cpu.every_device);
}

TEST_CASE("mindspore: what is read is kept for who acts on it") {
  CHECK(parse(R"("input_output": 1)").config.mode == DumpMode::input);
  CHECK(parse(R"("input_output": 2)").config.mode == DumpMode::output);
  CHECK(parse(R"("initial_iteration": 7)").config.first_step == 7);
  CHECK(parse("", R"("trans_flag": false)").config.device_format);
  CHECK(parse("", R"("sample_mode": 1)").config.sample_number == 100);
  CHECK(parse("", R"("sample_mode": 1, "sample_num": 20)").config.sample_number == 20);
  CHECK(parse("", R"("sample_mode": 0, "sample_num": 20)").config.sample_number == 0);
  CHECK(parse("", R"("enable": true, "save_kernel_args": true)").config.save_kernel_args);
  CHECK_FALSE(parse("", R"("save_kernel_args": true)").config.save_kernel_args);
  CHECK(parse("", R"("device_stat_precision_mode": "low")").config.statistics_in_dtype);
  CHECK(parse(R"("saved_data": "statistic")", R"("stat_calc_mode": "device")")
            .config.form.statistics_on_device);
  CHECK_FALSE(
      parse(R"("saved_data": "full")", R"("stat_calc_mode": "device")").config.form.statistics_on_device);
  CHECK(parse(R"("saved_data": "full")").config.form.data == DumpData::full);

  const DumpConfig& overflow = parse(R"("op_debug_mode": 3, "overflow_number": 2, "input_output": 1)").config;
  CHECK(overflow.overflow);
  CHECK(overflow.overflow_number == 2);
  CHECK(overflow.mode == DumpMode::all);
  const DumpConfig& filtered = parse(R"("op_debug_mode": 3, "iteration": "1")").config;
  CHECK(filtered.steps.ranges.size() == 1);
  CHECK(parse(R"("op_debug_mode": 3, "iteration": "1")", "none").config.steps.every_step());
  const DumpConfig& exception =
      parse(R"("op_debug_mode": 4, "iteration": "1", "dump_mode": 2, "saved_data": "full")").config;
  CHECK(exception.exception == ExceptionDump::brief);
  CHECK(exception.steps.every_step());
  CHECK(exception.models[0].all_layers);
  CHECK(exception.form.data == DumpData::tensor);

  ConfigContext context;
  context.world_size = 8;
  context.rank = 3;
  CHECK(parse("", "", context).config.form.rank == 3);
  CHECK(parse("", "", context).config.form.world_size == 8);
}

TEST_CASE("mindspore: what has no effect is told") {
  const auto note_of = [](const ParsedConfig& parsed, std::string_view key) {
    std::string text;
    for (const ConfigNote& note : parsed.notes) text += note.key.ends_with(key) ? note.text : "";
    return text;
  };
  ConfigContext context;
  CHECK(note_of(parse("", R"("enable": true)"), "enable").find("up to \"when_full\"") != std::string::npos);
  CHECK(note_of(parse("", R"("enable": false)"), "enable").empty());
  context.mindspore = MindSporeMode::cpu;
  CHECK(note_of(parse("", R"("enable": true)", context), "enable") == "has no effect on CPU and GPU");
  context.mindspore = MindSporeMode::by_file;
  const std::string key = "device_stat_precision_mode";
  CHECK(note_of(parse("", '"' + key + R"(": "low")"), key).starts_with("\"low\" has no effect"));
  CHECK(note_of(parse("", '"' + key + R"(": "high")"), key).empty());
  // tests/unit/platform/ascend_test.cpp and tests/opencl/memory_test.cpp hold it against the memories.
  const ParsedConfig on_device = parse(R"("saved_data": "statistic")", R"("stat_calc_mode": "device")");
  CHECK(note_of(on_device, "stat_calc_mode").find("that for Ascend among them") != std::string::npos);
  const std::string variable = "ENABLE_MS_GE_DUMP";
  CHECK(note_of(parse("", "none", context), variable).empty());
  context.ge_dump = true;
  CHECK(note_of(parse("", "none", context), variable).starts_with("the variable is not followed: "));
  CHECK(note_of(parse("", "", context), variable).empty());  // it is about O2 alone
}

TEST_CASE("mindspore: in CANN's layout there is no folder for the rank") {
  const std::string text = packed_text("mindspore/accept/o2_bin");
  const std::string members = text.substr(text.find('{') + 1);
  const ParsedConfig parsed(R"({"opdump": {"layout": "cann"}, )" + members, check_path);
  REQUIRE(parsed.status == Status::ok);
  CHECK(parsed.config.form.layout == Layout::cann);
  CHECK(parsed.config.form.world_size == 0);
  CHECK(parse("").config.form.world_size == 1);
}

TEST_CASE("mindspore: iterations that select nothing") {
  const auto steps = [](const std::string& iteration) {
    return parse(R"("iteration": ")" + iteration + "\"").config.steps;
  };
  for (const char* none : {"-", "|", "8-5", "5-", "-5", "1-2-3", "||", "18446744073709551616"}) {
    CAPTURE(none);
    CHECK(steps(none).no_step());
    CHECK_FALSE(steps(none).every_step());
    for (const std::uint64_t step : {0, 1, 2, 3, 5, 8}) CHECK_FALSE(steps(none).contains(step));
  }
  const ParsedConfig partly = parse_case("warn", "iteration_with_useless_items");
  CHECK(partly.config.steps.contains(3));
  CHECK(partly.config.steps.ranges.size() == 1);
  const ParsedConfig largest = parse_case("accept", "iteration_largest");
  CHECK(largest.config.steps.contains(UINT64_MAX));
}

TEST_CASE("mindspore: statistics in the order of their columns") {
  const auto columns = [](const ParsedConfig& parsed) {
    return std::vector<StatBits>(parsed.config.statistic_columns.begin(),
                                 parsed.config.statistic_columns.end());
  };
  using Columns = std::vector<StatBits>;
  const ParsedConfig none = parse(R"("saved_data": "full")");
  CHECK(columns(none) == Columns{kStatMax, kStatMin, kStatL2Norm});
  CHECK(none.config.form.statistics == (kStatMax | kStatMin | kStatL2Norm));
  CHECK(columns(parse_case("accept", "categories_all")) ==
        Columns{kStatMax, kStatMin, kStatMean, kStatCount, kStatNegative, kStatPositive, kStatNan,
                kStatNegativeInf, kStatPositiveInf, kStatZero, kStatL2Norm, kStatMd5});
  CHECK(columns(parse_case("accept", "categories_twice")) == Columns{kStatMin, kStatMax, kStatMin});
  CHECK(columns(parse_case("accept", "categories_hash")) == Columns{kStatSha1, kStatSha1, kStatMd5});
  CHECK(parse_case("accept", "categories_of_no_more_than_common_columns").config.form.statistics == 0);
  CHECK(columns(parse_case("warn", "device_cannot_compute")) == Columns{kStatMax});
}

TEST_CASE("mindspore: without a path, the diagnostic path is taken") {
  ConfigContext context;
  context.diagnostic_path = "/data/run1";
  const auto path = [&context](const std::string& value) { return parse(value, "", context); };
  CHECK(path(R"("path": "")").config.dump_path == "/data/run1/debug_dump");
  CHECK(path(R"("path": "/x")").config.dump_path == "/x");
  context.diagnostic_path = "/data/run.1";
  CHECK(path(R"("path": "")").error.fault == ConfigFault::invalid_value);
  const std::string absent = packed_text("mindspore/refuse/path_missing");
  context.diagnostic_path = "/data";
  CHECK(ParsedConfig(absent, check_path, context).config.dump_path == "/data/debug_dump");
}

TEST_CASE("mindspore: the mode that is given goes before what the file says") {
  const std::string with = packed_text("mindspore/accept/dump_mode_0");
  const std::string without = packed_text("mindspore/accept/o2_bin");
  const auto layout = [](const std::string& text, MindSporeMode mode) {
    ConfigContext context;
    context.mindspore = mode;
    const ParsedConfig parsed(text, check_path, context);
    REQUIRE(parsed.status == Status::ok);
    return std::pair(parsed.config.form.layout, parsed.config.asked);
  };
  CHECK(layout(with, MindSporeMode::by_file) == std::pair(Layout::mindspore_kernel, true));
  CHECK(layout(with, MindSporeMode::kernel) == std::pair(Layout::mindspore_kernel, true));
  CHECK(layout(with, MindSporeMode::graph) == std::pair(Layout::mindspore_graph, false));
  CHECK(layout(with, MindSporeMode::cpu) == std::pair(Layout::mindspore_cpu, true));
  CHECK(layout(without, MindSporeMode::by_file) == std::pair(Layout::mindspore_graph, true));
  CHECK(layout(without, MindSporeMode::kernel) == std::pair(Layout::mindspore_kernel, false));
  CHECK(layout(without, MindSporeMode::cpu) == std::pair(Layout::mindspore_cpu, true));
}

TEST_CASE("mindspore: a dialect that is given goes before the keys") {
  ConfigContext context;
  context.dialect = ConfigDialect::mindspore;
  const auto error = [&context](const std::string& text) {
    return ParsedConfig(text, check_path, context).error;
  };
  CHECK(error("").fault == ConfigFault::syntax);
  CHECK(error("{}").key == "common_dump_settings");
  CHECK(error(R"({"dump": {}})").key == "common_dump_settings");
  CHECK(error("[]").key == "common_dump_settings");
  context.dialect = ConfigDialect::acl;
  CHECK(ParsedConfig(R"({"common_dump_settings": {}})", check_path, context).status == Status::ok);
  context.dialect = ConfigDialect::torchair;
  CHECK(error("{}").key == "dump_config");
}

TEST_CASE("mindspore: the memory that is always enough, is") {
  std::string patterns;
  for (int i = 0; i < 500; ++i)
    patterns += R"("name-regex([a-)" + std::string(1, static_cast<char>('b' + i % 20)) + "]{9}.*)\", ";
  const std::string many_patterns = R"("dump_mode": 1, "kernels": [)" + patterns + "\"x\"]";
  const std::string many_names = R"("dump_mode": 1, "kernels": [)" + repeated("\"a\",", 9999) + "\"\"]";
  const std::string many_devices = R"("support_device": [)" + repeated("0,", 9999) + "0]";
  const std::string many_steps = R"("iteration": ")" + repeated("0|", 9999) + "\"";
  const std::string many_columns =
      R"("saved_data": "full", "statistic_category": [)" + repeated("\"max\",", 9999) + "\"min\"]";
  for (const std::string& text : {many_patterns, many_names, many_devices, many_steps, many_columns}) {
    const ParsedConfig parsed = parse(text);
    CAPTURE(parsed.error.reason);
    CHECK(parsed.status == Status::ok);
  }
}

TEST_CASE("mindspore: a thousand patterns are taken, and one more is refused") {
  const std::string pattern = "\"name-regex(a.*)\",";
  const auto text = [&](std::size_t patterns) {
    return R"("dump_mode": 1, "kernels": ["a/b",)" + repeated(pattern, patterns - 1) +
           pattern.substr(0, pattern.size() - 1) + "]";
  };
  CHECK(parse(text(1000)).status == Status::ok);
  const ParsedConfig refused = parse(text(1001));
  CHECK(refused.error.fault == ConfigFault::invalid_value);
  CHECK(refused.error.key == "common_dump_settings.kernels");
  CHECK(refused.error.reason ==
        "1001 regular expressions, and at most 1000 are allowed: join some of them with |");
}

TEST_CASE("mindspore: triggers are read as beside CANN's object") {
  check_trigger_case(parse_case("accept", "options_trigger"));
}
