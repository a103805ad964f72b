#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "opdump/impl/plan/resolve_plan.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

TEST_CASE("plan: models by file name before graph name, layers by own or fused names, exactly") {
  const auto matched = [](std::span<const ModelRule> rules, DumpLevel level = DumpLevel::all) {
    DumpConfig config = everything();
    config.models = rules;
    config.level = level;
    ModelPlan plan;
    std::uint8_t bits[3];
    REQUIRE(resolve_plan(config, kModel, bits, plan) == Status::ok);
    std::string ops;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) ops += plan.bits[i] != 0 ? kOps[i].name[0] : '-';
    return ops + "/" + std::string(plan.directory_name);
  };
  const std::string_view pool[] = {"pool1"};
  const std::string_view fused[] = {"relu1"};
  const std::string_view none[] = {"Pool1", "pool", "pool1 "};
  const auto rule = [](std::string_view name, std::span<const std::string_view> layers) {
    return ModelRule{
        .model_name = name, .any_model = name.empty(), .all_layers = layers.empty(), .layers = layers};
  };
  CHECK(matched(std::vector{rule("net", {})}) == "cpf/net");
  CHECK(matched(std::vector{rule("net", pool)}) == "-p-/net");
  CHECK(matched(std::vector{rule("net", fused)}) == "c--/net");
  CHECK(matched(std::vector{rule("net", none)}) == "/net");
  CHECK(matched(std::vector{rule("other", {})}) == "/net");
  CHECK(matched(std::vector{rule("graph", pool)}) == "-p-/graph");
  CHECK(matched(std::vector{rule("graph", {}), rule("net", pool)}) == "-p-/net");
  CHECK(matched(std::vector{rule("net", pool), rule("net", fused)}) == "cp-/net");
  CHECK(matched(std::vector{rule("", pool), rule("", fused)}) == "cp-/net");
  CHECK(matched(std::vector{rule("", pool)}) == "-p-/net");
  CHECK(matched(std::vector{rule("", pool), rule("net", fused)}) == "cp-/net");
  CHECK(matched({}) == "/net");
}

TEST_CASE("plan: a name that no operator has stands for the one whose files are named so") {
  constexpr std::string_view kFused[] = {"fused/x.y"};
  static const OpDesc ops[] = {{.name = "model/conv2d/Conv2D"},
                               {.name = "model_pool"},
                               {.name = "model/pool"},
                               {.name = "add", .original_names = kFused}};
  const auto matched = [](std::string_view layer, std::span<const OpRange> ranges = {}) {
    const ModelExtras extras = {.ranges = ranges};
    const ModelRule rule = {.model_name = "m", .all_layers = false, .layers = {&layer, 1}, .extras = &extras};
    DumpConfig config = everything();
    config.models = {&rule, 1};
    ModelPlan plan;
    std::uint8_t bits[4] = {};
    REQUIRE(resolve_plan(config, {.name = "m", .ops = ops}, bits, plan) == Status::ok);
    std::string taken;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) taken += plan.bits[i] != 0 ? '1' : '0';
    return taken;
  };
  CHECK(matched("model_conv2d_Conv2D") == "1000");
  CHECK(matched("model_pool") == "0100");
  CHECK(matched("fused_x_y") == "0001");
  CHECK(matched("model_conv2d/Conv2D") == "");
  constexpr OpRange kRange[] = {{"model_conv2d_Conv2D", "model/pool"}};
  CHECK(matched("none", kRange) == "1110");
}

TEST_CASE("plan: a listed operator brings the Data operators that feed it, where its outputs are wanted") {
  const std::uint32_t from_x[] = {0, 2};
  const std::uint32_t from_conv[] = {1, 3, 99};
  const OpDesc ops[] = {{.name = "x", .type = "Data"},
                        {.name = "w", .type = "RefData"},
                        {.name = "c", .type = "Const"},
                        {.name = "conv", .type = "Conv2D", .producers = from_x},
                        {.name = "add", .type = "Add", .producers = from_conv}};
  const ModelDesc model = {.name = "net", .ops = ops};
  const auto bits_of = [&](std::span<const std::string_view> layers, DumpMode mode) {
    const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = layers}};
    DumpConfig config = everything();
    config.models = rules;
    config.mode = mode;
    std::string first;
    for (const bool indexed : {false, true}) {
      ModelPlan plan;
      std::uint8_t bits[5];
      const posix::OpIndexMemory index(ops);
      REQUIRE(resolve_plan(config, model, bits, plan, indexed ? index.index() : OpIndex()) == Status::ok);
      std::string text;
      for (const std::uint8_t each : plan.bits) text += static_cast<char>('0' + each);
      CHECK((!indexed || text == first));
      first = text;
    }
    return first;
  };
  const std::string_view conv[] = {"conv"};
  const std::string_view add[] = {"add"};
  const std::string_view both[] = {"w", "conv"};
  CHECK(bits_of(conv, DumpMode::all) == "20030");
  CHECK(bits_of(conv, DumpMode::output) == "20020");
  CHECK(bits_of(conv, DumpMode::input) == "00010");
  CHECK(bits_of(add, DumpMode::all) == "02003");
  CHECK(bits_of(both, DumpMode::all) == "23030");
}

