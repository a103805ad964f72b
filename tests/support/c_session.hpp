#pragma once
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "opdump/opdump.h"
#include "tests/support/c_api_dump.hpp"

namespace opdump::tests {

/// The config of a compiled plan, in memory that `room` then has.
inline opdump_config* load_config(const std::vector<std::byte>& plan, std::unique_ptr<Room>& room) {
  room = std::make_unique<Room>(opdump_config_size(plan.size()));
  opdump_config* config = nullptr;
  REQUIRE(opdump_config_load_plan(room->at(), room->bytes(), plan.data(), plan.size(), &config) == OPDUMP_OK);
  return config;
}

/// A session of C with a recorder and `kNet`, over a sink that outlives it.
struct CSession {
  /// What `opdump_session_boot` says; the model is loaded if it is OPDUMP_OK.
  opdump_status boot(opdump_sink* sink, opdump_config* config) {
    opdump_session_options options = {};
    options.struct_bytes = sizeof options;
    options.clock = &clock;
    options.block_limit_ms = 100;
    options.sink = sink;
    session_room = std::make_unique<Room>(opdump_session_size(&options));
    REQUIRE(opdump_session_create(session_room->at(), session_room->bytes(), &options, &session) ==
            OPDUMP_OK);
    const opdump_recorder_options recorder_options = {sizeof recorder_options, 4096, 2, 1, 0, 0};
    recorder_room = std::make_unique<Room>(opdump_recorder_size(&recorder_options));
    REQUIRE(opdump_recorder_add(session, &recorder_options, recorder_room->at(), recorder_room->bytes(),
                                &recorder) == OPDUMP_OK);
    const opdump_status status = opdump_session_boot(session, config);
    if (status != OPDUMP_OK) return status;
    model_room = std::make_unique<Room>(opdump_model_size(&kNet));
    REQUIRE(opdump_model_load(session, &kNet, model_room->at(), model_room->bytes(), &model) == OPDUMP_OK);
    return status;
  }

  /// A step in which conv1 makes the four `values`, and, where `fails`, relu1 fails.
  void step(float (&values)[4], bool fails = false) {
    opdump_tensor tensor = tensor_of_values();
    tensor.address = reinterpret_cast<std::uintptr_t>(values);
    REQUIRE(opdump_begin_step(recorder, model) == OPDUMP_OK);
    REQUIRE(opdump_capture(recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
    if (fails) {
      opdump_running_op running = {};
      running.struct_bytes = sizeof running;
      running.op = 1;
      REQUIRE(opdump_begin_op(recorder, &running) == OPDUMP_OK);
      REQUIRE(opdump_capture_failure(recorder) == OPDUMP_OK);
    }
    REQUIRE(opdump_end_step(recorder) == OPDUMP_OK);
    static_cast<void>(opdump_session_drain(session, SIZE_MAX));
  }

  Ticks ticks;
  opdump_clock clock = clock_over(ticks);
  std::unique_ptr<Room> session_room, recorder_room, model_room;
  opdump_session* session = nullptr;
  opdump_recorder* recorder = nullptr;
  opdump_model* model = nullptr;
};

}  // namespace opdump::tests
