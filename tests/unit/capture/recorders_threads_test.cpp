// Recorders that come and go on several threads, while others capture and a drain thread drains.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/system_clock.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/little_endian.hpp"

namespace opdump::tests::recorders_threads {

namespace {

using HostSession = BasicSession<HostMemory>;

/// One more than the session has recorders for, so that some wait for others to leave.
constexpr std::uint32_t kThreads = OPDUMP_MAX_RECORDERS + 1;
constexpr int kLives = 25;
constexpr std::uint32_t kMostValues = 700;  // larger than the smallest ring

constexpr OpDesc kOps[] = {{.name = "a", .type = "Come"}, {.name = "b", .type = "Go"}};
constexpr ModelDesc kModel = {.name = "net", .ops = kOps};

/// What a record is known by: which thread's, and its number there. Its values are a function of it.
using Stamp = std::pair<std::uint32_t, std::uint32_t>;

std::vector<std::uint32_t> values_of(const Stamp& stamp) {
  std::minstd_rand random(1 + stamp.first * 100'000 + stamp.second);
  std::vector<std::uint32_t> values(2 + random() % kMostValues);
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random());
  values[0] = stamp.first;
  values[1] = stamp.second;
  return values;
}

/// The control context, which is one thread at a time.
struct Control {
  std::mutex mutex;
  HostSession& session;
};

/// A thread that takes a recorder, captures some steps with it, gives it back with its memory, and so on.
class Guest {
 public:
  Guest(Control& control, std::uint32_t index) : control_(control), index_(index), random_(index + 1) {}

  void live() {
    good = with_session([this](HostSession& session) { return session.load_model(plan_, kModel); });
    for (int i = 0; i < kLives && good; ++i) visit();
    good = with_session([this](HostSession& session) { return session.unload_model(plan_); }) && good;
  }

  bool good = true;
  std::set<Stamp> captured;
  std::uint32_t offered = 0;

 private:
  template <class Call>
  bool with_session(Call call) {
    const std::lock_guard lock(control_.mutex);
    return call(control_.session) == Status::ok;
  }

  void visit() {
    // Of this visit only: whoever touches it later is seen by the sanitizers.
    std::vector<std::uint64_t> ring(64 + random_() % 512);
    std::vector<std::uint64_t> heads(random_() % 2 * head_memory_bytes(2) / 8);
    HostSession::Recorder* recorder = nullptr;
    const auto add = [&](HostSession& session) {
      const auto added = session.add_recorder(std::as_writable_bytes(std::span(ring)),
                                              std::as_writable_bytes(std::span(heads)));
      if (added.ok()) recorder = added.value();
      return added.status();
    };
    while (!with_session(add)) std::this_thread::yield();
    for (std::uint32_t steps = random_() % 8; steps != 0; --steps) step(*recorder);
    while (!with_session([&](HostSession& session) { return session.remove_recorder(*recorder); }))
      std::this_thread::yield();
  }

  void step(HostSession::Recorder& recorder) {
    good = recorder.begin_step(plan_) == Status::ok && good;
    for (std::size_t op = 0; op < std::size(kOps); ++op) {
      const Stamp stamp = {index_, offered++};
      const std::vector<std::uint32_t> values = values_of(stamp);
      const Dim dims[] = {static_cast<Dim>(values.size())};
      const TensorView tensor = {.address = address_of(values.data()),
                                 .bytes = 4 * values.size(),
                                 .dtype = DType::uint32,
                                 .shape = dims};
      if (recorder.capture(op, {}, {&tensor, 1}) == Status::ok) captured.insert(stamp);
    }
    good = recorder.end_step() == Status::ok && good;
  }

  Control& control_;
  std::uint32_t index_;
  std::minstd_rand random_;
  ModelPlanFor<std::size(kOps)> plan_;
};

/// The stamps of the records in the sink, each of which has its values whole.
std::set<Stamp> stamps_in(const FakeSink& sink) {
  std::set<Stamp> stamps;
  for (const auto& [path, object] : sink.objects) {
    NanoReader reader;
    NanoTensor tensor;
    REQUIRE(reader.open(object, object.size()) == Status::ok);
    REQUIRE(reader.next(tensor));
    REQUIRE(tensor.bytes >= 8);
    const Bytes bytes = Bytes(object).subspan(tensor.data_offset, tensor.bytes);
    const Stamp stamp = {load_little_endian<std::uint32_t>(bytes.data()),
                         load_little_endian<std::uint32_t>(bytes.data() + 4)};
    const std::vector<std::uint32_t> values = values_of(stamp);
    REQUIRE(std::ranges::equal(bytes, little_endian(values.data(), 4 * values.size(), DType::uint32)));
    REQUIRE(stamps.insert(stamp).second);
  }
  return stamps;
}

void come_and_go(WhenFull when_full) {
  HostMemory memory;
  FakeSink sink;
  posix::SystemClock clock;
  std::byte scratch[1024];
  const auto session = std::make_unique<HostSession>(SessionParts<HostMemory>{
      .memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .when_full = when_full});
  const ModelRule any_model[] = {{.any_model = true}};
  REQUIRE(session->init() == Status::ok);
  REQUIRE(session->set_config(
              {.active = true, .dump_path = "/d", .mode = DumpMode::output, .models = any_model}) ==
          Status::ok);
  posix::DrainThread<HostSession> drain;
  REQUIRE(drain.start(*session, {.delay_us = 100, .budget_bytes = 3000}) == Status::ok);

  Control control{.mutex = {}, .session = *session};
  std::vector<std::unique_ptr<Guest>> guests;
  for (std::uint32_t i = 0; i < kThreads; ++i) guests.push_back(std::make_unique<Guest>(control, i));
  std::atomic<bool> over{false};
  std::uint32_t most_written = 0;
  std::thread asker([&] {
    while (!over) {
      most_written = std::max(most_written, session->counts().written);  // any context may ask
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (const auto& guest : guests) threads.emplace_back([&guest] { guest->live(); });
  for (std::thread& thread : threads) thread.join();
  over = true;
  asker.join();
  drain.stop();
  REQUIRE(session->finalize() == Status::ok);

  std::set<Stamp> captured;
  std::uint32_t offered = 0;
  for (const auto& guest : guests) {
    CHECK(guest->good);
    captured.insert(guest->captured.begin(), guest->captured.end());
    offered += guest->offered;
  }
  CHECK(stamps_in(sink) == captured);
  const DumpCounts n = session->counts();
  CHECK(n.wanted == offered);
  CHECK(n.written == captured.size());
  CHECK(n.lost() == offered - captured.size());
  CHECK(n.captured == n.written);
  CHECK(n.written != 0);
  CHECK(most_written <= n.written);
  if (when_full == WhenFull::block) CHECK(n.lost() == n.timed_out);
  CHECK(sink.open_objects.empty());
  CHECK(sink.stray_aborts == 0);
  REQUIRE(sink.journals.size() == 1);
  const JournalAccount account = account_of(sink.journals.begin()->second);
  CHECK(account.wrong == "");
  CHECK(account.written == n.written);
  CHECK(account.lost + account.in_gaps == n.lost());
}

}  // namespace

TEST_CASE("recorders: come and go on several threads while others capture, and no record is untold") {
  for (const WhenFull when_full : {WhenFull::drop, WhenFull::block}) {
    CAPTURE(static_cast<int>(when_full));
    come_and_go(when_full);
  }
}

}  // namespace opdump::tests::recorders_threads
