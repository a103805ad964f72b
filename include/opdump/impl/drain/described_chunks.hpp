#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/impl/drain/drain_ledger.hpp"
#include "opdump/types/overflow.hpp"

#if OPDUMP_SMALL_CODE
#include "opdump/impl/drain/finished_chunks.hpp"
#else
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Records as a recorder sends them that is not lean: the first chunk describes every tensor, or says by
/// number who has described them, and of it files of any format are made. The partner of FinishedChunks.
struct DescribedChunks {
  using Stream = DrainLedger::Stream;
  using State = DrainLedger::State;

  /// Whether a chunk of that kind may be taken piece by piece once its head is.
  static constexpr bool may_split(ChunkKind kind) {
    return kind == ChunkKind::record || kind == ChunkKind::data || kind == ChunkKind::again;
  }

  /// Takes a chunk whose head has come before and is known by its number; false when it is no such chunk.
  static bool take_again(DrainLedger& ledger, std::size_t slot, Stream& stream, const ChunkHead& head,
                         const Bytes& body, bool last) {
    if (head.kind != ChunkKind::again) return false;
    const Result<const RecordView*> known = stream.heads.recall(body.first(head.head_bytes));
    if (known.ok())
      begin_record(ledger, slot, stream, *known.value(), head.gap(), body.subspan(head.head_bytes), last);
    return true;
  }

  /// Writes the record of an `again` chunk of which all is there, name and nano head included, when it comes
  /// right behind the one before. False, with nothing changed but the latest time stamp, when it is another
  /// chunk or has to be taken step by step.
  OPDUMP_APART static bool put_next(DrainLedger& ledger, std::size_t slot, Stream& stream,
                                    const Bytes& chunk) {
    constexpr std::size_t kHeads = sizeof(ChunkHead) + sizeof(AgainHead);
    if (chunk.size() < kHeads) return false;
    const ChunkHead& head = *std::launder(reinterpret_cast<const ChunkHead*>(chunk.data()));
    if (head.kind != ChunkKind::again || head.last_and_gap != 1) return false;
    const AgainHead& again =
        *std::launder(reinterpret_cast<const AgainHead*>(chunk.data() + sizeof(ChunkHead)));
    const KnownHeads::Entry* const known = stream.heads.find_ready(again.known_as);
    if (known == nullptr || head.head_bytes != known->again_bytes ||
        chunk.size() - sizeof(ChunkHead) < known->again_bytes || stream.state != State::idle ||
        stream.rest != nullptr || ledger.digests.count() != 0)
      return false;
    const RecordHead& record = known->view.head();
    const std::uint64_t time = DrainLedger::next_time(stream, again.unix_us);
    if (record.target != stream.target ||
        (DrainLedger::kCountsRecords && again.sequence != stream.expected) ||
        !ledger.namer.is_made(again.step, record.load, time))
      return false;
    if (!known->view.is_at(chunk.data() + kHeads)) [[unlikely]]
      stream.heads.move(again, chunk.data() + kHeads);
    const ObjectName& name = ledger.namer.make_again(known->name, time);
    stream.last_us = time;
    const Bytes parts[] = {known->view.nano_head(), chunk.subspan(sizeof(ChunkHead) + known->again_bytes)};
    const Status status = ledger.sink->put_object(name, parts);
    if (status == Status::already_exists) return false;
    stream.expected = again.sequence + 1;
    if (status != Status::ok) [[unlikely]] {
      stream.op = {again.step, record.load, record.op};
      ledger.discard(stream, status);
      ledger.tell_end(slot, stream, name);
      return true;
    }
    ledger.counts_of(stream.target).add_one(DumpCount::written);
    ledger.journal.written_next(ledger.targets[stream.target], slot, again.sequence,
                                parts[0].size() + parts[1].size(), name);
    return true;
  }

