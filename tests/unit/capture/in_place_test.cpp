// Large tensors that the drainer takes from where they lie, as it works in the recorder's context.

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// Memory that may be read where it lies, all of it or `visible` bytes at a time.
class SeenMemory final : public DeviceMemory {
 public:
  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    copied += bytes;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return Status::ok;
  }

  Bytes view(Address from, std::uint64_t bytes) {
    return {reinterpret_cast<const std::byte*>(from),
            static_cast<std::size_t>(bytes < visible ? bytes : visible)};
  }

  std::uint64_t copied = 0;
  std::uint64_t visible = UINT64_MAX;
};

/// A small and a large tensor, larger than the ring of a Bench<1024>.
struct TwoSizes {
  TwoSizes() {
    for (std::size_t i = 0; i < large_data.size(); ++i) large_data[i] = static_cast<std::uint16_t>(i * 40503);
  }
  std::vector<std::uint16_t> large_data = std::vector<std::uint16_t>(3001);
  Dim large_dims[1] = {3001};
  Dim small_dims[2] = {3, 5};
  TensorView tensors[2] = {{.address = address_of(large_data.data()),
                            .bytes = 6002,
                            .dtype = DType::bfloat16,
                            .shape = large_dims},
                           {.address = address_of(large_data.data() + 7),
                            .bytes = 30,
                            .dtype = DType::float16,
                            .shape = small_dims}};
};

template <class Memory>
void dump(Bench<1024, Memory>& bench, const DumpConfig& config, const TwoSizes& of) {
  bench.start(config);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  for (std::size_t op = 0; op < kModel.ops.size(); ++op)
    static_cast<void>(bench.recorder.capture(op, {of.tensors, 1}, of.tensors));
  REQUIRE(bench.recorder.end_step() == Status::ok);
  static_cast<void>(bench.session.finalize());
}

bool is_little_endian() {
  return std::endian::native == std::endian::little;
}

}  // namespace

TEST_CASE("in place: the dump is that of tensors that go through the ring, in every file format") {
  const TwoSizes of;
  for (const FileFormat format : {FileFormat::nano, FileFormat::protobuf, FileFormat::npy}) {
    DumpConfig config = everything();
    config.form.file_format = format;
    Bench<1024, FakeMemory> through;
    dump(through, config, of);
    Bench<1024, SeenMemory> seen;
    dump(seen, config, of);
    CHECK(seen.session.counts().lost() == 0);
    CHECK(seen.sink.objects.size() >= kModel.ops.size());
    CHECK(seen.sink.objects == through.sink.objects);
    CHECK(seen.sink.journals == through.sink.journals);
  }
}

TEST_CASE("in place: nothing of a record that is larger than the ring is copied") {
  const TwoSizes of;
  Bench<1024, SeenMemory> bench;
  dump(bench, everything(), of);
  CHECK(bench.session.counts().written == kModel.ops.size());
  CHECK((bench.memory.copied == 0) == is_little_endian());
}

TEST_CASE("in place: what cannot be seen whole, and what another context drains, is copied") {
  const TwoSizes of;
  const std::uint64_t all = kModel.ops.size() * (2 * of.tensors[0].bytes + of.tensors[1].bytes);
  Bench<1024, SeenMemory> bench;
  bench.memory.visible = 29;
  dump(bench, everything(), of);
  CHECK(bench.session.counts().written == kModel.ops.size());
  CHECK(bench.memory.copied == all);
  Bench<1024, SeenMemory> dropping(WhenFull::drop);
  dump(dropping, everything(), of);
  CHECK(dropping.memory.copied != 0);
}

TEST_CASE("in place: the journal tells of a record as soon as it has ended") {
  const TwoSizes of;
  Bench<1024, SeenMemory> bench;
  bench.start(everything());
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {of.tensors, 1}, {of.tensors, 1}) == Status::ok);
  REQUIRE(bench.recorder.sender().ring().drained() == is_little_endian());
  REQUIRE(bench.session.flush(0) == Status::ok);
  REQUIRE(bench.sink.objects.size() == 1);
  REQUIRE(bench.sink.journals.size() == 1);
  CHECK(bench.sink.journals.begin()->second.find("\nwritten,0,0,") != std::string::npos);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("in place: a sink that fails at any call leaves no half object, and every record is counted") {
  const TwoSizes of;
  Bench<1024, SeenMemory> whole;
  dump(whole, everything(), of);
  for (int fail_at = 0; fail_at < whole.sink.calls; ++fail_at) {
    CAPTURE(fail_at);
    Bench<1024, SeenMemory> bench;
    bench.sink.fail_at = fail_at;
    dump(bench, everything(), of);
    const DumpCounts n = bench.session.counts();
    CHECK(n.wanted == kModel.ops.size());
    check_adds_up(n);
    CHECK(bench.sink.open_objects.empty());
    for (const auto& [name, object] : bench.sink.objects) CHECK(object == whole.sink.objects.at(name));
  }
}
