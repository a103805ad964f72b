#include <doctest/doctest.h>

#include <map>
#include <string>

#include "opdump/types/privacy.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/ascend/chunk_rig.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/journal_account.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

const std::string kChunkPlace = "/dump/20260102030405/0/net/1/2/";

ascend::ChunkName parsed_chunk(std::string_view text, std::string_view root = "/dump") {
  ascend::ChunkName name;
  REQUIRE(ascend::parse_chunk_name(text, root, name));
  return name;
}

struct ChunkBench {
  explicit ChunkBench(WhenFull when_full = WhenFull::inline_drain) : rig(sink, clock, when_full) {
    REQUIRE(rig.consumer.start(config) == Status::ok);
  }

  Status take(const std::string& file, std::string_view data, const ChunkOptions& options = {}) {
    return take_chunk(rig.consumer, kChunkPlace + file, data, options);
  }
  const std::string& journal() {
    REQUIRE(sink.journals.size() == 1);
    return sink.journals.begin()->second;
  }

  FakeSink sink;
  FakeClock clock;
  DumpConfig config = chunk_config("/dump");
  ChunkRig<> rig;
};

}  // namespace

TEST_CASE("chunks: the name of a file says what it is of") {
  const ascend::ChunkName name =
      parsed_chunk("/dump/20260102030405/3/my_net/7/12/Conv2D.a_b.4.5.1700000000000001");
  CHECK(name.path == "20260102030405/3/my_net/7/12/Conv2D.a_b.4.5.1700000000000001");
  CHECK(name.file == "Conv2D.a_b.4.5.1700000000000001");
  CHECK((name.is_record && name.in_model && name.has_head() && !name.is_csv()));
  CHECK(name.time == 20260102030405);
  CHECK(name.device == 3);
  CHECK(name.model == "my_net");
  CHECK(name.model_id == 7);
  CHECK(name.step == 12);
  CHECK(name.type == "Conv2D");
  CHECK(name.op_name == "a_b");
  CHECK(name.task_id == 4);
  CHECK(name.stream_id == 5);
  CHECK(name.unix_us == 1700000000000001);

  const ascend::ChunkName single = parsed_chunk("20260102030405/0/Add.add.65535.65535.1700000000000001.csv");
  CHECK((single.is_record && !single.in_model && single.is_csv() && !single.has_head()));
  const ascend::ChunkName thread =
      parsed_chunk("./dump/20260102030405/0/Add.add.1.2.1700000000000001.4.0.1.2", "dump");
  CHECK((thread.is_record && thread.has_head()));
  CHECK(thread.suffix == ".4.0.1.2");
  const ascend::ChunkName counted =
      parsed_chunk("/dump/20260102030405/0/Add.add.17.4.5.1700000000000001.FFTSPLUS.0.1.2");
  CHECK((counted.is_record && counted.has_head() && counted.task_id == 4 && counted.stream_id == 5));
  CHECK(counted.unix_us == 1700000000000001);
  CHECK(counted.suffix == ".FFTSPLUS.0.1.2");
  CHECK(parsed_chunk("10.0.0.1:dump/20260102030405/0/Add.add.1.2.1700000000000001").is_record);
  CHECK(parsed_chunk("/dump/20260101000000/x/20260102030405/0/Add.add.1.2.1700000000000001").time ==
        20260102030405);
}

TEST_CASE("chunks: a name that is no record's keeps its path below the dump's") {
  for (const auto& expected : std::map<std::string, std::string>{
           {"/dump/a/b", "a/b"},
           {"/dump//a/b", "a/b"},
           {"a/b", "a/b"},
           {"./a", "a"},
           {"/elsewhere/a/b", "b"},
           {"1.2.3.4:a/b", "a/b"},
           {"1.2.3.400:a", "1.2.3.400:a"},
           {"/dump/20260102030405/0/net/1/Add.add.1.2.1700000000000001",
            "20260102030405/0/net/1/Add.add.1.2.1700000000000001"},
           {"/dump/20260102030405/0/Add.add.1.2.17", "20260102030405/0/Add.add.1.2.17"},
           {"/dump/20260102030405/0/Add.add.1.1700000000000001",
            "20260102030405/0/Add.add.1.1700000000000001"},
           {"/dump/20260102030405/0/net/x/1/Add.add.1.2.1700000000000001",
            "20260102030405/0/net/x/1/Add.add.1.2.1700000000000001"},
           {"/dump/0/pid7/net/1/0/0/Add.add.1.1700000000000001",
            "0/pid7/net/1/0/0/Add.add.1.1700000000000001"}}) {
    const std::string& text = expected.first;
    CAPTURE(text);
    CHECK(parsed_chunk(text).path == expected.second);
    CHECK_FALSE(parsed_chunk(text).is_record);
  }
  ascend::ChunkName name;
  for (const char* text : {"", "/", "/dump/", "..", "../a", "a/../b", "a/./b", "a//b", "a/",
                           "/dump/20260102030405/0/../x/Add.add.1.2.1700000000000001"}) {
    CAPTURE(text);
    CHECK_FALSE(ascend::parse_chunk_name(text, "/dump", name));
  }
}

