#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/read/nano_reader.hpp"
#include "opdump/read/proto_reader.hpp"
#include "tests/support/session_bench.hpp"

#if OPDUMP_FAULTS == 2

using namespace opdump;
using namespace opdump::tests;

namespace {

const OpAttribute kAttributes[] = {{"axis", "-1"}, {"keep", ""}};
const OpDesc kFailing[] = {
    {.name = "fc", .type = "MatMul", .task_id = 5, .stream_id = 2, .attributes = kAttributes}};
const ModelDesc kFailingModel = {.name = "net", .id = 9, .ops = kFailing};

DumpConfig failures(ExceptionDump exception) {
  DumpConfig config = everything();
  config.exception = exception;
  return config;
}

TensorView memory_at(const void* at, std::uint64_t bytes) {
  return {.address = address_of(at), .bytes = bytes};
}

struct FailureBench : Bench<16384> {
  std::string fail(ExceptionDump exception, const OpMemory* memory) {
    start(failures(exception), kFailingModel);
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    recorder.begin_op(0, {&tensors.input, 1}, {&tensors.output, 1}, memory);
    CHECK(recorder.capture_failure() == Status::ok);
    REQUIRE(recorder.end_step() == Status::ok);
    REQUIRE(session.finalize() == Status::ok);
    check_adds_up(session.counts());
    REQUIRE(sink.order.size() == 1);
    return std::string(as_text(sink.objects.at(sink.order[0])));
  }
};

/// "input 4x4 64 bytes" and so on, and of each part the first byte.
std::vector<std::string> parts_of(const std::string& file) {
  ProtoReader reader;
  REQUIRE(reader.open(as_bytes(file), file.size()) == Status::ok);
  std::vector<std::string> parts;
  const auto add = [&](const std::string& what, std::uint64_t bytes, std::uint64_t at) {
    parts.push_back(what + " " + std::to_string(bytes) + " " +
                    std::to_string(static_cast<unsigned char>(file.at(at))));
  };
  for (RecordTensor tensor; reader.next(tensor);)
    add((tensor.is_output ? "output " : "input ") + std::to_string(static_cast<int>(tensor.dtype)),
        tensor.bytes, tensor.data_offset);
  for (RecordBlob blob; reader.next(blob);)
    add(blob.kind == RecordBlob::Kind::workspace ? "workspace" : "buffer", blob.bytes, blob.data_offset);
  REQUIRE(reader.status() == Status::ok);
  return parts;
}

const std::string kFloat = std::to_string(static_cast<int>(DType::float32));
const std::string kBytes = std::to_string(static_cast<int>(DType::undefined));

}  // namespace

TEST_CASE("failure: norm has arguments, workspaces and attributes, in the order of the format") {
  FailureBench bench;
  bench.tensors.values[0] = 1;  // little-endian: its first byte is 0
  const std::string arguments(24, 'a');
  const std::string scratch(100, 'w');
  const TensorView argument_list[] = {memory_at(arguments.data(), arguments.size())};
  const TensorView workspace_list[] = {memory_at(scratch.data(), 60), memory_at(scratch.data(), 100)};
  const OpMemory memory = {.arguments = argument_list, .workspaces = workspace_list};
  const std::string file = bench.fail(ExceptionDump::norm, &memory);
  const std::string w = std::to_string(int{'w'});
  CHECK(parts_of(file) == std::vector<std::string>{"input " + kFloat + " 64 0",
                                                   "input " + kBytes + " 24 " + std::to_string(int{'a'}),
                                                   "output " + kFloat + " 64 0", "workspace 60 " + w,
                                                   "workspace 100 " + w});
  // Fields 7 of the message: name and value, which is left out when it is empty.
  CHECK(file.find("\x3a\x0a\x0a\x04"
                  "axis\x12\x02-1\x3a\x06\x0a\x04keep") != file.npos);
  CHECK(file.ends_with(scratch));
}

