#include "opdump/parts/format_restorer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fake_async_memory.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

struct Case {
  Format format;
  std::vector<Dim> shape;
  Format original_format;
  std::vector<Dim> original;
  std::uint32_t sample = 0;
};

const Case kCases[] = {
    {Format::nc1hwc0, {2, 3, 5, 7, 16}, Format::nchw, {2, 40, 5, 7}},
    {Format::nc1hwc0, {1, 2, 9, 4, 16}, Format::nhwc, {1, 9, 4, 32}},
    {Format::nc1hwc0, {1, 2, 3, 3, 32}, Format::reserved, {1, 33, 3, 3}},
    {Format::ndc1hwc0, {1, 2, 2, 3, 3, 16}, Format::reserved, {1, 20, 2, 3, 3}},
    {Format::fractal_z, {18, 2, 16, 16}, Format::nchw, {20, 33, 3, 2}},
    {Format::fractal_nz, {3, 4, 3, 16, 16}, Format::nd, {3, 33, 50}},
    {Format::fractal_nz, {2, 2, 16, 16}, Format::reserved, {17, 32}},
    {Format::nc1hwc0, {2, 3, 5, 7, 16}, Format::nchw, {2, 40, 5, 7}, 100},
};

DumpConfig restoring_config() {
  DumpConfig config = everything();
  config.form.layout = Layout::mindspore_kernel;
  config.form.file_format = FileFormat::npy;
  config.net_name = "net";
  return config;
}

const OpDesc kOp[] = {{.name = "Conv-op1", .type = "Conv"}};
const ModelDesc kRestoredNet = {.name = "net", .id = 7, .ops = kOp};

TensorView view_of(const Case& one, DType dtype, const std::vector<std::byte>& memory) {
  return {.address = address_of(memory.data()),
          .bytes = memory.size(),
          .dtype = dtype,
          .format = one.format,
          .shape = one.shape,
          .original_shape = one.original,
          .original_format = one.original_format};
}

std::vector<std::byte> random_tensor(const Case& one, DType dtype) {
  std::vector<std::byte> memory(static_cast<std::size_t>(packed_bytes(dtype, one.shape).value()) + 5);
  std::mt19937 random(7);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  return memory;
}

/// In one piece, without a session.
std::vector<std::byte> restored_at_once(const Case& one, DType dtype, const std::vector<std::byte>& memory,
                                        Format wanted = Format::reserved) {
  const Format own = one.original_format == Format::reserved
                         ? framework_format(one.format, one.original.size())
                         : one.original_format;
  const Format to = wanted == Format::reserved ? own : wanted;
  const std::uint32_t item = info(dtype).bits / 8;
  Relayout relayout;
  REQUIRE(relayout.plan({.from = one.format,
                         .to = to,
                         .shape = one.shape,
                         .logical = one.original,
                         .logical_format = own,
                         .item_bytes = item}) == Status::ok);
  std::vector<std::byte> whole;
  while (whole.size() < relayout.elements() * item) {
    const Relayout::Piece piece = relayout.piece(whole.size() / item, relayout.elements(), UINT64_MAX);
    std::vector<std::byte> box;
    relayout.for_each_run(piece, [&](std::uint64_t first, std::uint64_t count) {
      const auto at = memory.begin() + static_cast<std::ptrdiff_t>(first * item);
      box.insert(box.end(), at, at + static_cast<std::ptrdiff_t>(count * item));
    });
    const std::size_t done = whole.size();
    whole.resize(done + static_cast<std::size_t>(piece.elements * item));
    relayout.convert(piece, box.data(), whole.data() + done);
  }
  if (one.sample != 0) whole.resize(one.sample * item);
  to_little_endian(whole, dtype);
  return whole;
}

/// What a session makes of the tensor: its file's name from the role on, and what stands behind the head.
struct Made {
  std::string name;
  std::vector<std::byte> elements;
  Status status = Status::ok;
};

template <std::size_t kRing, class Memory>
Made dumped(DumpConfig config, const TensorView& tensor, int fail_at = -1) {
  Bench<kRing, Memory> bench;
  bench.memory.fail_at = fail_at;
  bench.start(config, kRestoredNet);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  Made made;
  made.status = bench.recorder.capture(0, {}, {&tensor, 1});
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
  CHECK(bench.sink.open_objects.empty());
  for (const auto& [path, data] : bench.sink.objects) {
    made.name = path.substr(path.find(".output."));
    const std::size_t head = 10u + load_little_endian<std::uint16_t>(data.data() + 8);
    made.elements.assign(data.begin() + static_cast<std::ptrdiff_t>(head), data.end());
  }
  return made;
}

