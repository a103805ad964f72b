#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "platform/posix/file_dump.hpp"
#include "platform/posix/mindspore/lite_runs.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;
namespace fs = std::filesystem;

namespace {

DumpConfig lite_config() {
  DumpConfig config = everything();
  config.form.layout = Layout::mindspore_lite;
  config.form.file_format = FileFormat::bin;
  config.net_name = "Res.Net";
  return config;
}

const OpDesc kLiteOps[] = {
    {.name = "Default/bottleneck.1/Conv-op12", .type = "Conv2D", .task_id = 3, .stream_id = 1},
    {.name = "Add\n\x7f\"x", .type = "Add"}};
const ModelDesc kLiteModel = {.name = "net", .id = 9, .ops = kLiteOps};

/// The files of one step with `outputs` of operator `op`, in order, without their directory.
std::vector<std::string> names_of(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                                  std::size_t op = 0) {
  Bench<8192> bench;
  bench.start(lite_config(), kLiteModel);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(op, inputs, outputs) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  std::vector<std::string> names;
  for (const std::string& path : bench.sink.order) {
    constexpr std::string_view kPlace = "/dump|Res_Net/0|";
    CHECK(path.starts_with(kPlace));
    names.push_back(path.substr(kPlace.size()));
  }
  return names;
}

}  // namespace

TEST_CASE("lite layout: names tell operator, role, index, shape, dtype and format") {
  const std::uint8_t bytes[64] = {};
  const Dim dims[] = {1, 2, 2, 2};
  const Dim one[] = {8};
  const auto tensor = [&](DType dtype, Shape shape, Format format = Format::nhwc) {
    const std::uint64_t size = info(dtype).bits / 8 * element_count(shape).value();
    return TensorView{
        .address = address_of(bytes), .bytes = size, .dtype = dtype, .format = format, .shape = shape};
  };
  const TensorView input = tensor(DType::float16, dims);
  const TensorView outputs[] = {
      tensor(DType::float32, dims, Format::nchw), tensor(DType::int8, one, Format::nd),
      tensor(DType::int64, one, Format::nc),      tensor(DType::float64, one, Format::nd),
      tensor(DType::boolean, {}, Format::ncdhw),  tensor(DType::uint32, one)};
  const std::string op = "Default.bottleneck.1.Conv-op12";
  CHECK(names_of({&input, 1}, outputs) ==
        std::vector<std::string>{op + "_input_0_shape_1_2_2_2_Float16_NHWC.bin",
                                 op + "_output_0_shape_1_2_2_2_Float32_NCHW.bin",
                                 op + "_output_1_shape_8_Int8.bin", op + "_output_2_shape_8__NC.bin",
                                 op + "_output_3_shape_8_.bin", op + "_output_4_shape_Bool_NCDHW.bin",
                                 op + "_output_5_shape_8_UInt32_NHWC.bin"});
  CHECK(names_of({&input, 1}, {}, 1) ==
        std::vector<std::string>{"Add__\"x_input_0_shape_1_2_2_2_Float16_NHWC.bin"});
}

TEST_CASE("lite layout: the longest shape has room in the name") {
  const std::uint8_t byte = 0;
  std::vector<Dim> dims(kMaxRank, 1);
  const TensorView tensor = {.address = address_of(&byte), .bytes = 1, .dtype = DType::int8, .shape = dims};
  std::string shape;
  for (std::size_t i = 0; i < kMaxRank; ++i) shape += "1_";
  CHECK(names_of({}, {&tensor, 1}) ==
        std::vector<std::string>{"Default.bottleneck.1.Conv-op12_output_0_shape_" + shape + "Int8.bin"});
  char memory[kMaxSuffixBytes];
  TextWriter text(memory);
  dims[0] = UINT64_MAX;
  const TensorView largest = {.dtype = DType::float32, .format = Format::ncdhw, .shape = dims};
  BinFormat::add_suffix(text, largest, true, UINT16_MAX);
  CHECK_FALSE(text.overflowed());
}

TEST_CASE("lite layout: a file holds the bytes of the elements, and of a padded format all bytes") {
  std::uint8_t bytes[64];
  for (std::uint8_t i = 0; i < 64; ++i) bytes[i] = i;
  const Dim dims[] = {1, 3};
  Bench<1024> bench;
  bench.start(lite_config(), kLiteModel);
  const TensorView outputs[] = {
      {.address = address_of(bytes),
       .bytes = 64,
       .dtype = DType::float32,
       .format = Format::nchw,
       .shape = dims},
      {.address = address_of(bytes),
       .bytes = 64,
       .dtype = DType::float32,
       .format = Format::nc1hwc0,
       .shape = dims},
      {.address = address_of(bytes), .bytes = 2, .dtype = DType::int4, .shape = dims},
      {.address = address_of(bytes), .bytes = 5, .dtype = DType::string, .shape = dims}};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {}, outputs) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::size_t sizes[] = {12, 64, 2, 5};
  REQUIRE(bench.sink.order.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(bench.sink.order[i]);
    const std::vector<std::byte>& file = bench.sink.objects[bench.sink.order[i]];
    REQUIRE(file.size() == sizes[i]);
    for (std::size_t byte = 0; byte < file.size(); ++byte) CHECK(file[byte] == std::byte{bytes[byte]});
  }
  check_adds_up(bench.session.counts());
}

