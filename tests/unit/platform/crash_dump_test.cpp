#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "opdump/opdump.h"
#include "opdump/parts/protobuf.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/crash_dump.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/file_dump.hpp"
#include "platform/posix/system_clock.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/temporary_directory.hpp"

// Sanitizers have handlers of their own for the signals.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OPDUMP_TEST_SANITIZED 1
#elif defined(__has_feature)
#define OPDUMP_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define OPDUMP_TEST_SANITIZED 0
#endif

#if !OPDUMP_TEST_SANITIZED

namespace opdump::tests::crashes {

using opdump::tests::TemporaryDirectory;
using opdump::tests::write_file;

namespace {

using HostSession = BasicSession<HostMemory>;

const OpDesc kOps[] = {{.name = "a", .type = "T", .task_id = 0, .stream_id = 5},
                       {.name = "b", .type = "T", .task_id = 1, .stream_id = 5}};
const ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};
const ModelRule kAny[] = {{.any_model = true}};

void read_null() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

/// Whether a thread is in the call of a sink that never returns.
std::atomic<bool> stuck{false};

void read_null_once_stuck() {
  while (!stuck) sched_yield();
  read_null();
}

/// Forwards, and never returns from the call `left` that appends.
struct StuckSink final : Sink {
  explicit StuckSink(Sink& sink) : to(sink) {}
  Result<ObjectId> begin(const ObjectName& name) override { return to.begin(name); }
  Status append(ObjectId object, std::span<const Bytes> parts) override {
    if (--left == 0) {
      stuck = true;
      for (;;) pause();
    }
    return to.append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with) override { return to.commit(object, with); }
  void abort(ObjectId object) override { to.abort(object); }
  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    return to.append_lines(name, parts);
  }
  Status sync() override { return to.sync(); }

  Sink& to;
  int left = 0;
};

/// A program that dumps and dies. Never returns.
struct Dying {
  Dying(const std::string& root, int appends) : root(root) { stuck_sink.left = appends; }

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
  StuckSink stuck_sink{tree};
  posix::CrashSink sink{stuck_sink};
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

/// In a child: signals end it, whatever handlers the tests have.
void forget_handlers() {
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(number, SIG_DFL);
}

int signal_that_ended(const std::string& root, ExceptionDump exception, bool with_thread, void (*die)(),
                      int appends = 0) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) forget_handlers();
  if (child == 0) (new Dying(root, appends))->run(exception, with_thread, die);
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
      std::size_t records = 0, unfinished = 0;
      for (const std::filesystem::path& path : files_below(directory.text())) {
        CAPTURE(path.string());
        if (path.extension() == ".part") ++unfinished;
        if (path.extension() == ".journal" || path.extension() == ".part") continue;
        std::vector<std::byte> bytes(std::filesystem::file_size(path));
        FILE* file = fopen(path.c_str(), "rb");
        REQUIRE(fread(bytes.data(), 1, bytes.size(), file) == bytes.size());
        fclose(file);
        NanoReader reader;
        CHECK(reader.open(bytes, bytes.size()) == Status::ok);
        ++records;
      }
      CHECK(records == 11);
      // What the thread was writing is written again.
      CHECK(unfinished <= (with_thread ? 1 : 0));
    }
  }
}

TEST_CASE(
    "crash: a record in which the drain was interrupted is written again, and nothing is told as lost") {
  for (const int append : {1, 2, 7}) {
    CAPTURE(append);
    const TemporaryDirectory directory;
    CHECK(signal_that_ended(directory.text(), ExceptionDump::none, true, &read_null_once_stuck, append) ==
          SIGSEGV);
    std::string journal;
    std::size_t records = 0;
    for (const auto& file : files_below(directory.text())) {
      if (file.extension() == ".journal") {
        journal = opdump::tests::read_file(file.string());
      } else if (file.extension() != ".part") {
        ++records;
      }
    }
    CHECK(journal.find("gap,") == std::string::npos);
    for (std::size_t i = 0; i < records; ++i)
      CHECK(journal.find("written,0," + std::to_string(i) + ",") != std::string::npos);
    CHECK(records == 11);
  }
}

