#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "opdump/types/config.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/commands/replay/made_memory.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// A view of `tensor` at its place in `memory`.
TensorView placed_view(const RunTensor& tensor, MadeMemory& memory);

/// One operator with its tensors at addresses that the session can read.
struct PlacedOp {
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t records = 0;

  PlacedOp(const RunOp& op, MadeMemory& memory);

  std::uint64_t bytes(std::uint8_t capture_bits) const {
    return ((capture_bits & kCaptureInputs) != 0 ? input_bytes : 0) +
           ((capture_bits & kCaptureOutputs) != 0 ? output_bytes : 0);
  }
};

std::vector<PlacedOp> placed(const std::vector<RunOp>& ops, MadeMemory& memory);

/// A model as the session knows it. Does not move while it is loaded.
struct LoadedModel {
  const RunModel& run;
  std::vector<OpDesc> descs;
  std::vector<PlacedOp> ops;
  std::vector<CapturedTensors> tensors;
  std::vector<std::uint8_t> bits;
  ModelDesc desc;
  ModelPlan plan;
  std::uint32_t wanted_ops = 0;

  LoadedModel(const RunModel& model, MadeMemory& memory);
};

/// Words of memory that are enough to watch every operator of every model.
std::size_t watch_words(const RunFile& run);

/// Bytes that a session's drainer needs for the names of `run` under `config`.
std::size_t scratch_bytes(const RunFile& run, const DumpConfig& config);

}  // namespace opdump::tool
