#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/support/trigger_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

using Steps = std::set<std::uint64_t>;
using TriggerLines = std::vector<std::string>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// Ten steps of which each makes its number and 1, but for those in `odd`, which make `values`.
template <class Look>
void run_ten(TriggerBench<Look>& bench, const Steps& odd, const std::vector<float>& values) {
  for (std::uint64_t step = 0; step < 10; ++step)
    bench.step(odd.contains(step) ? values : std::vector<float>{static_cast<float>(step + 10), 1.f});
}

}  // namespace

TEST_CASE_TEMPLATE("triggers: each statistic fires where it is beyond its limit, and nowhere else", Look,
                   SmallLook, FullLook) {
  struct Case {
    TriggerCause cause;
    double below, above;
    std::vector<float> values;
    const char* value;
    const char* limit;
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  const float largest = std::numeric_limits<float>::max();
  const Case cases[] = {
      {TriggerCause::max, 0.5, none, {0.25f, -3.f}, "0.25", "<0.5"},
      {TriggerCause::min, -2, none, {0.25f, -3.f}, "-3", "<-2"},
      {TriggerCause::max, none, 50, {60.f, -3.f}, "60", ">50"},
      {TriggerCause::max, 9, 50, {60.f, -3.f}, "60", ">50"},
      {TriggerCause::max, 9, 50, {3.f, -3.f}, "3", "<9"},
      {TriggerCause::mean, none, 20, {40.f, 2.f}, "21", ">20"},
      {TriggerCause::l2norm, none, 40, {30.f, -40.f}, "50", ">40"},
      {TriggerCause::nan, none, 0, {1.f, kNan, kNan}, "2", ">0"},
      {TriggerCause::inf, none, 0, {1.f, -kInfinite, kInfinite}, "2", ">0"},
      {TriggerCause::saturated, none, 0.25, {largest, 1.f, -kInfinite, 2.f}, "0.5", ">0.25"},
  };
  for (const Case& one : cases) {
    CAPTURE(kTriggerWords[static_cast<std::size_t>(one.cause)]);
    TriggerCase trigger(one.cause, "pool1");
    if (!std::isnan(one.below)) trigger.below(one.below);
    if (!std::isnan(one.above)) trigger.above(one.above);
    TriggerBench<Look> bench({trigger.rule});
    bench.start();
    run_ten(bench, {4, 8}, one.values);
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.steps() == Steps{3, 4, 5, 7, 8, 9});
    const std::string word(kTriggerWords[static_cast<std::size_t>(one.cause)]);
    CHECK(bench.lines("fired") ==
          TriggerLines{"fired,0," + word + ",4," + one.value + "," + one.limit + ",9,net/MaxPool.pool1",
                       "fired,0," + word + ",8," + one.value + "," + one.limit + ",9,net/MaxPool.pool1"});
    CHECK(bench.lines("trigger") == TriggerLines{"trigger,0," + word + ",2,0,0,0,0,0,0,10"});
    CHECK(bench.history.lost() == 0);
  }
}