TEST_CASE("crash: the operator that was running is written as the scene has it") {
  for (const bool with_thread : {false, true}) {
    TemporaryDirectory brief;
    CHECK(signal_that_ended(brief.text(), ExceptionDump::brief, with_thread, &read_null) == SIGSEGV);
    std::vector<std::filesystem::path> files = files_below(brief.text());
    REQUIRE(files.size() == 2);
    std::sort(files.begin(), files.end());
    CHECK(files[1].filename().string().starts_with("opdump.0."));
    CHECK(files[1].extension() == ".journal");
    CHECK(files[0].parent_path() == std::filesystem::path(brief.text()) / "extra-info/data-dump/0");
    const std::string name = files[0].filename().string();
    CHECK(name.starts_with("exception_info.5.1."));
    CHECK(name.size() == std::string("exception_info.5.1.").size() + 17);

    TemporaryDirectory norm;
    CHECK(signal_that_ended(norm.text(), ExceptionDump::norm, with_thread, &give_up) == SIGABRT);
    files = files_below(norm.text());
    REQUIRE(files.size() == 2);
    std::sort(files.begin(), files.end());
    CHECK(files[0].filename().string().starts_with("T.b.1.20"));
    CHECK(tests::read_file(files[1]).find(",0/" + files[0].filename().string() + '\n') != std::string::npos);
  }
}

namespace {

/// Forks, and returns the signal that ended what `run` does; -1 for an exit, whose code is then `exit_code`.
template <class Run>
int ended_by(Run run, int* exit_code = nullptr) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    forget_handlers();
    run();
    _exit(98);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (exit_code != nullptr) *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

/// Dumps six steps of two operators as `config_path` says, and dies in the last one.
void run_file_dump(const std::string& config_path, std::optional<posix::OnCrash> on_crash, void (*die)(),
                   bool in_thread = false) {
  static HostMemory memory;
  static posix::FileDump dump(memory);
  static ModelPlanFor<2> plan;
  if (on_crash) dump.on_crash(*on_crash);
  if (dump.start(config_path.c_str()) != Status::ok || dump.load_model(plan, kModel) != Status::ok) _exit(99);
  const auto steps = [&] {
    if (in_thread) dump.follow_thread();
    const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const Dim dims[] = {4};
    const TensorView in = {address_of(values), 16, DType::float32, Format::nd, dims};
    const TensorView out = {address_of(values + 4), 16, DType::float32, Format::nd, dims};
    for (int step = 0; step < 6; ++step) {
      dump.recorder().begin_step(plan);
      for (std::size_t op = 0; op < 2; ++op) {
        dump.recorder().begin_op(op, {&in, 1}, {&out, 1});
        if (step == 5 && op == 1) die();
        if (dump.recorder().wants(op)) dump.recorder().capture(op, {&in, 1}, {&out, 1});
      }
      dump.recorder().end_step();
    }
  };
  if (in_thread) {
    std::thread(steps).join();
  } else {
    steps();
  }
}

struct DumpPlace {
  explicit DumpPlace(const std::string& rest) {
    std::filesystem::create_directory(directory.path() / "dump");
    write_file(config(), R"({"dump": {"dump_path": ")" + dump() + R"(", )" + rest + "}");
  }
  std::string config() const { return (directory.path() / "acl.json").string(); }
  std::string dump() const { return (directory.path() / "dump").string(); }

  /// Without journals, and without what the drain thread was writing when the process died, which is written again.
  std::vector<std::string> records() const {
    std::vector<std::string> names, begun;
    for (const std::filesystem::path& path : files_below(dump())) {
      if (path.extension() == ".journal") continue;
      std::string name = path.filename().string();
      const bool is_whole = path.extension() != ".part";
      if (!is_whole) name = path.stem().string();
      const std::size_t stamp = name.rfind('.');
      (is_whole ? names : begun)
          .push_back(path.parent_path().filename().string() + "/" + name.substr(0, stamp));
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : begun) CHECK(std::binary_search(names.begin(), names.end(), name));
    return names;
  }

