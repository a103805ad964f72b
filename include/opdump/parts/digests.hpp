#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/digest.hpp"
#include "opdump/base/divide.hpp"
#include "opdump/base/fnv.hpp"
#include "opdump/base/xxh3.hpp"
#include "opdump/format/digest_table.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/tensor_pieces.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Reduces tensors to digests, and records to entries of one file per dump (digest_table.hpp), for configs
/// with `"opdump": {"digest": ...}`. Not in a session of a build with OPDUMP_SMALL_CODE.
///
/// The names and shapes of an operator are written once, and again after 16 times as many bytes of digests. Records
/// wait in the object until a ring is empty or `kBatchBytes` are full, so that a record takes its digests, one byte
/// or two, and its share of about 20 bytes of a batch: `hold` makes that share small where a step has few operators.
/// `kOps` operators are remembered at a time, 8 bytes each; with more of them, names are written more often.
template <class Memory, std::size_t kOps = 128, std::size_t kBatchBytes = 512>
class DigestReduction final : public TensorReduction {
  static_assert(kOps >= 2 && kOps <= 0x10000 && kBatchBytes >= 128);

 public:
  explicit DigestReduction(Memory& memory, Crc32cKernel kernel = crc32c) : memory_(memory), kernel_(kernel) {}

  /// From the next `init` of the session on, records also wait while the ring is empty: until `kBatchBytes`
  /// are full, `flush`, `finalize`, or another config. A crash or a power cut then costs those records, 50 or
  /// so, besides what the ring holds, and until they are written the counts lack them and the journal ends
  /// before them. Firmware that sleeps or switches off calls `flush` first.
  void hold(bool on) { hold_ = on; }

  bool holds() const override { return hold_; }

  std::uint32_t bytes_per_tensor(const TargetForm& form) const override { return digest_bytes(form); }

  bool makes(const DumpTarget& target) const override { return digest_bytes(target.form) != 0; }

  Status reduce(const DumpTarget& target, const TensorView& tensor, std::byte* to) override {
    const StatBits wanted = target.form.statistics;
    if ((wanted & kDigestCrc32c) != 0) return digest(Crc32c(kernel_), tensor, to);
    if ((wanted & kDigestXxh3) != 0) return digest(Xxh3(), tensor, to);
    return digest(Md5(), tensor, to);
  }

  std::string_view suffix() const override { return {}; }

  Result<std::uint64_t> write(Sink&, const ObjectName&, const DumpTarget&, const RecordView&,
                              Bytes) override {
    return Status::not_supported;
  }
  Result<std::uint64_t> write_rows(Sink&, const ObjectName&, const DumpTarget&, std::uint64_t,
                                   const RecordView&, Bytes) override {
    return Status::not_supported;
  }

  Status keep(const DumpTarget& target, const RecordView& record, Bytes digests) override {
    const RecordHead& head = record.head();
    DigestWriter to(MutableBytes(batch_).subspan(used_));
    if (used_ == 0 || head.step != step_ || head.load != load_) {
      std::uint64_t ms = head.unix_us > target.id ? head.unix_us - target.id : 0;
      divide(ms, 1000);
      to.number(kDigestStep).number(head.load).number(head.step).number(ms);
    }
    const std::uint64_t key = key_of(target, record);
    bool is_known = false;
    const std::size_t place = place_of(key, is_known);
    const std::size_t before = to.used();
    if (!is_known) add_op(to.number(kDigestOp).number(kFirstDigestOp + place), record);
    const std::size_t told = to.used() - before;
    to.number(kFirstDigestOp + place).bytes(digests);
    if (to.overflowed()) return Status::too_large;
    known_[place] = key;
    told_bytes_ += told;
    used_ += to.used();
    step_ = head.step;
    load_ = head.load;
    return Status::ok;
  }

  Result<std::uint64_t> flush(Sink& sink, const DumpTarget& target) override {
    std::byte start[2 + kMaxNumberBytes] = {std::byte{kDigestMagic}, algorithm_of(target.form.statistics)};
    DigestWriter count(MutableBytes(start).subspan(2));
    count.number(used_);
    const Bytes parts[] = {Bytes(start).first(2 + count.used()), Bytes(batch_).first(used_)};
    const std::uint64_t bytes = parts[0].size() + used_;
    char directory[kMaxDumpDirectoryBytes];
    const char* const directory_end = put_dump_directory(directory, target);
    char file[kMaxFileBytes];
    TextWriter name(file);
    std::uint64_t id = target.journal_id;
    if (id == 0) id = target.id;
    name.add("opdump.").add_short_decimal(target.device_id).add('.').add_decimal(id).add(kDigestSuffix);
    used_ = 0;
    const Status status = sink.append_lines({.root = target.root,
                                             .directory = {directory, directory_end},
                                             .file = name.text(),
                                             .facts = facts_of(target, ObjectKind::table)},
                                            parts);
    since_ += bytes;
    // Whoever reads a log that has gone round finds them again.
    if (status != Status::ok || since_ > kTellAgain * told_bytes_) forget();
    if (status != Status::ok) return status;
    return bytes;
  }

