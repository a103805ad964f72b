#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "human_text.hpp"

namespace opdump::tool {
namespace {

constexpr std::chrono::milliseconds kFirst(300);
constexpr std::chrono::milliseconds kEvery(100);
constexpr std::size_t kBarWidth = 30;

}  // namespace

Progress::Progress(std::uint64_t total_bytes)
    : on_(isatty(STDERR_FILENO) == 1), total_(total_bytes), start_(Clock::now()), next_(start_ + kFirst) {}

Progress::~Progress() {
  wipe();
}

void Progress::wipe() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void Progress::add(std::uint64_t bytes) {
  done_ += bytes;
  if (!on_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  const double part =
      total_ == 0 ? 1.0 : std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::size_t filled = static_cast<std::size_t>(part * static_cast<double>(kBarWidth));
  std::string bar(filled, '=');
  bar.resize(kBarWidth, ' ');
  const std::string rate = byte_text(static_cast<std::uint64_t>(static_cast<double>(done_) / seconds));
  std::fprintf(stderr, "\r[%s] %3d%%  %s of %s  %s/s\033[K", bar.c_str(), static_cast<int>(part * 100),
               byte_text(done_).c_str(), byte_text(total_).c_str(), rate.c_str());
  shown_ = true;
}

}  // namespace opdump::tool
