#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "opdump/arena.hpp"
#include "opdump/bytes.hpp"
#include "opdump/dump_config.hpp"
#include "opdump/plan_format.hpp"
#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Reads the records of a plan. Nobody vouches for the bytes: after the first one that is wrong, `status()`
/// says why, and every value is zero or empty.
class PlanReader {
 public:
  PlanReader(Bytes records, Arena& memory) : at_(records.data()), left_(records.size()), memory_(memory) {}

  /// `malformed` also when bytes are left over.
  Status status() const { return status_ == Status::ok && left_ != 0 ? Status::malformed : status_; }

  /// Reads an object that has the `count` fields from `field` on, all at their defaults.
  void read(const PlanField* field, std::size_t count, std::byte* object) {
    for (; count != 0; --count, ++field) read(*field, object + field->offset());
  }

 private:
  template <class T>
  static void put(std::byte* at, T value) {
    *reinterpret_cast<T*>(at) = value;
  }

  template <class T>
  static void put_span(std::byte* at, const std::byte* elements, std::size_t count) {
    put(at, std::span<const T>(reinterpret_cast<const T*>(elements), count));
  }

  void read(const PlanField& field, std::byte* at) {
    const PlanKind kind = field.kind();
    if (kind >= PlanKind::option_u32 && kind <= PlanKind::option_fsync && small(1) == 0) return;
    switch (kind) {
      case PlanKind::u8:
        *at = static_cast<std::byte>(small(field.most()));
        break;
      case PlanKind::u16:
        put(at, static_cast<std::uint16_t>(number(2)));
        break;
      case PlanKind::u32:
        put(at, word());
        break;
      case PlanKind::u64: {
        const std::uint32_t low = word();
        put(at, std::uint64_t{word()} << 32 | low);
        break;
      }
      case PlanKind::text: {
        const std::uint32_t bytes = count();
        put(at, std::string_view(reinterpret_cast<const char*>(take(bytes)), bytes));
        break;
      }
      case PlanKind::option_u32:
        put<std::optional<std::uint32_t>>(at, word());
        break;
      case PlanKind::option_when_full:
        put<std::optional<WhenFull>>(at, static_cast<WhenFull>(small(field.most())));
        break;
      case PlanKind::option_journal:
        put<std::optional<JournalDetail>>(at, static_cast<JournalDetail>(small(field.most())));
        break;
      case PlanKind::option_keep:
        put<std::optional<Keep>>(at, static_cast<Keep>(small(field.most())));
        break;
      case PlanKind::option_fsync:
        put<std::optional<Fsync>>(at, static_cast<Fsync>(small(field.most())));
        break;
      default:
        read_list(kind, at);
    }
  }

  void read_list(PlanKind kind, std::byte* at) {
    const std::uint32_t size = kind == PlanKind::extras ? small(1) : count();
    if (size == 0) return;
    const PlanRecord& record = plan_record(kind);
    if (record.count == 0) {
      if (size > left_ / record.size) return fail(Status::malformed);
      put_list(kind, at, take(size * record.size), size);
      return;
    }
    // The bytes of the arena become the objects that are looked at: their types are implicit-lifetime ones.
    std::byte* element = memory_.take(size, record.size, record.alignment);
    if (element == nullptr) return fail(Status::no_memory);
    std::memset(element, 0, size * record.size);
    put_list(kind, at, element, size);
    for (std::uint32_t i = 0; i < size; ++i, element += record.size)
      read(kPlanTable.fields + record.first, record.count, element);
  }

  static void put_list(PlanKind kind, std::byte* at, const std::byte* elements, std::size_t count) {
    switch (kind) {
      case PlanKind::steps:
        return put_span<StepRange>(at, elements, count);
      case PlanKind::rules:
        return put_span<ModelRule>(at, elements, count);
      case PlanKind::texts:
        return put_span<std::string_view>(at, elements, count);
      case PlanKind::extras:
        return put(at, reinterpret_cast<const ModelExtras*>(elements));
      case PlanKind::ranges:
        return put_span<OpRange>(at, elements, count);
      case PlanKind::exclusions:
        return put_span<TensorExclusion>(at, elements, count);
      case PlanKind::positions:
        return put_span<TensorPosition>(at, elements, count);
      case PlanKind::columns:
        return put_span<StatBits>(at, elements, count);
      case PlanKind::devices:
        return put_span<std::uint32_t>(at, elements, count);
      case PlanKind::patterns:
        return put_span<NamePattern>(at, elements, count);
      case PlanKind::pattern_steps:
        return put_span<NameStep>(at, elements, count);
      default:
        return put_span<ByteSet>(at, elements, count);
    }
  }

