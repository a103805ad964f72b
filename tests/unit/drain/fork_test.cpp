#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "opdump/session.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/file_dump.hpp"
#include "platform/posix/system_clock.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting.hpp"

// A child that starts threads is what is tried here; the thread sanitizer ends it unless told otherwise.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}

namespace opdump::tests::forks {

namespace fs = std::filesystem;
using opdump::posix::FileDump;
using opdump::tests::start_child;
using opdump::tests::TemporaryDirectory;
using opdump::tests::wait_for;

namespace {

constexpr OpDesc kOps[] = {{.name = "n", .type = "T"}};
constexpr ModelDesc kModel = {.name = "m", .ops = kOps};

struct Program {
  explicit Program(const char* options)
      : drains_inline(std::string_view(options).find("inline") != std::string_view::npos) {
    std::ofstream(root.path() / "acl.json") << R"({"dump": {"dump_path": ")" << root.text()
                                            << R"(", "dump_list": [{}]}, "opdump": )" << options << "}";
    REQUIRE(dump.start((root.path() / "acl.json").c_str()) == Status::ok);
    REQUIRE(dump.load_model(plan, kModel) == Status::ok);
  }

  /// The drain thread is at work then. One that only starts may hold the allocator of a sanitizer when the process
  /// forks, and nobody in the child lets go of it.
  void wait_for_drainer() {
    tests::wait_until("a record written", [this] { return drains_inline || dump.counts().written != 0; });
  }

  Status capture(std::uint64_t steps) {
    Status worst = Status::ok;
    const Dim dims[] = {4};
    const TensorView tensor = {address_of(values), sizeof values, DType::float32, Format::nd, dims};
    for (std::uint64_t i = 0; i < steps; ++i) {
      static_cast<void>(dump.recorder().begin_step(plan));
      const Status status = dump.recorder().capture(0, {}, {&tensor, 1});
      if (status != Status::ok) worst = status;
      static_cast<void>(dump.recorder().end_step());
    }
    return worst;
  }

  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(root.path()))
      if (entry.is_regular_file()) all[entry.path().string()] = tests::read_file(entry.path());
    return all;
  }

  const bool drains_inline;
  TemporaryDirectory root;
  HostMemory memory;
  FileDump dump{memory};
  ModelPlanFor<1> plan;
  float values[4] = {1, 2, 3, 4};
};

/// What `files` say of a dump of `records` records that nobody disturbed.
void check_complete(const std::map<std::string, std::string>& files, std::uint32_t records) {
  std::uint32_t found = 0;
  for (const auto& [path, content] : files) {
    CHECK_FALSE(path.ends_with(".part"));
    if (path.ends_with(".journal")) {
      const tests::JournalAccount account = tests::account_of(content);
      CHECK(account.wrong == "");
      CHECK(account.written == records);
      CHECK(account.last_line.starts_with("closed,"));
    } else {
      found += path.find("/T.n.") != path.npos ? 1 : 0;
    }
  }
  CHECK(found == records);
}

/// Holds the first object until it is let go, as a slow disk does; in a child it takes none, as TreeSink.
class SlowSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName& name) override {
    if (getpid() != owner_) return Status::not_supported;
    begun = true;
    while (!let_go) usleep(100);
    return files_.begin(name);
  }
  Status append(ObjectId object, std::span<const Bytes> parts) override {
    return files_.append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with) override { return files_.commit(object, with); }
  void abort(ObjectId object) override { files_.abort(object); }
  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    return getpid() == owner_ ? files_.append_lines(name, parts) : Status::not_supported;
  }
  Status sync() override { return getpid() == owner_ ? files_.sync() : Status::not_supported; }

  std::atomic<bool> begun{false};
  std::atomic<bool> let_go{false};

 private:
  const pid_t owner_ = getpid();
  tests::FakeSink files_;
};

}  // namespace

