// MTD and UBI as emulated_mtd.hpp emulates them; no kernel's.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "platform/storage/raw_log.hpp"
#include "tests/support/emulated_mtd.hpp"
#include "tests/support/raw_objects.hpp"

using namespace opdump;
using namespace opdump::tests;
using storage::Access;

namespace {

constexpr EmulatedMtd::Shape kNand = {};
constexpr EmulatedMtd::Shape kNor = {
    .type = MTD_NORFLASH, .flags = MTD_CAP_NORFLASH, .block_bytes = 16 * 1024, .page_bytes = 1};
// As on NAND with pages of 2 KiB and blocks of 128 KiB: no power of two.
constexpr EmulatedMtd::Shape kUbi = {.block_bytes = 126976, .page_bytes = 2048, .is_ubi = true};

struct Part {
  explicit Part(const EmulatedMtd::Shape& shape, std::uint32_t blocks = 64)
      : memory(std::size_t{shape.block_bytes} * blocks, std::byte{0xff}), mtd(memory, shape) {}

  /// Writes objects from `first` to `last` in one boot.
  Status write(std::uint32_t first, std::uint32_t last,
               flashlog::Policy policy = flashlog::Policy::overwrite_oldest) {
    storage::BasicRawLog<EmulatedKernel> log{EmulatedKernel(mtd)};
    Status status = log.open("/dev/mtd6", {.policy = policy, .prepared_blocks = 0});
    error = log.error();
    for (std::uint32_t number = first; status == Status::ok && number <= last; ++number)
      status = put_object(log.log(), number);
    if (status == Status::ok) status = log.log().sync();
    report = status == Status::ok ? log.report() : "";
    return status;
  }

  RawContents contents() {
    storage::BasicRawStorage<EmulatedKernel> storage{EmulatedKernel(mtd)};
    if (const Status status = storage.open("/dev/mtd6", Access::read); status != Status::ok)
      return {.status = status};
    return contents_of(storage.device());
  }

  Status open(Access access = Access::write) {
    storage::BasicRawStorage<EmulatedKernel> storage{EmulatedKernel(mtd)};
    const Status status = storage.open("/dev/mtd6", access);
    error = storage.error();
    return status;
  }

  std::vector<std::byte> memory;
  EmulatedMtd mtd;
  std::string error;
  std::string report;
};

void check_round(Part& part) {
  REQUIRE(part.write(0, 40) == Status::ok);
  RawContents contents = part.contents();
  CHECK(contents.good.size() == 41);
  // Several times round.
  REQUIRE(part.write(41, 2000) == Status::ok);
  contents = part.contents();
  CHECK(contents.wrong + contents.damaged == 0);
  REQUIRE(contents.good.contains(2000));
  std::uint32_t oldest = 2000;
  while (contents.good.contains(oldest - 1)) --oldest;
  CHECK(contents.good.size() == 2001 - oldest);
  CHECK(part.mtd.violation.empty());
}

}  // namespace

TEST_CASE("MTD, emulated: a log on NAND keeps off bad blocks and from reprogramming") {
  Part part(kNand);
  part.mtd.bad = {0, 7, 8, 63};
  check_round(part);
  CHECK(part.report.starts_with(
      "/dev/mtd6: NAND flash, 64 blocks of 16 KiB, 1 MiB, 4 of the blocks bad; a log has"));
}

TEST_CASE("MTD, emulated: a log on NOR, programmed byte by byte") {
  Part part(kNor);
  check_round(part);
}

TEST_CASE("MTD, emulated: a log on a UBI volume, whose blocks are no power of two") {
  Part part(kUbi, 12);
  REQUIRE(part.write(0, 40) == Status::ok);
  CHECK(part.mtd.in_place);
  REQUIRE(part.write(41, 900) == Status::ok);
  const RawContents contents = part.contents();
  CHECK(contents.wrong + contents.damaged == 0);
  CHECK(contents.good.contains(900));
  CHECK(part.mtd.violation.empty());
  CHECK(part.report.starts_with("/dev/mtd6: UBI volume, 12 blocks of 124 KiB, 1488 KiB; a log has"));
}

TEST_CASE("MTD, emulated: what stops when it is full keeps the oldest") {
  Part part(kNand);
  CHECK(part.write(0, 2000, flashlog::Policy::stop_when_full) == Status::no_space);
  const RawContents contents = part.contents();
  CHECK(contents.good.contains(0));
  CHECK(contents.good.size() > 100);
}

