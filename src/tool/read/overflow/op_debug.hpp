#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_file.hpp"

namespace opdump::tool {

/// The content of an OpDebug file's tensor: the status that hardware reported when an operator overflowed.
struct OpDebug {
  struct Field {
    std::string_view name;
    std::vector<std::uint64_t> values;  ///< one value; the status of version 1 has four
    bool is_hex = false;                ///< the vendor's tool prints it in hexadecimal
  };

  /// One reporting unit, such as "AI Core" or "AIC".
  struct Block {
    std::string_view unit;
    std::vector<Field> fields;

    /// The value of a field that every block has, such as "task_id".
    std::uint64_t value(std::string_view name) const;

    bool has(std::string_view name) const;

    /// The status bits; for version 1 all four words joined.
    std::uint64_t status() const;
  };

  bool is_old = false;    ///< the layout of 2048 bytes without a magic number
  bool searched = false;  ///< no unit reported the status: opdump found an infinity or a NaN

  // Only in the new layout.
  std::uint32_t version = 0;
  std::uint32_t valid = 0;
  std::uint32_t reserved = 0;
  std::uint32_t data_bytes = 0;  ///< as the file claims

  std::vector<Block> blocks;  ///< three in the old layout, one in the new
};

/// On false `reason` says what is wrong with the bytes.
bool parse_op_debug(Bytes bytes, OpDebug& debug, std::string& reason);

/// The JSON that the vendor's tool makes of `debug`, byte by byte.
std::string op_debug_json(const OpDebug& debug);

/// What the bits of a status mean, one text per bit that is set and has a meaning.
std::vector<std::string_view> status_texts(std::uint64_t status);

/// Whether a file of this name holds OpDebug tensors. Every spelling of the prefix counts: the vendor's
/// documents and tools disagree on it.
bool is_op_debug_name(std::string_view file_name);

/// Reads the content of an OpDebug file's `tensor`. On false `reason` says what is wrong.
bool read_op_debug(RecordFile& file, const RecordTensor& tensor, OpDebug& debug, std::string& reason);

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
