// The Ascend backend on a simulated driver, whose memory the CPU cannot read.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "platform/ascend/acl_library.hpp"
#include "platform/ascend/acl_linked.hpp"
#include "platform/ascend/ascend_memory.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/basic_file_dump.hpp"
#include "tests/support/ascend/ascend_rig.hpp"
#include "tests/support/digits_run.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump;
using namespace opdump::ascend;
using namespace opdump::tests;

static_assert(AsyncMemory<AscendMemory> && RuledMemory<AscendMemory> && FencedMemory<AscendMemory> &&
              OverflowMemory<AscendMemory> && IdentifiedMemory<AscendMemory> &&
              ExplainingMemory<AscendMemory>);
// As the note on "stat_calc_mode" says.
static_assert(!StatisticsMemory<AscendMemory>);

namespace {

/// Counts what it is given and checks each file's last bytes.
class CheckingSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName&) override {
    file_.clear();
    return ObjectId{1};
  }
  Status append(ObjectId, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) {
      bytes += part.size();
      if (expected != nullptr) file_.insert(file_.end(), part.begin(), part.end());
    }
    return Status::ok;
  }
  Status commit(ObjectId, ObjectId) override {
    ++files;
    if (expected == nullptr) return Status::ok;
    const auto size = static_cast<std::ptrdiff_t>(expected->size());
    const bool same = file_.size() >= expected->size() &&
                      std::equal(expected->begin(), expected->end(), file_.end() - size);
    wrong += same ? 0 : 1;
    return Status::ok;
  }
  void abort(ObjectId) override { ++aborted; }
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }

  const std::vector<std::byte>* expected = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t files = 0;
  std::uint32_t wrong = 0;
  std::uint32_t aborted = 0;

 private:
  std::vector<std::byte> file_;
};

const OpDesc kOneOp[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 5}};
const ModelDesc kOneOpModel = {.name = "net", .id = 1, .ops = kOneOp};
const ModelRule kEveryModel = {.any_model = true};

DumpConfig all_tensors() {
  return {.active = true, .dump_path = "/d", .mode = DumpMode::all, .models = {&kEveryModel, 1}};
}

/// A session over `memory` in which the capturing thread drains, and one operator is loaded.
template <class SinkType>
struct AscendOneOpDump {
  explicit AscendOneOpDump(AscendMemory& memory, std::uint32_t limit_ms = 1000,
                           JournalDetail journal = JournalDetail::records, MutableBytes pinned = {})
      : session({.memory = memory,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch,
                 .when_full = WhenFull::inline_drain,
                 .block_limit_ms = limit_ms,
                 .journal = journal}),
        recorder(*session.add_recorder(pinned.empty() ? MutableBytes(ring) : pinned).value()) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(all_tensors()) == Status::ok);
    REQUIRE(session.load_model(plan, kOneOpModel) == Status::ok);
  }

  SinkType sink;
  FakeClock clock;
  std::byte scratch[4096];
  alignas(8) std::byte ring[4096];
  BasicSession<AscendMemory> session;
  BasicRecorder<AscendMemory>& recorder;
  ModelPlanFor<1> plan;
};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>((i * 2654435761u + seed * 97u) >> 11);
  return data;
}

}  // namespace

TEST_CASE("ascend: a missing library and a missing function are said so, with the reason") {
  AclLibrary library;
  CHECK(library.load("libnothing_of_the_kind.so") == Status::library_missing);
  CHECK(library.error().find("libnothing_of_the_kind.so") != std::string::npos);
  CHECK(library.load("libm.so.6") == Status::symbol_missing);
  CHECK(library.error().find("aclrtMemcpy") != std::string::npos);
  AscendMemory memory;
  CHECK(memory.open(library.api()) == Status::symbol_missing);
  std::byte to{};
  CHECK(memory.copy(&to, address_of(&to), 1) == Status::not_initialised);
}

