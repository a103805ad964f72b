// The shipped ring, run by relacy under the C++ memory model: every execution of small cases, and random ones of larger
// cases. usage: ring_model_test [EXECUTIONS]: random executions of each larger case, 1000 without it

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "relacy_parts.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;

using ModelRing = BasicRing<CheckedParts>;
constexpr std::uint32_t kGranule = ModelRing::kGranule;

/// One call of the producer's side.
struct Write {
  enum Then : std::uint8_t { commit, commit_least, abandon, look, ask_drained, ahead };
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  Then then = commit;
};

/// What the threads do. `reads`: p peek and, if there is a chunk, use and pop it; r release; u ask what is
/// used. A third thread, if there is one, asks whether the ring is drained.
struct Case {
  std::uint32_t granules = 4;
  std::uint32_t start = 0;  ///< granule at which both ends stand when the threads start
  std::array<Write, 4> writes{};
  std::uint32_t write_count = 0;
  std::string_view reads{};
  std::uint32_t random_calls = 0;  ///< not 0: that many random calls on each side instead
};

Case the_case;

std::byte pattern(std::uint32_t chunk, std::size_t at) {
  return static_cast<std::byte>(chunk * 131 + at * 7 + 1);
}

template <int kThreads>
class RingModel : public rl::test_suite<RingModel<kThreads>, kThreads> {
 public:
  void before() {
    CheckedParts::memory = &memory_;
    announced_.store(0, rl::mo_relaxed, here());
    RL_ASSERT(ring_.reset(memory_.bytes(the_case.granules * kGranule)) == Status::ok);
    for (std::uint32_t i = 0; i < the_case.start; ++i) {
      write({});
      read();
      release();
    }
    RL_ASSERT(ring_.used() == 0);
  }

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint32_t i = 0; i < the_case.write_count; ++i) write(the_case.writes[i]);
      for (std::uint32_t i = 0; i < the_case.random_calls; ++i) write(random_write());
    } else if (index == 2) {
      ask_drained(announced_.load(rl::mo_acquire, here()));
    } else {
      for (const char what : the_case.reads) consume(what);
      for (std::uint32_t i = 0; i < the_case.random_calls; ++i) consume("ppprru"[rl::rand(6)]);
    }
  }

  void after() {
    while (read()) {
    }
    RL_ASSERT(chunks_read_ == chunks_written_);
    release();
    RL_ASSERT(ring_.used() == 0);
    RL_ASSERT(ring_.reserve(ring_.max_chunk(), ring_.max_chunk()).size() == ring_.max_chunk());
  }

 private:
  static constexpr std::uint32_t kMaxChunks = 256;

  static Write random_write() {
    const std::uint32_t least = rl::rand(the_case.granules * kGranule / 2);
    const std::uint32_t most = least + rl::rand(40);
    constexpr Write::Then kThen[] = {Write::commit, Write::commit, Write::commit_least, Write::abandon,
                                     Write::look,   Write::ahead,  Write::ahead};
    return {least, most, kThen[rl::rand(7)]};
  }

  void write(Write what) {
    if (what.then == Write::look) {
      ring_.over(ring_.size() / 2);
      RL_ASSERT(ring_.used() <= ring_.size() - kGranule);
      return;
    }
    if (what.then == Write::ask_drained) {
      ask_drained(chunks_written_);
      return;
    }
    if (what.then == Write::ahead) return write_ahead(what.least);
    const MutableBytes room = ring_.reserve(what.least, what.most);
    if (room.data() == nullptr) return;
    RL_ASSERT(room.size() >= what.least && room.size() <= what.most);
    CheckedParts::will_write(memory_.offset_of(room.data()), static_cast<std::uint32_t>(room.size()));
    for (std::size_t i = 0; i < room.size(); ++i) room[i] = pattern(chunks_written_, i);
    if (what.then == Write::abandon) return;
    const std::uint32_t bytes =
        what.then == Write::commit_least ? what.least : static_cast<std::uint32_t>(room.size());
    note_written(bytes);
    ring_.commit(bytes);
    announce();
  }

  /// As a recorder does: where nothing is known to be free ahead, it goes the long way and looks afterwards.
  void write_ahead(std::uint32_t bytes) {
    const auto room = ring_.reserve_ahead(bytes);
    if (room.payload == nullptr) {
      write({bytes, bytes, Write::commit});
      ring_.look_ahead(ring_.size());
      return;
    }
    CheckedParts::will_write(memory_.offset_of(room.payload), bytes);
    for (std::size_t i = 0; i < bytes; ++i) room.payload[i] = pattern(chunks_written_, i);
    note_written(bytes);
    ring_.commit_ahead(room, bytes);
    announce();
  }

  void note_written(std::uint32_t bytes) {
    RL_ASSERT(chunks_written_ < kMaxChunks);
    sizes_[chunks_written_++] = bytes;
  }

  void announce() {
    if (kThreads > 2) announced_.store(chunks_written_, rl::mo_release, here());
  }

  /// What the consumer did with the chunks must be visible to who knows of `known` and sees the ring drained.
  void ask_drained(std::uint32_t known) {
    if (!ring_.drained()) return;
    for (std::uint32_t i = 0; i < known; ++i) RL_ASSERT(delivered_[i](here()).load() == i + 1);
  }

  void consume(char what) {
    if (what == 'p') read();
    if (what == 'r') release();
    if (what == 'u') RL_ASSERT(ring_.used() <= ring_.size() - kGranule);
  }

  bool read() {
    const Bytes chunk = ring_.peek();
    if (chunk.data() == nullptr) return false;
    RL_ASSERT(chunks_read_ < chunks_written_);
    RL_ASSERT(chunk.size() == sizes_[chunks_read_]);
    chunks_[chunks_read_] = chunk;
    use(chunks_read_++);
    ring_.pop();
    return true;
  }

  // Popped chunks stay readable until now.
  void release() {
    for (; chunks_released_ < chunks_read_; ++chunks_released_) {
      use(chunks_released_);
      delivered_[chunks_released_](here()).store(chunks_released_ + 1);
    }
    ring_.release();
  }

  void use(std::uint32_t number) {
    const Bytes chunk = chunks_[number];
    CheckedParts::will_read(memory_.offset_of(chunk.data()), static_cast<std::uint32_t>(chunk.size()));
    for (std::size_t i = 0; i < chunk.size(); ++i) RL_ASSERT(chunk[i] == pattern(number, i));
  }

  static rl::debug_info here(int line = __builtin_LINE()) {
    return {"", __FILE__, static_cast<unsigned>(line)};
  }

  WatchedMemory memory_;
  ModelRing ring_;
  rl::var<std::uint32_t>
      delivered_[kMaxChunks];            // what the consumer makes of each chunk before it releases it
  rl::atomic<std::uint32_t> announced_;  // chunks of which the third thread may know
  // For the test's own checks; the threads are fibers of one, so the ring does not need to publish these.
  std::uint32_t sizes_[kMaxChunks];
  std::uint32_t chunks_written_ = 0;
  std::uint32_t chunks_read_ = 0;
  std::uint32_t chunks_released_ = 0;
  Bytes chunks_[kMaxChunks];
};

