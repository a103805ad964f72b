// The card of a model, and RUN.json, which the same reader takes: what is accepted can be used, as show and
// compare use it.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "record_use.hpp"
#include "src/tool/read/dump/block_format.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#include "src/tool/read/run/run_file.hpp"

using namespace opdump;
using namespace opdump::tool;

namespace {

void use(const RunTensor& tensor) {
  if (tensor.quant.scheme == QuantScheme::none) return;
  const RealNumbers reals(tensor.quant, tensor.dtype, tensor.shape);
  if (reals.fits()) {
    for (const double stored : {-128.0, 0.0, 0.5, 3e9}) {
      for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{12345}, UINT64_MAX})
        static_cast<void>(reals.real(stored, index));
    }
  }
  if (const BlockFormat* const format = block_format(tensor.quant)) {
    const std::byte block[BlockFormat::kMostBytes] = {};
    float numbers[BlockFormat::kMostElements];
    format->decode(block, numbers);
    fuzz::require(format->elements <= BlockFormat::kMostElements);
    static_cast<void>(shape_of_blocks(*format, tensor.bytes, tensor.shape, tensor.original_shape));
  }
}

void use(const RunFile& run) {
  const CardedOps carded(run);
  for (const RunModel& model : run.models) {
    fuzz::require(!model.name.empty());
    for (const RunOp& op : model.ops) {
      for (const RunTensor& tensor : op.inputs) use(tensor);
      for (const RunTensor& tensor : op.outputs) use(tensor);
      const OpIdentity identity = {.name = op.desc.name, .type = op.desc.type, .task = op.desc.task_id};
      static_cast<void>(carded.quant(identity, true, 0));
      static_cast<void>(carded.producer(identity, 0));
    }
  }
  std::string first;
  static_cast<void>(run.unsized_tensors(first));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const int file = memfd_create("card", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  fuzz::require(file >= 0 && ftruncate(file, 0) == 0 &&
                pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  RunFile run;
  ConfigError error;
  const bool good = run.load(path, error);
  fuzz::require(good == (error.fault == ConfigFault::none) && (good || !error.reason.empty()));
  if (good) use(run);
  return 0;
}
