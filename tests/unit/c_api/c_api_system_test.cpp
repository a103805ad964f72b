#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "opdump/opdump.h"
#include "tests/support/c_api_dump.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump::tests;

namespace {

const opdump_recorder_options kRecorderOptions = {.struct_bytes = sizeof kRecorderOptions,
                                                  .ring_bytes = 65536,
                                                  .max_tensors = 0,
                                                  .known_heads = 0,
                                                  .reserved = 0,
                                                  .when_full = 0};

/// Gives `session` its only recorder and its config.
opdump_recorder* only_recorder(opdump_session* session, const Room& room, const opdump_config* config) {
  opdump_recorder* recorder = nullptr;
  REQUIRE(opdump_recorder_add(session, &kRecorderOptions, room.at(), room.bytes(), &recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_init(session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(session, config) == OPDUMP_OK);
  return recorder;
}

}  // namespace

TEST_CASE("c api: with a system, a config file, a tree of files and a drain thread") {
  const TemporaryDirectory directory;
  const std::string text =
      R"({"dump": {"dump_path": ")" + directory.text() +
      R"(", "dump_list": [{"model_name": "net", "layer": ["conv1"]}], "dump_data": "stats"}})";
  const std::string file = directory.text() + "/acl.json";
  write_file(file, text);

  char message[256];
  const Room config_room(opdump_config_file_size(file.c_str()));
  opdump_config* config = nullptr;
  REQUIRE(opdump_config_read(config_room.at(), config_room.bytes(), file.c_str(), &config, message,
                             sizeof message) == OPDUMP_OK);
  CHECK(message[0] == '\0');

  const Room sink_room(opdump_directory_sink_size()), extras_room(opdump_extras_size());
  opdump_session_options options = {};
  options.struct_bytes = sizeof options;
  options.clock = opdump_system_clock();
  REQUIRE(opdump_directory_sink_create(sink_room.at(), sink_room.bytes(), &options.sink) == OPDUMP_OK);
  REQUIRE(opdump_extras_create(extras_room.at(), extras_room.bytes(), nullptr, &options.extras) == OPDUMP_OK);
  const Room session_room(opdump_session_size(&options)), thread_room(opdump_drain_thread_size());
  opdump_session* session = nullptr;
  REQUIRE(opdump_session_create(session_room.at(), session_room.bytes(), &options, &session) == OPDUMP_OK);
  const Room recorder_room(opdump_recorder_size(&kRecorderOptions));
  opdump_recorder* const recorder = only_recorder(session, recorder_room, config);
  opdump_drain_thread* thread = nullptr;
  opdump_drain_thread* second = nullptr;
  REQUIRE(opdump_drain_thread_start(session, thread_room.at(), thread_room.bytes(), &thread) == OPDUMP_OK);
  const Room second_room(opdump_drain_thread_size());
  CHECK(opdump_drain_thread_start(session, second_room.at(), second_room.bytes(), &second) ==
        OPDUMP_ERR_DRAINER_ATTACHED);
  CHECK(second == nullptr);
  CHECK(opdump_session_finalize(session) == OPDUMP_ERR_DRAINER_ATTACHED);

  const Room model_room(opdump_model_size(&kNet));
  opdump_model* model = nullptr;
  REQUIRE(opdump_model_load(session, &kNet, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK);
  const opdump_tensor tensor = tensor_of_values();
  for (int step = 0; step < 3; ++step) {
    REQUIRE(opdump_begin_step(recorder, model) == OPDUMP_OK);
    CHECK(opdump_wants(recorder, 0) == 1);
    CHECK(opdump_wants(recorder, 1) == 0);
    CHECK(opdump_capture(recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
    CHECK(opdump_capture(recorder, 1, nullptr, 0, &tensor, 1) == OPDUMP_OK);
    REQUIRE(opdump_end_step(recorder) == OPDUMP_OK);
  }
  CHECK(opdump_session_flush(session, kWaitLimitMs) == OPDUMP_OK);
  opdump_drain_thread_stop(thread);
  CHECK(opdump_session_finalize(session) == OPDUMP_OK);
  opdump_sink_destroy(options.sink);

  int tables = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("Conv2D.conv1.") || !name.ends_with(".csv")) continue;
    ++tables;
    CHECK(read_file(entry.path()).find("Output,0,16,DT_FLOAT,ND,2x2,4,1,2.5,4,0,0,0") != std::string::npos);
  }
  CHECK(tables == 3);
}

