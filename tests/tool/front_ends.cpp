// Runs one model under a config by one of the ways that a program has: front_ends cpp|c|acl CONFIG
// [DIRECTORY], which becomes the working directory once the config is in force. Exit status: 0 when all was
// dumped, 3 when the config is refused, 1 after any other error, which stderr tells.

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <new>
#include <string_view>

#include "opdump/acl.hpp"
#include "opdump/opdump.h"
#include "platform/posix/file_dump.hpp"

using namespace opdump;

namespace {

constexpr int kSteps = 12;
constexpr int kRefused = 3;
constexpr Dim kDims[] = {4, 4};
const OpDesc kOps[] = {{.name = "conv1", .type = "Conv2D", .task_id = 3, .stream_id = 1}};
const ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};

struct Tensors {
  Tensors() {
    for (int i = 0; i < 16; ++i) {
      input[i] = static_cast<float>(i) * 0.5f;
      output[i] = static_cast<float>(i) * 0.25f - 2;
    }
  }
  float input[16];
  float output[16];
};

int fail(const char* what, std::string_view why) {
  std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(why.size()), why.data());
  return 1;
}

/// Null: the program stays.
const char* directory_to_go_to = nullptr;

bool go() {
  return directory_to_go_to == nullptr || chdir(directory_to_go_to) == 0;
}

template <class AnyRecorder>
Status run(AnyRecorder& recorder, ModelPlan& plan) {
  const Tensors tensors;
  const auto view = [](const float* values) {
    return TensorView{.address = address_of(values),
                      .bytes = sizeof tensors.input,
                      .dtype = DType::float32,
                      .format = Format::nd,
                      .shape = kDims};
  };
  const TensorView input = view(tensors.input);
  const TensorView output = view(tensors.output);
  Status status = Status::ok;
  for (int step = 0; step < kSteps && status == Status::ok; ++step) {
    status = recorder.begin_step(plan);
    if (status == Status::ok && recorder.wants(0)) status = recorder.capture(0, {&input, 1}, {&output, 1});
    if (status == Status::ok) status = recorder.end_step();
  }
  return status;
}

int run_cpp(const char* config) {
  HostMemory memory;
  static posix::FileDump dump(memory);
  ModelPlanFor<1> plan;
  if (dump.start(config) != Status::ok) {
    fail("start", dump.error());
    return kRefused;
  }
  if (!go()) return fail("chdir", directory_to_go_to);
  if (dump.load_model(plan, kModel) != Status::ok) return fail("load_model", dump.error());
  if (const Status status = run(dump.recorder(), plan); status != Status::ok)
    return fail("run", to_string(status));
  return dump.stop() == Status::ok ? 0 : fail("stop", dump.error());
}

int run_acl(const char* config) {
  alignas(8) static std::byte ring[64 * 1024];
  acl::Session::Recorder& recorder = *acl::session().add_recorder(ring).value();
  ModelPlanFor<1> plan;
  if (aclInit(config) != ACL_SUCCESS) {
    fail("aclInit", acl::last_error());
    return kRefused;
  }
  if (!go()) return fail("chdir", directory_to_go_to);
  if (acl::session().load_model(plan, kModel) != Status::ok) return fail("load_model", acl::last_error());
  if (const Status status = run(recorder, plan); status != Status::ok) return fail("run", to_string(status));
  if (aclFinalize() != ACL_SUCCESS) return fail("aclFinalize", acl::last_error());
  return acl::session().counts().lost() == 0 ? 0 : fail("aclFinalize", "records were lost");
}

