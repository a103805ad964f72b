#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "opdump/config/write_blob.hpp"
#include "tests/support/config_corpus.hpp"
#include "tests/support/config_print.hpp"
#include "tests/support/parsed_config.hpp"

namespace opdump::tests::cann_configs {

namespace {

std::vector<std::string> layers_of(const ModelRule& rule) {
  return {rule.layers.begin(), rule.layers.end()};
}

using Names = std::vector<std::string>;

const ConfigCorpus kCorpus("cann", parse_file);

}  // namespace

TEST_CASE("config: every case of accept/ is active, those of inactive/ are not") {
  for (const std::string folder : {"accept", "inactive"}) {
    kCorpus.check_accepted(folder, [&](const ParsedConfig& parsed) {
      CHECK(acl_error(parsed.error) == 0);
      CHECK(parsed.config.active == (folder == "accept"));
    });
  }
}

TEST_CASE("config: every case of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused();
  // Which of two reasons there is depends on the instructions that simdjson makes use of.
  const std::string reason = parse_file("refuse", "backslash_outside_string").error.reason;
  const auto has = [&](const char* words) { return reason.find(words) != std::string::npos; };
  CHECK(
      (has("a key in double quotes is expected here") || has("a backslash may only stand inside a string")));
}

TEST_CASE(
    "config: the parser of acl.json alone says of it what that of all dialects does, and refuses others") {
  std::vector<std::byte> memory;
  ConfigOutcome alone;
  const auto parse = [&](std::string_view text) {
    memory.resize(config_memory_bytes(text.size()));
    Arena arena(memory);
    return parse_acl_config({text, arena, check_path}, alone);
  };
  for (const char* folder : {"accept", "inactive", "refuse"}) {
    for (const PackedConfig& one : packed_configs("cann")) {
      if (one.folder != folder) continue;
      const std::string& name = one.name;
      const std::string& text = one.text;
      CAPTURE(name);
      const ParsedConfig all(text, check_path, {});
      CHECK(parse(text) == all.status);
      CHECK(to_string(alone.error, name) == to_string(all.error, name));
      CHECK(to_text(alone.config) == to_text(all.config));
    }
  }
  for (const char* name : {"mindspore/accept/documented_o2", "torchair/accept/data_stats"}) {
    CAPTURE(name);
    const std::string text = packed_text(name);
    REQUIRE(ParsedConfig(text).status == Status::ok);
    CHECK(parse(text) == Status::config_refused);
    CHECK(alone.error.key == (name[0] == 'm' ? "common_dump_settings" : "dump_config"));
    CHECK(alone.error.reason ==
          "of a dialect that this program was built without: it reads CANN's acl.json only");
    CHECK_FALSE(alone.config.asked);
  }
  const std::vector<std::byte> plan = write_plan({});
  CHECK(parse(as_text(plan)) == Status::config_refused);
}

TEST_CASE(
    "config: a key whose reader the program does not ask for is refused at its place, and never ignored") {
  const std::string seal(64, 'a');
  const struct {
    std::string key;
    std::string value;
    std::string reason;
    const OptionReader* ConfigContext::*reader;
    const OptionReader* asked;
  } keys[] = {
      {"privacy", R"([{"keep": "nothing"}])", "this program does not read it: nothing is dumped",
       &ConfigContext::privacy, privacy_reader()},
      {"privacy_unmatched", R"("tell")", "this program does not read it: nothing is dumped",
       &ConfigContext::privacy, privacy_reader()},
      {"seal", '"' + seal + '"', "this program does not read it: nothing is dumped", &ConfigContext::seal,
       seal_reader()},
      {"trigger", R"([{"call": "door"}])", "this program does not read it: nothing is dumped",
       &ConfigContext::triggers, trigger_reader()},
  };
  for (const auto& key : keys) {
    CAPTURE(key.key);
    const std::string text =
        R"({"dump": {"dump_path": "output", "dump_list": [{}]}, "opdump": {)" +
        std::string(key.key == "privacy_unmatched" ? R"("privacy": [{"keep": "nothing"}], )" : "") +
        std::string(key.key == "trigger" ? R"("history_steps": 2, )" : "") + '"' + key.key +
        "\": " + key.value + "}}";
    const std::string first = key.key == "privacy_unmatched" ? "privacy" : key.key;
    ConfigContext every = {.privacy = privacy_reader(), .seal = seal_reader(), .triggers = trigger_reader()};
    ConfigContext one;
    one.*key.reader = key.asked;
    every.*key.reader = nullptr;
    const ParsedConfig unread(text, check_path, every);
    CHECK(unread.status == Status::config_refused);
    CHECK(unread.error.fault == ConfigFault::conflict);
    CHECK(unread.error.key == "opdump." + first);
    CHECK(unread.error.reason == key.reason);
    CHECK(unread.error.column > text.find('"' + first + '"'));
    CHECK_FALSE(unread.config.asked);
    CHECK(ParsedConfig(text, check_path, one).status == Status::ok);
    std::vector<std::byte> memory(config_memory_bytes(text.size()));
    for (const ConfigContext* context : {&one, &every}) {
      Arena arena(memory);
      ConfigOutcome outcome;
      CHECK(parse_acl_config({text, arena, check_path, *context}, outcome) ==
            (context == &one ? Status::ok : Status::config_refused));
      CHECK(outcome.error.key == (context == &one ? "" : "opdump." + first));
    }
  }
}

TEST_CASE("config: the documented model dump") {
  const ParsedConfig parsed = parse_file("accept", "documented_model_dump");
  REQUIRE(parsed.status == Status::ok);
  CHECK(parsed.config.dump_path == "/home/output");
  CHECK(parsed.config.mode == DumpMode::output);
  CHECK(parsed.config.level == DumpLevel::all);
  CHECK_FALSE(parsed.config.single_ops);
  CHECK(parsed.config.steps.every_step());
  REQUIRE(parsed.config.models.size() == 2);
  CHECK(parsed.config.models[0].model_name == "ResNet-101");
  CHECK_FALSE(parsed.config.models[0].any_model);
  CHECK(parsed.config.models[0].all_layers);
  CHECK(parsed.config.models[1].model_name == "ResNet-50");
  CHECK_FALSE(parsed.config.models[1].all_layers);
  CHECK(layers_of(parsed.config.models[1]) ==
        Names{"conv1conv1_relu", "res2a_branch2ares2a_branch2a_relu", "res2a_branch1", "pool1"});
}

TEST_CASE("config: single operators") {
  const ParsedConfig documented = parse_file("accept", "documented_single_op");
  CHECK(documented.config.single_ops);
  CHECK(documented.config.models.empty());

  const ParsedConfig partly_empty = parse_file("accept", "empty_model_and_layer_beside_single_ops");
  CHECK(partly_empty.config.single_ops);
  REQUIRE(partly_empty.config.models.size() == 1);
  CHECK(partly_empty.config.models[0].model_name == "m");
}

TEST_CASE("config: an item without a model holds for every model") {
  const ParsedConfig everything = parse_file("accept", "empty_item_means_everything");
  REQUIRE(everything.config.models.size() == 1);
  CHECK(everything.config.models[0].any_model);
  CHECK(everything.config.models[0].all_layers);

  const ParsedConfig layers = parse_file("accept", "layers_without_model");
  REQUIRE(layers.config.models.size() == 1);
  CHECK(layers.config.models[0].any_model);
  CHECK_FALSE(layers.config.models[0].all_layers);
  CHECK(layers_of(layers.config.models[0]) == Names{"A", "B"});
}

TEST_CASE("config: the items keep the order of the file") {
  const ParsedConfig parsed = parse_file("accept", "same_model_twice");
  REQUIRE(parsed.config.models.size() == 2);
  CHECK(layers_of(parsed.config.models[0]) == Names{"a"});
  CHECK(layers_of(parsed.config.models[1]) == Names{"b"});
}

TEST_CASE("config: mode and level") {
  CHECK(parse_file("accept", "mode_input").config.mode == DumpMode::input);
  CHECK(parse_file("accept", "mode_all").config.mode == DumpMode::all);
  CHECK(parse_file("accept", "level_op").config.level == DumpLevel::op);
  CHECK(parse_file("accept", "level_kernel").config.level == DumpLevel::kernel);
  CHECK(parse_file("accept", "level_all").config.level == DumpLevel::all);
}

TEST_CASE("config: of a key that stands twice, the last one counts") {
  const ParsedConfig parsed = parse_file("accept", "duplicate_key_last_wins");
  CHECK(parsed.config.mode == DumpMode::input);
  CHECK(parsed.config.dump_path == "output");
}

TEST_CASE("config: steps") {
  const ParsedConfig parsed = parse_file("accept", "steps");
  const StepSet& steps = parsed.config.steps;
  CHECK_FALSE(steps.every_step());
  CHECK(steps.ranges.size() == 6);
  for (const std::uint64_t step : {0ull, 3ull, 4ull, 5ull, 7ull, 9ull, 18446744073709551615ull})
    CHECK(steps.contains(step));
  for (const std::uint64_t step : {1ull, 2ull, 6ull, 8ull, 10ull, 18446744073709551614ull})
    CHECK_FALSE(steps.contains(step));
  CHECK(parse_file("accept", "steps_empty_means_every_step").config.steps.every_step());
  CHECK(parse_file("accept", "steps_100_items").config.steps.ranges.size() == 100);
  const ParsedConfig large = parse_file("accept", "step_beyond_64_bits");
  CHECK(large.config.steps.contains(UINT64_MAX));
  CHECK(large.config.steps.contains(9));
  CHECK_FALSE(large.config.steps.contains(8));
  const ParsedConfig turned = parse_file("accept", "step_range_beyond_what_cann_compares");
  CHECK(turned.config.steps.contains(9223372036854775808u));
}

TEST_CASE("config: an address before the path is cut off, and the rest lies below the current directory") {
  CHECK(parse_file("accept", "path_with_address").config.dump_path == ".//home/dump");
  CHECK(parse_file("accept", "path_with_lenient_address").config.dump_path == "./a:b");
  CHECK(parse_file("accept", "path_with_dot_behind_address").config.dump_path == "./missing/dump");
  CHECK(parse_file("accept", "path_octet_beyond_255_is_local").config.dump_path == "192.168.1.265:x");
  CHECK(parse_file("accept", "path_with_five_parts_is_local").config.dump_path == "1.2.3.4.5:x");

  const auto path_of = [](const std::string& path) {
    return ParsedConfig("{\"dump\": {\"dump_path\": \"" + path + "\"}}");
  };
  for (const char* local : {"missing.2.3.4:x", "missing", "missing:x"}) {
    CAPTURE(local);
    CHECK(path_of(local).error.reason == "no such directory");
  }
  for (const char* local :
       {"256.1.1.1:x", "-1.1.1.1:x", "1..1.1:x", "1.1.1:x", "99999999999.1.1.1:x", "+.1.1.1:x"}) {
    CAPTURE(local);
    CHECK(path_of(local).config.dump_path == local);
  }
  for (const char* remote : {"0.0.0.0:missing", "255.255.255.255:missing", "-0.1.1.1:missing"}) {
    CAPTURE(remote);
    CHECK(path_of(remote).config.dump_path == "./missing");
  }
  for (const char* bad : {"1.2.3.4:a~", "1.2.3.4:<", "1.2.3.4:>", "1.2.3.4:a|b", "1.2.3.4:ä", "1.2.3.4:'"}) {
    CAPTURE(bad);
    CHECK(path_of(bad).error.fault == ConfigFault::invalid_value);
  }
  CHECK(path_of("1.2.3.4:aZ09-=[];\\\\,./!@#$%^&*()_+{}:?").status == Status::ok);
}

TEST_CASE("config: without a path check the path is taken as it is") {
  const std::string text = "{\"dump\": {\"dump_path\": \"missing\"}}";
  CHECK(ParsedConfig(text).status == Status::config_refused);
  CHECK(ParsedConfig(text, nullptr).status == Status::ok);
}

TEST_CASE("config: texts are unescaped and outlive the file's text") {
  std::string text = packed_text("cann/accept/escapes");
  const ParsedConfig parsed(text);
  text.assign(text.size(), '#');
  REQUIRE(parsed.config.models.size() == 1);
  CHECK(parsed.config.models[0].model_name == "a\\b/c\"d");
  CHECK(layers_of(parsed.config.models[0]) == Names{"\b\f\n\r\t", "A\u00df"});
  CHECK(parse_file("accept", "path_with_spaces_and_unicode").config.dump_path ==
        "Ausgabe f\u00fcr \u00e4 \U0001f600");
}

TEST_CASE("config: an escaped key is the same key") {
  CHECK(ParsedConfig("{\"d\\u0075mp\": {\"dump_path\": \"missing\"}}").error.key == "dump.dump_path");
}

TEST_CASE("config: long and odd values are shortened in the reason") {
  const ParsedConfig parsed("{\"dump\": {\"dump_mode\": \"" + repeated("\u00e4", 1000) + "\"}}");
  CHECK(parsed.error.fault == ConfigFault::not_in_list);
  CHECK(parsed.error.reason.starts_with('"' + repeated("\u00e4", 32) + "...\""));
}

}  // namespace opdump::tests::cann_configs
