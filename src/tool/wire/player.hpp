#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

#include "opdump/base/status.hpp"
#include "opdump/types/dtype.hpp"
#include "src/tool/wire/receiver.hpp"

namespace opdump::tool {

/// Sends recorded inputs to the Playback of a device, frame after frame: each until it was taken.
class Player {
 public:
  /// What became of a frame.
  enum class Sent {
    taken,
    refused,  ///< by the device: `refusal()` says why
    lost,     ///< no answer came in time, or nothing can come any more
  };
  static constexpr std::size_t kLeastFrameBytes = 32;
  static constexpr std::size_t kMostNameBytes =
      wire::kMaxFrameBytes - wire::kBodyAt - wire::kInputHeadBytes - wire::kCrcBytes;

  /// Bytes of a tensor go in frames of `frame_bytes`, kLeastFrameBytes to wire::kMaxFrameBytes. `session`
  /// tells this playback from others, and is not 0. `line` has begun, and outlives this.
  Player(Receiver& line, std::uint32_t session, std::chrono::milliseconds wait, std::size_t frame_bytes);

  ~Player() { line_.on_other({}); }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// A tensor begins. Its bytes follow, as many as were told. `op` has kMostNameBytes at most.
  Sent input(std::string_view op, std::uint8_t index, DType dtype, std::uint32_t bytes);
  Sent bytes(Bytes bytes);
  /// All tensors of a step were sent, so that the device runs it.
  Sent step(std::uint32_t step);
  /// All steps were.
  Sent over();

  Status refusal() const { return status_; }
  std::uint64_t resent_frames() const { return resent_; }

 private:
  using Clock = std::chrono::steady_clock;

  Sent deliver(wire::Kind kind, Bytes body);

  Receiver& line_;
  const std::uint32_t session_;
  const std::chrono::milliseconds wait_;
  const std::size_t piece_bytes_;
  std::uint32_t next_ = 0;  // number of the next frame
  bool answered_ = false;   // the frame before it
  bool runs_ = false;       // that one lets the device run a step
  Status status_ = Status::ok;
  std::uint64_t resent_ = 0;
  bool has_answered_ = false;  // any frame
  std::chrono::milliseconds answer_time_{100};
};

}  // namespace opdump::tool
