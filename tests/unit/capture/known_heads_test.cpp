#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/impl/drain/known_heads.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/support/session_bench.hpp"

namespace opdump::tests {
namespace {

constexpr std::size_t kRingBytes = 8192;

/// A session that keeps the heads of up to `operators` operators. From HostMemory records are captured at once.
template <class Memory>
struct Knowing {
  explicit Knowing(std::size_t operators)
      : heads(head_memory_bytes(operators) / 8),
        recorder(*session.add_recorder(ring, std::as_writable_bytes(std::span(heads))).value()) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(everything()) == Status::ok);
  }

  void load(const ModelDesc& model) { REQUIRE(session.load_model(plan, model, bits) == Status::ok); }

  /// Captures operator `op` as a step of its own into the drained ring; returns the bytes of its first chunk.
  std::size_t capture(std::size_t op, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
    drain();
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    CHECK(recorder.capture(op, inputs, outputs) == Status::ok);
    REQUIRE(recorder.end_step() == Status::ok);
    return recorder.sender().ring().peek().size();
  }

  void drain() {
    while (session.drain_some(SIZE_MAX) != 0) continue;
  }

  Memory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[kRingBytes];
  std::vector<std::uint64_t> heads;
  BasicSession<Memory> session{{.memory = memory,
                                .sink = sink,
                                .clock = clock,
                                .scratch = scratch,
                                .when_full = WhenFull::inline_drain}};
  BasicRecorder<Memory>& recorder;
  ModelPlan plan;
  std::uint8_t bits[16] = {};
};

/// Captures with a knowing session and one that knows nothing, whose dumps have to be the same.
template <class Memory>
class Both {
 public:
  explicit Both(std::size_t operators) : knowing_(operators), plain_(0) {}

  void load(const ModelDesc& model) {
    knowing_.load(model);
    plain_.load(model);
  }
  void unload() {
    CHECK(knowing_.session.unload_model(knowing_.plan) == Status::ok);
    CHECK(plain_.session.unload_model(plain_.plan) == Status::ok);
  }

  /// Whether the head was sent as a number alone.
  bool capture(std::size_t op, std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
    return knowing_.capture(op, inputs, outputs) < plain_.capture(op, inputs, outputs);
  }

  void compare() {
    knowing_.drain();
    plain_.drain();
    CHECK(knowing_.session.finalize() == Status::ok);
    CHECK(plain_.session.finalize() == Status::ok);
    CHECK(knowing_.sink.objects == plain_.sink.objects);
    CHECK(knowing_.sink.journals == plain_.sink.journals);
    CHECK(knowing_.session.counts().written == plain_.session.counts().written);
    CHECK(knowing_.session.counts().lost() == 0);
  }

  Knowing<Memory> knowing_;
  Knowing<Memory> plain_;
};

}  // namespace

TEST_CASE_TEMPLATE("known heads: a head that comes again is sent as a number", Memory, FakeMemory,
                   HostMemory) {
  Both<Memory> both(3);
  both.load(kModel);
  Tensors tensors;
  CHECK_FALSE(both.capture(0, {&tensors.input, 1}, {&tensors.output, 1}));
  CHECK(both.capture(0, {&tensors.input, 1}, {&tensors.output, 1}));
  CHECK_FALSE(both.capture(1, {&tensors.input, 1}, {&tensors.output, 1}));
  CHECK(both.capture(1, {&tensors.input, 1}, {&tensors.output, 1}));
  CHECK(both.capture(0, {&tensors.input, 1}, {&tensors.output, 1}));
  both.compare();
}

TEST_CASE_TEMPLATE("known heads: an address may be another one each time", Memory, FakeMemory, HostMemory) {
  Both<Memory> both(1);
  both.load(kModel);
  Tensors tensors;
  both.capture(0, {&tensors.input, 1}, {&tensors.output, 1});
  tensors.input.address += 32;
  tensors.output.address += 64;
  CHECK(both.capture(0, {&tensors.input, 1}, {&tensors.output, 1}));
  both.compare();
}