TEST_CASE("MTD, emulated: blocks that fail lose nothing") {
  Part part(kNand);
  part.mtd.fail_programs = {3, 11};
  part.mtd.fail_erases = {5};
  part.mtd.interrupted_calls = 3;
  REQUIRE(part.write(0, 120) == Status::ok);
  const RawContents contents = part.contents();
  CHECK(contents.good.size() == 121);
  CHECK(contents.wrong + contents.damaged == 0);
  CHECK(part.mtd.violation.empty());
  // And the next boot still takes the part for its own.
  CHECK(part.write(121, 130) == Status::ok);
  CHECK(part.contents().good.size() == 131);
}

TEST_CASE("MTD, emulated: bytes that the ECC gives out wrong cost the object that they are of") {
  Part part(kNand);
  REQUIRE(part.write(0, 60) == Status::ok);
  part.mtd.wrong_bytes = {5 * 16 * 1024 + 9000};
  const RawContents contents = part.contents();
  CHECK(contents.wrong == 0);
  CHECK(contents.good.size() >= 57);
  CHECK(contents.good.size() < 61);
  storage::BasicRawStorage<EmulatedKernel> storage{EmulatedKernel(part.mtd)};
  REQUIRE(storage.open("/dev/mtd6", Access::read) == Status::ok);
  REQUIRE(storage.ecc().has_value());
  CHECK(storage.ecc()->failed != 0);
}

TEST_CASE("MTD, emulated: what a log cannot use is refused with the reason") {
  const auto refusal = [](EmulatedMtd::Shape shape) {
    Part part(shape);
    CHECK(part.open() != Status::ok);
    return part.error;
  };
  EmulatedMtd::Shape shape = kNand;
  shape.type = MTD_MLCNANDFLASH;
  CHECK(refusal(shape).starts_with("/dev/mtd6: is NAND with several bits per cell"));
  shape.type = MTD_ROM;
  CHECK(refusal(shape) == "/dev/mtd6: is MTD of type 2, which no log can use");
  shape = kNand;
  shape.page_bytes = 8192;
  CHECK(refusal(shape).find("written by 8192, are no place for a log") != std::string::npos);
  shape = kNand;
  shape.flags = 0;
  CHECK(refusal(shape) == "/dev/mtd6: the system has this partition read-only");
  shape = kUbi;
  shape.ubi_type = "static";
  CHECK(refusal(shape) ==
        "/dev/mtd6: is a static UBI volume; a log needs one made with 'ubimkvol -t dynamic'");
}

TEST_CASE("MTD, emulated: locked blocks are refused, and read") {
  Part part(kNor);
  part.mtd.locked = {2};
  CHECK(part.open() == Status::permission_denied);
  CHECK(part.error ==
        "/dev/mtd6: the block at byte 32768 is locked against writing; 'flash_unlock /dev/mtd6' unlocks it");
  CHECK(part.open(Access::read) == Status::ok);
}

TEST_CASE("MTD, emulated: flash that holds something else stays as it is") {
  Part part(kNand);
  std::copy_n(reinterpret_cast<const std::byte*>("UBI#"), 4, part.memory.begin() + 3 * 16 * 1024);
  const std::vector<std::byte> before = part.memory;
  CHECK(part.write(0, 1) == Status::already_exists);
  CHECK(part.error.starts_with(
      "/dev/mtd6: at byte 49152: UBI, which manages this flash: name one of its volumes, /dev/ubiX_Y. A log"));
  CHECK(part.memory == before);
  CHECK(part.mtd.erases == 0);
}

TEST_CASE("MTD storage: a watchdog is fed round each erase, and while the storage is looked through") {
  struct CountingWatchdog final : Watchdog {
    void feed() override { ++fed; }
    std::uint32_t fed = 0;
  };
  for (const EmulatedMtd::Shape& shape : {kNor, kNand, kUbi}) {
    Part part(shape);
    REQUIRE(part.write(0, 300) == Status::ok);
    CountingWatchdog watchdog;
    storage::BasicRawLog<EmulatedKernel> log{EmulatedKernel(part.mtd)};
    REQUIRE(log.open("/dev/mtd6", {.policy = flashlog::Policy::overwrite_oldest, .prepared_blocks = 0},
                     &watchdog) == Status::ok);
    CHECK(watchdog.fed >= 1);
    const std::uint32_t at_mount = watchdog.fed, erased_before = log.log().erases();
    for (std::uint32_t number = 301; number <= 3000; ++number)
      REQUIRE(put_object(log.log(), number) == Status::ok);
    REQUIRE(log.log().sync() == Status::ok);
    const std::uint32_t erases = log.log().erases() - erased_before;
    CHECK(erases > 10);
    CHECK(watchdog.fed - at_mount >= 2 * erases + 2);
  }
}
