#include <doctest/doctest.h>

#include <string>

#include "opdump/nano_reader.hpp"
#include "support/c_api_dump.hpp"

#if OPDUMP_FAULTS

using namespace opdump;
using namespace opdump::tests;

namespace {

std::vector<std::byte> plan_of_failures() {
  const ModelRule rules[] = {{.any_model = true}};
  DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = "/d";
  config.models = rules;
  config.exception = ExceptionDump::norm;
  config.options.ring_bytes = 4096;
  config.options.when_full = WhenFull::inline_drain;
  return write_plan(config);
}

std::size_t tensors_in(const std::string& file) {
  NanoReader reader;
  REQUIRE(reader.open(as_bytes(file), file.size()) == Status::ok);
  std::size_t count = 0;
  for (RecordTensor tensor; reader.next(tensor);) ++count;
  return count;
}

}  // namespace

TEST_CASE("c api: an operator that failed, with its memory") {
  CDump dump(nullptr, plan_of_failures());
  dump.start(kNet);
  const opdump_tensor in = tensor_of_values();
  opdump_tensor workspace = {};
  workspace.address = in.address;
  workspace.bytes = 8;
  workspace.dtype = OPDUMP_UNDEFINED;
  opdump_running_op running = {};
  running.struct_bytes = sizeof running;
  running.op = 1;
  running.input_count = 1;
  running.inputs = &in;
  running.workspace_count = 1;
  running.workspaces = &workspace;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_ERR_STEP_NOT_OPEN);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_ERR_STEP_NOT_OPEN);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_ERR_NO_SUCH_OP);
  CHECK(opdump_begin_op(nullptr, &running) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_begin_op(dump.recorder, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  running.op = 2;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_ERR_NO_SUCH_OP);
  running.op = 1;
  running.argument_count = 1;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_ERR_INVALID_TENSOR);
  running.arguments = &workspace;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_ERR_TOO_MANY_TENSORS);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_ERR_NO_SUCH_OP);
  running.argument_count = 0;
  running.struct_bytes = 8;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_ERR_NOT_SUPPORTED);
  running.struct_bytes = sizeof running;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_OK);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.counts().written == 1);
  const std::string file = only(dump.received.whole, "extra-info/data-dump/0/Relu.relu1.4.20");
  CHECK(tensors_in(file) == 2);
}

TEST_CASE("c api: a fault handler flushes the operator that was running") {
  CDump dump(nullptr, plan_of_failures());
  dump.start(kNet);
  const opdump_tensor tensors[] = {tensor_of_values(), tensor_of_values()};
  opdump_running_op running = {};
  running.struct_bytes = sizeof running;
  running.input_count = running.output_count = 1;
  running.inputs = running.outputs = tensors;
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  REQUIRE(opdump_begin_op(dump.recorder, &running) == OPDUMP_OK);
  CHECK(opdump_session_crash_flush(nullptr, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_crash_flush(dump.session, dump.recorder) == OPDUMP_OK);
  CHECK(tensors_in(only(dump.received.whole, "extra-info/data-dump/0/Conv2D.conv1.3.20")) == 2);
  CHECK(opdump_session_drain(dump.session, 1 << 20) == 0);
}
#endif
