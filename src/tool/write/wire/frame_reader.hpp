#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "platform/wire/frame.hpp"

namespace opdump::tool {

/// One frame of a wire that arrived whole.
struct WireFrame {
  wire::Kind kind{};
  bool continued = false;  ///< the entry began in a frame before
  std::uint32_t boot = 0;
  std::uint32_t number = 0;
  std::vector<std::byte> body{};
};

/// Finds the frames in bytes of a line, between whatever else comes over it.
class FrameReader {
 public:
  /// Calls `use` with each frame that ends in `bytes`.
  void take(Bytes bytes, const std::function<void(WireFrame&& frame)>& use);

  /// Bytes so far that were of no whole frame.
  std::uint64_t stray_bytes() const { return stray_bytes_; }
  /// Whole frames so far of another version of the format; the latest one's version.
  std::uint64_t strange_frames() const { return strange_frames_; }
  std::uint32_t strange_version() const { return strange_version_; }

 private:
  void end_frame(const std::function<void(WireFrame&& frame)>& use);

  std::byte memory_[1 + wire::kMaxFrameBytes] = {};
  std::size_t count_ = 0;  // bytes since the last zero
  std::uint64_t stray_bytes_ = 0;
  std::uint64_t strange_frames_ = 0;
  std::uint32_t strange_version_ = 0;
};

}  // namespace opdump::tool
