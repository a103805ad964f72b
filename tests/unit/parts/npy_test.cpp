#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "opdump/parts/npy.hpp"
#include "tests/support/little_endian.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

std::string head_of(std::string_view descr, Shape shape) {
  std::byte memory[kMaxNpyHeadBytes];
  return std::string(as_text(Bytes(memory, encode_npy_head(descr, shape, memory))));
}

std::string dict_of(const std::string& head) {
  return head.substr(10, head.find_last_not_of(" \n") + 1 - 10);
}

/// The object whose path ends in `end`; empty when there is none.
std::vector<std::byte> object_at(const FakeSink& sink, std::string_view end) {
  for (const auto& [path, data] : sink.objects) {
    if (path.ends_with(end)) return data;
  }
  return {};
}

/// What of a file stands behind its head.
std::vector<std::uint8_t> elements_of(const std::vector<std::byte>& file) {
  REQUIRE(file.size() >= 64);
  const std::size_t head = 10u + load_little_endian<std::uint16_t>(file.data() + 8);
  std::vector<std::uint8_t> out;
  for (std::size_t i = head; i < file.size(); ++i) out.push_back(std::to_integer<std::uint8_t>(file[i]));
  return out;
}

DumpConfig npy_config() {
  DumpConfig config = everything();
  config.form.file_format = FileFormat::npy;
  return config;
}

/// What becomes of `data`, little-endian elements, as the only output of an operator, in a ring of
/// `kRingBytes` that is drained `budget` bytes at a time.
template <std::size_t kRingBytes = 4096>
std::vector<std::byte> file_of(DType dtype, Shape shape, std::span<const std::uint8_t> data,
                               std::size_t budget = SIZE_MAX) {
  static Bench<kRingBytes> bench;
  bench.start(npy_config());
  const std::vector<std::byte> memory = tests::little_endian(data.data(), data.size(), dtype);
  const TensorView output = {
      .address = address_of(memory.data()), .bytes = memory.size(), .dtype = dtype, .shape = shape};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {}, {&output, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  while (bench.session.drain_some(budget) != 0) continue;
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  REQUIRE(bench.sink.objects.size() == 1);
  const std::vector<std::byte> file = bench.sink.objects.begin()->second;
  bench.sink.objects.clear();
  return file;
}

}  // namespace

TEST_CASE("npy: heads are those of MindSpore's files") {
  const Dim dims[] = {2, 3};
  const std::string head = head_of("<f4", dims);
  CHECK(dict_of(head) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }");
  CHECK(dict_of(head).size() == 59);
  CHECK(head.size() == 128);
  CHECK(head.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(head.back() == '\n');
  CHECK(dict_of(head_of("<f4", {})).size() == 55);
  CHECK(dict_of(head_of("<f4", {dims + 1, 1})).size() == 57);

  // Aligned without a blank: a whole line of them is added.
  std::vector<Dim> ones(31, 1);
  CHECK(dict_of(head_of("<f4", ones)).size() == 117);
  CHECK(head_of("<f4", ones).size() == 192);
  std::vector<Dim> longest(kMaxRank, UINT64_MAX);
  CHECK(head_of("<c16", longest).size() <= kMaxNpyHeadBytes);
  CHECK(head_of("<c16", longest).ends_with('\n'));
}

TEST_CASE("npy: elements that NumPy has not become ones it has") {
  const Dim five[] = {5};
  const Dim two[] = {2};
  const std::uint8_t bits[] = {0xa0};
  CHECK(elements_of(file_of(DType::uint1, five, bits)) == std::vector<std::uint8_t>{1, 0, 1, 0, 0});
  const std::uint8_t nibbles[] = {0x8f};
  CHECK(elements_of(file_of(DType::int4, two, nibbles)) == std::vector<std::uint8_t>{0xff, 0xf8});
  CHECK(elements_of(file_of(DType::uint4, two, nibbles)) == std::vector<std::uint8_t>{0x0f, 0x08});
  const std::uint8_t pairs[] = {0b11100100, 0xff};
  CHECK(elements_of(file_of(DType::uint2, five, pairs)) == std::vector<std::uint8_t>{0, 1, 2, 3, 3});
  CHECK(elements_of(file_of(DType::int2, five, pairs)) == std::vector<std::uint8_t>{0, 1, 0xfe, 0xff, 0xff});
  const std::uint8_t brains[] = {0x80, 0x3f, 0x01, 0xff};
  CHECK(elements_of(file_of(DType::bfloat16, two, brains)) ==
        std::vector<std::uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0x01, 0xff});
  // Nothing like it: the bytes, padding and all.
  const std::uint8_t padded[] = {1, 2, 3};
  CHECK(elements_of(file_of(DType::float8_e8m0, two, padded)) == std::vector<std::uint8_t>{1, 2, 3});
  CHECK(elements_of(file_of(DType::int8, two, padded)) == std::vector<std::uint8_t>{1, 2});
}

