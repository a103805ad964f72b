#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "opdump/session.hpp"
#include "tests/support/fakes.hpp"

namespace opdump::tests {

/// A session over `Memory` that dumps all of one model into a sink in memory.
template <class Memory>
struct Dump {
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[4096];
  alignas(8) std::byte ring[4096];
  std::vector<std::uint8_t> bits;
  ModelPlan plan;
  ModelRule rules[1] = {{.any_model = true}};
  BasicSession<Memory> session;
  BasicRecorder<Memory>& recorder;

  explicit Dump(Memory& memory, std::uint32_t device_id = 0)
      : session({.memory = memory,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch,
                 .device_id = device_id,
                 .when_full = WhenFull::inline_drain}),
        recorder(*session.add_recorder(ring).value()) {}

  void start(const ModelDesc& model) {
    DumpConfig config;
    config.asked = config.active = true;
    config.dump_path = "/d";
    config.mode = DumpMode::all;
    config.models = rules;
    bits.resize(model.ops.size());
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model, bits) == Status::ok);
  }
};

}  // namespace opdump::tests
