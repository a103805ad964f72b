#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/impl/plan/remaining_tensors.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/read/proto_reader.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr TensorPosition kFirstInput[] = {{false, 0}};
constexpr TensorPosition kOutputs[] = {{true, 0}, {true, 2}};
constexpr TensorPosition kAllTensors[] = {{false, 0}, {false, 1}, {true, 0}, {true, 1}, {true, 2}};

struct ExclusionBench : Bench<32768> {
  /// One step of two inputs and three outputs per operator, of 4, 8, 12, 16 and 20 bytes.
  void step() {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    Dim dims[5];
    TensorView views[5];
    for (std::size_t i = 0; i < 5; ++i) {
      dims[i] = i + 1;
      views[i] = {.address = address_of(tensors.values),
                  .bytes = 4 * (i + 1),
                  .dtype = DType::float32,
                  .shape = {&dims[i], 1}};
    }
    for (std::size_t op = 0; op < 3; ++op)
      if (recorder.wants(op)) CHECK(recorder.capture(op, {views, 2}, {views + 2, 3}) == Status::ok);
    REQUIRE(recorder.end_step() == Status::ok);
  }

  /// Bytes of the tensors of each file, in order.
  std::vector<std::string> dumped(const DumpConfig& config, int steps = 1) {
    start(config);
    for (int i = 0; i < steps; ++i) step();
    REQUIRE(session.finalize() == Status::ok);
    check_adds_up(session.counts());
    std::vector<std::string> files;
    for (const std::string& path : sink.order) {
      const std::vector<std::byte>& bytes = sink.objects.at(path);
      NanoReader reader;
      REQUIRE(reader.open(bytes, bytes.size()) == Status::ok);
      const std::string file = path.substr(path.rfind('|') + 1);
      std::string text =
          file.substr(file.find('.') + 1, file.find('.', file.find('.') + 1) - file.find('.') - 1);
      for (RecordTensor tensor; reader.next(tensor);)
        text += " " + std::to_string(tensor.bytes) +
                (tensor.is_output ? "@" + std::to_string(tensor.original_index) : "");
      files.push_back(text);
    }
    return files;
  }
};

DumpConfig excluding_config(std::span<const ModelRule> rules) {
  return {
      .active = true, .dump_path = "/dump", .mode = DumpMode::all, .level = DumpLevel::op, .models = rules};
}

}  // namespace

TEST_CASE("exclusions: by name and by type, in every step; the others keep their positions") {
  const TensorExclusion exclusions[] = {{.by_type = false, .name = "pool1", .positions = kFirstInput},
                                        {.by_type = true, .name = "MaxPool", .positions = kOutputs},
                                        {.by_type = true, .name = "fc", .positions = kAllTensors},
                                        {.by_type = false, .name = "relu1", .positions = kAllTensors}};
  const ModelExtras extras = {.exclusions = exclusions};
  const ModelRule rules[] = {{.model_name = "net", .extras = &extras}};
  ExclusionBench bench;
  CHECK(bench.dumped(excluding_config(rules), 2) ==
        std::vector<std::string>{"conv1_relu1 4 8 12@0 16@1 20@2", "pool1 8 16@1", "fc 4 8 12@0 16@1 20@2",
                                 "conv1_relu1 4 8 12@0 16@1 20@2", "pool1 8 16@1", "fc 4 8 12@0 16@1 20@2"});
}

TEST_CASE("exclusions: the entry of the model and the one of every model hold together, another's does not") {
  const TensorExclusion first[] = {{.by_type = true, .name = "MatMul", .positions = kFirstInput}};
  const TensorExclusion second[] = {{.by_type = false, .name = "fc", .positions = kOutputs}};
  const TensorExclusion third[] = {{.by_type = false, .name = "fc", .positions = kAllTensors}};
  const ModelExtras extras[] = {{.exclusions = first}, {.exclusions = second}, {.exclusions = third}};
  const std::string_view layers[] = {"fc"};
  const ModelRule rules[] = {
      {.model_name = "net", .all_layers = false, .layers = layers, .extras = &extras[0]},
      {.any_model = true, .all_layers = false, .layers = layers, .extras = &extras[1]},
      {.model_name = "other", .extras = &extras[2]}};
  ExclusionBench bench;
  CHECK(bench.dumped(excluding_config(rules)) == std::vector<std::string>{"fc 8 16@1"});
}

