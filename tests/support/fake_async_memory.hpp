#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "opdump/port/device_memory.hpp"

namespace opdump::tests {

/// Plain memory behind a device that copies in the background: a copy's bytes arrive when it ends, in any
/// order, and until then rubbish lies where they will be.
class FakeAsyncMemory final : public DeviceMemory {
 public:
  static constexpr std::size_t kMaxCopies = 3;

  struct Copy {
    std::size_t number = 0;
  };

  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    REQUIRE(bytes <= rules.max_bytes);
    ++synchronous;
    if (calls++ == fail_at) return Status::device_copy_failed;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return Status::ok;
  }

  Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    REQUIRE(bytes <= rules.max_bytes);
    const Address all = address_of(to) | from | (rules.whole_units ? bytes : 0);
    if (refuse || (all & (rules.alignment - 1)) != 0) return Status::not_supported;
    if (calls++ == fail_at) return Status::device_copy_failed;
    REQUIRE(under_way() < kMaxCopies);
    for (const Job& job : jobs_) {
      const bool apart = job.over || to + bytes <= job.to || job.to + job.bytes <= to;
      REQUIRE(apart);
    }
    std::memset(to, 0xdb, bytes);
    for (copy.number = 0; !jobs_[copy.number].asked; ++copy.number) {
    }
    jobs_[copy.number] = {.to = to,
                          .from = from,
                          .bytes = bytes,
                          .over = false,
                          .held = static_cast<int>(started) == hold_at,
                          .asked = false};
    ++started;
    started_alone += under_way() == 1 ? 1 : 0;
    most_under_way = std::max(most_under_way, under_way());
    return Status::ok;
  }

  Result<bool> poll(Copy& copy) {
    work_on(copy.number, false);
    return answer(copy);
  }

  Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    work_on(copy.number, limit_ms != 0);
    return answer(copy);
  }

  CopyRules copy_rules() const { return rules; }

  Status fence(std::uint32_t stream_id) {
    fences.push_back(stream_id);
    return fence_status;
  }

  std::uint32_t device_id() const { return device; }

  std::size_t under_way() const {
    std::size_t count = 0;
    for (const Job& job : jobs_) count += job.over ? 0 : 1;
    return count;
  }

  void let_go() {
    for (Job& job : jobs_) job.held = false;
  }

  CopyRules rules;
  bool refuse = false;
  int calls = 0;
  int fail_at = -1;      ///< number of the call of `copy` or `start` that fails
  int fail_end_at = -1;  ///< number of the end of a copy that is a failure
  int hold_at = -1;      ///< number of the copy that does not end
  std::size_t started = 0;
  int ended = 0;
  int synchronous = 0;
  std::size_t most_under_way = 0;
  std::size_t started_alone = 0;  ///< while no other was under way
  bool slow = false;              ///< no copy ends before the recorder waits for it
  std::vector<std::uint32_t> fences;
  Status fence_status = Status::ok;
  std::uint32_t device = 2;
  std::minstd_rand random{1};

 private:
  struct Job {
    std::byte* to = nullptr;
    Address from = 0;
    std::size_t bytes = 0;
    bool over = true;
    bool failed = false;
    bool held = false;
    bool asked = true;  ///< the recorder knows that it is over
  };

  void end(Job& job) {
    if (job.over || job.held) return;
    job.over = true;
    job.failed = ended++ == fail_end_at;
    if (!job.failed) std::memcpy(job.to, reinterpret_cast<const void*>(job.from), job.bytes);
  }

  /// Ends some copies, and surely that one if `wait`.
  void work_on(std::size_t number, bool wait) {
    for (Job& job : jobs_) {
      if (!slow && random() % 3 == 0) end(job);
    }
    if (wait) end(jobs_[number]);
  }

  Result<bool> answer(Copy& copy) {
    Job& job = jobs_[copy.number];
    REQUIRE_FALSE(job.asked);
    job.asked = job.over;
    if (job.failed) return Status::device_copy_failed;
    if (!job.over) return false;
    return true;
  }

  std::array<Job, kMaxCopies> jobs_;
};

}  // namespace opdump::tests
