#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "opdump/opdump.h"
#include "tests/support/c_api_dump.hpp"

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

TEST_CASE("c api: a size that no struct has is refused, and nothing is read or written there") {
  CDump dump;
  // Of memory of its own, so that a sanitizer tells of what is read behind it.
  const auto options = std::make_unique<opdump_session_options>(dump.options);
  opdump_session* session = nullptr;
  const Room room(opdump_session_size(&dump.options));
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, std::size_t{OPDUMP_MAX_STRUCT_BYTES} + 1}) {
    CAPTURE(bytes);
    options->struct_bytes = bytes;
    CHECK(opdump_session_size(options.get()) == 0);
    CHECK(opdump_session_create(room.at(), room.bytes(), options.get(), &session) ==
          OPDUMP_ERR_INVALID_ARGUMENT);
    opdump_counts counts = {};
    counts.wanted = 7;
    CHECK(opdump_session_counts(dump.session, &counts, bytes) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(counts.wanted == 7);
  }
}

TEST_CASE("c api: a field of which only a part is there counts as not there") {
  CDump dump;
  opdump_session* session = nullptr;
  const Room room(opdump_session_size(&dump.options));
  opdump_recorder_options recorder = {};
  recorder.struct_bytes = offsetof(opdump_recorder_options, max_tensors) + 3;
  recorder.ring_bytes = 1024;
  recorder.max_tensors = UINT32_MAX;
  opdump_recorder_options whole = recorder;
  whole.struct_bytes = sizeof whole;
  whole.max_tensors = 0;
  CHECK(opdump_recorder_size(&recorder) == opdump_recorder_size(&whole));
  opdump_session_options options = dump.options;
  // Half a pointer to the sink.
  options.struct_bytes = offsetof(opdump_session_options, sink) + sizeof options.sink / 2;
  CHECK(opdump_session_create(room.at(), room.bytes(), &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);
  opdump_memory memory = {};
  memory.struct_bytes = offsetof(opdump_memory, copy) + 1;
  memory.copy = [](void*, void*, std::uint64_t, std::size_t) { return opdump_status{OPDUMP_OK}; };
  options = dump.options;
  options.memory = &memory;
  CHECK(opdump_session_create(room.at(), room.bytes(), &options, &session) == OPDUMP_ERR_INVALID_ARGUMENT);

  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  REQUIRE(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  unsigned char counts[8];
  std::memset(counts, 0xff, sizeof counts);
  CHECK(opdump_session_counts(dump.session, reinterpret_cast<opdump_counts*>(counts), 7) == OPDUMP_OK);
  std::uint32_t wanted;
  std::memcpy(&wanted, counts, sizeof wanted);
  CHECK(wanted == 1);
  const unsigned char behind[] = {0, 0, 0, 0xff};
  CHECK(std::memcmp(counts + 4, behind, sizeof behind) == 0);
}

TEST_CASE("c api: an operator beyond the model's is wanted by nobody") {
  CDump dump;
  dump.start(kNet);
  CHECK(opdump_wants(dump.recorder, 0) == 0);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_wants(dump.recorder, 1) == 1);
  // What lies behind the last operator's bits, whatever it is.
  int wanted = 0;
  for (std::uint32_t op = 2; op < 4096; ++op) wanted += opdump_wants(dump.recorder, op);
  for (const std::uint32_t op : {UINT32_MAX, UINT32_MAX - 1, std::uint32_t{INT32_MAX} + 1})
    wanted += opdump_wants(dump.recorder, op);
  CHECK(wanted == 0);
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
  const opdump_recorder_options options = {.struct_bytes = sizeof options,
                                           .ring_bytes = 1024,
                                           .max_tensors = 1,
                                           .known_heads = 1,
                                           .reserved = 0,
                                           .when_full = 0};
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
  CHECK(opdump_session_sync(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
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

TEST_CASE("c api: a handle that has gone does no harm to the recorder in its place") {
  CDump dump;
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  opdump_recorder* const old = dump.recorder;
  const auto refuses_all = [&] {
    CHECK(opdump_begin_step(old, dump.model) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(opdump_begin_step_at(old, dump.model, 1) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(opdump_wants(old, 0) == 0);
    CHECK(opdump_capture(old, 0, &tensor, 1, nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(opdump_end_step(old) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(opdump_wants_single_ops(old) == 0);
    CHECK(opdump_capture_single_op(old, &kNetOps[0], &tensor, 1, nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(opdump_recorder_remove(old) == OPDUMP_ERR_INVALID_ARGUMENT);
  };
  REQUIRE(opdump_recorder_remove(old) == OPDUMP_OK);
  refuses_all();
  const opdump_recorder_options options = {.struct_bytes = sizeof options,
                                           .ring_bytes = 4096,
                                           .max_tensors = 2,
                                           .known_heads = 0,
                                           .reserved = 0,
                                           .when_full = 0};
  const Room room(opdump_recorder_size(&options));
  opdump_recorder* next = nullptr;
  REQUIRE(opdump_recorder_add(dump.session, &options, room.at(), room.bytes(), &next) == OPDUMP_OK);
  refuses_all();
  REQUIRE(opdump_begin_step(next, dump.model) == OPDUMP_OK);
  refuses_all();
  CHECK(opdump_capture(next, 0, &tensor, 1, nullptr, 0) == OPDUMP_OK);
  CHECK(opdump_end_step(next) == OPDUMP_OK);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.counts().wanted == 1);
  CHECK(dump.counts().written == 1);
  CHECK(opdump_recorder_remove(next) == OPDUMP_OK);
}

TEST_CASE("c api: a recorder may have a policy of its own, as an interrupt's drops") {
  CDump dump;  // drains in the caller
  opdump_recorder_options options = {.struct_bytes = sizeof options,
                                     .ring_bytes = 1024,
                                     .max_tensors = 2,
                                     .known_heads = 0,
                                     .reserved = 0,
                                     .when_full = 0};
  const Room room(opdump_recorder_size(&options));
  opdump_recorder* interrupt = nullptr;
  options.when_full = 4;
  CHECK(opdump_recorder_add(dump.session, &options, room.at(), room.bytes(), &interrupt) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  options.when_full = OPDUMP_RECORDER_DROP;
  options.struct_bytes = offsetof(opdump_recorder_options, when_full);  // a caller of 1.3 has no such field
  const Room old_room(opdump_recorder_size(&options));
  opdump_recorder* old = nullptr;
  REQUIRE(opdump_recorder_add(dump.session, &options, old_room.at(), old_room.bytes(), &old) == OPDUMP_OK);
  options.struct_bytes = sizeof options;
  REQUIRE(opdump_recorder_add(dump.session, &options, room.at(), room.bytes(), &interrupt) == OPDUMP_OK);
  REQUIRE(opdump_session_configure(dump.session, dump.config) == OPDUMP_OK);
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  const auto fill = [&](opdump_recorder* recorder) {
    REQUIRE(opdump_begin_step(recorder, dump.model) == OPDUMP_OK);
    opdump_status status = OPDUMP_OK;
    for (int i = 0; i < 100 && status == OPDUMP_OK; ++i)
      status = opdump_capture(recorder, 0, &tensor, 1, nullptr, 0);
    REQUIRE(opdump_end_step(recorder) == OPDUMP_OK);
    return status;
  };
  CHECK(fill(interrupt) == OPDUMP_ERR_RING_FULL);
  CHECK(dump.received.whole.empty());
  CHECK(fill(old) == OPDUMP_OK);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.counts().ring_full == 1);
  CHECK(dump.counts().written + 1 == dump.counts().wanted);
}

TEST_CASE("c api: statuses have texts, and the versions are those of the header") {
  CHECK(std::string(opdump_status_text(OPDUMP_OK)) == "ok");
  CHECK(std::string(opdump_status_text(OPDUMP_ERR_RING_FULL)) == "the ring is full");
  for (const opdump_status strange : {-1, 19, 255, 256, 1 << 20})
    CHECK(std::string(opdump_status_text(strange)) == "unknown status");
  CHECK(opdump_api_version() == (OPDUMP_API_MAJOR << 16 | OPDUMP_API_MINOR));
  CHECK(std::string(opdump_version()).find('.') != std::string::npos);
}