TEST_CASE("c api: MindSpore Lite's config and files, run after run") {
  const TemporaryDirectory directory;
  const std::string file = directory.text() + "/lite.json";
  write_file(file, R"({"common_dump_settings": {"dump_mode": 1, "path": ")" + directory.text() +
                       R"(/dump", "net_name": "Net", "input_output": 2, "kernels": ["conv1"]}})");
  for (int run = 0; run < 2; ++run) {
    char message[256];
    const Room config_room(opdump_config_file_size(file.c_str()));
    opdump_config* config = nullptr;
    REQUIRE(opdump_config_read(config_room.at(), config_room.bytes(), file.c_str(), &config, message,
                               sizeof message) == OPDUMP_OK);
    const Room sink_room(opdump_directory_sink_size()), extras_room(opdump_extras_size());
    opdump_session_options options = {};
    options.struct_bytes = sizeof options;
    options.clock = opdump_system_clock();
    REQUIRE(opdump_directory_sink_create(sink_room.at(), sink_room.bytes(), &options.sink) == OPDUMP_OK);
    REQUIRE(opdump_extras_create(extras_room.at(), extras_room.bytes(), nullptr, &options.extras) ==
            OPDUMP_OK);
    const Room session_room(opdump_session_size(&options));
    opdump_session* session = nullptr;
    REQUIRE(opdump_session_create(session_room.at(), session_room.bytes(), &options, &session) == OPDUMP_OK);
    const Room recorder_room(opdump_recorder_size(&kRecorderOptions));
    opdump_recorder* const recorder = only_recorder(session, recorder_room, config);
    const Room model_room(opdump_model_size(&kNet));
    opdump_model* model = nullptr;
    REQUIRE(opdump_model_load(session, &kNet, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK);
    const opdump_tensor tensor = tensor_of_values();
    for (int step = 0; step < 2; ++step) {
      one_step(recorder, model, tensor);
    }
    CHECK(opdump_session_finalize(session) == OPDUMP_OK);
    opdump_sink_destroy(options.sink);
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path() / "dump")) {
    if (entry.path().extension() == ".bin")
      files.push_back(std::filesystem::relative(entry.path(), directory.path() / "dump").string());
  }
  std::sort(files.begin(), files.end());
  const std::string name = "/conv1_output_0_shape_2_2_Float32.bin";
  CHECK(files == std::vector<std::string>{"Net/0" + name, "Net/1" + name, "Net/2" + name, "Net/3" + name});
}

TEST_CASE("c api: a config that is refused is told in words, as long as there is room") {
  const std::string text = R"({"dump": {"dump_path": "/nowhere", "dump_list": [{}]}})";
  const Room room(opdump_config_size(text.size()));
  opdump_config* config = nullptr;
  char message[200];
  CHECK(opdump_config_parse(room.at(), room.bytes(), text.data(), text.size(), &config, message,
                            sizeof message) == OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(config == nullptr);
  CHECK(std::string(message).find("dump.dump_path") != std::string::npos);
  CHECK(std::string(message).starts_with("config:1:"));
  CHECK(opdump_config_parse(room.at(), room.bytes(), text.data(), text.size(), &config, message, 7) ==
        OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(std::string(message) == "config");
  CHECK(opdump_config_parse(room.at(), room.bytes(), text.data(), text.size(), &config, nullptr, 0) ==
        OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(opdump_config_parse(room.at(), 10, text.data(), text.size(), &config, nullptr, 0) ==
        OPDUMP_ERR_NO_MEMORY);
  CHECK(opdump_config_read(room.at(), room.bytes(), "/nowhere/acl.json", &config, message, sizeof message) ==
        OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(std::string(message).find("/nowhere/acl.json") != std::string::npos);
  CHECK(opdump_config_file_size("/nowhere/acl.json") == 0);
}

TEST_CASE("c api: a plan in a file needs the file no longer") {
  const TemporaryDirectory directory;
  const std::vector<std::byte> plan = plan_of_everything(directory.text().c_str());
  const std::string file = directory.text() + "/dump.plan";
  write_file(file, std::string(reinterpret_cast<const char*>(plan.data()), plan.size()));
  const Room room(opdump_config_file_size(file.c_str()));
  opdump_config* config = nullptr;
  REQUIRE(opdump_config_read(room.at(), room.bytes(), file.c_str(), &config, nullptr, 0) == OPDUMP_OK);
  CDump dump;
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(dump.session, config) == OPDUMP_OK);
  const Room model_room(opdump_model_size(&kNet));
  REQUIRE(opdump_model_load(dump.session, &kNet, model_room.at(), model_room.bytes(), &dump.model) ==
          OPDUMP_OK);
  const opdump_tensor tensor = tensor_of_values();
  one_step(dump.recorder, dump.model, tensor);
  REQUIRE(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);
  CHECK(dump.received.whole.begin()->first.starts_with(directory.text() + "/"));
}

namespace {

/// A session of C that writes to a directory, with a config that has these options.
struct DirectoryDump {
  explicit DirectoryDump(const std::string& more) {
    const std::string text = R"({"dump": {"dump_path": ")" + directory.text() +
                             R"(", "dump_list": [{}]}, "opdump": {"journal": "none", )" + more + "}}";
    REQUIRE(opdump_config_parse(config_room.at(), config_room.bytes(), text.data(), text.size(), &config,
                                nullptr, 0) == OPDUMP_OK);
    const opdump_say say = [](void* self, const char* line, std::size_t bytes) {
      static_cast<std::string*>(self)->append(line, bytes).append("\n");
    };
    REQUIRE(opdump_log_create(log_room.at(), log_room.bytes(), say, &said, 0, &options.log) == OPDUMP_OK);
    options.struct_bytes = sizeof options;
    options.clock = opdump_system_clock();
    REQUIRE(opdump_directory_sink_create(sink_room.at(), sink_room.bytes(), &options.sink) == OPDUMP_OK);
    session_room = std::make_unique<Room>(opdump_session_size(&options));
    REQUIRE(opdump_session_create(session_room->at(), session_room->bytes(), &options, &session) ==
            OPDUMP_OK);
  }
  ~DirectoryDump() { opdump_sink_destroy(options.sink); }

  opdump_counts counts_of_steps(int steps) {
    const opdump_recorder_options recorder_options = {.struct_bytes = sizeof recorder_options,
                                                      .ring_bytes = 65536,
                                                      .max_tensors = 0,
                                                      .known_heads = 0,
                                                      .reserved = 0,
                                                      .when_full = 0};
    const Room recorder_room(opdump_recorder_size(&recorder_options)), model_room(opdump_model_size(&kNet));
    opdump_recorder* recorder = nullptr;
    opdump_model* model = nullptr;
    REQUIRE(opdump_recorder_add(session, &recorder_options, recorder_room.at(), recorder_room.bytes(),
                                &recorder) == OPDUMP_OK);
    REQUIRE(opdump_model_load(session, &kNet, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK);
    const opdump_tensor tensor = tensor_of_values();
    for (int step = 0; step < steps; ++step) {
      one_step(recorder, model, tensor);
    }
    CHECK(opdump_session_finalize(session) == OPDUMP_OK);
    opdump_counts counts = {};
    REQUIRE(opdump_session_counts(session, &counts, sizeof counts) == OPDUMP_OK);
    CHECK(opdump_model_unload(model) == OPDUMP_OK);
    CHECK(opdump_recorder_remove(recorder) == OPDUMP_OK);
    return counts;
  }

  const TemporaryDirectory directory;
  const Room config_room{opdump_config_size(1000)}, sink_room{opdump_directory_sink_size()},
      log_room{opdump_log_size()};
  std::unique_ptr<Room> session_room;
  opdump_config* config = nullptr;
  opdump_session_options options = {};
  opdump_session* session = nullptr;
  std::string said;
};

}  // namespace

