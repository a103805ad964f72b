#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/name_list.hpp"
#include "opdump/impl/plan/account.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "platform/posix/impl/kernel_types.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "platform/posix/impl/pattern_set.hpp"
#include "src/config/pattern/pattern_compiler.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/random.hpp"

using namespace opdump;

// That a parser sorts a long list of operators' names, and that a sorted list holds what it held.

TEST_CASE("layers: a parser sorts a long list, and it holds what it held") {
  std::string text = R"({"dump":{"dump_path":"x","dump_list":[{"model_name":"m","layer":["a")";
  for (int i = 0; i < 1000; ++i) text += ",\"conv" + std::to_string(i * 7919 % 1000) + '"';
  text += "]}]}}";
  const tests::ParsedConfig parsed(text);
  REQUIRE(parsed.status == Status::ok);
  REQUIRE(parsed.config.models.size() == 1);
  const ModelRule& rule = parsed.config.models[0];
  REQUIRE(rule.layers.size() == 1001);
  CHECK(rule.layers[1] == "conv0");  // as it was written
  REQUIRE(rule.layers_by_name.size() == 1001);
  for (std::size_t i = 1; i < 1001; ++i)
    CHECK(rule.layers[rule.layers_by_name[i - 1]] <= rule.layers[rule.layers_by_name[i]]);
  for (int i = 0; i < 1100; ++i) CHECK(names_layer(rule, "conv" + std::to_string(i)) == (i < 1000));
  CHECK(names_layer(rule, "a"));
  for (const char* name : {"", "A", "conv", "zz"}) CHECK(!names_layer(rule, name));
}

// That many patterns and kernel types, looked for at once, find what they find one by one.

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

// That a model's index changes nothing but the time: configs and models made at random are resolved with and
// without one.

namespace {

class RandomNames : public tests::Random {
 public:
  using Random::Random;

  bool often() { return below(4) != 0; }

  /// One of few, of which some have the same form in names of files.
  std::string_view name() {
    static constexpr std::string_view kNames[] = {"a/b", "a.b", "a_b", "a b", "c",     "c/d",   "c_d",
                                                  "e",   "e_",  "e/",  "",    "a/b/c", "a_b_c", "\xc3\xa9"};
    return kNames[below(std::size(kNames))];
  }
  std::vector<std::string_view> names(std::size_t most) {
    std::vector<std::string_view> names(below(most + 1));
    for (std::string_view& one : names) one = name();
    return names;
  }
};

struct ListedRule {
  std::vector<std::string_view> layers;
  std::vector<std::string_view> watched;
  std::vector<OpRange> ranges;
  std::vector<TensorExclusion> exclusions;
  std::vector<std::string_view> type_parts;
  std::vector<NamePattern> patterns;
  ModelExtras extras;
};

}  // namespace

TEST_CASE("plan: with an index of its operators a model comes to the same") {
  constexpr std::string_view kTypeParts[] = {"a", "b", "/", "e_", "", "c"};
  std::vector<std::byte> memory(4096);
  Arena arena(memory);
  std::vector<NamePattern> patterns;
  std::string reason;
  for (const char* text : {".*b", "a.+", "c|e/?", "$^", "[^a]*"})
    patterns.push_back(config::compile_pattern(text, arena, reason).value());
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    RandomNames random(seed);
    std::vector<OpDesc> ops(random.below(12));
    std::vector<std::vector<std::string_view>> originals(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      originals[i] = random.names(random.often() ? 0 : 2);
      ops[i] = {.name = random.name(),
                .type = random.often() ? random.name() : "HcomAllReduce",
                .original_names = originals[i],
                .level = static_cast<OpLevel>(random.below(3)),
                .marked = !random.often()};
    }
    std::vector<ListedRule> lists(1 + random.below(5));
    std::vector<ModelRule> rules;
    const bool watch = !random.often();
    for (ListedRule& list : lists) {
      list.layers = random.names(4);
      for (std::size_t i = random.below(4); i != 0; --i)
        list.ranges.push_back({random.name(), random.name()});
      if (random.often()) list.ranges.clear();
      for (std::size_t i = random.below(3); i != 0; --i)
        list.exclusions.push_back({.by_type = random.often(), .name = random.name()});
      if (watch) list.watched = random.names(3);
      for (std::size_t i = random.below(3); i != 0; --i)
        list.patterns.push_back(patterns[random.below(patterns.size())]);
      for (std::size_t i = random.below(3); i != 0; --i)
        list.type_parts.push_back(kTypeParts[random.below(std::size(kTypeParts))]);
      list.extras = {.ranges = list.ranges,
                     .exclusions = list.exclusions,
                     .watched = list.watched,
                     .type_parts = list.type_parts,
                     .patterns = list.patterns,
                     .marked = !random.often()};
      rules.push_back({.model_name = "m",
                       .any_model = random.often(),
                       .all_layers = !random.often(),
                       .layers = list.layers,
                       .extras = random.often() ? &list.extras : nullptr});
      if (rules.back().all_layers) rules.back().layers = {};
    }
    const DumpConfig config = {.active = true,
                               .mode = static_cast<DumpMode>(random.below(3)),
                               .level = static_cast<DumpLevel>(random.below(3)),
                               .models = rules,
                               .watch = watch};
    const ModelDesc model = {.name = "m", .ops = ops};
    std::vector<std::uint8_t> walked(ops.size());
    std::vector<std::uint8_t> found(ops.size());
    const posix::OpIndexMemory index(ops);
    ModelPlan plan;
    REQUIRE(resolve_plan(config, model, walked, plan) == Status::ok);
    const std::uint32_t matched = plan.matched_ops;
    REQUIRE(resolve_plan(config, model, found, plan, index.index()) == Status::ok);
    REQUIRE(walked == found);
    CHECK(plan.matched_ops == matched);
    for (int i = 0; i < 4; ++i) {
      const std::string_view name = random.name();
      CHECK(match_of(name, ops) == match_of(name, ops, index.index()));
    }
  }
}
