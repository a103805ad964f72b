#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/name_list.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/name_pattern.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

struct PrivacyRule;

/// Steps `first` to `last`, both included; none if `last` is before `first`. Also a range of a tensor's axis.
struct StepRange {
  std::uint64_t first;
  std::uint64_t last;
};

/// The steps that a config asks for. Without ranges: every step. Refers to the ranges, which live as long as
/// the config.
struct StepSet {
  std::span<const StepRange> ranges{};

  constexpr bool every_step() const { return ranges.empty(); }

  constexpr bool no_step() const { return ranges.size() == 1 && ranges[0].last < ranges[0].first; }

  constexpr bool contains(std::uint64_t step) const {
    if (every_step()) return true;
    for (const StepRange& range : ranges) {
      if (step >= range.first && step <= range.last) return true;
    }
    return false;
  }
};

inline constexpr StepRange kEmptyRange{1, 0};

/// No step at all.
inline constexpr StepSet kNoSteps{{&kEmptyRange, 1}};

/// What a recorder does when its ring has no room.
enum class WhenFull : std::uint8_t {
  drop,   ///< lose the record at once, counted; for interrupts and hard real time
  block,  ///< wait for the drainer up to a limit without progress, then lose the record. After that, lose
          ///< records at once until there is room again, so that a dead sink costs one limit and not one per
          ///< operator
  inline_drain,  ///< "inline": the recorder drains its own ring; for systems without threads. Recorders,
                 ///< `drain_some` and `flush` are then one context, except recorders with another policy of
                 ///< their own, and no drain thread can be attached
  degrade,  ///< keep, at once, what the session's Reduction makes of the record; if the ring has no room for
            ///< that either, lose the record
};

/// What `policy` is in this build: OPDUMP_WAIT may rule it out.
constexpr WhenFull possible(WhenFull policy) {
  const bool waits = policy == WhenFull::block || policy == WhenFull::inline_drain;
  return !build::kWait && waits ? WhenFull::drop : policy;
}

/// The words for `WhenFull` in configs and on command lines, in its order.
inline constexpr std::string_view kWhenFullWords[] = {"drop", "block", "inline", "degrade"};

/// How much a dump's journal says.
enum class JournalDetail : std::uint8_t {
  none,     ///< no journal: losses are only counted
  gaps,     ///< what was lost, and the totals
  records,  ///< every record too; with OPDUMP_SMALL_CODE it is `gaps`
};

/// The words for `JournalDetail`, in its order.
inline constexpr std::string_view kJournalWords[] = {"none", "gaps", "records"};

/// What is given up when a dump has all the room that it may take.
enum class Keep : std::uint8_t {
  oldest,  ///< new records are refused
  newest,  ///< old dumps and records are removed
};

/// The words for `Keep`, in its order.
inline constexpr std::string_view kKeepWords[] = {"oldest", "newest"};

/// From when on what was written has to survive a loss of power.
enum class Fsync : std::uint8_t {
  never,     ///< when the system writes it back
  finalize,  ///< when `finalize` has returned
  record,    ///< when its record is committed; the commit waits for the medium
};

/// The words for `Fsync`, in its order.
inline constexpr std::string_view kFsyncWords[] = {"never", "finalize", "record"};

inline constexpr std::uint32_t kDefaultHistoryBytes = 1024 * 1024;

struct TriggerRule;

/// What all triggers together may have of a boot.
struct TriggerLimits {
  std::uint64_t bytes_per_boot = 0;    ///< of files and lines; 0: any
  std::uint32_t firings_per_boot = 0;  ///< 0: any
};