TEST_CASE("c api: the config's limits reach the directory, in one call or in three") {
  DirectoryDump booted(R"("max_files": 3)");
  REQUIRE(opdump_session_boot(booted.session, booted.config) == OPDUMP_OK);
  CHECK(opdump_session_boot(booted.session, booted.config) == OPDUMP_ERR_ALREADY_INITIALISED);
  const opdump_counts counts = booted.counts_of_steps(10);
  CHECK(counts.written == 3);
  CHECK(counts.quota == 7);
  CHECK(booted.said.find("do not count") == std::string::npos);

  DirectoryDump configured(R"("max_files": 4)");
  REQUIRE(opdump_session_configure(configured.session, configured.config) == OPDUMP_OK);
  REQUIRE(opdump_session_init(configured.session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(configured.session, configured.config) == OPDUMP_OK);
  CHECK(configured.counts_of_steps(10).written == 4);
}

TEST_CASE("c api: options that do not count are told") {
  DirectoryDump dump(R"("max_files": 3)");
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(dump.session, dump.config) == OPDUMP_OK);
  CHECK(dump.said.find("\"opdump\" object do not count") != std::string::npos);
  CHECK(dump.counts_of_steps(5).written == 5);
}

TEST_CASE("c api: a history is refused, whichever call asks for it") {
  DirectoryDump dump(R"("history_steps": 3)");
  CHECK(opdump_session_boot(dump.session, dump.config) == OPDUMP_ERR_NOT_SUPPORTED);
  CHECK(opdump_session_configure(dump.session, dump.config) == OPDUMP_ERR_NOT_SUPPORTED);
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  CHECK(opdump_session_set_config(dump.session, dump.config) == OPDUMP_ERR_NOT_SUPPORTED);
  CHECK(opdump_session_finalize(dump.session) == OPDUMP_OK);
}

TEST_CASE("c api: the text of a config with triggers is for programs that have them") {
  const std::string text =
      R"({"dump": {"dump_path": "/tmp", "dump_list": [{}]}, "opdump": {"history_steps": 2,
      "trigger": [{"op": "conv1", "stat": "max", "below": 0.5}]}})";
  const opdump::tests::Room room(opdump_config_size(text.size()));
  opdump_config* config = nullptr;
  char message[256];
  CHECK(opdump_config_parse(room.at(), room.bytes(), text.data(), text.size(), &config, message,
                            sizeof message) == OPDUMP_ERR_CONFIG_REFUSED);
  CHECK(std::string(message).find("opdump.trigger") != std::string::npos);
  CHECK(opdump_config_parse_triggers(room.at(), room.bytes(), text.data(), text.size(), &config, message,
                                     sizeof message) == OPDUMP_OK);
  CHECK(opdump_config_active(config) == 1);
  CHECK(opdump_config_read_triggers(room.at(), room.bytes(), "/nowhere/acl.json", &config, message,
                                    sizeof message) != OPDUMP_OK);
  CHECK(opdump_config_parse_triggers(room.at(), room.bytes(), nullptr, 3, &config, nullptr, 0) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
}
