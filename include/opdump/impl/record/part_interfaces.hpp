#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/record/record_view.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/overflow.hpp"

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

/// Makes of a record one that is small: where the config wants no tensors, and under WhenFull::degrade where
/// there is no room for them. A session is given one by address, so that firmware which needs none carries no
/// code for it. This one's drainer makes the file, of what the recorder made of each tensor.
class TensorReduction {
 public:
  /// Bytes that `reduce` makes of one tensor.
  virtual std::uint32_t bytes_per_tensor() const = 0;

  /// Whether it makes what `target` asks for.
  virtual bool makes(const DumpTarget& target) const = 0;

  /// Reduces `tensor` to `bytes_per_tensor` bytes at `to`. Takes time proportional to the tensor, and none of
  /// the ring's room. Called on the recorder's thread; several recorders may call at once.
  [[nodiscard]] virtual Status reduce(const DumpTarget& target, const TensorView& tensor, std::byte* to) = 0;

  /// What follows the record's name in the sink, where it is no row of a table.
  virtual std::string_view suffix() const = 0;

  /// Writes and commits the object `name` from what `reduce` made of each of the record's tensors in order,
  /// and tells its size. Called by the drainer.
  virtual Result<std::uint64_t> write(Sink& sink, const ObjectName& name, const DumpTarget& target,
                                      const RecordView& record, Bytes reduced) = 0;

  /// The same as rows of the table of `name`'s directory, with `unix_us` as the record's time.
  virtual Result<std::uint64_t> write_rows(Sink& sink, const ObjectName& name, const DumpTarget& target,
                                           std::uint64_t unix_us, const RecordView& record,
                                           Bytes reduced) = 0;

 protected:
  ~TensorReduction() = default;
};

/// The same of a lean build, where the recorder makes the file.
class FileReduction {
 public:
  /// What follows the record's name in the sink.
  static constexpr std::string_view kSuffix = ".csv";
  /// Bytes that a file takes as a rule, and each tensor in it besides.
  static constexpr std::uint32_t kUsualBytes = 136;
  static constexpr std::uint32_t kUsualTensorBytes = 104;

  /// Whether it makes what `target` asks for.
  virtual bool makes(const DumpTarget& target) const = 0;

  /// Adds all that the record's file holds. Takes time proportional to the tensors. Called on the recorder's
  /// thread; several recorders may call at once.
  [[nodiscard]] virtual Status write(const DumpTarget& target, const CapturedTensors& tensors,
                                     TextWriter& to) = 0;

 protected:
  ~FileReduction() = default;
};

using Reduction = std::conditional_t<build::kLean, FileReduction, TensorReduction>;

/// Knows which operators overflow. A session is given one by address, so that firmware which never asks
/// carries no code for it. Called on the recorder's thread; several recorders may call at once.
class OutputCheck {
 public:
  /// Whether operator `op`, which has just run, overflowed; if so, fills in what is known in `report`. Errors
  /// when neither the device nor the outputs tell.
  virtual Result<bool> overflowed(const OpDesc& op, const CapturedTensors& tensors,
                                  OverflowReport& report) = 0;

 protected:
  ~OutputCheck() = default;
};

/// The same, which also tells who began it.
class TensorCheck : public OutputCheck {
 public:
  /// Whether any of `tensors` holds an infinity or a NaN.
  virtual Result<bool> bad(std::span<const TensorView> tensors) = 0;

 protected:
  ~TensorCheck() = default;
};

using OverflowCheck = std::conditional_t<build::kLean, OutputCheck, TensorCheck>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
