#include "src/tool/cli/progress.hpp"

#include <signal.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"

namespace opdump::tool {
namespace {

volatile sig_atomic_t caught = 0;

extern "C" void note_signal(int signal) {
  caught = signal;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  // A second signal ends the process at once, should the first have no effect.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

bool interrupted() {
  return caught != 0;
}

void die_of_interrupt() {
  signal(caught, SIG_DFL);
  raise(caught);
}

namespace {

constexpr std::chrono::milliseconds kFirst(300);
constexpr std::chrono::milliseconds kEvery(100);
constexpr std::size_t kBarWidth = 30;

std::string duration_text(double seconds) {
  constexpr double kMost = 359999;
  const unsigned long whole = static_cast<unsigned long>(std::min(seconds, kMost) + 0.5);
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lu:%02lu", whole / 60, whole % 60);
  }
  return text;
}

}  // namespace

bool Progress::is_seen() {
  return isatty(STDERR_FILENO) == 1;
}

Progress::Progress(std::uint64_t total_bytes) : Progress(total_bytes, {}) {}

Progress::Progress(std::uint64_t total_steps, std::string_view what)
    : on_(is_seen()), total_(total_steps), what_(what), start_(Clock::now()), next_(start_ + kFirst) {}

Progress::~Progress() {
  wipe();
}

void Progress::wipe() {
  const std::lock_guard lock(mutex_);
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void Progress::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (shown_) std::fputs("\r\033[K", stderr);
  opdump::tool::say(line);
  shown_ = false;
}

void Progress::add(std::uint64_t more) {
  const std::uint64_t done = done_.fetch_add(more, std::memory_order_relaxed) + more;
  if (!on_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const Clock::time_point now = Clock::now();
  if (!lock || now < next_) return;
  next_ = now + kEvery;
  draw(done, std::chrono::duration<double>(now - start_).count());
}

/// "1.5 MiB of 2.0 GiB  3.1 MiB/s", or what is done.
std::string Progress::rate_text(std::uint64_t done, double seconds) const {
  if (!what_.empty()) return std::string(what_);
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(done) / seconds);
  return byte_text(done) + " of " + byte_text(total_) + "  " + byte_text(rate) + "/s";
}

void Progress::draw(std::uint64_t done, double seconds) {
  shown_ = true;
  if (total_ == 0 && !what_.empty()) {
    std::fprintf(stderr, "\r%s %s\033[K", std::to_string(done).c_str(), std::string(what_).c_str());
    return;
  }
  const double part =
      total_ == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const std::size_t filled = static_cast<std::size_t>(part * static_cast<double>(kBarWidth));
  std::string bar(filled, '=');
  bar.resize(kBarWidth, ' ');
  const std::string left = part > 0 ? duration_text(seconds * (1 - part) / part) : "?";
  std::fprintf(stderr, "\r[%s] %3d%%  %s  %s left\033[K", bar.c_str(), static_cast<int>(part * 100),
               rate_text(done, seconds).c_str(), left.c_str());
}

}  // namespace opdump::tool
