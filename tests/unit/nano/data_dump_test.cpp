// The device's part of the dump of CANN's nano products, call by call.

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "opdump/parts/statistics.hpp"
#include "opdump/read/nano_reader.hpp"
#include "platform/ascend/nano/data_dump.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/nano/simulated_nano.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;
using nano::kDataStatistics;
using nano::kDataTensors;
using nano::kModeAll;
using nano::kModeInputs;
using nano::kModeOutputs;

namespace {

constexpr const char* kDirectory = "out/20260123040506/0/";

/// A DataDump of two models and ten operators at most.
struct Rig {
  using Dump = nano::DataDump<NanoMemory>;
  using Memory = nano::DataDumpMemory<2, 10, 6, 4096>;

  explicit Rig(Sink& to) : dump(parts(to)) {}
  Rig() : Rig(fake) {}

  nano::DataDumpParts<NanoMemory> parts(Sink& to) {
    nano::DataDumpParts<NanoMemory> parts = memory->parts(device, to, clock);
    parts.reduction = &reduction;
    parts.say = [](void* self, std::string_view line) { static_cast<Rig*>(self)->lines.emplace_back(line); };
    parts.context = this;
    return parts;
  }

  void start(const DumpConfig& config = {}) { REQUIRE(dump.start(config, fake) == Status::ok); }

  void take(const std::vector<std::byte>& message, const NanoModel& model, std::uint32_t type = 0) {
    dump.take({.type = type, .at = message.data(), .bytes = model.message_bytes()});
  }

  void take(const nano::Mailbox& mailbox, std::uint32_t type = 1) {
    std::byte bytes[nano::kMailboxBytes];
    nano::write_mailbox(bytes, mailbox);
    dump.take({.type = type, .at = bytes, .bytes = sizeof bytes});
  }

  void drain() {
    while (dump.session().drain_some(SIZE_MAX) != 0) continue;
  }

  /// What the sink has of that operator; empty: nothing.
  std::string file(const NanoModel& model, const MadeOp& op, std::string_view suffix = {}) {
    std::string prefix = model.path(op);
    prefix = prefix.substr(0, 3) + "|" + prefix.substr(4);
    prefix[prefix.rfind('/')] = '|';
    for (const auto& [name, bytes] : fake.objects) {
      if (name.starts_with(prefix) && name.ends_with(suffix)) return std::string(as_text(bytes));
    }
    return {};
  }

  bool said(std::string_view what) const {
    for (const std::string& line : lines) {
      if (line.find(what) != std::string::npos) return true;
    }
    return false;
  }

  NanoMemory device{4 * NanoModel::kAreaBytes};
  FakeSink fake;
  FakeClock clock;
  std::vector<std::string> lines;
  StatisticsReduction<NanoMemory> reduction{device};
  std::unique_ptr<Memory> memory = std::make_unique<Memory>();
  Dump dump;
};

MadeTensor workspace_tensor(std::uint64_t address, std::uint64_t bytes) {
  return {.dtype = 4, .dims = {bytes}, .bytes = bytes, .address = address};
}

std::vector<MadeOp> two_ops() {
  return {{"conv1", "Conv2D", 3, {workspace_tensor(0, 40)}, {workspace_tensor(64, 24)}},
          {"relu1", "Relu", 7, {workspace_tensor(64, 24)}, {workspace_tensor(128, 24)}}};
}

}  // namespace

