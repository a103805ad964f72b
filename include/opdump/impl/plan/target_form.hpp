#pragma once
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The parts that a session was given for dumps other than nano records of whole tensors. Chooses the form in
/// which a config's dump is written.
struct TargetMeans {
  Clock& clock;
  [[no_unique_address]] Maybe<!build::kLean, RecordFormats> formats;
  Reduction* reduction;
  const OverflowCheck* overflow;
  [[no_unique_address]] Maybe<!build::kLean, const KeptTable*> kept;
  bool watches;  ///< there is memory for a watch

  /// Sets the form of `target`, whose other fields are those of `config`. `not_supported` when the config
  /// needs a part that the session was not given.
  Status choose_form(const DumpConfig& config, DumpTarget& target) const {
    if (const Status status = choose_format(config, target); status != Status::ok) return status;
    if (const Status status = choose_faults(config, target); status != Status::ok) return status;
    if constexpr (!build::kLean) {
      const RecordFormat* const format = target.format;
      target.split = splits_records(target.form, format != nullptr && format->one_tensor());
      target.default_format = has_rank_folder(config.form.layout) && !config.device_format;
      // Source: MindSpore brings the arrays of whole graphs, and their statistics, to NCHW where the
      // framework has 4 dims, and leaves others.
      target.nchw =
          config.form.layout == Layout::mindspore_graph && config.form.file_format == FileFormat::npy;
    }
    const bool reduces = build::kStatistics && reduction != nullptr && reduction->makes(target);
    if (target.form.data != DumpData::tensor && !reduces) return Status::not_supported;
    if constexpr (!build::kLean) {
      char directory[kMaxDumpDirectoryBytes];
      target.directory_bytes = static_cast<std::uint8_t>(put_dump_directory(directory, target) - directory);
    }
    return Status::ok;
  }

 private:
  Status choose_format(const DumpConfig& config, DumpTarget& target) const {
    if (build::kLean) {
      const bool supported = config.form.file_format == FileFormat::nano &&
                             config.form.layout == Layout::cann && config.form.world_size == 0 &&
                             !has_rare_extras(config);
      return supported ? Status::ok : Status::not_supported;
    }
    const KeptTable* const table = kept;
    if (!privacy_rules(config).empty() && (table == nullptr || !table->can_tell(config)))
      return Status::not_supported;
    const RecordFormats given = formats;
    RecordFormat* format = nullptr;
    if (config.form.file_format == FileFormat::protobuf) format = given.protobuf;
    if (config.form.file_format == FileFormat::npy) format = given.npy;
    if (config.form.file_format == FileFormat::bin) format = given.bin;
    target.format = format;
    if (!go_together(config.form.layout, config.form.file_format)) return Status::not_supported;
    return config.form.file_format != FileFormat::nano && format == nullptr ? Status::not_supported
                                                                            : Status::ok;
  }

  /// Sets the fields of `target` that depend on overflows, failures and watches.
  Status choose_faults(const DumpConfig& config, DumpTarget& target) const {
    if (build::kFaults) return choose_all_faults(config, target);
    // Source: as below; the only layout is CANN's.
    if (build::kOverflow && config.overflow) target.form.data = DumpData::tensor;
    const bool overflows = !config.overflow || (build::kOverflow && overflow != nullptr);
    const bool supported = overflows && !config.watch && config.exception == ExceptionDump::none;
    return supported ? Status::ok : Status::not_supported;
  }

  Status choose_all_faults(const DumpConfig& config, DumpTarget& target) const {
    // Source: MindSpore leaves whole graphs to CANN, and saves in its usual form what it runs itself.
    if (config.exception != ExceptionDump::none && !has_rank_folder(config.form.layout)) {
      const RecordFormats given = formats;
      target.exception = config.exception;
      target.utc_offset_seconds = clock.utc_offset_seconds();
      target.format = given.protobuf;
      target.form.data = DumpData::tensor;
    }
    if (config.watch && !watches) return Status::not_supported;
    if (!config.overflow) return Status::ok;
    if (overflow == nullptr) return Status::not_supported;
    // Source: CANN dumps an overflow's tensors even if the config asks for statistics; MindSpore writes no
    // reports where it dumps kernel by kernel.
    if (config.form.layout == Layout::cann) target.form.data = DumpData::tensor;
    target.reports = !has_net_folder(config.form.layout);
    return Status::ok;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