  /// Takes the chunk of `record`, whose `body` comes after the chunk's head; false when none of the record is in it.
  static bool take(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordView& record,
                   const ChunkHead& head, const Bytes& body, bool last) {
    if (head.kind == ChunkKind::record) {
      stream.heads.keep(body.first(head.head_bytes), record, ledger.targets[record.head().target]);
      const std::uint32_t file_at = head.head_bytes - record.head().file_bytes;
      begin_record(ledger, slot, stream, record, head.gap(), body.subspan(file_at), last);
    } else if (build::kStatistics && head.kind == ChunkKind::reduced) {
      take_reduced(ledger, slot, stream, record, head, body.subspan(head.head_bytes));
    } else if (head.kind == ChunkKind::kept) {
      take_kept(ledger, slot, stream, record, head, body.subspan(head.head_bytes));
    } else if (build::kFaults && head.kind == ChunkKind::report) {
      take_report(ledger, slot, stream, record, head.gap(), body.subspan(head.head_bytes));
    } else {
      return false;
    }
    return true;
  }

  /// Has the digests that wait written, and tells what became of their records. Before anything else is told
  /// of their recorder.
  static void flush_digests(DrainLedger& ledger) {
    if (ledger.digests.count() != 0) [[unlikely]]
      write_digests(ledger);
  }

  /// Whether they wait until there is no room for more.
  static bool hold_digests(const DrainLedger& ledger) {
    if constexpr (!DrainLedger::kDigests) return false;
    return ledger.reduction != nullptr && ledger.reduction->holds();
  }

 private:
  OPDUMP_APART static void write_digests(DrainLedger& ledger) {
    const auto waiting = ledger.digests;
    ledger.digests.clear();
    const DumpTarget& target = ledger.targets[waiting.target()];
    const Result<std::uint64_t> written = ledger.reduction->flush(*ledger.sink, target);
    ledger.tell_held(waiting.slot(), ledger.stream_of(waiting.slot()), waiting.first());
    if (written.ok()) {
      ledger.counts_of(waiting.target()).add(DumpCount::written, waiting.count());
      ledger.journal.digests(target, waiting.slot(), waiting.first(), waiting.last(), written.value());
    } else {
      ledger.last_failure.store(static_cast<std::uint8_t>(written.status()), std::memory_order_relaxed);
      const LossCause lost = sink_cause(written.status());
      ledger.counts_of(waiting.target()).add(count_of(lost), waiting.count());
      ledger.journal.gap(target, waiting.slot(), waiting.first(), waiting.last(), bit(lost));
    }
  }

  static void begin_record(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordView& record,
                           const LossGap& gap, Bytes data, bool whole) {
    if (!ledger.drop_interrupted(stream, record.head())) ledger.end_unfinished(slot, stream, gap.causes);
    reach(ledger, slot, stream, record.head(), gap);
    ledger.namer.enter(record, ledger.targets[stream.target]);
    DrainLedger::ToldName name;
    const Status status = open(ledger, stream, record, data, name);
    stream.state = State::writing;
    ledger.note_failure(stream, status);
    if (whole) {
      ledger.end_record(slot, stream, name);
    } else {
      // It is to be told of by its name.
      ledger.tell_held(slot, stream, record.head().sequence);
      stream.told = 0;
      ledger.journal.begun(ledger.targets[stream.target], slot, record.head().sequence, name);
    }
  }

