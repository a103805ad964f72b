#pragma once
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/port/sink.hpp"
#include "platform/flashlog/history_tape.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// What is told of a history besides a write-out of it.
struct HistoryCounts {
  std::uint32_t let_go = 0;          ///< objects
  std::uint32_t refused = 0;         ///< calls
  std::uint32_t too_large = 0;       ///< steps
  std::uint64_t too_large_step = 0;  ///< the latest of them
  std::uint32_t untold = 0;          ///< write-outs whose lines were refused
};

/// A word for journals and messages; "unknown" for a cause that comes from flash and is none.
constexpr std::string_view history_cause_word(WriteOutCause cause) {
  constexpr std::string_view kWords[] = {"none", "call", "overflow", "failure", "remains", "trigger"};
  const auto number = static_cast<std::uint8_t>(cause);
  return number < std::size(kWords) ? kWords[number] : "unknown";
}

/// The lines of `opdump.history` for one write-out, in `memory`. `torn`: objects of its last step, if that is.
[[gnu::noinline]] inline std::string_view history_lines(std::span<char> memory, const WrittenOutMark& mark,
                                                        std::uint32_t torn, const HistoryCounts& counts) {
  TextWriter line(memory);
  const auto add = [&line](std::string_view before, std::uint64_t number) {
    line.add(before);
    line.add_decimal(number);
  };
  add("opdump-history,1\nwritten,", mark.boot);
  line.add(',').add(history_cause_word(mark.cause));
  add(",", mark.first);
  add(",", mark.last);
  add(",", mark.objects);
  add(",", mark.lost);
  if (torn != 0) {
    add("\ntorn,", mark.last);
    add(",", torn);
  }
  add("\nlet_go,", counts.let_go);
  if (counts.too_large != 0) {
    add("\ntoo_large,", counts.too_large_step);
    add(",", counts.too_large);
  }
  if (counts.refused != 0) add("\nrefused,", counts.refused);
  if (counts.untold != 0) add("\nuntold,", counts.untold);
  line.add('\n');
  return line.text();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
