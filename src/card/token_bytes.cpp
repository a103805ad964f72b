#include "src/card/token_bytes.hpp"

#include "opdump/types/dtype.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {
namespace {

std::uint64_t heads_taken(const StepSet& heads, Dim count) {
  std::uint64_t taken = 0;
  for (Dim head = 0; head < count; ++head) taken += heads.contains(head) ? 1 : 0;
  return taken;
}

}  // namespace

void add_bytes(const TokenRule& rule, const CardTensor& tensor, TokenBytes& bytes) {
  const bool cuts_cells = tensor.cell_axis != 0 && rule.new_cells;
  const std::uint32_t axis = cuts_cells ? tensor.cell_axis : tensor.token_axis;
  std::uint64_t bits = tensor.has_shape ? info(tensor.dtype).bits : 0;
  bool sized = bits != 0;
  for (std::uint32_t i = 0; i < tensor.shape.size() && sized; ++i) {
    if (i + 1 == axis) continue;
    Dim dim = tensor.shape[i];
    sized = dim != CardTensor::kUnknownDim;
    if (sized && i + 1 == tensor.head_axis && !rule.heads.every_step() && dim <= UINT32_MAX)
      dim = heads_taken(rule.heads, dim);
    sized = sized && !__builtin_mul_overflow(bits, dim, &bits);
  }
  if (!sized) {
    ++bytes.unsized;
  } else {
    (axis != 0 ? bytes.per_token : bytes.per_step) += bits / 8 + (bits % 8 != 0 ? 1 : 0);
  }
}

std::string token_bytes_text(TokenPhase phase, const TokenRule& rule, const TokenBytes& bytes) {
  std::string text(kTokenPhaseWords[static_cast<std::size_t>(phase)]);
  text += ": ";
  if (!rule.asked) return text + "nothing";
  const bool one = phase == TokenPhase::decode;
  // A prompt's last operators may run for its last token alone.
  text += (one ? "" : "at most ") + std::to_string(bytes.per_token + (one ? bytes.per_step : 0)) +
          " bytes of tensors per token";
  if (!one && bytes.per_step != 0) text += " and " + std::to_string(bytes.per_step) + " per prompt";
  if (bytes.unsized != 0)
    text += ", without " + std::to_string(bytes.unsized) +
            (bytes.unsized == 1 ? " tensor whose size shows" : " tensors whose sizes show") +
            " only as the model runs";
  if (rule.max_bytes_per_token != 0 && bytes.per_token + bytes.per_step > rule.max_bytes_per_token)
    text += "; more than max_bytes_per_token, " + std::to_string(rule.max_bytes_per_token) +
            ": what comes when these are used up is lost";
  return text;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
