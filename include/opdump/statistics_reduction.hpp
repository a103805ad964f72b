#pragma once
#include <cstdint>
#include <cstring>

#include "opdump/byte_order.hpp"
#include "opdump/reduction.hpp"
#include "opdump/statistics.hpp"
#include "opdump/stats_csv.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Reduces tensors to their statistics, and records to a CSV file in CANN's form.
template <class Memory>
class StatisticsReduction final : public Reduction {
 public:
  /// `kernels` may be null, and must stay as long as this object.
  explicit StatisticsReduction(Memory& memory, const StatisticsKernels* kernels = nullptr)
      : memory_(memory), kernels_(kernels) {}

  std::uint32_t bytes_per_tensor() const override { return sizeof(StatisticsSummary); }

  Status reduce(const TensorView& tensor, std::byte* to) override {
    const Result<std::uint64_t> elements = element_count(tensor.shape);
    if (!elements.ok()) return elements.status();
    Statistics statistics(tensor.dtype, elements.value(), kernels_);
    alignas(16) std::byte piece[kPieceBytes];
    for (std::uint64_t at = 0; at < tensor.bytes; at += kPieceBytes) {
      const std::uint64_t left = tensor.bytes - at;
      const std::size_t bytes = left < kPieceBytes ? static_cast<std::size_t>(left) : kPieceBytes;
      const Status status = copy_elements(memory_, tensor, at, {piece, bytes});
      if (status != Status::ok) return status;
      statistics.add(Bytes(piece, bytes));
    }
    const StatisticsSummary summary = statistics.summary(StatisticsDialect::cann);
    std::memcpy(to, &summary, sizeof summary);
    return Status::ok;
  }

  std::string_view suffix() const override { return ".csv"; }

  Result<std::uint64_t> write(Sink& sink, const ObjectName& name, const RecordView& record,
                              Bytes reduced) override {
    const Result<ObjectId> object = sink.begin(name);
    if (!object.ok()) return object.status();
    std::uint64_t bytes = 0;
    Status status = Status::ok;
    const auto put = [&](TextWriter& line) {
      const Bytes part = as_bytes(line.text());
      if (status == Status::ok) status = sink.append(object.value(), {&part, 1});
      bytes += part.size();
    };
    TextWriter header(line_);
    add_stats_header(header);
    put(header);
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      StatsRow row = {.output = is_output,
                      .index = index,
                      .bytes = tensor.bytes,
                      .dtype = tensor.dtype,
                      .format = tensor.format,
                      .shape = tensor.shape};
      std::memcpy(&row.summary, reduced.data(), sizeof row.summary);
      reduced = reduced.subspan(sizeof row.summary);
      TextWriter line(line_);
      add_stats_row(line, row);
      put(line);
    });
    if (status == Status::ok) {
      status = sink.commit(object.value());
    } else {
      sink.abort(object.value());
    }
    if (status != Status::ok) return status;
    return bytes;
  }

 private:
  static constexpr std::size_t kPieceBytes = 256;

  Memory& memory_;
  const StatisticsKernels* kernels_;
  char line_[kMaxStatsLine];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
