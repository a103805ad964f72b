#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/flashlog/fed_device.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/c_api_dump.hpp"
#include "tests/support/c_api_flash.hpp"
#include "tests/support/draining_firmware.hpp"
#include "tests/support/flash_contents.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

/// Holds what the flash does between two calls of `feed` against what a FedDevice promises.
class Meter final : public Watchdog {
 public:
  explicit Meter(FlashEmulator& flash) : flash_(flash) {
    flash.before = [this](FlashEmulator&, const FlashEmulator::Operation& operation) {
      if (operation.is_erase && !just_fed_) ++unfed_erases;
      just_fed_ = false;
    };
  }

  void feed() override {
    most_erases = std::max(most_erases, flash_.erases - erases_);
    most_programs = std::max(most_programs, flash_.programs - programs_);
    most_reads = std::max(most_reads, flash_.reads - reads_);
    erases_ = flash_.erases;
    programs_ = flash_.programs;
    reads_ = flash_.reads;
    just_fed_ = true;
    ++fed;
  }

  std::uint64_t fed = 0, unfed_erases = 0, most_erases = 0, most_programs = 0, most_reads = 0;

 private:
  FlashEmulator& flash_;
  std::uint64_t erases_ = 0, programs_ = 0, reads_ = 0;
  bool just_fed_ = false;
};

constexpr Geometry kFedPart = {.block_bytes = 4096, .block_count = 64, .program_bytes = 4};
constexpr std::uint32_t kPageBytes = 256;

void fill(FlashLog& log, int objects) {
  const std::vector<std::byte> data(3000, std::byte{7});
  const Bytes part = data;
  for (int i = 0; i < objects; ++i) {
    const Result<ObjectId> id = log.begin({{}, "d", "f" + std::to_string(i)});
    REQUIRE(id.ok());
    REQUIRE(log.append(id.value(), {&part, 1}) == Status::ok);
    REQUIRE(log.commit(id.value()) == Status::ok);
  }
}

}  // namespace

TEST_CASE("flash log: a watchdog is fed around each erase, and often enough in between") {
  FlashEmulator flash(kFedPart, kPageBytes);
  const Device part = flash.device();
  Meter meter(flash);
  FedDevice fed(part, meter, {.programs = 5, .reads = 40});
  std::byte page[FlashLog::kPrefixBytes + kPageBytes];
  for (int life = 0; life < 2; ++life) {
    const std::uint64_t before = meter.fed, reads = flash.reads;
    FlashLog log(fed.device(), page, {.verify = life == 1});
    REQUIRE(log.mount() == Status::ok);
    CHECK(meter.fed - before >= (flash.reads - reads) / 40);
    fill(log, 150);
    while (log.prepare().value()) continue;
    REQUIRE(log.sync() == Status::ok);
    CHECK(read_flash(fed.device()).count(ObjectState::damaged) == 0);
  }
  CHECK(flash.erases > 64);
  CHECK(flash.violation == nullptr);
  CHECK(meter.unfed_erases == 0);
  CHECK(meter.most_erases == 1);
  CHECK(meter.most_programs == 5);
  CHECK(meter.most_reads <= 40);
}

TEST_CASE("flash log: a watchdog that does nothing changes nothing, and errors pass through") {
  struct Idle final : Watchdog {
  } idle;
  FlashEmulator plain(kFedPart, kPageBytes), watched(kFedPart, kPageBytes);
  const Device plain_part = plain.device(), watched_part = watched.device();
  FedDevice fed(watched_part, idle);
  std::byte page[FlashLog::kPrefixBytes + kPageBytes];
  for (const Device* device : {&plain_part, &fed.device()}) {
    FlashLog log(*device, page, {});
    REQUIRE(log.mount() == Status::ok);
    fill(log, 60);
    REQUIRE(log.sync() == Status::ok);
  }
  CHECK(plain.memory() == watched.memory());
  CHECK(watched.is_protected);
  watched.off = true;
  CHECK(fed.device().erase(fed.device().context, 0) == Status::io_error);
  CHECK(fed.device().sync(fed.device().context) == Status::io_error);
  std::byte byte{};
  CHECK(fed.device().read(fed.device().context, 0, 0, {&byte, 1}) == Status::io_error);
  CHECK(fed.device().program(fed.device().context, 0, 0, {&byte, 1}) == Status::io_error);
}

TEST_CASE("flash log: C feeds its watchdog too") {
  Nor nor;
  const opdump_flash flash = nor.flash();
  int feeds = 0;
  opdump_watchdog watchdog = {};
  watchdog.struct_bytes = sizeof watchdog;
  watchdog.context = &feeds;
  const Room memory(opdump_fed_flash_size());
  opdump_flash fed;
  const auto create = [&] {
    return opdump_fed_flash_create(memory.at(), memory.bytes(), &flash, &watchdog, &fed, sizeof fed);
  };
  CHECK(create() == OPDUMP_ERR_INVALID_ARGUMENT);  // nothing to be called
  watchdog.feed = [](void* self) { ++*static_cast<int*>(self); };
  CHECK(opdump_fed_flash_create(memory.at(), memory.bytes(), &flash, &watchdog, &fed, 40) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_fed_flash_create(memory.at(), memory.bytes() - 1, &flash, &watchdog, &fed, sizeof fed) ==
        OPDUMP_ERR_NO_MEMORY);
  REQUIRE(create() == OPDUMP_OK);
  const Room log_memory(opdump_flash_log_size(&fed));
  opdump_sink* log = nullptr;
  REQUIRE(opdump_flash_log_create(log_memory.at(), log_memory.bytes(), &fed, &log) == OPDUMP_OK);
  const int mounted = feeds;
  int more = 1;
  while (more != 0) REQUIRE(opdump_flash_log_prepare(log, &more) == OPDUMP_OK);
  CHECK(nor.erases == 2);
  // Before and after each of them, and of the syncs that go with them.
  CHECK(feeds - mounted >= 12);
  CHECK(nor.protections == 0);
}
