#include "src/config/json/json_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "src/config/json/json_windows.hpp"
#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::tests;
using config::JsonNode;
using config::JsonTree;

namespace {

void print(const JsonNode& node, std::string& to) {
  to += std::to_string(static_cast<int>(node.type())) + ' ' + std::to_string(node.offset()) + ' ' +
        std::to_string(node.key_offset()) + " [" + std::string(node.key()) + "] [" +
        std::string(node.text()) + "] (";
  for (const JsonNode* child = node.first(); child != nullptr; child = child->next()) print(*child, to);
  to += ")\n";
}

/// The whole tree, or why there is none.
std::string parsed(std::string_view text, std::size_t window_bytes) {
  ConfigError error;
  config::Refusal refusal(text, error);
  JsonTree tree;
  std::string result;
  if (tree.parse(text, refusal, window_bytes)) {
    print(tree.root(), result);
  } else {
    result = to_string(error, "text");
  }
  return result;
}

void check_windows(const std::string& text) {
  const std::string whole = parsed(text, text.size() + 1);
  for (const std::size_t bytes : {1u, 2u, 7u, 16u, 33u, 100u, 300u}) {
    CAPTURE(bytes);
    CAPTURE(text.substr(0, 500));
    CHECK(parsed(text, bytes) == whole);
  }
}

}  // namespace

TEST_CASE("json tree: windows of any size give the tree of the whole text, for every config of the corpus") {
  std::size_t configs = 0;
  for (const char* dialect : {"cann", "lite", "mindspore", "torchair"}) {
    for (const PackedConfig& config : packed_configs(dialect)) {
      CAPTURE(config.name);
      check_windows(config.text);
      ++configs;
    }
  }
  CHECK(configs > 790);
}

TEST_CASE("json tree: windows of any size find the same flaw, wherever it lies") {
  const std::string text =
      R"({"dump" : {"a":[1,"x,]y\"",{"b" : null,"c":[[],{}, [true , -1.5e3]]}, "tail"],"d":{}}, "e" : "f\u00e4"})";
  REQUIRE(parsed(text, 1000).back() == '\n');
  check_windows(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    check_windows(text.substr(0, i));
    check_windows(text.substr(0, i) + text.substr(i + 1));
    for (const char put : {'[', ']', '{', '}', ',', ':', '1', ' '})
      check_windows(text.substr(0, i) + put + text.substr(i));
  }
}

TEST_CASE("json tree: a long text is cut into windows of the size asked for") {
  const std::string text = "[" + repeated(R"({"a":["b","c"]},)", 1000) + "0]";
  config::JsonWindows windows(text, 0, 100);
  std::size_t count = 1;
  for (; !windows.last(); windows.advance()) {
    CHECK(windows.end() - windows.begin() <= 100);
    CHECK(windows.end() > windows.begin());
    ++count;
  }
  CHECK(count < text.size() / 50);
  CHECK(config::count_values(text) == 1 + 4 * 1000 + 1);
}

TEST_CASE("json tree: strings longer than a window stay whole") {
  const std::string name(5000, 'n');
  check_windows(R"({"a":["x",")" + name + R"(","y"],")" + name + R"(":1,"z":")" + name + "\\n\"}");
}
