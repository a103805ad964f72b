#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/parsed_config.hpp"

namespace opdump::tests {

/// A file that is to be refused, and how.
struct RefusedCase {
  std::string name;
  ConfigFault fault;
  std::string key;
  std::string reason;  ///< a piece of it
  unsigned line;
  unsigned column;
};

/// A file that is accepted with a warning, and the key that it is about.
struct WarnedCase {
  std::string name;
  std::string key;
  std::string text;  ///< a piece of it
};

inline bool has_note(const ParsedConfig& parsed, const std::string& key, const std::string& text) {
  for (const ConfigNote& note : parsed.notes) {
    if (note.key == key && note.text.find(text) != std::string::npos) return true;
  }
  return false;
}

/// The files of one dialect; `Parse` is called with "accept", "inactive", "warn" or "refuse" and a name in
/// there.
template <class Parse>
class ConfigCorpus {
 public:
  /// `folder` is the dialect's, as "lite/".
  ConfigCorpus(std::string folder, Parse parse) : folder_(std::move(folder)), parse_(parse) {}

  /// Checks that every file in there is accepted, and asks for a dump unless it is inactive; `check(parsed)`
  /// checks what else holds.
  template <class Check>
  void check_accepted(const std::string& in, Check check) const {
    for (const std::string& name : cases_in(folder_ + in)) {
      CAPTURE(name);
      const ParsedConfig parsed = parse_(in, name);
      CAPTURE(parsed.error.reason);
      CHECK(parsed.status == Status::ok);
      CHECK(parsed.error.fault == ConfigFault::none);
      CHECK(parsed.config.asked == (in != "inactive"));
      check(parsed);
    }
  }

  /// Checks that every file of refuse/ is refused for its reason, at its place.
  void check_refused(const std::vector<RefusedCase>& cases) const {
    for (const RefusedCase& refused : cases) {
      CAPTURE(refused.name);
      const ParsedConfig parsed = parse_("refuse", refused.name);
      CHECK(parsed.status == Status::config_refused);
      CHECK(parsed.error.fault == refused.fault);
      CHECK(parsed.error.key == refused.key);
      CHECK(parsed.error.line == refused.line);
      CHECK(parsed.error.column == refused.column);
      CAPTURE(parsed.error.reason);
      CHECK(parsed.error.reason.find(refused.reason) != std::string::npos);
      CHECK_FALSE(parsed.config.active);
      CHECK_FALSE(parsed.config.asked);
    }
    check_names("refuse", cases);
  }

  /// Checks that every file of warn/ is told what counts otherwise or is ignored.
  void check_warned(const std::vector<WarnedCase>& cases) const {
    for (const WarnedCase& warned : cases) {
      CAPTURE(warned.name);
      CHECK(has_note(parse_("warn", warned.name), warned.key, warned.text));
    }
    check_names("warn", cases);
  }

 private:
  template <class Case>
  void check_names(const std::string& in, const std::vector<Case>& cases) const {
    std::vector<std::string> names;
    for (const Case& one : cases) names.push_back(one.name);
    std::sort(names.begin(), names.end());
    CHECK(names == cases_in(folder_ + in));
  }

  std::string folder_;
  Parse parse_;
};

}  // namespace opdump::tests
