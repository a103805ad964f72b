#pragma once
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>

#include "tests/support/parsed_config.hpp"

namespace opdump::tests {

inline bool has_note(const ParsedConfig& parsed, const std::string& key, const std::string& text) {
  for (const ConfigNote& note : parsed.notes) {
    if (note.key == key && note.text.find(text) != std::string::npos) return true;
  }
  return false;
}

/// The cases of one dialect; `Parse` is called with "accept", "inactive", "warn" or "refuse" and a name.
template <class Parse>
class ConfigCorpus {
 public:
  /// `dialect` as `packed_configs` takes it.
  ConfigCorpus(std::string dialect, Parse parse) : dialect_(std::move(dialect)), parse_(parse) {}

  /// Checks that every case of `folder` is accepted, and asks for a dump unless it is inactive; `check(parsed)`
  /// checks what else holds.
  template <class Check>
  void check_accepted(const std::string& folder, Check check) const {
    each(folder, [&](const PackedConfig&, const ParsedConfig& parsed) {
      CAPTURE(parsed.error.reason);
      CHECK(parsed.status == Status::ok);
      CHECK(parsed.error.fault == ConfigFault::none);
      CHECK(parsed.config.asked == (folder != "inactive"));
      check(parsed);
    });
  }

  /// Checks that every case of "refuse" is refused for its reason, at its place.
  void check_refused() const {
    each("refuse", [](const PackedConfig& refused, const ParsedConfig& parsed) {
      CHECK(parsed.status == Status::config_refused);
      CHECK(parsed.error.fault == refused.fault);
      CHECK(parsed.error.key == refused.key);
      CHECK(parsed.error.line == refused.line);
      CHECK(parsed.error.column == refused.column);
      CAPTURE(parsed.error.reason);
      CHECK(parsed.error.reason.find(refused.words) != std::string::npos);
      CHECK_FALSE(parsed.config.active);
      CHECK_FALSE(parsed.config.asked);
    });
  }

  /// Checks that every case of "warn" has a note of its key.
  void check_warned() const {
    each("warn", [](const PackedConfig& warned, const ParsedConfig& parsed) {
      REQUIRE_FALSE(warned.key.empty());
      CHECK(has_note(parsed, warned.key, warned.words));
    });
  }

 private:
  template <class Check>
  void each(const std::string& folder, Check check) const {
    std::size_t cases = 0;
    for (const PackedConfig& config : packed_configs(dialect_)) {
      if (config.folder != folder) continue;
      CAPTURE(config.name);
      check(config, parse_(folder, config.name));
      ++cases;
    }
    CHECK(cases > 0);
  }

  std::string dialect_;
  Parse parse_;
};

}  // namespace opdump::tests
