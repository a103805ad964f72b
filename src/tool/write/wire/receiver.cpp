#include "src/tool/write/wire/receiver.hpp"

#include <string.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/flash/image_contents.hpp"

namespace opdump::tool {
namespace {

bool is_state(const WireFrame& frame) {
  return frame.kind == wire::Kind::state || frame.kind == wire::Kind::ended;
}

std::uint32_t sum_of(const WireFrame& frame) {
  const std::byte head{static_cast<std::uint8_t>((frame.continued ? wire::kContinued : 0u) |
                                                 static_cast<std::uint32_t>(frame.kind))};
  return crc32c(crc32c(0, &head, 1), frame.body.data(), frame.body.size());
}

}  // namespace

/// Numbers have 32 bits on the wire, and are near `next_`.
std::uint64_t Reception::extended(std::uint32_t number) const {
  const auto ahead = static_cast<std::int32_t>(number - static_cast<std::uint32_t>(next_));
  if (ahead < 0 && static_cast<std::uint64_t>(-std::int64_t{ahead}) > next_) return number;
  return next_ + static_cast<std::uint64_t>(std::int64_t{ahead});
}

bool Reception::contradicts(const WireFrame& frame) const {
  const std::uint64_t number = extended(frame.number);
  if (is_state(frame)) return number < known_;
  if (number >= next_) {
    const auto found = waiting_.find(number);
    return found != waiting_.end() && sum_of(found->second) != sum_of(frame);
  }
  // No device has so many frames still; but one that was sent again may have been on its way when a gap closed.
  if (next_ - number > kSums) return next_ - number > kSums + jump_;
  const Sum& known = sums_[number % kSums];
  return known.number == number && known.sum != sum_of(frame);
}

void Reception::take(WireFrame&& frame) {
  const std::uint64_t number = extended(frame.number);
  if (is_state(frame)) {
    known_ = std::max(known_, number);
    told_ = number;
    ended_ = frame.kind == wire::Kind::ended;
    if (frame.body.size() >= sizeof(std::uint32_t))
      lose_before(std::min(known_, extended(load_little_endian<std::uint32_t>(frame.body.data()))));
    return;
  }
  if (ended_ && number >= told_) {
    went_on_ = true;
    ended_ = false;
  }
  known_ = std::max(known_, number + 1);
  constexpr std::size_t kAround = 3;  // zeros, and the first code
  longest_ = std::max(
      longest_, static_cast<std::uint32_t>(wire::kBodyAt + frame.body.size() + wire::kCrcBytes + kAround));
  if (number < next_) return;
  waiting_.emplace(number, std::move(frame));
  advance();
  while (waiting_.size() > kMostWaiting) lose_before(waiting_.begin()->first);
}

std::uint8_t Reception::most_asked() const {
  constexpr std::uint32_t kAnswerBytes = 8 * (wire::kMaxFrameBytes + 3);
  return static_cast<std::uint8_t>(std::min(kAnswerBytes / longest_, 255u));
}

std::vector<Reception::Missing> Reception::missing(std::size_t most) const {
  std::vector<Missing> found;
  const std::uint8_t frames = most_asked();
  for (std::uint64_t at = next_; at < known_ && found.size() < most;) {
    if (waiting_.contains(at)) {
      ++at;
      continue;
    }
    // One request for several gaps takes less time than one for each.
    std::uint8_t count = 0;
    unsigned missing = 0;
    for (std::uint8_t i = 0; i < frames && at + i < known_; ++i) {
      if (waiting_.contains(at + i)) continue;
      const auto span = static_cast<std::uint8_t>(i + 1);
      if (2 * ++missing >= span) count = span;
    }
    found.push_back({static_cast<std::uint32_t>(at), count});
    at += count;
  }
  return found;
}

void Reception::give_up_first() {
  if (const std::vector<Missing> first = missing(1); !first.empty())
    lose_before(next_ + std::min(first[0].count, kMostGivenUp));
}

void Reception::give_up_all() {
  lose_before(known_);
}

void Reception::finish() {
  give_up_all();
  end_gap();
  tree_.finish();
}

void Reception::advance() {
  const std::uint64_t before = next_;
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    const WireFrame& frame = waiting_.begin()->second;
    end_gap();
    sums_[next_ % kSums] = {next_, sum_of(frame)};
    tree_.take(frame, next_++);
    waiting_.erase(waiting_.begin());
  }
  const std::uint64_t taken = next_ - before;
  jump_ = taken > 1 ? std::max(jump_, taken) : jump_ - std::min(jump_, taken);
}

