// Recorders and a drainer at full speed, with random sizes and stalls and a drainer that dies and comes back;
// for the thread sanitizer. Checks every byte that reaches the sink, and that the counts add up exactly.
// usage: stress_test [SECONDS]: 3 without it

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/parts/statistics.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/system_clock.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/waiting.hpp"

namespace {

using namespace opdump;

/// A random 32-bit number at each call.
class Random {
 public:
  explicit Random(std::uint32_t seed) : state_(seed * 2654435761u | 1) {}
  std::uint32_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    return state_ ^= state_ << 5;
  }

 private:
  std::uint32_t state_;
};

using StressSession = BasicSession<HostMemory>;

constexpr std::size_t kRecorders = 3;
constexpr std::uint32_t kMaxTensorBytes = 6000;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "stress_test: %s\n", what.c_str());
  std::exit(1);
}

void demand(bool holds, const char* what) {
  if (!holds) fail(what);
}

void stall(Random& random) {
  const auto chance = random() % 64;
  if (chance == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
  if (chance < 8) std::this_thread::yield();
}

/// What a record is known by; its bytes are a function of it.
struct Stamp {
  std::uint32_t recorder;
  std::uint32_t number;
  std::uint32_t bytes;  ///< of the second tensor
};

void fill(const Stamp& stamp, std::vector<std::byte>& data) {
  data.resize(stamp.bytes);
  Random random(stamp.recorder * 0x9e3779b9u + stamp.number * 0x85ebca6bu + stamp.bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
}

/// Checks each object when it is committed. Fails at random when told to.
class CheckingSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName& name) override {
    if (fails()) return Status::no_space;
    demand(names_.emplace(std::string(name.directory) + "/" + std::string(name.file)).second,
           "two objects of one name");
    open_[++last_id_] = {{}, name.file.ends_with(".csv")};
    return ObjectId{last_id_};
  }

  Status append(ObjectId object, std::span<const Bytes> parts) override {
    stall(random_);
    if (fails()) return Status::no_space;
    std::vector<std::byte>& data = open_.at(static_cast<std::uint32_t>(object)).first;
    for (const Bytes part : parts) data.insert(data.end(), part.begin(), part.end());
    return Status::ok;
  }

  Status commit(ObjectId object, ObjectId with) override {
    const auto node = open_.extract(static_cast<std::uint32_t>(object));
    demand(!node.empty(), "commit of an object that is not open");
    demand(with == kNoObject, "commit of two objects where nothing reports");
    if (fails()) return Status::no_space;
    if (node.mapped().second) {
      check_reduced(node.mapped().first);
      ++reduced;
    } else {
      check(node.mapped().first);
    }
    ++committed;
    return Status::ok;
  }

  void abort(ObjectId object) override {
    demand(open_.erase(static_cast<std::uint32_t>(object)) == 1, "abort of an object that is not open");
  }

  Status append_lines(const ObjectName& /*name*/, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) journal += as_text(part);
    return Status::ok;
  }

  Status sync() override { return Status::ok; }

  bool all_closed() const { return open_.empty(); }

  std::uint32_t committed = 0;
  std::uint32_t reduced = 0;  ///< of those
  std::uint64_t bytes = 0;
  std::string journal;
  bool may_fail = false;

 private:
  bool fails() { return may_fail && random_() % 50 == 0; }

  void check(const std::vector<std::byte>& object) {
    NanoReader reader;
    demand(reader.open(object, object.size()) == Status::ok, "an object that is no record");
    NanoTensor tensor;
    demand(reader.next(tensor) && tensor.bytes == sizeof(Stamp), "an object without its stamp");
    Stamp stamp{};
    std::memcpy(&stamp, object.data() + tensor.data_offset, sizeof stamp);
    demand(reader.next(tensor) && tensor.bytes == stamp.bytes, "an object of the wrong length");
    fill(stamp, expected_);
    demand(stamp.bytes == 0 ||
               std::memcmp(expected_.data(), object.data() + tensor.data_offset, stamp.bytes) == 0,
           "an object with wrong bytes");
    demand(!reader.next(tensor) && reader.status() == Status::ok, "an object with something behind its end");
    demand(stamp.recorder < kRecorders && stamp.number >= next_[stamp.recorder],
           "records out of order, or one twice");
    next_[stamp.recorder] = stamp.number + 1;
    bytes += stamp.bytes;
  }

  /// The stamp's bytes cannot be told from its statistics; that both tensors are there, whole, can.
  void check_reduced(const std::vector<std::byte>& object) {
    const std::vector<std::string_view> lines = tests::split(as_text(object), '\n');
    demand(lines.size() == 4 && lines[0].starts_with("Input/Output,") && lines[3].empty(), "no statistics");
    for (const int row : {1, 2}) {
      const std::vector<std::string_view> cells = tests::split(lines[row], ',');
      demand(cells.size() == 13 && cells[0] == (row == 1 ? "Input" : "Output") && cells[2] == cells[5] &&
                 cells[2] == cells[9],
             "statistics of something else");
    }
    demand(tests::split(lines[1], ',')[2] == "12", "statistics without a stamp");
  }

  Random random_{17};
  std::set<std::string> names_;
  std::map<std::uint32_t, std::pair<std::vector<std::byte>, bool>> open_;  ///< and whether it is reduced
  std::uint32_t last_id_ = 0;
  std::uint32_t next_[kRecorders] = {};
  std::vector<std::byte> expected_;
};

