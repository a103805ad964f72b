#include <doctest/doctest.h>

#include <random>
#include <thread>

#include "opdump/ring.hpp"

using namespace opdump;

namespace {

std::byte threads_pattern(std::uint32_t chunk, std::uint32_t at) {
  return static_cast<std::byte>(chunk * 131 + at * 7 + 1);
}

}  // namespace

TEST_CASE("ring: two threads, every byte in order") {
  alignas(8) std::byte memory[1024 + 48];
  Ring ring;
  REQUIRE(ring.reset(memory) == Status::ok);
  constexpr std::uint32_t kChunks = 100'000;
  std::thread producer([&] {
    std::mt19937 random(3);
    for (std::uint32_t chunk = 0; chunk < kChunks;) {
      const std::uint32_t bytes = random() % 300;
      MutableBytes room;
      while ((room = ring.reserve(bytes, bytes)).data() == nullptr) std::this_thread::yield();
      for (std::uint32_t i = 0; i < bytes; ++i) room[i] = threads_pattern(chunk, i);
      ring.commit(bytes);
      ++chunk;
    }
  });
  std::mt19937 random(3);
  std::uint32_t wrong = 0;
  for (std::uint32_t chunk = 0; chunk < kChunks;) {
    const Bytes bytes = ring.peek();
    if (bytes.data() == nullptr) {
      ring.release();
      std::this_thread::yield();
      continue;
    }
    wrong += bytes.size() != random() % 300;
    for (std::uint32_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] != threads_pattern(chunk, i);
    ring.pop();
    if (++chunk % 3 == 0) ring.release();
  }
  producer.join();
  CHECK(wrong == 0);
  CHECK(ring.peek().data() == nullptr);
}
