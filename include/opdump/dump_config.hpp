#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/dump_options.hpp"
#include "opdump/name_pattern.hpp"
#include "opdump/status.hpp"
#include "opdump/step_set.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Which tensors of an operator are captured.
enum class DumpMode : std::uint8_t { input, output, all };

/// Whether operators, their kernels, or both are captured.
enum class DumpLevel : std::uint8_t { op, kernel, all };

/// Whether the tensors themselves, their statistics, or both are written.
enum class DumpData : std::uint8_t { tensor, statistics, full };

/// Which statistics are written, as bits. Those of counts say how many elements are such.
using StatBits = std::uint16_t;
inline constexpr StatBits kStatMax = 1;
inline constexpr StatBits kStatMin = 2;
inline constexpr StatBits kStatMean = 4;
inline constexpr StatBits kStatNan = 8;
inline constexpr StatBits kStatNegativeInf = 16;
inline constexpr StatBits kStatPositiveInf = 32;
inline constexpr StatBits kStatL2Norm = 64;
inline constexpr StatBits kStatCount = 128;     ///< all elements
inline constexpr StatBits kStatNegative = 256;  ///< below zero; MindSpore's "negative zero count"
inline constexpr StatBits kStatPositive = 512;  ///< above zero; MindSpore's "positive zero count"
inline constexpr StatBits kStatZero = 1024;     ///< of either sign
inline constexpr StatBits kStatMd5 = 2048;      ///< of the tensor's bytes
inline constexpr StatBits kStatSha1 = 4096;     ///< of the tensor's bytes
inline constexpr StatBits kStatsByDefault = 63;

/// The format of the files that tensors are written to.
enum class FileFormat : std::uint8_t {
  nano,      ///< records of tag, length and value; one file per operator
  protobuf,  ///< CANN's DumpData message with the data behind it; one file per operator
  npy,       ///< NumPy arrays; one file per tensor
};

/// The words for `FileFormat`, in its order.
inline constexpr std::string_view kFileFormatWords[] = {"nano", "protobuf", "npy"};

/// The directories that files lie in, and their names.
enum class Layout : std::uint8_t {
  cann,              ///< CANN's, below torchair's rank folder if the config has a world size
  mindspore_kernel,  ///< MindSpore's on Ascend, kernel by kernel: O0 and O1
  mindspore_graph,   ///< MindSpore's on Ascend, whole graphs: O2
  mindspore_cpu,     ///< MindSpore's on CPU and GPU
};

/// The words for `Layout`, in its order.
inline constexpr std::string_view kLayoutWords[] = {"cann", "mindspore_kernel", "mindspore_graph",
                                                    "mindspore_cpu"};

/// What kernels may write besides tensors, as bits.
inline constexpr std::uint8_t kKernelPrintf = 1;
inline constexpr std::uint8_t kKernelTensor = 2;
inline constexpr std::uint8_t kKernelAssert = 4;
inline constexpr std::uint8_t kKernelTimestamp = 8;
inline constexpr std::uint8_t kKernelAll = 15;

/// What is written when the device fails.
enum class ExceptionDump : std::uint8_t { none, brief, norm, detail };

/// Operators from `begin` to `end` in execution order, both included.
struct OpRange {
  std::string_view begin{};
  std::string_view end{};
};

/// A tensor of an operator: `input0` or `output12`.
struct TensorPosition {
  bool output = false;
  std::uint32_t index = 0;
};

/// Tensors that are left out of the dump of one operator, or of all of one type.
struct TensorExclusion {
  bool by_type = false;  ///< `name` is that of a type
  std::string_view name{};
  std::span<const TensorPosition> positions{};
};

/// What few entries of a config have.
struct ModelExtras {
  std::span<const OpRange> ranges{};
  std::span<const TensorExclusion> exclusions{};
  /// Operators whose outputs are captured again after each of the entry's operators.
  std::span<const std::string_view> watched{};
  /// Operators whose kernel type contains one of these, in whatever case. The kernel type is the part of the
  /// full name behind the last slash, up to the last dash. In lower case here.
  std::span<const std::string_view> type_parts{};
  std::span<const NamePattern> patterns{};  ///< operators whose full name one of these matches
  bool marked = false;                      ///< operators that the program has marked, see `OpDesc::marked`
};

