#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/tool/dump/found_files.hpp"
#include "src/tool/overflow/op_debug_file.hpp"

namespace opdump::tool {

/// One overflow: the OpDebug file, what it says, and the file of the operator that it is about.
struct Overflow {
  const FoundFile* debug_file = nullptr;
  std::uint64_t unix_us = 0;  ///< of the OpDebug file's name; 0 when the name tells none
  OpDebug debug;
  const FoundFile* op_file = nullptr;  ///< null: there is none
};

/// The block that reports: the first with a status, in the older layout; null when none has.
const OpDebug::Block* reporting_block(const OpDebug& debug);

/// The OpDebug files among `files`, each read and paired with the operator's file beside it, in the order of
/// their time. `fail` is told of those that cannot be read.
std::vector<Overflow> pair_overflows(const std::vector<FoundFile>& files,
                                     const std::function<void(const std::string& message)>& fail);

}  // namespace opdump::tool
