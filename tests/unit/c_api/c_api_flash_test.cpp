#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "opdump/opdump.h"
#include "platform/flashlog/log_reader.hpp"
#include "tests/support/c_api_dump.hpp"
#include "tests/support/c_api_flash.hpp"

using namespace opdump::tests;

namespace {

/// A session that has dumped one record into a log.
struct FlashDump {
  explicit FlashDump(opdump_sink* log) {
    opdump_session_options options = dump.options;
    options.sink = log;
    session_room = std::make_unique<Room>(opdump_session_size(&options));
    REQUIRE(opdump_session_create(session_room->at(), session_room->bytes(), &options, &session) ==
            OPDUMP_OK);
    const opdump_recorder_options recorder_options = {.struct_bytes = sizeof recorder_options,
                                                      .ring_bytes = 4096,
                                                      .max_tensors = 1,
                                                      .known_heads = 0,
                                                      .reserved = 0,
                                                      .when_full = 0};
    recorder_room = std::make_unique<Room>(opdump_recorder_size(&recorder_options));
    opdump_recorder* recorder = nullptr;
    REQUIRE(opdump_recorder_add(session, &recorder_options, recorder_room->at(), recorder_room->bytes(),
                                &recorder) == OPDUMP_OK);
    REQUIRE(opdump_session_init(session) == OPDUMP_OK);
    REQUIRE(opdump_session_set_config(session, dump.config) == OPDUMP_OK);
    model_room = std::make_unique<Room>(opdump_model_size(&kNet));
    opdump_model* model = nullptr;
    REQUIRE(opdump_model_load(session, &kNet, model_room->at(), model_room->bytes(), &model) == OPDUMP_OK);
    const opdump_tensor tensor = tensor_of_values();
    one_step(recorder, model, tensor);
    REQUIRE(opdump_session_flush(session, 1000) == OPDUMP_OK);
  }

  CDump dump;
  std::unique_ptr<Room> session_room, recorder_room, model_room;
  opdump_session* session = nullptr;
};

/// The boot of each object that a reader finds.
std::vector<std::uint32_t> boots_of_objects(Nor& nor) {
  namespace flashlog = opdump::flashlog;
  const flashlog::Device device = {
      .geometry = {.block_bytes = 4096, .block_count = 16, .program_bytes = 4, .bits_only_clear = true},
      .context = &nor,
      .read = [](void* self, std::uint32_t block, std::uint32_t offset, opdump::MutableBytes to) {
        std::memcpy(to.data(), static_cast<Nor*>(self)->at(block, offset), to.size());
        return opdump::Status::ok;
      }};
  std::vector<char> names(1024);
  std::vector<flashlog::Segment> segments(16);
  flashlog::LogReader reader(device, names);
  REQUIRE(reader.open(segments) == opdump::Status::ok);
  std::vector<std::uint32_t> boots;
  for (flashlog::LogReader::Object object; reader.next(object);) {
    if (object.state == flashlog::ObjectState::committed) boots.push_back(object.boot);
  }
  return boots;
}

}  // namespace

TEST_CASE("c api: a flash log over a port's functions") {
  Nor nor;
  opdump_flash flash = nor.flash();
  const Room room(opdump_flash_log_size(&flash));
  opdump_sink* log = nullptr;
  CHECK(opdump_flash_log_create(room.at(), room.bytes() - 64, &flash, &log) == OPDUMP_ERR_NO_MEMORY);
  CHECK(log == nullptr);
  REQUIRE(opdump_flash_log_create(room.at(), room.bytes(), &flash, &log) == OPDUMP_OK);
  FlashDump dump(log);
  CHECK(opdump_sink_sync(log) == OPDUMP_OK);
  const std::string written(nor.cells.begin(), nor.cells.end());
  CHECK(written.find("Conv2D.conv1.3.0.") != std::string::npos);
  CHECK(written.find(dumped_values()) != std::string::npos);
  CHECK(nor.protections == 0);
  int more = 0, prepared = 0;
  do {
    REQUIRE(opdump_flash_log_prepare(log, &more) == OPDUMP_OK);
    prepared += more;
  } while (more != 0);
  CHECK(prepared > 0);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(opdump_flash_log_emergency(log) == OPDUMP_OK);
  opdump_sink_destroy(log);
}

TEST_CASE("c api: a log that erases only when it is asked to, and a session that ends in steps") {
  Nor nor;
  opdump_flash flash = nor.flash();
  flash.erase_ahead = 2;
  CHECK(opdump_flash_log_size(&flash) == 0);
  flash.erase_ahead = 1;
  flash.prepared_blocks = 1;
  const Room room(opdump_flash_log_size(&flash));
  opdump_sink* log = nullptr;
  REQUIRE(opdump_flash_log_create(room.at(), room.bytes(), &flash, &log) == OPDUMP_OK);
  CHECK(opdump_flash_log_ready_bytes(log) == 0);
  CHECK(opdump_flash_log_ready_bytes(nullptr) == 0);
  CHECK(opdump_flash_log_erase_ahead(nullptr, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  // No other call erases.
  int more = 1;
  REQUIRE(opdump_flash_log_prepare(log, &more) == OPDUMP_OK);
  CHECK(more == 0);
  CHECK(nor.erases == 0);
  do {
    REQUIRE(opdump_flash_log_erase_ahead(log, &more) == OPDUMP_OK);
  } while (more != 0);
  CHECK(nor.erases == 1);
  CHECK(opdump_flash_log_ready_bytes(log) > 3500);
  FlashDump dump(log);
  opdump_status status = OPDUMP_ERR_UNFINISHED;
  int calls = 0;
  for (; status == OPDUMP_ERR_UNFINISHED; ++calls) status = opdump_session_finalize_some(dump.session, 100);
  CHECK(status == OPDUMP_OK);
  CHECK(calls >= 1);
  CHECK(nor.erases == 1);
  CHECK(opdump_session_finalize_some(dump.session, 100) == OPDUMP_ERR_NOT_INITIALISED);
  CHECK(opdump_session_finalize_some(nullptr, 100) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(boots_of_objects(nor).size() == 1);
  opdump_sink_destroy(log);
}

TEST_CASE("c api: each boot of a flash log that writes has a number of its own") {
  Nor nor;
  opdump_flash flash = nor.flash();
  const Room room(opdump_flash_log_size(&flash));
  std::vector<std::uint32_t> boots;
  for (const bool writes : {true, true, false, true}) {
    opdump_sink* log = nullptr;
    REQUIRE(opdump_flash_log_create(room.at(), room.bytes(), &flash, &log) == OPDUMP_OK);
    std::uint32_t boot = 0;
    CHECK(opdump_flash_log_boot(log, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(opdump_flash_log_boot(nullptr, &boot) == OPDUMP_ERR_INVALID_ARGUMENT);
    REQUIRE(opdump_flash_log_boot(log, &boot) == OPDUMP_OK);
    if (writes) {
      FlashDump dump(log);
      CHECK(opdump_flash_log_boot(dump.dump.sink, &boot) == OPDUMP_ERR_INVALID_ARGUMENT);
      CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
      boots.push_back(boot);
    }
    // It stays the same for as long as the boot lasts.
    std::uint32_t later = 0;
    REQUIRE(opdump_flash_log_boot(log, &later) == OPDUMP_OK);
    CHECK(later == boot);
    opdump_sink_destroy(log);
  }
  CHECK(boots[0] >= 1);
  CHECK(boots[1] > boots[0]);
  CHECK(boots[2] > boots[1]);
  CHECK(boots_of_objects(nor) == boots);
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
