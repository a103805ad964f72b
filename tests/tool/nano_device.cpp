// A nano device with libdatadump: its executor, its NPU and its driver's event scheduler.
//
// usage: nano_device LIBDATADUMP OUT STEPS
//
// Runs two models, one after the other and STEPS times each, and lets the library dump them below OUT/dump. Writes the
// files that the vendor's library would have written to OUT/expected, at the same paths but for the time.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/nano/simulated_hal.hpp"
#include "tests/support/nano/simulated_hal.inl"

using namespace opdump;
using namespace opdump::tests;

namespace {

int fail(const char* what) {
  std::fprintf(stderr, "nano_device: %s\n", what);
  return 1;
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return fail("usage: nano_device LIBDATADUMP OUT STEPS");
  const std::string out = argv[2];
  const std::uint64_t steps = std::strtoull(argv[3], nullptr, 10);
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) return fail(dlerror());
  using Call = std::uint32_t (*)();
  const auto init = reinterpret_cast<Call>(dlsym(library, "InitDataDump"));
  const auto stop = reinterpret_cast<Call>(dlsym(library, "StopDataDump"));
  if (init == nullptr || stop == nullptr) return fail("the library lacks a call");
  SimulatedHal simulation;
  hal = &simulation;
  if (init() != 0) return fail("InitDataDump");
  NanoMemory device(3 * NanoModel::kAreaBytes, NanoMemory::Kind::shared);
  std::filesystem::create_directories(out + "/dump");
  const std::string directory = out + "/dump/20260123040506/0/";
  bool ok = true;
  for (const std::uint8_t id : {std::uint8_t{1}, std::uint8_t{2}}) {
    Random random(id);
    NanoModel model(device, id, "net" + std::to_string(id), sound_ops(20, random), directory);
    const auto load = model.message(true, nano::kModeAll, nano::kDataTensors);
    const auto unload = model.message(false, nano::kModeAll, nano::kDataTensors);
    ok = ok && simulation.scheduler.send(0, load.data(), model.message_bytes());
    for (; model.step < steps; ++model.step) {
      for (const MadeOp& op : model.ops) {
        model.run(op, random);
        std::string path = out + "/expected/" + model.path(op).substr(directory.size());
        path.pop_back();
        write(path, model.file(op, nano::kModeAll));
        ok = ok && simulation.scheduler.send(model.mailbox(op));
        model.overwrite(op);
      }
    }
    ok = ok && simulation.scheduler.send(0, unload.data(), model.message_bytes());
  }
  if (stop() != 0) return fail("StopDataDump");
  for (const int times : simulation.scheduler.acknowledged()) ok = ok && times == 1;
  return ok ? 0 : fail("an event was not acknowledged once");
}
