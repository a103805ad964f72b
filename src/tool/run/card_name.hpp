#pragma once
#include <cstdint>
#include <string_view>

namespace opdump::tool {

/// What the name of a card's file in a dump says, `opdump.{device}.{model}.model.json`; a further card of
/// that name has a number behind the model's.
struct CardName {
  std::uint64_t device = 0;
  std::uint64_t model_id = 0;
};

/// False: it is no such name.
bool parse_card_name(std::string_view name, CardName& card);

}  // namespace opdump::tool
