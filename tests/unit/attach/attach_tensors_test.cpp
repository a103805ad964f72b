#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Tensors;

namespace {

/// Captures `tensors` as the only outputs, or inputs, of one operator; returns the record, empty when it was lost.
struct Captured {
  std::string record;
  opdump_status status;
  std::string log;
  std::uint32_t lost;
};

Captured capture(const Tensors& inputs, const Tensors& outputs, const std::string& mode = "output",
                 const std::string& options = R"("ring_bytes": 4096)") {
  AttachRun asked(R"("dump_mode": ")" + mode + R"(", "dump_list": [{}])", options);
  attach::Dump dump(asked.config().c_str(), asked.options());
  REQUIRE(dump.is_on());
  attach::Model model(dump, "net");
  model.add_op("op", "Any");
  auto step = model.step();
  Captured captured{};
  captured.status =
      opdump_attach_capture(model.handle(), 0, inputs.data(), inputs.size(), outputs.data(), outputs.size());
  step.end();
  static_cast<void>(dump.stop());
  captured.lost = dump.records().lost;
  captured.log = asked.log();
  const auto records = asked.records();
  if (!records.empty()) captured.record = records.begin()->second;
  return captured;
}

std::vector<std::uint16_t> numbers(std::size_t count) {
  std::vector<std::uint16_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::uint16_t>(i * 40503u);
  return numbers;
}

/// Memory that the CPU cannot read, but for this function.
struct Device {
  std::vector<std::uint16_t> memory = numbers(20000);
  std::size_t calls = 0;
  std::size_t largest = 0;
  std::size_t fails_from = SIZE_MAX;

  static opdump_status read(void* context, void* to, std::uint64_t offset, std::size_t bytes) {
    Device& self = *static_cast<Device*>(context);
    ++self.calls;
    self.largest = bytes > self.largest ? bytes : self.largest;
    if (offset + bytes > self.memory.size() * 2 || offset >= self.fails_from) return OPDUMP_ERR_DRIVER_FAILED;
    std::memcpy(to, reinterpret_cast<const char*>(self.memory.data()) + offset, bytes);
    return OPDUMP_OK;
  }
};

/// The elements of a view, one by one.
std::vector<std::uint16_t> dense(const std::uint16_t* data, const std::vector<std::int64_t>& dims,
                                 const std::vector<std::int64_t>& strides) {
  std::vector<std::uint16_t> elements;
  std::vector<std::int64_t> at(dims.size());
  for (bool more = true; more;) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) offset += at[i] * strides[i];
    elements.push_back(*reinterpret_cast<const std::uint16_t*>(reinterpret_cast<const char*>(data) + offset));
    more = false;
    for (std::size_t i = dims.size(); i-- != 0 && !more; at[i] = more ? at[i] : 0) more = ++at[i] < dims[i];
  }
  return elements;
}

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("attach: a view with strides is captured as its dense copy") {
  const std::vector<std::uint16_t> memory = numbers(40000);
  const std::uint16_t* const middle = memory.data() + 20000;
  struct View {
    const char* what;
    Numbers dims, strides;
  };
  const View views[] = {
      {"rows with gaps", {5, 7}, {40, 2}},
      {"transposed", {7, 5}, {2, 40}},
      {"every other element", {9}, {4}},
      {"dense after all", {3, 4, 5}, {40, 10, 2}},
      {"one row", {1, 6}, {12345, 2}},
      {"padded between channels", {3, 4, 5}, {64, 10, 2}},
      {"the same row again", {4, 3}, {0, 2}},
      {"from the end", {8}, {-2}},
      {"larger than the ring", {100, 50}, {200, 2}},
      {"larger than the ring, by columns", {50, 100}, {2, 200}},
      {"four dims", {2, 3, 4, 5}, {2000, 600, 100, 6}},
      {"a scalar", {}, {}},
  };
  for (const View& view : views) {
    CAPTURE(view.what);
    const auto expected = dense(middle, view.dims, view.strides);
    const Captured strided =
        capture({}, Tensors().add(middle, OPDUMP_UINT16, view.dims).strides(view.strides));
    CHECK(strided.status == OPDUMP_OK);
    CHECK(ends_with(strided.record, expected));
    const Captured copied = capture({}, Tensors().add(expected.data(), OPDUMP_UINT16, view.dims));
    CHECK(strided.record.size() == copied.record.size());
  }
}

