#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/dump/found_files.hpp"

namespace opdump::tool {

/// One record of a dump, for its inputs.
struct RecordedOp {
  std::uint64_t step = 0;
  std::uint64_t unix_us = 0;
  std::string op;
  std::string path;
  std::uint64_t bytes = 0;  ///< of its file
};

/// Adds the records at `path`, a dump or a part of one, in the order of their steps, and in each step of
/// their times. False, with `error`, when there are none, or when they are of several runs: then a step has
/// more than one.
bool find_recorded(const std::string& path, std::vector<RecordedOp>& ops, std::string& error);

}  // namespace opdump::tool