/// How to dump, as the config's "opdump" object says. The program decides what is absent.
struct DumpOptions {
  std::optional<std::uint32_t> ring_bytes{};  ///< of each recorder's ring
  std::optional<WhenFull> when_full{};
  std::optional<std::uint32_t> block_limit_ms{};
  std::optional<JournalDetail> journal{};
  bool without_cards = false;       ///< no card of a model goes beside the journal
  bool dump_on_crash = false;       ///< as posix::OnCrash::dump, unless the program ignores crashes
  std::uint64_t max_bytes = 0;      ///< of all dumps below `dump_path`; 0: absent
  std::uint64_t max_files = 0;      ///< likewise
  std::uint64_t reserve_bytes = 0;  ///< of the file system, left free; 0: absent
  std::optional<Keep> keep{};
  std::optional<Fsync> fsync{};
  std::uint32_t history_steps = 0;  ///< kept in memory until something happens, see HistorySink; 0: none
  std::uint32_t after_steps = 0;    ///< that are written afterwards
  std::uint32_t history_bytes = 0;  ///< of that memory; 0: kDefaultHistoryBytes
  /// The 32 bytes of the public key that the dump is sealed for, see SealedSink; empty: it is not sealed.
  [[no_unique_address]] Maybe<!build::kLean, std::string_view> seal{};
  /// With `history_steps`: when they are written, besides at an overflow or failure. See TriggerRule.
  [[no_unique_address]] Maybe<!build::kLean, std::span<const TriggerRule>> triggers{};
  [[no_unique_address]] Maybe<!build::kLean, std::uint64_t, 1>
      trigger_bytes_per_boot{};  ///< as TriggerLimits
  [[no_unique_address]] Maybe<!build::kLean, std::uint32_t, 1> trigger_firings_per_boot{};
};

/// The key that the dump is sealed for; empty: it is not.
constexpr std::string_view seal_key(const DumpOptions& options) {
  return options.seal;
}

/// When the history is written; none in a build that has no triggers.
constexpr std::span<const TriggerRule> triggers_of(const DumpOptions& options) {
  return options.triggers;
}

/// What of a boot these may have.
constexpr TriggerLimits trigger_limits(const DumpOptions& options) {
  return {options.trigger_bytes_per_boot, options.trigger_firings_per_boot};
}

/// Whether `options` ask a sink for what only a file system or a process has, for a history or for sealing.
OPDUMP_APART_IF_LEAN constexpr bool asks_files(const DumpOptions& options) {
  return (options.max_bytes | options.max_files | options.reserve_bytes | options.history_steps |
          seal_key(options).size() | options.dump_on_crash) != 0 ||
         options.fsync == Fsync::record;
}

/// Whether cards of models go beside the journal: they would be in clear.
constexpr bool writes_cards(const DumpOptions& options) {
  return !options.without_cards && seal_key(options).empty();
}

/// Whether `options` ask a sink for something that not every sink does anyway.
constexpr bool asks_sink(const DumpOptions& options) {
  return options.keep.has_value() || asks_files(options);
}

/// Whether `options` ask for something that a session has to be configured for.
constexpr bool asks_anything(const DumpOptions& options) {
  return asks_sink(options) || options.when_full || options.block_limit_ms || options.journal ||
         options.fsync;
}

/// Which tensors of an operator are captured.
enum class DumpMode : std::uint8_t { input, output, all };

/// Whether operators, their kernels, or both are captured.
enum class DumpLevel : std::uint8_t { op, kernel, all };

/// Whether the tensors themselves, their statistics, or both are written.
enum class DumpData : std::uint8_t { tensor, statistics, full };

/// Which statistics are written, as bits. A count says how many elements are of its kind.
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

// With one of these a digest of each tensor's bytes is written, and nothing else of it.
inline constexpr StatBits kDigestCrc32c = 8192;
inline constexpr StatBits kDigestXxh3 = 16384;
inline constexpr StatBits kDigestMd5 = 32768;
inline constexpr StatBits kAnyDigest = kDigestCrc32c | kDigestXxh3 | kDigestMd5;

/// The words for the digests, in the order of their bits.
inline constexpr std::string_view kDigestWords[] = {"crc32c", "xxh3", "md5"};

/// The format of the files that tensors are written to.
enum class FileFormat : std::uint8_t {
  nano,      ///< records of tag, length and value; one file per operator
  protobuf,  ///< CANN's DumpData message with the data behind it; one file per operator
  npy,       ///< NumPy arrays; one file per tensor
  bin,       ///< the bytes of a tensor alone; one file per tensor, and only in `mindspore_lite`'s layout
};

/// The words for `FileFormat`, in its order.
inline constexpr std::string_view kFileFormatWords[] = {"nano", "protobuf", "npy", "bin"};

/// The directories that files lie in, and the names of the files.
enum class Layout : std::uint8_t {
  cann,              ///< CANN's, below torchair's rank folder if the config has a world size
  mindspore_kernel,  ///< MindSpore's on Ascend, kernel by kernel: O0 and O1
  mindspore_graph,   ///< MindSpore's on Ascend, whole graphs: O2
  mindspore_cpu,     ///< MindSpore's on CPU and GPU; names of arrays end as the product's on GPU: float32
  mindspore_cpu_product,   ///< the same; as the product's on CPU: Float32
  mindspore_cpu_document,  ///< the same; as in MindSpore's document, without the dtype
  mindspore_lite,          ///< that of MindSpore Lite's benchmark tool; only with FileFormat::bin
};

