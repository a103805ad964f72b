#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "opdump/knobs.hpp"

/// The switches of knobs.hpp as constants, so that code asks with `if constexpr` and members with `Maybe`
/// instead of a preprocessor branch.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace build {

inline constexpr bool kEnabled = OPDUMP_ENABLED != 0;
inline constexpr bool kJournal = OPDUMP_JOURNAL != 0;
inline constexpr bool kFullJournal = OPDUMP_JOURNAL != 0 && OPDUMP_SMALL_CODE == 0;
inline constexpr bool kLeanJournal = OPDUMP_JOURNAL != 0 && OPDUMP_SMALL_CODE != 0;
inline constexpr bool kStatistics = OPDUMP_STATISTICS != 0;
inline constexpr bool kDegrade = OPDUMP_STATISTICS == 2;
inline constexpr bool kWait = OPDUMP_WAIT != 0;
inline constexpr bool kLean = OPDUMP_SMALL_CODE != 0;
inline constexpr bool kOverflow = OPDUMP_FAULTS != 0;
inline constexpr bool kFaults = OPDUMP_FAULTS == 2;  ///< overflows and all else that goes wrong
inline constexpr unsigned kCrcUnit = OPDUMP_CRC_UNIT;
inline constexpr bool kSurvivesReset = OPDUMP_SURVIVE_RESET != 0;

}  // namespace build

/// Stands in for a member that a build leaves out: has no state, drops every value it is given and reads as
/// `T{}`. Two in one object must differ in `T` or in `kTag`; otherwise the second one takes a byte.
template <class T, int kTag = 0>
struct Absent {
  constexpr Absent() = default;
  /// Not of another of its kind, so that a struct with one is copied as bytes.
  template <class... Values>
  requires(sizeof...(Values) != 1 || !(std::is_same_v<std::remove_cvref_t<Values>, Absent> &&
                                       ...)) constexpr explicit(sizeof...(Values) != 1) Absent(Values&&...) {}

  constexpr operator T() const { return T{}; }
  constexpr T operator->() const { return T{}; }
};

template <class T, int kTag>
struct Absent<std::atomic<T>, kTag> {
  constexpr Absent() = default;
  template <class Value>
  constexpr Absent(Value&&) {}

  static constexpr T load(std::memory_order) { return T{}; }
  static constexpr void store(T, std::memory_order) {}
};

/// A member that exists only if `kHere`. Declare it `[[no_unique_address]]`.
template <bool kHere, class T, int kTag = 0>
using Maybe = std::conditional_t<kHere, T, Absent<T, kTag>>;

/// Calls `use(member)` if the member exists.
template <class Member, class Use>
[[gnu::always_inline]] constexpr void if_here(Member& member, Use&& use) {
  use(member);
}
template <class T, int kTag, class Use>
constexpr void if_here(Absent<T, kTag>&, Use&&) {}
template <class T, int kTag, class Use>
constexpr void if_here(const Absent<T, kTag>&, Use&&) {}

/// True for every `Of`. In a template, `if constexpr` may use a `Maybe` member as if it existed only when
/// `kHere` depends on a template parameter; this makes it depend on `Of`.
template <class Of>
inline constexpr bool kAlways = true;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

/// OPDUMP_HOT marks a function that is compiled into one frame with all it calls, on machines with enough
/// registers. The other two mark what a sink may override on 64-bit machines only, and what overrides it: firmware
/// has no room for a function that only saves calls.
#if OPDUMP_ENABLED && OPDUMP_SMALL_CODE == 0 && UINTPTR_MAX > 0xffffffff
#define OPDUMP_HOT [[gnu::noinline, gnu::flatten]]
#define OPDUMP_VIRTUAL_IF_WIDE virtual
#define OPDUMP_OVERRIDE_IF_WIDE override
#else
#define OPDUMP_HOT
#define OPDUMP_VIRTUAL_IF_WIDE [[gnu::always_inline]]
#define OPDUMP_OVERRIDE_IF_WIDE
#endif

/// Marks a function that is kept out of its caller's frame; the second, on machines with few registers.
#define OPDUMP_APART [[gnu::noinline]]
#if UINTPTR_MAX > 0xffffffff
#define OPDUMP_APART_IF_NARROW
#else
#define OPDUMP_APART_IF_NARROW OPDUMP_APART
#endif

/// OPDUMP_APART in lean builds only, to save code; in full builds only, to keep rare code out of fast code.
/// OPDUMP_INLINE_IF_LEAN inlines in lean builds only.
#if OPDUMP_SMALL_CODE
#define OPDUMP_APART_IF_LEAN OPDUMP_APART
#define OPDUMP_APART_IF_FAST
#define OPDUMP_INLINE_IF_LEAN __attribute__((always_inline))
#else
#define OPDUMP_INLINE_IF_LEAN
#define OPDUMP_APART_IF_LEAN
#define OPDUMP_APART_IF_FAST OPDUMP_APART
#endif
