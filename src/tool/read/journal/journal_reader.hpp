#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/posix/base/unique_fd.hpp"

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

}  // namespace opdump::tool
