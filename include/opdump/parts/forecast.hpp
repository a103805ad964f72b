#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "opdump/base/build.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/nano.hpp"
#include "opdump/format/statistic_table.hpp"
#include "opdump/format/stats_csv.hpp"
#include "opdump/impl/plan/remaining_tensors.hpp"
#include "opdump/impl/record/record_encoder.hpp"
#include "opdump/impl/record/record_view.hpp"
#include "opdump/parts/bin.hpp"
#include "opdump/parts/npy.hpp"
#include "opdump/parts/protobuf.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How much of one or several models a config takes, and what a step of all of them costs.
struct Forecast {
  std::size_t rules = 0;    ///< of the config
  std::size_t ops = 0;      ///< of the models
  std::size_t matched = 0;  ///< of `ops`
  /// What a step writes: files with their heads, and rows of tables, without the journal and without what the
  /// medium adds. Statistics are counted with numbers of usual length.
  std::uint64_t bytes_per_step = 0;
  bool at_most = false;  ///< it writes that much only when everything goes wrong that can
  bool sized = true;     ///< false: a matched model came without its tensors, and the bytes are too few
};

namespace forecast {

/// A record as it will be, with the tensors of one operator.
class PlannedRecord {
 public:
  struct Head {
    std::uint64_t unix_us;
  };

  /// `indexes`: of each tensor; null: they count from `first_index` on.
  PlannedRecord(std::string_view name, const CapturedTensors& tensors, std::uint32_t first_index,
                const std::uint16_t* indexes)
      : name_(name), tensors_(tensors), first_index_(first_index), indexes_(indexes) {}

  /// A stamp as long as all of this century.
  Head head() const { return {1'700'000'000'000'000}; }
  std::string_view name() const { return name_; }

  template <class Use>
  void for_each_tensor(Use use) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const bool is_output = i >= tensors_.inputs.size();
      const std::size_t place = is_output ? i - tensors_.inputs.size() : i;
      const std::uint32_t index =
          indexes_ != nullptr ? indexes_[i] : first_index_ + static_cast<std::uint32_t>(place);
      TensorView tensor = tensors_[i];
      fill_in_originals(tensor, name_, index);
      use(tensor, is_output, index);
    }
  }

 private:
  std::string_view name_;
  const CapturedTensors& tensors_;
  std::uint32_t first_index_;
  const std::uint16_t* indexes_;
};

/// Of a record with digests, without these: what calls it, and its share of a batch and of names.
inline constexpr std::uint64_t kDigestedRecordBytes = 3;

/// Counts what one operator's records take.
class OpCost {
 public:
  OpCost(const DumpConfig& config, const OpDesc& op) : config_(config), op_(op) {}

  /// `indexes` as for PlannedRecord.
  std::uint64_t bytes(const CapturedTensors& tensors, const std::uint16_t* indexes = nullptr) const {
    if (data_bytes(tensors) == 0) return 0;
    if (const std::uint32_t digest = digest_bytes(config_.form); digest != 0)
      return kDigestedRecordBytes + tensors.size() * std::uint64_t{digest};
    if (!splits_records(config_.form, has_one_tensor(config_.form.file_format)))
      return of_record(tensors, 0, indexes);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < tensors.inputs.size(); ++i)
      sum += of_sample(tensors.inputs[i], i, &CapturedTensors::inputs);
    for (std::uint32_t i = 0; i < tensors.outputs.size(); ++i)
      sum += of_sample(tensors.outputs[i], i, &CapturedTensors::outputs);
    return sum;
  }

