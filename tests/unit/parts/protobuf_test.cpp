#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "opdump/base/byte_output.hpp"
#include "opdump/parts/protobuf.hpp"
#include "tests/support/little_endian.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// The fields of a message in order: number and value, of which that of a length-delimited one is its bytes.
struct Field {
  std::uint64_t number;
  std::uint64_t value;
  std::string text;
};

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    REQUIRE(!bytes.empty());
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  FAIL("a varint without end");
  return 0;
}

std::vector<Field> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    Field field = {key >> 3, 0, {}};
    if ((key & 7) == 2) {
      const std::uint64_t length = take_varint(bytes);
      REQUIRE(length <= bytes.size());
      field.text = bytes.substr(0, length);
      bytes.remove_prefix(length);
    } else {
      REQUIRE((key & 7) == 0);
      field.value = take_varint(bytes);
    }
    fields.push_back(field);
  }
  return fields;
}

/// As one text: numbers, quoted texts, and {fields} where `nested` says that a field is a message.
std::string shown(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) {
    text += (text.empty() ? "" : " ") + std::to_string(field.number) + "=";
    text += field.text.empty() ? std::to_string(field.value) : '"' + field.text + '"';
  }
  return text;
}

DumpConfig protobuf_config() {
  DumpConfig config = everything();
  config.form.file_format = FileFormat::protobuf;
  return config;
}

}  // namespace

TEST_CASE("protobuf: a record has the fields of CANN's message, and the tensors' bytes behind it") {
  Bench<8192> bench;
  bench.start(protobuf_config());
  const float values[] = {1, 2, 3, 4, 5, 6};
  const Dim dims[] = {2, 300};
  const Dim small[] = {2};
  const std::uint8_t bytes[600] = {7};
  const TensorView input = {.address = address_of(bytes),
                            .bytes = 600,
                            .dtype = DType::int8,
                            .format = Format::nc1hwc0,
                            .shape = dims};
  const TensorView output = {.address = address_of(values),
                             .bytes = 8,
                             .dtype = DType::bfloat16,
                             .format = Format::nchw,
                             .shape = small,
                             .original_name = "r\xc3\xa9lu",
                             .original_index = 1,
                             .original_dtype = DType::float32,
                             .original_format = Format::nd};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {&input, 1}, {&output, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.objects.size() == 1);
  const auto& [path, file] = *bench.sink.objects.begin();
  CHECK(path.find("Conv2D.conv1_relu1.3.1.1700") != std::string::npos);
  const std::uint64_t message_bytes = load_little_endian<std::uint64_t>(file.data());
  REQUIRE(file.size() == 8 + message_bytes + 600 + 8);
  CHECK(std::memcmp(file.data() + 8 + message_bytes, bytes, 600) == 0);
  const std::vector<std::byte> dumped = little_endian(values, 8, DType::bfloat16);
  CHECK(std::memcmp(file.data() + 8 + message_bytes + 600, dumped.data(), 8) == 0);

  const auto fields = fields_of(as_text(Bytes(file).subspan(8, message_bytes)));
  REQUIRE(fields.size() == 5);
  CHECK(fields[0].text == "2.0");
  CHECK(fields[1].number == 2);
  CHECK(fields[1].value / 1'000'000 == 1'700'000'000);
  CHECK(fields[2].number == 3);
  const auto out = fields_of(fields[2].text);
  CHECK(shown(out) ==
        "1=27 3=\"\n\x01\x02\" 4=\"\n\x05r\xc3\xa9lu\x10\x01\x18\x01 \x02\" 6=8 7=\"\n\x01\x02\" 9=" +
            std::to_string(output.address));
  CHECK(fields[3].number == 4);
  const auto in = fields_of(fields[3].text);
  CHECK(shown(in) ==
        "1=3 2=3 3=\"\n\x03\x02\xac\x02\" 5=600 6=\"\n\x03\x02\xac\x02\" 8=" + std::to_string(input.address));
  CHECK(fields[4].number == 6);
  CHECK(fields[4].text == "conv1_relu1");
}

TEST_CASE("protobuf: the head is the same through a scratch of any size") {
  std::vector<std::byte> first;
  for (const std::size_t scratch_bytes : {std::size_t{640}, std::size_t{700}, std::size_t{4096}}) {
    FakeMemory memory;
    FakeSink sink;
    FakeClock clock;
    ProtobufFormat protobuf;
    std::vector<std::byte> scratch(scratch_bytes);
    alignas(8) static std::byte ring[16384];
    BasicSession<FakeMemory> session({.memory = memory,
                                      .sink = sink,
                                      .clock = clock,
                                      .scratch = scratch,
                                      .when_full = WhenFull::inline_drain,
                                      .formats = {.protobuf = &protobuf}});
    BasicRecorder<FakeMemory>& recorder = *session.add_recorder(ring).value();
    DumpConfig config = protobuf_config();
    config.single_ops = true;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    const Dim dims[20] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const std::uint8_t byte = 9;
    const std::vector<TensorView> outputs(
        20, {.address = address_of(&byte), .bytes = 1, .dtype = DType::uint8, .shape = dims});
    REQUIRE(recorder.capture_single_op({.name = "op", .type = "T"}, {}, outputs) == Status::ok);
    REQUIRE(session.finalize() == Status::ok);
    REQUIRE(sink.objects.size() == 1);
    const std::vector<std::byte>& file = sink.objects.begin()->second;
    CHECK(file.size() == 8 + load_little_endian<std::uint64_t>(file.data()) + 20);
    if (first.empty()) first = file;
    CHECK(file == first);
  }
}

TEST_CASE("protobuf: texts are UTF-8, or ASCII in their place") {
  for (const std::string_view good :
       {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(is_utf8(good));
  for (const std::string_view bad :
       {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80", "\xc3\x28", "\xff", "\xe2\x82"})
    CHECK(!is_utf8(bad));
  std::vector<std::byte> out(64);
  ByteBatcher batch(MutableBytes(out), [](Bytes) {});
  ProtobufWriter writer(batch);
  writer.add_text(1, "caf\xe9");
  CHECK(as_text(batch.pending()) ==
        "\n\x04"
        "caf_");
}

TEST_CASE("protobuf: numbers are varints, zeros are left out, negative ones take ten bytes") {
  std::vector<std::byte> out(64);
  ByteBatcher batch(MutableBytes(out), [](Bytes) {});
  ProtobufWriter writer(batch);
  writer.add_number(1, std::uint64_t{0});
  writer.add_number(1, std::uint64_t{150});
  writer.add_number(16, std::int32_t{-1});
  CHECK(as_text(batch.pending()) ==
        std::string_view("\x08\x96\x01\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15));
}

TEST_CASE("protobuf: every call of the sink may fail, and what is lost leaves nothing open") {
  for (int fail_at = 0; fail_at < 14; ++fail_at) {
    Bench<1024> bench;
    bench.start(protobuf_config());
    bench.sink.fail_at = bench.sink.calls + fail_at;
    bench.step();
    static_cast<void>(bench.session.finalize());
    CHECK(bench.sink.open_objects.empty());
    CHECK(bench.sink.stray_aborts == 0);
    CHECK(bench.session.counts().written == bench.sink.objects.size());
    check_adds_up(bench.session.counts());
  }
}
