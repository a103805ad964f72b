// That a config is resolved against a model in time that grows as their lengths do, by counting the basic
// blocks that run: this file, which has all of it, is compiled with a call in each of them.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "opdump/impl/plan/account.hpp"
#include "opdump/impl/plan/privacy.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "platform/posix/impl/op_index_memory.hpp"

namespace {

std::uint64_t blocks = 0;

}  // namespace

#ifdef __clang__
#define NOT_COUNTED __attribute__((no_sanitize("coverage")))
#else
#define NOT_COUNTED __attribute__((no_sanitize_coverage))
#endif

extern "C" NOT_COUNTED void __sanitizer_cov_trace_pc() {
  ++blocks;
}

namespace {

using namespace opdump;

enum class Form {
  one_rule,
  many_rules,
  file_forms,
  same_name,
  ranges,
  watched,
  suspects,
  exclusions,
  types,
  unknown,
  kernel_types,
  patterns
};

std::string name_of(std::size_t number, char between) {
  std::string digits = std::to_string(number);
  return "layer" + std::string(1, between) + std::string(8 - digits.size(), '0') + digits;
}

/// Basic blocks that it takes to load a model of `count` operators under a config with as many names, in
/// rules for that model or for any.
std::uint64_t work(Form shape, bool any_model, std::size_t count) {
  std::vector<std::string> op_names;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    op_names.push_back(shape == Form::same_name ? "same" : name_of(i, '/'));
    const bool misses = shape == Form::unknown;
    names.push_back(shape == Form::same_name ? "same"
                                             : name_of(count - 1 - i, misses                      ? '-'
                                                                      : shape == Form::file_forms ? '_'
                                                                                                  : '/'));
    if (shape == Form::kernel_types) names.back().erase(0, names.back().find('/') + 1);
  }
  std::vector<OpDesc> ops;
  for (const std::string& name : op_names)
    ops.push_back({.name = name, .type = name, .level = OpLevel::kernel});
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::span<const std::string_view> list = views;
  std::vector<OpRange> ranges;
  std::vector<TensorExclusion> exclusions;
  for (std::size_t i = 0; i < count; ++i) {
    ranges.push_back({list[count - 1 - i / 2], list[0]});
    exclusions.push_back({.by_type = shape == Form::types, .name = list[i]});
  }
  const std::string_view none = "none";
  std::vector<std::vector<NameStep>> steps(shape == Form::patterns ? count : 0);
  std::vector<NamePattern> patterns;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const char c : names[i]) steps[i].push_back({NameStep::Kind::byte, static_cast<std::uint8_t>(c)});
    steps[i].push_back({NameStep::Kind::match});
    patterns.push_back({.text = names[i], .steps = steps[i]});
  }
  ModelExtras extras;
  if (shape == Form::kernel_types) extras.type_parts = list;
  if (shape == Form::patterns) extras.patterns = patterns;
  if (shape == Form::ranges) extras.ranges = ranges;
  if (shape == Form::watched) extras.watched = list;
  if (shape == Form::suspects) extras.watched = {&none, 1};
  if (shape == Form::exclusions || shape == Form::types) extras.exclusions = exclusions;
  std::vector<ModelRule> rules;
  const bool many = shape == Form::many_rules || shape == Form::same_name;
  for (std::size_t i = 0; many && i < count; ++i)
    rules.push_back(
        {.model_name = "m", .any_model = any_model, .all_layers = false, .layers = list.subspan(i, 1)});
  const bool listed = shape == Form::one_rule || shape == Form::file_forms || shape == Form::suspects ||
                      shape == Form::unknown;
  if (!many)
    rules.push_back({.model_name = "m",
                     .any_model = any_model,
                     .all_layers = shape == Form::exclusions || shape == Form::types,
                     .layers = list.first(listed ? count : 0),
                     .extras = &extras});
  const DumpConfig config = {.active = true,
                             .level = DumpLevel::kernel,
                             .models = rules,
                             .watch = shape == Form::watched || shape == Form::suspects};
  const ModelDesc model = {.name = "m", .ops = ops};
  std::vector<std::uint8_t> bits(count);
  ModelPlan plan;
  std::size_t unknown = 0;
  AskedNames asked;
  const std::uint64_t before = blocks;
  const posix::OpIndexMemory index(ops);
  REQUIRE(resolve_plan(config, model, bits, plan, index.index()) == Status::ok);
  asked.meet(config, model, index.index());
  for_each_unknown_name(config, model, "m", index.index(), [&](const NeverCaptured&) { ++unknown; });
  const std::uint64_t taken = blocks - before;
  const bool none_matches = shape == Form::unknown || shape == Form::suspects;
  CHECK(plan.matched_ops == (none_matches ? 0 : count));
  CHECK(unknown == (shape == Form::unknown && !any_model ? count : 0));
  return taken;
}

}  // namespace

TEST_CASE("plan: the work to load a model is linear in names and operators, but for a logarithm") {
  constexpr std::size_t kCount = 1000;
  for (int shape = 0; shape <= static_cast<int>(Form::patterns); ++shape) {
    for (const bool any_model : {false, true}) {
      CAPTURE(shape);
      CAPTURE(any_model);
      const std::uint64_t one = work(static_cast<Form>(shape), any_model, kCount);
      const std::uint64_t sixteen = work(static_cast<Form>(shape), any_model, 16 * kCount);
      CHECK(one > 0);
      CHECK(sixteen < 16 * 1.5 * static_cast<double>(one));  // log: 1.4; quadratic: 256 times
    }
  }
}

TEST_CASE("privacy: a rule looks at little of an operator that it does not name") {
  constexpr std::size_t kCount = 1000;
  for (const std::string begin : {"", "*"}) {
    std::vector<std::string> names;
    std::vector<OpDesc> ops(kCount);
    std::vector<NamePattern> globs(2 * kCount);
    std::vector<PrivacyRule> rules(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      names.insert(names.end(), {name_of(i, '/'), begin + name_of(i, '-') + "*"});
    for (std::size_t i = 0; i < kCount; ++i) {
      ops[i].name = names[2 * i];
      globs[2 * i + 1].text = names[2 * i + 1];
      rules[i].names = std::span(globs).subspan(2 * i, 2);
    }
    const std::uint64_t before = blocks;
    std::size_t unmet = 0;
    for_each_unmet_rule(rules, {.name = "m", .ops = ops}, "m", [&](const NeverCaptured&) { ++unmet; });
    CHECK(unmet == kCount);
    CHECK((blocks - before) / kCount / kCount < (begin.empty() ? 100 : 320));
  }
}
