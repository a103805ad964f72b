#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "opdump/opdump.h"
#include "support/c_api_dump.hpp"

using namespace opdump::tests;

TEST_CASE("c api: structs may be older than the library, and newer if they ask for nothing new") {
  CDump dump;
  struct Newer {
    opdump_session_options options;
    std::uint64_t added;
  } newer = {dump.options, 0};
  newer.options.struct_bytes = sizeof newer;
  CHECK(opdump_session_size(&newer.options) == opdump_session_size(&dump.options));
  opdump_session* session = nullptr;
  const Room room(opdump_session_size(&newer.options));
  CHECK(opdump_session_create(room.at(), room.bytes(), &newer.options, &session) == OPDUMP_OK);
  newer.added = 1;
  CHECK(opdump_session_create(room.at(), room.bytes(), &newer.options, &session) == OPDUMP_ERR_NOT_SUPPORTED);
  CHECK(session == nullptr);

  opdump_session_options older = dump.options;
  older.name_bytes = 1 << 20;
  older.struct_bytes = offsetof(opdump_session_options, name_bytes);
  CHECK(opdump_session_size(&older) == opdump_session_size(&dump.options));
  older.struct_bytes = 1;
  CHECK(opdump_session_create(room.at(), room.bytes(), &older, &session) == OPDUMP_ERR_INVALID_ARGUMENT);

  struct {
    opdump_counts counts;
    std::uint32_t added = 7;
  } more;
  CHECK(opdump_session_counts(dump.session, &more.counts, sizeof more) == OPDUMP_OK);
  CHECK(more.added == 0);
  std::uint32_t wanted_only[2] = {9, 9};
  CHECK(opdump_session_counts(dump.session, reinterpret_cast<opdump_counts*>(wanted_only),
                              sizeof wanted_only[0]) == OPDUMP_OK);
  CHECK(wanted_only[0] == 0);
  CHECK(wanted_only[1] == 9);
}

TEST_CASE("c api: less memory than the size is refused") {
  CDump dump;
  const auto refused = [](std::size_t bytes, auto make) {
    const Room room(bytes);
    // Up to so many bytes less one may be there for addresses that are less aligned than this one.
    constexpr std::size_t kAlignments = 96;
    return make(room.at(), bytes) == OPDUMP_OK &&
           make(room.at(), bytes - kAlignments) == OPDUMP_ERR_NO_MEMORY;
  };
  opdump_session* session = nullptr;
  CHECK(refused(opdump_session_size(&dump.options), [&](void* at, std::size_t bytes) {
    return opdump_session_create(at, bytes, &dump.options, &session);
  }));
  CHECK(session == nullptr);
  opdump_sink* sink = nullptr;
  CHECK(refused(opdump_callback_sink_size(100), [&](void* at, std::size_t bytes) {
    return opdump_callback_sink_create(at, bytes, 100, Received::take, nullptr, &sink);
  }));
  CHECK(refused(opdump_directory_sink_size(),
                [&](void* at, std::size_t bytes) { return opdump_directory_sink_create(at, bytes, &sink); }));
  opdump_extras* extras = nullptr;
  CHECK(refused(opdump_extras_size(), [&](void* at, std::size_t bytes) {
    return opdump_extras_create(at, bytes, nullptr, &extras);
  }));
  opdump_model* model = nullptr;
  CHECK(refused(opdump_model_size(&kNet), [&](void* at, std::size_t bytes) {
    if (model != nullptr) CHECK(opdump_model_unload(model) == OPDUMP_OK);
    return opdump_model_load(dump.session, &kNet, at, bytes, &model);
  }));
  CHECK(model == nullptr);
  opdump_recorder* recorder = nullptr;
  const opdump_recorder_options options = {
      .struct_bytes = sizeof options, .ring_bytes = 1024, .max_tensors = 1, .known_heads = 1};
  CHECK(refused(opdump_recorder_size(&options), [&](void* at, std::size_t bytes) {
    if (recorder != nullptr) CHECK(opdump_recorder_remove(recorder) == OPDUMP_OK);
    return opdump_recorder_add(dump.session, &options, at, bytes, &recorder);
  }));
  opdump_config* config = nullptr;
  CHECK(opdump_config_load_plan(nullptr, 1 << 20, dump.plan.data(), dump.plan.size(), &config) ==
        OPDUMP_ERR_NO_MEMORY);
}