  static void take_reduced(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordView& record,
                           const ChunkHead& head, Bytes reduced) {
    if (digest_bytes(ledger.targets[record.head().target].form) != 0)
      return take_digests(ledger, slot, stream, record, head, reduced);
    flush_digests(ledger);
    ledger.replace(slot, stream, record, head.gap());
    stream.op = {record.head().step, record.head().load, record.head().op};
    DrainLedger::ToldName name;
    std::uint64_t bytes = 0;
    Status status = Status::malformed;
    const DumpTarget& target = ledger.targets[stream.target];
    ledger.namer.enter(record, target);
    const auto write = [&](auto one_way) {
      const Result<std::uint64_t> written = one_way();
      bytes = written.value();
      return written.status();
    };
    if (ledger.reduction == nullptr ||
        reduced.size() !=
            std::size_t{record.tensor_count()} * ledger.reduction->bytes_per_tensor(target.form)) {
      status = Status::malformed;
    } else if (has_table(target.form.layout)) {
      // A row has the time of the tensor's own file, where there is one.
      if (record.head().unix_us > stream.last_us) stream.last_us = record.head().unix_us;
      std::string_view file;
      status = ledger.namer.make_for_rows(record, target, stream.last_us, file);
      if (status == Status::ok) {
        ObjectName beside = ledger.namer.in_directory(record, target, stream.last_us, file);
        status = write([&] {
          return ledger.reduction->write_rows(*ledger.sink, beside, target, stream.last_us, record, reduced);
        });
        // Behind the rows: it takes the memory of their name.
        MutableBytes rest;
        if (!has_full_names(target))
          static_cast<void>(ledger.namer.make(record, target, stream.last_us, {}, beside.file, rest));
        name = beside;
      }
    } else {
      status = ledger.try_names(
          stream, record, ledger.reduction->suffix(), name, [&](const ObjectName& made, MutableBytes) {
            return write(
                [&] { return ledger.reduction->write(*ledger.sink, made, target, record, reduced); });
          });
    }
    if (status == Status::ok) {
      ledger.count_written(slot, stream);
      if (head.cause != Status::ok) {
        ledger.journal.reduced(target, slot, record.head().sequence, recorder_cause(head.cause), bytes, name);
      } else if (has_table(target.form.layout)) {
        ledger.journal.row(target, slot, record.head().sequence, bytes, name);
      } else {
        ledger.journal.written(target, slot, record.head().sequence, bytes, name);
      }
    } else {
      ledger.note_failure(stream, status);
      ledger.end_record(slot, stream, name);
    }
  }

  OPDUMP_APART static void take_kept(DrainLedger& ledger, std::size_t slot, Stream& stream,
                                     const RecordView& record, const ChunkHead& head, Bytes reduced) {
    ledger.replace(slot, stream, record, head.gap());
    stream.op = {record.head().step, record.head().load, record.head().op};
    const DumpTarget& target = ledger.targets[stream.target];
    ledger.namer.enter(record, target);
    DrainLedger::ToldName name;
    std::uint64_t bytes = 0;
    Status status = Status::malformed;
    KeptTable* const table = ledger.kept;
    if (table != nullptr &&
        reduced.size() == std::size_t{record.tensor_count()} * table->bytes_per_tensor()) {
      status =
          ledger.try_names(stream, record, table->suffix(), name, [&](const ObjectName& made, MutableBytes) {
            const Result<std::uint64_t> written = table->write(*ledger.sink, made, target, record, reduced);
            bytes = written.value();
            return written.status();
          });
    }
    if (status == Status::ok) {
      ledger.count_written(slot, stream);
      ledger.journal.written(target, slot, record.head().sequence, bytes, name);
    } else {
      ledger.note_failure(stream, status);
      ledger.end_record(slot, stream, name);
    }
  }

  /// A record that comes right behind those that wait is told of together with them.
  static void take_digests(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordView& record,
                           const ChunkHead& head, Bytes digests) {
    const RecordHead& head_of = record.head();
    if (!ledger.digests.goes_on(slot, head_of.target, head_of.sequence)) flush_digests(ledger);
    ledger.replace(slot, stream, record, head.gap());
    stream.op = {head_of.step, head_of.load, head_of.op};
    const DumpTarget& target = ledger.targets[stream.target];
    const std::size_t bytes = std::size_t{record.tensor_count()} * digest_bytes(target.form);
    Status status = Status::malformed;
    if (ledger.reduction != nullptr && digests.size() == bytes)
      status = ledger.reduction->keep(target, record, digests);
    if (status == Status::too_large && ledger.digests.count() != 0) {
      flush_digests(ledger);
      status = ledger.reduction->keep(target, record, digests);
    }
    if (status == Status::ok) return ledger.digests.add(slot, stream.target, head_of.sequence);
    flush_digests(ledger);
    ledger.namer.enter(record, target);
    const DrainLedger::ToldName name =
        ledger.namer.in_directory(record, target, 0, ledger.namer.make_untimed(record, target));
    ledger.note_failure(stream, status);
    ledger.end_record(slot, stream, name);
  }

