#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/boot.hpp"
#include "opdump/format/sealed.hpp"
#include "opdump/port/sealer.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Seals a dump for the holder of one private key before it reaches another sink, a tree, flash or a wire:
/// the bytes of objects and the lines of journals, in chunks, as format/sealed.hpp says. `opdump open`
/// reads them, and names what was changed, swapped, repeated or left out.
///
///     PsaSealer sealer;
///     std::byte memory[SealedSink<FlashLog>::bytes_for(512)];
///     SealedSink<FlashLog> sealed(log, sealer, memory);     // the session's sink
///     Status status = boot(session, sealed, plan, arena);   // with "seal" in the config
///
/// *What stays in clear:* the names of directories and files, which tell models, operators, steps and times;
/// how long the objects are, and when they were written; the key id of the recipient. What of a dump was
/// removed as a whole, or a journal's last lines, tells the journal's own account once it is open.
///
/// *Losses of power.* What the other sink has committed, and lines that it has taken, can be opened whatever
/// happens after. Of what it has of an object that was never committed, all but the chunk under way can.
///
/// *Costs.* `bytes_for` of memory, which is the caller's, and this object; no heap. An object is longer by 84
/// bytes, its name and 28 bytes per chunk; each call of `append_lines` by 28, and about every kLinesBytes by
/// 92 and the name. Each byte is copied once and encrypted by the thread that drains.
///
/// *Before a history* that lets steps go (`To::kLetsGo`, as a FlashHistory has it), what is kept is sealed.
/// Each call of `append_lines` is then a stream of its own, so that it can be opened without those that were
/// let go, and which of them are missing is not told.
///
/// *Time.* A call seals as many bytes as it hands on, `most_bytes` at most, besides what the other sink takes
/// for those: over a FlashLog `most_bytes(FlashLog::most_bytes(bytes, records), chunk_bytes)` in all.
/// ChaCha20-Poly1305 takes the same time for any bytes of one length.
///
/// `To` is the class of the other sink; with `Sink` its `follow` is not known, and the program calls that.
/// Not thread-safe.
template <class To = Sink>
class SealedSink final : public Sink {
 public:
  static constexpr std::size_t kMaxOpenObjects = opdump::kMaxOpenObjects;
  static constexpr std::uint32_t kMinChunkBytes = 64;
  static constexpr std::uint32_t kLinesBytes = 2048;

  /// Memory for chunks of `chunk_bytes` bytes of text.
  static constexpr std::size_t bytes_for(std::uint32_t chunk_bytes) {
    return (kMaxOpenObjects + 1) * (sealed::kChunkMore + chunk_bytes);
  }

  /// Most bytes that the sealer is given, and the other sink gets in the place of `bytes`, when a session's call
  /// hands them on, names and journals' lines included: what chunks have kept since the call before is among them.
  static constexpr std::uint32_t most_bytes(std::uint32_t bytes, std::uint32_t chunk_bytes) {
    return 2 * bytes + 2 * (sealed::kChunkMore + chunk_bytes) + 512;
  }

  /// Without a sealer: passes everything on as it is, and refuses to seal.
  explicit SealedSink(To& sink) : sink_(sink) {}
  /// Passes everything on as it is until `seal`. `sealer` and `memory` are this object's as long as it lives.
  constexpr SealedSink(To& sink, Sealer& sealer, MutableBytes memory) : sink_(sink) { equip(sealer, memory); }
  SealedSink(const SealedSink&) = delete;
  SealedSink& operator=(const SealedSink&) = delete;

  /// Replaces sealer and memory, while nothing is sealed.
  constexpr void equip(Sealer& sealer, MutableBytes memory) {
    sealer_ = &sealer;
    memory_ = memory;
  }

