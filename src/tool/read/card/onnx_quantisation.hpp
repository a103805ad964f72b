#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

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

}  // namespace opdump::tool
