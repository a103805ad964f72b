#include "platform/posix/impl/write_all.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/waiting.hpp"

using namespace opdump;
using opdump::posix::write_all;

namespace {

std::atomic<int> g_signals{0};

}  // namespace

TEST_CASE("write all: goes on after short writes and signals") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::vector<std::string> texts;
  std::string expected;
  for (std::size_t i = 0; i < 300; ++i) {
    texts.emplace_back(i * 53 % 20'000, static_cast<char>('a' + i % 26));
    expected += texts.back();
  }
  std::vector<Bytes> parts;
  for (const std::string& text : texts) parts.push_back(as_bytes(text));

  std::string received;
  std::thread reader([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // the signals are for the writer
    char buffer[30'011];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
      received.append(buffer, static_cast<std::size_t>(got));
      // Meanwhile the writer waits for room.
      tests::wait_until("signals", [] { return g_signals > 10; });
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  });
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++g_signals; };  // no SA_RESTART: a blocked write returns
  REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
  const itimerval often{.it_interval = {0, 300}, .it_value = {0, 300}};
  const itimerval never{};
  REQUIRE(setitimer(ITIMER_REAL, &often, nullptr) == 0);
  const int error = write_all(ends[1], parts);
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  close(ends[1]);
  reader.join();
  close(ends[0]);
  CHECK(error == 0);
  CHECK(g_signals > 10);
  CHECK(received == expected);
}

TEST_CASE("write all: nothing to write is no call") {
  const Bytes empty[3] = {};
  CHECK(write_all(-1, {}) == 0);
  CHECK(write_all(-1, empty) == 0);
  const Bytes part = as_bytes("x");
  CHECK(write_all(-1, std::span(&part, 1)) == EBADF);
}
