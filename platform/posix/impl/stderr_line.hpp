#pragma once
#include <sys/uio.h>
#include <unistd.h>

#include <string_view>

#include "platform/posix/base/write_all.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Writes a line that begins with `head` to stderr: by one call, which is allowed wherever something is
/// captured and keeps the line whole.
inline void write_stderr_line(std::string_view head, std::string_view text) {
  const auto part = [](std::string_view of) { return iovec{const_cast<char*>(of.data()), of.size()}; };
  const iovec parts[] = {part(head), part(text), part("\n")};
  const FileSizeSignal waits;
  static_cast<void>(!::writev(STDERR_FILENO, parts, 3));
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
