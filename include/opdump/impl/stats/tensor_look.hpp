#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "opdump/base/bytes.hpp"
#include "opdump/impl/lean/statistics.hpp"
#include "opdump/impl/stats/numbers.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/trigger.hpp"

/// One statistic of a tensor, for a trigger that holds it against limits.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The elements of a dtype as integers that are in the order of their values. Those of up to 32 bits.
struct ElementForm {
  DType dtype;
  std::uint8_t bytes;      ///< 0: the dtype is not among them
  std::uint32_t sign;      ///< the bit
  std::uint32_t infinity;  ///< without its sign; what is larger is NaN. Of integers `kNone`
  std::uint32_t largest;   ///< the largest number without its sign; of integers the largest element

  static constexpr std::uint32_t kNone = 0xffffffff;

  constexpr bool is_integer() const { return infinity == kNone; }
};

inline constexpr ElementForm kElementForms[] = {
    {DType::int8, 1, 0x80, ElementForm::kNone, 0x7f},
    {DType::uint8, 1, 0, ElementForm::kNone, 0xff},
    {DType::int16, 2, 0x8000, ElementForm::kNone, 0x7fff},
    {DType::uint16, 2, 0, ElementForm::kNone, 0xffff},
    {DType::int32, 4, 0x80000000, ElementForm::kNone, 0x7fffffff},
    {DType::float16, 2, 0x8000, 0x7c00, 0x7bff},
    {DType::bfloat16, 2, 0x8000, 0x7f80, 0x7f7f},
    {DType::float32, 4, 0x80000000, 0x7f800000, 0x7f7fffff},
    {DType::undefined, 0, 0, 0, 0},
};

constexpr const ElementForm& element_form(DType dtype) {
  const ElementForm* form = kElementForms;
  while (form->bytes != 0 && form->dtype != dtype) ++form;
  return *form;
}

/// The extremes, NaNs, infinities and saturated elements of a tensor in one pass, of dtypes that `element_form`
/// knows. Uses integers only. By CANN's rules: extremes skip NaNs, but are NaN if element 0 is.
class ExtremesLook {
 public:
  static constexpr bool supports(DType dtype) { return element_form(dtype).bytes != 0; }

  explicit ExtremesLook(DType dtype) : form_(element_form(dtype)) {}

  /// Takes in the next elements, little-endian and whole, at any address.
  void add(Bytes chunk) {
    if (form_.bytes == 4) return add_all<4>(chunk);
    if (form_.bytes == 2) return add_all<2>(chunk);
    if (form_.bytes == 1) return add_all<1>(chunk);
  }

  bool starts_with_nan() const { return starts_with_nan_; }
  std::uint32_t count() const { return count_; }
  std::uint32_t nan() const { return nan_; }
  std::uint32_t inf() const { return inf_; }
  std::uint32_t saturated() const { return saturated_; }
  // These need an element, and not `starts_with_nan`.
  double max() const { return value_of(max_); }
  double min() const { return value_of(min_); }

 private:
  template <std::size_t kBytes>
  void add_all(Bytes chunk) {
    const std::byte* at = chunk.data();
    for (std::size_t left = chunk.size() / kBytes; left != 0; --left, at += kBytes) {
      std::uint32_t bits = std::to_integer<std::uint32_t>(at[0]);
      if constexpr (kBytes >= 2) bits |= std::to_integer<std::uint32_t>(at[1]) << 8;
      if constexpr (kBytes == 4)
        bits |= std::to_integer<std::uint32_t>(at[2]) << 16 | std::to_integer<std::uint32_t>(at[3]) << 24;
      add_element(bits);
    }
  }

  void add_element(std::uint32_t bits) {
    const std::uint32_t sign = bits & form_.sign;
    const std::uint32_t magnitude = bits ^ sign;
    ++count_;
    std::int32_t order = static_cast<std::int32_t>(magnitude);
    if (form_.is_integer()) {
      if (sign != 0) order = static_cast<std::int32_t>(magnitude - sign);
      if (magnitude == (sign != 0 ? 0 : form_.largest) || (form_.sign == 0 && bits == 0)) ++saturated_;
    } else {
      if (magnitude > form_.infinity) {
        if (count_ == 1) starts_with_nan_ = true;
        ++nan_;
        return;
      }
      if (magnitude == form_.infinity) ++inf_;
      if (magnitude >= form_.largest) ++saturated_;
      if (sign != 0) order = -order;
    }
    if (order < min_) min_ = order;
    if (order > max_) max_ = order;
  }

