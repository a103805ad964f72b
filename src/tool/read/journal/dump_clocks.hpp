#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/tool/read/dump/clock_steps.hpp"
#include "src/tool/read/dump/found_files.hpp"

namespace opdump::tool {

/// Moves the times in the names of files to what the calendar said then, as far as journals tell when the
/// clock was set. Where several journals lie in one directory, as after boots that began at the same time,
/// and they tell different steps, a file's own journal counts, which is the one that names it; a file that
/// none of them names keeps its time.
class DumpClocks {
 public:
  /// Journals are looked for in `files`, and above the directories named on the command line.
  explicit DumpClocks(const std::vector<FoundFile>& files);

  /// The time by the calendar of `us`, a time in the name of `file` or in its rows.
  std::uint64_t time_of(const FoundFile& file, std::uint64_t us);

 private:
  /// The journals of one directory.
  struct Journals {
    std::vector<std::string> paths;
    bool read = false;
    bool differ = false;
    ClockSteps steps;                         ///< of all, unless they differ
    std::map<std::string, ClockSteps> own{};  ///< by path below the directory, if they differ
  };

  void add(const std::string& directory, const std::string& path);

  /// The nearest directory at or above `root`, which was named, that has a journal; empty: none has.
  const std::string& look_above(const std::string& root);

  static void read(Journals& journals);

  std::map<std::string, Journals> directories_;
  std::map<std::string, std::string> above_;  ///< what `look_above` has found
};

}  // namespace opdump::tool