TEST_CASE("data dump: a file is the vendor's, in each mode, under the message's directory") {
  for (const std::uint32_t mode : {kModeInputs, kModeOutputs, kModeAll}) {
    Rig rig;
    rig.start();
    Random random(mode);
    NanoModel model(rig.device, 2, "net.om", random_ops(10, random), kDirectory);
    const auto load = model.message(true, mode, kDataTensors);
    rig.take(load, model);
    for (model.step = 0; model.step < 3; ++model.step) {
      for (const MadeOp& op : model.ops) {
        if (op.task_id == model.ops[4].task_id) continue;  // it has no dump flag
        model.run(op, random);
        const std::string expected = model.file(op, mode);
        rig.take(model.mailbox(op));
        model.overwrite(op);
        rig.drain();
        CHECK(rig.file(model, op) == expected);
        NanoReader reader;
        CHECK(reader.open(as_bytes(expected), expected.size()) == Status::ok);
      }
    }
    CHECK(rig.dump.counts().captured == 27);
    CHECK(rig.dump.stop() == Status::ok);
    CHECK(rig.lines.empty());
    REQUIRE(rig.fake.journals.size() == 1);
    const auto& [path, journal] = *rig.fake.journals.begin();
    CHECK(path.starts_with("out|20260123040506|opdump.0."));
    CHECK(journal.find("\nclosed,") != std::string::npos);
    CHECK(journal.find("\nnever,") == std::string::npos);
  }
}

TEST_CASE("data dump: has the bytes of a file that a device has written (OPDUMP_NANO_SAMPLE)") {
  const char* const sample = std::getenv("OPDUMP_NANO_SAMPLE");
  if (sample == nullptr) return;
  const std::string expected = read_file(sample);
  const auto made = [](std::uint64_t length, std::uint64_t slot) {
    return MadeTensor{.dtype = 1,
                      .dims = {1, length},
                      .bytes = 2 * length,
                      .format = 1,
                      .address_kind = 3,
                      .address = 8 * slot};
  };
  MadeTensor output = made(14682, 2);
  output.original_name = "concatv2";
  const std::vector<MadeOp> ops = {{"concatv2", "ConcatV2D", 0, {made(14652, 0), made(30, 1)}, {output}}};
  NanoMemory device(256 * 1024);
  std::size_t from = 8 + load_little_endian<std::uint64_t>(as_bytes(expected).data());
  Address slot = device.base();
  Address at = slot + 1024;
  for (const std::uint64_t bytes : {29304u, 60u, 29364u}) {
    store_little_endian(device.at(slot), at);
    std::memcpy(device.at(at), expected.data() + from, bytes);
    from += bytes;
    slot += 8;
    at += 64 * 1024;
  }
  FakeSink sink;
  FakeClock clock;
  auto memory = std::make_unique<nano::DataDumpMemory<1, 1, 3, 128 * 1024>>();
  nano::DataDump<NanoMemory> dump(memory->parts(device, sink, clock));
  REQUIRE(dump.start({}, sink) == Status::ok);
  const auto dbg = DbgMaker::file("concat_nano", ops);
  const std::uint64_t step = 0;
  const nano::LoadMessage message = {.description = dbg,
                                     .model_id = 3,
                                     .step = &step,
                                     .mode = kModeAll,
                                     .data = kDataTensors,
                                     .directory = kDirectory};
  std::vector<std::byte> bytes(nano::load_message_bytes(message));
  nano::write_load_message(bytes.data(), message);
  dump.take({.at = bytes.data(), .bytes = static_cast<std::uint32_t>(dbg.size())});
  std::byte mailbox[nano::kMailboxBytes];
  nano::write_mailbox(mailbox, {.model_id = 3, .io_table = device.base()});
  dump.take({.type = 1, .at = mailbox, .bytes = sizeof mailbox});
  CHECK(dump.stop() == Status::ok);
  REQUIRE(sink.objects.size() == 1);
  CHECK(as_text(sink.objects.begin()->second) == expected);
}

TEST_CASE("data dump: statistics are the vendor's files") {
  Rig rig;
  rig.start();
  std::vector<MadeOp> ops = {{"add1", "Add", 0, {workspace_tensor(0, 4)}, {workspace_tensor(64, 40)}}};
  ops[0].outputs[0].dtype = 3;
  ops[0].outputs[0].dims = {2, 5};
  NanoModel model(rig.device, 1, "net", ops, kDirectory);
  const auto load = model.message(true, kModeAll, kDataStatistics);
  rig.take(load, model);
  model.overwrite(model.ops[0]);
  std::byte* const output = rig.device.at(model.address_of(model.ops[0].outputs[0]));
  const std::int32_t values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::memcpy(output, values, sizeof values);
  rig.take(model.mailbox(model.ops[0]));
  CHECK(rig.dump.stop() == Status::ok);
  CHECK(rig.file(model, model.ops[0], ".csv") ==
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count\n"
        "Input,0,4,DT_UINT8,ND,4,238,238,238.0000000000000000,4,0,0,0\n"
        "Output,0,40,DT_INT32,ND,2x5,10,1,5.5000000000000000,10,0,0,0\n");
}

