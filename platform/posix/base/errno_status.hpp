#pragma once
#include <errno.h>

#include "opdump/base/status.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The cause behind an errno.
inline Status status_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return Status::no_space;
    case EFBIG:
      return Status::file_too_large;
    case EACCES:
    case EPERM:
    case EROFS:
      return Status::permission_denied;
    case ENOENT:
      return Status::not_found;
    case EEXIST:
      return Status::already_exists;
    case EMFILE:
    case ENFILE:
      return Status::too_many_objects;
    case ENAMETOOLONG:
      return Status::name_too_long;
    case EINVAL:
      return Status::invalid_argument;
    default:
      return Status::io_error;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
