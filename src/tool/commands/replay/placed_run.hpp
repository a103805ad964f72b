#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "opdump/port/device_memory.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/tensor.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Plays a device's memory that holds the tensors of a RunFile. A tensor's bytes are read from its file or
/// made when they are copied, so tensors may be larger than the machine's memory.
class MadeMemory final : public DeviceMemory {
 public:
  /// Gives `tensor`, which must stay, an address from which its bytes can be copied.
  Address place(const RunTensor& tensor);

  /// Makes `bytes` the content from `at` on, until `restore`.
  void overwrite(Address at, std::vector<std::byte> bytes) { patches_.push_back({at, std::move(bytes)}); }

  /// Takes back everything that was overwritten.
  void restore() { patches_.clear(); }

  /// `device_copy_failed` for bytes outside all tensors, and for a file that cannot be read or has become
  /// shorter; `failure()` then says which.
  Status copy(std::byte* to, Address from, std::size_t bytes) override;

  const std::string& failure() const { return failure_; }

  /// From now on `progress` counts the bytes copied; null: nothing does.
  void count_into(Progress* progress) { progress_ = progress; }

 private:
  struct Placed {
    Address start;
    const RunTensor* tensor;
  };

  struct Patch {
    Address at;
    std::vector<std::byte> bytes;
  };

  Status make(std::byte* to, Address from, std::size_t bytes);
  Status read_file(std::byte* to, const RunTensor& tensor, std::uint64_t offset, std::size_t bytes);

  std::vector<Placed> placed_;  ///< in order of their addresses
  std::vector<Patch> patches_;  ///< in the order in which they were made
  Address next_ = kAlignment;
  std::string failure_;
  Progress* progress_ = nullptr;
  posix::UniqueFd file_;  ///< file of the tensor copied last
  const RunTensor* file_tensor_ = nullptr;

  static constexpr Address kAlignment = 4096;
};

/// Writes `bytes` bytes of `tensor`'s fill, from byte `offset` on, to `to`. `seed` tells random tensors
/// apart. A ramp counts 0, 1, 2... and wraps; floating-point elements are (i - 3) * 0.75 and start again
/// after 65536, so that all are finite; elements that are not whole bytes count byte by byte.
void make_fill(const RunTensor& tensor, std::uint64_t seed, std::uint64_t offset, std::byte* to,
               std::size_t bytes);

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