/// What is missing before `number` is lost for good.
void Reception::lose_before(std::uint64_t number) {
  while (next_ < number) {
    if (!gap_) gap_ = next_;
    const std::uint64_t end = waiting_.empty() ? number : std::min(number, waiting_.begin()->first);
    next_ = end;
    advance();
  }
}

void Reception::end_gap() {
  if (gap_) tree_.lose(*gap_, next_ - 1);
  gap_.reset();
}

namespace {

using std::chrono::milliseconds;

constexpr int kReadMilliseconds = 50;
constexpr milliseconds kReopenEvery(500);
/// Of silence, before the device is asked how far it is.
constexpr milliseconds kAskEvery(500);
constexpr milliseconds kMostAnswerTime(2000);
/// In which a device that hears has answered.
constexpr milliseconds kSilence(kAskEvery + kMostAnswerTime);
/// At once; a receive buffer of 64 bytes has room for them.
constexpr std::size_t kMostRequests = 3;
constexpr milliseconds kDrawEvery(200);
/// For one frame, while no other one comes; then its line is too bad for its length.
constexpr std::uint32_t kMostAsks = 20;
/// For one frame, while others come.
constexpr std::uint32_t kMostPatientAsks = 80;

}  // namespace

bool Receiver::run() {
  if (!begin()) return false;
  while (turn() && !over()) continue;
  return end();
}

bool Receiver::begin() {
  if (const int problem = make_directories(options_.output); problem != 0) {
    error(options_.output + ": " + strerror(problem));
    return false;
  }
  std::error_code problem;
  if (!std::filesystem::is_empty(options_.output, problem)) {
    error(options_.output + ": " +
          (problem ? problem.message() : "not empty, and what arrives is not mixed with it"));
    return false;
  }
  if (!line_.open(options_.line, options_.baud)) {
    error(line_.error());
    return false;
  }
  is_two_way_ = line_.two_way();
  catch_interrupts();
  begun_ = looked_ = last_frame_ = last_news_ = answered_ = next_draw_ = next_ask_ = Clock::now();
  return true;
}

bool Receiver::turn() {
  if (interrupted() || !take_bytes() || is_broken_) return false;
  if (is_drained_ && options_.idle.count() != 0 && looked_ - last_news_ >= options_.idle) return false;
  give_up_on_time();
  ask_on_time();
  draw();
  return true;
}

/// Whether the device has ended its dump, and nothing more has come. What was recorded may hold another boot,
/// and a boot that went on behind an end is believed to have ended when it is silent.
bool Receiver::over() const {
  if (!reception_ || !reception_->done() || !is_drained_) return false;
  if (reception_->went_on()) return looked_ - last_news_ >= kSilence;
  return is_two_way_ || looked_ - last_frame_ >= kSilence;
}

/// Whether a device that could answer does not.
bool Receiver::is_silent() const {
  return is_two_way_ && (!there_ || looked_ - last_frame_ >= kSilence);
}

bool Receiver::end() {
  if (interrupted() && line_.is_recording()) error(options_.line + ": interrupted, and not read to its end");
  // Who interrupts a device that sends has not waited for it.
  end_boot(!interrupted() || is_silent());
  sync();
  wipe();
  print_tally();
  return good_ && tally_.gaps == 0 && tally_.incomplete == 0;
}

/// False at the end of what was recorded.
bool Receiver::take_bytes() {
  is_drained_ = true;
  looked_ = Clock::now();
  if (!there_) {
    std::array<std::byte, 1> none;
    std::size_t count = 0;
    if (next_ask_ > Clock::now()) {
      line_.read(none, kReadMilliseconds, count);  // waits
      return true;
    }
    next_ask_ = Clock::now() + kReopenEvery;
    there_ = line_.reopen();
    if (there_) {
      wipe();
      say("opdump: " + options_.line + " is back");
      missing_since_ = Clock::now();
    }
    return true;
  }
  std::array<std::byte, 4096> bytes;
  std::size_t count = 0;
  switch (line_.read(bytes, kReadMilliseconds, count)) {
    case WireLine::Got::bytes:
      bytes_ += count;
      is_drained_ = count < bytes.size();
      reader_.take(Bytes(bytes).first(count), [this](WireFrame&& frame) { take(std::move(frame)); });
      return true;
    case WireLine::Got::nothing:
      return true;
    case WireLine::Got::gone:
      wipe();
      say("opdump: " + options_.line + " is gone; waiting until it is back");
      there_ = false;
      next_ask_ = Clock::now() + kReopenEvery;
      return true;
    case WireLine::Got::end:
      if (!line_.error().empty()) error(line_.error());
      return false;
  }
  return false;
}

