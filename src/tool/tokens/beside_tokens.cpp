#include "src/tool/tokens/beside_tokens.hpp"

#include <dirent.h>

#include <algorithm>

#include "src/card/number_list.hpp"

namespace opdump::tool {

using cards::numbers_text;

namespace {

bool is_of(const TokenTable& table, const RecordPlace& place) {
  return sanitised(table.model()) == place.model &&
         (!place.has_model_id || table.model_id() == place.model_id) && table.step(place.step) != nullptr;
}

}  // namespace

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

const BesideTokens::Tables& BesideTokens::in(const std::string& directory) {
  const auto [at, is_new] = read_.try_emplace(directory);
  Tables& tables = at->second;
  if (!is_new) return tables;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.empty() ? "." : directory.c_str()),
                                                 closedir);
  std::vector<std::string> names;
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    TokenTableName name;
    if (parse_token_table_name(entry->d_name, name)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), natural_less);
  for (const std::string& name : names) {
    auto table = std::make_unique<TokenTable>();
    std::string error;
    if (table->load(directory.empty() ? name : directory + '/' + name, error)) {
      tables.push_back(std::move(table));
    } else {
      note_("the table of tokens is not used: " + error);
    }
  }
  return tables;
}

RecordTokens BesideTokens::of(const std::string& directory, std::string_view op) {
  const std::optional<RecordPlace> place = parse_record_place(directory);
  if (!place) return {};
  const auto [at, is_new] = found_.try_emplace(directory);
  if (is_new) at->second = find(directory, *place);
  if (at->second == nullptr) return {};
  return {at->second->step(place->step), &at->second->tensors(op, place->step)};
}

const TokenTable* BesideTokens::find(const std::string& directory, const RecordPlace& place) {
  constexpr int kMostAbove = 4;
  std::string above = directory;
  for (int i = 0; i < kMostAbove && above.rfind('/') != above.npos; ++i) {
    above.resize(above.rfind('/'));
    const Tables& tables = in(above);
    if (tables.empty()) continue;
    const auto fits = [&](const std::unique_ptr<TokenTable>& table) { return is_of(*table, place); };
    const auto first = std::find_if(tables.begin(), tables.end(), fits);
    if (first == tables.end()) return nullptr;
    const auto second = std::find_if(first + 1, tables.end(), fits);
    if (second == tables.end()) return first->get();
    const std::string both = (*first)->path() + " and " + (*second)->path();
    if (told_.insert(both).second)
      note_("no tokens are known of steps that " + both + " both tell: the model was loaded twice");
    return nullptr;
  }
  return nullptr;
}

}  // namespace opdump::tool