TEST_CASE("attach: statistics of a view are those of its dense copy") {
  std::vector<float> memory(400, 1e9f);
  std::vector<float> dense_copy;
  for (int row = 0; row < 10; ++row) {
    for (int i = 0; i < 20; ++i)
      dense_copy.push_back(memory[static_cast<std::size_t>(row * 40 + i)] = float(row - i));
  }
  const auto table = [](const Tensors& tensors) {
    AttachRun asked(R"("dump_data": "stats", "dump_list": [{}])");
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model model(dump, "net");
    model.add_op("op", "Any");
    {
      const auto step = model.step();
      model.capture(0, {}, tensors);
    }
    CHECK(dump.stop() == OPDUMP_OK);
    return asked.records().begin()->second;
  };
  const std::string expected = table(Tensors().add(dense_copy.data(), OPDUMP_FLOAT32, {10, 20}));
  CHECK(!expected.empty());
  CHECK(expected == table(Tensors().add(memory.data(), OPDUMP_FLOAT32, {10, 20}).strides({160, 4})));
}

TEST_CASE("attach: strides that cannot be kept lose the record, and say why") {
  const std::vector<std::uint16_t> memory = numbers(100);
  Device device;
  const auto lost = [](const Tensors& tensors, opdump_status status, const char* reason) {
    const Captured captured = capture({}, tensors);
    CHECK(captured.status == status);
    CHECK(captured.record.empty());
    CHECK(captured.lost == 1);
    INFO(captured.log);
    CHECK(captured.log.find("output 0 of operator \"op\" of model \"net\"") != std::string::npos);
    CHECK(captured.log.find(reason) != std::string::npos);
  };
  lost(Tensors().add(memory.data(), OPDUMP_INT4, {4, 4}).strides({4, 1}), OPDUMP_ERR_NOT_SUPPORTED,
       "not supported");
  lost(Tensors().add(memory.data(), OPDUMP_UINT16, {4, 4}, 30).strides({8, 2}), OPDUMP_ERR_INVALID_TENSOR,
       "fewer bytes");
  lost(Tensors().add(memory.data(), OPDUMP_UINT16, {4, 4}, 60).strides({20, 2}), OPDUMP_ERR_INVALID_TENSOR,
       "fewer bytes");
  lost(Tensors().add(memory.data(), OPDUMP_UINT16, {4}, 60).strides({-2}), OPDUMP_ERR_INVALID_TENSOR,
       "fewer bytes");
  lost(Tensors().add(memory.data(), OPDUMP_UINT16, {1LL << 40, 4}).strides({1LL << 40, 2}),
       OPDUMP_ERR_INVALID_TENSOR, "");
  lost(Tensors().add(memory.data(), OPDUMP_UINT16, {-1, 4}).strides({8, 2}), OPDUMP_ERR_UNCOUNTABLE_SHAPE,
       "negative dim");
  lost(Tensors().add(nullptr, OPDUMP_UINT16, {4}).read_by(Device::read, &device).strides({-2}),
       OPDUMP_ERR_INVALID_TENSOR, "");
  lost(Tensors().add(memory.data(), OPDUMP_UINT16, {4, 4}).strides({8}), OPDUMP_ERR_MISSING_ARGUMENT,
       "missing");
  lost(Tensors().add(memory.data(), 99, {4}), OPDUMP_ERR_UNKNOWN_DTYPE, "no dtype");
  lost(Tensors().add(memory.data(), OPDUMP_UINT16, std::vector<int>(33, 1)), OPDUMP_ERR_TOO_MANY_DIMS,
       "too many dims");
}

