#pragma once
#include "src/kernels/statistics/vector_types.hpp"

namespace opdump::compare {
namespace {

typedef std::uint16_t UnsignedShorts __attribute__((vector_size(OPDUMP_VECTOR_BYTES)));

}  // namespace
}  // namespace opdump::compare
