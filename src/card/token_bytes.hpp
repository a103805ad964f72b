#pragma once
#include <cstdint>
#include <string>

#include "opdump/types/tokens.hpp"
#include "src/card/model_card.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// What the tensors of a model take of a dump in one phase.
struct TokenBytes {
  std::uint64_t per_token = 0;  ///< for each token that a step keeps
  std::uint64_t per_step = 0;   ///< besides, of tensors that have no tokens
  std::uint64_t unsized = 0;    ///< tensors whose size shows only as the model runs
};

/// Adds what `rule` takes of `tensor`. Tensors without a dtype or shape, and with a dim that is not known and
/// none of tokens or cells that are cut out, count as unsized; each token fills one cell.
void add_bytes(const TokenRule& rule, const CardTensor& tensor, TokenBytes& bytes);

/// "decode: 1536 bytes of tensors per token", with what else is known.
std::string token_bytes_text(TokenPhase phase, const TokenRule& rule, const TokenBytes& bytes);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
