#include "src/tool/write/wire/reception.hpp"

#include <algorithm>
#include <utility>

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
  // No device has so many frames still; but one that was sent again may have been on its way when a gap
  // closed.
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

}  // namespace opdump::tool
