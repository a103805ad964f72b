#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/parts/statistics.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/session.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/journal_account.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::size_t kOneChunk = 1;  // a budget that every chunk exceeds

std::byte pattern(std::uint32_t record, std::size_t at) {
  return static_cast<std::byte>(record * 89 + at * 3 + at / 256 + 1);
}

/// Lets the other side run in the middle of a call.
struct Between {
  virtual void between() = 0;

 protected:
  ~Between() = default;
};

class SteppedMemory final : public DeviceMemory {
 public:
  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    // Half the bytes before the other side runs and half after: none of them may be seen yet.
    const std::size_t half = bytes / 2;
    std::memcpy(to, reinterpret_cast<const void*>(from), half);
    other->between();
    if (fail != nullptr && fail->pick(2) == 1) {
      fail = nullptr;
      return Status::device_copy_failed;
    }
    std::memcpy(to + half, reinterpret_cast<const void*>(from + half), bytes - half);
    return Status::ok;
  }

  Between* other = nullptr;
  Choices* fail = nullptr;  ///< not null: one copy may fail
};

class SteppedClock final : public Clock {
 public:
  std::uint64_t unix_us() override { return 1'700'000'000'000'000; }  // names have to be told apart otherwise
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return now_ms; }
  void pause() override {
    ++now_ms;
    other->between();
  }

  Between* other = nullptr;
  std::uint32_t now_ms = 0;
};

/// Keeps objects in memory; any one call may fail, and the other side may run before each.
class SteppedSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName& name) override {
    if (const Status status = step(); status != Status::ok) return status;
    return store_.begin(name);
  }
  Status append(ObjectId object, std::span<const Bytes> parts) override {
    if (const Status status = step(); status != Status::ok) return status;
    return store_.append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with) override {
    if (const Status status = step(); status != Status::ok) {
      store_.abort(object);
      return status;
    }
    return store_.commit(object, with);
  }
  void abort(ObjectId object) override { store_.abort(object); }
  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    const Status status = step();
    if (status != Status::ok) {
      journal_failed = true;
      return status;
    }
    return store_.append_lines(name, parts);
  }
  Status sync() override { return Status::ok; }

  const FakeSink& store() const { return store_; }

  Between* other = nullptr;
  Choices* fail = nullptr;  ///< not null: one call may fail
  bool journal_failed = false;

 private:
  Status step() {
    if (other != nullptr) other->between();
    if (fail == nullptr || fail->pick(2) == 0) return Status::ok;
    fail = nullptr;
    return Status::no_space;
  }

  FakeSink store_;
};

struct Setup {
  std::size_t ring_bytes = 512;
  WhenFull when_full = WhenFull::drop;
  std::vector<std::size_t> tensor_bytes;  ///< of one record each, in order
  int most_steps = 1;                     ///< of the consumer, wherever it may run
  bool copy_may_fail = false;
  bool sink_may_fail = false;
  std::size_t budget = kOneChunk;
  std::size_t known_heads = 0;
};

/// What became of the records: how many were written whole, reduced, dropped and aborted.
using Outcome = std::array<std::uint32_t, 4>;

/// A session with one recorder whose producer and consumer take turns as the choices fall.
class Run final : Between {
 public:
  Run(const Setup& setup, Choices& choices, std::set<Outcome>& seen)
      : setup_(setup),
        choices_(choices),
        seen_(seen),
        ring_(setup.ring_bytes / 8),
        heads_(head_memory_bytes(setup.known_heads) / 8),
        session_({.memory = memory_,
                  .sink = sink_,
                  .clock = clock_,
                  .scratch = scratch_,
                  .when_full = setup.when_full,
                  .block_limit_ms = 2,
                  .reduction = &reduction_}),
        recorder_(*session_
                       .add_recorder(std::as_writable_bytes(std::span(ring_)),
                                     std::as_writable_bytes(std::span(heads_)))
                       .value()) {
    memory_.other = this;
    clock_.other = this;
    if (setup.copy_may_fail) memory_.fail = &choices;
    if (setup.sink_may_fail) sink_.fail = &choices;
    REQUIRE(session_.init() == Status::ok);
    static const ModelRule kAnyModel[] = {{.any_model = true}};
    REQUIRE(session_.set_config(
                {.active = true, .dump_path = "/d", .mode = DumpMode::all, .models = kAnyModel}) ==
            Status::ok);
    REQUIRE(session_.load_model(plan_, kModel) == Status::ok);
    REQUIRE(recorder_.begin_step(plan_) == Status::ok);
  }

  /// Records everything while the consumer runs in between, then shuts down.
  void producer_first() {
    for (const std::size_t bytes : setup_.tensor_bytes) {
      capture(bytes);
      // Under WhenFull::inline_drain the producer's context is the consumer's too, so it runs between calls only.
      drain();
    }
    finish();
  }

