#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "platform/host/host_memory.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using opdump::posix::TreeSink;
namespace fs = std::filesystem;

Status add(TreeSink& sink, const ObjectName& name, std::string_view a, std::string_view b = {}) {
  const Bytes parts[] = {as_bytes(a), as_bytes(b)};
  return sink.append_lines(name, parts);
}

}  // namespace

TEST_CASE("tree sink: a journal's lines are there at once, one sink or several, and stay") {
  const TemporaryDirectory directory;
  const std::string root = directory.path().string();
  const ObjectName name = {root, "20260102030405", "opdump.0.1.journal"};
  TreeSink other;
  {
    TreeSink sink;
    CHECK(add(sink, name, "one\n", "two\n") == Status::ok);
    CHECK(read_file(directory.path() / "20260102030405" / "opdump.0.1.journal") == "one\ntwo\n");
    CHECK(add(other, name, "three\n") == Status::ok);
    CHECK(add(sink, name, "four\n") == Status::ok);
  }
  const fs::path file = directory.path() / "20260102030405" / "opdump.0.1.journal";
  CHECK(read_file(file) == "one\ntwo\nthree\nfour\n");
  struct stat status;
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(other.sync() == Status::ok);
}

TEST_CASE("tree sink: a journal needs no free slot") {
  const TemporaryDirectory directory;
  const std::string root = directory.path().string();
  TreeSink sink;
  std::string places[TreeSink::kMaxOpenObjects];
  for (std::size_t i = 0; i < TreeSink::kMaxOpenObjects; ++i) {
    places[i] = "d" + std::to_string(i);
    REQUIRE(sink.begin({root, places[i], "object"}).ok());
  }
  CHECK(add(sink, {root, "elsewhere", "j.journal"}, "line\n") == Status::ok);
  CHECK(add(sink, {root, "elsewhere", "j.journal"}, "line\n") == Status::ok);
}

TEST_CASE("tree sink: a journal that was deleted with its directory is begun anew") {
  const TemporaryDirectory directory;
  const std::string root = directory.path().string();
  TreeSink sink;
  REQUIRE(add(sink, {root, "time", "j.journal"}, "one\n") == Status::ok);
  fs::remove_all(directory.path() / "time");
  CHECK(add(sink, {root, "time", "j.journal"}, "two\n") == Status::ok);
  CHECK(read_file(directory.path() / "time" / "j.journal") == "two\n");
}

TEST_CASE("tree sink: lines go to the file of that name, whatever somebody does between two of them") {
  const TemporaryDirectory directory;
  const std::string root = directory.text();
  const fs::path file = directory.path() / "time" / "j.journal", other = directory.path() / "time" / "moved";
  const ObjectName name = {root, "time", "j.journal"};
  TreeSink sink;
  REQUIRE(add(sink, name, "one\n") == Status::ok);
  fs::rename(file, other);
  CHECK(add(sink, name, "two\n") == Status::ok);
  CHECK(read_file(other) == "one\n");
  CHECK(read_file(file) == "two\n");
  fs::remove(file);
  CHECK(add(sink, name, "three\n") == Status::ok);
  CHECK(read_file(file) == "three\n");
  CHECK(add(sink, {root, "time", "k.journal"}, "theirs\n") == Status::ok);
  CHECK(add(sink, name, "four\n") == Status::ok);
  CHECK(read_file(file) == "three\nfour\n");
  fs::create_hard_link(file, directory.path() / "time" / "linked");
  CHECK(add(sink, name, "five\n") != Status::ok);
  fs::remove(directory.path() / "time" / "linked");
  CHECK(add(sink, name, "six\n") == Status::ok);
  fs::rename(file, other);
  fs::create_symlink(other, file);
  CHECK(add(sink, name, "seven\n") != Status::ok);
  CHECK(read_file(other) == "three\nfour\nsix\n");
  CHECK(sink.sync() == Status::ok);
}

TEST_CASE("tree sink: a journal does not follow a link, write to a pipe, or leave its root") {
  const TemporaryDirectory directory;
  const std::string root = directory.path().string();
  fs::create_directory(directory.path() / "time");
  TreeSink sink;
  fs::create_symlink(directory.path() / "target", directory.path() / "time" / "link.journal");
  CHECK(add(sink, {root, "time", "link.journal"}, "x") != Status::ok);
  CHECK_FALSE(fs::exists(directory.path() / "target"));
  REQUIRE(mkfifo((directory.path() / "time" / "pipe.journal").c_str(), 0600) == 0);
  CHECK(add(sink, {root, "time", "pipe.journal"}, "x") != Status::ok);
  for (const char* name : {"", ".", "..", "a/b", "x.part", "mapping.csv"})
    CHECK(add(sink, {root, "time", name}, "x") == Status::invalid_argument);
  CHECK(add(sink, {root, "../time", "j.journal"}, "x") == Status::invalid_argument);
  CHECK(add(sink, {root, "time", std::string(256, 'j')}, "x") == Status::name_too_long);
  CHECK(add(sink, {root + "/absent", "time", "j.journal"}, "x") == Status::not_found);
}

TEST_CASE("tree sink: sessions whose clocks tell the same time have a journal each") {
  const TemporaryDirectory directory;
  const std::string root = directory.path().string();
  const OpDesc op = {.name = "conv", .type = "Conv2D"};
  const ModelDesc model = {.name = "net", .ops = {&op, 1}};
  DumpConfig config = everything();
  config.dump_path = root;
  config.mode = DumpMode::output;
  const float value = 1;
  const TensorView tensor = {.address = address_of(&value), .bytes = 4, .dtype = DType::float32};
  // The second of them begins while the first one is at work, the third after both.
  const auto dump = [&](const auto& meanwhile) {
    HostMemory memory;
    TreeSink sink;
    FakeClock clock;
    std::byte scratch[1024];
    alignas(8) std::byte ring[1024];
    BasicSession<HostMemory> session({.memory = memory,
                                      .sink = sink,
                                      .clock = clock,
                                      .scratch = scratch,
                                      .when_full = WhenFull::inline_drain});
    BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
    ModelPlanFor<1> plan;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model) == Status::ok);
    for (int step = 0; step < 2; ++step) {
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      CHECK(recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
      REQUIRE(recorder.end_step() == Status::ok);
      while (session.drain_some(SIZE_MAX) != 0) continue;
      if (step == 0) meanwhile();
    }
    CHECK(session.finalize() == Status::ok);
    CHECK(session.journal_failure() == Status::ok);
  };
  const auto nothing = [] {};
  dump([&] { dump(nothing); });
  dump(nothing);
  std::size_t journals = 0;
  std::size_t records = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory.path())) {
    if (!entry.is_regular_file()) continue;
    if (entry.path().extension() != ".journal") {
      ++records;
      continue;
    }
    ++journals;
    const std::string text = read_file(entry.path());
    CHECK(text.starts_with("opdump-journal,1,"));
    CHECK(text.find("opdump-journal", 1) == text.npos);
    CHECK(text.find("written,0,1,") != text.npos);
    CHECK(text.find("closed,2,2,") != text.npos);
  }
  CHECK(journals == 3);
  CHECK(records == 6);
}
