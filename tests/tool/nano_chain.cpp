// A board of CANN's nano products with both libraries of the dump: the executor's calls of libge_dbg.so, the
// runtime and the driver that libge_dbg.so and libdatadump.so call.
//
// usage: nano_chain CONFIG OUT STEPS
//
// In the current directory, which the config dumps below. Runs a model "net" and writes what the vendor's
// library would have written of its marked operators, at every step, to OUT.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "platform/ascend/nano/nano_runtime.hpp"
#include "tests/support/nano/simulated_hal.hpp"
#include "tests/support/nano/simulated_hal.inl"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::uint8_t kModelId = 3;
constexpr std::size_t kTaskBytes = 16;

std::set<std::uint32_t> marked;

int fail(const std::string& what) {
  std::fprintf(stderr, "nano_chain: %s\n", what.c_str());
  return 1;
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] int rtDumpInit() {
  return 0;
}
[[gnu::visibility("default")]] int rtDumpDeInit() {
  return 0;
}
[[gnu::visibility("default")]] int rtSetTaskDescDumpFlag(void*, std::size_t, std::uint32_t task) {
  marked.insert(task);
  return 0;
}
[[gnu::visibility("default")]] int rtMsgSend(std::uint32_t, std::uint32_t, std::int32_t, void* message,
                                             std::uint32_t bytes) {
  return hal->scheduler.send(0, message, bytes) ? 0 : 507000;
}
[[gnu::visibility("default")]] int aclrtGetDevice(std::int32_t* device) {
  *device = 0;
  return 0;
}
}

int main(int argc, char** argv) {
  if (argc != 4) return fail("usage: nano_chain CONFIG OUT STEPS");
  const std::uint64_t steps = std::strtoull(argv[3], nullptr, 10);
  SimulatedHal simulation;
  hal = &simulation;
  NanoMemory device((kModelId + 1) * NanoModel::kAreaBytes, NanoMemory::Kind::shared);
  Random random(17);
  NanoModel model(device, kModelId, "net", sound_ops(20, random), std::string(argv[2]) + "/");
  const std::vector<std::byte> dbg = DbgMaker::file(model.name, model.ops);
  write("dump/net.dbg", {reinterpret_cast<const char*>(dbg.data()), dbg.size()});

  void* const library = dlopen("libge_dbg.so", RTLD_NOW);
  if (library == nullptr) return fail(dlerror());
  const auto init = reinterpret_cast<std::uint32_t (*)(const char*)>(dlsym(library, "DbgInit"));
  const auto deinit = reinterpret_cast<std::uint32_t (*)()>(dlsym(library, "DbgDeInit"));
  const auto create = reinterpret_cast<void* (*)()>(dlsym(library, "DbgCreateModelHandle"));
  const auto prepare = reinterpret_cast<std::uint32_t (*)(nano::ModelLoad*, std::size_t, char*, void*)>(
      dlsym(library, "DbgDumpPreProcess"));
  const auto start = reinterpret_cast<std::uint32_t (*)(std::uint32_t, char*, std::uint64_t*, void*)>(
      dlsym(library, "DbgLoadModelPostProcess"));
  const auto step_done = reinterpret_cast<void (*)(void*)>(dlsym(library, "DbgStepIdCounterPlus"));
  const auto release = reinterpret_cast<void (*)(void*)>(dlsym(library, "DbgFreeLoadDumpInfo"));

  if (init(argv[1]) != 0) return fail("DbgInit");
  char name[] = "net";
  std::vector<std::byte> tasks(100 * kTaskBytes);
  nano::ModelLoad load = {};
  load.total_tasks = 100;
  load.tasks = tasks.data();
  void* const handle = create();
  if (prepare(&load, tasks.size(), name, handle) != 0) return fail("DbgDumpPreProcess");
  if (start(kModelId, name, &model.step, handle) != 0) return fail("DbgLoadModelPostProcess");
  bool ok = true;
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (const MadeOp& op : model.ops) {
      model.run(op, random);
      if (marked.contains(op.task_id)) {
        std::string path = model.path(op);
        path.pop_back();
        write(path, model.file(op, nano::kModeAll));
        ok = simulation.scheduler.send(model.mailbox(op)) && ok;
      }
      model.overwrite(op);
    }
    step_done(handle);
    ok = ok && model.step == step + 1;
  }
  release(handle);
  if (deinit() != 0) return fail("DbgDeInit");
  for (const int times : simulation.scheduler.acknowledged()) ok = ok && times == 1;
  return ok ? 0 : fail("an event was not acknowledged once, or a step was not counted");
}
