// What libopdump_acl hands to a callback of CANN's, taken as a program beside CANN takes it, has to give the
// files that a session writes itself.

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "opdump/parts/all.hpp"
#include "opdump/parts/callback_sink.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/tree_sink.hpp"
#include "src/acl/routed_sink.hpp"
#include "tests/support/ascend/chunk_rig.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// A dump of two models at three steps, with a tensor larger than the ring and than a chunk.
void dump(Sink& sink, DumpConfig config) {
  FakeClock clock;
  HostMemory memory;
  AllParts<HostMemory> all(memory);
  std::byte scratch[4096];
  alignas(8) static std::byte ring[16 * 1024];
  static std::vector<float> values(100000, 1.5f);
  BasicSession<HostMemory> session(all.added_to({.memory = memory,
                                                 .sink = sink,
                                                 .clock = clock,
                                                 .scratch = scratch,
                                                 .device_id = 3,
                                                 .when_full = WhenFull::inline_drain,
                                                 .journal = JournalDetail::none}));
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(config) == Status::ok);
  const OpDesc ops[] = {{.name = "block/conv 1", .type = "Conv2D", .task_id = 1, .stream_id = 2},
                        {.name = "relu", .type = "Relu", .task_id = 2, .stream_id = 2}};
  for (std::uint32_t id = 1; id <= 2; ++id) {
    const std::string name = "net." + std::to_string(id);
    const ModelDesc model = {.name = name, .id = id, .ops = ops};
    ModelPlanFor<2> plan;
    REQUIRE(session.load_model(plan, model) == Status::ok);
    for (int step = 0; step < 3; ++step) {
      recorder.begin_step(plan);
      for (std::size_t op = 0; op < 2; ++op) {
        const Dim dims[] = {op == 0 ? Dim{100000} : Dim{7}};
        const TensorView tensor = {address_of(values.data()), dims[0] * sizeof(float), DType::float32,
                                   Format::nd, dims};
        recorder.capture(op, {&tensor, 1}, {&tensor, 1});
      }
      recorder.end_step();
    }
    REQUIRE(session.unload_model(plan) == Status::ok);
  }
  REQUIRE(session.finalize() == Status::ok);
}

std::map<std::string, std::string> tree(const std::filesystem::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().extension() != ".journal")
      files[entry.path().lexically_relative(root).string()] = read_file(entry.path());
  }
  return files;
}

ascend::ChunkConsumer* taker = nullptr;  // a callback of CANN's has no context

std::int32_t take(const acldumpChunk* chunk, std::int32_t bytes) {
  return taker->take(*chunk, bytes) == Status::ok ? 0 : -1;
}

}  // namespace

TEST_CASE("chunks: what libopdump_acl sends gives the files that a session writes") {
  struct Form {
    FileFormat format = FileFormat::nano;
    DumpData data = DumpData::tensor;
  };
  for (const Form form : {Form{}, Form{.format = FileFormat::protobuf}, Form{.format = FileFormat::npy},
                          Form{.data = DumpData::statistics}}) {
    TemporaryDirectory direct;
    TemporaryDirectory taken;
    const std::string direct_root = direct.text();
    const std::string taken_root = taken.text();
    DumpConfig config = chunk_config(direct_root);
    config.mode = DumpMode::all;
    config.form.file_format = form.format;
    config.form.data = form.data;
    {
      posix::TreeSink sink;
      dump(sink, config);
    }
    const std::map<std::string, std::string> expected = tree(direct.path());
    CHECK(expected.size() >= 12);

    posix::TreeSink sink;
    FakeClock clock;
    ChunkRig<> rig(sink, clock);
    DumpConfig ours = chunk_config(taken_root);
    REQUIRE(rig.consumer.start(ours) == Status::ok);
    taker = &rig.consumer;
    acl::ChunkWriter writer;
    writer.set_callback(take);
    std::vector<std::byte> paths((CallbackSink::kMaxOpenObjects + 1) * 1024);
    CallbackSink callback(acl::ChunkWriter::take, &writer, paths);
    dump(callback, config);
    CHECK(rig.consumer.stop() == Status::ok);
    CHECK(rig.consumer.counts().whole());
    CHECK(tree(taken.path()) == expected);
  }
}
