#include <doctest/doctest.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "opdump/acl.hpp"
#include "opdump/read/nano_reader.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting.hpp"

// The calls belong to the process, so every sequence of them runs in a process of its own.

using namespace opdump;
using namespace opdump::tests;

namespace {

class Files {
 public:
  Files() {
    write("good.json",
          R"({"dump":{"dump_path":")" + directory.text() + R"(","dump_list":[{}],"dump_mode":"output"}})");
    write("limited.json", R"({"dump":{"dump_path":")" + directory.text() +
                              R"(","dump_list":[{}]},"opdump":{"max_files":2,"journal":"none"}})");
    write("other.json", R"({"dump":{"dump_path":")" + directory.text() +
                            R"(","dump_list":[{"model_name":"none"}],"dump_mode":"all"}})");
    write("empty.json", "");
    write("nothing.json", "{}");
    write("broken.json", "{\"dump\": ");
    write("bad.json", R"({"dump":{"dump_list":[{}]}})");
    write("deep.json", "{\"dump\":" + std::string(10001, '[') + std::string(10001, ']') + "}");
    write("nano.json",
          R"({"dump":{"dump_path":")" + directory.text() + R"(","dump_list":[{"model_name":"net"}]}})");
    write("nano_debug.json", R"({"dump":{"dump_path":")" + directory.text() + R"(","dump_scene":"debug"}})");
    write("exception.json",
          R"({"dump":{"dump_path":")" + directory.text() + R"(","dump_scene":"aic_err_norm_dump"}})");
  }

  std::string path(const std::string& name) const { return (directory.path() / name).string(); }

  TemporaryDirectory directory;

 private:
  void write(const std::string& name, const std::string& text) { write_file(directory.path() / name, text); }
};

/// The one of a process.
acl::Session::Recorder& recorder() {
  alignas(8) static std::byte ring[8192];
  static acl::Session::Recorder& added = *acl::session().add_recorder(ring).value();
  return added;
}

struct Net {
  float values[4] = {1, 2, 3, 4};
  Dim dims[1] = {4};
  OpDesc ops[1] = {{.name = "conv1", .type = "Conv2D"}};
  ModelDesc model{.name = "net", .id = 1, .ops = ops};
  ModelPlanFor<1> plan;

  TensorView tensor() const {
    return {.address = address_of(values), .bytes = sizeof values, .dtype = DType::float32, .shape = dims};
  }

  bool load() { return acl::session().load_model(plan, model) == Status::ok; }

  bool run(int steps) {
    const TensorView output = tensor();
    for (int i = 0; i < steps; ++i) {
      if (recorder().begin_step(plan) != Status::ok) return false;
      if (recorder().wants(0) && recorder().capture(0, {}, {&output, 1}) != Status::ok) return false;
      if (recorder().end_step() != Status::ok) return false;
    }
    return true;
  }
};

std::vector<std::string> records_below(const std::filesystem::path& directory) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name.starts_with("Conv2D.")) found.push_back(entry.path().string());
  }
  return found;
}

bool begin_dump(const std::string& config) {
  return aclInit(nullptr) == ACL_SUCCESS && aclmdlInitDump() == ACL_SUCCESS &&
         aclmdlSetDump(config.c_str()) == ACL_SUCCESS;
}

std::map<std::string, std::string> received;
std::map<std::string, int> ended;
int refused_after = -1;
int calls = 0;

int32_t receive(const acldumpChunk* chunk, int32_t bytes) {
  if (bytes != static_cast<int32_t>(sizeof(acldumpChunk) + chunk->bufLen) || chunk->offset != -1) return 1;
  if (refused_after >= 0 && ++calls > refused_after) return 1;
  received[chunk->fileName].append(reinterpret_cast<const char*>(chunk->dataBuf), chunk->bufLen);
  if (chunk->isLastChunk != 0) ended[chunk->fileName] = chunk->flag == 0 ? 1 : 2;
  return 0;
}

}  // namespace

