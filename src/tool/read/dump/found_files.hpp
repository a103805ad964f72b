#pragma once
#include <sys/stat.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace opdump::tool {

/// The first sealed::kHeadBytes of the file at `path`; empty: it is not sealed, or cannot be read.
std::vector<std::byte> sealed_head_of(const std::string& path);

/// The key id that the file at `path` says it is sealed for; empty: it is not sealed, or cannot be read.
std::string sealed_for(const std::string& path);

/// What a command that reads dumps says of sealed files at `path`.
std::string sealed_text(const std::string& path, const std::string& key_id);

/// `directory` and `name` as one path.
std::string path_of(const std::string& directory, std::string_view name);

/// The status of what is at `path` itself, not behind a link. False, with errno, when it cannot be asked.
bool look_at(const std::string& path, struct stat& status);

/// One entry of a directory.
struct DirectoryEntry {
  enum class Kind { file, directory, other };
  std::string name;
  Kind kind = Kind::other;
};

/// The entries of a directory in natural order; symbolic links are `other`. When it cannot be read to its end,
/// `error` says why.
std::vector<DirectoryEntry> read_directory(const std::string& directory, std::string& error);

/// Numbers texts from 0 on, each once, in the order in which they come first.
class NumberedTexts {
 public:
  NumberedTexts() = default;
  NumberedTexts(const NumberedTexts&) = delete;
  NumberedTexts& operator=(const NumberedTexts&) = delete;

  /// The number of the text; `is_new`: it is its first time.
  std::uint32_t number(std::string_view text, bool& is_new) {
    const auto [at, inserted] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    is_new = inserted;
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  std::uint32_t number(std::string_view text) {
    bool is_new = false;
    return number(text, is_new);
  }

  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;  ///< keys of `numbers_`
};

/// Pairs of files in one directory whose writer was cut off between renaming the one and the other: neither
/// counts. See "Pairs" of `TreeSink`.
class PendingPairs {
 public:
  /// Reads the note `name` of `directory`; ignores any other file, and a note that cannot be read.
  void read(const std::string& directory, std::string_view name);

  bool empty() const { return others_.empty(); }

  /// The other file of the pair that `name` belongs to; null: it belongs to none.
  const std::string* other(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> others_;
};

class Progress;

/// The suffix of files that the capture side and `convert` are still writing.
inline constexpr std::string_view kUnfinishedSuffix = ".part";

/// One regular file that may be a dump record.
struct FoundFile {
  std::string path;
  std::string real_name;  ///< the file's name, or what `mapping.csv` says it should have been
  std::string below;      ///< the file's directory, below the named one; empty: the named one itself
  bool named = false;     ///< named on the command line, not found in a directory
};

/// What a search could not use, for the caller to report.
struct SearchReport {
  std::function<void(const std::string& message)> error;  ///< something named is missing or unreadable
  std::function<void(const std::string& message)> note;   ///< something was skipped
};

/// Says both on stderr in the name of `command`, and counts the errors in `faults`.
SearchReport said_by(const std::string& command, std::uint64_t& faults);

/// As `report`, with the bar wiped away before each line. Refers to both.
SearchReport above_bar(const SearchReport& report, Progress& progress);

/// Whether a command can do something with sealed files.
enum class SealedFiles { passed_over, wanted };

/// Takes one file of those that a search finds.
using TakeFile = std::function<void(const FoundFile& file)>;

/// Gives the file `path`, or the files of the directory `path`, to `take`: first the files directly in it, in
/// the order of their time, then, if `recursive`, those of its subdirectories in natural order. Symbolic
/// links to directories are followed only in `path` itself. The files of a sealed dump are passed over with
/// an error. Counts them on a terminal.
void find_files(const std::string& path, bool recursive, const TakeFile& take, const SearchReport& report,
                SealedFiles sealed = SealedFiles::passed_over);

/// The same, and adds the files to `files`.
void find_files(const std::string& path, bool recursive, std::vector<FoundFile>& files,
                const SearchReport& report, SealedFiles sealed = SealedFiles::passed_over);

/// How many bytes it has; 0 when that cannot be asked.
std::uint64_t bytes_of(const FoundFile& file);

/// How many bytes all of them have, as far as that can be asked. Shows its progress on a terminal.
std::uint64_t total_bytes(const std::vector<FoundFile>& files);

/// Without links; `directory` itself when it cannot be resolved. Empty is the working directory.
std::string real_path(const std::string& directory);

/// The number of the boot whose folder, `boot_N`, holds the file at `path`; nothing outside such folders.
std::optional<std::uint32_t> boot_of(std::string_view path);

/// Reads `text` as the number of a boot.
std::optional<std::uint32_t> parse_boot(std::string_view text);

/// How to treat a file that turned out not to be a dump record.
enum class Stray {
  expected,      ///< a file that a conversion, for instance, leaves beside records
  worth_a_note,  ///< found in a directory, without a sign that it should be a record
  error,         ///< named as a record, by the user or by its file name
};

Stray judge_stray(const FoundFile& file);

/// A note on one that is `worth_a_note`.
std::string stray_note(const FoundFile& file);

}  // namespace opdump::tool
