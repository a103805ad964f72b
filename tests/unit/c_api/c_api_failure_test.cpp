#include <doctest/doctest.h>

#include <string>

#include "opdump/read/nano_reader.hpp"
#include "tests/support/c_api_dump.hpp"

#if OPDUMP_FAULTS == 2

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
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_ERR_MISSING_ARGUMENT);
  running.arguments = &workspace;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_ERR_TOO_MANY_TENSORS);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_ERR_NO_SUCH_OP);
  running.argument_count = 0;
  running.struct_bytes = sizeof running;
  CHECK(opdump_begin_op(dump.recorder, &running) == OPDUMP_OK);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.counts().written == 1);
  const std::string file = only(dump.received.whole, "extra-info/data-dump/0/Relu.relu1.4.20");
  CHECK(tensors_in(file) == 2);
}

TEST_CASE("c api: the struct of a running operator may be older than the library, and newer") {
  CDump dump(nullptr, plan_of_failures());
  dump.start(kNet);
  const opdump_tensor in = tensor_of_values();
  struct Newer {
    opdump_running_op op;
    std::uint64_t added;
  } newer = {};
  newer.op.struct_bytes = sizeof newer;
  newer.op.input_count = 1;
  newer.op.inputs = &in;
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_begin_op(dump.recorder, &newer.op) == OPDUMP_OK);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_OK);
  newer.added = 1;
  CHECK(opdump_begin_op(dump.recorder, &newer.op) == OPDUMP_ERR_NOT_SUPPORTED);
  // Of memory of its own, so that a sanitizer tells of what is read behind it.
  constexpr std::size_t kOlder = offsetof(opdump_running_op, outputs);
  const auto older = std::make_unique<unsigned char[]>(kOlder);
  opdump_running_op* const old_op = reinterpret_cast<opdump_running_op*>(older.get());
  old_op->struct_bytes = kOlder;
  old_op->op = 1;
  old_op->input_count = 1;
  old_op->inputs = &in;
  CHECK(opdump_begin_op(dump.recorder, old_op) == OPDUMP_OK);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_OK);
  old_op->output_count = 1;
  CHECK(opdump_begin_op(dump.recorder, old_op) == OPDUMP_ERR_MISSING_ARGUMENT);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.counts().written == 2);
  CHECK(tensors_in(only(dump.received.whole, "Relu.relu1.")) == 1);
}

TEST_CASE("c api: after an operator that was refused the one before it runs no more") {
  CDump dump(nullptr, plan_of_failures());
  dump.start(kNet);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  const opdump_tensor in = tensor_of_values();
  struct Refused {
    opdump_status status;
    opdump_running_op op;
  };
  opdump_running_op good = {};
  good.struct_bytes = sizeof good;
  good.input_count = 1;
  good.inputs = &in;
  Refused refused[] = {{OPDUMP_ERR_NO_SUCH_OP, good},
                       {OPDUMP_ERR_MISSING_ARGUMENT, good},
                       {OPDUMP_ERR_TOO_MANY_TENSORS, good},
                       {OPDUMP_ERR_INVALID_ARGUMENT, good}};
  refused[0].op.op = 99;
  refused[1].op.inputs = nullptr;
  refused[2].op.input_count = 100;
  refused[3].op.struct_bytes = 0;
  for (const Refused& one : refused) {
    CAPTURE(one.status);
    for (const bool captured : {false, true}) {
      CAPTURE(captured);
      const std::uint32_t written = dump.counts().captured;
      {
        // Of its own, so that a sanitizer tells of any use afterwards.
        const auto before = std::make_unique<opdump_running_op>(good);
        const auto tensor = std::make_unique<opdump_tensor>(in);
        const auto shape = std::make_unique<std::uint64_t[]>(2);
        shape[0] = shape[1] = 2;
        tensor->shape = shape.get();
        before->inputs = tensor.get();
        REQUIRE(opdump_begin_op(dump.recorder, before.get()) == OPDUMP_OK);
        // The recorder is told of it only when it is needed.
        if (captured) REQUIRE(opdump_capture_failure(dump.recorder) == OPDUMP_OK);
      }
      CHECK(opdump_begin_op(dump.recorder, &one.op) == one.status);
      CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_ERR_NO_SUCH_OP);
      CHECK(dump.counts().captured == written + (captured ? 1 : 0));
    }
  }
  REQUIRE(opdump_begin_op(dump.recorder, &good) == OPDUMP_OK);
  CHECK(opdump_begin_op(dump.recorder, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_capture_failure(dump.recorder) == OPDUMP_ERR_NO_SUCH_OP);
  REQUIRE(opdump_begin_op(dump.recorder, &good) == OPDUMP_OK);
  good.op = 99;
  CHECK(opdump_begin_op(dump.recorder, &good) == OPDUMP_ERR_NO_SUCH_OP);
  // A crash blames nobody.
  CHECK(opdump_session_crash_flush(dump.session, dump.recorder) == OPDUMP_OK);
  CHECK(dump.counts().wanted == std::size(refused));
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
