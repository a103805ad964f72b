#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/journal_account.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

const ModelDesc kOneOp = {.name = "one", .ops = std::span(kOps).first(1)};

template <std::size_t RingBytes>
void drain(Bench<RingBytes>& bench) {
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
}

/// The journals in the order of their configs.
std::vector<std::string> journals(const FakeSink& sink) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : sink.journals) texts.push_back(text);
  return texts;
}

/// Loses records without room for a trace until `count` are.
template <std::size_t RingBytes>
void lose_untold(Bench<RingBytes>& bench, ModelPlan& plan, std::uint32_t count) {
  const std::uint32_t before = bench.session.counts().lost();
  while (bench.session.counts().lost() < before + count) {
    REQUIRE(bench.recorder.begin_step(plan) == Status::ok);
    static_cast<void>(bench.recorder.capture(0, {&bench.tensors.input, 1}, {}));
    REQUIRE(bench.recorder.end_step() == Status::ok);
  }
}

}  // namespace

TEST_CASE("losses: one table says all of each cause") {
  DumpCounts counts;
  for (std::size_t i = 0; i < kLossCauses; ++i) {
    const LossCause cause = static_cast<LossCause>(i);
    CHECK(counts[cause]++ == 0);
    CHECK(counts.lost() == i + 1);
    CHECK(counts.*kDumpCountFields[static_cast<std::size_t>(count_of(cause))] == 1);
    for (std::size_t other = 0; other < i; ++other) {
      CHECK(kLossKinds[i].word != kLossKinds[other].word);
      CHECK(kLossKinds[i].text != kLossKinds[other].text);
    }
    const Status status = kind_of(cause).status;
    if (status != Status::ok)
      CHECK((i < kRecorderCauses ? recorder_cause(status) : sink_cause(status)) == cause);
  }
  CHECK(recorder_cause(Status::io_error) == LossCause::device_failed);
  CHECK(recorder_cause(Status::name_too_long) == LossCause::invalid);
  CHECK(sink_cause(Status::name_too_long) == LossCause::sink_failed);
}

TEST_CASE("losses: what the sink loses is counted against its operator and step") {
  Bench<> bench;
  bench.start(everything());
  OpCounts counts[3];
  CHECK(bench.session.count_ops(bench.plan, std::span(counts).first(2)) == Status::no_memory);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.session.count_ops(bench.plan, counts) == Status::step_open);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.count_ops(bench.plan, counts) == Status::ok);
  CHECK(bench.session.count_ops(bench.plan, counts) == Status::invalid_argument);
  bench.step();
  drain(bench);
  const int calls_of_a_record = (bench.sink.calls - 1) / 3;  // besides the journal's one
  for (const Status status : {Status::no_space, Status::quota_exceeded}) {
    bench.step();
    bench.sink.fail_at = bench.sink.calls + calls_of_a_record;
    bench.sink.failure = status;
    drain(bench);
  }
  CHECK(counts[0].lost() == 0);
  CHECK(counts[1].sink_failed == 1);
  CHECK(counts[1].quota == 1);
  CHECK(counts[1].captured == 3);
  CHECK(counts[1].sink_lost_steps.first == 2);  // the empty step had number 0
  CHECK(counts[1].sink_lost_steps.last == 3);
  CHECK(counts[2].lost() == 0);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
  CHECK(bench.session.counts().quota == 1);
  CHECK(bench.session.counts().aborted() == 2);
  const std::string text = journals(bench.sink).at(0);
  CHECK(text.find(",sink_failed:no space left,2/net/9/2/MaxPool.pool1.4.1.") != text.npos);
  CHECK(text.find(",quota,2/net/9/3/MaxPool.pool1.4.1.") != text.npos);
}

TEST_CASE("losses: a plan that is gone is no longer counted, and another one in its place is not either") {
  Bench<> bench;
  bench.start(everything());
  OpCounts before[3], after[3];
  ModelPlan plans[3];
  std::uint8_t bits[3][3];
  REQUIRE(bench.session.count_ops(bench.plan, before) == Status::ok);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(bench.session.load_model(plans[i], kModel, bits[i]) == Status::ok);
    REQUIRE(bench.session.count_ops(plans[i], after) == Status::ok);
  }
  bench.step();
  bench.sink.fail_at = bench.sink.calls + 1;  // behind the journal's first lines
  REQUIRE(bench.session.unload_model(plans[1]) == Status::ok);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  REQUIRE(bench.session.unload_model(plans[2]) == Status::ok);
  drain(bench);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().sink_failed == 1);
  for (int op = 0; op < 3; ++op) {
    CHECK(before[op].captured == 1);
    CHECK(before[op].lost() == 0);
    CHECK(after[op].wanted == 0);
  }
}

