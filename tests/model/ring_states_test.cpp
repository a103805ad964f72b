#include <doctest/doctest.h>

#include <cstdint>
#include <deque>

#include "opdump/ring.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/demand.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kGranule = Ring::kGranule;
constexpr std::uint32_t kMaxGranules = 6;

std::byte pattern(std::uint32_t chunk, std::size_t at) {
  return static_cast<std::byte>(chunk * 131 + at * 7 + 1);
}

/// A ring beside what it should be, by a count of granules: those from the tail to the head are taken, and
/// one always stays free.
class RingAndExpectation {
 public:
  RingAndExpectation(std::uint32_t granules, std::uint32_t start) : granules_(granules) {
    OPDUMP_DEMAND(ring_.reset(MutableBytes(memory_).first(granules * kGranule)) == Status::ok);
    for (std::uint32_t i = 0; i < start; ++i) {
      write(1);
      read();
      release();
    }
  }

  void write(std::uint32_t need) {
    const std::uint32_t bytes = need * kGranule - Ring::kChunkHeadBytes;
    const Place place = place_for(need);
    MutableBytes room = ring_.reserve(bytes, UINT32_MAX);
    OPDUMP_DEMAND((room.data() != nullptr) == place.found);
    if (!place.found) return;
    std::byte* const expected = memory_ + place.at * kGranule + Ring::kChunkHeadBytes;
    OPDUMP_DEMAND(room.data() == expected);
    // The producer may know of less room than there is; what cannot fit makes it look again.
    OPDUMP_DEMAND(room.size() >= bytes);
    OPDUMP_DEMAND(ring_.reserve(ring_.size() - 1, UINT32_MAX).data() == nullptr);
    room = ring_.reserve(bytes, UINT32_MAX);
    OPDUMP_DEMAND(room.data() == expected);
    OPDUMP_DEMAND(room.size() == place.room * kGranule - Ring::kChunkHeadBytes);
    for (std::size_t i = 0; i < bytes; ++i) room[i] = pattern(written_, i);
    OPDUMP_DEMAND(ring_.reserve(bytes, bytes).size() == bytes);
    ring_.commit(bytes);
    chunks_.push_back({place.at, need, written_++});
    const bool goes_on = place.at != 0 && place.at + need < granules_;
    ahead_ = goes_on && need < ahead_ ? ahead_ - need : 0;
    head_ = (place.at + need) % granules_;
  }

  /// The same straight behind the last chunk.
  void write_ahead(std::uint32_t need) {
    const std::uint32_t bytes = need * kGranule - Ring::kChunkHeadBytes;
    const Ring::Ahead room = ring_.reserve_ahead(bytes);
    OPDUMP_DEMAND((room.payload != nullptr) == (need <= ahead_));
    if (room.payload == nullptr) return;
    OPDUMP_DEMAND(room.payload == memory_ + head_ * kGranule + Ring::kChunkHeadBytes);
    OPDUMP_DEMAND(ring_.used() == taken() * kGranule);
    for (std::size_t i = 0; i < bytes; ++i) room.payload[i] = pattern(written_, i);
    ring_.commit_ahead(room, bytes);
    chunks_.push_back({head_, need, written_++});
    head_ += need;
    ahead_ -= need;
  }

  /// Of what is free in one piece behind the head, the last granule of the ring is left out.
  void look_ahead(std::uint32_t most) {
    ring_.look_ahead(most * kGranule);
    ahead_ = 0;
    while (head_ + ahead_ + 1 < granules_ && taken() + ahead_ + 1 < granules_ && taken() + ahead_ < most &&
           is_free(head_ + ahead_))
      ++ahead_;
  }

  void end_ahead() {
    ring_.end_ahead();
    ahead_ = 0;
  }

  void read() {
    const Bytes chunk = ring_.peek();
    OPDUMP_DEMAND((chunk.data() == nullptr) == chunks_.empty());
    if (chunks_.empty()) return;
    const Chunk expected = chunks_.front();
    chunks_.pop_front();
    read_ = expected.at;
    OPDUMP_DEMAND(chunk.data() == memory_ + read_ * kGranule + Ring::kChunkHeadBytes);
    OPDUMP_DEMAND(chunk.size() == expected.granules * kGranule - Ring::kChunkHeadBytes);
    OPDUMP_DEMAND(ring_.peek().data() == chunk.data());
    bool same = true;
    for (std::size_t i = 0; i < chunk.size(); ++i) same = same && chunk[i] == pattern(expected.number, i);
    OPDUMP_DEMAND(same);
    ring_.pop();
    read_ = (read_ + expected.granules) % granules_;
  }

  void release() {
    ring_.release();
    tail_ = read_;
  }

  void check() {
    OPDUMP_DEMAND(ring_.used() == taken() * kGranule);
    for (std::uint32_t granules = 0; granules < granules_; ++granules)
      OPDUMP_DEMAND(ring_.over(granules * kGranule) == (taken() > granules));
    for (const std::uint32_t least : {ring_.size(), UINT32_MAX - kGranule, UINT32_MAX})
      OPDUMP_DEMAND(ring_.reserve(least, UINT32_MAX).data() == nullptr);
    if (taken() == 0)
      OPDUMP_DEMAND(ring_.reserve(ring_.max_chunk(), ring_.max_chunk()).size() == ring_.max_chunk());
  }

 private:
  struct Place {
    bool found = false;
    std::uint32_t at = 0;
    std::uint32_t room = 0;
  };

  struct Chunk {
    std::uint32_t at;
    std::uint32_t granules;
    std::uint32_t number;
  };

  std::uint32_t taken() const { return (head_ + granules_ - tail_) % granules_; }
  bool is_free(std::uint32_t granule) const { return (granule + granules_ - tail_) % granules_ >= taken(); }