TEST_CASE("ascend: plain memory stands in for the device only where the program asks for it") {
  AscendMemory memory;
  REQUIRE(memory.open_on_host(3) == Status::ok);
  CHECK(memory.on_host());
  CHECK(memory.device_id() == 3);
  const std::vector<std::byte> data = pattern(100, 1);
  std::vector<std::byte> to(100);
  CHECK(memory.fence(0) == Status::ok);
  CHECK(memory.copy(to.data(), address_of(data.data()), 100) == Status::ok);
  CHECK(to == data);
  AscendMemory::Copy copy;
  CHECK(memory.start(copy, to.data(), address_of(data.data()), 64) == Status::not_supported);
  CHECK(memory.overflowed(0).status() == Status::not_supported);
  CHECK(memory.allocate_pinned(64).status() == Status::not_supported);
  CHECK(memory.open_on_host(3) == Status::already_initialised);
}

TEST_CASE("ascend: another device than the thread's is refused, at the start and later") {
  Rig rig;
  AscendMemory memory;
  CHECK(memory.open(rig.api(), {.device_id = 1}) == Status::wrong_device);
  CHECK_FALSE(memory.asynchronous());
  REQUIRE(memory.open(rig.api(), {.device_id = 0}) == Status::ok);
  CHECK(memory.fence(0) == Status::ok);
  rig.use_device(1);
  CHECK(memory.fence(0) == Status::wrong_device);
  rig.use_device(0);
  CHECK(memory.close() == Status::ok);
  rig.check_nothing_is_left();
}

TEST_CASE("ascend: options out of range are refused, and nothing is taken") {
  Rig rig;
  AscendMemory memory;
  for (const MemoryOptions& options :
       {MemoryOptions{.lanes = AscendMemory::kMaxLanes + 1}, MemoryOptions{.staging_bytes = 0},
        MemoryOptions{.staging_bytes = 100}}) {
    CHECK(memory.open(rig.api(), options) == Status::invalid_argument);
  }
  REQUIRE(memory.open(rig.api()) == Status::ok);
  CHECK(memory.open(rig.api()) == Status::already_initialised);
  REQUIRE(memory.close() == Status::ok);
  rig.check_nothing_is_left();
}

TEST_CASE("ascend: products with fewer functions are told apart, and copy without background") {
  const std::vector<std::byte> data = pattern(1000, 2);
  std::vector<std::byte> to(1000);
  for (const char* product : {OPDUMP_SIMULATED_NANO, OPDUMP_SIMULATED_RT}) {
    Rig rig(product);
    AscendMemory memory;
    REQUIRE(memory.open(rig.api()) == Status::ok);
    CHECK_FALSE(memory.asynchronous());
    CHECK(memory.copy_rules().alignment == 1);
    const Address on_device = rig.allocate(1000);
    rig.upload(on_device, data.data(), 1000);
    CHECK(memory.copy(to.data(), on_device + 3, 900) == Status::ok);
    CHECK(std::memcmp(to.data(), data.data() + 3, 900) == 0);
    AscendMemory::Copy copy;
    CHECK(memory.start(copy, to.data(), on_device, 64) == Status::not_supported);
    CHECK(memory.overflowed(0).status() == Status::not_supported);
    CHECK(memory.allocate_pinned(64).status() == Status::not_supported);
  }
  Rig rig;
  rig.reset({.unsupported = true});
  AclApi api = rig.api();
  api.get_overflow_status = nullptr;
  AscendMemory memory;
  REQUIRE(memory.open(api) == Status::ok);
  CHECK_FALSE(memory.asynchronous());
  CHECK(memory.allocate_pinned(64).status() == Status::not_supported);
  REQUIRE(memory.close() == Status::ok);
  rig.check_nothing_is_left();
}

