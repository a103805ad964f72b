#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "opdump/parts/statistics.hpp"
#include "opdump/session.hpp"
#include "rig.hpp"
#include "tests/support/fakes.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr DType kOnDevice[] = {DType::float16, DType::bfloat16, DType::float32, DType::int8,
                               DType::uint8,   DType::int16,    DType::uint16,  DType::int32,
                               DType::uint32,  DType::boolean};

/// Bytes of `elements` elements: any bits for integers, moderate numbers for floats, and with `special` some
/// infinities and NaNs.
std::vector<std::byte> elements_of(DType dtype, std::size_t elements, const char* special,
                                   std::mt19937& random) {
  const std::size_t bytes = info(dtype).bits / 8;
  std::vector<std::byte> content(elements * bytes);
  std::normal_distribution<float> normal(3.0F, 100.0F);
  for (std::size_t i = 0; i < elements; ++i) {
    std::byte* const at = content.data() + i * bytes;
    float value = normal(random);
    const std::uint32_t draw = static_cast<std::uint32_t>(random() % 50);
    if (special[0] != '\0' && draw < 3) {
      const char kind = special[draw % std::strlen(special)];
      value = kind == 'n'   ? std::numeric_limits<float>::quiet_NaN()
              : kind == '+' ? std::numeric_limits<float>::infinity()
                            : -std::numeric_limits<float>::infinity();
    }
    if (draw == 10) value = 0;
    std::uint32_t bits = static_cast<std::uint32_t>(random());
    if (dtype == DType::float32) bits = std::bit_cast<std::uint32_t>(value);
    if (dtype == DType::bfloat16) bits = std::bit_cast<std::uint32_t>(value) >> 16;
    // Any half that is a number; specials by their bits.
    if (dtype == DType::float16) {
      const bool finite = (bits & 0x7c00) != 0x7c00;
      if (std::isnan(value)) {
        bits = 0x7e00;
      } else if (std::isinf(value)) {
        bits = value > 0 ? 0x7c00 : 0xfc00;
      } else if (!finite) {
        bits = 0x3c00;
      }
    }
    if (dtype == DType::boolean) bits &= 3;
    std::memcpy(at, &bits, bytes);
  }
  return content;
}

bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= tolerance;
}

void check_same(const StatisticsSummary& device, const StatisticsSummary& host, double magnitude,
                double precision) {
  CHECK(device.count == host.count);
  CHECK(device.nan == host.nan);
  CHECK(device.negative_inf == host.negative_inf);
  CHECK(device.positive_inf == host.positive_inf);
  CHECK(device.negative == host.negative);
  CHECK(device.zero == host.zero);
  CHECK(device.positive == host.positive);
  CHECK(device.max.kind() == host.max.kind());
  CHECK(near(device.max.as_double(), host.max.as_double(), 0));
  CHECK(near(device.min.as_double(), host.min.as_double(), 0));
  CHECK(near(device.average, host.average, precision * magnitude));
  CHECK(near(device.l2norm, host.l2norm, precision * host.l2norm));
}

/// The largest average of magnitudes, which the precision of averages goes with.
double magnitude_of(const StatisticsSummary& host) {
  const double most = std::max(std::fabs(host.max.as_double()), std::fabs(host.min.as_double()));
  return std::isfinite(most) ? most : 1000;
}

}  // namespace

