#include <doctest/doctest.h>

#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/name_pattern.hpp"
#include "opdump/types/plan.hpp"
#include "src/config/pattern/pattern_compiler.hpp"

using namespace opdump;

namespace {

struct Compiled {
  explicit Compiled(std::string_view text) {
    Arena arena(memory);
    const Result<NamePattern> result = config::compile_pattern(text, arena, reason);
    status = result.status();
    if (result.ok()) pattern = result.value();
  }
  std::vector<std::byte> memory = std::vector<std::byte>(16384);
  std::string reason;
  Status status;
  NamePattern pattern;
};

bool matches(std::string_view pattern, std::string_view name) {
  const Compiled compiled(pattern);
  CAPTURE(pattern);
  CAPTURE(compiled.reason);
  REQUIRE(compiled.status == Status::ok);
  return opdump::matches(compiled.pattern, name);
}

}  // namespace

TEST_CASE("name pattern: the whole name is matched") {
  CHECK(matches("Default/.*", "Default/network/Conv2D-op12"));
  CHECK_FALSE(matches("Default", "Default/network/Conv2D-op12"));
  CHECK_FALSE(matches("Conv2D-op12", "Default/network/Conv2D-op12"));
  CHECK(matches(".+/Add[^/]*", "Default/Add-op3"));
  CHECK_FALSE(matches(".+/Add[^/]*", "Default/Add/x"));
  CHECK(matches("", ""));
  CHECK_FALSE(matches("", "a"));
  CHECK(matches("a|b|", ""));
  CHECK(matches("^a$", "a"));
  CHECK_FALSE(matches("a^b", "ab"));
  CHECK(matches("(a*)*", "aaaa"));
  CHECK(matches("a{2,3}", "aaa"));
  CHECK_FALSE(matches("a{2,3}", "aaaa"));
  CHECK(matches("a{0}b", "b"));
  CHECK(matches("[[:alpha:]]+[\\d_]\\x2F\\u002f\\.", "ab_//."));
  CHECK(matches("\xc3\xa4.", "\xc3\xa4x"));
}

TEST_CASE("name pattern: what std::regex would need exponential time for") {
  const std::string name(200, 'a');
  CHECK_FALSE(matches("(a*)*(a*)*(a*)*b", name));
  CHECK_FALSE(matches("(a|a|a)*c", name));
}

TEST_CASE("name pattern: programs are bounded by their text and by their steps") {
  CHECK(Compiled("a{255}").status == Status::invalid_argument);
  CHECK(Compiled("a{255}").reason.find("repeats too much for its length") != std::string::npos);
  CHECK(Compiled("(ab){200}").reason.find("too large") != std::string::npos);
  CHECK(Compiled("((a{99}){99}){99}").status == Status::invalid_argument);
  CHECK(Compiled("(){255}").status == Status::ok);
  CHECK(Compiled("a{999999999999999999999}").status == Status::invalid_argument);
  CHECK(Compiled(std::string(100000, '(')).reason.find("too many groups") != std::string::npos);
  CHECK(Compiled(std::string(100000, '|')).status == Status::invalid_argument);
  CHECK(Compiled(std::string(255, 'a')).status == Status::ok);
  CHECK(Compiled(std::string(256, 'a')).status == Status::invalid_argument);
}

TEST_CASE("name pattern: a program that makes no sense matches nothing and reads nothing else") {
  using Kind = NameStep::Kind;
  const auto matches_with = [](std::vector<NameStep> steps) {
    return opdump::matches(NamePattern{"", steps, {}}, "ab");
  };
  CHECK_FALSE(matches_with({}));
  CHECK_FALSE(matches_with({{Kind::fork, 0, 0}}));
  CHECK_FALSE(matches_with({{Kind::fork, 200, 255}}));
  CHECK_FALSE(matches_with({{Kind::set, 9, 0}, {Kind::set, 255, 0}}));
  CHECK_FALSE(matches_with({{static_cast<Kind>(99), 0, 0}}));
  CHECK_FALSE(matches_with(std::vector<NameStep>(1000, NameStep{Kind::byte, 'a', 0})));
}

TEST_CASE("name pattern: random patterns agree with std::regex") {
  constexpr std::string_view kPieces[] = {"a",   "b",    "-",      ".",     "*",     "+",    "?",
                                          "|",   "(",    ")",      "(?:",   "[ab]",  "[^a]", "[a-c]",
                                          "\\d", "\\w",  "\\W",    "{2}",   "{1,2}", "{0,}", "*?",
                                          "^",   "$",    "/",      "(a|b)", "\\.",   "\\s",  "[[:digit:]x]",
                                          "}",   "]",    "[\\d-]", "{",     "[",     "\\",   "0",
                                          "c",   "[b-]", "+?",     "()",    "[^]"};
  constexpr std::string_view kNames = "ab-c0/. x";
  std::mt19937 random(20260101);
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  std::size_t compiled_count = 0;
  std::size_t matched = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::size_t pieces = 1 + below(6); pieces != 0; --pieces) text += kPieces[below(std::size(kPieces))];
    CAPTURE(text);
    const Compiled compiled(text);
    CHECK(compiled.status != Status::no_memory);
    if (compiled.status != Status::ok) {
      CHECK_FALSE(compiled.reason.empty());
      continue;
    }
    ++compiled_count;
    const std::regex expected(text);
    for (int i = 0; i < 4; ++i) {
      std::string name;
      for (std::size_t size = below(6); size != 0; --size) name += kNames[below(kNames.size())];
      CAPTURE(name);
      const bool match = opdump::matches(compiled.pattern, name);
      CHECK(match == std::regex_match(name, expected));
      matched += match;
    }
  }
  CHECK(compiled_count > 1000);
  CHECK(matched > 250);
}

TEST_CASE("kernel types: the part behind the last slash, up to the last dash") {
  CHECK(kernel_type("Default/network/conv3-Conv2d/Conv2D-op12") == "Conv2D");
  CHECK(kernel_type("Gradients/Default/dense-Dense/gradBiasAdd/BiasAddGrad-op8") == "BiasAddGrad");
  CHECK(kernel_type("Default/net-X/Foo") == "Foo");
  CHECK(kernel_type("Conv2D-op1") == "Conv2D");
  CHECK(kernel_type("a-b-c") == "a-b");
  CHECK(kernel_type("") == "");
  CHECK(contains_folded("Conv2D", "conv"));
  CHECK(contains_folded("MyCONV", "conv"));
  CHECK_FALSE(contains_folded("Con", "conv"));
  CHECK(contains_folded("", ""));
}
