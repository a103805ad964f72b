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
inline constexpr bool kSurvivesReset = OPDUMP_SURVIVE_RESET != 0;

}  // namespace build

/// Stands where a build leaves a member out: has no state, takes any value, keeps none and answers `T{}`. Two
/// in one object have to differ in `T` or in `kTag`, else the second one takes a byte.
template <class T, int kTag = 0>
struct Absent {
  constexpr Absent() = default;
  template <class... Values>
  constexpr explicit(sizeof...(Values) != 1) Absent(Values&&...) {}

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

/// A member that is there only where `kHere`. Wants `[[no_unique_address]]`.
template <bool kHere, class T, int kTag = 0>
using Maybe = std::conditional_t<kHere, T, Absent<T, kTag>>;

/// Calls `use(member)` where the member is there.
template <class Member, class Use>
[[gnu::always_inline]] constexpr void if_here(Member& member, Use&& use) {
  use(member);
}
template <class T, int kTag, class Use>
constexpr void if_here(Absent<T, kTag>&, Use&&) {}
template <class T, int kTag, class Use>
constexpr void if_here(const Absent<T, kTag>&, Use&&) {}

/// True, whatever `Of` is. A `Maybe` member of a template whose `kHere` depends on it may be used, within
/// `if constexpr`, as if it were there.
template <class Of>
inline constexpr bool kAlways = true;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

/// Before a function of which the whole way gets one frame and all registers, where there are enough.
#if OPDUMP_ENABLED && OPDUMP_SMALL_CODE == 0 && UINTPTR_MAX > 0xffffffff
#define OPDUMP_HOT [[gnu::noinline, gnu::flatten]]
#else
#define OPDUMP_HOT
#endif

/// Before a function that is kept out of its caller's frame.
#define OPDUMP_APART [[gnu::noinline]]

/// The same in a lean build alone, to save code, and in the other one alone, to keep what is rare out of what
/// is fast.
#if OPDUMP_SMALL_CODE
#define OPDUMP_APART_IF_LEAN OPDUMP_APART
#define OPDUMP_APART_IF_FAST
#define OPDUMP_INLINE_IF_LEAN __attribute__((always_inline))
#else
#define OPDUMP_INLINE_IF_LEAN
#define OPDUMP_APART_IF_LEAN
#define OPDUMP_APART_IF_FAST OPDUMP_APART
#endif
