#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/overflow/op_debug.hpp"

namespace opdump::tool {

/// One overflow: the OpDebug file, its content, and the file of the operator that overflowed.
struct Overflow {
  FoundFile debug_file;
  std::uint64_t unix_us = 0;  ///< from the OpDebug file's name, by the calendar; 0: the name has none
  OpDebug debug;
  std::optional<FoundFile> op_file{};  ///< nothing: there is none
};

/// The block that reports the overflow: in the older layout the first one with a status; null: none has one.
const OpDebug::Block* reporting_block(const OpDebug& debug);

/// The OpDebug files among `files`, each read and paired with the operator's file beside it, in the order of
/// their time. `fail` gets a message for each file that cannot be read.
std::vector<Overflow> pair_overflows(const std::vector<FoundFile>& files,
                                     const std::function<void(const std::string& message)>& fail);

}  // namespace opdump::tool
