#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

/// A directory that holds journals, or should.
struct JournaledDump {
  std::string directory;
  std::vector<std::string> journals;
};

/// Adds the dumps in and below `directory`; what lies below one belongs to it.
void find_dumps(const std::string& directory, std::vector<JournaledDump>& dumps, std::uint64_t& journal_bytes,
                Findings& findings);

}  // namespace opdump::tool