  std::uint32_t free_from(std::uint32_t at) const {
    std::uint32_t count = 0;
    while (at + count < granules_ && is_free(at + count)) ++count;
    return count;
  }

  Place place_for(std::uint32_t need) const {
    const std::uint32_t usable = granules_ - taken() - 1;
    const std::uint32_t here = free_from(head_);
    if (need <= here && need <= usable) return {true, head_, here < usable ? here : usable};
    const bool goes_on_at_0 = head_ + here == granules_;
    if (!goes_on_at_0 || need + here > usable) return {};
    return {true, 0, usable - here};
  }

  const std::uint32_t granules_;
  alignas(8) std::byte memory_[kMaxGranules * kGranule] = {};
  Ring ring_;
  std::uint32_t head_ = 0;
  std::uint32_t ahead_ = 0;  ///< granules behind the head that the latest look saw free
  std::uint32_t read_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t written_ = 0;
  std::deque<Chunk> chunks_;
};

}  // namespace

TEST_CASE("ring: every sequence of 7 calls on every small ring, from every place") {
  for (std::uint32_t granules = 4; granules <= kMaxGranules; ++granules) {
    for (std::uint32_t start = 0; start < granules; ++start) {
      Choices choices;
      do {
        RingAndExpectation pair(granules, start);
        for (int call = 0; call < 7; ++call) {
          const int what = choices.pick(5);
          if (what < 3) pair.write(static_cast<std::uint32_t>(what) + 1);
          if (what == 3) pair.read();
          if (what == 4) pair.release();
        }
        pair.check();
      } while (choices.next());
      CHECK(choices.ways() == 78'125);
    }
  }
}

TEST_CASE("ring: every sequence of 6 calls with chunks straight behind the last one") {
  for (std::uint32_t granules = 4; granules <= kMaxGranules; ++granules) {
    for (std::uint32_t start = 0; start < granules; ++start) {
      Choices choices;
      do {
        RingAndExpectation pair(granules, start);
        for (int call = 0; call < 6; ++call) {
          const int what = choices.pick(8);
          if (what == 0) pair.write(1);
          if (what == 1) pair.write(2);
          if (what == 2 || what == 3) pair.write_ahead(static_cast<std::uint32_t>(what) - 1);
          if (what == 4) pair.look_ahead(granules / 2);
          if (what == 5) pair.look_ahead(granules);
          if (what == 6) pair.read();
          if (what == 7) pair.release();
        }
        pair.end_ahead();
        pair.write_ahead(1);
        pair.check();
      } while (choices.next());
      CHECK(choices.ways() == 262'144);
    }
  }
}

TEST_CASE("ring: used is what lies between the ends") {
  alignas(8) std::byte memory[kMaxGranules * kGranule];
  Ring ring;
  REQUIRE(ring.reset(memory) == Status::ok);
  REQUIRE(ring.reserve(24, 24).size() == 24);
  CHECK(ring.used() == 0);
  ring.commit(9);
  CHECK(ring.used() == 2 * kGranule);
}

TEST_CASE("ring: max_chunk is the most that fits an empty ring wherever its ends stand") {
  for (std::uint32_t granules = 4; granules <= kMaxGranules; ++granules) {
    alignas(8) std::byte memory[kMaxGranules * kGranule];
    Ring ring;
    REQUIRE(ring.reset(MutableBytes(memory).first(granules * kGranule)) == Status::ok);
    bool more_fits = true;
    for (std::uint32_t i = 0; i < granules; ++i) {
      CHECK(ring.reserve(ring.max_chunk(), UINT32_MAX).data() != nullptr);
      more_fits = more_fits && ring.reserve(ring.max_chunk() + 1, UINT32_MAX).data() != nullptr;
      REQUIRE(ring.reserve(0, 0).data() != nullptr);
      ring.commit(0);
      REQUIRE(ring.peek().data() != nullptr);
      ring.pop();
      ring.release();
    }
    CHECK_FALSE(more_fits);
  }
}

TEST_CASE("ring: reset makes a used ring as good as new") {
  alignas(8) std::byte memory[kMaxGranules * kGranule];
  Choices choices;
  do {
    Ring ring;
    REQUIRE(ring.reset(memory) == Status::ok);
    for (int call = 0; call < 5; ++call) {
      const int what = choices.pick(4);
      if (what == 3) ring.look_ahead(ring.size());
      if (what == 0 && ring.reserve(24, 24).data() != nullptr) ring.commit(24);
      if (what == 1 && ring.peek().data() != nullptr) ring.pop();
      if (what == 2) ring.release();
    }
    REQUIRE(ring.reset(memory) == Status::ok);
    CHECK(ring.used() == 0);
    CHECK(ring.peek().data() == nullptr);
    CHECK(ring.reserve_ahead(8).payload == nullptr);
    const MutableBytes room = ring.reserve(0, UINT32_MAX);
    CHECK(room.data() == memory + Ring::kChunkHeadBytes);
    CHECK(room.size() == (kMaxGranules - 1) * kGranule - Ring::kChunkHeadBytes);
    ring.commit(8);
    CHECK(ring.peek().data() == room.data());
    CHECK(ring.peek().size() == 8);
  } while (choices.next());
}

TEST_CASE("ring: memory beyond what the offsets reach is refused") {
  alignas(8) std::byte memory[Ring::kMinBytes];
  Ring ring;
  // Nothing behind the first bytes is touched.
  CHECK(ring.reset({memory, std::size_t{Ring::kMaxBytes} + 1}) == Status::invalid_argument);
  CHECK(ring.reset({memory, std::size_t{Ring::kMaxBytes}}) == Status::ok);
  CHECK(ring.size() == Ring::kMaxBytes);
}
