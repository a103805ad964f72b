#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opdump/impl/record/ring_record.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/types/model.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

/// The names of the journals in `directory` (empty: the working directory), in natural order; none if it
/// cannot be read.
std::vector<std::string> journal_names(const std::string& directory);

/// The lines of a text file, read in blocks, so that it may be larger than memory.
class JournalReader {
 public:
  enum class Next {
    line,
    too_long,  ///< a line longer than any a journal has; passed over
    torn,      ///< the file's end, and what stands there has no line end; `line()` is that
    end,
    failed,  ///< `error()` says why
  };

  JournalReader();

  /// False, with `error()`, when there is no such regular file.
  bool open(const std::string& path);

  Next next();

  std::string_view line() const { return line_; }
  std::uint64_t number() const { return number_; }  ///< of the line, from 1
  std::uint64_t bytes() const { return bytes_; }    ///< of the file when it was opened
  const std::string& error() const { return error_; }

 private:
  static constexpr std::size_t kBlockBytes = 64 * 1024;
  static constexpr std::size_t kMaxLineBytes = 512 * 1024;

  bool fill();

  posix::UniqueFd file_;
  std::string error_;
  std::vector<char> buffer_;
  std::size_t first_ = 0;  ///< of what is in the buffer and not told yet
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::string_view line_;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

/// The account of a history in flash, beside its objects.
inline constexpr std::string_view kHistoryFile = "opdump.history";

/// "step 12: torn, objects 3 of ?" for each step of which such an account says that power took the rest.
std::vector<std::string> torn_steps(const std::string& path);

/// What became of the records of one operator.
struct RecordCounts {
  std::uint64_t written = 0;
  std::uint64_t reduced = 0;  ///< of `written`
  std::uint64_t lost = 0;
};

/// What journals tell of them: line by line, and as sessions count operators with losses, whose records need
/// not all have a line.
struct ToldRecords {
  RecordCounts lines{};
  RecordCounts sessions{};

  /// The greater of both.
  RecordCounts counts() const {
    return {.written = std::max(lines.written, sessions.written),
            .reduced = std::max(lines.reduced, sessions.reduced),
            .lost = std::max(lines.lost, sessions.lost)};
  }
};

/// By model and operator, as `{type}.{name}`.
using OpRecordCounts = std::map<std::pair<std::string, std::string>, ToldRecords>;

/// The paths that the records of one config and device have, as a journal gives them and without a time
/// stamp. Records with digests have those that CANN's layout would give them.
class RecordPaths {
 public:
  RecordPaths(const DumpForm& form, std::uint32_t device);

  /// Of operator `op` at `step` of the model `id`, which has the name `model` in the dump. Good until the next call.
  const JournalPath& in_model(const OpDesc& op, std::string_view model, std::uint32_t id, std::uint64_t step);

  /// The same outside a model.
  const JournalPath& outside(const OpDesc& op);

 private:
  const JournalPath& of(const OpDesc& op, RecordHead head, std::string_view model);

  DumpTarget target_;
  std::vector<std::uint64_t> head_;
  std::vector<std::byte> name_;
  std::string text_;
  JournalPath path_;
};

}  // namespace opdump::tool
