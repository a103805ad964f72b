#include "src/tool/read/seal/sealed_reader.hpp"

#include <algorithm>
#include <array>

#include "opdump/format/journal_lines.hpp"

namespace opdump::tool {
namespace {

/// What `extract` adds to a journal, in clear, when the log has gone round.
constexpr std::string_view kCutNote = "overwritten\n";
static_assert(kCutNote.starts_with(journal_word(JournalLineKind::overwritten)));

/// What `receive` adds to a journal, in clear, of frames that never arrived; two numbers follow.
constexpr std::string_view kUnreceived = kJournalStart<JournalLineKind::unreceived>;

constexpr std::size_t kMostNoteBytes = 64;

/// Whether `line`, with its end, is one that `extract` or `receive` adds.
bool is_open_note(std::string_view line) {
  if (line == kCutNote) return true;
  return line.starts_with(kUnreceived) && line.ends_with('\n') &&
         line.substr(kUnreceived.size()).find_first_not_of("0123456789,\n") == line.npos;
}

struct ChunkHead {
  explicit ChunkHead(Bytes at)
      : stream(load_little_endian<std::uint32_t>(at.data())),
        number(load_little_endian<std::uint32_t>(at.data() + sealed::kChunkOffset)),
        bytes(load_little_endian<std::uint32_t>(at.data() + sealed::kSizeOffset) >> 1),
        last((load_little_endian<std::uint32_t>(at.data() + sealed::kSizeOffset) & 1) != 0) {}