TEST_CASE("exclusions: the mode holds besides, and what is left of nothing makes no file") {
  const TensorExclusion exclusions[] = {{.by_type = true, .name = "MatMul", .positions = kAllTensors},
                                        {.by_type = true, .name = "Conv2D", .positions = kFirstInput}};
  const ModelExtras extras = {.exclusions = exclusions};
  const ModelRule rules[] = {{.any_model = true, .extras = &extras}};
  DumpConfig config = excluding_config(rules);
  config.mode = DumpMode::input;
  ExclusionBench bench;
  CHECK(bench.dumped(config) == std::vector<std::string>{"conv1_relu1 8", "pool1 4 8"});
  CHECK(bench.session.counts().empty == 1);
}

TEST_CASE("exclusions: a record says which of its operator's tensors it has, in every format") {
  const TensorExclusion exclusions[] = {{.by_type = false, .name = "fc", .positions = kFirstInput},
                                        {.by_type = false, .name = "fc", .positions = kOutputs}};
  const ModelExtras extras = {.exclusions = exclusions};
  const std::string_view layers[] = {"conv1_relu1", "fc"};
  const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = layers, .extras = &extras}};
  DumpConfig config = excluding_config(rules);
  const auto positions = [](auto reader, Bytes file) {
    REQUIRE(reader.open(file, file.size()) == Status::ok);
    std::string text;
    for (RecordTensor tensor; reader.next(tensor);)
      text += (tensor.is_output ? " out" : " in") + std::to_string(tensor.index);
    CHECK(reader.status() == Status::ok);
    return text;
  };
  for (const FileFormat format : {FileFormat::nano, FileFormat::protobuf}) {
    config.form.file_format = format;
    ExclusionBench bench;
    bench.start(config);
    bench.step();
    bench.step();
    REQUIRE(bench.session.finalize() == Status::ok);
    REQUIRE(bench.sink.order.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      const Bytes file = bench.sink.objects.at(bench.sink.order[i]);
      CHECK((format == FileFormat::nano ? positions(NanoReader(), file) : positions(ProtoReader(), file)) ==
            (i % 2 == 0 ? " in0 in1 out0 out1 out2" : " in1 out1"));
    }
  }
  config.form.file_format = FileFormat::nano;
  config.form.data = DumpData::statistics;
  ExclusionBench bench;
  bench.start(config);
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string_view csv = as_text(bench.sink.objects.at(bench.sink.order[1]));
  CHECK(csv.find("\nInput,1,8,") != csv.npos);
  CHECK(csv.find("\nOutput,1,16,") != csv.npos);
}

TEST_CASE("exclusions: files of one tensor keep the position in their names") {
  const TensorExclusion exclusions[] = {{.by_type = false, .name = "fc", .positions = kOutputs}};
  const ModelExtras extras = {.exclusions = exclusions};
  const std::string_view layers[] = {"fc"};
  const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = layers, .extras = &extras}};
  DumpConfig config = excluding_config(rules);
  config.form.file_format = FileFormat::npy;
  ExclusionBench bench;
  bench.start(config);
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  std::string names;
  for (const std::string& path : bench.sink.order) {
    for (const char* part : {".input.0.", ".input.1.", ".output.0.", ".output.1.", ".output.2."}) {
      if (path.find(part) != path.npos) names += part;
    }
  }
  CHECK(names == ".input.0..input.1..output.1.");
}

TEST_CASE("exclusions: an operator with more tensors than can be sorted out is lost, and counted") {
  const TensorExclusion exclusions[] = {{.by_type = false, .name = "fc", .positions = kFirstInput}};
  const ModelExtras extras = {.exclusions = exclusions};
  const ModelRule rules[] = {{.any_model = true, .extras = &extras}};
  ExclusionBench bench;
  bench.start(excluding_config(rules));
  const std::vector<TensorView> many(RemainingTensors::kMost + 1, bench.tensors.input);
  const std::vector<TensorView> too_many(RemainingTensors::kMost + 2, bench.tensors.input);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(2, many, {}) == Status::ok);
  CHECK(bench.recorder.capture(2, too_many, {}) == Status::too_many_tensors);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
  CHECK(bench.session.counts().lost() == 1);
  CHECK(bench.session.counts().written == 1);
}
