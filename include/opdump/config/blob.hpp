#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/arena.hpp"
#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/config/blob_format.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Stands for the arena where a plan is only measured: counts what is taken, and keeps none of it.
class PlanMeasure {
 public:
  /// Room for one object; null when no memory is so large.
  std::byte* take(std::size_t count, std::size_t size, std::size_t alignment) {
    const std::size_t padding = static_cast<std::size_t>(-bytes_ & (alignment - 1));
    if (count > (SIZE_MAX / 2 - bytes_ - padding) / size) return nullptr;
    bytes_ += padding + count * size;
    return object_;
  }

  /// In memory that is aligned for all.
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kLargest = [] {
    std::size_t largest = 0;
    for (const PlanRecord& record : kPlanTable.records)
      largest = record.size > largest ? record.size : largest;
    return largest;
  }();

  std::size_t bytes_ = 0;
  alignas(std::max_align_t) std::byte object_[kLargest];
};

/// Reads the records of an untrusted plan. After the first wrong byte, `status()` says why, and every later
/// value is zero or empty.
template <class Memory>
class PlanReader {
  static constexpr bool kKeeps = !std::is_same_v<Memory, PlanMeasure>;

 public:
  PlanReader(Bytes records, Memory& memory) : at_(records.data()), left_(records.size()), memory_(memory) {}

  /// `malformed` also when bytes are left over.
  Status status() const { return status_ == Status::ok && left_ != 0 ? Status::malformed : status_; }

  /// Reads the `count` fields from `field` on into `object`, whose fields hold their defaults.
  void read(const PlanField* field, std::size_t count, std::byte* object) {
    for (; count != 0; --count, ++field) {
      const PlanKind kind = field->kind();
      std::byte* at = object + field->offset();
      if (kind >= PlanKind::option_when_full && kind <= PlanKind::extras) {
        std::byte given{};
        read_number(1, 1, &given);
        if (given == std::byte{}) continue;
        at = engage(kind, at);
      }
      if (kind >= PlanKind::extras) {
        read_list(kind, at);
      } else {
        const PlanNumber number = kPlanNumbers[static_cast<std::size_t>(kind)];
        read_number(number.bytes(), number.most(), at);
      }
    }
  }

 private:
  template <class T>
  static void put(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }

  template <class T>
  static void put_span(std::byte* at, const std::byte* elements, std::size_t count) {
    put(at, std::span<const T>(reinterpret_cast<const T*>(elements), count));
  }

  /// Gives the option of `kind` at `at` a value, and returns where that value lies; any other kind returns `at`.
  static std::byte* engage(PlanKind kind, std::byte* at) {
    if (kind == PlanKind::extras) return at;
    if (kind == PlanKind::option_u32)
      return reinterpret_cast<std::byte*>(&reinterpret_cast<std::optional<std::uint32_t>*>(at)->emplace());
    // All choices are enumerations of a byte, whose options lie alike.
    const std::optional<std::uint8_t> given = 0;
    std::memcpy(at, &given, sizeof given);
    return at + (reinterpret_cast<const std::byte*>(&*given) - reinterpret_cast<const std::byte*>(&given));
  }

  void read_list(PlanKind kind, std::byte* at) {
    std::uint32_t size = kind == PlanKind::extras ? 1 : 0;
    if (size == 0) read_number(4, kPlanAnyByte, reinterpret_cast<std::byte*>(&size));
    if (size == 0) return;
    const PlanRecord& record = plan_record(kind);
    // An object with fields takes at least one byte.
    const std::uint32_t least = record.count == 0 ? record.size : 1;
    if (size > left_ / least || size > most_of(kind)) return fail(Status::malformed);
    if (record.count == 0) {
      const std::byte* const elements = take(size * record.size);
      for (std::uint32_t i = 0; kind == PlanKind::pattern_steps && i < size; ++i)
        check(kind, elements + i * record.size);
      return put_list(kind, at, elements, size);
    }
    // The arena's bytes become the objects: their types have implicit lifetime.
    std::byte* element = memory_.take(size, record.size, record.alignment);
    if (element == nullptr) return fail(Status::no_memory);
    if constexpr (kKeeps) std::memset(element, 0, size * record.size);
    put_list(kind, at, element, size);
    for (std::uint32_t i = 0; i < size; ++i, element += kKeeps ? record.size : 0) {
      read(plan_fields(record).data(), record.count, element);
      check(kind, element);
    }
  }

  static constexpr std::uint32_t most_of(PlanKind kind) {
    return !build::kLean && kind == PlanKind::triggers ? kMostTriggers : UINT32_MAX;
  }

  /// Fails for an element of a list that chooses something that there is not, where more than its numbers'
  /// kinds tell. OPDUMP_SMALL_CODE acts on none of these.
  void check([[maybe_unused]] PlanKind kind, [[maybe_unused]] const std::byte* element) {
    if constexpr (!build::kLean) {
      if (!is_known(kind, element)) fail(Status::malformed);
    }
  }

  static bool is_known(PlanKind kind, const std::byte* element) {
    switch (kind) {
      case PlanKind::columns: {
        const StatBits bit = *reinterpret_cast<const StatBits*>(element);
        return bit != 0 && (bit & (bit - 1)) == 0 && bit <= kStatSha1;
      }
      case PlanKind::pattern_steps:
        return reinterpret_cast<const NameStep*>(element)->kind <= NameStep::Kind::end;
      case PlanKind::privacy: {
        const PrivacyRule& rule = *reinterpret_cast<const PrivacyRule*>(element);
        return rule.kept() <= KeptAs::nothing && rule.role() <= TensorRole::output;
      }
      case PlanKind::triggers:
        return reinterpret_cast<const TriggerRule*>(element)->cause() <= TriggerCause::call;
      default:
        return true;
    }
  }