TEST_CASE("data dump: what nobody knows is taken, counted and named") {
  Rig rig;
  NanoModel model(rig.device, 1, "net", two_ops(), kDirectory);
  const auto load = model.message(true, kModeAll, kDataTensors);
  const auto unload = model.message(false, kModeAll, kDataTensors);
  rig.take(model.mailbox(model.ops[0]));
  CHECK(rig.dump.counts().off == 1);

  rig.start();
  rig.take(model.mailbox(model.ops[0]));
  CHECK(rig.dump.counts().not_loaded == 1);
  rig.take(load, model);
  nano::Mailbox mailbox = model.mailbox(model.ops[0]);
  mailbox.task_id = 5;
  rig.take(mailbox);
  CHECK(rig.dump.counts().no_such_task == 1);
  CHECK(rig.said("model \"net\" (1) has no operator of task 5"));
  rig.take(model.mailbox(model.ops[0]), 3);
  rig.dump.take({.type = 1, .at = load.data() + 1, .bytes = 39});
  rig.dump.take({.type = 1});
  CHECK(rig.dump.counts().unknown == 3);
  CHECK(rig.said("an event of unknown type 3 with 40 bytes"));
  for (const std::uint32_t type : {0u, 1u, 2u}) rig.take(model.mailbox(model.ops[type % 2]), type);
  CHECK(rig.dump.counts().captured == 3);

  rig.take(unload, model);
  rig.take(model.mailbox(model.ops[0]));
  CHECK(rig.dump.counts().not_loaded == 2);
  rig.take(unload, model);
  CHECK(rig.dump.counts().unloads == 2);
  CHECK(rig.dump.counts().stray_unloads == 1);
  CHECK(rig.said("model 1 was not loaded, and is unloaded"));
  CHECK(rig.dump.stop() == Status::ok);
  rig.take(model.mailbox(model.ops[0]));
  CHECK(rig.dump.counts().off == 2);
  CHECK(rig.fake.objects.size() == 3);
}

TEST_CASE("data dump: nothing is read behind a damaged description") {
  Rig rig;
  rig.start();
  NanoModel model(rig.device, 1, "net", two_ops(), kDirectory);
  const auto good = model.message(true, kModeAll, kDataTensors);
  const auto unload = model.message(false, kModeAll, kDataTensors);
  for (std::size_t at = 8; at + 4 <= model.message_bytes(); ++at) {
    auto bytes = good;
    store_little_endian(&bytes[at], load_little_endian<std::uint32_t>(&bytes[at]) + 0x1000000);
    rig.take(bytes, model);
    rig.take(unload, model);
  }
  CHECK(rig.dump.counts().refused > 20);
  CHECK(rig.lines.size() < 40);
  CHECK(rig.dump.stop() == Status::ok);
}

