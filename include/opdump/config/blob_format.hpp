#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/privacy.hpp"
#include "opdump/types/trigger.hpp"

/// The compiled plan: a DumpConfig as bytes, for devices that cannot afford a JSON parser. Little endian on
/// every machine, no padding, at any address.
///
///     u32 magic "ODPN"
///     u32 CRC-32 (IEEE 802.3) of everything after this field
///     u32 bytes of the whole plan, these 16 included; bytes after the plan are ignored
///     u16 version, 1
///     u16 features: 1, the config asks for a seal, a privacy or triggers, and `guards` follows it
///     the config
///
/// These 16 bytes are the same in every version. A build refuses a version that it does not know, and a
/// feature that it does not act on: so it acts on everything it accepts. OPDUMP_SMALL_CODE has no features.
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
///               u8 kernel_data, flag overflow, flag watch, choice exception, flag fixed_point,
///               flag trailing_comma, u64 max_bytes, u64 max_files, u64 reserve_bytes, option choice keep,
///               option choice fsync, flag watch_changes_only, u32 history_steps, u32 after_steps,
///               u32 history_bytes, flag dump_on_crash
///     guards    text seal, list of rules of the privacy, flag privacy_tells, list of triggers, u64 bytes and
///               u32 firings of them per boot
///     step range  u64 first, u64 last
///     rule      text model_name, flag any_model, flag all_layers, list of texts layers, option extras
///     extras    list of op ranges, list of exclusions, list of texts watched, list of texts type_parts,
///               list of patterns, flag marked
///     op range  text begin, text end
///     exclusion flag by_type, text name, list of positions
///     position  flag output, u32 index
///     pattern   text, list of 3 bytes steps, list of 32 bytes sets
///     rule of the privacy  list of patterns names, list of step ranges crop, u64 numbers (PrivacyRule::pack)
///     trigger   list of patterns names, text call, u64 below, u64 above, u64 numbers (TriggerRule::pack),
///               u32 steps, u32 cooldown_s

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint32_t kPlanMagic = 0x4e50444f;
inline constexpr std::uint16_t kPlanVersion = 1;
inline constexpr std::uint16_t kPlanGuards = 1;  ///< a feature: `guards` is there
/// The features that this build acts on.
inline constexpr std::uint16_t kPlanFeatures = build::kLean ? 0 : kPlanGuards;
inline constexpr std::size_t kPlanHeadBytes = 16;
inline constexpr std::size_t kPlanCrcOffset = 4;
inline constexpr std::size_t kPlanBytesOffset = 8;
inline constexpr std::size_t kPlanVersionOffset = 12;
inline constexpr std::size_t kPlanFeaturesOffset = 14;

/// What a field is in memory and in a plan.
enum class PlanKind : std::uint8_t {
  // Numbers, and options of numbers. The order is that of kPlanNumbers.
  u16,
  u32,
  u64,
  flag,
  mode,
  level,
  file_format,
  layout,
  data,
  kernel_data,
  exception,
  option_when_full,
  option_journal,
  option_keep,
  option_fsync,
  option_u32,
  // A pointer that may be null, the config, a text, and spans of what the name says. The order is that of
  // PlanTable::records.
  extras,
  config,
  text,
  steps,
  rules,
  texts,
  ranges,
  exclusions,
  positions,
  columns,
  devices,
  patterns,
  pattern_steps,
  pattern_sets,
  privacy,
  triggers,
};

inline constexpr std::uint8_t kPlanAnyByte = 255;

/// How a number lies in a plan, in one byte: a choice is one byte, others are of several and have any value.
class PlanNumber {
 public:
  constexpr explicit PlanNumber(unsigned bytes) : bits_(static_cast<std::uint8_t>(bytes | kSeveral)) {}
  static constexpr PlanNumber up_to(unsigned last) { return PlanNumber(last, true); }

  constexpr std::uint32_t bytes() const { return is_choice() ? 1 : bits_ ^ kSeveral; }

  /// The largest value of its first byte.
  constexpr std::uint32_t most() const { return is_choice() ? bits_ : kPlanAnyByte; }

 private:
  static constexpr std::uint8_t kSeveral = 0x80;

  constexpr PlanNumber(unsigned last, bool) : bits_(static_cast<std::uint8_t>(last)) {}
  constexpr bool is_choice() const { return bits_ < kSeveral; }

  std::uint8_t bits_;
};

