#include <doctest/doctest.h>

#include <dlfcn.h>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/xxh3.hpp"
#include "opdump/parts/digests.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/support/digest_entries.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

std::vector<std::byte> noise(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

std::uint32_t bit_by_bit(Bytes bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

template <class Digest>
std::uint64_t in_pieces(Digest digest, Bytes bytes, std::size_t piece) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece, bytes.size())))
    digest.add(bytes.first(std::min(piece, bytes.size())));
  std::byte result[Digest::kBytes];
  digest.finish(result);
  std::uint64_t value = 0;
  for (std::size_t i = Digest::kBytes; i-- != 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(result[i]);
  return value;
}

constexpr std::size_t kPieces[] = {1, 7, 64, 255, 256, 257, 1000, 100000};

}  // namespace

TEST_CASE("digests: CRC-32C is that of RFC 3720, appendix B.4") {
  std::vector<std::byte> bytes(32);
  for (const Crc32cKernel kernel : {&crc32c, crc32c_kernel()}) {
    const auto of = [kernel](const std::vector<std::byte>& all) { return kernel(0, all.data(), all.size()); };
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    CHECK(of(bytes) == 0x8a9136aa);
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
    CHECK(of(bytes) == 0x62a8ab43);
    for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
    CHECK(of(bytes) == 0x46dd794e);
    std::reverse(bytes.begin(), bytes.end());
    CHECK(of(bytes) == 0x113fdb5c);
    std::vector<std::byte> command(48);  // an iSCSI read
    command[0] = std::byte{0x01};
    command[1] = std::byte{0xc0};
    command[16] = command[20] = command[32] = std::byte{0x14};
    command[20] = std::byte{0};
    command[22] = std::byte{0x04};
    command[23] = std::byte{0};
    command[27] = std::byte{0x14};
    command[31] = std::byte{0x18};
    command[32] = std::byte{0x28};
    command[40] = std::byte{0x02};
    CHECK(of(command) == 0xd9963a56);
  }
}

TEST_CASE("digests: every kernel of CRC-32C equals the sum bit by bit, at any length and address") {
  const std::vector<std::byte> all = noise(20000);
  for (std::size_t bytes = 0; bytes < all.size(); bytes = bytes < 100 ? bytes + 1 : bytes * 5 / 4) {
    CAPTURE(bytes);
    const std::size_t from = bytes % 8 < all.size() - bytes ? bytes % 8 : 0;
    const Bytes part = Bytes(all).subspan(from, bytes);
    const std::uint32_t expected = bit_by_bit(part);
    CHECK(Crc32<0, kCrc32cPolynomial>::update(0, part.data(), bytes) == expected);
    CHECK(Crc32<64, kCrc32cPolynomial>::update(0, part.data(), bytes) == expected);
    CHECK(Crc32<1024, kCrc32cPolynomial>::update(0, part.data(), bytes) == expected);
    CHECK(Crc32<8192, kCrc32cPolynomial>::update(0, part.data(), bytes) == expected);
    for (const std::size_t piece : kPieces) {
      CHECK(in_pieces(Crc32c(), part, piece) == expected);
      CHECK(in_pieces(Crc32c(crc32c_kernel()), part, piece) == expected);
    }
  }
}

TEST_CASE("digests: XXH3 equals what libxxhash 0.8.1 makes of the same bytes") {
  struct Known {
    std::size_t bytes;
    std::uint64_t hash;
  };
  constexpr Known kKnown[] = {
      {0, 0x2d06800538d394c2},    {1, 0x429e81bc6744101c},    {2, 0xa65771cbfd464c2d},
      {3, 0x32dbb5c7774cc94f},    {4, 0x65775238ca34c06f},    {5, 0xd3bdebb681920cdf},
      {8, 0x90b760c9d253d0ff},    {9, 0x15ae9f843bb50ea4},    {12, 0x8b715eccbb8c022c},
      {16, 0x372c92fa68129c98},   {17, 0xb5d6b9c1898bd9d6},   {32, 0x0ab1dbf9e9f8c22c},
      {33, 0x4f4ae280e8465c3c},   {64, 0x84fcac4cce9f990d},   {65, 0x2c9f18dff914a8bd},
      {96, 0xe1e1ba1b4e47ded7},   {97, 0x5cc877781800cb6b},   {128, 0xc59e505a97d029e0},
      {129, 0xf9e651a476d6d3ca},  {144, 0x6630fc8e0296f27f},  {200, 0x85d691776ef97dbe},
      {240, 0x967597e635f3c527},  {241, 0xd6afac6f8fa85b01},  {255, 0x22062a421972fdde},
      {256, 0x9e6593bab96413da},  {257, 0xc7f456fff4eaca08},  {300, 0x85cda8a8f5619a09},
      {319, 0x3983c8bf8dce5816},  {320, 0xc728c9e2ed449218},  {321, 0xf69dc1717f6a541b},
      {511, 0xf8e3fbcf89733a1a},  {512, 0x426b67e0356d303d},  {513, 0xb757ecc047a39809},
      {1023, 0x120a0457e3e899f6}, {1024, 0xbb9f0c3761cdfd54}, {1025, 0x95edccc1adc4d895},
      {1088, 0xe8391a3978cbcf06}, {2048, 0x278f7a6a39416b51}, {4096, 0x436f521f6688c5ed},
      {5000, 0x06983d4ce0939f36}};
  const std::vector<std::byte> all = noise(5000);
  for (const Known& known : kKnown) {
    CAPTURE(known.bytes);
    for (const std::size_t piece : kPieces)
      CHECK(in_pieces(Xxh3(), Bytes(all).first(known.bytes), piece) == known.hash);
  }
}

