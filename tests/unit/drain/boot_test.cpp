#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/boot.hpp"
#include "opdump/config/parse.hpp"
#include "opdump/config/write_blob.hpp"
#include "opdump/parts/text_log.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// A config with that "opdump" object, and the memory that it lies in.
struct ConfigWith : ConfigOutcome {
  explicit ConfigWith(const std::string& options, const std::string& path = ".") {
    const std::string text = R"({"dump": {"dump_path": ")" + path +
                             R"(", "dump_list": [{}], "dump_mode": "all"}, "opdump": {)" + options + "}}";
    memory.resize(config_memory_bytes(text.size()));
    Arena arena(memory);
    REQUIRE(parse_config({text, arena}, *this) == Status::ok);
  }
  std::vector<std::byte> memory;
};

/// A session that writes to `sink`, as a program makes it that knows no config yet.
template <class To>
struct BootBench {
  explicit BootBench(To& sink) : session(parts(sink)) {}
  SessionParts<FakeMemory> parts(To& sink) {
    return {.memory = memory,
            .sink = sink,
            .clock = clock,
            .scratch = scratch,
            .when_full = WhenFull::inline_drain};
  }

  std::uint32_t written_in_steps(int steps) {
    BasicRecorder<FakeMemory>& recorder = *session.add_recorder(ring).value();
    REQUIRE(session.load_model(plan, kModel) == Status::ok);
    for (int step = 0; step < steps; ++step) {
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      static_cast<void>(recorder.capture(0, {}, {&tensors.output, 1}));
      REQUIRE(recorder.end_step() == Status::ok);
      while (session.drain_some(SIZE_MAX) != 0) continue;
    }
    static_cast<void>(session.finalize());
    return session.counts().written;
  }

  FakeMemory memory;
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  BasicSession<FakeMemory> session;
  ModelPlanFor<3> plan;
  Tensors tensors;
};

}  // namespace

TEST_CASE("boot: what the config says of the session counts") {
  FakeSink sink;
  BootBench bench(sink);
  const ConfigWith parsed(R"("when_full": "drop", "journal": "none")");
  REQUIRE(boot(bench.session, sink, parsed.config) == Status::ok);
  CHECK(bench.session.when_full() == WhenFull::drop);
  CHECK(bench.session.journal() == JournalDetail::none);
  CHECK(boot(bench.session, sink, parsed.config) == Status::already_initialised);
  CHECK(bench.written_in_steps(3) == 3);
  CHECK(sink.journals.empty());
}

TEST_CASE("boot: a sink that cannot do what the config asks of it refuses, and the session stays off") {
  for (const char* option :
       {R"("max_bytes": 5000)", R"("max_files": 2)", R"("reserve_bytes": 1)", R"("keep": "newest")",
        R"("fsync": "record")", R"("history_steps": 3)", R"("on_crash": "dump")"}) {
    CAPTURE(option);
    FakeSink sink;
    BootBench bench(sink);
    CHECK(boot(bench.session, sink, ConfigWith(option).config) == Status::not_supported);
    CHECK_FALSE(bench.session.initialised());
    const ConfigWith plain(R"("fsync": "finalize")");
    CHECK(boot(bench.session, sink, plain.config) == Status::ok);
    CHECK(bench.written_in_steps(2) == 2);
  }
}

TEST_CASE("boot: limits reach a tree of files") {
  const TemporaryDirectory place;
  posix::TreeSink sink;
  BootBench bench(sink);
  const ConfigWith parsed(R"("max_files": 3, "journal": "none")", place.text());
  REQUIRE(boot(bench.session, sink, parsed.config) == Status::ok);
  CHECK(bench.written_in_steps(10) == 3);
  CHECK(bench.session.counts().quota == 7);
  CHECK(boot(bench.session, sink, ConfigWith(R"("history_steps": 3)").config) == Status::not_supported);
}

TEST_CASE("boot: a tree keeps the limits it was made with where the config is silent") {
  const TemporaryDirectory place;
  posix::TreeSink sink({.limits = {.max_files = 4}});
  BootBench bench(sink);
  const ConfigWith parsed(R"("journal": "none")", place.text());
  REQUIRE(boot(bench.session, sink, parsed.config) == Status::ok);
  CHECK(bench.written_in_steps(10) == 4);
}

TEST_CASE("boot: a ring is as large as the config says, within its room") {
  alignas(8) std::byte room[8192];
  CHECK(ring_for(room, {}).value().size() == 8192);
  const Result<MutableBytes> ring = ring_for(room, ConfigWith(R"("ring_bytes": 4096)").config.options);
  REQUIRE(ring.ok());
  CHECK(ring.value().data() == room);
  CHECK(ring.value().size() == 4096);
  CHECK(ring_for(room, ConfigWith(R"("ring_bytes": 16384)").config.options).status() == Status::no_memory);
}

TEST_CASE("boot: from a compiled plan in flash, and the log follows what is to be kept") {
  for (const bool newest : {false, true}) {
    CAPTURE(newest);
    const ConfigWith parsed(newest ? R"("keep": "newest", "journal": "none")"
                                   : R"("keep": "oldest", "journal": "none")");
    const std::vector<std::byte> plan = write_plan(parsed.config);
    const flashlog::Geometry geometry = {.block_bytes = 4096, .block_count = 4, .program_bytes = 16};
    FlashEmulator flash(geometry, 256);
    std::vector<std::byte> page(flashlog::FlashLog::kPrefixBytes + 256);
    const flashlog::Device device = flash.device();
    // Made with the other policy.
    flashlog::FlashLog log(
        device, page,
        {.policy = newest ? flashlog::Policy::stop_when_full : flashlog::Policy::overwrite_oldest});
    REQUIRE(log.mount() == Status::ok);
    BootBench bench(log);
    std::vector<std::byte> lists(1024);
    Arena arena(lists);
    REQUIRE(boot(bench.session, log, plan, arena) == Status::ok);
    const std::uint32_t written = bench.written_in_steps(200);
    CHECK((written == 200) == newest);
    Arena again(lists);
    CHECK(boot(bench.session, log, Bytes(plan).first(8), again) != Status::ok);
    CHECK_FALSE(bench.session.initialised());
    CHECK(boot(bench.session, log, ConfigWith(R"("max_bytes": 1000)").config) == Status::not_supported);
  }
}

TEST_CASE("boot: options that nobody configured the session with are told") {
  FakeSink sink;
  std::vector<std::string> lines;
  TextLog log(&add_line, &lines);
  const auto said = [&](const std::string& options, bool boots) {
    lines.clear();
    const ConfigWith with(options);
    FakeMemory memory;
    FakeClock clock;
    alignas(8) std::byte scratch[4096];
    BasicSession<FakeMemory> session(
        {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .log = &log});
    if (boots) {
      REQUIRE(boot(session, sink, with.config) == Status::ok);
    } else {
      REQUIRE(session.init() == Status::ok);
      REQUIRE(session.set_config(with.config) == Status::ok);
    }
    static_cast<void>(session.finalize());
    for (const std::string& line : lines) {
      if (line.find("\"opdump\" object do not count") != std::string::npos) return true;
    }
    return false;
  };
  CHECK(said(R"("when_full": "drop")", false));
  CHECK(said(R"("max_bytes": 50000)", false));
  CHECK_FALSE(said("", false));
  CHECK_FALSE(said(R"("when_full": "drop")", true));
}