template <class Choice>
constexpr PlanNumber plan_choice(Choice last) {
  return PlanNumber::up_to(static_cast<unsigned>(last));
}

/// For each kind before `extras`.
inline constexpr PlanNumber kPlanNumbers[] = {
    PlanNumber(2),
    PlanNumber(4),
    PlanNumber(8),
    PlanNumber::up_to(1),
    plan_choice(DumpMode::all),
    plan_choice(DumpLevel::all),
    plan_choice(FileFormat::bin),
    plan_choice(Layout::mindspore_lite),
    plan_choice(DumpData::full),
    PlanNumber::up_to(kKernelAll),
    plan_choice(ExceptionDump::detail),
    plan_choice(WhenFull::degrade),
    plan_choice(JournalDetail::records),
    plan_choice(Keep::newest),
    plan_choice(Fsync::record),
    PlanNumber(4),
};
static_assert(std::size(kPlanNumbers) == static_cast<std::size_t>(PlanKind::extras));

/// One field of an object, in two bytes because a device holds about 70 fields.
class PlanField {
 public:
  constexpr PlanField() = default;
  constexpr PlanField(std::size_t offset, PlanKind kind)
      : offset_and_kind_(static_cast<std::uint16_t>(offset << kKindBits | static_cast<unsigned>(kind))) {}

  /// Bytes from the start of the object.
  constexpr std::size_t offset() const { return offset_and_kind_ >> kKindBits; }
  constexpr PlanKind kind() const { return static_cast<PlanKind>(offset_and_kind_ & ((1 << kKindBits) - 1)); }

 private:
  static constexpr unsigned kKindBits = 5;

  std::uint16_t offset_and_kind_ = 0;
};

/// The fields of an object, in the order of the plan.
struct PlanRecord {
  std::uint8_t first;  ///< index of the first field in PlanTable::fields
  std::uint8_t count;  ///< number of fields; 0: the bytes in the plan are the object
  std::uint8_t size;   ///< of the object; meaningless for the config, which is in no list
  std::uint8_t alignment;
};

#define OPDUMP_PLAN_FIELD(type, member, kind) PlanField(offsetof(type, member), PlanKind::kind)

inline constexpr PlanField kPlanConfig[] = {
    OPDUMP_PLAN_FIELD(DumpConfig, asked, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, active, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, dump_path, text),
    OPDUMP_PLAN_FIELD(DumpConfig, mode, mode),
    OPDUMP_PLAN_FIELD(DumpConfig, level, level),
    OPDUMP_PLAN_FIELD(DumpConfig, single_ops, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, steps.ranges, steps),
    OPDUMP_PLAN_FIELD(DumpConfig, models, rules),
    OPDUMP_PLAN_FIELD(DumpConfig, options.ring_bytes, option_u32),
    OPDUMP_PLAN_FIELD(DumpConfig, options.when_full, option_when_full),
    OPDUMP_PLAN_FIELD(DumpConfig, options.block_limit_ms, option_u32),
    OPDUMP_PLAN_FIELD(DumpConfig, options.journal, option_journal),
    OPDUMP_PLAN_FIELD(DumpConfig, form.file_format, file_format),
    OPDUMP_PLAN_FIELD(DumpConfig, form.layout, layout),
    OPDUMP_PLAN_FIELD(DumpConfig, form.data, data),
    OPDUMP_PLAN_FIELD(DumpConfig, form.statistics, u16),
    OPDUMP_PLAN_FIELD(DumpConfig, statistic_columns, columns),
    OPDUMP_PLAN_FIELD(DumpConfig, form.statistics_on_device, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, statistics_in_dtype, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, sample_number, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, device_format, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, save_kernel_args, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, synchronous, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, quant_dumpable, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, overflow_number, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, first_step, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, devices, devices),
    OPDUMP_PLAN_FIELD(DumpConfig, every_device, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, net_name, text),
    OPDUMP_PLAN_FIELD(DumpConfig, form.world_size, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, form.rank, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, kernel_data, kernel_data),
    OPDUMP_PLAN_FIELD(DumpConfig, overflow, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, watch, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, exception, exception),
    OPDUMP_PLAN_FIELD(DumpConfig, form.fixed_point, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, form.trailing_comma, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, options.max_bytes, u64),
    OPDUMP_PLAN_FIELD(DumpConfig, options.max_files, u64),
    OPDUMP_PLAN_FIELD(DumpConfig, options.reserve_bytes, u64),
    OPDUMP_PLAN_FIELD(DumpConfig, options.keep, option_keep),
    OPDUMP_PLAN_FIELD(DumpConfig, options.fsync, option_fsync),
    OPDUMP_PLAN_FIELD(DumpConfig, watch_changes_only, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, options.history_steps, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, options.after_steps, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, options.history_bytes, u32),
    OPDUMP_PLAN_FIELD(DumpConfig, options.dump_on_crash, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, options.seal, text),
    OPDUMP_PLAN_FIELD(DumpConfig, privacy, privacy),
    OPDUMP_PLAN_FIELD(DumpConfig, privacy_tells, flag),
    OPDUMP_PLAN_FIELD(DumpConfig, options.triggers, triggers),
    OPDUMP_PLAN_FIELD(DumpConfig, options.trigger_bytes_per_boot, u64),
    OPDUMP_PLAN_FIELD(DumpConfig, options.trigger_firings_per_boot, u32),
};
/// How many of these are `guards`.
inline constexpr std::size_t kPlanGuardFields = 6;

