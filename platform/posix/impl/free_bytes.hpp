#pragma once
#include <sys/statvfs.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Bytes that this user may still write to the file system of `directory`; 0 when the system does not say.
inline std::uint64_t free_bytes(std::string_view directory) {
  struct ::statvfs status {};
  if (::statvfs(std::string(directory).c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

/// Whether the file system of `directory` has not even room for a journal.
inline bool is_full(std::string_view directory) {
  constexpr std::uint64_t kForJournal = 16384;
  struct ::statvfs status {};
  return ::statvfs(std::string(directory).c_str(), &status) == 0 &&
         std::uint64_t{status.f_bavail} * status.f_frsize < kForJournal;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