  const std::byte* take(std::size_t bytes) {
    const std::byte* const taken = at_;
    at_ += bytes;
    left_ -= bytes;
    return taken;
  }

  [[gnu::noinline]] void fail(Status status) {
    if (status_ == Status::ok) status_ = status;
    left_ = 0;
  }

  std::uint32_t word() { return number(4); }

  std::uint32_t number(std::size_t bytes) {
    if (bytes > left_) {
      fail(Status::malformed);
      return 0;
    }
    left_ -= bytes;
    std::uint32_t value = 0;
    for (std::size_t shift = 0; shift < 8 * bytes; shift += 8)
      value |= std::to_integer<std::uint32_t>(*at_++) << shift;
    return value;
  }

  /// A byte that is at most `most`.
  [[gnu::noinline]] std::uint32_t small(std::uint32_t most) {
    const std::uint32_t value = number(1);
    if (value <= most) return value;
    fail(Status::malformed);
    return 0;
  }

  /// Of elements or characters: each takes a byte at least.
  std::uint32_t count() {
    const std::uint32_t value = word();
    if (value <= left_) return value;
    fail(Status::malformed);
    return 0;
  }

  const std::byte* at_;
  std::size_t left_;
  Arena& memory_;
  Status status_ = Status::ok;
};

/// What the head of `plan` says: `ok` and the records behind it, or why not; see `load_plan`.
inline Status open_plan(Bytes& plan, std::uint32_t& version) {
  if (plan.size() < kPlanHeadBytes) return Status::not_a_plan;
  const std::byte* const head = plan.data();
  const auto word = [head](std::size_t offset) { return load_little_endian<std::uint32_t>(head + offset); };
  const std::uint32_t magic = word(0);
  // Of words of four bytes, or of two.
  if (__builtin_bswap32(magic) == kPlanMagic || __builtin_bswap32(std::rotl(magic, 16)) == kPlanMagic)
    return Status::wrong_byte_order;
  if (magic != kPlanMagic) return Status::not_a_plan;
  const std::uint32_t bytes = word(kPlanBytesOffset);
  if (bytes > plan.size()) return Status::truncated;
  if (bytes < kPlanHeadBytes) return Status::damaged;
  plan = plan.first(bytes);
  if (plan_crc(plan) != word(kPlanCrcOffset)) return Status::damaged;
  version = word(kPlanVersionOffset);
  if (version > kPlanVersion) return Status::newer_version;
  return version == 0 ? Status::malformed : Status::ok;
}

/// Makes `config` of a plan that `opdump compile` has written. Its texts stay in `plan`, which may lie in
/// flash at any address; its lists go to `memory`. Both must stay until the session that `config` is given to
/// is finalized. Bytes behind the plan are not looked at. No heap. On any status but `ok`, `config` is
/// inactive: `not_a_plan`; `wrong_byte_order`, a plan whose bytes were swapped on the way to the device;
/// `truncated`; `damaged`, its checksum is wrong; `newer_version`, made by a later opdump; `malformed`, not
/// made by opdump; `no_memory`, the lists need more.
[[nodiscard]] inline Status load_plan(Bytes plan, Arena& memory, DumpConfig& config) {
  std::uint32_t version = 0;
  // Cheaper than its defaults, field by field: a plan has them all, but for those that came later, and of
  // these one is not zero.
  std::memset(static_cast<void*>(&config), 0, sizeof config);
  config.trailing_comma = true;
  Status status = open_plan(plan, version);
  if (status != Status::ok) return status;
  PlanReader reader(plan.subspan(kPlanHeadBytes), memory);
  reader.read(kPlanTable.fields, kPlanConfigCounts[version - 1], reinterpret_cast<std::byte*>(&config));
  status = reader.status();
  if (status != Status::ok) config.asked = config.active = false;
  return status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