TEST_CASE_TEMPLATE("known heads: whatever else changes, the head is sent whole", Memory, FakeMemory,
                   HostMemory) {
  Both<Memory> both(3);
  both.load(kModel);
  Tensors tensors;
  const Dim other_dims[] = {2, 8};
  const Dim one_dim[] = {16};
  const std::string_view names[] = {"graph_op_1", "graph_op_2"};
  const Dim first_dims[] = {1, 16};
  TensorView with_originals = tensors.output;
  with_originals.original_shape = first_dims;
  with_originals.original_name = names[1];
  with_originals.original_index = 1;
  with_originals.original_dtype = DType::float16;
  with_originals.original_format = Format::hwcn;
  int changes = 0;
  const auto change = [&](auto apply) {
    ++changes;
    for (const TensorView& base : {tensors.output, with_originals}) {
      CAPTURE(changes);
      CAPTURE(base.original_name);
      TensorView changed = base;
      apply(changed);
      // A second output behind it, which is found only where the first one's description ends.
      const TensorView before[] = {base, with_originals};
      const TensorView after[] = {changed, with_originals};
      both.capture(0, {&tensors.input, 1}, before);
      CHECK(both.capture(0, {&tensors.input, 1}, before));
      CHECK_FALSE(both.capture(0, {&tensors.input, 1}, after));
      CHECK(both.capture(0, {&tensors.input, 1}, after));
    }
  };
  change([](TensorView& view) { view.bytes = 72; });
  change([](TensorView& view) { view.dtype = DType::int32; });
  change([](TensorView& view) { view.format = Format::nchw; });
  change([&](TensorView& view) { view.shape = other_dims; });
  change([&](TensorView& view) { view.shape = one_dim; });
  change([&](TensorView& view) { view.original_shape = other_dims; });
  change([&](TensorView& view) { view.original_shape = one_dim; });
  change([&](TensorView& view) { view.original_name = names[0]; });
  change([](TensorView& view) { view.original_index = 3; });
  change([](TensorView& view) { view.original_dtype = DType::float64; });
  change([](TensorView& view) { view.original_format = Format::nhwc; });
  change([](TensorView& view) { view.address_kind = AddressKind::raw; });
  change([](TensorView& view) { view.original_name = "graph_op"; });

  // The same tensors in other roles, and names of the same length.
  both.capture(1, {&tensors.input, 1}, {&tensors.output, 1});
  const TensorView inputs[] = {tensors.input, tensors.output};
  CHECK_FALSE(both.capture(1, inputs, {}));
  CHECK_FALSE(both.capture(1, {}, inputs));
  tensors.output.original_name = names[0];
  both.capture(2, {}, {&tensors.output, 1});
  tensors.output.original_name = names[1];
  CHECK_FALSE(both.capture(2, {}, {&tensors.output, 1}));
  both.compare();
}

TEST_CASE("known heads: each dim counts, whatever the rank") {
  Dim known[] = {2, 3, 4, 5, 6, 7};
  const auto* const at = reinterpret_cast<const std::byte*>(known);
  for (std::size_t rank = 0; rank <= std::size(known); ++rank) {
    std::vector<Dim> dims(known, known + rank);
    CHECK(past_dims(at, dims) == at + rank * sizeof(Dim));
    for (std::size_t i = 0; i < rank; ++i) {
      for (const Dim other : {dims[i] + 1, dims[i] + (Dim{1} << 63)}) {
        dims[i] = other;
        CHECK(past_dims(at, dims) == nullptr);
        dims[i] = known[i];
      }
    }
  }
}

TEST_CASE_TEMPLATE(
    "known heads: the first operators of a model keep the memory, a model loaded later gets it", Memory,
    FakeMemory, HostMemory) {
  Both<Memory> both(1);
  both.load(kModel);
  Tensors tensors;
  for (int i = 0; i < 2; ++i) {
    for (const std::size_t op : {1u, 0u, 2u})
      CHECK(both.capture(op, {}, {&tensors.output, 1}) == (i == 1 && op == 1));
  }
  both.unload();
  OpDesc ops[] = {kOps[0], kOps[1], kOps[2]};
  ops[1].name = "pool9";
  const ModelDesc other = {.name = "ten", .id = 10, .ops = ops};
  both.load(other);
  CHECK_FALSE(both.capture(1, {}, {&tensors.output, 1}));
  CHECK(both.capture(1, {}, {&tensors.output, 1}));
  both.compare();
}

TEST_CASE_TEMPLATE("known heads: too large a head is always sent whole", Memory, FakeMemory, HostMemory) {
  Both<Memory> both(1);
  both.load(kModel);
  Tensors tensors;
  const std::vector<TensorView> outputs(8, tensors.output);
  both.capture(0, {}, outputs);
  CHECK_FALSE(both.capture(0, {}, outputs));
  both.compare();
}

