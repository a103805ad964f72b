// CANN's acl.json as its nano products read it.

#include <doctest/doctest.h>

#include <string>

#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr ConfigContext kNano = {.nano = true};

ParsedConfig with_keys(const std::string& members) {
  return ParsedConfig("{\"dump\": {\"dump_path\": \"output\", " + members + "}}", check_path, kNano);
}

/// Whether operators, overflows or exceptions are dumped.
bool is_on(const std::string& members) {
  const ParsedConfig parsed = with_keys(members);
  return parsed.status == Status::ok && parsed.config.active &&
         (parsed.config.overflow || parsed.config.exception != ExceptionDump::none ||
          parsed.config.single_ops || !parsed.config.models.empty());
}

}  // namespace

TEST_CASE("config: a nano product dumps statistics unless it is told otherwise") {
  const std::string list = R"("dump_list": [{"model_name": "net"}])";
  CHECK(with_keys(list).config.form.data == DumpData::statistics);
  CHECK(with_keys(list).config.form.statistics == kStatsByDefault);
  CHECK(with_keys(list + R"(, "dump_data": "tensor")").config.form.data == DumpData::tensor);
  CHECK(with_keys(list + R"(, "dump_data": "stats")").config.form.data == DumpData::statistics);
  CHECK_FALSE(is_on(list + R"(, "dump_data": "tensor1")"));
  CHECK(ParsedConfig("{\"dump\": {\"dump_path\": \"output\", " + list + "}}").config.form.data ==
        DumpData::tensor);
}

TEST_CASE("config: the scenes of a nano product are its own") {
  CHECK_FALSE(with_keys(R"("dump_scene": "normal", "dump_list": [{"model_name": "net"}])").config.overflow);
  CHECK(is_on(R"("dump_scene": "normal", "dump_list": [{"model_name": "net"}])"));
  CHECK_FALSE(with_keys(R"("dump_scene": "normal", "dump_debug": "on", "dump_list": [{"model_name": "net"}])")
                  .config.overflow);
  CHECK(with_keys(R"("dump_scene": "debug")").config.overflow);
  CHECK(with_keys(R"("dump_scene": "debug", "dump_debug": "off", "dump_list": [])").config.overflow);
  CHECK(with_keys(R"("dump_debug": "on")").config.overflow);
  CHECK(with_keys(R"("dump_scene": "exception", "dump_list": [])").config.exception == ExceptionDump::norm);
  for (const char* scene : {"normal1", "watcher", "aic_err_norm_dump", ""})
    CHECK(with_keys(R"("dump_scene": ")" + std::string(scene) + R"(", "dump_list": [{"model_name": "net"}])")
              .status == Status::config_refused);
  // A server knows none of them.
  CHECK(ParsedConfig(R"({"dump": {"dump_path": "output", "dump_scene": "debug"}})").status ==
        Status::config_refused);
}

TEST_CASE("config: what switches a nano product's dump on and off") {
  for (const char* on :
       {R"("dump_list": [{"model_name": "net"}])", R"("dump_list": [{"model_name": "net", "layer": ["a"]}])",
        R"("dump_list": [], "dump_op_switch": "on")",
        R"("dump_list": [{"model_name": "a", "layer": []}, {"model_name": "b"}])",
        R"("dump_scene": "debug", "dump_list": [])", R"("dump_debug": "on")",
        R"("dump_scene": "exception", "dump_list": [])"}) {
    CAPTURE(on);
    CHECK(is_on(on));
  }
  for (const char* off :
       {R"("dump_list": [])", R"("dump_mode": "all")", R"("dump_op_switch": "on")", R"("dump_list": {})",
        R"("dump_list": [{"model_name": []}])", R"("dump_list": [{}])",
        R"("dump_list": [{"model_name": ""}])", R"("dump_list": [{"model_name": "net", "layer": []}])",
        R"("dump_list": [{"model_name": "net"}], "dump_mode": "all1")",
        R"("dump_list": [{"model_name": "net"}], "dump_op_switch": "on1")",
        R"("dump_debug": "on", "dump_list": [{"model_name": "net"}])",
        R"("dump_scene": "debug", "dump_list": [{"model_name": "net"}])",
        R"("dump_scene": "exception", "dump_op_switch": "on")",
        R"("dump_scene": "exception", "dump_list": {})"}) {
    CAPTURE(off);
    CHECK_FALSE(is_on(off));
  }
  CHECK(ParsedConfig(R"({"dump": {"dump_scene": "exception"}})", check_path, kNano).status ==
        Status::config_refused);
}

TEST_CASE("config: a nano product's items without a model select nothing, and what it does not read counts") {
  const ParsedConfig parsed = with_keys(
      R"("dump_list": [{"layer": ["a"]}, {"model_name": "net", "layer": ["b"]}], "dump_step": "2|4-5")");
  REQUIRE(parsed.status == Status::ok);
  REQUIRE(parsed.config.models.size() == 1);
  CHECK(parsed.config.models[0].layers[0] == "b");
  CHECK(parsed.config.steps.ranges.size() == 2);
  REQUIRE(parsed.notes.size() == 1);
  CHECK(parsed.notes[0].key == "dump.dump_list[0]");
  CHECK(parsed.notes[0].text.find("names no model") != std::string::npos);
}