TEST_CASE("npy: a tensor that comes in pieces is whole, and its padding is left out") {
  constexpr std::size_t kElements = 20'001;
  const Dim dims[] = {kElements};
  std::vector<std::uint8_t> memory(kElements * 2 + 77);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  std::vector<std::uint8_t> widened;
  for (std::size_t i = 0; i < kElements; ++i)
    widened.insert(widened.end(), {0, 0, memory[2 * i], memory[2 * i + 1]});
  std::vector<std::uint8_t> nibbles;
  for (std::size_t i = 0; i < kElements; ++i) {
    const unsigned nibble = memory[i / 2] >> i % 2 * 4 & 15;
    nibbles.push_back(static_cast<std::uint8_t>(nibble < 8 ? nibble : nibble + 0xf0));
  }
  const std::vector<std::uint8_t> plain(memory.begin(), memory.begin() + 2 * kElements);
  CHECK(elements_of(file_of<1024>(DType::bfloat16, dims, memory)) == widened);
  CHECK(elements_of(file_of<1024>(DType::int4, dims, memory)) == nibbles);
  CHECK(elements_of(file_of<1024>(DType::int16, dims, memory)) == plain);
  for (const std::size_t budget :
       {std::size_t{1}, std::size_t{300}, std::size_t{1001}, std::size_t{4096}, SIZE_MAX}) {
    CAPTURE(budget);
    CHECK(elements_of(file_of<65536 * 2>(DType::bfloat16, dims, memory, budget)) == widened);
    CHECK(elements_of(file_of<65536 * 2>(DType::int4, dims, memory, budget)) == nibbles);
  }
}

TEST_CASE("npy: each tensor is a file and a record of its own") {
  Bench bench;
  bench.start(npy_config());
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.objects.size() == 6);
  const std::string place = "/dump|20231114221320/2/net/9/0|";
  std::vector<std::string> untimed;
  for (const auto& [path, data] : bench.sink.objects) {
    CHECK(path.starts_with(place));
    std::string name = path.substr(place.size());
    const std::size_t time = name.find(".17000");
    REQUIRE(time != std::string::npos);
    CHECK(data.size() == 128 + 64);
    untimed.push_back(name.erase(time, 17));
  }
  CHECK(untimed ==
        std::vector<std::string>{
            "Conv2D.conv1_relu1.3.1.input.0.ND.float32.npy", "Conv2D.conv1_relu1.3.1.output.0.ND.float32.npy",
            "MatMul.fc.5.2.input.0.ND.float32.npy", "MatMul.fc.5.2.output.0.ND.float32.npy",
            "MaxPool.pool1.4.1.input.0.ND.float32.npy", "MaxPool.pool1.4.1.output.0.ND.float32.npy"});
  const DumpCounts counts = bench.session.counts();
  CHECK(counts.wanted == 6);
  CHECK(counts.written == 6);
  check_adds_up(counts);
}

