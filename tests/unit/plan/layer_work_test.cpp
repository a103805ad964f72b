// That a parser sorts a long list of operators' names, and that a sorted list holds what it held.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/base/name_list.hpp"
#include "opdump/config/parse.hpp"

using namespace opdump;

TEST_CASE("layers: a parser sorts a long list, and it holds what it held") {
  std::string text = R"({"dump":{"dump_path":"x","dump_list":[{"model_name":"m","layer":["a")";
  for (int i = 0; i < 1000; ++i) text += ",\"conv" + std::to_string(i * 7919 % 1000) + '"';
  text += "]}]}}";
  std::vector<std::byte> memory(config_memory_bytes(text.size()));
  Arena arena(memory);
  DumpConfig config;
  ConfigError error;
  REQUIRE(parse_config(text, arena, nullptr, config, error) == Status::ok);
  REQUIRE(config.models.size() == 1);
  const ModelRule& rule = config.models[0];
  REQUIRE(rule.layers.size() == 1001);
  CHECK(rule.layers[1] == "conv0");  // as it was written
  REQUIRE(rule.layers_by_name.size() == 1001);
  for (std::size_t i = 1; i < 1001; ++i)
    CHECK(rule.layers[rule.layers_by_name[i - 1]] <= rule.layers[rule.layers_by_name[i]]);
  for (int i = 0; i < 1100; ++i) CHECK(names_layer(rule, "conv" + std::to_string(i)) == (i < 1000));
  CHECK(names_layer(rule, "a"));
  for (const char* name : {"", "A", "conv", "zz"}) CHECK(!names_layer(rule, name));
}
