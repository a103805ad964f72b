#pragma once
/// Build-time knobs. Each is a number, may be set with -D, and is always defined, so that a misspelt name is
/// caught by -Wundef. A knob that changes the layout of a type or what it does is part of the name of the
/// inline namespace below: two translation units that disagree fail to link instead of corrupting each other.

// A file that is not there ends the compilation with one line, which is not lost among others.
#if defined __clang__
#if __clang_major__ < 14
#include "opdump needs g++ 11 or clang++ 14, and this compiler is an older clang++"
#endif
#elif defined __GNUC__
#if __GNUC__ < 11
#include "opdump needs g++ 11 or clang++ 14, and this compiler is an older g++"
#endif
#endif

#if __cplusplus < 201709L
#error "opdump needs C++20: compile with -std=c++20"
#include "opdump needs C++20"
#endif

#ifdef OPDUMP_DEGRADE
#error \
    "OPDUMP_DEGRADE is gone: OPDUMP_STATISTICS is 2 with WhenFull::degrade, 1 with statistics alone, 0 without"
#endif
#ifdef OPDUMP_OVERFLOW
#error "OPDUMP_OVERFLOW is gone: OPDUMP_FAULTS is 2 with all faults, 1 with overflows alone, 0 without"
#endif
#ifdef OPDUMP_ALL_STATISTICS
#error "OPDUMP_ALL_STATISTICS is gone: OPDUMP_SMALL_CODE=1 has statistics of few dtypes, other builds of all"
#endif

/// The profile, which every other default below follows from: small, firmware or full, as the README beside
/// this header has them in a table. Unless told, small where there is no operating system. A knob that is set
/// by itself counts.
#ifndef OPDUMP_PROFILE
#if __STDC_HOSTED__ && (defined __unix__ || defined __APPLE__ || defined _WIN32)
#define OPDUMP_PROFILE full
#else
#define OPDUMP_PROFILE small
#endif
#endif

#define OPDUMP_JOIN_(a, b) a##b
#define OPDUMP_JOIN(a, b) OPDUMP_JOIN_(a, b)
#define OPDUMP_PROFILE_small 1
#define OPDUMP_PROFILE_firmware 2
#define OPDUMP_PROFILE_full 3
#if OPDUMP_JOIN(OPDUMP_PROFILE_, OPDUMP_PROFILE) == 1
#define OPDUMP_BY_PROFILE(small_, firmware_, full_) small_
#elif OPDUMP_JOIN(OPDUMP_PROFILE_, OPDUMP_PROFILE) == 2
#define OPDUMP_BY_PROFILE(small_, firmware_, full_) firmware_
#elif OPDUMP_JOIN(OPDUMP_PROFILE_, OPDUMP_PROFILE) == 3
#define OPDUMP_BY_PROFILE(small_, firmware_, full_) full_
#else
#error "OPDUMP_PROFILE is small, firmware or full"
#include "OPDUMP_PROFILE is small, firmware or full"
#endif

/// 1: capture is compiled in. 0: no call of a session, a recorder, a FlashLog, a WireSink or a SealedSink leaves code
/// or data in the program; each returns `ok`, false, 0 or nothing. A FlashHistory does not touch its flash either.
#ifndef OPDUMP_ENABLED
#define OPDUMP_ENABLED 1
#endif

/// Bytes that two cores must not share, a power of two from 4 to 256. The ring's two ends are kept this far
/// apart, which costs two such lines per recorder. Single-core microcontrollers gain nothing from more
/// than 4, also with a data cache: what caches and DMA ask for is in platform/README.md.
#ifndef OPDUMP_CACHE_LINE_BYTES
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define OPDUMP_CACHE_LINE_BYTES 4
#else
#define OPDUMP_CACHE_LINE_BYTES 64
#endif
#endif

/// Recorders (threads, streams, interrupt handlers) that one session can serve, 1 to 254. Costs one recorder
/// of static RAM each (tests/bench/README.md).
#ifndef OPDUMP_MAX_RECORDERS
#define OPDUMP_MAX_RECORDERS OPDUMP_BY_PROFILE(1, 2, 8)
#endif

