#include "src/tool/read/journal/journal_reader.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>

#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/record/record_view.hpp"
#include "src/config/text/display_text.hpp"
#include "src/tool/read/dump/beside_files.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
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

std::vector<std::string> torn_steps(const std::string& path) {
  std::vector<std::string> steps;
  JournalReader reader;
  if (!reader.open(path)) return steps;
  while (reader.next() == JournalReader::Next::line) {
    std::vector<std::string> cells;
    if (split_row(reader.line(), ',', cells) && cells.size() == 3 && cells[0] == "torn")
      steps.push_back("step " + printable(cells[1]) + ": torn, objects " + printable(cells[2]) + " of ?");
  }
  return steps;
}

RecordPaths::RecordPaths(const DumpForm& form, std::uint32_t device) {
  target_.form = form;
  target_.device_id = device;
  if ((form.statistics & kAnyDigest) != 0) target_.form.layout = Layout::cann;
}

const JournalPath& RecordPaths::in_model(const OpDesc& op, std::string_view model, std::uint32_t id,
                                         std::uint64_t step) {
  RecordHead head = {};
  head.in_model = 1;
  head.model_id = id;
  head.step = step;
  return of(op, head, model);
}

const JournalPath& RecordPaths::outside(const OpDesc& op) {
  return of(op, {}, {});
}

const JournalPath& RecordPaths::of(const OpDesc& op, RecordHead head, std::string_view model) {
  head.task_id = op.task_id;
  head.stream_id = op.stream_id;
  head.model_name_bytes = static_cast<std::uint16_t>(model.size());
  head.type_bytes = static_cast<std::uint16_t>(op.type.size());
  head.name_bytes = static_cast<std::uint16_t>(op.name.size());
  const std::size_t bytes = sizeof head + model.size() + op.type.size() + op.name.size();
  head_.assign((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
  auto* const memory = reinterpret_cast<std::byte*>(head_.data());
  std::memcpy(memory, &head, sizeof head);
  char* to = reinterpret_cast<char*>(memory) + sizeof head;
  for (const std::string_view text : {model, op.type, op.name}) to = std::copy(text.begin(), text.end(), to);
  path_ = {};
  const Result<RecordView> record = RecordView::parse({memory, bytes});
  if (!record.ok()) return path_;

  name_.resize(dump_name_bytes(model.size(), op.type.size(), op.name.size()));
  DumpNamer namer(name_);
  namer.enter(record.value(), target_);
  const std::string_view file = namer.make_untimed(record.value(), target_);
  char dump[kMaxDumpDirectoryBytes];
  std::string_view below = namer.in_directory(record.value(), target_, 0, file).directory;
  below.remove_prefix(static_cast<std::size_t>(put_dump_directory(dump, target_) - dump));
  if (below.starts_with('/')) below.remove_prefix(1);
  text_.assign(below).append(below.empty() ? "" : "/").append(file);
  // It is such a path as the core writes.
  static_cast<void>(parse_journal_path(text_, path_));
  return path_;
}

}  // namespace opdump::tool
