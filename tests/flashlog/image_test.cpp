#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "platform/flashlog/flash_log.hpp"
#include "platform/posix/base/flash_file.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using flashlog::ObjectState;

constexpr std::uint32_t kImagePage = 128;

/// The name of the golden image of this build.
const std::string kGolden = OPDUMP_FAULTS == 2 ? "v1" : "v1_without_faults";

std::string golden(const std::string& name) {
  std::ifstream file(OPDUMP_TEST_DATA "/flash/" + name, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What the header of the first block says.
flashlog::Geometry geometry_of(const std::string& image) {
  flashlog::Header header;
  REQUIRE(image.size() >= sizeof header);
  copy_bytes(header.bytes(), as_bytes(image).first(sizeof header));
  REQUIRE(is_header(header));
  return {.block_bytes = header.head.block_bytes,
          .block_count = header.head.block_count,
          .program_bytes = header.head.program_bytes,
          .erased = header.head.erased};
}

/// A part that holds `image`.
FlashEmulator part_of(const std::string& image, const flashlog::Geometry& geometry) {
  FlashEmulator flash(geometry, kImagePage);
  REQUIRE(flash.memory().size() == image.size());
  copy_bytes(flash.memory().data(), as_bytes(image));
  return flash;
}

/// A line per object and journal: state, path, bytes and a CRC of them.
std::string listing(const FlashContents& contents) {
  constexpr const char* kStates[] = {"committed", "aborted", "torn", "damaged", "overwritten"};
  std::ostringstream text;
  const auto add = [&](const char* what, const std::string& path, const std::string& bytes) {
    text << what << ' ' << path << ' ' << bytes.size() << ' ' << crc32(0, as_bytes(bytes)) << '\n';
  };
  for (const FlashContents::Object& object : contents.objects) {
    add(kStates[static_cast<int>(object.state)], object.path, object.bytes);
  }
  for (const auto& [path, lines] : contents.journals) add("journal", path, lines);
  return text.str();
}

void put(FlashLog& log, const std::string& directory, const std::string& file, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + bytes);
  const Bytes part = as_bytes(text);
  const ObjectId object = log.begin({{}, directory, file}).value();
  REQUIRE(log.append(object, {&part, 1}) == Status::ok);
  REQUIRE(log.commit(object) == Status::ok);
}

/// What the golden image holds: two boots, all states, a retired block, a pair.
std::string make_image() {
  constexpr flashlog::Geometry kPart = {.block_bytes = 1024, .block_count = 9, .program_bytes = 16};
  FlashEmulator flash(kPart, kImagePage);
  flash.set_fault(3, FlashEmulator::Fault::program_fails);
  const flashlog::Device device = flash.device();
  for (int boot = 0; boot < 2; ++boot) {
    std::vector<std::byte> memory(FlashLog::kPrefixBytes + kImagePage);
    FlashLog log(device, memory, {});
    REQUIRE(log.mount() == Status::ok);
    const std::string directory = "20240102030405/0/net/1/" + std::to_string(boot);
    for (std::size_t i = 0; i < 7; ++i)
      put(log, directory, "Conv2D.conv" + std::to_string(i) + ".0.0.17", i * 90);
    const std::string text(600, 'x');
    const Bytes part = as_bytes(text);
    const ObjectId aborted = log.begin({{}, directory, "Relu.aborted.0.0.18"}).value();
    const ObjectId torn = log.begin({{}, directory, "Relu.torn.0.0.19"}).value();
    REQUIRE(log.append(aborted, {&part, 1}) == Status::ok);
    REQUIRE(log.append(torn, {&part, 1}) == Status::ok);
    log.abort(aborted);
#if OPDUMP_FAULTS == 2
    const ObjectId failed = log.begin({{}, directory, "MatMul.fc.0.0.20"}).value();
    const ObjectId report = log.begin({{}, directory, "Opdebug.Node_OpDebug.0.0.21"}).value();
    REQUIRE(log.append(failed, {&part, 1}) == Status::ok);
    REQUIRE(log.append(report, {&part, 1}) == Status::ok);
    REQUIRE(log.commit(failed, report) == Status::ok);
#endif
    const Bytes line = as_bytes("opdump-journal,1,records\n");
    REQUIRE(log.append_lines({{}, "20240102030405", "opdump.0.1.journal"}, {&line, 1}) == Status::ok);
    REQUIRE(log.sync() == Status::ok);
  }
  return std::string(as_text(flash.memory()));
}

}  // namespace

