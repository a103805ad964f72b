#pragma once
#include <memory>

#include "opdump/port/sealer.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// What dumps are sealed with on this system: a SodiumSealer. Null when there is no libsodium, or no memory.
std::shared_ptr<Sealer> make_host_sealer();

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
