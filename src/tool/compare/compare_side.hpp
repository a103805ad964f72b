#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/compare/compare_name.hpp"
#include "src/tool/dump/found_files.hpp"
#include "src/tool/dump/memory_layout.hpp"

namespace opdump::tool {

/// One tensor of a dump, wherever it lies.
struct DumpTensor {
  std::size_t file = 0;  ///< index in `DumpSide::files`
  bool is_output = false;
  std::uint32_t index = 0;
  DType dtype = DType::undefined;
  MemoryLayout layout;
  std::string problem;  ///< why it cannot be compared; empty: it can
  std::vector<Dim> shape;
  std::uint64_t elements = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t address = 0;
  std::string original_op;  ///< the framework's name of what was fused into the operator; empty: not told
  std::uint32_t original_index = 0;
};

/// One file of a dump, and what its name and place tell.
struct DumpFile {
  std::string path;
  std::string type;
  std::string op;
  std::string place;  ///< model and step; empty: not told
  std::optional<std::uint32_t> boot{};  ///< of a flash log of several
  std::uint64_t unix_us = 0;
  std::optional<std::uint64_t> task{};  ///< as the file's name has it
  bool is_record = false;
};

/// All tensors below one path, in the order of execution as far as file names tell it.
struct DumpSide {
  std::vector<DumpFile> files;
  std::vector<DumpTensor> tensors;
  bool named_file = false;  ///< the path is a file
};

/// Reads the heads of all files below `path`; with `boot`, of those of that boot. What cannot be used is told to `report`.
DumpSide read_side(const std::string& path, const SearchReport& report,
                   std::optional<std::uint32_t> boot = std::nullopt);

}  // namespace opdump::tool
