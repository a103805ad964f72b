#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "platform/posix/basic_file_dump.hpp"
#include "platform/posix/file_dump.hpp"
#include "platform/storage/raw_storage.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/raw_objects.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr Dim kShape[] = {4096};
const OpDesc kOps[] = {{.name = "a", .type = "Relu"}};
const ModelDesc kModel = {.name = "m", .ops = kOps};

/// A file as raw storage, a config that names it, and a dump.
struct Rig {
  explicit Rig(const std::string& options = "{}", std::uint64_t bytes = 1 << 20) {
    write_file(place, "");
    std::filesystem::resize_file(place, bytes);
    configure(options);
    dump.log_to(&add_line, &said);
  }

  void configure(const std::string& options) {
    write_file(config, R"({"dump": {"dump_path": ")" + place + R"(", "dump_list": [{}]}, "opdump": )" +
                           options + "}");
  }

  Status run(int steps) {
    ModelPlanFor<1> plan;
    REQUIRE(dump.load_model(plan, kModel) == Status::ok);
    const std::vector<float> values(4096, 1.5f);
    const TensorView tensor = {.address = address_of(values.data()),
                               .bytes = 4 * values.size(),
                               .dtype = DType::float32,
                               .shape = kShape};
    for (int step = 0; step < steps; ++step) {
      REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
      static_cast<void>(dump.recorder().capture(0, {}, {&tensor, 1}));
      REQUIRE(dump.recorder().end_step() == Status::ok);
    }
    const Status stopped = dump.stop();
    REQUIRE(dump.unload_model(plan) == Status::ok);
    return stopped;
  }

  /// Committed records in the log, and the boots that they are of.
  std::pair<std::uint32_t, std::uint32_t> records() const {
    storage::RawStorage storage;
    REQUIRE(storage.open(place, storage::Access::read) == Status::ok);
    const flashlog::Device device = storage.device();
    std::vector<flashlog::Segment> segments(device.geometry.block_count);
    std::vector<char> names(device.geometry.block_bytes / 4);
    flashlog::LogReader reader(device, names);
    REQUIRE(reader.open(segments) == Status::ok);
    std::uint32_t count = 0;
    std::uint32_t boots = 0;
    std::uint32_t boot = 0;
    for (flashlog::LogReader::Object object; reader.next(object);) {
      CHECK(object.state != flashlog::ObjectState::damaged);
      if (object.state != flashlog::ObjectState::committed) continue;
      ++count;
      boots += object.boot != boot;
      boot = object.boot;
    }
    return {count, boots};
  }

  TemporaryDirectory directory;
  std::string place = (directory.path() / "storage.img").string();
  std::string config = (directory.path() / "acl.json").string();
  HostMemory memory;
  std::vector<std::string> said;
  posix::FileDump dump{memory};
};

}  // namespace

TEST_CASE("raw storage: FileDump starts and stops on it, run after run") {
  Rig rig;
  for (std::uint32_t boot = 1; boot <= 3; ++boot) {
    REQUIRE(rig.dump.start(rig.config.c_str()) == Status::ok);
    CHECK(rig.dump.active());
    CHECK(rig.run(5) == Status::ok);
    CHECK(rig.dump.error().empty());
    CHECK(rig.records() == std::pair(5 * boot, boot));
  }
  REQUIRE(!rig.said.empty());
  CHECK(rig.said[0] ==
        rig.place + ": file, 64 blocks of 16 KiB, 1 MiB; a log has 0 of them, and this is boot 1");
}

TEST_CASE("raw storage: a full one refuses records, and FileDump tells of it") {
  Rig rig;
  REQUIRE(rig.dump.start(rig.config.c_str()) == Status::ok);
  CHECK(rig.run(200) != Status::ok);
  CHECK(rig.dump.error().find("lost") != std::string::npos);
  CHECK(rig.records().first > 40);
}

TEST_CASE("raw storage: with the key keep, newer records take the room of the oldest") {
  Rig rig(R"({"keep": "newest"})");
  REQUIRE(rig.dump.start(rig.config.c_str()) == Status::ok);
  CHECK(rig.run(200) == Status::ok);
  CHECK(rig.records().first > 40);
  CHECK(rig.records().first < 64);
}

