#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

TEST_CASE("journal: tells every record, in order, and closes with the counts") {
  Bench<1024> bench;
  bench.start(everything());
  bench.step();
  std::vector<float> big(500);
  const Dim dims[] = {500};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 2000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(1, {}, {&tensor, 1}) == Status::ok);
  bench.memory.fail_at = bench.memory.copies;
  CHECK(bench.recorder.capture(2, {&tensor, 1}, {}) == Status::device_copy_failed);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.journals.size() == 1);
  const auto& [name, text] = *bench.sink.journals.begin();
  CHECK(name == "/dump|20231114221320|opdump.2.1700000000000001.journal");
  CHECK(text ==
        "opdump-journal,1,records\n"
        "from,0,0\n"
        "written,0,0,375,2/net/9/0/Conv2D.conv1_relu1.3.1.1700000000000002\n"
        "written,0,1,369,2/net/9/0/MaxPool.pool1.4.1.1700000000000003\n"
        "written,0,2,366,2/net/9/0/MatMul.fc.5.2.1700000000000004\n"
        "begun,0,3,2/net/9/1/MaxPool.pool1.4.1.1700000000000005\n"
        "written,0,3,2137,\n"
        "begun,0,4,2/net/9/1/MatMul.fc.5.2.1700000000000006\n"
        "lost,0,4,device_failed,2/net/9/1/MatMul.fc.5.2\n"
        "to,0,5\n"
        "closed,5,4,0,0,1,0,0,0,0,1,0,0,4\n");
}

TEST_CASE("journal: what finds no room to be told is a gap") {
  Bench<1024> bench(WhenFull::drop);
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  bench.start(everything(), one_op);
  for (int i = 0; i < 9; ++i) bench.step();
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  bench.step();
  for (int i = 0; i < 9; ++i) bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string& text = bench.sink.journals.begin()->second;
  CAPTURE(text);
  CHECK(text.find("\nlost,0,") != std::string::npos);
  CHECK(text.find(",ring_full,2/one/0/") != std::string::npos);
  CHECK(text.find("\ngap,0,") != std::string::npos);
  CHECK(text.find(",18,ring_full\nto,0,19\nclosed,19,") != std::string::npos);
}

TEST_CASE("journal: losses of a recorder that never got anything through are told all the same") {
  Bench<64> bench(WhenFull::drop);
  bench.start(everything());
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().too_large == 3);
  CHECK(
      bench.sink.journals.begin()->second ==
      "opdump-journal,1,records\nfrom,0,0\ngap,0,0,2,too_large\nto,0,3\nclosed,3,0,0,0,0,0,0,0,3,0,0,0,0\n");
}

TEST_CASE("journal: less of it, or none") {
  for (const JournalDetail detail : {JournalDetail::none, JournalDetail::gaps}) {
    Bench bench(WhenFull::inline_drain, 50, detail);
    const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
    bench.start(everything(), one_op);
    bench.step();
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.sink.objects.size() == 1);
    CHECK(bench.sink.journals.size() == (detail == JournalDetail::none ? 0 : 1));
    for (const auto& [name, text] : bench.sink.journals)
      CHECK(text == "opdump-journal,1,gaps\nfrom,0,0\nto,0,1\nclosed,1,1,0,0,0,0,0,0,0,0,0,0,1\n");
  }
}

