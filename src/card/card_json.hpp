#pragma once
#include <cstddef>
#include <string>

#include "src/card/json_writer.hpp"
#include "src/card/model_card.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// Puts a quantisation that is not none, as a card has it.
void put_quant(JsonWriter& json, const Quantisation& quant);

/// The card as JSON, one operator a line. `too_large` when it would be longer than `most` bytes;
/// `invalid_argument` for a name that is not UTF-8, which JSON cannot hold.
[[nodiscard]] Status write_card(const ModelCard& card, std::size_t most, std::string& text);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
