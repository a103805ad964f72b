#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Which of CANN's two dump levels an entry of a model stands for.
enum class OpLevel : std::uint8_t {
  both,    ///< an operator that runs as one kernel; captured whatever `dump_level` says
  op,      ///< an operator that runs as several kernels, taken as a whole
  kernel,  ///< one of those kernels
};

/// An argument that an operator was built with, as text: "transpose_a" and "True".
struct OpAttribute {
  std::string_view name{};
  std::string_view value{};
};

/// One operator of a model, or one operator run on its own. Refers to its texts: in a loaded model they must
/// stay until the model is unloaded.
struct OpDesc {
  std::string_view name{};
  std::string_view type{};
  std::uint32_t task_id = 65535;    ///< 65535: the runtime has none
  std::uint32_t stream_id = 65535;  ///< 65535: the runtime has none
  /// Operators of the framework that were fused into this one; the `layer` entries of a config match these names too.
  std::span<const std::string_view> original_names{};
  OpLevel level = OpLevel::both;
  std::span<const OpAttribute> attributes{};
  bool marked = false;  ///< the program wants it dumped, whatever its name; MindSpore's `set_dump`
  /// Of the operators whose outputs are its inputs, in any order, the positions in `ModelDesc::ops`. Those of
  /// type Data are captured with it. Empty: not known. Not with OPDUMP_SMALL_CODE.
  [[no_unique_address]] Maybe<!build::kLean, std::span<const std::uint32_t>> producers{};
};

/// Memory of an operator apart from its inputs and outputs. Only addresses and bytes are used.
struct OpMemory {
  std::span<const TensorView> arguments{};   ///< what its kernel was started with
  std::span<const TensorView> workspaces{};  ///< memory that it works in
};

/// A model as the runtime loaded it. Refers to everything, which must stay until the model is unloaded.
struct ModelDesc {
  std::string_view name{};  ///< name of the model file; what a config's `model_name` is compared with first
  std::string_view graph_name{};  ///< name inside the file, compared second; empty: none
  std::uint32_t id = 0;
  std::span<const OpDesc> ops{};  ///< in execution order; an op's index is its position here
  /// The tensors that each op reads and writes, as far as they are known at load. Only forecasts use them,
  /// and do not look at addresses. Empty: not known.
  std::span<const CapturedTensors> tensors{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
