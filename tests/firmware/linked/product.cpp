// The product itself.

#include "product.hpp"

namespace firmware {

Session session({.memory = memory, .sink = flash_log, .clock = ticks, .scratch = scratch});

}  // namespace firmware