/// relacy's report, in memory of its own: relacy takes over operator new.
class Report : public std::streambuf {
 public:
  void clear() { setp(text_, text_ + sizeof text_); }
  void print() const { std::fwrite(text_, 1, static_cast<std::size_t>(pptr() - text_), stderr); }

 protected:
  int overflow(int character) override { return character; }

 private:
  char text_[1 << 20];
};

Report report;

struct Tally {
  unsigned cases = 0;
  unsigned long long executions = 0;
};

void print_case() {
  std::fprintf(stderr, "case: ring of %u granules, ends at %u, %u random calls\n", the_case.granules,
               the_case.start, the_case.random_calls);
  for (std::uint32_t i = 0; i < the_case.write_count; ++i) {
    constexpr const char* kThen[] = {
        "commit all", "commit the least",          "abandon",
        "look",       "ask whether it is drained", "commit the least, straight ahead"};
    const Write& write = the_case.writes[i];
    std::fprintf(stderr, "  producer: reserve %u to %u bytes, %s\n", write.least, write.most,
                 kThen[write.then]);
  }
  std::fprintf(stderr, "  consumer: %.*s\n", static_cast<int>(the_case.reads.size()), the_case.reads.data());
}

template <int kThreads = 2>
void run(rl::scheduler_type_e search, unsigned bound, unsigned executions, Tally& tally) {
  std::ostream out(&report);
  report.clear();
  rl::test_params params;
  params.search_type = search;
  params.context_bound = bound;
  params.iteration_count = executions;
  params.output_stream = &out;
  params.progress_stream = &out;
  if (!rl::simulate<RingModel<kThreads>>(params)) {
    print_case();
    report.print();
    std::exit(1);
  }
  ++tally.cases;
  tally.executions += params.stop_iteration;
}

void print(const char* what, const Tally& tally) {
  std::printf("%s: %u cases, %llu executions, no race, no wrong byte\n", what, tally.cases, tally.executions);
  std::fflush(stdout);
}

// Payloads that fill one, two and three granules to the last byte, and one byte more than one granule.
constexpr std::uint32_t kOne = 8;
constexpr std::uint32_t kOneAndAByte = 9;
constexpr std::uint32_t kTwo = 24;
constexpr std::uint32_t kThree = 40;

constexpr Write kWrites[] = {
    {0, 0, Write::commit},          {kOne, kOne, Write::commit},     {kOneAndAByte, kTwo, Write::commit},
    {kTwo, kTwo, Write::commit},    {kThree, kThree, Write::commit}, {0, 100, Write::commit},
    {1, kTwo, Write::commit_least}, {kTwo, kThree, Write::abandon},
};

template <class Use>
void for_each_ring(std::uint32_t max_granules, Use use) {
  for (the_case.granules = 4; the_case.granules <= max_granules; ++the_case.granules) {
    for (the_case.start = 0; the_case.start < the_case.granules; ++the_case.start) use();
  }
}

