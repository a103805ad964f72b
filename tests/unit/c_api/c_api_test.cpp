#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/opdump.h"
#include "opdump/read/nano_reader.hpp"
#include "tests/support/c_api_dump.hpp"

using namespace opdump::tests;

TEST_CASE("c api: a step is dumped as described") {
  CDump dump;
  dump.start(kNet);
  CHECK(opdump_model_matched_ops(dump.model) == 2);
  CHECK(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_wants(dump.recorder, 0) == 1);
  const std::uint64_t original_shape[] = {4};
  const opdump_original original = {.name = "framework/conv",
                                    .index = 7,
                                    .dtype = OPDUMP_FLOAT16,
                                    .format = OPDUMP_FORMAT_NHWC,
                                    .rank = 1,
                                    .shape = original_shape};
  opdump_tensor out = tensor_of_values();
  out.original = &original;
  const opdump_tensor in = tensor_of_values();
  CHECK(opdump_capture(dump.recorder, 0, &in, 1, &out, 1) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 1, nullptr, 0, &in, 1) == OPDUMP_OK);
  CHECK(opdump_end_step(dump.recorder) == OPDUMP_OK);
  CHECK(opdump_session_drain(dump.session, 1 << 20) > 0);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);

  const std::string record = only(dump.received.whole, "/net/1/0/Conv2D.conv1.3.0.");
  REQUIRE_FALSE(record.empty());
  opdump::NanoReader reader;
  REQUIRE(reader.open(std::as_bytes(std::span(record)), record.size()) == opdump::Status::ok);
  CHECK(record.ends_with(dumped_values()));
  CHECK(record.find("framework/conv") != std::string::npos);
  CHECK_FALSE(only(dump.received.whole, "/Relu.relu1.4.0.").empty());
  CHECK(only(dump.received.journals, "opdump.0.").find("conv1") != std::string::npos);
  const opdump_counts counts = dump.counts();
  CHECK(counts.wanted == 2);
  CHECK(counts.written == 2);
  CHECK(counts.lost == 0);
  CHECK(opdump_model_unload(dump.model) == OPDUMP_OK);
  CHECK(opdump_model_unload(dump.model) == OPDUMP_ERR_MODEL_NOT_LOADED);
  CHECK(opdump_recorder_remove(dump.recorder) == OPDUMP_OK);
  opdump_sink_destroy(dump.sink);
}

TEST_CASE("c api: operators outside a model") {
  CDump dump(nullptr, plan_of_everything("/d", true));
  dump.start(kNet);
  CHECK(opdump_wants_single_ops(dump.recorder) == 1);
  const opdump_op op = op_of("alone", "Add", OPDUMP_NO_ID, OPDUMP_NO_ID);
  const opdump_tensor tensor = tensor_of_values();
  CHECK(opdump_capture_single_op(dump.recorder, &op, &tensor, 1, nullptr, 0) == OPDUMP_OK);
  const opdump_tensor three[] = {tensor, tensor, tensor};
  CHECK(opdump_capture_single_op(dump.recorder, &op, three, 3, nullptr, 0) == OPDUMP_ERR_TOO_MANY_TENSORS);
  CHECK(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);
  CHECK_FALSE(only(dump.received.whole, "/Add.alone.65535.65535.").empty());
  CHECK(dump.counts().invalid == 1);
}

TEST_CASE("c api: tensors that cannot be handed on lose the record, counted") {
  CDump dump;
  dump.start(kNet);
  opdump_tensor tensors[3] = {tensor_of_values(), tensor_of_values(), tensor_of_values()};
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_STEP_NOT_OPEN);
  REQUIRE(opdump_begin_step_at(dump.recorder, dump.model, 12) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 2, tensors, 3, nullptr, 0) == OPDUMP_ERR_NO_SUCH_OP);
  CHECK(opdump_capture(dump.recorder, 0, tensors, 2, tensors, 1) == OPDUMP_ERR_TOO_MANY_TENSORS);
  CHECK(opdump_capture(dump.recorder, 0, tensors, UINT32_MAX, tensors, UINT32_MAX) ==
        OPDUMP_ERR_TOO_MANY_TENSORS);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 1, nullptr, 0) == OPDUMP_ERR_MISSING_ARGUMENT);
  tensors[0].dtype = OPDUMP_FLOAT8_E5M2FNUZ + 1;
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_UNKNOWN_DTYPE);
  tensors[0] = tensor_of_values();
  tensors[0].shape = nullptr;
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_MISSING_ARGUMENT);
  tensors[0] = tensor_of_values();
  tensors[0].bytes = 15;
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_INVALID_TENSOR);
  constexpr std::int32_t kNoKinds[] = {-1, 6, 7, 255, 0x100, 0x101, 0x102, INT32_MIN, INT32_MAX};
  for (const std::int32_t kind : kNoKinds) {
    tensors[0] = tensor_of_values();
    tensors[0].address_kind = kind;
    CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_INVALID_TENSOR);
  }
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  const opdump_counts counts = dump.counts();
  CHECK(counts.wanted == 6 + std::size(kNoKinds));
  CHECK(counts.invalid == 6 + std::size(kNoKinds));
  CHECK(counts.lost == 6 + std::size(kNoKinds));
  CHECK(counts.captured == 0);
  CHECK(dump.received.whole.empty());
}