TEST_CASE("ascend: functions that are linked are the same as those that are loaded") {
  Rig rig;
  const AclApi linked = linked_api();
  AclApi loaded = rig.api();
  loaded.rt_memcpy = nullptr;
  std::size_t functions = 0;
  for_each_function(linked, [&]<class Linked>(const char* name, Linked of_linked) {
    for_each_function(loaded, [&]<class Loaded>(const char* other, Loaded of_loaded) {
      if (std::string_view(name) != other) return;
      if constexpr (std::is_same_v<Linked, Loaded>) {
        const bool same = of_linked == of_loaded;
        CHECK(same);
        functions += of_linked != nullptr ? 1 : 0;
      }
    });
  });
  CHECK(functions == 15);
  CHECK(linked_nano_api().can_copy());
  CHECK_FALSE(linked_nano_api().has_async());
}

TEST_CASE("ascend: a copy goes straight to pinned memory, and through a buffer to any other") {
  Rig rig;
  AscendMemory memory;
  REQUIRE(memory.open(rig.api(), {.staging_bytes = 4096}) == Status::ok);
  CHECK(memory.copy_rules().alignment == 64);
  CHECK(memory.copy_rules().max_bytes == 4096);
  const std::vector<std::byte> data = pattern(20000, 3);
  const Address on_device = rig.allocate(data.size());
  rig.upload(on_device, data.data(), data.size());
  const MutableBytes pinned = memory.allocate_pinned(16384).value();
  REQUIRE(pinned.size() == 16384);
  std::vector<std::byte> plain(16384);
  for (const bool into_pinned : {true, false}) {
    for (const std::size_t to_offset : {0u, 8u, 64u}) {
      for (const std::size_t from_offset : {0u, 3u, 64u, 100u}) {
        std::byte* to = (into_pinned ? pinned.data() : plain.data()) + to_offset;
        std::memset(to, 0, 3000);
        AscendMemory::Copy copy;
        REQUIRE(memory.start(copy, to, on_device + from_offset, 3000) == Status::ok);
        const Result<bool> over = memory.complete(copy, kWaitLimitMs);
        REQUIRE((over.ok() && over.value()));
        CHECK(std::memcmp(to, data.data() + from_offset, 3000) == 0);
      }
    }
  }
  AscendMemory::Copy copy;
  CHECK(memory.start(copy, plain.data(), on_device, 5000) == Status::not_supported);
  CHECK(rig.counts().waited_for == 0);
  REQUIRE(memory.close() == Status::ok);
  rig.free_all();
  rig.check_nothing_is_left();
}

TEST_CASE("ascend: what a synchronisation says of an operator is an overflow, an error or a timeout") {
  Rig rig;
  AscendMemory memory;
  REQUIRE(memory.open(rig.api(), {.operator_limit_ms = 20}) == Status::ok);
  void* const stream = rig.create_stream();
  REQUIRE(memory.add_stream(5, stream) == Status::ok);
  CHECK(memory.overflowed(5).ok());
  CHECK_FALSE(memory.overflowed(5).value());
  for (const int code : {207003, 207016, 207017}) {
    rig.operator_says(stream, code);
    CHECK(memory.fence(5) == Status::ok);
    CHECK(memory.overflowed(5).value());
    CHECK_FALSE(memory.overflowed(5).value());
  }
  rig.operator_says(stream, 507015);
  CHECK(memory.fence(5) == Status::driver_failed);
  CHECK(memory.driver_error().code == 507015);
  CHECK(std::string_view(memory.driver_error().call) == "aclrtSynchronizeStream");
  rig.operator_says(stream, 507046);
  CHECK(memory.fence(5) == Status::driver_failed);
  CHECK(memory.driver_error().code == 507046);
  CHECK(memory.fence(5) == Status::ok);
  CHECK(memory.fence(6) == Status::ok);
  for (std::uint32_t i = 0; i < AscendMemory::kMaxStreams + 5; ++i) {
    const Status expected = i < AscendMemory::kMaxStreams ? Status::ok : Status::too_many_objects;
    CHECK(memory.add_stream(i, stream) == expected);
  }
  rig.destroy_stream(stream);
}

