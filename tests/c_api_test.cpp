#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "opdump/dump_config.hpp"
#include "opdump/nano_reader.hpp"
#include "opdump/opdump.h"
#include "opdump/write_plan.hpp"
#include "support/temporary_directory.hpp"

using namespace opdump::test;

namespace {

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

opdump_clock clock_over(Ticks& ticks) {
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
        to.journals[path] += data;
    }
    return OPDUMP_OK;
  }
};

std::vector<std::byte> plan_of_everything(const char* dump_path, bool single_ops = false) {
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
struct Dump {
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

  explicit Dump(const opdump_memory* memory = nullptr,
                std::vector<std::byte> plan_bytes = plan_of_everything("/d"))
      : plan(std::move(plan_bytes)) {
    REQUIRE(opdump_callback_sink_create(sink_room.at(), sink_room.bytes(), 512, Received::take, &received,
                                        &sink) == OPDUMP_OK);
    options.struct_bytes = sizeof options;
    options.memory = memory;
    options.clock = &clock;
    options.block_limit_ms = 100;
    options.sink = sink;
    session_room = std::make_unique<Room>(opdump_session_size(&options));
    REQUIRE(opdump_session_create(session_room->at(), session_room->bytes(), &options, &session) ==
            OPDUMP_OK);
    config_room = std::make_unique<Room>(opdump_config_size(plan.size()));
    REQUIRE(opdump_config_load_plan(config_room->at(), config_room->bytes(), plan.data(), plan.size(),
                                    &config) == OPDUMP_OK);
    const opdump_recorder_options recorder_options = {
        .struct_bytes = sizeof recorder_options, .ring_bytes = 4096, .max_tensors = 2, .known_heads = 1};
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

opdump_op op_of(const char* name, const char* type, std::uint32_t task, std::uint32_t stream) {
  opdump_op op = {};
  op.name = name;
  op.type = type;
  op.task_id = task;
  op.stream_id = stream;
  return op;
}

const opdump_op kOps[] = {op_of("conv1", "Conv2D", 3, 0), op_of("relu1", "Relu", 4, 0)};
const opdump_model_desc kNet = {
    .struct_bytes = sizeof kNet, .name = "net", .graph_name = nullptr, .id = 1, .op_count = 2, .ops = kOps};
const std::uint64_t kShape[] = {2, 2};
float values[4] = {1, 2, 3, 4};

opdump_tensor tensor_of_values() {
  return {.address = reinterpret_cast<std::uintptr_t>(values),
          .bytes = sizeof values,
          .dtype = OPDUMP_FLOAT32,
          .format = OPDUMP_FORMAT_ND,
          .rank = 2,
          .address_kind = 0,
          .shape = kShape,
          .original = nullptr};
}

std::string only(const std::map<std::string, std::string>& files, const std::string& part) {
  std::string found;
  for (const auto& [name, bytes] : files) {
    if (name.find(part) == std::string::npos) continue;
    REQUIRE(found.empty());
    found = bytes;
  }
  return found;
}

}  // namespace

TEST_CASE("c api: a step is dumped as described") {
  Dump dump;
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
  CHECK(record.ends_with(std::string(reinterpret_cast<const char*>(values), sizeof values)));
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
  Dump dump(nullptr, plan_of_everything("/d", true));
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
  Dump dump;
  dump.start(kNet);
  opdump_tensor tensors[3] = {tensor_of_values(), tensor_of_values(), tensor_of_values()};
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_STEP_NOT_OPEN);
  REQUIRE(opdump_begin_step_at(dump.recorder, dump.model, 12) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 2, tensors, 3, nullptr, 0) == OPDUMP_ERR_NO_SUCH_OP);
  CHECK(opdump_capture(dump.recorder, 0, tensors, 2, tensors, 1) == OPDUMP_ERR_TOO_MANY_TENSORS);
  CHECK(opdump_capture(dump.recorder, 0, tensors, UINT32_MAX, tensors, UINT32_MAX) ==
        OPDUMP_ERR_TOO_MANY_TENSORS);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 1, nullptr, 0) == OPDUMP_ERR_INVALID_TENSOR);
  tensors[0].dtype = OPDUMP_VARIANT + 1;
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_INVALID_TENSOR);
  tensors[0] = tensor_of_values();
  tensors[0].shape = nullptr;
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_INVALID_TENSOR);
  tensors[0] = tensor_of_values();
  tensors[0].bytes = 15;
  CHECK(opdump_capture(dump.recorder, 0, tensors, 1, nullptr, 0) == OPDUMP_ERR_INVALID_TENSOR);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  const opdump_counts counts = dump.counts();
  CHECK(counts.wanted == 6);
  CHECK(counts.invalid == 6);
  CHECK(counts.lost == 6);
  CHECK(counts.captured == 0);
  CHECK(dump.received.whole.empty());
}