TEST_CASE("lite layout: each step has a folder; a second record of one name in it is lost and told") {
  Bench<8192> bench;
  const OpDesc ops[] = {{.name = "a/b", .type = "X"}, {.name = "a.b", .type = "Y"}};
  const ModelDesc model = {.name = "net", .id = 9, .ops = ops};
  DumpConfig config = lite_config();
  config.mode = DumpMode::output;
  config.first_step = 5;
  bench.start(config, model);
  bench.step();
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.order == std::vector<std::string>{"/dump|Res_Net/5|a.b_output_0_shape_4_4_Float32.bin",
                                                     "/dump|Res_Net/6|a.b_output_0_shape_4_4_Float32.bin"});
  CHECK(bench.session.counts().written == 2);
  CHECK(bench.session.counts().sink_failed == 2);
  check_adds_up(bench.session.counts());
  REQUIRE(bench.sink.journals.size() == 1);
  const auto& [name, journal] = *bench.sink.journals.begin();
  CHECK(name.starts_with("/dump||opdump.2."));
  CHECK(journal.find("written,0,0,64,Res_Net/5/a.b_output_0_shape_4_4_Float32.bin\n") != std::string::npos);
  CHECK(journal.find("lost,0,1,sink_failed:already exists,Res_Net/5/a.b_output_0_shape_4_4_Float32.bin\n") !=
        std::string::npos);
}

TEST_CASE("lite layout: what finds no room is told by its name alone") {
  Bench<256> bench(WhenFull::drop);
  bench.start(lite_config(), kLiteModel);
  const std::uint8_t bytes[4096] = {};
  const Dim dims[] = {4096};
  const TensorView large = {.address = address_of(bytes), .bytes = 4096, .dtype = DType::int8, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  static_cast<void>(bench.recorder.capture(0, {}, {&large, 1}));
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().lost() == 1);
  CHECK(bench.sink.journals.begin()->second.find(",Res_Net/0/Default.bottleneck.1.Conv-op12") !=
        std::string::npos);
}

TEST_CASE("lite layout: it goes with its own format only") {
  for (const FileFormat format : {FileFormat::nano, FileFormat::protobuf, FileFormat::npy}) {
    Bench bench;
    DumpConfig config = lite_config();
    config.form.file_format = format;
    REQUIRE(bench.session.init() == Status::ok);
    CHECK(bench.session.set_config(config) == Status::not_supported);
  }
  Bench bench;
  DumpConfig config = lite_config();
  config.form.layout = Layout::mindspore_cpu;
  REQUIRE(bench.session.init() == Status::ok);
  CHECK(bench.session.set_config(config) == Status::not_supported);
}

TEST_CASE("lite layout: steps go on behind the folders of earlier runs") {
  TemporaryDirectory directory;
  const std::string root = (directory.path() / "dump").string();
  const std::string file = (directory.path() / "lite.json").string();
  write_file(file, R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + root +
                       R"(", "net_name": "Net", "input_output": 2, "kernels": []}})");
  const float values[] = {1, 2};
  const Dim dims[] = {2};
  for (int run = 0; run < 3; ++run) {
    HostMemory memory;
    posix::FileDump dump(memory);
    dump.log_to(nullptr, nullptr);
    const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D"}};
    const ModelDesc model = {.name = "any", .id = 1, .ops = ops};
    ModelPlanFor<1> plan;
    REQUIRE(dump.start(file.c_str()) == Status::ok);
    REQUIRE(dump.load_model(plan, model) == Status::ok);
    const TensorView tensor = {address_of(values), sizeof values, DType::float32, Format::nhwc, dims};
    for (int step = 0; step < 2; ++step) {
      REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
      REQUIRE(dump.recorder().capture(0, {}, {&tensor, 1}) == Status::ok);
      REQUIRE(dump.recorder().end_step() == Status::ok);
    }
    REQUIRE(dump.stop() == Status::ok);
  }
  for (const char* step : {"0", "1", "2", "3", "4", "5"}) {
    CAPTURE(step);
    const fs::path bin = fs::path(root) / "Net" / step / "conv1_output_0_shape_2_Float32_NHWC.bin";
    REQUIRE(fs::exists(bin));
    CHECK(read_file(bin) == std::string(reinterpret_cast<const char*>(values), sizeof values));
  }
  CHECK_FALSE(fs::exists(fs::path(root) / "Net" / "6"));
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    CHECK((name == "Net" || name.ends_with(".journal")));
  }
}

TEST_CASE("lite layout: the first free folder") {
  TemporaryDirectory directory;
  DumpConfig config = lite_config();
  const std::string root = directory.path().string();
  config.dump_path = root;
  CHECK(posix::behind_earlier_runs(config).first_step == 0);
  for (const char* folder : {"Res_Net/0", "Res_Net/7", "Res_Net/x9", "Res_Net/99999999999", "Other/12"})
    fs::create_directories(directory.path() / folder);
  CHECK(posix::behind_earlier_runs(config).first_step == 8);
  config.net_name = {};
  CHECK(posix::behind_earlier_runs(config).first_step == 13);
  const StepRange range = {0, 3};
  config.steps.ranges = {&range, 1};
  CHECK(posix::behind_earlier_runs(config).first_step == 0);
  config.steps = {};
  config.form.layout = Layout::cann;
  CHECK(posix::behind_earlier_runs(config).first_step == 0);
}
