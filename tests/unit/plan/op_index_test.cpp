// That a model's index changes nothing but the time: configs and models made at random are resolved with and
// without one.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "opdump/impl/plan/account.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "src/config/pattern/pattern_compiler.hpp"
#include "tests/support/random.hpp"

using namespace opdump;

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

struct Rule {
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
    std::vector<Rule> lists(1 + random.below(5));
    std::vector<ModelRule> rules;
    const bool watch = !random.often();
    for (Rule& list : lists) {
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