TEST_CASE_TEMPLATE("known heads: what is made ready of a head is as much as fits behind it", Memory,
                   FakeMemory, HostMemory) {
  Both<Memory> both(3);
  both.load(kModel);
  Tensors tensors;
  for (std::size_t count = 1; count <= 8; ++count) {
    CAPTURE(count);
    std::vector<TensorView> outputs(count, tensors.output);
    for (int i = 0; i < 3; ++i) {
      both.capture(0, {}, outputs);
      outputs.back().address += 32;
    }
  }
  both.compare();
}

TEST_CASE_TEMPLATE("known heads: names follow the time, however it goes", Memory, FakeMemory, HostMemory) {
  Both<Memory> both(3);
  both.load(kModel);
  Tensors tensors;
  constexpr std::uint64_t kDigits = 10'000'000'000'000'000;
  for (const std::uint64_t now_us :
       {std::uint64_t{3}, std::uint64_t{99'999'998}, std::uint64_t{100'000'007}, std::uint64_t{5},
        std::uint64_t{1'700'000'012'345'678}, std::uint64_t{1'700'000'099'999'998},
        std::uint64_t{1'700'000'300'000'000}, kDigits - 2, kDigits + 1, 20 * kDigits}) {
    CAPTURE(now_us);
    both.knowing_.clock.now_us = both.plain_.clock.now_us = now_us;
    for (const std::size_t op : {0u, 1u, 0u}) both.capture(op, {}, {&tensors.output, 1});
  }
  both.compare();
}

TEST_CASE_TEMPLATE(
    "known heads: the records of one step, also where a name is taken, and where the sink fails", Memory,
    FakeMemory, HostMemory) {
  Tensors tensors;
  const auto captured = [&](Knowing<Memory>& to, int fail_in) {
    to.load(kModel);
    to.clock.now_us = 1'700'000'000'000'000;
    REQUIRE(to.recorder.begin_step(to.plan) == Status::ok);
    const auto capture = [&](std::size_t op) {
      CHECK(to.recorder.capture(op, {}, {&tensors.output, 1}) == Status::ok);
      to.drain();
    };
    for (const std::size_t op : {0u, 1u, 0u, 0u, 1u}) capture(op);
    std::string taken = to.sink.objects.begin()->first;
    taken.replace(taken.size() - 1, 1, "6");
    to.sink.objects[taken] = {std::byte{1}};
    if (fail_in >= 0) to.sink.fail_at = to.sink.calls + fail_in;
    for (int i = 0; i < 6; ++i) capture(0);
    REQUIRE(to.recorder.end_step() == Status::ok);
    const Status ended = to.session.finalize();
    CHECK(ended == to.session.journal_failure());
    CHECK(to.sink.open_objects.empty());
    CHECK(to.sink.objects[taken].size() == 1);
  };
  for (int fail_in = -1; fail_in < 15; ++fail_in) {
    CAPTURE(fail_in);
    Knowing<Memory> knowing(3);
    Knowing<Memory> plain(0);
    captured(knowing, fail_in);
    captured(plain, fail_in);
    CHECK(knowing.sink.objects == plain.sink.objects);
    CHECK(knowing.sink.journals == plain.sink.journals);
    const DumpCounts counts = knowing.session.counts();
    CHECK(counts.written == plain.session.counts().written);
    CHECK(counts.written + counts.lost() == 11);
    const bool journal_failed = knowing.session.journal_failed();
    CHECK(counts.lost() == (fail_in < 0 || journal_failed ? 0 : 1));
  }
}

TEST_CASE_TEMPLATE("known heads: more than a thousand records of one step, wherever their tensors lie",
                   Memory, FakeMemory, HostMemory) {
  Tensors tensors;
  const auto captured = [&tensors](Knowing<Memory>& to) {
    to.load(kModel);
    to.clock.now_us = 1'700'000'000'000'000;
    REQUIRE(to.recorder.begin_step(to.plan) == Status::ok);
    TensorView tensor = tensors.output;
    for (std::uint32_t i = 0; i < 1100; ++i) {
      if (i % 5 == 0) tensor.address = tensors.output.address + i % 3 * 8;
      CHECK(to.recorder.capture(i % 2, {}, {&tensor, 1}) == Status::ok);
      if (i % 7 == 0) to.drain();
    }
    REQUIRE(to.recorder.end_step() == Status::ok);
    REQUIRE(to.session.finalize() == Status::ok);
  };
  Knowing<Memory> knowing(3);
  Knowing<Memory> plain(0);
  captured(knowing);
  captured(plain);
  CHECK(knowing.sink.objects.size() == 1100);
  CHECK(knowing.sink.objects == plain.sink.objects);
  CHECK(knowing.sink.journals == plain.sink.journals);
}

TEST_CASE_TEMPLATE("known heads: tensors larger than the ring stream behind a number too", Memory, FakeMemory,
                   HostMemory) {
  Both<Memory> both(3);
  both.load(kModel);
  std::vector<std::byte> data(3 * kRingBytes);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  const Dim dims[] = {data.size()};
  const TensorView large = {
      .address = address_of(data.data()), .bytes = data.size(), .dtype = DType::uint8, .shape = dims};
  for (int i = 0; i < 3; ++i) both.capture(2, {&large, 1}, {&large, 1});
  both.compare();
}

TEST_CASE("known heads: a record that fails leaves no head that the drainer does not know") {
  Knowing<FakeMemory> knowing(3);
  knowing.load(kModel);
  Tensors tensors;
  REQUIRE(knowing.recorder.begin_step(knowing.plan) == Status::ok);
  knowing.memory.fail_at = 0;
  CHECK(knowing.recorder.capture(0, {}, {&tensors.output, 1}) == Status::device_copy_failed);
  CHECK(knowing.recorder.capture(0, {}, {&tensors.output, 1}) == Status::ok);
  knowing.memory.fail_at = knowing.memory.copies;
  CHECK(knowing.recorder.capture(0, {}, {&tensors.output, 1}) == Status::device_copy_failed);
  CHECK(knowing.recorder.capture(0, {}, {&tensors.output, 1}) == Status::ok);
  REQUIRE(knowing.recorder.end_step() == Status::ok);
  REQUIRE(knowing.session.finalize() == Status::ok);
  CHECK(knowing.session.counts().written == 2);
  CHECK(knowing.session.counts().device_failed == 2);
  CHECK(knowing.sink.objects.size() == 2);
  const std::string& journal = knowing.sink.journals.begin()->second;
  CHECK(journal.find("lost,0,2,device_failed,0/net/9/0/Conv2D.conv1_relu1.3.1\n") != journal.npos);
}

TEST_CASE_TEMPLATE("known heads: a recorder that is added again knows nothing", Memory, FakeMemory,
                   HostMemory) {
  Knowing<Memory> knowing(3);
  knowing.load(kModel);
  Tensors tensors;
  const std::size_t whole = knowing.capture(0, {}, {&tensors.output, 1});
  CHECK(knowing.capture(0, {}, {&tensors.output, 1}) < whole);
  CHECK(knowing.session.remove_recorder(knowing.recorder) == Status::ok);
  std::vector<std::uint64_t> heads(head_memory_bytes(2) / 8);
  REQUIRE(knowing.session.add_recorder(knowing.ring, std::as_writable_bytes(std::span(heads))).value() ==
          &knowing.recorder);
  CHECK(knowing.capture(0, {}, {&tensors.output, 1}) == whole);
  CHECK(knowing.capture(0, {}, {&tensors.output, 1}) < whole);
  CHECK(knowing.session.finalize() == Status::ok);
  CHECK(knowing.session.counts().written == 4);
}

TEST_CASE("known heads: memory that is not aligned or holds no head is refused") {
  Knowing<FakeMemory> knowing(0);
  alignas(8) std::byte ring[256];
  alignas(8) std::byte heads[head_memory_bytes(1) + 1];
  const std::span<std::byte> all(heads);
  CHECK(knowing.session.add_recorder(ring, all.subspan(1)).status() == Status::invalid_argument);
  for (const std::size_t bytes : {std::size_t{1}, sizeof heads - 2})
    CHECK(knowing.session.add_recorder(ring, all.first(bytes)).status() == Status::invalid_argument);
  REQUIRE(knowing.session.add_recorder(ring, all.first(sizeof heads - 1)).ok());
}

namespace {

/// A session in a small ring that may wait, with the head of operator 2 known and all drained.
struct Waiting {
  explicit Waiting(WhenFull when_full)
      : session({.memory = memory,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch,
                 .when_full = when_full,
                 .block_limit_ms = 20}),
        recorder(*session.add_recorder(ring, heads).value()) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(everything()) == Status::ok);
    REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    CHECK(capture(tensors.output) == Status::ok);
    drain();
  }

  Status capture(const TensorView& tensor) { return recorder.capture(2, {}, {&tensor, 1}); }

  void drain() {
    while (session.drain_some(SIZE_MAX) != 0) continue;
  }

  /// All that was wanted is written, or lost and in the journal.
  void finish() {
    drain();
    REQUIRE(recorder.end_step() == Status::ok);
    REQUIRE(session.finalize() == Status::ok);
    const DumpCounts counts = session.counts();
    CHECK(counts.written == counts.captured);
    CHECK(counts.wanted == counts.captured + counts.lost());
    CHECK(sink.objects.size() == counts.written);
  }

  HostMemory memory;
  FakeSink sink;
  FakeClock clock;
  Tensors tensors;
  std::byte scratch[1024];
  alignas(8) std::byte ring[2048];
  alignas(8) std::byte heads[head_memory_bytes(3)];
  BasicSession<HostMemory> session;
  BasicRecorder<HostMemory>& recorder;
  ModelPlan plan;
  std::uint8_t bits[3] = {};
};

ChunkHead first_chunk(BasicRecorder<HostMemory>& recorder) {
  const Bytes chunk = recorder.sender().ring().peek();
  REQUIRE(chunk.size() >= sizeof(ChunkHead));
  ChunkHead head;
  std::memcpy(&head, chunk.data(), sizeof head);
  return head;
}

}  // namespace