TEST_CASE("ascend: the device's overflow status is asked, told once and reset") {
  Rig rig;
  AscendMemory memory;
  REQUIRE(memory.open(rig.api()) == Status::ok);
  CHECK_FALSE(memory.overflowed(0).value());
  rig.set_overflow(0);
  CHECK(memory.overflowed(0).value());
  CHECK_FALSE(memory.overflowed(0).value());
  rig.set_overflow(1);
  CHECK_FALSE(memory.overflowed(0).value());
  // Each of the calls that it takes may fail: then it is not known, or known all the same, and told once.
  std::uint64_t calls = 0;
  bool all = false;
  for (std::uint64_t failing = 0; !all; ++failing) {
    rig.reset({});
    rig.set_overflow(0);
    rig.fail_call(failing, 507899);
    const Result<bool> answer = memory.overflowed(0);
    calls = rig.counts().calls;
    all = calls <= failing;
    rig.fail_call(~std::uint64_t{0}, 0);
    if (!all) CHECK(memory.driver_error().code == 507899);
    if (answer.ok()) {
      CHECK(answer.value());
    } else {
      CHECK(answer.status() == Status::not_supported);
      CHECK(memory.overflowed(0).value());
    }
    // Where the reset failed, the next answer is none.
    const Result<bool> next = memory.overflowed(0);
    CHECK((next.ok() ? !next.value() : next.status() == Status::not_supported));
    CHECK_FALSE(memory.overflowed(0).value());
  }
  CHECK(calls == 5);
  rig.fail_call(~std::uint64_t{0}, 0);
  REQUIRE(memory.close() == Status::ok);
  rig.check_nothing_is_left();
}

TEST_CASE("ascend: digits dumps the same from two simulated devices as from plain memory") {
  constexpr std::size_t kImages = 5;
  alignas(64) static std::byte ring[2048];
  HostMemory host;
  std::vector<std::vector<std::byte>> tensors;
  const DumpFiles expected = dump_digits(
      host, kImages, ring, [&](std::size_t bytes) { return address_of(tensors.emplace_back(bytes).data()); },
      [](Address to, const void* from, std::size_t bytes) {
        std::memcpy(reinterpret_cast<void*>(to), from, bytes);
      });
  CHECK(expected.size() == kImages * digits::Network::kOpCount);
  for (const char* product : {OPDUMP_SIMULATED_ASCEND, OPDUMP_SIMULATED_NANO}) {
    for (const std::int32_t device : {0, 1}) {
      Rig rig(product);
      rig.use_device(device);
      AscendMemory memory;
      REQUIRE(memory.open(rig.api(), {.device_id = static_cast<std::uint32_t>(device)}) == Status::ok);
      const DumpFiles dumped = dump_digits(
          memory, kImages, ring, [&](std::size_t bytes) { return rig.allocate(bytes); },
          [&](Address to, const void* from, std::size_t bytes) { rig.upload(to, from, bytes); },
          static_cast<std::uint32_t>(device));
      REQUIRE(dumped.size() == expected.size());
      auto other = expected.begin();
      for (const auto& [name, file] : dumped) {
        CHECK(file == other->second);
        if (device == 0) CHECK(name == other->first);
        ++other;
      }
      CHECK((rig.counts().background > 0) == memory.asynchronous());
      REQUIRE(memory.close() == Status::ok);
      rig.free_all();
      rig.check_nothing_is_left();
    }
  }
}

