// What the flash log costs on emulated flash: a table of amplifications and modelled times, exact and the
// same on every machine, and the host's time per byte.

#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/flash_costs.hpp"
#include "timing.hpp"
#include "turns.hpp"

int main() {
  using namespace opdump;
  using tests::FlashCosts;
  struct Case {
    const char* name;
    flashlog::Geometry part;
    std::uint32_t page_bytes;
    bool sync_each;
  };
  const Case cases[] = {
      {"NOR, 4 KiB blocks, sync each",
       {.block_bytes = 4096, .block_count = 256, .bits_only_clear = true},
       256,
       true},
      {"NOR, 64 KiB blocks, sync each",
       {.block_bytes = 65536, .block_count = 64, .bits_only_clear = true},
       256,
       true},
      {"16 B granule, 64 KiB blocks",
       {.block_bytes = 65536, .block_count = 64, .program_bytes = 16},
       256,
       false},
      {"16 B granule, sync each", {.block_bytes = 65536, .block_count = 64, .program_bytes = 16}, 256, true},
      {"2 KiB pages, 128 KiB blocks",
       {.block_bytes = 131072, .block_count = 64, .program_bytes = 2048},
       2048,
       false},
      {"4 KiB pages, 256 KiB blocks",
       {.block_bytes = 262144, .block_count = 32, .program_bytes = 4096},
       4096,
       false},
  };
  std::printf("%-32s %8s %8s %8s %8s %9s %8s\n", "part", "record", "write", "erase", "of raw", "mount ms",
              "ns/B");
  for (const Case& c : cases) {
    for (const std::uint32_t bytes : {256u, 1088u, 4096u, 65536u}) {
      std::vector<double> ns;
      FlashCosts costs;
      for (int turn = 0; turn < 5; ++turn) {
        const double start = bench::nanoseconds_now();
        costs = tests::measure_flash_costs(c.part, c.page_bytes, bytes, c.sync_each);
        ns.push_back((bench::nanoseconds_now() - start) / (2.0 * c.part.block_bytes * c.part.block_count));
      }
      std::printf("%-32s %8u %8.3f %8.3f %8.3f %9.2f %8.2f\n", c.name, bytes, costs.write_amplification,
                  costs.erase_amplification, costs.of_raw, costs.mount_ms, bench::median(ns));
    }
  }
}