TEST_CASE("known heads: a record at once tells of no loss, so the one after a loss is not made so") {
  Waiting rig(WhenFull::drop);
  std::uint32_t lost = 0;
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    // Until not even a mark of a loss finds room.
    std::uint32_t next = 0;
    while (rig.recorder.sender().untold().look(next).causes == 0) {
      const Status status = rig.capture(rig.tensors.output);
      lost += status == Status::ring_full ? 1 : 0;
      REQUIRE((status == Status::ok || status == Status::ring_full));
      CHECK(rig.session.counts().ring_full == lost);
    }
    // Some room, and no more.
    REQUIRE(rig.session.drain_some(round == 0 ? SIZE_MAX : 1 + static_cast<std::size_t>(round)) != 0);
    const std::uint32_t before = rig.session.counts().captured;
    if (rig.capture(rig.tensors.output) == Status::ok) {
      CHECK(rig.recorder.sender().untold().look(next).causes == 0);
      CHECK(rig.session.counts().captured == before + 1);
    } else {
      ++lost;
    }
    rig.drain();
    CHECK(rig.capture(rig.tensors.output) == Status::ok);
    CHECK(rig.recorder.sender().untold().look(next).causes == 0);
    rig.drain();
    CHECK(rig.capture(rig.tensors.output) == Status::ok);
    CHECK(first_chunk(rig.recorder).kind == ChunkKind::again);
    CHECK(first_chunk(rig.recorder).gap().causes == 0);
  }
  CHECK(lost >= 5);
  rig.finish();
}

