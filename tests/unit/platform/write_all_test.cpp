#include "platform/posix/base/write_all.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "platform/posix/base/flash_file.hpp"
#include "platform/posix/impl/stderr_line.hpp"
#include "tests/support/temporary_directory.hpp"
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

TEST_CASE("write all: what is too large for the limit of file sizes ends no program") {
  const tests::TemporaryDirectory directory;
  const int file = open((directory.path() / "log").c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
  const int stderr_before = dup(STDERR_FILENO);
  posix::FlashFile flash;
  const flashlog::Geometry part = {.block_bytes = 4096, .block_count = 3, .program_bytes = 16};
  REQUIRE(flash.open((directory.path() / "flash").c_str(), part, true) == Status::ok);
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small = {4096, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  dup2(file, STDERR_FILENO);
  const std::string line(1000, 'x');
  for (int i = 0; i < 6; ++i) posix::write_stderr_line("opdump: ", line);
  dup2(stderr_before, STDERR_FILENO);
  const flashlog::Device device = flash.device();
  CHECK(device.program(device.context, 0, 0, as_bytes(line).first(992)) == Status::ok);
  CHECK(device.program(device.context, 1, 0, as_bytes(line).first(992)) == Status::file_too_large);
  CHECK(posix::write_all_at(file, as_bytes(line), 8192) == EFBIG);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(lseek(file, 0, SEEK_END) == 4096);
  close(stderr_before);
  close(file);
}

TEST_CASE("write all: nothing to write is no call") {
  const Bytes empty[3] = {};
  CHECK(write_all(-1, {}) == 0);
  CHECK(write_all(-1, empty) == 0);
  const Bytes part = as_bytes("x");
  CHECK(write_all(-1, std::span(&part, 1)) == EBADF);
}
