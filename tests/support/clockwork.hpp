#pragma once
#include <cstdint>
#include <functional>

namespace opdump::tests {

/// A kernel whose time goes on only while the task waits.
struct Clockwork {
  void notify() {}
  void wait(std::uint32_t ms) {
    now += ms;
    waiting();
  }
  void sleep(std::uint32_t ms) { now += ms; }
  std::uint32_t now_ms() const { return now; }

  std::uint32_t now = UINT32_MAX - 20;  ///< so that it wraps soon
  std::function<void()> waiting;
};

}  // namespace opdump::tests