// OPDUMP_FLASH_GOLDEN=FOLDER also writes image and listing there, to make those of a new format.
TEST_CASE("flash log: the golden image is written, byte for byte") {
  const std::string image = make_image();
  if (const char* folder = std::getenv("OPDUMP_FLASH_GOLDEN"); folder != nullptr) {
    FlashEmulator flash = part_of(image, geometry_of(image));
    std::ofstream(std::string(folder) + "/" + kGolden + ".img", std::ios::binary) << image;
    std::ofstream(std::string(folder) + "/" + kGolden + ".txt", std::ios::binary)
        << listing(read_flash(flash.device()));
  }
  CHECK((image == golden(kGolden + ".img")));
}

TEST_CASE("flash log: the golden images are read, and a log in one is continued") {
  for (const std::string name : {"v1", "v1_without_faults"}) {
    CAPTURE(name);
    const std::string image = golden(name + ".img");
    FlashEmulator flash = part_of(image, geometry_of(image));
    CHECK(listing(read_flash(flash.device())) == golden(name + ".txt"));
  }
  const std::string image = golden(kGolden + ".img");
  FlashEmulator flash = part_of(image, geometry_of(image));
  const flashlog::Device device = flash.device();
  std::vector<std::byte> memory(FlashLog::kPrefixBytes + kImagePage);
  FlashLog log(device, memory, {});
  REQUIRE(log.mount() == Status::ok);
  put(log, "d", "new", 100);
  REQUIRE(log.sync() == Status::ok);
  const FlashContents contents = read_flash(device);
  REQUIRE(contents.find("d/new") != nullptr);
  CHECK(contents.find("d/new")->state == ObjectState::committed);
  const FlashContents::Object* old = contents.find("20240102030405/0/net/1/1/Conv2D.conv6.0.0.17");
  REQUIRE(old != nullptr);
  CHECK(old->state == ObjectState::committed);
}

TEST_CASE("flash log: a damaged byte costs what it hit, and never yields other bytes") {
  const std::string image = golden(kGolden + ".img");
  const flashlog::Geometry geometry = geometry_of(image);
  FlashEmulator whole = part_of(image, geometry);
  const FlashContents expected = read_flash(whole.device());
  std::size_t fewest = expected.objects.size();
  for (const bool search : {false, true}) {
    for (std::size_t at = 0; at < image.size(); at += (OPDUMP_TEST_SHARE > 1 ? 7 : 1)) {
      std::string damaged = image;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      FlashEmulator flash = part_of(damaged, geometry);
      const FlashContents contents = read_flash(flash.device(), search);
      for (const FlashContents::Object& object : contents.objects) {
        if (object.state != ObjectState::committed) continue;
        const FlashContents::Object* original = expected.find(object.path);
        if (original == nullptr || original->bytes != object.bytes) FAIL("byte ", at, " made ", object.path);
      }
      fewest = std::min(fewest, contents.count(ObjectState::committed));
    }
  }
  // So many of these objects have bytes in one block.
  CHECK(fewest + 5 >= expected.count(ObjectState::committed));
}

TEST_CASE("flash log: a file is flash too") {
  TemporaryDirectory folder;
  const std::string path = folder.text() + "/flash.img";
  for (const std::uint32_t granule : {1u, 4096u}) {
    CAPTURE(granule);
    const flashlog::Geometry part = {.block_bytes = 65536, .block_count = 4, .program_bytes = granule};
    const std::string name = path + std::to_string(granule);
    {
      posix::FlashFile file;
      CHECK(file.open(name.c_str(), part, false) == Status::not_found);
      REQUIRE(file.open(name.c_str(), part, true) == Status::ok);
      const flashlog::Device device = file.device();
      std::vector<std::byte> memory(FlashLog::kPrefixBytes + 4096);
      FlashLog log(device, memory, {});
      REQUIRE(log.mount() == Status::ok);
      for (std::size_t i = 0; i < 40; ++i) put(log, "d", std::to_string(i), 5000);
      REQUIRE(log.sync() == Status::ok);
    }
    posix::FlashFile file;
    REQUIRE(file.open(name.c_str(), part, false) == Status::ok);
    const FlashContents contents = read_flash(file.device());
    CHECK(contents.objects.back().path == "d/39");
    CHECK(contents.count(ObjectState::committed) >= 20);
    const flashlog::Geometry larger = {.block_bytes = 65536, .block_count = 5, .program_bytes = granule};
    CHECK(file.open(name.c_str(), larger, false) == Status::no_space);
  }
}
