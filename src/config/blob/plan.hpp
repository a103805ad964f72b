#pragma once
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Copies a compiled plan into the input's memory and reads it there.
bool read_plan(Reading& reading);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
