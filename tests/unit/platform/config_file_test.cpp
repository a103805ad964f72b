#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "platform/posix/config_file.hpp"
#include "platform/posix/impl/dump_path.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/packed_configs.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;
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
  ConfigOutcome outcome;
  const DumpConfig& config = outcome.config;
  const ConfigError& error = outcome.error;
  const std::string good =
      R"({"dump": {"dump_path": ")" + directory.text() + R"(", "dump_list": [{"model_name": "m"}]}})";

  SUBCASE("a good file") {
    write_file(file, good);
    REQUIRE(posix::load_config_file(file.c_str(), memory, outcome) == Status::ok);
    CHECK(config.active);
    CHECK(config.dump_path == directory.text());
    CHECK(config.models[0].model_name == "m");
    CHECK(memory.size() == config_memory_bytes(good.size()));
  }
  SUBCASE("a refused file leaves the memory of the config before as it was") {
    write_file(file, good);
    REQUIRE(posix::load_config_file(file.c_str(), memory, outcome) == Status::ok);
    const DumpConfig before = config;
    write_file(file, "{");
    CHECK(posix::load_config_file(file.c_str(), memory, outcome) == Status::config_refused);
    CHECK(error.fault == ConfigFault::syntax);
    CHECK_FALSE(config.active);
    CHECK(before.models[0].model_name == "m");
  }
  SUBCASE("the dump path is checked") {
    write_file(file, R"({"dump": {"dump_path": ")" + file + "\"}}");
    CHECK(posix::load_config_file(file.c_str(), memory, outcome) == Status::config_refused);
    CHECK(error.key == "dump.dump_path");
    CHECK(error.reason.find("is not a directory") != std::string::npos);
  }
  SUBCASE("an empty file") {
    write_file(file, "");
    CHECK(posix::load_config_file(file.c_str(), memory, outcome) == Status::ok);
    CHECK_FALSE(config.active);
  }
  SUBCASE("a file of 10 MiB, and one byte more") {
    write_file(file, good + std::string(kMaxConfigBytes - good.size(), ' '));
    CHECK(posix::load_config_file(file.c_str(), memory, outcome) == Status::ok);
    CHECK(config.active);
    fs::resize_file(file, kMaxConfigBytes + 1);
    CHECK(posix::load_config_file(file.c_str(), memory, outcome) == Status::config_refused);
    CHECK(error.fault == ConfigFault::unreadable);
    CHECK(error.reason.find("10485760 are allowed") != std::string::npos);
  }
  SUBCASE("what is no regular file") {
    REQUIRE(mkfifo((directory.path() / "pipe").c_str(), 0600) == 0);
    for (const std::string& name : {directory.text(), (directory.path() / "pipe").string()}) {
      CHECK(posix::load_config_file(name.c_str(), memory, outcome) == Status::config_refused);
      CHECK(error.fault == ConfigFault::unreadable);
      CHECK(error.reason.find('"' + name + "\" is not a regular file") != std::string::npos);
    }
  }
  SUBCASE("no file") {
    CHECK(posix::load_config_file(file.c_str(), memory, outcome) == Status::config_refused);
    CHECK(error.fault == ConfigFault::unreadable);
    CHECK(error.reason.find("No such file") != std::string::npos);
  }
}

TEST_CASE("load_config_file: torchair's dump_config_path") {
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "torchair.json").string();
  const std::string acl_file = (directory.path() / "acl.json").string();
  posix::ConfigMemory memory;
  ConfigOutcome outcome;
  const DumpConfig& config = outcome.config;
  const ConfigError& error = outcome.error;
  const auto load = [&](const std::string& options) {
    write_file(file, R"({"dump_config": {)" + options + R"("dump_config_path": ")" + acl_file + "\"}}");
    return posix::load_config_file(file.c_str(), memory, outcome);
  };
  const std::string acl = R"({"dump": {"dump_path": ")" + directory.text() + R"(", "x": 1, )";

  SUBCASE("counts by itself, with its notes") {
    write_file(acl_file, acl + R"("dump_mode": "input", "dump_list": [{"model_name": "m"}]}})");
    CHECK(load("") == Status::ok);
    CHECK(config.active);
    CHECK(config.mode == DumpMode::input);
    CHECK(config.models[0].model_name == "m");
    REQUIRE(outcome.notes.size() == 1);
    CHECK(outcome.notes[0].key == "dump.x");
    CHECK(to_string(outcome.notes[0], file).starts_with(acl_file + ":1:"));
  }
  SUBCASE("does not count beside enable_dump") {
    write_file(acl_file, acl + R"("dump_mode": "input", "dump_list": [{"model_name": "m"}]}})");
    CHECK(load(R"("enable_dump": true, "dump_path": ")" + directory.text() + "\", ") == Status::ok);
    CHECK(config.mode == DumpMode::all);
    CHECK(config.models[0].any_model);
    REQUIRE_FALSE(outcome.notes.empty());
    CHECK(outcome.notes[0].key == "dump_config.dump_config_path");
  }
  SUBCASE("is refused with its own place, beside enable_dump too") {
    write_file(acl_file, "{\n\"dump\": {\"dump_path\": 5}}");
    for (const std::string options : {"", "\"enable_dump\": true, "}) {
      CHECK(load(options) == Status::config_refused);
      CHECK_FALSE(config.asked);
      CHECK(outcome.notes.empty());
      CHECK(error.file == acl_file);
      CHECK(to_string(error, file).starts_with(acl_file + ":2:23: dump.dump_path: a number"));
    }
  }
  SUBCASE("has to be there, and to be an acl.json") {
    CHECK(load("") == Status::config_refused);
    CHECK(error.fault == ConfigFault::unreadable);
    CHECK(error.file == acl_file);
    write_file(acl_file, R"({"dump_config": {"enable_dump": true}})");
    CHECK(load("") == Status::ok);
    CHECK_FALSE(config.asked);
  }
}