TEST_CASE("raw storage: a history is kept in memory and goes there when it is asked for") {
  Rig rig(R"({"history_steps": 4})");
  REQUIRE(rig.dump.start(rig.config.c_str()) == Status::ok);
  CHECK(rig.run(10) == Status::ok);
  CHECK(rig.records().first == 0);
}

TEST_CASE("raw storage: FileDump names what it refuses") {
  Rig rig;
  std::fstream(rig.place, std::ios::in | std::ios::out).write("LUKS\xba\xbe", 6);
  CHECK(rig.dump.start(rig.config.c_str()) == Status::config_refused);
  CHECK(rig.dump.error().find("dump.dump_path: " + rig.place + ": at byte 0: an encrypted LUKS volume. ") !=
        std::string::npos);
  CHECK_FALSE(rig.dump.active());
  CHECK(read_file(rig.place).starts_with("LUKS\xba\xbe"));

  Rig limited(R"({"max_bytes": 100000})");
  CHECK(limited.dump.start(limited.config.c_str()) == Status::not_supported);
  CHECK(limited.dump.error() ==
        limited.place +
            ": opdump.max_bytes is for directories; of raw storage a dump has all there is: leave "
            "the key out");
  limited.configure(R"({"layout": "mindspore_cpu"})");
  CHECK(limited.dump.start(limited.config.c_str()) == Status::not_supported);
  CHECK(limited.dump.error().find("the layout \"cann\" alone") != std::string::npos);
  // And then it works.
  limited.configure("{}");
  CHECK(limited.dump.start(limited.config.c_str()) == Status::ok);
  CHECK(limited.run(1) == Status::ok);
}

TEST_CASE("raw storage: who asks for what runs when the process dies is told that it is not dumped there") {
  Rig rig;
  rig.dump.on_crash(posix::OnCrash::dump);
  REQUIRE(rig.dump.start(rig.config.c_str()) == Status::ok);
  CHECK(std::find(rig.said.begin(), rig.said.end(),
                  "what runs when the process dies is not dumped: the dump goes to raw storage") !=
        rig.said.end());
  CHECK(rig.run(1) == Status::ok);
}

TEST_CASE("raw storage: a child after fork() leaves its parent's log alone") {
  const TemporaryDirectory directory;
  const std::string place = (directory.path() / "storage.img").string();
  write_file(place, "");
  std::filesystem::resize_file(place, 1 << 20);
  posix::DumpStore store;
  DumpConfig config;
  config.dump_path = place;
  REQUIRE(store.open(config) == Status::ok);
  REQUIRE(store.follow({}, JournalDetail::none) == Status::ok);
  REQUIRE(put_object(store, 1) == Status::ok);
  CHECK(in_child([&] {
          OPDUMP_CHILD_CHECK(put_object(store, 2) == Status::not_supported);
          OPDUMP_CHILD_CHECK(store.sync() == Status::not_supported);
          return 0;
        }) == 0);
  REQUIRE(put_object(store, 3) == Status::ok);
  REQUIRE(store.sync() == Status::ok);
  store.close();
  storage::RawStorage storage;
  REQUIRE(storage.open(place, storage::Access::read) == Status::ok);
  const RawContents contents = contents_of(storage.device());
  CHECK(contents.good.size() == 2);
  CHECK(contents.good.contains(3));
}

TEST_CASE("raw storage: a dump under way does not move") {
  const TemporaryDirectory directory;
  DumpConfig config;
  posix::DumpStore store;
  std::string places[2];
  for (std::string& place : places) {
    place = (directory.path() / (&place == places ? "a" : "b")).string();
    write_file(place, "");
    std::filesystem::resize_file(place, 1 << 20);
  }
  config.dump_path = places[0];
  REQUIRE(store.open(config) == Status::ok);
  CHECK(store.open(config) == Status::ok);
  config.dump_path = places[1];
  CHECK(store.open(config) == Status::not_supported);
  CHECK(store.error() == places[1] + ": a dump that goes to " + places[0] + " cannot move before it ends");
  store.close();
  CHECK(store.open(config) == Status::ok);
}