  /// Writes the report behind the operator's record, which it ends: both are committed together or given up.
  /// Where each tensor is a record of its own nothing is unfinished.
  static void take_report(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordView& record,
                          const LossGap& gap, Bytes body) {
    OverflowReport report;
    if (body.size() != sizeof report) return;
    std::memcpy(static_cast<void*>(&report), body.data(), sizeof report);
    const bool ends_record = stream.state > State::held;
    if (!ends_record) reach(ledger, slot, stream, record.head(), gap);
    RecordWriter writer;
    DrainLedger::ToldName name;
    Status status = stream.state == State::discarding
                        ? stream.failure
                        : open_report(ledger, stream, record, report, writer, name);
    if (ends_record) {
      if (status == Status::ok) {
        status = stream.writer.commit(writer);
      } else if (stream.state == State::writing) {
        stream.writer.abort();
      }
      ledger.note_failure(stream, status);
      ledger.tell_end(slot, stream, {});
      reach(ledger, slot, stream, record.head(), gap);
    } else if (status == Status::ok) {
      status = writer.commit();
    }
    stream.writer = writer;
    stream.state = State::writing;
    ledger.note_failure(stream, status);
    ledger.tell_end(slot, stream, name);
  }

  static Status open_report(DrainLedger& ledger, Stream& stream, const RecordView& record,
                            const OverflowReport& report, RecordWriter& writer, DrainLedger::ToldName& name) {
    RecordFormat* const format = ledger.targets[stream.target].format;
    const bool as_text = format != nullptr && format->one_tensor();
    ledger.namer.enter(record, ledger.targets[stream.target]);
    const Status status =
        ledger.try_names(stream, record, as_text ? RecordFormat::kReportSuffix : std::string_view(), name,
                         [&](ObjectName made, MutableBytes rest) {
                           made.facts.kind = ObjectKind::report;
                           return as_text ? writer.begin_report(*ledger.sink, made, report, *format)
                                          : writer.begin(*ledger.sink, made, record, {}, rest, format);
                         });
    return status != Status::ok || as_text ? status : append_report(writer, report);
  }

  static Status append_report(RecordWriter& writer, const OverflowReport& report) {
    constexpr std::size_t kPieceWords = 16;
    static_assert(kOpDebugWords % kPieceWords == 0);
    for (std::size_t word = 0; word < kOpDebugWords; word += kPieceWords) {
      std::byte piece[kPieceWords * 8];
      for (std::size_t i = 0; i < kPieceWords; ++i)
        store_little_endian(piece + i * 8, op_debug_word(report, word + i));
      if (const Status status = writer.put(piece); status != Status::ok) return status;
    }
    return Status::ok;
  }

  static void reach(DrainLedger& ledger, std::size_t slot, Stream& stream, const RecordHead& head,
                    const LossGap& gap) {
    ledger.reach(slot, stream, head, gap);
    stream.op = {head.step, head.load, head.op};
  }

  [[gnu::noinline]] static Status open(DrainLedger& ledger, Stream& stream, const RecordView& record,
                                       const Bytes& data, DrainLedger::ToldName& name) {
    const DumpTarget& target = ledger.targets[stream.target];
    char suffix_memory[kMaxSuffixBytes];
    const std::string_view suffix =
        target.format == nullptr ? std::string_view() : target.format->suffix(record, target, suffix_memory);
    return ledger.try_names(stream, record, suffix, name, [&](const ObjectName& made, MutableBytes rest) {
      return stream.writer.begin(*ledger.sink, made, record, data, rest, target.format);
    });
  }
};
using RecordChunks = DescribedChunks;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
