#pragma once
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/impl/record/wire_described.hpp"
#include "opdump/impl/record/wire_finished.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What goes through a ring of this build; recorder and drainer agree by it.
using Wire = std::conditional_t<build::kLean, FinishedWire, DescribedWire>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
