#pragma once
#include <cstddef>

#include "opdump/types/dtype.hpp"

namespace opdump::tool {

/// Turns `count` elements, packed and little-endian from `from` on, into numbers: booleans into 0 and 1,
/// complex numbers into their magnitude. Elements below a byte are taken from the low bits first, UINT1 from
/// the high ones, as the vendor's tools take them.
using ReadElements = void (*)(const std::byte* from, std::size_t count, double* to);

/// Null for dtypes whose elements are no numbers, or whose coding is not known here.
ReadElements element_reader(DType dtype);

/// The same as float32, as a cast makes it: rounded, and of complex numbers the real part.
using ReadFloats = void (*)(const std::byte* from, std::size_t count, float* to);

/// Null where `element_reader` is.
ReadFloats float_reader(DType dtype);

/// Whether the numbers are magnitudes.
bool is_complex(DType dtype);

}  // namespace opdump::tool
