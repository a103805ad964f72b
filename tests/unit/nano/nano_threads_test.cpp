// Models that are loaded and run by several threads of one process.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "platform/ascend/nano/nano_dump.hpp"
#include "tests/support/nano/dbg_maker.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::nano;
using namespace opdump::tests;

namespace {

class CountingRuntime final : public NanoRuntime {
 public:
  bool is_complete(std::string&) override { return true; }
  Code start(const char*, std::string&) override { return kOk; }
  Code stop() override { return kOk; }
  Code set_dump_flag(void*, std::size_t, std::uint32_t) override {
    ++flags;
    return kOk;
  }
  Code send(void*, std::uint32_t) override {
    ++messages;
    return kOk;
  }
  std::uint32_t device() override { return 0; }

  std::atomic<std::uint32_t> flags{0};
  std::atomic<std::uint32_t> messages{0};
};

}  // namespace

TEST_CASE("nano threads: each runs a model of its own, while another ends and begins the dump") {
  constexpr std::uint32_t kThreads = 3;
  constexpr std::uint32_t kLoads = 20;
  TemporaryDirectory directory;
  write_file(directory.path() / "net.dbg", std::string(as_text(DbgMaker::file("net", made_ops()))));
  const std::string config = directory.text() + "/acl.json";
  write_file(config, "{\"dump\": {\"dump_path\": \"" + directory.text() +
                         "\", \"dump_step\": \"1\", \"dump_list\": [{\"model_name\": \"net\"}]}}");
  for (const bool ends : {false, true}) {
    CAPTURE(ends);
    CountingRuntime runtime;
    NanoDump dump(
        runtime, [](void*, std::string_view) {}, nullptr);
    REQUIRE(dump.init(config.c_str()) == kOk);
    std::vector<std::thread> threads;
    for (std::uint32_t id = 0; id < kThreads; ++id) {
      threads.emplace_back([&dump, id] {
        for (std::uint32_t i = 0; i < kLoads; ++i) {
          std::uint64_t step = 0;
          ModelLoad load = {};
          load.total_tasks = 4;
          void* const handle = dump.create_handle();
          static_cast<void>(dump.prepare(&load, 1, "net", handle));
          static_cast<void>(dump.start(id, &step, handle));
          for (int run = 0; run < 3; ++run) dump.step_done(handle);
          dump.release(handle);
        }
      });
    }
    for (std::uint32_t i = 0; ends && i < kLoads; ++i) {
      static_cast<void>(dump.deinit());
      static_cast<void>(dump.init(config.c_str()));
    }
    for (std::thread& thread : threads) thread.join();
    if (ends) continue;
    CHECK(runtime.flags == kThreads * kLoads * 4);
    CHECK(runtime.messages == kThreads * kLoads * 2);
  }
}
