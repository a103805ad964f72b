#include "src/tool/wire/player.hpp"

#include <algorithm>
#include <cstring>

namespace opdump::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLeastAnswer(5);
constexpr milliseconds kMostWait(50);
constexpr milliseconds kMostPatience(1000);
/// With a device that has answered and runs no step: in more of them it rather has not heard.
constexpr unsigned kAnswerTimes = 8;
constexpr milliseconds kPatience(100);

}  // namespace

Player::Player(Receiver& line, std::uint32_t session, milliseconds wait, std::size_t frame_bytes)
    : line_(line),
      session_(session),
      wait_(wait),
      piece_bytes_(frame_bytes - wire::kBodyAt - wire::kCrcBytes) {
  line_.on_other([this](const WireFrame& frame) {
    if (frame.kind != wire::Kind::taken || frame.boot != session_ || frame.number != next_) return;
    if (frame.body.size() != 1) return;
    answered_ = true;
    status_ = static_cast<Status>(frame.body[0]);
  });
}

Player::Sent Player::input(std::string_view op, std::uint8_t index, DType dtype, std::uint32_t bytes) {
  std::byte body[wire::kInputHeadBytes + kMostNameBytes];
  body[0] = std::byte{index};
  body[1] = static_cast<std::byte>(dtype);
  store_little_endian(body + 2, bytes);
  std::memcpy(body + wire::kInputHeadBytes, op.data(), op.size());
  return deliver(wire::Kind::input, Bytes(body).first(wire::kInputHeadBytes + op.size()));
}

Player::Sent Player::bytes(Bytes bytes) {
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min(piece_bytes_, bytes.size()));
    if (const Sent sent = deliver(wire::Kind::bytes, piece); sent != Sent::taken) return sent;
    bytes = bytes.subspan(piece.size());
  }
  return Sent::taken;
}

Player::Sent Player::step(std::uint32_t step) {
  std::byte body[sizeof step];
  store_little_endian(body, step);
  return deliver(wire::Kind::step, body);
}

Player::Sent Player::over() {
  return deliver(wire::Kind::over, {});
}

Player::Sent Player::deliver(wire::Kind kind, Bytes body) {
  std::byte frame[1 + 1 + wire::kMaxFrameBytes + 1] = {};
  std::copy(body.begin(), body.end(), frame + 2 + wire::kBodyAt);
  const std::size_t bytes = wire::seal(frame + 1, wire::first_byte(kind), session_, next_++, body.size());
  const Bytes sealed = Bytes(frame).first(1 + bytes + 1);
  answered_ = false;
  const Clock::time_point begun = Clock::now();
  milliseconds patience = 2 * answer_time_;
  const bool may_run = runs_;
  const milliseconds most_patience = may_run || !has_answered_
                                         ? kMostPatience
                                         : std::clamp(kAnswerTimes * answer_time_, kPatience, kMostPatience) +
                                               line_.time_of(sealed.size() + wire::kTakenBytes);
  runs_ = kind == wire::Kind::step;
  Clock::time_point sent = begun;
  line_.write(sealed);
  const bool was_done = line_.done();
  while (!answered_) {
    // A device that ends its dump behind the last step has taken that.
    if (kind == wire::Kind::over && !was_done && line_.done()) return Sent::taken;
    line_.put_off_idle();
    const auto left = std::chrono::ceil<milliseconds>(sent + patience - Clock::now());
    if (!line_.turn(std::clamp(left, milliseconds(0), kMostWait)) && !answered_) return Sent::lost;
    const Clock::time_point now = Clock::now();
    if (answered_) break;
    if (now - begun >= wait_) return Sent::lost;
    if (now - sent < patience) continue;
    // A device that runs a step takes its time; of others the frame or the answer was lost, or they are slow.
    patience = std::min(may_run ? 2 * patience : patience * 5 / 4 + milliseconds(1), most_patience);
    sent = now;
    line_.write(sealed);
    ++resent_;
  }
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - sent);
  const milliseconds before = has_answered_ ? answer_time_ * 7 / 8 : milliseconds(0);
  answer_time_ = std::clamp(std::max(took, before), kLeastAnswer, kMostPatience / 2);
  has_answered_ = true;
  return status_ == Status::ok ? Sent::taken : Sent::refused;
}

}  // namespace opdump::tool