TEST_CASE("data dump: a damaged or impossible message is refused by name, and its events are still taken") {
  Rig rig;
  rig.start();
  NanoModel model(rig.device, 1, "net", two_ops(), kDirectory);
  const auto good = model.message(true, kModeAll, kDataTensors);
  std::uint32_t refused = 0;
  const auto refuses = [&](const std::vector<std::byte>& message, std::uint32_t bytes,
                           std::string_view reason) {
    rig.lines.clear();
    rig.dump.take({.at = message.data(), .bytes = bytes});
    CHECK(rig.dump.counts().refused == ++refused);
    CHECK_MESSAGE(rig.said(reason), reason);
    rig.take(model.mailbox(model.ops[0]));
    CHECK(rig.dump.counts().not_loaded == refused);
  };
  refuses(model.message(true, 3, kDataTensors), model.message_bytes(), "\"net\" (1) in \"out/");
  refuses(model.message(true, kModeAll, 2), model.message_bytes(), "is not dumped: ");
  auto no_tlv = good;
  no_tlv[model.message_bytes()] = std::byte{9};
  refuses(no_tlv, model.message_bytes(), "is not understood");
  NanoModel large(rig.device, 1, "large", std::vector<MadeOp>(11, two_ops()[0]), kDirectory);
  refuses(large.message(true, kModeAll, kDataTensors), large.message_bytes(), "memory");

  rig.take(good, model);
  rig.take(model.mailbox(model.ops[0]));
  CHECK(rig.dump.counts().captured == 1);
  NanoModel elsewhere(rig.device, 2, "elsewhere", two_ops(), "out/20260123040506/1/");
  const auto other = elsewhere.message(true, kModeAll, kDataTensors);
  rig.take(other, elsewhere);
  CHECK(rig.said("\"elsewhere\" (2) in \"out/20260123040506/1/\" is not dumped: "));
  CHECK(rig.dump.stop() == Status::ok);
}

TEST_CASE("data dump: a model that is loaded again is the new one, and its message counts") {
  Rig rig;
  rig.start();
  NanoModel first(rig.device, 1, "first", two_ops(), kDirectory);
  NanoModel second(rig.device, 1, "second", two_ops(), "out/20270123040506/0/");
  const auto load_first = first.message(true, kModeAll, kDataTensors);
  const auto load_second = second.message(true, kModeOutputs, kDataTensors);
  rig.take(load_first, first);
  rig.take(first.mailbox(first.ops[0]));
  rig.take(load_second, second);
  CHECK(rig.said("model \"first\" (1) is loaded again"));
  rig.take(second.mailbox(second.ops[0]));
  rig.drain();
  CHECK(rig.file(first, first.ops[0]) == first.file(first.ops[0], kModeAll));
  CHECK(rig.file(second, second.ops[0]) == second.file(second.ops[0], kModeOutputs));
  CHECK(rig.dump.stop() == Status::ok);
  CHECK(rig.fake.journals.size() == 2);
}

TEST_CASE("data dump: models take turns within their steps") {
  Rig rig;
  rig.start();
  NanoModel one(rig.device, 1, "one", two_ops(), kDirectory);
  NanoModel other(rig.device, 2, "other", two_ops(), "out/20260123040507/0/");
  const auto load_one = one.message(true, kModeAll, kDataTensors);
  const auto load_other = other.message(true, kModeAll, kDataTensors);
  one.step = 5;
  rig.take(load_one, one);
  rig.take(one.mailbox(one.ops[0]));
  rig.take(load_other, other);
  rig.take(other.mailbox(other.ops[0]));
  rig.take(one.mailbox(one.ops[1]));
  rig.take(other.mailbox(other.ops[1]));
  rig.drain();
  for (NanoModel* model : {&one, &other}) {
    for (const MadeOp& op : model->ops) CHECK(rig.file(*model, op) == model->file(op, kModeAll));
  }
  CHECK(rig.dump.stop() == Status::ok);
  CHECK(rig.fake.journals.size() == 2);
}

TEST_CASE("data dump: a full ring loses records, which the journal counts, and the events are taken") {
  Rig rig;
  DumpConfig config;
  config.options.when_full = WhenFull::drop;
  rig.start(config);
  NanoModel model(rig.device, 1, "net", two_ops(), kDirectory);
  const auto load = model.message(true, kModeAll, kDataTensors);
  rig.take(load, model);
  for (int i = 0; i < 100; ++i, ++model.step) rig.take(model.mailbox(model.ops[0]));
  const nano::DataDumpCounts counts = rig.dump.counts();
  CHECK(counts.mailboxes == 100);
  CHECK(counts.lost > 50);
  CHECK(counts.captured + counts.lost == 100);
  CHECK(rig.said("operator \"conv1\" of model \"net\" at step "));
  CHECK(rig.dump.session().counts().ring_full == counts.lost);
  CHECK(rig.dump.stop() == Status::ok);
  CHECK(rig.fake.objects.size() == counts.captured);
  const std::string& journal = rig.fake.journals.begin()->second;
  CHECK(journal.find("ring_full") != std::string::npos);
  CHECK(journal.find("\nclosed,") != std::string::npos);
}