TEST_CASE("losses: a recorder tells dropped from aborted, for each operator too") {
  Bench<512> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  OpCounts counts[1];
  REQUIRE(bench.session.count_ops(bench.plan, counts) == Status::ok);
  std::vector<float> big(1000);
  const Dim dims[] = {1000};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 4000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::ring_full);  // begins, and finds no room
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::ring_full);  // does not begin
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  const DumpCounts n = bench.session.counts();
  CHECK(n.aborted() == 1);
  CHECK(n.dropped() == 1);
  CHECK(counts[0].cut_short == 1);
  CHECK(counts[0].ring_full == 2);
  check_adds_up(n);
}

TEST_CASE("losses: a gap tells its causes, once there is room again") {
  Bench<512> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  lose_untold(bench, bench.plan, 5);
  bench.memory.fail_at = bench.memory.copies;
  drain(bench);
  bench.step();  // fails in the device, with room to tell
  bench.step();
  drain(bench);
  // Before `finalize`: what is in band has to do after a crash.
  const std::string text = journals(bench.sink).at(0);
  CAPTURE(text);
  CHECK(text.find("gap,0,2,6,ring_full\n") != text.npos);
  CHECK(text.find(",device_failed,2/one/0/") != text.npos);
  REQUIRE(bench.session.finalize() == Status::ok);
  const JournalAccount account = account_of(journals(bench.sink).at(0));
  CHECK(account.wrong == "");
  CHECK(account.lost + account.in_gaps == bench.session.counts().lost());
}

TEST_CASE("losses: the journal ends with the counts of each operator that lost") {
  Bench<1024> bench(WhenFull::drop);
  bench.start(everything());
  OpCounts counts[3];
  REQUIRE(bench.session.count_ops(bench.plan, counts) == Status::ok);
  std::vector<float> big(1000);
  const Dim dims[] = {1000};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 4000, .dtype = DType::float32, .shape = dims};
  for (int step = 0; step < 4; ++step) {
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
    if (step == 1 || step == 3) CHECK(bench.recorder.capture(2, {&tensor, 1}, {}) == Status::ring_full);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    if (step == 2) bench.sink.fail_at = bench.sink.calls;
    drain(bench);
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(counts[2].cut_short == 2);
  const std::string text = journals(bench.sink).at(0);
  CAPTURE(text);
  CHECK(text.find("\nop,4,2,2,4,4,0,0,0,0,0,0,0,1,0,9,net/Conv2D.conv1_relu1\n"
                  "op,4,1,3,2,0,0,2,0,2,0,0,0,0,0,9,net/MatMul.fc\n"
                  "closed,6,4,0,0,2,0,2,0,0,0,1,0,3\n") != text.npos);
  CHECK(text.find("MaxPool.pool1") == text.npos);

  // A plan of the last `init` is not told again, and may be unloaded, though it is in no list any more.
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  ModelPlan later;
  std::uint8_t bits[3];
  OpCounts later_counts[3];
  REQUIRE(bench.session.load_model(later, kModel, bits) == Status::ok);
  REQUIRE(bench.session.count_ops(later, later_counts) == Status::ok);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  for (std::size_t i = 1; i < bench.sink.journals.size(); ++i)
    CHECK(journals(bench.sink)[i].find("\nop,") == std::string::npos);
  CHECK(bench.session.unload_model(later) == Status::ok);
}

TEST_CASE("losses: the end of a burst is told as soon as the ring is empty, though nothing comes after it") {
  Bench<512> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  lose_untold(bench, bench.plan, 5);
  drain(bench);
  const DumpCounts before = bench.session.counts();
  const auto told = [&] {
    JournalAccount account = account_of(journals(bench.sink).at(0));
    return account.lost + account.in_gaps;
  };
  CHECK(before.lost() >= 5);
  CHECK(told() == before.lost());
  CHECK(journals(bench.sink).at(0).ends_with(",ring_full\n"));
  const std::string text = journals(bench.sink).at(0);
  CHECK(bench.session.drain_some(SIZE_MAX) == 0);
  CHECK(journals(bench.sink).at(0) == text);
  // Neither a record that comes after all nor the end tells it again.
  bench.step();
  drain(bench);
  CHECK(told() == before.lost());
  lose_untold(bench, bench.plan, 3);
  drain(bench);
  CHECK(told() == bench.session.counts().lost());
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(account_of(journals(bench.sink).at(0)).wrong == "");
  CHECK(told() == bench.session.counts().lost());
}

