#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "platform/posix/config_file.hpp"
#include "platform/posix/dump_path.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::test;
namespace fs = std::filesystem;

TEST_CASE("check_dump_path: an existing directory that can be written to") {
  const TemporaryDirectory directory;
  std::string reason;
  CHECK(posix::check_dump_path(directory.text(), reason));
  CHECK(posix::check_dump_path(".", reason));
  fs::create_directory_symlink(directory.path(), directory.path() / "link");
  CHECK(posix::check_dump_path((directory.path() / "link").string(), reason));
  CHECK(reason.empty());

  const std::string missing = (directory.path() / "no" / "such").string();
  CHECK_FALSE(posix::check_dump_path(missing, reason));
  CHECK(reason.find('"' + missing + '"') != std::string::npos);
  CHECK(reason.find("mkdir -p") != std::string::npos);

  const std::string file = (directory.path() / "file").string();
  write_file(file, "");
  CHECK_FALSE(posix::check_dump_path(file, reason));
  CHECK(reason.find('"' + file + "\" is not a directory") != std::string::npos);

  CHECK_FALSE(posix::check_dump_path("", reason));
  CHECK_FALSE(posix::check_dump_path(directory.text() + '\0' + "x", reason));
  CHECK(reason.find("NUL") != std::string::npos);
}

TEST_CASE("check_dump_path: a directory without permission") {
  const TemporaryDirectory directory;
  const std::string path = directory.text();
  for (const mode_t mode : {0555u, 0333u}) {
    REQUIRE(chmod(path.c_str(), mode) == 0);
    CHECK(in_child([&path] {
            // Root may do anything.
            if (geteuid() == 0) OPDUMP_CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
            std::string reason;
            OPDUMP_CHILD_CHECK(!posix::check_dump_path(path, reason));
            OPDUMP_CHILD_CHECK(reason.find('"' + path + '"') != std::string::npos);
            OPDUMP_CHILD_CHECK(reason.find("chmod") != std::string::npos);
            return 0;
          }) == 0);
  }
  REQUIRE(chmod(path.c_str(), 0700) == 0);
}

TEST_CASE("load_config_file") {
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "acl.json").string();
  posix::ConfigMemory memory;
  DumpConfig config;
  ConfigError error;
  const std::string good =
      R"({"dump": {"dump_path": ")" + directory.text() + R"(", "dump_list": [{"model_name": "m"}]}})";

  SUBCASE("a good file") {
    write_file(file, good);
    REQUIRE(posix::load_config_file(file.c_str(), memory, config, error) == Status::ok);
    CHECK(config.active);
    CHECK(config.dump_path == directory.text());
    CHECK(config.models[0].model_name == "m");
    CHECK(memory.size() == config_memory_bytes(good.size()));
  }
  SUBCASE("a refused file leaves the memory of the config before as it was") {
    write_file(file, good);
    REQUIRE(posix::load_config_file(file.c_str(), memory, config, error) == Status::ok);
    const DumpConfig before = config;
    write_file(file, "{");
    CHECK(posix::load_config_file(file.c_str(), memory, config, error) == Status::config_refused);
    CHECK(error.fault == ConfigFault::syntax);
    CHECK_FALSE(config.active);
    CHECK(before.models[0].model_name == "m");
  }
  SUBCASE("the dump path is checked") {
    write_file(file, R"({"dump": {"dump_path": ")" + file + "\"}}");
    CHECK(posix::load_config_file(file.c_str(), memory, config, error) == Status::config_refused);
    CHECK(error.key == "dump.dump_path");
    CHECK(error.reason.find("is not a directory") != std::string::npos);
  }
  SUBCASE("an empty file") {
    write_file(file, "");
    CHECK(posix::load_config_file(file.c_str(), memory, config, error) == Status::ok);
    CHECK_FALSE(config.active);
  }
  SUBCASE("a file of 10 MiB, and one byte more") {
    write_file(file, good + std::string(kMaxConfigBytes - good.size(), ' '));
    CHECK(posix::load_config_file(file.c_str(), memory, config, error) == Status::ok);
    CHECK(config.active);
    fs::resize_file(file, kMaxConfigBytes + 1);
    CHECK(posix::load_config_file(file.c_str(), memory, config, error) == Status::config_refused);
    CHECK(error.fault == ConfigFault::unreadable);
    CHECK(error.reason.find("10485760 are allowed") != std::string::npos);
  }
  SUBCASE("what is no regular file") {
    REQUIRE(mkfifo((directory.path() / "pipe").c_str(), 0600) == 0);
    for (const std::string& name : {directory.text(), (directory.path() / "pipe").string()}) {
      CHECK(posix::load_config_file(name.c_str(), memory, config, error) == Status::config_refused);
      CHECK(error.fault == ConfigFault::unreadable);
      CHECK(error.reason.find('"' + name + "\" is not a regular file") != std::string::npos);
    }
  }
  SUBCASE("no file") {
    CHECK(posix::load_config_file(file.c_str(), memory, config, error) == Status::config_refused);
    CHECK(error.fault == ConfigFault::unreadable);
    CHECK(error.reason.find("No such file") != std::string::npos);
  }
}
