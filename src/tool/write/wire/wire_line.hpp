#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/unique_fd.hpp"
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

/// One end of a line to a device: a terminal (serial, USB, pseudo), HOST:PORT, a socket of the file system,
/// or bytes that were recorded, from a file, a pipe or, as "-", standard input.
class WireLine {
 public:
  enum class Got {
    bytes,
    nothing,  ///< in time
    gone,     ///< the device; it may come back, to `reopen`
    end,      ///< of what was recorded, or of a device that is no line: then `error` says so
  };

  /// False: `error` says why. `baud` is of a serial line.
  bool open(const std::string& name, unsigned baud);

  /// Whether the line is there again.
  bool reopen();

  /// Waits for `milliseconds` at most.
  Got read(MutableBytes to, int milliseconds, std::size_t& count);

  /// What the line does not take at once is dropped.
  void write(Bytes bytes);

  bool two_way() const { return two_way_; }
  /// Something recorded, all of which is there.
  bool is_recording() const { return is_recording_; }
  const std::string& error() const { return error_; }

  /// Whether a serial line can be that fast here.
  static bool has_baud(unsigned baud);

 private:
  bool fail(const std::string& reason);
  bool open_socket();
  bool open_address(const std::string& host, const std::string& port);
  bool set_raw();

  std::string name_;
  unsigned baud_ = 0;
  posix::UniqueFd file_;
  bool two_way_ = false;
  bool is_recording_ = false;
  bool is_other_device_ = false;  ///< neither a terminal nor a socket
  std::string error_;
};

}  // namespace opdump::tool
