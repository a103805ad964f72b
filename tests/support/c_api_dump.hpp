#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opdump/config/write_blob.hpp"
#include "opdump/opdump.h"
#include "opdump/types/config.hpp"
#include "tests/support/little_endian.hpp"

namespace opdump::tests {

/// Memory for a handle, at an odd address and as small as its size allows.
class Room {
 public:
  explicit Room(std::size_t bytes) : bytes_(bytes), memory_(new unsigned char[bytes + 1]) {}
  void* at() const { return memory_.get() + 1; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::unique_ptr<unsigned char[]> memory_;
};

struct Ticks {
  std::uint64_t us = 1'700'000'000'000'000;
};

inline opdump_clock clock_over(Ticks& ticks) {
  return {.struct_bytes = sizeof(opdump_clock),
          .context = &ticks,
          .unix_us = [](void* self) { return static_cast<Ticks*>(self)->us += 10; },
          .utc_offset_seconds = nullptr,
          .monotonic_ms = [](void*) { return std::uint32_t{0}; },
          .pause = nullptr};
}

/// What a callback sink has handed on.
struct Received {
  std::map<std::string, std::string> open, whole, journals;
  int aborted = 0;
  opdump_status answer = OPDUMP_OK;
  opdump_status journal_answer = OPDUMP_OK;

  static opdump_status take(void* self, const opdump_piece* piece) {
    Received& to = *static_cast<Received*>(self);
    const std::string path(piece->path, piece->path_bytes);
    const std::string data(static_cast<const char*>(piece->data), piece->data_bytes);
    switch (piece->kind) {
      case OPDUMP_PIECE_DATA:
        to.open[path] += data;
        return to.answer;
      case OPDUMP_PIECE_COMMITTED:
        to.whole[path] = to.open[path];
        to.open.erase(path);
        break;
      case OPDUMP_PIECE_ABORTED:
        ++to.aborted;
        to.open.erase(path);
        break;
      default:
        if (to.journal_answer != OPDUMP_OK) return to.journal_answer;
        to.journals[path] += data;
    }
    return OPDUMP_OK;
  }
};

inline std::vector<std::byte> plan_of_everything(const char* dump_path, bool single_ops = false) {
  const opdump::ModelRule rules[] = {{.any_model = true}};
  opdump::DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = dump_path;
  config.mode = opdump::DumpMode::all;
  config.single_ops = single_ops;
  config.models = rules;
  config.options.ring_bytes = 4096;
  config.options.when_full = opdump::WhenFull::inline_drain;
  return opdump::write_plan(config);
}

/// A session over a callback sink that dumps everything.
struct CDump {
  Ticks ticks;
  Received received;
  std::vector<std::byte> plan;
  opdump_clock clock = clock_over(ticks);
  Room sink_room{opdump_callback_sink_size(512)};
  opdump_sink* sink = nullptr;
  opdump_session_options options{};
  std::unique_ptr<Room> session_room, config_room, recorder_room, model_room;
  opdump_session* session = nullptr;
  opdump_config* config = nullptr;
  opdump_recorder* recorder = nullptr;
  opdump_model* model = nullptr;

  explicit CDump(const opdump_memory* memory = nullptr,
                 std::vector<std::byte> plan_bytes = plan_of_everything("/d"),
                 opdump_faults* faults = nullptr)
      : plan(std::move(plan_bytes)) {
    REQUIRE(opdump_callback_sink_create(sink_room.at(), sink_room.bytes(), 512, Received::take, &received,
                                        &sink) == OPDUMP_OK);
    options.struct_bytes = sizeof options;
    options.memory = memory;
    options.clock = &clock;
    options.block_limit_ms = 100;
    options.sink = sink;
    options.faults = faults;
    session_room = std::make_unique<Room>(opdump_session_size(&options));
    REQUIRE(opdump_session_create(session_room->at(), session_room->bytes(), &options, &session) ==
            OPDUMP_OK);
    config_room = std::make_unique<Room>(opdump_config_size(plan.size()));
    REQUIRE(opdump_config_load_plan(config_room->at(), config_room->bytes(), plan.data(), plan.size(),
                                    &config) == OPDUMP_OK);
    const opdump_recorder_options recorder_options = {sizeof recorder_options, 4096, 2, 1, 0, 0};
    recorder_room = std::make_unique<Room>(opdump_recorder_size(&recorder_options));
    REQUIRE(opdump_recorder_add(session, &recorder_options, recorder_room->at(), recorder_room->bytes(),
                                &recorder) == OPDUMP_OK);
  }

  void start(const opdump_model_desc& desc) {
    REQUIRE(opdump_session_init(session) == OPDUMP_OK);
    REQUIRE(opdump_session_set_config(session, config) == OPDUMP_OK);
    model_room = std::make_unique<Room>(opdump_model_size(&desc));
    REQUIRE(opdump_model_load(session, &desc, model_room->at(), model_room->bytes(), &model) == OPDUMP_OK);
  }

  opdump_counts counts() const {
    opdump_counts counts;
    REQUIRE(opdump_session_counts(session, &counts, sizeof counts) == OPDUMP_OK);
    return counts;
  }
};

inline opdump_op op_of(const char* name, const char* type, std::uint32_t task, std::uint32_t stream) {
  opdump_op op = {};
  op.name = name;
  op.type = type;
  op.task_id = task;
  op.stream_id = stream;
  return op;
}

inline const opdump_op kNetOps[] = {op_of("conv1", "Conv2D", 3, 0), op_of("relu1", "Relu", 4, 0)};
inline const opdump_model_desc kNet = {.struct_bytes = sizeof kNet,
                                       .name = "net",
                                       .graph_name = nullptr,
                                       .id = 1,
                                       .op_count = 2,
                                       .ops = kNetOps};
inline const std::uint64_t kShape[] = {2, 2};
inline float values[4] = {1, 2, 3, 4};

inline opdump_tensor tensor_of_values() {
  return {.address = reinterpret_cast<std::uintptr_t>(values),
          .bytes = sizeof values,
          .dtype = OPDUMP_FLOAT32,
          .format = OPDUMP_FORMAT_ND,
          .rank = 2,
          .address_kind = 0,
          .shape = kShape,
          .original = nullptr};
}

/// A step in which operator 0 makes `tensor`.
inline void one_step(opdump_recorder* recorder, opdump_model* model, const opdump_tensor& tensor) {
  REQUIRE(opdump_begin_step(recorder, model) == OPDUMP_OK);
  REQUIRE(opdump_capture(recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(recorder) == OPDUMP_OK);
}

/// `bytes` of uint8, where `bytes` lives as long as the tensor.
inline opdump_tensor tensor_of_bytes(const void* at, const std::uint64_t& bytes) {
  return {reinterpret_cast<std::uintptr_t>(at), bytes, OPDUMP_UINT8, OPDUMP_FORMAT_ND, 1, 0, &bytes, nullptr};
}

/// The bytes of the values as a dump has them.
inline std::string dumped_values() {
  return std::string(as_text(little_endian(values, sizeof values, DType::float32)));
}

inline std::string only(const std::map<std::string, std::string>& files, const std::string& part) {
  std::string found;
  for (const auto& [name, bytes] : files) {
    if (name.find(part) == std::string::npos) continue;
    REQUIRE(found.empty());
    found = bytes;
  }
  return found;
}

}  // namespace opdump::tests
