#pragma once
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "opdump/base/digest.hpp"
#include "opdump/base/fnv.hpp"
#include "opdump/format/statistic_table.hpp"
#include "opdump/format/stats_csv.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/tensor_pieces.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/sink.hpp"

#if OPDUMP_SMALL_CODE
#include "opdump/impl/lean/reduction.hpp"
#include "opdump/types/config.hpp"
#else
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A backend whose device computes statistics, for configs that ask for that. `add_statistics` adds the first
/// `elements` elements of `tensor` to `to`, as `Statistics::add_run` takes them; `not_supported` when the
/// device cannot (such as for this dtype): `to` is as it was, and the host computes them. Any other error
/// loses the record. Called on the recorder's thread.
template <class Memory>
concept StatisticsMemory = requires(Memory& memory, const TensorView& tensor, std::uint64_t elements,
                                    Statistics& to) {
  { memory.add_statistics(tensor, elements, to) } -> std::same_as<Status>;
};

/// Reduces tensors to their statistics, and records to a CSV file in CANN's form or to rows of MindSpore's table.
/// Each form has its own rules for NaNs and infinities. `kDigests`: with MD5 and SHA-1 of the tensors' bytes, without
/// padding. `kTables`: with MindSpore's table; a device that is never asked for it saves the code.
///
/// The table's header is written when the sink takes a new `statistic.csv`; rows are appended to a table that
/// is already there, whatever its columns, as MindSpore does.
template <class Memory, bool kDigests = true, bool kTables = true>
class StatisticsReduction final : public Reduction {
 public:
  /// `kernels` may be null, and must stay as long as this object.
  constexpr explicit StatisticsReduction(Memory& memory, const StatisticsKernels* kernels = nullptr)
      : memory_(memory), kernels_(kernels) {}

  std::uint32_t bytes_per_tensor(const TargetForm&) const override { return kBytes; }

  bool makes(const DumpTarget& target) const override {
    return (target.form.statistics & kAnyDigest) == 0 &&
           (kDigests || (target.form.statistics & (kStatMd5 | kStatSha1)) == 0) &&
           (kTables || target.form.layout == Layout::cann);
  }

  Status reduce(const DumpTarget& target, const TensorView& tensor, std::byte* to) override {
    const Result<std::uint64_t> elements = element_count(tensor.shape);
    if (!elements.ok()) return elements.status();
    Statistics statistics(tensor.dtype, elements.value(), kernels_);
    Digests digests;
    const bool with_md5 = kDigests && (target.form.statistics & kStatMd5) != 0;
    const bool with_sha1 = kDigests && (target.form.statistics & kStatSha1) != 0;
    const std::uint64_t all = own_bytes(tensor);
    const auto take = [&](Bytes piece) {
      statistics.add(piece);
      if (with_md5) digests.md5.add(piece);
      if (with_sha1) digests.sha1.add(piece);
    };
    Status status = Status::not_supported;
    if (target.form.statistics_on_device && !with_md5 && !with_sha1 && !is_restored(tensor))
      status = add_on_device(tensor, elements.value(), statistics);
    if (status == Status::not_supported) status = for_each_piece(memory_, tensor, all, take);
    if (status != Status::ok) return status;
    Reduced out = {statistics.summary(target.form.layout == Layout::cann ? StatisticsDialect::cann
                                                                         : StatisticsDialect::mindspore)};
    if constexpr (kDigests) {
      if (with_md5) digests.md5.finish(out.md5);
      if (with_sha1) digests.sha1.finish(out.sha1);
    }
    std::memcpy(to, &out, kBytes);
    return Status::ok;
  }

  std::string_view suffix() const override { return ".csv"; }

