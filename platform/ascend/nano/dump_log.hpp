#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/port/listeners.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// A name as it stands in a line of the log.
struct Quoted {
  std::string_view name;
};

/// Makes lines of parts, which are texts, names and numbers, and hands them to a hook.
class DumpLog {
 public:
  DumpLog(LogHook hook, void* context) : hook_(hook), context_(context) {}

  template <class... Parts>
  void say(const Parts&... parts) const {
    if (hook_ == nullptr) return;
    char memory[1024];
    TextWriter line(memory);
    (add(line, parts), ...);
    hook_(context_, line.text());
  }

 private:
  static constexpr std::size_t kMostOfName = 256;

  static void add(TextWriter& to, std::string_view text) { to.add(text); }
  static void add(TextWriter& to, std::unsigned_integral auto number) { to.add_decimal(number); }
  static void add(TextWriter& to, const Quoted& quoted) {
    to.add('"').add(quoted.name.substr(0, kMostOfName));
    to.add(quoted.name.size() > kMostOfName ? "...\"" : "\"");
  }

  LogHook hook_;
  void* context_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