void Receiver::take(WireFrame&& frame) {
  const bool is_state = frame.kind == wire::Kind::state || frame.kind == wire::Kind::ended;
  const bool is_numbered = (static_cast<std::uint32_t>(frame.kind) & wire::kUnnumbered) == 0;
  if (!is_state && !is_numbered) return;  // such as an echo of what was asked
  if (is_broken_) return;
  last_frame_ = Clock::now();
  if (is_state) {
    answered_ = last_frame_;
    take_answer(frame);
  } else {
    last_news_ = last_frame_;
    ++frames_;
    for (const Asked& one : asked_) {
      if (frame.number - one.first >= one.count) continue;
      hears_ = true;
      answered_ = last_frame_;
    }
  }
  if (reception_ && (reception_->boot() != frame.boot || reception_->contradicts(frame))) end_boot(true);
  if (!reception_ && !begin_boot(frame.boot)) return;
  reception_->take(std::move(frame));
}

/// A state that answers a request. The device takes one after another, so of those before it the answer, or
/// the request, is lost. When none is left it is time for the next ones.
void Receiver::take_answer(const WireFrame& state) {
  if (state.body.size() < 2 * sizeof(std::uint32_t)) return;
  const auto number = load_little_endian<std::uint32_t>(state.body.data() + sizeof(std::uint32_t));
  const auto asked =
      std::find_if(asked_.begin(), asked_.end(), [number](const Asked& one) { return one.first == number; });
  if (asked == asked_.end()) return;
  const auto time = std::chrono::duration_cast<milliseconds>(answered_ - asked->at);
  answer_time_ = std::max(time, answer_time_ * 7 / 8);
  asked_.erase(asked_.begin(), asked + 1);
  hears_ = true;
  if (asked_.empty()) next_ask_ = answered_;
}

bool Receiver::begin_boot(std::uint32_t boot) {
  std::string root = options_.output;
  if (boots_++ != 0) {
    root += '/' + boot_directory(boot);
    // A device that gives two boots the same number.
    const std::string first = root;
    std::error_code problem;
    for (unsigned i = 2; std::filesystem::exists(root, problem); ++i) root = first + '_' + std::to_string(i);
  }
  if (const int problem = make_directories(root); problem != 0) {
    error(root + ": " + strerror(problem));
    is_broken_ = true;
    return false;
  }
  reception_ = std::make_unique<Reception>(
      boot, ReceivedTree(root, sink_, tally_,
                         [this, boot](const std::string& message) { error(of_boot(boot) + message); }));
  is_missing_ = false;
  asked_.clear();
  return true;
}

std::string Receiver::of_boot(std::uint32_t boot) const {
  return boots_ > 1 ? "boot " + std::to_string(boot) + ": " : "";
}

void Receiver::sync() {
  if (const Status status = sink_.sync(); status != Status::ok)
    error(options_.output + ": " + std::string(to_string(status)));
}

/// When it is over, what was not heard of may be missing too.
void Receiver::end_boot(bool is_over) {
  if (!reception_) return;
  reception_->finish();
  if (!line_.is_recording()) sync();  // of what was recorded, all at the end
  if (is_over && (!reception_->told() || (is_silent() && !reception_->done()))) {
    const std::uint64_t known = reception_->known();
    error(of_boot(reception_->boot()) + "the device has not told how far it is since " +
          (known == 0 ? "it began" : "frame " + std::to_string(known - 1)) +
          ": whether it sent more is not known");
  }
  reception_.reset();
}

void Receiver::give_up_on_time() {
  const std::vector<Reception::Missing> missing =
      reception_ ? reception_->missing(1) : std::vector<Reception::Missing>();
  const Clock::time_point now = Clock::now();
  if (missing.empty() || !is_missing_ || missing[0].first != missing_) {
    is_missing_ = !missing.empty();
    missing_ = is_missing_ ? missing[0].first : 0;
    missing_since_ = now;
    asks_for_missing_ = 0;
    if (is_missing_ && asked_.empty()) next_ask_ = std::min(next_ask_, now);
    return;
  }
  // Not `now`: frames that have come since then wait to be read.
  if (!there_ || !is_drained_) return;
  if (asks_for_missing_ > kMostAsks && last_news_ < missing_since_) {
    reception_->give_up_first();
  } else if (looked_ - missing_since_ >= options_.wait) {
    if (answered_ < missing_since_) {
      reception_->give_up_all();  // nobody hears
    } else if (asks_for_missing_ > kMostPatientAsks || looked_ - answered_ >= options_.wait) {
      reception_->give_up_first();
    }
  }
}