TEST_CASE("data dump: an operator that cannot be read is lost and counted") {
  Rig rig;
  rig.start();
  std::vector<MadeOp> ops = two_ops();
  ops[0].inputs[0].address = 1 << 20;  // beyond the device's memory
  ops[1].inputs[0].address_kind = 9;
  ops.push_back({"many", "Concat", 8, std::vector<MadeTensor>(7, workspace_tensor(0, 8)), {}});
  ops.push_back({"null", "Data", 9, {}, {workspace_tensor(8, 8)}});
  ops[3].outputs[0].address_kind = 3;
  NanoModel model(rig.device, 1, "net", ops, kDirectory);
  const auto load = model.message(true, kModeAll, kDataTensors);
  rig.take(load, model);
  store_little_endian(rig.device.at(model.mailbox(ops[3]).io_table + 8), std::uint64_t{0});
  nano::Mailbox no_table = model.mailbox(ops[3]);
  no_table.io_table = 0;
  for (const MadeOp& op : ops) rig.take(model.mailbox(op));
  rig.take(no_table);
  CHECK(rig.dump.counts().lost == 5);
  CHECK(rig.dump.session().counts().lost() == 5);
  for (const char* const name : {"conv1", "relu1", "many", "null"})
    CHECK(rig.said("operator \"" + std::string(name) + "\" of model \"net\" at step 0 is lost: "));
  CHECK(rig.dump.stop() == Status::ok);
  CHECK(rig.fake.objects.empty());
}

TEST_CASE("data dump: what of the config cannot be is refused, and named") {
  Rig rig;
  DumpConfig config;
  config.form.file_format = FileFormat::npy;
  CHECK(rig.dump.start(config, rig.fake) == Status::not_supported);
  CHECK(rig.said("opdump.file_format"));
  config = {};
  config.form.data = DumpData::statistics;
  config.form.statistics = kDigestCrc32c;
  CHECK(rig.dump.start(config, rig.fake) == Status::not_supported);
  CHECK(rig.said("opdump.digest"));
  config = {};
  config.form.layout = Layout::mindspore_graph;
  CHECK(rig.dump.start(config, rig.fake) == Status::not_supported);
  CHECK(rig.said("opdump.layout"));
  config = {};
  config.privacy = {&kKeepsNothing, 1};
  CHECK(rig.dump.start(config, rig.fake) == Status::not_supported);
  CHECK(rig.said("opdump.privacy"));
  config = {};
  config.options.when_full = WhenFull::degrade;
  CHECK(rig.dump.start(config, rig.fake) == Status::not_supported);
  CHECK(rig.said("opdump.when_full"));
  config = {};
  config.options.max_bytes = 1000;
  CHECK(rig.dump.start(config, rig.fake) == Status::not_supported);
  config = {};
  CHECK(rig.dump.start(config, rig.fake) == Status::ok);
  CHECK(rig.dump.start(config, rig.fake) == Status::already_initialised);
  CHECK(rig.dump.stop() == Status::ok);
}

TEST_CASE("data dump: after stop it starts anew") {
  Rig rig;
  NanoModel model(rig.device, 1, "net", two_ops(), kDirectory);
  const auto load = model.message(true, kModeAll, kDataTensors);
  for (int round = 0; round < 3; ++round, ++model.step) {
    rig.start();
    rig.take(load, model);
    rig.take(model.mailbox(model.ops[1]));
    CHECK(rig.dump.stop() == Status::ok);
    CHECK(rig.file(model, model.ops[1]) == model.file(model.ops[1], kModeAll));
  }
}

