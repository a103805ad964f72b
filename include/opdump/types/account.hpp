#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/journal_lines.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Why something that a config asks for was never captured.
enum class NeverCause : std::uint8_t {
  no_model,          ///< no model of that name was loaded; if the name is empty: no model at all
  no_op,             ///< the model has no operator of that name
  not_dumped,        ///< the model was loaded, and not one of its operators was captured at any step
  not_run,           ///< the operator was not captured at any step
  no_inputs,         ///< it was captured, and never given an input
  no_outputs,        ///< it was captured, and never given an output
  steps,             ///< the model did not reach these steps
  before_run,        ///< a suspect ran, at these steps, before the watched operator ever did; named A_To_C
  no_type,           ///< no model has an operator of that kernel type
  no_match,          ///< no model has an operator that the pattern matches
  no_mark,           ///< the program has marked no operator
  no_excluded_op,    ///< there is no operator of the name from which the config leaves tensors out
  no_excluded_type,  ///< likewise of the type
  no_single_op,      ///< operators outside models are asked for, and none was captured
  level,             ///< the operator, or every one of the model, is of a level that `dump_level` leaves out
  skipped,           ///< the model's count of steps went past these, or past some of them
  uncounted,         ///< the first of the names that are too many to be told from those that were met
  no_private,        ///< no tensor of the model is one that the rule of the privacy names
  no_private_model,  ///< of this rule for models none was loaded; without a name: no rule is for the model
  no_trigger,        ///< no tensor of the model is one that the trigger looks at
  refused,           ///< loading the model failed, so that none of its operators is captured
  long_name,         ///< the operator's name or type is longer than a dump can have it
  most_ops,          ///< it came, or may have, when a growing model had as many operators as it may have
};

struct NeverKind {
  std::string_view word;                  ///< in a journal
  std::string_view text;                  ///< for people
  std::string_view subject = "operator";  ///< what the name is, or is missing
};

/// In the order of `NeverCause`.
inline constexpr NeverKind kNeverKinds[] = {
    {"no_model", "no such model was loaded under the config, which only those see that are loaded after it",
     "all that is asked for"},
    {"no_op", "the model has no operator of that name"},
    {"not_dumped", "none of its operators was captured at any step"},
    {"not_run", "it was not captured at any step: it did not run, or is not what runs"},
    {"no_inputs", "its inputs are asked for, and none were given"},
    {"no_outputs", "its outputs are asked for, and none were given"},
    {"steps", "the model did not come to them"},
    {"before_run", "the watched operator had not run by then, so that there was no output to look at"},
    {"no_type", "no operator's kernel type contains it", "kernel type"},
    {"no_match", "no operator's name matches it", "pattern"},
    {"no_mark", "the program has marked no operator", "marked operators"},
    {"no_excluded_op", "no operator has the name, so that the blacklist leaves nothing out",
     "opname_blacklist"},
    {"no_excluded_type", "no operator has the type, so that the blacklist leaves nothing out",
     "optype_blacklist"},
    {"no_single_op",
     "none was captured that ran outside a model, or the config asks for steps, which those have not",
     "single operators"},
    {"level", "dump_level leaves it out"},
    {"skipped", "the count of steps went past them, or past some of them"},
    {"uncounted",
     "no account is kept of the names behind the 256th, and no model has all of them; this is the first "
     "one that the last model lacks",
     "name"},
    {"no_private", "no tensor of the model is one that it names", "rule of the privacy"},
    {"no_private_model", "the rules of the privacy and the models that were loaded are not for each other",
     "rule of the privacy"},
    {"no_trigger", "no tensor of the model is one that it looks at", "trigger"},
    {"refused", "it was refused when it was loaded, so that none of its operators is captured", "model"},
    {"long_name", "its name or type is longer than a dump can have it"},
    {"most_ops", "it came, or may have, when the model had max_ops operators, as did all that came later"},
};
static_assert(std::size(kNeverKinds) == static_cast<std::size_t>(NeverCause::most_ops) + 1);

/// Whether it is about steps.
constexpr bool has_steps(NeverCause cause) {
  return cause == NeverCause::steps || cause == NeverCause::skipped || cause == NeverCause::before_run;
}

constexpr const NeverKind& kind_of(NeverCause cause) {
  return kNeverKinds[static_cast<std::size_t>(cause)];
}

/// Something that a config asks for and that was never captured, for one reason. Refers to the texts.
struct NeverCaptured {
  NeverCause cause = NeverCause::no_model;
  std::uint32_t model_id = 0;
  std::string_view model{};  ///< its directory in the dump, or the name that the config has
  std::string_view type{};   ///< of the operator
  std::string_view name{};   ///< the operator's own, or the name that the config has
  StepRange steps{0, 0};     ///< see `has_steps`
  /// In this loading of the session, as `ModelPlan::load`; 0: in all of them, as there was no other one.
  std::uint32_t load = 0;
};

/// The version of these headers; that of the project in meson.build.
inline constexpr std::string_view kOpdumpVersion = "0.1.0";

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
  line.add(kJournalStart<JournalLineKind::provenance>)
      .add(provenance.build_id)
      .add(',')
      .add(provenance.config)
      .add(',');
  line.add(provenance.opdump).add(',').add(provenance.model).add(',').add(provenance.runtime);
}

/// Bytes of that line at most, its end included.
inline constexpr std::size_t kMostProvenanceLine = 16 + kMostProvenanceBytes;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
