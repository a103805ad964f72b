#pragma once
#include "src/card/json_writer.hpp"

namespace opdump::tool {

using cards::JsonWriter;

}  // namespace opdump::tool