TEST_CASE("c api: NULL is refused, and calls with a handle that was not made do nothing") {
  CDump dump;
  char memory[64];
  CHECK(opdump_session_size(nullptr) == 0);
  CHECK(opdump_model_size(nullptr) == 0);
  CHECK(opdump_recorder_size(nullptr) == 0);
  CHECK(opdump_flash_log_size(nullptr) == 0);
  CHECK(opdump_session_create(memory, sizeof memory, &dump.options, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  opdump_session* session = dump.session;
  CHECK(opdump_session_create(memory, sizeof memory, nullptr, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(session == nullptr);
  opdump_session_options options = dump.options;
  options.clock = nullptr;
  CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  options = dump.options;
  options.sink = nullptr;
  CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  options = dump.options;
  options.when_full = 4;
  CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  opdump_memory unusable = {};
  unusable.struct_bytes = sizeof unusable;
  options = dump.options;
  options.memory = &unusable;
  CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  unusable.copy = [](void*, void*, std::uint64_t, std::size_t) { return opdump_status{OPDUMP_OK}; };
  unusable.start = [](void*, opdump_copy*, void*, std::uint64_t, std::size_t) {
    return opdump_status{OPDUMP_OK};
  };
  CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  unusable.start = nullptr;
  for (const std::uint32_t alignment : {3U, 48U, 128U}) {
    unusable.alignment = alignment;
    CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  }
  unusable.alignment = 32;
  unusable.max_bytes = 16;
  CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  unusable.max_bytes = 64;
  CHECK(opdump_session_create(memory, sizeof memory, &options, &session) == OPDUMP_ERR_NO_MEMORY);

  CHECK(opdump_session_init(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_configure(nullptr, dump.config) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_set_config(dump.session, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_finalize(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_flush(nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_drain(nullptr, 1) == 0);
  CHECK(opdump_session_counts(nullptr, nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_begin_step(dump.recorder, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_begin_step(nullptr, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_wants(nullptr, 0) == 0);
  CHECK(opdump_wants(dump.recorder, 0) == 0);
  CHECK(opdump_capture(nullptr, 0, nullptr, 0, nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_end_step(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_wants_single_ops(nullptr) == 0);
  CHECK(opdump_capture_single_op(dump.recorder, nullptr, nullptr, 0, nullptr, 0) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_recorder_remove(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_model_unload(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_model_matched_ops(nullptr) == 0);
  CHECK(opdump_sink_sync(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_flash_log_prepare(nullptr, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_flash_log_prepare(dump.sink, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_flash_log_emergency(dump.sink) == OPDUMP_ERR_INVALID_ARGUMENT);
  opdump_sink_destroy(nullptr);
  opdump_drain_thread_stop(nullptr);
  CHECK(opdump_config_active(nullptr) == 0);
  CHECK(opdump_config_ring_bytes(nullptr) == 0);

  opdump_model_desc nameless = kNet;
  nameless.name = nullptr;
  CHECK(opdump_model_size(&nameless) == 0);
  opdump_op ops[] = {kNetOps[0]};
  ops[0].attribute_count = 1;
  const opdump_model_desc half = {
      .struct_bytes = sizeof half, .name = "net", .graph_name = nullptr, .id = 1, .op_count = 1, .ops = ops};
  opdump_model* model = nullptr;
  CHECK(opdump_model_load(dump.session, &half, memory, sizeof memory, &model) == OPDUMP_ERR_INVALID_ARGUMENT);
}

TEST_CASE("c api: statuses have texts, and the versions are those of the header") {
  CHECK(std::string(opdump_status_text(OPDUMP_OK)) == "ok");
  CHECK(std::string(opdump_status_text(OPDUMP_ERR_RING_FULL)) == "the ring is full");
  for (const opdump_status strange : {-1, 19, 255, 256, 1 << 20})
    CHECK(std::string(opdump_status_text(strange)) == "unknown status");
  CHECK(opdump_api_version() == (OPDUMP_API_MAJOR << 16 | OPDUMP_API_MINOR));
  CHECK(std::string(opdump_version()).find('.') != std::string::npos);
}
