// All that a device may carry: capture core, flash log, reader of plans, statistics as CANN has them, overflows.

#include "core_and_flash_log.cpp"
#include "opdump/config/blob.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/parts/overflow_scan.hpp"
#include "opdump/parts/statistics.hpp"

extern "C" {
Status size_load_plan(Bytes plan, Arena& memory, DumpConfig& config) {
  return load_plan(plan, memory, config);
}
Reduction* size_make_reduction(void* at, HostMemory& memory) {
  return ::new (at) StatisticsReduction<HostMemory>(memory);
}
OverflowCheck* size_make_overflow_check(void* at, HostMemory& memory) {
  return ::new (at) OverflowScan<HostMemory>(memory);
}
}
