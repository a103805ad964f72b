#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/impl/drain/drain_ledger.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_SMALL_CODE
/// Records as a lean recorder sends them: the first chunk has the beginning of the record's file, ready as it
/// is, and data chunks what follows. The partner of DescribedChunks.
struct FinishedChunks {
  using Stream = DrainLedger::Stream;

  /// A head is never sent by number.
  static constexpr bool take_again(DrainLedger&, std::size_t, Stream&, const ChunkHead&, const Bytes&) {
    return false;
  }

  /// Takes the chunk of `record`, whose `body` comes after the chunk's head; false when none of the record is
  /// in it.
  static bool take(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordView& record,
                   const ChunkHead& head, const Bytes& body) {
    const bool reduced = build::kStatistics && head.kind == ChunkKind::reduced;
    if (head.kind != ChunkKind::record && !reduced) return false;
    const std::byte* const file = body.data() + head.head_bytes - record.head().file_bytes;
    // From end to end: less code than a subspan.
    take_file(ledger, slot, stream, record, head, {file, body.data() + body.size()});
    return true;
  }

 private:
  /// Begins the file of a record, whole or reduced, which goes on with `data`.
  static void take_file(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordView& record,
                        const ChunkHead& head, const Bytes& data) {
    ledger.replace(slot, stream, record, head.gap());
    const DumpTarget& target = ledger.targets[stream.target];
    ledger.namer.enter(record, target);
    const bool reduced = build::kStatistics && head.kind == ChunkKind::reduced;
    const std::string_view suffix = Reduction::kSuffix.substr(0, reduced ? Reduction::kSuffix.size() : 0);
    DrainLedger::ToldName name;
    const Status status = ledger.try_names(
        stream, record, suffix, name,
        [&](const ObjectName& made, MutableBytes) { return begin(ledger, stream, made, data); });
    stream.state = DrainLedger::State::writing;
    ledger.note_failure(stream, status);
    if (head.last()) {
      ledger.end_record(slot, stream, name, head.cause);
    } else {
      ledger.journal.begun(target, slot, record.head().sequence, name);
    }
  }

  static Status begin(DrainLedger& ledger, Stream& stream, const ObjectName& name, const Bytes& data) {
    const Status status = stream.writer.begin(ledger.sink, name);
    return status == Status::ok ? stream.writer.put(data) : status;
  }
};
using RecordChunks = FinishedChunks;
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
