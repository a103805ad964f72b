#pragma once

/// What few configs ask of a model's operators.
enum class Unusual { patterns, type_parts, exclusions, ranges, marked };

/// What a session with OPDUMP_SMALL_CODE says of a config with `what`, as a number.
int status_of_small_code(Unusual what);
