#include "platform/posix/host_sealer.hpp"

#include <new>

#include "platform/sodium/loaded_sealer.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

std::shared_ptr<Sealer> make_host_sealer() {
  const std::shared_ptr<sodium::LoadedSealer> sealer(new (std::nothrow) sodium::LoadedSealer);
  if (sealer == nullptr || sealer->load() != Status::ok) return nullptr;
  return sealer;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