  /// From now on everything is sealed for `recipient`, the 32 bytes of a public key, under a key of its own.
  /// While no object is open. `not_supported` without a sealer, `invalid_argument` for a key of another
  /// length, `no_memory` for chunks below kMinChunkBytes, and errors of `Sealer::begin`: then nothing is
  /// taken any more, until `seal` succeeds or `pass` is called.
  [[nodiscard]] Status seal(std::string_view recipient) {
    if (!build::kEnabled) return Status::ok;
    mode_ = Mode::refuses;
    if (sealer_ == nullptr) return Status::not_supported;
    if (recipient.size() != kSealKeyBytes) return Status::invalid_argument;
    chunk_bytes_ = static_cast<std::uint32_t>(memory_.size() / (kMaxOpenObjects + 1));
    if (chunk_bytes_ < sealed::kChunkMore + kMinChunkBytes) return Status::no_memory;
    chunk_bytes_ -= sealed::kChunkMore;
    if (chunk_bytes_ > sealed::kMaxChunkBytes) chunk_bytes_ = sealed::kMaxChunkBytes;
    std::memcpy(head_, sealed::kMagic.data(), sealed::kMagic.size());
    head_[sealed::kVersionOffset] = std::byte{sealed::kVersion};
    store_little_endian(head_ + sealed::kMostOffset, chunk_bytes_);
    std::memcpy(head_ + sealed::kKeyIdOffset, recipient.data(), sealed::kKeyIdBytes);
    const std::span<std::byte, kSealKeyBytes> ephemeral(head_ + sealed::kEphemeralOffset, kSealKeyBytes);
    const SealKey key(reinterpret_cast<const std::byte*>(recipient.data()), kSealKeyBytes);
    const Status status = sealer_->begin(key, ephemeral);
    if (status != Status::ok) return status;
    next_stream_ = 0;
    for (Stream& stream : streams_) stream = {};
    for (Lines& lines : lines_) lines = {};
    mode_ = Mode::seals;
    return status;
  }

  /// From now on everything passes as it is. While no object is open.
  void pass() { mode_ = Mode::passes; }

  bool seals() const { return build::kEnabled && mode_ == Mode::seals; }
  bool passes() const { return mode_ == Mode::passes; }

  /// See ConfigurableSink: the other sink follows all but "seal". Where the config does not say "seal", what
  /// was sealed before is sealed on.
  [[nodiscard]] Status follow(const DumpOptions& options, JournalDetail journal) {
    DumpOptions others = options;
    others.seal = {};
    const Status status = follow_options(sink_, others, journal);
    return status == Status::ok && !seal_key(options).empty() ? seal(options.seal) : status;
  }

  /// Errors also as `append`: the head of an object may fill a chunk. `no_space` after sealed::kMaxStreams
  /// objects under one key.
  Result<ObjectId> begin(const ObjectName& name) override {
    if (mode_ == Mode::passes) return sink_.begin(name);
    std::uint32_t slot = 0;
    while (slot < kMaxOpenObjects && streams_[slot].inner != kNoObject) ++slot;
    if (slot == kMaxOpenObjects) return Status::too_many_objects;
    Status status = renew(streams_[slot]);
    if (status != Status::ok) return status;
    const Result<ObjectId> inner = sink_.begin(name);
    if (!inner.ok()) return inner;
    streams_[slot].inner = inner.value();
    status = put_name(slot, name, nullptr);
    if (status == Status::ok) return ObjectId{slot};
    abort(ObjectId{slot});
    return status;
  }

  /// Errors of the sealer and of the other sink.
  [[nodiscard]] Status append(ObjectId object, std::span<const Bytes> parts) override {
    if (mode_ == Mode::passes) return sink_.append(object, parts);
    const std::uint32_t slot = static_cast<std::uint32_t>(object);
    return is_open(object) ? put(slot, parts, nullptr) : Status::invalid_argument;
  }