  /// Drains while the producer interrupts the sink's calls, as from an interrupt handler.
  void consumer_first() {
    interrupt_ = true;
    sink_.other = this;
    for (std::size_t i = 0; i < setup_.tensor_bytes.size(); ++i) {
      between();
      session_.drain_some(setup_.budget);
    }
    while (next_ < setup_.tensor_bytes.size()) capture(setup_.tensor_bytes[next_]);
    sink_.other = nullptr;
    finish();
  }

 private:
  void between() override {
    if (interrupt_) {
      if (capturing_ || next_ == setup_.tensor_bytes.size() || choices_.pick(2) == 0) return;
      capture(setup_.tensor_bytes[next_]);
    } else if (setup_.when_full != WhenFull::inline_drain) {
      drain();
    }
  }

  void drain() {
    const int steps = choices_.pick(setup_.most_steps + 1);
    for (int i = 0; i < steps && session_.drain_some(setup_.budget) != 0; ++i) {
    }
  }

  void capture(std::size_t bytes) {
    capturing_ = true;
    const std::uint32_t number = static_cast<std::uint32_t>(next_++);
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(number, i);
    // Two tensors, so that a record ends in the middle of neither.
    const std::size_t first = bytes / 2 / 4 * 4;
    const Dim dims[] = {static_cast<Dim>(first), static_cast<Dim>(bytes - first)};
    const TensorView input = {
        .address = address_of(data.data()), .bytes = first, .dtype = DType::uint8, .shape = {dims, 1}};
    const TensorView output = {.address = address_of(data.data() + first),
                               .bytes = bytes - first,
                               .dtype = DType::uint8,
                               .shape = {dims + 1, 1}};
    const Status status = recorder_.capture(number % kModel.ops.size(), {&input, 1}, {&output, 1});
    if (status == Status::ok || status == Status::degraded) captured_.push_back(number);
    capturing_ = false;
  }

  void finish() {
    REQUIRE(recorder_.end_step() == Status::ok);
    const Status ended = session_.finalize();
    REQUIRE(ended == (sink_.journal_failed ? Status::no_space : Status::ok));
    check();
    // The next dump starts clean: what was given up before leaves nothing behind.
    memory_.fail = nullptr;
    sink_.fail = nullptr;
    REQUIRE(session_.init() == Status::ok);
    REQUIRE(
        session_.set_config({.active = true, .dump_path = "/d", .mode = DumpMode::all, .single_ops = true}) ==
        Status::ok);
    const std::byte one{1};
    const Dim dims[] = {1};
    const TensorView tensor = {.address = address_of(&one), .bytes = 1, .dtype = DType::uint8, .shape = dims};
    const DumpCounts before = session_.counts();
    REQUIRE(recorder_.capture_single_op({.name = "after", .type = "After"}, {&tensor, 1}, {}) == Status::ok);
    REQUIRE(session_.finalize() == Status::ok);
    REQUIRE(session_.counts().written == before.written + 1);
    REQUIRE(session_.counts().lost() == before.lost());
  }

  void check() {
    const DumpCounts n = session_.counts();
    REQUIRE(n.wanted == setup_.tensor_bytes.size());
    REQUIRE(n.captured + n.degraded == captured_.size());
    REQUIRE(n.wanted == n.written + n.dropped() + n.aborted());
    REQUIRE(n.captured + n.degraded == n.written + n.sink_failed);
    if (setup_.when_full != WhenFull::degrade) REQUIRE(n.degraded == 0);
    if (setup_.when_full != WhenFull::block) REQUIRE(n.timed_out == 0);
    if (setup_.when_full == WhenFull::block) REQUIRE(n.ring_full == 0);
    if (setup_.when_full == WhenFull::inline_drain) REQUIRE(n.ring_full == 0);
    REQUIRE(n.device_failed == (setup_.copy_may_fail && memory_.fail == nullptr ? 1u : 0u));
    if (!setup_.sink_may_fail) REQUIRE(n.sink_failed == 0);
    // The call that failed may have been one of a record that its producer gave up later.
    REQUIRE(n.sink_failed <= 1);

    const FakeSink& store = sink_.store();
    REQUIRE(store.open_objects.empty());
    REQUIRE(store.stray_aborts == 0);
    REQUIRE(store.order.size() == n.written);
    std::size_t last = 0;
    std::uint32_t reduced = 0;
    for (std::size_t i = 0; i < store.order.size(); ++i) {
      const bool is_reduced = store.order[i].ends_with(".csv");
      const std::vector<std::byte>& object = store.objects.at(store.order[i]);
      const std::uint32_t number = is_reduced ? check_reduced(object) : check_object(object);
      reduced += is_reduced ? 1 : 0;
      const auto found = std::find(captured_.begin(), captured_.end(), number);
      REQUIRE(found != captured_.end());
      const std::size_t position = static_cast<std::size_t>(found - captured_.begin());
      REQUIRE((i == 0 || position > last));
      last = position;
    }
    REQUIRE(reduced <= n.degraded);
    if (n.sink_failed == 0) REQUIRE(reduced == n.degraded);
    seen_.insert({n.written - reduced, reduced, n.dropped(), n.aborted()});
    check_journal(n);
  }