  /// Of the one journal; empty without any.
  std::string journal() const {
    for (const std::filesystem::path& path : files_below(dump()))
      if (path.extension() == ".journal") return opdump::tests::read_file(path.string());
    return {};
  }

  TemporaryDirectory directory;
};

const char kFailures[] = R"("dump_scene": "aic_err_norm_dump"})";
const char kAll[] = R"("dump_list": [{}]})";

}  // namespace

TEST_CASE("crash: a FileDump whose config asks for failures writes the operator that the process died in") {
  for (const bool in_thread : {false, true}) {
    CAPTURE(in_thread);
    for (const auto& [die, signal] : {std::pair{&read_null, SIGSEGV}, std::pair{&give_up, SIGABRT}}) {
      const DumpPlace place(kFailures);
      CHECK(ended_by([&, how = die] { run_file_dump(place.config(), {}, how, in_thread); }) == signal);
      CHECK(place.records() == std::vector<std::string>{"0/T.b.1"});
    }
  }
}

TEST_CASE("crash: a FileDump writes what its ring holds where it is asked to, and touches no signal else") {
  const DumpPlace all(kAll);
  CHECK(ended_by([&] { run_file_dump(all.config(), posix::OnCrash::dump, &read_null); }) == SIGSEGV);
  CHECK(all.records().size() == 11);
  const DumpPlace by_key(std::string(kAll) + R"(, "opdump": {"on_crash": "dump"})");
  CHECK(ended_by([&] { run_file_dump(by_key.config(), {}, &read_null); }) == SIGSEGV);
  CHECK(by_key.records() == all.records());

  const auto die_if_untouched = [] {
    struct sigaction action {};
    sigaction(SIGSEGV, nullptr, &action);
    _exit(action.sa_handler == SIG_DFL ? 7 : 8);
  };
  int code = 0;
  const DumpPlace plain(kAll);
  CHECK(ended_by([&] { run_file_dump(plain.config(), {}, die_if_untouched); }, &code) == -1);
  CHECK(code == 7);
  const DumpPlace ignoring(std::string(kAll) + R"(, "opdump": {"on_crash": "dump"})");
  CHECK(ended_by([&] { run_file_dump(ignoring.config(), posix::OnCrash::ignore, die_if_untouched); },
                 &code) == -1);
  CHECK(code == 7);
  const DumpPlace handling(kFailures);
  CHECK(ended_by([&] { run_file_dump(handling.config(), {}, die_if_untouched); }, &code) == -1);
  CHECK(code == 8);
}

TEST_CASE("crash: a FileDump with a history hands it on when the process dies") {
  const DumpPlace place(std::string(kAll) + R"(, "opdump": {"history_steps": 3})");
  CHECK(ended_by([&] { run_file_dump(place.config(), {}, &give_up); }) == SIGABRT);
  CHECK(place.records() ==
        std::vector<std::string>{"3/T.a.0.5", "3/T.b.1.5", "4/T.a.0.5", "4/T.b.1.5", "5/T.a.0.5"});
  CHECK(place.journal() == "opdump-journal,1,gaps\nhistory,3,0\nwrote,5,0\n");
  const DumpPlace called(std::string(kAll) +
                         R"(, "opdump": {"history_steps": 3, "trigger": [{"call": "c"}]})");
  CHECK(ended_by([&] { run_file_dump(called.config(), {}, &give_up); }) == SIGABRT);
  CHECK(called.journal().starts_with("opdump-journal,1,gaps\n"));
  CHECK(called.journal().ends_with("\nwrote,5,0\n"));
  const DumpPlace without(std::string(kAll) + R"(, "opdump": {"history_steps": 3, "journal": "none"})");
  CHECK(ended_by([&] { run_file_dump(without.config(), {}, &give_up); }) == SIGABRT);
  CHECK(without.journal().empty());
}