TEST_CASE("ascend: any number of records under random order of completion are right") {
  const char* wanted = std::getenv("OPDUMP_ASCEND_RECORDS");
  const std::size_t records = wanted == nullptr ? 2000 : std::strtoul(wanted, nullptr, 10);
  REQUIRE(records > 0);
  Rig rig;
  rig.reset({.shuffle_seed = 11});
  AscendMemory memory;
  REQUIRE(memory.open(rig.api(), {.lanes = 4, .staging_bytes = 1024}) == Status::ok);
  const std::vector<std::byte> data = pattern(8192, 4);
  const Address on_device = rig.allocate(data.size());
  rig.upload(on_device, data.data(), data.size());
  AscendOneOpDump<CheckingSink> dump(memory, 1000, JournalDetail::none);
  std::minstd_rand random(3);
  std::vector<std::byte> expected;
  dump.sink.expected = &expected;
  for (std::size_t i = 0; i < records; ++i) {
    const auto tensor = [&](Dim& dim, std::size_t most) {
      const std::size_t start = random() % 64;
      dim = 1 + random() % most;
      const auto from = data.begin() + static_cast<std::ptrdiff_t>(start);
      expected.insert(expected.end(), from, from + static_cast<std::ptrdiff_t>(dim));
      return TensorView{
          .address = on_device + start, .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
    };
    expected.clear();
    Dim dims[4];
    const std::size_t most = i % 50 == 0 ? 7000 : 300;
    const TensorView in[] = {tensor(dims[0], 300), tensor(dims[1], 300)};
    const TensorView out[] = {tensor(dims[2], most), tensor(dims[3], 300)};
    dump.recorder.begin_step(dump.plan);
    REQUIRE(dump.recorder.capture(0, in, out) == Status::ok);
    dump.recorder.end_step();
    while (dump.session.drain_some(SIZE_MAX) != 0) continue;
  }
  REQUIRE(dump.session.finalize() == Status::ok);
  CHECK(dump.sink.files == records);
  CHECK(dump.sink.wrong == 0);
  CHECK(rig.counts().background > 4 * records);
  CHECK(rig.counts().most_under_way == 4);
  REQUIRE(memory.close() == Status::ok);
  rig.free_all();
  rig.check_nothing_is_left();
}

TEST_CASE("ascend: every call of the driver may fail; nothing hangs, leaks or is half there") {
  const std::vector<std::byte> data = pattern(6000, 5);
  std::uint64_t calls = 0;
  bool reached_all = false;
  for (std::uint64_t failing = 0; !reached_all; ++failing) {
    Rig rig;
    const Address on_device = rig.allocate(data.size());
    rig.upload(on_device, data.data(), data.size());
    void* const stream = rig.create_stream();
    rig.reset({});
    rig.fail_call(failing, 507899);
    AscendMemory memory;
    Status status = memory.open(rig.api(), {.lanes = 2, .staging_bytes = 1024});
    std::uint32_t captured = 0;
    if (status == Status::ok) {
      REQUIRE(memory.add_stream(5, stream) == Status::ok);
      AscendOneOpDump<FakeSink> dump(memory, 10000, JournalDetail::none);
      for (int step = 0; step < 3; ++step) {
        const Dim dim = step == 1 ? 6000 : 200;
        const TensorView tensor = {
            .address = on_device, .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
        REQUIRE(dump.recorder.begin_step(dump.plan) == Status::ok);
        static_cast<void>(memory.overflowed(5));
        captured += dump.recorder.capture(0, {}, {&tensor, 1}) == Status::ok ? 1 : 0;
        REQUIRE(dump.recorder.end_step() == Status::ok);
      }
      REQUIRE(dump.session.finalize() == Status::ok);
      CHECK(captured >= 2);
      CHECK(dump.session.counts().device_failed == 3 - captured);
      CHECK(dump.session.counts().written == captured);
      CHECK(dump.sink.objects.size() == captured);
      CHECK(dump.sink.open_objects.empty());
      for (const auto& [name, file] : dump.sink.objects) {
        const std::size_t bytes = name.find("/1/1|") != name.npos ? 6000 : 200;
        REQUIRE(file.size() > bytes);
        CHECK(std::memcmp(file.data() + file.size() - bytes, data.data(), bytes) == 0);
      }
      CHECK(dump.session.remove_recorder(dump.recorder) == Status::ok);
      status = memory.close();
      const bool told = status != Status::ok || captured != 3 || rig.counts().calls <= failing;
      // The overflow status, a lane that is not there and a query are no loss.
      if (!told) CHECK(memory.driver_error().code == 507899);
    } else {
      CHECK(memory.driver_error().code == 507899);
    }
    calls = rig.counts().calls;
    reached_all = calls <= failing;
    rig.fail_call(~std::uint64_t{0}, 0);
    // What the driver would not take back is all that may be left.
    const SimulatedAscendCounts left = rig.counts();
    CHECK(left.streams - 1 + left.pinned + left.allocations - 1 <= (status == Status::ok ? 0u : 1u));
    rig.synchronize_stream(stream);
    rig.destroy_stream(stream);
    rig.free_all();
    rig.drop_left_over();
  }
  MESSAGE("calls that failed, each in a run of its own: " << calls);
  CHECK(calls > 40);
}

TEST_CASE("ascend: a dump to files tells what the driver said of a copy that failed") {
  const TemporaryDirectory directory;
  const std::string config = directory.text() + "/acl.json";
  write_file(config, R"({"dump": {"dump_path": ")" + directory.text() +
                         R"(", "dump_list": [{"model_name": "net"}]}})");
  Rig rig;
  AscendMemory memory;
  REQUIRE(memory.open(rig.api()) == Status::ok);
  const Address on_device = rig.allocate(256);
  auto dump = std::make_unique<posix::BasicFileDump<AscendMemory>>(memory);
  REQUIRE(dump->start(config.c_str()) == Status::ok);
  ModelPlanFor<1> plan;
  REQUIRE(dump->load_model(plan, kOneOpModel) == Status::ok);
  const Dim dim = 256;
  const TensorView tensor = {
      .address = on_device, .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
  rig.fail_copy(0, 507052);
  for (int step = 0; step < 2; ++step) {
    REQUIRE(dump->recorder().begin_step(plan) == Status::ok);
    const Status expected = step == 0 ? Status::device_copy_failed : Status::ok;
    CHECK(dump->recorder().capture(0, {}, {&tensor, 1}) == expected);
    REQUIRE(dump->recorder().end_step() == Status::ok);
  }
  CHECK(dump->stop() == Status::device_copy_failed);
  CHECK(
      dump->error() ==
      "1 of 2 records lost, because: copying from device memory failed; the driver's aclrtSynchronizeStream "
      "returned 507052");
  CHECK(dump->counts().written == 1);
  std::string journal;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.path().extension() == ".journal") journal += read_file(entry.path());
  }
  CHECK(journal.find("\nlost,0,0,device_failed") != std::string::npos);
}