TEST_CASE("load_mindspore_config: what the environment says") {
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "data_dump.json").string();
  posix::ConfigMemory memory;
  ConfigOutcome outcome;
  const DumpConfig& config = outcome.config;
  const ConfigError& error = outcome.error;
  const auto load = [&](const std::string& name) {
    REQUIRE(setenv("MINDSPORE_DUMP_CONFIG", name.c_str(), 1) == 0);
    return posix::load_mindspore_config(memory, outcome);
  };
  const std::string head = R"({"common_dump_settings": {"dump_mode": 0, )";
  const std::string tail =
      R"("net_name": "Net", "iteration": "all", "input_output": 0, "kernels": [], "support_device": [0]},
         "e2e_dump_settings": {}})";

  CHECK(load("") == Status::ok);
  CHECK_FALSE(config.asked);
  unsetenv("MINDSPORE_DUMP_CONFIG");
  CHECK(posix::load_mindspore_config(memory, outcome) == Status::ok);
  CHECK_FALSE(config.asked);

  write_file(file, head + R"("path": "/dump", )" + tail);
  CHECK(load(file) == Status::ok);
  CHECK(config.asked);
  CHECK(config.dump_path == "/dump");

  const std::string link = (directory.path() / "link").string();
  fs::create_symlink(file, link);
  CHECK(load(link) == Status::ok);
  for (const char* name : {"dump.JSON", "dump", "dump.json.old"}) {
    CAPTURE(name);
    const std::string other = (directory.path() / name).string();
    fs::copy_file(file, other);
    CHECK(load(other) == Status::config_refused);
    CHECK(error.reason.find("ends with .json") != std::string::npos);
  }
  CHECK(load(file + "x") == Status::config_refused);
  CHECK(error.fault == ConfigFault::unreadable);
  write_file(file, R"({"dump": {}})");
  CHECK(load(file) == Status::config_refused);
  CHECK(error.key == "common_dump_settings");
  write_file(file, "");
  CHECK(load(file) == Status::config_refused);

  write_file(file, head + tail);
  CHECK(load(file) == Status::config_refused);
  CHECK(error.key == "common_dump_settings.path");
  setenv("MS_DIAGNOSTIC_DATA_PATH", "/diagnostic", 1);
  CHECK(load(file) == Status::ok);
  CHECK(config.dump_path == "/diagnostic/debug_dump");
  unsetenv("MS_DIAGNOSTIC_DATA_PATH");
  unsetenv("MINDSPORE_DUMP_CONFIG");

  // Its Lite reads the same variable.
  const ConfigContext of_lite = {.dialect = ConfigDialect::mindspore_lite};
  CHECK(posix::load_mindspore_config(memory, outcome, of_lite) == Status::ok);
  CHECK_FALSE(config.asked);
  const std::string lite = (directory.path() / "lite.cfg").string();
  write_file(lite, R"({"common_dump_settings": {"dump_mode": 0, "path": "/lite", "kernels": []}})");
  setenv("MINDSPORE_DUMP_CONFIG", lite.c_str(), 1);
  CHECK(posix::load_mindspore_config(memory, outcome, of_lite) == Status::ok);
  CHECK(config.asked);
  CHECK(config.dump_path == "/lite");
  CHECK(config.form.layout == Layout::mindspore_lite);
  CHECK(posix::load_mindspore_config(memory, outcome) == Status::config_refused);
  write_file(lite, R"({"dump": {}})");
  CHECK(posix::load_mindspore_config(memory, outcome, of_lite) == Status::config_refused);
  CHECK(error.key == "common_dump_settings");
  unsetenv("MINDSPORE_DUMP_CONFIG");

  const std::string o2 = (directory.path() / "o2.json").string();
  write_file(o2, packed_text("mindspore/accept/o2_bin"));
  for (const char* value : {"0", "1"}) {
    setenv("ENABLE_MS_GE_DUMP", value, 1);
    CHECK(posix::load_config_file(o2.c_str(), memory, outcome) == Status::ok);
    CHECK(std::any_of(outcome.notes.begin(), outcome.notes.end(), [](const ConfigNote& note) {
            return note.key == "ENABLE_MS_GE_DUMP";
          }) == (std::string(value) == "1"));
  }
  unsetenv("ENABLE_MS_GE_DUMP");
}