  void check_journal(const DumpCounts& n) {
    REQUIRE(session_.journal_failed() == sink_.journal_failed);
    if (sink_.journal_failed) return;
    REQUIRE(sink_.store().journals.size() == 1);
    const JournalAccount account = account_of(sink_.store().journals.begin()->second);
    REQUIRE(account.wrong == "");
    REQUIRE(account.written + account.reduced == n.written);
    REQUIRE(account.lost + account.in_gaps == n.lost());
    REQUIRE(account.last_line.starts_with("closed,"));
  }

  /// The number of the record that `object` holds the statistics of.
  std::uint32_t check_reduced(const std::vector<std::byte>& object) {
    for (std::uint32_t number = 0; number < setup_.tensor_bytes.size(); ++number) {
      const std::size_t bytes = setup_.tensor_bytes[number];
      const std::size_t first = bytes / 2 / 4 * 4;
      std::string rows;
      for (const auto& [role, from, to] :
           {std::tuple{"Input", std::size_t{0}, first}, std::tuple{"Output", first, bytes}}) {
        std::byte least{255}, most{0};
        for (std::size_t i = from; i < to; ++i) {
          least = std::min(least, pattern(number, i));
          most = std::max(most, pattern(number, i));
        }
        const std::string size = std::to_string(to - from);
        const std::string row = std::string(role) + ",0," + size + ",DT_UINT8,ND," + size + "," +
                                std::to_string(std::to_integer<int>(most)) + "," +
                                std::to_string(std::to_integer<int>(least)) + ",";
        if (as_text(object).find("\n" + row) != std::string_view::npos) rows += role;
      }
      if (rows == "InputOutput") return number;
    }
    FAIL("statistics of nothing that was captured");
    return 0;
  }

  /// The number of the record that `object` holds, whole.
  std::uint32_t check_object(const std::vector<std::byte>& object) {
    NanoReader reader;
    REQUIRE(reader.open(object, object.size()) == Status::ok);
    std::vector<std::byte> data;
    for (NanoTensor tensor; reader.next(tensor);) {
      const std::byte* from = object.data() + tensor.data_offset;
      data.insert(data.end(), from, from + tensor.bytes);
    }
    for (std::uint32_t number = 0; number < setup_.tensor_bytes.size(); ++number) {
      if (data.size() != setup_.tensor_bytes[number]) continue;
      bool same = true;
      for (std::size_t i = 0; i < data.size(); ++i) same = same && data[i] == pattern(number, i);
      if (same) return number;
    }
    FAIL("an object whose bytes were never captured");
    return 0;
  }

  static constexpr OpDesc kOps[] = {{.name = "a", .type = "A"}, {.name = "b", .type = "B"}};
  static constexpr ModelDesc kModel = {.name = "m", .ops = kOps};

  const Setup& setup_;
  Choices& choices_;
  std::set<Outcome>& seen_;
  SteppedMemory memory_;
  StatisticsReduction<SteppedMemory> reduction_{memory_};
  SteppedClock clock_;
  SteppedSink sink_;
  std::byte scratch_[1024];
  std::vector<std::uint64_t> ring_;
  std::vector<std::uint64_t> heads_;
  BasicSession<SteppedMemory> session_;
  BasicRecorder<SteppedMemory>& recorder_;
  ModelPlanFor<2> plan_;
  std::vector<std::uint32_t> captured_;
  std::size_t next_ = 0;
  bool interrupt_ = false;
  bool capturing_ = false;
};

std::size_t every_way(const Setup& setup, void (Run::*scenario)(), std::set<Outcome>* outcomes = nullptr) {
  Choices choices;
  std::set<Outcome> seen;
  do {
    Run run(setup, choices, seen);
    (run.*scenario)();
  } while (choices.next() && !tried_enough(choices.ways()));
  if (outcomes != nullptr) *outcomes = seen;
  return choices.ways();
}

}  // namespace

// A ring of 512 bytes takes 62 bytes of tensors beside a record's head in one chunk; 300 and more go in
// several, 600 are more than the ring.

TEST_CASE("every interleaving: drop") {
  CHECK(every_way({.tensor_bytes = {40, 600, 20}}, &Run::producer_first) > 1000);
  CHECK(every_way({.tensor_bytes = {40, 300}, .most_steps = 2}, &Run::producer_first) > 1000);
  CHECK(every_way({.ring_bytes = 544, .tensor_bytes = {60, 300, 60}}, &Run::producer_first) > 500);
}