TEST_CASE("c api: the port's memory is asked, and what it refuses is counted") {
  struct Device {
    std::uint64_t from = 0;
    std::size_t bytes = 0;
    opdump_status answer = OPDUMP_OK;
  } device;
  opdump_memory memory = {};
  memory.struct_bytes = sizeof memory;
  memory.context = &device;
  memory.copy = [](void* self, void* to, std::uint64_t from, std::size_t bytes) {
    Device& its = *static_cast<Device*>(self);
    its.from = from;
    its.bytes = bytes;
    std::memset(to, 0x5a, bytes);
    return its.answer;
  };
  Dump dump(&memory);
  dump.start(kNet);
  opdump_tensor tensor = tensor_of_values();
  tensor.address = 0xdead0000;
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  CHECK(device.from == 0xdead0000);
  CHECK(device.bytes == sizeof values);
  device.answer = OPDUMP_ERR_TIMEOUT;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_TIMEOUT);
  device.answer = -5;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  device.answer = 19;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.size() == 1);
  CHECK(dump.counts().lost == 3);
}

namespace {

/// Memory whose copies end when somebody waits for them, or looks for the third time.
struct Background {
  struct Transfer {
    void* to = nullptr;
    std::uint64_t from = 0;
    std::size_t bytes = 0;
    int looks = 0;
  };
  std::map<std::uint64_t, Transfer> under_way;
  std::uint64_t started = 0;
  std::size_t most = 0;
  std::size_t longest = 0;
  int misaligned = 0;
  int copies = 0;
  std::vector<std::uint32_t> fences;
  std::uint64_t fail_at = 0;   ///< number of the copy that fails; 0: none
  std::uint64_t stuck_at = 0;  ///< number of the copy that does not end; 0: none
  opdump_status fence_answer = OPDUMP_OK;

  opdump_memory port() {
    opdump_memory memory = {};
    memory.struct_bytes = sizeof memory;
    memory.context = this;
    memory.copy = [](void* self, void* to, std::uint64_t from, std::size_t bytes) {
      ++static_cast<Background*>(self)->copies;
      std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
      return opdump_status{OPDUMP_OK};
    };
    memory.start = [](void* self, opdump_copy* copy, void* to, std::uint64_t from, std::size_t bytes) {
      Background& its = *static_cast<Background*>(self);
      copy->words[0] = ++its.started;
      its.under_way[its.started] = {to, from, bytes, 0};
      its.most = std::max(its.most, its.under_way.size());
      its.longest = std::max(its.longest, bytes);
      its.misaligned += reinterpret_cast<std::uintptr_t>(to) % 32 != 0 ? 1 : 0;
      return opdump_status{OPDUMP_OK};
    };
    memory.complete = [](void* self, opdump_copy* copy, std::uint32_t limit_ms, int* over) {
      Background& its = *static_cast<Background*>(self);
      const std::uint64_t number = copy->words[0];
      const bool waits = limit_ms == 0 && ++its.under_way.at(number).looks < 3;
      *over = waits || number == its.stuck_at ? 0 : 1;
      if (*over == 0) return opdump_status{OPDUMP_OK};
      const Transfer transfer = its.under_way.at(number);
      its.under_way.erase(number);
      if (number == its.fail_at) return opdump_status{-5};
      std::memcpy(transfer.to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(transfer.from)),
                  transfer.bytes);
      return opdump_status{OPDUMP_OK};
    };
    memory.fence = [](void* self, std::uint32_t stream_id) {
      static_cast<Background*>(self)->fences.push_back(stream_id);
      return static_cast<Background*>(self)->fence_answer;
    };
    memory.alignment = 32;
    memory.max_bytes = 512;
    return memory;
  }
};

}  // namespace