constexpr OpDesc kOps[] = {
    {.name = "r0", .type = "Stress"}, {.name = "r1", .type = "Stress"}, {.name = "r2", .type = "Stress"}};
constexpr ModelDesc kModel = {.name = "stress", .ops = kOps};

/// One capturing context.
class Producer {
 public:
  Producer(std::uint32_t index, StressSession& session, std::uint32_t seed) : index_(index), random_(seed) {
    ring_.resize((600 + random_() % 8000) / 8);
    heads_.resize(random_() % 2 * head_memory_bytes(1) / 8);
    recorder_ =
        session
            .add_recorder(std::as_writable_bytes(std::span(ring_)), std::as_writable_bytes(std::span(heads_)))
            .value();
    demand(session.load_model(plan_, kModel) == Status::ok, "load_model");
  }

  void capture_some() {
    recorder_->begin_step(plan_);
    for (std::uint32_t i = 1 + random_() % 20; i != 0; --i) {
      const std::uint32_t most = random_() % 4 == 0 ? kMaxTensorBytes : 200;
      // Every other one has the head of the one before.
      capture({index_, offered_++, random_() % 2 == 0 ? 64 : random_() % most});
      stall(random_);
    }
    recorder_->end_step();
  }

  void rest() { std::this_thread::sleep_for(std::chrono::microseconds(random_() % 2000)); }

  std::uint32_t offered() const { return offered_; }
  std::uint32_t captured() const { return captured_; }
  std::uint32_t degraded() const { return degraded_; }

 private:
  void capture(const Stamp& stamp) {
    fill(stamp, data_);
    const Dim dims[] = {sizeof stamp, stamp.bytes};
    const TensorView input = {
        .address = address_of(&stamp), .bytes = sizeof stamp, .dtype = DType::uint8, .shape = {dims, 1}};
    // Sometimes the device fails in the middle of a record.
    const bool broken = stamp.bytes != 0 && random_() % 40 == 0;
    const TensorView output = {.address = broken ? 0 : address_of(data_.data()),
                               .bytes = stamp.bytes,
                               .dtype = DType::uint8,
                               .shape = {dims + 1, 1}};
    const Status status = recorder_->capture(index_, {&input, 1}, {&output, 1});
    captured_ += status == Status::ok ? 1 : 0;
    degraded_ += status == Status::degraded ? 1 : 0;
  }

  std::uint32_t index_;
  Random random_;
  std::vector<std::uint64_t> ring_;
  std::vector<std::uint64_t> heads_;
  StressSession::Recorder* recorder_ = nullptr;
  ModelPlanFor<kRecorders> plan_;
  std::vector<std::byte> data_;
  std::uint32_t offered_ = 0;
  std::uint32_t captured_ = 0;
  std::uint32_t degraded_ = 0;
};

/// A drainer that is stopped wherever it stands and started anew, until the producers have ended.
void drain_in_lives(StressSession& session, const std::atomic<bool>& producing, Random random) {
  while (producing.load()) {
    std::thread life([&session, seed = random()] {
      Random own(seed);
      for (std::uint32_t i = own() % 200; i != 0; --i) {
        session.drain_some(1 + own() % 3000);
        stall(own);
      }
    });
    life.join();
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
  }
}

enum class Drains : std::uint8_t { lives, drain_thread, caller };

struct Round {
  const char* name;
  WhenFull when_full;
  Drains drains;
  bool sink_fails;
};

