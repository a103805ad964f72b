#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "src/tool/judge/compare/comparison.hpp"

namespace opdump::compare {

/// Blocks of both sides, their converted form included, lie in the nearest cache while one loop after the
/// other goes through them.
inline constexpr std::size_t kBlockElements = 1024;
/// What one thread takes at a time; partial sums are added up in the order of these.
inline constexpr std::uint64_t kPartElements = kThreadElements;

/// Something of each part is kept in memory, so that their number fits.
inline std::size_t part_count(std::uint64_t elements) {
  return static_cast<std::size_t>((elements + kPartElements - 1) / kPartElements);
}

inline std::size_t worker_count(std::uint64_t elements, unsigned threads) {
  return std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(part_count(elements), 1));
}

struct Block {
  std::size_t worker;
  std::size_t part;
  std::uint64_t first;
  std::size_t count;
};

/// Calls `use(block, reader)` for every block of every part, the blocks of one part in order on one thread,
/// which is the worker. False when a source cannot be read.
template <class Reader, class Use>
bool for_each_block(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                    std::size_t workers, Use use) {
  const std::size_t parts = part_count(elements);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> good{true};
  const auto work = [&](std::size_t worker) {
    Reader reader(x, y);
    for (std::size_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) {
      const std::uint64_t end = std::min(elements, (part + 1) * kPartElements);
      for (std::uint64_t first = part * kPartElements; first < end; first += kBlockElements) {
        const std::size_t count =
            static_cast<std::size_t>(std::min<std::uint64_t>(end - first, kBlockElements));
        if (!good.load(std::memory_order_relaxed)) return;
        if (!reader.read(first, count)) {
          good.store(false, std::memory_order_relaxed);
          return;
        }
        use(Block{worker, part, first, count}, reader);
      }
    }
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < workers; ++i) helpers.emplace_back(work, i);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  return good.load(std::memory_order_relaxed);
}

/// Adds up what all workers saw; nothing where the sample misled.
inline std::optional<PairDetail> end_of(std::vector<DetailLook>& looks) {
  for (std::size_t i = 1; i < looks.size(); ++i) looks[0].add(looks[i]);
  return looks[0].end();
}

/// Puts what float64 tells of two arrays in the place of what float32 has told, which becomes the vendor's:
/// where float32 does not hold the elements, where some are NaN or infinite, or where all of a side are tiny.
/// False when a source cannot be read.
bool compare_exactly(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                     std::size_t workers, Closer closer, const PairKernels& kernels, Comparison& result);

/// A golden tensor whose greatest element is below this is tiny: its relative errors are 0 only up to
/// `kZero` times that element.
inline constexpr double kTiny = 0x1p-20;

}  // namespace opdump::compare
