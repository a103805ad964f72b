#pragma once
#include <string>

namespace opdump::tool {

/// Says whether run `with`, with a dump, computed what run `without` did, which had a smaller one: all
/// tensors that both have are equal bit by bit. Returns the exit status.
int run_observer(const std::string& without, const std::string& with, bool as_json);

}  // namespace opdump::tool
