#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/tool/verify/dump_check.hpp"

namespace opdump::tool {

/// What `opdump check` says of the config that a dump was asked for with.
struct ConfigFacts {
  std::string file;  ///< empty: none was named
  bool valid = false;
  bool active = false;
  std::vector<std::string> lines{};  ///< what it means, or why it is refused
  std::vector<std::string> notes{};  ///< keys without effect, and the like
};

/// Reads a config of another machine: the directory to dump to need not be there.
ConfigFacts read_config_facts(const std::string& file);

/// What `opdump verify` says of a dump.
struct JournalFacts {
  std::size_t journals = 0;  ///< 0: nothing proves that the dump is complete
  std::string verdict;       ///< "complete"
  bool complete = false;
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  std::set<std::uint64_t> devices;
  std::vector<FindingGroup> findings;
  OpRecordCounts by_op;  ///< as far as journals name operators; empty where there are no findings
};

/// Checks the journals of the dump in `directory`; its files are only counted, as all of them are read
/// anyway. `wanted` is what the dump was asked for, by the cards beside it; null: not known.
JournalFacts read_journals(const std::string& directory, WantedRecords* wanted);

}  // namespace opdump::tool
