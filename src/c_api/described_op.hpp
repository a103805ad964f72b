#pragma once
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/opdump.h"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// Attributes are for records that a lean build does not write.
inline constexpr bool kKeepsAttributes = !build::kLean;

/// Whether nothing is missing that the operator says it has.
inline bool is_described(const opdump_op& op) {
  if (op.name == nullptr || op.type == nullptr || op.level > OPDUMP_LEVEL_KERNEL) return false;
  if (op.original_name_count != 0 && op.original_names == nullptr) return false;
  for (std::uint32_t i = 0; i < op.original_name_count; ++i) {
    if (op.original_names[i] == nullptr) return false;
  }
  if (!kKeepsAttributes) return true;
  if (op.attribute_count != 0 && op.attributes == nullptr) return false;
  for (std::uint32_t i = 0; i < op.attribute_count; ++i) {
    if (op.attributes[i].name == nullptr || op.attributes[i].value == nullptr) return false;
  }
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
