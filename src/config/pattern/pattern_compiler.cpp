#include "src/config/pattern/pattern_compiler.hpp"

#include <algorithm>
#include <array>

#include "src/config/letters.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

using Kind = NameStep::Kind;

constexpr std::size_t kMaxSets = 64;
constexpr int kMaxGroups = 32;

void put(ByteSet& set, std::uint8_t value) {
  set[value / 8] = static_cast<std::uint8_t>(set[value / 8] | 1u << (value % 8));
}

void put_range(ByteSet& set, unsigned first, unsigned last) {
  for (unsigned value = first; value <= last; ++value) put(set, static_cast<std::uint8_t>(value));
}

void put_all(ByteSet& set, const ByteSet& others) {
  for (std::size_t i = 0; i < set.size(); ++i) set[i] = static_cast<std::uint8_t>(set[i] | others[i]);
}

ByteSet complement(ByteSet set) {
  for (std::uint8_t& byte : set) byte = static_cast<std::uint8_t>(~byte);
  return set;
}

struct NamedSet {
  std::string_view name;
  std::string_view ranges;  ///< pairs of a first and a last byte
};

constexpr std::string_view kDigits = "09";
constexpr std::string_view kWord = "azAZ09__";
constexpr std::string_view kSpaces = "\t\r  ";

/// The sets of [:name:].
constexpr NamedSet kNamedSets[] = {
    {"digit", kDigits},  {"space", kSpaces},   {"alpha", "azAZ"},     {"alnum", "azAZ09"}, {"lower", "az"},
    {"upper", "AZ"},     {"xdigit", "09afAF"}, {"punct", "!/:@[`{~"}, {"graph", "!~"},     {"print", " ~"},
    {"blank", "\t\t  "}, {"w", kWord},         {"d", kDigits},        {"s", kSpaces},
};

