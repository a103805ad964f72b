#pragma once
#include <cstdint>

#include "opdump/clock.hpp"
#include "opdump/dump_config.hpp"
#include "opdump/overflow.hpp"
#include "opdump/record_format.hpp"
#include "opdump/reduction.hpp"
#include "opdump/targets.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a session has been given to write dumps with, besides nano records of whole tensors. Chooses how what
/// a config asks for is written.
struct TargetMeans {
  Clock& clock;
#if OPDUMP_SMALL_CODE == 0
  const RecordFormats& formats;
#endif
  Reduction* reduction;
  const OverflowCheck* overflow;
  bool watches;  ///< there is memory for it

  /// Sets how `target`, whose other fields are those of `config`, is written. `not_supported` when the config
  /// wants what there are no means for.
  Status choose_form(const DumpConfig& config, DumpTarget& target) const {
#if OPDUMP_SMALL_CODE
    if (config.file_format != FileFormat::nano || config.layout != Layout::cann || config.world_size != 0 ||
        has_exclusions(config))
      return Status::not_supported;
#else
    switch (config.file_format) {
      case FileFormat::nano:
        break;
      case FileFormat::protobuf:
        target.format = formats.protobuf;
        break;
      case FileFormat::npy:
        target.format = formats.npy;
        break;
    }
    if (config.file_format != FileFormat::nano && target.format == nullptr) return Status::not_supported;
#endif
    if (const Status status = choose_faults(config, target); status != Status::ok) return status;
#if OPDUMP_SMALL_CODE == 0
    target.split =
        splits_records(target.data, target.layout, target.format != nullptr && target.format->one_tensor());
    target.default_format = has_rank_folder(config.layout) && !config.device_format;
#endif
#if OPDUMP_STATISTICS
    const bool reduces = reduction != nullptr && reduction->makes(target);
#else
    constexpr bool reduces = false;
#endif
    if (target.data != DumpData::tensor && !reduces) return Status::not_supported;
    char directory_memory[kMaxDumpDirectoryBytes];
    TextWriter directory(directory_memory);
    target.directory_bytes = static_cast<std::uint8_t>(add_dump_directory(directory, target).text().size());
    return Status::ok;
  }

 private:
  /// Sets what of `target` comes from a config that wants what goes wrong.
#if OPDUMP_FAULTS
  Status choose_faults(const DumpConfig& config, DumpTarget& target) const {
    // Source: MindSpore hands whole graphs to CANN, and saves what it runs itself as ever.
    if (config.exception != ExceptionDump::none && !has_rank_folder(config.layout)) {
      target.exception = config.exception;
      target.utc_offset_seconds = clock.utc_offset_seconds();
      target.format = formats.protobuf;
      target.data = DumpData::tensor;
    }
    if (config.watch && !watches) return Status::not_supported;
    if (!config.overflow) return Status::ok;
    if (overflow == nullptr) return Status::not_supported;
    // Source: CANN dumps an overflow's tensors, whatever the config says; MindSpore has no reports where it
    // dumps kernel by kernel.
    if (config.layout == Layout::cann) target.data = DumpData::tensor;
    target.reports = !has_rank_folder(config.layout);
    return Status::ok;
  }
#else
  Status choose_faults(const DumpConfig& config, [[maybe_unused]] DumpTarget& target) const {
    bool supported = !config.watch && config.exception == ExceptionDump::none;
#if OPDUMP_OVERFLOW
    // As above; the only layout is CANN's.
    if (config.overflow) target.data = DumpData::tensor;
    supported = supported && (!config.overflow || overflow != nullptr);
#else
    supported = supported && !config.overflow;
#endif
    return supported ? Status::ok : Status::not_supported;
  }
#endif
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