TEST_CASE("chunks: each end of a file is counted once, and the journal has it") {
  ChunkBench bench;
  CHECK(bench.take("A.a.1.0.1700000000000001", "one") == Status::ok);
  CHECK(bench.take("A.a.1.0.1700000000000002", "tw", {.last = 0}) == Status::ok);
  CHECK(bench.take("A.a.1.0.1700000000000003", "lost", {.longer = 1}) == Status::truncated);
  CHECK(bench.take("A.a.1.0.1700000000000003", "more") == Status::unfinished);
  CHECK(bench.take("A.a.1.0.1700000000000002", "o") == Status::ok);
  CHECK(bench.take("A.a.1.0.1700000000000002", "o") == Status::ok);
  CHECK(bench.take("A.a.1.0.1700000000000002", "late") == Status::already_exists);
  CHECK(bench.take("A.a.1.0.1700000000000004", "given up", {.last = 0}) == Status::ok);
  CHECK(bench.take("A.a.1.0.1700000000000004", "", {.flag = OPDUMP_ACL_ABORTED}) == Status::unfinished);
  CHECK(bench.take("A.a.1.0.1700000000000005", "no end", {.last = 0}) == Status::ok);
  CHECK(bench.rig.consumer.stop() == Status::ok);

  const ascend::ChunkCounts counts = bench.rig.consumer.counts();
  CHECK(counts.chunks == 10);
  CHECK(counts.files.wanted == 5);
  CHECK(counts.files.written == 2);
  CHECK(counts.files.device_failed == 3);
  CHECK((counts.torn == 1 && counts.late == 1 && counts.repeated == 1));
  CHECK_FALSE(counts.whole());
  CHECK(bench.sink.objects.size() == 2);
  CHECK(bench.sink.open_objects.empty());
  const JournalAccount account = account_of(bench.journal());
  CHECK(account.wrong == "");
  CHECK((account.written == 2 && account.lost == 3));
  CHECK(bench.rig.consumer.take({}, 0) == Status::not_initialised);
}

TEST_CASE("chunks: at each call that the sink fails, files are whole or lost, and the counts add up") {
  for (const bool on : {false, true}) {
    for (int fail_at = 0; fail_at < 40; ++fail_at) {
      CAPTURE(fail_at);
      ChunkBench bench;
      bench.sink.fail_at = fail_at;
      bench.sink.fail_on = on;
      for (int i = 0; i < 4; ++i) {
        const std::string file = "A.a" + std::to_string(i) + ".1.0.1700000000000001";
        bench.take(file, "first ", {.last = 0});
        bench.take(file, "second");
      }
      static_cast<void>(bench.rig.consumer.stop());
      const DumpCounts counts = bench.rig.consumer.counts().files;
      CHECK(counts.wanted == 4);
      CHECK(counts.wanted == counts.written + counts.lost());
      CHECK(counts.captured == counts.written + counts.sink_failed);
      CHECK(bench.sink.objects.size() == counts.written);
      for (const auto& [name, data] : bench.sink.objects) CHECK(as_text(data) == "first second");
      CHECK(bench.sink.open_objects.empty());
      CHECK(bench.sink.stray_aborts == 0);
    }
  }
}

TEST_CASE("chunks: without room a file is lost as a whole, by name where there is room for that") {
  FakeSink sink;
  FakeClock clock;
  ChunkRig<ascend::ChunkConsumer::kLeastRingBytes> rig(sink, clock, WhenFull::drop);
  const DumpConfig config = chunk_config("/dump");
  REQUIRE(rig.consumer.start(config) == Status::ok);
  const std::string data(3000, 'x');
  std::uint32_t refused = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string file = kChunkPlace + "A.a" + std::to_string(i) + ".1.0.1700000000000001";
    const Status first = take_chunk(rig.consumer, file, data, {.last = 0});
    const Status second = take_chunk(rig.consumer, file, data);
    CHECK((first == Status::ok || first == Status::ring_full));
    CHECK((second == Status::ok || second == Status::ring_full || second == Status::unfinished));
    refused += second == Status::ok ? 0 : 1;
    if (i % 50 == 49) rig.consumer.drain_some(SIZE_MAX);
  }
  CHECK(clock.pauses == 0);
  CHECK(rig.consumer.stop() == Status::ok);
  const DumpCounts counts = rig.consumer.counts().files;
  CHECK(counts.wanted == 200);
  CHECK(counts.ring_full == refused);
  CHECK(counts.written == 200 - refused);
  CHECK(refused > 150);
  for (const auto& [name, object] : sink.objects) CHECK(as_text(object) == data + data);
  const JournalAccount account = account_of(sink.journals.begin()->second);
  CHECK(account.wrong == "");
  CHECK(account.lost + account.in_gaps == refused);
  CHECK(account.in_gaps > 0);
}

