#include "src/tool/read/journal/journal_reader.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/tool/read/dump/beside_name.hpp"
#include "src/tool/read/dump/directory_entries.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

std::vector<std::string> journal_names(const std::string& directory) {
  std::vector<std::string> names = names_in(directory, [](std::string_view name) {
    JournalName journal;
    return parse_journal_name(name, journal);
  });
  std::erase_if(names, [&directory](const std::string& name) {
    struct stat status {};
    return !look_at(directory.empty() ? name : path_of(directory, name), status) || !S_ISREG(status.st_mode);
  });
  return names;
}

JournalReader::JournalReader() : buffer_(kMaxLineBytes + kBlockBytes) {}

bool JournalReader::open(const std::string& path) {
  first_ = end_ = 0;
  at_end_ = false;
  number_ = 0;
  line_ = {};
  file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0) {
    error_ = strerror(errno);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    error_ = "not a regular file";
    return false;
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  return true;
}

bool JournalReader::fill() {
  if (first_ != 0) {
    memmove(buffer_.data(), buffer_.data() + first_, end_ - first_);
    end_ -= first_;
    first_ = 0;
  }
  ssize_t got;
  do got = read(file_.get(), buffer_.data() + end_, kBlockBytes);
  while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_ = strerror(errno);
    return false;
  }
  at_end_ = got == 0;
  end_ += static_cast<std::size_t>(got);
  return true;
}

JournalReader::Next JournalReader::next() {
  bool too_long = false;
  std::size_t looked = first_;
  ++number_;
  for (;;) {
    const char* from = buffer_.data() + looked;
    if (const void* found = memchr(from, '\n', end_ - looked)) {
      const std::size_t at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      line_ = {buffer_.data() + first_, at - first_};
      first_ = at + 1;
      return too_long || line_.size() > kMaxLineBytes ? Next::too_long : Next::line;
    }
    if (at_end_) {
      line_ = {buffer_.data() + first_, end_ - first_};
      const bool nothing = line_.empty() && !too_long;
      first_ = end_;
      return nothing ? Next::end : Next::torn;
    }
    if (end_ - first_ > kMaxLineBytes) {
      too_long = true;
      first_ = end_;
    }
    looked = end_ - first_;  // `fill` moves what is left to the start
    if (!fill()) return Next::failed;
  }
}

}  // namespace opdump::tool
