#pragma once
#include <cstddef>

#include "opdump/types/dtype.hpp"

namespace opdump::tool {

/// Turns `count` elements, packed and little-endian from `from` on, into numbers: booleans into 0 and 1,
/// complex numbers into their magnitude. Elements smaller than a byte are taken from the low bits first, but
/// UINT1 from the high bits first, as the vendor's tools take them.
using ReadElements = void (*)(const std::byte* from, std::size_t count, double* to);

/// Null for dtypes whose elements are not numbers, or whose coding is unknown.
ReadElements element_reader(DType dtype);

/// The same as float32, as a cast gives it: rounded, and only the real part of a complex number.
using ReadFloats = void (*)(const std::byte* from, std::size_t count, float* to);

/// Null where `element_reader` is null.
ReadFloats float_reader(DType dtype);

/// The same as two float64 each, which lose nothing: their sum is a real number, and of a complex one the
/// first is the real part, the second the imaginary one.
using ReadPairs = void (*)(const std::byte* from, std::size_t count, double* first, double* second);

/// Null where float32 holds every number of the dtype.
ReadPairs pair_reader(DType dtype);

/// Whether `dtype` is complex, so that its numbers are magnitudes.
bool is_complex(DType dtype);

}  // namespace opdump::tool
