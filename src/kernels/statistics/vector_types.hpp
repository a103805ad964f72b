#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "opdump/impl/stats/kernels.hpp"

/// Vectors of OPDUMP_VECTOR_BYTES, in the compilers' own notation.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

typedef signed char Chars __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef unsigned char CharCounts __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef std::int16_t Shorts __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef std::uint16_t UShorts __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef std::int32_t Ints __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef std::uint32_t UnsignedInts __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef std::int64_t Longs __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef std::uint64_t ULongs __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef float Floats __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));
typedef double Doubles __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
