#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/nano/dbg_file.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Describes the model of a `.dbg` file that is called `name`. Its texts lie in `file` and in `name`. Tensors
/// are of zeros; one that cannot be as the file says is so many bytes, with its dims as the original shape.
/// False: `error` says what is damaged and where.
bool read_dbg_model(std::vector<std::byte> bytes, std::string_view name, nano::DbgFile& file, RunModel& model,
                    ConfigError& error);

}  // namespace opdump::tool
