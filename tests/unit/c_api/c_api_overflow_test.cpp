#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "opdump/port/device_copy.hpp"
#include "tests/support/c_api_dump.hpp"

#if OPDUMP_FAULTS == 2

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

DumpConfig faults_config(std::span<const ModelRule> rules) {
  DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = "/d";
  config.models = rules;
  config.options.when_full = WhenFull::inline_drain;
  return config;
}

std::vector<std::byte> plan_of_overflows() {
  const ModelRule rules[] = {{.any_model = true}};
  DumpConfig config = faults_config(rules);
  config.overflow = true;
  return write_plan(config);
}

/// Of what overwrites conv1.
std::vector<std::byte> plan_of_watch() {
  const std::string_view watched[] = {"conv1"};
  const ModelExtras extras = {.watched = watched};
  const ModelRule rules[] = {{.any_model = true, .extras = &extras}};
  DumpConfig config = faults_config(rules);
  config.watch = true;
  return write_plan(config);
}

/// The port's side.
struct FaultPort {
  int over = 0;
  opdump_status answer = OPDUMP_OK;
  std::vector<std::string> overwrites;

  static opdump_status overflowed(void* self, std::uint32_t stream_id, int* over) {
    const FaultPort& port = *static_cast<FaultPort*>(self);
    *over = stream_id == 0 ? port.over : 0;
    return port.answer;
  }

  static void overwritten(void* self, const opdump_overwrite* told) {
    static_cast<FaultPort*>(self)->overwrites.push_back(
        std::string(told->by, told->by_bytes) + " wrote bytes " + std::to_string(told->first_byte) + " to " +
        std::to_string(told->last_byte) + " of output " + std::to_string(told->output) + " of " +
        std::string(told->watched, told->watched_bytes));
  }
};

struct Faults {
  explicit Faults(FaultPort* port = nullptr, std::uint32_t watched_ops = 0) {
    options.struct_bytes = sizeof options;
    options.context = port;
    options.overflowed = port != nullptr ? FaultPort::overflowed : nullptr;
    options.overwritten = port != nullptr ? FaultPort::overwritten : nullptr;
    options.watched_ops = watched_ops;
    room = std::make_unique<Room>(opdump_faults_size(&options));
    REQUIRE(opdump_faults_create(room->at(), room->bytes(), &options, &handle) == OPDUMP_OK);
  }
  opdump_faults_options options{};
  std::unique_ptr<Room> room;
  opdump_faults* handle = nullptr;
};

struct Restored {
  ~Restored() {
    for (int i = 0; i < 4; ++i) values[i] = static_cast<float>(i + 1);
  }
};

/// One step of both operators, all with the same output.
void step(CDump& dump) {
  const opdump_tensor tensor = tensor_of_values();
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  for (std::uint32_t op = 0; op < 2; ++op)
    static_cast<void>(opdump_capture(dump.recorder, op, nullptr, 0, &tensor, 1));
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
}

}  // namespace

TEST_CASE("c api: an operator whose outputs are not finite is dumped with a report, and the first is known") {
  const Restored restored;
  const Faults faults;
  CDump dump(nullptr, plan_of_overflows(), faults.handle);
  dump.start(kNet);
  opdump_bad_op bad;
  step(dump);
  CHECK(opdump_session_overflows(dump.session) == 0);
  REQUIRE(opdump_session_first_bad_op(dump.session, &bad, sizeof bad) == OPDUMP_OK);
  CHECK(bad.unix_us == 0);
  const opdump_tensor tensor = tensor_of_values();
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  values[2] = -kInfinity;
  CHECK(opdump_capture(dump.recorder, 1, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  CHECK(opdump_session_overflows(dump.session) == 1);
  REQUIRE(opdump_session_first_bad_op(dump.session, &bad, sizeof bad) == OPDUMP_OK);
  CHECK(bad.op == 1);
  CHECK(bad.step == 1);
  CHECK(bad.status == 0);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.size() == 2);
  CHECK_FALSE(only(dump.received.whole, "/1/Relu.relu1.4.0.").empty());
  CHECK_FALSE(only(dump.received.whole, "/1/Opdebug.Node_OpDebug.").empty());
}

TEST_CASE("c api: a device that tells of overflows is believed, and one that cannot tell costs the record") {
  FaultPort port;
  const Faults faults(&port);
  CDump dump(nullptr, plan_of_overflows(), faults.handle);
  dump.start(kNet);
  step(dump);
  CHECK(opdump_session_overflows(dump.session) == 0);
  port.over = 1;
  step(dump);
  CHECK(opdump_session_overflows(dump.session) == 2);
  port.answer = OPDUMP_ERR_NOT_SUPPORTED;  // then the outputs are searched
  step(dump);
  CHECK(opdump_session_overflows(dump.session) == 2);
  port.answer = OPDUMP_ERR_DRIVER_FAILED;
  step(dump);
  CHECK(opdump_session_overflows(dump.session) == 2);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.counts().device_failed == 2);
  CHECK(dump.received.whole.size() == 4);
}