TEST_CASE("plan: a range takes what runs between its ends, and is added to the layers") {
  const OpDesc ops[] = {{.name = "a"}, {.name = "b"}, {.name = "c"},
                        {.name = "d"}, {.name = "b"}, {.name = "e"}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const auto matched = [&](std::vector<OpRange> ranges, std::span<const std::string_view> layers = {}) {
    const ModelExtras extras = {.ranges = ranges};
    const ModelRule rule = {.model_name = "m", .all_layers = false, .layers = layers, .extras = &extras};
    DumpConfig config = everything();
    config.models = {&rule, 1};
    config.level = DumpLevel::op;
    ModelPlan plan;
    std::uint8_t bits[6] = {};
    REQUIRE(resolve_plan(config, model, bits, plan) == Status::ok);
    std::string taken;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) taken += plan.bits[i] != 0 ? '1' : '0';
    CHECK(plan.matched_ops == std::count(taken.begin(), taken.end(), '1'));
    return taken;
  };
  CHECK(matched({{"b", "d"}}) == "011100");
  CHECK(matched({{"a", "e"}}) == "111111");
  CHECK(matched({{"c", "c"}}) == "001000");
  CHECK(matched({{"c", "d"}, {"a", "a"}}) == "101100");
  CHECK(matched({{"c", "none"}}) == "001111");
  CHECK(matched({{"none", "c"}}).empty());
  CHECK(matched({{"d", "c"}}).empty());      // ends before it begins
  CHECK(matched({{"b", "c"}}) == "011000");  // begins again after its end
  CHECK(matched({{"b", "b"}}) == "010000");
  const std::string_view layers[] = {"e", "c"};
  CHECK(matched({{"a", "b"}}, layers) == "111001");
}

TEST_CASE("plan: dump_level takes operators, kernels, or both") {
  const OpDesc ops[] = {
      {.name = "both"}, {.name = "op", .level = OpLevel::op}, {.name = "k", .level = OpLevel::kernel}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const auto matched = [&](DumpLevel level) {
    DumpConfig config = everything();
    config.level = level;
    ModelPlan plan;
    std::uint8_t bits[3];
    REQUIRE(resolve_plan(config, model, bits, plan) == Status::ok);
    return std::to_string(bits[0] != 0) + std::to_string(bits[1] != 0) + std::to_string(bits[2] != 0);
  };
  CHECK(matched(DumpLevel::all) == "111");
  CHECK(matched(DumpLevel::op) == "110");
  CHECK(matched(DumpLevel::kernel) == "101");
}

TEST_CASE("plan: counts per operator, where the caller gives memory for them") {
  Bench<1024> bench(WhenFull::drop);
  bench.start(everything());
  OpCounts counts[3];
  REQUIRE(bench.session.count_ops(bench.plan, counts) == Status::ok);
  for (int i = 0; i < 4; ++i) bench.step();
  CHECK(bench.plan.steps_seen == 4);
  CHECK(bench.plan.steps_wanted == 4);
  std::uint32_t captured = 0, lost = 0;
  for (const OpCounts& op : counts) {
    CHECK(op.wanted == 4);
    CHECK(op.captured + op.lost() == 4);
    CHECK(op.ring_full == op.lost());
    if (op.lost() != 0) CHECK(op.lost_steps.last == 3);
    captured += op.captured;
    lost += op.lost();
  }
  CHECK(captured == bench.session.counts().captured);
  CHECK(lost == bench.session.counts().ring_full);
  CHECK(lost > 0);
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("plan: operators by part of their type, by pattern, by mark") {
  const OpDesc ops[] = {{.name = "Default/net-Conv/Conv2D-op1"},
                        {.name = "Default/net/MatMul-op2", .marked = true},
                        {.name = "Default/net/Add-op3"}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const auto matched = [&](const ModelExtras& extras, std::span<const std::string_view> layers = {}) {
    const ModelRule rule = {.any_model = true, .all_layers = false, .layers = layers, .extras = &extras};
    DumpConfig config = everything();
    config.models = {&rule, 1};
    config.first_step = 7;
    ModelPlan plan;
    std::uint8_t bits[3] = {};
    REQUIRE(resolve_plan(config, model, bits, plan) == Status::ok);
    CHECK(plan.next_step == 7);
    std::string taken;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) taken += plan.bits[i] != 0 ? '1' : '0';
    return taken;
  };
  const std::string_view conv[] = {"conv"};
  const std::string_view net[] = {"net"};
  const std::string_view each[] = {"mul", "add"};
  const std::string_view name[] = {"Default/net/Add-op3"};
  CHECK(matched({.type_parts = conv}) == "100");
  CHECK(matched({.type_parts = net}) == "");
  CHECK(matched({.type_parts = each}) == "011");
  CHECK(matched({.type_parts = conv}, name) == "101");
  CHECK(matched({.marked = true}) == "010");
  const NameStep steps[] = {{NameStep::Kind::fork, 1, 3},
                            {NameStep::Kind::set, 0, 0},
                            {NameStep::Kind::fork, 0, 0},
                            {NameStep::Kind::byte, '1', 0},
                            {NameStep::Kind::match, 0, 0}};
  ByteSet any;
  any.fill(0xff);
  const NamePattern ends_with_1 = {"", steps, {&any, 1}};
  CHECK(matched({.patterns = {&ends_with_1, 1}}) == "100");
}
