// The product of product.cpp, whose configs may also ask for statistics and for operators that overflow.

#include "dump_plan.h"
#include "firmware.hpp"
#include "flash.hpp"
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
alignas(8) std::byte lists[DUMP_PLAN_MEMORY_BYTES];
Arena arena(lists);

}  // namespace firmware

extern "C" {
opdump::Status firmware_boot() {
  using namespace firmware;
  recorder = session.add_recorder(ring).value();
  const Status status = flash_log.mount();
  return status == Status::ok ? boot(session, flash_log, std::as_bytes(std::span(dump_plan)), arena) : status;
}

opdump::Status firmware_idle() {
  return firmware::flash_log.prepare().status();
}
}
