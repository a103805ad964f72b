#pragma once
#include <unistd.h>

#include <cstdlib>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Whether this process has more rights than the user who started it, as a setuid program has.
inline bool has_borrowed_rights() {
#if defined(__linux__)
  return ::getauxval(AT_SECURE) != 0;
#else
  return ::geteuid() != ::getuid() || ::getegid() != ::getgid();
#endif
}

/// The environment variable `name`; null when it is not set, and for a process with borrowed rights: another
/// user could choose its files by the variable.
inline const char* trusted_variable(const char* name) {
  return has_borrowed_rights() ? nullptr : std::getenv(name);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
