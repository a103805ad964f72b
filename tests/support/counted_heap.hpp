#pragma once
#include <cstddef>

namespace opdump::tests {

/// What operator new gives in a program that links counted_heap.cpp, in bytes. For one thread.
struct CountedHeap {
  std::size_t asked = 0;      ///< for, in all calls so far
  std::size_t held = 0;       ///< now, with what malloc adds
  std::size_t most_held = 0;  ///< since the program set it
};
extern CountedHeap heap;

}  // namespace opdump::tests
