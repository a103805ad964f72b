#pragma once
/// The vectorised kernels, in terms of what each instruction set supplies before it includes this file, once
/// per translation unit and with the compiler set to that instruction set:
///
///     OPDUMP_VECTOR_BYTES    16 or 32
///     struct Isa             smaller, larger (of two Floats, Doubles, Shorts, Chars; a NaN gives `other`),
///                            widen_floats (the floats at an address as Doubles), sum_bytes, square_bytes
///                            (kSubtractsLowestSquare: of -128 the negative), multiply_pairs (of Shorts,
///                            each two products added up), multiply_low (the low halves of two ULongs),
///                            rounded (a product of Doubles that no addition takes in)
///     kFloat16, kBfloat16    kernels: another set's, or those of vector_halves.hpp, which asks for
///                            widen_float16 (the halves at an address that fill Floats), add_columns (of
///                            Floats to Doubles, four apart), narrow (two Shorts to Chars that saturate),
///                            smaller and larger of UShorts, unfolded (a constant that stays one)
///
/// All names are local to the translation unit, so that no other one can end up with code for a processor
/// that it did not ask for; for the same reason nothing is included here.

#include "src/kernels/statistics/vector_floats.hpp"
#include "src/kernels/statistics/vector_integers.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

inline constexpr StatisticsKernels kKernels{
    .float32 = float32,
    .float16 = kFloat16,
    .bfloat16 = kBfloat16,
    .float64 = float64,
    .int8 = bytes<true>,
    .uint8 = bytes<false>,
    .int16 = shorts<true>,
    .uint16 = shorts<false>,
    .int32 = words<true>,
    .uint32 = words<false>,
    .int64 = longs<true>,
    .uint64 = longs<false>,
    .boolean = booleans,
};

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