TEST_CASE("attach: null and short tensors lose the record, and end nothing") {
  const std::vector<std::uint16_t> memory = numbers(100);
  CHECK(capture({}, Tensors().add(nullptr, OPDUMP_UINT16, {4})).status == OPDUMP_ERR_DEVICE_COPY_FAILED);
  CHECK(capture({}, Tensors().add(nullptr, OPDUMP_UINT16, {4, 2}).strides({2, 8})).status ==
        OPDUMP_ERR_DEVICE_COPY_FAILED);
  const Captured captured = capture({}, Tensors().add(memory.data(), OPDUMP_UINT16, {4, 4}, 31));
  CHECK(captured.status == OPDUMP_ERR_INVALID_TENSOR);
  CHECK(captured.log.find("31 bytes given, uint16 [4,4] takes 32") != std::string::npos);
  CHECK(capture({}, Tensors().add(memory.data(), OPDUMP_UINT16, {-1, 4})).status ==
        OPDUMP_ERR_UNCOUNTABLE_SHAPE);
  CHECK(capture({}, Tensors().add(nullptr, OPDUMP_UINT16, {0})).status == OPDUMP_OK);
}

TEST_CASE("attach: a device is read by the runtime's call, in pieces that fit the ring") {
  Device device;
  // An address that the CPU must not touch.
  const void* const address = reinterpret_cast<const void*>(0x1000);
  const auto captured =
      capture({}, Tensors().add(address, OPDUMP_UINT16, {200, 100}).read_by(Device::read, &device));
  CHECK(captured.status == OPDUMP_OK);
  CHECK(ends_with(captured.record, device.memory));
  CHECK(device.largest <= 4096);
  CHECK(device.calls >= 10);

  SUBCASE("with strides") {
    const Numbers dims = {50, 30}, strides = {200, 4};
    const auto rows = capture(
        {}, Tensors().add(address, OPDUMP_UINT16, dims).strides(strides).read_by(Device::read, &device));
    CHECK(ends_with(rows.record, dense(device.memory.data(), dims, strides)));
  }
  SUBCASE("without an address, two at once") {
    const auto both = capture(
        Tensors().add(nullptr, OPDUMP_UINT16, {10}).read_by(Device::read, &device),
        Tensors().add(nullptr, OPDUMP_UINT16, {10, 2}).strides({40, 2}).read_by(Device::read, &device),
        "all");
    CHECK(both.status == OPDUMP_OK);
    std::vector<std::uint16_t> expected(device.memory.begin(), device.memory.begin() + 10);
    const auto behind = dense(device.memory.data(), {10, 2}, {40, 2});
    expected.insert(expected.end(), behind.begin(), behind.end());
    CHECK(ends_with(both.record, expected));
  }
  SUBCASE("that fails midway") {
    device.fails_from = 20000;
    const auto failed =
        capture({}, Tensors().add(address, OPDUMP_UINT16, {200, 100}).read_by(Device::read, &device));
    CHECK(failed.status == OPDUMP_ERR_DRIVER_FAILED);
    CHECK(failed.record.empty());
    CHECK(failed.lost == 1);
  }
}

TEST_CASE("attach: views of one buffer in one operator do not get each other's elements") {
  const std::vector<std::uint16_t> memory = numbers(100);
  const auto row = dense(memory.data(), {5, 4}, {20, 2});
  const auto column = dense(memory.data(), {4, 5}, {2, 20});
  const auto captured = capture(Tensors().add(memory.data(), OPDUMP_UINT16, {100}),
                                Tensors()
                                    .add(memory.data(), OPDUMP_UINT16, {5, 4})
                                    .strides({20, 2})
                                    .add(memory.data(), OPDUMP_UINT16, {4, 5})
                                    .strides({2, 20}),
                                "all");
  std::vector<std::uint16_t> expected = memory;
  expected.insert(expected.end(), row.begin(), row.end());
  expected.insert(expected.end(), column.begin(), column.end());
  CHECK(ends_with(captured.record, expected));
}

TEST_CASE("attach: faulty inputs do not matter where the config asks for outputs") {
  const std::vector<std::uint16_t> memory = numbers(4);
  const auto captured =
      capture(Tensors().add(nullptr, 99, {4}), Tensors().add(memory.data(), OPDUMP_UINT16, {4}));
  CHECK(captured.status == OPDUMP_OK);
  CHECK(ends_with(captured.record, memory));
}