/// Whether the only file that a session makes of the tensor ends with its bytes as they lie.
bool record_ends_with_memory(const DumpConfig& config, const TensorView& tensor,
                             const std::vector<std::byte>& memory) {
  Bench<4096> bench;
  bench.start(config, kRestoredNet);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.objects.size() == 1);
  const std::vector<std::byte>& file = bench.sink.objects.begin()->second;
  return file.size() > memory.size() && std::equal(memory.rbegin(), memory.rend(), file.rbegin());
}

}  // namespace

TEST_CASE("restorer: tensors of device formats come as the framework has them, through any ring and memory") {
  for (const Case& one : kCases) {
    for (const DType dtype : {DType::int8, DType::float16, DType::float32, DType::complex128}) {
      const std::vector<std::byte> memory = random_tensor(one, dtype);
      const std::vector<std::byte> expected = restored_at_once(one, dtype, memory);
      const TensorView tensor = view_of(one, dtype, memory);
      DumpConfig config = restoring_config();
      config.sample_number = one.sample;
      const std::string name = ".output.0.DefaultFormat." + std::string(info(dtype).name) + ".npy";
      CAPTURE(name);
      CAPTURE(to_string(one.format));
      for (const Made& made :
           {dumped<1024, FakeMemory>(config, tensor), dumped<1 << 19, FakeMemory>(config, tensor),
            dumped<1024, FakeAsyncMemory>(config, tensor),
            dumped<1 << 19, FakeAsyncMemory>(config, tensor)}) {
        CHECK(made.status == Status::ok);
        CHECK(made.name == name);
        CHECK(made.elements == expected);
      }
    }
  }
}

TEST_CASE("restorer: NC1HWC0 by its definition") {
  const Case& one = kCases[0];
  const std::vector<std::byte> memory = random_tensor(one, DType::int8);
  const Made made = dumped<2048, FakeMemory>(restoring_config(), view_of(one, DType::int8, memory));
  REQUIRE(made.elements.size() == 2 * 40 * 5 * 7);
  std::size_t at = 0;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 40; ++c) {
      for (std::size_t hw = 0; hw < 35; ++hw)
        CHECK(made.elements[at++] == memory[((n * 3 + c / 16) * 35 + hw) * 16 + c % 16]);
    }
  }
}

TEST_CASE("restorer: statistics are those of the restored elements, without padding") {
  const Case one = {Format::nc1hwc0, {1, 1, 2, 2, 16}, Format::nchw, {1, 3, 2, 2}};
  std::vector<std::byte> memory(64 * 4);
  for (std::size_t i = 0; i < 64; ++i) {
    const float value = i % 16 < 3 ? static_cast<float>(i % 16 + 1) : 1000;
    store_little_endian(memory.data() + 4 * i, std::bit_cast<std::uint32_t>(value));
  }
  to_little_endian(memory, DType::float32);
  Bench<4096> bench;
  DumpConfig config = restoring_config();
  config.form.data = DumpData::statistics;
  config.form.statistics = kStatMax | kStatMin | kStatMean | kStatCount;
  bench.start(config, kRestoredNet);
  const TensorView tensor = view_of(one, DType::float32, memory);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.journals["/dump|rank_2/net/7/0|statistic.csv"].ends_with(
      ",output,0,48,float32,\"(1,3,2,2)\",3,1,2,12,\n"));
}

TEST_CASE("restorer: what cannot be restored, or is not to be, keeps the device's format and its name") {
  const auto check_kept = [](const Case& one, DType dtype, DumpConfig config) {
    const std::vector<std::byte> memory = random_tensor(one, dtype);
    TensorView tensor = view_of(one, dtype, memory);
    const Made made = dumped<1024, FakeMemory>(config, tensor);
    CHECK(made.status == Status::ok);
    CHECK(made.name ==
          ".output.0." + std::string(to_string(one.format)) + "." + std::string(info(dtype).name) + ".npy");
    CHECK(made.elements.size() == npy_data_bytes(tensor));
  };
  const Case blocks = {Format::nc1hwc0, {2, 3, 5, 7, 16}, Format::nchw, {2, 40, 5, 7}};
  Case one = blocks;
  one.original.clear();
  check_kept(one, DType::float16, restoring_config());
  one.original = {2, 49, 5, 7};
  check_kept(one, DType::float16, restoring_config());
  check_kept(blocks, DType::int4, restoring_config());
  check_kept({Format::fractal_zz, {1, 1, 16, 16}, Format::nd, {16, 16}}, DType::float16, restoring_config());
  check_kept({Format::fractal_nz, {1, 1, 64, 64}, Format::nd, {64, 64}}, DType::float16, restoring_config());
  DumpConfig as_on_device = restoring_config();
  as_on_device.device_format = true;
  check_kept(blocks, DType::float16, as_on_device);
}