TEST_CASE_TEMPLATE("triggers: float16, bfloat16 and int8 fire where they are beyond a limit", Look, SmallLook,
                   FullLook) {
  struct Case {
    DType dtype;
    TriggerCause cause;
    double below, above;
    std::vector<std::uint16_t> calm, odd;  ///< elements; of int8 their low byte
    const char* value;
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Case cases[] = {
      // 1, 2 and 0.25, -3 of IEEE 754's half precision, by NumPy.
      {DType::float16, TriggerCause::max, 0.5, none, {0x3c00, 0x4000}, {0x3400, 0xc200}, "0.25"},
      {DType::float16, TriggerCause::min, -2, none, {0x3c00, 0x4000}, {0x3400, 0xc200}, "-3"},
      {DType::float16, TriggerCause::mean, -1, none, {0x3c00, 0x4000}, {0x3400, 0xc200}, "-1.375"},
      {DType::float16, TriggerCause::nan, none, 0, {0x3c00, 0x7c00}, {0x3c00, 0x7e01}, "1"},
      {DType::float16, TriggerCause::inf, none, 1, {0x3c00, 0x7c00}, {0xfc00, 0x7c00}, "2"},
      {DType::float16, TriggerCause::saturated, none, 0.5, {0x3c00, 0x7bff}, {0xfbff, 0x7c00}, "1"},
      // The same numbers as the upper halves of float32.
      {DType::bfloat16, TriggerCause::max, 0.5, none, {0x3f80, 0x4000}, {0x3e80, 0xc040}, "0.25"},
      {DType::bfloat16, TriggerCause::min, -2, none, {0x3f80, 0x4000}, {0x3e80, 0xc040}, "-3"},
      {DType::bfloat16, TriggerCause::mean, -1, none, {0x3f80, 0x4000}, {0x3e80, 0xc040}, "-1.375"},
      {DType::bfloat16, TriggerCause::nan, none, 0, {0x3f80, 0x7f80}, {0x3f80, 0x7fc0}, "1"},
      {DType::bfloat16, TriggerCause::inf, none, 1, {0x3f80, 0x7f80}, {0xff80, 0x7f80}, "2"},
      {DType::bfloat16, TriggerCause::saturated, none, 0.5, {0x3f80, 0x7f7f}, {0xff7f, 0x7f80}, "1"},
      {DType::int8, TriggerCause::max, none, 100, {1, 100}, {0x9c, 101}, "101"},
      {DType::int8, TriggerCause::min, -99, none, {1, 0x9d}, {0x9c, 101}, "-100"},
      {DType::int8, TriggerCause::mean, none, 2, {1, 3}, {0xff, 6}, "2.5"},
      {DType::int8, TriggerCause::saturated, none, 0.5, {1, 127}, {0x80, 127}, "1"},
      {DType::int8, TriggerCause::change, none, none, {1, 2}, {1, 3}, nullptr},
      {DType::float16, TriggerCause::change, none, none, {1, 2}, {1, 3}, nullptr},
      {DType::bfloat16, TriggerCause::change, none, none, {1, 2}, {1, 3}, nullptr},
  };
  for (const Case& one : cases) {
    CAPTURE(kTriggerWords[static_cast<std::size_t>(one.cause)]);
    CAPTURE(info(one.dtype).name);
    TriggerCase trigger(one.cause, "pool1");
    if (!std::isnan(one.below)) trigger.below(one.below);
    if (!std::isnan(one.above)) trigger.above(one.above);
    const bool is_sum = one.cause == TriggerCause::mean;
    const bool unread = std::is_same_v<Look, SmallLook> && is_sum && !SmallStatistics::supports(one.dtype);
    TriggerBench<Look> bench({trigger.rule}, {}, 1, 0);
    bench.start();
    for (int step = 0; step < 6; ++step) {
      const std::vector<std::uint16_t>& elements = step == 3 ? one.odd : one.calm;
      if (one.dtype == DType::int8) {
        bench.template step_of<std::uint8_t>(one.dtype, {elements.begin(), elements.end()});
      } else {
        bench.step_of(one.dtype, elements);
      }
    }
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.sink.counts().unread == (unread ? 6 : 0));
    if (unread) continue;
    // The step after a change is one back.
    CHECK(bench.steps() == (one.value != nullptr ? Steps{3} : Steps{3, 4}));
    if (one.value == nullptr) continue;
    REQUIRE(bench.lines("fired").size() == 1);
    CHECK(bench.lines("fired")[0].find(",3," + std::string(one.value) + ",") != std::string::npos);
  }
}

TEST_CASE("triggers: write exactly the steps even when the drainer is behind") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  TriggerBench<> bench({trigger.below(5).rule}, {}, 3, 1);
  bench.drains = false;
  bench.start();
  run_ten(bench, {2, 7}, {1.f, 1.f});
  CHECK(bench.inner.objects.empty());
  bench.session.drain_some(SIZE_MAX);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.steps() == Steps{0, 1, 2, 3, 5, 6, 7, 8});
  CHECK(bench.inner.objects.size() == 3 * 8);
}

