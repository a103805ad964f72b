#pragma once
#include <cstddef>
#include <cstdint>

#include "src/attach/attach_layout.hpp"
#include "src/c_api/c_port.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// A caller's list of structs that begin with `struct_bytes`, as the caller's library lays them out.
template <class Struct>
struct StructList {
  const Struct* first = nullptr;
  std::uint32_t count = 0;

  /// Takes the struct at `index`. Errors as `take_struct`; `invalid_argument` also for another size than the
  /// first one's.
  Status take(std::uint32_t index, Struct& to) const {
    const auto* const at = reinterpret_cast<const Struct*>(reinterpret_cast<const std::byte*>(first) +
                                                           index * first->struct_bytes);
    const Status status = c_api::take_struct(at, to);
    return status == Status::ok && at->struct_bytes != first->struct_bytes ? Status::invalid_argument
                                                                           : status;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
