#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/posix/tree_sink.hpp"
#include "src/attach/card_file.hpp"
#include "src/attach/step_tokens.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// The file beside the journal that tells which tokens the records of a model hold,
/// `opdump.{device}.{model}.tokens`, a JSON object in each line:
///
///     {"opdump_tokens": 1, "device": 0, "id": 0, "model": "llama"}
///     {"step": 0, "phase": "prefill", "positions": "0-3", "kept": "3"}
///     {"step": 0, "op": "Kcur-0", "tensors": [{"output": 0, "axis": 0, "of": 4}]}
///     {"step": 0, "op": "lm_head", "lost": "max_bytes_per_token", "bytes": 4096}
///
/// "positions" are those of the step's tokens, "kept" the ones that the dump holds. The line of an operator
/// counts until its next one; it tells the tensors of which it knows something. Along "axis" of the record
/// lie the kept tokens, or those of its own "positions", of "of" entries; "per" entries for each, if not one.
/// "cells" are what was taken of a cache. "heads" has an axis of its own. Lines come before the record that
/// they are of, so that a crash leaves no record without them; another load of the model has a file of its
/// own, with a number. Threads: any.
class TokenTable {
 public:
  /// Makes the file. Errors as TreeSink's. `place` refers to the config in force, which stays.
  Status begin(const CardPlace& place, std::string_view model);
  bool is_open() const { return sink_ != nullptr; }
  void end();

  Status step(std::uint64_t step, const StepTokens& tokens);
  /// `slices` of the tensors of operator `op`, inputs first.
  Status op(std::uint64_t step, std::size_t op, std::string_view name, std::span<const TensorSlice> slices,
            std::size_t inputs);
  /// A record that `max_bytes_per_token` has no room for.
  Status lost(std::uint64_t step, std::string_view name, std::uint64_t bytes);

 private:
  Status append(std::string line);

  std::mutex mutex_;
  std::unique_ptr<posix::TreeSink> sink_;
  std::string root_;
  std::string directory_;
  std::string file_;
  ObjectFacts facts_;
  std::vector<std::string> told_;  ///< of each operator, its last line without the step
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
