#ifndef OPDUMP_PRECOMPILED_CONFIG_HPP
#define OPDUMP_PRECOMPILED_CONFIG_HPP
// What the readers of configs include, as read.hpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/config/json/node_reader.hpp"
#include "src/config/refusal.hpp"
#endif
