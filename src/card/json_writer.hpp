#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// Writes JSON piece by piece, with the commas and blanks between the pieces. Everything stands on one line,
/// except where `line` was called.
class JsonWriter {
 public:
  /// `indent`: if not 0, each member and element stands on a line of its own, indented by this many blanks
  /// per open bracket, as Python's json module writes it.
  explicit JsonWriter(std::size_t indent = 0) : indent_(indent) {}

  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);

  /// The key of the member that comes next.
  JsonWriter& key(std::string_view name);

  /// The next member or element, or the closing bracket if that comes first, begins a new line after `blanks` blanks.
  JsonWriter& line(std::size_t blanks = 0);

  /// A string. Bytes that are not UTF-8 become the surrogates that Python's surrogateescape uses.
  JsonWriter& text(std::string_view value);
  JsonWriter& flag(bool value);
  JsonWriter& number(std::uint64_t value);

  /// JSON has only finite numbers: the string "nan", "inf" or "-inf" stands for any other value.
  JsonWriter& real(double value);

  /// An array of such numbers, without blanks.
  JsonWriter& reals(std::span<const double> values);

  /// A value that is JSON already.
  JsonWriter& json(std::string_view value);

  /// Whether all texts so far were UTF-8. Where one was not, few programs read the JSON.
  bool is_utf8() const { return is_utf8_; }

  /// What was written since the last call. Writing may go on.
  std::string take();

 private:
  void start();
  void indent();
  bool break_line();

  std::size_t indent_;
  std::size_t depth_ = 0;  ///< brackets that are open
  std::size_t blanks_ = 0;
  bool on_new_line_ = false;
  bool after_key_ = false;
  bool first_ = true;  ///< nothing was written yet inside the innermost bracket
  bool is_utf8_ = true;
  std::string text_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