TEST_CASE("every interleaving: every ring from too small to large enough") {
  constexpr std::size_t kStep = OPDUMP_TEST_SHARE > 1 ? 144 : 16;
  for (std::size_t ring_bytes = 320; ring_bytes <= 1024; ring_bytes += kStep) {
    for (const WhenFull when_full : {WhenFull::drop, WhenFull::block, WhenFull::inline_drain})
      CHECK(every_way({.ring_bytes = ring_bytes, .when_full = when_full, .tensor_bytes = {60, 200}},
                      &Run::producer_first) >= 4);
  }
}

TEST_CASE("every interleaving: drop, and the consumer takes all there is at once") {
  CHECK(every_way({.tensor_bytes = {300, 40, 300}, .budget = SIZE_MAX}, &Run::producer_first) > 1000);
}

TEST_CASE("every interleaving: heads that are known") {
  for (const WhenFull when_full : {WhenFull::drop, WhenFull::block, WhenFull::inline_drain}) {
    CHECK(every_way({.when_full = when_full, .tensor_bytes = {40, 20, 40}, .known_heads = 2},
                    &Run::producer_first) >= 4);
    CHECK(every_way(
              {.when_full = when_full, .tensor_bytes = {40, 20, 40}, .copy_may_fail = true, .known_heads = 1},
              &Run::producer_first) >= 10);
  }
  CHECK(every_way({.tensor_bytes = {40, 300, 40}, .known_heads = 1}, &Run::producer_first) > 100);
  CHECK(every_way({.tensor_bytes = {40, 20, 40}, .sink_may_fail = true, .known_heads = 2},
                  &Run::consumer_first) > 20);
}

TEST_CASE("every interleaving: block") {
  CHECK(every_way({.when_full = WhenFull::block, .tensor_bytes = {600, 20}}, &Run::producer_first) > 1000);
  CHECK(every_way({.when_full = WhenFull::block, .tensor_bytes = {60, 60, 300}}, &Run::producer_first) >
        1000);
}

TEST_CASE("every interleaving: drain in the caller") {
  CHECK(
      every_way(
          {.when_full = WhenFull::inline_drain, .tensor_bytes = {600, 20, 300, 60, 60, 60}, .most_steps = 3},
          &Run::producer_first) > 1000);
}

TEST_CASE("every interleaving: degrade to statistics, then to a count") {
  std::set<Outcome> outcomes;
  // The least budget moves too little for all of them to find room.
  CHECK(every_way({.ring_bytes = 2048,
                   .when_full = WhenFull::degrade,
                   .tensor_bytes = {700, 300, 704, 708},
                   .budget = 300},
                  &Run::producer_first, &outcomes) > 50);
  const auto some = [&outcomes](std::size_t fate) {
    return std::any_of(outcomes.begin(), outcomes.end(),
                       [fate](const Outcome& seen) { return seen[fate] != 0; });
  };
  if (OPDUMP_TEST_SHARE == 1) {
    CHECK(outcomes.contains({4, 0, 0, 0}));
    CHECK(some(1));
    CHECK(some(2));
  }
  // A record that has begun gives way to its statistics: it left room for them.
  CHECK(every_way({.ring_bytes = 2048, .when_full = WhenFull::degrade, .tensor_bytes = {1800, 40}},
                  &Run::producer_first, &outcomes) > 100);
  if (OPDUMP_TEST_SHARE == 1) CHECK(some(1));
}

TEST_CASE("every interleaving: a copy from the device fails") {
  for (const WhenFull when_full :
       {WhenFull::drop, WhenFull::block, WhenFull::inline_drain, WhenFull::degrade}) {
    CHECK(every_way({.when_full = when_full, .tensor_bytes = {40, 300, 20}, .copy_may_fail = true},
                    &Run::producer_first) > 50);
  }
}

TEST_CASE("every interleaving: the sink fails") {
  for (const WhenFull when_full :
       {WhenFull::drop, WhenFull::block, WhenFull::inline_drain, WhenFull::degrade}) {
    CHECK(every_way({.when_full = when_full, .tensor_bytes = {40, 300}, .sink_may_fail = true},
                    &Run::producer_first) > 50);
  }
}

TEST_CASE("every interleaving: captures that interrupt the drainer") {
  CHECK(every_way({.tensor_bytes = {40, 600, 20, 300, 40}}, &Run::consumer_first) > 100);
  CHECK(every_way({.tensor_bytes = {40, 300, 20, 300}, .copy_may_fail = true, .sink_may_fail = true},
                  &Run::consumer_first) > 1000);
}
