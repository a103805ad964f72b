// libdatadump as the vendor's executor calls it, over a simulated driver.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "platform/ascend/nano/flash_place.hpp"
#include "tests/support/nano/simulated_hal.hpp"
#include "tests/support/nano/simulated_hal.inl"
#include "tests/support/temporary_directory.hpp"

extern "C" {
std::uint32_t InitDataDump(void);
std::uint32_t StopDataDump(void);
}

using namespace opdump;
using namespace opdump::tests;

namespace {

/// The environment of libdatadump while it lives.
class Environment {
 public:
  void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  ~Environment() {
    unsetenv("OPDUMP_DATADUMP_CONFIG");
    unsetenv("OPDUMP_DATADUMP_FLASH");
  }
};

struct LoadedLibrary {
  LoadedLibrary() { hal = &simulation; }
  ~LoadedLibrary() { hal = nullptr; }

  bool send(const std::vector<std::byte>& message, const NanoModel& model) {
    return simulation.scheduler.send(0, message.data(), model.message_bytes());
  }

  /// Loads a model, runs each of its operators at three steps and unloads it. Returns how many of the files
  /// are there that the vendor writes; `wanted` of them were to be.
  std::size_t run(std::size_t& wanted) {
    Random random(3);
    NanoModel model(device, 1, "net", random_ops(12, random), directory.text() + "/20260123040506/0/");
    const auto load = model.message(true, nano::kModeAll, nano::kDataTensors);
    const auto unload = model.message(false, nano::kModeAll, nano::kDataTensors);
    bool ok = send(load, model);
    std::map<std::string, std::string> expected;
    for (; model.step < 3; ++model.step) {
      for (const MadeOp& op : model.ops) {
        model.run(op, random);
        expected[model.path(op)] = model.file(op, nano::kModeAll);
        ok = simulation.scheduler.send(model.mailbox(op)) && ok;
        model.overwrite(op);
      }
    }
    ok = send(unload, model) && ok;
    CHECK(ok);
    CHECK(StopDataDump() == 0);
    wanted = expected.size();
    std::size_t right = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
      const std::string path = entry.path().string();
      const auto found = expected.find(path.substr(0, path.rfind('.') + 1));
      if (found != expected.end() && found->second == read_file(entry.path())) ++right;
    }
    return right;
  }

  bool acknowledged_once() const {
    for (const int times : simulation.scheduler.acknowledged()) {
      if (times != 1) return false;
    }
    return true;
  }

  Environment environment;
  TemporaryDirectory directory;
  SimulatedHal simulation;
  NanoMemory device{2 * NanoModel::kAreaBytes, NanoMemory::Kind::shared};
};

}  // namespace

TEST_CASE("libdatadump: takes events as the driver may pass them, and writes the vendor's files") {
  for (const bool copies : {false, true}) {
    LoadedLibrary library;
    library.simulation.copies_mailboxes = copies;
    REQUIRE(InitDataDump() == 0);
    CHECK(InitDataDump() == 0);
    std::size_t wanted = 0;
    CHECK(library.run(wanted) == wanted);
    CHECK(wanted == 36);
    CHECK(library.acknowledged_once());
    CHECK(StopDataDump() == 0);
  }
}

TEST_CASE("libdatadump: a config that is refused switches the dump off, and events are acknowledged") {
  for (const char* const text :
       {R"({"dump": {"dump_list": 3}})", R"({"dump": {}, "opdump": {"when_full": "later"}})",
        R"({"dump": {}, "opdump": {"file_format": "npy"}})"}) {
    LoadedLibrary library;
    write_file(library.directory.path() / "acl.json", text);
    library.environment.set("OPDUMP_DATADUMP_CONFIG", (library.directory.path() / "acl.json").string());
    REQUIRE(InitDataDump() == 0);
    std::size_t wanted = 0;
    CHECK(library.run(wanted) == 0);
    CHECK(library.acknowledged_once());
  }
}

TEST_CASE("libdatadump: the config's options count") {
  LoadedLibrary library;
  write_file(library.directory.path() / "acl.json",
             R"({"dump": {}, "opdump": {"max_files": 3, "journal": "none"}})");
  library.environment.set("OPDUMP_DATADUMP_CONFIG", (library.directory.path() / "acl.json").string());
  REQUIRE(InitDataDump() == 0);
  std::size_t wanted = 0;
  CHECK(library.run(wanted) == 3);
  CHECK(library.acknowledged_once());
}

TEST_CASE("libdatadump: what cannot be flash is no place for a dump") {
  for (const char* const place :
       {"/nowhere/part:4096:64", "part", "part:4096", "part:100:64", ":4096:64", "part:x:64"}) {
    LoadedLibrary library;
    library.environment.set("OPDUMP_DATADUMP_FLASH", place);
    REQUIRE(InitDataDump() == 0);
    std::size_t wanted = 0;
    CHECK(library.run(wanted) == 0);
    CHECK(library.acknowledged_once());
  }
}

TEST_CASE("libdatadump: goes on when the driver fails, and acknowledges at the end what is pending") {
  LoadedLibrary library;
  library.simulation.error = 7;
  REQUIRE(InitDataDump() == 0);
  std::size_t wanted = 0;
  CHECK(library.run(wanted) == wanted);
  CHECK(library.acknowledged_once());
  REQUIRE(InitDataDump() == 0);
  library.simulation.error = 0;
  std::vector<std::thread> senders;
  for (int i = 0; i < 8; ++i) {
    senders.emplace_back(
        [&library] { CHECK(library.simulation.scheduler.send(nano::Mailbox{.model_id = 9})); });
  }
  // They are all there by the time that the part stops, though it has hardly begun.
  wait_until("all senders", [&library] { return library.simulation.scheduler.sent() >= 8 + 36 + 2; });
  CHECK(StopDataDump() == 0);
  for (std::thread& sender : senders) sender.join();
  CHECK(library.acknowledged_once());
}

TEST_CASE("libdatadump: the place of a flash part") {
  nano::FlashPlace place;
  REQUIRE(nano::parse_flash_place("/dev/mtdblock3:65536:128", place));
  CHECK(place.path == "/dev/mtdblock3");
  CHECK(place.part.block_bytes == 65536);
  CHECK(place.part.block_count == 128);
  CHECK(place.part.program_bytes == 1);
  CHECK(place.page_bytes == 4096);
  REQUIRE(nano::parse_flash_place("a:b:512:8:16", place));
  CHECK(place.path == "a:b");
  CHECK(place.part.program_bytes == 16);
  CHECK(place.page_bytes == 128);
  for (const char* const text : {"", "a", "a:512", "a:512:2", "a:512:8:0", "a:512:8:17", "a:512:8:256",
                                 "a:320:8", ":512:8", "a:512:99999999999"})
    CHECK(!nano::parse_flash_place(text, place));
}
