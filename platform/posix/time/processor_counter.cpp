#include "platform/posix/time/processor_counter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "platform/posix/base/unique_fd.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

#if defined(__x86_64__) || defined(__aarch64__)
bool ProcessorCounter::is_trusted() {
#if defined(__x86_64__)
  constexpr std::string_view kName = "tsc\n";
#else
  constexpr std::string_view kName = "arch_sys_counter\n";
#endif
  const UniqueFd file(
      ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  char name[kName.size() + 1];
  const ssize_t bytes = ::read(file.get(), name, sizeof(name));
  return bytes > 0 && std::string_view(name, static_cast<std::size_t>(bytes)) == kName;
}
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