/// The words for `Layout`, in its order.
inline constexpr std::string_view kLayoutWords[] = {
    "cann",          "mindspore_kernel",      "mindspore_graph",
    "mindspore_cpu", "mindspore_cpu_product", "mindspore_cpu_document",
    "mindspore_lite"};

/// Whether it is MindSpore's on CPU and GPU.
constexpr bool is_cpu(Layout layout) {
  return layout >= Layout::mindspore_cpu && layout <= Layout::mindspore_cpu_document;
}

/// The form of a dump's files: what of a config also holds for each record.
struct DumpForm {
  DumpData data = DumpData::tensor;
  bool fixed_point = false;  ///< CANN's statistics have the number texts of its nano devices
  StatBits statistics = kStatsByDefault;
  FileFormat file_format = FileFormat::nano;
  Layout layout = Layout::cann;
  bool trailing_comma = true;         ///< rows of MindSpore's table end with one
  bool statistics_on_device = false;  ///< the device computes them, where the device memory can
  std::uint32_t world_size = 0;  ///< processes of a distributed run; 0: no rank folder in `cann`'s layout
  std::uint32_t rank = 0;        ///< of this process, see `folder_rank`
};

/// Bytes of the digest that `form`, a DumpForm or what a target keeps of it, asks for; 0: it asks for none.
template <class Form>
constexpr std::uint32_t digest_bytes(const Form& form) {
  if (form.data != DumpData::statistics || (form.statistics & kAnyDigest) == 0) return 0;
  if ((form.statistics & kDigestCrc32c) != 0) return 4;
  return (form.statistics & kDigestXxh3) != 0 ? 8 : 16;
}

/// The word for that digest; empty: it asks for none.
constexpr std::string_view digest_word(const DumpForm& form) {
  constexpr std::uint32_t kBytes[] = {4, 8, 16};
  for (std::size_t i = 0; i < std::size(kBytes); ++i) {
    if (digest_bytes(form) == kBytes[i]) return kDigestWords[i];
  }
  return {};
}

/// What kernels may write in addition to tensors, as bits.
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

/// Tensors that the dump of one operator, or of all operators of one type, leaves out.
struct TensorExclusion {
  bool by_type = false;  ///< `name` is that of a type
  std::string_view name{};
  std::span<const TensorPosition> positions{};
};

/// What only few entries of a config have.
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
  /// In the order that `holds` needs; empty: not sorted.
  [[no_unique_address]] Maybe<!build::kLean, std::span<const std::uint32_t>> layers_by_name{};
};

/// Whether `name` is in the rule's list.
constexpr bool names_layer(const ModelRule& rule, const std::string_view& name) {
  return holds(rule.layers, rule.layers_by_name, name);
}

/// What a config file asks for, whatever its dialect. Refers to all texts and lists: they lie in the memory
/// that was given to the parser, which must stay until the session that is given the config is finalized.
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
  DumpForm form{};

  // This build understands statistics_in_dtype, synchronous, quant_dumpable and kernel_data, but does not act
  // on them.
  /// One bit per column, in the order asked for, for layouts that leave that order to the config; a column
  /// may occur twice. Empty: the layout's own order.
  std::span<const StatBits> statistic_columns{};
  std::uint32_t sample_number = 0;  ///< elements kept of each tensor, from its start; 0: all
  bool device_format = false;     ///< tensors keep the device's shape, dtype and format, not the framework's
  bool save_kernel_args = false;  ///< the arguments that an operator was built with are written too
  bool synchronous = false;       ///< an operator's record is written before the next operator runs
  bool quant_dumpable = false;    ///< of a quantized network, the data before quantization is captured
  std::uint32_t overflow_number = 0;  ///< overflowing operators that are captured; 0: all
  std::string_view net_name{};        ///< a directory of MindSpore's layouts
  bool statistics_in_dtype = false;   ///< of the device, in the tensor's dtype and not in float32
  std::uint8_t kernel_data = 0;       ///< 0: the config does not say
  bool overflow = false;              ///< operators of every model that overflow are captured, not `models`
  bool watch = false;                 ///< the watched operators of `models` are captured instead
  bool watch_changes_only = false;    ///< and of them only what another operator has overwritten
  ExceptionDump exception = ExceptionDump::none;
  /// A rule of the privacy that no operator meets is told, and does not refuse the model.
  [[no_unique_address]] Maybe<!build::kLean, bool> privacy_tells{};
  /// What of tensors may leave the device; the first that names a tensor decides. Empty: all of it.
  [[no_unique_address]] Maybe<!build::kLean, std::span<const PrivacyRule>> privacy{};
};

