#include "opdump/config/write_blob.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/config/blob_format.hpp"

namespace opdump {
namespace config {
namespace {

struct Anything {
  template <class T>
  constexpr operator T() const {
    return {};
  }
};

/// The number of members of an aggregate.
template <class T, class... Members>
constexpr std::size_t member_count() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return member_count<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

// A member added to one of these structs must be added to the plan too: at the end of its record in
// blob_format.hpp, in the description there, and as a field of the next version.
static_assert(member_count<DumpConfig>() == 29);
static_assert(member_count<DumpForm>() == 9);
// without_cards is in no plan: firmware writes none.
static_assert(member_count<DumpOptions>() == 18);
static_assert(member_count<ModelRule>() == 6);  // one member is derived from another, and is in no plan
static_assert(member_count<ModelExtras>() == 6);
static_assert(member_count<TensorExclusion>() == 3);
static_assert(member_count<NamePattern>() == 3);
static_assert(member_count<PrivacyRule>() == 3);
static_assert(member_count<TriggerRule>() == 7);

class PlanWriter {
 public:
  explicit PlanWriter(std::vector<std::byte>& plan) : plan_(plan) {}

  void write(const PlanRecord& record, const std::byte* object) { write(plan_fields(record), object); }

  void write(std::span<const PlanField> fields, const std::byte* object) {
    for (const PlanField& field : fields) write(field.kind(), object + field.offset());
  }

  void add(std::uint32_t value) { add_number(value); }

 private:
  template <class T>
  static const T& get(const std::byte* at) {
    return *reinterpret_cast<const T*>(at);
  }

  template <class T>
  void add_number(T value) {
    plan_.resize(plan_.size() + sizeof value);
    store_little_endian(&plan_[plan_.size() - sizeof value], value);
  }

  template <class T>
  void add_option(const std::optional<T>& option) {
    add_number(static_cast<std::uint8_t>(option.has_value()));
    if (!option) return;
    if constexpr (std::is_enum_v<T>) {
      add_number(static_cast<std::uint8_t>(*option));
    } else {
      add_number(*option);
    }
  }

  void add_elements(PlanKind kind, const std::byte* elements, std::size_t count) {
    const PlanRecord& record = plan_record(kind);
    if (record.count == 0) plan_.insert(plan_.end(), elements, elements + count * record.size);
    for (std::size_t i = 0; record.count != 0 && i < count; ++i) write(record, elements + i * record.size);
  }

  template <class T>
  void add_span(PlanKind kind, const std::byte* at) {
    const std::span<const T>& elements = get<std::span<const T>>(at);
    add_number(static_cast<std::uint32_t>(elements.size()));
    add_elements(kind, std::as_bytes(elements).data(), elements.size());
  }

  void write(PlanKind kind, const std::byte* at) {
    switch (kind) {
      case PlanKind::u16:
        return add_number(get<std::uint16_t>(at));
      case PlanKind::u32:
        return add_number(get<std::uint32_t>(at));
      case PlanKind::u64:
        return add_number(get<std::uint64_t>(at));
      case PlanKind::flag:
      case PlanKind::mode:
      case PlanKind::level:
      case PlanKind::file_format:
      case PlanKind::layout:
      case PlanKind::data:
      case PlanKind::kernel_data:
      case PlanKind::exception:
        return plan_.push_back(*at);
      case PlanKind::text: {
        const Bytes bytes = as_bytes(get<std::string_view>(at));
        add_number(static_cast<std::uint32_t>(bytes.size()));
        plan_.insert(plan_.end(), bytes.begin(), bytes.end());
        return;
      }
      case PlanKind::option_u32:
        return add_option(get<std::optional<std::uint32_t>>(at));
      case PlanKind::option_when_full:
        return add_option(get<std::optional<WhenFull>>(at));
      case PlanKind::option_journal:
        return add_option(get<std::optional<JournalDetail>>(at));
      case PlanKind::option_keep:
        return add_option(get<std::optional<Keep>>(at));
      case PlanKind::option_fsync:
        return add_option(get<std::optional<Fsync>>(at));
      case PlanKind::steps:
        return add_span<StepRange>(kind, at);
      case PlanKind::rules:
        return add_span<ModelRule>(kind, at);
      case PlanKind::texts:
        return add_span<std::string_view>(kind, at);
      case PlanKind::extras: {
        const ModelExtras* const extras = get<const ModelExtras*>(at);
        add_number(static_cast<std::uint8_t>(extras != nullptr));
        if (extras != nullptr) add_elements(kind, reinterpret_cast<const std::byte*>(extras), 1);
        return;
      }
      case PlanKind::ranges:
        return add_span<OpRange>(kind, at);
      case PlanKind::exclusions:
        return add_span<TensorExclusion>(kind, at);
      case PlanKind::positions:
        return add_span<TensorPosition>(kind, at);
      case PlanKind::columns:
        return add_span<StatBits>(kind, at);
      case PlanKind::devices:
        return add_span<std::uint32_t>(kind, at);
      case PlanKind::patterns:
        return add_span<NamePattern>(kind, at);
      case PlanKind::pattern_steps:
        return add_span<NameStep>(kind, at);
      case PlanKind::pattern_sets:
        return add_span<ByteSet>(kind, at);
      case PlanKind::privacy:
        return add_span<PrivacyRule>(kind, at);
      case PlanKind::triggers:
        return add_span<TriggerRule>(kind, at);
      case PlanKind::config:
        return;
    }
  }

  std::vector<std::byte>& plan_;
};

std::uint16_t features_of(const DumpConfig& config) {
  const bool guards = !triggers_of(config.options).empty() || !privacy_rules(config).empty() ||
                      !seal_key(config.options).empty();
  return guards ? kPlanGuards : 0;
}

}  // namespace
}  // namespace config

inline namespace OPDUMP_NAMESPACE {

std::vector<std::byte> write_plan(const DumpConfig& config) {
  std::vector<std::byte> plan;
  config::PlanWriter writer(plan);
  const std::uint32_t features = config::features_of(config);
  for (const std::uint32_t field :
       {kPlanMagic, std::uint32_t{0}, std::uint32_t{0}, kPlanVersion | features << 16})
    writer.add(field);
  writer.write(plan_fields(plan_record(PlanKind::config)).first(plan_config_fields(features)),
               reinterpret_cast<const std::byte*>(&config));
  store_little_endian(&plan[kPlanBytesOffset], static_cast<std::uint32_t>(plan.size()));
  store_little_endian(&plan[kPlanCrcOffset], plan_crc(plan));
  return plan;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
