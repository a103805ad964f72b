#include "platform/posix/host_sealer.hpp"

#include <new>
#include <optional>

#include "platform/sodium/sodium_sealer.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

struct LoadedSealer {
  sodium::SodiumLibrary library;
  std::optional<sodium::SodiumSealer> sealer;
};

}  // namespace

std::shared_ptr<Sealer> make_host_sealer() {
  const std::shared_ptr<LoadedSealer> loaded(new (std::nothrow) LoadedSealer);
  if (loaded == nullptr || loaded->library.load() != Status::ok) return nullptr;
  return {loaded, &loaded->sealer.emplace(loaded->library)};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
