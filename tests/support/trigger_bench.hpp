#pragma once
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "tests/support/session_bench.hpp"

namespace opdump::tests {

/// A rule of a trigger at an operator, an exact name.
class TriggerCase {
 public:
  TriggerCase(TriggerCause cause, std::string_view op, TriggerNumbers numbers = {}) {
    numbers.cause = cause;
    names_[1].text = op;
    rule.names = names_;
    rule.numbers = TriggerRule::pack(numbers);
  }
  TriggerCase(const TriggerCase&) = delete;

  TriggerCase& below(double limit) {
    rule.below = std::bit_cast<std::uint64_t>(limit);
    rule.numbers |= 1u << 9;
    return *this;
  }
  TriggerCase& above(double limit) {
    rule.above = std::bit_cast<std::uint64_t>(limit);
    rule.numbers |= 1u << 10;
    return *this;
  }

  TriggerRule rule;

 private:
  NamePattern names_[2];
};

/// A session over a history and triggers, of the model of session_bench.hpp.
template <class Look = SmallLook>
struct TriggerBench {
  explicit TriggerBench(std::vector<TriggerRule> of, TriggerLimits limits = {}, std::uint32_t history = 2,
                        std::uint32_t after = 1)
      : rules(std::move(of)) {
    config = everything();
    config.mode = DumpMode::output;
    config.options.history_steps = history;
    config.options.after_steps = after;
    config.options.triggers = rules;
    config.options.trigger_bytes_per_boot = limits.bytes_per_boot;
    config.options.trigger_firings_per_boot = limits.firings_per_boot;
    clock.us_per_reading = 1;
  }

  void start(const ModelDesc& model = kModel) {
    REQUIRE(session.configure(config.options) == Status::ok);
    REQUIRE(sink.follow(config.options, session.journal()) == Status::ok);
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model, bits) == Status::ok);
  }

  /// One step of all three operators, of which each makes `values`.
  void step(std::vector<float> values) {
    const Dim dims[] = {static_cast<Dim>(values.size())};
    const TensorView output = {.address = address_of(values.data()),
                               .bytes = values.size() * sizeof(float),
                               .dtype = DType::float32,
                               .shape = dims};
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    if (step_us != 0) clock.now_us += step_us;
    clock.now_ms += step_us / 1000;
    for (std::size_t op = 0; op < plan.model->ops.size(); ++op) {
      if (recorder.wants(op)) REQUIRE(recorder.capture(op, {}, {&output, 1}) == Status::ok);
    }
    REQUIRE(recorder.end_step() == Status::ok);
    if (drains) session.drain_some(SIZE_MAX);
  }

  /// The same with elements of `dtype`, as they lie in memory.
  template <class Element>
  void step_of(DType dtype, const std::vector<Element>& elements) {
    const Dim dims[] = {static_cast<Dim>(elements.size())};
    const TensorView output = {.address = address_of(elements.data()),
                               .bytes = elements.size() * sizeof(Element),
                               .dtype = dtype,
                               .shape = dims};
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t op = 0; op < plan.model->ops.size(); ++op) {
      if (recorder.wants(op)) REQUIRE(recorder.capture(op, {}, {&output, 1}) == Status::ok);
    }
    REQUIRE(recorder.end_step() == Status::ok);
    session.drain_some(SIZE_MAX);
  }

  /// The steps of which there are files.
  std::set<std::uint64_t> steps() const {
    std::set<std::uint64_t> steps;
    for (const auto& [path, data] : inner.objects) {
      const std::size_t bar = path.rfind('|');
      const std::size_t slash = path.rfind('/', bar);
      steps.insert(std::stoull(path.substr(slash + 1, bar - slash - 1)));
    }
    return steps;
  }

  std::string journal() const {
    std::string all;
    for (const auto& [name, text] : inner.journals) all += text;
    return all;
  }

  /// The lines of the journal that begin so.
  std::vector<std::string> lines(const std::string& word) const {
    std::vector<std::string> found;
    const std::string all = journal();
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = all.find('\n', at);
      const std::string line = all.substr(at, end - at);
      if (line.starts_with(word + ",")) found.push_back(line);
      at = end + 1;
    }
    return found;
  }

  std::vector<TriggerRule> rules;
  DumpConfig config;
  FakeMemory memory;
  FakeSink inner;
  FakeClock clock;
  std::vector<std::uint64_t> history_memory = std::vector<std::uint64_t>(8192);
  HistorySink history{inner, std::as_writable_bytes(std::span(history_memory))};
  TriggerMemory<8, 16, 64> room;
  TriggerSink sink{history, inner, clock, room.room()};
  Triggers<FakeMemory, Look> looks{sink};
  AllParts<FakeMemory, 1, 4096> parts{memory};
  std::byte scratch[1024];
  alignas(8) std::byte ring[65536];
  BasicSession<FakeMemory> session{parts.added_to({.memory = memory,
                                                   .sink = sink,
                                                   .clock = clock,
                                                   .scratch = scratch,
                                                   .device_id = 2,
                                                   .when_full = WhenFull::drop,
                                                   .triggers = &looks})};
  BasicRecorder<FakeMemory>& recorder = *session.add_recorder(ring).value();
  ModelPlan plan;
  std::uint8_t bits[16] = {};
  std::uint32_t step_us = 0;
  bool drains = true;
};

}  // namespace opdump::tests
