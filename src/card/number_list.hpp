#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "opdump/knobs.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// "0|2-4": numbers in their order, runs of which are ranges, as a config has them.
std::string numbers_text(std::span<const std::uint64_t> numbers);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