TEST_CASE("restorer: arrays of whole graphs come as NCHW where the framework has 4 dims, and records never") {
  DumpConfig config = restoring_config();
  config.form.layout = Layout::mindspore_graph;
  for (const Case& one : kCases) {
    const std::vector<std::byte> memory = random_tensor(one, DType::float16);
    const TensorView tensor = view_of(one, DType::float16, memory);
    config.sample_number = one.sample;
    config.form.file_format = FileFormat::npy;
    const bool restored = one.original.size() == 4;
    const Made made = dumped<1024, FakeAsyncMemory>(config, tensor);
    CHECK(made.status == Status::ok);
    CHECK(made.name ==
          ".output.0." + std::string(restored ? "NCHW" : to_string(one.format)) + ".float16.npy");
    if (restored) CHECK(made.elements == restored_at_once(one, DType::float16, memory, Format::nchw));
    config.form.file_format = FileFormat::protobuf;
    CHECK(record_ends_with_memory(config, tensor, memory));
  }
}

TEST_CASE("restorer: arrays of whole graphs by the definition of each format") {
  using Place = std::size_t (*)(std::size_t n, std::size_t c, std::size_t h, std::size_t w);
  struct Defined {
    Case one;
    Place place;
  };
  const Place of_z = [](std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
    return ((((c / 16 * 3 + h) * 2 + w) * 2 + n / 16) * 16 + n % 16) * 16 + c % 16;
  };
  const Place of_5d = [](std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
    return (((n * 2 + c / 16) * 5 + h) * 7 + w) * 16 + c % 16;
  };
  const Defined defined[] = {
      {{Format::nc1hwc0, {2, 2, 5, 7, 16}, Format::reserved, {2, 20, 5, 7}}, of_5d},
      {{Format::ndc1hwc0, {2, 1, 2, 5, 7, 16}, Format::reserved, {2, 20, 5, 7}}, of_5d},
      {{Format::nc1hwc0_c04, {2, 1, 5, 7, 4}, Format::reserved, {2, 3, 5, 7}},
       [](std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
         return ((n * 5 + h) * 7 + w) * 4 + c;
       }},
      {{Format::fractal_z, {12, 2, 16, 16}, Format::reserved, {20, 17, 3, 2}}, of_z},
      {{Format::fractal_z_3d, {12, 2, 16, 16}, Format::reserved, {20, 17, 3, 2}}, of_z},
      {{Format::fractal_nz, {2, 3, 4, 3, 16, 16}, Format::nd, {2, 3, 33, 50}},
       [](std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
         return ((((n * 3 + c) * 4 + w / 16) * 3 + h / 16) * 16 + h % 16) * 16 + w % 16;
       }},
      {{Format::c1hwncoc0, {2, 3, 2, 2, 16, 16}, Format::reserved, {2, 20, 3, 2}},
       [](std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
         return ((((c / 16 * 3 + h) * 2 + w) * 2 + n) * 16 + c % 16) * 16 + c % 16;
       }},
  };
  DumpConfig config = restoring_config();
  config.form.layout = Layout::mindspore_graph;
  for (const Defined& each : defined) {
    const Case& one = each.one;
    const Place& place = each.place;
    CAPTURE(to_string(one.format));
    const std::vector<std::byte> memory = random_tensor(one, DType::int8);
    const Made made = dumped<1024, FakeAsyncMemory>(config, view_of(one, DType::int8, memory));
    CHECK(made.name == ".output.0.NCHW.int8.npy");
    std::vector<std::byte> expected;
    for (std::size_t n = 0; n < one.original[0]; ++n) {
      for (std::size_t c = 0; c < one.original[1]; ++c) {
        for (std::size_t h = 0; h < one.original[2]; ++h) {
          for (std::size_t w = 0; w < one.original[3]; ++w) expected.push_back(memory[place(n, c, h, w)]);
        }
      }
    }
    CHECK(made.elements == expected);
  }
}

TEST_CASE("restorer: a copy that fails in the middle loses the tensor, and counts it") {
  const Case& one = kCases[0];
  const std::vector<std::byte> memory = random_tensor(one, DType::float32);
  const TensorView tensor = view_of(one, DType::float32, memory);
  for (const int fail_at : {0, 3, 20}) {
    const Made made = dumped<1024, FakeMemory>(restoring_config(), tensor, fail_at);
    CHECK(made.status == Status::device_copy_failed);
    CHECK(made.name.empty());
  }
}

TEST_CASE("restorer: other recorders' tensors stay as they are") {
  const Case& one = kCases[0];
  const std::vector<std::byte> memory = random_tensor(one, DType::float32);
  FakeMemory device;
  FormatRestorer<FakeMemory, 2, 4096> restorer(device);
  for (const std::size_t slot : {0u, 1u, 2u}) {
    TensorView tensor = view_of(one, DType::float32, memory);
    CHECK(restorer.restore(slot, tensor, Format::reserved) == (slot < 2));
    CHECK(is_restored(tensor) == (slot < 2));
    CHECK(tensor.format == (slot < 2 ? Format::nchw : Format::nc1hwc0));
  }
}
