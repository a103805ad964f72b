#pragma once
/// Build-time knobs. Each is a number, may be set with -D, and is always defined, so that a misspelt name is
/// caught by -Wundef. A knob that changes the layout of a type is part of the name of the inline namespace
/// below: two translation units that disagree fail to link instead of corrupting each other.

/// 1: capture is compiled in. 0: `Recorder::wants` is a constant false and the capture path leaves no code.
#ifndef OPDUMP_ENABLED
#define OPDUMP_ENABLED 1
#endif

/// Bytes that two cores must not share, a power of two from 4 to 256. The ring's two ends are kept this far
/// apart, which costs two such lines per recorder. Single-core microcontrollers gain nothing from more
/// than 4.
#ifndef OPDUMP_CACHE_LINE_BYTES
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define OPDUMP_CACHE_LINE_BYTES 4
#else
#define OPDUMP_CACHE_LINE_BYTES 64
#endif
#endif

/// Recorders (threads, streams, interrupt handlers) that one session can serve, 1 to 255. Costs one recorder
/// of static RAM each (README, "What it costs").
#ifndef OPDUMP_MAX_RECORDERS
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define OPDUMP_MAX_RECORDERS 2
#else
#define OPDUMP_MAX_RECORDERS 8
#endif
#endif

/// Bytes of constant tables for CRC-32: 64 (about 14 instructions per byte) or 8192 (about 2).
#ifndef OPDUMP_CRC_TABLE_BYTES
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define OPDUMP_CRC_TABLE_BYTES 64
#else
#define OPDUMP_CRC_TABLE_BYTES 8192
#endif
#endif

static_assert(OPDUMP_CACHE_LINE_BYTES >= 4 && OPDUMP_CACHE_LINE_BYTES <= 256 &&
              (OPDUMP_CACHE_LINE_BYTES & (OPDUMP_CACHE_LINE_BYTES - 1)) == 0);
static_assert(OPDUMP_MAX_RECORDERS >= 1 && OPDUMP_MAX_RECORDERS <= 255);

#define OPDUMP_CONCAT_(a, b, c, d) a##b##_##c##_##d
#define OPDUMP_CONCAT(a, b, c, d) OPDUMP_CONCAT_(a, b, c, d)
#define OPDUMP_NAMESPACE OPDUMP_CONCAT(knobs_, OPDUMP_ENABLED, OPDUMP_CACHE_LINE_BYTES, OPDUMP_MAX_RECORDERS)

namespace opdump {
inline namespace OPDUMP_NAMESPACE {}
}  // namespace opdump