TEST_CASE("data dump: raw flash gets the same files as a tree") {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "out");
  const std::string root = directory.text() + "/out";
  posix::TreeSink tree;
  FlashEmulator flash({.block_bytes = 4096, .block_count = 64, .bits_only_clear = true}, 256);
  const flashlog::Device part = flash.device();
  std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
  flashlog::FlashLog log(part, page, {});
  REQUIRE(log.mount() == Status::ok);
  const auto run = [&](Sink& sink, auto& follower) {
    Rig rig(sink);
    DumpConfig config;
    config.options.when_full = WhenFull::inline_drain;
    REQUIRE(rig.dump.start(config, follower) == Status::ok);
    Random random(7);
    NanoModel model(rig.device, 1, "net", random_ops(10, random), root + "/20260123040506/0/");
    const auto load = model.message(true, kModeAll, kDataTensors);
    rig.take(load, model);
    for (; model.step < 20; ++model.step) {
      for (const MadeOp& op : model.ops) {
        model.run(op, random);
        rig.take(model.mailbox(op));
      }
    }
    CHECK(rig.dump.counts().captured == 200);
    CHECK(rig.dump.stop() == Status::ok);
  };
  run(tree, tree);
  run(log, log);
  const FlashContents contents = read_flash(part);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".journal") continue;
    ++files;
    const std::string path = std::filesystem::relative(entry.path(), root).string();
    const FlashContents::Object* const object = contents.find(path);
    REQUIRE_MESSAGE(object != nullptr, path);
    CHECK(object->state == flashlog::ObjectState::committed);
    CHECK(object->bytes == read_file(entry.path()));
  }
  CHECK(files == 200);
  CHECK(contents.objects.size() == 200);
  CHECK(contents.journals.size() == 1);
}

TEST_CASE("dump directory: time and device are taken from its end") {
  const nano::DumpDirectory usual = nano::parse_directory("/a/b/20260123040506/12/");
  CHECK(usual.root == "/a/b");
  CHECK(usual.time == 20260123040506);
  CHECK(usual.device_id == 12);
  CHECK(nano::parse_directory("20260123040506/0/").root == ".");
  CHECK(nano::parse_directory("/20260123040506/0/").root == "/");
  for (const char* const other :
       {"./dumPath/", "out/20260123040506/", "out/20260123040506/x/", "out/2026/0/", "out/120260123040506/0/",
        "out/20261323040506/0/", "out/x20260123040506/0/", "/", ""}) {
    CHECK(nano::parse_directory(other).time == 0);
  }
  CHECK(nano::parse_directory("./dumPath/").root == "./dumPath");
  CHECK(nano::parse_directory("").root == ".");
}

TEST_CASE("path clock: the session's local time is that of the directory") {
  FakeClock clock;
  for (const std::int32_t offset : {0, 3600, -34200, 50400}) {
    clock.utc_offset = offset;
    for (const std::uint64_t number : {19700102000000u, 20000229235959u, 20261231235959u, 21000301000000u}) {
      nano::PathClock held(clock);
      held.hold(number);
      CHECK(local_time_number(held.unix_us() / 1'000'000, held.utc_offset_seconds()) == number);
      held.hold(0);
      CHECK(held.unix_us() == clock.now_us);
      CHECK(held.utc_offset_seconds() == offset);
    }
  }
  CHECK(nano::unix_seconds_of(20261301000000) == 0);
  CHECK(nano::unix_seconds_of(120260101000000) == 0);
}

TEST_CASE("mailbox: fields lie where the driver's header has them, and addresses have 40 bits") {
  std::byte bytes[nano::kMailboxBytes];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<std::byte>(i);
  const nano::Mailbox mailbox = nano::read_mailbox(bytes);
  CHECK(mailbox.task_id == 0x0504);
  CHECK(mailbox.model_id == 6);
  CHECK(mailbox.io_table == 0x2217161514);
  CHECK(mailbox.weights == 0x231b1a1918);
  CHECK(mailbox.workspace == 0x241f1e1d1c);
}
