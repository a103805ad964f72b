/// A program that dumps one operator and tells what it is. It is built twice, with another BUILD each, so
/// that the linker gives it two build-ids:
///
///     provenance_maker tree CONFIG RUNTIME [SHA256]   through FileDump, as CONFIG says
///     provenance_maker attach CONFIG RUNTIME          through attach.hpp
///     provenance_maker flash IMAGE                    a boot of a firmware over C, whose log IMAGE has; made
///                                                     where it is missing
///     provenance_maker id                             prints its build-id as it finds it
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/attach.hpp"
#include "opdump/config/write_blob.hpp"
#include "opdump/opdump.h"
#include "opdump/types/account.hpp"
#include "platform/posix/build_id.hpp"
#include "platform/posix/file_dump.hpp"
#include "tests/support/c_api_flash.hpp"

using namespace opdump;

namespace {

const float kValues[] = {1, 2, 3, BUILD > 2 ? 5.0F : 4.0F};
constexpr Dim kDims[] = {2, 2};

void need(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "provenance_maker %d: %s failed\n", BUILD, what);
  std::exit(1);
}

int dump_tree(const char* config, const char* runtime, const char* sha256) {
  HostMemory memory;
  posix::FileDump dump(memory);
  char text[kMostBuildIdDigits];
  need(dump.set_provenance(
           {.build_id = posix::program_build_id(text), .model = sha256, .runtime = runtime}) == Status::ok,
       "set_provenance");
  const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 0}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  ModelPlanFor<1> plan;
  need(dump.start(config) == Status::ok, "start");
  need(dump.set_provenance({}) == Status::already_initialised, "refusing set_provenance");
  need(dump.load_model(plan, model) == Status::ok, "load_model");
  dump.recorder().begin_step(plan);
  const TensorView tensor = {
      .address = address_of(kValues), .bytes = sizeof kValues, .dtype = DType::float32, .shape = kDims};
  need(dump.recorder().capture(0, {}, {&tensor, 1}) == Status::ok, "capture");
  dump.recorder().end_step();
  return dump.stop() == Status::ok ? 0 : 1;
}

int dump_attached(const char* config, const char* runtime) {
  attach::Dump dump(attach::Dump::later);
  need(dump.set_provenance(runtime) == OPDUMP_OK, "set_provenance");
  need(dump.start(config) == OPDUMP_OK, "start");
  attach::Model model(dump, "net", 1);
  const std::uint32_t conv = model.add_op("conv1", "Conv2D");
  need(model.describe(runtime) == OPDUMP_OK, "describe");
  {
    const auto step = model.step();
    if (model.wants(conv)) model.capture(conv, {}, attach::Tensors().add(kValues, OPDUMP_FLOAT32, {2, 2}));
  }
  return dump.stop() == OPDUMP_OK ? 0 : 1;
}

/// A part that is kept in a file.
class Image {
 public:
  explicit Image(const char* path) : path_(path) {
    if (std::FILE* const file = std::fopen(path, "rb")) {
      need(std::fread(nor.cells.data(), 1, nor.cells.size(), file) == nor.cells.size(), "reading the image");
      std::fclose(file);
    }
  }
  ~Image() {
    std::FILE* const file = std::fopen(path_, "wb");
    need(file != nullptr && std::fwrite(nor.cells.data(), 1, nor.cells.size(), file) == nor.cells.size(),
         "the image");
    std::fclose(file);
  }

  opdump::tests::Nor nor;

 private:
  const char* const path_;
};

/// Memory for a handle.
class Room {
 public:
  explicit Room(std::size_t bytes) : bytes_(bytes) {}
  void* at() { return bytes_.data(); }
  std::size_t bytes() const { return bytes_.size(); }

 private:
  std::vector<unsigned char> bytes_;
};

int dump_flash(const char* image) {
  Image part(image);
  const opdump_flash flash = part.nor.flash();
  Room log_room(opdump_flash_log_size(&flash));
  opdump_sink* log = nullptr;
  need(opdump_flash_log_create(log_room.at(), log_room.bytes(), &flash, &log) == OPDUMP_OK, "log");
  opdump_session_options options = {};
  options.struct_bytes = sizeof options;
  options.clock = opdump_system_clock();
  options.sink = log;
  Room session_room(opdump_session_size(&options));
  opdump_session* session = nullptr;
  need(opdump_session_create(session_room.at(), session_room.bytes(), &options, &session) == OPDUMP_OK,
       "session");
  const ModelRule rules[] = {{.any_model = true}};
  DumpConfig asked;
  asked.asked = asked.active = true;
  asked.dump_path = "/d";
  asked.models = rules;
  const std::vector<std::byte> plan = write_plan(asked);
  Room config_room(opdump_config_size(plan.size()));
  opdump_config* config = nullptr;
  need(opdump_config_load_plan(config_room.at(), config_room.bytes(), plan.data(), plan.size(), &config) ==
           OPDUMP_OK,
       "config");
  opdump_recorder_options recorder_options = {};
  recorder_options.struct_bytes = sizeof recorder_options;
  recorder_options.ring_bytes = 4096;
  Room recorder_room(opdump_recorder_size(&recorder_options));
  opdump_recorder* recorder = nullptr;
  need(opdump_recorder_add(session, &recorder_options, recorder_room.at(), recorder_room.bytes(),
                           &recorder) == OPDUMP_OK,
       "recorder");
  need(opdump_session_boot(session, config) == OPDUMP_OK, "boot");
  char build_id[65], digest[9];
  need(opdump_program_build_id(build_id) == OPDUMP_OK, "build-id");
  need(opdump_config_digest(plan.data(), plan.size(), digest) == OPDUMP_OK, "digest");
  opdump_provenance provenance = {};
  provenance.struct_bytes = sizeof provenance;
  provenance.build_id = build_id;
  provenance.config = digest;
  Room provenance_room(opdump_provenance_size());
  need(opdump_session_tell_provenance(session, &provenance, provenance_room.at(), provenance_room.bytes()) ==
           OPDUMP_OK,
       "provenance");
  opdump_op op = {};
  op.name = "conv1";
  op.type = "Conv2D";
  opdump_model_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.name = "net";
  desc.id = 1;
  desc.op_count = 1;
  desc.ops = &op;
  Room model_room(opdump_model_size(&desc));
  opdump_model* model = nullptr;
  need(opdump_model_load(session, &desc, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK, "model");
  opdump_tensor tensor = {};
  tensor.address = reinterpret_cast<std::uintptr_t>(kValues);
  tensor.bytes = sizeof kValues;
  tensor.dtype = OPDUMP_FLOAT32;
  tensor.format = OPDUMP_FORMAT_ND;
  tensor.rank = 2;
  tensor.shape = kDims;
  need(opdump_begin_step(recorder, model) == OPDUMP_OK &&
           opdump_capture(recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK &&
           opdump_end_step(recorder) == OPDUMP_OK,
       "step");
  return opdump_session_finalize(session) == OPDUMP_OK ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "tree" && argc >= 4) return dump_tree(argv[2], argv[3], argc > 4 ? argv[4] : "");
  if (what == "attach" && argc == 4) return dump_attached(argv[2], argv[3]);
  if (what == "flash" && argc == 3) return dump_flash(argv[2]);
  char text[65];
  if (what == "id" && opdump_program_build_id(text) == OPDUMP_OK) return std::puts(text) < 0;
  return 1;
}
