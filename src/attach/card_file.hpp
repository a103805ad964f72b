#pragma once
#include <cstdint>
#include <string>

#include "opdump/types/config.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// The dump that a model belongs to. Refers to the texts of its config.
struct CardPlace {
  DumpConfig config;
  std::uint64_t time;  ///< of the dump, as its directory's name has it
  std::uint32_t device_id;
  std::uint32_t model_id;
};

/// Whether the dump has its directory only once something has gone wrong.
bool waits_for_failure(const DumpConfig& config);

/// Whether there is the directory of the dump.
bool has_directory(const CardPlace& place);

/// Makes the card's file beside the journal, under the first name that is free; a file that holds `text`
/// already stays. Takes room as the config allows, and removes nothing for it. `sync`: nothing else of the
/// dump will be written, which would sync the card too. Errors as TreeSink's. Allocates.
[[nodiscard]] Status write_card_file(const CardPlace& place, const std::string& text, bool sync);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