TEST_CASE("known heads: a record for which there is room where there was none for a loss tells of it") {
  Waiting rig(WhenFull::drop);
  const std::byte data[600] = {};
  const Dim dims[] = {1, sizeof data};
  const auto capture = [&](std::size_t op, std::size_t bytes) {
    const TensorView tensor = {.address = address_of(data),
                               .bytes = bytes,
                               .dtype = DType::uint8,
                               .shape = Shape(dims).subspan(bytes == 1 ? 0 : 1, 1)};
    return rig.recorder.capture(op, {}, {&tensor, 1});
  };
  CHECK(capture(1, 1) == Status::ok);
  int told = 0;
  for (int records = 0; records < 64; ++records) {
    CAPTURE(records);
    rig.drain();
    for (int i = 0; i < records; ++i) capture(1, 1);
    std::uint32_t next = 0;
    if (capture(0, sizeof data) == Status::ok || rig.recorder.sender().untold().look(next).causes == 0)
      continue;
    if (capture(1, 1) != Status::ok) continue;
    ++told;
    CHECK(rig.recorder.sender().untold().look(next).causes == 0);
  }
  CHECK(told != 0);
  rig.finish();
}

TEST_CASE("known heads: records at once wake who drains as others do") {
  struct Counter final : Waker {
    void wake() override { ++calls; }
    int calls = 0;
  } waker;
  Waiting rig(WhenFull::drop);
  REQUIRE(rig.session.attach_drainer(&waker) == Status::ok);
  for (int round = 1; round <= 40; ++round) {
    CAPTURE(round);
    // From each place in the ring, up to half of it and beyond.
    while (rig.recorder.sender().ring().used() <= rig.recorder.sender().ring().size() / 2) {
      REQUIRE(waker.calls == round - 1);
      REQUIRE(rig.capture(rig.tensors.output) == Status::ok);
    }
    CHECK(waker.calls == round);
    for (int more = 0; more < round % 5; ++more) CHECK(rig.capture(rig.tensors.output) == Status::ok);
    CHECK(waker.calls == round);
    rig.drain();
  }
  rig.session.detach_drainer();
  rig.finish();
}

