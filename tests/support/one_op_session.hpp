#pragma once
#include <doctest/doctest.h>

#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"

namespace opdump::tests {

/// A session over a sink, whose steps capture one tensor of one operator.
class OneOpSession {
 public:
  OneOpSession(Sink& sink, Clock& clock, WhenFull when_full = WhenFull::drop,
               JournalDetail journal = JournalDetail::records, bool knows_heads = false)
      : knows_heads_(knows_heads),
        session({.memory = memory_,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch_,
                 .when_full = when_full,
                 .journal = journal}) {}

  void start() {
    DumpConfig config;
    config.active = true;
    config.dump_path = "/flash";
    config.models = kRules;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan_, kModel) == Status::ok);
  }

  /// What the capture of `data` says.
  Status step(Bytes data) {
    const Dim dims[] = {static_cast<Dim>(data.size())};
    const TensorView tensor = {
        .address = address_of(data.data()), .bytes = data.size(), .dtype = DType::uint8, .shape = dims};
    REQUIRE(recorder_.begin_step(plan_) == Status::ok);
    const Status status = recorder_.capture(0, {}, {&tensor, 1});
    REQUIRE(recorder_.end_step() == Status::ok);
    return status;
  }

 private:
  static constexpr OpDesc kOps[] = {{.name = "conv1/with/a/name", .type = "Conv2D", .task_id = 1}};
  static constexpr ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};
  static constexpr ModelRule kRules[] = {{.any_model = true}};

  HostMemory memory_;
  std::byte scratch_[2048];
  alignas(8) std::byte ring_[16384];
  alignas(8) std::byte heads_[head_memory_bytes(1)];
  const bool knows_heads_;

 public:
  BasicSession<HostMemory> session;

 private:
  BasicRecorder<HostMemory>& recorder_ =
      *session.add_recorder(ring_, {heads_, knows_heads_ ? sizeof heads_ : 0}).value();
  ModelPlanFor<1> plan_;
};

}  // namespace opdump::tests