void Receiver::ask_on_time() {
  const Clock::time_point now = Clock::now();
  if (!there_ || !line_.two_way() || now < next_ask_) return;
  // Asked again too early, a slow device would have ever more requests before it; but on a line that loses
  // some there is no point in waiting longer.
  if (!asked_.empty() && !hears_) answer_time_ = std::min(2 * answer_time_, kMostAnswerTime);
  asked_.clear();
  hears_ = false;
  const std::vector<Reception::Missing> missing =
      reception_ ? reception_->missing(kMostRequests) : std::vector<Reception::Missing>();
  if (missing.empty()) {
    const bool is_quiet = !reception_ || now - last_frame_ >= kAskEvery;
    if (is_quiet) ask(reception_ ? reception_->boot() : 0, {});
    next_ask_ = (is_quiet ? now : last_frame_) + kAskEvery;
    return;
  }
  ++asks_for_missing_;
  unsigned frames = 0;
  for (const Reception::Missing& what : missing) {
    ask(reception_->boot(), what);
    asked_.push_back({what.first, what.count, now});
    frames += what.count;
  }
  next_ask_ = now + 2 * answer_time_ + time_of(std::uint64_t{reception_->longest()} * frames);
}

/// That so many bytes take on the line.
milliseconds Receiver::time_of(std::uint64_t bytes) const {
  constexpr unsigned kBitsOfByte = 10;
  return milliseconds(1000u * kBitsOfByte * bytes / options_.baud);
}

void Receiver::ask(std::uint32_t boot, Reception::Missing what) {
  std::byte frame[1 + wire::kAskBytes + 1] = {};
  frame[2 + wire::kBodyAt] = std::byte{what.count};
  wire::seal(frame + 1, wire::first_byte(wire::Kind::ask), boot, what.first, 1);
  line_.write(frame);
  asks_ += what.count;
}

void Receiver::draw() {
  const Clock::time_point now = Clock::now();
  if (!Progress::is_seen() || now < next_draw_) return;
  next_draw_ = now + kDrawEvery;
  const double time = std::chrono::duration<double>(now - begun_).count();
  const std::string rate =
      byte_text(static_cast<std::uint64_t>(static_cast<double>(bytes_) / (time + 0.001)));
  std::fprintf(stderr, "\r%s, %s, %llu frames lost  %s/s%s\033[K", count_text(tally_.files, "file").c_str(),
               byte_text(tally_.bytes).c_str(), static_cast<unsigned long long>(tally_.lost_frames),
               rate.c_str(), there_ ? "" : "  the device is gone");
  shown_ = true;
}

void Receiver::wipe() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void Receiver::error(const std::string& message) {
  wipe();
  say("opdump: " + message);
  good_ = false;
}

void Receiver::print_tally() {
  if (reader_.strange_frames() != 0) {
    error(options_.line + ": " + count_text(reader_.strange_frames(), "frame") + " of version " +
          std::to_string(reader_.strange_version()) + " of the format, and this opdump reads version " +
          std::to_string(wire::kVersion) + ": use the opdump of the firmware");
  }
  std::string text = count_text(tally_.files, "file") + ", " + byte_text(tally_.bytes) + ", " +
                     count_text(tally_.lines, "piece") + " of journals and tables";
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count != 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(tally_.aborted, "aborted");
  add(tally_.incomplete, "incomplete");
  text += "; " + count_text(frames_, "frame");
  add(tally_.lost_frames, "lost");
  add(asks_, "asked for again");
  if (tally_.gaps != 0) text += " in " + count_text(tally_.gaps, "gap");
  if (reader_.stray_bytes() != 0) text += "; " + byte_text(reader_.stray_bytes()) + " of other things";
  if (boots_ > 1) text += "; " + std::to_string(boots_) + " boots";
  std::puts(text.c_str());
  if (boots_ == 0) error(options_.line + ": no frame of a dump has come");
}

}  // namespace opdump::tool
