#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"
#include "opdump/base/version.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a dump comes from, for its journal (BasicSession::tell_provenance). What is empty is not told.
/// parts/build_id.hpp finds the first text, parts/config_digest.hpp makes the second one.
struct Provenance {
  std::string_view build_id{};               ///< of the program, such as the GNU build-id in hexadecimal
  std::string_view config{};                 ///< a digest of the config
  std::string_view opdump = kOpdumpVersion;  ///< the version of what writes the dump
  std::string_view model{};                  ///< the SHA-256 of the model's file, where it is the only one
  std::string_view runtime{};                ///< its name and version, as "onnxruntime 1.20.0"
};

/// Of all its texts together.
inline constexpr std::size_t kMostProvenanceBytes = 160;

/// `ok` when a journal can have it: `too_large` for too many bytes, `invalid_argument` for a control
/// character, or for a comma elsewhere than in `runtime`.
constexpr Status check(const Provenance& provenance) {
  std::size_t bytes = 0;
  for (const std::string_view* text : {&provenance.build_id, &provenance.config, &provenance.opdump,
                                       &provenance.model, &provenance.runtime}) {
    bytes += text->size();
    for (const char c : *text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || (c == ',' && text != &provenance.runtime))
        return Status::invalid_argument;
    }
  }
  return bytes <= kMostProvenanceBytes ? Status::ok : Status::too_large;
}

/// Adds the line of a journal, without its end.
inline void add_provenance(TextWriter& line, const Provenance& provenance) {
  line.add("provenance,").add(provenance.build_id).add(',').add(provenance.config).add(',');
  line.add(provenance.opdump).add(',').add(provenance.model).add(',').add(provenance.runtime);
}

/// Bytes of that line at most, its end included.
inline constexpr std::size_t kMostProvenanceLine = 16 + kMostProvenanceBytes;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
