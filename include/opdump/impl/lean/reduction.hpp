#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "opdump/base/number_text.hpp"
#include "opdump/base/packed_names.hpp"
#include "opdump/format/stats_columns.hpp"
#include "opdump/impl/lean/statistics.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/types/format.hpp"

#if OPDUMP_SMALL_CODE
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

namespace small_stats {

using namespace std::string_view_literals;  // the length of a literal comes without strlen

/// A format's code in the table of names, after the codes of dtypes.
constexpr std::uint32_t code_of(Format format) {
  return 128 + static_cast<std::uint32_t>(format);
}

/// CANN's names of the dtypes that have statistics and of the usual formats; others are written as numbers.
inline constexpr auto kNames = [] {
  constexpr auto for_each = [](auto use) {
    for (int code = 0; code < kKnownDTypes; ++code) {
      if (SmallStatistics::supports(static_cast<DType>(code)))
        use(static_cast<std::uint32_t>(code), kDTypes[code].cann_name);
    }
    for (const FormatName& known : kFormats) {
      if (is_framework_format(known.format) || known.format == Format::nc1hwc0 ||
          known.format == Format::fractal_z || known.format == Format::fractal_nz)
        use(code_of(known.format), known.name);
    }
  };
  constexpr std::size_t kBytes = [for_each] {
    std::size_t bytes = 0;
    for_each([&bytes](std::uint32_t, std::string_view name) { bytes += PackedNames<1>::bytes_of(name); });
    return bytes;
  }();
  PackedNames<kBytes> names;
  for_each([&names](std::uint32_t code, std::string_view name) { names.add(code, name); });
  return names;
}();

/// The title of each column, after a comma and followed by a zero.
inline constexpr auto kColumns = [] {
  constexpr std::size_t kBytes = [] {
    std::size_t bytes = 0;
    for (const StatsColumn& column : kStatsColumns) bytes += column.title.size() + 2;
    return bytes;
  }();
  std::array<char, kBytes> texts{};
  std::size_t at = 0;
  for (const StatsColumn& column : kStatsColumns) {
    texts[at++] = ',';
    for (const char c : column.title) texts[at++] = c;
    texts[at++] = '\0';
  }
  return texts;
}();
enum Column : unsigned { kMax = 1, kMin = 2, kMean = 3, kL2Norm = 8, kColumnCount = 9 };
static_assert(std::size(kStatsColumns) == kColumnCount && kStatsColumns[kMean].bit == kStatMean &&
              kStatsColumns[kL2Norm].bit == kStatL2Norm);
inline constexpr unsigned kNumbers = 1 << kMax | 1 << kMin | 1 << kMean | 1 << kL2Norm;

/// The columns of the `selected` statistics, a bit each. The six defaults have the count in the middle, any
/// other selection has it in front.
constexpr unsigned columns_of(std::uint32_t selected) {
  static_assert(kStatMax == 1 << 0 && kStatMean == 1 << 2 && kStatNan == 1 << 3 && kStatL2Norm == 1 << 6);
  selected &= kStatsByDefault | kStatL2Norm;
  const unsigned count = selected == kStatsByDefault ? 1 << 4 : 1;
  return count | (selected & 7) << 1 | (selected & 0x78) << 2;
}

inline void add_header(TextWriter& to, unsigned columns) {
  to.add(kStatsHeader);
  for (const char c : kColumns) {
    if (c == '\0') {
      columns >>= 1;
    } else if (columns % 2 != 0) {
      to.add(c);
    }
  }
  to.add('\n');
}

/// `prefix_bytes`: how many bytes of "DT_" precede a name.
inline void add_name(TextWriter& to, std::size_t prefix_bytes, std::uint32_t code, std::uint32_t number) {
  to.add(',');
  const std::string_view name = kNames.find(code);
  if (name.empty()) {
    to.add_short_decimal(number);
  } else {
    to.add({"DT_", prefix_bytes}).add(name);
  }
}

inline double number_of(const SmallStatistics& statistics, unsigned column) {
  if (column == kMax) return statistics.max();
  if (column == kMin) return statistics.min();
  return column == kMean ? statistics.average() : statistics.l2norm();
}

/// How many digits a fixed-point number has behind the point.
inline int decimals_of(const SmallStatistics& statistics, unsigned column) {
  if (column == kMean || column == kL2Norm) return 16;
  if (statistics.dtype() == DType::float16) return 3;
  return statistics.dtype() == DType::float32 ? 7 : 0;
}

/// Adds the cells of one tensor; they are empty if it has no elements.
inline void add_cells(TextWriter& to, unsigned columns, const SmallStatistics& statistics, bool fixed) {
  for (unsigned column = 0; column != kColumnCount; ++column) {
    if ((columns >> column & 1) == 0) continue;
    to.add(',');
    if (statistics.count(0) == 0) continue;
    if ((kNumbers >> column & 1) == 0) {
      to.add_short_decimal(statistics.count(column % 4));
    } else if (const double number = number_of(statistics, column); fixed) {
      add_fixed(to, number, decimals_of(statistics, column));
    } else {
      add_number(to, number);
    }
  }
  to.add('\n');
}

/// Adds the cells of one tensor before its statistics.
inline void add_tensor(TextWriter& to, const TensorView& tensor, bool is_output, std::uint32_t index) {
  to.add({is_output ? "Output," : "Input,", is_output ? 7u : 6u})
      .add_short_decimal(index)
      .add(',')
      .add_decimal(tensor.bytes);
  add_name(to, 3, static_cast<std::uint32_t>(tensor.dtype),
           static_cast<std::uint8_t>(codes_of(tensor.dtype).ge_code()));
  add_name(to, 0, code_of(tensor.format), static_cast<std::uint32_t>(tensor.format));
  to.add(',');
  if (tensor.shape.empty()) to.add('-');
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i != 0) to.add('x');
    to.add_decimal(tensor.shape[i]);
  }
}

}  // namespace small_stats

/// Reduces records to their statistics, as CSV files in CANN's form. They equal those of
/// `StatisticsReduction` without OPDUMP_SMALL_CODE except in the last digits of sums, and in rare dtypes and
/// formats, which are written as numbers. Only int8, uint8, float16 and float32 have statistics; the cells of
/// other tensors are empty. No digests, no tables, no statistics from the device.
template <class Memory, bool = false, bool = false>
class StatisticsReduction final : public Reduction {
 public:
  constexpr explicit StatisticsReduction(Memory& memory) : memory_(memory) {}

  bool makes(const DumpTarget& target) const override { return (target.form.statistics & kDigests) == 0; }

  Status write(const DumpTarget& target, const CapturedTensors& tensors, TextWriter& to) override {
    const unsigned columns = small_stats::columns_of(target.form.statistics);
    small_stats::add_header(to, columns);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorView& tensor = tensors[i];
      SmallStatistics statistics(tensor.dtype);
      const Status status = read_pieces(memory_, tensor, &statistics, SmallStatistics::take);
      if (status != Status::ok) return status;
      const bool is_output = i >= tensors.inputs.size();
      small_stats::add_tensor(to, tensor, is_output,
                              static_cast<std::uint32_t>(is_output ? i - tensors.inputs.size() : i));
      small_stats::add_cells(to, columns, statistics, target.form.fixed_point);
    }
    return Status::ok;
  }

 private:
  static constexpr StatBits kDigests = kStatMd5 | kStatSha1 | kAnyDigest;
  Memory& memory_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
