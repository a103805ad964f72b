#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/types/config.hpp"
#include "opdump/types/name_pattern.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What of a tensor a dump may have at most, from all of it to nothing.
enum class KeptAs : std::uint8_t {
  tensor,   ///< its elements, or those that a crop or a sample leaves
  stats,    ///< statistics of these
  digest,   ///< their MD5
  shape,    ///< dtype, format, shape and size
  nothing,  ///< not that there is such a tensor
};

/// The words for `KeptAs`, in its order.
inline constexpr std::string_view kKeptWords[] = {"tensor", "stats", "digest", "shape", "nothing"};

/// Which tensors of an operator a rule names.
enum class TensorRole : std::uint8_t { any, input, output };

/// Of a rule that names all inputs, all outputs or all tensors.
inline constexpr std::uint32_t kAnyTensor = 0xffff;

/// The numbers of a rule.
struct PrivacyNumbers {
  KeptAs kept = KeptAs::nothing;
  TensorRole role = TensorRole::any;
  std::uint32_t index = kAnyTensor;  ///< among the inputs or the outputs; less than `kAnyTensor`, or that
  std::uint32_t every = 0;           ///< of what the crop leaves, each that many-th element; 0: all
  std::uint32_t elements = 0;        ///< or, without `every`, at most that many, evenly spread; 0: all
};

/// What of some tensors a dump may have. It names the tensors by patterns of model, operator and type, and by
/// their role and index. Refers to its lists.
struct PrivacyRule {
  /// Of the model, of the operator or one fused into it, and of its type; one without a text takes any name.
  std::span<const NamePattern> names{};
  std::span<const StepRange> crop{};  ///< of the first axes, the elements that are kept; others stay whole
  /// PrivacyNumbers in one word, which saves flash in the reader of plans.
  std::uint64_t numbers = pack({});

  static constexpr std::uint64_t pack(const PrivacyNumbers& from) {
    const bool spread = from.every == 0 && from.elements != 0;
    return std::uint64_t{spread ? from.elements : from.every} | std::uint64_t{from.index & 0xffff} << 32 |
           std::uint64_t{static_cast<std::uint8_t>(from.kept)} << 48 |
           std::uint64_t{static_cast<std::uint8_t>(from.role)} << 56 | std::uint64_t{spread} << 63;
  }

  /// Empty: every model, and operators outside models.
  constexpr std::span<const NamePattern> model() const { return name(0); }
  /// Empty: any. So with the type.
  constexpr std::span<const NamePattern> op() const { return name(1); }
  constexpr std::span<const NamePattern> type() const { return name(2); }

  constexpr KeptAs kept() const { return static_cast<KeptAs>(numbers >> 48 & 0xff); }
  constexpr TensorRole role() const { return static_cast<TensorRole>(numbers >> 56 & 0x7f); }
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(numbers >> 32 & 0xffff); }
  constexpr std::uint32_t every() const { return is_spread() ? 0 : static_cast<std::uint32_t>(numbers); }
  constexpr std::uint32_t elements() const { return is_spread() ? static_cast<std::uint32_t>(numbers) : 0; }

 private:
  constexpr bool is_spread() const { return numbers >> 63 != 0; }
  constexpr std::span<const NamePattern> name(std::size_t which) const {
    return which < names.size() && !names[which].text.empty() ? names.subspan(which, 1)
                                                              : std::span<const NamePattern>();
  }
};

/// Of a tensor that no rule names, instead of a rule's number.
inline constexpr std::uint16_t kNoRule = 0xffff;

/// Of every tensor.
inline constexpr PrivacyRule kKeepsNothing{};

/// Whether elements are left out even of what is kept.
constexpr bool cuts(const PrivacyRule& rule) {
  return !rule.crop.empty() || rule.every() > 1 || rule.elements() != 0;
}

/// Whether the rule leaves a tensor as it is.
constexpr bool keeps_whole(const PrivacyRule& rule) {
  return rule.kept() == KeptAs::tensor && !cuts(rule);
}

/// Whether the rule names that tensor of each of its operators.
constexpr bool names_tensor(const PrivacyRule& rule, bool is_output, std::uint32_t index) {
  if (rule.role() == TensorRole::input && is_output) return false;
  if (rule.role() == TensorRole::output && !is_output) return false;
  return rule.index() == kAnyTensor || rule.index() == index;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
