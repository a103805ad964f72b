#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Tensors;

namespace {

constexpr int kOps = 40;
constexpr int kSteps = 25;

std::vector<float> values_of(int step, int op) {
  return std::vector<float>(50, static_cast<float>(step * 1000 + op));
}

/// Runs the operators of each step on `threads` threads, as a pool of a runtime does.
template <class Model, class Wants>
void run_in_pool(Model& model, int threads, Wants wants) {
  std::barrier steps(threads + 1);
  std::vector<std::thread> pool;
  std::atomic<int> next{0};
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      for (int step = 0; step < kSteps; ++step) {
        steps.arrive_and_wait();
        for (int op = next++; op < kOps; op = next++) {
          const std::vector<float> values = values_of(step, op);
          const std::uint32_t number = wants(op);
          if (number != attach::kNoOp)
            model.capture(number, {}, Tensors().add(values.data(), OPDUMP_FLOAT32, {5, 10}));
        }
        steps.arrive_and_wait();
      }
    });
  }
  for (int i = 0; i < kSteps; ++i) {
    next = 0;
    const auto step = model.step();
    steps.arrive_and_wait();
    steps.arrive_and_wait();
  }
  for (std::thread& thread : pool) thread.join();
}

void check_all(const AttachRun& asked) {
  const auto records = asked.records();
  CHECK(records.size() == kOps * kSteps);
  for (int step = 0; step < kSteps; ++step) {
    for (int op = 0; op < kOps; ++op) {
      const auto found = records.find(std::to_string(step) + "/Any.op" + std::to_string(op));
      REQUIRE(found != records.end());
      CHECK(ends_with(found->second, values_of(step, op)));
    }
  }
}

}  // namespace

TEST_CASE("attach: each thread of a pool captures with a ring of its own") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (int op = 0; op < kOps; ++op) model.add_op("op" + std::to_string(op), "Any");
  run_in_pool(model, 4, [&](int op) {
    return model.wants(static_cast<std::uint32_t>(op)) ? static_cast<std::uint32_t>(op) : attach::kNoOp;
  });
  CHECK(dump.counts().shared_threads == 0);
  CHECK(dump.stop() == OPDUMP_OK);
  check_all(asked);
  CHECK(dump.counts().failed_calls == 0);
}

TEST_CASE("attach: threads beyond the limit share a ring, lose nothing, and are counted and told") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options(3));
  attach::Model model(dump, "net");
  for (int op = 0; op < kOps; ++op) model.add_op("op" + std::to_string(op), "Any");
  run_in_pool(model, 6, [](int op) { return static_cast<std::uint32_t>(op); });
  CHECK(dump.stop() == OPDUMP_OK);
  check_all(asked);
  CHECK(dump.counts().shared_threads != 0);
  CHECK(asked.told("more threads capture at once") == 1);
}

TEST_CASE("attach: threads that end give their rings to those that come") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (int op = 0; op < kOps; ++op) model.add_op("op" + std::to_string(op), "Any");
  {
    const auto step = model.step();
    for (int op = 0; op < kOps; ++op) {
      std::thread([&] {
        const std::vector<float> values = values_of(0, op);
        model.capture(static_cast<std::uint32_t>(op), {}, Tensors().add(values.data(), OPDUMP_FLOAT32, {50}));
      }).join();
    }
  }
  CHECK(dump.counts().shared_threads == 0);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.records().size() == kOps);
}

TEST_CASE("attach: a pool runs a dynamic model") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  run_in_pool(model, 3, [&](int op) { return model.see("op" + std::to_string(op), "Any"); });
  CHECK(dump.stop() == OPDUMP_OK);
  check_all(asked);
}

TEST_CASE("attach: with when_full inline all threads capture in turn") {
  AttachRun asked(R"("dump_list": [{}])", R"("when_full": "inline")");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (int op = 0; op < kOps; ++op) model.add_op("op" + std::to_string(op), "Any");
  run_in_pool(model, 3, [](int op) { return static_cast<std::uint32_t>(op); });
  CHECK(dump.stop() == OPDUMP_OK);
  check_all(asked);
}

TEST_CASE("attach: two models run at once on threads of their own, while the dump stops and starts") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      attach::Model model(dump, "net" + std::to_string(i), static_cast<std::uint32_t>(i));
      for (int op = 0; op < 4; ++op) model.add_op("op" + std::to_string(op), "Any");
      const std::vector<float> values = values_of(0, i);
      while (!over) {
        const auto step = model.step();
        for (std::uint32_t op = 0; op < 4; ++op) {
          if (model.wants(op)) model.capture(op, {}, Tensors().add(values.data(), OPDUMP_FLOAT32, {50}));
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(dump.stop() == OPDUMP_OK);
    // A step may be open: then there is another try.
    while (dump.start(asked.config().c_str()) == OPDUMP_ERR_STEP_OPEN) std::this_thread::yield();
    CHECK(dump.is_on());
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(dump.records().lost == 0);
}

TEST_CASE("attach: models are loaded, grow and end on threads of their own") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  constexpr int kThreads = 4;
  constexpr int kRounds = 30;
  constexpr int kModelSteps = 2;
  constexpr int kModelOps = 6;
  const std::vector<float> values = values_of(0, 0);
  const auto capture = [&](auto& model, std::uint32_t op) {
    if (op != attach::kNoOp) model.capture(op, {}, Tensors().add(values.data(), OPDUMP_FLOAT32, {50}));
  };
  std::barrier begin(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        const std::string name = "n" + std::to_string(i) + "_" + std::to_string(round);
        const auto op_name = [&](int op) { return name + "_" + std::to_string(op); };
        if (i == 0) {
          attach::Model model(dump, name, static_cast<std::uint32_t>(i));
          for (int op = 0; op < kModelOps; ++op) model.add_op(op_name(op), "Any");
          for (int number = 0; number < kModelSteps; ++number) {
            const auto step = model.step();
            for (std::uint32_t op = 0; op < kModelOps; ++op) capture(model, op);
          }
        } else {
          attach::DynamicModel model(dump, name, static_cast<std::uint32_t>(i));
          for (int number = 0; number < kModelSteps; ++number) {
            const auto step = model.step();
            for (int op = 0; op < kModelOps; ++op) capture(model, model.see(op_name(op), "Any"));
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(dump.counts().failed_calls == 0);
  CHECK(dump.records().lost == 0);
  CHECK(asked.records().size() == std::size_t{kThreads} * kRounds * kModelSteps * kModelOps);
}
