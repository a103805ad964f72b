#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/tool/verify/dump_check.hpp"

namespace opdump::tool {

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