TEST_CASE("losses: a record that was given up without a trace leaves no half file until the next one") {
  Bench<512> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  std::vector<float> big(1000);
  const Dim dims[] = {1000};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 4000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::ring_full);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  drain(bench);
  const std::string text = journals(bench.sink).at(0);
  CAPTURE(text);
  CHECK(text.find("\nbegun,0,0,") != text.npos);
  CHECK(text.ends_with("\nlost,0,0,ring_full,\n"));
  CHECK(bench.sink.aborts == 1);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(account_of(journals(bench.sink).at(0)).wrong == "");
}

TEST_CASE("losses: several causes of one gap are all told") {
  Bench<1024> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  lose_untold(bench, bench.plan, 4);
  const std::string endless(70000, 'n');
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  TensorView unnamable = bench.tensors.input;
  unnamable.original_name = endless;
  CHECK(bench.recorder.capture(0, {&unnamable, 1}, {}) == Status::name_too_long);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string text = journals(bench.sink).at(0);
  CAPTURE(text);
  CHECK(text.find(",invalid+ring_full\nto,0,") != text.npos);
}

TEST_CASE("losses: the end of one config is told there, and the next one's journal is clean") {
  Bench<512> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  lose_untold(bench, bench.plan, 7);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  drain(bench);
  REQUIRE(bench.session.load_model(bench.plan, kOneOp, bench.bits) == Status::ok);
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::vector<std::string> texts = journals(bench.sink);
  REQUIRE(texts.size() == 2);
  CAPTURE(texts[0]);
  CAPTURE(texts[1]);
  const std::uint32_t lost = bench.session.counts().ring_full;
  const JournalAccount first = account_of(texts[0]);
  CHECK(first.wrong == "");
  CHECK(first.lost + first.in_gaps == lost);
  CHECK(texts[0].find("," + std::to_string(lost) + ",0,0,0,0,0," + std::to_string(first.written) + "\n") !=
        texts[0].npos);
  CHECK(account_of(texts[1]).wrong == "");
  CHECK(texts[1].ends_with("closed,1,1,0,0,0,0,0,0,0,0,0,0,1\n"));
  CHECK(texts[1].find("gap") == texts[1].npos);
}

TEST_CASE("losses: a gap is told where it belongs while both configs run") {
  Bench<512> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  ModelPlan newer;
  std::uint8_t bits[1];
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.load_model(newer, kOneOp, bits) == Status::ok);
  lose_untold(bench, bench.plan, 6);
  drain(bench);
  REQUIRE(bench.recorder.begin_step(newer) == Status::ok);
  CHECK(bench.recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::vector<std::string> texts = journals(bench.sink);
  REQUIRE(texts.size() == 2);
  const JournalAccount older = account_of(texts[0]);
  CHECK(older.wrong == "");
  CHECK(older.in_gaps > 0);
  CHECK(older.lost + older.in_gaps == bench.session.counts().ring_full);
  CHECK(account_of(texts[1]).wrong == "");
  CHECK(texts[1].ends_with("closed,1,1,0,0,0,0,0,0,0,0,0,0,1\n"));
}