TEST_CASE("ascend: every copy in the background may fail on the device") {
  const std::vector<std::byte> data = pattern(20000, 6);
  std::uint64_t copies = 1;
  for (std::uint64_t failing = 0; failing <= copies; ++failing) {
    Rig rig;
    AscendMemory memory;
    REQUIRE(memory.open(rig.api(), {.staging_bytes = 1024}) == Status::ok);
    const Address on_device = rig.allocate(data.size());
    rig.upload(on_device, data.data(), data.size());
    rig.fail_copy(failing, 507052);
    AscendOneOpDump<FakeSink> dump(memory);
    const Dim dim = data.size();
    const TensorView tensor = {
        .address = on_device, .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
    REQUIRE(dump.recorder.begin_step(dump.plan) == Status::ok);
    const Status first = dump.recorder.capture(0, {}, {&tensor, 1});
    const Status second = dump.recorder.capture(0, {}, {&tensor, 1});
    REQUIRE(dump.recorder.end_step() == Status::ok);
    REQUIRE(dump.session.finalize() == Status::ok);
    copies = rig.counts().background;
    const bool failed = failing < copies;
    CHECK((first == Status::ok && second == Status::ok) != failed);
    CHECK((first == Status::ok || second == Status::ok));
    CHECK(memory.driver_error().code == (failed ? 507052 : 0));
    CHECK(dump.sink.objects.size() == (failed ? 1 : 2));
    CHECK(dump.sink.open_objects.empty());
    CHECK(dump.session.counts().device_failed == (failed ? 1 : 0));
    for (const auto& [name, file] : dump.sink.objects)
      CHECK(std::equal(data.begin(), data.end(), file.end() - static_cast<std::ptrdiff_t>(data.size())));
    REQUIRE(memory.close() == Status::ok);
    rig.free_all();
    rig.check_nothing_is_left();
  }
  CHECK(copies > 20);
}

TEST_CASE("ascend: a copy that never ends loses records within the limit, and later ones are whole again") {
  Rig rig;
  AscendMemory memory;
  REQUIRE(memory.open(rig.api(), {.staging_bytes = 1024}) == Status::ok);
  const std::vector<std::byte> data = pattern(9000, 7);
  const Address on_device = rig.allocate(data.size());
  rig.upload(on_device, data.data(), data.size());
  AscendOneOpDump<FakeSink> dump(memory, 20);
  const Dim dim = data.size();
  const TensorView tensor = {
      .address = on_device, .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
  rig.hold_copies(2, 1);
  REQUIRE(dump.recorder.begin_step(dump.plan) == Status::ok);
  {
    const WaitLimit limit("captures of what the device does not copy");
    CHECK(dump.recorder.capture(0, {}, {&tensor, 1}) == Status::device_copy_failed);
    CHECK(dump.recorder.capture(0, {}, {&tensor, 1}) == Status::device_copy_failed);
  }
  CHECK(rig.counts().limits_ms < 2000);
  CHECK(dump.session.remove_recorder(dump.recorder) == Status::recorder_busy);
  rig.let_go();
  wait_until("a capture", [&] { return dump.recorder.capture(0, {}, {&tensor, 1}) == Status::ok; });
  REQUIRE(dump.recorder.end_step() == Status::ok);
  REQUIRE(dump.session.finalize() == Status::ok);
  CHECK(dump.sink.objects.size() == 1);
  CHECK(dump.session.remove_recorder(dump.recorder) == Status::ok);
  REQUIRE(memory.close() == Status::ok);
  rig.free_all();
  rig.check_nothing_is_left();
}

TEST_CASE("ascend: the device copies without a pause while the recorder and the sink work") {
  constexpr std::size_t kBytes = 64 * 1024 * 1024;
  constexpr std::size_t kRingBytes = 256 * 1024;
  Rig rig;
  AscendMemory memory;
  REQUIRE(memory.open(rig.api()) == Status::ok);
  const Address on_device = rig.allocate(kBytes);
  AscendOneOpDump<CheckingSink> dump(memory, kWaitLimitMs, JournalDetail::records,
                                     memory.allocate_pinned(kRingBytes).value());
  const Dim dim = kBytes;
  const TensorView tensor = {
      .address = on_device, .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    rig.reset({.ns_per_mib = 200000});
    // A slow recorder lets the device end each copy before the next one begins, but for the two that are held.
    rig.hold_copies(0, 2);
    std::thread device([&rig] {
      wait_until(
          "three copies at a time", [&rig] { return rig.counts().most_under_way >= 3; },
          [&rig] { return std::to_string(rig.counts().most_under_way); });
      rig.let_go();
    });
    REQUIRE(dump.recorder.begin_step(dump.plan) == Status::ok);
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(dump.recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    device.join();
    REQUIRE(dump.recorder.end_step() == Status::ok);
    const SimulatedAscendCounts counts = rig.counts();
    best = std::min(best, took.count() / (static_cast<double>(counts.busy_ns) * 1e-9));
    CHECK(counts.waited_for == 0);
    CHECK(counts.background >= kBytes / (kRingBytes / 4));
    CHECK(counts.most_under_way >= 3);
  }
  MESSAGE("64 MiB through a ring of 256 KiB, over pure transfer time: " << best);
  REQUIRE(dump.session.finalize() == Status::ok);
  CHECK(dump.sink.bytes > 5 * kBytes);
  REQUIRE(memory.close() == Status::ok);
  rig.free_all();
  rig.check_nothing_is_left();
}
