#include "platform/posix/tree/appended_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/format/journal_lines.hpp"
#include "platform/posix/base/write_all.hpp"
#include "platform/posix/tree/short_journal.hpp"
#include "platform/posix/tree/tree_files.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Whether the last line is that of a dump that is closed.
bool closes(std::span<const Bytes> parts) {
  if (parts.empty() || parts.back().empty()) return false;
  const std::string_view text = as_text(parts.back());
  return text.substr(text.rfind('\n', text.size() - 2) + 1)
      .starts_with(kJournalStart<JournalLineKind::closed>);
}

}  // namespace

int AppendedFile::append(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each,
                         JournalRoom* room, bool is_short, std::uint64_t most_growth, Appended& done) {
  struct stat status;
  // An open file keeps its number, so that no other one can have it.
  const bool same = file_ && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    status.st_dev == device_ && status.st_ino == inode_;
  if (!same) {
    if (const int error = open(directory, name, status)) return error;
  }
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {  // its bytes might land elsewhere
    file_.reset();
    return EPERM;
  }
  is_journal_ = room != nullptr;
  done.made = status.st_size == 0;
  if (done.made)
    if (const int error = force_mode(file_.get(), 0600)) return error;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t bytes = size;
  for (const Bytes part : parts) bytes += part.size();
  const bool folds = room != nullptr && (!room->take(file_.get(), status, bytes - size) || is_short);
  int error = 0;
  if (folds) {
    JournalRoom::Room& of = room->of(status);
    if (of.tail == 0) of.tail = size;
    const std::uint64_t most = std::min(of.end == 0 ? UINT64_MAX : of.end - size, most_growth);
    error = fold_losses(directory, name, of.tail, parts, most, bytes);
    if (bytes < size) room->take_again(file_.get(), of, bytes);
  } else {
    if (room != nullptr) room->of(status).tail = 0;
    error = write_all(file_.get(), parts);
  }
  if (error == 0 && syncs_each && fsync(file_.get()) != 0) error = errno;
  if (error != 0 && !folds && ftruncate(file_.get(), status.st_size) != 0) return errno;
  if (error != 0) return error;
  done.growth = static_cast<std::int64_t>(bytes) - status.st_size;
  if (room != nullptr && closes(parts)) room->give_back(file_.get(), room->of(status), bytes);
  return 0;
}

int AppendedFile::open(int directory, const char* name, struct stat& status) {
  const int error = close();
  file_.reset(open_at(directory, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file_) return errno;
  if (fstat(file_.get(), &status) != 0) {
    const int refused = errno;
    file_.reset();  // it would pass for the file of before
    return refused;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return error;
}

std::size_t AppendedFile::tell_unsynced(int code) {
  char memory[32];
  TextWriter line(memory);
  line.add(kJournalStart<JournalLineKind::unsynced>).add_decimal(static_cast<std::uint64_t>(code)).add('\n');
  const Bytes part = as_bytes(line.text());
  return file_ && is_journal_ && write_all(file_.get(), {&part, 1}) == 0 ? part.size() : 0;
}

int AppendedFile::close() {
  return file_ ? file_.close() : 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
