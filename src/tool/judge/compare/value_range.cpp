#include "src/tool/judge/compare/value_range.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "src/tool/judge/compare/side_numbers.hpp"
#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/statistics.hpp"

namespace opdump::tool {
namespace {

/// The numbers of a tensor as they are stored, and as what they stand for.
template <class Use>
bool for_each_real(const DumpSide& side, const DumpTensor& tensor, Use use) {
  std::optional<RealNumbers> reals;
  if (tensor.quant != nullptr) reals.emplace(*tensor.quant, tensor.dtype, tensor.shape);
  if (reals && !reals->fits()) return false;
  std::uint64_t index = 0;
  return for_each_number(side, tensor, [&](std::span<const double> numbers) {
    for (const double number : numbers) {
      use(index, number, reals ? reals->real(number, index) : number);
      ++index;
    }
  });
}

/// The ends of an integer dtype in which networks compute.
struct Ends {
  explicit Ends(DType dtype) {
    const bool is_signed = dtype == DType::int4 || dtype == DType::int8 || dtype == DType::int16;
    known = is_signed || dtype == DType::uint4 || dtype == DType::uint8 || dtype == DType::uint16;
    const double size = std::ldexp(1.0, static_cast<int>(info(dtype).bits));
    least = is_signed ? -size / 2 : 0;
    most = least + size - 1;
  }

  bool has(double stored) const { return stored == least || stored == most; }

  bool known;
  double least;
  double most;
};

}  // namespace

std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor) {
  if (tensor.summary && tensor.summary->min && tensor.summary->max && tensor.summary->mean)
    return ValueRange{*tensor.summary->min, *tensor.summary->max, *tensor.summary->mean};
  Statistics statistics;
  const bool read = for_each_real(side, tensor, [&](std::uint64_t, double, double real) {
    statistics.add({&real, 1});
  });
  if (!read || statistics.finite() == 0) return std::nullopt;
  return ValueRange{statistics.min(), statistics.max(), statistics.mean()};
}

std::optional<double> share_at_ends(const DumpSide& side, const DumpTensor& tensor) {
  const Ends ends(tensor.dtype);
  if (!ends.known || tensor.summary || tensor.elements == 0) return std::nullopt;
  std::uint64_t count = 0;
  const bool read = for_each_real(side, tensor, [&](std::uint64_t, double stored, double real) {
    count += ends.has(stored) && real != 0 ? 1 : 0;
  });
  if (!read) return std::nullopt;
  return static_cast<double>(count) / static_cast<double>(tensor.elements);
}

std::optional<double> clipped_share(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                    const DumpTensor& golden_tensor) {
  constexpr double kMoreThanAStep = 1.5;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
  const Ends ends(tensor.dtype);
  const bool alike = tensor.shape == golden_tensor.shape &&
                     (tensor.quant != nullptr || tensor.dtype == golden_tensor.dtype) &&
                     (tensor.layout.format == golden_tensor.layout.format ||
                      tensor.layout.format == Format::nd || golden_tensor.layout.format == Format::nd);
  if (!ends.known || !alike || tensor.summary || golden_tensor.summary || tensor.elements == 0 ||
      tensor.elements > kMost)
    return std::nullopt;
  struct AtEnd {
    std::uint64_t index;
    float real;
    float step;
  };
  std::vector<AtEnd> at_ends;
  std::optional<RealNumbers> reals;
  if (tensor.quant != nullptr) reals.emplace(*tensor.quant, tensor.dtype, tensor.shape);
  bool read = for_each_real(mine, tensor, [&](std::uint64_t index, double stored, double real) {
    if (!ends.has(stored)) return;
    const double next = stored == ends.least ? stored + 1 : stored - 1;
    const double step = reals ? std::fabs(reals->real(next, index) - real) : 1;
    at_ends.push_back({index, static_cast<float>(real), static_cast<float>(step)});
  });
  std::uint64_t clipped = 0;
  auto next = at_ends.begin();
  read = read && for_each_real(golden, golden_tensor, [&](std::uint64_t index, double, double real) {
           if (next == at_ends.end() || next->index != index) return;
           clipped += std::fabs(real - static_cast<double>(next->real)) >
                              kMoreThanAStep * static_cast<double>(next->step)
                          ? 1
                          : 0;
           ++next;
         });
  if (!read) return std::nullopt;
  return static_cast<double>(clipped) / static_cast<double>(tensor.elements);
}

std::optional<std::vector<double>> real_elements(const DumpSide& side, const DumpTensor& tensor,
                                                 std::uint64_t most) {
  if (tensor.elements > most || tensor.summary) return std::nullopt;
  std::vector<double> reals;
  reals.reserve(static_cast<std::size_t>(tensor.elements));
  if (!for_each_real(side, tensor, [&](std::uint64_t, double, double real) { reals.push_back(real); }))
    return std::nullopt;
  return reals;
}

std::optional<ChannelGain> odd_channel(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                       const DumpTensor& golden_tensor, std::size_t axis) {
  constexpr std::uint64_t kMost = 4'000'000;
  constexpr std::size_t kFewest = 8;  // elements of a channel, and channels
  constexpr double kOfOthers = 10, kOfNoise = 5, kFaint = 1e-4;
  if (axis >= tensor.shape.size() || tensor.shape != golden_tensor.shape || tensor.elements == 0)
    return std::nullopt;
  const auto channels = static_cast<std::size_t>(tensor.shape[axis]);
  if (channels < kFewest || tensor.elements / channels < kFewest) return std::nullopt;
  const std::optional<std::vector<double>> x = real_elements(mine, tensor, kMost);
  const std::optional<std::vector<double>> y = real_elements(golden, golden_tensor, kMost);
  if (!x || !y) return std::nullopt;
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i)
    inner *= static_cast<std::size_t>(tensor.shape[i]);
  struct Sums {
    double xx = 0, xy = 0, yy = 0;
  };
  std::vector<Sums> sums(channels);
  double all = 0;
  for (std::size_t i = 0; i < x->size(); ++i) {
    Sums& sum = sums[i / inner % channels];
    sum.xx += (*x)[i] * (*x)[i];
    sum.xy += (*x)[i] * (*y)[i];
    sum.yy += (*y)[i] * (*y)[i];
    all += (*y)[i] * (*y)[i];
  }
  ChannelGain odd{0, channels, axis};
  std::vector<double> off;
  double most = -1, noise = 0;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const Sums& sum = sums[channel];
    if (!(sum.yy > kFaint * all / static_cast<double>(channels)) || !std::isfinite(sum.xx)) continue;
    const double times = sum.xy / sum.yy;
    off.push_back(std::fabs(times - 1));
    if (off.back() <= most) continue;
    most = off.back();
    odd.channel = channel;
    odd.times = times;
    noise = std::sqrt(std::max(0.0, sum.xx / sum.yy - times * times));
  }
  if (off.size() < kFewest) return std::nullopt;
  std::nth_element(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2), off.end());
  const double usual = std::max(off[off.size() / 2], 1e-3);
  if (most < kOfOthers * usual || most < kOfNoise * noise) return std::nullopt;
  return odd;
}

}  // namespace opdump::tool
