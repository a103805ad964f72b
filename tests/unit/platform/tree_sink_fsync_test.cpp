#define OPDUMP_TEST_RECORDERS 5
#define OPDUMP_POSIX_SYNCFS 0
#include "tests/support/faulty_tree_sink.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/sink_calls.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

TEST_CASE("tree sink without syncfs: every commit waits for the disk") {
  g_faults = {};
  TemporaryDirectory root;
  const std::string text = root.text();
  posix::TreeSink sink;
  REQUIRE(store(sink, {text, "a/b", "file"}, "x") == Status::ok);
  CHECK(g_faults.fsync_calls == 4);  // two directories made, the file, its directory
  REQUIRE(store(sink, {text, "a/b", std::string(300, 'x')}, "x") == Status::ok);
  CHECK(g_faults.fsync_calls == 7);  // the file, mapping.csv, the directory
  CHECK(sink.sync() == Status::ok);
  CHECK(g_faults.fsync_calls == 7);

  g_faults.fsync = EIO;
  CHECK(store(sink, {text, "a/b", "lost"}, "x") == Status::io_error);
  CHECK(store(sink, {text, "c", "lost"}, "x") == Status::io_error);
  CHECK(sink.last_errno() == EIO);
  CHECK(names_in(root.path() / "a/b").size() == 3);
}

TEST_CASE("tree sink: a file system that cannot sync a directory keeps what was written") {
  for (const int error : {EINVAL, ENOTSUP}) {
    CAPTURE(error);
    g_faults = {};
    g_faults.fsync_of_directories = error;
    TemporaryDirectory root;
    const std::string text = root.text();
    posix::TreeSink sink;
    CHECK(store(sink, {text, "a/b", "file"}, "x") == Status::ok);
    CHECK(store(sink, {text, "a/b", std::string(300, 'x')}, "x") == Status::ok);
    CHECK(sink.sync() == Status::ok);
    CHECK(names_in(root.path() / "a/b").size() == 3);
  }
  g_faults = {};
  TemporaryDirectory root;
  const std::string text = root.text();
  posix::TreeSink sink;
  REQUIRE(store(sink, {text, "a/b", "file"}, "x") == Status::ok);
  g_faults.fsync_of_directories = EIO;
  CHECK(store(sink, {text, "a/b", "lost"}, "x") == Status::io_error);
  CHECK(names_in(root.path() / "a/b").size() == 1);
  g_faults = {};
}
