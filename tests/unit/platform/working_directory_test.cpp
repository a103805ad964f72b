// A relative path of a dump, in a program that goes to another directory once the dump has begun, as daemon(3) does.

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "platform/posix/basic_file_dump.hpp"
#include "platform/posix/tree/raw_tree.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/working_directory.hpp"

namespace opdump::tests::working_directories {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDump = "20260101000000";

/// A directory with the folder `dump`, one with a folder of that name, and one without.
struct Places {
  Places() {
    fs::create_directory(here.path() / "dump");
    fs::create_directory(named.path() / "dump");
  }

  std::size_t files_here() const { return files_in(here); }
  std::size_t files_elsewhere() const { return files_in(named) + files_in(bare); }

  TemporaryDirectory here, named, bare;

 private:
  static std::size_t files_in(const TemporaryDirectory& directory) {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  }
};

/// An object, lines of a table and a journal.
void write_all_to(Sink& sink, std::string_view file) {
  const Bytes part = as_bytes("0123456789");
  const ObjectName name = {.root = "dump", .directory = kDump, .file = file};
  const Result<ObjectId> object = sink.begin(name);
  REQUIRE(object.ok());
  CHECK(sink.append(object.value(), {&part, 1}) == Status::ok);
  CHECK(sink.commit(object.value()) == Status::ok);
  CHECK(sink.append_lines({.root = "dump", .directory = kDump, .file = "statistic.csv"}, {&part, 1}) ==
        Status::ok);
}

constexpr Dim kShape[] = {4};
const OpDesc kOps[] = {{.name = "a", .type = "Relu"}};
const ModelDesc kModel = {.name = "m", .ops = kOps};

template <class Dump>
void run_step(Dump& dump, ModelPlan& plan) {
  static const float values[] = {1, 2, 3, 4};
  const TensorView tensor = {
      .address = address_of(values), .bytes = sizeof values, .dtype = DType::float32, .shape = kShape};
  REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
  CHECK(dump.recorder().capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(dump.recorder().end_step() == Status::ok);
}

}  // namespace

TEST_CASE("working directory: a tree stays where it was when its sink was configured") {
  for (const bool is_configured : {true, false}) {
    for (const bool is_limited : {false, true}) {
      const Places places;
      const WorkingDirectory first(places.here.path());
      const auto sink = std::make_unique<posix::TreeSink>();
      posix::TreeOptions options;
      if (is_limited) options.limits = {.max_files = 4, .keep = Keep::newest};
      if (is_limited || is_configured) {
        sink->configure(options);
      } else {
        write_all_to(*sink, "first");
      }
      for (const TemporaryDirectory* elsewhere : {&places.named, &places.bare}) {
        const WorkingDirectory other(elsewhere->path());
        const std::string file = elsewhere == &places.named ? "a" : "b";
        for (int i = 0; i < 10; ++i) write_all_to(*sink, file + std::to_string(i));
        CHECK(sink->sync() == Status::ok);
        CHECK(places.files_elsewhere() == 0);
      }
      const std::size_t files = places.files_here();
      CHECK((is_limited ? files > 1 && files <= 4 : files > 20));
      sink->configure(options);
      const WorkingDirectory other(places.named.path());
      sink->configure(options);
      write_all_to(*sink, "moved");
      CHECK(fs::exists(places.named.path() / "dump" / kDump / "moved"));
    }
  }
}

TEST_CASE("working directory: a tree for signal handlers stays where it was made") {
  const Places places;
  const WorkingDirectory first(places.here.path());
  const auto tree = std::make_unique<posix::RawTree>();
  for (const TemporaryDirectory* elsewhere : {&places.named, &places.bare}) {
    const WorkingDirectory other(elsewhere->path());
    write_all_to(*tree, elsewhere == &places.named ? "one" : "two");
  }
  CHECK(places.files_here() == 3);
  CHECK(places.files_elsewhere() == 0);
}

TEST_CASE("working directory: a FileDump stays where it began, with its history") {
  for (const bool is_history : {false, true}) {
    const Places places;
    const std::string history = R"({"history_steps": 4, "trigger": [{"call": "door"}]})";
    write_file(places.here.path() / "acl.json",
               R"({"dump": {"dump_path": "dump", "dump_list": [{}]}, "opdump": )" +
                   (is_history ? history : "{}") + "}");
    const WorkingDirectory first(places.here.path());
    HostMemory memory;
    posix::BasicFileDump<HostMemory, 65536> dump(memory);
    ModelPlanFor<1> plan;
    REQUIRE(dump.start("acl.json") == Status::ok);
    {
      const WorkingDirectory other(places.named.path());
      REQUIRE(dump.load_model(plan, kModel) == Status::ok);
      for (int step = 0; step < 3; ++step) run_step(dump, plan);
    }
    const WorkingDirectory other(places.bare.path());
    if (is_history) CHECK(dump.fire("door") == Status::ok);
    for (int step = 0; step < 3; ++step) run_step(dump, plan);
    CHECK(dump.stop() == Status::ok);
    CHECK(dump.counts().lost() == 0);
    // The config, and six records and a journal, or what the call has written.
    CHECK(places.files_here() >= (is_history ? 4 : 8));
    CHECK(places.files_elsewhere() == 0);
  }
}

TEST_CASE("working directory: a path that becomes too long from / on is refused") {
  const Places places;
  fs::path deep = places.here.path();
  for (int i = 0; i < 6; ++i) deep /= std::string(200, 'd');
  fs::create_directories(deep / "dump");
  write_file(deep / "acl.json", R"({"dump": {"dump_path": "dump", "dump_list": [{}]}})");
  const WorkingDirectory there(deep);
  HostMemory memory;
  posix::BasicFileDump<HostMemory, 65536> dump(memory);
  CHECK(dump.start("acl.json") == Status::name_too_long);
  CHECK(dump.error().find("dump_path: \"dump\" below the working directory: longer than 1024 bytes") !=
        std::string::npos);
}

}  // namespace opdump::tests::working_directories
