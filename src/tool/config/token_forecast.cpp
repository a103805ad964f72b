#include "src/tool/config/token_forecast.hpp"

#include "opdump/types/plan.hpp"
#include "src/tool/cli/human_text.hpp"

namespace opdump::tool {
namespace {

/// The tensor as a card has it.
cards::CardTensor carded(const RunTensor& tensor) {
  cards::CardTensor card;
  card.dtype = tensor.dtype;
  card.has_shape = tensor.sized || !tensor.shape.empty();
  card.shape = tensor.shape;
  card.token_axis = tensor.token_axis;
  card.head_axis = tensor.head_axis;
  card.cell_axis = tensor.cell_axis;
  return card;
}

void add(const TokenRule& rule, const std::vector<RunTensor>& tensors, cards::TokenBytes& bytes) {
  for (const RunTensor& tensor : tensors) add_bytes(rule, carded(tensor), bytes);
}

}  // namespace

void add_token_bytes(const TokenRules& rules, const std::vector<RunModel>& models, MatchReport& report) {
  for (std::size_t i = 0; i < models.size() && i < report.models.size(); ++i) {
    ModelMatch& match = report.models[i];
    for (const TokenRule& rule : rules.phases) {
      cards::TokenBytes& bytes = match.token_bytes.emplace_back();
      for (std::size_t op = 0; op < match.bits.size() && op < models[i].ops.size(); ++op) {
        if ((match.bits[op] & kCaptureInputs) != 0) add(rule, models[i].ops[op].inputs, bytes);
        if ((match.bits[op] & kCaptureOutputs) != 0) add(rule, models[i].ops[op].outputs, bytes);
      }
    }
  }
}

std::vector<std::string> token_lines(const TokenRules& rules, const MatchReport& report) {
  std::vector<std::string> lines;
  for (const ModelMatch& match : report.models) {
    for (std::size_t i = 0; i < match.token_bytes.size(); ++i)
      lines.push_back("cost    model \"" + printable(match.model) + "\": " +
                      token_bytes_text(static_cast<TokenPhase>(i), rules.phases[i], match.token_bytes[i]));
  }
  return lines;
}

}  // namespace opdump::tool
