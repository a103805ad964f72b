#pragma once
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/parts/all.hpp"
#include "opdump/session.hpp"
#include "tests/support/fakes.hpp"

namespace opdump::tests {

inline const std::string_view kFused[] = {"conv1", "relu1"};
inline const OpDesc kOps[] = {
    {.name = "conv1_relu1", .type = "Conv2D", .task_id = 3, .stream_id = 1, .original_names = kFused},
    {.name = "pool1", .type = "MaxPool", .task_id = 4, .stream_id = 1},
    {.name = "fc", .type = "MatMul", .task_id = 5, .stream_id = 2},
};
inline const ModelDesc kModel = {.name = "net", .graph_name = "graph", .id = 9, .ops = kOps};

struct Tensors {
  Tensors() {
    for (std::size_t i = 0; i < 64; ++i) values[i] = static_cast<float>(i);
  }
  float values[64];
  Dim dims[2] = {4, 4};
  TensorView input{.address = address_of(values), .bytes = 64, .dtype = DType::float32, .shape = dims};
  TensorView output{.address = address_of(values + 16), .bytes = 64, .dtype = DType::float32, .shape = dims};
};

template <std::size_t RingBytes = 4096, class Memory = FakeMemory>
struct Bench {
  explicit Bench(WhenFull when_full = WhenFull::inline_drain, std::uint32_t limit_ms = 50,
                 JournalDetail journal = JournalDetail::records, SessionLog* log = nullptr,
                 MutableBytes more_configs = {})
      : session(parts.added_to({.memory = memory,
                                .sink = sink,
                                .clock = clock,
                                .scratch = scratch,
                                .device_id = 2,
                                .when_full = when_full,
                                .block_limit_ms = limit_ms,
                                .journal = journal,
                                .log = log,
                                .more_configs = more_configs})),
        recorder(*session.add_recorder(ring).value()) {}

  void start(const DumpConfig& config, const ModelDesc& model = kModel) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model, bits) == Status::ok);
  }

  /// One step in which every wanted operator is captured with the same two tensors.
  void step() {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t op = 0; op < plan.model->ops.size(); ++op) {
      if (recorder.wants(op)) last = recorder.capture(op, {&tensors.input, 1}, {&tensors.output, 1});
    }
    REQUIRE(recorder.end_step() == Status::ok);
  }

  Memory memory;
  FakeSink sink;
  FakeClock clock;
  AllParts<Memory, 1, 4096> parts{memory};
  std::byte scratch[1024];
  alignas(8) std::byte ring[RingBytes];
  BasicSession<Memory> session;
  BasicRecorder<Memory>& recorder;
  ModelPlan plan;
  std::uint8_t bits[16] = {};
  Tensors tensors;
  Status last = Status::ok;
};

inline const ModelRule kAnyModel[] = {{.any_model = true}};

inline DumpConfig everything() {
  return {.active = true, .dump_path = "/dump", .mode = DumpMode::all, .models = kAnyModel};
}

inline void check_adds_up(const DumpCounts& n) {
  CHECK(n.wanted == n.empty + n.written + n.dropped() + n.aborted());
  CHECK(n.captured + n.degraded == n.written + n.sink_failed + n.quota);
}

}  // namespace opdump::tests
