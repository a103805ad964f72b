#pragma once
#include <cstddef>

#include "opdump/base/build.hpp"
#include "opdump/parts/bin.hpp"
#include "opdump/parts/format_restorer.hpp"
#include "opdump/parts/npy.hpp"
#include "opdump/parts/overflow_scan.hpp"
#include "opdump/parts/protobuf.hpp"
#include "opdump/parts/statistics.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Memory>
struct SessionParts;

/// Every part that a config may ask for, as far as this build has it: statistics, the search for overflows,
/// the file formats other than nano, and the restorer of the framework's formats, which has memory for
/// `kRecorders` recorders as FormatRestorer says. A device that needs only some of them makes those alone.
/// For a session, so session.hpp has to be included too.
template <class Memory, std::size_t kRecorders = 1, std::size_t kBoxBytes = 32 * 1024>
class AllParts {
 public:
  explicit AllParts(Memory& memory) : reduction_(memory), overflow_(memory), restorer_(memory) {}

  /// With vector code for the processor, see `statistics_kernels` and `non_finite_kernel`. Not with
  /// OPDUMP_SMALL_CODE.
  template <class Kernels, class NonFinite>
  AllParts(Memory& memory, const Kernels* kernels, NonFinite non_finite)
      : reduction_(memory, kernels), overflow_(memory, non_finite), restorer_(memory) {}

  /// `parts` with all of these added.
  SessionParts<Memory> added_to(SessionParts<Memory> parts) {
    if constexpr (build::kStatistics) parts.reduction = &reduction_;
    if constexpr (build::kOverflow) parts.overflow = &overflow_;
    if constexpr (!build::kLean) {
      parts.formats = {.protobuf = &protobuf_, .npy = &npy_, .bin = &bin_};
      parts.restorer = &restorer_;
    }
    return parts;
  }

 private:
  [[no_unique_address]] Maybe<build::kStatistics, StatisticsReduction<Memory>> reduction_;
  [[no_unique_address]] Maybe<build::kOverflow, OverflowScan<Memory>> overflow_;
  [[no_unique_address]] Maybe<!build::kLean, FormatRestorer<Memory, kRecorders, kBoxBytes>> restorer_;
  [[no_unique_address]] Maybe<!build::kLean, ProtobufFormat> protobuf_;
  [[no_unique_address]] Maybe<!build::kLean, NpyFormat> npy_;
  [[no_unique_address]] Maybe<!build::kLean, BinFormat> bin_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
