#include "opdump/base/cpu.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "opdump/impl/capture/copy_way.hpp"

namespace {

using namespace opdump;

TEST_CASE("bytes that go past the caches arrive, and none beside them changes") {
  constexpr std::size_t kMost = 300;
  alignas(64) std::byte from[kMost + 64];
  for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  alignas(64) std::byte to[kMost + 128];
  for (std::size_t to_at = 0; to_at < 64; ++to_at) {
    for (const std::size_t from_at : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{63}}) {
      for (std::size_t bytes = 0; bytes <= kMost; ++bytes) {
        std::fill(std::begin(to), std::end(to), std::byte{0xee});
        copy_past_caches(to + to_at, {from + from_at, bytes});
        end_past_caches();
        const auto is_untouched = [](std::byte byte) { return byte == std::byte{0xee}; };
        const bool good = std::equal(from + from_at, from + from_at + bytes, to + to_at) &&
                          std::all_of(to, to + to_at, is_untouched) &&
                          std::all_of(to + to_at + bytes, std::end(to), is_untouched);
        if (!good) FAIL("to offset ", to_at, ", from offset ", from_at, ", ", bytes, " bytes");
      }
    }
  }
}

/// How many of `records` records of 64 KiB pass the caches, if they take so many ticks then or else.
int passing(CopyWay& way, int records, std::uint64_t past, std::uint64_t plain) {
  int passed = 0;
  for (int i = 0; i < records; ++i) {
    const bool passes = way.passes_caches();
    passed += passes ? 1 : 0;
    way.add(passes ? past : plain, 65536, 65536);
  }
  return passed;
}

TEST_CASE("of the ways past the caches and through them, the faster one is taken, and the other tried") {
  CopyWay way;
  CHECK_FALSE(way.passes_caches());
  const int slower = passing(way, 10'000, 5000, 3000);
  CHECK(slower > 0);
  CHECK(slower < 300);
  CHECK(passing(way, 2'000, 2000, 3000) > 0);
  CHECK(passing(way, 10'000, 2000, 3000) > 9'700);
  CHECK(passing(way, 2'000, 3000, 2900) < 2'000);
  CHECK(passing(way, 10'000, 3000, 2900) < 300);
}

}  // namespace
