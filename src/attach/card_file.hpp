#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/types/config.hpp"
#include "platform/posix/tree_sink.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// The dump that a model belongs to. Refers to the texts of its config.
struct CardPlace {
  DumpConfig config;
  std::uint64_t time;  ///< of the dump, as its directory's name has it
  std::uint32_t device_id;
  std::uint32_t model_id;
};

/// Where in the dump it lies.
DumpTarget card_target(const CardPlace& place);
std::string directory_of(const DumpTarget& target);

/// What takes room as the config allows, and removes nothing for it.
std::unique_ptr<posix::TreeSink> make_card_sink(const CardPlace& place);

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