  std::uint32_t stream;
  std::uint32_t number;
  std::uint32_t bytes;
  bool last;
};

std::array<std::byte, kSealNonceBytes> nonce_of(std::uint32_t stream, std::uint32_t number, std::size_t bytes,
                                                bool last) {
  std::array<std::byte, kSealNonceBytes> nonce;
  store_little_endian(nonce.data(), stream);
  store_little_endian(nonce.data() + sealed::kChunkOffset, number);
  store_little_endian(nonce.data() + sealed::kSizeOffset,
                      static_cast<std::uint32_t>(bytes * 2 + (last ? 1 : 0)));
  return nonce;
}

std::string chunk_text(std::uint32_t number) {
  return "chunk " + std::to_string(number);
}

}  // namespace

void SealedReader::fault(const std::string& message) {
  ++faults_;
  use_.fault(message);
}

std::size_t SealedReader::next_head(std::size_t from) const {
  const std::size_t found = as_text(file_).find(sealed::kMagic, from);
  return found == std::string_view::npos ? file_.size() : found;
}

/// Takes the lines that other commands have added off the end of the file.
void SealedReader::split_notes() {
  std::string_view text = as_text(file_);
  while (text.ends_with('\n')) {
    const std::string_view end = text.substr(text.size() - std::min(text.size(), kMostNoteBytes));
    const std::size_t at = std::max(end.rfind(kCutNote) + 1, end.rfind(kUnreceived) + 1);
    if (at == 0 || !is_open_note(end.substr(at - 1))) break;
    text.remove_suffix(end.size() - (at - 1));
  }
  notes_ = as_text(file_).substr(text.size());
  file_ = file_.first(text.size());
}

void SealedReader::take_notes() {
  if (notes_.find(kCutNote) != notes_.npos)
    use_.note("lines at its beginning are overwritten, as 'extract' has added");
  if (notes_.find(kUnreceived) != notes_.npos)
    use_.note("frames never arrived over the wire, as 'receive' has added");
  if (accepted_ && !notes_.empty()) use_.text(as_bytes(notes_));
}

void SealedReader::read(Bytes file) {
  file_ = file;
  const bool begins = begins_stream(file);
  if (begins && (file.size() <= sealed::kKindOffset || file[sealed::kKindOffset] != sealed::kLines))
    return read_object();
  std::uint32_t number = 0;
  if (begins || next_head(0) != file.size() || resume(0, number)) return read_lines();
  fault("is not sealed, or its first bytes are changed");
}

/// Whether the chunk that lies at `offset` opens with another head; leaves its text in `chunk_`.
bool SealedReader::opens(Bytes nonce, Bytes associated, std::size_t offset, std::size_t bytes) {
  if (bytes > sealed::kMaxChunkBytes || sealed::kChunkMore + bytes > file_.size() - offset) return false;
  const Bytes from = file_.subspan(offset + sealed::kChunkHeadBytes, bytes + kSealTagBytes);
  chunk_.assign(from.begin(), from.end());
  if (!key_.open(nonce.first<kSealNonceBytes>(), associated, chunk_)) return false;
  chunk_.resize(bytes);
  return true;
}

/// Leaves the head in `head_`. False after a fault.
bool SealedReader::check_head(std::size_t offset) {
  const Bytes rest = file_.subspan(offset);
  if (rest.size() < sealed::kHeadBytes) {
    cut_short_ = true;
    return fault("ends within the head of a stream"), false;
  }
  const SealedHead head(rest);
  head_.assign(head.bytes().begin(), head.bytes().end());
  start_.clear();
  named_ = wanted_ = false;
  if (head.version() != sealed::kVersion)
    return fault("its head says version " + std::to_string(head.version()) + ", and this opdump reads " +
                 std::to_string(sealed::kVersion) + ": made by a newer one, or changed"),
           false;
  if (std::to_integer<unsigned>(head.kind()) > 1 || head.most() == 0 ||
      head.most() > sealed::kMaxChunkBytes || head.stream() >= sealed::kMaxStreams)
    return fault("its head is changed"), false;
  const bool shares = key_.begin(head.ephemeral());
  const Bytes own = Bytes(key_.recipient()).first(sealed::kKeyIdBytes);
  if (!std::equal(own.begin(), own.end(), head.key_id().begin())) {
    std::vector<std::byte> mended = head_;
    std::copy(own.begin(), own.end(), mended.begin() + sealed::kKeyIdOffset);
    if (shares && rest.size() >= sealed::kHeadBytes + sealed::kChunkMore) {
      const Bytes first = rest.subspan(sealed::kHeadBytes, kSealNonceBytes);
      if (opens(first, mended, offset + sealed::kHeadBytes, ChunkHead(first).bytes))
        return fault("the key id in its head is changed"), false;
    }
    wrong_key_ = true;
    return fault("sealed for key " + key_id_text(head.key_id()) + ", and the key given is " +
                 key_id_text(own) + ": the wrong key"),
           false;
  }
  if (!shares) return fault("its head is changed"), false;
  return true;
}

/// Whether the chunk at `offset`, whose stream has lost its head, opens with what is known of a session.
/// Leaves the head in `head_`.
bool SealedReader::resume(std::size_t offset, std::uint32_t& number) {
  if (known_ == nullptr || file_.size() - offset < sealed::kChunkMore) return false;
  const ChunkHead chunk(file_.subspan(offset));
  for (const std::vector<std::byte>& known : *known_) {
    head_ = known;
    head_[sealed::kKindOffset] = sealed::kLines;
    store_little_endian(head_.data() + sealed::kStreamOffset, chunk.stream);
    if (chunk.number == 0 || !key_.begin(SealedHead(head_).ephemeral()) ||
        !opens(file_.subspan(offset, kSealNonceBytes), head_, offset, chunk.bytes))
      continue;
    number = chunk.number;
    start_.clear();
    named_ = true;
    return true;
  }
  return false;
}

/// Why the chunk at `offset`, where chunk `number` belongs, is not that one.
std::string SealedReader::chunk_fault(std::size_t offset, std::uint32_t number) {
  const SealedHead head(head_);
  const std::size_t left = file_.size() - offset;
  const std::string where = chunk_text(number);
  if (left < sealed::kChunkMore) {
    cut_short_ = true;
    return "ends within " + where + ": the rest is missing";
  }
  const ChunkHead found(file_.subspan(offset));
  const Bytes nonce = file_.subspan(offset, kSealNonceBytes);
  if (opens(nonce, head_, offset, found.bytes))
    return chunk_text(found.number) + " stands where " + where + " belongs: chunks are " +
           (found.number < number ? "repeated or swapped" : "missing or swapped");
  if (found.stream != head.stream()) {
    std::vector<std::byte> other = head_;
    store_little_endian(other.data() + sealed::kStreamOffset, found.stream);
    for (const std::byte kind : {sealed::kObject, sealed::kLines}) {
      other[sealed::kKindOffset] = kind;
      if (!opens(nonce, other, offset, found.bytes)) continue;
      if (number == 0) return "its head is changed, or its first chunk is another object's";
      return chunk_text(found.number) + " of another object of the same dump, stream " +
             std::to_string(found.stream) + ", stands where " + where + " belongs";
    }
  }
  // With the chunk's head as it should be?
  if (opens(nonce_of(head.stream(), number, head.most(), false), head_, offset, head.most()))
    return "the head of " + where + " is changed";
  if (opens(nonce_of(head.stream(), number, left - sealed::kChunkMore, true), head_, offset,
            left - sealed::kChunkMore))
    return "the head of " + where + " is changed";
  const bool as_expected =
      found.stream == head.stream() && found.number == number && found.bytes <= head.most();
  if (as_expected && found.bytes + sealed::kChunkMore > left) {
    cut_short_ = true;
    return "ends within " + where + ": the rest is missing";
  }
  return number == 0 ? "its head or its first chunk is changed" : where + " is changed";
}

/// Reads chunk `number` at `offset`, and goes on behind it. False: it is not that chunk.
bool SealedReader::read_chunk(std::size_t& offset, std::uint32_t number, bool& last) {
  if (file_.size() - offset < sealed::kChunkMore) return false;
  const SealedHead head(head_);
  const ChunkHead chunk(file_.subspan(offset));
  if (chunk.stream != head.stream() || chunk.number != number || chunk.bytes > head.most() ||
      !opens(file_.subspan(offset, kSealNonceBytes), head_, offset, chunk.bytes))
    return false;
  last = chunk.last;
  offset += sealed::kChunkMore + chunk.bytes;
  return true;
}

/// Hands on what `chunk_` holds. `before`: the stream before this one, if that was read; `sure`: to its end.
/// False after a fault.
bool SealedReader::take(bool lines, const std::optional<Before>& before, bool sure, bool cut) {
  if (named_) {
    if (wanted_) use_.text(chunk_);
    return true;
  }
  start_ += as_text(chunk_);
  ByteReader reader(as_bytes(start_));
  const std::uint16_t directory_bytes = reader.read<std::uint16_t>();
  const std::uint16_t file_bytes = reader.read<std::uint16_t>();
  const std::string directory(as_text(reader.take(directory_bytes)));
  const std::string file(as_text(reader.take(file_bytes)));
  Before told = {sealed::kNoStream, sealed::kNoStream};
  if (lines) told = {reader.read<std::uint32_t>(), reader.read<std::uint32_t>()};
  if (reader.truncated()) return true;
  named_ = true;
  const bool first = told.stream == sealed::kNoStream;
  if (lines && !first && before && sure && !(told == *before)) {
    fault("pieces of lines before stream " + std::to_string(SealedHead(head_).stream()) +
          " are missing, repeated or swapped");
  } else if (lines && !first && !before) {
    const std::string message =
        "its beginning is missing: the pieces up to stream " + std::to_string(told.stream);
    cut ? use_.note(message) : fault(message);
  }
  wanted_ = use_.name(directory, file, lines);
  accepted_ |= wanted_;
  const Bytes rest = as_bytes(start_).subspan(reader.position());
  if (wanted_ && !rest.empty()) use_.text(rest);
  return wanted_;
}

void SealedReader::read_object() {
  if (!check_head(0)) return;
  std::size_t offset = sealed::kHeadBytes;
  for (std::uint32_t number = 0;; ++number) {
    if (offset == file_.size()) {
      cut_short_ = true;
      return fault("ends before " + chunk_text(number) + ": the rest is missing");
    }
    bool last = false;
    if (!read_chunk(offset, number, last)) return fault(chunk_fault(offset, number));
    if (!take(false, std::nullopt, false, false)) return;
    if (last) break;
  }
  if (!named_) return fault("its text has no name: not made by opdump");
  if (offset != file_.size())
    fault(std::to_string(file_.size() - offset) + " bytes stand behind its last chunk");
}

void SealedReader::read_lines() {
  split_notes();
  const bool cut = notes_.find(kCutNote) != notes_.npos;
  // Who has added notes knows of pieces that are missing, so what follows them is opened too.
  const bool torn = !notes_.empty();
  std::optional<Before> before;
  std::vector<std::byte> session;  // the ephemeral key of the stream before
  bool sure = false;               // that stream was read to its end
  std::size_t offset = 0;
  while (offset < file_.size()) {
    std::uint32_t number = 0;
    const bool begins = begins_stream(file_.subspan(offset));
    const bool resumes = !begins && torn && resume(offset, number);
    if (resumes) {
      offset == 0 && cut
          ? use_.note("its beginning is overwritten, and its name with it")
          : fault("the beginning of stream " + std::to_string(SealedHead(head_).stream()) + " is missing");
      accepted_ = wanted_ = use_.name({}, {}, true);
    }
    if (!begins && !resumes) {
      const std::size_t next = next_head(offset);
      const std::string message = std::to_string(next - offset) + " bytes at byte " + std::to_string(offset) +
                                  " cannot be opened, since the head of their stream is missing";
      offset == 0 && cut ? use_.note(message) : fault(message);
      offset = next;
      sure = false;
      continue;
    }
    if (begins && !check_head(offset)) {
      if (wrong_key_) return;
      offset = next_head(offset + 1);
      sure = false;
      continue;
    }
    const SealedHead head(head_);
    const Bytes ephemeral = head.ephemeral();
    if (!std::equal(ephemeral.begin(), ephemeral.end(), session.begin(), session.end())) {
      if (!session.empty()) sure = false;
      session.assign(ephemeral.begin(), ephemeral.end());
    }
    if (begins) offset += sealed::kHeadBytes;
    const std::uint32_t first = number;
    bool good = true;
    bool whole = true;
    while (good) {
      if (offset == file_.size()) break;
      if (number != first && begins_stream(file_.subspan(offset))) break;
      bool last = false;
      good = read_chunk(offset, number, last);
      if (!good) {
        fault("stream " + std::to_string(head.stream()) + ": " + chunk_fault(offset, number));
        whole = false;
        good = torn && resume(offset, number);
        if (good) continue;
        offset = next_head(offset);
        break;
      }
      take(true, before, sure, cut);
      ++number;
    }
    if (good && number == first) fault("ends behind the head of stream " + std::to_string(head.stream()));
    before = {head.stream(), number};
    sure = whole;
  }
  take_notes();
}

}  // namespace opdump::tool
