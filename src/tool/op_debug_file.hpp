#pragma once
#include <string>

#include "op_debug.hpp"
#include "record_file.hpp"

namespace opdump::tool {

/// Reads what an OpDebug file's `tensor` says. On false `reason` tells what is wrong.
bool read_op_debug(RecordFile& file, const RecordTensor& tensor, OpDebug& debug, std::string& reason);

}  // namespace opdump::tool