TEST_CASE("losses: configs in memory of the caller have journals and counts of their own") {
  constexpr int kMore = 5, kAll = Targets::kMax + kMore;
  alignas(8) std::byte more[more_config_bytes(kMore) + 7];
  Bench<512> bench(WhenFull::drop, 50, JournalDetail::records, nullptr, more);
  REQUIRE(bench.session.init() == Status::ok);
  alignas(8) std::byte ring[512];
  auto& other = *bench.session.add_recorder(ring).value();
  ModelPlan plans[kAll];
  std::uint8_t bits[kAll][1];
  for (int again = 0; again < 2; ++again) {
    CAPTURE(again);
    const std::size_t journals_before = bench.sink.journals.size();
    const DumpCounts before = bench.session.counts();
    for (int i = 0; i < kAll; ++i) {
      REQUIRE(bench.session.set_config(everything()) == Status::ok);
      REQUIRE(bench.session.load_model(plans[i], kOneOp, bits[i]) == Status::ok);
    }
    CHECK(bench.session.set_config(everything()) == Status::too_many_configs);
    for (int i = 0; i < kAll; ++i) {
      lose_untold(bench, plans[i], 6);
      drain(bench);
      REQUIRE(other.begin_step(plans[i]) == Status::ok);
      CHECK(other.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
      REQUIRE(other.end_step() == Status::ok);
      drain(bench);
    }
    const DumpCounts open = bench.session.counts();
    check_adds_up(open);
    CHECK(open.wanted - before.wanted >= 7 * kAll);
    for (ModelPlan& plan : plans) REQUIRE(bench.session.unload_model(plan) == Status::ok);
    // Their places are free again once the drainer has seen to it.
    REQUIRE(bench.session.set_config(everything()) == Status::ok);
    drain(bench);
    const DumpCounts closed = bench.session.counts();
    CHECK(closed.wanted == open.wanted);
    CHECK(closed.written == open.written);
    CHECK(bench.sink.journals.size() - journals_before >= kAll);
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
  std::uint32_t written = 0, lost = 0;
  for (const std::string& text : journals(bench.sink)) {
    const JournalAccount account = account_of(text);
    CHECK(account.wrong == "");
    CHECK(text.find("\nclosed,") != text.npos);
    written += account.written;
    lost += account.lost + account.in_gaps;
  }
  CHECK(written == bench.session.counts().written);
  CHECK(lost == bench.session.counts().lost());
}

TEST_CASE("losses: a config that nothing uses any more closes while another recorder never rests") {
  Bench<1024> bench(WhenFull::drop);
  bench.start(everything(), kOneOp);
  bench.step();
  for (int config = 0; config < 3 * Targets::kMax; ++config) {
    ModelPlan plan;
    std::uint8_t bits[1];
    REQUIRE(bench.session.set_config(everything()) == Status::ok);
    REQUIRE(bench.session.load_model(plan, kOneOp, bits) == Status::ok);
    // The ring is never empty when a turn of the drainer ends.
    for (int turn = 0; turn < 20; ++turn) {
      bench.step();
      bench.step();
      REQUIRE(bench.session.drain_some(1) != 0);
      bench.step();
      REQUIRE(bench.session.drain_some(1) != 0);
      REQUIRE_FALSE(bench.recorder.sender().ring().drained());
    }
    REQUIRE(bench.session.unload_model(plan) == Status::ok);
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  for (const std::string& text : journals(bench.sink)) CHECK(text.find("\nclosed,") != text.npos);
  check_adds_up(bench.session.counts());
}

TEST_CASE("losses: a journal that failed does not stain the one after init") {
  Bench<> bench;
  bench.start(everything(), kOneOp);
  bench.step();
  drain(bench);
  bench.sink.fail_at = bench.sink.calls;
  REQUIRE(bench.session.finalize() == Status::no_space);
  CHECK_FALSE(bench.session.initialised());
  CHECK(bench.session.counts().lost() == 0);
  CHECK(bench.session.journal_failure() == Status::no_space);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  bench.start(everything(), kOneOp);
  CHECK_FALSE(bench.session.journal_failed());
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK_FALSE(bench.session.journal_failed());
  CHECK(journals(bench.sink).back().ends_with("closed,1,1,0,0,0,0,0,0,0,0,0,0,1\n"));
}

TEST_CASE("losses: records of more than half a ring get through when what they find is drained in between") {
  constexpr std::size_t kRing = 4096;
  for (const std::size_t bytes : {std::size_t{2200}, std::size_t{3000}, std::size_t{3500}}) {
    CAPTURE(bytes);
    Bench<kRing> bench(WhenFull::drop);
    bench.start(everything(), kOneOp);
    const std::vector<std::byte> data(bytes);
    const Dim dims[] = {static_cast<Dim>(bytes)};
    const TensorView tensor = {address_of(data.data()), bytes, DType::uint8, Format::nd, dims};
    for (int i = 0; i < 200; ++i) {
      REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
      static_cast<void>(bench.recorder.capture(0, {}, {&tensor, 1}));
      REQUIRE(bench.recorder.end_step() == Status::ok);
      static_cast<void>(bench.session.drain_some(1000));
    }
    REQUIRE(bench.session.finalize() == Status::ok);
    const DumpCounts counts = bench.session.counts();
    CHECK(counts.written > 200 * 1000 / (bytes + 2000));
    CHECK(counts.cut_short == 0);
    CHECK(counts.written + counts.ring_full == 200);
  }
}
