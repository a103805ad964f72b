#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

/// The floor of everything that reads memory once: a sum over all words, on one thread.

namespace {

/// A sum over all words, as wide as the machine has it.
template <std::size_t kPrefetchWords>
[[gnu::always_inline]] inline std::uint64_t sum_words(const std::uint64_t* words, std::size_t count) {
  typedef std::uint64_t Wide __attribute__((vector_size(32)));
  Wide sums[4] = {};
  for (std::size_t i = 0; i + 16 <= count; i += 16) {
    if constexpr (kPrefetchWords != 0) {
      __builtin_prefetch(words + i + kPrefetchWords);
      __builtin_prefetch(words + i + kPrefetchWords + 8);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      Wide value;
      std::memcpy(&value, words + i + 4 * k, sizeof value);
      sums[k] += value;
    }
  }
  const Wide sum = sums[0] + sums[1] + sums[2] + sums[3];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

#if defined(__x86_64__)
#define OPDUMP_BENCH_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define OPDUMP_BENCH_CLONES
#endif

OPDUMP_BENCH_CLONES inline std::uint64_t read_plainly(const std::uint64_t* words, std::size_t count) {
  return sum_words<0>(words, count);
}

OPDUMP_BENCH_CLONES inline std::uint64_t read_ahead(const std::uint64_t* words, std::size_t count) {
  return sum_words<256>(words, count);
}

}  // namespace