TEST_CASE("digests: XXH3 equals that of libxxhash at every length, where it is installed") {
  void* const library = dlopen("libxxhash.so.0", RTLD_NOW);
  if (library == nullptr) return;
  const auto reference =
      reinterpret_cast<std::uint64_t (*)(const void*, std::size_t)>(dlsym(library, "XXH3_64bits"));
  REQUIRE(dlsym(library, "XXH3_64bits") != nullptr);
  const std::vector<std::byte> all = noise(2200);
  for (std::size_t bytes = 0; bytes <= all.size(); ++bytes) {
    CAPTURE(bytes);
    const std::size_t piece = kPieces[bytes % std::size(kPieces)];
    REQUIRE(in_pieces(Xxh3(), Bytes(all).first(bytes), piece) == reference(all.data(), bytes));
  }
  dlclose(library);
}

namespace {

constexpr StatBits kEach[] = {kDigestCrc32c, kDigestXxh3, kDigestMd5};

DumpConfig digest_config(StatBits digest) {
  DumpConfig config = everything();
  config.form.data = DumpData::statistics;
  config.form.statistics = digest;
  return config;
}

const std::string* digests_of(const FakeSink& sink) {
  for (const auto& [path, text] : sink.journals) {
    if (path.ends_with(".digests")) return &text;
  }
  return nullptr;
}

std::string journal_of(const FakeSink& sink) {
  for (const auto& [path, text] : sink.journals) {
    if (path.ends_with(".journal")) return text;
  }
  return {};
}

template <class Digest>
std::string digest_of(Digest digest, const TensorView& tensor) {
  digest.add({reinterpret_cast<const std::byte*>(tensor.address), tensor.bytes});
  std::byte result[Digest::kBytes];
  digest.finish(result);
  return std::string(as_text(Bytes(result)));
}

std::string digest_of(StatBits kind, const TensorView& tensor) {
  if (kind == kDigestCrc32c) return digest_of(Crc32c(), tensor);
  return kind == kDigestXxh3 ? digest_of(Xxh3(), tensor) : digest_of(Md5(), tensor);
}

/// A session that writes digests of a model of `layer0`, `layer1`... to a flash log of as many blocks of 4
/// KiB, as firmware does.
struct LogRig {
  LogRig(std::uint32_t blocks, flashlog::Policy policy, std::uint32_t op_count, StatBits kind,
         bool hold = false)
      : flash({.block_bytes = 4096, .block_count = blocks, .program_bytes = 1, .bits_only_clear = true}, 256),
        log(device, page, {.policy = policy}) {
    for (std::uint32_t op = 0; op < op_count; ++op) names.push_back("layer" + std::to_string(op));
    for (std::uint32_t op = 0; op < op_count; ++op)
      ops.push_back({.name = names[op], .type = "Conv2D", .task_id = op, .stream_id = 0});
    model.ops = ops;
    bits.resize(op_count);
    REQUIRE(log.mount() == Status::ok);
    digests.hold(hold);
    recorder = session.add_recorder(ring).value();
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(digest_config(kind)) == Status::ok);
    REQUIRE(session.load_model(plan, model, bits) == Status::ok);
  }

  void step() {
    REQUIRE(recorder->begin_step(plan) == Status::ok);
    for (std::size_t op = 0; op < ops.size(); ++op)
      REQUIRE(recorder->capture(op, {}, {&tensors.output, 1}) == Status::ok);
    REQUIRE(recorder->end_step() == Status::ok);
    // As an idle loop does, little at a time.
    while (session.drain_some(256)) continue;
  }

