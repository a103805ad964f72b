#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/read/flash/flash_image.hpp"

namespace opdump::tool {

/// What the area of a history tells of its steps and of what was handed on, boot by boot.
class HistoryMarks {
 public:
  struct WrittenOut {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint32_t objects = 0;
    std::uint32_t lost = 0;
    flashlog::WriteOutCause cause{};
  };
  struct Boot {
    /// Where each step that is there begins, in order.
    std::vector<std::pair<flashlog::Position, std::uint64_t>> steps{};
    std::vector<WrittenOut> written{};
  };

  /// Goes through the whole image.
  explicit HistoryMarks(FlashImage& image);

  /// The step that an object, or piece of a journal, began in, as its boot counted them; none when its
  /// beginning has made room for newer ones, or damage before it may have taken it.
  std::optional<std::uint64_t> step_of(const flashlog::LogReader::Object& object) const;

  /// Whether that step was handed on by the device.
  bool was_written_out(const flashlog::LogReader::Object& object) const;

  /// A line for each boot, such as "boot 3: a history of steps 12 to 40; written out: 12 to 14 (call)".
  std::vector<std::string> lines() const;

 private:
  class Finder;

  std::map<std::uint32_t, Boot> boots_;
  std::vector<flashlog::Position> behind_damage_;  ///< what can be read again begins there; in order
};

}  // namespace opdump::tool