TEST_CASE("triggers: one that fires at the last step, or at an operator that is not dumped, is written too") {
  TriggerCase trigger(TriggerCause::max, "fc");
  TriggerBench<> bench({trigger.below(5).rule}, {}, 2, 0);
  const std::string_view layers[] = {"pool1"};
  const ModelRule models[] = {{.any_model = true, .all_layers = false, .layers = layers}};
  bench.config.models = models;
  bench.start();
  CHECK(bench.plan.bits[0] == 0);
  run_ten(bench, {3, 9}, {1.f, 1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.steps() == Steps{2, 3, 8, 9});
  CHECK(bench.inner.objects.size() == 4);
  check_adds_up(bench.session.counts());
}

TEST_CASE("triggers: so many steps in a row, and a gap begins anew") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  trigger.below(5).rule.steps = 3;
  TriggerBench<> bench({trigger.rule}, {}, 1, 0);
  bench.start();
  run_ten(bench, {1, 2, 4, 5, 6, 7, 9}, {1.f, 1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.steps() == Steps{6, 7});
}

TEST_CASE("triggers: a row is of the steps that are looked at, whatever lies between") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  trigger.below(5).rule.steps = 3;
  const StepRange ranges[] = {{0, 0}, {10, 10}, {20, 20}, {30, 31}};
  TriggerBench<> bench({trigger.rule}, {}, 1, 0);
  bench.config.steps = {ranges};
  bench.start();
  for (int step = 0; step < 40; ++step) bench.step({step == 31 ? 20.f : 1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.steps() == Steps{20, 30});
  CHECK(bench.lines("trigger").back() == "trigger,0,max,2,0,0,0,0,0,0,5");
}

TEST_CASE("triggers: a step without the operator ends a row") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  trigger.below(5).rule.steps = 3;
  TriggerBench<> bench({trigger.rule}, {}, 1, 0);
  bench.start();
  for (int step = 0; step < 5; ++step) {
    if (step != 2) {
      bench.step({1.f});
    } else {
      REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
      REQUIRE(bench.recorder.end_step() == Status::ok);
    }
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.steps().empty());
}

TEST_CASE("triggers: a tensor that cannot be read ends a row") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  trigger.below(5).rule.steps = 2;
  TriggerBench<> bench({trigger.rule}, {}, 1, 0);
  bench.start();
  bench.step({1.f});
  // The look is the second copy of a step.
  bench.memory.fail_at = bench.memory.copies + 1;
  bench.step({1.f});
  bench.step({1.f});
  CHECK(bench.sink.counts().unread == 1);
  bench.step({1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.steps() == Steps{3});
}

TEST_CASE("triggers: cooldown and the limit of firings hold back, and are counted") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  trigger.below(5).rule.cooldown_s = 2;
  TriggerBench<> bench({trigger.rule}, {.firings_per_boot = 3}, 1, 0);
  bench.step_us = 1'000'000;
  bench.start();
  for (int step = 0; step < 10; ++step) bench.step({1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.steps() == Steps{0, 2, 4});
  const FiringCounts counts = bench.sink.counts();
  CHECK(counts.fired == 3);
  CHECK(counts.held[0] == 3);
  CHECK(counts.held[1] == 4);
  CHECK(bench.lines("trigger").back() == "trigger,0,max,3,3,4,0,0,0,0,10");
}

