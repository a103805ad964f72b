#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <utility>
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

TEST_CASE("ring: all is popped once the chunks that were seen are, and drained once they are released") {
  Storage storage(256);
  Ring ring;
  REQUIRE(ring.reset(storage.memory()) == Status::ok);
  const auto put = [&ring] {
    REQUIRE(ring.reserve(8, 8).data() != nullptr);
    ring.commit(8);
  };
  CHECK(ring.drained());
  put();
  put();
  CHECK(ring.all_popped());  // not looked yet
  CHECK_FALSE(ring.drained());
  REQUIRE(ring.peek().data() != nullptr);
  CHECK_FALSE(ring.all_popped());
  put();
  ring.pop();
  CHECK_FALSE(ring.all_popped());
  REQUIRE(ring.peek().data() != nullptr);
  ring.pop();
  CHECK(ring.all_popped());  // the third was not seen
  REQUIRE(ring.peek().data() != nullptr);
  CHECK_FALSE(ring.all_popped());
  ring.pop();
  CHECK_FALSE(ring.drained());
  ring.release();
  CHECK(ring.drained());
}

TEST_CASE("ring: chunks that fill at the same time come out in order, once they are published") {
  std::minstd_rand random(5);
  for (const std::size_t bytes : {64u, 96u, 240u, 1024u}) {
    Storage storage(bytes);
    Ring ring;
    REQUIRE(ring.reset(storage.memory()) == Status::ok);
    std::deque<std::vector<std::byte>> expected;
    std::deque<std::pair<Ring::Held, MutableBytes>> held;
    unsigned number = 0;
    std::size_t most_held = 0;
    for (int i = 0; i < 20000; ++i) {
      switch (random() % 4) {
        case 0: {
          const std::uint32_t position = held.empty() ? ring.position() : ring.end_of(held.back().first);
          const std::uint32_t most = static_cast<std::uint32_t>(random() % (bytes / 3));
          const MutableBytes room = ring.reserve_at(position, most / 2, most);
          if (room.data() == nullptr) break;
          held.emplace_back(ring.hold(position, static_cast<std::uint32_t>(room.size())), room);
          most_held = std::max(most_held, held.size());
          break;
        }
        case 1: {
          if (held.empty()) break;
          const auto [chunk, room] = held.front();
          held.pop_front();
          // Filled last, when those behind it are long there.
          std::vector<std::byte> data(room.size());
          for (std::byte& byte : data) byte = static_cast<std::byte>(++number * 37);
          std::copy(data.begin(), data.end(), room.begin());
          expected.push_back(data);
          ring.publish(chunk);
          break;
        }
        case 2:
          if (random() % 8 == 0) held.clear();
          break;
        default: {
          const Bytes chunk = ring.peek();
          REQUIRE((chunk.data() == nullptr) == expected.empty());
          if (chunk.data() == nullptr) break;
          REQUIRE(std::equal(chunk.begin(), chunk.end(), expected.front().begin(), expected.front().end()));
          expected.pop_front();
          ring.pop();
          if (random() % 2 == 0) ring.release();
          break;
        }
      }
      const std::uint32_t position = held.empty() ? ring.position() : ring.end_of(held.back().first);
      if (!held.empty()) CHECK(ring.over_at(position, 0));
    }
    CHECK(most_held >= 2);
  }
}
