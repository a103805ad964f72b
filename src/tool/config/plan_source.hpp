#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "opdump/base/bytes.hpp"

namespace opdump::tool {

/// Whether `name` can name an array in C and in C++.
bool is_c_name(std::string_view name);

/// A C and C++ header that holds `plan` as the array `name`, 8-byte aligned. `memory_bytes`: the most memory
/// that loading the plan takes.
std::string plan_source(Bytes plan, std::string_view name, std::size_t memory_bytes);

}  // namespace opdump::tool