TEST_CASE("crash: after the dump the signal goes to who handled it before") {
  const DumpPlace place(kFailures);
  int code = 0;
  const auto run = [&] {
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(42); };
    sigaction(SIGSEGV, &action, nullptr);
    run_file_dump(place.config(), {}, &read_null);
  };
  CHECK(ended_by(run, &code) == -1);
  CHECK(code == 42);
  CHECK(place.records() == std::vector<std::string>{"0/T.b.1"});
}

TEST_CASE("crash: a child after fork() that dies dumps nothing") {
  const DumpPlace place(kFailures);
  int code = 0;
  const auto die_in_child = [] {
    const pid_t child = fork();
    if (child == 0) read_null();
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 5 : 6);
  };
  CHECK(ended_by([&] { run_file_dump(place.config(), {}, die_in_child); }, &code) == -1);
  CHECK(code == 5);
  CHECK(place.records().empty());
}

TEST_CASE("crash: a C program writes the operator that it died in") {
  const DumpPlace place(kFailures);
  const auto die = [&] {
    std::vector<std::byte> memory(1 << 20);
    std::size_t used = 0;
    const auto room = [&](std::size_t bytes) {
      void* const at = memory.data() + used;
      used += bytes;
      return at;
    };
    const auto need = [](opdump_status status) {
      if (status != OPDUMP_OK) _exit(99);
    };
    opdump_sink* sink = nullptr;
    const std::size_t sink_bytes = opdump_directory_sink_size();
    need(opdump_directory_sink_create(room(sink_bytes), sink_bytes, &sink));
    opdump_session_options options = {};
    options.struct_bytes = sizeof options;
    options.clock = opdump_system_clock();
    options.sink = sink;
    opdump_session* session = nullptr;
    const std::size_t session_bytes = opdump_session_size(&options);
    need(opdump_session_create(room(session_bytes), session_bytes, &options, &session));
    opdump_config* config = nullptr;
    const std::size_t config_bytes = opdump_config_file_size(place.config().c_str());
    need(opdump_config_read(room(config_bytes), config_bytes, place.config().c_str(), &config, nullptr, 0));
    opdump_recorder_options recorder_options = {};
    recorder_options.struct_bytes = sizeof recorder_options;
    recorder_options.ring_bytes = 4096;
    opdump_recorder* recorder = nullptr;
    const std::size_t recorder_bytes = opdump_recorder_size(&recorder_options);
    need(opdump_recorder_add(session, &recorder_options, room(recorder_bytes), recorder_bytes, &recorder));
    need(opdump_session_init(session));
    need(opdump_session_set_config(session, config));
    opdump_op op = {};
    op.name = "b";
    op.type = "T";
    op.task_id = 1;
    op.stream_id = 5;
    const opdump_model_desc net = {
        .struct_bytes = sizeof net, .name = "net", .graph_name = nullptr, .id = 1, .op_count = 1, .ops = &op};
    opdump_model* model = nullptr;
    const std::size_t model_bytes = opdump_model_size(&net);
    need(opdump_model_load(session, &net, room(model_bytes), model_bytes, &model));
    opdump_crash_dump* crash = nullptr;
    const std::size_t crash_bytes = opdump_crash_dump_size();
    need(opdump_crash_dump_install(session, sink, recorder, room(crash_bytes), crash_bytes, &crash));
    need(opdump_begin_step(recorder, model));
    opdump_running_op running = {};
    running.struct_bytes = sizeof running;
    const float value = 1;
    opdump_tensor input = {};
    input.address = address_of(&value);
    input.bytes = sizeof value;
    input.dtype = OPDUMP_FLOAT32;
    running.input_count = 1;
    running.inputs = &input;
    need(opdump_begin_op(recorder, &running));
    read_null();
  };
  CHECK(ended_by(die) == SIGSEGV);
  CHECK(place.records() == std::vector<std::string>{"0/T.b.1"});
}

}  // namespace opdump::tests::crashes

#endif
