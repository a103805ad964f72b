#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/read/dump/clock_steps.hpp"
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

  /// A line for each boot, such as "boot 3: a history of steps 12 to 40; written out: steps 12 to 14 (call)".
  std::vector<std::string> lines() const;

 private:
  class Finder;

  std::map<std::uint32_t, Boot> boots_;
  std::vector<flashlog::Position> behind_damage_;  ///< what can be read again begins there; in order
};

/// What a flash image holds of one boot.
struct BootTally {
  std::uint64_t committed = 0;
  std::uint64_t committed_bytes = 0;
  std::set<std::string> dumps{};  ///< directories of journals
  ClockSteps clock{};             ///< as `extract_image` has found in journals
};

/// Counts of what a flash image holds, by state.
struct ImageTally {
  std::uint64_t committed = 0;
  std::uint64_t committed_bytes = 0;
  std::uint64_t journals = 0;  ///< pieces of journals
  std::uint64_t aborted = 0;
  std::uint64_t torn = 0;
  std::uint64_t damaged = 0;
  std::uint64_t overwritten = 0;
  std::uint64_t nameless = 0;  ///< whole, but damage has destroyed the name
  std::uint64_t unreadable_runs = 0;
  std::map<std::uint32_t, BootTally> boots{};
};

/// "directory/file", with '?' for parts that damage has destroyed.
std::string path_text(const flashlog::LogReader::Object& object);

/// Says that the log wrapped and overwrote the beginning of `boot`.
std::string cut_text(std::uint32_t boot);

/// Says that the log holds nothing of `boot`, and which boots it has; empty if it holds something.
std::string missing_boot_text(const FlashImage& image, std::uint32_t boot);

/// "boot_N", made so that names sort in the order of boots.
std::string boot_directory(std::uint32_t boot);

/// A word for the object's state.
std::string_view state_text(const flashlog::LogReader::Object& object);

/// Of what a log holds, what is of interest.
struct ImageChoice {
  std::optional<std::uint32_t> boot{};            ///< that one alone
  const HistoryMarks* not_written_out = nullptr;  ///< those steps alone that the history has not handed on
};

/// Calls `use` for every object and every piece of a journal, in the order of the log.
ImageTally walk_image(FlashImage& image, const ImageChoice& choice,
                      const std::function<void(const flashlog::LogReader::Object&)>& use);

/// Writes all committed objects and the journals below `directory`, which is made if it is missing: the tree
/// that the tree sink would have written. With `apart`, each boot goes to
/// a directory of its own, because a device without a calendar uses the names of one boot again in the next.
/// Of a boot in which the clock was set, each journal is told so. If the log has wrapped, the journal whose
/// beginning was overwritten ends with a line that says so. Each problem goes to `error`; the rest is still
/// written. Nothing is, and nothing returned, if a file of it is there already.
std::optional<ImageTally> extract_image(FlashImage& image, const std::string& directory,
                                        const ImageChoice& choice, bool apart,
                                        const std::function<void(const std::string& message)>& error);

/// Calls `error` with a line for each place where blocks of the log are not there, though it did not go
/// round, and for each one where bytes were damaged after they were written; with `boot`, only for those that
/// may be of that boot. What a loss of power may have left is none. Reads all of the image, with a bar,
/// unless it is interrupted. The reader begins again.
void find_losses(FlashImage& image, std::optional<std::uint32_t> boot,
                 const std::function<void(const std::string& message)>& error);

}  // namespace opdump::tool