TEST_CASE("attach: a list of tensors of an older or newer program") {
  const std::vector<std::uint16_t> memory = numbers(4);
  struct Newer {
    opdump_attach_tensor tensor;
    std::uint64_t more;
  };
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  model.add_op("op", "Any");
  const Tensors plain = std::move(Tensors().add(memory.data(), OPDUMP_UINT16, {4}));
  Newer newer[2] = {{*plain.data(), 0}, {*plain.data(), 0}};
  newer[0].tensor.struct_bytes = newer[1].tensor.struct_bytes = sizeof(Newer);
  const auto captured = [&] {
    const auto step = model.step();
    return opdump_attach_capture(model.handle(), 0, nullptr, 0, &newer[0].tensor, 2);
  };
  CHECK(captured() == OPDUMP_OK);
  newer[1].more = 1;
  CHECK(captured() == OPDUMP_ERR_NOT_SUPPORTED);
  newer[1].more = 0;
  newer[1].tensor.struct_bytes = 8;
  CHECK(captured() == OPDUMP_ERR_INVALID_ARGUMENT);
  newer[0].tensor.struct_bytes = SIZE_MAX;
  CHECK(captured() == OPDUMP_ERR_INVALID_ARGUMENT);
}

TEST_CASE("attach: dtypes, formats and strides by the names that runtimes have") {
  const std::pair<const char*, int> names[] = {
      {"float32", OPDUMP_FLOAT32},
      {"<f4", OPDUMP_FLOAT32},
      {"f4", OPDUMP_FLOAT32},
      {"float", OPDUMP_FLOAT32},
      {"F32", OPDUMP_FLOAT32},
      {"f16", OPDUMP_FLOAT16},
      {"f2", OPDUMP_FLOAT16},
      {"half", OPDUMP_FLOAT16},
      {"BF16", OPDUMP_BFLOAT16},
      {"|i1", OPDUMP_INT8},
      {"INT8", OPDUMP_INT8},
      {"i8", OPDUMP_INT64},
      {"I8", OPDUMP_INT8},
      {"torch.int64", OPDUMP_INT64},
      {"DT_FLOAT", OPDUMP_FLOAT32},
      {"u8", OPDUMP_UINT64},
      {"bool", OPDUMP_BOOLEAN},
      {"|b1", OPDUMP_BOOLEAN},
      {"c16", OPDUMP_COMPLEX128},
      {"double", OPDUMP_FLOAT64},
      {"Q4_K", OPDUMP_UNDEFINED},
      {"", OPDUMP_UNDEFINED},
      {"f", OPDUMP_UNDEFINED},
      {"f3", OPDUMP_UNDEFINED},
      {"FLOAT8E4M3FN", OPDUMP_FLOAT8_E4M3FN},
  };
  for (const auto& known : names) {
    CAPTURE(known.first);
    CHECK(opdump_dtype_named(known.first) == known.second);
  }
  CHECK(opdump_dtype_named(nullptr) == OPDUMP_UNDEFINED);
  CHECK(opdump_dtype_of_kind('u', 4) == OPDUMP_UINT4);
  CHECK(opdump_dtype_of_kind('f', 8) == OPDUMP_UNDEFINED);
  CHECK(opdump_dtype_bits(OPDUMP_INT4) == 4);
  CHECK(opdump_dtype_bits(-1) == 0);
  CHECK(opdump_format_named("nhwc") == OPDUMP_FORMAT_NHWC);
  CHECK(opdump_format_named("anything") == OPDUMP_FORMAT_ND);
  const std::int64_t dims[] = {2, 3, 4};
  std::int64_t strides[3];
  CHECK(opdump_dense_strides(OPDUMP_FLOAT32, 3, dims, strides) == OPDUMP_OK);
  CHECK(std::vector<std::int64_t>(strides, strides + 3) == Numbers{48, 16, 4});
  CHECK(opdump_dense_strides(OPDUMP_INT4, 3, dims, strides) == OPDUMP_ERR_NOT_SUPPORTED);
  const std::int64_t huge[] = {1LL << 40, 1LL << 40};
  CHECK(opdump_dense_strides(OPDUMP_FLOAT32, 2, huge, strides) == OPDUMP_ERR_UNCOUNTABLE_SHAPE);
}
