#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::tool {

/// Of the files that the capture side and `convert` write aside.
inline constexpr std::string_view kUnfinishedSuffix = ".part";

/// One regular file that may be a dump record.
struct FoundFile {
  std::string path;
  std::string real_name;  ///< the file's name, or what `mapping.csv` says it should have been
  std::string below;      ///< directory of the file below the one that was named; empty: directly in it
  bool named = false;  ///< on the command line, not found in a directory
};

/// What a search could not use, for the caller to report.
struct SearchReport {
  std::function<void(const std::string& message)> error;  ///< something named is missing or unreadable
  std::function<void(const std::string& message)> note;   ///< something was passed over
};

/// Adds the file `path`, or the files of the directory `path`, to `files`: first those directly in it, in the
/// order of their time, then, if `recursive`, those of its directories in natural order. Symbolic links to
/// directories are followed only in `path` itself.
void find_files(const std::string& path, bool recursive, std::vector<FoundFile>& files,
                const SearchReport& report);

/// The number of the boot whose folder, `boot_N`, the file at `path` lies in; nothing outside any.
std::optional<std::uint32_t> boot_of(std::string_view path);

/// `text` as the number of a boot.
std::optional<std::uint32_t> parse_boot(std::string_view text);

/// What a file that turned out to be no dump record is.
enum class Stray {
  expected,      ///< such as a conversion leaves beside records
  worth_a_note,  ///< found in a directory, and nothing says that it should be a record
  error,         ///< named as a record, by the user or by its file name
};

Stray judge_stray(const FoundFile& file);

}  // namespace opdump::tool
