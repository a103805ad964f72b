#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/knobs.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tells the core that it spins, waiting for another core. Takes some tens of cycles.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// A counter of this processor that grows evenly; 0 where there is none to read at once.
inline std::uint64_t read_ticks() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

/// Keeps the compiler from moving loads and stores across this call, for memory that outlives a reset of
/// this processor.
inline void compiler_fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Whether `copy_past_caches` bypasses the caches on this processor.
#if defined(__SSE2__)
inline constexpr bool kPassesCaches = true;
#else
inline constexpr bool kPassesCaches = false;
#endif

/// Copies `bytes`, bypassing this processor's caches where it can. Use it for more memory than fits the caches, and
/// for lines that another processor has read and would have to give back first, if the two share no cache; it is
/// slower for lines that this cache holds. Call `end_past_caches` before the store that tells others of the bytes.
inline void copy_past_caches(std::byte* to, Bytes bytes) {
#if defined(__SSE2__)
  constexpr std::size_t kLine = 64;
  const std::size_t ahead = static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(to) & (kLine - 1));
  if (bytes.size() > ahead) {
    copy_bytes(to, bytes.first(ahead));
    to += ahead;
    bytes = bytes.subspan(ahead);
    for (; bytes.size() >= kLine; to += kLine, bytes = bytes.subspan(kLine)) {
      __m128i words[kLine / sizeof(__m128i)];
      std::memcpy(words, bytes.data(), kLine);
      for (std::size_t i = 0; i < kLine / sizeof(__m128i); ++i)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, words[i]);
    }
  }
#endif
  copy_bytes(to, bytes);
}

/// Orders the stores of `copy_past_caches` before all later stores; a release alone does not.
inline void end_past_caches() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
