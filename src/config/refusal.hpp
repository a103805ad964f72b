#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Where a value stands, as a chain on the callers' stacks; it becomes text only when something is refused.
struct KeyPath {
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  const KeyPath* parent = nullptr;
  std::string_view name;         ///< empty for an element of an array
  std::size_t index = kNoIndex;  ///< of an element of an array

  KeyPath key(std::string_view child) const { return {this, child, kNoIndex}; }
  KeyPath element(std::size_t child) const { return {this, {}, child}; }

  /// As "dump.dump_list[1].layer".
  std::string text() const;
};

/// Collects why a text is refused, and which parts of it have no effect.
class Refusal {
 public:
  /// `notes` may be null: they are then not kept.
  Refusal(std::string_view text, ConfigError& error, std::vector<ConfigNote>* notes = nullptr)
      : text_(text), error_(error), notes_(notes) {}

  /// Fills the error. Always false, so that a check can end with it.
  bool refuse(ConfigFault fault, std::size_t offset, std::string_view key, std::string_view reason);
  bool refuse(ConfigFault fault, std::size_t offset, const KeyPath& at, std::string_view reason);

  /// Whether there is room for one more note.
  bool takes_notes() const { return notes_ != nullptr && notes_->size() < kMaxConfigNotes; }

  void note(std::size_t offset, std::string_view key, std::string_view text);
  void note(std::size_t offset, const KeyPath& at, std::string_view text);

  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  ConfigError& error_;
  std::vector<ConfigNote>* notes_;
};

/// A config while it is read: what it is read from, and what it becomes.
struct Reading : Refusal {
  Reading(const ConfigInput& from, ConfigOutcome& to)
      : Refusal(from.text, to.error, from.wants_notes ? &to.notes : nullptr),
        input(from),
        config(to.config) {}

  const ConfigInput& input;
  DumpConfig& config;
};

/// Runs `read`, which fills a config or refuses it, and leaves the state that `parse_config` promises.
template <class Read>
Status finish(const ConfigInput& input, ConfigOutcome& outcome, Read read) {
  outcome.config = {};
  outcome.error = {};
  outcome.notes.clear();
  Reading reading(input, outcome);
  if (read(reading)) {
    outcome.error = {};
    return Status::ok;
  }
  outcome.config = {};
  outcome.notes.clear();
  return Status::config_refused;
}

/// The parts, one after another. Takes less code than a sum of strings at each of its many callers.
std::string joined(std::initializer_list<std::string_view> parts);

std::string decimal(std::uint64_t number);

/// `text` in double quotes, made printable, and shortened if it is long.
std::string in_quotes(std::string_view text);

/// The words, quoted, with commas between.
std::string listed(std::span<const std::string_view> words);

/// Where `word` is among `words`; their number when it is not.
std::size_t position_of(std::string_view word, std::span<const std::string_view> words);

/// How a note goes on that supposes a typing error, or that knows where a key belongs.
inline constexpr std::string_view kSlipOfKeys = "; is it a slip of the keys for ";
inline constexpr std::string_view kBelongsIn = "; it belongs in ";

/// Whether a note is about a key that is unknown where it stands, and meant for one that counts.
bool is_misplaced_or_misspelt(const ConfigNote& note);

/// The keys of an object of a config, and what the object is called.
struct KeysOf {
  std::string_view object;
  std::span<const std::string_view> keys;
};

/// The end of a sentence that says which of `objects` has that key; empty when none has.
std::string belongs_in(std::string_view key, std::initializer_list<KeysOf> objects);

/// The word that `text` is probably a typing error for; empty when none is close.
std::string_view closest(std::string_view text, std::span<const std::string_view> words);

/// The end of a sentence that asks for that word, or for the only one with the same first four letters; empty
/// when there is none.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