void run_two_writes(Tally& tally, std::string_view reads, rl::scheduler_type_e search, unsigned bound) {
  the_case.write_count = 2;
  the_case.reads = reads;
  for (const Write& first : kWrites) {
    for (const Write& second : kWrites) {
      the_case.writes = {first, second};
      run(search, bound, 0, tally);
    }
  }
}

void two_writes_every_execution() {
  Tally tally;
  the_case = {};
  for_each_ring(5, [&] {
    for (const std::string_view reads : {"pr", "ppr", "prp"}) run_two_writes(tally, reads, rl::sched_full, 0);
  });
  print("two writes, every execution", tally);
}

// More than once round the smallest rings: the third write meets what the reader gave back.
void three_writes_every_execution() {
  Tally tally;
  the_case = {.write_count = 3, .reads = "ppr"};
  for_each_ring(5, [&] {
    for (const Write& one : kWrites) {
      for (const Write& other : kWrites) {
        the_case.writes = {one, other, one};
        run(rl::sched_full, 0, 0, tally);
      }
    }
  });
  print("three writes, every execution", tally);
}

void four_writes_bounded() {
  Tally tally;
  the_case = {.write_count = 4};
  for_each_ring(5, [&] {
    for (const std::string_view reads : {"prprpr", "ppprpr", "rprppr"}) {
      the_case.reads = reads;
      for (const Write& one : kWrites) {
        for (const Write& other : kWrites) {
          the_case.writes = {one, other, one, other};
          run(rl::sched_bound, 2, 0, tally);
        }
      }
    }
  });
  print("four writes, every execution of two preemptions", tally);
}

void asking_what_is_used() {
  Tally tally;
  constexpr Write kLook = {0, 0, Write::look};
  the_case = {.write_count = 4, .reads = "upru"};
  for_each_ring(5, [&] {
    for (const Write& write : kWrites) {
      the_case.writes = {kLook, write, kLook, write};
      run(rl::sched_bound, 2, 0, tally);
      // What a look tells of the tail is used by the writes after it.
      for (const Write& other : kWrites) {
        the_case.writes = {write, kLook, other, other};
        run(rl::sched_bound, 2, 0, tally);
      }
    }
  });
  print("asking what is used, every execution of two preemptions", tally);
}

void asking_whether_it_is_drained() {
  Tally tally;
  constexpr Write kAsk = {0, 0, Write::ask_drained};
  the_case = {.write_count = 4};
  for_each_ring(4, [&] {
    for (const std::string_view reads : {"prpr", "ppr"}) {
      the_case.reads = reads;
      for (const Write& write : kWrites) {
        the_case.writes = {write, kAsk, write, kAsk};
        run(rl::sched_bound, 2, 0, tally);
      }
    }
  });
  print("asking whether it is drained, every execution of two preemptions", tally);
}

// The head may have come to where the tail stood, a turn of the ring later, while some chunks are still there.
void asking_from_a_third_thread() {
  Tally tally;
  the_case = {.write_count = 3, .reads = "pr"};
  for_each_ring(4, [&] {
    for (const Write& first : {kWrites[0], kWrites[3]}) {
      for (const Write& last : {kWrites[0], kWrites[3]}) {
        the_case.writes = {first, kWrites[0], last};
        run<3>(rl::sched_bound, 2, 0, tally);
      }
    }
  });
  print("asking from a third thread, every execution of two preemptions", tally);
}

// Straight behind the last chunk, with what was seen at an earlier look, on both sides of a turn of the ring.
void writing_ahead() {
  Tally tally;
  the_case = {.write_count = 4};
  constexpr Write kAhead[] = {{kOne, kOne, Write::ahead}, {kTwo, kTwo, Write::ahead}};
  for_each_ring(5, [&] {
    for (const std::string_view reads : {"prprpr", "ppprpr", "rprppr"}) {
      the_case.reads = reads;
      for (const Write& one : kAhead) {
        for (const Write& other : {kAhead[0], kAhead[1], kWrites[1], kWrites[3], kWrites[7]}) {
          the_case.writes = {one, other, one, one};
          run(rl::sched_bound, 2, 0, tally);
        }
      }
    }
  });
  print("writing straight ahead, every execution of two preemptions", tally);
}

void random_calls(unsigned executions) {
  Tally tally;
  the_case = {.random_calls = 40};
  for (const std::uint32_t granules : {4u, 5u, 8u, 13u, 32u, 64u}) {
    the_case.granules = granules;
    for (const std::uint32_t start : {0u, granules / 2, granules - 1}) {
      the_case.start = start;
      run(rl::sched_random, 0, executions, tally);
    }
  }
  print("40 random calls on each side, random executions", tally);
}

}  // namespace

int main(int count, char** arguments) {
  const unsigned executions =
      count > 1 ? static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10)) : 1'000;
  writing_ahead();
  asking_what_is_used();
  asking_whether_it_is_drained();
  asking_from_a_third_thread();
  two_writes_every_execution();
  three_writes_every_execution();
  four_writes_bounded();
  random_calls(executions);
}
