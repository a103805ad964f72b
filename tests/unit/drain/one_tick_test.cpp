#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// Two recorders that capture one operator, under a clock that stands still.
class OneTick {
 public:
  OneTick(Sink& sink, std::string_view root)
      : session_({.memory = memory_,
                  .sink = sink,
                  .clock = clock_,
                  .scratch = scratch_,
                  .when_full = WhenFull::drop,
                  .journal = JournalDetail::records}),
        recorders_{session_.add_recorder(rings_[0]).value(), session_.add_recorder(rings_[1]).value()} {
    clock_.us_per_reading = 0;
    DumpConfig config;
    config.active = true;
    config.dump_path = root;
    config.single_ops = true;
    REQUIRE(session_.init() == Status::ok);
    REQUIRE(session_.set_config(config) == Status::ok);
  }

  void capture(std::size_t recorder, int times) {
    const OpDesc op = {.name = "op", .type = "Add", .task_id = 1, .stream_id = 2};
    const float value = 5;
    const Dim dims[] = {1};
    const TensorView output = {
        .address = address_of(&value), .bytes = sizeof value, .dtype = DType::float32, .shape = dims};
    for (int i = 0; i < times; ++i) {
      REQUIRE(recorders_[recorder]->capture_single_op(op, {}, {&output, 1}) == Status::ok);
      while (session_.drain_some(1024) != 0) continue;
    }
  }

  DumpCounts end() {
    static_cast<void>(session_.finalize());
    return session_.counts();
  }

 private:
  HostMemory memory_;
  FakeClock clock_;
  std::byte scratch_[2048];
  alignas(8) std::byte rings_[2][4096];
  BasicSession<HostMemory> session_;
  BasicRecorder<HostMemory>* const recorders_[2];
};

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
  return times;
}

}  // namespace

TEST_CASE(
    "one tick: a tree has a thousand later names for a record, and the next one is lost with its cause") {
  if (OPDUMP_MAX_RECORDERS < 2) return;
  TemporaryDirectory directory;
  const std::string root = directory.text();
  posix::TreeSink tree;
  OneTick bench(tree, root);
  bench.capture(0, 1000);
  bench.capture(1, 1);  // finds all of them taken
  bench.capture(1, 1);  // and comes to a later one
  const DumpCounts counts = bench.end();
  CHECK(counts.captured == 1002);
  CHECK(counts.written == 1001);
  CHECK(counts.sink_failed == 1);
  CHECK(counts.lost() == 1);
  std::set<std::string> files;
  std::string journal;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (!entry.is_regular_file()) continue;
    if (entry.path().extension() == ".journal") {
      journal += read_file(entry.path());
    } else {
      files.insert(entry.path().filename().string());
    }
  }
  CHECK(files.size() == 1001);
  CHECK(times_in(journal, "\nwritten,0,") == 1000);
  CHECK(times_in(journal, "\nwritten,1,1,") == 1);
  CHECK(times_in(journal, "\nlost,") == 1);
  CHECK(times_in(journal, "\nlost,1,0,sink_failed:already exists,") == 1);
}

TEST_CASE("one tick: a flash log keeps all of them, and none is lost") {
  if (OPDUMP_MAX_RECORDERS < 2) return;
  FlashEmulator flash({.block_bytes = 65536, .block_count = 32, .program_bytes = 4, .bits_only_clear = true},
                      256);
  flash.power_on();
  const flashlog::Device device = flash.device();
  std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
  flashlog::FlashLog log(device, page, {});
  REQUIRE(log.mount() == Status::ok);
  OneTick bench(log, "/dump");
  bench.capture(0, 1000);
  bench.capture(1, 1001);
  const DumpCounts counts = bench.end();
  CHECK(counts.captured == 2001);
  CHECK(counts.written == 2001);
  CHECK(counts.lost() == 0);
  const FlashContents contents = read_flash(device);
  CHECK(contents.count(flashlog::ObjectState::committed) == 2001);
  std::set<std::string> paths;
  for (const FlashContents::Object& object : contents.objects) paths.insert(object.path);
  // The two recorders do not know each other's names.
  CHECK(paths.size() == 1001);
  REQUIRE(contents.journals.size() == 1);
  CHECK(times_in(contents.journals.begin()->second, "\nwritten,") == 2001);
  CHECK(times_in(contents.journals.begin()->second, "\nlost,") == 0);
}
