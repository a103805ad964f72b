#pragma once
#include "opdump/knobs.hpp"
#include "src/c_api/c_port.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// What `use()` returns; no exception gets into the program's C.
template <class Result, class Use>
Result guarded(Result otherwise, const Use& use) noexcept {
  try {
    return use();
  } catch (...) {
    return otherwise;
  }
}

/// The only exceptions are those for want of memory.
template <class Use>
opdump_status guarded(const Use& use) noexcept {
  return guarded<opdump_status>(OPDUMP_ERR_NO_MEMORY, [&] { return c_api::to_c(use()); });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
