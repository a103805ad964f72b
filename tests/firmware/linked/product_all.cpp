// The product whose configs may also ask for statistics and for operators that overflow.

#include "product.hpp"

#include "opdump/parts/overflow_scan.hpp"
#include "opdump/parts/statistics.hpp"

namespace firmware {

StatisticsReduction<HostMemory> reduction(memory);
OverflowScan<HostMemory> overflow(memory);
Session session({.memory = memory,
                 .sink = flash_log,
                 .clock = ticks,
                 .scratch = scratch,
                 .reduction = &reduction,
                 .overflow = &overflow});

}  // namespace firmware
