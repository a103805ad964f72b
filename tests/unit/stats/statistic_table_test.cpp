#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "opdump/parts/text_log.hpp"
#include "opdump/types/config.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/little_endian.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

DumpConfig statistics_config(Layout layout, StatBits statistics = kStatMax | kStatMin | kStatL2Norm) {
  DumpConfig config = everything();
  config.form.data = DumpData::statistics;
  config.form.layout = layout;
  config.form.statistics = statistics;
  config.net_name = "net";
  config.form.rank = 3;
  config.form.file_format = layout == Layout::cann ? FileFormat::nano : FileFormat::npy;
  return config;
}

std::string text_at(const FakeSink& sink, std::string_view end) {
  for (const auto& [path, data] : sink.objects) {
    if (path.ends_with(end)) return std::string(as_text(data));
  }
  return {};
}

std::string rows_at(const FakeSink& sink, const std::string& path) {
  const auto found = sink.journals.find(path);
  return found == sink.journals.end() ? std::string() : found->second;
}

/// Takes the time, which is the fifth cell, out of each row.
std::string untimed(const std::string& rows) {
  std::string out;
  for (const std::string_view row : split(rows, '\n')) {
    const std::vector<std::string_view> cells = split(row, ',');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i != 4) out.append(i == 0 ? "" : ",").append(cells[i]);
    }
    out += out.empty() || row.empty() ? "" : "\n";
  }
  return out;
}

/// Runs `op` with float32 tensors of 2 x 3.
template <std::size_t kRing>
void run_add(Bench<kRing>& bench) {
  static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12}, sum[] = {8, 10, 12, 14, 16, 18};
  static const Dim dims[] = {2, 3};
  const auto tensor = [](const float* data) {
    return TensorView{.address = address_of(data), .bytes = 24, .dtype = DType::float32, .shape = dims};
  };
  const TensorView inputs[] = {tensor(a), tensor(b)};
  const TensorView outputs[] = {tensor(sum)};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, inputs, outputs) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
}

const OpDesc kAdd[] = {{.name = "Default/Add-op0", .type = "Add", .task_id = 3, .stream_id = 5}};
const ModelDesc kAddNet = {.name = "file", .id = 7, .ops = kAdd};

}  // namespace

TEST_CASE("statistics: MindSpore's table has its columns, its numbers and its trailing comma") {
  Bench<4096> bench;
  bench.start(statistics_config(Layout::mindspore_kernel), kAddNet);
  run_add(bench);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 1);
  const std::string path = "/dump|rank_3/net/7/0|statistic.csv";
  CHECK(as_text(bench.sink.objects[path]) ==
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,"
        "Max Value,Min Value,L2Norm Value\n");
  CHECK(untimed(rows_at(bench.sink, path)) ==
        "Add,Default_Add-op0,0,5,input,0,24,float32,\"(2,3)\",6,1,9.53939,\n"
        "Add,Default_Add-op0,0,5,input,1,24,float32,\"(2,3)\",12,7,23.6432,\n"
        "Add,Default_Add-op0,0,5,output,0,24,float32,\"(2,3)\",18,8,32.9242,\n");
  CHECK(split(rows_at(bench.sink, path), ',')[4].starts_with("17000"));
  check_adds_up(bench.session.counts());
  CHECK(bench.session.counts().written == 3);
}