TEST_CASE("journal: of gaps, a sync tells up to which record it is certain, and a drain once in a while") {
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  for (const JournalDetail detail : {JournalDetail::records, JournalDetail::gaps}) {
    Bench<65536> bench(WhenFull::drop, 50, detail);
    bench.start(everything(), one_op);
    bench.step();
    bench.step();
    CHECK(bench.session.sync() == Status::ok);
    CHECK(bench.sink.journals.empty());  // nothing is drained yet
    while (bench.session.drain_some(SIZE_MAX) != 0) continue;
    const std::string& text = bench.sink.journals.begin()->second;
    const std::string before = text;
    CHECK(before.find("to,") == std::string::npos);
    CHECK(bench.session.sync() == Status::ok);
    const std::string told = text;
    CHECK(told == before + (detail == JournalDetail::gaps ? "to,0,2\nfrom,0,2\n" : ""));
    CHECK(bench.session.sync() == Status::ok);
    CHECK(text == told);  // nothing new
    std::size_t moved = 0;
    std::uint32_t steps = 2;
    while (moved < Drainer::kBytesToCertain) {
      if (detail == JournalDetail::gaps) CHECK(text == told);
      bench.step();
      ++steps;
      for (std::size_t now; (now = bench.session.drain_some(SIZE_MAX)) != 0;) moved += now;
    }
    const std::string number = std::to_string(steps);
    if (detail == JournalDetail::gaps) CHECK(text == told + "to,0," + number + "\nfrom,0," + number + "\n");
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(text.find("to,0," + number + "\nclosed,") != std::string::npos);
  }
}

TEST_CASE("journal: of gaps, of a record that is half drained nothing is certain") {
  Bench<16384> bench(WhenFull::drop, 50, JournalDetail::gaps);
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  bench.start(everything(), one_op);
  bench.step();
  std::vector<float> big(2000);
  const Dim dims[] = {2000};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 8000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  while (bench.sink.objects.empty()) bench.session.drain_some(1);
  REQUIRE(bench.session.drain_some(512) != 0);
  CHECK(bench.session.sync() == Status::ok);
  CHECK(bench.sink.journals.begin()->second == "opdump-journal,1,gaps\nfrom,0,0\nto,0,1\nfrom,0,1\n");
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 2);
}

namespace {

/// Of records 0 to 8 the first five are told in a batch that the sink refuses, and 3, 5 and 6 are lost.
std::string told_behind_a_refused_batch(FakeSink& sink, JournalDetail detail) {
  std::byte memory[journal_line_bytes(64)];
  BasicJournal<true> journal(sink, memory, detail);
  const DumpTarget target = {.root = "/dump", .time = 20260101000000, .id = 7};
  journal.from(target, 0, 0);
  journal.from(target, 1, 0);
  journal.flush();
  const std::size_t before = sink.journals.begin()->second.size();
  journal.lost(target, 0, 3, bit(LossCause::sink_failed), Status::ok, {});
  sink.fail_at = sink.calls;
  journal.flush();
  CHECK(journal.failure() == Status::no_space);
  journal.lost(target, 0, 5, bit(LossCause::sink_failed), Status::ok, {});
  journal.flush();
  journal.lost(target, 0, 6, bit(LossCause::sink_failed), Status::ok, {});
  journal.to(target, 0, 9);
  journal.to(target, 1, 2);
  DumpCounts counts;
  counts.wanted = counts.captured = 11;
  counts.written = 8;
  counts.sink_failed = 3;
  journal.closed(target, counts);
  journal.flush();
  return sink.journals.begin()->second.substr(before);
}

}  // namespace

TEST_CASE("journal: of gaps, begins each recorder again behind lines that were refused") {
  FakeSink sink;
  CHECK(told_behind_a_refused_batch(sink, JournalDetail::gaps) ==
        "opdump-journal,1,gaps\nfrom,0,5\nlost,0,5,sink_failed,\nlost,0,6,sink_failed,\nto,0,9\n"
        "from,1,2\nto,1,2\nclosed,11,11,0,0,0,0,0,0,0,0,3,0,8\n");
}

TEST_CASE("journal: of records, shows by its numbers that lines were refused") {
  FakeSink sink;
  CHECK(told_behind_a_refused_batch(sink, JournalDetail::records) ==
        "opdump-journal,1,records\nlost,0,5,sink_failed,\nlost,0,6,sink_failed,\nto,0,9\n"
        "to,1,2\nclosed,11,11,0,0,0,0,0,0,0,0,3,0,8\n");
}
