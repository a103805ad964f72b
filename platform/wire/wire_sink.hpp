#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "opdump/base/bytes.hpp"
#include "opdump/port/sink.hpp"
#include "platform/wire/byte_port.hpp"
#include "platform/wire/frame.hpp"

namespace opdump::wire {
inline namespace OPDUMP_NAMESPACE {

/// A dump over a serial line, USB-CDC, RTT or TCP, for `opdump receive`, in frames as the README of this
/// folder has them. The root of a name is left out.
///
/// *Losses.* Frames are numbered, and the last ones stay in the window, from where the receiver gets again
/// what it asks for. What it does not get in time is lost, and the receiver names it: no call here fails for
/// it, and the session counts such records as written.
///
/// *Time.* Each call writes what it is given to the port, and serves the port as `serve` does behind each
/// frame: at most one request, which is answered with a window's bytes at most.
///
/// *RAM.* The window, which the caller gives, and this object. `kFrameBytes` is the longest frame, 32 to 254
/// bytes: 17 of each are the format's, so long ones carry more, and on a line that loses bytes more of the
/// short ones arrive. No heap. Not thread-safe, and not for interrupts; several sinks work side by side.
template <BytePort Port, std::size_t kFrameBytes = kMaxFrameBytes>
class WireSink final : public Sink {
  static_assert(kFrameBytes >= 32 && kFrameBytes <= kMaxFrameBytes);
  /// Of a frame in the window: the first code, and the zero behind it.
  static constexpr std::size_t kRoom = kFrameBytes + 2;

 public:
  static constexpr std::size_t kMinWindowBytes = 1 + kRoom;

  /// `port` and `window` are the sink's as long as it lives. `boot` tells this boot from the one before, so
  /// that frames of both never mix: a counter in flash, FlashLog::boot, or a random number, and not 0.
  template <std::size_t kBytes>
  constexpr WireSink(Port& port, std::byte (&window)[kBytes], std::uint32_t boot)
      : port_(port),
        window_(window),
        full_(window + kBytes - kRoom),
        least_(window + (kBytes / 4 < kRoom ? kRoom : kBytes / 4)),
        boot_(boot),
        end_(window + 1),
        at_(end_ + 1 + kBodyAt) {
    static_assert(kBytes >= kMinWindowBytes);
    if (build::kEnabled) *window_ = std::byte{0};
  }
  WireSink(const WireSink&) = delete;
  WireSink& operator=(const WireSink&) = delete;

  /// To be called often, from where the session is drained: takes in what the receiver asks for and sends it
  /// again, for one request at most. After `end` too, as long as the receiver may ask.
  void serve() {
    if (!build::kEnabled) return;
    std::byte byte;
    while (port_.read({&byte, 1}) != 0) {
      const std::size_t count = asked_++;
      if (byte != std::byte{0}) {
        if (count < kAskBytes) ask_[count] = byte;
        continue;
      }
      asked_ = 0;
      if (count == kAskBytes && unseal(ask_, kAskBytes) &&
          ask_[1] == static_cast<std::byte>(first_byte(Kind::ask))) {
        return answer();
      }
    }
  }

  /// Tells the receiver that nothing comes any more, after `finalize`.
  void end() {
    if (!build::kEnabled) return;
    state_ = first_byte(Kind::ended);
    tell_state();
  }

  /// `invalid_argument` without a file name.
  Result<ObjectId> begin(const ObjectName& name) override {
    if (name.file.empty()) return Status::invalid_argument;
    const ObjectId object{next_};
    put_name(name);
    close(first_byte(Kind::begin));
    return object;
  }

  [[nodiscard]] Status append(ObjectId object, std::span<const Bytes> parts) override {
    start(object);
    return put(parts.data(), parts.size(), first_byte(Kind::data));
  }

  [[nodiscard]] Status commit(ObjectId object, ObjectId with = kNoObject) override {
    return end_object(object, with, first_byte(Kind::commit));
  }

  void abort(ObjectId object) override { end_object(object, kNoObject, first_byte(Kind::abort)); }

  /// `not_supported` in a lean build without a journal, which has no lines.
  [[nodiscard]] Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    if (build::kLean && !build::kJournal) return Status::not_supported;
    put_name(name);
    put(std::byte{0});
    return put(parts.data(), parts.size(), first_byte(Kind::lines));
  }

  /// Tells the receiver how far the numbers of frames go, so that it misses the last ones too.
  [[nodiscard]] Status sync() override { return tell_state(); }

  /// Frames so far.
  std::uint32_t frames() const { return next_; }

 private:
  /// Begins an entry.
  void start(ObjectId object) { put_number(static_cast<std::uint32_t>(object)); }

  /// Of two calls that are alike, so that the code is there once.
  [[gnu::noinline]] Status end_object(ObjectId object, ObjectId with, std::uint32_t first) {
    start(object);
    if (build::kFaults && with != kNoObject) put_number(static_cast<std::uint32_t>(with));
    return close(first);
  }

  /// The zero behind the frame that begins behind the zero at `at`.
  static const std::byte* end_of(const std::byte* at) {
    while (*++at != std::byte{0}) {
    }
    return at;
  }

  void put(std::byte byte) {
    if (at_ == end_ + 1 + kFrameBytes - kCrcBytes) close(first_byte(Kind::part));
    *at_++ = byte;
  }

  // As pointer and size: a span or view would go through the stack.
  void put(const void* from, std::size_t bytes) {
    const std::byte* const first = static_cast<const std::byte*>(from);
    for (std::size_t i = 0; i != bytes; ++i) put(first[i]);
  }

  Status put(const Bytes* parts, std::size_t count, std::uint32_t first) {
    for (; count != 0; --count, ++parts) put(parts->data(), parts->size());
    return close(first);
  }

  void put_name(const ObjectName& name) {
    put(name.directory.data(), name.directory.size());
    put(std::byte{'/'});
    put(name.file.data(), name.file.size());
  }

  /// Of a frame that has room for it.
  void put_number(std::uint32_t number) {
    std::byte* const at = at_;
    at_ = at + sizeof number;
    store_little_endian(at, number);
  }

  /// Sends the frame that was put together. A numbered one is kept.
  Status close(std::uint32_t first) {
    const std::size_t body = static_cast<std::size_t>(at_ - end_) - 1 - kBodyAt;
    std::byte* const end = end_ + seal(end_, first | continued_, boot_, next_, body);
    *end = std::byte{0};
    send(end_ - 1, end);
    if ((first & kUnnumbered) == 0) {
      continued_ = first == first_byte(Kind::part) ? kContinued : 0;
      end_ = end + 1;
      ++next_;
      if (end_ > full_) make_room();
    }
    at_ = end_ + 1 + kBodyAt;
    // An answer is a state, which has no number.
    if ((first & kUnnumbered) == 0) serve();
    return Status::ok;
  }

  /// Behind the window's last frame, at the cost of its first ones: of a quarter of it at once, as all others move.
  void make_room() {
    const std::byte* kept = window_;
    do {
      kept = end_of(kept);
      ++oldest_;
    } while (kept < least_ && kept + 1 != end_);
    std::byte* to = window_;
    while (kept != end_) *to++ = *kept++;
    end_ = to;
  }

  /// Between and with two zeros.
  void send(const std::byte* from, const std::byte* end) {
    port_.write(Bytes(from, static_cast<std::size_t>(end - from) + 1));
  }

  Status tell_state(std::uint32_t asked = kNotAsked) {
    std::byte* const body = at_;
    at_ = body + 2 * sizeof asked;
    store_little_endian(body, oldest_);
    store_little_endian(body + sizeof asked, asked);
    return close(state_);
  }

  void answer() {
    const std::byte* const ask = ask_ + 1;
    const std::uint32_t first = load_little_endian<std::uint32_t>(ask + kNumberAt);
    if (load_little_endian<std::uint32_t>(ask + kBootAt) == boot_) {
      std::uint32_t number = oldest_ - first;
      for (const std::byte* at = window_; at + 1 != end_; ++number) {
        const std::byte* const end = end_of(at);
        if (number < std::to_integer<std::uint32_t>(ask[kBodyAt])) send(at, end);
        at = end;
      }
    }
    tell_state(first);
  }

  Port& port_;
  std::byte* const window_;       // a zero, and then frames as they are sent, each with the zero behind it
  std::byte* const full_;         // behind it there is no room for a frame
  const std::byte* const least_;  // up to here at least the window is emptied when it is full
  const std::uint32_t boot_;
  std::byte* end_;  // of the frames in the window
  std::byte* at_;   // end of the frame that is put together behind those
  std::uint32_t continued_ = 0;
  std::uint32_t oldest_ = 0;  // number of the window's first frame
  std::uint32_t next_ = 0;    // number of the next frame
  std::uint32_t state_ = first_byte(Kind::state);
  std::size_t asked_ = 0;  // bytes since the last zero that came in
  std::byte ask_[kAskBytes]{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::wire