TEST_CASE("npy: names on CPU and GPU have the dtype as GPU's, as CPU's, or as the document, which has none") {
  const Dim dims[] = {8};
  const std::uint8_t bytes[64] = {};
  const auto ends = [&](Layout layout) {
    Bench<8192> bench;
    DumpConfig config = npy_config();
    config.form.layout = layout;
    config.net_name = "Net";
    bench.start(config);
    std::vector<TensorView> outputs;
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::uint16, DType::boolean, DType::int64})
      outputs.push_back({.address = address_of(bytes), .bytes = 64, .dtype = dtype, .shape = dims});
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    REQUIRE(bench.recorder.capture(0, {}, outputs) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    std::string text;
    for (const std::string& path : bench.sink.order) {
      CHECK(path.starts_with("/dump|rank_2/Net/9/0|Conv2D.conv1_relu1.0.0."));
      text += path.substr(path.find(".output.") + 8) + ' ';
    }
    return text;
  };
  CHECK(ends(Layout::mindspore_cpu) ==
        "0.DefaultFormat.float32.npy 1.DefaultFormat.bfloat16.npy 2.DefaultFormat.uint16.npy "
        "3.DefaultFormat.bool.npy 4.DefaultFormat.int64.npy ");
  CHECK(ends(Layout::mindspore_cpu_product) ==
        "0.DefaultFormat.Float32.npy 1.DefaultFormat.BFloat16.npy 2.DefaultFormat.UInt16.npy "
        "3.DefaultFormat.Bool.npy 4.DefaultFormat.Int64.npy ");
  CHECK(ends(Layout::mindspore_cpu_document) ==
        "0.DefaultFormat.npy 1.DefaultFormat.npy 2.DefaultFormat.npy 3.DefaultFormat.npy "
        "4.DefaultFormat.npy ");
}

TEST_CASE("npy: scalars, indices and foreign formats are named; an operator without a byte leaves nothing") {
  Bench bench;
  bench.start(npy_config());
  const float value = 2.5f;
  const Dim empty[] = {2, 0, 3};
  const TensorView outputs[] = {{.address = address_of(&value), .bytes = 4, .dtype = DType::float32},
                                {.dtype = DType::int64, .shape = empty},
                                {.address = address_of(&value),
                                 .bytes = 4,
                                 .dtype = DType::float32,
                                 .format = static_cast<Format>(77)}};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {}, outputs) == Status::ok);
  REQUIRE(bench.recorder.capture(1, {}, {outputs + 1, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 3);
  CHECK(as_text(object_at(bench.sink, ".output.0.ND.float32.npy")).find("'shape': (), }") !=
        std::string_view::npos);
  CHECK(elements_of(object_at(bench.sink, ".output.0.ND.float32.npy")).size() == 4);
  CHECK(as_text(object_at(bench.sink, ".output.1.ND.int64.npy")).find("(2,0,3,)") != std::string_view::npos);
  CHECK(elements_of(object_at(bench.sink, ".output.1.ND.int64.npy")).empty());
  CHECK(elements_of(object_at(bench.sink, ".output.2.77.float32.npy")).size() == 4);
  CHECK(bench.session.counts().empty == 1);
  check_adds_up(bench.session.counts());
}

TEST_CASE("npy: every call of the sink may fail, and what is lost is counted and leaves nothing open") {
  for (int fail_at = 0; fail_at < 40; ++fail_at) {
    Bench<1024> bench;
    DumpConfig config = npy_config();
    bench.start(config);
    bench.tensors.input.dtype = DType::bfloat16;
    bench.tensors.input.shape = {bench.tensors.dims, 1};
    bench.sink.fail_at = bench.sink.calls + fail_at;
    bench.step();
    static_cast<void>(bench.session.finalize());
    CHECK(bench.sink.open_objects.empty());
    CHECK(bench.sink.stray_aborts == 0);
    const DumpCounts counts = bench.session.counts();
    CHECK(counts.written == bench.sink.objects.size());
    CHECK(counts.written + counts.sink_failed == 6);
    check_adds_up(counts);
  }
}

TEST_CASE("npy: a session without the format refuses a config that wants it") {
  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  BasicSession<FakeMemory> session({.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  REQUIRE(session.init() == Status::ok);
  CHECK(session.set_config(npy_config()) == Status::not_supported);
  CHECK(session.set_config(everything()) == Status::ok);
}
