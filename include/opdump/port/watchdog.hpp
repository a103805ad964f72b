#pragma once
#include "opdump/base/build.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Is told that the program is alive while a long operation goes on, such as the erase of a flash block: the
/// port feeds its watchdog timer there. A part that takes one says when it calls it; a program that makes no
/// such part has no code for it.
class Watchdog {
 public:
  /// In the context of the operation, so usually that of the drain, and with the part's write protection as
  /// it is. Must return soon.
  virtual void feed() {}

 protected:
  ~Watchdog() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
