#pragma once
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// When a FileDump handles the signals that a process dies of, see CrashDump.
enum class OnCrash : std::uint8_t {
  as_asked,  ///< while a config is in force with "on_crash": "dump", or for failures, or with a history
  dump,      ///< while any config is in force
  ignore,    ///< never: for programs whose own handlers call no others
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