void run(const Round& round, std::chrono::milliseconds duration, std::uint32_t seed) {
  HostMemory memory;
  posix::SystemClock clock;
  CheckingSink sink;
  sink.may_fail = round.sink_fails;
  std::byte scratch[1024];
  StatisticsReduction<HostMemory> reduction(memory);
  auto session = std::make_unique<StressSession>(SessionParts<HostMemory>{.memory = memory,
                                                                          .sink = sink,
                                                                          .clock = clock,
                                                                          .scratch = scratch,
                                                                          .when_full = round.when_full,
                                                                          .block_limit_ms = 1,
                                                                          .reduction = &reduction});
  demand(session->init() == Status::ok, "init");
  const ModelRule any_model[] = {{.any_model = true}};
  demand(session->set_config(
             {.active = true, .dump_path = "/d", .mode = DumpMode::all, .models = any_model}) == Status::ok,
         "set_config");
  std::vector<std::unique_ptr<Producer>> producers;
  for (std::uint32_t i = 0; i < kRecorders; ++i)
    producers.push_back(std::make_unique<Producer>(i, *session, seed + i));

  const auto begin = std::chrono::steady_clock::now();
  // For so long, and until there was all that the round is to show: on a busy machine that may come late.
  const auto goes_on = [&session, &round, begin, duration] {
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (passed < duration) return true;
    const DumpCounts counts = session->counts();
    if (counts.written != 0 && (counts.degraded != 0 || round.when_full != WhenFull::degrade)) return false;
    if (passed >= tests::kWaitLimit) {
      tests::give_up_waiting("a record written, and one degraded where that is the policy",
                             std::to_string(counts.written) + " written, " + std::to_string(counts.degraded) +
                                 " degraded of " + std::to_string(counts.wanted));
    }
    return true;
  };
  if (round.drains == Drains::caller) {
    // Without a drain thread everything is one context.
    Random random(seed);
    while (goes_on()) {
      producers[random() % kRecorders]->capture_some();
      if (random() % 4 == 0) session->drain_some(1 + random() % 2000);
    }
  } else {
    std::atomic<bool> producing{true};
    posix::DrainThread<StressSession> drain_thread;
    std::thread drainer;
    if (round.drains == Drains::drain_thread) {
      demand(drain_thread.start(*session, {.delay_us = 200, .budget_bytes = 2000}) == Status::ok,
             "no drain thread");
    } else {
      drainer = std::thread([&] { drain_in_lives(*session, producing, Random(seed + 100)); });
    }
    std::vector<std::thread> threads;
    for (const auto& producer : producers) {
      threads.emplace_back([&producer, &goes_on] {
        while (goes_on()) {
          producer->capture_some();
          producer->rest();
        }
      });
    }
    while (goes_on()) {
      const DumpCounts counts = session->counts();  // any context may ask
      demand(counts.written + counts.sink_failed <= counts.wanted, "more written than wanted");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::thread& thread : threads) thread.join();
    producing.store(false);
    if (drainer.joinable()) drainer.join();
    drain_thread.stop();
  }
  demand(session->finalize() == Status::ok, "finalize");

  const DumpCounts n = session->counts();
  std::uint32_t offered = 0;
  std::uint32_t captured = 0;
  std::uint32_t degraded = 0;
  for (const auto& producer : producers) {
    offered += producer->offered();
    captured += producer->captured();
    degraded += producer->degraded();
  }
  demand(sink.all_closed(), "an object left open");
  demand(n.wanted == offered && n.captured == captured && n.degraded == degraded,
         "the producers counted otherwise");
  demand(n.written == sink.committed, "the sink counted otherwise");
  demand(n.wanted == n.empty + n.written + n.dropped() + n.aborted(), "offered is not written and lost");
  demand(n.captured + n.degraded == n.written + n.sink_failed,
         "what was in a ring is not written and failed in the sink");
  demand(round.sink_fails ? sink.reduced <= n.degraded : sink.reduced == n.degraded,
         "the sink counted reduced records otherwise");
  demand((n.degraded != 0) == (round.when_full == WhenFull::degrade), "degraded, or not, against the policy");
  const tests::JournalAccount account = tests::account_of(sink.journal);
  demand(!session->journal_failed(), "the journal failed");
  if (!account.wrong.empty()) fail("journal: " + account.wrong);
  demand(account.written + account.reduced == n.written && account.reduced == sink.reduced &&
             account.lost + account.in_gaps == n.lost(),
         "the journal counted otherwise");
  std::printf("%s%s: %u offered = %u written + %u reduced + %u dropped + %u aborted; %llu bytes checked\n",
              round.name, round.sink_fails ? ", failing sink" : "", n.wanted, n.written - sink.reduced,
              sink.reduced, n.dropped(), n.aborted(), static_cast<unsigned long long>(sink.bytes));
  demand(n.written != 0, "nothing written");
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 3;
  if (!(seconds > 0)) fail("usage: stress_test [SECONDS]");
  std::vector<Round> rounds;
  for (const bool sink_fails : {false, true}) {
    rounds.push_back({"drop", WhenFull::drop, Drains::lives, sink_fails});
    rounds.push_back({"block", WhenFull::block, Drains::lives, sink_fails});
    rounds.push_back({"block, drain thread", WhenFull::block, Drains::drain_thread, sink_fails});
    rounds.push_back({"degrade", WhenFull::degrade, Drains::lives, sink_fails});
    rounds.push_back({"drain in the caller", WhenFull::inline_drain, Drains::caller, sink_fails});
  }
  const auto each =
      std::chrono::milliseconds(static_cast<int>(seconds * 1000 / static_cast<double>(rounds.size())));
  std::uint32_t seed = 1;
  for (const Round& round : rounds) run(round, each, seed++);
}