/// What one entry of a config says about the models it names.
struct ModelRule {
  std::string_view model_name{};  ///< empty when `any_model`
  bool any_model = false;         ///< the entry names no model: it holds for every one
  bool all_layers = true;         ///< the entry names no layer and no range: every operator
  std::span<const std::string_view> layers{};
  const ModelExtras* extras = nullptr;  ///< null: none
};

/// What a config file asks for, whatever its dialect. All texts and lists are referred to: they lie in the
/// memory that was given to the parser, which must stay until the session it is given to is finalized.
struct DumpConfig {
  bool asked = false;   ///< the config switches something on, whether or not this build can do it
  bool active = false;  ///< false: valid, but nothing that this build does is switched on
  std::string_view dump_path{};
  DumpMode mode = DumpMode::output;
  DumpLevel level = DumpLevel::all;
  bool single_ops = false;  ///< operators run outside a loaded model are captured too
  StepSet steps{};
  std::uint32_t first_step = 0;  ///< steps are counted from here when a model is loaded
  std::span<const ModelRule> models{};
  bool every_device = true;
  std::span<const std::uint32_t> devices{};  ///< without `every_device`: the ids of those that dump
  DumpOptions options{};
  FileFormat file_format = FileFormat::nano;
  Layout layout = Layout::cann;

  // Of these, statistics_in_dtype, synchronous, quant_dumpable and kernel_data are understood, and not acted
  // on by this build.
  DumpData data = DumpData::tensor;
  StatBits statistics = kStatsByDefault;
  bool fixed_point = false;    ///< CANN's statistics have the number texts of its nano devices
  bool trailing_comma = true;  ///< rows of MindSpore's table end with one
  /// One bit per column, in the order asked for, where a layout leaves that order to the config; one may
  /// stand there twice. Empty: the layout's own order.
  std::span<const StatBits> statistic_columns{};
  bool statistics_on_device = false;  ///< the device computes them
  bool statistics_in_dtype = false;   ///< the device computes them in the tensor's dtype, not in float32
  std::uint32_t sample_number = 0;    ///< elements kept of each tensor, from its start; 0: all
  bool device_format = false;     ///< tensors keep the device's shape, dtype and format, not the framework's
  bool save_kernel_args = false;  ///< the arguments that an operator was built with are written too
  bool synchronous = false;       ///< an operator's record is written before the next operator runs
  bool quant_dumpable = false;    ///< of a quantized network, the data before quantization is captured
  std::uint32_t overflow_number = 0;  ///< overflowing operators that are captured; 0: all
  std::string_view net_name{};        ///< a directory of MindSpore's layouts
  std::uint32_t world_size = 0;     ///< processes of a distributed run; 0: no rank folder in `cann`'s layout
  std::uint32_t rank = 0;           ///< of this process, in all layouts that have a folder for it
  std::uint8_t kernel_data = 0;     ///< 0: the config does not say
  bool overflow = false;            ///< operators of every model that overflow are captured, not `models`
  bool watch = false;               ///< the watched operators of `models` are captured instead
  bool watch_changes_only = false;  ///< and of them only what another operator has overwritten
  ExceptionDump exception = ExceptionDump::none;
};

/// Whether an entry of `config` leaves tensors out.
constexpr bool has_exclusions(const DumpConfig& config) {
  for (const ModelRule& rule : config.models) {
    if (rule.extras != nullptr && !rule.extras->exclusions.empty()) return true;
  }
  return false;
}

/// Whether the device with that id is one that dumps.
constexpr bool dumps_on(const DumpConfig& config, std::uint32_t device_id) {
  if (config.every_device) return true;
  for (const std::uint32_t device : config.devices) {
    if (device == device_id) return true;
  }
  return false;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
