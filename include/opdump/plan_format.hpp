#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include "opdump/bytes.hpp"
#include "opdump/dump_config.hpp"

/// The compiled plan: a DumpConfig as bytes, for devices that cannot afford a JSON parser. Little endian
/// whatever the machine, no padding, at any address.
///
///     u32 magic "ODPN"
///     u32 CRC-32 (IEEE 802.3) of everything after this field
///     u32 bytes of the whole plan, these 16 included; what follows them is not looked at
///     u32 version
///     the config
///
/// These 16 bytes are the same in every version. The version goes up when the config's bytes change, which
/// means that a record below gets more fields at its end, and when a build learns to act on what earlier ones
/// only understood. So what a build accepts, it acts on.
///
///     flag      u8, 0 or 1
///     choice    u8, the enumeration's value
///     text      u32 length, bytes
///     list      u32 count, elements
///     option    u8, 0 or 1; the value only after a 1
///
///     config    flag asked, flag active, text dump_path, choice mode, choice level, flag single_ops,
///               list of step ranges, list of rules, option u32 ring_bytes, option choice when_full,
///               option u32 block_limit_ms, option choice journal, choice file_format, choice layout,
///               choice data, u16 statistics, list of u16 statistic_columns, flag statistics_on_device,
///               flag statistics_in_dtype, u32 sample_number, flag device_format, flag save_kernel_args,
///               flag synchronous, flag quant_dumpable, u32 overflow_number, u32 first_step,
///               list of u32 devices, flag every_device, text net_name, u32 world_size, u32 rank,
///               u8 kernel_data, flag overflow, flag watch, choice exception;
///               from version 2 on flag fixed_point, flag trailing_comma;
///               from version 3 on u64 max_bytes, u64 max_files, u64 reserve_bytes, option choice keep,
///               option choice fsync;
///               from version 4 on flag watch_changes_only, u32 history_steps, u32 after_steps,
///               u32 history_bytes;
///               version 5 is the same, and its exclusions are acted on
///     step range  u64 first, u64 last
///     rule      text model_name, flag any_model, flag all_layers, list of texts layers, option extras
///     extras    list of op ranges, list of exclusions, list of texts watched, list of texts type_parts,
///               list of patterns, flag marked
///     op range  text begin, text end
///     exclusion flag by_type, text name, list of positions
///     position  flag output, u32 index
///     pattern   text, list of 3 bytes steps, list of 32 bytes sets

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint32_t kPlanMagic = 0x4e50444f;
inline constexpr std::uint32_t kPlanVersion = 5;
inline constexpr std::size_t kPlanHeadBytes = 16;
inline constexpr std::size_t kPlanCrcOffset = 4;
inline constexpr std::size_t kPlanBytesOffset = 8;
inline constexpr std::size_t kPlanVersionOffset = 12;

/// What a field is in memory and in a plan.
enum class PlanKind : std::uint8_t {
  u8,  ///< a flag, a choice or bits
  u16,
  u32,
  u64,
  text,
  option_u32,
  option_when_full,
  option_journal,
  option_keep,
  option_fsync,
  // The config, and lists of what is named: spans, but for the pointer to `extras`, which is an option. The
  // order is that of kPlanRecords.
  config,
  steps,
  rules,
  texts,
  extras,
  ranges,
  exclusions,
  positions,
  columns,
  devices,
  patterns,
  pattern_steps,
  pattern_sets,
};

struct PlanField {
  std::uint16_t offset;  ///< in the object
  PlanKind kind;
  std::uint8_t most;  ///< of `u8` and the options: the largest value
};

/// The fields of an object, in the order of the plan. What an older version does not have is zero, and in the
/// config at its default.
struct PlanRecord {
  const PlanField* fields;  ///< null: the bytes in the plan are the object
  std::uint16_t size;
  std::uint8_t alignment;
  std::uint8_t count;  ///< of fields
};

/// Fields that the config has in each version; nothing else has changed so far.
inline constexpr std::uint8_t kPlanConfigCounts[kPlanVersion] = {35, 37, 42, 46, 46};

