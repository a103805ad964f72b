#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/status.hpp"

namespace opdump::tool {

/// While one lives, a call that does not come back within a limit, or that ends this program, is told on stderr by
/// its name, and the program ends with `kExitFailed`: a driver whose device has died may do either. One at a time.
class CallWatch {
 public:
  /// `what` is "copying from device 0" or the like. Writes out what stdout holds.
  explicit CallWatch(const std::string& what);
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
  ~CallWatch();

  /// Of those that are made from now on; 30 s otherwise.
  static void set_limit(unsigned seconds);
};

/// A row of what `opdump doctor` says: "libascendcl.so", "found", and where.
struct Finding {
  std::string_view part;
  std::string name;
  std::string_view state;
  std::string text{};
  std::vector<std::string> lacks{};  ///< of a library: functions
};

/// What became of something that was tried on the device.
enum class Trial : std::uint8_t {
  untried,
  right,
  wrong,  ///< the driver said that it went well, and other bytes came
  failed,
};

/// What the device and its driver told and did.
struct FoundDevice {
  std::string library{};        ///< path of the runtime; empty: there is none that can copy
  std::string untried{};        ///< why no copy was tried; empty: it was
  std::string last_failure{};   ///< of a call, or that there is no such device
  bool is_nano = false;         ///< AscendCL without memory and streams of the host's
  bool has_background = false;  ///< the functions of copies in the background are there
  Status opened = Status::ok;
  Trial at_once = Trial::untried;
  Trial in_background = Trial::untried;
  Trial in_place = Trial::untried;
  Trial overflow = Trial::untried;  ///< whether the device was asked for its overflow status
  std::vector<Finding> findings{};
};

/// Asks the runtime what it is, takes the device `id`, allocates a few KiB there, copies them back in every way that
/// AscendMemory has, and gives everything back. Without `try_copies` the runtime is only looked for.
FoundDevice try_device(std::uint32_t id, bool try_copies);

}  // namespace opdump::tool