TEST_CASE("chunks: files lost without room for their names count in the journal of their own device") {
  FakeSink sink;
  FakeClock clock;
  ChunkRig<ascend::ChunkConsumer::kLeastRingBytes> rig(sink, clock, WhenFull::drop);
  const DumpConfig config = chunk_config("/dump");
  REQUIRE(rig.consumer.start(config) == Status::ok);
  const std::string data(3000, 'x');
  constexpr int kDevices = 3, kFiles = 300;
  for (int i = 0; i < kFiles; ++i) {
    // The first device's files take all the room, and their losses that of names.
    const std::string device = std::to_string(i < 100 ? 0 : i % kDevices);
    static_cast<void>(take_chunk(
        rig.consumer,
        "/dump/20260102030405/" + device + "/net/1/0/A.a" + std::to_string(i) + ".1.0.1700000000000001",
        data));
  }
  CHECK(rig.consumer.stop() == Status::ok);
  CHECK(rig.consumer.counts().files.wanted == kFiles);
  REQUIRE(sink.journals.size() == kDevices);
  for (int device = 0; device < kDevices; ++device) {
    CAPTURE(device);
    std::size_t told = 0;
    for (const auto& [name, text] : sink.journals) {
      if (name.find("opdump." + std::to_string(device) + ".") == name.npos) continue;
      const JournalAccount account = account_of(text);
      CHECK(account.wrong == "");
      told += account.written + account.lost + account.in_gaps;
      if (device != 0) CHECK(account.in_gaps != 0);
    }
    CHECK(told == (device == 0 ? 166 : 67));
  }
}

TEST_CASE("chunks: a wait for room ends at the limit, and is not repeated before there is room") {
  FakeSink sink;
  FakeClock clock;
  ChunkRig<ascend::ChunkConsumer::kLeastRingBytes> rig(sink, clock, WhenFull::block, 20);
  const DumpConfig config = chunk_config("/dump");
  REQUIRE(rig.consumer.start(config) == Status::ok);
  CHECK(take_chunk(rig.consumer, kChunkPlace + "A.a1.1.0.1700000000000001", std::string(50000, 'x')) ==
        Status::timeout);
  const int pauses = clock.pauses;
  CHECK((pauses >= 20 && pauses < 40));
  CHECK(take_chunk(rig.consumer, kChunkPlace + "A.a2.1.0.1700000000000001", std::string(50000, 'x')) ==
        Status::timeout);
  CHECK(clock.pauses == pauses);
  rig.consumer.drain_some(SIZE_MAX);
  CHECK(take_chunk(rig.consumer, kChunkPlace + "A.a3.1.0.1700000000000001", "fits") == Status::ok);
  CHECK(rig.consumer.stop() == Status::ok);
  CHECK(rig.consumer.counts().files.timed_out == 2);
  CHECK(sink.objects.size() == 1);
}

TEST_CASE("chunks: more directories and devices than journals are open") {
  FakeSink sink;
  FakeClock clock;
  ChunkRig<> rig(sink, clock);
  const DumpConfig config = chunk_config("/dump");
  REQUIRE(rig.consumer.start(config) == Status::ok);
  for (int round = 0; round < 2; ++round) {
    for (int device = 0; device < 40; ++device) {
      const std::string file = "/dump/20260102030405/" + std::to_string(device) + "/A.a.1.0.170000000000000" +
                               std::to_string(round);
      CHECK(take_chunk(rig.consumer, file, "data") == Status::ok);
    }
  }
  CHECK(rig.consumer.stop() == Status::ok);
  CHECK(sink.objects.size() == 80);
  std::uint32_t written = 0;
  for (const auto& [name, text] : sink.journals) {
    const JournalAccount account = account_of(text);
    CHECK(account.wrong == "");
    CHECK(account.last_line.starts_with("closed,"));
    written += account.written;
  }
  CHECK(written == 80);
}