TEST_CASE("statistics: columns come in the order asked for, also twice, and without the comma") {
  Bench<4096> bench;
  const StatBits columns[] = {kStatSha1, kStatCount, kStatNegative,    kStatPositive,
                              kStatZero, kStatNan,   kStatNegativeInf, kStatPositiveInf,
                              kStatMean, kStatMd5,   kStatCount};
  DumpConfig config = statistics_config(Layout::mindspore_cpu);
  config.statistic_columns = columns;
  config.form.statistics = kStatSha1 | kStatMd5;
  config.form.trailing_comma = false;
  bench.start(config, kAddNet);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float values[] = {-1, 0, -0.0f, 3, kInf, -kInf, std::nanf(""), 5, 7};
  const Dim dims[] = {8};
  // The ninth value is padding, which neither counts nor goes into the digests.
  const TensorView output = {
      .address = address_of(values), .bytes = 36, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {}, {&output, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string path = "/dump|rank_3/net/7/0|statistic.csv";
  CHECK(as_text(bench.sink.objects[path])
            .ends_with(",Shape,SHA1,Count,Negative Zero Count,Positive Zero Count,Zero Count,NaN Count,"
                       "Negative Inf Count,Positive Inf Count,Avg Value,MD5,Count\n"));
  const auto hex = [&](auto digest, auto& bytes) {
    digest.add(little_endian(values, 32, DType::float32));
    digest.finish(bytes);
    char text[40];
    TextWriter to(text);
    to.add_hex(bytes);
    return std::string(to.text());
  };
  std::byte md5[16], sha1[20];
  CHECK(untimed(rows_at(bench.sink, path)) == "Add,Default_Add-op0,0,0,output,0,36,float32,\"(8)\"," +
                                                  hex(Sha1(), sha1) + ",8,2,3,2,1,1,1,nan," +
                                                  hex(Md5(), md5) + ",8\n");
}

TEST_CASE("statistics: a full dump has each tensor's file and its row, with one time") {
  Bench<4096> bench;
  DumpConfig config = statistics_config(Layout::mindspore_kernel);
  config.form.data = DumpData::full;
  bench.clock.us_per_reading = 0;  // so that names collide
  bench.start(config, kAddNet);
  run_add(bench);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string text = rows_at(bench.sink, "/dump|rank_3/net/7/0|statistic.csv");
  const std::vector<std::string_view> rows = split(text, '\n');
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<std::string_view> cells = split(rows[i], ',');
    std::string file = "Add.Default_Add-op0.0.5.";
    file.append(cells[4]).append(".").append(cells[5]).append(".").append(cells[6]);
    CHECK(!text_at(bench.sink, "|" + file + ".DefaultFormat.float32.npy").empty());
  }
  CHECK(bench.sink.objects.size() == 4);
  CHECK(bench.session.counts().written == 6);
  check_adds_up(bench.session.counts());
}

TEST_CASE("statistics: CANN's file per operator has the selected columns") {
  Bench<4096> bench;
  bench.start(statistics_config(Layout::cann, kStatsByDefault), kAddNet);
  run_add(bench);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.objects.size() == 1);
  const auto& [path, data] = *bench.sink.objects.begin();
  CHECK(path.starts_with("/dump|20231114221320/2/file/7/0|Add.Default_Add-op0.3.5.17"));
  CHECK(path.ends_with(".csv"));
  CHECK(as_text(data) ==
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count\n"
        "Input,0,24,DT_FLOAT,ND,2x3,6,1,3.5,6,0,0,0\n"
        "Input,1,24,DT_FLOAT,ND,2x3,12,7,9.5,6,0,0,0\n"
        "Output,0,24,DT_FLOAT,ND,2x3,18,8,13,6,0,0,0\n");
  const std::string journal = bench.sink.journals.begin()->second;
  CHECK(journal.find("\nwritten,0,0,") != std::string::npos);
  CHECK(account_of(journal).wrong == "");
}

TEST_CASE("statistics: the numbers of CANN's nano devices have fixed digits") {
  Bench<4096> bench;
  DumpConfig config = statistics_config(Layout::cann, kStatMax | kStatMin | kStatMean);
  config.form.fixed_point = true;
  bench.start(config, kAddNet);
  run_add(bench);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(text_at(bench.sink, ".csv")
            .find("Input,0,24,DT_FLOAT,ND,2x3,6,6.0000000,1.0000000,3.5000000000000000\n") !=
        std::string::npos);
}

TEST_CASE("statistics: tensors of any size go through a ring of 4 KiB, and not a byte of them") {
  static std::vector<float> values(rounds(1 << 20), 1.5f);
  const Dim dims[] = {values.size()};
  for (const Layout layout : {Layout::cann, Layout::mindspore_kernel, Layout::mindspore_graph}) {
    for (const WhenFull when_full :
         {WhenFull::drop, WhenFull::block, WhenFull::inline_drain, WhenFull::degrade}) {
      Bench<4096> bench(when_full);
      bench.start(statistics_config(layout));
      const TensorView tensor = {.address = address_of(values.data()),
                                 .bytes = values.size() * sizeof(float),
                                 .dtype = DType::float32,
                                 .shape = dims};
      const TensorView four[] = {tensor, tensor, tensor, tensor};
      for (int step = 0; step < 3; ++step) {
        REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
        REQUIRE(bench.recorder.capture(1, four, four) == Status::ok);
        REQUIRE(bench.recorder.end_step() == Status::ok);
        while (bench.session.drain_some(100) != 0) continue;
      }
      REQUIRE(bench.session.finalize() == Status::ok);
      std::size_t bytes = 0;
      for (const auto& [path, data] : bench.sink.objects) bytes += data.size();
      for (const auto& [path, data] : bench.sink.journals) bytes += data.size();
      CHECK(bytes < 8000);
      CHECK(bench.session.counts().lost() == 0);
      CHECK(bench.session.counts().degraded == 0);
      CHECK(bench.session.counts().written == (has_table(layout) ? 24 : 3));
      check_adds_up(bench.session.counts());
    }
  }
}

