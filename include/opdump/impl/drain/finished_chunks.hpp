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

  /// Whether a chunk of that kind may be taken piece by piece once its head is: all are of a file.
  static constexpr bool may_split(ChunkKind) { return true; }

  /// There are none.
  static void flush_digests(DrainLedger&) {}
  static constexpr bool hold_digests(const DrainLedger&) { return false; }

  /// Opens the file of the record, whole or reduced, that the chunk of `head` begins, and returns where in
  /// the chunk the file begins.
  OPDUMP_INLINE_IF_LEAN static const std::byte* open(DrainLedger& ledger, std::size_t slot, Stream& stream,
                                                     const ChunkHead& head) {
    const Bytes record_head = head_behind(head);
    const std::byte* const end = record_head.data() + record_head.size();
    const Result<RecordView> record = RecordView::parse(record_head);
    if (kDoubtRings && (!record.ok() || record.value().head().target >= ledger.targets.size())) return end;
    ledger.replace(slot, stream, record.value(), head.gap());
    begin(ledger, stream, head);
    return end - record.value().head().file_bytes;
  }

 private:
  static Bytes head_behind(const ChunkHead& head) {
    return {reinterpret_cast<const std::byte*>(&head) + sizeof head, head.head_bytes};
  }

  /// Apart from `open`, whose frame is in use while the journal is told of what came before the record.
  OPDUMP_APART static void begin(DrainLedger& ledger, Stream& stream, const ChunkHead& head) {
    const RecordView record = RecordView::parse(head_behind(head)).value();
    ledger.namer.enter(record, ledger.targets[stream.target]);
    const bool reduced = build::kStatistics && head.kind == ChunkKind::reduced;
    const std::string_view suffix = Reduction::kSuffix.substr(0, reduced ? Reduction::kSuffix.size() : 0);
    DrainLedger::ToldName name;
    const Status status = ledger.try_names(
        stream, record, suffix, name,
        [&](const ObjectName& made, MutableBytes) { return stream.writer.begin(*ledger.sink, made); });
    stream.state = DrainLedger::State::writing;
    ledger.note_failure(stream, status);
  }
};
using RecordChunks = FinishedChunks;
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