TEST_CASE("chunks: files of CANN's go to raw flash") {
  FlashEmulator flash({.block_bytes = 4096, .block_count = 64, .program_bytes = 4}, 256);
  const flashlog::Device device = flash.device();
  std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
  flashlog::FlashLog log(device, page, {});
  REQUIRE(log.mount() == Status::ok);
  FakeClock clock;
  ChunkRig<> rig(log, clock);
  const DumpConfig config = chunk_config("/dump");
  REQUIRE(rig.consumer.start(config) == Status::ok);
  std::map<std::string, std::string> sent;
  for (int i = 0; i < 10; ++i) {
    const std::string file = "A.a" + std::to_string(i) + ".1.0.1700000000000001";
    sent[kChunkPlace.substr(6) + file] = std::string(3000, static_cast<char>('a' + i)) + "end";
    CHECK(take_chunk(rig.consumer, kChunkPlace + file, std::string(3000, static_cast<char>('a' + i)),
                     {.last = 0}) == Status::ok);
    CHECK(take_chunk(rig.consumer, kChunkPlace + file, "end") == Status::ok);
  }
  CHECK(rig.consumer.stop() == Status::ok);
  CHECK(rig.consumer.counts().whole());
  const FlashContents contents = read_flash(device);
  std::map<std::string, std::string> found;
  for (const FlashContents::Object& object : contents.objects) {
    if (object.state == flashlog::ObjectState::committed) found[object.path] = object.bytes;
  }
  CHECK(found == sent);
  REQUIRE(contents.journals.size() == 1);
  CHECK(account_of(contents.journals.begin()->second).written == 10);
}

TEST_CASE("chunks: files of a rank stay in its folder") {
  FakeSink sink;
  FakeClock clock;
  ChunkRig<> rig(sink, clock);
  DumpConfig config = chunk_config("/dump");
  config.form.world_size = 2;
  config.form.rank = 1;
  REQUIRE(rig.consumer.start(config) == Status::ok);
  const std::string file = "/dump/worldsize2_global_rank1/20260102030405/0/net/1/2/A.a.1.0.1700000000000001";
  CHECK(take_chunk(rig.consumer, file, "data") == Status::ok);
  CHECK(rig.consumer.stop() == Status::ok);
  REQUIRE(sink.objects.size() == 1);
  CHECK(sink.objects.begin()->first ==
        "/dump|worldsize2_global_rank1/20260102030405/0/net/1/2|A.a.1.0.1700000000000001");
  REQUIRE(sink.journals.size() == 1);
  CHECK(sink.journals.begin()->first.starts_with("/dump|worldsize2_global_rank1/20260102030405|opdump.0."));
  CHECK(sink.journals.begin()->second.find(",0/net/1/2/A.a.1.0.1700000000000001\n") != std::string::npos);
}

TEST_CASE("chunks: calls out of order change nothing") {
  FakeSink sink;
  FakeClock clock;
  ChunkRig<> rig(sink, clock);
  DumpConfig config = chunk_config("/dump");
  CHECK(rig.consumer.stop() == Status::not_initialised);
  config.form.layout = Layout::mindspore_graph;
  CHECK(rig.consumer.start(config) == Status::not_supported);
  config.form.layout = Layout::cann;
  const DumpForm tensors = config.form;
  config.form.data = DumpData::statistics;
  config.form.statistics = kDigestXxh3;
  CHECK(rig.consumer.start(config) == Status::not_supported);
  config.form = tensors;
  config.privacy = {&kKeepsNothing, 1};
  CHECK(rig.consumer.start(config) == Status::not_supported);
  config.privacy = {};
  CHECK(rig.consumer.start(config) == Status::ok);
  CHECK(rig.consumer.start(config) == Status::already_initialised);
  CHECK(rig.consumer.attach_drainer() == Status::invalid_argument);
  CHECK(rig.consumer.stop() == Status::ok);
  CHECK(rig.consumer.attach_drainer() == Status::ok);
  CHECK(rig.consumer.attach_drainer() == Status::drainer_attached);
  CHECK(rig.consumer.start(config) == Status::drainer_attached);
  rig.consumer.detach_drainer();
  CHECK(rig.consumer.start(config) == Status::ok);
  CHECK(rig.consumer.stop() == Status::ok);

  std::byte journal[8];
  alignas(8) std::byte ring[64];
  ascend::ChunkConsumer small({.sink = sink, .clock = clock, .ring = ring, .journal = journal});
  CHECK(small.start(config) == Status::no_memory);
}
