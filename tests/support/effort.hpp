#pragma once
#include <cstddef>

/// Long tests of one thread do one in this many of their rounds. More than 1 only on emulated targets and with
/// sanitizers, which are slow, and where the host has done all rounds.
#ifndef OPDUMP_TEST_SHARE
#define OPDUMP_TEST_SHARE 1
#endif

namespace opdump::tests {

constexpr std::size_t rounds(std::size_t all) {
  return (all + OPDUMP_TEST_SHARE - 1) / OPDUMP_TEST_SHARE;
}

/// Whether a test that tries every way may stop after `ways` of them.
constexpr bool tried_enough(std::size_t ways) {
  return OPDUMP_TEST_SHARE > 1 && ways > 1000;
}

/// The way that a test which tries every way tries next: the first ones, then one in so many.
constexpr std::size_t next_way(std::size_t way) {
  constexpr std::size_t kFirst = 12;
  return way + (way < kFirst ? 1 : OPDUMP_TEST_SHARE);
}

}  // namespace opdump::tests