/// The fields of a config of a plan with these features.
constexpr std::size_t plan_config_fields(std::uint32_t features) {
  return std::size(kPlanConfig) - (features == 0 ? kPlanGuardFields : 0);
}

inline constexpr PlanField kPlanStepRange[] = {
    OPDUMP_PLAN_FIELD(StepRange, first, u64),
    OPDUMP_PLAN_FIELD(StepRange, last, u64),
};
inline constexpr PlanField kPlanRule[] = {
    OPDUMP_PLAN_FIELD(ModelRule, model_name, text), OPDUMP_PLAN_FIELD(ModelRule, any_model, flag),
    OPDUMP_PLAN_FIELD(ModelRule, all_layers, flag), OPDUMP_PLAN_FIELD(ModelRule, layers, texts),
    OPDUMP_PLAN_FIELD(ModelRule, extras, extras),
};
inline constexpr PlanField kPlanText[] = {PlanField(0, PlanKind::text)};
inline constexpr PlanField kPlanExtras[] = {
    OPDUMP_PLAN_FIELD(ModelExtras, ranges, ranges),
    OPDUMP_PLAN_FIELD(ModelExtras, exclusions, exclusions),
    OPDUMP_PLAN_FIELD(ModelExtras, watched, texts),
    OPDUMP_PLAN_FIELD(ModelExtras, type_parts, texts),
    OPDUMP_PLAN_FIELD(ModelExtras, patterns, patterns),
    OPDUMP_PLAN_FIELD(ModelExtras, marked, flag),
};
inline constexpr PlanField kPlanOpRange[] = {
    OPDUMP_PLAN_FIELD(OpRange, begin, text),
    OPDUMP_PLAN_FIELD(OpRange, end, text),
};
inline constexpr PlanField kPlanExclusion[] = {
    OPDUMP_PLAN_FIELD(TensorExclusion, by_type, flag),
    OPDUMP_PLAN_FIELD(TensorExclusion, name, text),
    OPDUMP_PLAN_FIELD(TensorExclusion, positions, positions),
};
inline constexpr PlanField kPlanPosition[] = {
    OPDUMP_PLAN_FIELD(TensorPosition, output, flag),
    OPDUMP_PLAN_FIELD(TensorPosition, index, u32),
};
inline constexpr PlanField kPlanColumn[] = {PlanField(0, PlanKind::u16)};
inline constexpr PlanField kPlanDevice[] = {PlanField(0, PlanKind::u32)};
inline constexpr PlanField kPlanPattern[] = {
    OPDUMP_PLAN_FIELD(NamePattern, text, text),
    OPDUMP_PLAN_FIELD(NamePattern, steps, pattern_steps),
    OPDUMP_PLAN_FIELD(NamePattern, sets, pattern_sets),
};
inline constexpr PlanField kPlanPrivacy[] = {
    OPDUMP_PLAN_FIELD(PrivacyRule, names, patterns),
    OPDUMP_PLAN_FIELD(PrivacyRule, crop, steps),
    OPDUMP_PLAN_FIELD(PrivacyRule, numbers, u64),
};
inline constexpr PlanField kPlanTrigger[] = {
    OPDUMP_PLAN_FIELD(TriggerRule, names, patterns), OPDUMP_PLAN_FIELD(TriggerRule, call, text),
    OPDUMP_PLAN_FIELD(TriggerRule, below, u64),      OPDUMP_PLAN_FIELD(TriggerRule, above, u64),
    OPDUMP_PLAN_FIELD(TriggerRule, numbers, u64),    OPDUMP_PLAN_FIELD(TriggerRule, steps, u32),
    OPDUMP_PLAN_FIELD(TriggerRule, cooldown_s, u32),
};
#undef OPDUMP_PLAN_FIELD

