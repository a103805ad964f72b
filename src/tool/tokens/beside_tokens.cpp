#include "src/tool/tokens/beside_tokens.hpp"

#include <algorithm>
#include <memory>

#include "src/card/number_list.hpp"

namespace opdump::tool {

using cards::numbers_text;

const TensorTokens* RecordTokens::tensor(bool is_output, std::uint64_t index) const {
  if (tensors == nullptr) return nullptr;
  const auto found = std::find_if(tensors->begin(), tensors->end(), [&](const TensorTokens& tensor) {
    return tensor.is_output == is_output && tensor.index == index;
  });
  return found == tensors->end() ? nullptr : &*found;
}

std::string token_text(const TokenStep& step) {
  std::string text(kTokenPhaseWords[static_cast<std::size_t>(step.phase)]);
  text += (step.kept.size() == 1 ? ", token " : ", tokens ") + numbers_text(step.kept);
  return step.kept == step.positions ? text : text + " of " + numbers_text(step.positions);
}

std::string slice_text(const TokenStep& step, const TensorTokens& tensor) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const Numbers& positions = tensor.positions ? *tensor.positions : step.kept;
  if (tensor.cells) {
    add("cells " + numbers_text(*tensor.cells) + " of " + std::to_string(tensor.of) + " along dim " +
        std::to_string(tensor.axis.value_or(0)));
  } else if (tensor.axis && (positions != step.kept || positions.size() != tensor.of)) {
    add((positions.size() == 1 ? "token " : "tokens ") + numbers_text(positions) + ", " +
        std::to_string(positions.size()) + " of " + std::to_string(tensor.of) + " along dim " +
        std::to_string(*tensor.axis));
  }
  if (tensor.head_axis)
    add("heads " + numbers_text(tensor.heads) + " of " + std::to_string(tensor.heads_of) + " along dim " +
        std::to_string(*tensor.head_axis));
  return text;
}

BesideTokens::BesideTokens(std::function<void(const std::string&)> note)
    : note_(std::move(note)),
      files_(kTokenTableSuffix,
             [note = note_](const std::string& path, const std::string&) -> std::unique_ptr<TokenTable> {
               auto table = std::make_unique<TokenTable>();
               std::string error;
               if (table->load(path, error)) return table;
               note("the table of tokens is not used: " + error);
               return nullptr;
             }) {}

RecordTokens BesideTokens::of(const std::string& directory, std::string_view op) {
  const std::optional<RecordPlace> place = parse_record_place(directory);
  if (!place) return {};
  if (found_.size() >= kMostDirectories) found_.clear();
  const auto [at, is_new] = found_.try_emplace(directory);
  if (is_new) at->second = find(directory, *place);
  if (at->second == nullptr) return {};
  return {at->second->step(place->step), &at->second->tensors(op, place->step)};
}

const TokenTable* BesideTokens::find(const std::string& directory, const RecordPlace& place) {
  const auto [table, other] = files_.above(directory, [&](const TokenTable& each) {
    return is_of_model(place, each.model(), each.model_id()) && each.step(place.step) != nullptr;
  });
  if (other == nullptr) return table;
  const std::string both = table->path() + " and " + other->path();
  if (told_.insert(both).second)
    note_("no tokens are known of steps that " + both + " both tell: the model was loaded twice");
  return nullptr;
}

}  // namespace opdump::tool
