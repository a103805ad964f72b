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

  /// Opens the file of the record, whole or reduced, that the chunk of `head` and `body` begins. `data`, which
  /// is behind the chunk's own head, becomes where the file begins.
  static void open(DrainLedger& ledger, std::size_t slot, Stream& stream, const ChunkHead& head,
                   const std::byte* body, const std::byte*& data) {
    const Result<RecordView> parsed = RecordView::parse({body, data});
    if (kDoubtRings && (!parsed.ok() || parsed.value().head().target >= ledger.targets.size())) return;
    const RecordView& record = parsed.value();
    data -= record.head().file_bytes;
    ledger.replace(slot, stream, record, head.gap());
    ledger.namer.enter(record, ledger.targets[stream.target]);
    const bool reduced = build::kStatistics && head.kind == ChunkKind::reduced;
    const std::string_view suffix = Reduction::kSuffix.substr(0, reduced ? Reduction::kSuffix.size() : 0);
    DrainLedger::ToldName name;
    const Status status =
        ledger.try_names(stream, record, suffix, name, [&](const ObjectName& made, MutableBytes) {
          return stream.writer.begin(ledger.sink, made);
        });
    stream.state = DrainLedger::State::writing;
    ledger.note_failure(stream, status);
  }
};
using RecordChunks = FinishedChunks;
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
