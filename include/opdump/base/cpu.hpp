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

/// Tells the core that it is in a loop that waits for another core; some tens of cycles.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Keeps the compiler from moving loads and stores across, for memory that outlives a reset of this
/// processor.
inline void compiler_fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Whether `copy_past_caches` is more than a copy.
#if defined(__SSE2__)
inline constexpr bool kPassesCaches = true;
#else
inline constexpr bool kPassesCaches = false;
#endif

/// Copies `bytes` past the caches of this processor, where it can: to lines that another one has looked at,
/// and that would have to be taken back from there, or to more memory than fits the caches. Slower where the
/// lines are here. `end_past_caches` has to come before what tells others of them.
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

/// Orders what `copy_past_caches` has stored before all that is stored from now on: a release alone does not.
inline void end_past_caches() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