TEST_CASE("statistics: names with commas are quoted; a dtype without statistics has null") {
  const OpDesc ops[] = {{.name = "a,\"b", .type = "T,U"}};
  const ModelDesc model = {.name = "m", .id = 1, .ops = ops};
  Bench<4096> bench;
  bench.start(statistics_config(Layout::mindspore_graph, kStatMax | kStatCount | kStatMd5), model);
  const std::uint64_t value[2] = {1, 2};
  const Dim dims[] = {8};
  const TensorView output = {
      .address = address_of(value), .bytes = 16, .dtype = DType::quint16, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.capture(0, {}, {&output, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string rows = rows_at(bench.sink, "/dump|0/20231114221320/2/m/1/0|statistic.csv");
  CHECK(rows.starts_with("\"T,U\",\"a,_b\",65535,65535,17"));
  CHECK(rows.find(",output,0,16,quint16,\"(8)\",null,null,") != std::string::npos);
}

TEST_CASE("statistics: complex tensors have arrays and no rows, and the log says so") {
  const float values[] = {1, 2, 3, 4};
  const Dim dims[] = {2};
  const Dim number[] = {4};
  const TensorView input = {
      .address = address_of(values), .bytes = 16, .dtype = DType::complex64, .shape = dims};
  const TensorView output = {
      .address = address_of(values), .bytes = 16, .dtype = DType::float32, .shape = number};
  for (const DumpData data : {DumpData::statistics, DumpData::full}) {
    std::string told;
    const auto add_line = [](void* to, std::string_view line) {
      static_cast<std::string*>(to)->append(line).append("\n");
    };
    TextLog log(add_line, &told);
    Bench<4096> bench(WhenFull::inline_drain, 50, JournalDetail::records, &log);
    DumpConfig config = statistics_config(Layout::mindspore_kernel, kStatMax | kStatMd5);
    config.form.data = data;
    bench.start(config, kAddNet);
    for (int step = 0; step < 2; ++step) {
      REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
      CHECK(bench.recorder.capture(0, {&input, 1}, {&output, 1}) == Status::ok);
      REQUIRE(bench.recorder.end_step() == Status::ok);
    }
    REQUIRE(bench.session.finalize() == Status::ok);
    check_adds_up(bench.session.counts());
    CHECK(bench.session.counts().lost() == 0);
    CHECK(bench.session.counts().empty == 2);
    for (const char* step : {"0", "1"}) {
      const std::string rows =
          rows_at(bench.sink, "/dump|rank_3/net/7/" + std::string(step) + "|statistic.csv");
      CHECK(split(rows, '\n').size() == 2);  // with what follows the last
      CHECK(rows.find(",output,0,16,float32,") != rows.npos);
    }
    std::size_t arrays = 0;
    for (const auto& [path, object] : bench.sink.objects) arrays += path.ends_with(".complex64.npy") ? 1 : 0;
    CHECK(arrays == (data == DumpData::full ? 2 : 0));
    CHECK(told.find(
              "left out: input 0 of operator \"Default/Add-op0\" of model \"net\" at step 0: 16 bytes given, "
              "complex64 [2] has no row in statistic.csv, an array only\n") != told.npos);
    CHECK(told.find("left out:") == told.rfind("left out:"));
  }
}

TEST_CASE("statistics: what fails is counted, at the sink and at the device") {
  for (const Layout layout : {Layout::cann, Layout::mindspore_kernel}) {
    for (int fail_at = 0; fail_at < 30; ++fail_at) {
      Bench<4096> bench;
      bench.start(statistics_config(layout));
      bench.sink.fail_at = bench.sink.calls + fail_at;
      bench.step();
      static_cast<void>(bench.session.finalize());
      CHECK(bench.sink.open_objects.empty());
      CHECK(bench.sink.stray_aborts == 0);
      check_adds_up(bench.session.counts());
    }
    Bench<4096> bench;
    bench.start(statistics_config(layout));
    bench.memory.fail_at = 0;
    bench.step();
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.session.counts().device_failed == 1);
    check_adds_up(bench.session.counts());
  }
}

TEST_CASE("statistics: sampling keeps the first elements") {
  Bench<4096> bench;
  DumpConfig config = statistics_config(Layout::mindspore_kernel);
  config.form.data = DumpData::full;
  config.sample_number = 4;
  bench.start(config, kAddNet);
  run_add(bench);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(untimed(rows_at(bench.sink, "/dump|rank_3/net/7/0|statistic.csv"))
            .starts_with("Add,Default_Add-op0,0,5,input,0,16,float32,\"(4)\",4,1,5.47723,\n"));
  const std::string file = text_at(bench.sink, ".output.0.DefaultFormat.float32.npy");
  CHECK(file.size() == 128 + 16);
  CHECK(file.find("'shape': (4,), }") != std::string::npos);
}

TEST_CASE("statistics: a session whose reduction has no digests refuses a config that wants them") {
  HostMemory memory;
  FakeSink sink;
  FakeClock clock;
  StatisticsReduction<HostMemory, false> reduction(memory);
  std::byte scratch[1024];
  BasicSession<HostMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .reduction = &reduction});
  REQUIRE(session.init() == Status::ok);
  CHECK(session.set_config(statistics_config(Layout::cann, kStatMax | kStatMd5)) == Status::not_supported);
  CHECK(session.set_config(statistics_config(Layout::cann)) == Status::ok);
}
