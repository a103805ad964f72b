#include <doctest/doctest.h>

#include "tests/support/effort.hpp"
#include "tests/support/flash_costs.hpp"

namespace {

using opdump::tests::FlashCosts;
using opdump::tests::measure_flash_costs;

}  // namespace

TEST_CASE("flash log: writing costs little more than the bytes") {
  const opdump::flashlog::Geometry parts[] = {
      {.block_bytes = 4096, .block_count = 64, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 65536, .block_count = 16, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 65536, .block_count = 16, .program_bytes = 16},
      {.block_bytes = 65536, .block_count = 16, .program_bytes = 2048},
  };
  for (const opdump::flashlog::Geometry& part : parts) {
    CAPTURE(part.block_bytes);
    CAPTURE(part.program_bytes);
    const bool sync_each = part.program_bytes == 1;
    const std::uint32_t page_bytes = part.program_bytes > 256 ? part.program_bytes : 256;
    for (const std::uint32_t bytes : {256u, 4096u, 65536u}) {
      CAPTURE(bytes);
      const FlashCosts costs = measure_flash_costs(part, page_bytes, bytes, sync_each);
      CHECK(costs.write_amplification >= 1);
      CHECK(costs.write_amplification <= (bytes == 256 ? 1.25 : 1.05));
      CHECK(costs.erase_amplification > 0.8);
      CHECK(costs.erase_amplification <= 1);
      if (bytes >= 4096) CHECK(costs.of_raw >= 0.9);
    }
  }
}

TEST_CASE("flash log: 16 MiB are mounted at once") {
  for (const std::uint32_t block_bytes : {4096u, 65536u}) {
    if (OPDUMP_TEST_SHARE > 1 && block_bytes != 4096) continue;
    CAPTURE(block_bytes);
    const FlashCosts costs = measure_flash_costs(
        {.block_bytes = block_bytes, .block_count = (16u << 20) / block_bytes, .program_bytes = 1}, 256,
        65536, false);
    CHECK(costs.mount_ms > 0);
    CHECK(costs.mount_ms < 50);
  }
}