  /// The file of digests that the log holds.
  std::string kept() const {
    for (const auto& [path, text] : read_flash(device).journals) {
      if (path.ends_with(".digests")) return text;
    }
    return {};
  }

  FlashEmulator flash;
  const flashlog::Device device = flash.device();
  std::vector<std::byte> page = std::vector<std::byte>(flashlog::FlashLog::kPrefixBytes + 256);
  flashlog::FlashLog log;
  HostMemory memory;
  FakeClock clock;
  DigestReduction<HostMemory> digests{memory};
  std::byte scratch[1024];
  alignas(8) std::byte ring[8192];
  BasicSession<HostMemory> session{{.memory = memory,
                                    .sink = log,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::drop,
                                    .journal = JournalDetail::gaps,
                                    .reduction = &digests}};
  BasicRecorder<HostMemory>* recorder = nullptr;
  std::vector<std::string> names;
  std::vector<OpDesc> ops;
  ModelDesc model = {.name = "net", .id = 1};
  ModelPlan plan;
  std::vector<std::uint8_t> bits;
  Tensors tensors;
};

/// Of flash, over steps in which each digest differs from the one before.
double bytes_per_tensor(LogRig& rig, std::uint32_t steps, std::uint32_t ops_per_step) {
  for (std::uint32_t step = 0; step < steps; ++step) {
    rig.tensors.values[17] = static_cast<float>(step);
    rig.step();
  }
  REQUIRE(rig.session.finalize() == Status::ok);
  CHECK(rig.session.counts().written == steps * ops_per_step);
  const DigestEntries entries = digest_entries(rig.kept());
  CHECK(entries.wrong == "");
  CHECK(entries.records.size() == steps * ops_per_step);
  const double bytes = static_cast<double>(rig.flash.programmed_bytes) / (steps * ops_per_step);
  MESSAGE(bytes << " bytes of flash per tensor");
  return bytes;
}

}  // namespace

TEST_CASE("digests: each wanted tensor has one in the dump's file, in the order of capture") {
  for (const StatBits kind : kEach) {
    CAPTURE(kind);
    Bench<4096> bench;
    bench.start(digest_config(kind));
    for (int step = 0; step < 3; ++step) {
      bench.tensors.values[20] = static_cast<float>(step);
      bench.step();
    }
    bench.tensors.values[20] = 2;
    const std::string last_output = digest_of(kind, bench.tensors.output);
    const std::string input = digest_of(kind, bench.tensors.input);
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.sink.objects.empty());
    const std::string* const file = digests_of(bench.sink);
    REQUIRE(file != nullptr);
    const DigestEntries entries = digest_entries(*file);
    CHECK(entries.wrong == "");
    CHECK(entries.ops_told == 3);
    REQUIRE(entries.records.size() == 9);
    CHECK(entries.records[0].op == "net:9 Conv2D.conv1_relu1.3.1");
    CHECK(entries.records[1].op == "net:9 MaxPool.pool1.4.1");
    CHECK(entries.records[8].op == "net:9 MatMul.fc.5.2");
    CHECK(entries.records[8].step == 2);
    CHECK(entries.records[8].load == 1);
    CHECK(entries.records[3].step == 1);
    CHECK(entries.records[0].tensors == std::vector<std::string>{"in0 dtype 1 format 2 bytes 64 [4,4]",
                                                                 "out0 dtype 1 format 2 bytes 64 [4,4]"});
    for (std::size_t i = 0; i < 9; ++i) CHECK(entries.records[i].digests[0] == input);
    CHECK(entries.records[8].digests[1] == last_output);
    CHECK(entries.records[0].digests[1] != last_output);
    check_adds_up(bench.session.counts());
    CHECK(bench.session.counts().written == 9);
    const std::string journal = journal_of(bench.sink);
    CHECK(journal.starts_with("opdump-journal,1,records\n"));
    CHECK(journal.find("digests,0,0,") != std::string::npos);
    const JournalAccount account = account_of(journal);
    CHECK(account.wrong == "");
    CHECK(account.written == 9);
  }
}

TEST_CASE("digests: a session whose reduction knows none refuses a config that wants them") {
  HostMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  StatisticsReduction<HostMemory> statistics(memory);
  BasicSession<HostMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .reduction = &statistics});
  REQUIRE(session.init() == Status::ok);
  CHECK(session.set_config(digest_config(kDigestXxh3)) == Status::not_supported);
}