  [[nodiscard]] Status commit(ObjectId object, ObjectId with = kNoObject) override {
    if (mode_ == Mode::passes) return sink_.commit(object, with);
    Status status = finish(object);
    const bool two = build::kFaults && with != kNoObject;
    if (two && status == Status::ok) status = finish(with);
    if (status != Status::ok) {
      abort(object);
      if (two) abort(with);
      return status;
    }
    const ObjectId inner = release(object);
    return sink_.commit(inner, two ? release(with) : kNoObject);
  }

  void abort(ObjectId object) override {
    if (mode_ == Mode::passes) return sink_.abort(object);
    if (is_open(object)) sink_.abort(release(object));
  }

  [[nodiscard]] Status claim_journal(const ObjectName& name) override { return sink_.claim_journal(name); }

  /// Lines that are longer than a chunk reach the other sink piece by piece.
  [[nodiscard]] Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    if (mode_ == Mode::passes) return sink_.append_lines(name, parts);
    if (build::kLean && !build::kJournal) return Status::not_supported;
    Lines& lines = lines_of(name);
    Stream& stream = streams_[kMaxOpenObjects];
    Status status = Status::ok;
    if constexpr (lets_go()) lines = {lines.name};
    if (lines.bytes == 0 || lines.bytes >= kLinesBytes) {
      status = renew(stream);
      if (status != Status::ok) return status;
      lines.bytes = 0;
      status = put_name(kMaxOpenObjects, name, &lines);
    } else {
      stream = {lines.stream, lines.chunks, 0, kNoObject};
    }
    if (status == Status::ok) status = put(kMaxOpenObjects, parts, &name, &lines);
    if (status == Status::ok && stream.used != 0) status = flush(kMaxOpenObjects, false, &name, &lines);
    // What follows is opened also without what was refused.
    if (status != Status::ok) lines.bytes = kLinesBytes;
    return status;
  }

  [[nodiscard]] Status sync() override { return sink_.sync(); }

 private:
  enum class Mode : std::uint8_t { passes, seals, refuses };

  struct Stream {
    std::uint32_t number = 0;
    std::uint32_t chunks = 0;  ///< that were sealed
    std::uint32_t used = 0;    ///< bytes of text in the chunk under way
    ObjectId inner = kNoObject;
  };

  /// The latest stream in a file of lines.
  struct Lines {
    std::uint32_t name = 0;  ///< a hash of it
    std::uint32_t stream = sealed::kNoStream;
    std::uint32_t chunks = sealed::kNoStream;  ///< of it, that the other sink has
    std::uint32_t bytes = 0;                   ///< 0: there is none
  };

  /// A journal, that of failures and a table; small code writes one journal only.
  static constexpr std::uint32_t kLinesFiles = build::kLean ? 1 : 3;

  static constexpr bool lets_go() {
    if constexpr (requires { To::kLetsGo; }) return To::kLetsGo;
    return false;
  }

  bool is_open(ObjectId object) const {
    const std::uint32_t slot = static_cast<std::uint32_t>(object);
    return slot < kMaxOpenObjects && streams_[slot].inner != kNoObject;
  }

  ObjectId release(ObjectId object) {
    Stream& stream = streams_[static_cast<std::uint32_t>(object)];
    const ObjectId inner = stream.inner;
    stream.inner = kNoObject;
    return inner;
  }

  Status renew(Stream& stream) {
    if (mode_ != Mode::seals) return Status::not_supported;
    if (next_stream_ == sealed::kMaxStreams) return Status::no_space;
    stream = {next_stream_++, 0, 0, kNoObject};
    return Status::ok;
  }

  Lines& lines_of(const ObjectName& name) {
    std::uint32_t hash = 0x811c9dc5;
    for (const std::string_view text : {name.directory, name.file}) {
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
    }
    for (Lines& lines : lines_) {
      if (lines.name == hash) return lines;
    }
    Lines& lines = lines_[next_lines_];
    next_lines_ = (next_lines_ + 1) % kLinesFiles;
    lines = {};
    lines.name = hash;
    return lines;
  }

  std::byte* chunk(std::uint32_t slot) { return memory_.data() + slot * (chunk_bytes_ + sealed::kChunkMore); }

  /// `lines`: those that the stream is of; null: it is an object's.
  Status put_name(std::uint32_t slot, const ObjectName& name, Lines* lines) {
    std::byte lengths[4];
    std::byte before[8];
    store_little_endian(lengths, static_cast<std::uint16_t>(name.directory.size()));
    store_little_endian(lengths + 2, static_cast<std::uint16_t>(name.file.size()));
    if (lines != nullptr) {
      store_little_endian(before, lines->stream);
      store_little_endian(before + 4, lines->chunks);
    }
    const Bytes parts[] = {lengths,
                           as_bytes(name.directory),
                           as_bytes(name.file),
                           {before, lines == nullptr ? 0 : sizeof before}};
    return put(slot, parts, &name, lines);
  }

  /// `name` and `lines` for the slot of lines.
  Status put(std::uint32_t slot, std::span<const Bytes> parts, const ObjectName* name,
             Lines* lines = nullptr) {
    Stream& stream = streams_[slot];
    for (Bytes part : parts) {
      while (!part.empty()) {
        const std::size_t room = chunk_bytes_ - stream.used;
        const std::size_t now = part.size() < room ? part.size() : room;
        if (now == 0) {
          const Status status = flush(slot, false, name, lines);
          if (status != Status::ok) return status;
          continue;
        }
        std::memcpy(chunk(slot) + sealed::kChunkHeadBytes + stream.used, part.data(), now);
        stream.used += static_cast<std::uint32_t>(now);
        part = part.subspan(now);
      }
    }
    return Status::ok;
  }

  Status finish(ObjectId object) {
    return is_open(object) ? flush(static_cast<std::uint32_t>(object), true, nullptr, nullptr)
                           : Status::invalid_argument;
  }

  /// Seals the chunk under way and hands it on.
  Status flush(std::uint32_t slot, bool last, const ObjectName* name, Lines* lines) {
    Stream& stream = streams_[slot];
    std::byte* const at = chunk(slot);
    const std::uint32_t number = stream.chunks;
    if (number == sealed::kNoStream) return Status::no_space;
    store_little_endian(at, stream.number);
    store_little_endian(at + sealed::kChunkOffset, number);
    store_little_endian(at + sealed::kSizeOffset, stream.used * 2 + (last ? 1u : 0u));
    head_[sealed::kKindOffset] = lines != nullptr ? sealed::kLines : sealed::kObject;
    store_little_endian(head_ + sealed::kStreamOffset, stream.number);
    const std::size_t bytes = stream.used + sealed::kChunkMore;
    // Counted before it is sealed, so that its nonce is never used again.
    ++stream.chunks;
    stream.used = 0;
    Status status = sealer_->seal(SealNonce(at, kSealNonceBytes), head_,
                                  {at + sealed::kChunkHeadBytes, bytes - sealed::kChunkHeadBytes});
    if (status != Status::ok) return status;
    const Bytes parts[] = {head_, {at, bytes}};
    const std::span<const Bytes> given = std::span<const Bytes>(parts).subspan(number == 0 ? 0 : 1);
    if (lines == nullptr) return sink_.append(stream.inner, given);
    status = sink_.append_lines(*name, given);
    if (status != Status::ok) return status;
    lines->stream = stream.number;
    lines->chunks = stream.chunks;
    lines->bytes += static_cast<std::uint32_t>(bytes);
    return status;
  }

  To& sink_;
  Sealer* sealer_ = nullptr;
  MutableBytes memory_{};
  std::uint32_t chunk_bytes_ = 0;
  std::uint32_t next_stream_ = 0;
  Stream streams_[kMaxOpenObjects + 1];  ///< the last one is that of lines under way
  Lines lines_[kLinesFiles];
  std::uint32_t next_lines_ = 0;
  Mode mode_ = Mode::passes;
  std::byte head_[sealed::kHeadBytes] = {};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
