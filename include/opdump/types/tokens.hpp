#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a step of a language model does: it reads a prompt, many tokens at a time, or it makes a token.
enum class TokenPhase : std::uint8_t { prefill, decode };
inline constexpr std::size_t kTokenPhases = 2;

/// The words for `TokenPhase`, in its order; a config has one more, for both.
inline constexpr std::string_view kTokenPhaseWords[] = {"prefill", "decode", "all"};

/// Which tokens of one phase are captured, and what of their tensors. Refers to the lists, which live as long
/// as the config.
struct TokenRule {
  bool asked = false;       ///< false: steps of the phase are not captured
  bool last_row = false;    ///< of the tokens that the rest leaves only the last one of a step
  bool new_cells = false;   ///< of a KV cache only what the captured tokens have written to it
  std::uint32_t every = 1;  ///< tokens whose position is a multiple of it
  StepSet positions{};      ///< of tokens in their text
  StepSet rows{};           ///< numbers of tokens within their step
  StepSet heads{};
  std::uint64_t max_bytes_per_token = 0;  ///< of tensors; 0: no limit

  constexpr bool takes(std::uint64_t position) const {
    return position % every == 0 && positions.contains(position);
  }
};

/// What a config says of a model's tokens. It has an effect in a program that tells its tokens by attach.h; a
/// session that is given it refuses it.
struct TokenRules {
  TokenRule phases[kTokenPhases];

  constexpr const TokenRule& of(TokenPhase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