  double value_of(std::int32_t order) const {
    if (form_.is_integer()) return static_cast<double>(order);
    const std::uint32_t magnitude = static_cast<std::uint32_t>(order < 0 ? -order : order);
    double value = 0;
    if (form_.bytes == 4) {
      value = Float32Format::decode(magnitude);
    } else if (form_.dtype == DType::float16) {
      value = Float16Format::decode(static_cast<std::uint16_t>(magnitude));
    } else {
      value = Bfloat16Format::decode(static_cast<std::uint16_t>(magnitude));
    }
    return order < 0 ? -value : value;
  }

  const ElementForm& form_;
  bool starts_with_nan_ = false;
  std::uint32_t count_ = 0;
  std::uint32_t nan_ = 0;
  std::uint32_t inf_ = 0;
  std::uint32_t saturated_ = 0;
  std::int32_t min_ = std::numeric_limits<std::int32_t>::max();
  std::int32_t max_ = std::numeric_limits<std::int32_t>::min();
};

/// What a trigger asks of a tensor, for firmware: extremes and counts of the dtypes of ExtremesLook, sums of
/// those of SmallStatistics.
struct SmallLook {
  /// False: there is no such statistic of that dtype, or none of no elements. `read(use)` calls `use` with
  /// the tensor's bytes, in pieces, and says whether they could be read.
  template <class Read>
  static Status take(TriggerCause cause, DType dtype, std::uint64_t, const Read& read, double& value) {
    if (cause == TriggerCause::mean || cause == TriggerCause::l2norm) {
      if (!SmallStatistics::supports(dtype)) return Status::not_supported;
      SmallStatistics sums(dtype);
      const Status status = read([&sums](Bytes piece) { sums.add(piece); });
      if (status != Status::ok) return status;
      if (sums.count(0) == 0) return Status::not_supported;
      value = cause == TriggerCause::mean ? sums.average() : sums.l2norm();
      return Status::ok;
    }
    if (!ExtremesLook::supports(dtype)) return Status::not_supported;
    ExtremesLook look(dtype);
    const Status status = read([&look](Bytes piece) { look.add(piece); });
    return status == Status::ok ? take(cause, look, value) : status;
  }

  static Status take(TriggerCause cause, const ExtremesLook& look, double& value) {
    const bool is_extreme = cause == TriggerCause::max || cause == TriggerCause::min;
    if (look.count() == 0) return Status::not_supported;
    if (is_extreme && look.starts_with_nan()) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (is_extreme) {
      value = cause == TriggerCause::max ? look.max() : look.min();
    } else if (cause == TriggerCause::nan) {
      value = static_cast<double>(look.nan());
    } else if (cause == TriggerCause::inf) {
      value = static_cast<double>(look.inf());
    } else {
      value = static_cast<double>(look.saturated()) / static_cast<double>(look.count());
    }
    return Status::ok;
  }
};

/// The same for every dtype of which there are statistics, with code for the processor. Of saturated elements
/// it knows as many dtypes as SmallLook.
struct FullLook {
  const StatisticsKernels* kernels = nullptr;  ///< see `statistics_kernels`

  template <class Read>
  Status take(TriggerCause cause, DType dtype, std::uint64_t elements, const Read& read,
              double& value) const {
    if (cause == TriggerCause::saturated) return SmallLook::take(cause, dtype, elements, read, value);
    if (!Statistics::supports(dtype)) return Status::not_supported;
    Statistics statistics(dtype, elements, kernels);
    const Status status = read([&statistics](Bytes piece) { statistics.add(piece); });
    if (status != Status::ok) return status;
    const StatisticsSummary found = statistics.summary(StatisticsDialect::cann);
    if (found.count == 0) return Status::not_supported;
    switch (cause) {
      case TriggerCause::max:
        value = found.max.as_double();
        break;
      case TriggerCause::min:
        value = found.min.as_double();
        break;
      case TriggerCause::mean:
        value = found.average;
        break;
      case TriggerCause::l2norm:
        value = found.l2norm;
        break;
      case TriggerCause::nan:
        value = static_cast<double>(found.nan);
        break;
      default:
        value = static_cast<double>(found.negative_inf + found.positive_inf);
    }
    return Status::ok;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
