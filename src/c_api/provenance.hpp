#pragma once
#include <string_view>

#include "opdump/opdump.h"
#include "opdump/types/account.hpp"
#include "src/c_api/c_port.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// Refers to the texts of `from`. Errors as `take_struct`, and of texts that no journal can have.
inline Status take_provenance(const opdump_provenance* from, Provenance& to) {
  opdump_provenance taken;
  if (const Status status = take_struct(from, taken); status != Status::ok) return status;
  const auto text = [](const char* of) { return of == nullptr ? std::string_view() : std::string_view(of); };
  to.build_id = text(taken.build_id);
  to.config = text(taken.config);
  to.model = text(taken.model);
  to.runtime = text(taken.runtime);
  return check(to);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