TEST_CASE("c api: what the runtime knows of an overflow is in the report") {
  const Faults faults;
  CDump dump(nullptr, plan_of_overflows(), faults.handle);
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  opdump_overflow overflow = {};
  overflow.struct_bytes = sizeof overflow;
  overflow.status = 0x100;
  overflow.start = 0x1122334455667788;
  const auto capture = [&](const opdump_overflow* told) {
    return opdump_capture_overflow(dump.recorder, 0, nullptr, 0, &tensor, 1, told);
  };
  CHECK(capture(&overflow) == OPDUMP_ERR_STEP_NOT_OPEN);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(capture(&overflow) == OPDUMP_OK);
  CHECK(opdump_capture_overflow(dump.recorder, 0, nullptr, 0, nullptr, 1, &overflow) ==
        OPDUMP_ERR_MISSING_ARGUMENT);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(opdump_session_overflows(dump.session) == 1);
  std::byte start[8];
  store_little_endian(start, overflow.start);
  CHECK(only(dump.received.whole, "/Opdebug.Node_OpDebug.").find(as_text(start)) != std::string::npos);
  CHECK_FALSE(only(dump.received.whole, "/Conv2D.conv1.3.0.").empty());
}

TEST_CASE("c api: an overflow that nothing is told of is lost, and counted") {
  const Faults faults;
  CDump dump(nullptr, plan_of_overflows(), faults.handle);
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  opdump_overflow overflow = {};
  const auto capture = [&](std::uint32_t op, const opdump_overflow* told) {
    return opdump_capture_overflow(dump.recorder, op, nullptr, 0, &tensor, 1, told);
  };
  CHECK(capture(0, nullptr) == OPDUMP_ERR_STEP_NOT_OPEN);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(capture(2, nullptr) == OPDUMP_ERR_NO_SUCH_OP);
  CHECK(dump.counts().wanted == 0);
  CHECK(capture(0, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(capture(1, &overflow) == OPDUMP_ERR_INVALID_ARGUMENT);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  const opdump_counts counts = dump.counts();
  CHECK(counts.wanted == 2);
  CHECK(counts.invalid == 2);
  CHECK(counts.lost == 2);
  REQUIRE(dump.received.journals.size() == 1);
  const std::string& journal = dump.received.journals.begin()->second;
  CHECK(journal.find(",invalid:an array or a report is missing,") != std::string::npos);
  CHECK(journal.find(",invalid:invalid argument,") != std::string::npos);
}

TEST_CASE("c api: what overflowed is captured as any other where the config asks for no overflows") {
  const Faults faults;
  const ModelRule rules[] = {{.any_model = true}};
  CDump dump(nullptr, write_plan(faults_config(rules)), faults.handle);
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  opdump_overflow overflow = {};
  overflow.struct_bytes = sizeof overflow;
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture_overflow(dump.recorder, 0, nullptr, 0, &tensor, 1, &overflow) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.size() == 1);
  CHECK_FALSE(only(dump.received.whole, "/Conv2D.conv1.3.0.").empty());
}

TEST_CASE("c api: a watched operator's output that another overwrites is told and dumped") {
  const Restored restored;
  FaultPort port;
  const Faults faults(&port, 1);
  CDump dump(nullptr, plan_of_watch(), faults.handle);
  dump.start(kNet);
  const opdump_tensor tensor = tensor_of_values();
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  values[3] = -values[3];
  CHECK(opdump_capture(dump.recorder, 1, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(opdump_session_overwrites(dump.session) == 1);
  CHECK(port.overwrites == std::vector<std::string>{"relu1 wrote bytes 0 to 15 of output 0 of conv1"});
  CHECK_FALSE(only(dump.received.whole, "/Conv2D.conv1.3.0.").empty());
  CHECK(only(dump.received.whole, "/Relu.relu1_To_conv1.4.0.").ends_with(dumped_values()));
}

TEST_CASE("c api: configs that ask for faults need their handle, which fits the size it asks for") {
  for (const auto& plan : {plan_of_overflows(), plan_of_watch()}) {
    CDump dump(nullptr, plan);
    REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
    CHECK(opdump_session_set_config(dump.session, dump.config) == OPDUMP_ERR_NOT_SUPPORTED);
  }
  const Faults none;
  CDump dump(nullptr, plan_of_watch(), none.handle);
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  CHECK(opdump_session_set_config(dump.session, dump.config) == OPDUMP_ERR_NOT_SUPPORTED);
  opdump_faults* handle = none.handle;
  opdump_faults_options options = none.options;
  options.watched_ops = 3;
  const Room room(opdump_faults_size(&options));
  CHECK(opdump_faults_create(room.at(), room.bytes() / 2, &options, &handle) == OPDUMP_ERR_NO_MEMORY);
  CHECK(handle == nullptr);
  CHECK(opdump_faults_create(room.at(), room.bytes(), &options, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_faults_create(room.at(), room.bytes(), nullptr, &handle) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_faults_create(room.at(), room.bytes(), &options, &handle) == OPDUMP_OK);
}

#endif
