// That many patterns and kernel types, looked for at once, find what they find one by one.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "opdump/impl/plan/resolve_plan.hpp"
#include "platform/posix/impl/kernel_types.hpp"
#include "platform/posix/impl/pattern_set.hpp"
#include "src/config/pattern/pattern_compiler.hpp"
#include "tests/support/random.hpp"

using namespace opdump;

namespace {

class RandomText : public tests::Random {
 public:
  using Random::Random;

  std::string text(std::string_view letters, std::size_t most) {
    std::string text;
    for (std::size_t i = below(most + 1); i != 0; --i) text += letters[below(letters.size())];
    return text;
  }
};

}  // namespace

TEST_CASE("name search: a set of patterns matches what each of them does, and knows which") {
  constexpr std::string_view kPieces[] = {"a",     "b",       "ab",   ".", ".*", "a+",    "b?",
                                          "(a|b)", "(ab|a)*", "[^a]", "^", "$",  "a{2,3}"};
  std::uint32_t matched = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    RandomText random(seed);
    std::vector<std::byte> memory(1 << 16);
    Arena arena(memory);
    std::vector<NamePattern> patterns;
    posix::PatternSet set;
    for (std::size_t i = random.below(6); i != 0; --i) {
      std::string text, reason;
      for (std::size_t j = random.below(5); j != 0; --j) text += kPieces[random.below(std::size(kPieces))];
      const Result<NamePattern> pattern = config::compile_pattern(text, arena, reason);
      CAPTURE(text);
      if (!pattern.ok()) continue;
      patterns.push_back(pattern.value());
      set.add(pattern.value());
    }
    std::vector<bool> used(patterns.size());
    for (int i = 0; i < 20; ++i) {
      const std::string name = random.text("abc\n", 7);
      bool any = false;
      for (std::size_t number = 0; number < patterns.size(); ++number) {
        if (!matches(patterns[number], name)) continue;
        used[number] = any = true;
        ++matched;
      }
      CAPTURE(name);
      REQUIRE(set.match(name) == any);
    }
    for (std::size_t number = 0; number < patterns.size(); ++number)
      REQUIRE(set.used(number) == used[number]);
  }
  CHECK(matched > 1000);
}

TEST_CASE("name search: a program that makes no sense matches nothing") {
  const NameStep wild[] = {
      {NameStep::Kind::fork, 200, 1}, {NameStep::Kind::set, 9}, {NameStep::Kind::byte, 'a'}};
  posix::PatternSet set;
  set.add({.text = "?", .steps = wild});
  set.add({});
  for (const char* name : {"", "a", "aa"}) CHECK_FALSE(set.match(name));
}

TEST_CASE("name search: parts of kernel types are found as by looking at each") {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    RandomText random(seed);
    std::vector<std::string> names(random.below(8));
    std::vector<OpDesc> ops;
    for (std::string& name : names) {
      name = random.text("aBc/-", 12) + (random.below(2) == 0 ? "-op1" : "");
      ops.push_back({.name = name});
    }
    std::vector<std::uint8_t> wanted(ops.size()), found(ops.size());
    posix::KernelTypes types(ops);
    for (std::size_t i = random.below(5); i != 0; --i) {
      const std::string part = random.text("abc", 3);
      CAPTURE(part);
      bool any = false;
      for (std::size_t op = 0; op < ops.size(); ++op) {
        if (!contains_folded(kernel_type(ops[op].name), part)) continue;
        any = true;
        wanted[op] = 1;
      }
      REQUIRE(types.find(part) == any);
    }
    types.tell(found);
    REQUIRE(found == wanted);
  }
}
