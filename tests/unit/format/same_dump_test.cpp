// The same inputs give the same dump, byte by byte, on every machine: large and small, little- and big-endian.

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "opdump/parts/statistics.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/session.hpp"
#include "tests/support/fakes.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr DType kTried[] = {
    DType::boolean, DType::int4,    DType::int8,      DType::int16,     DType::int32,      DType::int64,
    DType::uint8,   DType::uint16,  DType::uint32,    DType::uint64,    DType::float16,    DType::bfloat16,
    DType::float32, DType::float64, DType::complex32, DType::complex64, DType::complex128,
};

/// Elements of `dtype` as this machine holds them: number i has the value that a hash gives i.
std::vector<std::byte> elements(DType dtype, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  const auto fill = [&data]<class Number>(Number) {
    for (std::size_t i = 0; i + 1 <= data.size() / sizeof(Number); ++i) {
      const Number number = static_cast<Number>((i + 1) * 0x9e3779b97f4a7c15u >> 7);
      std::memcpy(data.data() + i * sizeof number, &number, sizeof number);
    }
  };
  switch (number_bytes(dtype)) {
    case 1:
      fill(std::uint8_t{});
      break;
    case 2:
      fill(std::uint16_t{});
      break;
    case 4:
      fill(std::uint32_t{});
      break;
    default:
      fill(std::uint64_t{});
      break;
  }
  return data;
}

/// One tensor's bytes at an address that is the same on every machine.
class OneTensor final : public DeviceMemory {
 public:
  static constexpr Address kBase = 0x1000;

  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    std::memcpy(to, data.data() + (from - kBase), bytes);
    return Status::ok;
  }

  std::vector<std::byte> data;
};

std::uint64_t digest(const FakeSink& sink) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto take = [&hash](Bytes bytes) {
    for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  };
  for (const auto& [name, object] : sink.objects) {
    take(as_bytes(name));
    take(object);
  }
  return hash;
}

/// Dumps one tensor of every dtype and of three sizes, the last one larger than the ring; under `degrade` it
/// leaves statistics.
std::uint64_t dump(WhenFull when_full, std::uint32_t& written) {
  OneTensor memory;
  FakeSink sink;
  FakeClock clock;
  StatisticsReduction<OneTensor> reduction(memory);
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  BasicSession<OneTensor> session({.memory = memory,
                                   .sink = sink,
                                   .clock = clock,
                                   .scratch = scratch,
                                   .when_full = when_full,
                                   .reduction = &reduction});
  BasicRecorder<OneTensor>& recorder = *session.add_recorder(ring).value();
  const OpDesc ops[] = {{.name = "block/conv.1", .type = "Conv2D", .task_id = 3, .stream_id = 1}};
  const ModelDesc model = {.name = "net", .id = 7, .ops = ops};
  const ModelRule rule = {.any_model = true};
  ModelPlanFor<1> plan;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(
      session.set_config({.active = true, .dump_path = "/d", .mode = DumpMode::all, .models = {&rule, 1}}) ==
      Status::ok);
  REQUIRE(session.load_model(plan, model) == Status::ok);
  for (const DType dtype : kTried) {
    for (const std::size_t bytes : {48u, 1000u, 9008u}) {
      memory.data = elements(dtype, bytes);
      const Dim dims[] = {bytes * 8 / info(dtype).bits};
      const TensorView tensor = {
          .address = OneTensor::kBase, .bytes = bytes, .dtype = dtype, .format = Format::nd, .shape = dims};
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      static_cast<void>(recorder.capture(0, {&tensor, 1}, {&tensor, 1}));
      REQUIRE(recorder.end_step() == Status::ok);
    }
    while (session.drain_some(SIZE_MAX) != 0) continue;
  }
  REQUIRE(session.finalize() == Status::ok);
  written = session.counts().written;
  return digest(sink);
}

}  // namespace

TEST_CASE("same dump: records of every dtype, whole and in pieces") {
  std::uint32_t written = 0;
  CHECK(dump(WhenFull::inline_drain, written) == 3616981199943921201u);
  CHECK(written == 3 * std::size(kTried));
}

TEST_CASE("same dump: statistics in place of records") {
  std::uint32_t written = 0;
  CHECK(dump(WhenFull::degrade, written) == 6674357056815197498u);
  CHECK(written > 2 * std::size(kTried));
}
