#pragma once
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Of these headers; that of the project in meson.build.
inline constexpr std::string_view kOpdumpVersion = "0.1.0";

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
