#include <cstring>

#include "opdump/impl/stats/non_finite.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

// 32-bit Arm without NEON: GCC takes vectors apart into loads of words that trap at odd addresses.
#if !defined(__arm__) || defined(__ARM_NEON)
#define OPDUMP_WORDS(name, bytes)                                     \
  struct name {                                                       \
    typedef std::uint64_t Vector __attribute__((vector_size(bytes))); \
  }
OPDUMP_WORDS(Words16, 16);
#if defined(__x86_64__)
OPDUMP_WORDS(Words32, 32);
OPDUMP_WORDS(Words64, 64);
#endif
#undef OPDUMP_WORDS

/// The data may lie at any address. A pointer to a vector type that is aligned to 1 will not do: GCC 12 loses the
/// alignment in templates, unoptimised.
template <class Vector>
[[gnu::always_inline]] inline void gather(Vector& sums, const std::byte* data, const Vector& mask,
                                          const Vector& add) {
  Vector words;
  std::memcpy(&words, data, sizeof words);
  sums |= (words & mask) + add;
}

/// Four vectors at a time, which do not wait for each other.
template <class Words>
[[gnu::always_inline]] inline std::size_t scan(const std::byte* data, std::size_t bytes,
                                               const NonFiniteRule& rule, bool& found) {
  using Vector = typename Words::Vector;
  constexpr std::size_t kBlockBytes = 4 * sizeof(Vector);
  const Vector none = {};
  const Vector mask = none + rule.mask;
  const Vector add = none + rule.add;
  Vector a = none;
  Vector b = none;
  Vector c = none;
  Vector d = none;
  std::size_t at = 0;
  for (; bytes - at >= kBlockBytes; at += kBlockBytes) {
    const std::byte* const from = data + at;
    gather(a, from, mask, add);
    gather(b, from + sizeof a, mask, add);
    gather(c, from + 2 * sizeof a, mask, add);
    gather(d, from + 3 * sizeof a, mask, add);
  }
  const Vector all = a | b | c | d;
  std::uint64_t lanes[sizeof(Vector) / 8];
  std::memcpy(lanes, &all, sizeof lanes);
  for (const std::uint64_t lane : lanes) found = found || (lane & rule.shows) != 0;
  return at;
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw")]] std::size_t scan_avx512(const std::byte* data, std::size_t bytes,
                                                            const NonFiniteRule& rule, bool& found) {
  return scan<Words64>(data, bytes, rule, found);
}

[[gnu::target("avx2")]] std::size_t scan_avx2(const std::byte* data, std::size_t bytes,
                                              const NonFiniteRule& rule, bool& found) {
  return scan<Words32>(data, bytes, rule, found);
}
#endif

std::size_t scan_plain(const std::byte* data, std::size_t bytes, const NonFiniteRule& rule, bool& found) {
  return scan<Words16>(data, bytes, rule, found);
}
#else
constexpr NonFiniteKernel scan_plain = nullptr;
#endif

}  // namespace

NonFiniteKernel non_finite_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return scan_avx512;
  if (__builtin_cpu_supports("avx2")) return scan_avx2;
#endif
  return scan_plain;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