namespace {

/// A session on `ring_bytes`, of a reduction that knows digests alone.
template <std::size_t kOps = 128, std::size_t kBatchBytes = 512>
struct DigestRig {
  DigestRig(WhenFull when_full, std::size_t ring_bytes)
      : session({.memory = memory,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch,
                 .when_full = when_full,
                 .reduction = &digests}),
        recorder(*session.add_recorder(std::span(ring).first(ring_bytes)).value()) {
    REQUIRE(session.init() == Status::ok);
  }
  void load(const DumpConfig& config, const ModelDesc& model) {
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model, bits) == Status::ok);
  }

  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[2048];
  alignas(8) std::byte ring[4096];
  DigestReduction<FakeMemory, kOps, kBatchBytes> digests{memory};
  BasicSession<FakeMemory> session;
  BasicRecorder<FakeMemory>& recorder;
  ModelPlan plan;
  std::uint8_t bits[4] = {};
  Tensors tensors;
};

}  // namespace

TEST_CASE("digests: a session that knows nothing else refuses statistics, and under degrade drops") {
  DigestRig rig(WhenFull::degrade, 512);
  auto& [memory, sink, clock, scratch, ring, digests, session, recorder, plan, bits, tensors] = rig;
  DumpConfig config = everything();
  config.form.data = DumpData::statistics;
  CHECK(session.set_config(config) == Status::not_supported);
  rig.load(everything(), kModel);
  REQUIRE(recorder.begin_step(plan) == Status::ok);
  Status last = Status::ok;
  for (int i = 0; i < 4; ++i) last = recorder.capture(0, {&tensors.input, 1}, {&tensors.output, 1});
  CHECK(last == Status::ring_full);
  REQUIRE(recorder.end_step() == Status::ok);
  REQUIRE(session.finalize() == Status::ok);
  check_adds_up(session.counts());
  CHECK(session.counts().ring_full != 0);
}

TEST_CASE("digests: whatever call of the sink fails, each record is written or counted as lost") {
  for (int fail_at = 0;; ++fail_at) {
    CAPTURE(fail_at);
    Bench<4096> bench;
    bench.sink.fail_at = fail_at;
    bench.start(digest_config(kDigestCrc32c));
    for (int step = 0; step < 4; ++step) {
      bench.step();
      if (step == 1) static_cast<void>(bench.session.flush(100));
    }
    static_cast<void>(bench.session.finalize());
    const DumpCounts counts = bench.session.counts();
    check_adds_up(counts);
    CHECK(counts.wanted == 12);
    const std::string* const file = digests_of(bench.sink);
    const DigestEntries entries = digest_entries(file == nullptr ? std::string() : *file);
    // A piece that failed takes the names that it told along, and they are told again.
    CHECK(entries.wrong == "");
    CHECK(entries.records.size() == counts.written);
    if (bench.sink.calls <= fail_at) {
      CHECK(counts.written == 12);
      break;
    }
  }
}

TEST_CASE("digests: more operators than are remembered are told again, and none gets another one's name") {
  DigestRig<2, 128> rig(WhenFull::inline_drain, 4096);
  auto& [memory, sink, clock, scratch, ring, digests, session, recorder, plan, bits, tensors] = rig;
  rig.load(digest_config(kDigestXxh3), kModel);
  for (int step = 0; step < 50; ++step) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t op = 0; op < 3; ++op)
      REQUIRE(recorder.capture(op, {&tensors.input, 1}, {&tensors.output, 1}) == Status::ok);
    REQUIRE(recorder.end_step() == Status::ok);
  }
  REQUIRE(session.finalize() == Status::ok);
  const DigestEntries entries = digest_entries(*digests_of(sink));
  CHECK(entries.wrong == "");
  REQUIRE(entries.records.size() == 150);
  for (std::size_t i = 0; i < entries.records.size(); ++i) {
    CHECK(entries.records[i].op.ends_with(i % 3 == 0   ? "Conv2D.conv1_relu1.3.1"
                                          : i % 3 == 1 ? "MaxPool.pool1.4.1"
                                                       : "MatMul.fc.5.2"));
    CHECK(entries.records[i].step == i / 3);
  }
}

