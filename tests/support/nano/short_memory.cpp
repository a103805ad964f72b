// In place of libdatadump.so, and loaded before all else: from InitDataDump on, one operator new fails, the
// one whose number is in the environment variable FAIL_NEW.
#include <cstdlib>
#include <new>

namespace {

bool counting = false;
long left = 0;

void* memory_of(std::size_t bytes) {
  return counting && left-- == 0 ? nullptr : std::malloc(bytes);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const memory = memory_of(bytes)) return memory;
  throw std::bad_alloc();
}

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return memory_of(bytes);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

extern "C" int InitDataDump() {
  const char* const number = std::getenv("FAIL_NEW");
  counting = number != nullptr;
  if (counting) left = std::atol(number);
  return 0;
}

extern "C" int StopDataDump() {
  return 0;
}
