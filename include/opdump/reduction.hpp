#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/record_view.hpp"
#include "opdump/sink.hpp"
#include "opdump/targets.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Makes of a record one that is small: where the config wants no tensors, and under WhenFull::degrade where
/// there is no room for them. A session is given one by address, so that firmware which needs none carries no
/// code for it.
class Reduction {
#if OPDUMP_SMALL_CODE
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
#else
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
#endif

 protected:
  ~Reduction() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
