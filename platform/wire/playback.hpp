#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/dtype.hpp"
#include "platform/wire/byte_port.hpp"
#include "platform/wire/frame.hpp"

namespace opdump::wire {
inline namespace OPDUMP_NAMESPACE {

/// One recorded input of an operator.
struct PlayedInput {
  std::string_view op;  ///< as the dump names it; of a path as the core writes it, so with '_' for '/'
  std::uint32_t index = 0;
  DType dtype{};
  std::uint32_t bytes = 0;
};

/// Where a firmware takes what is played back. `begin` and then `take`, with the tensor's bytes in order and
/// in pieces, are called from `Playback::serve`. What `begin` refers to lasts until it returns. Any status
/// but `ok` refuses the tensor, and `opdump send` says so: `no_such_op` for one that the firmware does not
/// want, which is no error unless the user has named it.
template <class T>
concept PlaybackTarget = requires(T& target, const PlayedInput& input, std::uint32_t offset, Bytes piece) {
  { target.begin(input) } -> std::same_as<Status>;
  { target.take(offset, piece) } -> std::same_as<Status>;
};

/// Takes recorded inputs from `opdump send`, in frames as the README of this folder has them.
///
/// It stands between a port and a WireSink on it, so that one line carries both: `WireSink<Playback<...>>`,
/// whose `serve` reads for both. It may also be alone on a port.
///
/// *Losses.* Each frame is sent until its answer has come, and taken once. One frame waits here until `serve`
/// is called, so that nothing comes while a step runs.
///
/// *RAM.* This object, with one frame. No heap. Not thread-safe, and not for interrupts.
template <BytePort Port, PlaybackTarget Target>
class Playback {
 public:
  /// What `serve` has come to.
  enum class Event : std::uint8_t {
    none,
    step,  ///< all inputs of a step have come: run it
    over,  ///< all steps have
  };

  /// Both stay as long as this lives.
  Playback(Port& port, Target& target) : port_(port), target_(target) {}
  Playback(const Playback&) = delete;
  Playback& operator=(const Playback&) = delete;

  /// Without a sink, before `serve`: reads what has come in, until a frame waits. A sink reads for both.
  void listen() {
    std::byte byte;
    while (!whole_ && read({&byte, 1}) != 0) {
    }
  }

  /// To be called often while no step runs: takes the frame that waits, if there is one.
  Event serve() { return whole_ ? take_frame() : Event::none; }

  /// Of the last `Event::step`.
  std::uint32_t step() const { return step_; }

  /// As a port, for a WireSink: what comes in is for both.
  void write(Bytes from) { port_.write(from); }
  std::size_t read(MutableBytes to) {
    const std::size_t count = port_.read(to);
    for (const std::byte byte : to.first(count)) hear(byte);
    return count;
  }

 private:
  static constexpr std::size_t kRoom = 1 + kMaxFrameBytes;

  /// A frame that comes while another one waits is lost, and is sent again.
  void hear(std::byte byte) {
    if (whole_) {
      count_ = kRoom + 1;
      return;
    }
    if (byte != std::byte{0}) {
      if (count_ < kRoom) frame_[count_] = byte;
      if (count_ <= kRoom) ++count_;
      return;
    }
    bytes_ = count_;
    count_ = 0;
    whole_ = unseal(frame_, bytes_) && kind() >= static_cast<std::uint32_t>(Kind::input) && kind() <= 0x0f;
  }

  /// With the version, which has to be this one.
  std::uint32_t kind() const { return std::to_integer<std::uint32_t>(frame_[1]) ^ kVersion << 5; }

  Event take_frame() {
    whole_ = false;
    const auto session = load_little_endian<std::uint32_t>(frame_ + 1 + kBootAt);
    const auto number = load_little_endian<std::uint32_t>(frame_ + 1 + kNumberAt);
    if (session != session_) {
      // A frame from before this device began, or of another session, cannot be answered.
      if (number != 0) return Event::none;
      session_ = session;
      next_ = 0;
      left_ = 0;
    }
    Event event = Event::none;
    if (number == next_) {
      ++next_;
      const std::byte* const body = frame_ + 1 + kBodyAt;
      status_ = take(static_cast<Kind>(kind()), {body, bytes_ - 1 - kBodyAt - kCrcBytes}, event);
      if (status_ != Status::ok) left_ = 0;
    }
    // The answer to the latest one was lost when it comes again.
    if (number + 1 == next_) answer();
    return event;
  }

  Status take(Kind kind, Bytes body, Event& event) {
    if (kind == Kind::bytes) {
      if (body.empty() || body.size() > left_) return Status::malformed;
      const std::uint32_t offset = all_ - left_;
      left_ -= static_cast<std::uint32_t>(body.size());
      return target_.take(offset, body);
    }
    if (left_ != 0) return Status::truncated;
    if (kind == Kind::input) {
      if (body.size() < kInputHeadBytes) return Status::malformed;
      all_ = left_ = load_little_endian<std::uint32_t>(body.data() + 2);
      const Bytes name = body.subspan(kInputHeadBytes);
      return target_.begin({.op = {reinterpret_cast<const char*>(name.data()), name.size()},
                            .index = std::to_integer<std::uint32_t>(body[0]),
                            .dtype = static_cast<DType>(body[1]),
                            .bytes = all_});
    }
    event = Event::over;
    if (kind == Kind::over) return Status::ok;
    if (body.size() != sizeof step_) {
      event = Event::none;
      return Status::malformed;
    }
    step_ = load_little_endian<std::uint32_t>(body.data());
    event = Event::step;
    return Status::ok;
  }

  void answer() {
    std::byte frame[1 + kTakenBytes + 1] = {};
    frame[2 + kBodyAt] = static_cast<std::byte>(status_);
    seal(frame + 1, first_byte(Kind::taken), session_, next_, 1);
    port_.write(frame);
  }

  Port& port_;
  Target& target_;
  std::uint32_t session_ = 0;  // of the `opdump send` whose frames are taken
  std::uint32_t next_ = 0;     // number of the frame that is taken next
  std::uint32_t step_ = 0;
  std::uint32_t all_ = 0;   // bytes of the tensor
  std::uint32_t left_ = 0;  // of those
  std::size_t count_ = 0;   // bytes since the last zero
  std::size_t bytes_ = 0;   // of the frame that waits
  bool whole_ = false;      // a frame waits in `frame_`
  Status status_{};         // of the latest frame
  std::byte frame_[kRoom];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::wire
