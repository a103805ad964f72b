#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "platform/posix/mindspore/files.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/temporary_directory.hpp"

namespace opdump::tests::mindspore_files {

namespace {

const OpAttribute kAttributes[] = {{"transpose_b", "False"}, {"a\n\"b\\", "1"}, {"transpose_a", "True"}};
const OpDesc kOps[] = {
    {.name = "Default/fc.1-Dense/MatMul-op5", .type = "MatMul", .attributes = kAttributes},
    {.name = "Default/Add-op0", .type = "Add"},
    {.name = "-x", .type = "Cast"},
};
const ModelDesc kModel = {.name = "file", .id = 4, .ops = kOps};

DumpConfig config() {
  return {.active = true,
          .dump_path = "/dump",
          .form = {.layout = Layout::mindspore_cpu, .rank = 2},
          .net_name = "Net 1"};
}

std::string text_of(const FakeSink& sink, const std::string& path) {
  const auto found = sink.objects.find(path);
  return found == sink.objects.end() ? "absent" : std::string(as_text(found->second));
}

}  // namespace

TEST_CASE("mindspore files: the order of execution, and the steps that were run") {
  FakeSink sink;
  REQUIRE(write_execution_order(sink, config(), kModel) == Status::ok);
  CHECK(text_of(sink, "/dump|rank_2/execution_order|ms_execution_order_graph_4.csv") ==
        "NodeExecutionOrder-FullNameWithScope\nDefault/fc.1-Dense/MatMul-op5\nDefault/Add-op0\n-x\n");
  REQUIRE(append_executed_step(sink, config(), 4, 0) == Status::ok);
  REQUIRE(append_executed_step(sink, config(), 4, 12345678901) == Status::ok);
  CHECK(sink.journals["/dump|rank_2/execution_order|ms_global_execution_order_graph_4.csv"] ==
        "0\n12345678901\n");
}

TEST_CASE("mindspore files: metadata is written once and then kept") {
  FakeSink sink;
  REQUIRE(write_dump_metadata(sink, config(), "{\"first\": 1}\n", "CPU", "2.5 \"x\"") == Status::ok);
  REQUIRE(write_dump_metadata(sink, config(), "{\"second\": 1}\n", "CPU", "3") == Status::ok);
  CHECK(text_of(sink, "/dump|rank_2/.dump_metadata|data_dump.json") == "{\"first\": 1}\n");
  CHECK(text_of(sink, "/dump|rank_2/.dump_metadata|config.json") ==
        "{\"device_target\": \"CPU\", \"ms_version\": \"2.5 \\\"x\\\"\"}");
}

TEST_CASE("mindspore files: an operator's arguments are sorted and quoted") {
  FakeSink sink;
  char memory[256];
  for (const OpDesc& op : kOps) REQUIRE(write_kernel_args(sink, config(), 4, op, 7, memory) == Status::ok);
  const std::string place = "/dump|rank_2/Net_1/4/7|";
  CHECK(text_of(sink, place + "MatMul.Default_fc_1-Dense_MatMul-op5.json") ==
        "{\n    \"a\\u000a\\\"b\\\\\": \"1\",\n    \"transpose_a\": \"True\",\n"
        "    \"transpose_b\": \"False\"\n}");
  CHECK(text_of(sink, place + "Add.Default_Add-op0.json") == "null");
  CHECK(text_of(sink, place + "Cast.-x.json") == "null");
  char small[40];
  CHECK(write_kernel_args(sink, config(), 4, kOps[0], 7, small) == Status::name_too_long);
}

TEST_CASE("mindspore files: what CANN is given to dump of whole graphs") {
  const ModelRule every[] = {{.any_model = true}};
  const ModelRule some[] = {{.any_model = true, .all_layers = false}};
  std::uint8_t bits[] = {1, 0, 1};
  ModelPlan plan;
  plan.model = &kModel;
  plan.bits = bits;
  const auto written = [&plan](DumpConfig of_graph, std::uint64_t step) {
    FakeSink sink;
    of_graph.form.layout = Layout::mindspore_graph;
    REQUIRE(write_acl_dump(sink, of_graph, plan, 5, step) == Status::ok);
    return text_of(sink, "/dump||acl_dump_5.json");
  };
  DumpConfig of_all = config();
  of_all.models = every;
  of_all.mode = DumpMode::all;
  CHECK(written(of_all, 0) ==
        "{\"dump\":{\"dump_list\":[],\"dump_mode\":\"all\",\"dump_op_switch\":\"on\",\"dump_path\":\"/dump/"
        "0\"}}");
  DumpConfig of_some = config();
  of_some.models = some;
  of_some.mode = DumpMode::input;
  CHECK(written(of_some, 12345678901) ==
        "{\"dump\":{\"dump_list\":[{\"layer\":[\"Default/fc.1-Dense/"
        "MatMul-op5\",\"-x\"]}],\"dump_mode\":\"input\","
        "\"dump_op_switch\":\"on\",\"dump_path\":\"/dump/12345678901\"}}");
  of_some.overflow = true;
  CHECK(written(of_some, 3) == "{\"dump\":{\"dump_debug\":\"on\",\"dump_path\":\"/dump/3\"}}");
  of_some.exception = ExceptionDump::brief;
  CHECK(written(of_some, 3) == "{\"dump\":{\"dump_scene\":\"lite_exception\"}}");
}

TEST_CASE("mindspore files: a sink that fails leaves nothing open") {
  for (int fail_at = 0; fail_at < 6; ++fail_at) {
    FakeSink sink;
    sink.fail_at = fail_at;
    static_cast<void>(write_dump_metadata(sink, config(), std::string(1000, 'x'), "CPU", "1"));
    static_cast<void>(write_execution_order(sink, config(), kModel));
    CHECK(sink.open_objects.empty());
    CHECK(sink.stray_aborts == 0);
  }
}

TEST_CASE("mindspore files: arguments of an operator with a long name are written, and mapped to it") {
  const TemporaryDirectory directory;
  const std::string root = directory.path().string();
  const std::string name = "Default/" + std::string(300, 'n') + "-op1";
  const OpDesc op = {.name = name, .type = "MatMul"};
  DumpConfig kernel = config();
  kernel.dump_path = root;
  posix::TreeSink sink;
  std::vector<char> memory(mindspore_name_bytes(kernel.net_name.size(), name.size(), name.size()));
  REQUIRE(write_kernel_args(sink, kernel, 4, op, 7, memory) == Status::ok);
  std::size_t files = 0;
  std::string mapping;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (!entry.is_regular_file()) continue;
    if (entry.path().filename() == "mapping.csv")
      mapping = read_file(entry.path());
    else
      files += read_file(entry.path()) == "null" ? 1 : 0;
  }
  CHECK(files == 1);
  CHECK(mapping.find(std::string(300, 'n') + "-op1.json") != mapping.npos);
}

}  // namespace opdump::tests::mindspore_files
