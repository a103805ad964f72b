#pragma once
#include "opdump/base/build.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Something that sleeps until a ring fills, such as a drain thread.
class Waker {
 public:
  /// Called on a recorder's thread when its ring is more than half full or has no room; must not block for long.
  virtual void wake() = 0;

  /// Whether there is a thread to wake: a child after fork() lacks its parent's threads.
  virtual bool is_there() const { return true; }

 protected:
  ~Waker() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
