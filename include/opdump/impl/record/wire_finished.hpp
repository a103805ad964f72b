#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/byte_output.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/nano.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_encoder.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How a record passes through the ring in a lean build: the head of the file itself follows RecordHead and
/// the texts, and ends where the tensors' bytes begin. The drainer passes the file's head and the bytes on
/// unchanged. A sender uses this class as it uses DescribedWire.
struct FinishedWire {
  struct Measured : RecordBytes {
    NanoHeadSizes file{};  ///< of the file's head; nothing is added before `measure`
  };

  /// Sets `to` to the bytes that `encode` will write and to those that follow. Errors as `check_record`,
  /// which limits the size of the head.
  static Status measure(const RecordSource& source, Measured& to) {
    const auto add = [&source, &to](const TensorView& tensor, unsigned is_output) {
      to.file.add(tensor, is_output != 0, source.op->name);
      return to.file.bytes[is_output] <= kMaxListBytes;
    };
    if (const Status status = check_record(source, to.data, add); status != Status::ok) return status;
    to.head = static_cast<std::uint32_t>(padded_bytes(plain_head_bytes(source) + to.file.file_bytes()));
    return Status::ok;
  }

  /// Writes the head to `to`, which is 8-byte aligned and has room for what was measured.
  OPDUMP_APART static void encode(const RecordSource& source, const Measured& bytes, std::byte* to) {
    const std::uint32_t file_bytes = bytes.file.file_bytes();
    encode_bare(source, to, file_bytes);
    NanoHeadWriter<ByteCursor> writer(ByteCursor(to + bytes.head - file_bytes), bytes.file, source.op->name);
    writer.add_start();
    writer.add_all(source.tensors.inputs, false);
    writer.add_all(source.tensors.outputs, true);
  }

  /// Writes a head that describes no tensor, in `bare_head_bytes`.
  static void encode_bare(const RecordSource& source, std::byte* to, std::uint32_t file_bytes = 0) {
    encode_head(source, {}, file_bytes, to, [](std::byte* at) { return at; });
  }

  /// Bytes of the chunk that usually holds the reduced form of a record of `tensors` tensors.
  static std::uint32_t reduced_bytes(const FileReduction&, std::uint64_t tensors, std::uint32_t head_bytes) {
    return static_cast<std::uint32_t>(sizeof(ChunkHead)) + head_bytes + FileReduction::kUsualBytes +
           static_cast<std::uint32_t>(tensors) * FileReduction::kUsualTensorBytes;
  }

  /// Puts the reduced form of the record into the ring. `cause`: why its tensors are missing; `ok`: they are
  /// not wanted.
  template <class Sender>
  static Status put_reduced(Sender& sender, const RecordSource& source, const Measured&, Status cause) {
    const std::uint32_t head_bytes = bare_head_bytes(source);
    const std::uint32_t most = sender.ring().max_chunk();
    FileReduction& reduction = *sender.context().reduction;
    std::uint32_t least = reduced_bytes(reduction, source.tensors.size(), head_bytes);
    if (least > most) return cause == Status::ok ? Status::too_large : cause;
    // Rows seldom take more; if they do, the second try asks for the largest chunk.
    for (;; least = most) {
      MutableBytes chunk;
      Status status =
          sender.open(chunk_head(ChunkKind::reduced, true, cause, {}, head_bytes), least, most, chunk);
      if (status == Status::ok) status = reduce(sender, reduction, chunk, source, head_bytes);
      if (status != Status::too_large || least == most) return status;
    }
  }

 private:
  template <class Sender>
  static Status reduce(Sender& sender, FileReduction& reduction, MutableBytes chunk,
                       const RecordSource& source, std::uint32_t head_bytes) {
    const std::uint32_t before = sizeof(ChunkHead) + head_bytes;
    const MutableBytes room = chunk.subspan(before);
    TextWriter file({reinterpret_cast<char*>(room.data()), room.size()});
    const Status status = reduction.write(*source.target, source.tensors, file);
    if (status != Status::ok) return status;
    if (file.overflowed()) return Status::too_large;
    encode_bare(source, chunk.data() + sizeof(ChunkHead));
    sender.commit(before + static_cast<std::uint32_t>(file.text().size()));
    return Status::ok;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
