#pragma once
// A config that is built in: all operators of the network, at each step.

#include "firmware.hpp"

namespace firmware {

inline constexpr ModelRule kRules[] = {{.model_name = "net"}};
inline constexpr DumpConfig kConfig = {.asked = true, .active = true, .dump_path = "/dump", .models = kRules};

}  // namespace firmware