TEST_CASE("c api: copies in the background, behind a fence, by the port's rules") {
  Background device;
  const opdump_memory memory = device.port();
  Dump dump(&memory);
  REQUIRE(opdump_session_configure(dump.session, dump.config) == OPDUMP_OK);
  dump.start(kNet);
  alignas(32) static unsigned char large[20'000];
  for (std::size_t i = 0; i < sizeof large; ++i) large[i] = static_cast<unsigned char>(i * 31 >> 3);
  const std::uint64_t shape[] = {sizeof large};
  opdump_tensor tensor = tensor_of_values();
  tensor.address = reinterpret_cast<std::uintptr_t>(large);
  tensor.bytes = sizeof large;
  tensor.dtype = OPDUMP_UINT8;
  tensor.rank = 1;
  tensor.shape = shape;
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  CHECK(device.under_way.empty());
  CHECK(device.started > 20);
  CHECK(device.most >= 2);
  CHECK(device.longest <= 512);
  CHECK(device.misaligned == 0);
  CHECK(device.fences == std::vector<std::uint32_t>{0});
  REQUIRE(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);
  const std::string record = only(dump.received.whole, "Conv2D.conv1.");
  CHECK(record.ends_with(std::string(reinterpret_cast<const char*>(large), sizeof large)));

  device.fail_at = device.started + 5;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  CHECK(device.under_way.empty());
  device.fence_answer = OPDUMP_ERR_TIMEOUT;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_TIMEOUT);
  device.fence_answer = OPDUMP_OK;
  device.stuck_at = device.started + 3;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  CHECK_FALSE(device.under_way.empty());
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  device.stuck_at = 0;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.size() == 2);
  CHECK(dump.received.open.empty());
  CHECK(dump.counts().lost == 4);
}

TEST_CASE("c api: a sink that refuses loses the record, counted and told") {
  Dump dump;
  dump.received.answer = OPDUMP_ERR_NO_SPACE;
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  REQUIRE(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.empty());
  CHECK(dump.received.open.empty());
  CHECK(dump.received.aborted == 1);
  CHECK(dump.counts().sink_failed == 1);
  CHECK(opdump_session_last_sink_failure(dump.session) == OPDUMP_ERR_NO_SPACE);
}