void put_ranges(ByteSet& set, std::string_view ranges) {
  for (std::size_t i = 0; i < ranges.size(); i += 2)
    put_range(set, static_cast<unsigned char>(ranges[i]), static_cast<unsigned char>(ranges[i + 1]));
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Reads the expression front to back and appends steps. When a part turns out to be repeated or to be an
/// alternative, it is moved to make room for a step before it.
class PatternCompiler {
 public:
  PatternCompiler(std::string_view text, std::string& reason) : text_(text), reason_(reason) {}

  bool compile() {
    if (!read_alternatives(0)) return false;
    if (!at_end()) return fail("this ) closes nothing");
    return append({Kind::match});
  }

  std::span<const NameStep> steps() const { return std::span(steps_).first(count_); }
  std::span<const ByteSet> sets() const { return std::span(sets_).first(set_count_); }

 private:
  /// What a backslash and the characters after it stand for: a byte or a set.
  struct Escape {
    bool is_set = false;
    std::uint8_t byte = 0;
    ByteSet set{};
  };

  bool at_end() const { return at_ == text_.size(); }
  bool at(char c) const { return !at_end() && text_[at_] == c; }
  bool skip(std::string_view piece) {
    if (!text_.substr(at_).starts_with(piece)) return false;
    at_ += piece.size();
    return true;
  }

  bool fail(std::string_view what) {
    reason_ = "the pattern " + in_quotes(text_) + ", at its character " + std::to_string(at_ + 1) + ": ";
    reason_ += what;
    return false;
  }

  bool append(NameStep step) { return insert(count_, step); }

  /// Steps from `place` on move up by one, and references to them follow.
  bool insert(std::size_t place, NameStep step) {
    if (count_ == kMaxNameSteps)
      return fail("the pattern is too large here: shorten it, or split it into several entries");
    for (std::size_t i = count_; i > place; --i) steps_[i] = moved(steps_[i - 1], 1);
    steps_[place] = step;
    ++count_;
    return true;
  }

  static NameStep moved(NameStep step, std::size_t by) {
    if (step.kind != Kind::fork) return step;
    return fork(step.a + by, step.b + by);
  }

  /// A number that a byte cannot hold does no harm: with that many steps `insert` fails.
  static NameStep fork(std::size_t a, std::size_t b) {
    return {Kind::fork, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b)};
  }

  bool append_set(const ByteSet& set) {
    const auto known = std::find(sets_.begin(), sets_.begin() + set_count_, set);
    const std::size_t number = static_cast<std::size_t>(known - sets_.begin());
    if (number == kMaxSets) return fail("too many different sets of characters");
    if (number == set_count_) sets_[set_count_++] = set;
    return append({Kind::set, static_cast<std::uint8_t>(number)});
  }

  bool read_alternatives(int depth) {
    const std::size_t start = count_;
    while (!at_end() && !at('|') && !at(')')) {
      if (!read_repeated(depth)) return false;
    }
    if (!skip("|")) return true;
    if (!insert(start, fork(start + 1, count_ + 2))) return false;
    const std::size_t jump = count_;
    if (!append({Kind::fork}) || !read_alternatives(depth)) return false;
    steps_[jump] = fork(count_, count_);
    return true;
  }

  bool read_repeated(int depth) {
    const std::size_t start = count_;
    if (skip("^")) return append({Kind::begin});
    if (skip("$")) return append({Kind::end});
    if (!read_atom(depth)) return false;
    if (skip("*")) {
      if (!insert(start, fork(start + 1, count_ + 2)) || !append(fork(start, start))) return false;
    } else if (skip("+")) {
      if (!append(fork(start, count_ + 1))) return false;
    } else if (skip("?")) {
      if (!insert(start, fork(start + 1, count_ + 1))) return false;
    } else if (at('{')) {
      if (!read_counts(start)) return false;
    } else {
      return true;
    }
    skip("?");
    return !at('*') && !at('+') && !at('?') && !at('{') ? true : fail("this repeats a repetition");
  }

  bool read_counts(std::size_t start) {
    ++at_;
    std::size_t least = 0;
    std::size_t most = 0;
    bool endless = false;
    if (!read_count(least)) return false;
    most = least;
    if (skip(",")) {
      endless = at('}');
      if (!endless && !read_count(most)) return false;
    }
    if (!at('}')) return fail("a repetition is written {2}, {2,} or {2,5}");
    if (least > most) return fail("the smaller count comes first");
    ++at_;
    return repeat(start, least, most, endless);
  }

  bool read_count(std::size_t& count) {
    if (at_end() || !is_digit(text_[at_])) return fail("a repetition is written {2}, {2,} or {2,5}");
    count = 0;
    for (; !at_end() && is_digit(text_[at_]); ++at_)
      count = std::min(count * 10 + static_cast<std::size_t>(text_[at_] - '0'), kMaxNameSteps);
    return count < kMaxNameSteps || fail("so many repetitions make the pattern too large");
  }

  bool repeat(std::size_t start, std::size_t least, std::size_t most, bool endless) {
    const std::array<NameStep, kMaxNameSteps> once = steps_;
    const std::size_t size = count_ - start;
    const auto append_once = [&] {
      const std::size_t by = count_ - start;
      for (std::size_t i = 0; i < size; ++i) {
        if (!append(moved(once[start + i], by))) return false;
      }
      return true;
    };
    count_ = start;
    std::size_t last = start;
    for (std::size_t i = 0; i < least; ++i) {
      last = count_;
      if (!append_once()) return false;
    }
    if (endless && least != 0) return append(fork(last, count_ + 1));
    if (endless)
      return append(fork(start + 1, start + size + 2)) && append_once() && append(fork(start, start));
    const std::size_t end = count_ + (most - least) * (size + 1);
    for (std::size_t i = least; i < most; ++i) {
      if (!append(fork(count_ + 1, end)) || !append_once()) return false;
    }
    return true;
  }

  bool read_atom(int depth) {
    const char c = text_[at_];
    switch (c) {
      case '(':
        return read_group(depth);
      case '[':
        return read_class();
      case '.': {
        ++at_;
        ByteSet ends{};
        put(ends, '\n');
        put(ends, '\r');
        return append_set(complement(ends));
      }
      case '\\': {
        Escape escape;
        if (!read_escape(escape)) return false;
        return escape.is_set ? append_set(escape.set) : append({Kind::byte, escape.byte});
      }
      case '*':
      case '+':
      case '?':
      case '{':
        return fail("there is nothing before this that could be repeated");
      default:
        ++at_;
        return append({Kind::byte, static_cast<std::uint8_t>(c)});
    }
  }

  bool read_group(int depth) {
    if (depth == kMaxGroups) return fail("too many groups inside one another");
    const std::size_t opened = at_;
    ++at_;
    if (!skip("?:") && at('?')) return fail("only ( and (?: open a group: looking ahead is not supported");
    if (!read_alternatives(depth + 1)) return false;
    if (skip(")")) return true;
    at_ = opened;
    return fail("this ( is not closed");
  }

  bool read_class() {
    const std::size_t opened = at_++;
    const bool negated = skip("^");
    ByteSet set{};
    while (!skip("]")) {
      if (at_end()) {
        at_ = opened;
        return fail("this [ is not closed");
      }
      if (!read_member(set)) return false;
    }
    return append_set(negated ? complement(set) : set);
  }

  bool read_member(ByteSet& set) {
    if (skip("[:")) return read_named(set);
    if (at('[') && (text_.substr(at_).starts_with("[.") || text_.substr(at_).starts_with("[=")))
      return fail("collating symbols are not supported");
    Escape first;
    if (!read_byte(first)) return false;
    const bool is_range = at('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
    if (!is_range) {
      if (first.is_set)
        put_all(set, first.set);
      else
        put(set, first.byte);
      return true;
    }
    ++at_;
    Escape last;
    if (!read_byte(last)) return false;
    if (first.is_set || last.is_set)
      return fail("a range goes from one character to another, not from a set");
    if (first.byte > last.byte) return fail("this range runs backwards");
    put_range(set, first.byte, last.byte);
    return true;
  }

  bool read_named(ByteSet& set) {
    const std::string_view rest = text_.substr(at_);
    const std::size_t end = rest.find(":]");
    for (const NamedSet& named : kNamedSets) {
      if (end == std::string_view::npos || rest.substr(0, end) != named.name) continue;
      put_ranges(set, named.ranges);
      at_ += end + 2;
      return true;
    }
    return fail(
        "no such named set; there are [:alpha:], [:alnum:], [:digit:], [:upper:], [:lower:] and more");
  }

  /// One character or escape inside brackets.
  bool read_byte(Escape& byte) {
    if (at('\\')) return read_escape(byte);
    byte.byte = static_cast<std::uint8_t>(text_[at_++]);
    return true;
  }

  bool read_escape(Escape& escape) {
    if (++at_ == text_.size())
      return fail("a backslash ends the pattern; in JSON, a backslash is written \\\\");
    const char c = text_[at_++];
    constexpr std::string_view kSets[] = {kDigits, kWord, kSpaces};
    for (std::size_t i = 0; i < std::size(kSets); ++i) {
      if (c != "dws"[i] && c != "DWS"[i]) continue;
      put_ranges(escape.set, kSets[i]);
      if (c == "DWS"[i]) escape.set = complement(escape.set);
      escape.is_set = true;
      return true;
    }
    constexpr std::string_view kLetters = "tnvfr0";
    constexpr std::string_view kControls("\t\n\v\f\r\0", 6);
    if (c == 'x') return read_hex(2, escape.byte);
    if (c == 'u') return read_hex(4, escape.byte);
    const std::size_t control = kLetters.find(c);
    const bool octal = c == '0' && !at_end() && is_digit(text_[at_]);
    if ((control == std::string_view::npos && (is_digit(c) || is_letter(c))) || octal) {
      --at_;
      return fail(is_digit(c) ? "references to groups are not supported" : "this escape is not supported");
    }
    escape.byte = static_cast<std::uint8_t>(control == std::string_view::npos ? c : kControls[control]);
    return true;
  }

  bool read_hex(std::size_t digits, std::uint8_t& byte) {
    unsigned value = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const int digit = at_end() ? -1 : hex_value(text_[at_]);
      if (digit < 0) return fail("a hexadecimal digit is missing: write \\x2f or \\u002f");
      value = value * 16 + static_cast<unsigned>(digit);
    }
    if (value > (digits == 2 ? 0xffu : 0x7fu))
      return fail("characters beyond ASCII are written as they are, not with \\u");
    byte = static_cast<std::uint8_t>(value);
    return true;
  }

  std::string_view text_;
  std::string& reason_;
  std::size_t at_ = 0;
  std::array<NameStep, kMaxNameSteps> steps_{};
  std::size_t count_ = 0;
  std::array<ByteSet, kMaxSets> sets_{};
  std::size_t set_count_ = 0;
};

template <class Value>
Result<std::span<const Value>> stored(std::span<const Value> values, Arena& memory) {
  const Result<std::span<Value>> copy = memory.array<Value>(values.size());
  if (!copy.ok()) return copy.status();
  std::copy(values.begin(), values.end(), copy.value().begin());
  return std::span<const Value>(copy.value());
}

}  // namespace

Result<NamePattern> compile_pattern(std::string_view text, Arena& memory, std::string& reason) {
  PatternCompiler compiler(text, reason);
  if (!compiler.compile()) return Status::invalid_argument;
  if (compiler.steps().size_bytes() + compiler.sets().size_bytes() > pattern_program_bytes(text.size())) {
    reason = "the pattern " + in_quotes(text) +
             " repeats too much for its length: write * or + instead of large counts";
    return Status::invalid_argument;
  }
  const Result<std::string_view> copy = memory.text(text);
  const Result<std::span<const NameStep>> steps = stored(compiler.steps(), memory);
  const Result<std::span<const ByteSet>> sets = stored(compiler.sets(), memory);
  if (!copy.ok() || !steps.ok() || !sets.ok()) return Status::no_memory;
  return NamePattern{copy.value(), steps.value(), sets.value()};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