TEST_CASE("failure: brief has the arguments as bytes, and neither workspaces nor attributes") {
  for (const ExceptionDump scene : {ExceptionDump::brief, ExceptionDump::detail}) {
    FailureBench bench;
    bench.tensors.values[16] = 0;  // bytes are not put in order
    const std::string arguments(24, 'a');
    const TensorView list[] = {memory_at(arguments.data(), arguments.size())};
    const OpMemory memory = {.arguments = list, .workspaces = list};
    const std::string file = bench.fail(scene, &memory);
    CHECK(parts_of(file) == std::vector<std::string>{"input " + kBytes + " 64 0",
                                                     "input " + kBytes + " 24 " + std::to_string(int{'a'}),
                                                     "output " + kBytes + " 64 0"});
    CHECK(file.find("axis") == file.npos);
  }
}

TEST_CASE("failure: an operator that is none of the model's ends the one before it") {
  FailureBench bench;
  bench.start(failures(ExceptionDump::norm), kFailingModel);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  const auto begin = [&](std::size_t op) {
    bench.recorder.begin_op(op, {&bench.tensors.input, 1}, {&bench.tensors.output, 1});
  };
  begin(0);
  begin(99);
  CHECK(bench.recorder.capture_failure() == Status::no_such_op);
  begin(0);
  bench.recorder.end_op();
  CHECK(bench.recorder.capture_failure() == Status::no_such_op);
  begin(0);
  CHECK(bench.recorder.capture_failure() == Status::ok);
}

TEST_CASE("failure: an operator with more parts than a record takes several, and none is left out") {
  FailureBench bench;
  bench.start(failures(ExceptionDump::brief), kFailingModel);
  std::vector<TensorView> inputs(150, memory_at(bench.tensors.values, 4));
  std::vector<TensorView> outputs(150, memory_at(bench.tensors.values, 8));
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  bench.recorder.begin_op(0, inputs, outputs);
  CHECK(bench.recorder.capture_failure() == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  std::size_t of_four = 0;
  std::size_t of_eight = 0;
  for (const auto& [path, bytes] : bench.sink.objects) {
    for (const std::string& part : parts_of(std::string(as_text(bytes)))) {
      of_four += part.starts_with("input " + kBytes + " 4 ") ? 1 : 0;
      of_eight += part.starts_with("output " + kBytes + " 8 ") ? 1 : 0;
    }
  }
  CHECK(of_four == 150);
  CHECK(of_eight == 150);
  CHECK(bench.sink.order.size() > 1);
}

TEST_CASE("failure: memory that cannot be read becomes zeros, and the rest is there") {
  FailureBench bench;
  bench.tensors.values[0] = -1;
  const std::string scratch(100, 'w');
  const TensorView workspace = memory_at(scratch.data(), scratch.size());
  const OpMemory memory = {.workspaces = {&workspace, 1}};
  bench.memory.fail_at = 2;
  const std::string file = bench.fail(ExceptionDump::norm, &memory);
  CHECK(parts_of(file).back() == "workspace 100 0");
}

TEST_CASE("failure: a session without protobuf writes a nano record, with workspaces as such") {
  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[2048];
  alignas(8) std::byte ring[8192];
  BasicSession<FakeMemory> session({.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  auto& recorder = *session.add_recorder(ring).value();
  ModelPlanFor<1> plan;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(failures(ExceptionDump::norm)) == Status::ok);
  REQUIRE(session.load_model(plan, kFailingModel) == Status::ok);
  Tensors tensors;
  const TensorView workspace = memory_at(tensors.values, 32);
  const OpMemory of_op = {.workspaces = {&workspace, 1}};
  REQUIRE(recorder.begin_step(plan) == Status::ok);
  recorder.begin_op(0, {&tensors.input, 1}, {&tensors.output, 1}, &of_op);
  CHECK(recorder.capture_failure() == Status::ok);
  REQUIRE(recorder.end_step() == Status::ok);
  REQUIRE(session.finalize() == Status::ok);
  REQUIRE(sink.order.size() == 1);
  const std::vector<std::byte>& file = sink.objects.at(sink.order[0]);
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  std::vector<RecordTensor> all;
  for (RecordTensor tensor; reader.next(tensor);) all.push_back(tensor);
  REQUIRE(all.size() == 3);
  CHECK(all[2].address_kind == AddressKind::nano_workspace);
  CHECK(all[2].bytes == 32);
}
#endif