TEST_CASE("c api: structs may be older than the library, and newer if they ask for nothing new") {
  Dump dump;
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
  Dump dump;
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
  Dump dump;
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
  opdump_op ops[] = {kOps[0]};
  ops[0].attribute_count = 1;
  const opdump_model_desc half = {
      .struct_bytes = sizeof half, .name = "net", .graph_name = nullptr, .id = 1, .op_count = 1, .ops = ops};
  opdump_model* model = nullptr;
  CHECK(opdump_model_load(dump.session, &half, memory, sizeof memory, &model) == OPDUMP_ERR_INVALID_ARGUMENT);
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
  Dump dump;
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

TEST_CASE("c api: statuses have texts, and the versions are those of the header") {
  CHECK(std::string(opdump_status_text(OPDUMP_OK)) == "ok");
  CHECK(std::string(opdump_status_text(OPDUMP_ERR_RING_FULL)) == "the ring is full");
  for (const opdump_status strange : {-1, 19, 255, 256, 1 << 20})
    CHECK(std::string(opdump_status_text(strange)) == "unknown status");
  CHECK(opdump_api_version() == (OPDUMP_API_MAJOR << 16 | OPDUMP_API_MINOR));
  CHECK(std::string(opdump_version()).find('.') != std::string::npos);
}

TEST_CASE("c api: layers match fused operators too, and options come from the config") {
  Dump dump;
  CHECK(opdump_config_active(dump.config) == 1);
  CHECK(opdump_config_ring_bytes(dump.config) == 4096);
  // Without the drainer's help a second record finds no room, unless the ring is emptied in the caller.
  CHECK(opdump_session_configure(dump.session, dump.config) == OPDUMP_OK);
  dump.start(kNet);
  CHECK(opdump_session_configure(dump.session, dump.config) == OPDUMP_ERR_ALREADY_INITIALISED);
  static unsigned char large[3000];
  const std::uint64_t shape[] = {sizeof large};
  opdump_tensor tensor = tensor_of_values();
  tensor.address = reinterpret_cast<std::uintptr_t>(large);
  tensor.bytes = sizeof large;
  tensor.dtype = OPDUMP_UINT8;
  tensor.rank = 1;
  tensor.shape = shape;
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  for (int i = 0; i < 5; ++i) CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);

  const char* const originals[] = {"conv1_a", "conv1_b"};
  opdump_op fused = kOps[0];
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

TEST_CASE("c api: with a system, a config file, a tree of files and a drain thread") {
  const TemporaryDirectory directory;
  const std::string text =
      R"({"dump": {"dump_path": ")" + directory.text() +
      R"(", "dump_list": [{"model_name": "net", "layer": ["conv1"]}], "dump_data": "stats"}})";
  const std::string file = directory.text() + "/acl.json";
  write_file(file, text);

  char message[256];
  const Room config_room(opdump_config_file_size(file.c_str()));
  opdump_config* config = nullptr;
  REQUIRE(opdump_config_read(config_room.at(), config_room.bytes(), file.c_str(), &config, message,
                             sizeof message) == OPDUMP_OK);
  CHECK(message[0] == '\0');

  const Room sink_room(opdump_directory_sink_size()), extras_room(opdump_extras_size());
  opdump_session_options options = {};
  options.struct_bytes = sizeof options;
  options.clock = opdump_system_clock();
  REQUIRE(opdump_directory_sink_create(sink_room.at(), sink_room.bytes(), &options.sink) == OPDUMP_OK);
  REQUIRE(opdump_extras_create(extras_room.at(), extras_room.bytes(), nullptr, &options.extras) == OPDUMP_OK);
  const Room session_room(opdump_session_size(&options)), thread_room(opdump_drain_thread_size());
  opdump_session* session = nullptr;
  REQUIRE(opdump_session_create(session_room.at(), session_room.bytes(), &options, &session) == OPDUMP_OK);
  const opdump_recorder_options recorder_options = {
      .struct_bytes = sizeof recorder_options, .ring_bytes = 65536, .max_tensors = 0, .known_heads = 0};
  const Room recorder_room(opdump_recorder_size(&recorder_options));
  opdump_recorder* recorder = nullptr;
  REQUIRE(opdump_recorder_add(session, &recorder_options, recorder_room.at(), recorder_room.bytes(),
                              &recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_init(session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(session, config) == OPDUMP_OK);
  opdump_drain_thread* thread = nullptr;
  opdump_drain_thread* second = nullptr;
  REQUIRE(opdump_drain_thread_start(session, thread_room.at(), thread_room.bytes(), &thread) == OPDUMP_OK);
  const Room second_room(opdump_drain_thread_size());
  CHECK(opdump_drain_thread_start(session, second_room.at(), second_room.bytes(), &second) ==
        OPDUMP_ERR_DRAINER_ATTACHED);
  CHECK(second == nullptr);
  CHECK(opdump_session_finalize(session) == OPDUMP_ERR_DRAINER_ATTACHED);

  const Room model_room(opdump_model_size(&kNet));
  opdump_model* model = nullptr;
  REQUIRE(opdump_model_load(session, &kNet, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK);
  const opdump_tensor tensor = tensor_of_values();
  for (int step = 0; step < 3; ++step) {
    REQUIRE(opdump_begin_step(recorder, model) == OPDUMP_OK);
    CHECK(opdump_wants(recorder, 0) == 1);
    CHECK(opdump_wants(recorder, 1) == 0);
    CHECK(opdump_capture(recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
    CHECK(opdump_capture(recorder, 1, nullptr, 0, &tensor, 1) == OPDUMP_OK);
    REQUIRE(opdump_end_step(recorder) == OPDUMP_OK);
  }
  CHECK(opdump_session_flush(session, 10000) == OPDUMP_OK);
  opdump_drain_thread_stop(thread);
  CHECK(opdump_session_finalize(session) == OPDUMP_OK);
  opdump_sink_destroy(options.sink);

  int tables = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("Conv2D.conv1.") || !name.ends_with(".csv")) continue;
    ++tables;
    CHECK(read_file(entry.path()).find("Output,0,16,DT_FLOAT,ND,2x2,4,1,2.5,4,0,0,0") != std::string::npos);
  }
  CHECK(tables == 3);
}

TEST_CASE("c api: a config that is refused is told in words, as long as there is room") {
  const std::string text = R"({"dump": {"dump_path": "/nowhere", "dump_list": [{}]}})";
  const Room room(opdump_config_size(text.size()));
  opdump_config* config = nullptr;
  char message[200];
  CHECK(opdump_config_parse(room.at(), room.bytes(), text.data(), text.size(), &config, message,
                            sizeof message) == OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(config == nullptr);
  CHECK(std::string(message).find("dump.dump_path") != std::string::npos);
  CHECK(std::string(message).starts_with("config:1:"));
  CHECK(opdump_config_parse(room.at(), room.bytes(), text.data(), text.size(), &config, message, 7) ==
        OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(std::string(message) == "config");
  CHECK(opdump_config_parse(room.at(), room.bytes(), text.data(), text.size(), &config, nullptr, 0) ==
        OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(opdump_config_parse(room.at(), 10, text.data(), text.size(), &config, nullptr, 0) ==
        OPDUMP_ERR_NO_MEMORY);
  CHECK(opdump_config_read(room.at(), room.bytes(), "/nowhere/acl.json", &config, message, sizeof message) ==
        OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(std::string(message).find("/nowhere/acl.json") != std::string::npos);
  CHECK(opdump_config_file_size("/nowhere/acl.json") == 0);
}

TEST_CASE("c api: a plan in a file needs the file no longer") {
  const TemporaryDirectory directory;
  const std::vector<std::byte> plan = plan_of_everything(directory.text().c_str());
  const std::string file = directory.text() + "/dump.plan";
  write_file(file, std::string(reinterpret_cast<const char*>(plan.data()), plan.size()));
  const Room room(opdump_config_file_size(file.c_str()));
  opdump_config* config = nullptr;
  REQUIRE(opdump_config_read(room.at(), room.bytes(), file.c_str(), &config, nullptr, 0) == OPDUMP_OK);
  Dump dump;
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(dump.session, config) == OPDUMP_OK);
  const Room model_room(opdump_model_size(&kNet));
  REQUIRE(opdump_model_load(dump.session, &kNet, model_room.at(), model_room.bytes(), &dump.model) ==
          OPDUMP_OK);
  const opdump_tensor tensor = tensor_of_values();
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  REQUIRE(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);
  CHECK(dump.received.whole.begin()->first.starts_with(directory.text() + "/"));
}

namespace {

/// A NOR flash part of 16 blocks.
struct Nor {
  std::vector<unsigned char> cells = std::vector<unsigned char>(16 * 4096, 0xff);
  opdump_status answer = OPDUMP_OK;
  int protections = 0;

  unsigned char* at(std::uint32_t block, std::uint32_t offset) {
    return cells.data() + std::size_t{block} * 4096 + offset;
  }

  opdump_flash flash() {
    opdump_flash flash = {};
    flash.struct_bytes = sizeof flash;
    flash.context = this;
    flash.block_bytes = 4096;
    flash.block_count = 16;
    flash.program_bytes = 4;
    flash.erased = 0xff;
    flash.bits_only_clear = 1;
    flash.prepared_blocks = 2;
    flash.read = [](void* self, std::uint32_t block, std::uint32_t offset, void* to, std::size_t bytes) {
      std::memcpy(to, static_cast<Nor*>(self)->at(block, offset), bytes);
      return opdump_status{OPDUMP_OK};
    };
    flash.program = [](void* self, std::uint32_t block, std::uint32_t offset, const void* from,
                       std::size_t bytes) {
      Nor& nor = *static_cast<Nor*>(self);
      for (std::size_t i = 0; i < bytes; ++i)
        nor.at(block, offset)[i] &= static_cast<const unsigned char*>(from)[i];
      return nor.answer;
    };
    flash.erase = [](void* self, std::uint32_t block) {
      std::memset(static_cast<Nor*>(self)->at(block, 0), 0xff, 4096);
      return static_cast<Nor*>(self)->answer;
    };
    flash.sync = [](void*) { return opdump_status{OPDUMP_OK}; };
    flash.protect = [](void* self, int on) { static_cast<Nor*>(self)->protections += on != 0 ? -1 : 1; };
    return flash;
  }
};

}  // namespace

TEST_CASE("c api: a flash log over a port's functions") {
  Nor nor;
  opdump_flash flash = nor.flash();
  const Room room(opdump_flash_log_size(&flash));
  opdump_sink* log = nullptr;
  CHECK(opdump_flash_log_create(room.at(), room.bytes() - 64, &flash, &log) == OPDUMP_ERR_NO_MEMORY);
  CHECK(log == nullptr);
  REQUIRE(opdump_flash_log_create(room.at(), room.bytes(), &flash, &log) == OPDUMP_OK);
  Dump dump;
  opdump_session_options options = dump.options;
  options.sink = log;
  const Room session_room(opdump_session_size(&options));
  opdump_session* session = nullptr;
  REQUIRE(opdump_session_create(session_room.at(), session_room.bytes(), &options, &session) == OPDUMP_OK);
  const opdump_recorder_options recorder_options = {
      .struct_bytes = sizeof recorder_options, .ring_bytes = 4096, .max_tensors = 1, .known_heads = 0};
  const Room recorder_room(opdump_recorder_size(&recorder_options));
  opdump_recorder* recorder = nullptr;
  REQUIRE(opdump_recorder_add(session, &recorder_options, recorder_room.at(), recorder_room.bytes(),
                              &recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_init(session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(session, dump.config) == OPDUMP_OK);
  const Room model_room(opdump_model_size(&kNet));
  opdump_model* model = nullptr;
  REQUIRE(opdump_model_load(session, &kNet, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK);
  const opdump_tensor tensor = tensor_of_values();
  REQUIRE(opdump_begin_step(recorder, model) == OPDUMP_OK);
  REQUIRE(opdump_capture(recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_flush(session, 1000) == OPDUMP_OK);
  CHECK(opdump_sink_sync(log) == OPDUMP_OK);
  const std::string written(nor.cells.begin(), nor.cells.end());
  CHECK(written.find("Conv2D.conv1.3.0.") != std::string::npos);
  CHECK(written.find(std::string(reinterpret_cast<const char*>(values), sizeof values)) != std::string::npos);
  CHECK(nor.protections == 0);
  int more = 0, prepared = 0;
  do {
    REQUIRE(opdump_flash_log_prepare(log, &more) == OPDUMP_OK);
    prepared += more;
  } while (more != 0);
  CHECK(prepared > 0);
  CHECK(opdump_session_finalize(session) == OPDUMP_OK);
  CHECK(opdump_flash_log_emergency(log) == OPDUMP_OK);
  opdump_sink_destroy(log);
}

TEST_CASE("c api: a flash part that is unusable is refused") {
  Nor nor;
  const opdump_flash good = nor.flash();
  const Room room(opdump_flash_log_size(&good));
  opdump_sink* log = nullptr;
  opdump_flash flash = good;
  flash.program = nullptr;
  CHECK(opdump_flash_log_size(&flash) == 0);
  CHECK(opdump_flash_log_create(room.at(), room.bytes(), &flash, &log) == OPDUMP_ERR_INVALID_ARGUMENT);
  flash = good;
  flash.policy = OPDUMP_FLASH_STOP_WHEN_FULL + 1;
  CHECK(opdump_flash_log_create(room.at(), room.bytes(), &flash, &log) == OPDUMP_ERR_INVALID_ARGUMENT);
  flash = good;
  flash.block_count = 2;
  CHECK(opdump_flash_log_create(room.at(), room.bytes(), &flash, &log) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(log == nullptr);
  std::memset(nor.cells.data(), 0, 4096);
  REQUIRE(opdump_flash_log_create(room.at(), room.bytes(), &good, &log) == OPDUMP_OK);
}