#define OPDUMP_PLAN_FIELD(type, member, kind, most) \
  { offsetof(type, member), PlanKind::kind, static_cast<std::uint8_t>(most) }

inline constexpr PlanField kPlanConfig[] = {
    OPDUMP_PLAN_FIELD(DumpConfig, asked, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, active, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, dump_path, text, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, mode, u8, DumpMode::all),
    OPDUMP_PLAN_FIELD(DumpConfig, level, u8, DumpLevel::all),
    OPDUMP_PLAN_FIELD(DumpConfig, single_ops, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, steps.ranges, steps, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, models, rules, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.ring_bytes, option_u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.when_full, option_when_full, WhenFull::degrade),
    OPDUMP_PLAN_FIELD(DumpConfig, options.block_limit_ms, option_u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.journal, option_journal, JournalDetail::records),
    OPDUMP_PLAN_FIELD(DumpConfig, file_format, u8, FileFormat::npy),
    OPDUMP_PLAN_FIELD(DumpConfig, layout, u8, Layout::mindspore_cpu),
    OPDUMP_PLAN_FIELD(DumpConfig, data, u8, DumpData::full),
    OPDUMP_PLAN_FIELD(DumpConfig, statistics, u16, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, statistic_columns, columns, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, statistics_on_device, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, statistics_in_dtype, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, sample_number, u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, device_format, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, save_kernel_args, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, synchronous, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, quant_dumpable, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, overflow_number, u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, first_step, u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, devices, devices, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, every_device, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, net_name, text, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, world_size, u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, rank, u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, kernel_data, u8, kKernelAll),
    OPDUMP_PLAN_FIELD(DumpConfig, overflow, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, watch, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, exception, u8, ExceptionDump::detail),
    OPDUMP_PLAN_FIELD(DumpConfig, fixed_point, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, trailing_comma, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, options.max_bytes, u64, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.max_files, u64, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.reserve_bytes, u64, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.keep, option_keep, Keep::newest),
    OPDUMP_PLAN_FIELD(DumpConfig, options.fsync, option_fsync, Fsync::record),
    OPDUMP_PLAN_FIELD(DumpConfig, watch_changes_only, u8, 1),
    OPDUMP_PLAN_FIELD(DumpConfig, options.history_steps, u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.after_steps, u32, 0),
    OPDUMP_PLAN_FIELD(DumpConfig, options.history_bytes, u32, 0),
};
inline constexpr PlanField kPlanStepRange[] = {
    OPDUMP_PLAN_FIELD(StepRange, first, u64, 0),
    OPDUMP_PLAN_FIELD(StepRange, last, u64, 0),
};
inline constexpr PlanField kPlanRule[] = {
    OPDUMP_PLAN_FIELD(ModelRule, model_name, text, 0), OPDUMP_PLAN_FIELD(ModelRule, any_model, u8, 1),
    OPDUMP_PLAN_FIELD(ModelRule, all_layers, u8, 1),   OPDUMP_PLAN_FIELD(ModelRule, layers, texts, 0),
    OPDUMP_PLAN_FIELD(ModelRule, extras, extras, 0),
};
inline constexpr PlanField kPlanText[] = {{0, PlanKind::text, 0}};
inline constexpr PlanField kPlanExtras[] = {
    OPDUMP_PLAN_FIELD(ModelExtras, ranges, ranges, 0),
    OPDUMP_PLAN_FIELD(ModelExtras, exclusions, exclusions, 0),
    OPDUMP_PLAN_FIELD(ModelExtras, watched, texts, 0),
    OPDUMP_PLAN_FIELD(ModelExtras, type_parts, texts, 0),
    OPDUMP_PLAN_FIELD(ModelExtras, patterns, patterns, 0),
    OPDUMP_PLAN_FIELD(ModelExtras, marked, u8, 1),
};
inline constexpr PlanField kPlanOpRange[] = {
    OPDUMP_PLAN_FIELD(OpRange, begin, text, 0),
    OPDUMP_PLAN_FIELD(OpRange, end, text, 0),
};
inline constexpr PlanField kPlanExclusion[] = {
    OPDUMP_PLAN_FIELD(TensorExclusion, by_type, u8, 1),
    OPDUMP_PLAN_FIELD(TensorExclusion, name, text, 0),
    OPDUMP_PLAN_FIELD(TensorExclusion, positions, positions, 0),
};
inline constexpr PlanField kPlanPosition[] = {
    OPDUMP_PLAN_FIELD(TensorPosition, output, u8, 1),
    OPDUMP_PLAN_FIELD(TensorPosition, index, u32, 0),
};
inline constexpr PlanField kPlanColumn[] = {{0, PlanKind::u16, 0}};
inline constexpr PlanField kPlanDevice[] = {{0, PlanKind::u32, 0}};
inline constexpr PlanField kPlanPattern[] = {
    OPDUMP_PLAN_FIELD(NamePattern, text, text, 0),
    OPDUMP_PLAN_FIELD(NamePattern, steps, pattern_steps, 0),
    OPDUMP_PLAN_FIELD(NamePattern, sets, pattern_sets, 0),
};
#undef OPDUMP_PLAN_FIELD

