#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/card/model_card.hpp"
#include "src/tool/read/card/card_budget.hpp"

namespace opdump::tool {

/// Fills in how the tensors of the card of an ONNX model are quantised. A tensor is what the operator that
/// writes it says, and keeps that in operators that only move elements. Where no operator says it, as of
/// weights, it is what all who read the tensor say; where they differ, or the scale is no constant of the
/// model, it stays `none`. `constants`: TensorProto messages by places in ModelCard::tensors. False where
/// `budget` is spent, or a constant is damaged: `where` names the operator that takes it.
bool find_onnx_quantisation(const std::unordered_map<std::uint32_t, Bytes>& constants, cards::ModelCard& card,
                            CardBudget& budget, std::string& where);

/// A tensor that an operator quantises, or takes as quantised, by other inputs of its own.
struct QuantisedTensor {
  std::uint32_t tensor = cards::CardOp::kNoTensor;      ///< all three are places in ModelCard::tensors
  std::uint32_t scale = cards::CardOp::kNoTensor;       ///< kNoTensor: its operator says it in another way
  std::uint32_t zero_point = cards::CardOp::kNoTensor;  ///< kNoTensor: 0
  std::int64_t axis = 0;  ///< of more than one scale; a negative one counts from the last dim
  bool in_blocks = false;
};

/// What an operator has to do with the quantisation of its tensors.
struct QuantisingOp {
  std::vector<QuantisedTensor> reads{};
  std::optional<QuantisedTensor> writes{};
  std::vector<std::uint32_t> passes_on{};  ///< inputs whose elements are those of `passed_to`
  std::vector<std::uint32_t> passed_to{};  ///< outputs
};

/// Of operators of ONNX and of ONNX Runtime (domain "com.microsoft"); others have nothing to do with it.
/// Sources: ONNX's Operators.md and ONNX Runtime's ContribOperators.md.
QuantisingOp quantising_op(const cards::CardOp& op);

/// The axis of an output of an operator that passes elements on, for `axis` of the input; nothing where
/// indices of that axis are no longer those of one axis, or where it is not known.
std::optional<std::int64_t> axis_passed_on(const cards::CardOp& op, std::int64_t axis);

/// The other way round.
std::optional<std::int64_t> axis_taken_from(const cards::CardOp& op, std::int64_t axis);

}  // namespace opdump::tool