/// Configs that a session may have in use at once, 1 to 254: the latest one, and older ones whose models are
/// still loaded. Each costs about 100 bytes of RAM on a 32-bit machine, 130 on a 64-bit one, and 40 for each
/// recorder. A session may be given memory for more (`SessionParts::more_configs`).
#ifndef OPDUMP_MAX_CONFIGS
#define OPDUMP_MAX_CONFIGS OPDUMP_BY_PROFILE(1, 1, 4)
#endif

/// 1: sessions write a journal, by which a dump proves that it is complete. 0: none, whatever JournalDetail
/// says; gaps in a dump then show in the counts alone. Saves about 3 KiB of code on a Cortex-M. With
/// OPDUMP_SMALL_CODE a journal names no records, whatever JournalDetail says: it has their numbers, what was
/// lost, the counts and the end, and costs 1.5 KiB at most.
#ifndef OPDUMP_JOURNAL
#define OPDUMP_JOURNAL 1
#endif

/// 2: configs may ask for statistics, and `WhenFull::degrade` keeps those of a record that finds no room. 1:
/// that is `WhenFull::drop`, which saves about 300 bytes of code on a Cortex-M. 0: configs that ask for
/// statistics are not supported either, which saves about 3 KiB more.
#ifndef OPDUMP_STATISTICS
#define OPDUMP_STATISTICS OPDUMP_BY_PROFILE(0, 2, 2)
#endif

/// 1: a recorder whose ring fills may wait for room and wake a drainer. 0: it does neither, which suits
/// interrupt handlers: WhenFull::block and WhenFull::inline_drain are WhenFull::drop, and wakers are not
/// supported. Saves about 500 bytes of code on a Cortex-M, and the drainer's stack below a recorder's.
#ifndef OPDUMP_WAIT
#define OPDUMP_WAIT 1
#endif

/// 1: leaves out what is only faster or rarer: tables, copies of short texts word by word, heads that are
/// sent once (memory for them is refused), OpCounts, file formats other than nano, layouts other than
/// CANN's, torchair's directories of several devices, lists of tensors to leave out, operators by a part of
/// their type or by a pattern (such configs are not supported), tensors of 4 GiB. Statistics are summed up
/// plainly (SmallStatistics), of int8, uint8, float16 and float32 only, and rare dtypes and formats have
/// their numbers as names there. Saves about 7 KiB of code on a Cortex-M, with statistics 13.
#ifndef OPDUMP_SMALL_CODE
#define OPDUMP_SMALL_CODE OPDUMP_BY_PROFILE(1, 0, 0)
#endif

/// 2: configs may ask for the dumps that find a bug: of operators that overflow or fail, of memory that is
/// overwritten. Costs 200 bytes of RAM per recorder. Not with OPDUMP_SMALL_CODE. 1: of operators that
/// overflow alone; only with OPDUMP_SMALL_CODE, where it costs about 1 KiB of code on a Cortex-M: a report is
/// committed after its operator and not with it, it has only a status and the operator, and the first bad
/// operator is not known. 0: such configs are not supported.
#ifndef OPDUMP_FAULTS
#if OPDUMP_SMALL_CODE
#define OPDUMP_FAULTS 0
#else
#define OPDUMP_FAULTS OPDUMP_BY_PROFILE(0, 0, 2)
#endif
#endif

/// 1: what a ring holds can be found again in its memory after a reset (`Ring::recover`), if startup code and
/// caches leave that memory alone. Costs a store per chunk on either side.
#ifndef OPDUMP_SURVIVE_RESET
#define OPDUMP_SURVIVE_RESET 0
#endif

/// Bytes of constant tables for each polynomial of a CRC: 64 (11 instructions per byte on a Cortex-M), 1024 (8)
/// or 8192 (9, and 2 on a 64-bit processor, which has the cache and the loads for it).
#ifndef OPDUMP_CRC_TABLE_BYTES
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define OPDUMP_CRC_TABLE_BYTES OPDUMP_BY_PROFILE(64, 1024, 1024)
#else
#define OPDUMP_CRC_TABLE_BYTES OPDUMP_BY_PROFILE(64, 1024, 8192)
#endif
#endif

