#pragma once
#include <errno.h>

#include <utility>

#include "opdump/base/status.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The cause behind an errno.
inline Status status_of(int error) {
  constexpr std::pair<int, Status> kCauses[] = {{ENOSPC, Status::no_space},
                                                {EDQUOT, Status::no_space},
                                                {EFBIG, Status::file_too_large},
                                                {EACCES, Status::permission_denied},
                                                {EPERM, Status::permission_denied},
                                                {EROFS, Status::permission_denied},
                                                {ENOENT, Status::not_found},
                                                {EEXIST, Status::already_exists},
                                                {EMFILE, Status::too_many_objects},
                                                {ENFILE, Status::too_many_objects},
                                                {ENAMETOOLONG, Status::name_too_long},
                                                {EINVAL, Status::invalid_argument}};
  for (const auto& [number, status] : kCauses) {
    if (number == error) return status;
  }
  return Status::io_error;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