/// All of the above in one table, so that a record finds its fields without a pointer.
struct PlanTable {
  static constexpr std::size_t kRecords =
      static_cast<std::size_t>(PlanKind::triggers) - static_cast<std::size_t>(PlanKind::extras) + 1;
  static constexpr std::size_t kFields =
      std::size(kPlanConfig) + std::size(kPlanStepRange) + std::size(kPlanRule) + std::size(kPlanText) +
      std::size(kPlanExtras) + std::size(kPlanOpRange) + std::size(kPlanExclusion) +
      std::size(kPlanPosition) + std::size(kPlanColumn) + std::size(kPlanDevice) + std::size(kPlanPattern) +
      std::size(kPlanPrivacy) + std::size(kPlanTrigger);

  PlanRecord records[kRecords] = {};
  PlanField fields[kFields] = {};
};

inline constexpr PlanTable kPlanTable = [] {
  PlanTable table;
  std::size_t record = 0, used = 0;
  const auto add = [&]<class T>(const T*, std::span<const PlanField> fields) {
    table.records[record++] = {static_cast<std::uint8_t>(used), static_cast<std::uint8_t>(fields.size()),
                               static_cast<std::uint8_t>(sizeof(T)), alignof(T)};
    for (const PlanField& field : fields) table.fields[used++] = field;
  };
  add(static_cast<const ModelExtras*>(nullptr), kPlanExtras);
  add(static_cast<const DumpConfig*>(nullptr), kPlanConfig);
  add(static_cast<const char*>(nullptr), {});
  add(static_cast<const StepRange*>(nullptr), kPlanStepRange);
  add(static_cast<const ModelRule*>(nullptr), kPlanRule);
  add(static_cast<const std::string_view*>(nullptr), kPlanText);
  add(static_cast<const OpRange*>(nullptr), kPlanOpRange);
  add(static_cast<const TensorExclusion*>(nullptr), kPlanExclusion);
  add(static_cast<const TensorPosition*>(nullptr), kPlanPosition);
  add(static_cast<const StatBits*>(nullptr), kPlanColumn);
  add(static_cast<const std::uint32_t*>(nullptr), kPlanDevice);
  add(static_cast<const NamePattern*>(nullptr), kPlanPattern);
  add(static_cast<const NameStep*>(nullptr), {});
  add(static_cast<const ByteSet*>(nullptr), {});
  add(static_cast<const PrivacyRule*>(nullptr), kPlanPrivacy);
  add(static_cast<const TriggerRule*>(nullptr), kPlanTrigger);
  return table;
}();

/// All fields of `record`.
constexpr std::span<const PlanField> plan_fields(const PlanRecord& record) {
  return {kPlanTable.fields + record.first, record.count};
}

/// The record of `kind`, which is `extras` or a later one.
constexpr const PlanRecord& plan_record(PlanKind kind) {
  return kPlanTable.records[static_cast<std::size_t>(kind) - static_cast<std::size_t>(PlanKind::extras)];
}

static_assert(sizeof(DumpConfig) < 2048 && sizeof(ModelExtras) < 256 && sizeof(ModelRule) < 256);
// offsetof needs standard layout.
static_assert(std::is_standard_layout_v<DumpConfig> && std::is_standard_layout_v<ModelRule> &&
              std::is_standard_layout_v<ModelExtras> && std::is_standard_layout_v<TensorExclusion> &&
              std::is_standard_layout_v<NamePattern> && std::is_standard_layout_v<PrivacyRule> &&
              std::is_standard_layout_v<TriggerRule>);
// These lie in a plan as they are.
static_assert(sizeof(NameStep) == 3 && alignof(NameStep) == 1);
static_assert(sizeof(ByteSet) == 32 && alignof(ByteSet) == 1);

/// The checksum of a plan of at least `kPlanHeadBytes` bytes. Uses no table: one would take more flash than
/// the rest of the reader.
constexpr std::uint32_t plan_crc(Bytes plan) {
  const Bytes counted = plan.subspan(kPlanBytesOffset);
  return Crc32<0>::update(0, counted.data(), counted.size());
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
