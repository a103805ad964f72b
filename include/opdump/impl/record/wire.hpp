#pragma once
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/impl/record/wire_described.hpp"
#include "opdump/impl/record/wire_finished.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How records pass through the rings of this build; recorder and drainer share it.
using Wire = std::conditional_t<build::kLean, FinishedWire, DescribedWire>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
