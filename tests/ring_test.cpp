#include <doctest/doctest.h>

#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "opdump/ring.hpp"

using namespace opdump;

namespace {

struct Storage {
  explicit Storage(std::size_t bytes) : words(bytes / 8 + 1), bytes(bytes) {}
  MutableBytes memory() { return std::as_writable_bytes(std::span(words)).first(bytes); }
  std::vector<std::uint64_t> words;
  std::size_t bytes;
};

std::byte pattern(std::uint32_t chunk, std::uint32_t at) {
  return static_cast<std::byte>(chunk * 131 + at * 7 + 1);
}

}  // namespace

TEST_CASE("ring: unusable memory is refused") {
  Ring ring;
  CHECK(ring.reserve(1, 1).data() == nullptr);
  CHECK(ring.max_chunk() == 0);
  CHECK(ring.peek().data() == nullptr);
  Storage storage(256);
  CHECK(ring.reset(storage.memory().first(Ring::kMinBytes - 1)) == Status::invalid_argument);
  CHECK(ring.reset(storage.memory().subspan(1, 128)) == Status::invalid_argument);
  CHECK(ring.reset(storage.memory().first(100)) == Status::ok);
  CHECK(ring.size() == 96);
}

TEST_CASE("ring: an empty ring takes max_chunk wherever its ends stand") {
  for (std::uint32_t granules = 4; granules < 40; ++granules) {
    Storage storage(granules * Ring::kGranule);
    Ring ring;
    REQUIRE(ring.reset(storage.memory()) == Status::ok);
    for (std::uint32_t round = 0; round < 3 * granules; ++round) {
      const std::uint32_t bytes = ring.max_chunk();
      const MutableBytes room = ring.reserve(bytes, bytes);
      REQUIRE(room.data() != nullptr);
      REQUIRE(room.size() == bytes);
      // Not committed: nothing to see, and the ends move by one granule.
      CHECK(ring.peek().data() == nullptr);
      REQUIRE(ring.reserve(1, 1).data() != nullptr);
      ring.commit(1);
      REQUIRE(ring.peek().size() == 1);
      ring.pop();
      ring.release();
      CHECK(ring.used() == 0);
    }
  }
}

TEST_CASE("ring: against a queue, random sizes, every ring size") {
  std::mt19937 random(7);
  for (std::uint32_t granules = 4; granules < 30; ++granules) {
    Storage storage(granules * Ring::kGranule);
    Ring ring;
    REQUIRE(ring.reset(storage.memory()) == Status::ok);
    std::deque<std::pair<std::uint32_t, std::uint32_t>> expected;  // chunk number, bytes
    std::deque<std::pair<std::uint32_t, std::uint32_t>> unreleased;
    std::uint32_t next = 0;
    for (int action = 0; action < 4000; ++action) {
      if (random() % 2 == 0) {
        const std::uint32_t least = random() % (ring.size() / 2);
        const std::uint32_t most = least + random() % 32;
        const MutableBytes room = ring.reserve(least, most);
        if (room.data() == nullptr) {
          CHECK_MESSAGE((least > ring.max_chunk() || !expected.empty() || !unreleased.empty()),
                        "refused when empty");
          continue;
        }
        CHECK(room.size() >= least);
        CHECK(room.size() <= most);
        if (random() % 5 == 0) continue;  // abandoned
        const std::uint32_t bytes =
            static_cast<std::uint32_t>(room.size()) - (random() % 3 == 0 ? (least > 0) : 0);
        for (std::uint32_t i = 0; i < bytes; ++i) room[i] = pattern(next, i);
        ring.commit(bytes);
        expected.push_back({next++, bytes});
      } else if (random() % 4 == 0) {
        ring.release();
        unreleased.clear();
      } else {
        const Bytes chunk = ring.peek();
        REQUIRE((chunk.data() == nullptr) == expected.empty());
        if (chunk.data() == nullptr) continue;
        REQUIRE(chunk.size() == expected.front().second);
        bool same = true;
        for (std::uint32_t i = 0; i < chunk.size(); ++i)
          same = same && chunk[i] == pattern(expected.front().first, i);
        CHECK(same);
        ring.pop();
        unreleased.push_back(expected.front());
        expected.pop_front();
      }
    }
    CHECK(next > 100);
  }
}