/// The CRCs that the port computes, by a unit of its chip, as a sum: 1 CRC-32, 2 CRC-32C. The port then defines
/// `opdump_crc_unit` (base/crc32.hpp), and no table of that polynomial is linked.
#ifndef OPDUMP_CRC_UNIT
#define OPDUMP_CRC_UNIT 0
#endif

/// 1: `to_string` of a Status is its cause in words. 0: its number, as "E69" for file_too_large: what a program
/// says of a failure takes 1.5 KiB less.
#ifndef OPDUMP_STATUS_TEXTS
#define OPDUMP_STATUS_TEXTS OPDUMP_BY_PROFILE(0, 1, 1)
#endif

/// The dialects of configs that are read, as a sum: 1 CANN's acl.json, 2 MindSpore's data_dump.json, 4
/// torchair's options, 8 MindSpore Lite's config. Only where src/config is compiled, so that programs may
/// differ in it from the library; Meson sets it by `-Ddialects`. The README of config/ says what each costs.
#ifndef OPDUMP_DIALECTS
#define OPDUMP_DIALECTS 15
#endif

static_assert(((OPDUMP_ENABLED | OPDUMP_JOURNAL | OPDUMP_WAIT | OPDUMP_SMALL_CODE | OPDUMP_SURVIVE_RESET |
                OPDUMP_STATUS_TEXTS) &
               ~1) == 0,
              "OPDUMP_ENABLED, OPDUMP_JOURNAL, OPDUMP_WAIT, OPDUMP_SMALL_CODE, OPDUMP_SURVIVE_RESET and "
              "OPDUMP_STATUS_TEXTS are 0 or 1");
static_assert(OPDUMP_CRC_TABLE_BYTES == 64 || OPDUMP_CRC_TABLE_BYTES == 1024 ||
                  OPDUMP_CRC_TABLE_BYTES == 8192,
              "OPDUMP_CRC_TABLE_BYTES is 64, 1024 or 8192");
static_assert(OPDUMP_CRC_UNIT >= 0 && OPDUMP_CRC_UNIT <= 3);
static_assert(OPDUMP_DIALECTS >= 0 && OPDUMP_DIALECTS <= 15);
static_assert(OPDUMP_CACHE_LINE_BYTES >= 4 && OPDUMP_CACHE_LINE_BYTES <= 256 &&
              (OPDUMP_CACHE_LINE_BYTES & (OPDUMP_CACHE_LINE_BYTES - 1)) == 0);
static_assert(OPDUMP_MAX_RECORDERS >= 1 && OPDUMP_MAX_RECORDERS <= 254);
static_assert(OPDUMP_STATISTICS >= 0 && OPDUMP_STATISTICS <= 2);
static_assert(OPDUMP_FAULTS == 0 || OPDUMP_FAULTS == (OPDUMP_SMALL_CODE ? 1 : 2),
              "OPDUMP_FAULTS is 0 or 2, and with OPDUMP_SMALL_CODE 0 or 1");
static_assert(OPDUMP_MAX_CONFIGS >= 1 && OPDUMP_MAX_CONFIGS <= 254);

#define OPDUMP_CONCAT_(a, b, c, d, e, f, g, h, i, j, k, l) a##b##c##d##e##f##g##h##i##_##j##_##k##_##l
#define OPDUMP_CONCAT(a, b, c, d, e, f, g, h, i, j, k, l) OPDUMP_CONCAT_(a, b, c, d, e, f, g, h, i, j, k, l)
#define OPDUMP_NAMESPACE                                                                                     \
  OPDUMP_CONCAT(knobs_, OPDUMP_ENABLED, OPDUMP_SURVIVE_RESET, OPDUMP_JOURNAL, OPDUMP_STATISTICS,             \
                OPDUMP_WAIT, OPDUMP_FAULTS, OPDUMP_SMALL_CODE, OPDUMP_STATUS_TEXTS, OPDUMP_CACHE_LINE_BYTES, \
                OPDUMP_MAX_RECORDERS, OPDUMP_MAX_CONFIGS)

namespace opdump {
inline namespace OPDUMP_NAMESPACE {}
}  // namespace opdump
