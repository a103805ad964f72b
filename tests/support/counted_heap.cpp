#include "tests/support/counted_heap.hpp"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace opdump::tests {
CountedHeap heap;
}

using opdump::tests::heap;

namespace {

void* count(void* memory, std::size_t bytes) {
  if (memory == nullptr) return nullptr;
  heap.asked += bytes;
  heap.held += malloc_usable_size(memory);
  if (heap.held > heap.most_held) heap.most_held = heap.held;
  return memory;
}

void give_back(void* memory) {
  if (memory != nullptr) heap.held -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = count(std::malloc(bytes), bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return count(std::malloc(bytes), bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return count(std::malloc(bytes), bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = count(memalign(static_cast<std::size_t>(alignment), bytes), bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete[](void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give_back(memory);
}