  Result<std::uint64_t> write(Sink& sink, const ObjectName& name, const DumpTarget& target,
                              const RecordView& record, Bytes reduced) override {
    OpenObject object;
    Status status = object.begin(sink, name);
    if (status != Status::ok) return status;
    const std::uint32_t selected = target.form.statistics & (kStatsByDefault | kStatL2Norm);
    TextWriter header(line_);
    status = object.put(as_bytes(add_stats_header(header, selected).text()));
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      const Taken of_tensor = take(reduced);
      if (status != Status::ok) return;
      TextWriter line(line_);
      add_stats_row(line, stats_row(tensor, is_output, index, of_tensor.summary), selected,
                    stats_numbers(target.form.fixed_point));
      status = object.put(as_bytes(line.text()));
    });
    if (status == Status::ok) status = object.commit();
    if (status != Status::ok) return status;
    return object.bytes();
  }

  Result<std::uint64_t> write_rows([[maybe_unused]] Sink& sink, [[maybe_unused]] const ObjectName& name,
                                   [[maybe_unused]] const DumpTarget& target,
                                   [[maybe_unused]] std::uint64_t unix_us,
                                   [[maybe_unused]] const RecordView& record,
                                   [[maybe_unused]] Bytes reduced) override {
    if constexpr (kTables) return add_rows(sink, name, target, unix_us, record, reduced);
    return Status::not_supported;
  }

 private:
  Status add_on_device(const TensorView& tensor, std::uint64_t elements, Statistics& to) {
    if constexpr (StatisticsMemory<Memory>) {
      return memory_.add_statistics(tensor, elements, to);
    } else {
      return Status::not_supported;
    }
  }

  Result<std::uint64_t> add_rows(Sink& sink, const ObjectName& name, const DumpTarget& target,
                                 std::uint64_t unix_us, const RecordView& record, Bytes reduced) {
    ObjectName table = name;
    table.file = kStatisticTableName;
    table.facts.kind = ObjectKind::table;
    Status status = open_table(sink, table, target);
    // The file's name begins with both, as parts of a path.
    const std::string_view type = name.file.substr(0, sanitised_bytes(record.type()));
    const std::string_view op = name.file.substr(type.size() + 1, sanitised_bytes(record.name()));
    std::uint64_t bytes = 0;
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      const TensorStatistics statistics = take(reduced);
      if (status != Status::ok || !has_table_row(tensor.dtype)) return;
      const StatisticRow row =
          statistic_row(target.form.layout, record.head(), unix_us, tensor, is_output, index);
      TextWriter line(line_);
      add_statistic_row(line, row, statistics, target.columns, target.form.statistics,
                        target.form.trailing_comma);
      if (line.overflowed()) {
        status = Status::too_large;
        return;
      }
      const Bytes parts[] = {quote(type), as_bytes(type), quote(type), as_bytes(","),
                             quote(op),   as_bytes(op),   quote(op),   as_bytes(line.text())};
      for (const Bytes part : parts) bytes += part.size();
      status = sink.append_lines(table, parts);
    });
    if (status != Status::ok) return status;
    return bytes;
  }

  /// TensorStatistics without digests.
  struct SummaryOnly {
    StatisticsSummary summary;
  };
  /// What a tensor is reduced to, and what it is written from.
  using Reduced = std::conditional_t<kDigests, TensorStatistics, SummaryOnly>;
  using Taken = std::conditional_t<kTables, TensorStatistics, Reduced>;
  static constexpr std::uint32_t kBytes = sizeof(Reduced);
  static constexpr std::size_t kLineBytes =
      kTables && kMaxStatisticLine > kMaxStatsLine ? kMaxStatisticLine : kMaxStatsLine;

  struct Digests {
    Md5 md5;
    Sha1 sha1;
  };

  static Taken take(Bytes& reduced) {
    Taken statistics;
    std::memcpy(static_cast<void*>(&statistics), reduced.data(), kBytes);
    reduced = reduced.subspan(kBytes);
    return statistics;
  }

  /// Names hold no quotation mark; with a comma they need some.
  static Bytes quote(std::string_view text) {
    return as_bytes(text.find(',') == text.npos ? std::string_view() : std::string_view("\""));
  }

  /// Makes the table if there is none, and remembers the latest one.
  Status open_table(Sink& sink, const ObjectName& table, const DumpTarget& target) {
    const std::uint64_t hash = hash_of(table.directory, hash_of(table.root, target.id));
    if (hash == table_hash_) return Status::ok;
    TextWriter header(line_);
    add_statistic_header(header, target.columns, target.form.statistics);
    if (header.overflowed()) return Status::too_large;
    OpenObject object;
    Status status = object.begin(sink, table);
    if (status == Status::ok) status = object.put(as_bytes(header.text()));
    if (status == Status::ok) status = object.commit();
    if (status != Status::ok && status != Status::already_exists) return status;
    table_hash_ = hash;
    return Status::ok;
  }

  static std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
    return fnv1a(text, hash ^ kFnvStart);
  }

  Memory& memory_;
  const StatisticsKernels* kernels_;
  std::uint64_t table_hash_ = 0;
  char line_[kLineBytes];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
