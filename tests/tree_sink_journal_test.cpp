#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "platform/posix/tree_sink.hpp"
#include "support/temporary_directory.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using opdump::posix::TreeSink;
namespace fs = std::filesystem;

Status add(TreeSink& sink, const ObjectName& name, std::string_view a, std::string_view b = {}) {
  const Bytes parts[] = {as_bytes(a), as_bytes(b)};
  return sink.append_journal(name, parts);
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
  for (const char* name : {"", ".", "..", "a/b", "x.part", "mapping.csv"}) {
    CHECK(add(sink, {root, "time", name}, "x") == Status::invalid_argument);
  }
  CHECK(add(sink, {root, "../time", "j.journal"}, "x") == Status::invalid_argument);
  CHECK(add(sink, {root, "time", std::string(256, 'j')}, "x") == Status::name_too_long);
  CHECK(add(sink, {root + "/absent", "time", "j.journal"}, "x") == Status::not_found);
}
