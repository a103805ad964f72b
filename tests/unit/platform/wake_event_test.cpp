#include "platform/posix/impl/wake_event.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "tests/support/waiting.hpp"

using namespace opdump;

namespace {

std::uint32_t ms_of(auto work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const auto took = std::chrono::steady_clock::now() - start;
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
}

constexpr std::uint32_t kAnHourUs = 3'600'000'000;

template <class Event>
bool take_at_once(Event& event) {
  const tests::WaitLimit limit("an event that is set");
  return event.take_within(kAnHourUs);
}

template <class Event>
void check_event() {
  Event event;
  REQUIRE(event.open());
  CHECK(ms_of([&] { CHECK_FALSE(event.take_within(20'000)); }) >= 20);
  CHECK_FALSE(event.take_within(0));
  // As often as it is set, it is taken once; no `set` waits for room or changes errno.
  errno = E2BIG;
  for (int i = 0; i < 100'000; ++i) event.set();
  CHECK(errno == E2BIG);
  CHECK(take_at_once(event));
  CHECK_FALSE(event.take_within(0));
  std::thread other([&event] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    event.set();
  });
  CHECK(take_at_once(event));
  other.join();
  event.set();
  event.close();
  REQUIRE(event.open());
  CHECK_FALSE(event.take_within(0));
}

}  // namespace

TEST_CASE("wake event: what is set stays until it is taken, and ends a sleep") {
  check_event<posix::PipeEvent>();
#ifdef __linux__
  check_event<posix::FutexEvent>();
  CHECK(std::is_same_v<posix::WakeEvent, posix::FutexEvent>);
#endif
}