TEST_CASE("fork: a child can end its copy that was made while the drain thread was at work") {
  constexpr ModelRule kRules[] = {{.any_model = true}};
  HostMemory memory;
  SlowSink sink;
  posix::SystemClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  BasicSession<HostMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .journal = JournalDetail::none});
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  ModelPlanFor<1> plan;
  OpCounts counts[1];
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config({.active = true, .dump_path = "d", .models = kRules}) == Status::ok);
  REQUIRE(session.load_model(plan, kModel) == Status::ok);
  REQUIRE(session.count_ops(plan, counts) == Status::ok);
  posix::DrainThread<BasicSession<HostMemory>> drain;
  REQUIRE(drain.start(session) == Status::ok);

  const float values[4] = {1, 2, 3, 4};
  const Dim dims[] = {4};
  const TensorView tensor = {address_of(values), sizeof values, DType::float32, Format::nd, dims};
  REQUIRE(recorder.begin_step(plan) == Status::ok);
  REQUIRE(recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(recorder.end_step() == Status::ok);
  tests::wait_until("the first object", [&sink] { return sink.begun.load(); });

  for (const bool thread_first : {false, true}) {
    CAPTURE(thread_first);
    const pid_t child = start_child([&] {
      tests::limit_child();
      if (thread_first) drain.stop();
      OPDUMP_CHILD_CHECK(session.unload_model(plan) == Status::ok);
      OPDUMP_CHILD_CHECK(session.load_model(plan, kModel) == Status::ok);
      OPDUMP_CHILD_CHECK(session.count_ops(plan, counts) == Status::ok);
      drain.stop();
      OPDUMP_CHILD_CHECK(session.finalize() == Status::not_supported);
      OPDUMP_CHILD_CHECK(session.unload_model(plan) == Status::ok);
      return 0;
    });
    CHECK(wait_for(child) == 0);
  }
  sink.let_go = true;
  CHECK(session.unload_model(plan) == Status::ok);
  drain.stop();
  CHECK(session.finalize() == Status::ok);
  CHECK(session.counts().written == 1);
}

TEST_CASE("fork: a child that uses the parent's dump all the same changes nothing of it") {
  for (const char* options :
       {R"({"when_full": "drop"})", R"({"when_full": "inline"})",
        R"({"when_full": "block", "block_limit_ms": 20, "max_files": 1000, "keep": "newest"})"}) {
    CAPTURE(options);
    Program program(options);
    REQUIRE(program.capture(20) == Status::ok);
    program.wait_for_drainer();
    // The child has a copy of the ring, and no drain thread.
    const pid_t child = start_child([&] {
      program.capture(2000);
      OPDUMP_CHILD_CHECK(program.dump.stop() == Status::not_supported);
      OPDUMP_CHILD_CHECK(program.dump.start((program.root.path() / "acl.json").c_str()) == Status::ok);
      program.capture(10);
      OPDUMP_CHILD_CHECK(program.dump.stop() == Status::not_supported);
      return 0;
    });
    CHECK(wait_for(child) == 0);
    CHECK(program.capture(20) == Status::ok);
    REQUIRE(program.dump.unload_model(program.plan) == Status::ok);
    CHECK(program.dump.stop() == Status::ok);
    check_complete(program.files(), 40);
  }
}

TEST_CASE("fork: a child that ends the parent's dump with its own destructors changes nothing of it") {
  auto* program = new Program(R"({"when_full": "drop"})");
  REQUIRE(program->capture(5) == Status::ok);
  program->wait_for_drainer();
  const std::string root = program->root.text();
  const pid_t child = start_child([&] {
    program->dump.~FileDump();
    return 0;
  });
  CHECK(wait_for(child) == 0);
  CHECK(program->capture(5) == Status::ok);
  REQUIRE(program->dump.unload_model(program->plan) == Status::ok);
  CHECK(program->dump.stop() == Status::ok);
  check_complete(program->files(), 10);
  delete program;
}

TEST_CASE("fork: the child may make a dump of its own, and a dump begun after the fork is the child's") {
  TemporaryDirectory root;
  HostMemory memory;
  FileDump made_before(memory);
  const pid_t child = start_child([&] {
    std::ofstream(root.path() / "acl.json")
        << R"({"dump": {"dump_path": ")" << root.text() << R"(", "dump_list": [{}]}})";
    ModelPlanFor<1> plan;
    OPDUMP_CHILD_CHECK(made_before.start((root.path() / "acl.json").c_str()) == Status::ok);
    OPDUMP_CHILD_CHECK(made_before.load_model(plan, kModel) == Status::ok);
    const float value = 1;
    const Dim dims[] = {1};
    const TensorView tensor = {address_of(&value), sizeof value, DType::float32, Format::nd, dims};
    made_before.recorder().begin_step(plan);
    OPDUMP_CHILD_CHECK(made_before.recorder().capture(0, {}, {&tensor, 1}) == Status::ok);
    made_before.recorder().end_step();
    OPDUMP_CHILD_CHECK(made_before.stop() == Status::ok);
    return 0;
  });
  CHECK(wait_for(child) == 0);
  std::uint32_t records = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root.path()))
    records += entry.path().filename().string().starts_with("T.n.") ? 1 : 0;
  CHECK(records == 1);
}

}  // namespace opdump::tests::forks
