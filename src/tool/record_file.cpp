#include "record_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace opdump::tool {

RecordFile::RecordFile() : start_(kBlockBytes), block_(kBlockBytes) {}

RecordFile::Opened RecordFile::fail(Opened what, std::uint64_t offset, const std::string& reason) {
  error_ = error_at(offset, reason);
  return what;
}

std::string RecordFile::error_at(std::uint64_t offset, const std::string& reason) const {
  return path_ + ": at byte " + std::to_string(offset) + ": " + reason;
}

bool RecordFile::read_at(std::uint64_t offset, MutableBytes to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got =
        pread(file_.get(), to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail(Opened::failed, offset + done,
           got == 0 ? "the file ends here; it was longer when it was opened" : strerror(errno));
      return false;
    }
    done += static_cast<std::size_t>(got);
  }
  return true;
}

Bytes RecordFile::read(std::uint64_t offset, std::size_t count) {
  if (offset < start_bytes_) {
    // What is here already ends anywhere, and a block ends between elements.
    const std::size_t there = start_bytes_ - static_cast<std::size_t>(offset);
    const std::size_t usable = there < count ? there / 16 * 16 : count;
    if (usable != 0) return Bytes(start_).subspan(static_cast<std::size_t>(offset), usable);
  }
  const MutableBytes block = MutableBytes(block_).first(count);
  if (!read_at(offset, block)) return {};
  return block;
}

RecordFile::Opened RecordFile::open(const std::string& path) {
  path_ = path;
  start_bytes_ = 0;
  file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0) {
    error_ = path_ + ": " + strerror(errno);
    return Opened::failed;
  }
  if (!S_ISREG(status.st_mode)) {
    error_ = path_ + ": not a regular file";
    return Opened::failed;
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  const std::size_t first = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_, kBlockBytes));
  if (!read_at(0, MutableBytes(start_).first(first))) return Opened::failed;
  start_bytes_ = first;

  NanoReader reader;
  Status opened = reader.open(Bytes(start_).first(start_bytes_), bytes_);
  if (opened == Status::not_a_record)
    return fail(Opened::not_a_record, std::min<std::uint64_t>(bytes_, 8), "not a dump record");
  if (opened == Status::truncated && reader.head_bytes() > start_bytes_ && reader.head_bytes() <= bytes_) {
    if (reader.head_bytes() > kMaxHeadBytes)
      return fail(Opened::failed, 0, "the head claims to have more than 64 MiB");
    const std::size_t head_bytes = static_cast<std::size_t>(reader.head_bytes());
    if (start_.size() < head_bytes) start_.resize(head_bytes);
    if (!read_at(start_bytes_, MutableBytes(start_).subspan(start_bytes_, head_bytes - start_bytes_)))
      return Opened::failed;
    start_bytes_ = head_bytes;
    opened = reader.open(Bytes(start_).first(start_bytes_), bytes_);
  }
  if (opened != Status::ok) return fail(Opened::failed, 0, std::string(to_string(opened)) + ", in the head");
  version_ = reader.version();
  for (NanoTensor tensor; reader.next(tensor);) {
  }
  if (reader.status() != Status::ok)
    return fail(Opened::failed, reader.error_offset(), std::string(to_string(reader.status())));
  return Opened::ok;
}

NanoReader RecordFile::tensors() const {
  NanoReader reader;
  // Went well in `open`, with the same bytes.
  static_cast<void>(reader.open(Bytes(start_).first(start_bytes_), bytes_));
  return reader;
}

}  // namespace opdump::tool
