#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "src/tool/flash/flash_image.hpp"

namespace opdump::tool {

/// What a flash image holds, by what became of it.
struct ImageTally {
  std::uint64_t committed = 0;
  std::uint64_t committed_bytes = 0;
  std::uint64_t journals = 0;  ///< pieces of journals
  std::uint64_t aborted = 0;
  std::uint64_t torn = 0;
  std::uint64_t damaged = 0;
  std::uint64_t overwritten = 0;
  std::uint64_t nameless = 0;  ///< whole, but damage has taken the name
  std::uint64_t unreadable_runs = 0;
};

/// "directory/file", with '?' for what damage has taken.
std::string path_text(const flashlog::LogReader::Object& object);

/// Says that a log which went round took the beginning of `boot`.
std::string cut_text(std::uint32_t boot);

/// That the log holds nothing of `boot`, and which boots it has; empty when it holds some.
std::string missing_boot_text(const FlashImage& image, std::uint32_t boot);

/// "boot_N", so that the order of names is that of boots.
std::string boot_directory(std::uint32_t boot);

/// A word for the state.
std::string_view state_text(const flashlog::LogReader::Object& object);

/// Calls `use` for every object and every piece of a journal, in the order of the log; of `boot` alone if it
/// is given.
ImageTally walk_image(FlashImage& image, std::optional<std::uint32_t> boot,
                      const std::function<void(const flashlog::LogReader::Object&)>& use);

/// Writes all that was committed, and the journals, below `directory`, which is made if it is missing: the
/// tree that the tree sink would have written; of `boot` alone if it is given, else each boot in a directory
/// of its own if there are several, as a device without a calendar gives the names of one boot again in the
/// next. Where the log has gone round, the journal of what it took the beginning of ends in a line that says
/// so. Each problem goes to `error`; the rest is written all the same.
ImageTally extract_image(FlashImage& image, const std::string& directory, std::optional<std::uint32_t> boot,
                         const std::function<void(const std::string& message)>& error);

}  // namespace opdump::tool
