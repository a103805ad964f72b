#include "src/attach/step_tokens.hpp"

#include <algorithm>

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::uint32_t kMostTokens = 1u << 20;

bool has_axis(std::uint32_t axis, std::uint32_t rank) {
  return axis <= rank;
}

/// Entries of the axis of tokens: those of tokens that are kept.
Status slice_rows(const opdump_attach_tensor& tensor, const StepTokens& tokens, TensorSlice& slice) {
  const bool listed = tensor.rows != nullptr;
  const std::uint64_t count = listed ? tensor.row_count : tokens.positions().size();
  if (count != slice.of) return Status::invalid_tensor;
  for (std::uint64_t row = 0; row < count; ++row) {
    const std::int64_t token = listed ? tensor.rows[row] : static_cast<std::int64_t>(row);
    if (token < 0 || static_cast<std::uint64_t>(token) >= tokens.positions().size())
      return Status::invalid_tensor;
    const auto number = static_cast<std::uint64_t>(token);
    if (!std::binary_search(tokens.kept().begin(), tokens.kept().end(), number)) continue;
    slice.every_kept = slice.every_kept && slice.entries.size() < tokens.kept().size() &&
                       tokens.kept()[slice.entries.size()] == number;
    slice.entries.push_back(row);
    slice.positions.push_back(tokens.positions()[number]);
  }
  slice.every_kept = slice.every_kept && slice.entries.size() == tokens.kept().size();
  slice.whole = slice.entries.size() == slice.of;
  return Status::ok;
}

/// Cells of a cache: those that tokens that are kept have filled.
Status slice_cells(const opdump_attach_tensor& tensor, const StepTokens& tokens, TensorSlice& slice) {
  const std::uint64_t count = tokens.positions().size();
  if (tensor.rows == nullptr) return Status::missing_argument;
  if (tensor.row_count == 0 || tensor.row_count % count != 0) return Status::invalid_tensor;
  slice.of_cells = true;
  slice.whole = false;
  slice.per_token = tensor.row_count / count;
  for (const std::uint64_t token : tokens.kept()) {
    slice.positions.push_back(tokens.positions()[token]);
    for (std::uint64_t i = 0; i < slice.per_token; ++i) {
      const std::int64_t cell = tensor.rows[token * slice.per_token + i];
      if (cell < 0 || static_cast<std::uint64_t>(cell) >= slice.of) return Status::invalid_tensor;
      slice.entries.push_back(static_cast<std::uint64_t>(cell));
    }
  }
  return Status::ok;
}

}  // namespace

Status StepTokens::take(const opdump_attach_tokens& tokens, const TokenRules& rules) {
  positions_.clear();
  kept_.clear();
  if (tokens.count == 0 || tokens.count > kMostTokens || tokens.phase > OPDUMP_DECODE ||
      (tokens.positions == nullptr && tokens.first > INT64_MAX - std::int64_t{kMostTokens}))
    return Status::invalid_argument;
  for (std::uint32_t i = 0; i < tokens.count; ++i) {
    const std::int64_t position = tokens.positions != nullptr ? tokens.positions[i] : tokens.first + i;
    if (position < 0) return Status::invalid_argument;
    positions_.push_back(static_cast<std::uint64_t>(position));
  }
  const bool prefills = tokens.phase == OPDUMP_PREFILL ||
                        (tokens.phase == OPDUMP_PHASE_BY_COUNT && (tokens.count > 1 || positions_[0] == 0));
  phase_ = prefills ? TokenPhase::prefill : TokenPhase::decode;
  rule_ = &rules.of(phase_);
  if (!rule_->asked) return Status::ok;
  for (std::uint64_t i = 0; i < positions_.size(); ++i) {
    if (rule_->takes(positions_[i]) && rule_->rows.contains(i)) kept_.push_back(i);
  }
  if (rule_->last_row && kept_.size() > 1) kept_.erase(kept_.begin(), kept_.end() - 1);
  if (__builtin_mul_overflow(rule_->max_bytes_per_token, std::uint64_t{kept_.size()}, &most_bytes_))
    most_bytes_ = 0;
  return Status::ok;
}

std::vector<std::uint64_t> StepTokens::kept_positions() const {
  std::vector<std::uint64_t> positions;
  for (const std::uint64_t token : kept_) positions.push_back(positions_[token]);
  return positions;
}

Status slice_tensor(const opdump_attach_tensor& tensor, const StepTokens& tokens, TensorSlice& slice) {
  slice.axis = slice.head_axis = 0;
  slice.of_cells = false;
  slice.whole = slice.every_kept = true;
  slice.per_token = 1;
  slice.entries.clear();
  slice.positions.clear();
  slice.heads.clear();
  if (!has_axis(tensor.token_axis, tensor.rank) || !has_axis(tensor.head_axis, tensor.rank) ||
      !has_axis(tensor.cache_axis, tensor.rank) || (tensor.token_axis != 0 && tensor.cache_axis != 0))
    return Status::invalid_tensor;
  const bool takes_cells = tensor.cache_axis != 0 && tokens.rule().new_cells;
  slice.axis = takes_cells ? tensor.cache_axis : tensor.token_axis;
  if (slice.axis != 0) {
    slice.of = static_cast<Dim>(tensor.dims[slice.axis - 1]);
    const Status status =
        takes_cells ? slice_cells(tensor, tokens, slice) : slice_rows(tensor, tokens, slice);
    if (status != Status::ok) return status;
  }
  if (tensor.head_axis == 0 || tokens.rule().heads.every_step()) return Status::ok;
  if (tensor.head_axis == slice.axis) return Status::invalid_tensor;
  slice.heads_of = static_cast<Dim>(tensor.dims[tensor.head_axis - 1]);
  for (std::uint64_t head = 0; head < slice.heads_of; ++head) {
    if (tokens.rule().heads.contains(head)) slice.heads.push_back(head);
  }
  if (slice.heads.size() != slice.heads_of) slice.head_axis = tensor.head_axis;
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
