#include "src/tool/read/run/model_sums.hpp"

namespace opdump::tool {

void add_model_sums(BesideCards& cards, std::string directory, ModelSums& sums) {
  constexpr int kMostAbove = 5;
  for (int i = 0; i <= kMostAbove; ++i) {
    const BesideCards::Cards& found = cards.in(directory);
    for (const auto& card : found) {
      const RunModel& model = card->model();
      if (!model.sha256.empty()) sums.emplace(sanitised(model.name), model.sha256);
    }
    const std::size_t slash = directory.rfind('/');
    if (!found.empty() || slash == std::string::npos) return;
    directory.resize(slash);
  }
}

std::string unlike_models(const std::string& a_name, const ModelSums& a, const std::string& b_name,
                          const ModelSums& b) {
  constexpr std::size_t kShown = 12;
  for (const auto& [model, sum] : a) {
    const auto other = b.find(model);
    if (other == b.end() || other->second == sum) continue;
    return "model '" + model + "' is another one in " + a_name + " (SHA-256 " + sum.substr(0, kShown) +
           "...) than in " + b_name + " (" + other->second.substr(0, kShown) + "...)";
  }
  return {};
}

}  // namespace opdump::tool
