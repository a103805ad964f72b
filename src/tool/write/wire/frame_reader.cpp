#include "src/tool/write/wire/frame_reader.hpp"

#include <utility>

namespace opdump::tool {

void FrameReader::take(Bytes bytes, const std::function<void(WireFrame&& frame)>& use) {
  for (const std::byte byte : bytes) {
    if (byte == std::byte{0}) {
      end_frame(use);
      count_ = 0;
    } else {
      if (count_ < sizeof memory_) memory_[count_] = byte;
      ++count_;
    }
  }
}

void FrameReader::end_frame(const std::function<void(WireFrame&& frame)>& use) {
  if (count_ == 0) return;
  if (!wire::unseal(memory_, count_)) {
    stray_bytes_ += count_;
    return;
  }
  const std::byte* const frame = memory_ + 1;
  const auto first = std::to_integer<std::uint32_t>(frame[0]);
  if (first >> 5 != wire::kVersion) {
    ++strange_frames_;
    strange_version_ = first >> 5;
    return;
  }
  use(WireFrame{.kind = static_cast<wire::Kind>(first & 0xf),
                .continued = (first & wire::kContinued) != 0,
                .boot = load_little_endian<std::uint32_t>(frame + wire::kBootAt),
                .number = load_little_endian<std::uint32_t>(frame + wire::kNumberAt),
                .body = {frame + wire::kBodyAt, frame + (count_ - 1 - wire::kCrcBytes)}});
}

}  // namespace opdump::tool