TEST_CASE("acl: calls out of order and bad arguments return CANN's codes") {
  const Files files;
  const std::string good = files.path("good.json");
  SUBCASE("aclInit") {
    CHECK(in_child([&] {
            OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().dump_time() != 0);
            OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_ERROR_REPEAT_INITIALIZE);
            OPDUMP_CHILD_CHECK(!acl::last_error().empty());
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().dump_time() == 0);
            OPDUMP_CHILD_CHECK(aclInit(files.path("other.json").c_str()) == ACL_ERROR_INVALID_PARAM);
            OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_SUCCESS);
            return 0;
          }) == 0);
  }
  SUBCASE("aclInit without a config") {
    for (const char* none : {static_cast<const char*>(nullptr), ""}) {
      CHECK(in_child([&] {
              OPDUMP_CHILD_CHECK(aclInit(none) == ACL_SUCCESS);
              OPDUMP_CHILD_CHECK(!acl::session().initialised());
              return 0;
            }) == 0);
    }
  }
  SUBCASE("aclInit with a config that is refused") {
    struct Case {
      const char* name;
      aclError code;
    };
    const Case cases[] = {{"missing.json", ACL_ERROR_INVALID_FILE},
                          {".", ACL_ERROR_INVALID_FILE},
                          {"deep.json", ACL_ERROR_PARSE_FILE},
                          {"bad.json", ACL_ERROR_INVALID_DUMP_CONFIG}};
    for (const Case& one : cases) {
      CAPTURE(one.name);
      const std::string path = files.path(one.name);
      CHECK(in_child([&] {
              OPDUMP_CHILD_CHECK(aclInit(path.c_str()) == one.code);
              OPDUMP_CHILD_CHECK(acl::last_error().find(path) != std::string::npos);
              OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_ERROR_UNINITIALIZE);
              OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_SUCCESS);
              return 0;
            }) == 0);
    }
    const std::string broken = files.path("broken.json");
    CHECK(in_child([&] {
            OPDUMP_CHILD_CHECK(aclInit(broken.c_str()) == ACL_ERROR_INVALID_DUMP_CONFIG);
            return 0;
          }) == 0);
  }
  SUBCASE("aclFinalize") {
    CHECK(in_child([] {
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
            OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
            return 0;
          }) == 0);
  }
  SUBCASE("aclmdlInitDump, aclmdlSetDump, aclmdlFinalizeDump") {
    CHECK(in_child([&] {
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_ERROR_UNINITIALIZE);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(good.c_str()) == ACL_ERROR_UNINITIALIZE);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_ERROR_UNINITIALIZE);
            OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(good.c_str()) == ACL_ERROR_DUMP_NOT_RUN);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(nullptr) == ACL_ERROR_DUMP_NOT_RUN);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_ERROR_DUMP_NOT_RUN);
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_ERROR_REPEAT_INITIALIZE);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(nullptr) == ACL_ERROR_INVALID_PARAM);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("missing.json").c_str()) == ACL_ERROR_INVALID_FILE);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("deep.json").c_str()) == ACL_ERROR_PARSE_FILE);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("bad.json").c_str()) ==
                               ACL_ERROR_INVALID_DUMP_CONFIG);
            for (const char* none : {"empty.json", "nothing.json"}) {
              OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path(none).c_str()) == ACL_SUCCESS);
              OPDUMP_CHILD_CHECK(acl::session().dump_time() == 0);
            }
            OPDUMP_CHILD_CHECK(aclmdlSetDump(good.c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("other.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_ERROR_DUMP_NOT_RUN);
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_ERROR_UNINITIALIZE);
            return 0;
          }) == 0);
  }
  SUBCASE("aclmdlInitDump after an aclInit that dumps") {
    CHECK(in_child([&] {
            OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().dump_time() != 0);
            return 0;
          }) == 0);
  }
  SUBCASE("aclFinalize while the dump cannot end, and again when it can") {
    CHECK(in_child([&] {
            static Net net;
            OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(net.load());
            OPDUMP_CHILD_CHECK(recorder().begin_step(net.plan) == Status::ok);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_ERROR_INTERNAL_ERROR);
            OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_ERROR_REPEAT_INITIALIZE);
            OPDUMP_CHILD_CHECK(recorder().end_step() == Status::ok);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
            return 0;
          }) == 0);
  }
  SUBCASE("a dump that cannot start") {
    CHECK(in_child([&] {
            // Somebody else drains already, so this library's thread cannot.
            OPDUMP_CHILD_CHECK(acl::session().attach_drainer() == Status::ok);
            OPDUMP_CHILD_CHECK(aclInit(good.c_str()) == ACL_ERROR_INTERNAL_ERROR);
            OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_ERROR_INTERNAL_ERROR);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(good.c_str()) == ACL_ERROR_DUMP_NOT_RUN);
            acl::session().detach_drainer();
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
            return 0;
          }) == 0);
  }
  SUBCASE("an empty file in aclInit") {
    for (const char* none : {"empty.json", "nothing.json"}) {
      CHECK(in_child([&] {
              OPDUMP_CHILD_CHECK(aclInit(files.path(none).c_str()) == ACL_SUCCESS);
              OPDUMP_CHILD_CHECK(acl::session().dump_time() == 0);
              OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
              return 0;
            }) == 0);
    }
  }
  SUBCASE("of two configs the last one wins, for models loaded afterwards") {
    CHECK(in_child([&] {
            static Net net;
            OPDUMP_CHILD_CHECK(begin_dump(good));
            OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("other.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(net.load());
            OPDUMP_CHILD_CHECK(recorder().begin_step(net.plan) == Status::ok);
            OPDUMP_CHILD_CHECK(!recorder().wants(0));
            OPDUMP_CHILD_CHECK(recorder().end_step() == Status::ok);
            return 0;
          }) == 0);
  }
  SUBCASE("a nano product counts aclInit, and knows no calls at run time") {
    CHECK(in_child([&] {
            acl::use_product(acl::Product::nano);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_ERROR_INTERNAL_ERROR);
            const std::string list = files.path("nano.json");
            OPDUMP_CHILD_CHECK(aclInit(list.c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclInit(files.path("bad.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_ERROR_API_NOT_SUPPORT);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(list.c_str()) == ACL_ERROR_API_NOT_SUPPORT);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_ERROR_API_NOT_SUPPORT);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().dump_time() != 0);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().dump_time() == 0);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_ERROR_INTERNAL_ERROR);
            OPDUMP_CHILD_CHECK(aclInit(files.path("nano_debug.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().dump_time() != 0);
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            return 0;
          }) == 0);
  }
  SUBCASE("on a nano product a config that is missing or refused leaves the dump off, and the log says so") {
    for (const char* wrong : {"missing.json", "deep.json", "bad.json", "broken.json", "exception.json"}) {
      CAPTURE(wrong);
      const std::string path = files.path(wrong);
      CHECK(in_child([&] {
              static std::string heard;
              acl::log_to([](void*, std::string_view line) { heard.append(line); }, nullptr);
              acl::use_product(acl::Product::nano);
              OPDUMP_CHILD_CHECK(aclInit(path.c_str()) == ACL_SUCCESS);
              OPDUMP_CHILD_CHECK(acl::last_error().find(path) != std::string::npos);
              OPDUMP_CHILD_CHECK(heard.find(path) != std::string::npos);
              OPDUMP_CHILD_CHECK(heard.find("nothing is dumped") != std::string::npos);
              OPDUMP_CHILD_CHECK(acl::session().dump_time() == 0);
              static Net net;
              OPDUMP_CHILD_CHECK(net.load() && net.run(2));
              OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
              return 0;
            }) == 0);
    }
  }
  SUBCASE("a step that is open keeps the dump from ending, and a second try may") {
    CHECK(in_child([&] {
            static Net net;
            OPDUMP_CHILD_CHECK(begin_dump(good));
            OPDUMP_CHILD_CHECK(net.load());
            OPDUMP_CHILD_CHECK(recorder().begin_step(net.plan) == Status::ok);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_ERROR_INTERNAL_ERROR);
            OPDUMP_CHILD_CHECK(recorder().end_step() == Status::ok);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
            return 0;
          }) == 0);
  }
}

TEST_CASE("acl: models loaded after a config are dumped, those before are not") {
  const Files files;
  CHECK(in_child([&] {
          static Net net;
          OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(net.load());
          OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("good.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(net.run(2));
          OPDUMP_CHILD_CHECK(acl::session().unload_model(net.plan) == Status::ok);
          OPDUMP_CHILD_CHECK(net.load());
          OPDUMP_CHILD_CHECK(net.run(3));
          OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
          return 0;
        }) == 0);
  CHECK(records_below(files.directory.path()).size() == 3);
}

TEST_CASE("acl: each of many loaded models may have a config of its own") {
  constexpr int kModels = 64;
  const Files files;
  const std::string good = files.path("good.json");
  CHECK(in_child([&] {
          static Net nets[kModels + 1];
          OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
          for (int i = 0; i < kModels; ++i) {
            OPDUMP_CHILD_CHECK(aclmdlSetDump(good.c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(nets[i].load());
          }
          OPDUMP_CHILD_CHECK(aclmdlSetDump(good.c_str()) == ACL_ERROR_INTERNAL_ERROR);
          OPDUMP_CHILD_CHECK(acl::last_error().find("too many configs have models loaded under them") !=
                             std::string::npos);
          for (int i = 0; i < kModels; ++i) OPDUMP_CHILD_CHECK(nets[i].run(2));
          for (int i = 0; i < kModels; i += 2)
            OPDUMP_CHILD_CHECK(acl::session().unload_model(nets[i].plan) == Status::ok);
          OPDUMP_CHILD_CHECK(aclmdlSetDump(good.c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(nets[kModels].load());
          OPDUMP_CHILD_CHECK(nets[kModels].run(1));
          OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acl::session().counts().written == 2 * kModels + 1);
          return 0;
        }) == 0);
  CHECK(records_below(files.directory.path()).size() == 2 * kModels + 1);
}

TEST_CASE("acl: the config's own options and formats hold") {
  const Files files;
  write_file(
      files.directory.path() / "npy.json",
      R"({"dump":{"dump_path":")" + files.directory.text() +
          R"(","dump_list":[{}]},"opdump":{"file_format":"npy","journal":"none","when_full":"drop"}})");
  const std::string npy = files.path("npy.json");
  CHECK(in_child([&] {
          static Net net;
          OPDUMP_CHILD_CHECK(aclInit(npy.c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acl::session().when_full() == WhenFull::drop);
          OPDUMP_CHILD_CHECK(net.load());
          OPDUMP_CHILD_CHECK(net.run(1));
          OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclmdlSetDump(npy.c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acl::last_error().find("options count for configs that aclInit reads") !=
                             std::string::npos);
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
          return 0;
        }) == 0);
  const std::vector<std::string> records = records_below(files.directory.path());
  REQUIRE(records.size() == 1);
  CHECK(records.front().ends_with(".npy"));
}

TEST_CASE("acl: a hook hears what a model will cost, and rings stay the program's") {
  const Files files;
  write_file(files.directory.path() / "ring.json",
             R"({"dump":{"dump_path":")" + files.directory.text() +
                 R"(","dump_list":[{}]},"opdump":{"ring_bytes":4096}})");
  CHECK(in_child([&] {
          static Net net;
          static std::string said;
          acl::log_to([](void* to, std::string_view line) { static_cast<std::string*>(to)->append(line); },
                      &said);
          OPDUMP_CHILD_CHECK(aclInit(files.path("ring.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acl::last_error().find("opdump.ring_bytes") != std::string::npos);
          OPDUMP_CHILD_CHECK(net.load());
          OPDUMP_CHILD_CHECK(said.find("model \"net\": 1 rule, 1 of 1 op") != std::string::npos);
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
          return 0;
        }) == 0);
}

TEST_CASE("acl: a config may choose what happens when a ring is full") {
  const std::pair<std::string, WhenFull> choices[] = {
      {"block", WhenFull::block}, {"inline", WhenFull::inline_drain}, {"degrade", WhenFull::degrade}};
  for (const auto& choice : choices) {
    CAPTURE(choice.first);
    const Files files;
    write_file(files.directory.path() / "chosen.json", R"({"dump":{"dump_path":")" + files.directory.text() +
                                                           R"(","dump_list":[{}]},"opdump":{"when_full":")" +
                                                           choice.first + R"("}})");
    const std::string chosen = files.path("chosen.json");
    CHECK(in_child([&] {
            static Net net;
            OPDUMP_CHILD_CHECK(aclInit(chosen.c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().when_full() == choice.second);
            OPDUMP_CHILD_CHECK(net.load());
            OPDUMP_CHILD_CHECK(net.run(20));
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().counts().lost() == 0);
            return 0;
          }) == 0);
    CHECK(records_below(files.directory.path()).size() == 20);
  }
}

TEST_CASE("acl: a config's limits hold, until the next config") {
  const Files files;
  CHECK(in_child([&] {
          static Net net;
          OPDUMP_CHILD_CHECK(begin_dump(files.path("limited.json")));
          OPDUMP_CHILD_CHECK(net.load());
          OPDUMP_CHILD_CHECK(net.run(5));
          OPDUMP_CHILD_CHECK(acl::session().flush(kWaitLimitMs) == Status::ok);
          OPDUMP_CHILD_CHECK(acl::session().counts().quota == 4);
          OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("good.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(net.run(5));
          OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
          return 0;
        }) == 0);
  CHECK(records_below(files.directory.path()).size() == 6);
}

TEST_CASE("acl: paths of the dumps") {
  const Files files;
  CHECK(in_child([&] {
          unsetenv("ASCEND_DUMP_PATH");
          unsetenv("ASCEND_WORK_PATH");
          unsetenv("ASCEND_DUMP_SCENE");
          unsetenv("NPU_COLLECT_PATH");
          OPDUMP_CHILD_CHECK(acldumpGetPath(DATA_DUMP) == nullptr);
          OPDUMP_CHILD_CHECK(acldumpGetPath(AIC_ERR_NORM_DUMP) == nullptr);
          OPDUMP_CHILD_CHECK(begin_dump(files.path("good.json")));
          const std::string data = acldumpGetPath(DATA_DUMP);
          OPDUMP_CHILD_CHECK(data ==
                             files.directory.text() + "/" + std::to_string(acl::session().dump_time()) + "/");
          OPDUMP_CHILD_CHECK(std::filesystem::is_directory(data));
          OPDUMP_CHILD_CHECK(acldumpGetPath(OVERFLOW_DUMP) == data);
          OPDUMP_CHILD_CHECK(acldumpGetPath(static_cast<acldumpType>(6)) == nullptr);
          OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("exception.json").c_str()) == ACL_SUCCESS);
          for (const acldumpType type : {AIC_ERR_BRIEF_DUMP, AIC_ERR_NORM_DUMP, AIC_ERR_DETAIL_DUMP}) {
            const std::string exceptions = acldumpGetPath(type);
            OPDUMP_CHILD_CHECK(exceptions == files.directory.text() + "/extra-info/data-dump/");
            OPDUMP_CHILD_CHECK(std::filesystem::is_directory(exceptions));
          }
          OPDUMP_CHILD_CHECK(acldumpGetPath(static_cast<acldumpType>(0)) == nullptr);
          return 0;
        }) == 0);
}

TEST_CASE("acl: a callback gets every file instead of the disk, piece by piece") {
  const Files files;
  CHECK(in_child([&] {
          static Net net;
          static std::vector<float> large(100000, 0.5F);
          const Dim dims[] = {large.size()};
          OPDUMP_CHILD_CHECK(acldumpRegCallback(nullptr, 0) == ACL_ERROR_FAILURE);
          OPDUMP_CHILD_CHECK(acldumpRegCallback(receive, 1) == ACL_ERROR_FAILURE);
          OPDUMP_CHILD_CHECK(acldumpRegCallback(receive, 0) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acldumpRegCallback([](const acldumpChunk*, int32_t) { return 1; }, 0) ==
                             ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclInit(files.path("good.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(net.load());
          OPDUMP_CHILD_CHECK(net.run(2));
          const TensorView output = {.address = address_of(large.data()),
                                     .bytes = large.size() * sizeof(float),
                                     .dtype = DType::float32,
                                     .shape = dims};
          OPDUMP_CHILD_CHECK(recorder().begin_step(net.plan) == Status::ok);
          OPDUMP_CHILD_CHECK(recorder().capture(0, {}, {&output, 1}) == Status::ok);
          OPDUMP_CHILD_CHECK(recorder().end_step() == Status::ok);
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
          std::size_t records = 0, largest = 0;
          for (const auto& [name, bytes] : received) {
            if (name.find("/Conv2D.conv1.") == std::string::npos) continue;
            ++records;
            largest = std::max(largest, bytes.size());
            OPDUMP_CHILD_CHECK(ended[name] == 1);
            OPDUMP_CHILD_CHECK(name.starts_with(files.directory.text() + "/"));
            NanoReader reader;
            OPDUMP_CHILD_CHECK(reader.open(std::as_bytes(std::span(bytes.data(), bytes.size())),
                                           bytes.size()) == Status::ok);
          }
          OPDUMP_CHILD_CHECK(records == 3);
          OPDUMP_CHILD_CHECK(largest > large.size() * sizeof(float));
          return 0;
        }) == 0);
  CHECK(records_below(files.directory.path()).empty());
}

TEST_CASE("acl: a callback that refuses loses the file, counted and told") {
  const Files files;
  CHECK(in_child([&] {
          static Net net;
          refused_after = 1;
          OPDUMP_CHILD_CHECK(acldumpRegCallback(receive, 0) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclInit(files.path("good.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(net.load());
          OPDUMP_CHILD_CHECK(net.run(4));
          OPDUMP_CHILD_CHECK(acl::session().flush(kWaitLimitMs) == Status::ok);
          const DumpCounts counts = acl::session().counts();
          OPDUMP_CHILD_CHECK(counts.captured == 4);
          OPDUMP_CHILD_CHECK(counts.written + counts.sink_failed == 4);
          OPDUMP_CHILD_CHECK(counts.sink_failed >= 3);
          acldumpUnregCallback();
          OPDUMP_CHILD_CHECK(net.run(1));
          // The journal was refused too.
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_ERROR_INTERNAL_ERROR);
          OPDUMP_CHILD_CHECK(acl::last_error().find("the journal lacks lines") != std::string::npos);
          OPDUMP_CHILD_CHECK(!acl::session().initialised());
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
          return 0;
        }) == 0);
  CHECK(records_below(files.directory.path()).size() == 1);
}

TEST_CASE("acl: a journal stays where it began, whoever registers in between") {
  for (const bool begins_with_callback : {false, true}) {
    CAPTURE(begins_with_callback);
    const Files files;
    CHECK(in_child([&] {
            static Net net;
            const auto other = [](const acldumpChunk*, int32_t) { return 0; };
            if (begins_with_callback) OPDUMP_CHILD_CHECK(acldumpRegCallback(receive, 0) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclInit(files.path("good.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(net.load());
            OPDUMP_CHILD_CHECK(net.run(2));
            OPDUMP_CHILD_CHECK(acl::session().flush(kWaitLimitMs) == Status::ok);
            if (begins_with_callback) {
              acldumpUnregCallback();
              OPDUMP_CHILD_CHECK(net.run(1));
              OPDUMP_CHILD_CHECK(acl::session().flush(kWaitLimitMs) == Status::ok);
              OPDUMP_CHILD_CHECK(acldumpRegCallback(other, 0) == ACL_SUCCESS);
            } else {
              OPDUMP_CHILD_CHECK(acldumpRegCallback(receive, 0) == ACL_SUCCESS);
            }
            OPDUMP_CHILD_CHECK(net.run(2));
            OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
            std::string journal;
            for (const auto& [name, bytes] : received) {
              if (name.ends_with(".journal")) journal += bytes;
            }
            for (const auto& entry : std::filesystem::recursive_directory_iterator(files.directory.path())) {
              if (entry.path().extension() != ".journal") continue;
              OPDUMP_CHILD_CHECK(!begins_with_callback);
              journal += read_file(entry.path());
            }
            OPDUMP_CHILD_CHECK(journal.starts_with("opdump-journal,"));
            std::size_t written = 0;
            for (std::size_t at = 0; (at = journal.find("\nwritten,", at)) != journal.npos; ++at) ++written;
            OPDUMP_CHILD_CHECK(written == (begins_with_callback ? 5 : 4));
            OPDUMP_CHILD_CHECK(journal.find("\nclosed,") != journal.npos);
            return 0;
          }) == 0);
  }
}

TEST_CASE("acl: a callback is told when a journal is whole") {
  const Files files;
  CHECK(in_child([&] {
          static Net net;
          OPDUMP_CHILD_CHECK(acldumpRegCallback(receive, 0) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
          for (int dump = 0; dump < 2; ++dump) {
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("good.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(net.load());
            OPDUMP_CHILD_CHECK(net.run(2));
            OPDUMP_CHILD_CHECK(acl::session().flush(kWaitLimitMs) == Status::ok);
            for (const auto& [name, bytes] : received) {
              if (name.ends_with(".journal") && bytes.find("\nclosed,") == bytes.npos)
                OPDUMP_CHILD_CHECK(!ended.contains(name));
            }
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().unload_model(net.plan) == Status::ok);
          }
          int journals = 0;
          for (const auto& [name, bytes] : received) {
            OPDUMP_CHILD_CHECK(ended[name] == 1);
            journals += name.ends_with(".journal") ? 1 : 0;
          }
          OPDUMP_CHILD_CHECK(journals == 2);
          return 0;
        }) == 0);
}

TEST_CASE("acl: paths name the dump that goes on, not one of a config that was refused") {
  const Files files;
  const TemporaryDirectory elsewhere;
  write_file(files.directory.path() / "refused.json",
             R"({"dump":{"dump_path":")" + elsewhere.text() + R"(","dump_list":[{}]}})");
  write_file(
      files.directory.path() / "not_here.json",
      R"({"common_dump_settings":{"op_debug_mode":0,"dump_mode":0,"path":")" + elsewhere.text() +
          R"(","net_name":"net","iteration":"all","saved_data":"tensor","input_output":0,"kernels":[],)" +
          R"("support_device":[7]}})");
  const auto entries = [&] {
    return std::distance(std::filesystem::directory_iterator(elsewhere.path()), {});
  };
  CHECK(in_child([&] {
          unsetenv("ASCEND_DUMP_PATH");
          unsetenv("ASCEND_WORK_PATH");
          unsetenv("ASCEND_DUMP_SCENE");
          unsetenv("NPU_COLLECT_PATH");
          OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
          static Net nets[64];
          for (Net& net : nets) {
            OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("good.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(net.load());
          }
          const std::string before = acldumpGetPath(DATA_DUMP);
          OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("not_here.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acldumpGetPath(DATA_DUMP) == before);
          OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("refused.json").c_str()) == ACL_ERROR_INTERNAL_ERROR);
          OPDUMP_CHILD_CHECK(acldumpGetPath(DATA_DUMP) == before);
          OPDUMP_CHILD_CHECK(acldumpGetPath(AIC_ERR_NORM_DUMP) == nullptr);
          OPDUMP_CHILD_CHECK(entries() == 0);
          OPDUMP_CHILD_CHECK(acl::session().unload_model(nets[0].plan) == Status::ok);
          OPDUMP_CHILD_CHECK(aclmdlSetDump(files.path("exception.json").c_str()) == ACL_SUCCESS);
          // Only operators that failed go there.
          OPDUMP_CHILD_CHECK(acldumpGetPath(DATA_DUMP) == nullptr);
          OPDUMP_CHILD_CHECK(acldumpGetPath(AIC_ERR_NORM_DUMP) != nullptr);
          return 0;
        }) == 0);
}

TEST_CASE("acl: each thread has its own text of a path") {
  const Files files;
  CHECK(in_child([&] {
          OPDUMP_CHILD_CHECK(aclInit(files.path("good.json").c_str()) == ACL_SUCCESS);
          const char* const mine = acldumpGetPath(DATA_DUMP);
          const std::string before = mine;
          std::atomic<int> torn = 0;
          std::vector<std::thread> threads;
          for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
              for (int call = 0; call < 200; ++call) {
                const char* const text = acldumpGetPath(DATA_DUMP);
                if (text == mine || text != before) ++torn;
              }
            });
          }
          for (std::thread& thread : threads) thread.join();
          OPDUMP_CHILD_CHECK(torn == 0);
          OPDUMP_CHILD_CHECK(mine == before);
          return 0;
        }) == 0);
}