/// Memory for a handle.
class Room {
 public:
  explicit Room(std::size_t bytes) : bytes_(bytes), memory_(new std::byte[bytes]) {}
  void* at() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

int run_c(const char* config_path) {
  const auto failed = [](const char* what, opdump_status status) {
    return fail(what, opdump_status_text(status));
  };
  const Room sink_room(opdump_directory_sink_size());
  opdump_sink* sink = nullptr;
  opdump_status status = opdump_directory_sink_create(sink_room.at(), sink_room.bytes(), &sink);
  if (status != OPDUMP_OK) return failed("sink", status);
  const Room extras_room(opdump_extras_size());
  opdump_extras* extras = nullptr;
  status = opdump_extras_create(extras_room.at(), extras_room.bytes(), nullptr, &extras);
  if (status != OPDUMP_OK) return failed("extras", status);
  opdump_session_options options = {};
  options.struct_bytes = sizeof options;
  options.clock = opdump_system_clock();
  options.sink = sink;
  options.extras = extras;
  options.when_full = OPDUMP_WHEN_FULL_BLOCK;
  options.block_limit_ms = 300'000;  // however busy the machine is
  const Room session_room(opdump_session_size(&options));
  opdump_session* session = nullptr;
  status = opdump_session_create(session_room.at(), session_room.bytes(), &options, &session);
  if (status != OPDUMP_OK) return failed("session", status);
  opdump_recorder_options recorder_options = {};
  recorder_options.struct_bytes = sizeof recorder_options;
  recorder_options.ring_bytes = 64 * 1024;
  recorder_options.max_tensors = 2;
  const Room recorder_room(opdump_recorder_size(&recorder_options));
  opdump_recorder* recorder = nullptr;
  status =
      opdump_recorder_add(session, &recorder_options, recorder_room.at(), recorder_room.bytes(), &recorder);
  if (status != OPDUMP_OK) return failed("recorder", status);
  const Room config_room(opdump_config_file_size(config_path));
  opdump_config* config = nullptr;
  char message[256] = "";
  status = opdump_config_read(config_room.at(), config_room.bytes(), config_path, &config, message,
                              sizeof message);
  if (status == OPDUMP_OK) status = opdump_session_boot(session, config);
  if (status != OPDUMP_OK) {
    failed(message, status);
    return kRefused;
  }
  if (!go()) return fail("chdir", directory_to_go_to);
  const Room thread_room(opdump_drain_thread_size());
  opdump_drain_thread* thread = nullptr;
  status = opdump_drain_thread_start(session, thread_room.at(), thread_room.bytes(), &thread);
  // Where the config wants the capturing thread to drain, no other may.
  if (status != OPDUMP_OK && status != OPDUMP_ERR_INVALID_ARGUMENT) return failed("drain thread", status);
  opdump_op op = {};
  op.name = "conv1";
  op.type = "Conv2D";
  op.task_id = 3;
  op.stream_id = 1;
  opdump_model_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.name = "net";
  desc.id = 1;
  desc.op_count = 1;
  desc.ops = &op;
  const Room model_room(opdump_model_size(&desc));
  opdump_model* model = nullptr;
  status = opdump_model_load(session, &desc, model_room.at(), model_room.bytes(), &model);
  const Tensors tensors;
  const std::uint64_t dims[] = {4, 4};
  const auto view = [&dims](const float* values) {
    opdump_tensor tensor = {};
    tensor.address = reinterpret_cast<std::uintptr_t>(values);
    tensor.bytes = sizeof tensors.input;
    tensor.dtype = OPDUMP_FLOAT32;
    tensor.format = OPDUMP_FORMAT_ND;
    tensor.rank = 2;
    tensor.shape = dims;
    return tensor;
  };
  const opdump_tensor input = view(tensors.input);
  const opdump_tensor output = view(tensors.output);
  for (int step = 0; step < kSteps && status == OPDUMP_OK; ++step) {
    status = opdump_begin_step(recorder, model);
    if (status == OPDUMP_OK && opdump_wants(recorder, 0) != 0)
      status = opdump_capture(recorder, 0, &input, 1, &output, 1);
    if (status == OPDUMP_OK) status = opdump_end_step(recorder);
  }
  if (status != OPDUMP_OK) return failed("run", status);
  opdump_drain_thread_stop(thread);
  status = opdump_session_finalize(session);
  if (status != OPDUMP_OK) return failed("finalize", status);
  opdump_counts counts;
  status = opdump_session_counts(session, &counts, sizeof counts);
  opdump_sink_destroy(sink);
  return status == OPDUMP_OK && counts.lost == 0 ? 0 : failed("counts", status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return fail("usage", "front_ends cpp|c|acl CONFIG [DIRECTORY]");
  if (argc == 4) directory_to_go_to = argv[3];
  const std::string_view way = argv[1];
  const char* const config = std::string_view(argv[2]) == "-" ? nullptr : argv[2];
  if (way == "cpp") return run_cpp(config);
  if (way == "c") return run_c(config);
  return way == "acl" ? run_acl(config) : fail(argv[1], "no such way");
}
