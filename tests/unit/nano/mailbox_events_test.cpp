// Many random events of the dump mailbox, from several models at once: each is acknowledged once, and not
// before its bytes are safe.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "platform/ascend/nano/data_dump.hpp"
#include "platform/ascend/nano/event_loop.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/drain_thread.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/nano/simulated_nano.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::size_t kModels = 4;
constexpr std::size_t kOps = 40;

using Dump = nano::DataDump<NanoMemory>;

/// Ends a thread that takes events.
class Worker {
 public:
  Worker(nano::EventScheduler& scheduler, Dump& dump)
      : loop_(scheduler, dump), thread_([this] {
          while (!stopping_) static_cast<void>(loop_.run_once(20));
          loop_.run_out(1000);
        }) {}
  ~Worker() {
    stopping_ = true;
    thread_.join();
  }

 private:
  nano::EventLoop<Dump> loop_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// One model that runs on the NPU: what it does, and the files that must come of it.
struct Executor {
  Executor(SimulatedScheduler& events, NanoMemory& memory, std::uint8_t id, Random ops_random)
      : scheduler(events),
        model(memory, id, "net " + std::to_string(id), random_ops(kOps, ops_random),
              "out/2026012304050" + std::to_string(id) + "/0/"),
        random(1000u + id),
        mode(id % 3),
        load(model.message(true, mode, nano::kDataTensors)),
        unload(model.message(false, mode, nano::kDataTensors)) {}

  bool send_message(const std::vector<std::byte>& message) {
    return scheduler.send(0, message.data(), model.message_bytes());
  }

  void sometimes_wait() {
    if (random.below(64) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
  }

  bool run_op(const MadeOp& op) {
    model.run(op, random);
    expected[model.path(op)] = model.file(op, mode);
    sometimes_wait();
    const bool acknowledged = scheduler.send(model.mailbox(op));
    model.overwrite(op);
    return acknowledged;
  }

  /// Runs steps until `events` operators have run. An odd model is unloaded and loaded again now and then, as
  /// libge_dbg does between steps that are wanted.
  void run(std::size_t events) {
    ok = send_message(load);
    for (std::size_t done = 0; done < events && ok;) {
      for (std::size_t op = random.below(4); op < kOps && ok; op += 1 + random.below(4), ++done)
        ok = run_op(model.ops[op]);
      if (random.below(8) == 0) {
        nano::Mailbox of_no_task = model.mailbox(model.ops[0]);
        of_no_task.task_id = 60000;
        ok = ok && scheduler.send(of_no_task);
        ++strays;
      }
      model.step += 1 + random.below(3);
      if (model.id % 2 == 0 || random.below(8) != 0) continue;
      ok = ok && send_message(unload) && scheduler.send(model.mailbox(model.ops[1])) && send_message(load);
      ++reloads;
    }
    ok = ok && send_message(unload);
  }

  SimulatedScheduler& scheduler;
  NanoModel model;
  Random random;
  std::uint32_t mode;
  std::vector<std::byte> load;
  std::vector<std::byte> unload;
  std::map<std::string, std::string> expected;  ///< by path up to the time
  std::size_t strays = 0;
  std::size_t reloads = 0;
  bool ok = false;
};

std::string up_to_time(const std::string& object) {
  std::string path = object.substr(0, object.rfind('.') + 1);
  for (char& c : path) {
    if (c == '|') c = '/';
  }
  return path;
}

}  // namespace

TEST_CASE("mailbox: of 100000 events each is acknowledged once, and its bytes were safe by then") {
  const char* const asked = std::getenv("OPDUMP_NANO_EVENTS");
  const std::size_t events = asked != nullptr ? std::strtoul(asked, nullptr, 10) : rounds(100'000);
  NanoMemory device((kModels + 1) * NanoModel::kAreaBytes);
  FakeSink sink;
  posix::CounterClock clock;
  auto memory = std::make_unique<nano::DataDumpMemory<kModels, kModels * kOps, 8, 16 * 1024>>();
  Dump dump(memory->parts(device, sink, clock));
  REQUIRE(dump.start({}, sink) == Status::ok);
  SimulatedScheduler scheduler;
  std::vector<std::unique_ptr<Executor>> executors;
  for (std::uint8_t id = 1; id <= kModels; ++id)
    executors.push_back(std::make_unique<Executor>(scheduler, device, id, Random(id)));
  {
    posix::DrainThread<Dump::Session> drain;
    REQUIRE(drain.start(dump.session()) == Status::ok);
    {
      Worker worker(scheduler, dump);
      std::vector<std::thread> threads;
      for (const auto& executor : executors)
        threads.emplace_back([&executor, events] { executor->run(events / kModels); });
      for (std::thread& thread : threads) thread.join();
    }
    drain.stop();
  }
  CHECK(dump.stop() == Status::ok);

  std::size_t expected = 0;
  std::size_t strays = 0;
  std::size_t reloads = 0;
  for (const auto& executor : executors) {
    CHECK(executor->ok);
    expected += executor->expected.size();
    strays += executor->strays;
    reloads += executor->reloads;
  }
  CHECK(expected >= events);
  int twice_or_never = 0;
  for (const int times : scheduler.acknowledged()) twice_or_never += times == 1 ? 0 : 1;
  CHECK(twice_or_never == 0);
  CHECK(dump.counts().captured == expected);
  CHECK(dump.counts().lost == 0);
  CHECK(dump.counts().no_such_task == strays);
  CHECK(dump.counts().not_loaded == reloads);
  CHECK(dump.counts().loads == kModels + reloads);
  CHECK(dump.counts().refused == 0);
  CHECK(dump.session().counts().lost() == 0);
  CHECK(sink.objects.size() == expected);
  int wrong = 0;
  for (const auto& [name, bytes] : sink.objects) {
    const std::string path = up_to_time(name);
    bool right = false;
    for (const auto& executor : executors) {
      const auto found = executor->expected.find(path);
      if (found != executor->expected.end()) right = found->second == as_text(bytes);
    }
    if (!right && wrong++ == 0) MESSAGE(path);
  }
  CHECK(wrong == 0);
}