  static void put_list(PlanKind kind, std::byte* at, const std::byte* elements, std::size_t count) {
    switch (kind) {
      case PlanKind::text:
        return put(at, std::string_view(reinterpret_cast<const char*>(elements), count));
      case PlanKind::extras:
        return put(at, reinterpret_cast<const ModelExtras*>(elements));
      case PlanKind::steps:
        return put_span<StepRange>(at, elements, count);
      case PlanKind::rules:
        return put_span<ModelRule>(at, elements, count);
      case PlanKind::texts:
        return put_span<std::string_view>(at, elements, count);
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
      case PlanKind::privacy:
        return put_span<PrivacyRule>(at, elements, count);
      case PlanKind::triggers:
        return put_span<TriggerRule>(at, elements, count);
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

  /// Reads a number to `at`, in the machine's byte order. Fails when its first byte is over `most`, and then
  /// leaves `at` unchanged.
  [[gnu::noinline]] void read_number(std::size_t bytes, std::uint32_t most, std::byte* at) {
    if (bytes > left_ || std::to_integer<std::uint32_t>(*at_) > most) return fail(Status::malformed);
    const std::byte* const number = take(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      at[std::endian::native == std::endian::little ? i : bytes - 1 - i] = number[i];
  }

  const std::byte* at_;
  std::size_t left_;
  Memory& memory_;
  Status status_ = Status::ok;
};

/// Checks the head of `plan`, and cuts `plan` to its length. Errors as `load_plan`.
inline Status open_plan(Bytes& plan) {
  if (plan.size() < kPlanHeadBytes) return Status::not_a_plan;
  const std::byte* const head = plan.data();
  const auto word = [head](std::size_t offset) { return load_little_endian<std::uint32_t>(head + offset); };
  const std::uint32_t magic = word(0);
  // Swapped in words of four bytes, or of two.
  if (__builtin_bswap32(magic) == kPlanMagic || __builtin_bswap32(std::rotl(magic, 16)) == kPlanMagic)
    return Status::wrong_byte_order;
  if (magic != kPlanMagic) return Status::not_a_plan;
  const std::uint32_t bytes = word(kPlanBytesOffset);
  if (bytes > plan.size()) return Status::truncated;
  if (bytes < kPlanHeadBytes) return Status::damaged;
  plan = plan.first(bytes);
  if (plan_crc(plan) != word(kPlanCrcOffset)) return Status::damaged;
  const std::uint32_t version = word(kPlanVersionOffset);
  if ((version & 0xffff) != kPlanVersion) return Status::newer_version;
  return (version >> 16 & ~std::uint32_t{kPlanFeatures}) != 0 ? Status::not_supported : Status::ok;
}

/// After `open_plan`. `config` has all fields at their defaults, or zero.
template <class Memory>
OPDUMP_INLINE_IF_LEAN inline Status read_plan(Bytes plan, Memory& memory, DumpConfig& config) {
  PlanReader<Memory> reader(plan.subspan(kPlanHeadBytes), memory);
  const std::uint32_t features = kPlanFeatures & std::to_integer<std::uint32_t>(plan[kPlanFeaturesOffset]);
  reader.read(plan_fields(plan_record(PlanKind::config)).data(), plan_config_fields(features),
              reinterpret_cast<std::byte*>(&config));
  return reader.status();
}

/// Sets `bytes` to those of arena that `load_plan` takes of memory that is aligned for a `std::max_align_t`. Takes
/// the time of `load_plan` and the stack of a DumpConfig besides. Errors as `load_plan`, with `bytes` 0.
[[nodiscard]] inline Status measure_plan(Bytes plan, std::size_t& bytes) {
  bytes = 0;
  if (const Status status = open_plan(plan); status != Status::ok) return status;
  PlanMeasure measure;
  DumpConfig config;
  const Status status = read_plan(plan, measure, config);
  if (status == Status::ok) bytes = measure.bytes();
  return status;
}

/// Makes `config` from a plan that `opdump compile` wrote. Its texts stay in `plan`, which may lie in flash
/// at any address; its lists go to `memory`. Both must stay until the session that gets `config` is
/// finalized. Bytes behind the plan are ignored. No heap. On any status but `ok`, `config` is inactive:
/// `not_a_plan`; `wrong_byte_order`, a plan whose bytes were swapped on the way to the device; `truncated`;
/// `damaged`, its checksum is wrong; `newer_version`, made by a later opdump; `not_supported`, asks for
/// a feature that this build has not, as OPDUMP_SMALL_CODE has no seal, no privacy and no triggers;
/// `malformed`, not made by opdump; `no_memory`, the lists need more.
[[nodiscard]] inline Status load_plan(Bytes plan, Arena& memory, DumpConfig& config) {
  if (!build::kEnabled) return Status::ok;
  // Cheaper than the defaults field by field: a plan sets every field but those that are empty without a feature.
  std::memset(static_cast<void*>(&config), 0, sizeof config);
  Status status = open_plan(plan);
  if (status != Status::ok) return status;
  status = read_plan(plan, memory, config);
  if (status != Status::ok) config.asked = config.active = false;
  return status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