TEST_CASE("opencl: statistics of the device are those of the host") {
  std::mt19937 random(3);
  int compared = 0;
  for (const cl_device_id id : all_devices()) {
    CAPTURE(name_of(id));
    const Device device(id);
    for (const bool with_doubles : {true, false}) {
      CAPTURE(with_doubles);
      OpenclStatistics statistics;
      REQUIRE(statistics.build(loaded_api(), device.queue(), with_doubles) == CL_SUCCESS);
      for (const DType dtype : kOnDevice) {
        CAPTURE(info(dtype).name);
        REQUIRE(OpenclStatistics::supports(dtype));
        // The host adds up halves as float32 first: see numbers.hpp.
        const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
        const double precision = !with_doubles ? 1e-6 : half ? 2.4e-7 : 1e-13;
        for (const std::size_t elements :
             std::initializer_list<std::size_t>{1, 2, 255, 256, 257, 5000, 100'003}) {
          CAPTURE(elements);
          for (const char* special : {"", "n", "+", "-", "+-", "n+-"}) {
            CAPTURE(special);
            const bool real = dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32;
            if (special[0] != '\0' && (!real || elements < 5000)) continue;
            const std::vector<std::byte> content = elements_of(dtype, elements, special, random);
            const Buffer buffer = device.make_buffer(content.data(), content.size());
            Statistics of_host(dtype, elements), of_device(dtype, elements);
            of_host.add(content);
            REQUIRE(statistics.add(device.queue(), {buffer.get(), 0, elements, dtype}, of_device) ==
                    CL_SUCCESS);
            const StatisticsSummary host = of_host.summary(StatisticsDialect::mindspore);
            check_same(of_device.summary(StatisticsDialect::mindspore), host, magnitude_of(host), precision);
            ++compared;
          }
        }
      }
    }
  }
  CHECK(compared >= 200);
}

TEST_CASE("opencl: what the device cannot compute is left to the host") {
  const Device device(all_devices().front());
  OpenclMemory<> memory(loaded_api());
  REQUIRE(memory.open(device.queue()) == Status::ok);
  const std::vector<std::byte> content(64);
  const Buffer buffer = device.make_buffer(content.data(), content.size());
  const Address address = memory.add(buffer.get()).value();
  Statistics statistics(DType::float32);
  const TensorView floats = {.address = address, .bytes = 64, .dtype = DType::float32};
  CHECK(memory.add_statistics(floats, 16, statistics) == Status::not_supported);
  REQUIRE(memory.enable_statistics() == Status::ok);
  CHECK(memory.add_statistics(floats, 16, statistics) == Status::ok);
  CHECK(memory.add_statistics(floats, 17, statistics) == Status::not_registered);
  CHECK(memory.add_statistics(floats, 0, statistics) == Status::ok);
  TensorView odd = floats;
  odd.address += 2;
  CHECK(memory.add_statistics(odd, 1, statistics) == Status::not_supported);
  for (const DType dtype : {DType::float64, DType::int64, DType::uint64, DType::int4, DType::complex64}) {
    TensorView other = floats;
    other.dtype = dtype;
    CHECK(memory.add_statistics(other, 1, statistics) == Status::not_supported);
  }
  CHECK(statistics.summary(StatisticsDialect::mindspore).count == 16);
}

TEST_CASE("opencl: a config that asks the device for statistics gets the host's table") {
  std::mt19937 random(5);
  const std::vector<std::byte> floats = elements_of(DType::float32, 30'000, "", random);
  const std::vector<std::byte> doubles(8 * 100, std::byte{0x40});
  std::string tables[2];
  int kernels[2] = {0, 0};
  static int enqueued, reads, maps;
  for (const bool on_device : {false, true}) {
    enqueued = reads = maps = 0;
    const Device device(all_devices().back());
    OpenclApi api;
    REQUIRE(api.load() == Status::ok);
    api.enqueue_kernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint dims, const std::size_t* offset,
                            const std::size_t* global, const std::size_t* local, cl_uint waits,
                            const cl_event* wait_list, cl_event* event) -> cl_int {
      ++enqueued;
      return loaded_api().enqueue_kernel(queue, kernel, dims, offset, global, local, waits, wait_list, event);
    };
    api.enqueue_read_buffer = [](cl_command_queue queue, cl_mem buffer, cl_bool blocking, std::size_t offset,
                                 std::size_t bytes, void* to, cl_uint waits, const cl_event* wait_list,
                                 cl_event* event) -> cl_int {
      ++reads;
      return loaded_api().enqueue_read_buffer(queue, buffer, blocking, offset, bytes, to, waits, wait_list,
                                              event);
    };
    api.enqueue_map_buffer = [](cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                std::size_t offset, std::size_t bytes, cl_uint waits,
                                const cl_event* wait_list, cl_event* event, cl_int* error) -> void* {
      ++maps;
      return loaded_api().enqueue_map_buffer(queue, buffer, blocking, flags, offset, bytes, waits, wait_list,
                                             event, error);
    };
    OpenclMemory<> memory(api);
    REQUIRE(memory.open(device.queue()) == Status::ok);
    REQUIRE(memory.enable_statistics() == Status::ok);
    const Buffer first = device.make_buffer(floats.data(), floats.size());
    const Buffer second = device.make_buffer(doubles.data(), doubles.size());
    const Dim float_dims[] = {30'000}, double_dims[] = {100};
    const TensorView tensors[] = {{.address = memory.add(first.get()).value(),
                                   .bytes = floats.size(),
                                   .dtype = DType::float32,
                                   .shape = float_dims},
                                  {.address = memory.add(second.get()).value(),
                                   .bytes = doubles.size(),
                                   .dtype = DType::float64,
                                   .shape = double_dims}};
    FakeSink sink;
    FakeClock clock;
    std::byte scratch[4096];
    alignas(8) std::byte ring[8192];
    StatisticsReduction<OpenclMemory<>> reduction(memory);
    BasicSession<OpenclMemory<>> session(
        {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .reduction = &reduction});
    auto& recorder = *session.add_recorder(ring).value();
    const OpDesc ops[] = {{.name = "Default/conv1-op1", .type = "Conv2D"}};
    const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
    const ModelRule rules[] = {{.any_model = true}};
    const StatBits columns[] = {kStatMax, kStatMin, kStatMean, kStatL2Norm};
    DumpConfig config;
    config.asked = config.active = true;
    config.dump_path = "/d";
    config.models = rules;
    config.form.layout = Layout::mindspore_kernel;
    config.form.data = DumpData::statistics;
    config.form.statistics = kStatMax | kStatMin | kStatMean | kStatL2Norm;
    config.statistic_columns = columns;
    config.form.statistics_on_device = on_device;
    ModelPlanFor<1> plan;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model) == Status::ok);
    for (int step = 0; step < 2; ++step) {
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      REQUIRE(recorder.capture(0, {}, tensors) == Status::ok);
      REQUIRE(recorder.end_step() == Status::ok);
    }
    REQUIRE(session.finalize() == Status::ok);
    for (const auto& [name, text] : sink.journals) {
      if (name.find("statistic.csv") != std::string::npos) tables[on_device] += text;
    }
    kernels[on_device] = enqueued;
    // A tensor that the host looks at is mapped once; from the device only what its kernels found comes back.
    CHECK(reads == (on_device ? 2 : 0));
    CHECK(maps == (on_device ? 2 : 4));
  }
  // Numbers are written with six digits, so those of device and host are the same texts.
  CHECK(tables[true] == tables[false]);
  CHECK(std::count(tables[true].begin(), tables[true].end(), '\n') == 4);
  CHECK(kernels[false] == 0);
  CHECK(kernels[true] == 2);
}