 private:
  static std::uint64_t data_bytes(const CapturedTensors& tensors) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) sum += tensors[i].bytes;
    return sum;
  }

  std::uint64_t of_sample(TensorView tensor, std::uint32_t index,
                          std::span<const TensorView> CapturedTensors::*role) const {
    if (tensor.bytes == 0 && has_table(config_.form.layout)) return 0;
    const Result<std::uint64_t> count = element_count(tensor.shape);
    const Dim number = config_.sample_number;
    if (number != 0 && count.ok() && count.value() > number) {
      tensor.shape = tensor.original_shape = {&number, 1};
      tensor.bytes = (number * codes_of(tensor.dtype).bits + 7) / 8;
    }
    CapturedTensors one;
    one.*role = {&tensor, 1};
    return of_record(one, index);
  }

  std::uint64_t of_record(const CapturedTensors& tensors, std::uint32_t first_index,
                          const std::uint16_t* indexes = nullptr) const {
    const PlannedRecord record(op_.name, tensors, first_index, indexes);
    std::uint64_t bytes = 0;
    if (config_.form.data != DumpData::statistics) bytes += file_bytes(record, data_bytes(tensors));
    if (config_.form.data != DumpData::tensor && data_bytes(tensors) != 0) bytes += statistics_bytes(record);
    return bytes;
  }

  std::uint64_t file_bytes(const PlannedRecord& record, std::uint64_t data) const {
    switch (config_.form.file_format) {
      case FileFormat::nano:
        return data +
               nano_head_sizes([&](auto use) { record.for_each_tensor(use); }, record.name()).file_bytes();
      case FileFormat::protobuf:
        return 8 + ProtobufFormat::message_bytes(record) + data;
      case FileFormat::npy:
      case FileFormat::bin:
        break;
    }
    std::uint64_t bytes = 0;
    if (config_.form.file_format == FileFormat::bin) {
      record.for_each_tensor(
          [&bytes](const TensorView& tensor, bool, std::uint32_t) { bytes += bin_bytes(tensor); });
      return bytes;
    }
    record.for_each_tensor([&bytes](const TensorView& tensor, bool, std::uint32_t) {
      std::byte head[kMaxNpyHeadBytes];
      bytes += encode_npy_head(npy_descr(tensor.dtype), npy_shape(tensor), head) + npy_data_bytes(tensor);
    });
    return bytes;
  }

  std::uint64_t statistics_bytes(const PlannedRecord& record) const {
    char line[kMaxStatsLine > kMaxStatisticLine ? kMaxStatsLine : kMaxStatisticLine];
    const std::uint32_t selected = config_.form.statistics & (kStatsByDefault | kStatL2Norm);
    std::uint64_t bytes = 0;
    if (!has_table(config_.form.layout)) {
      TextWriter header(line);
      bytes += add_stats_header(header, selected).text().size();
    }
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      TextWriter row(line);
      if (has_table(config_.form.layout)) {
        if (!has_table_row(tensor.dtype)) return;
        bytes += op_.type.size() + 1 + op_.name.size();
        add_statistic_row(
            row, statistic_row(config_.form.layout, op_, record.head().unix_us, tensor, is_output, index),
            {.summary = usual(tensor)}, config_.statistic_columns, config_.form.statistics,
            config_.form.trailing_comma);
      } else {
        add_stats_row(row, stats_row(tensor, is_output, index, usual(tensor)), selected,
                      stats_numbers(config_.form.fixed_point));
      }
      bytes += row.text().size();
    });
    return bytes;
  }

  /// Statistics of numbers on both sides of zero.
  static StatisticsSummary usual(const TensorView& tensor) {
    StatisticsSummary summary;
    if (!Statistics::supports(tensor.dtype)) return summary;
    summary.count = element_count(tensor.shape).value();
    summary.negative = summary.positive = summary.count / 2;
    summary.max = Extreme(1.23457);
    summary.min = Extreme(-1.23457);
    summary.average = 0.123457;
    summary.l2norm = 12.3457;
    return summary;
  }

  const DumpConfig& config_;
  const OpDesc& op_;
};

/// `bytes` as "27 B", "1.9 MB": three digits or fewer before the point, and one behind it.
inline TextWriter& add_bytes(TextWriter& to, std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {" kB", " MB", " GB", " TB", " PB", " EB"};
  if (bytes < 1000) return to.add_decimal(bytes).add(" B");
  std::uint64_t tenths = bytes / 100 + bytes % 100 / 50;
  std::size_t unit = 0;
  for (; tenths >= 10'000; ++unit) tenths = tenths / 1000 + tenths % 1000 / 500;
  return to.add_decimal(tenths / 10).add('.').add_decimal(tenths % 10).add(kUnits[unit]);
}

/// What operator `op` takes of a step by its place in the config's lists.
inline std::uint64_t bytes_of_listed(const DumpConfig& config, const ModelPlan& plan, std::size_t op) {
  const ModelDesc& model = *plan.model;
  CapturedTensors wanted;
  if ((plan.bits[op] & kCaptureInputs) != 0) wanted.inputs = model.tensors[op].inputs;
  if ((plan.bits[op] & kCaptureOutputs) != 0) wanted.outputs = model.tensors[op].outputs;
  if (!build::kLean && (plan.bits[op] & kLeaveOut) != 0) {
    const RemainingTensors remaining(plan, model.ops[op], wanted);
    if (!remaining.fit()) return 0;
    return OpCost(config, model.ops[op]).bytes(remaining.tensors(), remaining.indexes());
  }
  return OpCost(config, model.ops[op]).bytes(wanted);
}

/// Of the file that tells of an overflow.
inline std::uint64_t report_bytes(const DumpConfig& config) {
  const OpDesc op = {.name = "Node_OpDebug", .type = "Opdebug"};
  const Dim bytes = kOpDebugBytes;
  const TensorView report = {.bytes = bytes, .dtype = DType::uint8, .shape = {&bytes, 1}};
  return OpCost(config, op).bytes({.outputs = {&report, 1}});
}

/// Adds what a step takes at most: when every operator overflows, when the costliest one fails, or when every
/// suspect has overwritten every output that is watched. A watch without a verdict takes exactly that.
inline void add_faults(const DumpConfig& config, const ModelPlan& plan, Forecast& forecast) {
  const ModelDesc& model = *plan.model;
  DumpConfig as_written = config;
  if (config.form.layout == Layout::cann && !config.watch) as_written.form.data = DumpData::tensor;
  forecast.at_most = !config.watch || config.watch_changes_only;
  std::uint32_t suspects[kWatchEntries / 16 + 1] = {};  // by the entries that they are in
  for (const std::uint8_t bits : plan.bits) {
    if (is_suspect(bits)) ++suspects[(bits & kWatchEntries) / 16];
  }
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    const OpCost cost(as_written, model.ops[i]);
    if (config.exception != ExceptionDump::none) {
      const std::uint64_t bytes = cost.bytes(model.tensors[i]);
      if (bytes > forecast.bytes_per_step) forecast.bytes_per_step = bytes;
    } else if (config.watch) {
      if (!is_watched(plan.bits[i])) continue;
      std::uint64_t times = config.watch_changes_only ? 0 : 1;
      for (std::uint32_t entries = 0; entries < std::size(suspects); ++entries)
        times += (entries & plan.bits[i] / 16u) != 0 ? suspects[entries] : 0;
      forecast.bytes_per_step += times * cost.bytes({.outputs = model.tensors[i].outputs});
    } else {
      if ((plan.bits[i] & kCheckOverflow) != 0)
        forecast.bytes_per_step += cost.bytes(model.tensors[i]) +
                                   (has_net_folder(config.form.layout) ? 0 : report_bytes(as_written));
      forecast.bytes_per_step += bytes_of_listed(config, plan, i);
    }
  }
}

}  // namespace forecast

