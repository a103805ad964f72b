#include <doctest/doctest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "opdump/nano_reader.hpp"
#include "opdump/protobuf_format.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/crash_dump.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/system_clock.hpp"
#include "platform/posix/tree_sink.hpp"
#include "support/temporary_directory.hpp"

// Sanitizers have handlers of their own for the signals.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OPDUMP_TEST_SANITIZED 1
#elif defined(__has_feature)
#define OPDUMP_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define OPDUMP_TEST_SANITIZED 0
#endif

#if !OPDUMP_TEST_SANITIZED

using namespace opdump;
using opdump::test::TemporaryDirectory;

namespace {

using HostSession = BasicSession<HostMemory>;

const OpDesc kOps[] = {{.name = "a", .type = "T", .task_id = 0, .stream_id = 5},
                       {.name = "b", .type = "T", .task_id = 1, .stream_id = 5}};
const ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};
const ModelRule kAny[] = {{.any_model = true}};

/// A program that dumps and dies. Never returns.
struct Dying {
  explicit Dying(const std::string& root) : root(root) {}

  [[noreturn]] void run(ExceptionDump exception, bool with_thread, void (*die)()) {
    DumpConfig config;
    config.active = true;
    config.dump_path = root;
    config.mode = DumpMode::all;
    config.models = kAny;
    config.exception = exception;
    ModelPlanFor<2> plan;
    posix::DrainThread<HostSession> drain;
    posix::CrashDump<HostSession> crash;
    bool good = session.init() == Status::ok && session.set_config(config) == Status::ok &&
                session.load_model(plan, kModel) == Status::ok &&
                crash.install(session, sink, recorder) == Status::ok;
    if (with_thread) good = good && drain.start(session) == Status::ok;
    if (!good) _exit(99);
    const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const Dim dims[] = {4};
    const TensorView in = {address_of(values), 16, DType::float32, Format::nd, dims};
    const TensorView out = {address_of(values + 4), 16, DType::float32, Format::nd, dims};
    for (int step = 0;; ++step) {
      recorder.begin_step(plan);
      for (std::size_t op = 0; op < 2; ++op) {
        recorder.begin_op(op, {&in, 1}, {&out, 1});
        if (step == 5 && op == 1) die();
        if (recorder.wants(op)) recorder.capture(op, {&in, 1}, {&out, 1});
      }
      recorder.end_step();
    }
  }

  const std::string root;
  HostMemory memory;
  posix::TreeSink tree;
  posix::CrashSink sink{tree};
  posix::SystemClock clock;
  ProtobufFormat protobuf;
  std::byte scratch[4096];
  alignas(8) std::byte ring[65536];
  HostSession session{{.memory = memory,
                       .sink = sink,
                       .clock = clock,
                       .scratch = scratch,
                       .formats = {.protobuf = &protobuf}}};
  HostSession::Recorder& recorder = *session.add_recorder(ring).value();
};

int signal_that_ended(const std::string& root, ExceptionDump exception, bool with_thread, void (*die)()) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) (new Dying(root))->run(exception, with_thread, die);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

std::vector<std::filesystem::path> files_below(const std::string& root) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

void read_null() {
  *static_cast<volatile int*>(nullptr) = 1;
}

void give_up() {
  abort();
}

}  // namespace

TEST_CASE("crash: what the rings hold is written when the process dies, by a signal or by abort") {
  for (const bool with_thread : {false, true}) {
    for (const auto& end : {std::pair{&read_null, SIGSEGV}, std::pair{&give_up, SIGABRT}}) {
      const int ended_by = end.second;
      CAPTURE(with_thread);
      CAPTURE(ended_by);
      TemporaryDirectory directory;
      CHECK(signal_that_ended(directory.text(), ExceptionDump::none, with_thread, end.first) == ended_by);
      std::size_t records = 0;
      for (const std::filesystem::path& path : files_below(directory.text())) {
        CAPTURE(path.string());
        CHECK(path.extension() != ".part");
        if (path.extension() == ".journal") continue;
        std::vector<std::byte> bytes(std::filesystem::file_size(path));
        FILE* file = fopen(path.c_str(), "rb");
        REQUIRE(fread(bytes.data(), 1, bytes.size(), file) == bytes.size());
        fclose(file);
        NanoReader reader;
        CHECK(reader.open(bytes, bytes.size()) == Status::ok);
        ++records;
      }
      CHECK(records == 11);
    }
  }
}

TEST_CASE("crash: the operator that was running is written as the scene has it") {
  for (const bool with_thread : {false, true}) {
    TemporaryDirectory brief;
    CHECK(signal_that_ended(brief.text(), ExceptionDump::brief, with_thread, &read_null) == SIGSEGV);
    std::vector<std::filesystem::path> files = files_below(brief.text());
    REQUIRE(files.size() == 1);
    CHECK(files[0].parent_path() == std::filesystem::path(brief.text()) / "extra-info/data-dump/0");
    const std::string name = files[0].filename().string();
    CHECK(name.starts_with("exception_info.5.1."));
    CHECK(name.size() == std::string("exception_info.5.1.").size() + 17);

    TemporaryDirectory norm;
    CHECK(signal_that_ended(norm.text(), ExceptionDump::norm, with_thread, &give_up) == SIGABRT);
    files = files_below(norm.text());
    REQUIRE(files.size() == 1);
    CHECK(files[0].filename().string().starts_with("T.b.1.20"));
  }
}
#endif
