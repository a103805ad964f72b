#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/counts.hpp"
#include "opdump/nano_writer.hpp"
#include "opdump/record.hpp"
#include "opdump/ring.hpp"
#include "opdump/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of scratch that a drainer needs for names of these lengths.
constexpr std::size_t drain_scratch_bytes(std::size_t model_name_bytes, std::size_t type_bytes,
                                          std::size_t name_bytes) {
  constexpr std::size_t kHeadBytes = 128;
  return dump_name_bytes(model_name_bytes, type_bytes, name_bytes) + kHeadBytes;
}

/// Moves records from the recorders' rings to a sink. One context at a time may call it.
class Drainer {
 public:
  /// `scratch` is used while draining only and must stay. See `drain_scratch_bytes` for its size; a record
  /// whose names do not fit is lost and counted.
  Drainer(Sink& sink, MutableBytes scratch) : sink_(sink), scratch_(scratch) {}
  Drainer(const Drainer&) = delete;
  Drainer& operator=(const Drainer&) = delete;

  std::size_t scratch_bytes() const { return scratch_.size(); }

  /// Moves whole chunks out of ring `slot` until it is empty or `budget_bytes` bytes have gone. Returns the
  /// bytes moved, a chunk without payload counted as one.
  std::size_t drain(std::size_t slot, Ring& ring, std::size_t budget_bytes) {
    std::size_t moved = 0;
    std::uint32_t unreleased = 0;
    while (moved < budget_bytes) {
      const Bytes chunk = ring.peek();
      if (chunk.data() == nullptr) break;
      take_chunk(streams_[slot], chunk);
      ring.pop();
      moved += chunk.size() == 0 ? 1 : chunk.size();
      unreleased += static_cast<std::uint32_t>(chunk.size());
      // Each release takes the line with the tail away from the producer's core, so it is not done per chunk.
      if (unreleased >= ring.size() / 8) {
        ring.release();
        unreleased = 0;
      }
    }
    if (moved != 0) ring.release();
    return moved;
  }

  /// Gives up a record of `slot` that will get no more chunks. Whoever began it counts it as lost.
  void abort_unfinished(std::size_t slot) { abort_unfinished(streams_[slot]); }

  std::uint32_t written() const { return written_.value(); }
  std::uint32_t failed() const { return failed_.value(); }

  /// Cause of the latest record the sink lost, `ok` if there was none.
  Status last_failure() const { return static_cast<Status>(last_failure_.load(std::memory_order_relaxed)); }

 private:
  enum class State : std::uint8_t { idle, writing, discarding };

  struct Stream {
    NanoWriter writer;
    State state = State::idle;
    std::uint64_t last_us = 0;
  };

  void take_chunk(Stream& stream, Bytes chunk) {
    ChunkHead head{};
    if (chunk.size() < sizeof head) return;
    std::memcpy(&head, chunk.data(), sizeof head);
    const Bytes body = chunk.subspan(sizeof head);
    if (head.kind != ChunkKind::data) abort_unfinished(stream);
    if (head.kind == ChunkKind::aborted) return;

    Status status = Status::ok;
    if (head.kind == ChunkKind::record) {
      stream.state = State::writing;
      status = head.head_bytes <= body.size()
                   ? begin(stream, body.first(head.head_bytes), body.subspan(head.head_bytes))
                   : Status::malformed;
    } else if (stream.state == State::writing) {
      status = stream.writer.append(body);
    }
    if (status == Status::ok && head.last != 0 && stream.state == State::writing)
      status = stream.writer.commit();
    if (status != Status::ok) {
      stream.state = State::discarding;
      last_failure_.store(static_cast<std::uint8_t>(status), std::memory_order_relaxed);
    }
    if (head.last != 0) {
      // A record that its recorder gives up later is counted there, so one lost here counts only once it is
      // whole.
      if (stream.state == State::writing) written_.add_one();
      if (stream.state == State::discarding) failed_.add_one();
      stream.state = State::idle;
    }
  }

  Status begin(Stream& stream, Bytes encoded, Bytes data) {
    const Result<RecordView> record = RecordView::parse(encoded);
    if (!record.ok()) return record.status();
    // Two records of one microsecond would share a name if type, name, task and stream are the same. Between
    // recorders the sink tells.
    const std::uint64_t made = record.value().head().unix_us;
    std::uint64_t unix_us = made > stream.last_us ? made : stream.last_us + 1;
    constexpr int kTries = 1000;
    Status status = Status::already_exists;
    for (int i = 0; i < kTries && status == Status::already_exists; ++i, ++unix_us) {
      status = stream.writer.begin(sink_, record.value(), unix_us, data, scratch_);
      stream.last_us = unix_us;
    }
    return status;
  }

  void abort_unfinished(Stream& stream) {
    if (stream.state == State::writing) stream.writer.abort();
    stream.state = State::idle;
  }

  Sink& sink_;
  MutableBytes scratch_;
  Stream streams_[OPDUMP_MAX_RECORDERS];
  Count written_;
  Count failed_;
  std::atomic<std::uint8_t> last_failure_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
