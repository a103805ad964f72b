#pragma once
#include <string>

#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/overflow/op_debug.hpp"

namespace opdump::tool {

/// Reads the content of an OpDebug file's `tensor`. On false `reason` says what is wrong.
bool read_op_debug(RecordFile& file, const RecordTensor& tensor, OpDebug& debug, std::string& reason);

}  // namespace opdump::tool