TEST_CASE("triggers: the limit of bytes holds a firing back, and ends a write-out") {
  // A step has three records of one size.
  std::uint64_t record = 0;
  std::uint64_t line = 0;
  {
    TriggerCase trigger(TriggerCause::max, "pool1");
    TriggerBench<> bench({trigger.below(5).rule}, {}, 1, 0);
    bench.start();
    bench.step({1.f});
    REQUIRE(bench.session.finalize() == Status::ok);
    record = bench.inner.objects.begin()->second.size();
    line = bench.lines("fired")[0].size() + 1;
  }
  TriggerCase trigger(TriggerCause::max, "pool1");
  // Four steps of the six that are asked for, and most of the lines.
  TriggerBench<> bench({trigger.below(5).rule}, {.bytes_per_boot = 13 * record + 3 * line}, 1, 5);
  bench.start();
  bench.step({1.f});
  for (int step = 1; step < 8; ++step) bench.step({20.f});
  bench.step({1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  std::uint64_t bytes = 0;
  for (const auto& [name, data] : bench.inner.objects) bytes += data.size();
  for (const std::string& told : bench.lines("fired")) bytes += told.size() + 1;
  CHECK(bytes <= 13 * record + 3 * line);
  CHECK(bytes > 12 * record);
  CHECK(bench.sink.counts().fired == 1);
  CHECK(bench.sink.counts().cut == 1);
  CHECK(bench.sink.counts().held[2] == 1);
}

TEST_CASE("triggers: a step's latency, the change of a digest, a failure and a call fire") {
  TriggerCase latency(TriggerCause::latency_us, "");
  TriggerBench<> slow({latency.above(5000).rule}, {}, 1, 0);
  slow.start();
  for (int step = 0; step < 8; ++step) {
    slow.step_us = step == 5 ? 7000 : 2000;
    slow.step({1.f});
  }
  REQUIRE(slow.session.finalize() == Status::ok);
  CHECK(slow.steps() == Steps{5});
  CHECK(slow.lines("fired")[0].ends_with(",>5000,9,net"));

  TriggerCase change(TriggerCause::change, "pool1");
  TriggerBench<> changing({change.rule}, {}, 1, 0);
  changing.start();
  for (int step = 0; step < 8; ++step) changing.step({step < 3 ? 1.f : 2.f});
  REQUIRE(changing.session.finalize() == Status::ok);
  CHECK(changing.steps() == Steps{3});
  // The CRC-32C of a float32, by Python.
  CHECK(changing.lines("fired") == TriggerLines{"fired,0,change,3,7b561c09,,9,net/MaxPool.pool1"});

  TriggerCase failure(TriggerCause::failure, "fc");
  TriggerBench<> failing({failure.rule}, {}, 2, 0);
  failing.start();
  for (int step = 0; step < 4; ++step) failing.step({1.f});
  REQUIRE(failing.recorder.begin_step(failing.plan) == Status::ok);
  for (const std::size_t op : {1, 2}) {
    failing.recorder.begin_op(op, {}, {});
    CHECK(failing.recorder.capture_failure() == Status::ok);
  }
  REQUIRE(failing.recorder.end_step() == Status::ok);
  REQUIRE(failing.session.finalize() == Status::ok);
  CHECK(failing.steps() == Steps{2, 3});
  CHECK(failing.lines("fired") == TriggerLines{"fired,0,failure,4,,,9,net/MatMul.fc"});

  TriggerCase called(TriggerCause::call, "");
  called.rule.call = "door";
  TriggerBench<> asked({called.rule}, {}, 2, 1);
  asked.drains = false;
  asked.start();
  for (int step = 0; step < 8; ++step) {
    asked.step({1.f});
    if (step == 3) CHECK(asked.sink.fire("door") == Status::ok);
    if (step == 3) asked.session.drain_some(SIZE_MAX);
  }
  CHECK(asked.sink.fire("window") == Status::invalid_argument);
  REQUIRE(asked.session.finalize() == Status::ok);
  CHECK(asked.steps() == Steps{2, 3, 4});
  CHECK(asked.lines("fired") == TriggerLines{"fired,0,call,3,,,0,door"});

  TriggerBench<> behind({called.rule}, {}, 2, 1);
  behind.drains = false;
  behind.start();
  for (int step = 0; step < 8; ++step) {
    behind.step({1.f});
    if (step == 3 || step == 5) CHECK(behind.sink.fire("door") == Status::ok);
  }
  REQUIRE(behind.session.finalize() == Status::ok);
  // The second call came before the drainer had seen the first.
  CHECK(behind.steps() == Steps{2, 3, 4});
}

TEST_CASE("triggers: tensors that cannot be looked at are counted, firings that find no room too") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  TriggerBench<> bench({trigger.below(5).rule}, {}, 1, 0);
  bench.drains = false;
  bench.start();
  for (int step = 0; step < 70; ++step) bench.step({1.f});
  bench.memory.fail_at = bench.memory.copies + 1;
  bench.step({1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.counts().fired == 64);
  CHECK(bench.sink.counts().held[3] == 6);
  CHECK(bench.sink.counts().unread == 1);
}

TEST_CASE("triggers: a journal tells no value of a tensor that the privacy does not keep so much of") {
  struct Case {
    KeptAs kept;
    TriggerCause cause;
    const char* fired;
  };
  const Case cases[] = {
      {KeptAs::stats, TriggerCause::max, "fired,0,max,1,1,<5,9,net/MaxPool.pool1"},
      {KeptAs::digest, TriggerCause::max, "fired,0,max,1,,<5,9,net/MaxPool.pool1"},
      {KeptAs::digest, TriggerCause::change, "fired,0,change,1,abc454dd,,9,net/MaxPool.pool1"},
      {KeptAs::shape, TriggerCause::max, "fired,0,max,1,,<5,9,net/MaxPool.pool1"},
      {KeptAs::shape, TriggerCause::change, "fired,0,change,1,,,9,net/MaxPool.pool1"},
      {KeptAs::nothing, TriggerCause::max, "fired,0,max,1,,<5,9,net"},
  };
  for (const Case& one : cases) {
    TriggerCase trigger(one.cause, "pool1");
    if (one.cause == TriggerCause::max) trigger.below(5);
    TriggerBench<> bench({trigger.rule}, {}, 1, 0);
    const PrivacyRule privacy[] = {
        {.names = trigger.rule.names, .numbers = PrivacyRule::pack({.kept = one.kept})}};
    bench.config.privacy = privacy;
    bench.start();
    bench.step({20.f});
    bench.step({1.f});
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.lines("fired") == TriggerLines{one.fired});
  }
}

TEST_CASE("triggers: what no model has is told, and a session without them refuses the config") {
  TriggerCase trigger(TriggerCause::max, "conv7");
  TriggerBench<> bench({trigger.below(5).rule});
  bench.start();
  bench.step({1.f});
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.lines("never") == TriggerLines{"never,no_trigger,0,0,9,net/_/conv7"});
  CHECK(bench.lines("trigger") == TriggerLines{"trigger,0,max,0,0,0,0,0,0,0,0"});

  Bench<> plain;
  REQUIRE(plain.session.init() == Status::ok);
  CHECK(plain.session.set_config(bench.config) == Status::not_supported);
}