TEST_CASE("known heads: a record at once after a wait in vain makes the next one wait again") {
  Waiting rig(WhenFull::block);
  const std::byte data[600] = {};
  const Dim dims[] = {sizeof data};
  const TensorView large = {
      .address = address_of(data), .bytes = sizeof data, .dtype = DType::uint8, .shape = dims};
  const auto capture_large = [&] { return rig.recorder.capture(1, {}, {&large, 1}); };
  while (capture_large() == Status::ok) continue;
  CHECK(rig.session.counts().timed_out == 1);
  int pauses = rig.clock.pauses;
  CHECK(pauses != 0);
  CHECK(capture_large() == Status::timeout);
  CHECK(rig.clock.pauses == pauses);
  // A small one finds room.
  CHECK(rig.capture(rig.tensors.output) == Status::ok);
  CHECK(rig.clock.pauses == pauses);
  CHECK(capture_large() == Status::timeout);
  CHECK(rig.clock.pauses > pauses);
  CHECK(rig.session.counts().timed_out == 3);
  rig.finish();
}

TEST_CASE("known heads: records of configs in memory of the caller are counted as others are") {
  if (!Targets::kGrows) return;
  constexpr int kMore = 3, kAll = Targets::kMax + kMore;
  alignas(8) std::byte more[more_config_bytes(kMore) + 7];
  HostMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[kRingBytes];
  alignas(8) std::byte heads[head_memory_bytes(3)];
  BasicSession<HostMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::drop,
                                    .more_configs = more});
  auto& recorder = *session.add_recorder(ring, heads).value();
  REQUIRE(session.init() == Status::ok);
  ModelPlan plans[kAll];
  std::uint8_t bits[kAll][3];
  Tensors tensors;
  for (int i = 0; i < kAll; ++i) {
    REQUIRE(session.set_config(everything()) == Status::ok);
    REQUIRE(session.load_model(plans[i], kModel, bits[i]) == Status::ok);
  }
  for (int i = 0; i < kAll; ++i) {
    CAPTURE(i);
    for (int step = 0; step < 4; ++step) {
      REQUIRE(recorder.begin_step(plans[i]) == Status::ok);
      for (int again = 0; again < 3; ++again)
        CHECK(recorder.capture(1, {}, {&tensors.output, 1}) == Status::ok);
      REQUIRE(recorder.end_step() == Status::ok);
      while (session.drain_some(SIZE_MAX) != 0) continue;
      const DumpCounts counts = session.counts();
      CHECK(counts.wanted == static_cast<std::uint32_t>(12 * i + 3 * step + 3));
      CHECK(counts.captured == counts.wanted);
      CHECK(counts.written == counts.wanted);
    }
  }
  REQUIRE(session.finalize() == Status::ok);
  CHECK(sink.objects.size() == session.counts().written);
  int closed = 0;
  for (const auto& [name, text] : sink.journals)
    closed += text.find("closed,12,12,0,0,0,0,0,0,0,0,0,0,12\n") != std::string::npos ? 1 : 0;
  CHECK(closed == kAll);
}

TEST_CASE("known heads: what cannot be captured at once is refused as ever, and read the clock once") {
  Waiting rig(WhenFull::drop);
  TensorView nowhere = rig.tensors.output;
  nowhere.address = 0;
  const std::uint64_t before = rig.clock.now_us;
  CHECK(rig.capture(nowhere) == Status::device_copy_failed);
  CHECK(rig.clock.now_us == before + 1);
  CHECK(rig.session.counts().device_failed == 1);
  CHECK(rig.recorder.capture(3, {}, {&rig.tensors.output, 1}) == Status::no_such_op);
  CHECK(rig.recorder.capture(SIZE_MAX, {}, {&rig.tensors.output, 1}) == Status::no_such_op);
  CHECK(rig.capture(rig.tensors.output) == Status::ok);
  CHECK(rig.clock.now_us == before + 2);
  REQUIRE(rig.recorder.end_step() == Status::ok);
  CHECK(rig.capture(rig.tensors.output) == Status::step_not_open);
  REQUIRE(rig.recorder.begin_step(rig.plan) == Status::ok);
  rig.finish();
}

}  // namespace opdump::tests
