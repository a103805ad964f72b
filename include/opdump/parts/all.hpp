#pragma once
#include <cstddef>

#include "opdump/base/build.hpp"
#include "opdump/parts/bin.hpp"
#include "opdump/parts/digests.hpp"
#include "opdump/parts/format_restorer.hpp"
#include "opdump/parts/npy.hpp"
#include "opdump/parts/overflow_scan.hpp"
#include "opdump/parts/privacy.hpp"
#include "opdump/parts/protobuf.hpp"
#include "opdump/parts/statistics.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Memory>
struct SessionParts;

/// Reduces each record in the way that its config asks for.
class EveryReduction final : public TensorReduction {
 public:
  EveryReduction(TensorReduction& statistics, TensorReduction& digests)
      : statistics_(statistics), digests_(digests) {}

  std::uint32_t bytes_per_tensor(const TargetForm& form) const override {
    return (digest_bytes(form) != 0 ? digests_ : statistics_).bytes_per_tensor(form);
  }
  bool makes(const DumpTarget& target) const override { return of(target).makes(target); }
  Status reduce(const DumpTarget& target, const TensorView& tensor, std::byte* to) override {
    return of(target).reduce(target, tensor, to);
  }
  std::string_view suffix() const override { return statistics_.suffix(); }
  Result<std::uint64_t> write(Sink& sink, const ObjectName& name, const DumpTarget& target,
                              const RecordView& record, Bytes reduced) override {
    return of(target).write(sink, name, target, record, reduced);
  }
  Result<std::uint64_t> write_rows(Sink& sink, const ObjectName& name, const DumpTarget& target,
                                   std::uint64_t unix_us, const RecordView& record, Bytes reduced) override {
    return of(target).write_rows(sink, name, target, unix_us, record, reduced);
  }
  Status keep(const DumpTarget& target, const RecordView& record, Bytes reduced) override {
    return of(target).keep(target, record, reduced);
  }
  Result<std::uint64_t> flush(Sink& sink, const DumpTarget& target) override {
    return of(target).flush(sink, target);
  }

 private:
  TensorReduction& of(const DumpTarget& target) const {
    return digest_bytes(target.form) != 0 ? digests_ : statistics_;
  }

  TensorReduction& statistics_;
  TensorReduction& digests_;
};

/// Every part that a config may ask for, as far as this build has it: statistics, digests, the search for
/// overflows, the table of what a privacy keeps, the file formats other than nano, and the restorer of the
/// framework's formats, which has memory for `kRecorders` recorders as FormatRestorer says. A device that
/// needs only some of them makes those alone. For a session, so session.hpp has to be included too.
template <class Memory, std::size_t kRecorders = 1, std::size_t kBoxBytes = 32 * 1024>
class AllParts {
 public:
  explicit AllParts(Memory& memory)
      : statistics_(memory), digests_(memory), overflow_(memory), restorer_(memory), kept_(memory) {}

  /// With code for the processor, see `statistics_kernels`, `non_finite_kernel` and `crc32c_kernel`. Not with
  /// OPDUMP_SMALL_CODE.
  template <class Kernels, class NonFinite>
  AllParts(Memory& memory, const Kernels* kernels, NonFinite non_finite, Crc32cKernel checksum = crc32c)
      : statistics_(memory, kernels),
        digests_(memory, checksum),
        overflow_(memory, non_finite),
        restorer_(memory),
        kept_(memory, kernels) {}
  AllParts(const AllParts&) = delete;
  AllParts& operator=(const AllParts&) = delete;

  /// `parts` with all of these added.
  SessionParts<Memory> added_to(SessionParts<Memory> parts) {
    if constexpr (kDigests) {
      parts.reduction = &reduction_;
    } else if constexpr (build::kStatistics) {
      parts.reduction = &statistics_;
    }
    if constexpr (build::kOverflow) parts.overflow = &overflow_;
    if constexpr (!build::kLean) {
      parts.formats = {.protobuf = &protobuf_, .npy = &npy_, .bin = &bin_};
      parts.restorer = &restorer_;
      parts.kept = &kept_;
    }
    return parts;
  }

 private:
  static constexpr bool kDigests = build::kStatistics && !build::kLean;
  static constexpr std::size_t kDigestedOps = 1024;
  static constexpr std::size_t kDigestBatchBytes = 4096;

  [[no_unique_address]] Maybe<build::kStatistics, StatisticsReduction<Memory>> statistics_;
  [[no_unique_address]] Maybe<kDigests, DigestReduction<Memory, kDigestedOps, kDigestBatchBytes>> digests_;
  [[no_unique_address]] Maybe<kDigests, EveryReduction> reduction_{statistics_, digests_};
  [[no_unique_address]] Maybe<build::kOverflow, OverflowScan<Memory>> overflow_;
  [[no_unique_address]] Maybe<!build::kLean, FormatRestorer<Memory, kRecorders, kBoxBytes>> restorer_;
  [[no_unique_address]] Maybe<!build::kLean, PrivacyTable<Memory>> kept_;
  [[no_unique_address]] Maybe<!build::kLean, ProtobufFormat> protobuf_;
  [[no_unique_address]] Maybe<!build::kLean, NpyFormat> npy_;
  [[no_unique_address]] Maybe<!build::kLean, BinFormat> bin_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
