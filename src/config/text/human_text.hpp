#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "opdump/types/format.hpp"
#include "opdump/types/tensor.hpp"
#include "src/config/text/display_text.hpp"

namespace opdump::tool {

/// "17 B", "1.5 KiB", "2.0 GiB".
std::string byte_text(std::uint64_t bytes);

/// "1 record", "3 records".
std::string count_text(std::uint64_t count, std::string_view singular);

/// "step 3", "steps 3 to 5".
std::string range_text(std::string_view singular, std::uint64_t first, std::uint64_t last);

/// A number with up to 6 significant digits.
std::string number_text(double number);

/// "2 for 1", with as many digits as tell them apart.
std::string apart_text(double number, double other, std::string_view word = " for ");

/// "[1,3,224,224]", "[]" for a scalar.
std::string shape_text(Shape shape);

/// "NC1HWC0", or "format 999" for a number without a name.
std::string format_text(Format format);

/// Local time as "2026-01-31T13:05:59.123456"; the plain number when the calendar has no such time.
std::string time_text(std::uint64_t unix_us);

}  // namespace opdump::tool