/// The rules of the privacy; none in a build that follows none.
constexpr std::span<const PrivacyRule> privacy_rules(const DumpConfig& config) {
  return config.privacy;
}

/// Whether an entry of `config` leaves tensors out, or knows operators by a part of their type or by a
/// pattern, or there are rules of the privacy. OPDUMP_SMALL_CODE can do none of it.
constexpr bool has_rare_extras(const DumpConfig& config) {
  if (!privacy_rules(config).empty()) return true;
  for (const ModelRule& rule : config.models) {
    const ModelExtras* const extras = rule.extras;
    if (extras != nullptr &&
        (!extras->exclusions.empty() || !extras->type_parts.empty() || !extras->patterns.empty()))
      return true;
  }
  return false;
}

/// Why a dump as `config` asks for it cannot be sealed; empty: it can. What a sink writes on its own account,
/// and MindSpore's files beside tensors, would be in clear.
constexpr std::string_view seal_conflict(const DumpConfig& config) {
  if (config.form.layout != Layout::cann)
    return "only dumps in the layout \"cann\" can be sealed: others have files beside tensors, in clear";
  const DumpOptions& options = config.options;
  if (options.keep == Keep::newest && (options.max_bytes | options.max_files | options.reserve_bytes) != 0)
    return "\"keep\": \"newest\" with a limit would write into the journal, in clear, what it removes: take "
           "\"oldest\"";
  return {};
}

/// Whether the device with that id dumps.
constexpr bool dumps_on(const DumpConfig& config, std::uint32_t device_id) {
  if (config.every_device) return true;
  for (const std::uint32_t device : config.devices) {
    if (device == device_id) return true;
  }
  return false;
}

/// Whether a dump of `layout` lies in one folder per rank and network, whatever the time and the device.
constexpr bool has_rank_folder(Layout layout) {
  return layout == Layout::mindspore_kernel || is_cpu(layout);
}

/// The rank that the folder of device `device_id` is named after: that of the run or, of a run of one
/// process, the device's id, so that devices of one process lie apart. Source: MindSpore's document has the
/// id of the logical device there.
constexpr std::uint32_t folder_rank(const DumpConfig& config, std::uint32_t device_id) {
  const bool one_process = config.form.world_size <= 1 && config.form.rank == 0;
  return one_process && has_rank_folder(config.form.layout) ? device_id : config.form.rank;
}

/// Whether a folder is called after the config's network, if it names one, and not after the model.
constexpr bool has_net_folder(Layout layout) {
  return has_rank_folder(layout) || layout == Layout::mindspore_lite;
}

/// Whether names of files tell type, ids and time; else they tell the operator's name only, and two records
/// of one step may have the same.
constexpr bool has_full_names(Layout layout) {
  return layout != Layout::mindspore_lite;
}

/// Whether `layout` and `format` go together.
constexpr bool go_together(Layout layout, FileFormat format) {
  return (layout == Layout::mindspore_lite) == (format == FileFormat::bin);
}

/// Whether the format has a file for each tensor.
constexpr bool has_one_tensor(FileFormat format) {
  return format >= FileFormat::npy;
}

/// Whether file names have the runtime's ids; in other layouts the ids are 0.
constexpr bool has_task_id(Layout layout) {
  return !has_net_folder(layout);
}

constexpr bool has_stream_id(Layout layout) {
  return layout < Layout::mindspore_cpu;
}

/// Whether statistics are rows of a table per directory, not a file per operator.
constexpr bool has_table(Layout layout) {
  return layout != Layout::cann;
}

/// Whether that table has rows of tensors of `dtype`. Source: MindSpore's document, by which complex numbers
/// are saved as arrays only.
constexpr bool has_table_row(DType dtype) {
  return dtype != DType::complex32 && dtype != DType::complex64 && dtype != DType::complex128;
}

/// Whether each tensor is a record of its own. `one_tensor`: a file holds one tensor; false: a file holds a record.
template <class Form>
constexpr bool splits_records(const Form& form, bool one_tensor) {
  if (digest_bytes(form) != 0) return false;
  return form.data == DumpData::statistics ? has_table(form.layout) : one_tensor;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