TEST_CASE("triggers: places of models that have gone are free again, once their firings have been told") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  TriggerBench<> bench({trigger.below(5).rule});
  bench.start();
  const Dim dims[] = {1};
  const float low = 1;
  const TensorView output = {.address = address_of(&low), .bytes = 4, .dtype = DType::float32, .shape = dims};
  TriggerLines expected;
  int refused = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::string name = "net" + std::to_string(i);
    const ModelDesc model = {.name = name, .id = i, .ops = kOps};
    ModelPlan plan;
    std::uint8_t bits[16] = {};
    if (bench.session.load_model(plan, model, bits) == Status::ok) {
      expected.push_back("fired,0,max,0,1,<5," + std::to_string(i) + "," + name + "/MaxPool.pool1");
      REQUIRE(bench.recorder.begin_step(plan) == Status::ok);
      CHECK(bench.recorder.capture(1, {}, {&output, 1}) == Status::ok);
      REQUIRE(bench.recorder.end_step() == Status::ok);
    } else {
      ++refused;
      while (bench.session.drain_some(SIZE_MAX) != 0) {
      }
    }
    REQUIRE(bench.session.unload_model(plan) == Status::ok);
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(refused > 3);
  CHECK(bench.lines("fired") == expected);
}

TEST_CASE("triggers: models without a name have places of their own, and one too many is refused") {
  TriggerCase trigger(TriggerCause::max, "pool1");
  TriggerBench<> bench({trigger.below(5).rule}, {}, 1, 0);
  const ModelDesc nameless = {.id = 9, .ops = kOps};
  bench.start(nameless);
  ModelPlan more[16];
  std::uint8_t bits[16][16] = {};
  std::size_t loaded = 0;
  // Triggers has room for four plans.
  while (loaded < 16 && bench.session.load_model(more[loaded], nameless, bits[loaded]) == Status::ok)
    ++loaded;
  CHECK(loaded == 3);
  CHECK(bench.session.load_model(more[4], nameless, bits[4]) == Status::no_memory);
  bench.step({20.f, 1.f});
  REQUIRE(bench.recorder.begin_step(more[0]) == Status::ok);
  const float low = 1;
  const Dim dims[] = {1};
  const TensorView output = {.address = address_of(&low), .bytes = 4, .dtype = DType::float32, .shape = dims};
  CHECK(bench.recorder.capture(1, {}, {&output, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.counts().looks == 2);
  CHECK(bench.lines("fired").size() == 1);
}
