#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "opdump/ring.hpp"
#include "tests/support/choices.hpp"

static_assert(OPDUMP_SURVIVE_RESET != 0, "the ring has to mark its chunks");

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kGranule = Ring::kGranule;
constexpr std::uint32_t kMaxGranules = 6;

/// Memory of a ring that forgets all else when it is copied, as in a reset.
struct Storage {
  alignas(8) std::byte bytes[kMaxGranules * kGranule] = {};
};

std::string payload(std::uint32_t number, std::uint32_t granules) {
  return std::string(granules * kGranule - Ring::kChunkHeadBytes, static_cast<char>('a' + number % 26));
}

/// Puts a chunk of that many granules into `ring`; false when there is no room.
bool put(Ring& ring, const std::string& text) {
  const std::uint32_t bytes = static_cast<std::uint32_t>(text.size());
  if (const Ring::Ahead ahead = ring.reserve_ahead(bytes); ahead.payload != nullptr) {
    std::memcpy(ahead.payload, text.data(), bytes);
    ring.commit_ahead(ahead, bytes);
    return true;
  }
  const MutableBytes room = ring.reserve(bytes, bytes);
  if (room.data() == nullptr) return false;
  std::memcpy(room.data(), text.data(), bytes);
  ring.commit(bytes);
  ring.look_ahead(ring.size());
  return true;
}

std::string take(Ring& ring) {
  const Bytes chunk = ring.peek();
  REQUIRE(chunk.data() != nullptr);
  const std::string text(as_text(chunk));
  ring.pop();
  return text;
}

/// The recovered ring has what waited, in order, and goes on as any other.
void check_recovered(Ring& ring, std::deque<std::string> waiting) {
  REQUIRE(ring.used() < ring.size());
  REQUIRE((ring.used() == 0) == waiting.empty());
  for (std::uint32_t number = 0; put(ring, payload(number, 1)); ++number)
    waiting.push_back(payload(number, 1));
  for (const std::string& text : waiting) REQUIRE(take(ring) == text);
  REQUIRE(ring.peek().data() == nullptr);
  ring.release();
  REQUIRE(ring.used() == 0);
  REQUIRE(ring.reserve(ring.max_chunk(), ring.max_chunk()).size() == ring.max_chunk());
}

}  // namespace

TEST_CASE("ring over a reset: after every sequence of 6 calls on every small ring, from every place") {
  for (std::uint32_t granules = 4; granules <= kMaxGranules; ++granules) {
    for (std::uint32_t start = 0; start < granules; ++start) {
      Choices choices;
      do {
        Storage storage;
        const std::size_t bytes = granules * kGranule;
        Ring ring;
        REQUIRE(ring.reset(MutableBytes(storage.bytes).first(bytes)) == Status::ok);
        std::uint32_t number = 0;
        for (; number < start; ++number) {
          REQUIRE(put(ring, payload(number, 1)));
          take(ring);
          ring.release();
        }
        std::deque<std::string> waiting;
        for (int call = 0; call < 6; ++call) {
          const int what = choices.pick(5);
          if (what < 3) {
            const std::string text = payload(number++, static_cast<std::uint32_t>(what) + 1);
            if (put(ring, text)) waiting.push_back(text);
          }
          if (what == 3 && !waiting.empty()) {
            REQUIRE(take(ring) == waiting.front());
            waiting.pop_front();
          }
          if (what == 4) ring.release();
        }
        // What fills when the machine stops is not there.
        if (ring.reserve_ahead(0).payload == nullptr && ring.reserve(0, UINT32_MAX).data() != nullptr)
          ring.hold(ring.position(), 0);
        Ring found;
        Storage copy = storage;
        REQUIRE(found.recover(MutableBytes(copy.bytes).first(bytes)) == Status::ok);
        check_recovered(found, waiting);
      } while (choices.next());
      CHECK(choices.ways() == 15'625);
    }
  }
}

TEST_CASE("ring over a reset: chunks in places where no ring leaves them are refused") {
  // A chunk of one granule at each place, of which each subset may be what the memory holds.
  Storage all;
  for (const std::uint32_t first : {0u, 1u}) {
    Storage storage;
    Ring ring;
    REQUIRE(ring.reset(storage.bytes) == Status::ok);
    for (std::uint32_t i = 0; i < first; ++i) {
      REQUIRE(put(ring, payload(25, 1)));
      take(ring);
      ring.release();
    }
    for (std::uint32_t i = first; i < first + kMaxGranules - 1; ++i) {
      REQUIRE(put(ring, payload(i, 1)));
      std::memcpy(all.bytes + i * kGranule, storage.bytes + i * kGranule, kGranule);
    }
  }
  for (unsigned set = 0; set < 1u << kMaxGranules; ++set) {
    CAPTURE(set);
    Storage storage;
    std::vector<std::deque<std::string>> rows;
    for (std::uint32_t i = 0; i < kMaxGranules; ++i) {
      if ((set >> i & 1) == 0) continue;
      std::memcpy(storage.bytes + i * kGranule, all.bytes + i * kGranule, kGranule);
      if (i == 0 || (set >> (i - 1) & 1) == 0) rows.emplace_back();
      rows.back().push_back(payload(i, 1));
    }
    const bool full = set == (1u << kMaxGranules) - 1;
    const bool possible = !full && (rows.size() < 2 || (rows.size() == 2 && (set & 1) != 0));
    Ring ring;
    REQUIRE(ring.recover(storage.bytes) == (possible ? Status::ok : Status::malformed));
    if (!possible) {
      CHECK(ring.peek().data() == nullptr);
      CHECK(ring.used() == 0);
      continue;
    }
    std::deque<std::string> waiting;
    std::for_each(rows.rbegin(), rows.rend(), [&](const std::deque<std::string>& row) {
      waiting.insert(waiting.end(), row.begin(), row.end());
    });
    check_recovered(ring, waiting);
  }
}

TEST_CASE("ring over a reset: unusable memory is refused, and another size or place finds nothing") {
  Storage storage;
  Ring ring;
  CHECK(ring.recover(MutableBytes(storage.bytes).first(8)) == Status::invalid_argument);
  REQUIRE(ring.reset(storage.bytes) == Status::ok);
  REQUIRE(put(ring, payload(0, 2)));
  Ring smaller;
  REQUIRE(smaller.recover(MutableBytes(storage.bytes).first(4 * kGranule)) == Status::ok);
  CHECK(smaller.peek().data() == nullptr);
  Storage moved;
  std::memcpy(moved.bytes + kGranule, storage.bytes, 2 * kGranule);
  Ring elsewhere;
  REQUIRE(elsewhere.recover(moved.bytes) == Status::ok);
  CHECK(elsewhere.peek().data() == nullptr);
  Ring same;
  REQUIRE(same.recover(storage.bytes) == Status::ok);
  CHECK(take(same) == payload(0, 2));
}
