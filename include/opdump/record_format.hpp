#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/open_object.hpp"
#include "opdump/overflow_report.hpp"
#include "opdump/record_view.hpp"
#include "opdump/targets.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a RecordFormat remembers of an object while its bytes come by.
struct FormatState {
  std::uint64_t left = 0;  ///< elements or bytes that are still to be written
  DType dtype = DType::undefined;
};

/// Room that `RecordFormat::suffix` needs.
inline constexpr std::size_t kMaxSuffixBytes = 64;

/// A file format besides nano records. A session is given those that its configs may ask for by address, so
/// that firmware which writes nano records carries no code for others. The drainer calls it, one call at a
/// time.
class RecordFormat {
 public:
  static constexpr std::string_view kReportSuffix = ".output.0.json";

  /// Whether an object holds one tensor: each tensor then is a record of its own.
  virtual bool one_tensor() const = 0;

  /// What stands behind the record's name in the sink; may use `memory`, of kMaxSuffixBytes.
  virtual std::string_view suffix(const RecordView& record, const DumpTarget& target,
                                  std::span<char> memory) const = 0;

  /// Writes to `object`, which has just been opened, the head of `record` and `data`, the first of its
  /// tensors' bytes. `scratch` (not empty) is used during the call only. After any error `object` is aborted.
  [[nodiscard]] virtual Status begin(OpenObject& object, FormatState& state, const RecordView& record,
                                     Bytes data, MutableBytes scratch) = 0;

  /// Writes more of the tensors' bytes, whole elements. Errors as `begin`.
  [[nodiscard]] virtual Status append(OpenObject& object, FormatState& state, Bytes data) = 0;

  /// Writes `report`, where an object holds one tensor; elsewhere a report is a tensor among others. Errors
  /// as `begin`.
  [[nodiscard]] virtual Status put_report(OpenObject& object, const OverflowReport& report) = 0;

 protected:
  ~RecordFormat() = default;
};

/// The formats that a session can write besides nano records; null: it cannot.
struct RecordFormats {
  RecordFormat* protobuf = nullptr;
  RecordFormat* npy = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