 private:
  static constexpr std::size_t kMaxNumberBytes = 10;
  static constexpr std::size_t kMaxFileBytes = 7 + 10 + 1 + kMaxDecimalBytes + kDigestSuffix.size();
  static constexpr std::uint64_t kTellAgain = 16;

  template <class Digest>
  Status digest(Digest digest, const TensorView& tensor, std::byte* to) {
    const Status status =
        for_each_piece(memory_, tensor, own_bytes(tensor), [&digest](Bytes piece) { digest.add(piece); });
    if (status != Status::ok) return status;
    std::byte result[Digest::kBytes];
    digest.finish(result);
    std::memcpy(to, result, sizeof result);
    return Status::ok;
  }

  static std::byte algorithm_of(StatBits bits) {
    if ((bits & kDigestCrc32c) != 0) return std::byte{1};
    return (bits & kDigestXxh3) != 0 ? std::byte{2} : std::byte{3};
  }

  /// Of all that an operator's entry tells, and of the dump; never 0.
  static std::uint64_t key_of(const DumpTarget& target, const RecordView& record) {
    const RecordHead& head = record.head();
    std::uint64_t key = kFnvStart ^ target.id;
    const auto add = [&key](std::uint64_t value) { key = (key ^ value) * kFnvPrime ^ key >> 29; };
    add(std::uint64_t{head.load} << 32 | head.op);
    add(std::uint64_t{head.task_id} << 32 | head.stream_id);
    add(std::uint64_t{head.input_count} << 32 | head.output_count);
    if (head.in_model == 0) key = fnv1a(record.name(), fnv1a(record.type(), key));
    record.for_each_tensor([&add](const TensorView& tensor, bool, std::uint32_t index) {
      add(std::uint64_t{index} << 40 | static_cast<std::uint64_t>(tensor.dtype) << 32 |
          static_cast<std::uint32_t>(tensor.format));
      add(tensor.bytes);
      for (const Dim dim : tensor.shape) add(static_cast<std::uint64_t>(dim));
    });
    return key | 1;
  }

  /// Where the operator is remembered, or would be.
  std::size_t place_of(std::uint64_t key, bool& is_known) {
    std::size_t place = static_cast<std::size_t>((key >> 32 ^ key >> 1) % kOps);
    for (std::size_t tries = 0; tries < kOps; ++tries, place = (place + 1) % kOps) {
      is_known = known_[place] == key;
      if (is_known || known_[place] == 0) return place;
    }
    forget();
    return place;
  }

  void forget() {
    for (std::uint64_t& known : known_) known = 0;
    since_ = told_bytes_ = 0;
  }

  static void add_op(DigestWriter& to, const RecordView& record) {
    const RecordHead& head = record.head();
    to.number(head.in_model).number(head.model_id).number(head.task_id).number(head.stream_id);
    to.text(record.model_name()).text(record.type()).text(record.name());
    to.number(head.input_count).number(head.output_count);
    record.for_each_tensor([&to](const TensorView& tensor, bool, std::uint32_t index) {
      to.number(index).number(static_cast<std::uint8_t>(tensor.dtype));
      to.number(static_cast<std::uint32_t>(tensor.format)).number(tensor.bytes);
      to.number(tensor.shape.size());
      for (const Dim dim : tensor.shape) to.number(static_cast<std::uint64_t>(dim));
    });
  }

  static constexpr std::uint64_t kFnvPrime = 0x100000001b3;

  Memory& memory_;
  Crc32cKernel kernel_;
  std::uint64_t known_[kOps] = {};
  std::uint64_t since_ = 0;       ///< bytes since all was forgotten
  std::uint64_t told_bytes_ = 0;  ///< of them, those that tell operators
  std::uint64_t step_ = 0;
  std::uint32_t load_ = 0;
  std::size_t used_ = 0;
  bool hold_ = false;
  std::byte batch_[kBatchBytes];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