TEST_CASE("c api: a sink that refuses loses the record, counted and told") {
  CDump dump;
  dump.received.answer = OPDUMP_ERR_NO_SPACE;
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  one_step(dump.recorder, dump.model, tensor);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.empty());
  CHECK(dump.received.open.empty());
  CHECK(dump.received.aborted == 1);
  CHECK(dump.counts().sink_failed == 1);
  CHECK(opdump_session_last_sink_failure(dump.session) == OPDUMP_ERR_NO_SPACE);
}

TEST_CASE("c api: a journal that cannot be ended is told, though no record is lost") {
  CDump dump;
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  one_step(dump.recorder, dump.model, tensor);
  REQUIRE(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);
  CHECK(opdump_session_journal_failure(dump.session) == OPDUMP_OK);
  dump.received.journal_answer = OPDUMP_ERR_NO_SPACE;
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_ERR_NO_SPACE);
  CHECK(opdump_session_journal_failure(dump.session) == OPDUMP_ERR_NO_SPACE);
  CHECK(dump.counts().written == 1);
  CHECK(dump.counts().lost == 0);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_ERR_NOT_INITIALISED);
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  CHECK(opdump_session_journal_failure(dump.session) == OPDUMP_OK);
  CHECK(opdump_session_journal_failure(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  dump.received.journal_answer = OPDUMP_OK;
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
}

TEST_CASE("c api: a log is told what a model comes to") {
  std::string said;
  const opdump_say say = [](void* self, const char* line, std::size_t bytes) {
    static_cast<std::string*>(self)->append(line, bytes).append("\n");
  };
  const Room room(opdump_log_size());
  opdump_log* log = nullptr;
  CHECK(opdump_log_create(room.at(), room.bytes(), nullptr, &said, 0, &log) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_log_create(room.at(), 8, say, &said, 0, &log) == OPDUMP_ERR_NO_MEMORY);
  REQUIRE(opdump_log_create(room.at(), room.bytes(), say, &said, 0, &log) == OPDUMP_OK);
  CDump dump;
  opdump_session_options options = dump.options;
  options.log = log;
  const Room session_room(opdump_session_size(&options)), model_room(opdump_model_size(&kNet));
  opdump_session* session = nullptr;
  opdump_model* model = nullptr;
  REQUIRE(opdump_session_create(session_room.at(), session_room.bytes(), &options, &session) == OPDUMP_OK);
  REQUIRE(opdump_session_init(session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(session, dump.config) == OPDUMP_OK);
  REQUIRE(opdump_model_load(session, &kNet, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK);
  CHECK(said.find("model \"net\": 1 rule, 2 of 2 ops match") != std::string::npos);
}

TEST_CASE("c api: layers match fused operators too, and options come from the config") {
  CDump dump;
  CHECK(opdump_config_active(dump.config) == 1);
  CHECK(opdump_config_ring_bytes(dump.config) == 4096);
  // Without the drainer's help a second record finds no room, unless the ring is emptied in the caller.
  CHECK(opdump_session_configure(dump.session, dump.config) == OPDUMP_OK);
  dump.start(kNet);
  CHECK(opdump_session_configure(dump.session, dump.config) == OPDUMP_ERR_ALREADY_INITIALISED);
  static unsigned char large[3000];
  const std::uint64_t bytes = sizeof large;
  const opdump_tensor tensor = tensor_of_bytes(large, bytes);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  for (int i = 0; i < 5; ++i) CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);

  const char* const originals[] = {"conv1_a", "conv1_b"};
  opdump_op fused = kNetOps[0];
  fused.name = "fused";
  fused.original_names = originals;
  fused.original_name_count = 2;
  const opdump_attribute attributes[] = {{.name = "transpose_a", .value = "True"}};
  fused.attributes = attributes;
  fused.attribute_count = 1;
  const opdump_model_desc desc = {.struct_bytes = sizeof desc,
                                  .name = "other",
                                  .graph_name = "graph",
                                  .id = 2,
                                  .op_count = 1,
                                  .ops = &fused};
  const std::string_view layers[] = {"conv1_b"};
  const opdump::ModelRule rules[] = {{.model_name = "graph", .all_layers = false, .layers = layers}};
  opdump::DumpConfig wanted;
  wanted.asked = wanted.active = true;
  wanted.dump_path = "/d";
  wanted.models = rules;
  const std::vector<std::byte> plan = opdump::write_plan(wanted);
  const Room config_room(opdump_config_size(plan.size()));
  opdump_config* config = nullptr;
  REQUIRE(opdump_config_load_plan(config_room.at(), config_room.bytes(), plan.data(), plan.size(), &config) ==
          OPDUMP_OK);
  REQUIRE(opdump_session_set_config(dump.session, config) == OPDUMP_OK);
  const Room room(opdump_model_size(&desc));
  opdump_model* model = nullptr;
  REQUIRE(opdump_model_load(dump.session, &desc, room.at(), room.bytes(), &model) == OPDUMP_OK);
  CHECK(opdump_model_matched_ops(model) == 1);
}

TEST_CASE("c api: the memory that a plan needs is told, to within a few bytes") {
  const std::string_view layers[] = {"a", "b", "c"};
  const opdump::OpRange ranges[] = {{"a", "b"}};
  const opdump::TensorPosition positions[] = {{true, 1}, {false, 2}, {true, 3}};
  const opdump::TensorExclusion exclusions[] = {{.name = "x", .positions = positions},
                                                {.by_type = true, .name = "y"}};
  const std::uint32_t devices[] = {0, 7, 8};
  const opdump::StepRange steps[] = {{0, 1}, {7, 9}};
  const opdump::StatBits columns[] = {1, 2, 4};
  const opdump::ModelExtras extras[] = {{.ranges = ranges, .exclusions = exclusions}, {.marked = true}};
  const opdump::ModelRule rules[] = {
      {.model_name = "m", .all_layers = false, .layers = layers, .extras = &extras[0]},
      {.any_model = true, .extras = &extras[1]}};
  opdump::DumpConfig wanted;
  wanted.asked = wanted.active = true;
  wanted.dump_path = "/d";
  for (int lists = 0; lists < 2; ++lists) {
    const std::vector<std::byte> plan = opdump::write_plan(wanted);
    std::size_t bytes = 0;
    REQUIRE(opdump_plan_size(plan.data(), plan.size(), &bytes) == OPDUMP_OK);
    CAPTURE(bytes);
    // At any address.
    for (std::size_t shift = 0; shift < 16; ++shift) {
      std::vector<char> memory(bytes + 16);
      opdump_config* config = nullptr;
      CHECK(opdump_config_load_plan(memory.data() + shift, bytes, plan.data(), plan.size(), &config) ==
            OPDUMP_OK);
      CHECK(opdump_config_load_plan(memory.data() + shift, bytes - 32, plan.data(), plan.size(), &config) ==
            OPDUMP_ERR_NO_MEMORY);
    }
    if (lists == 0) CHECK(bytes < 600);
    wanted.models = rules;
    wanted.every_device = false;
    wanted.devices = devices;
    wanted.steps = {steps};
    wanted.statistic_columns = columns;
  }
  std::vector<std::byte> plan = plan_of_everything("/d");
  std::size_t bytes = 1;
  plan.back() ^= std::byte{1};
  CHECK(opdump_plan_size(plan.data(), plan.size(), &bytes) == OPDUMP_ERR_DAMAGED);
  CHECK(bytes == 0);
  CHECK(opdump_plan_size(plan.data(), 3, &bytes) == OPDUMP_ERR_NOT_A_PLAN);
  CHECK(opdump_plan_size(nullptr, 3, &bytes) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_plan_size(plan.data(), 3, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
}

TEST_CASE("c api: a plan that is none is refused, by its cause") {
  std::vector<std::byte> plan = plan_of_everything("/d");
  const Room room(opdump_config_size(plan.size()));
  opdump_config* config = nullptr;
  const auto load = [&](std::size_t bytes) {
    return opdump_config_load_plan(room.at(), room.bytes(), plan.data(), bytes, &config);
  };
  CHECK(load(plan.size()) == OPDUMP_OK);
  CHECK(load(plan.size() - 1) == OPDUMP_ERR_TRUNCATED);
  CHECK(config == nullptr);
  CHECK(load(3) == OPDUMP_ERR_NOT_A_PLAN);
  plan.back() ^= std::byte{1};
  CHECK(load(plan.size()) == OPDUMP_ERR_DAMAGED);
}