#define OPDUMP_PLAN_RECORD(type, fields, count) \
  { fields, sizeof(type), alignof(type), count }
inline constexpr PlanRecord kPlanRecords[] = {
    OPDUMP_PLAN_RECORD(DumpConfig, kPlanConfig, std::size(kPlanConfig)),
    OPDUMP_PLAN_RECORD(StepRange, kPlanStepRange, std::size(kPlanStepRange)),
    OPDUMP_PLAN_RECORD(ModelRule, kPlanRule, std::size(kPlanRule)),
    OPDUMP_PLAN_RECORD(std::string_view, kPlanText, std::size(kPlanText)),
    OPDUMP_PLAN_RECORD(ModelExtras, kPlanExtras, std::size(kPlanExtras)),
    OPDUMP_PLAN_RECORD(OpRange, kPlanOpRange, std::size(kPlanOpRange)),
    OPDUMP_PLAN_RECORD(TensorExclusion, kPlanExclusion, std::size(kPlanExclusion)),
    OPDUMP_PLAN_RECORD(TensorPosition, kPlanPosition, std::size(kPlanPosition)),
    OPDUMP_PLAN_RECORD(StatBits, kPlanColumn, std::size(kPlanColumn)),
    OPDUMP_PLAN_RECORD(std::uint32_t, kPlanDevice, std::size(kPlanDevice)),
    OPDUMP_PLAN_RECORD(NamePattern, kPlanPattern, std::size(kPlanPattern)),
    OPDUMP_PLAN_RECORD(NameStep, nullptr, 0),
    OPDUMP_PLAN_RECORD(ByteSet, nullptr, 0),
};
#undef OPDUMP_PLAN_RECORD

/// Fields of `record` in a plan of `version`.
constexpr std::size_t plan_field_count(const PlanRecord& record, std::uint32_t version) {
  return &record == kPlanRecords ? kPlanConfigCounts[version - 1] : record.count;
}

/// Of `kind`, which has one.
constexpr const PlanRecord& plan_record(PlanKind kind) {
  return kPlanRecords[static_cast<std::size_t>(kind) - static_cast<std::size_t>(PlanKind::config)];
}

// offsetof is for these.
static_assert(std::is_standard_layout_v<DumpConfig> && std::is_standard_layout_v<ModelRule> &&
              std::is_standard_layout_v<ModelExtras> && std::is_standard_layout_v<TensorExclusion> &&
              std::is_standard_layout_v<NamePattern>);
// The newest version has every field.
static_assert(std::size(kPlanConfig) == kPlanConfigCounts[kPlanVersion - 1]);
// These lie in a plan as they are.
static_assert(sizeof(NameStep) == 3 && alignof(NameStep) == 1);
static_assert(sizeof(ByteSet) == 32 && alignof(ByteSet) == 1);

/// The checksum of a plan, which has `kPlanHeadBytes` at least. A bit at a time: a table would take more
/// flash than all the rest of the reader.
constexpr std::uint32_t plan_crc(Bytes plan) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : plan.subspan(kPlanBytesOffset)) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