TEST_CASE("digests: a name too long for the batch loses its record only") {
  DigestRig<16, 128> rig(WhenFull::inline_drain, 4096);
  auto& [memory, sink, clock, scratch, ring, digests, session, recorder, plan, bits, tensors] = rig;
  const std::string longest(200, 'x');
  const OpDesc ops[] = {
      {.name = "one", .type = "A"}, {.name = longest, .type = "B"}, {.name = "two", .type = "A"}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  rig.load(digest_config(kDigestCrc32c), model);
  REQUIRE(recorder.begin_step(plan) == Status::ok);
  for (std::size_t op = 0; op < 3; ++op) static_cast<void>(recorder.capture(op, {}, {&tensors.output, 1}));
  REQUIRE(recorder.end_step() == Status::ok);
  REQUIRE(session.finalize() == Status::ok);
  CHECK(digest_entries(*digests_of(sink)).records.size() == 2);
  CHECK(session.counts().written == 2);
  CHECK(session.counts().sink_failed == 1);
  const JournalAccount account = account_of(journal_of(sink));
  CHECK(account.wrong == "");
  CHECK(account.lost == 1);
}

TEST_CASE(
    "digests: in a flash log a tensor of a step of twenty takes at most 12 bytes, names and the log's own "
    "entries included") {
  constexpr std::uint32_t kSteps = 1000;
  for (const StatBits kind : {kDigestCrc32c, kDigestXxh3}) {
    for (const std::uint32_t ops_per_step : {4u, 20u}) {
      CAPTURE(kind);
      CAPTURE(ops_per_step);
      LogRig rig(128, flashlog::Policy::stop_when_full, ops_per_step, kind);
      const double most = ops_per_step == 4 && kind == kDigestXxh3 ? 15 : 12;  // a batch has its own bytes
      CHECK(bytes_per_tensor(rig, kSteps, ops_per_step) <= most);
    }
  }
}

TEST_CASE("digests: held over steps, tensors of steps of three take at most 12 bytes of a flash log too") {
  constexpr std::uint32_t kSteps = 2000;
  for (const StatBits kind : {kDigestCrc32c, kDigestXxh3}) {
    for (const std::uint32_t ops_per_step : {3u, 4u, 20u}) {
      CAPTURE(kind);
      CAPTURE(ops_per_step);
      LogRig rig(256, flashlog::Policy::stop_when_full, ops_per_step, kind, true);
      CHECK(bytes_per_tensor(rig, kSteps, ops_per_step) <= 12);
    }
  }
}

TEST_CASE("digests: held, they are in the sink after a flush, and the account balances") {
  LogRig rig(64, flashlog::Policy::stop_when_full, 4, kDigestXxh3, true);
  rig.step();
  CHECK(rig.session.counts().written == 0);
  REQUIRE(rig.session.flush(100) == Status::ok);
  CHECK(rig.session.counts().written == 4);
  check_adds_up(rig.session.counts());
  REQUIRE(rig.log.sync() == Status::ok);
  CHECK(digest_entries(rig.kept()).records.size() == 4);
  rig.step();
  REQUIRE(rig.session.remove_recorder(*rig.recorder) == Status::ok);
  CHECK(rig.session.counts().written == 8);
  REQUIRE(rig.session.finalize() == Status::ok);
  check_adds_up(rig.session.counts());
  CHECK(digest_entries(rig.kept()).records.size() == 8);
}

TEST_CASE("digests: what flush says is in the sink is there, whatever the budget of the drain before") {
  for (std::size_t budget = 1; budget < 600; ++budget) {
    CAPTURE(budget);
    Bench<4096> bench(WhenFull::drop);
    bench.start(digest_config(kDigestXxh3));
    bench.step();
    while (bench.session.drain_some(budget) != 0) {
      if (bench.recorder.sender().ring().drained()) break;
    }
    REQUIRE(bench.session.flush(0) == Status::ok);
    const std::string* const file = digests_of(bench.sink);
    REQUIRE(file != nullptr);
    CHECK(digest_entries(*file).records.size() == 3);
  }
}

TEST_CASE("digests: a flash log that goes round keeps the names of most records that it keeps") {
  constexpr std::uint32_t kSteps = 4000;
  LogRig rig(16, flashlog::Policy::overwrite_oldest, 12, kDigestXxh3);
  for (std::uint32_t step = 0; step < kSteps; ++step) rig.step();
  REQUIRE(rig.session.finalize() == Status::ok);
  const std::string kept = rig.kept();
  REQUIRE(kept.size() > 32 * 1024);
  std::size_t from = 0;
  DigestEntries entries = digest_entries(kept);
  while (!entries.wrong.empty() && from < kept.size()) {
    // To the next piece.
    DigestText head(std::string_view(kept).substr(from + 2));
    const std::uint64_t body = head.number();
    from += 2 + (body < 128 ? 1 : body < 16384 ? 2 : 3) + static_cast<std::size_t>(body);
    entries = digest_entries(std::string_view(kept).substr(from));
  }
  CHECK(entries.wrong == "");
  CHECK(from < kept.size() / 4);
  REQUIRE(!entries.records.empty());
  CHECK(entries.records.back().step == kSteps - 1);
  CHECK(entries.records.back().op.starts_with("net:1 Conv2D.layer"));
}
