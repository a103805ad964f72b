#pragma once
#include <cstddef>

/// What few configs ask of a model's operators.
enum class Unusual { patterns, type_parts, exclusions, ranges, marked };

/// What a session with OPDUMP_SMALL_CODE says of a config with `what`, as a number.
int status_of_small_code(Unusual what);

/// What it says of `bytes` of memory for heads.
int status_of_heads_in_small_code(std::size_t bytes);

/// The status of `load_plan` in a build of small code.
int plan_status_of_small_code(const void* plan, std::size_t bytes);
