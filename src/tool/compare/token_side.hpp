#pragma once
#include <cstddef>

#include "src/tool/compare/compare_side.hpp"
#include "src/tool/tokens/beside_tokens.hpp"

namespace opdump::tool {

/// How many tensors of `side` are of steps whose tokens a table tells.
std::size_t count_token_tensors(BesideTokens& beside, const DumpSide& side);

/// Makes of each tensor that holds several tokens one for each, without the dim of the tokens, and of each
/// place "model/step" one "model/token N", so that dumps pair by the positions of tokens, whatever their
/// steps. The order is that of positions, then of execution. What cannot be told apart stays as it is, at
/// "model/tokens 0-3". Before `add_cards`.
void split_by_tokens(BesideTokens& beside, DumpSide& side);

}  // namespace opdump::tool
