#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "opdump/attach.h"
#include "opdump/types/tensor.hpp"
#include "opdump/types/tokens.hpp"
#include "src/attach/attach_layout.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// The tokens of a step, and which of them a config takes. Keeps its memory from step to step.
class StepTokens {
 public:
  /// `invalid_argument` for no token, for too many, and for positions before 0. `rules` must stay.
  Status take(const opdump_attach_tokens& tokens, const TokenRules& rules);

  TokenPhase phase() const { return phase_; }
  const TokenRule& rule() const { return *rule_; }
  /// Of all tokens.
  std::span<const std::uint64_t> positions() const { return positions_; }
  /// The numbers within the step of those taken, in order; none: the step is not captured.
  std::span<const std::uint64_t> kept() const { return kept_; }
  std::vector<std::uint64_t> kept_positions() const;
  /// Of the tensors of this step; 0: no limit.
  std::uint64_t most_bytes() const { return most_bytes_; }

 private:
  TokenPhase phase_ = TokenPhase::decode;
  const TokenRule* rule_ = nullptr;
  std::vector<std::uint64_t> positions_;
  std::vector<std::uint64_t> kept_;
  std::uint64_t most_bytes_ = 0;
};

/// What is taken of one tensor of a step. The axes are those that attach.h counts from 1; 0: it has none.
struct TensorSlice {
  std::uint32_t axis = 0;       ///< of tokens, or of a cache's cells
  std::uint32_t head_axis = 0;  ///< only where not all heads are taken
  bool of_cells = false;
  bool whole = true;       ///< every entry of `axis` is taken
  bool every_kept = true;  ///< the entries are those of the tokens that the step keeps
  Dim of = 0;              ///< entries of `axis` before
  Dim heads_of = 0;
  std::uint64_t per_token = 1;           ///< entries of `axis` for each token
  std::vector<std::uint64_t> entries;    ///< taken of `axis`, in order
  std::vector<std::uint64_t> positions;  ///< of the tokens that they belong to
  std::vector<std::uint64_t> heads;      ///< taken of `head_axis`

  bool cuts() const { return !whole || head_axis != 0; }
  bool tells() const { return axis != 0 || head_axis != 0; }
};

/// What `tokens` take of `tensor`. `invalid_tensor` when an axis or an entry is none of its own, or its
/// entries are not as many as the tokens; `missing_argument` without the cells that a cache was given.
Status slice_tensor(const opdump_attach_tensor& tensor, const StepTokens& tokens, TensorSlice& slice);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