/// What `config` takes of the model of `plan`, which has been resolved against the config. Time as
/// `resolve_plan`; 3 KiB of stack.
inline Forecast forecast_of(const DumpConfig& config, const ModelPlan& plan) {
  const ModelDesc& model = *plan.model;
  Forecast forecast = {.rules = config.models.size(),
                       .ops = model.ops.size(),
                       .matched = plan.matched_ops,
                       .sized = plan.matched_ops == 0 || model.tensors.size() == model.ops.size()};
  if (!forecast.sized || plan.matched_ops == 0) return forecast;
  const bool faults = config.overflow || config.watch || config.exception != ExceptionDump::none;
  if (build::kFaults && faults) {
    forecast::add_faults(config, plan, forecast);
    return forecast;
  }
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    if (plan.bits[i] != 0) forecast.bytes_per_step += forecast::bytes_of_listed(config, plan, i);
  }
  if (config.form.data != DumpData::tensor && digest_bytes(config.form) == 0 &&
      has_table(config.form.layout)) {
    char line[kMaxStatisticLine];
    TextWriter header(line);
    forecast.bytes_per_step +=
        add_statistic_header(header, config.statistic_columns, config.form.statistics).text().size();
  }
  return forecast;
}

/// Adds the model of another forecast of the same config.
constexpr Forecast& operator+=(Forecast& sum, const Forecast& model) {
  sum.ops += model.ops;
  sum.matched += model.matched;
  sum.bytes_per_step += model.bytes_per_step;
  sum.sized = sum.sized && model.sized;
  sum.at_most = sum.at_most || model.at_most;
  return sum;
}

/// Adds "3 rules, 41 of 214 ops match, about 1.9 MB per step; the partition lasts 12 steps".
/// `partition_bytes`, where the dump goes, may be 0: not known.
inline TextWriter& add_forecast(TextWriter& to, const Forecast& forecast, std::uint64_t partition_bytes) {
  to.add_decimal(forecast.rules).add(forecast.rules == 1 ? " rule, " : " rules, ");
  to.add_decimal(forecast.matched).add(" of ").add_decimal(forecast.ops);
  to.add(forecast.ops == 1 ? " op " : " ops ").add(forecast.matched == 1 ? "matches" : "match");
  if (!forecast.sized)
    return to.add("; what a step takes shows as it runs, as the model does not tell its tensors");
  to.add(forecast.at_most ? ", at most " : ", about ");
  forecast::add_bytes(to, forecast.bytes_per_step).add(" per step");
  if (partition_bytes == 0 || forecast.bytes_per_step == 0) return to;
  const std::uint64_t steps = partition_bytes / forecast.bytes_per_step;
  to.add("; the partition lasts ").add_decimal(steps);
  return to.add(steps == 1 ? " step" : " steps");
}

/// Room that `add_forecast` needs at most.
inline constexpr std::size_t kMaxForecastText = 192;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
