#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

/// Why `path` does not read as what its name says; empty: it does. `suffix` is what stands behind the
/// operator's name there; `file` reads it.
std::string problem_of(RecordFile& file, const std::string& path, std::string_view suffix);

/// What a flash log that went round took of one dump: its oldest records, and the first lines of its journal.
struct OverwrittenStart {
  bool may_be = false;
  bool records = true;                                   ///< the journal's detail, as far as lines tell
  std::set<std::uint32_t> there;                         ///< recorders of which a file is there
  std::uint64_t files = 0;                               ///< that are overwritten and have a line
  bool lines = false;                                    ///< lines are overwritten too
  bool counted = false;                                  ///< the next two are known
  std::uint64_t written = 0;                             ///< records whose lines are overwritten too
  std::uint64_t lost = 0;                                ///< and of those that were lost
  std::map<std::uint32_t, std::uint32_t> complete_from;  ///< sequence numbers, by recorder

  /// Whether the file that is not there made room for newer ones; notes it. A recorder's files are written
  /// one after another, so none of it is there before.
  bool takes(std::uint32_t recorder, std::uint32_t sequence);

  /// `counts_files`: how many records are gone is told where the files are counted.
  void tell(const std::string& journal, bool counts_files, Findings& findings) const;
};

}  // namespace opdump::tool
